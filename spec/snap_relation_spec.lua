-- P8 for snapshots: what is loaded has both directions of every relation, and destroying takes the
-- same entities along as it would have before.

local ecs = require "ecsser"
local random = require "spec.support.random"

local RELATIONS <const> = {
  Likes = ecs.relation(),
  In = ecs.relation { exclusive = true },
  ChildOf = ecs.relation { exclusive = true, autoDestroy = "orphan" },
  Wears = ecs.relation { autoDestroy = "target", store = { layer = 0 } },
  Both = ecs.relation { autoDestroy = "orphan", store = function() return {} end },
}
local NAMES <const> = { "Likes", "In", "ChildOf", "Wears", "Both" }

local function newWorld()
  local world = ecs.createWorld()
  local entries = {}
  for i, name in ipairs(NAMES) do entries[i] = { name, { relation = RELATIONS[name] } } end
  ecs.registerTraits(world, entries)
  return world
end

local function fill(world, rng)
  local handles = {}
  for i = 1, rng:int(4, 25) do handles[i] = world:spawn() end
  for _ = 1, rng:int(5, 80) do
    local relation = RELATIONS[rng:pick(NAMES)]
    world:add(rng:pick(handles), relation(rng:pick(handles)))
  end
  for _ = 1, rng:int(0, 3) do
    local e = rng:pick(handles)
    if world:isAlive(e) then world:destroy(e) end
  end
end

-- Every pair, from both of its ends, by slots.
local function pairsOf(world)
  local from, to = {}, {}
  for _, e in ipairs(world:entities()) do
    local _, _, slot = ecs.unpack(e)
    for _, name in ipairs(NAMES) do
      for _, target in ipairs(world:targets(e, RELATIONS[name])) do
        local _, _, other = ecs.unpack(target)
        from[#from + 1] = ("%s %d %d"):format(name, slot, other)
        assert.is_true(world:has(e, RELATIONS[name](target)))
      end
      for _, source in ipairs(world:sources(e, RELATIONS[name])) do
        local _, _, other = ecs.unpack(source)
        to[#to + 1] = ("%s %d %d"):format(name, other, slot)
      end
    end
  end
  table.sort(from)
  table.sort(to)
  assert.same(from, to)
  return from
end

-- Destroys entities in a random order; what is left after each, by slots.
local function cascade(world, seed)
  local rng, log = random.new(seed), {}
  while world:count() > 0 do
    local all = world:entities()
    world:destroy(all[rng:int(2, #all)])
    local left = {}
    for i, e in ipairs(world:entities()) do left[i] = select(3, ecs.unpack(e)) end
    log[#log + 1] = table.concat(left, " ")
    log[#log + 1] = table.concat(pairsOf(world), ", ")
  end
  return log
end

describe("relations of a loaded world", function()
  it("P8 agree in both directions, and cascade as before the save", function()
    local taken = 0
    random.rounds(200, function(rng, round)
      local world <close> = newWorld()
      fill(world, rng)
      local bytes = ecs.saveSnapshot(world, { format = round % 2 == 0 and "table" or "binary" })
      local expected, entities = pairsOf(world), world:count()
      local log = cascade(world, round)
      taken = taken + entities - #log // 2
      local copy <close> = newWorld()
      for _, loaded in ipairs { world, copy } do
        ecs.loadSnapshot(loaded, bytes)
        assert.same(expected, pairsOf(loaded))
        assert.same(log, cascade(loaded, round))
      end
      ecs.appendSnapshot(copy, bytes)
      assert.equal(#expected, #pairsOf(copy))
      while copy:count() > 0 do
        copy:destroy(copy:entities()[2])
        pairsOf(copy)
      end
    end)
    assert.is_true(taken > 100, "cascades took only " .. taken .. " entities along")
  end)
end)
