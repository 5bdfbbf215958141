-- SER-F04: what restoreWorld builds, in which order, and how it takes everything back.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local values = require "spec.support.values"
local worlds = require "spec.support.worlds"

local function identity(x)
  return x
end

-- A set of traits with one of each kind, and a snapshot that uses them all.
local function scene()
  local t = {
    Tag = ecs.trait(), Late = ecs.trait(),
    Soa = ecs.trait { hp = 1, name = "", any = ecs.null },
    Aos = ecs.trait(function() return { "factory" } end),
    Link = ecs.trait { to = ecs.null },
    Coded = ecs.trait(function() return { "factory" } end),
    Data = ecs.relation { store = { n = 0 } }, Bare = ecs.relation(),
    Meta = ecs.relation { store = function() return {} end },
  }
  local codec = {
    toJSON = function(value, ctx) return { ctx.ref(value.entity) } end,
    fromJSON = function(json, ctx) return { entity = ctx.entity(json[1]) } end,
  }
  local entries = {
    Tag = t.Tag, Late = t.Late, Soa = t.Soa, Aos = t.Aos,
    Link = { trait = t.Link, refs = { "to" } }, Coded = { trait = t.Coded, codec = codec },
    Data = t.Data, Bare = t.Bare, Meta = t.Meta,
  }
  local snapshot = ser.doc({
    {
      tags = { "Tag", "Late" },
      traits = {
        Soa = { hp = 5, name = "a\0b", any = { 1, { k = ecs.null } } }, Link = { to = 2 },
        Coded = { 1 },
      },
      pairs = {
        Data = { { target = 2, data = { n = 3 } }, { target = 0, data = { n = 4 } } },
        Bare = { { target = 1 } },
      },
    },
    {},
    {
      tags = { "Late" }, traits = { Aos = { list = { 1, 2.5, "x" } }, Link = { to = ecs.null } },
      pairs = { Meta = { { target = 0, data = { { 1 } } }, { target = 1, data = "plain" } } },
    },
  }, { tags = { "Tag" }, traits = { Soa = { hp = 9, name = "w", any = 1.0 }, Link = { to = 1 } } })
  return t, entries, snapshot
end

