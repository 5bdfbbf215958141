-- codec.refs: entity references at places inside an AoS value.

local ecs = require "ecsser"
local codec = require "ecsser.codec"
local deep = require "spec.support.deep"
local random = require "spec.support.random"
local ser = require "spec.support.ser"

-- Two worlds with one trait under codec.refs(paths); the first has six entities.
local function kit(paths)
  local trait = ecs.trait(function() return {} end)
  local entries = { Bag = { trait = trait, codec = codec.refs(paths) } }
  local world = ser.world(entries)
  world:destroy(world:spawn())
  local e = {}
  for i = 1, 6 do e[i] = world:spawn() end
  return { world = world, e = e, trait = trait, other = ser.world(entries) }
end

-- The value of make(entities) is saved as make(indices) and restored as make(new entities).
local function check(paths, make)
  for _, route in ipairs(ser.routes()) do
    local k = kit(paths)
    local value = make(k.e)
    local copy = deep.copy(value)
    k.world:add(k.e[1], k.trait(value))
    local saved = ecs.saveWorld(k.world)
    deep.assertSame(make { 0, 1, 2, 3, 4, 5 }, saved.entities[1].traits.Bag, "the JSON",
      { marks = true })
    deep.assertSame(copy, value, "the value itself")
    k.other:spawn(ecs.IsExcluded)
    local new = route.restore(k.other, route.save(k.world)).entities
    assert.is_false(new[1] == k.e[1])
    deep.assertSame(make(new), k.other:get(new[1], k.trait), "restored by " .. route.name,
      { marks = not route.loose })
  end
end

