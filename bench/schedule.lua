--- What the scheduler costs, and the bounds it promises. Run from the root of the project:
--     lua bench/schedule.lua
-- Exits with 1 if a bound is broken.

package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "ECSSER_BUILD" or "build") .. "/?.so;" .. package.cpath

local ecs = require "ecsser"
local schedule = require "ecsser.schedule"

local failed = false

local function row(what, value, unit, bound, holds)
  local verdict = ""
  if bound then
    verdict = ("  (bound: %s)%s"):format(bound, holds and "" or "  BROKEN")
    failed = failed or not holds
  end
  print(("%-58s %12.2f %s%s"):format(what, value, unit, verdict))
end

--- The least time of several runs of each function, in turn, in seconds. In turn, because a busy
-- machine should be as bad for the one as for the other.
local function times(rounds, ...)
  local best = {}
  for _ = 1, rounds do
    for i, fn in ipairs { ... } do
      collectgarbage()
      collectgarbage "stop"
      local start = os.clock()
      fn()
      local took = os.clock() - start
      collectgarbage "restart"
      best[i] = math.min(best[i] or took, took)
    end
  end
  return table.unpack(best)
end

--- Measures two functions and prints a line for each and for their ratio. The bound is on the
-- ratio; a busy machine gets several chances to show that it can be kept.
local function compare(bound, rounds, calls, unit, scale, first, second)
  local one, two
  for _ = 1, 6 do
    one, two = times(rounds, first[2], second[2])
    if two / one <= bound then break end
  end
  row(first[1], one / calls * scale, unit)
  row(second[1], two / calls * scale, unit)
  row("  ratio", two / one, "", tostring(bound), two / one <= bound)
end

--- Twice as much must take at most two and a half times as long.
local function compareBuilds(what, make)
  compare(2.5, 5, 1, "ms", 1e3, { what:format(1000), make(1000) },
    { what:format(2000), make(2000) })
end

local function nop() end

--- Systems with three edges each, in three phases.
local function systemsOf(count)
  local phases = { schedule.OnLoad, schedule.OnUpdate, schedule.OnStore }
  local systems, state = {}, 42
  local function below(n)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % n + 1
  end
  for i = 1, count do
    local after = {}
    local phase = (i - 1) * #phases // count + 1
    for j = 1, math.min(3, i - 1) do after[j] = systems[below(i - 1)] end
    systems[i] = schedule.defineSystem {
      name = "system" .. i, run = nop, phase = phases[phase], after = after,
    }
  end
  -- Declared the other way round, so that the order is not the one that is given.
  local reversed = {}
  for i = 1, count do reversed[i] = systems[count + 1 - i] end
  return reversed
end

local function builder(systems, sets)
  return function() schedule.createSchedule { name = "bench", systems = systems, sets = sets } end
end

local function edgesOf(count) return builder(systemsOf(count)) end

--- Two sets with an edge between them stand for count * count / 4 edges.
local function setsOf(count)
  local last = schedule.defineSet "last"
  local first = schedule.defineSet("first", { before = { last } })
  local systems = {}
  for i = 1, count do
    systems[i] = schedule.defineSystem {
      name = "system" .. i, run = nop, sets = { i % 2 == 0 and first or last },
    }
  end
  return builder(systems, { first, last })
end

--- A chain of phases in which each depends on the one before, and one floating phase for each.
local function phasesOf(count)
  local phases, previous = {}, schedule.OnUpdate
  for i = 1, count // 2 do
    previous = schedule.definePhase("phase" .. i, { dependsOn = { previous } })
    phases[#phases + 1] = schedule.definePhase("floating" .. i, { before = { previous } })
    phases[#phases + 1] = previous
  end
  return function() schedule.createSchedule { name = "bench", phases = phases } end
end

--- A schedule of 100 systems, in a world in which it has run.
local function running(options)
  local systems = {}
  for i = 1, 100 do
    systems[i] = schedule.defineSystem {
      name = "system" .. i, run = options.run or nop, runIf = options.runIf,
    }
  end
  local main = schedule.createSchedule { name = "main", systems = systems, hooks = options.hooks }
  local world = ecs.createWorld()
  for i = 1, options.disabled or 0 do main:disable(world, systems[i]) end
  main:run(world, 0)
  return main, world
end

local function bytesPerRun(options)
  local main, world = running(options)
  collectgarbage()
  collectgarbage "stop"
  local before = collectgarbage "count"
  for _ = 1, 1000 do main:run(world, 0.016) end
  local after = collectgarbage "count"
  collectgarbage "restart"
  return (after - before) * 1024 / 1000
end

local function benchMemory()
  local function yes() return true end
  local hooks = { beforeSystem = nop, afterSystem = nop, onSkip = nop }
  for _, case in ipairs {
    { "bytes per run of 100 systems", {} },
    { "  with conditions", { runIf = yes } },
    { "  with 50 of them disabled", { disabled = 50 } },
    { "  with hooks", { hooks = hooks, disabled = 50 } },
  } do
    local bytes = bytesPerRun(case[2])
    row(case[1], bytes, "bytes", "0", bytes == 0)
  end
end

local function runner(options)
  local main, world = running(options)
  return function()
    for _ = 1, 500 do main:run(world, 0.016) end
  end
end

local function benchRun()
  local hooks = { beforeSystem = nop, afterSystem = nop, onSkip = nop }
  local plain, gated, hooked = times(7, runner {}, runner { runIf = function() return true end },
    runner { hooks = hooks })
  row("one system of a run", plain / 50000 * 1e9, "ns")
  row("  with a condition", gated / 50000 * 1e9, "ns")
  row("  with hooks", hooked / 50000 * 1e9, "ns")
end

--- Asks for one enabled system many times, while other names are disabled.
local function asking(disabled)
  local main, world = running {}
  local system, names = main.systems[1], ecs.array {}
  for i = 1, disabled do names[i] = "gone" .. i end
  world:set(main.state, { disabled = names })
  assert(main:isEnabled(world, system))
  return function()
    for _ = 1, 10000 do main:isEnabled(world, system) end
  end
end

compareBuilds("build %d systems with 3 edges each", edgesOf)
compareBuilds("build %d systems in two ordered sets", setsOf)
compareBuilds("build %d phases", phasesOf)
benchMemory()
benchRun()
compare(1.2, 30, 10000, "ns", 1e9, { "one enabled check, nothing disabled", asking(0) },
  { "one enabled check, 1000 names disabled", asking(1000) })
os.exit(not failed)