describe("restoreWorld", function()
  local t, entries, snapshot, world

  before_each(function()
    t, entries, snapshot = scene()
    world = ser.world(entries)
  end)

  it("SER-050 spawns exactly one entity per record, in snapshot order", function()
    local prefab = world:spawn(ecs.IsExcluded)
    local before = world:entities()
    local result = ecs.restoreWorld(world, snapshot)
    assert.equal(3, #result.entities)
    assert.equal(3, world:count() - 1)
    for i, entity in ipairs(result.entities) do
      assert.equal("integer", math.type(entity))
      assert.is_true(world:isAlive(entity))
      assert.is_false(world:has(entity, ecs.IsExcluded))
      assert.equal(prefab ~= entity, true)
      before[#before + 1] = entity
      assert.is_true(i == 1 or entity > result.entities[i - 1])
    end
    deep.assertSame(before, world:entities(), "the entities")
    local keys = {}
    for key in pairs(result) do
      keys[#keys + 1] = key
    end
    assert.same({ "entities" }, keys)
    assert.is_nil(debug.getmetatable(result))
  end)

  it("SER-051 adds tags and values, as copies", function()
    local e = ecs.restoreWorld(world, snapshot).entities
    assert.is_true(world:has(e[1], t.Tag) and world:has(e[1], t.Late))
    assert.is_false(world:has(e[3], t.Tag))
    assert.is_true(world:has(e[3], t.Late))
    deep.assertSame({ hp = 5, name = "a\0b", any = { 1, { k = ecs.null } } },
      world:get(e[1], t.Soa), "SoA")
    deep.assertSame({ list = { 1, 2.5, "x" } }, world:get(e[3], t.Aos), "AoS")
    deep.assertSame({ entity = e[2] }, world:get(e[1], t.Coded), "codec")
    deep.assertSame({ to = e[3] }, world:get(e[1], t.Link), "refs")
    deep.assertSame({}, world:get(e[3], t.Link), "refs with null")
    for _, entity in ipairs { e[1], e[2], e[3] } do
      local has = { [e[1]] = { "Soa", "Coded", "Link" }, [e[2]] = {}, [e[3]] = { "Aos", "Link" } }
      for _, name in ipairs { "Soa", "Coded", "Link", "Aos" } do
        local expected = false
        for _, listed in ipairs(has[entity]) do
          expected = expected or listed == name
        end
        assert.equal(expected, world:has(entity, t[name]), name)
      end
    end
    local copy = deep.copy(snapshot)
    assert.are_not.equal(snapshot.entities[3].traits.Aos, world:get(e[3], t.Aos))
    world:get(e[3], t.Aos).list[1] = "changed"
    world:get(e[1], t.Soa).any[2].k = "changed"
    deep.assertSame(copy, snapshot, "the snapshot")
    snapshot.entities[3].traits.Aos.list[2] = "changed"
    snapshot.entities[1].traits.Soa.any[1] = "changed"
    deep.assertSame({ list = { "changed", 2.5, "x" } }, world:get(e[3], t.Aos), "AoS")
    deep.assertSame({ 1, { k = "changed" } }, world:get(e[1], t.Soa, "any"), "SoA")
  end)

  it("SER-051 subtables that are shared in the snapshot become copies", function()
    local shared = { 1 }
    local doc = ser.doc { { traits = { Aos = { shared, shared } } }, { traits = { Aos = shared } } }
    local e = ecs.restoreWorld(world, doc).entities
    local value = world:get(e[1], t.Aos)
    assert.are_not.equal(value[1], value[2])
    assert.are_not.equal(value[1], world:get(e[2], t.Aos))
    deep.assertSame({ { 1 }, { 1 } }, value, "the value")
  end)

  it("SER-051 keeps the array mark of an empty table", function()
    local e = ecs.restoreWorld(world, ser.doc {
      { traits = { Aos = { marked = ecs.array {}, plain = {} } } },
      { traits = { Aos = ecs.array {} } }, { traits = { Aos = {} } },
    }).entities
    assert.is_true(ser.isMarked(world:get(e[1], t.Aos).marked))
    assert.is_nil(debug.getmetatable(world:get(e[1], t.Aos).plain))
    assert.is_true(ser.isMarked(world:get(e[2], t.Aos)))
    assert.is_nil(debug.getmetatable(world:get(e[3], t.Aos)))
  end)

  it("SER-052 adds pairs in snapshot order with their data", function()
    local e = ecs.restoreWorld(world, snapshot).entities
    deep.assertSame({ e[3], e[1] }, world:targets(e[1], t.Data), "Data")
    deep.assertSame({ n = 3 }, world:get(e[1], t.Data(e[3])), "Data to 2")
    deep.assertSame({ n = 4 }, world:get(e[1], t.Data(e[1])), "Data to 0")
    deep.assertSame({ e[2] }, world:targets(e[1], t.Bare), "Bare")
    assert.is_nil(world:get(e[1], t.Bare(e[2])))
    deep.assertSame({ e[1], e[2] }, world:targets(e[3], t.Meta), "Meta")
    deep.assertSame({ { 1 } }, world:get(e[3], t.Meta(e[1])), "Meta to 0")
    deep.assertSame("plain", world:get(e[3], t.Meta(e[2])), "Meta to 1")
    deep.assertSame({}, world:targets(e[2], t.Data), "no pairs")
    deep.assertSame({ e[1] }, world:sources(e[1], t.Data), "sources")
    assert.are_not.equal(snapshot.entities[3].pairs.Meta[1].data, world:get(e[3], t.Meta(e[1])))
  end)

  it("SER-052 restores 300 pairs of one entity in their order", function()
    local list, records = {}, {}
    for i = 1, 300 do
      list[i] = { target = (i * 7) % 300 }
      records[i] = { pairs = { Bare = { { target = 0 } } } }
    end
    records[1].pairs.Bare = list
    local e = ecs.restoreWorld(world, ser.doc(records)).entities
    local expected = {}
    for i, pair in ipairs(list) do
      expected[i] = e[pair.target + 1]
    end
    deep.assertSame(expected, world:targets(e[1], t.Bare), "targets")
    deep.assertSame(e, world:sources(e[1], t.Bare), "sources")
  end)

  it("SER-053 applies the world record", function()
    local e = ecs.restoreWorld(world, snapshot).entities
    assert.is_true(world:has(t.Tag))
    deep.assertSame({ hp = 9, name = "w", any = 1.0 }, world:get(t.Soa), "Soa")
    deep.assertSame({ to = e[2] }, world:get(t.Link), "Link")
    for _, name in ipairs { "Late", "Aos", "Coded" } do
      assert.is_false(world:has(t[name]), name)
    end
    deep.assertSame(snapshot.world, ecs.saveWorld(world).world, "saved again")
  end)

  it("SER-054 the round trip gives the same snapshot, and ascending slots", function()
    ecs.restoreWorld(world, snapshot)
    local first = ecs.saveWorld(world)
    deep.assertSame(snapshot.entities[1].traits, first.entities[1].traits, "the first record")
    local kit = worlds.kit()
    random.rounds(60, function(rng)
      for _, route in ipairs(ser.routes()) do
        local a = worlds.random(rng, kit, { numbers = values.plain })
        local saved = ecs.saveWorld(a)
        deep.assertSame(oracle.describe(a, kit), saved, "what was saved")
        local b = oracle.world(kit)
        local e = route.restore(b, route.save(a)).entities
        deep.assertSame(saved, ecs.saveWorld(b), route.name)
        local last = 0
        for i, entity in ipairs(e) do
          local slot = select(3, ecs.unpack(entity))
          assert.is_true(slot > last)
          assert.equal(entity, ser.savedEntities(b)[i])
          last = slot
        end
      end
    end)
  end)

  it("SER-055 refuses a world that is not empty, before any change", function()
    local function refused()
      local before = ser.state(world)
      ser.raises("restoreWorld", "world-not-empty", {}, ecs.restoreWorld, world, snapshot)
      ser.assertUnchanged(before, world, "a refused restore")
      ser.raises("restoreWorld", "world-not-empty", {}, ecs.restoreWorld, world, ser.doc())
      ser.assertUnchanged(before, world, "a refused restore")
    end
    local e = world:spawn()
    refused()
    world:add(e, t.Tag, t.Aos)
    refused()
    world:destroy(e)
    for name in pairs(t) do
      if not ecs.isRelation(t[name]) then
        world:add(t[name])
        local err = ser.raises("restoreWorld", "world-not-empty", { name }, ecs.restoreWorld, world,
          snapshot)
        assert.equal("world-not-empty", err.code)
        refused()
        world:remove(t[name])
      end
    end
    -- Allowed: prefabs, and world traits that are not registered or ignored.
    local unregistered, ignored = ecs.trait(), ecs.trait()
    ecs.ignoreTraits(world, { ignored })
    local prefab = world:spawn(ecs.IsExcluded, t.Tag, t.Soa, unregistered)
    world:add(unregistered, ignored)
    assert.equal(3, #ecs.restoreWorld(world, snapshot).entities)
    assert.is_true(world:isAlive(prefab) and world:has(unregistered) and world:has(ignored))
    deep.assertSame({ hp = 1, name = "" }, world:get(prefab, t.Soa), "the prefab")
    refused()
  end)

  it("SER-055 takes a world whose entities were all destroyed, slots ascending", function()
    random.rounds(20, function(rng)
      local w = ser.world(entries)
      local list = {}
      for i = 1, rng:int(1, 30) do
        list[i] = w:spawn(t.Tag, t.Soa)
      end
      for _, entity in ipairs(rng:shuffled(list)) do
        w:destroy(entity)
      end
      local e = ecs.restoreWorld(w, snapshot).entities
      for i = 2, #e do
        assert.is_true(select(3, ecs.unpack(e[i])) > select(3, ecs.unpack(e[i - 1])))
      end
      deep.assertSame(snapshot.entities[3], ecs.saveWorld(w).entities[3], "the last record")
      for _, old in ipairs(list) do
        assert.is_false(w:isAlive(old))
      end
    end)
  end)

  -- The log of all onAdd observers, with what can be seen at that moment.
  local function logged(w)
    local log = {}
    for name, trait in pairs(t) do
      w:onAdd(trait, function(entity, target)
        local data
        if target then
          data = w:get(entity, trait(target))
        elseif trait.kind ~= "tag" then
          data = w:get(entity, trait)
        end
        log[#log + 1] = {
          name, entity = entity, target = target, data = deep.copy(data), count = w:count(),
        }
      end)
    end
    return log
  end

  it("SER-056 entities, world record, tags and traits of each record, then all pairs", function()
    local log = logged(world)
    local e = ecs.restoreWorld(world, snapshot).entities
    local w = world:entities()[1]
    local expected = {
      { "Tag", entity = w },
      { "Link", entity = w, data = { to = e[2] } },
      { "Soa", entity = w, data = { hp = 9, name = "w", any = 1.0 } },
      { "Tag", entity = e[1] }, { "Late", entity = e[1] },
      { "Coded", entity = e[1], data = { entity = e[2] } },
      { "Link", entity = e[1], data = { to = e[3] } },
      { "Soa", entity = e[1], data = { hp = 5, name = "a\0b", any = { 1, { k = ecs.null } } } },
      { "Late", entity = e[3] },
      { "Aos", entity = e[3], data = { list = { 1, 2.5, "x" } } },
      { "Link", entity = e[3], data = {} },
      { "Bare", entity = e[1], target = e[2] },
      { "Data", entity = e[1], target = e[3], data = { n = 3 } },
      { "Data", entity = e[1], target = e[1], data = { n = 4 } },
      { "Meta", entity = e[3], target = e[1], data = { { 1 } } },
      { "Meta", entity = e[3], target = e[2], data = "plain" },
    }
    for i, entry in ipairs(expected) do
      entry.count = 3
      deep.assertSame(entry, log[i], "call " .. i)
    end
    assert.equal(#expected, #log)
  end)

  it("SER-056 the tags array decides the order of tags", function()
    snapshot.entities[1].tags = { "Late", "Tag" }
    local log = logged(world)
    ecs.restoreWorld(world, snapshot)
    assert.equal("Late", log[4][1])
    assert.equal("Tag", log[5][1])
  end)

  it("SER-056 pairs come after every trait: an observer of a pair sees its target complete",
    function()
      local seen
      world:onAdd(t.Data, function(_, target)
        seen = seen or deep.copy(world:get(target, t.Aos))
      end)
      ecs.restoreWorld(world, snapshot)
      deep.assertSame({ list = { 1, 2.5, "x" } }, seen, "the target's value")
    end)

  it("SER-057 calls observers as for any entity, and none that come later", function()
    local log = ser.watch(world, t)
    local first = ecs.restoreWorld(world, snapshot).entities
    local counts = {}
    for _, line in ipairs(log) do
      local event = line:match("^%a+ %a+")
      counts[event] = (counts[event] or 0) + 1
    end
    -- Queries skip the world entity, so its traits fire onAdd only.
    deep.assertSame({
      ["onAdd Tag"] = 2, ["onAdd Late"] = 2, ["onAdd Soa"] = 2, ["onAdd Aos"] = 1,
      ["onAdd Link"] = 3, ["onAdd Coded"] = 1, ["onAdd Data"] = 2, ["onAdd Bare"] = 1,
      ["onAdd Meta"] = 2, ["onQueryAdd Tag"] = 1, ["onQueryAdd Late"] = 2, ["onQueryAdd Soa"] = 1,
      ["onQueryAdd Aos"] = 1, ["onQueryAdd Link"] = 2, ["onQueryAdd Coded"] = 1,
      ["onQueryAdd Data"] = 1, ["onQueryAdd Bare"] = 1, ["onQueryAdd Meta"] = 1,
    }, counts, "the calls")
    local late = 0
    local other = ser.world(entries)
    ecs.restoreWorld(other, snapshot)
    for _, trait in pairs(t) do
      other:onAdd(trait, function() late = late + 1 end)
    end
    other:onQueryAdd(t.Late, function() late = late + 1 end)
    assert.equal(0, late)
    local before = #log
    world:add(first[2], t.Tag)
    local new = table.move(log, before + 1, #log, 1, {})
    table.sort(new)
    assert.same({
      ("onAdd Tag %d nil"):format(first[2]), ("onQueryAdd Tag %d"):format(first[2]),
    }, new)
  end)

  it("SER-058 a failure in a later step leaves a fresh world", function()
    local calls = 0
    local coded = ecs.trait(function() return {} end)
    local ignored = ecs.trait(function() return {} end)
    entries.Third = { trait = coded, codec = { toJSON = identity, fromJSON = function(json)
      calls = calls + 1
      if calls == 3 then
        error("the third")
      end
      return json
    end } }
    world = ser.world(entries, { ignored })
    local prefab = world:spawn(ecs.IsExcluded, t.Soa { hp = 77 })
    local value = {}
    world:add(ignored(value))
    local before = ser.state(world)
    for i = 1, 3 do
      snapshot.entities[i].traits.Third = i
    end
    snapshot.entities[4] = ser.record { tags = { "Tag" } }
    local err = ser.raises("restoreWorld", "codec-error", { "Third" }, ecs.restoreWorld, world,
      snapshot)
    assert.equal("entities[2].traits.Third", err.path)
    assert.truthy(tostring(err.cause):find("the third", 1, true))
    ser.assertFresh(world, t)
    ser.assertUnchanged(before, world, "a failed restore")
    assert.equal(value, world:get(ignored))
    assert.equal(77, world:get(prefab, t.Soa, "hp"))
    assert.equal(1, world:count())
    for name, trait in pairs(t) do
      local term = ecs.isRelation(trait) and trait("*") or trait
      assert.same({}, world:query(term), name)
    end
    assert.equal(4, #ecs.restoreWorld(world, snapshot).entities)
  end)

  it("SER-058 validates everything before the first change", function()
    local calls = 0
    entries.Coded.codec.fromJSON = function(json)
      calls = calls + 1
      return json
    end
    world = ser.world(entries)
    for _, trait in pairs(t) do
      world:onAdd(trait, function() calls = calls + 1 end)
    end
    snapshot.entities[3].pairs.Meta[2].data = print
    ser.raises("restoreWorld", "malformed", { "Meta" }, ecs.restoreWorld, world, snapshot)
    assert.equal(0, calls)
  end)

  it("SER-059 never resets the world and never changes the registry", function()
    ecs.restoreWorld(world, snapshot)
    local old = ser.savedEntities(world)
    local observed = 0
    world:onAdd(t.Late, function() observed = observed + 1 end)
    ser.raises("restoreWorld", "world-not-empty", {}, ecs.restoreWorld, world, snapshot)
    for _, entity in ipairs(old) do
      assert.is_true(world:isAlive(entity))
    end
    world:reset()
    local e = ecs.restoreWorld(world, snapshot).entities
    assert.equal(2, observed)
    deep.assertSame(snapshot.entities[3], ecs.saveWorld(world).entities[3], "after a reset")
    for name, trait in pairs(t) do
      assert.equal(name, ecs.getTraitName(world, trait))
    end
    for i, entity in ipairs(old) do
      assert.is_false(world:isAlive(entity))
      assert.are_not.equal(entity, e[i])
      assert.equal(select(3, ecs.unpack(entity)), select(3, ecs.unpack(e[i])))
    end
    local unregistered = ecs.createWorld()
    ser.raises("restoreWorld", "unknown-trait", {}, ecs.restoreWorld, unregistered, snapshot)
    assert.is_nil(ecs.getTraitName(unregistered, t.Tag))
  end)

  it("SER-060 one snapshot in two worlds gives independent worlds", function()
    local twins = { Aos = ecs.trait(function() return {} end), Soa = ecs.trait {
      hp = 0, name = "default", any = ecs.null,
    } }
    local doc = ser.doc {
      { traits = { Aos = { list = { 1 } }, Soa = { hp = 1, name = "n", any = {} } } },
    }
    local copy = deep.copy(doc)
    local other = ser.world(twins)
    local a, b = ecs.restoreWorld(world, doc).entities[1], ecs.restoreWorld(other, doc).entities[1]
    assert.are_not.equal(world:get(a, t.Aos), other:get(b, twins.Aos))
    world:get(a, t.Aos).list[1] = "changed"
    world:get(a, t.Soa).any[1] = "changed"
    world:set(a, t.Soa, "hp", 99)
    deep.assertSame({ list = { 1 } }, other:get(b, twins.Aos), "the other world")
    deep.assertSame({ hp = 1, name = "n", any = {} }, other:get(b, twins.Soa), "the other world")
    deep.assertSame(copy, doc, "the snapshot")
    world:destroy(a)
    assert.is_true(other:isAlive(b))
    assert.is_false(other:isAlive(a))
  end)

  it("SER-061 does not change the snapshot, whether it succeeds or fails", function()
    local copy = deep.copy(snapshot)
    ecs.restoreWorld(world, snapshot)
    deep.assertSame(copy, snapshot, "the snapshot", { marks = true })
    ser.raises("restoreWorld", "world-not-empty", {}, ecs.restoreWorld, world, snapshot)
    snapshot.entities[3].traits.Aos.bad = print
    copy = deep.copy(snapshot)
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, ser.world(entries), snapshot)
    deep.assertSame(copy, snapshot, "the snapshot", { marks = true })
    -- The worlds that came of it do not hold parts of it either.
    local saved = ecs.saveWorld(world)
    copy = deep.copy(saved)
    ecs.restoreWorld(ser.world(entries), saved)
    deep.assertSame(copy, saved, "a saved snapshot", { marks = true })
  end)

  it("SER-062 values are initial values: factories and onChange are not called", function()
    local calls = 0
    local function factory()
      calls = calls + 1
      return {}
    end
    local aos, soa = ecs.trait(factory), ecs.trait { f = factory, n = 5 }
    local data, meta = ecs.relation { store = { f = factory } }, ecs.relation { store = factory }
    world = ser.world { Aos = aos, Soa = soa, Data = data, Meta = meta }
    for _, trait in ipairs { aos, soa, data, meta } do
      world:onChange(trait, function() error("onChange") end)
    end
    local e = ecs.restoreWorld(world, ser.doc({
      {
        traits = { Aos = ecs.null, Soa = { f = 1, n = 2 } },
        pairs = {
          Data = { { target = 0, data = { f = ecs.null } } }, Meta = { { target = 0, data = 0 } },
        },
      },
    }, { traits = { Aos = false, Soa = { f = "", n = 0 } } })).entities[1]
    assert.equal(0, calls)
    assert.equal(ecs.null, world:get(e, aos))
    deep.assertSame({ f = 1, n = 2 }, world:get(e, soa), "SoA")
    deep.assertSame({ f = ecs.null }, world:get(e, data(e)), "pair data")
    assert.equal(0, world:get(e, meta(e)))
    assert.equal(false, world:get(aos))
    deep.assertSame({ f = "", n = 0 }, world:get(soa), "world SoA")
  end)

  it("SER-063 an AoS trait holds the restored value, not what its factory makes", function()
    for _, value in ipairs { { 1 }, {}, "text", 0, false, true, ecs.null, { { {} } } } do
      local w = ser.world(entries)
      local seen
      w:onAdd(t.Aos, function(entity) seen = w:get(entity, t.Aos) end)
      local e = ecs.restoreWorld(w, ser.doc { { traits = { Aos = value } } }).entities[1]
      deep.assertSame(value, w:get(e, t.Aos), "the value")
      assert.is_true(rawequal(seen, w:get(e, t.Aos)))
    end
  end)

  it("SER-064 an empty snapshot changes nothing", function()
    local log = ser.watch(world, t)
    local before = ser.state(world)
    local result = ecs.restoreWorld(world, ser.doc())
    deep.assertSame({ entities = {} }, result, "the result")
    ser.assertUnchanged(before, world, "an empty snapshot")
    assert.same({}, log)
    deep.assertSame({ entities = {} }, ecs.restoreWorld(world, ser.doc()), "once more")
    deep.assertSame({ entities = {} },
      ecs.restoreWorld(ecs.createWorld(), ecs.saveWorld(ecs.createWorld())), "a saved one")
  end)
end)
