--- W(n), the world that is measured: as a world of ecsser, and as the plain tables that a game
-- without a library has. Both are made from the same numbers.
--
-- Of the entities i = 0 .. n - 1
--   all have             Position { x, y }, full doubles in [-1000, 1000)
--   i % 2 == 0 have      Velocity { x, y }, full doubles in [-1, 1)
--   i % 2 == 1 have      Health { hp = 0 .. 100, max = 100 }, integers
--   i % 4 == 0 have      Name { value = "entity-<i>" }
--   i % 10 == 0 have     the tag Hero, and i % 5 == 1 the tag Monster
--   i % 4 == 1 have      Intent { kind = "attack" or "idle", target = entity (i * 7 + 3) % n },
--                        without a target when i % 8 == 1
--   i % 10 == 3 have     HasEffect -> entity (i * 13 + 1) % n with { turns, damage }
--   i % 10 == 7 have     Inventory, a list of three { id, count, name = "potion" }

local ecs = require "ecsser"

local workload = {}

-- ---- The numbers ----------------------------------------------------------------------------

--- A linear congruential generator of 64 bits; only the high ones are good.
local function generator(seed)
  local state = seed
  local function step()
    state = state * 6364136223846793005 + 1442695040888963407
    return state
  end
  local random = {}
  --- A double in [-limit, limit).
  function random.real(limit) return ((step() >> 11) * 0x1p-53 * 2 - 1) * limit end
  --- An integer in 0 .. count - 1.
  function random.below(count) return (step() >> 33) % count end
  return random
end

local function items(random)
  local list = {}
  for k = 1, 3 do
    list[k] = { id = random.below(100000), count = 1 + random.below(9), name = "potion" }
  end
  return list
end

local function fill(row, i, n, random)
  row.x, row.y = random.real(1000), random.real(1000)
  row.vx, row.vy, row.hp, row.name = nil, nil, nil, nil
  if i % 2 == 0 then row.vx, row.vy = random.real(1), random.real(1) end
  if i % 2 == 1 then row.hp = random.below(101) end
  if i % 4 == 0 then row.name = "entity-" .. i end
  row.hero, row.monster = i % 10 == 0, i % 5 == 1
  row.intent = i % 4 == 1 and (random.below(2) == 0 and "attack" or "idle") or nil
  row.target = i % 4 == 1 and i % 8 ~= 1 and (i * 7 + 3) % n or nil
  row.effect, row.turns, row.damage = nil, nil, nil
  if i % 10 == 3 then
    row.effect = (i * 13 + 1) % n
    row.turns, row.damage = random.below(10), random.real(50)
  end
  row.items = i % 10 == 7 and items(random) or nil
end

--- Walks over i and the row of entity i, which is the same table every time.
local function rows(n)
  local random, row, i = generator(42), {}, -1
  return function()
    i = i + 1
    if i >= n then return nil end
    fill(row, i, n, random)
    return i, row
  end
end

-- ---- As a world of ecsser -------------------------------------------------------------------

local T = {
  Position = ecs.trait { { "x", 0.0 }, { "y", 0.0 } },
  Velocity = ecs.trait { { "x", 0.0 }, { "y", 0.0 } },
  Health = ecs.trait { { "hp", 100 }, { "max", 100 } },
  Name = ecs.trait { value = "" },
  Hero = ecs.trait(), Monster = ecs.trait(),
  Intent = ecs.trait { { "kind", "idle" }, { "target", ecs.null } },
  HasEffect = ecs.relation { store = { { "turns", 0 }, { "damage", 0.0 } } },
  Inventory = ecs.trait(function() return {} end),
}
workload.traits = T

local ENTRIES = {
  { "Position", T.Position }, { "Velocity", T.Velocity }, { "Health", T.Health },
  { "Name", T.Name }, { "Hero", T.Hero }, { "Monster", T.Monster },
  { "Intent", { trait = T.Intent, refs = { "target" } } }, { "HasEffect", T.HasEffect },
  { "Inventory", T.Inventory },
}

--- A world without entities in which the traits are registered.
function workload.empty()
  local world = ecs.createWorld()
  ecs.registerTraits(world, ENTRIES)
  return world
end

