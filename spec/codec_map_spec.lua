-- codec.map: tables whose keys are entities or integers. codec.both: one codec after another.

local ecs = require "ecsser"
local codec = require "ecsser.codec"
local deep = require "spec.support.deep"
local json = require "spec.support.json"
local random = require "spec.support.random"
local ser = require "spec.support.ser"

-- Two worlds with one trait under a codec; the first has entities of indices 0 to 5.
local function kit(c)
  local trait = ecs.trait(function() return {} end)
  local entries = { Bag = { trait = trait, codec = c } }
  local world = ser.world(entries)
  world:destroy(world:spawn())
  local e = {}
  for i = 0, 5 do e[i] = world:spawn() end
  return { world = world, e = e, trait = trait, other = ser.world(entries) }
end

local function byIndex(result)
  return table.move(result.entities, 1, #result.entities, 0, {})
end

-- The value make(entities) is saved as `expected`, and restored as make(new entities).
local function check(c, make, expected)
  for _, route in ipairs(ser.routes()) do
    local k = kit(c)
    local value = make(k.e)
    local copy = deep.copy(value)
    k.world:add(k.e[5], k.trait(value))
    local saved = ecs.saveWorld(k.world).entities[6].traits.Bag
    deep.assertSame(expected, saved, "the JSON")
    deep.assertSame(copy, value, "the value itself")
    k.other:spawn(ecs.IsExcluded)
    local new = byIndex(route.restore(k.other, route.save(k.world)))
    deep.assertSame(make(new), k.other:get(new[5], k.trait), "restored by " .. route.name)
  end
end

local function saveCause(c, make)
  local k = kit(c)
  k.world:add(k.e[2], k.trait(make(k.e)))
  return ser.raises("saveWorld", "codec-error", { "Bag" }, ecs.saveWorld, k.world).cause
end

local function restoreCause(c, value)
  local k = kit(c)
  local cause = ser.raises("restoreWorld", "codec-error", { "Bag" }, ecs.restoreWorld, k.other,
    ser.doc { { traits = { Bag = value } }, {}, {} }).cause
  ser.assertFresh(k.other, { k.trait })
  return cause
end

describe("codec.map", function()
  it("saves entity keys as a list, ascending by index", function()
    check(codec.map { key = "entity" }, function(e)
      return { [e[3]] = 0.5, [e[0]] = 12, [e[5]] = { "five", { x = 1 } }, [e[1]] = "one" }
    end, { { 0, 12 }, { 1, "one" }, { 3, 0.5 }, { 5, { "five", { x = 1 } } } })
  end)

  it("saves integer keys as a list, ascending", function()
    check(codec.map { key = "integer", value = "value" }, function()
      return { [3] = "c", [-7] = false, [1 << 40] = ecs.null, [0] = 0, [1] = 1.25, [2] = "b" }
    end, { { -7, false }, { 0, 0 }, { 1, 1.25 }, { 2, "b" }, { 3, "c" }, { 1 << 40, ecs.null } })
    local k = kit(codec.map { key = "integer" })
    local value = { [math.maxinteger] = 1, [math.mininteger] = 2, [(1 << 53) + 1] = 3 }
    k.world:add(k.e[0], k.trait(value))
    local text = ecs.saveJSON(k.world)
    assert.truthy(text:find('"Bag":[[-9223372036854775808,2],[9007199254740993,3],'
      .. '[9223372036854775807,1]]', 1, true), text)
    local new = byIndex(ecs.restoreJSON(k.other, text))
    deep.assertSame(value, k.other:get(new[0], k.trait), "the extremes")
  end)

  it("saves entities as values", function()
    check(codec.map { key = "integer", value = "entity" }, function(e)
      return { [1] = e[2], [2] = e[2], [10] = ecs.null, [-1] = e[0] }
    end, { { -1, 0 }, { 1, 2 }, { 2, 2 }, { 10, ecs.null } })
    check(codec.map { key = "entity", value = "entity" }, function(e)
      return { [e[2]] = e[0], [e[0]] = e[2] }
    end, { { 0, 2 }, { 2, 0 } })
  end)

  it("takes a codec for the values, other maps too", function()
    check(codec.map { key = "entity", value = codec.map { key = "integer", value = "entity" } },
      function(e)
        return { [e[4]] = { [7] = e[1], [2] = e[0] }, [e[1]] = {} }
      end, { { 1, {} }, { 4, { { 2, 0 }, { 7, 1 } } } })
    check(codec.map { key = "entity", value = codec.refs { "[]" } }, function(e)
      return { [e[4]] = { e[1], e[0] }, [e[1]] = { e[5] } }
    end, { { 1, { 5 } }, { 4, { 1, 0 } } })
    local Class = { __name = "Class" }
    check(codec.map { key = "integer", value = codec.class(Class) }, function()
      return { [5] = setmetatable({ n = 1 }, Class) }
    end, { { 5, { ["@class"] = "Class", n = 1 } } })
    local k = kit(codec.map { key = "integer", value = codec.class(Class) })
    k.world:add(k.trait { [5] = setmetatable({ n = 1 }, Class) })
    ecs.restoreJSON(k.other, ecs.saveJSON(k.world))
    assert.equal(Class, getmetatable(k.other:get(k.trait)[5]))
  end)

  it("saves an empty table as an empty list, and null as null", function()
    for _, key in ipairs { "entity", "integer" } do
      local c = codec.map { key = key }
      check(c, function() return {} end, {})
      check(c, function() return ecs.null end, ecs.null)
      local k = kit(c)
      k.world:add(k.trait {})
      assert.truthy(ecs.saveJSON(k.world):find('"Bag":[]', 1, true))
    end
  end)

  it("restores any order", function()
    local want = { [0] = "a", [1] = "b", [2] = "c", [3] = "d", [4] = "e" }
    local rows = {}
    for key, value in pairs(want) do rows[#rows + 1] = { key, value } end
    random.rounds(20, function(rng)
      local k = kit(codec.map { key = "integer" })
      local shuffled = rng:shuffled(rows)
      ecs.restoreWorld(k.other, ser.doc({}, { traits = { Bag = shuffled } }))
      deep.assertSame(want, k.other:get(k.trait), "the map")
      k = kit(codec.map { key = "entity" })
      local e = byIndex(ecs.restoreWorld(k.other,
        ser.doc({ {}, {}, {}, {}, { traits = { Bag = shuffled } } })))
      local got = k.other:get(e[4], k.trait)
      for i = 0, 4 do assert.equal(want[i], got[e[i]]) end
      -- And it is saved in order again.
      deep.assertSame({ { 0, "a" }, { 1, "b" }, { 2, "c" }, { 3, "d" }, { 4, "e" } },
        ecs.saveWorld(k.other).entities[5].traits.Bag, "saved again")
    end)
  end)

  it("reads the form of the vector", function()
    local text = json.readFile("spec/vectors/codec-map.json", { null = ecs.null })
    local threat, name = ecs.trait(function() return ecs.null end), ecs.trait { value = "" }
    local world = ser.world {
      { "Threat", { trait = threat, codec = codec.map { key = "entity" } } }, { "Name", name },
    }
    local e = byIndex(ecs.restoreWorld(world, text))
    deep.assertSame({ [e[2]] = 0.5, [e[0]] = 12, [e[1]] = -1 }, world:get(e[1], threat), "a map")
    deep.assertSame({}, world:get(e[2], threat), "an empty one")
    assert.truthy(ecs.saveJSON(world):find('"Threat":[[0,12],[1,-1],[2,0.5]]', 1, true))
  end)

  it("the text does not depend on how the map was filled", function()
    local texts = {}
    random.rounds(10, function(rng)
      local k = kit(codec.map { key = "entity" })
      local map = {}
      for _, i in ipairs(rng:shuffled { 0, 1, 2, 3, 4, 5 }) do map[k.e[i]] = "x" end
      for _, i in ipairs(rng:shuffled { 0, 1, 2 }) do map[k.e[i]] = nil end
      for _, i in ipairs(rng:shuffled { 0, 2 }) do map[k.e[i]] = "y" end
      k.world:add(k.trait(map))
      texts[ecs.saveJSON(k.world)] = true
    end)
    assert.truthy(next(texts))
    assert.is_nil(next(texts, (next(texts))))
  end)

  it("refuses a key that occurs twice", function()
    assert.equal("codec.map: [2][0] is a key that occurs twice",
      restoreCause(codec.map { key = "integer" }, { { 1, "a" }, { 2, "b" }, { 1, "a" } }))
    assert.equal("codec.map: [1][0] is a key that occurs twice",
      restoreCause(codec.map { key = "integer" }, { { 1, ecs.null }, { 1.0, 5 } }))
    assert.equal("codec.map: [2][0] is a key that occurs twice",
      restoreCause(codec.map { key = "entity" }, { { 0, 1 }, { 2, 1 }, { 2, 1 } }))
  end)

  it("refuses what is no list of pairs", function()
    for _, key in ipairs { "entity", "integer" } do
      local c = codec.map { key = key }
      for _, bad in ipairs { 5, "text", true, { x = 1 }, { ["1"] = { 1, 2 } } } do
        assert.equal("codec.map: the value is not a list of [key, value] pairs",
          restoreCause(c, bad))
      end
      for _, bad in ipairs { 5, "text", ecs.null, {}, { 1 }, { 1, 2, 3 }, { k = 1, v = 2 } } do
        assert.equal("codec.map: [1] is not a [key, value] pair",
          restoreCause(c, { { 0, 1 }, bad }))
      end
    end
  end)

  it("refuses wrong keys", function()
    local integers = codec.map { key = "integer" }
    for _, bad in ipairs { "1", 1.5, true, ecs.null, {}, 2.0^63, "x" } do
      assert.equal("codec.map: [1][0] is not an integer",
        restoreCause(integers, { { 0, 1 }, { bad, 1 } }))
    end
    for _, bad in ipairs { "1", 1.5, true, print, {}, 2.0^63 } do
      assert.equal("codec.map: a key is not an integer",
        saveCause(integers, function() return { 1, 2, [bad] = 3 } end))
    end
    local entities = codec.map { key = "entity", value = "entity" }
    local k = kit(entities)
    local gone = k.world:spawn()
    k.world:destroy(gone)
    for _, bad in ipairs { gone, 0, 1, "1", 1.5, true, print } do
      k.world:add(k.e[2], k.trait { [k.e[1]] = k.e[1], [bad] = k.e[1] })
      local err = ser.raises("saveWorld", "dangling-ref", { "Bag" }, ecs.saveWorld, k.world)
      assert.equal("entities[2].traits.Bag", err.path)
      k.world:set(k.e[2], k.trait, { [k.e[5]] = k.e[1], [k.e[1]] = bad, [k.e[0]] = k.e[0] })
      err = ser.raises("saveWorld", "dangling-ref", { "Bag" }, ecs.saveWorld, k.world)
      assert.equal("entities[2].traits.Bag[1][1]", err.path)
      k.world:remove(k.e[2], k.trait)
    end
    for _, bad in ipairs { -1, 3, "0", 0.5, true, {} } do
      local err = ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, k.other,
        ser.doc { {}, { traits = { Bag = { { 0, 0 }, { bad, 0 } } } }, {} })
      assert.equal("entities[1].traits.Bag[1][0]", err.path)
      err = ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, k.other,
        ser.doc { {}, { traits = { Bag = { { 0, 0 }, { 1, bad } } } }, {} })
      assert.equal("entities[1].traits.Bag[1][1]", err.path)
      ser.assertFresh(k.other, { k.trait })
    end
  end)

  it("names the whole path through nested codecs", function()
    local inner = codec.map { key = "integer", value = codec.refs { "list[].to" } }
    local c = codec.map { key = "entity", value = inner }
    local k = kit(c)
    local function value(e, last)
      return { [e[1]] = {}, [e[3]] = { [5] = {}, [9] = { list = { {}, { to = last } } } } }
    end
    k.world:add(k.e[2], k.trait(value(k.e, 4)))
    local err = ser.raises("saveWorld", "dangling-ref", {}, ecs.saveWorld, k.world)
    assert.equal("entities[2].traits.Bag[1][1][1][1].list[1].to", err.path)
    assert.equal("saveWorld: " .. err.path .. " refers to an entity that is not saved", err.message)
    k.world:set(k.e[2], k.trait, value(k.e, k.e[0]))
    local snapshot = ecs.saveWorld(k.world)
    snapshot.entities[3].traits.Bag[2][2][2][2].list[2].to = 6
    err = ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, k.other, snapshot)
    assert.equal("entities[2].traits.Bag[1][1][1][1].list[1].to", err.path)
    snapshot.entities[3].traits.Bag[2][2][2][2].list[2].to = 1
    local e = byIndex(ecs.restoreWorld(k.other, snapshot))
    deep.assertSame(value(e, e[1]), k.other:get(e[2], k.trait), "the value")
  end)

  it("gives a codec of the values the whole context", function()
    local seen = {}
    local values = {
      toJSON = function(value, ctx)
        seen[#seen + 1] = ctx.ref(value.to)
        return { at = ctx.ref(value.to), pcall(ctx.ref, 5) and 1 or nil }
      end,
      fromJSON = function(value, ctx) return { to = ctx.entity(value.at) } end,
    }
    check(codec.map { key = "entity", value = values }, function(e)
      return { [e[3]] = { to = e[0] }, [e[2]] = { to = e[1] } }
    end, { { 2, { at = 1 } }, { 3, { at = 0 } } })
    -- In ascending order of the keys.
    assert.equal(1, seen[1])
    assert.equal(0, seen[2])
    values.toJSON = function() end
    assert.equal("codec.map: toJSON returned nil for [0][1]",
      saveCause(codec.map { key = "integer", value = values }, function() return { 7 } end))
    values.fromJSON = function() end
    assert.equal("codec.map: fromJSON returned nil for [1][1]",
      restoreCause(codec.map { key = "integer", value = { toJSON = print,
        fromJSON = function(x) return x ~= 8 and x or nil end } }, { { 1, 7 }, { 2, 8 } }))
    local thrown = {}
    values = { toJSON = function() error(thrown) end, fromJSON = print }
    assert.is_true(rawequal(thrown,
      saveCause(codec.map { key = "integer", value = values }, function() return { 7 } end)))
  end)

  it("refuses values that are no plain tables", function()
    local c = codec.map { key = "integer" }
    for what, bad in pairs { number = 5, string = "x", boolean = true, ["function"] = print } do
      assert.equal(("codec.map: the value is a %s, not a table"):format(what),
        saveCause(c, function() return bad end))
    end
    local ran = {}
    assert.equal("codec.map: the value has a metatable",
      saveCause(c, function() return setmetatable({}, ser.hostile(ran)) end))
    assert.same({}, ran)
    local k = kit(c)
    k.world:add(k.e[0], k.trait { 1, { print } })
    local err = ser.raises("saveWorld", "not-serializable", {}, ecs.saveWorld, k.world)
    assert.equal("entities[0].traits.Bag[1][1][0]", err.path)
  end)

  it("checks its options", function()
    local function wrong(message, options)
      local ok, err = pcall(codec.map, options)
      assert.is_false(ok)
      assert.truthy(err:find("codec.map: " .. message, 1, true), err)
    end
    wrong("bad argument #1 (table of options expected, got nil)", nil)
    wrong("bad argument #1 (table of options expected, got string)", "entity")
    wrong('the key must be "entity" or "integer"', {})
    for _, bad in ipairs { "string", "value", "Entity", 5, true, {}, codec.refs { "a" } } do
      wrong('the key must be "entity" or "integer"', { key = bad })
    end
    for _, bad in ipairs { "integer", "", 5, false, {}, { toJSON = print } } do
      wrong('the value must be "value", "entity" or a codec', { key = "entity", value = bad })
    end
    wrong('unknown option "values"', { key = "entity", values = "entity" })
    wrong('unknown option "1"', { "entity" })
  end)

  it("random maps survive every route", function()
    random.rounds(50, function(rng)
      local route = rng:pick(ser.routes())
      local k = kit(codec.map { key = "integer", value = codec.map { key = "entity" } })
      local function make(e, seed)
        local r, map = random.new(seed), {}
        for _ = 1, r:int(0, 20) do
          local inner = {}
          for _ = 1, r:int(0, 6) do inner[e[r:int(0, 5)]] = r:int(-9, 9) end
          map[r:int(-30, 30)] = inner
        end
        return map
      end
      local seed = rng:bits()
      k.world:add(k.e[1], k.trait(make(k.e, seed)))
      local new = byIndex(route.restore(k.other, route.save(k.world)))
      deep.assertSame(make(new, seed), k.other:get(new[1], k.trait), route.name)
    end)
  end)
end)

