--- Ready-made codecs for the entries of `registerTraits`: instances of classes, entities within
-- AoS values, tables whose keys are entities or integers.
--
--     local codec = require "ecsser.codec"
--     ecs.registerTraits(world, {
--       Planet = { trait = Planet, codec = codec.class(PlanetClass) },
--       Party  = { trait = Party,  codec = codec.refs { "leader", "members[]" } },
--       Threat = { trait = Threat, codec = codec.map { key = "entity" } },
--     })
--
-- A codec is a table with `toJSON(value, ctx)` and `fromJSON(json, ctx)`; none of these changes
-- what it is given. Make a codec once and keep it: registering a trait again with another one is
-- an error. What a codec refuses surfaces as a `codec-error` whose `cause` says what and where;
-- a wrong entity or index is `dangling-ref` or `malformed`, with the path down to the reference.
-- @module ecsser.codec

local ecs = require "ecsser"

local codec = {}

local null = ecs.null
local ARRAY = debug.getmetatable(ecs.array {})

-- Documents are not nested deeper, so a codec need not go further.
local DEPTH <const> = 512

-- ---- Errors and places ------------------------------------------------------------------------

-- Raises misuse of `codec.<name>` at its caller's line.
local function misuse(name, format, ...)
  error(("codec.%s: "):format(name) .. format:format(...), 4)
end

-- Raises what a codec refuses. It becomes the cause of a codec-error, which tells the trait.
local function refuse(name, format, ...)
  error(("codec.%s: "):format(name) .. format:format(...), 0)
end

-- A name from outside in a message: quoted, printable, not too long.
local function quote(name)
  local text = name
  if #name > 60 then text = name:sub(1, 60):gsub("[\xC0-\xFF][\x80-\xBF]*$", "") .. "..." end
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\x%02X"):format(c:byte()) end) .. '"'
end

-- The keys on the way into a value as a path; indices count from 0, as in the file.
local function pathOf(trail)
  local parts = {}
  for i, key in ipairs(trail) do
    if math.type(key) == "integer" then
      parts[i] = ("[%d]"):format(key - 1)
    elseif type(key) ~= "string" then
      parts[i] = ("[a %s]"):format(type(key))
    elseif key:find "^[%a_][%w_]*$" then
      parts[i] = "." .. key
    else
      parts[i] = "[" .. quote(key) .. "]"
    end
  end
  return table.concat(parts)
end

local function placeOf(trail)
  return trail[1] == nil and "the value" or (pathOf(trail):gsub("^%.", ""))
end

-- ctx.ref or ctx.entity; its errors know only the trait, so they are told the rest of the path.
local function refer(fn, value, trail)
  local ok, result = pcall(fn, value)
  if ok then return result end
  if not ecs.isSerializeError(result) or not result.path then
    return fn(value)  -- raises once more, as it is: full memory must stay what it is
  end
  local path, message = result.path, result.message
  local at, stop = message:find(path, 1, true)
  local inner = pathOf(trail)
  if at then result.message = message:sub(1, stop) .. inner .. message:sub(stop + 1) end
  result.path = path .. inner
  error(result, 0)
end

-- A context for a codec that is called for a part of the value.
local function within(ctx, trail)
  local inner = {}
  for key, item in next, ctx do inner[key] = item end
  for _, key in ipairs { "ref", "entity" } do
    local fn = ctx[key]
    inner[key] = fn and function(value) return refer(fn, value, trail) end
  end
  return inner
end

local function isCodec(value)
  return type(value) == "table" and type(rawget(value, "toJSON")) == "function"
    and type(rawget(value, "fromJSON")) == "function"
end

-- ---- Walks over a whole value -----------------------------------------------------------------

local function before(a, b)
  if type(a) ~= type(b) then return type(a) < type(b) end
  return (type(a) == "number" or type(a) == "string") and a < b
end

