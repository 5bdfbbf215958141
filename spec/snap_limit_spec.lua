-- Generations at their limit, in a world that took over the id of a closed one and so begins with
-- higher generations: what is saved and loaded goes on as an uninterrupted run does.

local ecs = require "ecsser"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local LIMIT <const> = 1 << 21   -- a slot with this generation is retired
local T = ecs.trait { n = 0 }

-- All other ids are taken, so that a new world gets the id of the one that was closed.
local others

local function newWorld()
  return ser.world { T = T }
end

local function generation(entity) return (select(2, ecs.unpack(entity))) end

-- A snapshot of `world` with these generations (since the world began), by slot.
local function withGenerations(world, generations)
  local tree = ecs.saveSnapshot(world, { format = "table" })
  for slot, value in pairs(generations) do tree.body.entities.generations[slot + 1] = value end
  return tree
end

-- A world whose generations begin at `base`.
local function worldFrom(base)
  local world = newWorld()
  local e = world:spawn()
  local first = generation(e)
  assert(base > first)
  ecs.loadSnapshot(world, withGenerations(world, { base - first - 1 }))
  world:close()
  world = newWorld()
  local probe = world:spawn()
  assert.equal(base, generation(probe))
  world:destroy(probe)
  world:reset()
  return world
end

-- About 20 slots, alive or free, with a few generations left each.
local function nearLimit(rng, world, base)
  local all, generations = {}, {}
  for i = 1, 20 do all[i] = world:spawn(T { n = i }) end
  for _ = 1, 8 do world:destroy(table.remove(all, rng:int(1, #all))) end
  for slot = 1, 20 do generations[slot] = LIMIT - base - rng:int(1, 4) end
  ecs.loadSnapshot(world, withGenerations(world, generations))
end

local function run(rng, world, log)
  for _ = 1, 60 do
    local all = world:query(T)
    if #all > 0 and rng:chance(55) then
      world:destroy(all[rng:int(1, #all)])
    else
      log[#log + 1] = world:spawn(T { n = #log })
    end
  end
  return log
end

describe("generations at their limit", function()
  setup(function()
    collectgarbage()
    others = {}
    while true do
      local ok, world = pcall(ecs.createWorld)
      if not ok then break end
      others[#others + 1] = world
    end
    table.remove(others):close()
  end)
  teardown(function()
    for _, world in ipairs(others) do world:close() end
  end)

  it("are saved and loaded in a world that begins with higher ones", function()
    -- Each round goes on from the base of the last one; they start over now and then.
    local base = 0
    random.rounds(200, function(rng)
      local probe = newWorld()
      base = generation(probe:spawn())
      probe:close()
      base = base + rng:int(2, 5000)
      local world <close> = worldFrom(base)
      nearLimit(rng, world, base)
      run(rng, world, {})
      if rng:chance(20) then world:reset() end
      local bytes, hash, seed = ecs.saveSnapshot(world), ecs.hashWorld(world), rng:bits()
      local alive = world:entities()
      local lived = run(random.new(seed), world, {})
      local after = ecs.hashWorld(world)
      for _ = 1, 2 do
        ecs.loadSnapshot(world, bytes)
        assert.equal(hash, ecs.hashWorld(world))
        assert.same(alive, world:entities())
        assert.same(lived, run(random.new(seed), world, {}))
        assert.equal(after, ecs.hashWorld(world))
      end
      util.checkInvariants(world, { T })
      local given = {}
      for _, e in ipairs(lived) do
        assert(not given[e], "a handle was given twice")
        given[e] = true
        assert(generation(e) < LIMIT and generation(e) >= base)
      end
      -- Those that are left out have died: at the limit their slots are retired.
      ecs.loadSnapshot(world, bytes)
      local some = ecs.saveSnapshot(world, { filter = function(e)
        return util.slot(e) % 2 == 0
      end })
      for _, e in ipairs(world:query(T)) do if util.slot(e) % 2 == 1 then world:destroy(e) end end
      local left = world:entities()
      ecs.loadSnapshot(world, some)
      assert.same(left, world:entities())
      assert.equal(some, ecs.saveSnapshot(world))
    end)
  end)

  it("that do not fit are refused, or their slots retired where nobody lives", function()
    local world <close> = worldFrom(70000)
    local e = world:spawn(T)
    local gone = world:spawn(T)
    world:destroy(gone)
    local hash = ecs.hashWorld(world)
    for _, wrong in ipairs { LIMIT - 70000, LIMIT - 1 } do
      local ok, err = pcall(ecs.loadSnapshot, world, withGenerations(world, { wrong }))
      assert.is_false(ok)
      assert.truthy(tostring(err):find("the generations of this world's id", 1, true))
      assert.equal(hash, ecs.hashWorld(world))
      assert.is_true(world:isAlive(e))
    end
    ecs.loadSnapshot(world, withGenerations(world, { [2] = LIMIT - 70000 }))
    assert.equal(3, util.slot(world:spawn()))
    ecs.loadSnapshot(world, ecs.saveSnapshot(world))
    assert.equal(4, util.slot(world:spawn()))
    assert.is_true(world:isAlive(e))
  end)
end)
