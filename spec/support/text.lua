--- The text that saveJSON must give for a vector, worked out from the vector's own text.
--
-- A vector was written by JavaScript. What the module writes differs in three ways: names stand in
-- the order of registration (JavaScript puts names that look like integers first), keys inside free
-- values are in bytewise order (Lua tables have none), and the numbers of `NUMBERS`.

local json = require "spec.support.json"

local text = {}

--- Numbers that Lua writes otherwise than JavaScript: floats keep a sign of being floats, and
-- integers that do not fit into 64 bits are floats.
text.NUMBERS = {
  ["-0"] = "-0.0",
  ["9223372036854776000"] = "9.223372036854776e18",
  ["-9223372036854776000"] = "-9.223372036854776e18",
  ["18446744073709552000"] = "1.8446744073709552e19",
  ["100000000000000000000"] = "1e20",
  ["123456789012345680000"] = "1.2345678901234568e20",
  ["1e+21"] = "1e21",
  ["8.41e+21"] = "8.41e21",
  ["1e+22"] = "1e22",
  ["1e+23"] = "1e23",
  ["1.2345678901234567e+100"] = "1.2345678901234567e100",
  ["1.7976931348623157e+308"] = "1.7976931348623157e308",
  ["-1.7976931348623157e+308"] = "-1.7976931348623157e308",
}

local NULL = {}

-- The writer of one vector: `differs` collects the numbers that were written otherwise.
local function writer(orders, differs)
  local write

  local function list(parts, open, close)
    return open .. table.concat(parts, ",") .. close
  end

  local function object(value, names, inner)
    local parts = {}
    for _, name in ipairs(names) do
      if value[name] ~= nil then
        parts[#parts + 1] = json.quote(name) .. ":" .. inner(value[name], name)
      end
    end
    return list(parts, "{", "}")
  end

  local function array(value, inner)
    local parts = {}
    for i, item in ipairs(value) do
      parts[i] = inner(item)
    end
    return list(parts, "[", "]")
  end

  -- A free value: keys bytewise.
  function write(value)
    if value == NULL then
      return "null"
    elseif type(value) == "string" then
      return json.quote(value)
    elseif type(value) ~= "table" then
      return tostring(value)
    elseif orders[value] then
      local names = table.move(orders[value], 1, #orders[value], 1, {})
      table.sort(names)
      return object(value, names, write)
    elseif value.token then
      local other = text.NUMBERS[value.token]
      if other then
        differs[value.token] = other
      end
      return other or value.token
    end
    return array(value, write)
  end
  return write, object, array
end

--- The expected text for the vector at `path` with the registrations of `kit`, and the numbers in
-- it that differ.
function text.expected(path, kit)
  local snapshot, orders = json.readFile(path, { null = NULL, rawNumbers = true })
  local differs = {}
  local write, object, array = writer(orders, differs)
  local items, names = {}, {}
  for i, item in ipairs(kit.items) do
    items[item.name], names[i] = item, item.name
  end
  local function value(v, name)
    local item = items[name]
    if item.fields and not item.codec then
      return object(v, item.fields, write)
    end
    return write(v)
  end
  local function pairList(list, name)
    return array(list, function(pair)
      return object(pair, { "target", "data" }, function(part, key)
        return key == "target" and write(part) or value(part, name)
      end)
    end)
  end
  local function record(r)
    return object(r, { "tags", "traits", "pairs" }, function(part, key)
      if key == "tags" then
        return array(part, write)
      end
      return object(part, names, key == "traits" and value or pairList)
    end)
  end
  local out = object(snapshot, { "format", "version", "entities", "world" }, function(part, key)
    if key == "entities" then
      return array(part, record)
    end
    return key == "world" and record(part) or write(part)
  end)
  return out, differs
end

return text
