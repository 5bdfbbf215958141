--- Systems in phases: a scheduler that is stepped by its caller.
--
-- A *system* is a function `(world, dt)` in a *phase*. Phases are ordered once,
-- when the schedule is built; so are the systems in them, by `before` and
-- `after` between systems and *sets* of systems. A *plugin* is a list of phases,
-- sets and systems to hand over. All of them are read-only data.
--
--     local schedule = require "ecsser.schedule"
--     local move = schedule.defineSystem { name = "move", run = function(world, dt) end }
--     local main = schedule.createSchedule { name = "main", systems = { move } }
--     main:run(world, 1 / 60)
--
-- `run` runs the builtin phases and all that are connected to them. Phases
-- without a connection, and those defined with `manual = true`, only run through
-- `runPhase` and `runPhases`: a turn, stepped as the game goes on.
--
-- What a schedule has to remember about a world (which systems are disabled,
-- whether `OnStart` is done) is a world-level trait, `schedule.state`. Register
-- it, and it is saved and restored with the world. Names of schedules must be
-- unique per world.
--
-- @module ecsser.schedule

local check = require "ecsser.schedule.check"
local define = require "ecsser.schedule.define"
local frozen = require "ecsser.schedule.frozen"
local plan = require "ecsser.schedule.plan"
local run = require "ecsser.schedule.run"
local session = require "ecsser.schedule.session"

local schedule = {}

--- The builtin phases, in the order in which they run: `OnStart` (the systems
-- in it run once per world), `OnLoad`, `PostLoad`, `PreUpdate`, `OnUpdate` (where
-- a system goes that names no phase), `OnValidate`, `PostUpdate`, `PreStore`,
-- `OnStore`.
for _, phase in ipairs(define.BUILTIN) do schedule[phase.name] = phase end

--- Defines a phase.
-- @function definePhase
-- @tparam string name its name, unique in a schedule
-- @tparam[opt] table options `dependsOn`: list of phases that run before it;
-- `before`: list of phases that run after it; `manual`: true if `run` shall
-- leave it out
-- @return a phase with the fields `name`, `dependsOn`, `before`, `manual`
schedule.definePhase = check.api(define.phase)

--- Defines a system.
-- @function defineSystem
-- @tparam table options `name`: unique in a schedule; `run`: function
-- `(world, dt)`, which must neither yield nor return a coroutine; `phase`: a
-- phase, `OnUpdate` by default; `before`, `after`: lists of systems and sets;
-- `sets`: list of the sets that it is in; `runIf`: function `(world)` that
-- returns true or false, asked each time before the system would run
-- @return a system with these options as its fields
schedule.defineSystem = check.api(define.system)

--- Defines a set: a name for systems that are ordered or gated together.
-- @function defineSet
-- @tparam string name its name, unique in a schedule
-- @tparam[opt] table options `before`, `after`: lists of sets; `runIf`: a
-- condition for every member, as for a system
-- @return a set with the fields `name`, `before`, `after`, `runIf`
schedule.defineSet = check.api(define.set)

--- Defines a plugin: phases, sets and systems that a schedule takes over.
-- @function definePlugin
-- @tparam table options `name`; `phases`, `sets`, `systems`: lists
-- @return a plugin with these options as its fields
schedule.definePlugin = check.api(define.plugin)

local PLAN = {}
local Schedule = {}

--- Builds a schedule. Whatever is wrong with the phases, sets and systems, or
-- with their order, is an error here: a schedule that was built never raises
-- one about its order.
--
-- The schedule has the fields `name`; `phases` and `systems`, read-only lists
-- in the order in which they run; and `state`, the world-level trait that holds
-- what the schedule remembers about a world:
--
--     { name = "main", disabled = { "render" }, onStartDone = true }
--
-- It is added to a world on first use, with the defaults: nothing disabled,
-- `OnStart` not done. `disabled` is what counts for the enabled state. Change it
-- with `enable` and `disable`, or replace the list:
-- `world:set(main.state, { disabled = { … } })`. Changing the list *in place*,
-- as in `table.insert(world:get(main.state, "disabled"), name)`, is not
-- supported: the schedule notices a new list, not a changed one, and may go on
-- with the old names. Names that no system has are ignored.
--
-- @function createSchedule
-- @tparam table options `name`: unique among the schedules of a world;
-- `plugins`: list of plugins, which come first, in this order; `phases`, `sets`,
-- `systems`: lists in the order of declaration, which decides where the edges
-- leave a choice; `hooks`: table of functions `beforeSystem(ctx)`,
-- `afterSystem(ctx)` and `onSkip(ctx, reason)`. A hook gets the fields
-- `schedule`, `world`, `system`, `phase` and `dt` in a table that is used again
-- for the next one, so it must copy what it wants to keep; `reason` is
-- `"disabled"` or `"condition"`
-- @return a schedule
schedule.createSchedule = check.api(function(options)
  local p = plan.build(options)
  -- Inherited fields are found by indexing but not shown by `pairs`.
  local inherited = setmetatable({ [PLAN] = p }, { __index = Schedule })
  p.schedule = frozen.object("ecsser.Schedule", setmetatable({
    name = p.name, phases = p.phases, systems = p.systems, state = p.state,
  }, { __index = inherited }))
  return p.schedule
end)

