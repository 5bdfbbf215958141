--- The ways out of a world and into one, as cases for bench.measure. Every result is checked.

local baseline = require "bench.baseline"
local cjson = require "cjson"
local columns = require "bench.columns"
local ecs = require "ecsser"
local workload = require "bench.workload"

local routes = {}

local function check(what, holds)
  if not holds then error("bench: " .. what, 0) end
end

--- W(n) in every form that a case starts from, and the sums to compare with.
function routes.subject(n, onlySnapshots)
  local s = { n = n, world = workload.world(n), bytes = {}, losses = {},
    onlySnapshots = onlySnapshots }
  s.sum = workload.checksum(workload.view(s.world))
  s.snapshot = ecs.saveSnapshot(s.world)
  s.hash = ecs.hashWorld(s.world)
  s.scene = ecs.scene(workload.world(10))
  if onlySnapshots then return s end
  local plain = workload.plain(n)
  s.text = ecs.saveJSON(s.world)
  s.cjsonText = cjson.encode(ecs.saveWorld(s.world))
  s.plainText = baseline.save(plain)
  check("the two forms of the workload differ",
    workload.checksum(workload.plainView(plain)) == s.sum)
  return s
end

-- ---- What a loaded world must be ------------------------------------------------------------

local function checkWorld(s, name, world)
  check(("%s, n = %d: the loaded world differs from the saved one"):format(name, s.n),
    workload.checksum(workload.view(world)) == s.sum)
end

--- lua-cjson keeps 14 digits of a double; all else must be there.
local function checkLossy(s, name, view)
  local lost, all = workload.losses(workload.view(s.world), view)
  check(("%s, n = %d: a value is lost"):format(name, s.n), lost.others == 0)
  s.losses[name] = { lost = lost, all = all }
end

--- Checks the first result; the others are made in the same way.
local function onlyOnce(fn)
  local checked = false
  return function(...)
    if not checked then fn(...) end
    checked = true
  end
end

local function loader(s, name, run, lossy)
  local verify = onlyOnce(function(world)
    if lossy then checkLossy(s, name, workload.view(world))
    else checkWorld(s, name, world) end
  end)
  return {
    name = name, setup = workload.empty, run = run,
    done = function(world)
      verify(world)
      world:close()
    end,
  }
end

local function saver(s, name, run, expected)
  return {
    name = name, run = run,
    done = function(_, result)
      s.bytes[name] = #result
      check(("%s, n = %d: two saves differ"):format(name, s.n),
        not expected or result == expected)
    end,
  }
end

--- Instance k of the scene W(10) must be W(10) again, with its references inside.
local function checkInstances(s, world)
  local view, scene = workload.view(world), workload.view(workload.world(10))
  check("instantiate: a wrong number of entities", view.count == s.n // 10 * 10)
  local got, expected = {}, {}
  for k = 1, 10 do
    local first = view.count - 10
    view.read(first + k, got)
    scene.read(k, expected)
    for _, reference in ipairs { 11, 13 } do
      if got[reference] then got[reference] = got[reference] - first end
    end
    for i = 1, 25 do check("instantiate: a wrong value", got[i] == expected[i]) end
  end
end

-- ---- The cases ------------------------------------------------------------------------------

--- The plain world is there only when its turn comes, or else its many tables would burden the
-- collector while the other routes are measured.
local function baselineSave(s)
  local case = saver(s, "baseline save", baseline.save)
  case.setup = function() return workload.plain(s.n) end
  return case
end

local function baselineLoad(s)
  local name = "baseline load"
  return {
    name = name, run = function() return baseline.load(s.plainText) end,
    done = onlyOnce(function(_, entities)
      checkLossy(s, name, workload.plainView(entities))
    end),
  }
end

local function loadInPlace(s)
  local name = "loadSnapshot in place"
  s.bytes[name] = #s.snapshot
  return {
    name = name, run = function() ecs.loadSnapshot(s.world, s.snapshot) end,
    done = onlyOnce(function() checkWorld(s, name, s.world) end),
  }
end

local function saves(s)
  local list = {
    saver(s, "saveSnapshot", function() return ecs.saveSnapshot(s.world) end, s.snapshot),
    saver(s, "hashWorld", function() return ecs.hashWorld(s.world) end, s.hash),
  }
  s.bytes.loadSnapshot = #s.snapshot
  if s.onlySnapshots then return list end
  local more = {
    baselineSave(s),
    saver(s, "saveJSON", function() return ecs.saveJSON(s.world) end, s.text),
    saver(s, "saveWorld + cjson", function() return cjson.encode(ecs.saveWorld(s.world)) end),
  }
  return table.move(list, 1, #list, #more + 1, more)
end

local function loads(s)
  local list = {
    loader(s, "loadSnapshot", function(world) ecs.loadSnapshot(world, s.snapshot) end),
    loader(s, "appendSnapshot", function(world) ecs.appendSnapshot(world, s.snapshot) end),
  }
  s.bytes.loadSnapshot, s.bytes.appendSnapshot = #s.snapshot, #s.snapshot
  if s.onlySnapshots then return list end
  table.insert(list, 2, loadInPlace(s))
  local more = {
    baselineLoad(s),
    loader(s, "restoreJSON", function(world) ecs.restoreJSON(world, s.text) end),
    loader(s, "cjson + restoreWorld",
      function(world) ecs.restoreWorld(world, cjson.decode(s.cjsonText)) end, true),
  }
  s.bytes["baseline load"], s.bytes.restoreJSON = #s.plainText, #s.text
  s.bytes["cjson + restoreWorld"] = #s.cjsonText
  return table.move(list, 1, #list, #more + 1, more)
end

local function instantiate(s)
  local verify = onlyOnce(function(world) checkInstances(s, world) end)
  return {
    name = "instantiate 10 at a time", setup = workload.empty,
    run = function(world)
      for _ = 1, s.n // 10 do s.scene:instantiate(world) end
    end,
    done = function(world)
      verify(world)
      world:close()
    end,
  }
end

--- The floor, by name of the function in bench/floor.c.
local FLOORS = {
  read = "floor: read", inside = "floor: read, nested too",
  write = "floor: write", copies = "floor: write, nested too",
}

local function addFloors(s, list, ...)
  for _, name in ipairs(columns.floor and { ... } or {}) do
    table.insert(list, {
      name = FLOORS[name], run = columns.floor[name],
      setup = function() return columns.of(s.world, columns.floor) end,
    })
  end
end

--- The cases of a subject, in the order of the table.
function routes.cases(s)
  local list = saves(s)
  addFloors(s, list, "read", "inside")
  for _, case in ipairs(loads(s)) do list[#list + 1] = case end
  list[#list + 1] = instantiate(s)
  addFloors(s, list, "write", "copies")
  return list
end

return routes
