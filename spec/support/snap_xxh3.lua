--- XXH3-64 (seed 0) in plain Lua, after its specification: an implementation of its own to check
-- the digests of snapshots with, and to give damaged snapshots a digest that is right.

local xxh3 = {}

local SECRET = (
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" ..
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" ..
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" ..
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" ..
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" ..
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
):gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)

local P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
local P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
local P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

-- Little-endian numbers at an offset from 0.
local function r64(s, at) return (string.unpack("<i8", s, at + 1)) end
local function r32(s, at) return (string.unpack("<I4", s, at + 1)) end

local function rotl(x, n) return x << n | x >> (64 - n) end

local function swap64(x) return (string.unpack(">i8", string.pack("<i8", x))) end

-- The two halves of the 128-bit product, xored.
local function fold(a, b)
  local al, ah, bl, bh = a & 0xFFFFFFFF, a >> 32, b & 0xFFFFFFFF, b >> 32
  local ll, hl, lh = al * bl, ah * bl, al * bh
  local cross = (ll >> 32) + (hl & 0xFFFFFFFF) + lh
  local high = (hl >> 32) + (cross >> 32) + ah * bh
  return high ~ (cross << 32 | ll & 0xFFFFFFFF)
end

local function avalanche(h)
  h = (h ~ h >> 37) * 0x165667919E3779F9
  return h ~ h >> 32
end

local function avalanche64(h)
  h = (h ~ h >> 33) * P64_2
  h = (h ~ h >> 29) * P64_3
  return h ~ h >> 32
end

local function upTo16(s, n)
  if n > 8 then
    local low = r64(s, 0) ~ (r64(SECRET, 24) ~ r64(SECRET, 32))
    local high = r64(s, n - 8) ~ (r64(SECRET, 40) ~ r64(SECRET, 48))
    return avalanche(n + swap64(low) + high + fold(low, high))
  elseif n >= 4 then
    local h = (r32(s, n - 4) + (r32(s, 0) << 32)) ~ (r64(SECRET, 8) ~ r64(SECRET, 16))
    h = (h ~ rotl(h, 49) ~ rotl(h, 24)) * 0x9FB21C651E98DF25
    h = (h ~ (h >> 35) + n) * 0x9FB21C651E98DF25
    return h ~ h >> 28
  elseif n > 0 then
    local h = s:byte(1) << 16 | s:byte((n >> 1) + 1) << 24 | s:byte(n) | n << 8
    return avalanche64(h ~ (r32(SECRET, 0) ~ r32(SECRET, 4)))
  end
  return avalanche64(r64(SECRET, 56) ~ r64(SECRET, 64))
end

local function mix(s, at, key)
  return fold(r64(s, at) ~ r64(SECRET, key), r64(s, at + 8) ~ r64(SECRET, key + 8))
end

local function upTo128(s, n)
  local h = n * P64_1
  for i = (n - 1) // 32, 0, -1 do
    h = h + mix(s, 16 * i, 32 * i) + mix(s, n - 16 * (i + 1), 32 * i + 16)
  end
  return avalanche(h)
end

local function upTo240(s, n)
  local h = n * P64_1
  for i = 0, 7 do h = h + mix(s, 16 * i, 16 * i) end
  h = avalanche(h)
  for i = 8, n // 16 - 1 do h = h + mix(s, 16 * i, 16 * (i - 8) + 3) end
  return avalanche(h + mix(s, n - 16, 136 - 17))
end

local function accumulate(acc, s, at, key)
  for i = 0, 7 do
    local value = r64(s, at + 8 * i)
    local keyed = value ~ r64(SECRET, key + 8 * i)
    acc[i ~ 1] = acc[i ~ 1] + value
    acc[i] = acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32)
  end
end

local function scramble(acc)
  for i = 0, 7 do
    acc[i] = (acc[i] ~ acc[i] >> 47 ~ r64(SECRET, 128 + 8 * i)) * P32_1
  end
end

local function long(s, n)
  local acc = { [0] = P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1 }
  local blocks = (n - 1) // 1024
  for b = 0, blocks - 1 do
    for i = 0, 15 do accumulate(acc, s, 1024 * b + 64 * i, 8 * i) end
    scramble(acc)
  end
  for i = 0, (n - 1 - 1024 * blocks) // 64 - 1 do
    accumulate(acc, s, 1024 * blocks + 64 * i, 8 * i)
  end
  accumulate(acc, s, n - 64, 192 - 64 - 7)
  local h = n * P64_1
  for i = 0, 3 do
    h = h + fold(acc[2 * i] ~ r64(SECRET, 11 + 16 * i), acc[2 * i + 1] ~ r64(SECRET, 19 + 16 * i))
  end
  return avalanche(h)
end

--- The digest of a string, as an integer.
function xxh3.digest(s)
  local n = #s
  if n <= 16 then return upTo16(s, n) end
  if n <= 128 then return upTo128(s, n) end
  if n <= 240 then return upTo240(s, n) end
  return long(s, n)
end

--- The digest as hashWorld gives it.
function xxh3.hex(s) return ("%016x"):format(xxh3.digest(s)) end

return xxh3