-- As `next`, in an order that depends on the keys only.
local function ordered(t)
  local keys, i = {}, 0
  for key in next, t do keys[#keys + 1] = key end
  table.sort(keys, before)
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end

local function unordered(t)
  return next, t
end

-- Calls visit(value, walk). Only when that fails it is done again in order and with a trail, so
-- that which fault is reported does not depend on the order of a table's keys, nor costs anything.
local function run(visit, value, walk)
  walk.each, walk.open, walk.trail = unordered, {}, {}
  local ok, result = pcall(visit, value, walk)
  if ok then return result end
  walk.each, walk.open, walk.trail = ordered, {}, {}
  return visit(value, walk)
end

-- A part of the value that is being walked.
local function step(visit, value, walk, key)
  if type(value) ~= "table" then return value end
  local trail = walk.trail
  trail[#trail + 1] = key
  if #trail > DEPTH then refuse("class", "the value is nested too deep") end
  local result = visit(value, walk)
  trail[#trail] = nil
  return result
end

-- ---- class ------------------------------------------------------------------------------------

local CLASS <const>, ITEMS <const> = "@class", "@items"

local function isEscaped(key)
  return type(key) == "string" and key:byte() == 64
end

-- The name of an instance's class. The class that is registered under a name may have been
-- loaded anew since the instance was made, so the name decides where the class itself is unknown.
local function nameOf(metatable, walk)
  local name = walk.names[metatable]
  if name then return name end
  name = rawget(metatable, "__name")
  if type(name) ~= "string" then
    refuse("class", "%s has a metatable that is none of the classes and has no __name",
      placeOf(walk.trail))
  elseif not walk.classes[name] then
    refuse("class", "%s is of the class %s, which is not registered", placeOf(walk.trail),
      quote(name))
  end
  return name
end

-- The form of an instance: its fields, its class under "@class", its list part under "@items".
-- Keys that begin with "@" get one more, so that every other table stays what it is.
local function strip(value, walk)
  if type(value) ~= "table" then return value end
  local metatable = debug.getmetatable(value)
  local name = metatable and metatable ~= ARRAY and nameOf(metatable, walk)
  if walk.open[value] then refuse("class", "%s contains itself", placeOf(walk.trail)) end
  walk.open[value] = true
  local out, items = {}, nil
  for key, item in walk.each(value) do
    local part = step(strip, item, walk, key)
    if name and type(key) ~= "string" then
      items = items or {}
      items[key] = part
    else
      out[isEscaped(key) and "@" .. key or key] = part
    end
  end
  walk.open[value] = nil
  if name then
    out[CLASS], out[ITEMS] = name, items
  elseif metatable then
    ecs.array(out)
  end
  return out
end

local function classOf(json, walk)
  local name = rawget(json, CLASS)
  if name == nil then return nil end
  if type(name) ~= "string" then
    refuse("class", "%s has a class that is a %s, not a name", placeOf(walk.trail), type(name))
  elseif not walk.classes[name] then
    refuse("class", "%s is of the unknown class %s", placeOf(walk.trail), quote(name))
  end
  return walk.classes[name]
end

local dress

local function dressItems(out, items, walk)
  if type(items) ~= "table" or #items == 0 and next(items) ~= nil then
    refuse("class", "the %s of %s are not a list", ITEMS, placeOf(walk.trail))
  end
  walk.trail[#walk.trail + 1] = ITEMS
  for i, item in ipairs(items) do out[i] = step(dress, item, walk, i) end
  walk.trail[#walk.trail] = nil
end

-- Builds the instances again. The metatable comes last: its methods never see half of one.
function dress(json, walk)
  if type(json) ~= "table" then return json end
  local class, out = classOf(json, walk), {}
  for key, item in walk.each(json) do
    if key == ITEMS and class then
      dressItems(out, item, walk)
    elseif not isEscaped(key) then
      out[key] = step(dress, item, walk, key)
    elseif key:sub(1, 2) == "@@" then
      out[key:sub(2)] = step(dress, item, walk, key)
    elseif key ~= CLASS then
      refuse("class", "%s has the unknown key %s", placeOf(walk.trail), quote(key))
    end
  end
  return setmetatable(out, class or debug.getmetatable(json))
end

-- The classes by name, and names by class. Functions are asked each time.
local function resolve(sources)
  local classes, names = {}, {}
  for _, source in ipairs(sources) do
    local class = source.class
    if type(class) == "function" then
      class = class()
      if type(class) ~= "table" then
        refuse("class", "the function for the class %s returned a %s", quote(source.name),
          type(class))
      end
    end
    classes[source.name], names[class] = class, names[class] or source.name
  end
  return { classes = classes, names = names }
end

local function classCodec(sources)
  table.sort(sources, function(a, b) return a.name < b.name end)
  return {
    toJSON = function(value) return run(strip, value, resolve(sources)) end,
    fromJSON = function(json) return run(dress, json, resolve(sources)) end,
  }
end

local function checkedSource(fn, class, name)
  if type(class) ~= "table" and type(class) ~= "function" then
    misuse(fn, "a class must be a metatable, or a function that returns it, not a %s",
      type(class))
  end
  if name == nil and type(class) == "table" then name = rawget(class, "__name") end
  if name == nil then
    misuse(fn, "the class has no __name of its own; give it a name")
  elseif type(name) ~= "string" or name == "" or not utf8.len(name) then
    misuse(fn, "the name of a class must be a non-empty string of UTF-8")
  end
  return { class = class, name = name }
end

--- Instances of one class: a table whose metatable is `class`. The file gets the instance's fields
-- and, under "@class", its name: `name`, or else the class's own `__name`. Restoring gives a table
-- with these fields and with the class of that name as its metatable; no constructor runs. This
-- works at any depth of the value; tables without a metatable stay plain tables, and what is shared
-- is saved as copies.
--
-- Names are the contract, so code may be loaded anew: instances of an older class with the same
-- `__name` are saved, and restored with the class that is registered. For a world that outlives the
-- reloading of its code, `class` may be a function that returns the present class:
--
--     codec.class(function() return require "game.planet" end, "Planet")
function codec.class(class, name)
  return classCodec { checkedSource("class", class, name) }
end

--- Several classes in one trait: `codec.classes { Planet, Moon, Ship = ShipClass }`. List elements
-- are named by their `__name`, the others by their key. Otherwise as `codec.class`.
function codec.classes(classes)
  if type(classes) ~= "table" then
    error(("codec.classes: bad argument #1 (table of classes expected, got %s)"):format(
      type(classes)), 2)
  end
  local sources, names, known = {}, {}, {}
  for key, class in next, classes do
    local source = checkedSource("classes", class, type(key) == "string" and key or nil)
    if names[source.name] then
      error(("codec.classes: two classes have the name %s"):format(quote(source.name)), 2)
    elseif type(class) == "table" and known[class] then
      error("codec.classes: one class has two names", 2)
    end
    names[source.name], known[class] = true, true
    sources[#sources + 1] = source
  end
  return classCodec(sources)
end

-- ---- refs -------------------------------------------------------------------------------------

local EACH <const>, ALL <const> = "[]", "{}"

-- "a.list[].x" as { "a", "list", "[]", "x" }; nil when it is no path.
local function parse(path)
  local steps, at = {}, 1
  while at <= #path do
    local found, stop = path:match("^(%[%])()", at)
    if not found then found, stop = path:match("^({})()", at) end
    if not found then
      found, stop = path:match(at == 1 and "^([^.%[%]{}]+)()" or "^%.([^.%[%]{}]+)()", at)
    end
    if not found then return nil end
    steps[#steps + 1], at = found, stop
  end
  return steps
end

local function childOf(node, key)
  for _, child in ipairs(node) do
    if child.key == key then return child end
  end
  local child = { key = key }
  node[#node + 1] = child
  return child
end

-- Puts a path into the tree. A node is a leaf, or has one child for all keys (`each` says which
-- keys may be there), or children by name in the order of the paths. Returns what is wrong.
local function plant(node, steps)
  for _, key in ipairs(steps) do
    if node.leaf then return "goes through another path's entity" end
    local each = (key == EACH or key == ALL) and key or nil
    if node[1] and node.each ~= each then return "overlaps another path" end
    node.each = each
    node = childOf(node, key)
  end
  if node.leaf then return "occurs twice" end
  if node[1] then return "is an entity, but another path goes through it" end
  node.leaf = true
end

-- A copy of one table whose parts are still the original's.
local function shallow(value)
  local copy = {}
  for key, item in next, value do copy[key] = item end
  return setmetatable(copy, debug.getmetatable(value))
end

local function keysFor(each, value, trail)
  local keys, kind = {}, each == EACH and "integer" or "string"
  for key in next, value do
    if (math.type(key) or type(key)) ~= kind then
      refuse("refs", each == EACH and "%s is not a list" or "%s has keys that are not strings",
        placeOf(trail))
    end
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

local translate

local function translateAt(copy, key, node, fn, trail)
  trail[#trail + 1] = key
  copy[key] = translate(copy[key], node, fn, trail)
  trail[#trail] = nil
end

-- The value with its entities translated by `fn`: only tables on the way to them are copied.
function translate(value, node, fn, trail)
  if value == nil or value == null then return value end
  if node.leaf then return refer(fn, value, trail) end
  if type(value) ~= "table" then
    refuse("refs", "%s is a %s, not a table", placeOf(trail), type(value))
  end
  local copy = shallow(value)
  if node.each then
    for _, key in ipairs(keysFor(node.each, value, trail)) do
      translateAt(copy, key, node[1], fn, trail)
    end
    return copy
  end
  for _, child in ipairs(node) do
    translateAt(copy, child.key, child, fn, trail)
  end
  return copy
end

--- Entities at places inside an AoS value: `codec.refs { "owner", "members[]", "slots{}" }`.
-- "a.b" is the field b of the field a, "list[]" each element of a list, "map{}" each value of a
-- table with string keys; they combine ("teams{}.members[].target", "[]", "grid[][]"), and "" is
-- the value itself. Wherever the way to an entity ends in nil or ecs.null, there is none.
function codec.refs(paths)
  if type(paths) ~= "table" then
    error(("codec.refs: bad argument #1 (list of paths expected, got %s)"):format(type(paths)), 2)
  end
  local root, count = {}, 0
  for _ in next, paths do count = count + 1 end
  for i = 1, count do
    local path = rawget(paths, i)
    local steps = type(path) == "string" and parse(path)
    if not steps then
      error(("codec.refs: path #%d is no path such as \"a.b\", \"list[]\" or \"map{}.x\"")
        :format(i), 2)
    end
    local wrong = plant(root, steps)
    if wrong then error(("codec.refs: the path %s %s"):format(quote(path), wrong), 2) end
  end
  if count == 0 then error("codec.refs: the list of paths is empty", 2) end
  return {
    toJSON = function(value, ctx) return translate(value, root, ctx.ref, {}) end,
    fromJSON = function(json, ctx) return translate(json, root, ctx.entity, {}) end,
  }
end

-- ---- map --------------------------------------------------------------------------------------

-- How the keys are read and written: fn(key, ctx, trail).
local KEYS <const> = {
  entity = {
    toJSON = function(key, ctx, trail) return refer(ctx.ref, key, trail) end,
    fromJSON = function(key, ctx, trail) return refer(ctx.entity, key, trail) end,
  },
  integer = {
    toJSON = function(key)
      if math.type(key) ~= "integer" then refuse("map", "a key is not an integer") end
      return key
    end,
    fromJSON = function(key, _, trail)
      local integer = math.type(key) and math.tointeger(key)
      if not integer then refuse("map", "%s is not an integer", placeOf(trail)) end
      return integer
    end,
  },
}

local function orNull(fn)
  return function(value, ctx, trail)
    return value == null and null or fn(value, ctx, trail)
  end
end

local function same(value)
  return value
end

local VALUES <const> = {
  value = { toJSON = same, fromJSON = same },
  entity = { toJSON = orNull(KEYS.entity.toJSON), fromJSON = orNull(KEYS.entity.fromJSON) },
}

-- One direction of a codec for the values.
local function valueBy(name, fn)
  return function(value, ctx, trail)
    local result = fn(value, ctx)
    if result == nil then refuse("map", "%s returned nil for %s", name, placeOf(trail)) end
    return result
  end
end

local function valueForm(value)
  if not isCodec(value) then return VALUES[value == nil and "value" or value] end
  return {
    nested = true,
    toJSON = valueBy("toJSON", rawget(value, "toJSON")),
    fromJSON = valueBy("fromJSON", rawget(value, "fromJSON")),
  }
end

local function writeMap(map, ctx, keys, values)
  if map == null then return null end
  if type(map) ~= "table" then refuse("map", "the value is a %s, not a table", type(map)) end
  if debug.getmetatable(map) then refuse("map", "the value has a metatable") end
  local rows, trail = ecs.array {}, {}
  for key, item in next, map do
    rows[#rows + 1] = ecs.array { keys.toJSON(key, ctx, trail), item }
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  ctx = values.nested and within(ctx, trail) or ctx
  for i, row in ipairs(rows) do
    trail[1], trail[2] = i, 2
    row[2] = values.toJSON(row[2], ctx, trail)
  end
  return rows
end

local function readKey(map, row, ctx, keys, trail)
  if type(row) ~= "table" or #row ~= 2 then
    refuse("map", "%s is not a [key, value] pair", placeOf { trail[1] })
  end
  local key = keys.fromJSON(row[1], ctx, trail)
  if map[key] ~= nil then refuse("map", "%s is a key that occurs twice", placeOf(trail)) end
  return key
end

local function readMap(json, ctx, keys, values)
  if json == null then return null end
  if type(json) ~= "table" or #json == 0 and next(json) ~= nil then
    refuse("map", "the value is not a list of [key, value] pairs")
  end
  local map, trail = {}, {}
  local inner = values.nested and within(ctx, trail) or ctx
  for i, row in ipairs(json) do
    trail[1], trail[2] = i, 1
    local key = readKey(map, row, ctx, keys, trail)
    trail[2] = 2
    map[key] = values.fromJSON(row[2], inner, trail)
  end
  return map
end

--- A table whose keys are entities or integers, which JSON has not: saved as a list of
-- [key, value], ascending by key (entities by their index in the file). The list may come back in
-- any order; a key that occurs twice is refused. `key` is "entity" or "integer", `value` is
-- "value" (the default: JSON-safe data), "entity" (or ecs.null), or a codec for each value.
function codec.map(options)
  if type(options) ~= "table" then
    error(("codec.map: bad argument #1 (table of options expected, got %s)"):format(
      type(options)), 2)
  end
  for name in next, options do
    if name ~= "key" and name ~= "value" then
      error(("codec.map: unknown option %s"):format(quote(tostring(name))), 2)
    end
  end
  local keys, values = KEYS[rawget(options, "key")], valueForm(rawget(options, "value"))
  if not keys then error('codec.map: the key must be "entity" or "integer"', 2) end
  if not values then error('codec.map: the value must be "value", "entity" or a codec', 2) end
  return {
    toJSON = function(value, ctx) return writeMap(value, ctx, keys, values) end,
    fromJSON = function(json, ctx) return readMap(json, ctx, keys, values) end,
  }
end

-- ---- both -------------------------------------------------------------------------------------

local function piped(name, first, second)
  return function(value, ctx)
    local result = first(value, ctx)
    if result == nil then refuse("both", "the first %s returned nil", name) end
    return second(result, ctx)
  end
end

--- One codec after another: toJSON of `a`, then that of `b`; fromJSON of `b`, then that of `a`.
-- `codec.both(codec.class(Party), codec.refs { "members[]" })` gives a class whose fields hold
-- entities: the paths are those of the instance, since its fields stay where they are (its list
-- part is under "@items").
function codec.both(a, b)
  for i = 1, 2 do
    local c = i == 1 and a or i == 2 and b
    if not isCodec(c) then
      error(("codec.both: bad argument #%d (codec expected, got %s)"):format(i, type(c)), 2)
    end
  end
  return {
    toJSON = piped("toJSON", rawget(a, "toJSON"), rawget(b, "toJSON")),
    fromJSON = piped("fromJSON", rawget(b, "fromJSON"), rawget(a, "fromJSON")),
  }
end

return codec
