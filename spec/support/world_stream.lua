-- A stream of random operations on one world and on the naive model of it, compared as they go.

local ecs = require "ecsser"
local Model = require "spec.support.world_model"
local Random = require "spec.support.world_random"

local Stream = {}
Stream.__index = Stream

local made = { "made by the factory" }
local function factory() return made end

-- The traits of all streams: they belong to no world.
local items = {
  { name = "X", object = ecs.IsExcluded, kind = "tag" },
  { name = "Key", object = ecs.Key, kind = "aos" },
  { name = "A", object = ecs.trait(), kind = "tag" },
  { name = "Plain", object = ecs.relation(), kind = "tag", relation = true },
  {
    name = "P", kind = "soa", defaults = { x = 0, name = "none", ok = false },
    object = ecs.trait { x = 0, name = "none", ok = false, ref = ecs.null },
  },
  {
    name = "Data", kind = "soa", defaults = { n = 1, f = 0.5 }, relation = true,
    object = ecs.relation { store = { n = 1, f = 0.5 } },
  },
  { name = "B", object = ecs.trait(), kind = "tag" },
  { name = "G", object = ecs.trait(factory), kind = "aos" },
  {
    name = "Excl", kind = "soa", defaults = { n = 1 }, relation = true, exclusive = true,
    object = ecs.relation { exclusive = true, store = { n = 1 } },
  },
  {
    name = "Q", kind = "soa", defaults = { x = 1 },
    object = ecs.trait { { "z", ecs.null }, { "x", 1 } },
  },
  {
    name = "Orphan", kind = "tag", relation = true, exclusive = true, autoDestroy = "source",
    object = ecs.relation { exclusive = true, autoDestroy = "orphan" },
  },
  {
    name = "Source", kind = "tag", relation = true, autoDestroy = "source",
    object = ecs.relation { autoDestroy = "source" },
  },
  {
    name = "Target", kind = "tag", relation = true, autoDestroy = "target",
    object = ecs.relation { autoDestroy = "target" },
  },
  {
    name = "Thing", kind = "aos", relation = true, object = ecs.relation { store = factory },
  },
}
local traits, relations = {}, {}
for _, item in ipairs(items) do
  table.insert(item.relation and relations or traits, item)
  -- Names in a fixed order, so that a seed means the same run in every process.
  item.names = {}
  for name in pairs(item.defaults or {}) do table.insert(item.names, name) end
  table.sort(item.names)
end
Stream.items = items

local function slot(handle)
  local _, _, s = ecs.unpack(handle)
  return s
end

