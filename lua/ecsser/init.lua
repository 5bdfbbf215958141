--- ecsser: worlds of entities that can be saved, restored and rolled back.
-- @module ecsser
local core = require "ecsser.core"

local ecs = {}
for name, value in pairs(core) do
  ecs[name] = value
end

local function before(a, b)
  if a.trait ~= b.trait then return a.trait < b.trait end
  if a.entity ~= b.entity then return a.entity < b.entity end
  return a.path < b.path
end

function ecs.findStrayHandles(world)
  local places = core.findStrayHandles(world)
  table.sort(places, before)
  return places
end

return ecs
