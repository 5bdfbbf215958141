-- SER-F02: what saveWorld writes.

local cjson = require "cjson"
local ecs = require "ecsser"
local deep = require "spec.support.deep"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"
local values = require "spec.support.values"
local worlds = require "spec.support.worlds"

-- True for a tree of what JSON can hold, without any metatable but the array mark.
local function isJsonSafe(value)
  local kind = math.type(value) or type(value)
  if kind == "float" then
    return value - value == 0
  elseif kind ~= "table" then
    return kind == "string" or kind == "integer" or kind == "boolean" or value == ecs.null
  end
  if debug.getmetatable(value) ~= nil and not ser.isMarked(value) then
    return false
  end
  local length = 0
  while rawget(value, length + 1) ~= nil do
    length = length + 1
  end
  for key, item in next, value do
    local array = math.type(key) == "integer" and key >= 1 and key <= length
    if not (array or type(key) == "string" and length == 0) or not isJsonSafe(item) then
      return false
    end
  end
  return true
end

describe("saveWorld", function()
  it("SER-010 gives the format, version 1, entities and world, JSON-safe throughout", function()
    local saved = ecs.saveWorld(ecs.createWorld())
    deep.assertSame({
      format = "ecs-serialize", version = 1, entities = {}, world = { tags = {}, traits = {} },
    }, saved, "an empty world")
    assert.equal("integer", math.type(saved.version))
    local kit = worlds.kit()
    random.rounds(50, function(rng)
      local world = worlds.random(rng, kit, { numbers = values.plain })
      local snapshot = ecs.saveWorld(world)
      assert.is_true(isJsonSafe(snapshot))
      local keys = {}
      for key in pairs(snapshot) do
        keys[#keys + 1] = key
      end
      table.sort(keys)
      assert.same({ "entities", "format", "version", "world" }, keys)
      deep.assertSame(snapshot, ser.viaCjson(snapshot), "after encode and decode", { loose = true })
    end)
  end)

  it("SER-010 (array marks) arrays of the format carry the mark, objects do not", function()
    local bag, r = ecs.trait(function() return {} end), ecs.relation()
    local world = ser.world { Bag = bag, R = r }
    local e = world:spawn(bag { plain = {}, marked = ecs.array {}, full = { 1 } })
    world:add(e, r(e))
    local s = ecs.saveWorld(world)
    local record = s.entities[1]
    for what, array in pairs {
      entities = s.entities, tags = record.tags, worldTags = s.world.tags,
      pairs = record.pairs.R, marked = record.traits.Bag.marked,
    } do
      assert.is_true(ser.isMarked(array), what .. " is not marked")
    end
    for what, object in pairs {
      snapshot = s, record = record, traits = record.traits, pairs = record.pairs, world = s.world,
      worldTraits = s.world.traits, pair = record.pairs.R[1], bag = record.traits.Bag,
      plain = record.traits.Bag.plain,
    } do
      assert.is_nil(debug.getmetatable(object), what .. " has a metatable")
    end
  end)

  it("SER-011 lists saved entities by ascending slot, without excluded and dead ones", function()
    local n = ecs.trait { i = 0 }
    local world = ser.world { N = n }
    deep.assertSame(ser.doc(), ecs.saveWorld(world), "an empty world")
    local list = {}
    for i = 1, 6 do
      list[i] = world:spawn(n { i = i })
    end
    world:spawn(ecs.IsExcluded, n)
    world:add(list[2], ecs.IsExcluded)
    world:destroy(list[4])
    world:destroy(list[1])
    world:spawn()
    local late = world:spawn(n { i = 99 })
    local slots = {}
    for i, entity in ipairs(ser.savedEntities(world)) do
      slots[i] = select(3, ecs.unpack(entity))
      assert.is_true(i == 1 or slots[i] > slots[i - 1])
    end
    deep.assertSame(oracle.describe(world, {
      items = { { name = "N", kind = "soa", object = n, fields = { "i" } } },
    }), ecs.saveWorld(world), "the snapshot")
    local entities = ecs.saveWorld(world).entities
    assert.equal(5, #entities)
    -- Both freed slots are taken again: by the one without traits, and by `late`.
    assert.is_true(select(3, ecs.unpack(late)) <= 4)
    local bare = 0
    for _, record in ipairs(entities) do
      if record.traits.N == nil then
        bare = bare + 1
        deep.assertSame({ tags = {}, traits = {}, pairs = {} }, record, "a bare record")
      end
    end
    assert.equal(1, bare)
    world:remove(list[2], ecs.IsExcluded)
    assert.equal(6, #ecs.saveWorld(world).entities)
  end)

  it("SER-012 a record holds tags, traits and pairs; data where there is a store", function()
    local tag, other, soa = ecs.trait(), ecs.trait(), ecs.trait { hp = 1, max = 2 }
    local aos = ecs.trait(function() return { "factory" } end)
    local data, bare = ecs.relation { store = { turns = 0 } }, ecs.relation()
    local meta = ecs.relation { store = function() return { "pair" } end }
    local unused = ecs.relation { store = { n = 0 } }
    local world = ser.world {
      Tag = tag, Other = other, Soa = soa, Aos = aos, Data = data, Bare = bare, Meta = meta,
      Unused = unused,
    }
    local a = world:spawn(tag, soa { hp = 5 }, aos)
    local b = world:spawn()
    local c = world:spawn(other, aos { k = 1 })
    world:add(a, data(c, { turns = 3 }), data(a), bare(b), meta(b), meta(c, { 1, { 2 } }))
    world:add(b, unused(a))
    world:remove(b, unused(a))
    deep.assertSame({
      {
        tags = { "Tag" }, traits = { Soa = { hp = 5, max = 2 }, Aos = { "factory" } },
        pairs = {
          Data = { { target = 2, data = { turns = 3 } }, { target = 0, data = { turns = 0 } } },
          Bare = { { target = 1 } },
          Meta = { { target = 1, data = { "pair" } }, { target = 2, data = { 1, { 2 } } } },
        },
      },
      { tags = {}, traits = {}, pairs = {} },
      { tags = { "Other" }, traits = { Aos = { k = 1 } }, pairs = {} },
    }, ecs.saveWorld(world).entities, "the records")
  end)

  it("SER-013 tags follow the order of registration, pairs the order of adding", function()
    local t, entries = {}, {}
    for i, name in ipairs { "z", "a", "m", "B", "\u{e9}", "10", "9", "_" } do
      t[i] = ecs.trait()
      entries[i] = { name, t[i] }
    end
    local r = ecs.relation { store = { n = 0 } }
    local world = ser.world { entries[1], entries[2], { "R", r } }
    ecs.registerTraits(world, table.move(entries, 3, #entries, 1, {}))
    local map = {}
    for _, entry in ipairs(entries) do
      map[entry[1]] = entry[2]
    end
    local byMap = ser.world(map)
    local e = world:spawn(table.unpack(t))
    byMap:spawn(table.unpack(t))
    local targets = {}
    for i = 1, 20 do
      targets[i] = world:spawn()
    end
    local expected = {}
    for i = 20, 1, -1 do
      world:add(e, r(targets[i], { n = i }))
      table.insert(expected, { target = i, data = { n = i } })
    end
    world:remove(e, r(targets[10]))
    world:remove(e, r(targets[20]))
    table.remove(expected, 11)
    table.remove(expected, 1)
    world:add(e, r(targets[20], { n = 0 }))
    table.insert(expected, { target = 20, data = { n = 0 } })
    local first, second = ecs.saveWorld(world), ecs.saveWorld(world)
    assert.same({ "z", "a", "m", "B", "\u{e9}", "10", "9", "_" }, first.entities[1].tags)
    deep.assertSame(expected, first.entities[1].pairs.R, "pairs")
    deep.assertSame(first, second, "two saves")
    assert.are_not.equal(first.entities, second.entities)
    -- The keys of a map are taken bytewise.
    assert.same({ "10", "9", "B", "_", "a", "m", "z", "\u{e9}" },
      ecs.saveWorld(byMap).entities[1].tags)
    if ecs.saveJSON then
      assert.equal(ecs.saveJSON(world), ecs.saveJSON(world))
    end
  end)

  it("SER-014 the world record holds the traits of the world entity", function()
    local tag, soa, aos = ecs.trait(), ecs.trait { n = 1 }, ecs.trait(function() return {} end)
    local link, never = ecs.trait { to = ecs.null }, ecs.trait()
    local world = ser.world {
      Tag = tag, Soa = soa, Aos = aos, Never = never, Link = { trait = link, refs = { "to" } },
    }
    world:add(tag, soa { n = 4 })
    world:add(aos { list = { 1 } })
    world:spawn()
    local e = world:spawn()
    world:add(link { to = e })
    deep.assertSame({
      tags = { "Tag" },
      traits = { Soa = { n = 4 }, Aos = { list = { 1 } }, Link = { to = 1 } },
    }, ecs.saveWorld(world).world, "the world record")
    assert.equal(2, #ecs.saveWorld(world).entities)
    world:remove(tag)
    world:remove(link)
    deep.assertSame({ tags = {}, traits = { Soa = { n = 4 }, Aos = { list = { 1 } } } },
      ecs.saveWorld(world).world, "the world record after a removal")
  end)

  it("SER-015 a SoA value is a copy with exactly the fields of the schema", function()
    local function factory() return { 1, { 2 } } end
    local t = ecs.trait { n = 1, s = "", null = ecs.null, list = factory }
    local r = ecs.relation { store = { any = ecs.null, n = 0 } }
    local world = ser.world { T = t, R = r }
    local e = world:spawn(t)
    world:add(e, r(e, { any = { deep = { 1 } } }))
    local s = ecs.saveWorld(world)
    local saved, pair = s.entities[1].traits.T, s.entities[1].pairs.R[1]
    deep.assertSame({ n = 1, s = "", null = ecs.null, list = { 1, { 2 } } }, saved, "the value")
    deep.assertSame({ target = 0, data = { any = { deep = { 1 } }, n = 0 } }, pair, "the pair")
    local before = ser.state(world)
    saved.n, saved.list[2][1], saved.more, pair.data.any.deep[1] = 9, 9, 9, 9
    ser.assertUnchanged(before, world, "a change of the snapshot")
    local again = ecs.saveWorld(world)
    local copy = deep.copy(again)
    world:set(e, t, { n = 5, null = "x" })
    world:get(e, t).list[2][1] = 7
    world:get(e, r(e)).any.deep[1] = 7
    deep.assertSame(copy, again, "the snapshot after a change of the world")
    deep.assertSame({ n = 5, s = "", null = "x", list = { 1, { 7 } } },
      ecs.saveWorld(world).entities[1].traits.T, "a later save")
  end)

  it("SER-015 a field that is not JSON-safe is not-serializable, by trait and field", function()
    local t = ecs.trait { n = 1, bad = function() return {} end }
    local r = ecs.relation { store = { n = 0, bad = ecs.null } }
    local world = ser.world { Thing = t, Rel = r }
    world:spawn()
    local e = world:spawn(t)
    world:add(e, r(world:spawn()), r(e))
    for _, value in ipairs(unsafe.values) do
      for _, place in ipairs(unsafe.places) do
        world:set(e, t, { bad = place(value.make()) })
        local err = ser.raises("saveWorld", "not-serializable", { "Thing", "bad" },
          ecs.saveWorld, world)
        assert.equal("entities[1].traits.Thing.bad", err.path:sub(1, 28), value.what)
        world:set(e, t, { bad = {} })
        world:set(e, r(e), { bad = place(value.make()) })
        err = ser.raises("saveWorld", "not-serializable", { "Rel", "bad" }, ecs.saveWorld, world)
        assert.equal("entities[1].pairs.Rel[1].data.bad", err.path:sub(1, 33), value.what)
        world:set(e, r(e), "bad", ecs.null)
      end
    end
    for _, number in ipairs { 0 / 0, math.huge, -math.huge } do
      world:set(e, t, "n", number)
      local err = ser.raises("saveWorld", "not-serializable", { "Thing", "n" },
        ecs.saveWorld, world)
      assert.equal("entities[1].traits.Thing.n", err.path)
      world:set(e, t, "n", 1)
      world:set(e, r(e), "n", number)
      ser.raises("saveWorld", "not-serializable", { "Rel", "n" }, ecs.saveWorld, world)
      world:set(e, r(e), "n", 1)
    end
    assert.equal(3, #ecs.saveWorld(world).entities)
  end)

  it("SER-016 an AoS value is a deep copy, or not-serializable by trait", function()
    local t = ecs.trait(function() return {} end)
    local world = ser.world { Bag = t }
    local shared = { "shared" }
    local value = {
      ecs.null, true, false, 1, 1.0, -0.0, "text", { a = { b = { c = {} } } }, shared, { shared },
      ecs.array {},
    }
    local e = world:spawn(t(value))
    local saved = ecs.saveWorld(world).entities[1].traits.Bag
    deep.assertSame(value, saved, "the value", { marks = true })
    assert.are_not.equal(value, saved)
    assert.are_not.equal(shared, saved[9])
    -- What is shared is saved as copies.
    assert.are_not.equal(saved[9], saved[10][1])
    saved[8].a.b.c[1] = "changed"
    assert.is_nil(value[8].a.b.c[1])
    value[8].a.b.c[1] = "world"
    assert.equal("changed", saved[8].a.b.c[1])
    for _, plain in ipairs { ecs.null, true, false, 0, -1.5, "", "x" } do
      world:set(e, t, plain)
      deep.assertSame(plain, ecs.saveWorld(world).entities[1].traits.Bag, "a plain value")
    end
    for _, bad in ipairs(unsafe.values) do
      for _, place in ipairs(unsafe.places) do
        world:set(e, t, place(bad.make()))
        local err = ser.raises("saveWorld", "not-serializable", { "Bag" }, ecs.saveWorld, world)
        assert.equal("entities[0].traits.Bag", err.path:sub(1, 22), bad.what)
      end
    end
    world:set(e, t, 1)
    world:add(t { print })
    local err = ser.raises("saveWorld", "not-serializable", { "Bag" }, ecs.saveWorld, world)
    assert.equal("world.traits.Bag[0]", err.path)
  end)

  it("SER-016 an entity inside an AoS value is saved as the plain number it is", function()
    local t = ecs.trait(function() return {} end)
    local world = ser.world { T = t }
    local e = world:spawn()
    world:spawn(t { e, { on = e } })
    deep.assertSame({ e, { on = e } }, ecs.saveWorld(world).entities[2].traits.T, "the value")
    local other = ser.world { T = t }
    other:spawn()
    other:reset()
    local restored = ecs.restoreWorld(other, ecs.saveWorld(world)).entities[2]
    deep.assertSame({ e, { on = e } }, other:get(restored, t), "the restored value")
  end)

  it("SER-016 (raw access) no metamethod runs while a value is refused", function()
    local t = ecs.trait(function() return {} end)
    local world = ser.world { T = t }
    local ran = {}
    local e = world:spawn(t)
    for _, locked in ipairs { true, false } do
      for _, place in ipairs(unsafe.places) do
        world:set(e, t, place(setmetatable({ 1, 2 }, ser.hostile(ran, locked))))
        ser.raises("saveWorld", "not-serializable", { "T" }, ecs.saveWorld, world)
      end
    end
    assert.same({}, ran)
  end)

  it("SER-016 all text is saved as it is, zero bytes and lone surrogates included", function()
    local t, soa = ecs.trait(function() return {} end), ecs.trait { s = "" }
    local world = ser.world { T = t, S = soa }
    local e = world:spawn(t, soa)
    for _, text in ipairs(unsafe.texts) do
      world:set(e, t, { [text] = text, list = { text } })
      world:set(e, soa, "s", text)
      local traits = ecs.saveWorld(world).entities[1].traits
      deep.assertSame({ [text] = text, list = { text } }, traits.T, "AoS")
      deep.assertSame({ s = text }, traits.S, "SoA")
    end
    world:set(e, soa, "s", "\xFF")
    local err = ser.raises("saveWorld", "not-serializable", { "S", "s" }, ecs.saveWorld, world)
    assert.equal("entities[0].traits.S.s", err.path)
  end)

  -- The value of an AoS trait is the fifth container: snapshot, entities, record, traits, value.
  it("SER-016 nests 512 deep at most, counted from the snapshot", function()
    local t = ecs.trait(function() return {} end)
    local r = ecs.relation { store = function() return {} end }
    local world = ser.world { T = t, R = r }
    local e = world:spawn(t)
    local function depths(limit, set, names)
      for depth = limit - 1, limit do
        set(ser.nested(depth))
        local snapshot = ecs.saveWorld(world)
        local other = ser.world { T = t, R = r }
        ecs.restoreWorld(other, snapshot)
        deep.assertSame(snapshot, ecs.saveWorld(other), "depth " .. depth, { marks = true })
      end
      for _, depth in ipairs { limit + 1, limit + 2, 1000, 100000 } do
        set(ser.nested(depth))
        ser.raises("saveWorld", "not-serializable", names, ecs.saveWorld, world)
        coroutine.wrap(function()
          ser.raises("saveWorld", "not-serializable", names, ecs.saveWorld, world)
        end)()
      end
      set({})
    end
    depths(508, function(value) world:set(e, t, value) end, { "T" })
    world:set(e, t, ser.nested(1000000))
    ser.raises("saveWorld", "not-serializable", { "T" }, ecs.saveWorld, world)
    world:set(e, t, {})
    world:add(e, r(e))
    depths(506, function(value) world:set(e, r(e), value) end, { "R" })
    world:add(t)
    depths(509, function(value) world:set(t, value) end, { "T" })
  end)

  it("SER-017 a tag is listed in tags only", function()
    local tag, empty = ecs.trait(), ecs.trait {}
    local world = ser.world { Tag = tag, Empty = empty }
    world:spawn(tag, empty)
    world:add(tag, empty)
    local s = ecs.saveWorld(world)
    deep.assertSame({ tags = { "Empty", "Tag" }, traits = {}, pairs = {} }, s.entities[1], "record")
    deep.assertSame({ tags = { "Empty", "Tag" }, traits = {} }, s.world, "world")
  end)

  it("SER-018 an unregistered trait is an error that says which and where defined", function()
    local kept, t = ecs.trait { v = 0 }, ecs.trait { v = ser.SECRET }
    local line = debug.getinfo(1, "l").currentline - 1
    local world = ser.world { Kept = kept }
    local e = world:spawn(kept)
    assert.equal(1, #ecs.saveWorld(world).entities)
    local function refused()
      local err = ser.raises("saveWorld", "unregistered-trait",
        { "trait #" .. t.id, "ser_save_spec.lua:" .. line }, ecs.saveWorld, world)
      assert.truthy(t.where:find("ser_save_spec.lua:" .. line, 1, true))
      return err
    end
    world:add(e, t)
    refused()
    world:remove(e, t)
    assert.equal(1, #ecs.saveWorld(world).entities)
    world:add(t)
    refused()
    world:remove(t)
    -- Nothing is read from an excluded entity.
    local prefab = world:spawn(ecs.IsExcluded, t, kept)
    assert.equal(1, #ecs.saveWorld(world).entities)
    world:remove(prefab, ecs.IsExcluded)
    refused()
    world:destroy(prefab)
    world:spawn(t)
    refused()
    ecs.registerTraits(world, { T = t })
    assert.equal(2, #ecs.saveWorld(world).entities)
  end)

  it("SER-019 an unregistered relation is reported by its id as well", function()
    local world = ecs.createWorld()
    local e, f = world:spawn(), world:spawn()
    for _, r in ipairs { ecs.relation(), ecs.relation { store = { n = 0 } } } do
      world:add(e, r(f))
      ser.raises("saveWorld", "unregistered-trait", { "trait #" .. r.id, "ser_save_spec.lua:" },
        ecs.saveWorld, world)
      world:remove(e, r(f))
      deep.assertSame(ser.doc { {}, {} }, ecs.saveWorld(world), "without the pair")
      local prefab = world:spawn(ecs.IsExcluded)
      world:add(prefab, r(e))
      deep.assertSame(ser.doc { {}, {} }, ecs.saveWorld(world), "a pair of a prefab")
      world:destroy(prefab)
      world:add(e, r(f))
      ecs.ignoreTraits(world, { r })
      deep.assertSame(ser.doc { {}, {} }, ecs.saveWorld(world), "an ignored relation")
    end
  end)

  it("SER-020 changes nothing and calls no observer", function()
    local kit = worlds.kit()
    local t = ecs.trait(function() return print end)
    random.rounds(20, function(rng)
      local world = worlds.random(rng, kit)
      local watched = { excluded = ecs.IsExcluded, ignored = kit.ignored[1] }
      for _, item in ipairs(kit.items) do
        watched[item.name] = item.object
      end
      local log = ser.watch(world, watched)
      local before, count = ser.state(world), world:count()
      ecs.saveWorld(world)
      ser.assertUnchanged(before, world, "saveWorld")
      assert.equal(count, world:count())
      -- A save that fails changes nothing either.
      world:add(t)
      before = ser.state(world)
      ser.raises("saveWorld", "unregistered-trait", {}, ecs.saveWorld, world)
      ecs.registerTraits(world, { T = t })
      ser.raises("saveWorld", "not-serializable", { "T" }, ecs.saveWorld, world)
      ser.assertUnchanged(before, world, "a failed saveWorld")
      assert.same({}, log)
    end)
  end)

  it("SER-021 a registered trait that was never used is not brought into the world", function()
    local calls = 0
    local never = ecs.trait(function() calls = calls + 1 return {} end)
    local neverField = ecs.trait { f = function() calls = calls + 1 return {} end }
    local r = ecs.relation { store = function() calls = calls + 1 return {} end }
    local coded = ecs.trait { v = 0 }
    local codec = {
      toJSON = function() calls = calls + 1 return 1 end,
      fromJSON = function() calls = calls + 1 return {} end,
    }
    local world = ser.world {
      A = never, B = neverField, R = r, C = { trait = coded, codec = codec },
    }
    local e = world:spawn()
    deep.assertSame(ser.doc { {} }, ecs.saveWorld(world), "the snapshot")
    deep.assertSame({ ecs.IsExcluded }, world:traits(), "the traits")
    assert.equal(0, calls)
    world:add(e, never)
    calls = 0
    ecs.saveWorld(world)
    deep.assertSame({ ecs.IsExcluded, never }, world:traits(), "the traits in use")
    assert.equal(0, calls)
  end)

  it("SER-022 gaps and used generations: order by slot, references by index", function()
    local n, link = ecs.trait { i = 0 }, ecs.trait { to = ecs.null }
    local r = ecs.relation { store = { i = 0 } }
    local world = ser.world { N = n, Link = { trait = link, refs = { "to" } }, R = r }
    local list = {}
    for i = 1, 12 do
      list[i] = world:spawn(n { i = i })
    end
    for _, i in ipairs { 1, 4, 5, 12 } do
      world:destroy(list[i])
    end
    for i = 1, 3 do
      world:destroy(world:spawn(n { i = -i }))
    end
    local new = { world:spawn(n { i = 101 }), world:spawn(n { i = 102 }) }
    local order = ser.savedEntities(world)
    assert.equal(10, #order)
    local index = {}
    for i, entity in ipairs(order) do
      index[entity] = i - 1
    end
    world:add(list[2], link { to = new[1] }, r(new[2], { i = 1 }), r(list[11], { i = 2 }))
    world:add(new[1], link { to = list[11] }, r(list[2], { i = 3 }), r(new[1], { i = 4 }))
    local s = ecs.saveWorld(world)
    assert.equal(10, #s.entities)
    for i, entity in ipairs(order) do
      assert.equal(world:get(entity, n, "i"), s.entities[i].traits.N.i)
    end
    local second, first = s.entities[index[list[2]] + 1], s.entities[index[new[1]] + 1]
    deep.assertSame({ to = index[new[1]] }, second.traits.Link, "refs")
    deep.assertSame({
      { target = index[new[2]], data = { i = 1 } }, { target = index[list[11]], data = { i = 2 } },
    }, second.pairs.R, "pairs")
    deep.assertSame({ to = index[list[11]] }, first.traits.Link, "refs")
    deep.assertSame({
      { target = index[list[2]], data = { i = 3 } }, { target = index[new[1]], data = { i = 4 } },
    }, first.pairs.R, "pairs")
  end)

  it("SER-023 a fresh world has exactly one excluded entity and saves none", function()
    local world = ecs.createWorld()
    local entities = world:entities()
    assert.equal(1, #entities)
    assert.is_true(world:has(entities[1], ecs.IsExcluded))
    assert.equal(0, select(3, ecs.unpack(entities[1])))
    assert.equal(0, world:count())
    deep.assertSame({}, ecs.saveWorld(world).entities, "entities")
  end)

  it("SER-012 70 and 300 traits and relations on one entity", function()
    for _, count in ipairs { 70, 300 } do
      local entries, terms, expected = {}, {}, ser.record()
      for i = 1, count do
        local tag, soa, r = ecs.trait(), ecs.trait { v = 0 }, ecs.relation()
        table.insert(entries, { "t" .. i, tag })
        table.insert(entries, { "s" .. i, soa })
        table.insert(entries, { "r" .. i, r })
        terms[#terms + 1], terms[#terms + 2] = tag, soa { v = i }
        expected.tags[i], expected.traits["s" .. i] = "t" .. i, { v = i }
        expected.pairs["r" .. i] = { { target = 0 } }
      end
      local world, other = ser.world(entries), ser.world(entries)
      local e = world:spawn(table.unpack(terms))
      for _, entry in ipairs(entries) do
        if ecs.isRelation(entry[2]) then
          world:add(e, entry[2](e))
        end
      end
      local s = ecs.saveWorld(world)
      deep.assertSame(expected, s.entities[1], count .. " traits")
      ecs.restoreWorld(other, s)
      deep.assertSame(s, ecs.saveWorld(other), count .. " traits restored")
      deep.assertSame(s.entities[1].tags, cjson.decode(cjson.encode(s)).entities[1].tags, "tags")
    end
  end)
end)
