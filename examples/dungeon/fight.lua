-- A fight from its start or from a save to its end.

local ecs = require "ecsser"
local traits = require "dungeon.traits"
local combatlog = require "dungeon.combatlog"
local dice = require "dungeon.dice"
local save = require "dungeon.save"
local setup = require "dungeon.setup"
local turn = require "dungeon.turn"

local fight = {}

local function emptyWorld()
  local world = ecs.createWorld()
  traits.register(world)
  ecs.registerTraits(world, { TurnSchedule = turn.schedule.state })
  return world
end

function fight.new(seed)
  local world = emptyWorld()
  setup.fight(world, seed)
  combatlog.watch(world)
  return world
end

-- Saves of other programs may have no dice in them; then `seed` gives new ones.
function fight.fromText(text, seed)
  local world = emptyWorld()
  save.restore(world, text)
  if not world:has(traits.Rng) then dice.seed(world, seed) end
  combatlog.watch(world)
  return world
end

function fight.isRunning(world)
  return world:get(traits.Encounter, "status") == "running"
end

-- Plays to the end, or at most `limit` turns. Returns the number of turns played.
function fight.play(world, limit)
  local turns = 0
  while turns < (limit or math.huge) and fight.isRunning(world) do
    turn.run(world)
    turns = turns + 1
  end
  return turns
end

function fight.log(world)
  return world:get(traits.CombatLog).entries
end

return fight