local function terms(row)
  local list = { T.Position { x = row.x, y = row.y } }
  if row.vx then list[#list + 1] = T.Velocity { x = row.vx, y = row.vy } end
  if row.hp then list[#list + 1] = T.Health { hp = row.hp, max = 100 } end
  if row.name then list[#list + 1] = T.Name { value = row.name } end
  if row.hero then list[#list + 1] = T.Hero end
  if row.monster then list[#list + 1] = T.Monster end
  if row.intent then list[#list + 1] = T.Intent { kind = row.intent } end
  if row.items then list[#list + 1] = T.Inventory(row.items) end
  return list
end

--- W(n) as a world.
function workload.world(n)
  local world, entities = workload.empty(), {}
  for i, row in rows(n) do entities[i] = world:spawn(table.unpack(terms(row))) end
  for i, row in rows(n) do
    if row.target then world:set(entities[i], T.Intent, "target", entities[row.target]) end
    if row.effect then
      local data = { turns = row.turns, damage = row.damage }
      world:add(entities[i], T.HasEffect(entities[row.effect], data))
    end
  end
  return world
end

-- ---- As plain tables ------------------------------------------------------------------------

local function components(row)
  return {
    Position = { x = row.x, y = row.y },
    Velocity = row.vx and { x = row.vx, y = row.vy } or nil,
    Health = row.hp and { hp = row.hp, max = 100 } or nil,
    Name = row.name and { value = row.name } or nil,
    Hero = row.hero or nil,
    Monster = row.monster or nil,
    Intent = row.intent and { kind = row.intent } or nil,
    Inventory = row.items,
  }
end

--- W(n) as a list of entities: tables of components, in which a reference is the entity itself.
function workload.plain(n)
  local entities = {}
  for i, row in rows(n) do entities[i + 1] = components(row) end
  for i, row in rows(n) do
    local entity = entities[i + 1]
    if row.target then entity.Intent.target = entities[row.target + 1] end
    if row.effect then
      local target = entities[row.effect + 1]
      entity.HasEffect = { { target = target, turns = row.turns, damage = row.damage } }
    end
  end
  return entities
end

-- ---- Looking at all values ------------------------------------------------------------------

-- A view reads entity k = 1 .. count into a list of 25 values: numbers, strings, nil where there
-- is none. A reference is the number of its entity.
local WIDTH = 25

local function putItems(out, list)
  out[16] = list and #list or nil
  for k = 1, 3 do
    local item = list and list[k]
    local at = 14 + 3 * k
    out[at], out[at + 1], out[at + 2] = nil, nil, nil
    if item then out[at], out[at + 1], out[at + 2] = item.id, item.count, item.name end
  end
end

--- Views a world.
function workload.view(world)
  local handles, index = world:entities(), {}
  table.remove(handles, 1)   -- the world entity
  for k, handle in ipairs(handles) do index[handle] = k end

  local function read(k, out)
    local e = handles[k]
    out[1], out[2] = world:get(e, T.Position, "x", "y")
    out[3], out[4] = world:get(e, T.Velocity, "x", "y")
    out[5], out[6] = world:get(e, T.Health, "hp", "max")
    out[7] = world:get(e, T.Name, "value")
    out[8], out[9] = world:has(e, T.Hero) and 1 or nil, world:has(e, T.Monster) and 1 or nil
    out[10], out[11] = world:get(e, T.Intent, "kind", "target")
    out[11] = out[11] and (index[out[11]] or "not an entity")
    local effects = world:targets(e, T.HasEffect)
    out[12], out[13], out[14], out[15] = #effects, nil, nil, nil
    if effects[1] then
      out[13] = index[effects[1]]
      out[14], out[15] = world:get(e, T.HasEffect(effects[1]), "turns", "damage")
    end
    putItems(out, world:get(e, T.Inventory))
  end
  return { count = #handles, read = read }
end

local NONE = {}

--- Views plain tables.
function workload.plainView(entities)
  local index = {}
  for k, entity in ipairs(entities) do index[entity] = k end

  local function read(k, out)
    local e = entities[k]
    out[1], out[2] = e.Position.x, e.Position.y
    local velocity, health, intent = e.Velocity or NONE, e.Health or NONE, e.Intent or NONE
    out[3], out[4] = velocity.x, velocity.y
    out[5], out[6] = health.hp, health.max
    out[7] = (e.Name or NONE).value
    out[8], out[9] = e.Hero and 1 or nil, e.Monster and 1 or nil
    out[10] = intent.kind
    out[11] = intent.target and (index[intent.target] or "not an entity")
    local effects = e.HasEffect or NONE
    local effect = effects[1] or NONE
    out[12] = #effects
    out[13] = effect.target and index[effect.target]
    out[14], out[15] = effect.turns, effect.damage
    putItems(out, e.Inventory)
  end
  return { count = #entities, read = read }
end

--- The words of 64 bits that stand for a value, its type among them.
local function words(value, put)
  local kind = math.type(value)
  if kind == "integer" then
    put(1)
    put(value)
  elseif kind == "float" then
    put(2)
    put((string.unpack("<i8", string.pack("<d", value))))
  elseif value == nil then
    put(3)
  else
    put(4 + #value)
    value = value .. ("\0"):rep(-#value % 8)
    for at = 1, #value, 8 do put((string.unpack("<i8", value, at))) end
  end
end

--- One number for the count and all values of a view.
function workload.checksum(view)
  local sum, out = view.count, {}
  local function put(word)
    sum = (sum ~ word) * 0x2545F4914F6CDD1D
    sum = sum ~ (sum >> 29)
  end
  for k = 1, view.count do
    view.read(k, out)
    for i = 1, WIDTH do words(out[i], put) end
  end
  return sum
end

-- What a view has counted, and references: these are no numbers of the world.
local COUNTED = { [8] = true, [9] = true, [11] = true, [12] = true, [13] = true, [16] = true }

--- How the second value differs from the first: "doubles" has lost what is behind 14 digits,
-- "integers" has become a float, "others" is another value. nil: not at all.
local function loss(a, b)
  local kind, other = math.type(a), math.type(b)
  if a == b and kind == other then return nil end
  if kind == "integer" and a == b then return "integers" end
  if kind == "float" and other and math.abs(a - b) <= 5e-14 * math.abs(a) then return "doubles" end
  return "others"
end

--- Counts what the second view has not kept of the first, and what there was of each kind.
function workload.losses(first, second)
  local lost = { doubles = 0, integers = 0, others = math.abs(first.count - second.count) }
  local all = { doubles = 0, integers = 0 }
  local a, b = {}, {}
  for k = 1, math.min(first.count, second.count) do
    first.read(k, a)
    second.read(k, b)
    for i = 1, WIDTH do
      local kind = not COUNTED[i] and math.type(a[i])
      if kind == "float" then all.doubles = all.doubles + 1 end
      if kind == "integer" then all.integers = all.integers + 1 end
      local how = loss(a[i], b[i])
      if how then lost[how] = lost[how] + 1 end
    end
  end
  return lost, all
end

return workload
