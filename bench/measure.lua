--- Measures in turn, so that a busy machine is as bad for the one as for the other.
--
-- A case is { name = , run = function(state) → result }, and may have `setup() → state` before
-- and `done(state, result)` after it, which are not measured.

local measure = {}

-- The collector runs as it does in a game; each run begins with a clean heap.
local function once(case)
  local state = case.setup and case.setup()
  collectgarbage()
  local start = os.clock()
  local result = case.run(state)
  local took = os.clock() - start
  if case.done then case.done(state, result) end
  return took
end

local function summary(times)
  table.sort(times)
  local middle = #times // 2
  local median = times[middle + 1]
  if #times % 2 == 0 then median = (times[middle] + median) / 2 end
  return { min = times[1], median = median }
end

--- Runs all cases once, then again, and so on. Returns { min, median } in seconds of processor
-- time by name.
function measure.inTurn(rounds, cases)
  local times, results = {}, {}
  for _, case in ipairs(cases) do times[case.name] = {} end
  for _ = 1, rounds do
    for _, case in ipairs(cases) do table.insert(times[case.name], once(case)) end
  end
  for name, list in pairs(times) do results[name] = summary(list) end
  return results
end

return measure