--- The plan of the schedule that `method` was called on, and how its messages
-- begin. `level` is that of the caller, for the position in the message.
local function planOf(self, method, level)
  if frozen.kindOf(self) ~= "ecsser.Schedule" then
    error(("%s: bad argument self (schedule expected, got %s; call it with a colon)")
      :format(method, check.describe(self)), level or 3)
  end
  local p = self[PLAN]
  return p, p.labels[method]
end

local function phaseProblem(p, fn, n, phase)
  if p.stages[phase] then return nil end
  return ("%s: bad argument #%d (%s is not in the schedule)"):format(fn, n,
    check.describe(phase))
end

--- Runs all systems of the automatic phases, in order.
-- @function Schedule:run
-- @param world the world
-- @tparam number dt seconds since the last call: finite, at least 0; the
-- systems get it as it is
function Schedule:run(world, dt)
  local p, fn = planOf(self, "run")
  local s, problem = run.session(p, fn, world)
  if s then problem = run.stages(s, fn, p.automatic, 1, #p.automatic, dt, 2) end
  if problem then error(problem, 2) end
end

--- Runs the systems of one phase, manual or not.
-- @function Schedule:runPhase
-- @param world the world
-- @param phase a phase of the schedule
-- @tparam number dt as for `run`
function Schedule:runPhase(world, phase, dt)
  local p, fn = planOf(self, "runPhase")
  local s, problem = run.session(p, fn, world)
  problem = problem or phaseProblem(p, fn, 2, phase)
  if not problem then
    local stage = p.stages[phase]
    problem = run.stages(s, fn, stage.track, stage.place, stage.place, dt, 3)
  end
  if problem then error(problem, 2) end
end

--- Why the phases from `from` to `to` cannot be run together, or nil.
local function rangeProblem(p, fn, from, to)
  local problem = phaseProblem(p, fn, 2, from) or phaseProblem(p, fn, 3, to)
  if problem then return problem end
  local first, last = p.stages[from], p.stages[to]
  local ends = ('%s: phases "%s" and "%s" '):format(fn, from.name, to.name)
  if first.manual ~= last.manual then
    local which = first.manual and from.name or to.name
    return ends .. ('do not make a range: only "%s" is manual'):format(which)
  elseif first.track ~= last.track then
    return ends .. "do not make a range: they are manual and not connected"
  elseif first.place > last.place then
    return ends .. "do not make a range: the second one runs earlier"
  end
  return nil
end

--- Runs the systems of the phases from `from` to `to`, both included. Two
-- automatic phases span the automatic phases between them, two manual ones the
-- manual phases that are connected with them.
-- @function Schedule:runPhases
-- @param world the world
-- @param from a phase of the schedule
-- @param to a phase of the schedule, not before `from`
-- @tparam number dt as for `run`
function Schedule:runPhases(world, from, to, dt)
  local p, fn = planOf(self, "runPhases")
  local s, problem = run.session(p, fn, world)
  problem = problem or rangeProblem(p, fn, from, to)
  if not problem then
    local first, last = p.stages[from], p.stages[to]
    problem = run.stages(s, fn, first.track, first.place, last.place, dt, 4)
  end
  if problem then error(problem, 2) end
end

--- The session for a method that is about one system.
local function sessionFor(self, method, world, system)
  local p, fn = planOf(self, method, 4)
  local s, problem = run.session(p, fn, world)
  if not problem and not p.known[system] then
    problem = ("%s: bad argument #2 (%s is not in the schedule)"):format(fn,
      check.describe(system))
  end
  if problem then error(problem, 3) end
  return s
end

--- Lets a system run again in this world. Works at once, also from within a
-- running system.
-- @function Schedule:enable
-- @param world the world
-- @param system a system of the schedule
function Schedule:enable(world, system)
  local s = sessionFor(self, "enable", world, system)
  session.setEnabled(s, system.name, true)
end

--- Keeps a system from running in this world. Works at once, also from within a
-- running system; the order of the others stays as it is.
-- @function Schedule:disable
-- @param world the world
-- @param system a system of the schedule
function Schedule:disable(world, system)
  local s = sessionFor(self, "disable", world, system)
  session.setEnabled(s, system.name, false)
end

--- Whether a system is enabled in this world. Conditions are not asked.
-- @function Schedule:isEnabled
-- @param world the world
-- @param system a system of the schedule
-- @treturn boolean
function Schedule:isEnabled(world, system)
  local s = sessionFor(self, "isEnabled", world, system)
  return session.isEnabled(s, system.name)
end

--- The systems of a phase, in the order in which they run.
-- @function Schedule:systemsOf
-- @param phase a phase of the schedule
-- @return a read-only list, the same one on every call
function Schedule:systemsOf(phase)
  local p, fn = planOf(self, "systemsOf")
  local problem = phaseProblem(p, fn, 1, phase)
  if problem then error(problem, 2) end
  return p.stages[phase].systems
end

--- Whether `run` leaves a phase out: it is marked as manual, or neither it nor
-- any phase that it is connected with is connected with a builtin phase.
-- @function Schedule:isManual
-- @param phase a phase of the schedule
-- @treturn boolean
function Schedule:isManual(phase)
  local p, fn = planOf(self, "isManual")
  local problem = phaseProblem(p, fn, 1, phase)
  if problem then error(problem, 2) end
  return p.stages[phase].manual
end

return schedule
