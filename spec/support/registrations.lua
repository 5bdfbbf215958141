--- Builds a kit (see oracle.lua) from the registrations beside a vector (NAME.reg.json).

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local json = require "spec.support.json"

local registrations = {}

local function copier(value)
  return function() return deep.copy(value) end
end

-- A schema in list form, in the order of the text; objects as defaults are factories.
local function schemaOf(schema, orders)
  local list, names = {}, {}
  for i, field in ipairs(orders[schema]) do
    local default = schema[field]
    if type(default) == "table" then
      default = copier(default["$factory"])
    end
    list[i], names[i] = { field, default }, field
  end
  return list, names
end

-- Applies `convert` to the values at one path, such as "hits[].by" or "slots{}".
local function convertAt(value, path, convert)
  if value == ecs.null or value == nil then
    return value
  elseif path == "" then
    return convert(value)
  end
  local each, rest = path:match("^(%[%])%.?(.*)$")
  if not each then
    each, rest = path:match("^({})%.?(.*)$")
  end
  if each then
    for key, item in pairs(value) do
      value[key] = convertAt(item, rest, convert)
    end
    return value
  end
  local name, tail = path:match("^([^.%[{]+)%.?(.*)$")
  value[name] = convertAt(value[name], tail, convert)
  return value
end

local function pathCodec(paths)
  local function convertAll(value, convert)
    value = deep.copy(value)
    for _, path in ipairs(paths) do
      value = convertAt(value, path, convert)
    end
    return value
  end
  return {
    toJSON = function(value, ctx) return convertAll(value, ctx.ref) end,
    fromJSON = function(value, ctx) return convertAll(value, ctx.entity) end,
  }
end

-- A map in insertion order: in the world a list of { entity, value }.
local function mapCodec()
  local function convertAll(value, convert)
    local out = ecs.array {}
    for i, pair in ipairs(value) do
      out[i] = { convert(pair[1]), pair[2] }
    end
    return out
  end
  return {
    toJSON = function(value, ctx) return convertAll(value, ctx.ref) end,
    fromJSON = function(value, ctx) return convertAll(value, ctx.entity) end,
  }
end

local function relationOf(source, item, orders)
  local options = { exclusive = source.exclusive, autoDestroy = source.autoDestroy }
  item.data = "none"
  if source.store and source.store["$aos"] ~= nil then
    item.data, options.store = "aos", copier(source.store["$aos"])
  elseif source.store then
    item.data = "soa"
    options.store, item.fields = schemaOf(source.store, orders)
  end
  return ecs.relation(options)
end

local function itemOf(source, orders)
  local item = { name = source.name, kind = source.kind, refs = source.refs }
  if source.kind == "tag" then
    item.object = ecs.trait()
  elseif source.kind == "soa" then
    local schema
    schema, item.fields = schemaOf(source.schema, orders)
    item.object = ecs.trait(schema)
  elseif source.kind == "aos" then
    item.object = ecs.trait(copier(source.default))
    item.codec = source.codec and (source.codec.map and mapCodec() or pathCodec(source.codec.paths))
  else
    item.object = relationOf(source, item, orders)
  end
  return item
end

--- The kit of a registrations text.
function registrations.read(path)
  local source, orders = json.readFile(path, { null = ecs.null, mark = ecs.array })
  local kit = { items = {}, ignored = {} }
  for i, entry in ipairs(source.register or {}) do
    kit.items[i] = itemOf(entry, orders)
  end
  for i, entry in ipairs(source.ignore or {}) do
    kit.ignored[i] = itemOf(entry, orders).object
  end
  return kit
end

return registrations
