--- What saves and loads cost, against the goals. Run from the root of the project:
--     lua bench/run.lua [full] [strict] [--smoke]
-- `full` adds a world of a million entities, `strict` makes a missed goal an error, and `--smoke`
-- only shows that everything runs, with tiny worlds. A world that comes back different is always
-- an error.

package.path = "./?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "ECSSER_BUILD" or "build") .. "/?.so;" .. package.cpath

local columns = require "bench.columns"
local measure = require "bench.measure"
local micro = require "bench.micro"
local report = require "bench.report"
local routes = require "bench.routes"

local options = { full = false, strict = false, smoke = false }
for _, word in ipairs(arg) do
  local name = word:gsub("^%-+", "")
  if options[name] == nil then error("bench: unknown option " .. word, 0) end
  options[name] = true
end
local smoke = options.smoke

local function faster(ours, theirs)
  return function(time) return time(theirs) / time(ours) end
end

local function slower(ours, theirs)
  return function(time) return time(ours) / time(theirs) end
end

local SPEED = {
  { "saveJSON : baseline save", ">=", 6, faster("saveJSON", "baseline save") },
  { "restoreJSON : baseline load", ">=", 5, faster("restoreJSON", "baseline load") },
  { "saveSnapshot : saveWorld + cjson", ">=", 15, faster("saveSnapshot", "saveWorld + cjson") },
  { "saveSnapshot : baseline save", ">=", 15, faster("saveSnapshot", "baseline save") },
  { "loadSnapshot : cjson + restoreWorld", ">=", 10,
    faster("loadSnapshot", "cjson + restoreWorld") },
  { "loadSnapshot : baseline load", ">=", 10, faster("loadSnapshot", "baseline load") },
}

local COST = {
  { "hashWorld, times saveSnapshot", "<=", 1.1, slower("hashWorld", "saveSnapshot") },
  { "instantiate, microseconds per entity", "<=", 3,
    function(time, n) return time "instantiate 10 at a time" / n * 1e6 end },
}

-- The same values through lua_rawgeti or lua_rawseti.
local FLOORS = {
  { "saveSnapshot, times the floor", "<=", 3, slower("saveSnapshot", "floor: read") },
  { "  with what is inside of tables", nil, nil,
    slower("saveSnapshot", "floor: read, nested too") },
  { "loadSnapshot, times the floor", "<=", 3, slower("loadSnapshot", "floor: write") },
  { "  with what is inside of tables", nil, nil,
    slower("loadSnapshot", "floor: write, nested too") },
}

local ROUTES = {
  "saveJSON", "saveWorld + cjson", "saveSnapshot", "hashWorld", "restoreJSON",
  "cjson + restoreWorld", "loadSnapshot", "loadSnapshot in place", "appendSnapshot",
  "instantiate 10 at a time",
}

--- Measures W(n) and prints its table.
local function measureSize(n, rounds, onlySnapshots)
  local subject = routes.subject(n, onlySnapshots)
  local cases = routes.cases(subject)
  local results = measure.inTurn(rounds, cases)
  report.routes(subject, cases, results)
  report.losses(subject)
  subject.world:close()
  return { n = n, results = results }
end

--- The cost of each route per entity, against that in the small world.
local function growthGoals(small, large)
  local goals = {}
  for _, name in ipairs(ROUTES) do
    if large.results[name] then
      table.insert(goals, { name, "<=", 1.3, function(time, n, base)
        return time(name) / n / (base(name) / small.n)
      end })
    end
  end
  return goals
end

-- The medians count: a busy machine leaves a short run alone now and then, but never a long one.
local function showGrowth(small, large)
  report.goals(("Cost per entity, times that in W(%s)"):format(report.grouped(small.n)),
    growthGoals(small, large), { large }, "median", small)
end

local function interpreter()
  local i = -1
  while arg[i - 1] do i = i - 1 end
  return arg[i]
end

--- Memory is looked at in a process of its own.
local function peak(route, n)
  local pipe = assert(io.popen(("'%s' bench/memory.lua %s %d"):format(interpreter(), route, n)))
  local length, grown = pipe:read("n", "n")
  assert(pipe:close() and length and grown, "bench/memory.lua failed")
  return grown / length
end

local function showMemory(n)
  local status = io.open "/proc/self/status"
  if not status then return end
  status:close()
  report.title(("Memory at the peak of a save of W(%s), times what is saved")
    :format(report.grouped(n)))
  report.value("saveJSON (2, and a twentieth for pages)", peak("saveJSON", n), "<=", 2.1)
  report.value("saveSnapshot", peak("saveSnapshot", n))
  report.value("baseline", peak("baseline", n))
end

local function main()
  local small = measureSize(smoke and 100 or 10000, smoke and 1 or 11)
  local large = measureSize(smoke and 200 or 100000, smoke and 1 or 5)
  local sizes = { small, large }
  report.goals("How many times as fast as the other: least times (medians)", SPEED, sizes, "min")
  report.goals("What else was promised", COST, sizes, "min")
  if columns.floor then report.goals("Against the C API alone", FLOORS, sizes, "min")
  else print "\nbench.floor is not built (by make): nothing is compared with the C API alone." end
  showGrowth(small, large)
  if options.full then showGrowth(small, measureSize(1000000, 5, true)) end
  showMemory(smoke and 200 or 100000)
  micro(smoke and 100 or 10000, smoke and 1 or 5)
end

print "The collector runs, and is not waited for. Each time begins with a clean heap."
main()
print(("\n%d goals missed"):format(report.missed))
os.exit(not (options.strict and not smoke and report.missed > 0))
