-- What happens between two turns and at the start of one: the field is cleared, a round ends,
-- effects hurt.

local ecs = require "ecsser"
local traits = require "dungeon.traits"
local choice = require "dungeon.choice"
local combatlog = require "dungeon.combatlog"
local cues = require "dungeon.cues"
local actions = require "dungeon.actions"

local Defeated, Summoned, Health = traits.Defeated, traits.Summoned, traits.Health
local HasEffect, Encounter = traits.HasEffect, traits.Encounter
local Not = ecs.Not

local upkeep = {}

-- Nobody may go on referring to an entity that is about to vanish: saveWorld refuses a
-- reference to a dead entity (dangling-ref), because no file could express it.
local function forget(world, gone)
  for _, trait in ipairs { traits.Intent, traits.Targeting } do
    for entity, value in world:each(trait) do
      if value.target == gone then world:set(entity, trait, "target", nil) end
    end
  end
end

function upkeep.clearTheField(world)
  world:set(traits.Cues, cues.new())
  for _, entity in ipairs(world:query(Summoned, Defeated)) do
    forget(world, entity)
    world:destroy(entity)
  end
end

-- A loop over columns: `hp` and `max` are the fields' own tables, indexed by slot, so that a
-- change of many entities is plain Lua without calls. It fires no onChange.
local function catchBreath(world)
  local slots, count = world:slots(Health, Not(Defeated), Not(HasEffect("*")))
  local hp, max = world:column(Health, "hp"), world:column(Health, "max")
  for i = 1, count do
    local slot = slots[i]
    if hp[slot] < max[slot] then hp[slot] = hp[slot] + 1 end
  end
end

-- Returns the first actor of the round.
function upkeep.nextRound(world)
  local round = world:get(Encounter, "round") + 1
  world:set(Encounter, { round = round, acted = ecs.array {} })
  catchBreath(world)
  return choice.nextActor(world)
end

local function suffer(world, entity, effect)
  local turns, damage = world:get(entity, HasEffect(effect), "turns", "damage")
  local hp = actions.hurt(world, entity, nil, damage)
  combatlog.write(world, "%s takes %d from being %s (%d hp left)",
    combatlog.name(world, entity), damage, combatlog.name(world, effect), hp)
  if turns > 1 then
    world:set(entity, HasEffect(effect), "turns", turns - 1)
  else
    world:remove(entity, HasEffect(effect))
  end
end

function upkeep.sufferEffects(world, entity)
  for _, effect in ipairs(world:targets(entity, HasEffect)) do suffer(world, entity, effect) end
end

return upkeep
