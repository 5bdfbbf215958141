-- The opening position.

local traits = require "dungeon.traits"
local dice = require "dungeon.dice"

local Name, Position, Health = traits.Name, traits.Position, traits.Health
local Intent, Targeting = traits.Intent, traits.Targeting

local setup = {}

-- Spawns a combatant; further traits follow the fixed ones.
function setup.combatant(world, name, x, y, hp, mode, ...)
  return world:spawn(Name { value = name }, Position { x = x, y = y },
    Health { hp = hp, max = hp }, Intent, Targeting { mode = mode }, ...)
end

local function heroes(world)
  local Hero = traits.Hero
  setup.combatant(world, "Aria", 0, 0, 24, "weakest", Hero)
  setup.combatant(world, "Bram", 1, 0, 30, "grudge", Hero)
  setup.combatant(world, "Cael", 2, 0, 20, "nearest", Hero, traits.Venomous)
end

local function monsters(world)
  local Monster = traits.Monster
  setup.combatant(world, "Goblin", 0.5, 7.25, 12, "nearest", Monster)
  setup.combatant(world, "Orc", 1.5, 7.25, 18, "grudge", Monster)
  setup.combatant(world, "Shaman", 2.5, 9.25, 10, "weakest", Monster,
    traits.Summoner { left = 3 })
end

function setup.fight(world, seed)
  dice.seed(world, seed)
  world:add(traits.Encounter { round = 1 }, traits.Cues, traits.CombatLog)
  world:spawn(traits.Effect, Name { value = "Poisoned" })
  heroes(world)
  monsters(world)
end

return setup
