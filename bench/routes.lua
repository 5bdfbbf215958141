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
  local s = { n = n, world = workload.world(n), bytes = {}, onlySnapshots = onlySnapshots }
  s.sum = workload.checksum(workload.view(s.world))
  s.snapshot = ecs.saveSnapshot(s.world)
  s.hash = ecs.hashWorld(s.world)
  s.scene = ecs.scene(workload.world(10))
  s.columns = columns.floor and columns.of(s.world, columns.floor)
  if onlySnapshots then return s end
  s.plain = workload.plain(n)
  s.text = ecs.saveJSON(s.world)
  s.cjsonText = cjson.encode(ecs.saveWorld(s.world))
  s.plainText = baseline.save(s.plain)
  s.lossySum = workload.checksum(workload.view(s.world), true)
  check("the two forms of the workload differ",
    workload.checksum(workload.plainView(s.plain)) == s.sum)
  return s
end

-- ---- What a loaded world must be ------------------------------------------------------------

local function checkWorld(s, name, world, lossy)
  local sum = workload.checksum(workload.view(world), lossy)
  check(("%s, n = %d: the loaded world differs from the saved one"):format(name, s.n),
    sum == (lossy and s.lossySum or s.sum))
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
  local verify = onlyOnce(function(world) checkWorld(s, name, world, lossy) end)
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

local function saves(s)
  local list = {
    saver(s, "saveSnapshot", function() return ecs.saveSnapshot(s.world) end, s.snapshot),
    saver(s, "hashWorld", function() return ecs.hashWorld(s.world) end, s.hash),
  }
  s.bytes.loadSnapshot = #s.snapshot
  if s.onlySnapshots then return list end
  local more = {
    saver(s, "baseline save", function() return baseline.save(s.plain) end),
    saver(s, "saveJSON", function() return ecs.saveJSON(s.world) end, s.text),
    saver(s, "saveWorld + cjson", function() return cjson.encode(ecs.saveWorld(s.world)) end),
  }
  return table.move(list, 1, #list, #more + 1, more)
end

local function baselineLoad(s)
  local verify = onlyOnce(function(_, entities)
    s.losses = workload.losses(workload.plainView(s.plain), workload.plainView(entities))
    check("baseline: a value is lost", s.losses.others == 0)
  end)
  return {
    name = "baseline load", run = function() return baseline.load(s.plainText) end, done = verify,
  }
end

local function loadInPlace(s)
  local name = "loadSnapshot in place"
  local world = workload.world(s.n)
  s.bytes[name] = #s.snapshot
  return {
    name = name, run = function() ecs.loadSnapshot(world, s.snapshot) end,
    done = onlyOnce(function() checkWorld(s, name, world) end),
  }
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

local function floors(s)
  local floor, list = columns.floor, s.columns
  if not floor then return end
  return { name = "floor: read", run = function() return floor.read(list) end },
    { name = "floor: write", run = function() return floor.write(list) end }
end

--- The cases of a subject, in the order of the table.
function routes.cases(s)
  local read, write = floors(s)
  local list = saves(s)
  list[#list + 1] = read
  table.move(loads(s), 1, 6, #list + 1, list)
  list[#list + 1] = instantiate(s)
  list[#list + 1] = write
  return list
end

return routes
