-- Operations of a world while a finalizer closes that world, at every allocation of theirs. Runs in
-- a process of its own, whose heap is small.

local ecs = require "ecsser"
local util = require "spec.support.world_util"

local M = {}

local T, Tag = ecs.trait { n = 0, any = ecs.null }, ecs.trait()
local Aos = ecs.trait(function() return { "made" } end)
local Made = ecs.trait { list = function() return {} end, text = "t" }
local R = ecs.relation { store = { n = 0 }, autoDestroy = "orphan" }
local One = ecs.relation { exclusive = true }

local codec = {
  toJSON = function(value) return { ecs.array(value.list), "t" } end,
  fromJSON = function(json) return { list = json[1], text = "t" } end,
}

local function entries()
  return {
    T = { trait = T, refs = {} }, Tag = Tag, Aos = Aos, Key = ecs.Key, R = { relation = R },
    One = One, Made = { trait = Made, codec = codec },
  }
end

local function fill(w)
  local e = {}
  for i = 1, 8 do
    e[i] = w:spawn(T { n = i, any = { i, { x = i } } }, i % 2 == 0 and Tag or Aos,
      ecs.Key("key" .. i))
    w:add(e[i], R(e[1], { n = i }), One(e[(i + 1) // 2]))
  end
  w:add(e[3], Made)
  w:add(T { n = 99 }, Tag)
  return e
end

-- A world with something of everything, which is listened to.
local function full()
  local s = { w = ecs.createWorld() }
  local w = s.w
  ecs.registerTraits(w, entries())
  s.e = fill(w)
  s.owner, s.column, s.bag = w, w:column(T, "n"), w:column(Aos)
  ecs.addSnapshotHandler(w, {
    name = "h", save = function() return { 1, { x = "y" } } end, load = function() end,
    finish = function() end,
  })
  return s
end

local function heard()
  local s = full()
  local w = s.w
  local function listen(...) s.heard = { s.heard and #s.heard, ... } end
  for _, thing in ipairs { T, Tag, Aos, R, One, Made, ecs.Key } do
    w:onAdd(thing, listen)
    w:onRemove(thing, listen)
    w:onChange(thing, listen)
  end
  w:onQueryAdd(T, ecs.Not(Tag), listen)
  s.off = w:onQueryRemove(R("*"), listen)
  return s
end

-- An empty world beside, to load into.
local function fresh()
  local s = full()
  s.from = s.w
  s.document, s.text = ecs.saveWorld(s.w), ecs.saveJSON(s.w)
  s.bytes, s.tree = ecs.saveSnapshot(s.w), ecs.saveSnapshot(s.w, { format = "table" })
  s.scene = ecs.scene(s.w)
  s.w = ecs.createWorld()
  ecs.registerTraits(s.w, entries())
  return s
end

local function loaded()
  local s = fresh()
  s.w = s.from
  return s
end

local list = {}
local function op(name, setup, act) list[#list + 1] = { name = name, setup = setup, act = act } end

for _, how in ipairs { { "", full }, { ", heard", heard } } do
  local also, setup = how[1], how[2]
  op("spawn" .. also, setup, function(_, w, e)
    w:spawn(T { n = 5, any = {} }, Aos, Made, R(e[2], { n = 2 }), One(e[3]), ecs.Key "new")
    w:spawn(ecs.trait { x = 1 }, ecs.trait(), ecs.relation()(e[1]))
  end)
  op("add" .. also, setup, function(_, w, e)
    w:add(e[2], Aos, Made, R(e[3], { n = 2 }), One(e[4]), ecs.Key "new")
    w:add(Aos, Made, ecs.trait { x = 1 })
  end)
  op("set" .. also, setup, function(_, w, e)
    w:set(e[1], T, { n = 7, any = ecs.null })
    w:set(e[1], T, "any", { {} })
    w:set(e[1], Aos, { "other" })
    w:set(e[1], R(e[1]), { n = 3 })
    w:set(e[1], ecs.Key, "else")
    w:set(T, "n", 4)
  end)
  op("remove" .. also, setup, function(_, w, e)
    w:remove(e[1], T, Aos, R("*"), One(e[1]), ecs.Key)
    w:remove(T)
  end)
  op("destroy" .. also, setup, function(_, w, e)
    w:destroy(e[8])
    w:destroy(e[1])
  end)
  op("reset" .. also, setup, function(_, w) w:reset() end)
end

op("get and has", full, function(_, w, e)
  for _ = 1, 5 do
    w:get(e[1], T)
    w:get(e[1], T, "n", "any")
    w:get(e[1], R(e[1]))
    w:has(e[1], R("*"))
    w:get(T)
  end
end)
op("column", full, function(_, w)
  w:column(T, "n")
  w:column(ecs.trait { x = 1, y = 2 }, "y")
  w:column(ecs.trait(function() return {} end))
end)
op("targets and sources", full, function(_, w, e)
  for _ = 1, 5 do
    w:targets(e[2], R)
    w:sources(e[1], R)
  end
end)
op("query", full, function(_, w, e)
  w:query(T, ecs.Not(Tag))
  w:query { ecs.Or(T, Tag, R("*")) }
  w:query(R(e[1]), ecs.Not(One(e[2])))
  w:slots(T, Aos)
  w:slots(R(e[1]))
end)
op("each", full, function(_, w, e)
  for entity, value in w:each(T, ecs.Not(Tag)) do type(entity, value) end
  for entity, value, pair in w:each(T, R(e[1]), Made) do type(entity, value, pair) end
end)
op("entities, traits, find, count", full, function(_, w, e)
  for _ = 1, 5 do
    w:entities()
    w:traits()
    w:find "key3"
    w:isAlive(e[1])
    w:count()
  end
end)
op("subscribing", full, function(_, w, e)
  for _ = 1, 3 do
    w:onAdd(T, print)()
    w:onRemove(R(e[1]), print)()
    w:onChange(ecs.trait { x = 1 }, print)
    w:onQueryAdd(T, Aos, print)()
    w:onQueryRemove(R(e[1]), ecs.Not(Tag), print)
  end
end)
op("unsubscribing", heard, function(s) s.off() end)
op("misuse", full, function(_, w, e)
  for _ = 1, 3 do
    pcall(w.spawn, w, 5)
    pcall(w.set, w, e[1], T, "n", "x")
    pcall(w.set, w, e[1], T, { [{}] = 1 })
    pcall(w.get, w, e[1], T, "unknown")
    pcall(w.add, w, e[1], R)
  end
end)

op("registerTraits", full, function(_, w)
  for i = 1, 3 do
    ecs.registerTraits(w, {
      ["A" .. i] = ecs.trait(),
      ["B" .. i] = { trait = ecs.trait { x = ecs.null }, refs = { "x" }, formerly = { "C" .. i } },
    })
  end
end)
op("ignoreTraits, getTraitName", full, function(_, w)
  ecs.ignoreTraits(w, { ecs.trait(), ecs.trait { x = 1 }, ecs.relation() })
  ecs.getTraitName(w, T)
end)
op("addSnapshotHandler", full, function(_, w)
  for i = 1, 3 do
    ecs.addSnapshotHandler(w, { name = "more" .. i, save = function() return 1 end })
  end
end)
op("saveWorld", full, function(_, w) ecs.saveWorld(w) end)
op("saveJSON", full, function(_, w) ecs.saveJSON(w, { pretty = true }) end)
op("saveSnapshot", full, function(_, w) ecs.saveSnapshot(w) end)
op("saveSnapshot with options", full, function(_, w)
  ecs.saveSnapshot(w, {
    filter = { T }, exclude = { Aos }, data = { x = { 1, 2 } }, meta = { y = 2 }, dangling = "null",
  })
end)
op("saveSnapshot as a table", full, function(_, w) ecs.saveSnapshot(w, { format = "table" }) end)
op("hashWorld", full, function(_, w) ecs.hashWorld(w) end)
op("findStrayHandles", full, function(s, w)
  w:set(s.e[1], T, "any", { s.e[2], { s.e[3] } })
  ecs.findStrayHandles(w)
end)
op("checkSnapshot", fresh, function(s, w) ecs.checkSnapshot(w, s.text) end)
op("restoreWorld", fresh, function(s, w) ecs.restoreWorld(w, s.document) end)
op("restoreJSON", fresh, function(s, w) ecs.restoreJSON(w, s.text) end)
op("restoreWorld, heard", fresh, function(s, w)
  w:onAdd(T, type)
  w:onAdd(T, function() error "no" end)
  assert(not pcall(ecs.restoreWorld, w, s.document))
end)
op("scene", full, function(_, w) ecs.scene(w) end)
op("loadSnapshot", loaded, function(s, w) ecs.loadSnapshot(w, s.bytes) end)
op("loadSnapshot of a table", fresh, function(s, w)
  ecs.loadSnapshot(w, s.tree, { replay = true })
end)
op("appendSnapshot", loaded, function(s, w)
  ecs.appendSnapshot(w, s.bytes, { keys = "drop", patch = function() end })
end)
op("instantiate", loaded, function(s, w)
  s.scene:instantiate(w, { keys = "drop", offset = { T = { n = 5 } } })
end)

M.list = list

-- ---- the collector ------------------------------------------------------------------------------

local GRAVES = 10   -- finalizers of one point

-- Makes garbage with finalizers, until the collector is about to call them: from now on a few at
-- every allocation. They call fn when their number is `last`.
local function dig(last, fn)
  local calls, meta = 0, {}
  function meta.__gc()
    calls = calls + 1
    if calls == last then fn() end
  end
  collectgarbage()
  collectgarbage("incremental", 100, 400, 1)
  collectgarbage "stop"
  for _ = 1, last + 10 do setmetatable({}, meta) end
  while calls == 0 do collectgarbage "step" end
  collectgarbage "restart"
  return function() return calls end
end

-- One registration while a finalizer makes another. False when it ended before the point.
local function register(point)
  local w <close> = ecs.createWorld()
  local outer, Late, inner = {}, ecs.trait { x = 1 }, nil
  for i = 1, 20 do
    outer["T" .. i] = { trait = ecs.trait { x = ecs.null }, refs = { "x" } }
  end
  local calls = dig(1 + point * GRAVES, function()
    inner = pcall(ecs.registerTraits, w, { Late = Late })
    pcall(ecs.ignoreTraits, w, { ecs.trait() })
  end)
  local ok, err = pcall(ecs.registerTraits, w, outer)
  local reached = calls() > point * GRAVES
  collectgarbage("incremental", 200, 100, 13)
  collectgarbage "restart"
  assert(ok, err)
  for name, entry in pairs(outer) do
    assert(ecs.getTraitName(w, entry.trait) == name)
  end
  assert(ecs.getTraitName(w, Late) == (inner and "Late" or nil))
  ecs.registerTraits(w, outer)
  w:spawn(outer.T1.trait, outer.T20.trait)
  ecs.hashWorld(w)
  return reached
end

function M.register(step)
  local point = 0
  while register(point) do point = point + step end
  print(point, "done")
end

-- One load while a finalizer spawns something with a trait that is new to the world.
local function load(point)
  local s = full()
  local w <close>, bytes, New = s.w, ecs.saveSnapshot(s.w), ecs.trait { x = 1 }
  local calls = dig(1 + point * GRAVES, function() pcall(w.spawn, w, New, T) end)
  ecs.loadSnapshot(w, bytes)
  local reached = calls() > point * GRAVES
  collectgarbage("incremental", 200, 100, 13)
  collectgarbage "restart"
  util.checkInvariants(w, { T, Tag, Aos, Made, New, ecs.Key }, { R, One })
  return reached
end

function M.load(step)
  local point = 0
  while load(point) do point = point + step end
  print(point, "done")
end

local other = ecs.createWorld()
fill(other)

-- One run that is closed at a point. False when the act ended earlier.
local function run(entry, point)
  local s, closed = entry.setup(), false
  local calls = dig(1 + point * GRAVES, function()
    closed = pcall(s.w.close, s.w)
  end)
  local ok, err = pcall(entry.act, s, s.w, s.e)
  local reached = calls() > point * GRAVES
  collectgarbage "stop"
  if not ok and not (util.isOurs(err) or ecs.isSerializeError(err) or closed) then
    error(entry.name .. ": " .. tostring(err), 0)
  end
  if closed then
    assert(not pcall(s.w.count, s.w), "the world is not closed")
    if s.owner == s.w then
      assert(not pcall(function() return s.column[1], s.bag[1] end), "a column is alive")
    end
    s.w:close()
  elseif not reached then
    assert(ok, err)
  end
  collectgarbage "restart"
  collectgarbage("incremental", 200, 100, 13)
  return reached, closed
end

-- Visits about `points` points of each operation whose name has the text.
function M.run(points, only)
  for _, entry in ipairs(list) do
    if not only or entry.name:find(only, 1, true) then
      local last, seen, closes = 1, 0, 0
      while run(entry, last) do last = last * 2 end   -- how many there are
      for point = 0, last, math.max(1, last // points) do
        local reached, closed = run(entry, point)
        if not reached then break end
        seen, closes = seen + 1, closes + (closed and 1 or 0)
      end
      util.checkInvariants(other, { T, Tag, Aos, Made, ecs.Key }, { R, One })
      print(("%s: %d points, %d closed"):format(entry.name, seen, closes))
    end
  end
  print "done"
end

return M
