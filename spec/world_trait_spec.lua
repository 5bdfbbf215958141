local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("traits", function()
  local world, fails = nil, util.fails

  before_each(function() world = ecs.createWorld() end)
  after_each(function() world:close() end)

  describe("objects", function()
    it("tell their kind", function()
      assert.equal("tag", ecs.trait().kind)
      assert.equal("tag", ecs.trait({}).kind)
      assert.equal("soa", ecs.trait({ x = 0 }).kind)
      assert.equal("soa", ecs.trait({ { "x", 0 } }).kind)
      assert.equal("aos", ecs.trait(function() return 1 end).kind)
      assert.equal("tag", ecs.relation().kind)
      assert.equal("tag", ecs.relation({}).kind)
      assert.equal("soa", ecs.relation({ store = { x = 0 } }).kind)
      assert.equal("soa", ecs.relation({ store = { { "x", 0 } } }).kind)
      assert.equal("aos", ecs.relation({ store = function() return 1 end }).kind)
      assert.equal("tag", ecs.IsExcluded.kind)
    end)

    it("have ids that ascend by definition", function()
      local a, r, b = ecs.trait(), ecs.relation(), ecs.trait { x = 0 }
      assert.equal("integer", math.type(a.id))
      assert.is_true(a.id < r.id and r.id < b.id)
      assert.is_true(ecs.IsExcluded.id < a.id)
    end)

    it("tell traits from relations", function()
      local T, R = ecs.trait(), ecs.relation()
      assert.is_false(T.isRelation)
      assert.is_true(R.isRelation)
      assert.is_true(ecs.isTrait(T))
      assert.is_false(ecs.isTrait(R))
      assert.is_true(ecs.isRelation(R))
      assert.is_false(ecs.isRelation(T))
      assert.is_true(ecs.isTrait(ecs.IsExcluded))
      assert.is_true(ecs.isTrait(ecs.Key))
    end)

    it("are not confused with other things", function()
      local others = { 1, "x", true, {}, print, ecs.null, io.stdout, world }
      others[#others + 1] = coroutine.create(print)
      others[#others + 1] = ecs.relation()(world:spawn())
      others[#others + 1] = ecs.trait { x = 0 } {}
      others[#others + 1] = ecs.Not(ecs.trait())
      for _, other in ipairs(others) do
        assert.is_false(ecs.isTrait(other))
        assert.is_false(ecs.isRelation(other))
      end
      assert.is_false(ecs.isTrait(nil))
      assert.is_false(ecs.isRelation(nil))
    end)

    it("know the place of their definition", function()
      local line = debug.getinfo(1, "l").currentline + 1
      local T, R = ecs.trait(), ecs.relation()
      assert.matches("world_trait_spec%.lua:" .. line .. "$", T.where)
      assert.matches("world_trait_spec%.lua:" .. line .. "$", R.where)
    end)

    it("are read-only and hide their metatable", function()
      local T = ecs.trait { x = 0 }
      assert.is_false(pcall(function() T.id = 5 end))
      assert.is_false(pcall(function() T.other = 5 end))
      assert.are_not.equal("table", type(getmetatable(T)))
      assert.are_not.equal("table", type(getmetatable(world)))
      assert.is_false(pcall(setmetatable, T, {}))
    end)

    it("have no other field", function()
      assert.is_nil(ecs.trait().nonsense)
    end)

    it("may be shared by several worlds", function()
      local T <const> = ecs.trait { x = 1 }
      local other <close> = ecs.createWorld()
      local a, b = world:spawn(T { x = 2 }), other:spawn(T { x = 3 })
      assert.equal(2, world:get(a, T, "x"))
      assert.equal(3, other:get(b, T, "x"))
      other:set(b, T, "x", 4)
      assert.equal(2, world:get(a, T, "x"))
    end)

    it("live on in a world when the script forgets them", function()
      local id
      do
        local T = ecs.trait { x = 41 }
        id = T.id
        world:spawn(T)
      end
      util.collectAll()
      local T = world:traits()[2]
      assert.equal(id, T.id)
      assert.equal(41, world:get(world:query(T)[1], T, "x"))
    end)
  end)

  describe("schemas", function()
    it("as a table of examples order the fields bytewise", function()
      local T = ecs.trait { b = 1, a = 2, B = 3, a1 = 4, ["\u{e9}"] = 5, _ = 6 }
      assert.same({ "B", "_", "a", "a1", "b", "\u{e9}" }, T.fields)
    end)

    it("as a list keep the order of the list", function()
      local T = ecs.trait { { "y", 1 }, { "x", 2 }, { "a", "z" } }
      assert.same({ "y", "x", "a" }, T.fields)
      local e = world:spawn(T)
      assert.same({ y = 1, x = 2, a = "z" }, world:get(e, T))
    end)

    it("of a tag or an AoS trait have no fields", function()
      assert.is_nil(ecs.trait().fields)
      assert.is_nil(ecs.trait(function() return {} end).fields)
    end)

    it("give the fields as a copy", function()
      local T = ecs.trait { x = 0, y = 0 }
      T.fields[1] = "z"
      assert.same({ "x", "y" }, T.fields)
    end)

    it("are copied when the trait is made", function()
      local schema = { { "x", 1 } }
      local T = ecs.trait(schema)
      schema[1][2] = 5
      schema[2] = { "y", 0 }
      local e = world:spawn(T)
      assert.same({ x = 1 }, world:get(e, T))
    end)

    it("take booleans, numbers, strings and null as defaults", function()
      local T = ecs.trait { b = false, i = 3, f = 2.5, s = "\0é", n = ecs.null, z = -0.0 }
      local e = world:spawn(T)
      assert.same({ b = false, i = 3, f = 2.5, s = "\0é", z = -0.0 }, world:get(e, T))
      local i, f, z = world:get(e, T, "i", "f", "z")
      assert.equal("integer", math.type(i))
      assert.equal("float", math.type(f))
      assert.equal(-math.huge, 1 / z)
    end)

    it("take any UTF-8 text but the empty one as a field name", function()
      local T = ecs.trait { ["a\0b"] = 1, ["a\0c"] = 2, ["a é"] = 3 }
      assert.same({ "a\0b", "a\0c", "a é" }, T.fields)
      fails("trait", "field name", function() ecs.trait { [""] = 1 } end)
      fails("trait", "field name", function() ecs.trait { ["\xff"] = 1 } end)
      local e = world:spawn(T { ["a\0c"] = 5 })
      local x, y = world:get(e, T, "a\0b", "a\0c")
      assert.same({ 1, 5 }, { x, y })
    end)

    it("take many fields", function()
      local schema, expected = {}, {}
      for i = 1, 300 do
        schema[i] = { "field" .. i, i }
        expected["field" .. i] = i
      end
      local T = ecs.trait(schema)
      assert.equal(300, #T.fields)
      assert.same(expected, world:get(world:spawn(T), T))
    end)

    it("refuse a table as a default", function()
      fails("trait", "list", function() ecs.trait { list = {} } end)
      fails("trait", "list", function() ecs.trait { { "list", {} } } end)
      fails("relation", "list", function() ecs.relation { store = { list = {} } } end)
    end)

    it("refuse userdata and coroutines as defaults", function()
      fails("trait", "file", function() ecs.trait { file = io.stdout } end)
      fails("trait", "co", function() ecs.trait { co = coroutine.create(print) } end)
      fails("trait", "other", function() ecs.trait { other = ecs.trait() } end)
    end)

    it("refuse field names that are no strings", function()
      fails("trait", nil, function() ecs.trait { [1.5] = 0 } end)
      fails("trait", nil, function() ecs.trait { [true] = 0 } end)
      fails("trait", nil, function() ecs.trait { [print] = 0, x = 1 } end)
      fails("trait", nil, function() ecs.trait { { 5, 0 } } end)
      fails("trait", nil, function() ecs.trait { { true, 0 } } end)
    end)

    it("refuse mixed and malformed lists", function()
      fails("trait", nil, function() ecs.trait { { "x", 0 }, y = 0 } end)
      fails("trait", nil, function() ecs.trait { { "x", 0 }, "y" } end)
      fails("trait", nil, function() ecs.trait { { "x" } } end)
      fails("trait", nil, function() ecs.trait { { "x", 0 }, [3] = { "y", 0 } } end)
      fails("trait", nil, function() ecs.trait { 1, 2 } end)
    end)

    it("refuse a field that is listed twice", function()
      fails("trait", "x", function() ecs.trait { { "x", 0 }, { "y", 0 }, { "x", 1 } } end)
    end)

    it("refuse what is no schema at all", function()
      for _, bad in ipairs { 1, "x", true, ecs.null, io.stdout, world, ecs.trait() } do
        fails("trait", nil, function() ecs.trait(bad) end)
      end
    end)

    it("are read without calling metamethods", function()
      local function never() error "a metamethod ran" end
      local hostile = setmetatable({ x = 1 }, {
        __index = never, __len = never, __pairs = never, __call = never, __newindex = never,
      })
      local T = ecs.trait(hostile)
      local e = world:spawn(T(setmetatable({ x = 2 }, getmetatable(hostile))))
      world:set(e, T, setmetatable({ x = 3 }, getmetatable(hostile)))
      assert.equal(3, world:get(e, T, "x"))
    end)
  end)

  describe("factories", function()
    it("of fields are called once per entity", function()
      local calls = 0
      local T = ecs.trait { list = function() calls = calls + 1; return { calls } end, n = 1 }
      assert.equal(0, calls)
      local a, b = world:spawn(T), world:spawn(T)
      assert.equal(2, calls)
      assert.same({ 1 }, world:get(a, T, "list"))
      assert.same({ 2 }, world:get(b, T, "list"))
      assert.equal(world:get(a, T, "list"), world:get(a, T, "list"))
    end)

    it("of AoS traits are called once per entity", function()
      local calls = 0
      local T = ecs.trait(function() calls = calls + 1; return { calls } end)
      local a, b = world:spawn(T), world:spawn(T)
      assert.equal(2, calls)
      assert.same({ 1 }, world:get(a, T))
      assert.same({ 2 }, world:get(b, T))
    end)

    it("of relations are called once per pair", function()
      local calls = 0
      local R = ecs.relation { store = { list = function() calls = calls + 1; return {} end } }
      local S = ecs.relation { store = function() return { "aos" } end }
      local a, b = world:spawn(), world:spawn()
      local e = world:spawn(R(a), R(b), S(a))
      assert.equal(2, calls)
      assert.are_not.equal(world:get(e, R(a), "list"), world:get(e, R(b), "list"))
      assert.same({ "aos" }, world:get(e, S(a)))
    end)

    it("are not called where a value is given", function()
      local T = ecs.trait { list = function() error "called" end }
      local A = ecs.trait(function() error "called" end)
      local list, value = {}, {}
      local e = world:spawn(T { list = list }, A(value))
      assert.equal(list, world:get(e, T, "list"))
      assert.equal(value, world:get(e, A))
    end)

    it("allow any type in their field", function()
      local T = ecs.trait { any = function() return 1 end }
      local e = world:spawn(T)
      for _, value in ipairs { {}, "x", true, 2.5, print, io.stdout, coroutine.create(print) } do
        world:set(e, T, "any", value)
        assert.equal(value, world:get(e, T, "any"))
      end
    end)

    it("that raise leave nothing behind, and the error is passed through", function()
      local boom = {}
      local Tag = ecs.trait()
      local T = ecs.trait { x = function() error(boom) end }
      local A = ecs.trait(function() error(boom) end)
      util.raisesValue(boom, function() world:spawn(Tag, T) end)
      util.raisesValue(boom, function() world:spawn(Tag, A) end)
      assert.equal(0, world:count())
      local e = world:spawn()
      util.raisesValue(boom, function() world:add(e, Tag, T) end)
      assert.is_false(world:has(e, T))
      assert.is_false(world:has(e, Tag))
      util.checkInvariants(world, { Tag, T, A })
    end)

    it("must not yield", function()
      local T = ecs.trait { x = function() return coroutine.yield() end }
      local co = coroutine.create(function() world:spawn(T) end)
      local ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.matches("must not yield", tostring(err))
      assert.equal(0, world:count())
    end)
  end)

  describe("terms", function()
    it("are made by calling a trait, and may be used many times", function()
      local T = ecs.trait { x = 0, y = 5 }
      local term = T { x = 1 }
      assert.equal("userdata", type(term))
      local a, b = world:spawn(term), world:spawn(term)
      world:set(a, T, "x", 9)
      assert.same({ x = 1, y = 5 }, world:get(b, T))
    end)

    it("of AoS traits hold the value itself", function()
      local T = ecs.trait(function() return {} end)
      local value = setmetatable({ "sword" }, { __index = { class = true } })
      local e = world:spawn(T(value))
      assert.equal(value, world:get(e, T))
      assert.equal("text", world:get(world:spawn(T "text"), T))
      assert.is_false(world:get(world:spawn(T(false)), T))
      assert.equal(0.5, world:get(world:spawn(T(0.5)), T))
    end)

    it("refuse unknown fields and wrong types, before any change", function()
      local T = ecs.trait { hp = 10, name = "x", ok = true }
      fails(".-", "speed", function() world:spawn(T { speed = 3 }) end)
      fails(".-", "hp", function() world:spawn(T { hp = "3" }) end)
      fails(".-", "name", function() world:spawn(T { name = 3 }) end)
      fails(".-", "ok", function() world:spawn(T { ok = 0 }) end)
      fails(".-", "hp", function() world:spawn(T { hp = ecs.null }) end)
      fails(".-", nil, function() world:spawn(T { [1] = 3 }) end)
      fails(".-", nil, function() world:spawn(T(5)) end)
      fails(".-", nil, function() world:spawn(T "hp") end)
      assert.equal(0, world:count())
    end)

    it("of tags take no value", function()
      local Tag = ecs.trait()
      fails(".-", nil, function() world:spawn(Tag { x = 1 }) end)
      fails(".-", nil, function() world:spawn(Tag(5)) end)
      fails(".-", nil, function() world:spawn(ecs.IsExcluded { x = 1 }) end)
      assert.equal(0, world:count())
    end)

    it("of relations need a target that is one", function()
      local R = ecs.relation()
      fails(".-", nil, function() world:spawn(R()) end)
      fails(".-", nil, function() world:spawn(R(nil)) end)
      fails(".-", nil, function() world:spawn(R("?")) end)
      fails(".-", nil, function() world:spawn(R({})) end)
      fails(".-", nil, function() world:spawn(R(1.5)) end)
      fails(".-", nil, function() world:spawn(R(ecs.null)) end)
      assert.equal(0, world:count())
    end)

    it("of relations without store take no data", function()
      local R, target = ecs.relation(), world:spawn()
      fails(".-", nil, function() world:spawn(R(target, { x = 1 })) end)
      assert.equal(1, world:count())
    end)
  end)
end)
