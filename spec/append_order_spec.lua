-- appendSnapshot with keys = "replace": everyone is told in the snapshot's order, in every process
-- the same; and a snapshot in which two entities have one key is refused.

local ecs = require "ecsser"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local T = ecs.trait { n = 0 }

local function newWorld()
  return ser.world { T = T, Key = ecs.Key }
end

-- Worlds where the entities with these keys come in opposite orders.
local function pair(keys)
  local world, from = newWorld(), newWorld()
  for i = 1, #keys do
    world:spawn(ecs.Key(keys[#keys + 1 - i]))
    from:spawn(T, ecs.Key(keys[i]))
  end
  return world, ecs.saveSnapshot(from)
end

local function randomKeys(rng)
  local keys = {}
  for i = 1, rng:int(2, 40) do keys[i] = ("key %d %x"):format(i, rng:bits()) end
  return keys
end

describe("keys that are taken over", function()
  it("are lost in the snapshot's order", function()
    random.rounds(200, function(rng)
      local keys = randomKeys(rng)
      local world <close>, bytes = pair(keys)
      local lost, left = {}, {}
      world:onRemove(ecs.Key, function(e) lost[#lost + 1] = world:get(e, ecs.Key) end)
      world:onQueryRemove(ecs.Key, function(e) left[#left + 1] = util.slot(e) end)
      ecs.appendSnapshot(world, bytes, { keys = "replace" })
      assert.same(keys, lost)
      local slots = {}
      for i = 1, #keys do slots[i] = #keys + 1 - i end
      assert.same(slots, left)
      for i, e in ipairs(world:query(T)) do assert.equal(keys[i], world:get(e, ecs.Key)) end
    end)
  end)

  it("come back in that order when the append fails", function()
    random.rounds(200, function(rng)
      local keys = randomKeys(rng)
      local world <close>, bytes = pair(keys)
      local back = {}
      world:onQueryAdd(ecs.Key, ecs.Not(T), function(e) back[#back + 1] = world:get(e, ecs.Key) end)
      assert.equal("no", ser.catch(ecs.appendSnapshot, world, bytes,
        { keys = "replace", patch = function() error("no", 0) end }))
      assert.same(keys, back)
      for _, key in ipairs(keys) do assert.is_true(world:has(world:find(key), ecs.Key)) end
      util.checkInvariants(world, { T, ecs.Key })
    end)
  end)
end)

describe("a snapshot in which two entities have one key", function()
  it("is refused by append as by load, whatever becomes of keys that the world has", function()
    local world <close> = newWorld()
    world:spawn(ecs.Key "b")
    local from <close> = newWorld()
    for i = 1, 3 do from:spawn(ecs.Key(("key %d"):format(i))) end
    local hash = ecs.hashWorld(world)
    for _, keys in ipairs { { "a", "a", "c" }, { "b", "c", "b" }, { "x", "y", "y" } } do
      local tree = ecs.saveSnapshot(from, { format = "table" })
      tree.body.traits.Key.columns[1] = keys
      for _, policy in ipairs { "error", "drop", "replace" } do
        if not (policy == "error" and keys[1] == "b") then
          ser.raises("appendSnapshot", "duplicate-key", {}, ecs.appendSnapshot, world, tree,
            { keys = policy })
        end
      end
      ser.raises("loadSnapshot", "duplicate-key", {}, ecs.loadSnapshot, world, tree)
      assert.equal(hash, ecs.hashWorld(world))
    end
  end)
end)
