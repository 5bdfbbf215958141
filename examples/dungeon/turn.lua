-- A turn is a chain of five phases, run by a schedule of its own. Nothing connects them to the
-- builtin phases, so they run only when the game asks for a turn. All state is in the world:
-- that is what makes it possible to save between any two turns, or within one before the
-- phase `act`.

local ecs = require "ecsser"
local schedule = require "ecsser.schedule"
local traits = require "dungeon.traits"
local actions = require "dungeon.actions"
local choice = require "dungeon.choice"
local combatlog = require "dungeon.combatlog"
local upkeep = require "dungeon.upkeep"

local Active, Defeated, Encounter = traits.Active, traits.Defeated, traits.Encounter
local Health, Intent = traits.Health, traits.Intent
local Not = ecs.Not

local MOVES <const> = 3
local LAST_ROUND <const> = 60

local function activeOf(world)
  return world:query(Active)[1]
end

local function startOfTurn(world)
  upkeep.clearTheField(world)
  local actor = choice.nextActor(world) or upkeep.nextRound(world)
  world:add(actor, Active)
  world:set(Encounter, "movesLeft", MOVES)
  upkeep.sufferEffects(world, actor)
end

local function move(world)
  local actor = activeOf(world)
  choice.intend(world, actor)
  local target = world:get(actor, Intent, "target")
  if target then actions.approach(world, actor, target) end
end

local function act(world)
  local actor = activeOf(world)
  local kind, target = world:get(actor, Intent, "kind", "target")
  if kind == "summon" then
    actions.summon(world, actor)
  elseif kind == "attack" then
    actions.attack(world, actor, target)
  end
end

-- each() walks a snapshot of the matching entities, so the loop may change what matches.
local function resolve(world)
  for entity, health in world:each(Health, Not(Defeated)) do
    if health.hp <= 0 then world:add(entity, Defeated) end
  end
end

local function status(world)
  if #world:query(traits.Monster, Not(Defeated)) == 0 then return "won" end
  if #world:query(traits.Hero, Not(Defeated)) == 0 then return "lost" end
  if world:get(Encounter, "round") > LAST_ROUND then return "drawn" end
  return "running"
end

local function endOfTurn(world)
  local actor = activeOf(world)
  table.insert(world:get(Encounter, "acted"), combatlog.name(world, actor))
  world:remove(actor, Active)
  local now = status(world)
  world:set(Encounter, "status", now)
  if now ~= "running" then combatlog.write(world, "The fight is %s", now) end
end

------------------------------------------------------------------------- the schedule

-- A save that was made within a turn has an active combatant: that turn goes on.
local function isBetweenTurns(world)
  return activeOf(world) == nil
end

-- An effect may have brought the active combatant down.
local function isAble(world)
  return choice.isStanding(world, activeOf(world))
end

local phases, systems = {}, {}

local function phase(name, run, runIf)
  phases[#phases + 1] = schedule.definePhase(name, { dependsOn = { phases[#phases] } })
  systems[#systems + 1] = schedule.defineSystem {
    name = name, phase = phases[#phases], run = run, runIf = runIf,
  }
end

phase("startOfTurn", startOfTurn, isBetweenTurns)
phase("move", move, isAble)
phase("act", act, isAble)
phase("resolve", resolve)
phase("endOfTurn", endOfTurn)

local turn = {}

turn.schedule = schedule.createSchedule {
  name = "dungeon/turn", phases = phases, systems = systems,
}

-- Runs one turn, or the phases of it up to the number `last`.
function turn.run(world, last)
  turn.schedule:runPhases(world, phases[1], phases[last or #phases], 0)
end

return turn
