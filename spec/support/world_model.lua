-- A naive model of a world: plain tables, linear searches, no cleverness. What it says is what the
-- world must say. Handles are given to it by the real world; everything else it works out itself.

local ecs = require "ecsser"

local Model = {}
Model.__index = Model

-- items: the traits and relations in use, each { object=, name=, kind=, defaults=, exclusive=,
-- autoDestroy= }, in ascending order of id.
function Model.new(items, worldEntity)
  local self = setmetatable({
    items = items, byObject = {}, entities = {}, list = {}, log = {}, generation = {},
    worldEntity = worldEntity, used = 0,   -- slots 1..used were handed out since the last reset
  }, Model)
  for _, item in ipairs(items) do self.byObject[item.object] = item end
  self.world = self:record(worldEntity)
  self.world.values[ecs.IsExcluded] = { true }
  return self
end

function Model:record(handle)
  local _, generation, slot = ecs.unpack(handle)
  return { handle = handle, slot = slot, generation = generation, values = {}, pairs = {} }
end

function Model:isAlive(handle)
  return handle == self.worldEntity or self.entities[handle] ~= nil
end

function Model:find(handle)
  return handle == self.worldEntity and self.world or self.entities[handle]
end

-- The alive entities ascending by slot, without the world entity.
function Model:sorted()
  if not self.isSorted then
    table.sort(self.list, function(a, b) return a.slot < b.slot end)
    self.isSorted = true
  end
  return self.list
end

