--- Read-only tables: lists and objects that can be read but not written.
-- They are empty tables in front of the real ones, because only a write to an
-- absent key can be refused. `#`, indexing, `ipairs`, `pairs` and
-- `table.unpack` work on them.

local frozen = {}

local function refuse(_, key)
  error(("attempt to write %s of a read-only table"):format(tostring(key)), 2)
end

--- The metatable that shows `content` and protects it.
-- The iterator of `pairs` is a closure so that `content` itself, which could
-- be written, is never handed out.
local function viewOf(content, kind)
  return {
    __index = content,
    __newindex = refuse,
    __metatable = kind,
    __pairs = function()
      local key
      return function()
        local value
        key, value = next(content, key)
        return key, value
      end
    end,
  }
end

--- A read-only list. The caller must not touch `items` afterwards.
function frozen.list(items)
  local view = viewOf(items, "ecsser.List")
  view.__len = function() return #items end
  return setmetatable({}, view)
end

--- A read-only object. The caller must not touch `fields` afterwards.
-- @param kind what `frozen.kindOf` answers for it
-- @param fields its fields; those that they inherit are readable as well
function frozen.object(kind, fields)
  local view = viewOf(fields, kind)
  view.__name = kind
  view.__tostring = function() return ("%s: %s"):format(kind, fields.name) end
  return setmetatable({}, view)
end

--- The kind of an object made here, or nil for every other value.
function frozen.kindOf(value)
  local kind = type(value) == "table" and getmetatable(value)
  return type(kind) == "string" and kind or nil
end

return frozen