describe("codec.refs", function()
  it("translates a field, a list and a map", function()
    check({ "owner", "members[]", "slots{}" }, function(e)
      return {
        owner = e[3], members = { e[2], e[5], e[2] }, slots = { left = e[1], right = e[6] },
        other = 3, list = { 1, 2 },
      }
    end)
  end)

  it("translates paths that go on", function()
    check({ "a.b.c", "list[].x", "list[].y.z", "map{}.list[]", "map{}.one", "grid[][]" },
      function(e)
        return {
          a = { b = { c = e[1], d = 1 }, c = 2 },
          list = { { x = e[2], y = { z = e[3] } }, { n = 1 }, { x = e[4], y = { w = 2 } } },
          map = { p = { list = { e[5], e[6] }, one = e[1] }, q = { one = e[2] } },
          grid = { { e[1], e[2] }, ecs.array {}, { e[3] } },
        }
      end)
  end)

  it("translates a list or map that is the value itself, and the value itself", function()
    check({ "[]" }, function(e) return { e[4], e[1] } end)
    check({ "{}" }, function(e) return { x = e[4], ["odd key.["] = e[1] } end)
    check({ "[].to" }, function(e) return { { to = e[4] }, { to = e[1] }, {} } end)
    check({ "{}{}" }, function(e) return { a = { b = e[1] }, c = { d = e[2] } } end)
    check({ "" }, function(e) return e[5] end)
  end)

  it("takes names that are no identifiers", function()
    check({ "my owner", "\u{fc}ber.1", "x-y[]" }, function(e)
      return { ["my owner"] = e[1], ["\u{fc}ber"] = { ["1"] = e[2] }, ["x-y"] = { e[3] } }
    end)
  end)

  it("takes null and absent, wherever a path ends early", function()
    local paths = { "a.b", "list[]", "list2[].x", "map{}.y", "one" }
    for _, value in ipairs {
      {}, { a = ecs.null }, { a = {} }, { a = { b = ecs.null } }, { list = ecs.null },
      { list = ecs.array {} }, { list2 = { ecs.null, {}, { x = ecs.null } } },
      { map = { k = ecs.null, l = {} } }, { one = ecs.null }, ecs.null,
    } do
      check(paths, function() return value end)
    end
    check(paths, function(e)
      return { list = { ecs.null, e[2], ecs.null }, map = { k = ecs.null, l = { y = e[1] } } }
    end)
    check({ "" }, function() return ecs.null end)
  end)

  it("copies only what it changes, and never the given tables", function()
    local c = codec.refs { "a.b", "list[]" }
    local value = { a = { b = 7, c = { 1 } }, list = ecs.array { 7 }, rest = { 2 } }
    local copy = deep.copy(value)
    for _, form in ipairs { "toJSON", "fromJSON" } do
      local ctx = { ref = function(x) return x + 1 end, entity = function(x) return x + 1 end }
      local got = c[form](value, ctx)
      deep.assertSame({ a = { b = 8, c = { 1 } }, list = { 8 }, rest = { 2 } }, got, form)
      deep.assertSame(copy, value, "the value", { marks = true })
      assert.is_true(rawequal(got.rest, value.rest))
      assert.is_false(rawequal(got.list, value.list))
      assert.is_true(ser.isMarked(got.list))
    end
  end)

  it("names the path of a reference that dangles", function()
    local k = kit { "owner", "teams{}.members[].who", "x[]" }
    local gone = k.world:spawn()
    k.world:destroy(gone)
    local prefab = k.world:spawn(ecs.IsExcluded)
    local foreign = ser.world():spawn()
    for _, bad in ipairs { gone, prefab, foreign, 0, 5, 1.5, "text", true, {}, print } do
      for path, value in pairs {
        [".owner"] = { owner = bad },
        [".teams.red.members[1].who"] = {
          owner = k.e[2],
          teams = { red = { members = { { who = k.e[1] }, { who = bad } } } },
        },
        ['.teams["my team"].members[0].who'] = {
          teams = { ["my team"] = { members = { { who = bad } } } },
        },
        [".x[2]"] = { x = { k.e[1], ecs.null, bad } },
      } do
        k.world:add(k.e[2], k.trait(value))
        local err = ser.raises("saveWorld", "dangling-ref", { "Bag" }, ecs.saveWorld, k.world)
        assert.equal("entities[1].traits.Bag" .. path, err.path)
        assert.equal("saveWorld: entities[1].traits.Bag" .. path
          .. " refers to an entity that is not saved", err.message)
        k.world:remove(k.e[2], k.trait)
      end
    end
    k.world:add(k.trait { owner = gone })
    assert.equal("world.traits.Bag.owner",
      ser.raises("saveWorld", "dangling-ref", {}, ecs.saveWorld, k.world).path)
    assert.equal("world.traits.Bag.owner",
      ser.raises("saveJSON", "dangling-ref", {}, ecs.saveJSON, k.world).path)
  end)

  it("names the path of a wrong index", function()
    local k = kit { "owner", "members[]" }
    for _, bad in ipairs { -1, 1, 0.5, "0", true, { 0 }, math.maxinteger } do
      for path, value in pairs {
        owner = { owner = bad }, ["members[1]"] = { members = { 0, bad } },
      } do
        local snapshot = ser.doc { { traits = { Bag = value } } }
        local err = ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, k.other,
          snapshot)
        assert.equal("entities[0].traits.Bag." .. path, err.path)
        assert.truthy(err.message:find(err.path .. " ", 1, true), err.message)
        ser.assertFresh(k.other, { k.trait })
        local text = '{"format":"ecs-serialize","version":1,"entities":[{"tags":[],"traits":{"Bag":'
          .. ecs.encode(value) .. '},"pairs":{}}],"world":{"tags":[],"traits":{}}}'
        err = ser.raises("restoreJSON", "malformed", { "Bag" }, ecs.restoreJSON, k.other, text)
        assert.equal("entities[0].traits.Bag." .. path, err.path)
        assert.equal(text:find('"Bag":', 1, true) + 5, err.offset)
      end
    end
  end)

  it("names the path of a table that is missing", function()
    local paths = { "a.b.c", "list[].x", "map{}" }
    for value, message in pairs {
      [{ a = 5 }] = "a is a number, not a table",
      [{ a = { b = "text" } }] = "a.b is a string, not a table",
      [{ list = { {}, true } }] = "list[1] is a boolean, not a table",
      [{ list = { x = 1 } }] = "list is not a list",
      [{ list = { 1, 2, [4] = 4 } }] = "list[0] is a number, not a table",
      [{ map = { 1 } }] = "map has keys that are not strings",
      [{ map = 5 }] = "map is a number, not a table",
      [{ list = 5 }] = "list is a number, not a table",
    } do
      local k = kit(paths)
      k.world:add(k.e[3], k.trait(value))
      local err = ser.raises("saveWorld", "codec-error", { "Bag" }, ecs.saveWorld, k.world)
      assert.equal("codec.refs: " .. message, err.cause)
      if message:sub(1, 7) ~= "list[0]" then
        err = ser.raises("restoreWorld", "codec-error", { "Bag" }, ecs.restoreWorld, k.other,
          ser.doc { { traits = { Bag = value } } })
        assert.equal("codec.refs: " .. message, err.cause)
        ser.assertFresh(k.other, { k.trait })
      end
    end
    local k = kit { "a" }
    k.world:add(k.e[3], k.trait(5))
    local err = ser.raises("saveWorld", "codec-error", { "Bag" }, ecs.saveWorld, k.world)
    assert.equal("codec.refs: the value is a number, not a table", err.cause)
  end)

  it("reports the same fault whatever the order of the keys", function()
    local names = {}
    for i = 1, 40 do names[i] = ("k%02d"):format(i) end
    for seed = 1, 5 do
      local k = kit { "z", "map{}", "y" }
      local map = {}
      for _, name in ipairs(random.new(seed):shuffled(names)) do map[name] = 0 end
      k.world:add(k.e[1], k.trait { map = map, z = k.e[1], y = 0 })
      local err = ser.raises("saveWorld", "dangling-ref", {}, ecs.saveWorld, k.world)
      assert.equal("entities[0].traits.Bag.map.k01", err.path)
    end
  end)

  it("a value that is not JSON-safe stays an error of the save", function()
    local k = kit { "a.b", "list[]" }
    for _, bad in ipairs {
      setmetatable({ a = {} }, {}), { a = setmetatable({}, {}) }, { other = print },
      { list = setmetatable({}, {}) }, { a = { c = 0 / 0 } },
    } do
      k.world:add(k.e[1], k.trait(bad))
      ser.raises("saveWorld", "not-serializable", { "Bag" }, ecs.saveWorld, k.world)
      k.world:remove(k.e[1], k.trait)
    end
    -- Sparse and mixed lists keep their keys.
    k.world:add(k.e[1], k.trait { list = { k.e[1], nil, k.e[3] } })
    ser.raises("saveWorld", "not-serializable", { "list" }, ecs.saveWorld, k.world)
  end)

  it("checks its paths", function()
    local function wrong(message, paths)
      local ok, err = pcall(codec.refs, paths)
      assert.is_false(ok)
      assert.truthy(err:find("codec.refs: " .. message, 1, true), err)
    end
    wrong("bad argument #1 (list of paths expected, got nil)", nil)
    wrong("bad argument #1 (list of paths expected, got string)", "owner")
    wrong("the list of paths is empty", {})
    for i, bad in ipairs {
      ".", "a.", ".a", "a..b", "[", "]", "a[", "a[]b", "a{}b", "[].", "{}.", "[]a", "a[1]", "a.[]",
      "{ }", "a.{}", 5, true, {},
    } do
      wrong("path #2 is no path", { "ok", bad })
      wrong("path #1 is no path", { bad, i })
    end
    wrong("path #1 is no path", { first = "a" })
    wrong('the path "a" occurs twice', { "a", "b", "a" })
    wrong('the path "a.b" goes through another path\'s entity', { "a", "a.b" })
    wrong('the path "a" is an entity, but another path goes through it', { "a.b", "a" })
    wrong('the path "" is an entity', { "a", "" })
    wrong('the path "a" goes through', { "", "a" })
    wrong('the path "" occurs twice', { "", "" })
    for _, pair in ipairs {
      { "[]", "{}" }, { "[]", "a" }, { "{}", "a" }, { "a", "{}" }, { "x[].a", "x{}.b" },
      { "x{}", "x.y" }, { "x.y", "x[]" },
    } do
      wrong(('the path "%s" overlaps another path'):format(pair[2]), pair)
    end
    assert.truthy(select(2, pcall(function() codec.refs {} end)):find("codec_refs_spec", 1, true))
  end)

  it("takes many paths and large values", function()
    local paths = {}
    for i = 1, 300 do paths[i] = ("f%d.list[].to"):format(i) end
    check(paths, function(e)
      local value = {}
      for i = 1, 300 do
        value["f" .. i] = { list = { { to = e[i % 6 + 1] }, { to = e[(i + 1) % 6 + 1] } } }
      end
      return value
    end)
    check({ "[]" }, function(e)
      local value = {}
      for i = 1, 5000 do value[i] = e[i % 6 + 1] end
      return value
    end)
  end)

  it("a wrong use of ctx after its call stays an error", function()
    local kept
    local c = codec.refs { "a" }
    local t = ecs.trait(function() return {} end)
    local world = ser.world { Bag = { trait = t, codec = {
      toJSON = function(value, ctx)
        kept = ctx
        return value
      end,
      fromJSON = function(json) return json end,
    } } }
    local e = world:spawn(t)
    ecs.saveWorld(world)
    local ok, err = pcall(c.toJSON, { a = e }, kept)
    assert.is_false(ok)
    assert.truthy(tostring(err):find("is over", 1, true), tostring(err))
  end)
end)
