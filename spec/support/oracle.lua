--- What saveWorld must give, worked out in plain Lua from the world's own methods.
--
-- A *kit* describes registrations: a list of items { name, kind, object, fields, refs, codec,
-- data }, in registration order. `kind` is tag, soa, aos or relation, `fields` the names of the
-- fields of a SoA value (or of a relation's SoA data), `data` says what a relation's pairs carry:
-- none, soa or aos. `ignored` is a list of traits and relations that are not saved.

local ecs = require "ecsser"
local deep = require "spec.support.deep"

local oracle = {}

--- The list form of entries for registerTraits; `items` defaults to all of the kit.
function oracle.entries(kit, items)
  local entries = {}
  for i, item in ipairs(items or kit.items) do
    local entry = item.object
    if item.refs or item.codec then
      entry = { trait = item.object, refs = item.refs, codec = item.codec }
    end
    entries[i] = { item.name, entry }
  end
  return entries
end

--- A new world with the kit registered (in the order of `items`) and ignored.
function oracle.world(kit, items)
  local world = ecs.createWorld()
  ecs.registerTraits(world, oracle.entries(kit, items))
  ecs.ignoreTraits(world, kit.ignored or {})
  return world
end

local function orNull(value)
  if value == nil then
    return ecs.null
  end
  return deep.copy(value)
end

local function fieldsOf(item, value, ref)
  local isRef, out = {}, {}
  for _, field in ipairs(item.refs or {}) do
    isRef[field] = true
  end
  for _, field in ipairs(item.fields) do
    local content = value[field]
    if isRef[field] and content ~= nil and content ~= ecs.null then
      out[field] = ref(content)
    else
      out[field] = orNull(content)
    end
  end
  return out
end

local function valueOf(item, value, ref)
  if item.codec then
    return deep.copy(item.codec.toJSON(value, { ref = ref }))
  elseif item.kind == "soa" then
    return fieldsOf(item, value, ref)
  end
  return deep.copy(value)
end

local function pairsOf(world, entity, item, ref)
  local list = {}
  for i, target in ipairs(world:targets(entity, item.object)) do
    list[i] = { target = ref(target) }
    local value = world:get(entity, item.object(target))
    if item.data == "soa" then
      list[i].data = fieldsOf({ fields = item.fields }, value)
    elseif item.data == "aos" then
      list[i].data = deep.copy(value)
    end
  end
  return list[1] and list or nil
end

local function recordOf(kit, ref, has, get, targets)
  local record = { tags = {}, traits = {}, pairs = {} }
  for _, item in ipairs(kit.items) do
    if item.kind == "relation" then
      record.pairs[item.name] = targets and targets(item)
    elseif has(item.object) then
      if item.kind == "tag" then
        table.insert(record.tags, item.name)
      else
        record.traits[item.name] = valueOf(item, get(item.object), ref)
      end
    end
  end
  return record
end

--- The document that a save of this world must give.
function oracle.describe(world, kit)
  local list, index = {}, {}
  for _, entity in ipairs(world:entities()) do
    if not world:has(entity, ecs.IsExcluded) then
      index[entity] = #list
      list[#list + 1] = entity
    end
  end
  local function ref(entity)
    return assert(index[entity], "a reference to an entity that is not saved")
  end
  local entities = {}
  for i, entity in ipairs(list) do
    entities[i] = recordOf(kit, ref,
      function(trait) return world:has(entity, trait) end,
      function(trait) return world:get(entity, trait) end,
      function(item) return pairsOf(world, entity, item, ref) end)
  end
  local record = recordOf(kit, ref,
    function(trait) return world:has(trait) end,
    function(trait) return world:get(trait) end)
  record.pairs = nil
  return { format = "ecs-serialize", version = 1, entities = entities, world = record }
end

--- The item of this name.
function oracle.item(kit, name)
  for _, item in ipairs(kit.items) do
    if item.name == name then
      return item
    end
  end
  error("no item " .. name, 2)
end

return oracle
