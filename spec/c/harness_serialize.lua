--- Scenarios of the allocation harness about names, saving and restoring.

local kit = ...

local list = {}

local function scenario(name, setup, act)
  local entry = { name = name, setup = setup, act = act }
  list[#list + 1] = entry
  return entry
end

-- ---- a world that can be saved ------------------------------------------------------------------

local entries, registered, full = kit.entries, kit.registered, kit.full

-- The saved text (and table) of such a world, and a fresh world to restore it into.
local function fresh(n)
  local s = full(n)
  s.text, s.table = s.ecs.saveJSON(s.w), s.ecs.saveWorld(s.w)
  s.w = s.ecs.createWorld()
  s.ecs.registerTraits(s.w, entries(s))
  return s
end

-- One that was used before: free slots, a prefab, a shown column, a key, tracked queries.
local function used(n)
  local s = fresh(n)
  local w, gone = s.w, {}
  for i = 1, 10 do
    gone[i] = w:spawn(s.Pos, s.Key("old" .. i))
  end
  s.prefab = w:spawn(s.IsExcluded, s.Key "prefab", s.Label)
  for _, i in ipairs { 3, 9, 1, 2, 8, 10, 7, 6, 5, 4 } do
    w:destroy(gone[i])
  end
  s.columns = { { s.Pos, "x", w:column(s.Pos, "x") } }
  s.handles = { gone[1], gone[10], s.prefab }
  s.keys = { "prefab", "first", "old1" }
  return s
end

-- The same with observers that write down what they hear.
local function heard()
  local s = used()
  local listen = kit.listen(s)
  s.log = {}
  for _, def in ipairs(s.defs) do
    s.w:onAdd(def[2], listen)
    s.w:onRemove(def[2], listen)
  end
  s.w:onQueryAdd(s.Pos, listen)
  s.w:onQueryAdd(s.ecs.Not(s.Tag), listen)
  s.w:onQueryRemove(s.Likes("*"), listen)
  return s
end

-- ---- registration -------------------------------------------------------------------------------

local function unregistered()
  local s = kit.filled()
  entries(s)
  return s
end

scenario("registerTraits, a map", unregistered, function(s)
  s.ecs.registerTraits(s.w, entries(s))
end)

scenario("registerTraits, 20 more as a list", function()
  local s = registered()
  s.entries, s.saved = {}, false
  for i = 1, 20 do
    local T = s.ecs.trait { who = s.ecs.null, n = i }
    s.defs[#s.defs + 1] = { "More" .. i, T }
    local entry = i % 3 == 0 and { trait = T, refs = { "who" } } or
      i % 3 == 1 and { trait = T, codec = s.link, version = 2 } or T
    s.entries[i] = { "More" .. 21 - i, entry }
  end
  return s
end, function(s)
  s.ecs.registerTraits(s.w, s.entries)
end)

scenario("registerTraits with all options", unregistered, function(s)
  s.ecs.registerTraits(s.w, {
    { "Path", { trait = s.Path, version = 3, migrate = print, formerly = { "Way", "Road" } } },
    { "Pos", { trait = s.Pos, transient = "default" } },
    { "Link", { trait = s.Link, transient = true } },
    { "Goal", { trait = s.Goal, refs = { "whom", "who" } } },
    { "Likes", { relation = s.Likes } },
  })
end)

scenario("registerTraits, again the same", registered, function(s)
  s.ecs.registerTraits(s.w, entries(s))
end)

scenario("registerTraits is refused", function()
  local s = registered()
  s.T = s.ecs.trait { n = 1 }
  return s
end, function(s)
  local register = s.ecs.registerTraits
  return kit.refused(register, s.w, { A = s.T, Goal = { trait = s.Goal, refs = { "who" } } }),
    kit.refused(register, s.w, { B = { trait = s.T, refs = { "n", "none" } } }),
    kit.refused(register, s.w, { { "C", s.T }, { "D", s.Pos } }),
    kit.refused(register, s.w, { E = { trait = s.T, codec = { toJSON = print } } }),
    s.ecs.getTraitName(s.w, s.T)
end)

scenario("ignoreTraits, 20", function()
  local s = kit.filled()
  s.ignore = { s.Bag, s.Near }
  for i = 3, 20 do
    s.ignore[i] = s.ecs.trait { n = i }
  end
  return s
end, function(s)
  s.ecs.ignoreTraits(s.w, s.ignore)
end)

scenario("ignoreTraits is refused", function()
  local s = registered()
  s.T = s.ecs.trait()
  return s
end, function(s)
  return kit.refused(s.ecs.ignoreTraits, s.w, { s.T, s.Pos }),
    kit.refused(s.ecs.ignoreTraits, s.w, { s.T, 5 })
end)

-- ---- saving -------------------------------------------------------------------------------------

local function many() return full(12) end

scenario("saveWorld", full, function(s) return s.ecs.saveWorld(s.w) end)
scenario("saveWorld, 12 entities", many, function(s) return s.ecs.saveWorld(s.w) end)
scenario("saveJSON", full, function(s) return s.ecs.saveJSON(s.w) end)
scenario("saveJSON, 12 entities", many, function(s) return s.ecs.saveJSON(s.w) end)

scenario("saveWorld is refused", function()
  local s = full()
  s.w:set(s.handles[3], s.Bag, { a = { b = { [("long key "):rep(8)] = { long = { print } } } } })
  return s
end, function(s)
  return kit.refused(s.ecs.saveWorld, s.w), kit.refused(s.ecs.saveJSON, s.w)
end)

scenario("saveWorld with an unregistered trait", function()
  local s = full()
  s.w:add(s.handles[2], s.ecs.trait { n = 1 })
  return s
end, function(s)
  return kit.refused(s.ecs.saveWorld, s.w)
end)

scenario("saveWorld with a dangling reference", function()
  local s = full()
  s.w:destroy(s.handles[5])
  return s
end, function(s)
  return kit.refused(s.ecs.saveWorld, s.w)
end)

for _, fault in ipairs {
  { "raises", function() error({ "no" }) end },
  { "yields", function() coroutine.yield() end },
  { "returns nil", function() end },
} do
  scenario("saveWorld with a codec that " .. fault[1], function()
    local s = kit.filled()
    s.T = s.ecs.trait { n = 1 }
    s.ecs.registerTraits(s.w, entries(s))
    s.ecs.registerTraits(s.w, { T = { trait = s.T, codec =
      { toJSON = fault[2], fromJSON = print } } })
    s.w:spawn(s.T)
    return s
  end, function(s)
    local refused = kit.refused(s.ecs.saveWorld, s.w)
    refused[4] = nil   -- the address of the cause
    return refused
  end)

  scenario("restoreWorld with a codec that " .. fault[1], function()
    local s = fresh()
    s.T = s.ecs.trait { n = 1 }
    s.ecs.registerTraits(s.w, { T = { trait = s.T, codec =
      { toJSON = print, fromJSON = fault[2] } } })
    s.table.entities[3].traits.T = 5
    return s
  end, function(s)
    local refused = kit.refused(s.ecs.restoreWorld, s.w, s.table)
    refused[4] = nil
    return refused
  end).undo = true
end

-- ---- restoring ----------------------------------------------------------------------------------

local function restoring(name, setup, act)
  local entry = scenario(name, setup, function(s)
    s.log = {}
    return act(s), s.log
  end)
  entry.undo = true
  return entry
end

local function restore_table(s) return s.ecs.restoreWorld(s.w, s.table) end
local function restore_text(s) return s.ecs.restoreJSON(s.w, s.text) end

restoring("restoreWorld", fresh, restore_table)
restoring("restoreJSON", fresh, restore_text)
restoring("restoreWorld, 30 entities", function() return fresh(30) end, restore_table)
restoring("restoreJSON, 70 entities", function() return fresh(70) end, restore_text)
restoring("restoreWorld into a world that was used", used, restore_table)
restoring("restoreJSON into a world that was used", used, restore_text)
restoring("restoreWorld that is heard", heard, restore_table)
restoring("restoreJSON that is heard", heard, restore_text)

restoring("restoreWorld, numbers from a decoder that knows floats only", function()
  local s = fresh()
  s.table.version = 1.0
  s.table.entities[1].traits.Likes = nil
  return s
end, restore_table)

local function failing(name, setup, act)
  local entry = restoring(name, setup, act)
  function entry.act(s)
    s.log = {}
    return act(s)
  end
end

for _, fault in ipairs {
  { "raises", function() error({ "no" }) end },
  { "yields", function() coroutine.yield() end },
} do
  failing("restoreWorld with an observer that " .. fault[1], function()
    local s = heard()
    s.w:onAdd(s.Owns, fault[2])
    return s
  end, function(s)
    local refused = kit.refused(s.ecs.restoreWorld, s.w, s.table)
    return refused[1], refused[2]
  end)

  failing("restoreJSON with observers of which one " .. fault[1] .. ", also in the undo", function()
    local s = heard()
    s.w:onAdd(s.Owns, function() error("no") end)
    s.w:onRemove(s.Pos, fault[2])
    s.w:onQueryRemove(s.Pos, fault[2])
    return s
  end, function(s)
    local refused = kit.refused(s.ecs.restoreJSON, s.w, s.text)
    return refused[1], refused[2]
  end)
end

failing("restoreWorld with an observer that destroys", function()
  local s = fresh()
  s.w:onAdd(s.Mark, function(e) s.w:destroy(e) end)
  return s
end, function(s)
  local refused = kit.refused(s.ecs.restoreWorld, s.w, s.table)
  return refused[1]
end)

restoring("restoreWorld with observers that add what comes", function()
  local s = fresh()
  s.w:onAdd(s.Pos, function(e)
    if not s.w:has(e, s.Label) then
      s.w:add(e, s.Label { text = "early" }, s.Bag)
    end
  end)
  return s
end, restore_table)

scenario("restoreWorld is refused", function()
  local s = fresh()
  s.table.entities[2].traits.Pos.x = "text"
  s.table.entities[3].tags[1] = "Nobody"
  s.Long = s.ecs.trait { ["a_field_whose_name_is_long_" .. ("x"):rep(80)] = 1 }
  s.ecs.registerTraits(s.w, { ["A long name " .. ("y"):rep(40)] = s.Long })
  s.long = s.text:gsub('"traits":{', '"traits":{"A long name ' .. ("y"):rep(40) ..
    '":{"a_field_whose_name_is_long_' .. ("x"):rep(80) .. '":"no"},', 1)
  return s
end, function(s)
  return kit.refused(s.ecs.restoreWorld, s.w, s.table),
    kit.refused(s.ecs.restoreJSON, s.w, s.long),
    kit.refused(s.ecs.restoreJSON, s.w, s.text:sub(1, -10)),
    kit.refused(s.ecs.restoreJSON, s.w, s.text:gsub('"Pos"', '"P"'))
end)

scenario("restoreWorld into a world that is not fresh", function()
  local s = fresh()
  s.w:add(s.Tag)
  return s
end, function(s)
  return kit.refused(s.ecs.restoreWorld, s.w, s.table)
end)

-- ---- checking, text -----------------------------------------------------------------------------

local function shown(ok, errors)
  local texts = {}
  for i, err in ipairs(errors or {}) do
    texts[i] = { err.code, err.path, err.message, err.offset }
  end
  return ok, texts
end

scenario("checkSnapshot of a table", fresh, function(s)
  return shown(s.ecs.checkSnapshot(s.w, s.table))
end)

scenario("checkSnapshot of a text", used, function(s)
  return shown(s.ecs.checkSnapshot(s.w, s.text))
end)

scenario("checkSnapshot that finds errors", function()
  local s = fresh()
  for i, entity in ipairs(s.table.entities) do
    entity.traits["Un" .. i] = i
    entity.tags[1] = 5
    entity.traits.Pos = { x = "x", w = 1 }
  end
  return s
end, function(s)
  return shown(s.ecs.checkSnapshot(s.w, s.table))
end)

scenario("checkSnapshot of no text", fresh, function(s)
  return shown(s.ecs.checkSnapshot(s.w, "{\"format\":"))
end)

local function value()
  local s = kit.empty()
  s.value = { 1, 2.5, "text", true, s.ecs.null, { a = { b = { c = {} } }, ["a key"] = -0.0 },
    s.ecs.array {}, ("long text "):rep(20), {} }
  for i = 1, 20 do
    s.value[9]["key" .. i] = { i, tostring(i) }
  end
  s.text = s.ecs.encode(s.value)
  return s
end

scenario("encode", value, function(s) return s.ecs.encode(s.value) end)
scenario("decode", value, function(s) return s.ecs.decode(s.text) end)

scenario("encode is refused", function()
  local s = value()
  s.value[9].key7[1] = { [("long key "):rep(8)] = { quite_long_key = { print } } }
  return s
end, function(s)
  return kit.refused(s.ecs.encode, s.value)
end)

scenario("decode is refused", value, function(s)
  return kit.refused(s.ecs.decode, s.text:sub(1, -3)), kit.refused(s.ecs.decode, "[1, 2,]"),
    kit.refused(s.ecs.decode, "{\"a\":1,\"a\":2}")
end)

return list
