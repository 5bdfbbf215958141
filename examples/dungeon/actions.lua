-- What a combatant can do in its turn.

local traits = require "dungeon.traits"
local choice = require "dungeon.choice"
local combatlog = require "dungeon.combatlog"
local dice = require "dungeon.dice"
local setup = require "dungeon.setup"

local Health, HasEffect, Position = traits.Health, traits.HasEffect, traits.Position
local Targeting, Summoner, Encounter = traits.Targeting, traits.Summoner, traits.Encounter
local name, write = combatlog.name, combatlog.write

local REACH <const> = 1

local actions = {}

-- `by` is nil where an effect hurts.
function actions.hurt(world, entity, by, amount)
  local hp = math.max(0, world:get(entity, Health, "hp") - amount)
  world:set(entity, Health, "hp", hp)
  table.insert(world:get(traits.Cues).hits, { by = by, on = entity, amount = amount })
  return hp
end

-- Coordinates are multiples of 0.25, which decimal text holds exactly.
local function step(from, to)
  return from + math.max(-1, math.min(1, to - from))
end

function actions.approach(world, actor, target)
  local moves = world:get(Encounter, "movesLeft")
  if moves == 0 or choice.distance(world, actor, target) <= REACH then return end
  local x, y = world:get(actor, Position, "x", "y")
  local tx, ty = world:get(target, Position, "x", "y")
  while moves > 0 and math.max(math.abs(tx - x), math.abs(ty - y)) > REACH do
    x, y, moves = step(x, tx), step(y, ty), moves - 1
  end
  world:set(actor, Position, { x = x, y = y })
  world:set(Encounter, "movesLeft", moves)
  write(world, "%s moves to (%g, %g)", name(world, actor), x, y)
end

local function poison(world, entity)
  local effect = world:query(traits.Effect)[1]
  if not effect then return end
  if world:has(entity, HasEffect(effect)) then
    world:set(entity, HasEffect(effect), "turns", 3)
  else
    world:add(entity, HasEffect(effect, { turns = 3, damage = 2 }))
  end
end

local function hit(world, actor, target)
  local amount = dice.roll(world, 6)
  local hp = actions.hurt(world, target, actor, amount)
  write(world, "%s hits %s for %d (%d hp left)", name(world, actor), name(world, target),
    amount, hp)
  if world:get(target, Targeting, "mode") == "grudge" then
    world:set(target, Targeting, "target", actor)
  end
  if hp > 0 and world:has(actor, traits.Venomous) and dice.roll(world, 2) == 1 then
    poison(world, target)
  end
end

function actions.attack(world, actor, target)
  if choice.distance(world, actor, target) > REACH then return end
  if dice.roll(world, 20) >= 8 then
    hit(world, actor, target)
  else
    write(world, "%s misses %s", name(world, actor), name(world, target))
  end
end

function actions.summon(world, actor)
  local left, called = world:get(actor, Summoner, "left", "called")
  local x, y = world:get(actor, Position, "x", "y")
  local wolf = setup.combatant(world, "Wolf " .. called + 1, x, y - 1, 5, "nearest",
    traits.Monster, traits.Summoned)
  world:set(actor, Summoner, { left = left - 1, called = called + 1 })
  write(world, "%s calls %s", name(world, actor), name(world, wolf))
end

return actions
