--- Running a plan on a world.

local check = require "ecsser.schedule.check"
local session = require "ecsser.schedule.session"

local run = {}

local function context(s, step)
  local ctx = s.context
  if not ctx then
    ctx = {}
    s.context = ctx
  end
  ctx.schedule, ctx.world, ctx.dt = s.plan.schedule, s.world, s.dt
  ctx.system, ctx.phase = step.system, step.system.phase
  return ctx
end

local function holds(s, step, condition)
  local answer = condition.test(s.world)
  if answer == true or answer == false then return answer end
  local set = condition.set
  session.fail(s, 'the condition of %s%s must return a boolean, got %s',
    set and ('set "%s" for '):format(set.name) or "", check.describe(step.system),
    check.describe(answer))
end

--- Why a system does not run now, or nil.
local function skipReason(s, step)
  if not session.isEnabled(s, step.name) then return "disabled" end
  local conditions = step.conditions
  for i = 1, #conditions do
    if not holds(s, step, conditions[i]) then return "condition" end
  end
  return nil
end

local function indexThen(value) return value["then"] end

--- A system has done its work when it returns. A coroutine or a promise as its
-- result says that it has not.
local function refuseUnfinished(s, step, result)
  local kind = type(result)
  if kind == "table" or kind == "userdata" then
    local ok, continue = pcall(indexThen, result)
    if not ok or type(continue) ~= "function" then return end
    kind = "promise"
  elseif kind ~= "thread" then
    return
  end
  session.fail(s, "%s must be synchronous, but its run returned a %s",
    check.describe(step.system), kind == "thread" and "coroutine" or kind)
end

local function runStep(s, step)
  local plan = s.plan
  s.step = step
  local reason = skipReason(s, step)
  if reason then
    if plan.onSkip then plan.onSkip(context(s, step), reason) end
    return
  end
  if plan.beforeSystem then plan.beforeSystem(context(s, step)) end
  local result = step.run(s.world, s.dt)
  if result ~= nil then refuseUnfinished(s, step, result) end
  if plan.afterSystem then plan.afterSystem(context(s, step)) end
end

local function runStage(s, stage)
  if stage.once and session.isStarted(s) then return end
  local steps = stage.steps
  for i = 1, #steps do runStep(s, steps[i]) end
  if stage.once then session.setStarted(s) end
end

-- A call is the session itself, so that a call makes no garbage: `perform`
-- writes into it what is to be done, `__tostring` does it, `__close` clears the
-- mark of a running call, whether it ended well or not.
local Call = {}

-- `tostring` calls `__tostring` through C, where no yield gets across: a system
-- that yields would otherwise suspend the whole call half-done. A coroutine for
-- the systems would do it as well, but would cut them off from the traceback of
-- an error.
local throughC = tostring

--- Runs the stages.
function Call.__tostring(s)
  session.disabledList(s)  -- the first call adds the state, even if nothing runs
  local track = s.track
  for i = s.first, s.last do runStage(s, track[i]) end
  return ""
end

--- Lua's own error for a yield that cannot be says nothing about whose it was.
local function isYieldError(err)
  return type(err) == "string" and err:find "^attempt to yield " ~= nil
end

function Call.__close(s, err)
  local step = s.step
  s.running, s.step = false, nil
  if step and isYieldError(err) then
    session.fail(s, "%s must be synchronous: neither it nor a condition or hook may yield (%s)",
      check.describe(step.system), err)
  end
end

local function perform(s, track, first, last, dt)
  s.track, s.first, s.last, s.dt, s.running = track, first, last, dt, true
  local _ <close> = s
  throughC(s)
end

--- The session for a call of `fn`, or nil and a message.
function run.session(plan, fn, world)
  return session.of(plan, fn, world, Call)
end

local function dtProblem(fn, n, dt)
  local got = type(dt)
  if got == "number" then
    if dt >= 0 and dt < math.huge then return nil end
    got = dt ~= dt and "nan" or tostring(dt)
  end
  return ("%s: bad argument #%d (dt must be a finite number of seconds, at least 0, got %s)")
    :format(fn, n, got)
end

--- Runs the stages `first` to `last` of a track.
-- @param n the place of `dt` among the arguments of `fn`
-- @return nil, or a message if nothing was run
function run.stages(s, fn, track, first, last, dt, n)
  local problem = dtProblem(fn, n, dt)
  if problem then return problem end
  if s.running then
    return fn .. ": the schedule is already running on this world"
  end
  perform(s, track, first, last, dt)
  return nil
end

return run
