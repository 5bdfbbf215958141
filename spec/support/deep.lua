--- Deep comparison and copying of plain Lua data, by raw access only.
--
-- Two numbers are the same when they have the same subtype and the same bits, so that 1 is not
-- 1.0 and 0.0 is not -0.0. `loose` drops that (for routes that know only doubles), and `marks`
-- adds that empty tables must agree in their metatable (the array mark).

local deep = {}

local function sameNumber(a, b, how)
  if how and how.loose then
    return a + 0.0 == b + 0.0
  end
  if math.type(a) ~= math.type(b) then
    return false
  end
  if math.type(a) == "float" then
    return string.pack("<d", a) == string.pack("<d", b)
  end
  return a == b
end

local function show(value)
  local kind = type(value)
  if kind == "number" or kind == "string" then
    local text = string.format("%q", value)
    return #text > 60 and text:sub(1, 60) .. "..." or text
  end
  return kind == "boolean" and tostring(value) or kind
end

local function step(path, key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then
    return path .. "." .. key
  end
  return path .. "[" .. show(key) .. "]"
end

local function differ(a, b, path, how, seen)
  if type(a) ~= "table" or type(b) ~= "table" then
    local same = rawequal(a, b)
    if type(a) == "number" and type(b) == "number" then
      same = sameNumber(a, b, how)
    end
    return not same and ("%s: %s against %s"):format(path, show(a), show(b)) or nil
  end
  if rawequal(a, b) or seen[a] == b then
    return nil
  end
  seen[a] = b
  if how and how.marks and next(a) == nil and getmetatable(a) ~= getmetatable(b) then
    return path .. ": one empty table is marked as an array, the other is not"
  end
  for key, value in next, a do
    local found = differ(value, rawget(b, key), step(path, key), how, seen)
    if found then
      return found
    end
  end
  for key in next, b do
    if rawget(a, key) == nil then
      return step(path, key) .. ": only on the right"
    end
  end
  return nil
end

--- nil when both are the same, else where and how they first differ.
function deep.difference(a, b, how)
  return differ(a, b, "$", how, {})
end

function deep.same(a, b, how)
  return deep.difference(a, b, how) == nil
end

--- Raises when the two differ; `what` says what was compared.
function deep.assertSame(expected, actual, what, how)
  local found = deep.difference(expected, actual, how)
  if found then
    error(("%s: expected and actual differ at %s"):format(what or "values", found), 2)
  end
end

local function copy(value, seen)
  if type(value) ~= "table" then
    return value
  end
  if seen[value] then
    return seen[value]
  end
  local out = {}
  seen[value] = out
  for key, item in next, value do
    out[key] = copy(item, seen)
  end
  return setmetatable(out, debug.getmetatable(value))
end

--- A deep copy that keeps metatables (array marks) and cycles.
function deep.copy(value)
  return copy(value, {})
end

return deep
