--- Helpers of the save and restore specs: expected errors, small documents, before and after.

local cjson = require "cjson"
local ecs = require "ecsser"
local deep = require "spec.support.deep"

local ser = {}

--- Put into values that are refused: no error message may ever repeat it.
ser.SECRET = "this text is a value and must never be part of a message"

--- Calls `fn`, which must raise, and returns what it raised.
function ser.catch(fn, ...)
  local result = table.pack(pcall(fn, ...))
  if result[1] then
    error("an error was expected, but the call succeeded", 2)
  end
  return result[2]
end

local function expect(condition, what, level)
  if not condition then
    error(what, level + 1)
  end
end

--- Checks that `e` is a SerializeError of `func` with `code`, whose message holds each of `names`.
function ser.isError(e, func, code, names, level)
  level = (level or 1) + 1
  expect(ecs.isSerializeError(e), "not a SerializeError: " .. tostring(e), level)
  expect(e.code == code, ("code %s, not %s: %s"):format(code, tostring(e.code), e.message), level)
  expect(type(e.message) == "string" and tostring(e) == e.message, "tostring is not the message",
    level)
  expect(e.message:sub(1, #func + 2) == func .. ": ",
    "the message does not begin with " .. func .. ": but is " .. e.message, level)
  for _, name in ipairs(names or {}) do
    expect(e.message:find(name, #func + 1, true),
      ("the message does not name %q: %s"):format(name, e.message), level)
  end
  expect(not e.message:find(ser.SECRET, 1, true), "the message holds a value: " .. e.message,
    level)
  expect(not e.message:find("table: 0x", 1, true) and not e.message:find("userdata: ", 1, true),
    "the message holds an address: " .. e.message, level)
  -- Room for the path of a value that is nested 512 deep, but not for whole values.
  expect(#e.message < 4000, "a message of " .. #e.message .. " bytes", level)
  return e
end

--- Calls `fn(...)`, which must raise such an error (see isError); returns the error.
function ser.raises(func, code, names, fn, ...)
  local result = table.pack(pcall(fn, ...))
  if result[1] then
    error(("%s: the error %s was expected, but the call succeeded"):format(func, code), 2)
  end
  return ser.isError(result[2], func, code, names, 2)
end

--- A new world; `entries` are registered and `ignored` ignored when given.
function ser.world(entries, ignored)
  local world = ecs.createWorld()
  if entries then
    ecs.registerTraits(world, entries)
  end
  if ignored then
    ecs.ignoreTraits(world, ignored)
  end
  return world
end

--- A record with all its parts from one that may leave some out.
function ser.record(parts)
  parts = parts or {}
  return { tags = parts.tags or {}, traits = parts.traits or {}, pairs = parts.pairs or {} }
end

--- A snapshot with these records (each may leave parts out) and this world record.
function ser.doc(records, world)
  local entities = {}
  for i, parts in ipairs(records or {}) do
    entities[i] = ser.record(parts)
  end
  world = world or {}
  return {
    format = "ecs-serialize", version = 1, entities = entities,
    world = { tags = world.tags or {}, traits = world.traits or {} },
  }
end

--- The snapshot as lua-cjson gives it back from a file.
function ser.viaCjson(snapshot)
  return cjson.decode(cjson.encode(snapshot))
end

--- True when the table carries the array mark of ecs.array.
function ser.isMarked(t)
  local mark = debug.getmetatable(ecs.array({}))
  return mark ~= nil and debug.getmetatable(t) == mark
end

--- The handles of the entities that a save would list.
function ser.savedEntities(world)
  local out = {}
  for _, entity in ipairs(world:entities()) do
    if not world:has(entity, ecs.IsExcluded) then
      out[#out + 1] = entity
    end
  end
  return out
end

local function relationState(world, entity, relation)
  local out = {}
  for i, target in ipairs(world:targets(entity, relation)) do
    out[i] = { target = target, data = deep.copy(world:get(entity, relation(target))) }
  end
  return out
end

--- All that can be seen of a world through its own methods, as a copy, and by identity the values
-- of its AoS traits. Two calls around something that must not change the world compare equal.
function ser.state(world)
  local state = { entities = world:entities(), traits = {}, values = {}, identities = {} }
  for i, trait in ipairs(world:traits()) do
    state.traits[i] = trait.id
    local values = {}
    for k, entity in ipairs(state.entities) do
      if ecs.isRelation(trait) then
        values[entity] = k > 1 and relationState(world, entity, trait) or nil
      elseif world:has(entity, trait) then
        local value = world:get(entity, trait)
        values[entity] = { value = deep.copy(value) }
        if trait.kind == "aos" and type(value) == "table" then
          table.insert(state.identities, value)
        end
      end
    end
    state.values[trait.id] = values
  end
  return state
end

--- Checks that the world is as in `before` (a result of ser.state).
function ser.assertUnchanged(before, world, what)
  local after = ser.state(world)
  local found = deep.difference(before, after)
  expect(not found, ("%s changed the world at %s"):format(what or "the call", tostring(found)), 2)
  for i, value in ipairs(before.identities) do
    expect(rawequal(value, after.identities[i]), "an AoS value was replaced", 2)
  end
end

--- Checks that nothing of a restore is left: no saved entity, no registered world trait.
function ser.assertFresh(world, registered)
  expect(#ser.savedEntities(world) == 0, "entities are left over", 2)
  for _, trait in pairs(registered or {}) do
    expect(ecs.isRelation(trait) or not world:has(trait), "a world trait is left over", 2)
  end
end

--- Subscribes to all events of these traits; returns the log, a list of strings.
function ser.watch(world, traits)
  local log = {}
  for name, trait in pairs(traits) do
    for _, event in ipairs { "onAdd", "onRemove", "onChange" } do
      world[event](world, trait, function(entity, target)
        log[#log + 1] = ("%s %s %s %s"):format(event, name, entity, target)
      end)
    end
    local term = ecs.isRelation(trait) and trait("*") or trait
    for _, event in ipairs { "onQueryAdd", "onQueryRemove" } do
      world[event](world, term, function(entity)
        log[#log + 1] = ("%s %s %s"):format(event, name, entity)
      end)
    end
  end
  return log
end

--- A metatable whose every method raises; `ran` collects the names of those that were called.
function ser.hostile(ran, locked)
  local mt = { __name = "hostile", __mode = nil }
  if locked then
    mt.__metatable = "locked"
  end
  local names = "index newindex call len eq lt le concat unm add sub mul div idiv mod pow band bor "
    .. "bxor bnot shl shr tostring pairs close"
  for name in names:gmatch("%a+") do
    mt["__" .. name] = function()
      ran[#ran + 1] = name
      error("the metamethod __" .. name .. " ran")
    end
  end
  return mt
end

--- A list that holds lists `depth` deep; the innermost is empty.
function ser.nested(depth)
  local value = ecs.array {}
  for _ = 2, depth do
    value = { value }
  end
  return value
end

--- The ways a snapshot may take from one world to another: name, save and restore.
function ser.routes()
  local routes = {
    { name = "table", save = ecs.saveWorld, restore = ecs.restoreWorld },
    {
      name = "cjson", loose = true,
      save = function(world) return cjson.encode(ecs.saveWorld(world)) end,
      restore = function(world, text) return ecs.restoreWorld(world, cjson.decode(text)) end,
    },
  }
  if ecs.saveJSON then
    routes[3] = { name = "text", save = ecs.saveJSON, restore = ecs.restoreJSON }
  end
  return routes
end

return ser
