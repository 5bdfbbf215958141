--- The fight of SER-100 to SER-106: heroes, monsters, an effect, references everywhere.

local ecs = require "ecsser"
local deep = require "spec.support.deep"

local dnd = {}

local function convertAll(list, convert)
  local out = ecs.array {}
  for i, item in ipairs(list) do
    out[i] = convert(item)
  end
  return out
end

local function convertHits(hits, convert)
  return convertAll(hits, function(hit)
    return { amount = hit.amount, on = convert(hit.on) }
  end)
end

local function convertCues(cues, convert)
  return {
    defeated = convertAll(cues.defeated, convert), hits = convertHits(cues.hits, convert),
  }
end

local cuesCodec = {
  toJSON = function(cues, ctx) return convertCues(cues, ctx.ref) end,
  fromJSON = function(json, ctx) return convertCues(json, ctx.entity) end,
}

--- The traits of the game, by name.
function dnd.traits()
  return {
    Name = ecs.trait { value = "" },
    Position = ecs.trait { x = 0, y = 0 },
    Health = ecs.trait { hp = 10, max = 10 },
    Hero = ecs.trait(), Monster = ecs.trait(), Defeated = ecs.trait(), Active = ecs.trait(),
    Effect = ecs.trait(),
    Intent = ecs.trait { kind = "none", target = ecs.null },
    Targeting = ecs.trait { mode = "none", target = ecs.null },
    HasEffect = ecs.relation { store = { turns = 0, damage = 0 } },
    CombatLog = ecs.trait(function() return { entries = {} } end),
    Cues = ecs.trait(function() return { defeated = {}, hits = {} } end),
    Encounter = ecs.trait {
      round = 0, status = "", movesLeft = 0, acted = function() return {} end,
    },
    Rng = ecs.trait(function() return { next = math.random } end),
    Speed = ecs.trait { value = 1 },
    IsA = ecs.relation(),
  }
end

--- Registers everything that the game saves, under the names of the exports.
function dnd.register(world, t)
  ecs.registerTraits(world, {
    Name = t.Name, Position = t.Position, Health = t.Health, Hero = t.Hero, Monster = t.Monster,
    Defeated = t.Defeated, Active = t.Active, Effect = t.Effect,
    Intent = { trait = t.Intent, refs = { "target" } },
    Targeting = { trait = t.Targeting, refs = { "target" } },
    Cues = { trait = t.Cues, codec = cuesCodec },
    CombatLog = t.CombatLog, Encounter = t.Encounter, HasEffect = t.HasEffect,
  })
  ecs.ignoreTraits(world, { t.Rng })
  return world
end

function dnd.world(t)
  return dnd.register(ecs.createWorld(), t)
end

local HEROES, MONSTERS = { "Aria", "Bram", "Cael" }, { "Goblin", "Orc", "Wolf" }

local function spawnCombatants(world, t, who)
  for i, name in ipairs(HEROES) do
    who[name] = world:spawn(t.Hero, t.Name { value = name }, t.Position { x = i, y = 0 },
      t.Health { hp = 21 - i, max = 20 })
  end
  for i, name in ipairs(MONSTERS) do
    who[name] = world:spawn(t.Monster, t.Name { value = name },
      t.Position { x = i + 0.5, y = 7.25 }, t.Health { hp = 6 + i, max = 12 })
  end
end

--- Fills the world with the fight; returns the entities by name. With `gaps`, entities that are
-- destroyed before the fight begins leave holes and used generations behind.
function dnd.fight(world, t, gaps)
  local who, gone = {}, {}
  for i = 1, gaps and 6 or 0 do
    gone[i] = world:spawn(t.Hero, t.Name { value = "gone" })
  end
  for i = 1, gaps and 6 or 0, 2 do
    world:destroy(gone[i])
  end
  spawnCombatants(world, t, who)
  who.Poisoned = world:spawn(t.Effect, t.Name { value = "Poisoned" })
  for i = 2, gaps and 6 or 0, 2 do
    world:destroy(gone[i])
  end
  world:add(who.Aria, t.Active, t.Intent { kind = "attack", target = who.Goblin },
    t.Targeting { mode = "none" })
  world:add(who.Wolf, t.Targeting { mode = "melee", target = who.Cael })
  world:add(who.Orc, t.HasEffect(who.Poisoned, { turns = 3, damage = 2 }))
  world:add(t.CombatLog { entries = { { round = 1, text = "Aria hits the Goblin" } } })
  world:add(t.Cues { defeated = { who.Goblin }, hits = { { on = who.Orc, amount = 5 } } })
  world:add(t.Encounter { round = 2, status = "running", movesLeft = 3, acted = { "Bram" } })
  return who
end

--- The entities of a world by the value of their Name.
function dnd.byName(world, t)
  local who = {}
  for _, entity in ipairs(world:query(t.Name)) do
    local name = world:get(entity, t.Name, "value")
    assert(not who[name], "two entities are called " .. name)
    who[name] = entity
  end
  return who
end

--- Checks that the world holds the fight, found by names alone.
function dnd.check(world, t)
  local who = dnd.byName(world, t)
  local function same(expected, actual, what)
    deep.assertSame(expected, actual, what)
  end
  for i, name in ipairs(HEROES) do
    same({ x = i, y = 0 }, world:get(who[name], t.Position), name)
    same({ hp = 21 - i, max = 20 }, world:get(who[name], t.Health), name)
    assert(world:has(who[name], t.Hero) and not world:has(who[name], t.Monster))
  end
  for i, name in ipairs(MONSTERS) do
    same({ x = i + 0.5, y = 7.25 }, world:get(who[name], t.Position), name)
    same({ hp = 6 + i, max = 12 }, world:get(who[name], t.Health), name)
    assert(world:has(who[name], t.Monster) and not world:has(who[name], t.Hero))
  end
  same({ who.Aria }, world:query(t.Active), "Active")
  same({ who.Poisoned }, world:query(t.Effect), "Effect")
  same({ kind = "attack", target = who.Goblin }, world:get(who.Aria, t.Intent), "Intent")
  same({ mode = "none" }, world:get(who.Aria, t.Targeting), "a target of nil")
  same({ mode = "melee", target = who.Cael }, world:get(who.Wolf, t.Targeting), "Targeting")
  same({ who.Poisoned }, world:targets(who.Orc, t.HasEffect), "targets")
  same({ who.Orc }, world:sources(who.Poisoned, t.HasEffect), "sources")
  same({ turns = 3, damage = 2 }, world:get(who.Orc, t.HasEffect(who.Poisoned)), "pair data")
  same({ who.Orc }, world:query(t.HasEffect("*")), "one pair only")
  same({ defeated = { who.Goblin }, hits = { { on = who.Orc, amount = 5 } } },
    world:get(t.Cues), "Cues")
  same({ entries = { { round = 1, text = "Aria hits the Goblin" } } },
    world:get(t.CombatLog), "CombatLog")
  same({ round = 2, status = "running", movesLeft = 3, acted = { "Bram" } },
    world:get(t.Encounter), "Encounter")
  return who
end

return dnd
