--- Random JSON-safe values, strings and numbers; the corners come up often.

local ecs = require "ecsser"

local values = {}

local STRINGS = {
  "", "a", "hp", "\0", "a\0b", "a\0c", "\127", "\"\\/\b\f\n\r\t\1\31", "Zo\u{eb}",
  "\u{65e5}\u{672c}",
  "\u{1F600}", "\u{2028}\u{2029}", "\u{FEFF}bom", "\u{FFFF}", "\u{10FFFF}", "\xED\xA0\x80",
  "x\xED\xBF\xBFy", "1", "-0", "null", "[]", "constructor", "toString", "prototype",
}

local INTEGERS = {
  0, 1, -1, 127, 128, 255, 256, 2^31 | 0, (2^31 | 0) - 1, -(2^31 | 0), 2^32 | 0, 2^53 | 0,
  (2^53 | 0) + 1, -(2^53 | 0) - 1, math.maxinteger, math.mininteger, 10^17 | 0,
}

local FLOATS = {
  0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
  -1.7976931348623157e308, 2.0^53, 2.0^63, -2.0^63, 1e21, 1e22, 1e23, 1e-7, 123456.789, 2.0^64,
}

function values.string(rng)
  if rng:chance(60) then
    return rng:pick(STRINGS)
  end
  local parts = {}
  for i = 1, rng:int(0, 6) do
    parts[i] = rng:chance(80) and string.char(rng:int(32, 126)) or utf8.char(rng:int(0xA0, 0xD7FF))
  end
  return table.concat(parts)
end

-- A key: any string but the one that is refused everywhere.
function values.key(rng)
  local key = values.string(rng)
  return key == "__proto__" and "proto" or key
end

function values.integer(rng)
  if rng:chance(40) then
    return rng:pick(INTEGERS)
  elseif rng:chance(20) then
    return rng:bits()
  end
  return rng:int(-1000, 1000)
end

local function finite(rng)
  local x = string.unpack("<d", string.pack("<i8", rng:bits()))
  return x == x and x - x == 0 and x or 0.5
end

function values.float(rng)
  if rng:chance(40) then
    return rng:pick(FLOATS)
  elseif rng:chance(40) then
    return finite(rng)
  end
  return rng:int(-100000, 100000) / 64
end

--- Numbers that lua-cjson 2.1.0 (14 digits, only doubles) carries without loss.
local function plainInteger(rng)
  return rng:int(-10^13 | 0, 10^13 | 0)
end

local function plainFloat(rng)
  return rng:chance(10) and -0.0 or (rng:int(-100000, 100000) * 2 + 1) / 64
end

--- The generators for exact routes, and the ones for routes through lua-cjson.
values.exact = { integer = values.integer, float = values.float }
values.plain = { integer = plainInteger, float = plainFloat }

--- A number field whose default is an integer may hold either subtype.
function values.number(rng, numbers)
  return rng:chance(70) and numbers.integer(rng) or numbers.float(rng)
end

local function container(rng, depth, numbers)
  local out = {}
  if rng:chance(50) then
    for i = 1, rng:int(0, 4) do
      out[i] = values.any(rng, depth - 1, numbers)
    end
    return (#out > 0 and rng:chance(50)) and out or ecs.array(out)
  end
  for _ = 1, rng:int(0, 4) do
    out[values.key(rng)] = values.any(rng, depth - 1, numbers)
  end
  return out
end

--- Any JSON-safe value, nested at most `depth` deep.
function values.any(rng, depth, numbers)
  numbers = numbers or values.exact
  if depth > 0 and rng:chance(45) then
    return container(rng, depth, numbers)
  end
  local kind = rng:int(1, 6)
  if kind == 1 then
    return ecs.null
  elseif kind == 2 then
    return rng:chance(50)
  elseif kind == 3 then
    return numbers.integer(rng)
  elseif kind == 4 then
    return numbers.float(rng)
  end
  return values.string(rng)
end

return values
