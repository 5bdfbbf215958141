-- SER-F03: entity references in values, and codecs.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"

local function identity(x)
  return x
end

-- A world with one AoS trait under a codec made of these functions.
local function coded(toJSON, fromJSON, schema)
  local trait = ecs.trait(schema or function() return {} end)
  local entries = {
    Coded = { trait = trait, codec = { toJSON = toJSON, fromJSON = fromJSON or identity } },
  }
  return ser.world(entries), trait, entries
end

describe("references", function()
  local link, entries, world

  before_each(function()
    link = ecs.trait { to = ecs.null, back = ecs.null, note = "" }
    entries = { Link = { trait = link, refs = { "to", "back" } } }
    world = ser.world(entries)
  end)

  it("SER-030 are saved as indices and restored as entities; nil is null", function()
    local a, b, c = world:spawn(), world:spawn(), world:spawn()
    world:add(a, link { to = c, back = a, note = "x" })
    world:add(b, link)
    world:add(c, link { to = a })
    world:add(link { back = b })
    local s = ecs.saveWorld(world)
    deep.assertSame({ to = 2, back = 0, note = "x" }, s.entities[1].traits.Link, "a")
    deep.assertSame({ to = ecs.null, back = ecs.null, note = "" }, s.entities[2].traits.Link, "b")
    deep.assertSame({ to = 0, back = ecs.null, note = "" }, s.entities[3].traits.Link, "c")
    deep.assertSame({ to = ecs.null, back = 1, note = "" }, s.world.traits.Link, "world")
    local other = ser.world(entries)
    other:spawn(ecs.IsExcluded)
    local e = ecs.restoreWorld(other, s).entities
    deep.assertSame({ to = e[3], back = e[1], note = "x" }, other:get(e[1], link), "restored a")
    deep.assertSame({ note = "" }, other:get(e[2], link), "restored b")
    deep.assertSame({ to = e[1], note = "" }, other:get(e[3], link), "restored c")
    deep.assertSame({ back = e[2], note = "" }, other:get(link), "restored world")
    deep.assertSame({ nil, nil }, { other:get(e[2], link, "to", "back") }, "null is nil")
  end)

  it("SER-031 (a) a refs field: destroyed, stale, foreign, excluded or no entity", function()
    local foreign = ecs.createWorld()
    local e = world:spawn()
    local dead, stale, prefab = world:spawn(), world:spawn(), world:spawn(ecs.IsExcluded)
    world:destroy(dead)
    world:destroy(stale)
    world:spawn()
    world:spawn()
    local bad = {
      dead, stale, prefab, foreign:spawn(), foreign:entities()[1], world:entities()[1], 0, 1, -1,
      math.maxinteger, 0.5, "text", tostring(e), true, {}, { e }, print,
    }
    for _, value in ipairs(bad) do
      world:add(e, link { note = ser.SECRET })
      world:set(e, link, { to = value })
      local err = ser.raises("saveWorld", "dangling-ref", { "Link", "to" }, ecs.saveWorld, world)
      assert.equal("entities[0].traits.Link.to", err.path)
      world:set(e, link, { to = e, back = value })
      err = ser.raises("saveWorld", "dangling-ref", { "Link", "back" }, ecs.saveWorld, world)
      assert.equal("entities[0].traits.Link.back", err.path)
      world:remove(e, link)
      world:add(link { to = value })
      err = ser.raises("saveWorld", "dangling-ref", { "Link", "to" }, ecs.saveWorld, world)
      assert.equal("world.traits.Link.to", err.path)
      world:remove(link)
      assert.equal(3, #ecs.saveWorld(world).entities)
    end
  end)

  it("SER-031 (b) ctx.ref in a codec", function()
    local value
    local w, t = coded(function(_, ctx) return ctx.ref(value) end)
    local e, dead, prefab = w:spawn(t), w:spawn(), w:spawn(ecs.IsExcluded)
    w:destroy(dead)
    for _, bad in ipairs {
      dead, prefab, world:spawn(), w:entities()[1], 0, -1, 0.5, "x", tostring(e), true, {}, print,
      ecs.null, ser.SECRET,
    } do
      value = bad
      ser.raises("saveWorld", "dangling-ref", { "Coded" }, ecs.saveWorld, w)
    end
    value = nil
    ser.raises("saveWorld", "dangling-ref", { "Coded" }, ecs.saveWorld, w)
    value = e
    assert.equal(0, ecs.saveWorld(w).entities[1].traits.Coded)
    value = e + 0.0
    assert.equal(0, ecs.saveWorld(w).entities[1].traits.Coded)
  end)

  it("SER-032 pair targets are indices; a target that is not saved is dangling-ref", function()
    local data, bare = ecs.relation { store = { n = 0 } }, ecs.relation()
    ecs.registerTraits(world, { Data = data, Bare = bare })
    local a, b, prefab = world:spawn(), world:spawn(), world:spawn(ecs.IsExcluded)
    world:add(a, data(b, { n = 1 }), bare(a))
    world:add(b, bare(a))
    local s = ecs.saveWorld(world)
    deep.assertSame({ Data = { { target = 1, data = { n = 1 } } }, Bare = { { target = 0 } } },
      s.entities[1].pairs, "a")
    deep.assertSame({ Bare = { { target = 0 } } }, s.entities[2].pairs, "b")
    for name, r in pairs { Data = data, Bare = bare } do
      world:add(b, r(prefab))
      local err = ser.raises("saveWorld", "dangling-ref", { name }, ecs.saveWorld, world)
      local at = ("entities[1].pairs.%s[%d]"):format(name, name == "Data" and 0 or 1)
      assert.equal(at, err.path:sub(1, #at))
      world:remove(b, r(prefab))
    end
    deep.assertSame(s, ecs.saveWorld(world), "without the dangling pair")
    -- A saved entity that becomes excluded takes its index and the references to it along.
    world:add(a, ecs.IsExcluded)
    ser.raises("saveWorld", "dangling-ref", { "Bare" }, ecs.saveWorld, world)
    world:remove(b, bare(a))
    deep.assertSame({ ser.record() }, ecs.saveWorld(world).entities, "only b")
  end)
end)

describe("a codec", function()
  it("SER-033 makes the saved and the restored value, for SoA and AoS", function()
    local stored, calls = { "stored" }, {}
    local aos, soa = ecs.trait(function() return stored end), ecs.trait { hp = 1, max = 2 }
    local function codec(name)
      return {
        toJSON = function(...)
          calls[name] = table.pack(...)
          return { saved = name, list = { 1, { 2 } } }
        end,
        fromJSON = function(...)
          calls["from " .. name] = table.pack(...)
          local json = ...
          return name == "soa" and { hp = #json.list, max = 9 } or { restored = json }
        end,
      }
    end
    local entries = {
      Aos = { trait = aos, codec = codec "aos" }, Soa = { trait = soa, codec = codec "soa" },
    }
    local world, other = ser.world(entries), ser.world(entries)
    local e = world:spawn(aos, soa { hp = 7 })
    local s = ecs.saveWorld(world)
    -- The AoS value is the stored reference, a SoA value a fresh table; no self is passed.
    assert.equal(stored, calls.aos[1])
    assert.equal(2, calls.aos.n)
    deep.assertSame({ hp = 7, max = 2 }, calls.soa[1], "the SoA value")
    calls.soa[1].hp = 99
    assert.equal(7, world:get(e, soa, "hp"))
    deep.assertSame({
      Aos = { saved = "aos", list = { 1, { 2 } } }, Soa = { saved = "soa", list = { 1, { 2 } } },
    }, s.entities[1].traits, "the saved values")
    local copy = deep.copy(s)
    local restored = ecs.restoreWorld(other, s).entities[1]
    assert.equal(2, calls["from aos"].n)
    local json = calls["from aos"][1]
    deep.assertSame(s.entities[1].traits.Aos, json, "the JSON value")
    assert.are_not.equal(s.entities[1].traits.Aos, json)
    assert.are_not.equal(s.entities[1].traits.Aos.list, json.list)
    json.list[2][1] = "changed"
    deep.assertSame(copy, s, "the snapshot")
    assert.equal(json, other:get(restored, aos).restored)
    deep.assertSame({ hp = 2, max = 9 }, other:get(restored, soa), "the SoA value")
  end)

  it("SER-033 the result of toJSON is copied, and must be JSON-safe", function()
    local result
    local world, t = coded(function() return result end)
    world:spawn(t)
    result = { a = { 1 } }
    local s = ecs.saveWorld(world)
    assert.are_not.equal(result, s.entities[1].traits.Coded)
    result.a[1] = 2
    deep.assertSame({ a = { 1 } }, s.entities[1].traits.Coded, "the saved value")
    for _, bad in ipairs(unsafe.values) do
      for _, place in ipairs(unsafe.places) do
        result = place(bad.make())
        local err = ser.raises("saveWorld", "not-serializable", { "Coded" }, ecs.saveWorld, world)
        assert.equal("entities[0].traits.Coded", err.path:sub(1, 24), bad.what)
      end
    end
    result = nil
    ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world)
    for _, plain in ipairs { ecs.null, false, 0, "", 1.5 } do
      result = plain
      deep.assertSame(plain, ecs.saveWorld(world).entities[1].traits.Coded, "a plain value")
    end
    for depth = 508, 509 do
      result = ser.nested(depth)
      local ok, err = pcall(ecs.saveWorld, world)
      assert.equal(depth == 508, ok)
      assert.is_true(ok or err.code == "not-serializable")
    end
  end)

  it("SER-033 (nil) a codec that returns nil on restore is a codec-error", function()
    local world, t = coded(identity, function() end)
    local soaWorld, soa = coded(identity, function() end, { v = 0 })
    for w, trait in pairs { [world] = t, [soaWorld] = soa } do
      local s = ser.doc { {}, { traits = { Coded = 5 } } }
      local err = ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, w, s)
      assert.equal("entities[1].traits.Coded", err.path)
      ser.assertFresh(w, { trait })
    end
  end)

  it("SER-033 a codec of a SoA trait must give what the schema takes", function()
    local result
    local world, soa = coded(identity, function() return result end, { hp = 1, name = "" })
    local s = ser.doc { { traits = { Coded = 0 } } }
    for _, bad in ipairs {
      5, "x", true, print, ecs.null, { hp = "1" }, { hp = 1, name = 2 }, { hp = 1, other = 1 },
    } do
      result = bad
      local err = ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, world, s)
      assert.equal("entities[0].traits.Coded", err.path)
      ser.assertFresh(world, { soa })
    end
    result = { hp = 3, name = "n" }
    local e = ecs.restoreWorld(world, s).entities[1]
    deep.assertSame({ hp = 3, name = "n" }, world:get(e, soa), "the value")
  end)

  it("SER-034 ctx.ref gives indices, ctx.entity the entity of every valid index", function()
    local seen = {}
    local function toJSON(list, ctx)
      local out = {}
      for i, entity in ipairs(list) do
        out[i] = ctx.ref(entity)
        assert.equal("integer", math.type(out[i]))
      end
      return out
    end
    local function fromJSON(json, ctx)
      local out = {}
      for i, index in ipairs(json) do
        out[i] = ctx.entity(index)
      end
      seen[#seen + 1] = out
      assert.equal(ctx.entity(0), ctx.entity(0.0))
      assert.equal(ctx.entity(0), ctx.entity(-0.0))
      return out
    end
    local world, t, entries = coded(toJSON, fromJSON)
    local list = { world:spawn(), world:spawn(), world:spawn() }
    world:add(list[1], t { list[3], list[1], list[2] })
    world:add(list[3], t { list[3], list[3] })
    world:add(t { list[2] })
    local s = ecs.saveWorld(world)
    deep.assertSame({ 2, 0, 1 }, s.entities[1].traits.Coded, "record 0")
    deep.assertSame({ 2, 2 }, s.entities[3].traits.Coded, "record 2")
    deep.assertSame({ 1 }, s.world.traits.Coded, "world")
    local other = ser.world(entries)
    local e = ecs.restoreWorld(other, s).entities
    -- The world record first, then the records; all entities exist before.
    deep.assertSame({ { e[2] }, { e[3], e[1], e[2] }, { e[3], e[3] } }, seen, "what codecs saw")
    deep.assertSame({ e[3], e[1], e[2] }, other:get(e[1], t), "the value")
  end)

  it("SER-034 ctx.entity refuses every other index as malformed", function()
    local index
    local world, t = coded(identity, function(_, ctx) return { ctx.entity(index) } end)
    local s = ser.doc { {}, { traits = { Coded = 1 } } }
    for _, bad in ipairs {
      -1, 2, 0.5, 1.5, 1e300, 0 / 0, math.huge, math.maxinteger, math.mininteger, 4294967296, "0",
      true, {}, ecs.null, print, ser.SECRET,
    } do
      index = bad
      local err = ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, s)
      assert.equal("entities[1].traits.Coded", err.path)
      if math.type(bad) == "integer" then
        assert.truthy(err.message:find(tostring(bad), 1, true), err.message)
      end
      ser.assertFresh(world, { t })
    end
    index = nil
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, s)
    index = 1
    local e = ecs.restoreWorld(world, s).entities
    deep.assertSame({ e[2] }, world:get(e[2], t), "the value")
  end)

  it("SER-034 a ctx that outlives its call is an error", function()
    local kept = {}
    local world, trait, entries = coded(
      function(value, ctx) kept.ref = ctx.ref return value end,
      function(json, ctx) kept.entity = ctx.entity return json end)
    local e = world:spawn(trait)
    local s = ecs.saveWorld(world)
    local function useless(what, fn, ...)
      local ok, message = pcall(fn, ...)
      assert.is_false(ok, what .. " works after its call")
      assert.truthy(tostring(message):find(what, 1, true))
    end
    useless("ref", kept.ref, e)
    local other = ser.world(entries)
    ecs.restoreWorld(other, s)
    useless("entity", kept.entity, 0)
    useless("ref", kept.ref, e)
    -- Nor is an old one good during a later call.
    local old = kept.ref
    entries.Coded = {
      trait = trait,
      codec = { fromJSON = identity, toJSON = function() return old(e) end },
    }
    local third = ser.world(entries)
    third:spawn(trait)
    assert.is_true(ecs.isSerializeError(ser.catch(ecs.saveWorld, third)))
    -- After a failed call as well.
    local failing, t = coded(function(_, ctx) kept.ref = ctx.ref error("no") end)
    local f = failing:spawn(t)
    ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, failing)
    useless("ref", kept.ref, f)
    failing, t = coded(identity, function(_, ctx) kept.entity = ctx.entity error("no") end)
    ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, failing,
      ser.doc { { traits = { Coded = 1 } } })
    useless("entity", kept.entity, 0)
    ser.assertFresh(failing, { t })
  end)

  it("SER-035 an exception surfaces as codec-error with the original as cause", function()
    local thrown
    local function throw()
      error(thrown, 0)
    end
    local object = setmetatable({ ser.SECRET }, { __tostring = function() error("no") end })
    local s = ser.doc { {}, { traits = { Coded = 1 } } }
    for _, cause in ipairs { "a text", object, {}, 5, true, print, ecs.null, io.stdout } do
      thrown = cause
      local world, t = coded(throw, throw)
      world:spawn()
      world:spawn(t)
      local err = ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world)
      assert.is_true(rawequal(cause, err.cause))
      assert.equal("entities[1].traits.Coded", err.path)
      world:reset()
      err = ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, world, s)
      assert.is_true(rawequal(cause, err.cause))
      assert.equal("entities[1].traits.Coded", err.path)
      ser.assertFresh(world, { t })
    end
    thrown = nil
    local world, t = coded(throw, throw)
    world:spawn(t)
    assert.is_nil(ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world).cause)
    world:reset()
    world:add(t)
    assert.equal("world.traits.Coded",
      ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world).path)
  end)

  it("SER-035 a SerializeError through ctx keeps its code; one that is caught does not count",
    function()
      local world, t = coded(
        function(_, ctx) return { ctx.ref(12345) } end,
        function(json, ctx) return { ctx.entity(json) } end)
      world:spawn(t)
      ser.raises("saveWorld", "dangling-ref", { "Coded" }, ecs.saveWorld, world)
      world:reset()
      ser.raises("restoreWorld", "malformed", { "99" }, ecs.restoreWorld, world,
        ser.doc { { traits = { Coded = 99 } } })
      local codes = {}
      local function quiet(fn, x)
        local ok, e = pcall(fn, x)
        codes[#codes + 1] = e.code
        return ok or "none"
      end
      local calm, u = coded(
        function(_, ctx) return quiet(ctx.ref, 12345) end,
        function(_, ctx) return quiet(ctx.entity, 99) end)
      calm:spawn(u)
      local s = ecs.saveWorld(calm)
      assert.equal("none", s.entities[1].traits.Coded)
      calm:reset()
      assert.equal("none", calm:get(ecs.restoreWorld(calm, s).entities[1], u))
      assert.same({ "dangling-ref", "malformed" }, codes)
    end)

  it("SER-036 round trip of a table from entities to numbers", function()
    local function toJSON(map, ctx)
      local out = ecs.array {}
      for entity, n in pairs(map) do
        out[#out + 1] = { ctx.ref(entity), n }
      end
      table.sort(out, function(a, b) return a[1] < b[1] end)
      return out
    end
    local function fromJSON(json, ctx)
      local map = {}
      for _, pair in ipairs(json) do
        map[ctx.entity(pair[1])] = pair[2]
      end
      return map
    end
    local world, t, entries = coded(toJSON, fromJSON)
    local gone, a, b, c = world:spawn(), world:spawn(), world:spawn(), world:spawn()
    world:destroy(gone)
    world:add(b, t { [a] = 1, [b] = 2.5, [c] = -3 })
    world:add(c, t {})
    local s = ser.viaCjson(ecs.saveWorld(world))
    local other = ser.world(entries)
    other:spawn(ecs.IsExcluded)
    local e = ecs.restoreWorld(other, s).entities
    deep.assertSame({ [e[1]] = 1, [e[2]] = 2.5, [e[3]] = -3 }, other:get(e[2], t), "the map")
    deep.assertSame({}, other:get(e[3], t), "the empty map")
    assert.is_false(other:has(e[1], t))
  end)

  it("SER-037 round trip of Intent and Targeting", function()
    local intent = ecs.trait { kind = "none", target = ecs.null }
    local targeting = ecs.trait { mode = "none", target = ecs.null }
    local entries = {
      Intent = { trait = intent, refs = { "target" } },
      Targeting = { trait = targeting, refs = { "target" } },
    }
    local world, other = ser.world(entries), ser.world(entries)
    world:destroy(world:spawn())
    world:spawn()
    local a, b = world:spawn(), world:spawn()
    world:add(a, intent { kind = "attack", target = b }, targeting { mode = "none" })
    world:add(b, intent { kind = "flee" }, targeting { mode = "melee", target = a })
    local e = ecs.restoreWorld(other, ser.viaCjson(ecs.saveWorld(world))).entities
    deep.assertSame({ kind = "attack", target = e[3] }, other:get(e[2], intent), "intent of a")
    deep.assertSame({ mode = "none" }, other:get(e[2], targeting), "targeting of a")
    deep.assertSame({ kind = "flee" }, other:get(e[3], intent), "intent of b")
    deep.assertSame({ mode = "melee", target = e[2] }, other:get(e[3], targeting), "targeting of b")
    other:set(e[2], intent, { target = ecs.null })
    assert.is_nil(other:get(e[2], intent, "target"))
  end)

  it("SER-038 a wrong index in a refs field is malformed; a codec's JSON is its own", function()
    local link, t = ecs.trait { to = ecs.null }, ecs.trait(function() return {} end)
    local seen
    local world = ser.world {
      Link = { trait = link, refs = { "to" } },
      Coded = { trait = t, codec = { toJSON = identity, fromJSON = function(json)
        seen = json
        return json
      end } },
    }
    for _, to in ipairs { -1, 1, 0.5, "0", true, {}, { 0 }, math.maxinteger, 1.5, -0.5 } do
      ser.raises("restoreWorld", "malformed", { "Link", "to" }, ecs.restoreWorld, world,
        ser.doc { { traits = { Link = { to = to } } } })
      ser.assertFresh(world, { link, t })
      -- The same value under a codec is nobody's business but the codec's.
      for _, json in ipairs { to, { to = to }, { target = to, deep = { to } } } do
        ecs.restoreWorld(world, ser.doc { { traits = { Coded = json } } })
        deep.assertSame(json, seen, "the codec's JSON")
        world:reset()
      end
    end
    for _, to in ipairs { 0, 0.0, -0.0, ecs.null } do
      local e = ecs.restoreWorld(world, ser.doc { { traits = { Link = { to = to } } } }).entities[1]
      assert.equal(to ~= ecs.null and e or nil, world:get(e, link, "to"))
      world:reset()
    end
    local cycle = {}
    cycle[1] = cycle
    ser.raises("restoreWorld", "malformed", { "Coded" }, ecs.restoreWorld, world,
      ser.doc { { traits = { Coded = cycle } } })
  end)
end)
