--- The plan of a schedule: everything that is decided when it is built.

local ecs = require "ecsser"
local catalog = require "ecsser.schedule.catalog"
local check = require "ecsser.schedule.check"
local define = require "ecsser.schedule.define"
local frozen = require "ecsser.schedule.frozen"
local phases = require "ecsser.schedule.phases"
local systems = require "ecsser.schedule.systems"

local plan = {}

local OPTIONS = {
  name = true, plugins = true, phases = true, sets = true, systems = true, hooks = true,
}
local HOOKS = { beforeSystem = true, afterSystem = true, onSkip = true }

--- The conditions of a system in the order in which they are asked.
local function conditionsOf(system)
  local conditions = {}
  for _, set in ipairs(system.sets) do
    if set.runIf then conditions[#conditions + 1] = { test = set.runIf, set = set } end
  end
  if system.runIf then conditions[#conditions + 1] = { test = system.runIf } end
  return conditions
end

local function stepOf(system)
  return {
    system = system,
    name = system.name,
    run = system.run,
    conditions = conditionsOf(system),
  }
end

--- A stage is a phase with its systems. The stages that one call may run
-- together form a *track*: the automatic ones, or the manual ones of one
-- component.
local function addStages(p, order, trackOf)
  local tracks = {}
  for _, phase in ipairs(order) do
    local key = trackOf[phase]
    local track = tracks[key] or {}
    tracks[key] = track
    local stage = {
      phase = phase, track = track, place = #track + 1, manual = key ~= true,
      once = phase == define.OnStart, steps = {},
    }
    track[stage.place] = stage
    p.stages[phase] = stage
  end
  p.automatic = tracks[true]
end

local function addSteps(p, order)
  local lists = {}
  for _, system in ipairs(order) do
    local stage = p.stages[system.phase]
    local list = lists[stage] or {}
    lists[stage] = list
    list[#list + 1] = system
    stage.steps[#list] = stepOf(system)
    p.known[system] = true
  end
  for _, stage in pairs(p.stages) do stage.systems = frozen.list(lists[stage] or {}) end
end

local function addHooks(p, fn, hooks)
  if hooks == nil then return end
  check.options(fn .. ": hooks", hooks, HOOKS)
  p.beforeSystem = check.callable(fn, "hooks.beforeSystem", hooks.beforeSystem)
  p.afterSystem = check.callable(fn, "hooks.afterSystem", hooks.afterSystem)
  p.onSkip = check.callable(fn, "hooks.onSkip", hooks.onSkip)
end

--- The trait that holds the state of the schedule in each world. The order of
-- the fields is the order in which they are saved.
local function stateTrait(name)
  return ecs.trait {
    { "name", name },
    { "disabled", function() return ecs.array {} end },
    { "onStartDone", false },
  }
end

local METHODS = {
  "run", "runPhase", "runPhases", "enable", "disable", "isEnabled", "systemsOf", "isManual",
}

--- How the messages of each method begin. Made beforehand, so that calls that go
-- well make no strings.
local function labelsOf(name)
  local labels = {}
  for _, method in ipairs(METHODS) do
    labels[method] = ('%s: schedule "%s"'):format(method, name)
  end
  return labels
end

--- Builds a plan; every error that a schedule can have is raised here.
-- `sessions` keeps what belongs to a world and is not saved; it holds no world
-- alive.
function plan.build(options)
  if type(options) ~= "table" then
    check.fail("createSchedule: bad argument #1 (table expected, got %s)",
      check.describe(options))
  end
  local name = check.name("createSchedule", options.name)
  local fn = ('createSchedule: schedule "%s"'):format(name)
  check.options(fn, options, OPTIONS)
  local flat = catalog.flatten(fn, name, options)
  local phaseOrder, trackOf = phases.order(fn, flat.phases)
  local systemOrder = systems.order(fn, flat.systems, flat.sets, phaseOrder)
  local p = {
    name = name, labels = labelsOf(name), stages = {}, known = {},
    sessions = setmetatable({}, { __mode = "k" }),
  }
  addHooks(p, fn, options.hooks)
  addStages(p, phaseOrder, trackOf)
  addSteps(p, systemOrder)
  p.phases, p.systems = frozen.list(phaseOrder), frozen.list(systemOrder)
  p.state = stateTrait(name)
  return p
end

return plan