describe("codec.both", function()
  local Party = { __name = "Party" }
  Party.__index = Party
  function Party:size() return #self.members end

  local function party(e, owner, ...)
    local members = { ... }
    for i, index in ipairs(members) do members[i] = e[index] end
    return setmetatable({ owner = e[owner], members = members }, Party)
  end

  for name, c in pairs {
    ["class, then refs"] = codec.both(codec.class(Party), codec.refs { "owner", "members[]" }),
    ["refs, then class"] = codec.both(codec.refs { "owner", "members[]" }, codec.class(Party)),
  } do
    it("combines " .. name, function()
      check(c, function(e) return party(e, 3, 1, 2) end,
        { ["@class"] = "Party", owner = 3, members = { 1, 2 } })
      local k = kit(c)
      local value = party(k.e, 3, 1, 2, 4)
      k.world:add(k.e[0], k.trait(value))
      local e = byIndex(ecs.restoreJSON(k.other, ecs.saveJSON(k.world)))
      local got = k.other:get(e[0], k.trait)
      assert.equal(Party, getmetatable(got))
      assert.equal(Party, getmetatable(value))
      assert.equal(3, got:size())
      assert.equal(e[3], got.owner)
    end)
  end

  it("runs toJSON of the first, then of the second; fromJSON the other way round", function()
    local log = {}
    local function step(name)
      return {
        toJSON = function(value, ctx)
          log[#log + 1] = name .. ".to " .. type(ctx.ref)
          return value .. name
        end,
        fromJSON = function(value, ctx)
          log[#log + 1] = name .. ".from " .. type(ctx.entity)
          assert.equal(name, value:sub(-1))
          return value:sub(1, -2)
        end,
      }
    end
    local c = codec.both(codec.both(step "a", step "b"), step "c")
    check(c, function() return "x" end, "xabc")
    local once = "a.to function b.to function c.to function "
      .. "a.to function b.to function c.to function "
      .. "c.from function b.from function a.from function "
    assert.equal(once:rep(#ser.routes()), table.concat(log, " ") .. " ")
  end)

  it("keeps the errors of both, and refuses nil between them", function()
    local none = { toJSON = function() end, fromJSON = function() end }
    local refs = codec.refs { "a" }
    assert.equal("codec.both: the first toJSON returned nil",
      saveCause(codec.both(none, refs), function() return {} end))
    assert.equal("codec.both: the first fromJSON returned nil",
      restoreCause(codec.both(refs, none), {}))
    local k = kit(codec.both(codec.class(Party), refs))
    k.world:add(k.e[0], k.trait(setmetatable({ a = 1 }, Party)))
    local err = ser.raises("saveWorld", "dangling-ref", {}, ecs.saveWorld, k.world)
    assert.equal("entities[0].traits.Bag.a", err.path)
    err = ser.raises("restoreWorld", "codec-error", {}, ecs.restoreWorld, k.other,
      ser.doc { { traits = { Bag = { ["@class"] = "Guild", a = 0 } } } })
    assert.equal('codec.class: the value is of the unknown class "Guild"', err.cause)
    err = ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, k.other,
      ser.doc { { traits = { Bag = { ["@class"] = "Guild", a = 1 } } } })
    assert.equal("entities[0].traits.Bag.a", err.path)
  end)

  it("checks its arguments", function()
    local refs = codec.refs { "a" }
    for _, bad in ipairs { 5, "refs", {}, { toJSON = print }, { fromJSON = print, toJSON = 5 } } do
      local ok, err = pcall(codec.both, bad, refs)
      assert.is_false(ok)
      assert.truthy(err:find(("codec.both: bad argument #1 (codec expected, got %s)"):format(
        type(bad)), 1, true), err)
      ok, err = pcall(codec.both, refs, bad)
      assert.is_false(ok)
      assert.truthy(err:find("bad argument #2 (codec expected", 1, true), err)
    end
    local _, err = pcall(function() codec.both(refs) end)
    assert.truthy(err:find("codec_map_spec.lua:%d+: codec.both: bad argument #2 %(codec expected, "
      .. "got nil%)"), err)
  end)
end)
