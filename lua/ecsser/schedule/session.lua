--- One schedule on one world: the state that the world carries, and what is
-- known about it meanwhile.
--
-- The truth is the world-level trait `schedule.state`, which follows the world
-- through save, restore and reset. A session only keeps what can be made again
-- from it: the names in its `disabled` list as a set, for as long as the trait
-- holds that very list. That is why the list is replaced and never changed in
-- place, here and by everyone else.

local ecs = require "ecsser"
local check = require "ecsser.schedule.check"

local session = {}

--- Raises an error about the schedule that has no better place to point at.
function session.fail(s, format, ...)
  error(('schedule "%s": '):format(s.plan.name) .. format:format(...), 0)
end

--- One field of the state; nil while the world does not have it.
local function read(s, field)
  local ok, value = pcall(s.get, s.world, s.state, field)
  if not ok then session.fail(s, "%s", tostring(value)) end
  return value
end

--- The list of disabled names. Adds the state to a world that lacks it: a new
-- one, one that was reset, one whose state somebody removed.
function session.disabledList(s)
  local list = read(s, "disabled")
  if list == nil then
    s.world:add(s.state)
    list = read(s, "disabled")
  end
  if type(list) ~= "table" then
    session.fail(s, "state.disabled must be a list of names, got %s", type(list))
  end
  return list
end

--- Makes the set of the disabled names anew. Whatever else the list holds
-- disables nothing.
local function readNames(s)
  local list, names = session.disabledList(s), {}
  for i = 1, #list do
    local name = list[i]
    if type(name) == "string" then names[name] = true end
  end
  s.list, s.names = list, names
end

--- The disabled names as a set. This is asked for each system of each call, so
-- it makes no table; `pcall` only leaves a closed world to `readNames`, whose
-- error names the schedule.
local function disabledNames(s)
  local ok, list = pcall(s.get, s.world, s.state, "disabled")
  if not ok or not rawequal(list, s.list) then readNames(s) end
  return s.names
end

function session.isEnabled(s, name) return not disabledNames(s)[name] end

--- Records in the state whether a system is enabled. Other names stay in the
-- list, those that are unknown to this schedule as well.
function session.setEnabled(s, name, enabled)
  if session.isEnabled(s, name) == enabled then return end
  local list = {}
  for _, other in ipairs(session.disabledList(s)) do
    if other ~= name then list[#list + 1] = other end
  end
  if not enabled then list[#list + 1] = name end
  s.world:set(s.state, "disabled", ecs.array(list))
end

function session.isStarted(s)
  session.disabledList(s)
  return read(s, "onStartDone") == true
end

function session.setStarted(s)
  session.disabledList(s)
  s.world:set(s.state, "onStartDone", true)
end

--- What `value` is if it is not a world that can be used, or nil.
local function unusable(value, state)
  local ok, problem = pcall(function() return value:has(state) end)
  if ok then return nil end
  local closed = type(problem) == "string" and problem:find("is closed", 1, true)
  return closed and "a closed one" or check.describe(value)
end

--- The session of a schedule on a world, made on first use.
-- @param fn how messages begin
-- @return the session, or nil and a message if `world` is not a usable world
function session.of(plan, fn, world, metatable)
  local s = plan.sessions[world]
  if s then return s end
  local got = unusable(world, plan.state)
  if got then return nil, ("%s: bad argument #1 (world expected, got %s)"):format(fn, got) end
  s = setmetatable({
    plan = plan, world = world, get = world.get, state = plan.state, running = false,
    list = {},  -- no list that a world can hold
  }, metatable)
  plan.sessions[world] = s
  return s
end

return session