local function show(value, depth)
  if type(value) ~= "table" or (depth or 0) > 2 then
    return type(value) == "string" and ("%q"):format(value) or tostring(value)
  end
  local parts = {}
  if value.item then   -- a term of the model
    local target = value.target and slot(value.target) or value.wildcard and "*"
    return value.item.name .. (target and ">" .. target or "")
      .. (value.value ~= nil and show(value.value, (depth or 0) + 1) or "")
  end
  for k, v in pairs(value) do
    parts[#parts + 1] = tostring(k) .. "=" .. show(v, (depth or 0) + 1)
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- Equal in type and subtype, with tables of one level compared by content.
local function same(a, b, deep)
  if rawequal(a, b) then return math.type(a) == math.type(b) end
  if not deep or type(a) ~= "table" or type(b) ~= "table" then return false end
  for k, v in pairs(a) do if not same(v, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

function Stream:expect(what, expected, got)
  if not same(expected, got, true) then
    error(("%s: expected %s, got %s"):format(what, show(expected), show(got)), 0)
  end
end

function Stream.new(seed)
  local world = ecs.createWorld()
  local self = setmetatable({
    seed = seed, random = Random.new(seed), world = world, log = {}, dead = {}, trace = {},
    model = Model.new(items, world:entities()[1]), watches = {}, pairWatches = {}, ops = 0,
  }, Stream)
  for _, item in ipairs(items) do
    for event, hook in pairs { add = "onAdd", remove = "onRemove", change = "onChange" } do
      world[hook](world, item.object, function(entity, target)
        local text = event .. " " .. item.name .. " " .. slot(entity)
        if target then text = text .. ">" .. slot(target) end
        self.log[#self.log + 1] = text
      end)
    end
  end
  return self
end

function Stream:traceOp(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = show(parts[i]) end
  self.trace[#self.trace + 1] = self.ops .. ": " .. table.concat(parts, " ")
  if #self.trace > 12 then table.remove(self.trace, 1) end
end

-- Random parts --------------------------------------------------------------

function Stream:entity()
  local list = self.model.list
  return list[1] and self.random:pick(list).handle
end

local texts = { "", "orc", "\0", "a\0b", "none" }

function Stream:number()
  local random = self.random
  if random:chance(50) then return random:int(-5, 5) end
  return random:pick { 0.5, -0.0, 2.0 ^ 53, math.huge, math.mininteger, 1.0 }
end

function Stream:any()
  return self.random:pick { 1, 1.0, "text", true, false, {}, self.model.worldEntity, made }
end

-- Some of the fields of an SoA trait, with new values.
function Stream:fields(item)
  local random, fields = self.random, {}
  for _, name in ipairs(item.names) do
    local default = item.defaults[name]
    if random:chance(60) then
      if type(default) == "number" then fields[name] = self:number()
      elseif type(default) == "string" then fields[name] = random:pick(texts)
      else fields[name] = random:chance(50) end
    end
  end
  local nullable = item.name == "P" and "ref" or item.name == "Q" and "z"
  if nullable and random:chance(60) then
    fields[nullable] = random:chance(30) and ecs.null or self:any()
  end
  return fields
end

function Stream:value(item)
  if item.kind == "soa" then return self:fields(item) end
  if item.object == ecs.Key then return "key" .. self.random:int(1, 12) end
  if item.kind == "aos" then return self:any() end
end

-- A term for spawn and add: the model's form and the world's.
function Stream:term(onlyTraits)
  local random = self.random
  if onlyTraits or random:chance(50) or not self.model.list[1] then
    local item = random:pick(traits)
    if item.object == ecs.IsExcluded and random:chance(70) then item = traits[3] end
    local term = { item = item, value = self:value(item) }
    if item.kind == "tag" then return term, item.object end
    if item.object ~= ecs.Key and random:chance(30) then
      term.value = item.kind == "aos" and made or nil
      return term, item.object
    end
    return term, item.object(term.value)
  end
  local item, target = random:pick(relations), self:entity()
  local term = { item = item, target = target, value = self:value(item) }
  if item.kind == "tag" or random:chance(30) then
    term.value = item.kind == "aos" and made or nil
    return term, item.object(target)
  end
  return term, item.object(target, term.value)
end

-- At most one key, and one pair of each exclusive relation; no key for the world entity.
function Stream:terms(least, most, onlyTraits)
  local modelTerms, worldTerms, once = {}, {}, { [ecs.Key] = onlyTraits }
  for i = 1, self.random:int(least, most) do
    local term, object = self:term(onlyTraits)
    if once[term.item.object] then
      term, object = { item = traits[3] }, traits[3].object
    elseif term.item.exclusive or term.item.object == ecs.Key then
      once[term.item.object] = true
    end
    modelTerms[i], worldTerms[i] = term, object
  end
  return modelTerms, worldTerms
end

-- A term for has, remove and queries; pairs may have a wildcard.
function Stream:plainTerm(onlyTraits)
  local random = self.random
  if onlyTraits or random:chance(50) or not self.model.list[1] then
    local item = random:pick(traits)
    return { item = item }, item.object
  end
  local item = random:pick(relations)
  if random:chance(30) then return { item = item, wildcard = true }, item.object("*") end
  local target = self:entity()
  return { item = item, target = target }, item.object(target)
end

function Stream:plainTerms(least, most, onlyTraits)
  local modelTerms, worldTerms = {}, {}
  for i = 1, self.random:int(least, most) do
    modelTerms[i], worldTerms[i] = self:plainTerm(onlyTraits)
  end
  return modelTerms, worldTerms
end

function Stream:queryTerms()
  local modelTerms, worldTerms = {}, {}
  for i = 1, self.random:int(1, 3) do
    local roll = self.random:int(1, 10)
    if roll <= 6 then
      modelTerms[i], worldTerms[i] = self:plainTerm()
    else
      local parts, objects = self:plainTerms(1, 3)
      modelTerms[i] = roll <= 8 and { none = parts } or { any = parts }
      worldTerms[i] = (roll <= 8 and ecs.Not or ecs.Or)(table.unpack(objects))
    end
  end
  return modelTerms, worldTerms
end

-- Whether the keys among the terms are free for that entity (nil: for a new one).
function Stream:keysAreFree(terms, handle)
  local entity = handle and self.model:find(handle)
  if entity and entity.values[ecs.Key] then return true end
  for _, term in ipairs(terms) do
    if term.item.object == ecs.Key then return self.model:holder(term.value) == nil end
  end
  return true
end

-- Expects an error of ours with that name in front.
function Stream:refused(name, fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then error(name .. " should have raised", 0) end
  if not tostring(err):find(name .. ": ", 1, true) or tostring(err):find("attempt to", 1, true) then
    error("not an error of ours: " .. tostring(err), 0)
  end
end

return Stream
