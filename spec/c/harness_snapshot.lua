--- Scenarios of the allocation harness about snapshots: saving, loading in place, appending.

local kit = ...

local list = {}

local function scenario(name, setup, act)
  local entry = { name = name, setup = setup, act = act }
  list[#list + 1] = entry
  return entry
end

local function full() return kit.full(8) end

-- A world that is saved and then goes on: entities die and come, values change.
local function moved()
  local s = full()
  local w, e = s.w, s.handles
  s.bytes = s.ecs.saveSnapshot(w, { meta = { level = 3 }, data = { note = "kept" } })
  w:destroy(e[6])
  w:destroy(e[7])
  e[9] = w:spawn(s.Tag, s.Pos { x = 9 }, s.Key "third")
  e[10] = w:spawn(s.Likes(e[9], { why = "new" }), s.Intent { note = { "n" } })
  w:set(e[1], s.Pos, { x = -1 })
  w:remove(s.Label)
  return s
end

-- The same, with columns in hand, observers and tracked queries.
local function watched()
  local s = moved()
  local listen = kit.listen(s)
  s.log = {}
  s.columns = { { s.Pos, "x", s.w:column(s.Pos, "x") }, { s.Bag, nil, s.w:column(s.Bag) } }
  for _, def in ipairs(s.defs) do
    s.w:onAdd(def[2], listen)
    s.w:onRemove(def[2], listen)
  end
  s.w:onQueryAdd(s.Pos, listen)
  s.w:onQueryRemove(s.Likes("*"), listen)
  return s
end

-- With handlers that need memory.
local function handled()
  local s = moved()
  for _, name in ipairs { "first", "second" } do
    s.ecs.addSnapshotHandler(s.w, {
      name = name,
      save = function(w) return { name = name, count = w:count() } end,
      load = function(_, value) s.log[#s.log + 1] = { name, value } end,
      finish = function(_, header) s.log[#s.log + 1] = { name, header.meta } end,
    })
  end
  s.log = {}
  s.bytes = s.ecs.saveSnapshot(s.w)
  s.w:add(s.handles[1], s.Mark)
  return s
end

-- ---- saving and looking -------------------------------------------------------------------------

scenario("saveSnapshot", full, function(s)
  return s.ecs.saveSnapshot(s.w, { meta = { a = { 1, 2 } }, data = { custom = { 1, "two" } } })
end)

scenario("saveSnapshot as a table", full, function(s)
  return s.ecs.saveSnapshot(s.w, { format = "table" })
end)

scenario("saveSnapshot of some", full, function(s)
  return s.ecs.saveSnapshot(s.w, { filter = { s.Pos }, dangling = "null" })
end)

scenario("saveSnapshot with handlers", handled, function(s)
  return s.ecs.saveSnapshot(s.w)
end)

scenario("saveSnapshot is refused", function()
  local s = full()
  s.w:set(s.handles[3], s.Bag, { a = { [("long key "):rep(9)] = { print } } })
  return s
end, function(s)
  return kit.refused(s.ecs.saveSnapshot, s.w)
end)

scenario("hashWorld", full, function(s) return s.ecs.hashWorld(s.w) end)
scenario("inspectSnapshot", moved, function(s) return s.ecs.inspectSnapshot(s.bytes) end)

scenario("inspectSnapshot is refused", moved, function(s)
  return kit.refused(s.ecs.inspectSnapshot, s.bytes:sub(1, -9)),
    kit.refused(s.ecs.inspectSnapshot, "nonsense")
end)

scenario("findStrayHandles", function()
  local s = full()
  s.w:add(s.handles[2], s.Bag { s.handles[1], deep = { s.handles[3] } })
  return s
end, function(s)
  return s.ecs.findStrayHandles(s.w)
end)

-- ---- loading ------------------------------------------------------------------------------------

-- A load that fails puts everything back: the next handles, the order, the columns.
local function loading(name, setup, act)
  return scenario(name, setup, function(s)
    s.log = {}
    return act(s), s.log
  end)
end

local function load(s) return s.ecs.loadSnapshot(s.w, s.bytes) end

scenario("loadSnapshot", moved, load)
loading("loadSnapshot that is watched", watched, load)
loading("loadSnapshot with handlers", handled, load)

scenario("loadSnapshot into a new world", function()
  local s = moved()
  s.w = s.ecs.createWorld()
  s.ecs.registerTraits(s.w, kit.entries(s))
  return s
end, load)

-- Saved under other names, with other fields; `migrate` makes one of the values.
local function migrated(migrate)
  local s = moved()
  local entries = kit.entries(s)
  s.w = s.ecs.createWorld()
  s.Place = s.ecs.trait { x = 0, y = 0, z = 0, from = 0 }
  s.Marks = s.ecs.trait { text = "none", more = 1.5 }
  s.defs[#s.defs + 1] = { "Place", s.Place }
  s.defs[#s.defs + 1] = { "Marks", s.Marks }
  entries.Pos = { trait = s.Place, version = 3, migrate = migrate }
  entries.Aim = { trait = s.Intent, formerly = { "Intent" } }
  entries.Label = { trait = s.Marks, version = 2, migrate = function(value)
    return { text = value.text }
  end }
  entries.Intent = nil
  s.ecs.registerTraits(s.w, entries)
  s.handles = { s.w:spawn(s.Place { z = 1 }, s.Tag), s.w:spawn(s.Mark) }
  return s
end

scenario("loadSnapshot with migrate", function()
  return migrated(function(value, from)
    return { x = value.x, y = value.y, z = #("z"):rep(40), from = from }
  end)
end, load)

scenario("loadSnapshot of a table", function()
  local s = moved()
  s.bytes = s.ecs.saveSnapshot(s.w, { format = "table", meta = { 1 }, data = { note = "kept" } })
  s.w:destroy(s.handles[1])
  return s
end, load)

loading("loadSnapshot that is replayed", watched, function(s)
  return s.ecs.loadSnapshot(s.w, s.bytes, { replay = true })
end)

scenario("loadSnapshot of a damaged one", moved, function(s)
  local at = #s.bytes // 2
  local other = s.bytes:sub(1, at - 1) .. string.char(s.bytes:byte(at) ~ 1) .. s.bytes:sub(at + 1)
  return kit.refused(s.ecs.loadSnapshot, s.w, other),
    kit.refused(s.ecs.loadSnapshot, s.w, s.bytes:sub(1, at))
end)

-- What is raised inside is not told where the undo runs without memory.
local function failing(name, setup, act, make)
  local entry = (make or loading)(name, setup, act)
  function entry.act(s)
    s.log = {}
    local refused = act(s)
    return type(refused) == "table" and refused[1] or refused
  end
end

failing("loadSnapshot with a handler that raises", function()
  local s = handled()
  s.ecs.addSnapshotHandler(s.w, { name = "third", save = function() return 1 end,
    finish = function() error("no") end, load = function() end })
  s.bytes = s.ecs.saveSnapshot(s.w)
  return s
end, function(s)
  return kit.refused(s.ecs.loadSnapshot, s.w, s.bytes)
end)

failing("loadSnapshot with a codec that raises", function()
  local s = moved()
  s.link.fromJSON = nil
  s.w = s.ecs.createWorld()
  local entries = kit.entries(s)
  entries.Link.codec = { toJSON = print, fromJSON = function() error("no") end }
  s.ecs.registerTraits(s.w, entries)
  s.w:spawn(s.Tag, s.Pos)
  return s
end, function(s)
  return kit.refused(s.ecs.loadSnapshot, s.w, s.bytes)
end)

failing("loadSnapshot with a migrate that raises", function()
  return migrated(function(value) return value.x < 3 and value or error("no") end)
end, function(s)
  return kit.refused(s.ecs.loadSnapshot, s.w, s.bytes)
end)

failing("loadSnapshot with an observer that raises", function()
  local s = watched()
  s.w:onAdd(s.Holds, function() error("no") end)
  return s
end, function(s)
  return kit.refused(s.ecs.loadSnapshot, s.w, s.bytes, { replay = true })
end)

scenario("addSnapshotHandler", handled, function(s)
  s.ecs.addSnapshotHandler(s.w, { name = "third", save = function() return 1 end })
end)

-- ---- appending ----------------------------------------------------------------------------------

-- What was spawned and undone leaves its slots with a new generation.
local function appending(name, setup, act)
  local entry = loading(name, setup, act)
  entry.undo = true
  return entry
end

local function append(s) return s.ecs.appendSnapshot(s.w, s.bytes, { keys = "drop" }) end

appending("appendSnapshot", moved, append)
appending("appendSnapshot that is watched", watched, append)

appending("appendSnapshot with options", watched, function(s)
  return s.ecs.appendSnapshot(s.w, s.bytes, {
    keys = "replace",
    offset = { Pos = { x = 100 } },
    patch = function(entities) s.log[#s.log + 1] = { "patch", #entities } end,
  })
end)

failing("appendSnapshot that is refused", watched, function(s)
  return kit.refused(s.ecs.appendSnapshot, s.w, s.bytes)
end, appending)

failing("appendSnapshot with a patch that raises", watched, function(s)
  return kit.refused(s.ecs.appendSnapshot, s.w, s.bytes, {
    keys = "replace", patch = function() error("no") end })
end, appending)

-- ---- scenes -----------------------------------------------------------------------------------

scenario("scene", full, function(s)
  local scene = s.ecs.scene(s.w, { filter = { s.Pos, s.ecs.Not(s.Goal) }, dangling = "null" })
  return scene.entityCount, #scene.traitNames
end)

appending("scene:instantiate", function()
  local s = watched()
  s.scene = s.ecs.scene(s.bytes)
  return s
end, function(s)
  return s.scene:instantiate(s.w, { keys = "drop", offset = { Pos = { x = 1, y = 2 } } })
end)

return list
