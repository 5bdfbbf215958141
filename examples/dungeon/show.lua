-- The fight as text to read, and the log as text to compare.

local ecs = require "ecsser"
local traits = require "dungeon.traits"

local show = {}

function show.title(text)
  print(("\n== %s =="):format(text))
end

-- The log as a list of strings.
function show.lines(entries)
  local lines = {}
  for i, entry in ipairs(entries) do
    lines[i] = ("Round %2d  %s"):format(entry.round, entry.text)
  end
  return lines
end

function show.list(lines, first)
  for i = first or 1, #lines do print("  " .. lines[i]) end
end

local function conditions(world, entity)
  local list = {}
  for _, effect in ipairs(world:targets(entity, traits.HasEffect)) do
    local left = world:get(entity, traits.HasEffect(effect), "turns")
    list[#list + 1] = ("%s (turns left: %d)"):format(world:get(effect, traits.Name, "value"), left)
  end
  if world:has(entity, traits.Defeated) then list[#list + 1] = "defeated" end
  return table.concat(list, ", ")
end

function show.combatants(world)
  for entity, name, health, position in
    world:each(traits.Name, traits.Health, traits.Position, ecs.Not(traits.Effect)) do
    local line = ("  %-8s %2d/%-2d hp at (%g, %g)  %s"):format(name.value, health.hp,
      health.max, position.x, position.y, conditions(world, entity))
    print((line:gsub("%s+$", "")))
  end
end

return show
