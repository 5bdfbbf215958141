-- The properties P1, P3 and P5 to P9 of saving and restoring, over random worlds. A failure prints
-- its seed.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local values = require "spec.support.values"
local worlds = require "spec.support.worlds"

local ROUNDS = 200

local function registered(kit)
  local out = {}
  for i, item in ipairs(kit.items) do
    out[i] = item.object
  end
  return out
end

describe("random worlds", function()
  local kit

  setup(function()
    kit = worlds.kit()
  end)

  it("P1 save(restore(save(w))) is save(w), and so is the second generation", function()
    random.rounds(ROUNDS, function(rng)
      local world = worlds.random(rng, kit, { size = 20 })
      local saved = ecs.saveWorld(world)
      deep.assertSame(oracle.describe(world, kit), saved, "the first save")
      local copy = deep.copy(saved)
      local second, third = oracle.world(kit), oracle.world(kit)
      local e = ecs.restoreWorld(second, saved).entities
      assert.equal(#saved.entities, #e)
      deep.assertSame(copy, saved, "the snapshot", { marks = true })
      deep.assertSame(saved, oracle.describe(second, kit), "the restored world")
      local again = ecs.saveWorld(second)
      deep.assertSame(saved, again, "the second save", { marks = true })
      ecs.restoreWorld(third, again)
      deep.assertSame(saved, ecs.saveWorld(third), "the second generation", { marks = true })
      -- In place, after a reset, as well.
      world:reset()
      ecs.ignoreTraits(world, { kit.ignored[1] })
      ecs.restoreWorld(world, saved)
      deep.assertSame(saved, ecs.saveWorld(world), "after a reset", { marks = true })
    end)
  end)

  it("P3 all routes give worlds of equal content", function()
    random.rounds(ROUNDS, function(rng)
      local world = worlds.random(rng, kit, { numbers = values.plain })
      local expected = oracle.describe(world, kit)
      for _, route in ipairs(ser.routes()) do
        local other = oracle.world(kit)
        route.restore(other, route.save(world))
        deep.assertSame(expected, oracle.describe(other, kit), route.name)
      end
    end)
  end)

  it("P3 the text route is exact", function()
    if not ecs.saveJSON then
      return
    end
    random.rounds(ROUNDS, function(rng)
      local world, other = worlds.random(rng, kit), oracle.world(kit)
      local text = ecs.saveJSON(world)
      assert.equal(text, ecs.saveJSON(world))
      ecs.restoreJSON(other, text)
      deep.assertSame(ecs.saveWorld(world), ecs.saveWorld(other), "the text route")
      assert.equal(text, ecs.saveJSON(other))
    end)
  end)

  -- A kit whose codec fails at the call number `state.left`, with `state.cause`.
  local function failingKit(state)
    local failing = { items = {}, ignored = kit.ignored, unregistered = kit.unregistered }
    local function guard(fn)
      return function(...)
        state.left = state.left - 1
        if state.left == 0 then
          error(state.cause, 0)
        end
        return fn(...)
      end
    end
    for i, item in ipairs(kit.items) do
      failing.items[i] = setmetatable({}, { __index = item })
      if item.codec then
        failing.items[i].codec = {
          toJSON = guard(item.codec.toJSON), fromJSON = guard(item.codec.fromJSON),
        }
      end
    end
    return failing
  end

  it("P5 a codec that fails at any call: the save gives nothing, the restore leaves nothing",
    function()
      local calls = 0
      local rounds = random.rounds(ROUNDS, function(rng)
        local state = { left = 0, cause = {} }
        local failing = failingKit(state)
        local world, target = oracle.world(failing), oracle.world(failing)
        worlds.fill(rng, failing, world)
        target:spawn(ecs.IsExcluded, kit.items[2].object, kit.unregistered)
        target:add(kit.ignored[1] { rng.seed })
        state.left = 0
        local saved = ecs.saveWorld(world)
        local count = -state.left
        calls = calls + count
        local before, fresh = ser.state(world), ser.state(target)
        for k = 1, count do
          state.left = k
          local e = ser.raises("saveWorld", "codec-error", { "Threat" }, ecs.saveWorld, world)
          assert.equal(state.cause, e.cause)
          ser.assertUnchanged(before, world, "a failed save")
          state.left = k
          e = ser.raises("restoreWorld", "codec-error", { "Threat" }, ecs.restoreWorld, target,
            saved)
          assert.equal(state.cause, e.cause)
          ser.assertUnchanged(fresh, target, "a failed restore")
        end
        state.left = 0
        deep.assertSame(saved, ecs.saveWorld(world), "the save after the failures")
        ecs.restoreWorld(target, saved)
        deep.assertSame(saved, ecs.saveWorld(target), "the restore after the failures")
      end)
      assert.is_true(calls >= rounds // 4, "only " .. calls .. " failures")
    end)

  it("P5 an observer that fails at any call: the restore leaves nothing", function()
    local failures = 0
    local rounds = random.rounds(ROUNDS, function(rng)
      local world = worlds.random(rng, kit, { size = 5 })
      local saved = ecs.saveWorld(world)
      local target = oracle.world(kit)
      local prefab = target:spawn(ecs.IsExcluded, kit.items[2].object)
      target:add(kit.ignored[1] { prefab })
      local left, cause = 0, nil
      local function observer()
        left = left - 1
        if left == 0 then
          error(cause, 0)
        end
      end
      for _, item in ipairs(kit.items) do
        target:onAdd(item.object, observer)
        target:onQueryAdd(item.kind == "relation" and item.object("*") or item.object, observer)
      end
      ecs.restoreWorld(target, saved)
      local count = -left
      for _, entity in ipairs(ser.savedEntities(target)) do
        if target:isAlive(entity) then
          target:destroy(entity)
        end
      end
      for _, item in ipairs(kit.items) do
        if item.kind ~= "relation" and target:has(item.object) then
          target:remove(item.object)
        end
      end
      local fresh = ser.state(target)
      for k = 1, count do
        left, cause = k, { k }
        local e = ser.raises("restoreWorld", "restore-failed", {}, ecs.restoreWorld, target, saved)
        assert.equal(cause, e.cause)
        ser.assertUnchanged(fresh, target, "a failed restore")
        failures = failures + 1
      end
      left = 0
      ecs.restoreWorld(target, saved)
      deep.assertSame(saved, ecs.saveWorld(target), "the restore after the failures")
    end)
    assert.is_true(failures >= 5 * (rounds // 4), "only " .. failures .. " failures")
  end)

  -- The same content in other words: each table is rebuilt with its keys in another order.
  local function rekeyed(rng, value)
    if type(value) ~= "table" then
      return value
    end
    local keys = {}
    for key in next, value do
      keys[#keys + 1] = key
    end
    local out = {}
    for _ = 1, rng:int(0, 8) do
      out[rng:bits()] = true
    end
    for key in next, out do
      out[key] = nil
    end
    for _, key in ipairs(rng:shuffled(keys)) do
      out[key] = rekeyed(rng, value[key])
    end
    return setmetatable(out, debug.getmetatable(value))
  end

  it("P6 the order of keys, of registration and of the past changes nothing promised", function()
    random.rounds(ROUNDS, function(rng)
      local world = worlds.random(rng, kit)
      local saved = ecs.saveWorld(world)
      -- The same snapshot with other insertion orders gives the same world, calls included.
      local logs = {}
      for i, snapshot in ipairs { saved, rekeyed(rng, saved) } do
        local other = oracle.world(kit)
        local log = {}
        for _, item in ipairs(kit.items) do
          other:onAdd(item.object, function(entity, target)
            log[#log + 1] = ("%s %s %s"):format(item.name, select(3, ecs.unpack(entity)),
              target and select(3, ecs.unpack(target)))
          end)
        end
        ecs.restoreWorld(other, snapshot)
        deep.assertSame(saved, ecs.saveWorld(other), "rekeyed", { marks = true })
        logs[i] = log
      end
      assert.same(logs[1], logs[2])
      -- Another order of registration changes the order of tags only.
      local items = rng:shuffled(kit.items)
      local shuffled = oracle.world(kit, items)
      ecs.restoreWorld(shuffled, saved)
      local other = ecs.saveWorld(shuffled)
      deep.assertSame(oracle.describe(shuffled, { items = items, ignored = kit.ignored }), other,
        "in the order of registration")
      local a, b = deep.copy(saved), deep.copy(other)
      for _, doc in ipairs { a, b } do
        table.sort(doc.world.tags)
        for _, record in ipairs(doc.entities) do
          table.sort(record.tags)
        end
      end
      deep.assertSame(a, b, "apart from the order of tags")
    end)
  end)

  it("P6 what was added and removed before leaves no trace in a save", function()
    random.rounds(ROUNDS, function(rng)
      local seed = rng:int(1, 1 << 40)
      local plain = worlds.random(random.new(seed), kit)
      local world = oracle.world(kit)
      -- A past of the same entities: many traits and pairs that come and go again.
      for _ = 1, rng:int(1, 4) do
        worlds.fill(rng, kit, world)
        world:reset()
      end
      local never = rng:chance(50)
      if never then
        world:add(kit.unregistered)
        world:remove(kit.unregistered)
      end
      worlds.fill(random.new(seed), kit, world)
      deep.assertSame(ecs.saveWorld(plain), ecs.saveWorld(world), "the same content")
      for _, entity in ipairs(rng:shuffled(ser.savedEntities(world))) do
        local item = rng:pick(kit.items)
        local term = item.kind == "relation" and item.object(entity) or item.object
        if not world:has(entity, term) and not item.single then
          world:add(entity, term)
          world:remove(entity, term)
        end
      end
      deep.assertSame(ecs.saveWorld(plain), ecs.saveWorld(world), "after coming and going")
    end)
  end)

  it("P7 stale handles stay dead, and no new one equals an old one", function()
    random.rounds(ROUNDS, function(rng)
      local world = worlds.random(rng, kit, { size = 6 })
      local saved = ecs.saveWorld(world)
      local seen = {}
      for _ = 1, 8 do
        for _, entity in ipairs(ser.savedEntities(world)) do
          seen[entity] = true
        end
        world:reset()
        if rng:chance(30) then
          local doc = deep.copy(saved)
          doc.entities[#doc.entities + 1] = { tags = { 5 }, traits = {}, pairs = {} }
          ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, doc)
        end
        local alive = {}
        for _, entity in ipairs(ecs.restoreWorld(world, saved).entities) do
          assert.is_nil(seen[entity], "a handle came back")
          alive[entity] = true
        end
        for entity in pairs(seen) do
          assert.is_false(world:isAlive(entity))
          assert.is_false(world:has(entity, kit.items[1].object))
          assert.is_nil(world:get(entity, kit.items[2].object))
        end
        for entity in pairs(alive) do
          assert.is_true(world:isAlive(entity))
        end
      end
    end)
  end)

  local function assertRelationsAgree(world)
    local entities = ser.savedEntities(world)
    for _, item in ipairs(kit.items) do
      if item.kind == "relation" then
        local there, back = {}, {}
        for _, entity in ipairs(entities) do
          for _, target in ipairs(world:targets(entity, item.object)) do
            assert.is_true(world:isAlive(target))
            assert.is_true(world:has(entity, item.object(target)))
            there[#there + 1] = ("%d>%d"):format(entity, target)
          end
          for _, source in ipairs(world:sources(entity, item.object)) do
            assert.is_true(world:isAlive(source))
            back[#back + 1] = ("%d>%d"):format(source, entity)
          end
          assert.equal(#world:targets(entity, item.object) > 0, world:has(entity, item.object("*")))
        end
        table.sort(there)
        table.sort(back)
        assert.same(there, back)
      end
    end
  end

  it("P8 both directions of every relation agree, and cascades are as before the save", function()
    random.rounds(ROUNDS, function(rng)
      local world, other = worlds.random(rng, kit, { size = 15 }), oracle.world(kit)
      local e = ecs.restoreWorld(other, ecs.saveWorld(world)).entities
      local old = ser.savedEntities(world)
      assertRelationsAgree(other)
      for _, i in ipairs(rng:shuffled { 1, 2, 3, 4, 5, 6 }) do
        assert.equal(old[i] and world:isAlive(old[i]), e[i] and other:isAlive(e[i]))
        if old[i] and world:isAlive(old[i]) then
          world:destroy(old[i])
          other:destroy(e[i])
        end
        for k = 1, #old do
          assert.equal(world:isAlive(old[k]), other:isAlive(e[k]), "a cascade differs")
        end
        assertRelationsAgree(other)
      end
      -- What still refers to a destroyed entity cannot be saved; drop it on both sides.
      for k = 1, #old do
        if world:isAlive(old[k]) then
          for _, name in ipairs { "Intent", "Two", "Threat" } do
            local trait = oracle.item(kit, name).object
            if world:has(old[k], trait) then
              world:remove(old[k], trait)
              other:remove(e[k], trait)
            end
          end
        end
      end
      for _, name in ipairs { "Intent", "Two", "Threat" } do
        local trait = oracle.item(kit, name).object
        for _, w in ipairs { world, other } do
          if w:has(trait) then
            w:remove(trait)
          end
        end
      end
      deep.assertSame(ecs.saveWorld(world), ecs.saveWorld(other), "after the cascades")
    end)
  end)

  -- The calls of onAdd that a restore of this table must make, in order.
  local function expectedCalls(saved, worldEntity, e)
    local calls = {}
    local function sorted(t)
      local names = {}
      for name in pairs(t) do
        names[#names + 1] = name
      end
      table.sort(names)
      return names
    end
    local function addTraits(record, entity)
      for _, name in ipairs(record.tags) do
        calls[#calls + 1] = ("%s %d nil"):format(name, entity)
      end
      for _, name in ipairs(sorted(record.traits)) do
        calls[#calls + 1] = ("%s %d nil"):format(name, entity)
      end
    end
    addTraits(saved.world, worldEntity)
    for i, record in ipairs(saved.entities) do
      addTraits(record, e[i])
    end
    for i, record in ipairs(saved.entities) do
      for _, name in ipairs(sorted(record.pairs)) do
        for _, pair in ipairs(record.pairs[name]) do
          calls[#calls + 1] = ("%s %d %d"):format(name, e[i], e[pair.target + 1])
        end
      end
    end
    return calls
  end

  it("P9 the log of callbacks is the documented order, each once, values final", function()
    random.rounds(ROUNDS, function(rng)
      local world, target = worlds.random(rng, kit), oracle.world(kit)
      local saved = ecs.saveWorld(world)
      local log, seen = {}, {}
      for _, item in ipairs(kit.items) do
        target:onAdd(item.object, function(entity, other)
          log[#log + 1] = ("%s %d %s"):format(item.name, entity, other)
          local term = other and item.object(other) or item.object
          seen[#log] = { entity, term, deep.copy(target:get(entity, term)) }
        end)
        target:onChange(item.object, function() error("onChange " .. item.name) end)
        target:onRemove(item.object, function() error("onRemove " .. item.name) end)
      end
      local e = ecs.restoreWorld(target, saved).entities
      assert.same(expectedCalls(saved, target:entities()[1], e), log)
      for i = 1, #log do
        local entity, term, value = table.unpack(seen[i], 1, 3)
        deep.assertSame(target:get(entity, term), value, log[i])
      end
    end)
  end)

  it("P4 a random damage is refused with an error of ours, or gives a world that saves", function()
    local accepted, refused = 0, 0
    local rounds = random.rounds(ROUNDS * 5, function(rng)
      local world = worlds.random(rng, kit, { size = 4 })
      local saved = ecs.saveWorld(world)
      -- One random place gets another value. The walk is in an order that a seed repeats.
      local places = {}
      local function walk(t)
        local keys = {}
        for key in next, t do
          keys[#keys + 1] = key
        end
        table.sort(keys, function(a, b)
          return tostring(a) < tostring(b)
        end)
        for _, key in ipairs(keys) do
          places[#places + 1] = { t, key }
          if type(t[key]) == "table" then
            walk(t[key])
          end
        end
      end
      walk(saved)
      local place = rng:pick(places)
      place[1][place[2]] = rng:pick {
        false, 0, -1, 1.5, "", "Zeta", 1 << 53, {}, ecs.array {}, ecs.null, { 1 }, { a = 1 }, print,
        0 / 0, saved, "nil",
      }
      if place[1][place[2]] == "nil" then
        place[1][place[2]] = nil
      end
      local target = oracle.world(kit)
      local fresh = ser.state(target)
      local ok, e = pcall(ecs.restoreWorld, target, saved)
      if ok then
        accepted = accepted + 1
        local second = oracle.world(kit)
        local once = ecs.saveWorld(target)
        ecs.restoreWorld(second, once)
        deep.assertSame(once, ecs.saveWorld(second), "the world of a changed snapshot")
        assertRelationsAgree(target)
      else
        refused = refused + 1
        assert.is_true(ecs.isSerializeError(e), tostring(e))
        ser.assertUnchanged(fresh, target, "a refused snapshot")
      end
      assert.same({}, ok and {} or ser.savedEntities(target))
      ser.assertFresh(ok and oracle.world(kit) or target, registered(kit))
    end)
    assert.is_true(accepted >= rounds // 50 and refused >= rounds // 5,
      ("%d accepted, %d refused"):format(accepted, refused))
  end)
end)
