--- Tables and verdicts.

local report = { missed = 0 }

local function grouped(n)
  local text = ("%d"):format(n)
  return (text:reverse():gsub("(%d%d%d)", "%1 "):reverse():gsub("^ ", ""))
end
report.grouped = grouped

function report.title(text)
  print(("\n%s\n%s"):format(text, ("-"):rep(#text)))
end

--- One line for each case: times, cost per entity, size and speed.
function report.routes(subject, cases, results)
  report.title(("W(%s): processor time of a whole save or load"):format(grouped(subject.n)))
  print(("%-26s %10s %10s %10s %12s %8s"):format(
    "", "least ms", "median ms", "ns/entity", "bytes", "MB/s"))
  for _, case in ipairs(cases) do
    local r, bytes = results[case.name], subject.bytes[case.name]
    print(("%-26s %10.2f %10.2f %10.0f %12s %8s"):format(case.name, r.min * 1e3,
      r.median * 1e3, r.min / subject.n * 1e9, bytes and grouped(bytes) or "",
      bytes and ("%.0f"):format(bytes / r.min / 1e6) or ""))
  end
end

function report.losses(subject)
  for _, name in ipairs { "baseline load", "cjson + restoreWorld" } do
    local l = subject.losses[name]
    if l then
      print(("%s: %s of %s doubles changed, %s of %s integers became floats"):format(name,
        grouped(l.lost.doubles), grouped(l.all.doubles), grouped(l.lost.integers),
        grouped(l.all.integers)))
    end
  end
end

-- A goal is { what, ">=" or "<=" or nil, bound, function(time, n, base) → value }, where time(name)
-- and base(name) are the seconds of a case here and in the world to compare with.

--- Whether the values hold in all sizes, and the values.
local function judge(goal, sizes, small, field)
  local holds, shown = true, {}
  for i, size in ipairs(sizes) do
    local function time(name) return size.results[name][field] end
    local function base(name) return small.results[name][field] end
    shown[i] = goal[4](time, size.n, base)
    if goal[2] == ">=" then holds = holds and shown[i] >= goal[3] end
    if goal[2] == "<=" then holds = holds and shown[i] <= goal[3] end
  end
  return holds, shown
end

local function verdict(holds)
  if not holds then report.missed = report.missed + 1 end
  return holds and "ok" or "MISSED"
end

--- Prints goals for `sizes`, a list of { n, results }; `small` is the one to compare with. The
-- verdict is about the least times ("min"), or about the medians, which are in brackets.
function report.goals(title, goals, sizes, verdictOn, small)
  report.title(title)
  local head = ("%-44s %7s"):format("", "goal")
  for _, size in ipairs(sizes) do head = head .. ("%18s"):format(grouped(size.n)) end
  print(head)
  for _, goal in ipairs(goals) do
    local holds = judge(goal, sizes, small, verdictOn)
    local _, least = judge(goal, sizes, small, "min")
    local _, median = judge(goal, sizes, small, "median")
    local line = ("%-44s %7s"):format(goal[1],
      goal[2] and ("%2s %4g"):format(goal[2], goal[3]) or "")
    for i in ipairs(sizes) do
      line = line .. ("%9.2f (%6.2f)"):format(least[i], median[i])
    end
    print(line .. (goal[2] and "  " .. verdict(holds) or ""))
  end
end

--- A single value with its goal, if there is one.
function report.value(what, value, relation, bound)
  local line = ("%-44s"):format(what)
  if not bound then
    print(("%s %7s %8.2f"):format(line, "", value))
    return
  end
  print(("%s %2s %4g %8.2f  %s"):format(line, relation, bound, value, verdict(value <= bound)))
end

return report
