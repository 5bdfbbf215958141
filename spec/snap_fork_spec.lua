-- P1 and P2 for snapshots: what is saved and loaded again is the same world, which goes on as if
-- it had never been saved: in place, in another world, and in another process.

local ecs = require "ecsser"
local child = require "spec.support.world_child"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local util = require "spec.support.world_util"

-- ECSSER_ROUNDS sets how many there are.
local WORLDS <const> = math.min(250, math.tointeger(tonumber(os.getenv "ECSSER_ROUNDS")) or 210)

describe("forked runs", function()
  it("P2 go on the same in place and in another process: handles, hashes, bytes", function()
    local first = math.tointeger(tonumber(os.getenv "ECSSER_SEED")) or 20260400
    local path = os.tmpname()
    local function run(name)
      local code = ('require "spec.support.snap_fork".%s(%d, %d, %q)'):format(
        name, first, WORLDS, path)
      local how, number, output = child.run(code)
      assert(how == "exit" and number == 0, name .. ": " .. output)
      return output
    end
    local lived, loaded = run "live", run "loaded"
    os.remove(path)
    local lines = 0
    for line in lived:gmatch "[^\n]+" do
      lines = lines + 1
      assert(loaded:find(line, 1, true), "the loaded world went on otherwise: " .. line)
    end
    assert.equal(WORLDS, lines)
    assert.equal(lived, loaded)
  end)
end)

describe("a loaded copy", function()
  local kit = kits.new()

  it("P1 saves as the same bytes, in both forms, for generations", function()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 50)
      local copy <close> = kit:world(rng)
      local bytes = ecs.saveSnapshot(world)
      kit:run(rng, copy, 20)   -- what it held before does not matter
      for _ = 1, 2 do
        ecs.loadSnapshot(copy, bytes)
        assert.equal(bytes, ecs.saveSnapshot(copy))
        local tree = ecs.saveSnapshot(copy, { format = "table" })
        copy:reset()
        ecs.loadSnapshot(copy, tree)
        assert.equal(bytes, ecs.saveSnapshot(copy))
      end
      assert.equal(ecs.hashWorld(world), ecs.hashWorld(copy))
      util.checkInvariants(copy, kit:lists())
    end)
  end)

  it("has the same entities in the same slots and generations", function()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 50)
      local copy <close> = kit:world()
      ecs.loadSnapshot(copy, ecs.saveSnapshot(world))
      local mine, theirs = world:entities(), copy:entities()
      assert.equal(#mine, #theirs)
      local shift
      for i = 2, #mine do
        local _, g, slot = ecs.unpack(mine[i])
        local _, h, same = ecs.unpack(theirs[i])
        assert.equal(slot, same)
        shift = shift or h - g
        assert.equal(shift, h - g)
        assert.equal(world:has(mine[i], ecs.IsExcluded), copy:has(theirs[i], ecs.IsExcluded))
        assert.is_false(copy:isAlive(mine[i]))   -- a handle of the other world
      end
    end)
  end)

  it("goes on by itself: two copies of one save never influence each other", function()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 50)
      local bytes, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
      local one <close> = kit:world()
      local two <close> = kit:world()
      ecs.loadSnapshot(one, bytes)
      ecs.loadSnapshot(two, bytes)
      kit:run(rng, one, 30)
      assert.equal(hash, ecs.hashWorld(two))
      assert.equal(hash, ecs.hashWorld(world))
      local changed = ecs.hashWorld(one)
      kit:run(rng, two, 30)
      assert.equal(changed, ecs.hashWorld(one))
    end)
  end)
end)
