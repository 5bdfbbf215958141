--- Random worlds over one fixed set of traits that shows every kind of data.

local ecs = require "ecsser"
local oracle = require "spec.support.oracle"
local values = require "spec.support.values"

local worlds = {}

-- A table from entities to values; in JSON a list of [index, value], ascending by index.
local threatCodec = {
  toJSON = function(value, ctx)
    local out = ecs.array {}
    for entity, amount in pairs(value) do
      out[#out + 1] = { ctx.ref(entity), amount }
    end
    table.sort(out, function(a, b) return a[1] < b[1] end)
    return out
  end,
  fromJSON = function(json, ctx)
    local out = {}
    for _, pair in ipairs(json) do
      out[ctx.entity(pair[1])] = pair[2]
    end
    return out
  end,
}

local function item(name, kind, object, more)
  local out = { name = name, kind = kind, object = object }
  for key, value in pairs(more or {}) do
    out[key] = value
  end
  return out
end

--- A new kit (see oracle.lua); traits are shared by all worlds of a kit.
function worlds.kit()
  local relation = ecs.relation
  return {
    items = {
      item("Zeta", "tag", ecs.trait()),
      item("Health", "soa", ecs.trait { hp = 10, max = 10 }, { fields = { "hp", "max" } }),
      item("Pos", "soa", ecs.trait { x = 0.0, y = 0.0 }, { fields = { "x", "y" } }),
      item("Alpha", "tag", ecs.trait()),
      item("Mixed", "soa",
        ecs.trait { s = "", b = false, n = 0, any = ecs.null, list = function() return {} end },
        { fields = { "any", "b", "list", "n", "s" } }),
      item("Intent", "soa", ecs.trait { kind = "none", target = ecs.null },
        { fields = { "kind", "target" }, refs = { "target" } }),
      item("Two", "soa", ecs.trait { a = ecs.null, b = ecs.null },
        { fields = { "a", "b" }, refs = { "a", "b" } }),
      item("Bag", "aos", ecs.trait(function() return {} end)),
      item("Threat", "aos", ecs.trait(function() return {} end), { codec = threatCodec }),
      item("HasEffect", "relation", relation { store = { turns = 0, damage = 0.0 } },
        { data = "soa", fields = { "damage", "turns" } }),
      item("Likes", "relation", relation(), { data = "none" }),
      item("ChildOf", "relation", relation { exclusive = true }, { data = "none", single = true }),
      item("Meta", "relation", relation { store = function() return {} end }, { data = "aos" }),
      item("Owns", "relation", relation { autoDestroy = "target" }, { data = "none" }),
    },
    unregistered = ecs.trait { never = 1 },
    ignored = { ecs.trait(function() return {} end), ecs.trait(), relation { store = { d = 0 } } },
  }
end

-- One value for each data trait: `pick` gives a random saved entity or nil.
local makers = {
  Health = function(rng, numbers)
    return { hp = values.number(rng, numbers), max = values.number(rng, numbers) }
  end,
  Pos = function(rng, numbers)
    return { x = numbers.float(rng), y = numbers.float(rng) }
  end,
  Mixed = function(rng, numbers)
    return {
      s = values.string(rng), b = rng:chance(50), n = values.number(rng, numbers),
      any = values.any(rng, 2, numbers), list = values.any(rng, 3, numbers),
    }
  end,
  Intent = function(rng, _, pick)
    return { kind = values.string(rng), target = pick() }
  end,
  Two = function(_, _, pick)
    return { a = pick(), b = pick() }
  end,
  Bag = function(rng, numbers)
    return values.any(rng, 4, numbers)
  end,
  Threat = function(rng, numbers, pick)
    local out = {}
    for _ = 1, rng:int(0, 3) do
      local entity = pick()
      if entity then
        out[entity] = numbers.float(rng)
      end
    end
    return out
  end,
}

local pairMakers = {
  HasEffect = function(rng, numbers)
    return { turns = values.number(rng, numbers), damage = numbers.float(rng) }
  end,
  Meta = function(rng, numbers)
    return values.any(rng, 3, numbers)
  end,
}

--- A random value for this item, or nil for a tag.
function worlds.value(rng, name, numbers, pick)
  local maker = makers[name]
  return maker and maker(rng, numbers, pick)
end

local function addPairs(rng, world, entity, relation, entities, numbers)
  local wanted = relation.single and 1 or rng:int(1, 4)
  for _, target in ipairs(rng:shuffled(entities)) do
    if wanted == 0 then
      return
    end
    wanted = wanted - 1
    if relation.data == "none" then
      world:add(entity, relation.object(target))
    else
      world:add(entity, relation.object(target, pairMakers[relation.name](rng, numbers)))
    end
  end
end

local function fill(rng, kit, world, entity, entities, numbers)
  local function pick()
    return entities[1] and rng:chance(75) and rng:pick(entities) or nil
  end
  for _, it in ipairs(rng:shuffled(kit.items)) do
    if rng:chance(30) then
      if it.kind == "tag" then
        world:add(entity, it.object)
      elseif it.kind == "relation" then
        addPairs(rng, world, entity, it, entities, numbers)
      else
        world:add(entity, it.object(worlds.value(rng, it.name, numbers, pick)))
      end
    end
  end
end

local function fillWorldEntity(rng, kit, world, entities, numbers)
  local function pick()
    return entities[1] and rng:chance(75) and rng:pick(entities) or nil
  end
  for _, it in ipairs(kit.items) do
    if it.kind == "tag" and rng:chance(25) then
      world:add(it.object)
    elseif it.kind ~= "relation" and it.kind ~= "tag" and rng:chance(25) then
      world:add(it.object(worlds.value(rng, it.name, numbers, pick)))
    end
  end
end

-- What must leave no trace in a save: prefabs, ignored traits, destroyed entities.
local function addNoise(rng, kit, world, entities)
  local ignored = kit.ignored
  for _ = 1, rng:int(0, 3) do
    local prefab = world:spawn(ecs.IsExcluded, kit.unregistered)
    world:add(prefab, kit.items[1].object, kit.items[2].object)
  end
  if #entities > 0 then
    for _ = 1, rng:int(0, 3) do
      world:add(rng:pick(entities), ignored[1] { print }, ignored[2])
      world:add(rng:pick(entities), ignored[3](rng:pick(entities)))
    end
  end
  if rng:chance(50) then
    world:add(ignored[1](print))
  end
end

--- Fills an empty world. `options`: size (most entities), numbers (values.exact or values.plain).
function worlds.fill(rng, kit, world, options)
  local numbers = options and options.numbers or values.exact
  local entities = {}
  for _ = 1, rng:int(0, options and options.size or 12) do
    local entity = world:spawn()
    if rng:chance(25) then
      world:destroy(entity)
    else
      entities[#entities + 1] = entity
    end
  end
  for _, entity in ipairs(entities) do
    fill(rng, kit, world, entity, entities, numbers)
  end
  fillWorldEntity(rng, kit, world, entities, numbers)
  addNoise(rng, kit, world, entities)
  return world
end

--- A random world with the kit registered.
function worlds.random(rng, kit, options)
  return worlds.fill(rng, kit, oracle.world(kit), options)
end

return worlds
