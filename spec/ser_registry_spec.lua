-- SER-F01: the names under which traits and relations are saved.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"

local function identity(x)
  return x
end

local function codec()
  return { toJSON = identity, fromJSON = identity }
end

describe("registerTraits", function()
  it("SER-001 records one name per entry, in each form of an entry", function()
    local world = ecs.createWorld()
    local tag, soa, aos = ecs.trait(), ecs.trait { hp = 1 }, ecs.trait(function() return {} end)
    local coded, linked = ecs.trait { v = 1 }, ecs.trait { to = ecs.null, n = 0 }
    local bare, data, wrapped = ecs.relation(), ecs.relation { store = { n = 0 } }, ecs.relation()
    local unknown, unknownRelation = ecs.trait(), ecs.relation()
    assert.is_nil(ecs.getTraitName(world, tag))
    assert.is_nil(ecs.registerTraits(world, {
      Tag = tag, Soa = soa, Aos = aos, Coded = { trait = coded, codec = codec() },
      Linked = { trait = linked, refs = { "to" } }, Bare = bare, Data = data,
      Wrapped = { relation = wrapped },
    }))
    local names = {
      Tag = tag, Soa = soa, Aos = aos, Coded = coded, Linked = linked, Bare = bare, Data = data,
      Wrapped = wrapped,
    }
    for name, item in pairs(names) do
      assert.equal(name, ecs.getTraitName(world, item))
    end
    assert.is_nil(ecs.getTraitName(world, unknown))
    assert.is_nil(ecs.getTraitName(world, unknownRelation))
    assert.is_nil(ecs.getTraitName(world, ecs.IsExcluded))
  end)

  it("SER-001 takes { trait = T } alone, and the list form", function()
    local world, a, b, c = ecs.createWorld(), ecs.trait(), ecs.trait { x = 0 }, ecs.relation()
    ecs.registerTraits(world, { { "b", { trait = b } }, { "a", a }, { "c", { relation = c } } })
    assert.equal("a", ecs.getTraitName(world, a))
    assert.equal("b", ecs.getTraitName(world, b))
    assert.equal("c", ecs.getTraitName(world, c))
    ecs.registerTraits(world, {})
  end)

  it("SER-001 keeps names that differ only in case or after a zero byte apart", function()
    local world = ecs.createWorld()
    local names = { "a", "A", "a\0", "a\0b", "a\0c", "\0", "a b", "1", "é" }
    local entries, traits = {}, {}
    for i, name in ipairs(names) do
      traits[i] = ecs.trait { ["v\0" .. i] = i, v = 0 }
      entries[name] = traits[i]
    end
    ecs.registerTraits(world, entries)
    local entity = world:spawn(table.unpack(traits))
    for i, name in ipairs(names) do
      assert.equal(name, ecs.getTraitName(world, traits[i]))
    end
    local saved = ecs.saveWorld(world)
    for i, name in ipairs(names) do
      deep.assertSame({ ["v\0" .. i] = i, v = 0 }, saved.entities[1].traits[name], name)
    end
    local other = ser.world(entries)
    local restored = ecs.restoreWorld(other, saved).entities[1]
    assert.equal(4, other:get(restored, traits[4], "v\0004"))
    assert.is_true(world:has(entity, traits[5]))
  end)

  it("SER-002 is idempotent and cumulative", function()
    local world = ecs.createWorld()
    local a, b, r = ecs.trait { to = ecs.null, as = ecs.null }, ecs.trait { v = 0 }, ecs.relation()
    local shared = codec()
    ecs.registerTraits(world, { A = { trait = a, refs = { "to", "as" } } })
    ecs.registerTraits(world, { B = { trait = b, codec = shared }, R = r })
    -- Once more, by themselves and together, with other tables of equal contents.
    ecs.registerTraits(world, { A = { trait = a, refs = { "to", "as" } } })
    ecs.registerTraits(world, {
      A = { trait = a, refs = { "to", "as" } }, B = { trait = b, codec = shared },
      R = { relation = r },
    })
    assert.equal("A", ecs.getTraitName(world, a))
    assert.equal("B", ecs.getTraitName(world, b))
    assert.equal("R", ecs.getTraitName(world, r))
    local e = world:spawn()
    world:add(e, a { to = e }, b { v = 7 }, r(e))
    deep.assertSame({
      tags = {}, traits = { A = { to = 0, as = ecs.null }, B = { v = 7 } },
      pairs = { R = { { target = 0 } } },
    }, ecs.saveWorld(world).entities[1], "the record")
  end)

  it("SER-002 treats a plain trait and { trait = T } as the same entry", function()
    local world, t, r = ecs.createWorld(), ecs.trait { v = 0 }, ecs.relation()
    ecs.registerTraits(world, { T = t, R = r })
    ecs.registerTraits(world, { T = { trait = t }, R = { relation = r } })
    ecs.registerTraits(world, { { "T", t }, { "T", { trait = t } } })
    assert.equal("T", ecs.getTraitName(world, t))
  end)
end)

