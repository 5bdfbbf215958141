-- What the entities of the fight are made of, and the names under which it is saved.

local ecs = require "ecsser"
local cues = require "dungeon.cues"

local traits = {
  -- tags
  Hero     = ecs.trait(),
  Monster  = ecs.trait(),
  Defeated = ecs.trait(),
  Active   = ecs.trait(),            -- the one whose turn it is
  Effect   = ecs.trait(),            -- the entity stands for an effect, such as "Poisoned"
  Venomous = ecs.trait(),            -- its hits may poison
  Summoned = ecs.trait(),            -- vanishes after its defeat

  -- one record per entity. Float defaults make the coordinates floats after every load, also
  -- where the decoder cannot tell 2 from 2.0.
  Name      = ecs.trait { value = "" },
  Position  = ecs.trait { x = 0.0, y = 0.0 },
  Health    = ecs.trait { hp = 0, max = 0 },
  Intent    = ecs.trait { kind = "none", target = ecs.null },
  Targeting = ecs.trait { mode = "none", target = ecs.null },
  Summoner  = ecs.trait { left = 0, called = 0 },

  -- one record per afflicted entity and effect
  HasEffect = ecs.relation { store = { turns = 0, damage = 0 } },

  -- world-level: one of each per fight
  Encounter = ecs.trait {
    round = 0, status = "running", movesLeft = 0,
    acted = function() return ecs.array {} end,      -- names of those who had their turn
  },
  Cues      = ecs.trait(cues.new),                   -- what happened in the last turn
  CombatLog = ecs.trait(function() return { entries = ecs.array {} } end),
  Rng       = ecs.trait { state = 1 },
}

-- The names are the file format: renaming a local variable is free, renaming one of these
-- strings makes older saves unreadable. A list, because its order is the order in the file.
local saved = {
  { "Name", traits.Name },
  { "Position", traits.Position },
  { "Health", traits.Health },
  { "Hero", traits.Hero },
  { "Monster", traits.Monster },
  { "Defeated", traits.Defeated },
  { "Active", traits.Active },
  { "Effect", traits.Effect },
  { "Venomous", traits.Venomous },
  { "Summoned", traits.Summoned },
  { "Summoner", traits.Summoner },
  { "Intent", { trait = traits.Intent, refs = { "target" } } },
  { "Targeting", { trait = traits.Targeting, refs = { "target" } } },
  { "Cues", { trait = traits.Cues, codec = cues.codec } },
  { "CombatLog", traits.CombatLog },
  { "Encounter", traits.Encounter },
  { "Rng", traits.Rng },
  { "HasEffect", traits.HasEffect },
}

function traits.register(world)
  ecs.registerTraits(world, saved)
end

return traits