function Model:note(event, item, entity, target)
  local _, _, slot = ecs.unpack(entity)
  local text = event .. " " .. item.name .. " " .. slot
  if target then
    local _, _, targetSlot = ecs.unpack(target)
    text = text .. ">" .. targetSlot
  end
  self.log[#self.log + 1] = text
end

local function copy(value)
  local result = {}
  for k, v in pairs(value) do result[k] = v end
  return result
end

-- The value that a new trait or pair gets: the defaults, and over them what is given.
local function initial(item, value)
  if item.kind == "tag" then return true end
  if item.kind == "aos" then return value end
  local result = copy(item.defaults)
  for k, v in pairs(value or {}) do
    if v == ecs.null then result[k] = nil else result[k] = v end
  end
  return result
end

local function findPair(entity, item, target)
  for i, pair in ipairs(entity.pairs[item.object] or {}) do
    if pair.target == target then return i, pair end
  end
end

-- term: { item=, target=, value= }
function Model:addOne(entity, term)
  local item = term.item
  if not term.target then
    if entity.values[item.object] ~= nil then return end
    entity.values[item.object] = { initial(item, term.value) }
    self:note("add", item, entity.handle)
    return
  end
  if findPair(entity, item, term.target) then return end
  local list = entity.pairs[item.object] or {}
  entity.pairs[item.object] = list
  if item.exclusive then table.remove(list, 1) end
  list[#list + 1] = { target = term.target, value = initial(item, term.value) }
  self:note("add", item, entity.handle, term.target)
end

-- Observers of the pairs that exclusive relations lose are told first, then all is added.
function Model:addAll(entity, terms)
  for _, term in ipairs(terms) do
    local old = term.item.exclusive and (entity.pairs[term.item.object] or {})[1]
    if old and old.target ~= term.target then
      self:note("remove", term.item, entity.handle, old.target)
    end
  end
  for _, term in ipairs(terms) do self:addOne(entity, term) end
end

-- The new handle must be one that was never seen, in a slot that is free.
function Model:spawn(handle, terms)
  local entity = self:record(handle)
  assert(not self.entities[handle], "an alive handle was given again")
  for _, other in ipairs(self.list) do assert(other.slot ~= entity.slot, "the slot is in use") end
  local before = self.generation[entity.slot]
  assert(not before or entity.generation > before, "the generation did not grow")
  self.generation[entity.slot] = entity.generation
  assert(entity.slot >= 1 and entity.slot <= self.used + 1, "a slot was skipped")
  self.used = math.max(self.used, entity.slot)
  self.entities[handle] = entity
  self.list[#self.list + 1] = entity
  self.isSorted = false
  self:addAll(entity, terms)
end

function Model:add(handle, terms) self:addAll(self:find(handle), terms) end

-- All observers run first, then everything goes at once.
function Model:remove(handle, terms)
  local entity, gone = self:find(handle), {}
  for _, term in ipairs(terms) do
    local object = term.item.object
    if term.wildcard then
      for _, pair in ipairs(entity.pairs[object] or {}) do
        local key = object.id .. ">" .. pair.target
        if not gone[key] then self:note("remove", term.item, handle, pair.target) end
        gone[key] = true
      end
    elseif term.target then
      local key = object.id .. ">" .. term.target
      if findPair(entity, term.item, term.target) and not gone[key] then
        self:note("remove", term.item, handle, term.target)
        gone[key] = true
      end
    elseif entity.values[object] and not gone[object] then
      self:note("remove", term.item, handle)
      gone[object] = true
    end
  end
  for object in pairs(entity.values) do
    if gone[object] then entity.values[object] = nil end
  end
  for object, list in pairs(entity.pairs) do
    for i = #list, 1, -1 do
      if gone[object.id .. ">" .. list[i].target] then table.remove(list, i) end
    end
  end
end

-- The entity and all that goes with it by autoDestroy, in the order found: relation by relation.
function Model:cascade(first)
  local queue, going = { first }, { [first] = true }
  local function follow(entity)
    if not going[entity] then
      going[entity] = true
      queue[#queue + 1] = entity
    end
  end
  local i = 1
  while queue[i] do
    for _, item in ipairs(self.items) do
      if item.autoDestroy == "target" then
        for _, pair in ipairs(queue[i].pairs[item.object] or {}) do
          follow(self.entities[pair.target])
        end
      elseif item.autoDestroy == "source" then
        for _, source in ipairs(self:sorted()) do
          if findPair(source, item, queue[i].handle) then follow(source) end
        end
      end
    end
    i = i + 1
  end
  return queue, going
end

-- Notes what onRemove observers hear when these go: of each its own traits and pairs, then the
-- pairs that point at it from entities that stay.
function Model:tellDying(queue, going)
  for _, entity in ipairs(queue) do
    for _, item in ipairs(self.items) do
      if entity.values[item.object] then self:note("remove", item, entity.handle) end
      for _, pair in ipairs(entity.pairs[item.object] or {}) do
        self:note("remove", item, entity.handle, pair.target)
      end
    end
    for _, item in ipairs(self.items) do
      for _, source in ipairs(self:sorted()) do
        if not going[source] and findPair(source, item, entity.handle) then
          self:note("remove", item, source.handle, entity.handle)
        end
      end
    end
  end
end

function Model:destroy(handle)
  local queue, going = self:cascade(self.entities[handle])
  self:tellDying(queue, going)
  for _, entity in ipairs(queue) do self.entities[entity.handle] = nil end
  for i = #self.list, 1, -1 do
    if not self.entities[self.list[i].handle] then table.remove(self.list, i) end
  end
  for _, entity in ipairs(self.list) do
    for _, list in pairs(entity.pairs) do
      for i = #list, 1, -1 do
        if not self.entities[list[i].target] then table.remove(list, i) end
      end
    end
  end
  return queue
end

-- The order of the observers' calls is not promised here, only that each is called once.
function Model:reset()
  for _, entity in ipairs(self:sorted()) do
    for _, item in ipairs(self.items) do
      if entity.values[item.object] then self:note("remove", item, entity.handle) end
      for _, pair in ipairs(entity.pairs[item.object] or {}) do
        self:note("remove", item, entity.handle, pair.target)
      end
    end
  end
  for _, item in ipairs(self.items) do
    if self.world.values[item.object] and item.object ~= ecs.IsExcluded then
      self:note("remove", item, self.worldEntity)
    end
  end
  self.entities, self.list, self.used = {}, {}, 0
  self.world.values = { [ecs.IsExcluded] = { true } }
end

-- The stored value in a box, or nil.
function Model:box(handle, term)
  local entity = self:find(handle)
  if not entity then return nil end
  if term.target then
    local _, pair = findPair(entity, term.item, term.target)
    return pair and { pair.value, pair = pair }
  end
  return entity.values[term.item.object]
end

function Model:set(handle, term, fields)
  local box = self:box(handle, term)
  local value = term.item.kind == "soa" and copy(box[1]) or fields
  if term.item.kind == "soa" then
    for k, v in pairs(fields) do
      if v == ecs.null then value[k] = nil else value[k] = v end
    end
  end
  if box.pair then box.pair.value = value else box[1] = value end
  self:note("change", term.item, handle, term.target)
end

function Model:has(handle, term)
  local entity = self:find(handle)
  if not entity then return false end
  if term.wildcard then return #(entity.pairs[term.item.object] or {}) > 0 end
  return self:box(handle, term) ~= nil
end

function Model:matchesOne(entity, term)
  if term.any then
    for _, part in ipairs(term.any) do
      if self:has(entity.handle, part) then return true end
    end
    return false
  elseif term.none then
    for _, part in ipairs(term.none) do
      if self:has(entity.handle, part) then return false end
    end
    return true
  end
  return self:has(entity.handle, term)
end

function Model:matches(entity, terms)
  if entity.values[ecs.IsExcluded] then return false end
  for _, term in ipairs(terms) do
    if not self:matchesOne(entity, term) then return false end
  end
  return true
end

function Model:query(terms)
  local result = {}
  for _, entity in ipairs(self:sorted()) do
    if self:matches(entity, terms) then result[#result + 1] = entity.handle end
  end
  return result
end

function Model:targets(handle, item)
  local result = {}
  for i, pair in ipairs(self:find(handle).pairs[item.object] or {}) do result[i] = pair.target end
  return result
end

function Model:sources(handle, item)
  local result = {}
  for _, entity in ipairs(self:sorted()) do
    if findPair(entity, item, handle) then result[#result + 1] = entity.handle end
  end
  return result
end

-- The holder of a key, or nil.
function Model:holder(key)
  for _, entity in ipairs(self.list) do
    local box = entity.values[ecs.Key]
    if box and box[1] == key then return entity.handle end
  end
end

-- The traits and relations that something has, in ascending order.
function Model:inUse()
  local result = {}
  for _, item in ipairs(self.items) do
    local used = self.world.values[item.object]
    for _, entity in ipairs(self.list) do
      used = used or entity.values[item.object] or next(entity.pairs[item.object] or {})
    end
    if used then result[#result + 1] = item.object end
  end
  return result
end

return Model