describe("registerTraits refuses", function()
  local tag, soa, aos, relation, ignored

  before_each(function()
    tag, soa, aos = ecs.trait(), ecs.trait { to = ecs.null, n = 0 }, ecs.trait(identity)
    relation, ignored = ecs.relation { store = { n = 0 } }, ecs.trait()
  end)

  -- Registers good entries around the bad one: nothing of the call may be registered.
  local function refused(code, name, entry)
    local world = ecs.createWorld()
    ecs.ignoreTraits(world, { ignored })
    local first, last = ecs.trait(), ecs.trait()
    local entries = { { "A first", first }, { name, entry }, { "Z last", last } }
    local names = type(name) == "string" and name ~= "" and { (name:gsub("%z.*", "")) } or {}
    local e = ser.raises("registerTraits", code, names, ecs.registerTraits, world, entries)
    for _, item in ipairs { first, last, tag, soa, aos, relation, ignored } do
      assert.is_nil(ecs.getTraitName(world, item), "an entry of the failed call was registered")
    end
    if type(name) == "string" then
      local map = { ["A first"] = first, [name] = entry, ["Z last"] = last }
      ser.raises("registerTraits", code, names, ecs.registerTraits, world, map)
      assert.is_nil(ecs.getTraitName(world, first))
      assert.is_nil(ecs.getTraitName(world, last))
    end
    -- The names of the failed call are still free, in another order.
    ecs.registerTraits(world, { { "Z last", first }, { "A first", last } })
    assert.equal("Z last", ecs.getTraitName(world, first))
    return e
  end

  it("SER-003 (a) a value that is no trait, relation or entry", function()
    for _, entry in ipairs {
      5, true, "Health", ser.SECRET, print, {}, { refs = { "n" } }, { codec = codec() }, io.stdout,
      coroutine.create(print), ecs.null, { trait = 5 }, { trait = {} }, { relation = "R" },
      ecs.createWorld(), soa { n = 1 }, { trait = soa { n = 1 } }, { 1, 2 },
    } do
      refused("invalid-registration", "Bad", entry)
    end
    refused("invalid-registration", "Bad", relation("*"))
    refused("invalid-registration", "Bad", { trait = relation("*") })
    refused("invalid-registration", "Bad", { trait = soa, relation = relation })
    refused("invalid-registration", "Bad", { relation = soa })
    refused("invalid-registration", "Bad", { trait = soa, unknown = true })
    refused("invalid-registration", "Bad", { trait = soa, "refs" })
    refused("invalid-registration", "Bad", { trait = soa, [true] = 1 })
    refused("invalid-registration", "Bad", { trait = soa, ["refs\0"] = { "to" } })
    refused("invalid-registration", "Bad", { ["trait\0"] = soa })
    refused("invalid-registration", "Bad", { relation = relation, codec = codec() })
    refused("invalid-registration", "Bad", { relation = relation, refs = { "n" } })
  end)

  it("SER-003 (a) a codec or refs of the wrong shape", function()
    for _, bad in ipairs {
      5, "codec", true, print, {}, { toJSON = identity }, { fromJSON = identity },
      { toJSON = 1, fromJSON = identity }, { toJSON = identity, fromJSON = {} },
    } do
      refused("invalid-registration", "Bad", { trait = aos, codec = bad })
    end
    for _, bad in ipairs {
      5, "to", true, print, { 5 }, { true }, { to = true }, { [2] = "to" }, { "to", x = 1 }, { {} },
      { "to\0" }, { "n", [3] = "to" },
    } do
      refused("invalid-registration", "Bad", { trait = soa, refs = bad })
    end
  end)

  it("SER-003 (b) a name that is no non-empty string, or __proto__", function()
    for _, name in ipairs { "", "__proto__", 5, 1.5, true, {}, print } do
      refused("invalid-registration", name, tag)
    end
    local world = ecs.createWorld()
    for _, entries in ipairs {
      { [5] = tag }, { [true] = tag }, { [{}] = tag }, { tag }, { "Tag", tag },
      { { "Tag" } }, { { tag } }, { {} }, { { "Tag", tag, 3 } }, { { "Tag", tag, x = 1 } },
      { { "A", tag }, B = soa }, { { "A", tag }, 5 }, { [2] = { "A", tag } },
      { { "A", tag }, [3] = { "B", soa } },
      { A = tag, [1.5] = soa },
    } do
      ser.raises("registerTraits", "invalid-registration", {}, ecs.registerTraits, world, entries)
      assert.is_nil(ecs.getTraitName(world, tag))
    end
  end)

  it("SER-003 (b) a name that is not text, because it could not be saved", function()
    for _, name in ipairs { "\xFF", "a\xC0\x80", "\xED\xA0\xBD\xED\xB8\x80" } do
      local world = ecs.createWorld()
      ser.raises("registerTraits", "invalid-registration", {}, ecs.registerTraits, world,
        { [name] = tag })
      assert.is_nil(ecs.getTraitName(world, tag))
    end
  end)

  it("SER-003 (c) IsExcluded", function()
    refused("invalid-registration", "Excluded", ecs.IsExcluded)
    refused("invalid-registration", "Excluded", { trait = ecs.IsExcluded })
  end)

  it("SER-003 (d) codec or refs for a tag", function()
    refused("invalid-registration", "Tag", { trait = tag, codec = codec() })
    refused("invalid-registration", "Tag", { trait = tag, refs = { "to" } })
  end)

  it("SER-003 (e) codec and refs together", function()
    refused("invalid-registration", "Soa", { trait = soa, codec = codec(), refs = { "to" } })
  end)

  it("SER-003 (f) refs for an AoS trait, or for a field that is not in the schema", function()
    refused("invalid-registration", "Aos", { trait = aos, refs = { "to" } })
    for _, field in ipairs { "from", "To", "to\0", "", "__proto__" } do
      local e = refused("invalid-registration", "Soa", { trait = soa, refs = { "to", field } })
      assert.truthy(e.message:find((field:gsub("%z.*", "")), 1, true))
    end
  end)

  it("SER-003 (g) a trait that is ignored", function()
    refused("invalid-registration", "Ign", ignored)
    refused("invalid-registration", "Ign", { trait = ignored })
  end)

  it("SER-003 a duplicate name, a second name, other refs or another codec", function()
    local world, first = ecs.createWorld(), codec()
    local other, another = ecs.trait(), ecs.relation()
    local coded, two = ecs.trait { v = 0 }, ecs.trait { a = ecs.null, b = ecs.null }
    ecs.registerTraits(world, {
      T = tag, R = relation, C = { trait = coded, codec = first },
      W = { trait = two, refs = { "a" } }, S = soa,
    })
    local cases = {
      { "T", other }, { "T", another }, { "R", ecs.relation() }, { "T", { trait = soa } },
      { "Other name", tag }, { "Other name", relation }, { "Other name", { relation = relation } },
      { "C", coded }, { "C", { trait = coded, codec = codec() } },
      { "W", two }, { "W", { trait = two, refs = { "a", "b" } } },
      { "W", { trait = two, refs = { "b" } } }, { "W", { trait = two, codec = codec() } },
      { "S", { trait = soa, refs = { "to" } } }, { "S", { trait = soa, codec = first } },
    }
    for _, case in ipairs(cases) do
      local fresh = ecs.trait()
      ser.raises("registerTraits", "duplicate-name", { case[1] }, ecs.registerTraits, world,
        { { "A fresh", fresh }, case })
      assert.is_nil(ecs.getTraitName(world, fresh))
    end
    assert.equal("T", ecs.getTraitName(world, tag))
    assert.equal("R", ecs.getTraitName(world, relation))
    assert.is_nil(ecs.getTraitName(world, other))
    assert.is_nil(ecs.getTraitName(world, another))
    -- Within one call as well.
    for _, entries in ipairs {
      { { "X", other }, { "X", another } }, { { "X", other }, { "Y", other } },
      { X = other, Y = other }, { { "X", another }, { "Y", { relation = another } } },
    } do
      ser.raises("registerTraits", "duplicate-name", {}, ecs.registerTraits, world, entries)
      assert.is_nil(ecs.getTraitName(world, other))
      assert.is_nil(ecs.getTraitName(world, another))
    end
  end)

  it("SER-003 what is no table of entries, and what is no world", function()
    local world = ecs.createWorld()
    for _, entries in ipairs { 5, "T", true, print, io.stdout } do
      local e = ser.catch(ecs.registerTraits, world, entries)
      assert.truthy(tostring(e):find("registerTraits", 1, true))
    end
    assert.truthy(tostring(ser.catch(ecs.registerTraits, world)):find("registerTraits", 1, true))
    for _, bad in ipairs { 5, "world", {}, print, io.stdout, tag } do
      for _, name in ipairs { "registerTraits", "ignoreTraits" } do
        assert.truthy(tostring(ser.catch(ecs[name], bad, {})):find(name, 1, true))
      end
      assert.truthy(tostring(ser.catch(ecs.getTraitName, bad, tag)):find("getTraitName", 1, true))
    end
    local closed = ecs.createWorld()
    closed:close()
    assert.truthy(tostring(ser.catch(ecs.registerTraits, closed, {})):find("clos"))
  end)

  it("SER-003 (raw access) entries whose metamethods raise: no metamethod runs", function()
    local ran = {}
    for _, locked in ipairs { false, true } do
      local mt = ser.hostile(ran, locked)
      for _, entries in ipairs {
        setmetatable({ T = tag }, mt), setmetatable({ { "T", tag } }, mt),
        { setmetatable({ "T", tag }, mt) }, { T = setmetatable({ trait = tag }, mt) },
        { S = { trait = soa, refs = setmetatable({ "to" }, mt) } },
        { S = { trait = soa, codec = setmetatable(codec(), mt) } },
        { S = { trait = soa, codec = setmetatable({}, mt) } },
        setmetatable({}, mt), { S = setmetatable({}, mt) },
      } do
        local ok, e = pcall(ecs.registerTraits, ecs.createWorld(), entries)
        assert.is_true(ok or ecs.isSerializeError(e), tostring(e))
      end
      pcall(ecs.ignoreTraits, ecs.createWorld(), setmetatable({ tag }, mt))
    end
    assert.same({}, ran)
  end)
end)

