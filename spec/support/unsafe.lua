--- Values that are not JSON-safe: { what, make } for each way, used for saving and restoring.

local ecs = require "ecsser"
local ser = require "spec.support.ser"

local SECRET = ser.SECRET

local unsafe = { values = {}, strings = {} }

local function add(what, make)
  table.insert(unsafe.values, { what = what, make = make })
end

add("a function", function() return print end)
add("a Lua function", function() return function() end end)
add("a coroutine", function() return coroutine.create(print) end)
add("a full userdata", function() return io.stdout end)
local aTrait = ecs.trait()
add("a trait", function() return aTrait end)
add("a light userdata that is not null", function()
  local upvalue = {}
  return debug.upvalueid(function() return upvalue end, 1)
end)
add("NaN", function() return 0 / 0 end)
add("negative NaN", function() return -(0 / 0) end)
add("infinity", function() return math.huge end)
add("negative infinity", function() return -math.huge end)
add("a cycle of one table", function()
  local t = { name = SECRET }
  t.self = t
  return t
end)
add("a cycle through an array", function()
  local t = {}
  t[1] = { 1, { back = { t } } }
  return t
end)
add("a mixed table", function() return { 1, 2, name = SECRET } end)
add("a sparse array", function() return { [1] = 1, [3] = 3 } end)
add("an array that begins at 0", function() return { [0] = 1, 2 } end)
add("only an integer key", function() return { [5] = 1 } end)
add("a negative key", function() return { [-1] = 1 } end)
add("a huge key", function() return { [math.maxinteger] = 1 } end)
add("a float key", function() return { [2.5] = 1 } end)
add("a boolean key", function() return { [true] = 1 } end)
add("a table key", function() return { [{}] = 1 } end)
add("a null key", function() return { [ecs.null] = 1 } end)
add("a metatable", function() return setmetatable({ hp = 1 }, {}) end)
add("a class instance", function()
  local class = { name = SECRET }
  class.__index = class
  return setmetatable({ hp = 1 }, class)
end)
add("an empty table with a metatable", function() return setmetatable({}, {}) end)
add("a locked metatable", function() return setmetatable({}, { __metatable = false }) end)
add("a marked array with a string key", function()
  local t = ecs.array { 1 }
  t.name = SECRET
  return t
end)
add("a marked array with a hole", function()
  local t = ecs.array { 1, 2, 3 }
  t[2] = nil
  return t
end)
add("the key __proto__", function() return { __proto__ = { x = 1 } } end)
add("the key __proto__ with null", function() return { __proto__ = ecs.null, a = 1 } end)

local BAD_TEXT = {
  "\xFF", "\x80", "\xC3", "a\xC3(", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE2\x82",
  "\xE0\x9F\xBF",
  "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98",
  "\xF8\x88\x80\x80\x80", "\xFC\x84\x80\x80\x80\x80", "\xFE", "ok\0\xFFok",
  "\xED\xA0\xBD\xED\xB8\x80", -- a surrogate pair as two times three bytes
}

for _, text in ipairs(BAD_TEXT) do
  local what = ("the bytes %s"):format((text:gsub(".", function(c)
    return ("%02X "):format(c:byte())
  end)))
  add(what, function() return text end)
  add("a key with " .. what, function() return { [text] = 1 } end)
end

--- The value itself, and the value deeper inside arrays and objects.
unsafe.places = {
  function(x) return x end,
  function(x) return { x } end,
  function(x) return { a = x } end,
  function(x) return { 1, { b = { "c", { d = x } } } } end,
}

--- Strings that are text, lone surrogates as three bytes included.
unsafe.texts = {
  "", "\0", "a\0b", "\127", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}",
  "\u{10000}", "\u{10FFFF}", "\xED\xA0\x80", "\xED\xBF\xBF", "\xED\xB0\x80\xED\xA0\x80",
  "\xED\xA0\x80\u{1F600}", "\xED\xA0\x80\xED\xA0\x80", "\u{FEFF}",
}

return unsafe
