--- Helpers of the scheduler specs: systems that log their runs, and expected errors.

local assert = require "luassert"
local schedule = require "ecsser.schedule"

local sch = {}

--- The names of a list of phases, systems or sets in one string.
function sch.names(list)
  local names = {}
  for i, item in ipairs(list) do names[i] = item.name end
  return table.concat(names, " ")
end

--- A recorder: `log.system` defines systems that write their name when they run.
function sch.log()
  local log = { entries = {} }

  function log.write(name) log.entries[#log.entries + 1] = name end

  --- What was written since the last time.
  function log.take()
    local text = table.concat(log.entries, " ")
    log.entries = {}
    return text
  end

  --- Defines a system; `options.run` runs after its name is written.
  function log.system(name, options)
    local all = { name = name }
    for key, value in pairs(options or {}) do all[key] = value end
    local inner = all.run
    all.run = function(world, dt)
      log.write(name)
      if inner then return inner(world, dt) end
    end
    return schedule.defineSystem(all)
  end

  --- A condition that writes `name` and returns the answer.
  function log.condition(name, answer)
    return function()
      log.write(name)
      return answer
    end
  end

  return log
end

--- A schedule with the name "main" unless the options say otherwise.
function sch.create(options)
  if options.name == nil then options.name = "main" end
  return schedule.createSchedule(options)
end

--- Expects an error with the position of the spec in front, whose text holds each of the words.
function sch.fails(words, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "an error was expected")
  assert(type(err) == "string", "the error is no string: " .. tostring(err))
  local text = err:match "^[%w_/%.%-]*spec/[%w_/]+%.lua:%d+: (.+)$"
  assert(text, "no position of the caller: " .. err)
  assert(not text:find("attempt to", 1, true), "not an error of ours: " .. err)
  for _, word in ipairs(words) do
    assert(text:find(word, 1, true), ("%q is not in: %s"):format(word, text))
  end
  return text
end

--- Expects that a schedule with these options cannot be built. The message names the schedule.
function sch.refused(words, options)
  local all = { "createSchedule", '"main"' }
  for _, word in ipairs(words) do all[#all + 1] = word end
  return sch.fails(all, function() sch.create(options) end)
end

--- Expects an error that was raised in the middle of a run, where there is no caller to name.
function sch.breaks(words, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok and type(err) == "string", "an error was expected")
  for _, word in ipairs(words) do
    assert(err:find(word, 1, true), ("%q is not in: %s"):format(word, err))
  end
  return err
end

return sch