describe("registries", function()
  it("SER-004 are per world and survive reset", function()
    local a, b, t, r = ecs.createWorld(), ecs.createWorld(), ecs.trait { v = 0 }, ecs.relation()
    local ignored = ecs.trait()
    ecs.registerTraits(a, { T = t, R = r })
    ecs.ignoreTraits(a, { ignored })
    assert.is_nil(ecs.getTraitName(b, t))
    ecs.registerTraits(b, { Other = t, Ignored = ignored })
    assert.equal("T", ecs.getTraitName(a, t))
    assert.equal("Other", ecs.getTraitName(b, t))
    a:spawn(t, ignored)
    a:reset()
    assert.equal("T", ecs.getTraitName(a, t))
    assert.equal("R", ecs.getTraitName(a, r))
    local e = a:spawn(t { v = 3 }, ignored)
    a:add(e, r(e))
    deep.assertSame({
      tags = {}, traits = { T = { v = 3 } }, pairs = { R = { { target = 0 } } },
    }, ecs.saveWorld(a).entities[1], "the record after reset")
  end)

  it("SER-004 live and die with their world", function()
    local gone = setmetatable({}, { __mode = "k" })
    local t = ecs.trait { v = 0 }
    do
      local world = ecs.createWorld()
      local c = codec()
      gone[c] = true
      ecs.registerTraits(world, { T = { trait = t, codec = c } })
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(gone), "the codec outlives its world")
    local closed = ecs.createWorld()
    ecs.registerTraits(closed, { T = t })
    closed:close()
    -- A world that takes over the closed one's id inherits nothing.
    for _ = 1, 300 do
      local world <close> = ecs.createWorld()
      assert.is_nil(ecs.getTraitName(world, t))
    end
  end)

  it("P10 registering again, or in vain, costs no memory", function()
    local world, t, other = ecs.createWorld(), ecs.trait { v = 0 }, ecs.trait()
    ecs.registerTraits(world, { T = t })
    ecs.ignoreTraits(world, { other })
    local function cycle(n)
      for _ = 1, n do
        ecs.registerTraits(world, { T = t })
        ecs.ignoreTraits(world, { other })
        pcall(ecs.registerTraits, world, { Again = t })
        pcall(ecs.registerTraits, world, { A = ecs.IsExcluded })
        pcall(ecs.registerTraits, world, { { "T", t }, { "B", 5 } })
        pcall(ecs.ignoreTraits, world, { other, t })
      end
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    local before = cycle(200)
    local grown = cycle(2000) - before
    assert.is_true(grown < 8, ("%.1f KB more after 2000 cycles"):format(grown))
  end)

  it("SER-005 ignoreTraits marks what is not saved", function()
    local world = ecs.createWorld()
    local t, r, kept = ecs.trait(function() return print end), ecs.relation(), ecs.trait()
    ecs.registerTraits(world, { Kept = kept })
    local e = world:spawn(t, kept)
    world:add(e, r(e))
    world:add(t)
    ser.raises("saveWorld", "unregistered-trait", {}, ecs.saveWorld, world)
    assert.is_nil(ecs.ignoreTraits(world, { t, r }))
    ecs.ignoreTraits(world, { r })
    ecs.ignoreTraits(world, { t, t, r })
    ecs.ignoreTraits(world, {})
    assert.is_nil(ecs.getTraitName(world, t))
    deep.assertSame(ser.doc { { tags = { "Kept" } } }, ecs.saveWorld(world), "the snapshot")
    for name, item in pairs { T = t, R = r } do
      ser.raises("registerTraits", "invalid-registration", { name }, ecs.registerTraits, world,
        { [name] = item })
    end
    ser.raises("registerTraits", "invalid-registration", { "R" }, ecs.registerTraits, world,
      { R = { relation = r } })
  end)

  it("SER-005 refuses what is registered, and is atomic", function()
    local world, t, r, free = ecs.createWorld(), ecs.trait(), ecs.relation(), ecs.trait()
    ecs.registerTraits(world, { Taken = t, Rel = r })
    for name, item in pairs { Taken = t, Rel = r } do
      ser.raises("ignoreTraits", "invalid-registration", { name }, ecs.ignoreTraits, world,
        { free, item })
    end
    ecs.registerTraits(world, { Free = free })
    assert.equal("Free", ecs.getTraitName(world, free))
    assert.equal("Taken", ecs.getTraitName(world, t))
    local other = ecs.trait()
    for _, bad in ipairs { 5, "T", {}, print, ecs.null, { trait = t }, r("*"), world } do
      ser.raises("ignoreTraits", "invalid-registration", {}, ecs.ignoreTraits, world,
        { other, bad })
    end
    ecs.registerTraits(world, { Other = other })
  end)

  it("SER-005 IsExcluded is always ignored and needs no call", function()
    local world = ecs.createWorld()
    world:spawn(ecs.IsExcluded)
    deep.assertSame(ser.doc(), ecs.saveWorld(world), "the snapshot")
    ecs.ignoreTraits(world, { ecs.IsExcluded })
    deep.assertSame(ser.doc(), ecs.saveWorld(world), "the snapshot")
  end)

  it("SER-006 registering or ignoring a relation does not touch the world", function()
    local world, t = ecs.createWorld(), ecs.trait { v = 1 }
    local data, bare = ecs.relation { store = { n = 0 } }, ecs.relation()
    local ignoredData, ignoredBare = ecs.relation { store = { n = 0 } }, ecs.relation()
    local e = world:spawn(t)
    for _, r in ipairs { data, bare, ignoredData, ignoredBare } do
      world:add(e, r(e))
    end
    local log = ser.watch(world, {
      t = t, data = data, bare = bare, ignoredData = ignoredData, ignoredBare = ignoredBare,
      IsExcluded = ecs.IsExcluded,
    })
    local before = ser.state(world)
    ecs.registerTraits(world, { T = t, Data = data, Bare = bare })
    ecs.ignoreTraits(world, { ignoredData, ignoredBare })
    ser.assertUnchanged(before, world, "a registration")
    assert.same({}, log)
    -- The relation is known: neither its pairs nor its data are reported as unregistered.
    deep.assertSame(ser.doc {
      {
        traits = { T = { v = 1 } },
        pairs = { Data = { { target = 0, data = { n = 0 } } }, Bare = { { target = 0 } } },
      },
    }, ecs.saveWorld(world), "the snapshot")
  end)

  it("SER-006 costs no worlds: 20 relations, then 200 worlds more", function()
    collectgarbage()
    local world = ecs.createWorld()
    for i = 1, 20 do
      local r = ecs.relation { store = i % 2 == 0 and { n = 0 } or nil }
      ecs.registerTraits(world, { ["R" .. i] = r })
      ser.raises("registerTraits", "duplicate-name", {}, ecs.registerTraits, world, { Again = r })
      ser.raises("ignoreTraits", "invalid-registration", {}, ecs.ignoreTraits, world, { r })
    end
    local others = {}
    for i = 1, 200 do
      others[i] = ecs.createWorld()
    end
    ecs.registerTraits(world, { Last = ecs.relation() })
    ecs.ignoreTraits(world, { ecs.relation() })
    for _, other in ipairs(others) do
      other:close()
    end
    ecs.createWorld():close()
  end)

  it("SER-007 registering, naming and saving do not bring a trait into the world", function()
    local world = ecs.createWorld()
    local never, ignored, r = ecs.trait { v = 0 }, ecs.trait(), ecs.relation { store = { n = 0 } }
    deep.assertSame({ ecs.IsExcluded }, world:traits(), "the traits of a fresh world")
    ecs.registerTraits(world, { Never = never, R = r })
    ecs.ignoreTraits(world, { ignored })
    assert.equal("Never", ecs.getTraitName(world, never))
    ecs.saveWorld(world)
    deep.assertSame({ ecs.IsExcluded }, world:traits(), "the traits after a save")
    world:spawn()
    deep.assertSame(ser.doc { {} }, ecs.saveWorld(world), "the snapshot")
    deep.assertSame({ ecs.IsExcluded }, world:traits(), "the traits after a second save")
  end)

  it("SER-008 restore resolves by name only, whatever the order of registration", function()
    local a, b = ecs.trait { v = 1 }, ecs.trait { v = 2 }
    local x, y, r, q = ecs.trait(), ecs.trait(), ecs.relation(), ecs.relation()
    local entries = { { "A", a }, { "B", b }, { "X", x }, { "Y", y }, { "R", r }, { "Q", q } }
    local backwards = {}
    for i, entry in ipairs(entries) do
      backwards[#entries + 1 - i] = entry
    end
    local world = ser.world(entries)
    local e = world:spawn(a, b { v = 7 }, x, y)
    world:add(e, r(e), q(e))
    local snapshot = ecs.saveWorld(world)
    local forth, back = ser.world(entries), ser.world(backwards)
    ecs.restoreWorld(forth, snapshot)
    local restored = ecs.restoreWorld(back, snapshot).entities[1]
    deep.assertSame({ v = 7 }, back:get(restored, b), "B")
    deep.assertSame(snapshot, ecs.saveWorld(forth), "the same order")
    assert.same({ "X", "Y" }, snapshot.entities[1].tags)
    local second = ecs.saveWorld(back)
    assert.same({ "Y", "X" }, second.entities[1].tags)
    second.entities[1].tags = snapshot.entities[1].tags
    deep.assertSame(snapshot, second, "another order, apart from the tags")
  end)
end)
