--- Errors, and checks of what callers pass.
-- A check that fails raises a *problem*: a marked table that `check.api` turns
-- into an ordinary message with the position of the caller in front. Whatever
-- else is raised meanwhile is not ours and passes unchanged.

local frozen = require "ecsser.schedule.frozen"

local check = {}

local Problem = {}

--- Raises a problem.
function check.fail(format, ...)
  error(setmetatable({ text = format:format(...) }, Problem), 0)
end

local function finish(ok, result)
  if ok then return result end
  if getmetatable(result) == Problem then error(result.text, 3) end
  error(result, 0)
end

--- The public form of a function whose checks raise problems.
function check.api(body)
  return function(...)
    local result = finish(pcall(body, ...))  -- no tail call: it would lose a level
    return result
  end
end

local NOUN = {
  ["ecsser.Phase"] = "phase",
  ["ecsser.System"] = "system",
  ["ecsser.Set"] = "set",
  ["ecsser.Plugin"] = "plugin",
  ["ecsser.Schedule"] = "schedule",
}

--- A value in words: `system "move"`, `number`, `nil`.
function check.describe(value)
  local noun = NOUN[frozen.kindOf(value)]
  if noun then return ('%s "%s"'):format(noun, value.name) end
  return type(value)
end

--- A name of a phase, system, set, plugin or schedule.
-- Names are stored in the state of a schedule, so they must be text that every
-- save format can hold.
function check.name(fn, name)
  if name == nil or name == "" then
    check.fail("%s: name is missing or empty", fn)
  elseif type(name) ~= "string" then
    check.fail("%s: bad argument name (string expected, got %s)", fn, check.describe(name))
  elseif not utf8.len(name) then
    check.fail("%s: bad argument name (valid UTF-8 expected)", fn)
  end
  return name
end

--- The options table of `fn`: a table with no other keys than `known`.
-- A misspelt option would otherwise be an option that silently does nothing.
function check.options(fn, options, known)
  if type(options) ~= "table" then
    check.fail("%s: bad argument options (table expected, got %s)", fn, check.describe(options))
  end
  for key in pairs(options) do
    if not known[key] then
      check.fail("%s: bad argument options (unknown option '%s')", fn, tostring(key))
    end
  end
  return options
end

function check.isCallable(value)
  if type(value) == "function" then return true end
  local meta = getmetatable(value)
  return type(meta) == "table" and meta.__call ~= nil
end

--- An option that must be a function, or may be absent.
function check.callable(fn, label, value, required)
  if value == nil and not required then return nil end
  if not check.isCallable(value) then
    check.fail("%s: bad argument %s (function expected, got %s)", fn, label,
      check.describe(value))
  end
  return value
end

--- An option that must be of one kind.
function check.kind(fn, label, value, kinds)
  if not kinds[frozen.kindOf(value)] then
    check.fail("%s: bad argument %s (%s expected, got %s)", fn, label, kinds.noun,
      check.describe(value))
  end
  return value
end

--- Copies an option that must be a list of objects, or absent.
-- Keys that are not 1..n mean a hole, usually a misspelt variable: the rest of
-- the list would be lost silently.
function check.list(fn, label, value, kinds)
  if value == nil then return {} end
  if type(value) ~= "table" then
    check.fail("%s: bad argument %s (list expected, got %s)", fn, label, check.describe(value))
  end
  local copy, count = {}, 0
  for _ in pairs(value) do count = count + 1 end
  for i = 1, count do
    copy[i] = check.kind(fn, ("%s[%d]"):format(label, i), value[i], kinds)
  end
  return copy
end

--- The kinds that an option takes, with their name in messages.
check.PHASES = { ["ecsser.Phase"] = true, noun = "phase" }
check.SETS = { ["ecsser.Set"] = true, noun = "set" }
check.SYSTEMS = { ["ecsser.System"] = true, noun = "system" }
check.NODES = { ["ecsser.System"] = true, ["ecsser.Set"] = true, noun = "system or set" }
check.PLUGINS = { ["ecsser.Plugin"] = true, noun = "plugin" }

return check
