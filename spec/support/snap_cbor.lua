--- CBOR items as trees of nodes that keep their exact form, so that specs can look at every part
-- of a snapshot, and write parts that the core would never write.
--
-- A node is { type=, ... }: int (value), bytes and text (value), array (items 1..n), map (keys
-- and values alternate in 1..2n), tag (tag, item in [1]), simple (value: the bits behind the
-- type), float (value, size 2, 4 or 8), raw (value: bytes as they are). When writing, `count`
-- stands for the length or count in the head, and `size` for the width of the head's number.

local cbor = {}

local MAJOR = { bytes = 2, text = 3, array = 4, map = 5, tag = 6, simple = 7 }
local NAMES = { nil, "bytes", "text", "array", "map", "tag" }
local FORMATS = { [1] = ">I1", [2] = ">I2", [4] = ">I4", [8] = ">i8" }
local FLOATS = { [4] = ">f", [8] = ">d" }

-- ---- Nodes -----------------------------------------------------------------------------------

function cbor.int(value, size) return { type = "int", value = value, size = size } end
function cbor.bytes(value, count) return { type = "bytes", value = value, count = count } end
function cbor.text(value, count) return { type = "text", value = value, count = count } end
function cbor.raw(value) return { type = "raw", value = value } end
function cbor.tag(tag, item) return { type = "tag", tag = tag, item } end

function cbor.array(items, count)
  local node = table.move(items, 1, #items, 1, { type = "array" })
  node.count = count
  return node
end

--- A map with these keys and values: { key, value, key, value, ... }; keys may be strings.
function cbor.map(list, count)
  local node = { type = "map", count = count }
  for i, item in ipairs(list) do
    node[i] = type(item) == "string" and cbor.text(item) or item
  end
  return node
end

cbor.FALSE = { type = "simple", value = 20 }
cbor.TRUE = { type = "simple", value = 21 }
cbor.NULL = { type = "simple", value = 22 }

--- A typed array of RFC 8746: its tag, a format for string.pack, and the numbers.
function cbor.typed(tag, format, numbers)
  local parts = {}
  for i, number in ipairs(numbers) do parts[i] = string.pack("<" .. format, number) end
  return cbor.tag(tag, cbor.bytes(table.concat(parts)))
end

function cbor.u32s(numbers) return cbor.typed(70, "I4", numbers) end

-- ---- Writing ---------------------------------------------------------------------------------

local function head(major, value, size)
  if not size then
    local unsigned = function(limit) return math.ult(value, limit) end
    if unsigned(24) then return string.char(major << 5 | value) end
    size = unsigned(1 << 8) and 1 or unsigned(1 << 16) and 2 or unsigned(1 << 32) and 4 or 8
  end
  local info = ({ 24, 25, [4] = 26, [8] = 27 })[size]
  if size < 8 then value = value & (1 << 8 * size) - 1 end
  return string.char(major << 5 | info) .. string.pack(FORMATS[size], value)
end

local writers = {}

local function write(node, out)
  writers[node.type](node, out)
  return out
end

function writers.int(node, out)
  local value = node.value
  out[#out + 1] = head(value < 0 and 1 or 0, value < 0 and ~value or value, node.size)
end

function writers.bytes(node, out)
  out[#out + 1] = head(MAJOR[node.type], node.count or #node.value, node.size)
  out[#out + 1] = node.value
end
writers.text = writers.bytes

function writers.raw(node, out) out[#out + 1] = node.value end

function writers.array(node, out)
  out[#out + 1] = head(MAJOR[node.type], node.count or #node, node.size)
  for _, item in ipairs(node) do write(item, out) end
end

function writers.map(node, out)
  out[#out + 1] = head(MAJOR.map, node.count or #node // 2, node.size)
  for _, item in ipairs(node) do write(item, out) end
end

function writers.tag(node, out)
  out[#out + 1] = head(MAJOR.tag, node.tag, node.size)
  write(node[1], out)
end

function writers.simple(node, out) out[#out + 1] = head(7, node.value, node.size) end

function writers.float(node, out)
  out[#out + 1] = string.char(7 << 5 | (node.size == 2 and 25 or node.size == 4 and 26 or 27))
  out[#out + 1] = node.size == 2 and string.pack(">I2", node.bits)
    or string.pack(FLOATS[node.size], node.value)
end

--- The bytes of a node.
function cbor.write(node)
  return table.concat(write(node, {}))
end

-- ---- Reading ---------------------------------------------------------------------------------

local read

local function half(bits)
  local sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
  local value
  if exponent == 0 then
    value = fraction * 2.0 ^ -24
  elseif exponent == 31 then
    value = fraction == 0 and math.huge or 0 / 0
  else
    value = (1024 + fraction) * 2.0 ^ (exponent - 25)
  end
  return sign == 1 and -value or value
end

local function readSimple(s, at, info)
  if info < 24 then return { type = "simple", value = info }, at end
  local size = 1 << (info - 24)
  assert(size > 1, "a simple value of two bytes")
  local node = { type = "float", size = size }
  if size == 2 then
    node.bits, at = string.unpack(">I2", s, at)
    node.value = half(node.bits)
  else
    node.value, at = string.unpack(FLOATS[size], s, at)
  end
  return node, at
end

local function readItems(s, at, node, n)
  for i = 1, n do node[i], at = read(s, at) end
  return node, at
end

function read(s, at)
  local first = s:byte(at)
  local major, info, value = first >> 5, first & 31, first & 31
  at = at + 1
  if major == 7 then return readSimple(s, at, info) end
  assert(info < 28, "an indefinite length")
  if info >= 24 then value, at = string.unpack(FORMATS[1 << (info - 24)], s, at) end
  if major < 2 then return { type = "int", value = major == 1 and ~value or value }, at end
  local node = { type = NAMES[major] }
  if major < 4 then
    node.value = s:sub(at, at + value - 1)
    assert(#node.value == value, "the bytes end inside a string")
    return node, at + value
  elseif major == 6 then
    node.tag = value
    return readItems(s, at, node, 1)
  end
  return readItems(s, at, node, major == 5 and 2 * value or value)
end

--- The node that the bytes hold; there must be nothing behind it.
function cbor.read(s)
  local node, at = read(s, 1)
  assert(at == #s + 1, "bytes behind the item")
  return node
end

--- The value of a key of a map, and its index in the node; nil when there is none.
function cbor.get(map, key)
  for i = 1, #map, 2 do
    if map[i].value == key then return map[i + 1], i + 1 end
  end
end

local TYPED = {
  [64] = "I1", [69] = "I2", [70] = "I4", [72] = "i1", [77] = "i2", [78] = "i4", [79] = "i8",
  [86] = "d",
}

--- The numbers of a typed array.
function cbor.numbers(node)
  local format, out, at = "<" .. TYPED[node.tag], {}, 1
  while at <= #node[1].value do
    out[#out + 1], at = string.unpack(format, node[1].value, at)
  end
  return out
end

return cbor
