--- What finalizers may do to a world while restoreJSON takes its quick way. The collector goes
-- through a whole cycle wherever it may run, so this wants a small heap: for a process of its own
-- (see world_child).

local ecs = require "ecsser"

local T <const> = {
  Tag = ecs.trait(), Pos = ecs.trait { { "x", 0.0 }, { "y", 0.0 } },
  Bag = ecs.trait(function() return {} end), Likes = ecs.relation(),
}

local TEXT <const> = '{"format":"ecs-serialize","version":1,"entities":[{"tags":["Tag"],' ..
  '"traits":{"Pos":{"x":2.5,"y":1.0},"Bag":{"a\\n":[1,{"b":[]}]}},' ..
  '"pairs":{"Likes":[{"target":0}]}}],"world":{"tags":[],"traits":{}}}'

local function newWorld()
  local world = ecs.createWorld()
  ecs.registerTraits(world, { { "Tag", T.Tag }, { "Pos", T.Pos }, { "Bag", T.Bag },
    { "Likes", T.Likes } })
  return world
end

-- Calls `change` from a finalizer, each time at another place in the call. What comes of it is
-- told to `check`.
local function changing(change, check)
  local over, count = false, 0
  for skip = 0, 100 do
    local world <close> = newWorld()
    local left, armed, done, look = skip, false, nil, nil
    local function arm()
      setmetatable({}, { __gc = function()
        if over or done ~= nil then return end
        if armed then left = left - 1 end
        if not armed or left >= 0 then return arm() end
        done, look = pcall(change, world)
      end })
    end
    arm()
    collectgarbage("incremental", 200, 1000, 30)
    collectgarbage("setpause", 0)
    collectgarbage()
    armed = true
    local ok, err = pcall(ecs.restoreJSON, world, TEXT)
    armed = false
    collectgarbage("incremental", 200, 100, 13)
    if done == nil then break end
    count = count + 1
    check(world, { ok = ok, err = err, done = done, seen = done and look and look() or nil })
  end
  over = true
  assert(count >= 5, count)
end

-- Before the world is locked a change makes it one that is not fresh; behind, it is refused.
local function refused(world, result)
  assert(result.ok == not result.done)
  assert(world:count() == 1)
  assert(result.ok or result.err.code == "world-not-empty")
end

-- What is no change is allowed, and the restore takes note of it.
local function noted(world, result)
  assert(result.ok and result.done, result.err)
  assert(world:count() == 1 and ecs.saveJSON(world) == TEXT)
  assert((result.seen or 2.5) == 2.5, result.seen)
end

local LOOKS <const> = {
  function(world)
    local column = world:column(T.Pos, "x")
    return function() return column[1] or "nothing" end
  end,
  function(world)
    local heard = 0
    world:onAdd(T.Pos, function() heard = heard + 2.5 end)
    return function() return heard end
  end,
  function(world)
    local heard = 0
    world:onQueryAdd(T.Pos, function() heard = heard + 2.5 end)
    return function() return heard end
  end,
  function(world)
    world:query(T.Pos)
    ecs.saveSnapshot(world)
    return function() return world:get(world:query(T.Pos)[1], T.Pos, "x") end
  end,
  function()
    local other <close> = newWorld()
    ecs.restoreJSON(other, TEXT)
  end,
}

local M = {}

function M.run()
  changing(function(world) world:spawn() end, refused)
  for _, look in ipairs(LOOKS) do changing(look, noted) end
  print "done"
end

return M
