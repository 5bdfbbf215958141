-- The combat log, and the observers that write to it.

local traits = require "dungeon.traits"

local Name, Defeated, HasEffect = traits.Name, traits.Defeated, traits.HasEffect

local combatlog = {}

function combatlog.name(world, entity)
  return world:get(entity, Name, "value")
end

-- get() of a trait without a schema returns the stored table itself, so this appends in place.
function combatlog.write(world, pattern, ...)
  local entries = world:get(traits.CombatLog).entries
  entries[#entries + 1] = {
    round = world:get(traits.Encounter, "round"),
    text = pattern:format(...),
  }
end

local function onDefeat(world, entity)
  combatlog.write(world, "%s is defeated", combatlog.name(world, entity))
  table.insert(world:get(traits.Cues).defeated, entity)
end

local function onEffectBegins(world, entity, effect)
  combatlog.write(world, "%s is now %s", combatlog.name(world, entity),
    combatlog.name(world, effect))
end

local function onEffectEnds(world, entity, effect)
  if world:has(entity, Defeated) then return end
  combatlog.write(world, "%s is no longer %s", combatlog.name(world, entity),
    combatlog.name(world, effect))
end

-- Call this when the world is complete: restoreWorld fires observers as any spawn does, and a
-- fight that is loaded must not log its old events again.
function combatlog.watch(world)
  world:onQueryAdd(Defeated, function(entity) onDefeat(world, entity) end)
  world:onAdd(HasEffect, function(entity, effect) onEffectBegins(world, entity, effect) end)
  world:onRemove(HasEffect, function(entity, effect) onEffectEnds(world, entity, effect) end)
end

return combatlog
