-- Cues tell a view what to animate: who was hit and who fell in the last turn. The value is a
-- plain Lua table with entities in its lists, so it needs a codec: without one the handles
-- would be saved as the numbers they are, and mean other entities after a load.

local ecs = require "ecsser"

local cues = {}

function cues.new()
  return { hits = ecs.array {}, defeated = ecs.array {} }
end

local function map(list, convert)
  local result = ecs.array {}
  for i, item in ipairs(list) do result[i] = convert(item) end
  return result
end

cues.codec = {}

-- `by` is nil where an effect did the damage; JSON has null for that.
function cues.codec.toJSON(value, ctx)
  return {
    hits = map(value.hits, function(hit)
      return { by = hit.by and ctx.ref(hit.by) or ecs.null, on = ctx.ref(hit.on),
               amount = hit.amount }
    end),
    defeated = map(value.defeated, ctx.ref),
  }
end

function cues.codec.fromJSON(json, ctx)
  return {
    hits = map(json.hits, function(hit)
      return { by = hit.by ~= ecs.null and ctx.entity(hit.by) or nil, on = ctx.entity(hit.on),
               amount = hit.amount }
    end),
    defeated = map(json.defeated, ctx.entity),
  }
end

return cues
