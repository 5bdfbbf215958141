--- Worlds for the specs of snapshots: traits of every kind, random contents, random operations
-- that depend on nothing but the world's content, and what can be seen of a world.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"
local values = require "spec.support.values"

local kit = {}

-- A table from entities to numbers, saved as a list of [slot, number], ascending. It takes nothing
-- else, so that each list that it takes is the one that it gives.
local threat = {
  toJSON = function(value, ctx)
    local out = ecs.array {}
    for entity, amount in pairs(value) do out[#out + 1] = { ctx.ref(entity), amount } end
    table.sort(out, function(a, b) return a[1] < b[1] end)
    return out
  end,
  fromJSON = function(json, ctx)
    local out, last = {}, 0
    assert(type(json) == "table" and (#json > 0 or ser.isMarked(json)), "no list")
    for _, pair in ipairs(json) do
      assert(#pair == 2 and math.type(pair[1]) == "integer" and pair[1] > last, "no ascending list")
      out[ctx.entity(pair[1])], last = pair[2], pair[1]
    end
    return out
  end,
}

local function any(rng, depth) return values.any(rng, depth) end

-- name, constructor, and a random value for one entity (nil: a tag). `link` gives an entity.
local MAKERS = {
  { "Zeta", function() return ecs.trait() end },
  { "alpha", function() return ecs.trait() end },
  { "Health", function() return ecs.trait { hp = 10, max = 10 } end,
    function(rng) return { hp = values.number(rng, values.exact), max = rng:int(-200, 200) } end },
  { "Pos", function() return ecs.trait { { "y", 0.0 }, { "x", 0.0 } } end,
    function(rng) return { x = values.float(rng), y = rng:int(-9, 9) / 4 } end },
  { "Mixed", function()
      return ecs.trait { s = "", b = false, n = 0, any = ecs.null, list = function() return {} end }
    end,
    function(rng)
      return { s = values.string(rng), b = rng:chance(50), n = values.integer(rng),
        any = any(rng, 2), list = any(rng, 3) }
    end },
  { "Intent", function() return ecs.trait { kind = "none", target = ecs.null } end,
    function(rng, link) return { kind = values.string(rng), target = link() } end,
    refs = { "target" } },
  { "Bag", function() return ecs.trait(function() return {} end) end,
    function(rng) return any(rng, 3) end },
  { "Threat", function() return ecs.trait(function() return {} end) end,
    function(rng, link)
      local out = {}
      for _ = 1, rng:int(0, 3) do
        local entity = link()
        if entity then out[entity] = values.float(rng) end
      end
      return out
    end, codec = threat },
  { "Likes", function() return ecs.relation() end, relation = true },
  { "ChildOf", function() return ecs.relation { exclusive = true } end, relation = true,
    exclusive = true },
  { "Effect", function() return ecs.relation { store = { turns = 0, damage = 0.0 } } end,
    function(rng) return { turns = rng:int(-300, 300), damage = values.float(rng) } end,
    relation = true },
  { "Meta", function() return ecs.relation { store = function() return {} end } end,
    function(rng) return any(rng, 2) end, relation = true },
  { "Zo\u{eb}", function() return ecs.trait { { "Gr\u{f6}\u{df}e", true } } end,
    function(rng) return { ["Gr\u{f6}\u{df}e"] = rng:chance(50) } end },
  { "a\0b", function() return ecs.trait { ["f\0"] = 0 } end,
    function(rng) return { ["f\0"] = values.integer(rng) } end },
}

--- A new set of traits; with `rng` they are defined in a random order.
function kit.new(rng)
  local self = { items = {}, object = {} }
  local order = {}
  for i = 1, #MAKERS do order[i] = i end
  for _, i in ipairs(rng and rng:shuffled(order) or order) do
    local m = MAKERS[i]
    local item = { name = m[1], object = m[2](), value = m[3], refs = m.refs, codec = m.codec,
      relation = m.relation, exclusive = m.exclusive }
    self.items[i], self.object[m[1]] = item, item.object
  end
  return setmetatable(self, { __index = kit })
end

--- A new world with all of the kit registered, in a random order when `rng` is given.
function kit:world(rng)
  local world, entries = ecs.createWorld(), {}
  for i, item in ipairs(self.items) do
    entries[i] = { item.name, { [item.relation and "relation" or "trait"] = item.object,
      refs = item.refs, codec = item.codec } }
  end
  entries[#entries + 1] = { "Key", ecs.Key }
  ecs.registerTraits(world, rng and rng:shuffled(entries) or entries)
  return world
end

-- A random entity by its place in the list, or nil.
local function linker(rng, world)
  return function()
    local all = world:entities()
    return #all > 1 and rng:chance(80) and all[rng:int(2, #all)] or nil
  end
end

local function addPair(rng, world, item, entity, link)
  local target = link()
  if not target then return end
  if world:has(entity, item.object(target)) then
    if item.value and rng:chance(50) then
      local data = item.value(rng, link)
      world:set(entity, item.object(target), data)
    elseif rng:chance(50) then
      world:remove(entity, item.object(target))
    end
  elseif item.value then
    world:add(entity, item.object(target, item.value(rng, link)))
  else
    world:add(entity, item.object(target))
  end
end

local function touch(rng, world, item, entity, link)
  if item.relation then
    addPair(rng, world, item, entity, link)
  elseif world:has(entity, item.object) then
    if item.value and rng:chance(60) then
      world:set(entity, item.object, item.value(rng, link))
    else
      world:remove(entity, item.object)
    end
  else
    world:add(entity, item.value and item.object(item.value(rng, link)) or item.object)
  end
end

local function touchWorld(rng, world, item, link)
  if item.relation then return end
  if world:has(item.object) then
    world:remove(item.object)
  else
    world:add(item.value and item.object(item.value(rng, link)) or item.object)
  end
end

-- Nothing may refer to the dead: a codec's value could not be saved.
local function forget(world, objects, entity)
  for _, e in ipairs(world:entities()) do
    local list = world:get(e, objects.Threat)
    if list and list[entity] then
      list[entity] = nil
    end
    if world:get(e, objects.Intent, "target") == entity then
      world:set(e, objects.Intent, "target", nil)
    end
  end
end

local function destroy(rng, self, world, log)
  local all = world:entities()
  if #all < 2 then return end
  local entity = all[rng:int(2, #all)]
  forget(world, self.object, entity)
  world:destroy(entity)
  log[#log + 1] = -entity
end

local function key(rng, world, entity)
  local name = "key " .. rng:int(1, 5)
  if world:find(name) == nil and not world:has(entity, ecs.Key) then
    world:add(entity, ecs.Key(name))
  elseif world:has(entity, ecs.Key) then
    world:remove(entity, ecs.Key)
  end
end

-- One operation; what it gives (handles, negative: dead ones) goes to the log.
local function step(rng, self, world, log)
  local what, link = rng:int(1, 100), linker(rng, world)
  local all = world:entities()
  local entity = #all > 1 and all[rng:int(2, #all)]
  if what <= 25 or not entity then
    log[#log + 1] = world:spawn()
  elseif what <= 38 then
    destroy(rng, self, world, log)
  elseif what <= 42 then
    key(rng, world, entity)
  elseif what <= 45 then
    local has = world:has(entity, ecs.IsExcluded)
    world[has and "remove" or "add"](world, entity, ecs.IsExcluded)
  elseif what <= 52 then
    touchWorld(rng, world, rng:pick(self.items), link)
  else
    for _ = 1, 3 do touch(rng, world, rng:pick(self.items), entity, link) end
  end
end

--- Does `n` random operations. They depend on the generator and the world's content alone.
-- Returns the log: a list of handles, the dead ones negative.
function kit:run(rng, world, n, log)
  log = log or {}
  for _ = 1, n do step(rng, self, world, log) end
  return log
end

--- A random world of about `n` operations; some were reset in between. And the log.
function kit:random(rng, n, order)
  local world, log = self:world(order), {}
  if rng:chance(20) then
    self:run(rng, world, n // 2, log)
    world:reset()
  end
  return world, self:run(rng, world, n, log)
end

--- All that can be seen of a world but identities: compare with deep.difference.
function kit:state(world)
  local state, keys = ser.state(world), {}
  for _, entity in ipairs(world:entities()) do
    local name = world:get(entity, ecs.Key)
    if name then keys[name] = world:find(name) end
  end
  local lists = {}
  for i, item in ipairs(self.items) do
    lists[i] = world:query(item.relation and item.object("*") or item.object)
  end
  return { entities = state.entities, traits = state.traits, values = state.values, keys = keys,
    lists = lists, count = world:count() }
end

--- Checks that both worlds show the same; handles too, so they must have the same id (or be one).
function kit:assertSame(expected, world, what)
  local found = deep.difference(expected, self:state(world))
  if found then error((what or "the world") .. " differs at " .. found, 2) end
end

--- The lists of traits and relations for world_util.checkInvariants.
function kit:lists()
  local traits, relations = { ecs.IsExcluded, ecs.Key }, {}
  for _, item in ipairs(self.items) do
    table.insert(item.relation and relations or traits, item.object)
  end
  return traits, relations
end

return kit
