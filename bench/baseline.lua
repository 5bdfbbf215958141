--- What a game without a library does: a loop over its own entities that puts numbers in the place
-- of references, and lua-cjson.
--
-- It is the cheapest such loop: component tables without references are not copied but given to
-- the encoder as they are, and loaded entities take over the decoder's tables.

local cjson = require "cjson"

local baseline = {}

local function savedEffects(effects, index)
  local list = {}
  for k, effect in ipairs(effects) do
    list[k] = { target = index[effect.target], turns = effect.turns, damage = effect.damage }
  end
  return list
end

local function savedEntity(entity, index)
  local record = {}
  for name, component in pairs(entity) do record[name] = component end
  local intent, effects = entity.Intent, entity.HasEffect
  if intent then record.Intent = { kind = intent.kind, target = index[intent.target] } end
  if effects then record.HasEffect = savedEffects(effects, index) end
  return record
end

--- The text of a world of plain tables.
function baseline.save(entities)
  local index, records = {}, {}
  for k, entity in ipairs(entities) do index[entity] = k end
  for k, entity in ipairs(entities) do records[k] = savedEntity(entity, index) end
  return cjson.encode { version = 1, entities = records }
end

--- The world of plain tables that a text describes.
function baseline.load(text)
  local records, entities = cjson.decode(text).entities, {}
  for k = 1, #records do entities[k] = {} end
  for k, record in ipairs(records) do
    local entity = entities[k]
    for name, component in pairs(record) do entity[name] = component end
    local intent = entity.Intent
    if intent and intent.target then intent.target = entities[intent.target] end
    for _, effect in ipairs(entity.HasEffect or {}) do
      effect.target = entities[effect.target]
    end
  end
  return entities
end

return baseline
