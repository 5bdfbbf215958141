-- Who acts next, and whom it goes for. Every choice depends on saved values only. It must not
-- depend on the order of entities: a save numbers them anew, so an entity that is spawned later
-- may take another place in a resumed world. Ties are therefore broken by name.

local ecs = require "ecsser"
local traits = require "dungeon.traits"
local combatlog = require "dungeon.combatlog"

local Hero, Monster, Defeated = traits.Hero, traits.Monster, traits.Defeated
local Health, Position, Intent = traits.Health, traits.Position, traits.Intent
local Targeting, Summoner, Summoned = traits.Targeting, traits.Summoner, traits.Summoned
local Not = ecs.Not

local PACK <const> = 2                               -- so many summoned at a time

local choice = {}

function choice.isStanding(world, entity)
  return world:has(entity, Health) and not world:has(entity, Defeated)
    and world:get(entity, Health, "hp") > 0
end

function choice.distance(world, a, b)
  local ax, ay = world:get(a, Position, "x", "y")
  local bx, by = world:get(b, Position, "x", "y")
  return math.max(math.abs(ax - bx), math.abs(ay - by))
end

-- The element with the least rank; the first name decides between equal ranks.
local function least(world, entities, rank)
  local best, bestRank, bestName
  for _, entity in ipairs(entities) do
    local r, name = rank(entity), combatlog.name(world, entity)
    if not best or r < bestRank or r == bestRank and name < bestName then
      best, bestRank, bestName = entity, r, name
    end
  end
  return best
end

function choice.enemies(world, entity)
  return world:query(world:has(entity, Hero) and Monster or Hero, Not(Defeated))
end

-- The first who has not acted in this round: heroes before monsters, each by name.
function choice.nextActor(world)
  local acted = {}
  for _, name in ipairs(world:get(traits.Encounter, "acted")) do acted[name] = true end
  local waiting = {}
  for entity in world:each(Health, Not(Defeated)) do
    if not acted[combatlog.name(world, entity)] then waiting[#waiting + 1] = entity end
  end
  return least(world, waiting, function(entity) return world:has(entity, Hero) and 0 or 1 end)
end

local function target(world, actor)
  local mode, grudge = world:get(actor, Targeting, "mode", "target")
  if mode == "grudge" and grudge and choice.isStanding(world, grudge) then return grudge end
  return least(world, choice.enemies(world, actor), function(enemy)
    if mode == "weakest" then return world:get(enemy, Health, "hp") end
    return choice.distance(world, actor, enemy)
  end)
end

local function wantsToSummon(world, actor)
  return (world:get(actor, Summoner, "left") or 0) > 0
    and #world:query(Summoned, Not(Defeated)) < PACK
end

-- Keeps an intent to attack as long as its target stands, otherwise makes a new one.
function choice.intend(world, actor)
  world:add(actor, Intent, Targeting)                -- a no-op for those who have them
  if wantsToSummon(world, actor) then
    world:set(actor, Intent, { kind = "summon", target = ecs.null })
    return
  end
  local kind, old = world:get(actor, Intent, "kind", "target")
  if kind == "attack" and old and choice.isStanding(world, old) then return end
  local new = target(world, actor)
  world:set(actor, Intent, { kind = new and "attack" or "none", target = new or ecs.null })
end

return choice
