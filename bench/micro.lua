--- Single operations of a world, beside what they are in plain tables.

local measure = require "bench.measure"
local report = require "bench.report"
local workload = require "bench.workload"

local T = workload.traits
local Position, Velocity, Health, Hero = T.Position, T.Velocity, T.Health, T.Hero

local function ours(n)
  local world, list = workload.empty(), {}
  for i = 1, n do
    list[i] = world:spawn(Position { x = i, y = 1.0 })
    if i % 2 == 0 then world:add(list[i], Velocity { x = 0.5, y = 0.5 }) end
  end
  return { world = world, list = list }
end

local function plain(n)
  local list = {}
  for i = 1, n do
    list[i] = { Position = { x = i, y = 1.0 } }
    if i % 2 == 0 then list[i].Velocity = { x = 0.5, y = 0.5 } end
  end
  return { list = list }
end

-- Each operation: what, ours(s, n), plain(s, n). Both do it n times, or walk over n entities.
local OPERATIONS = {
  { "spawn with two traits", function(s, n)
    local world = s.world
    for i = 1, n do world:spawn(Position { x = i, y = 1.0 }, Velocity { x = 0.5, y = 0.5 }) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do
      list[n + i] = { Position = { x = i, y = 1.0 }, Velocity = { x = 0.5, y = 0.5 } }
    end
  end },
  { "add a tag", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:add(list[i], Hero) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do list[i].Hero = true end
  end },
  { "add a trait with values", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:add(list[i], Health { hp = i }) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do list[i].Health = { hp = i, max = 100 } end
  end },
  { "set one field", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:set(list[i], Position, "x", 2.5) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do list[i].Position.x = 2.5 end
  end },
  { "set two fields from a table", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:set(list[i], Position, { x = 2.5, y = 3.5 }) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do
      local position = list[i].Position
      position.x, position.y = 2.5, 3.5
    end
  end },
  { "get two fields", function(s, n)
    local world, list, sum = s.world, s.list, 0
    for i = 1, n do
      local x, y = world:get(list[i], Position, "x", "y")
      sum = sum + x + y
    end
    return sum
  end, function(s, n)
    local list, sum = s.list, 0
    for i = 1, n do
      local position = list[i].Position
      sum = sum + position.x + position.y
    end
    return sum
  end },
  { "get a table", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:get(list[i], Position) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do
      local position = list[i].Position
      local _ = { x = position.x, y = position.y }
    end
  end },
  { "has", function(s, n)
    local world, list, count = s.world, s.list, 0
    for i = 1, n do
      if world:has(list[i], Velocity) then count = count + 1 end
    end
    return count
  end, function(s, n)
    local list, count = s.list, 0
    for i = 1, n do
      if list[i].Velocity then count = count + 1 end
    end
    return count
  end },
  { "query, per entity of the world", function(s)
    return s.world:query(Position, Velocity)
  end, function(s)
    local found = {}
    for _, entity in ipairs(s.list) do
      if entity.Position and entity.Velocity then found[#found + 1] = entity end
    end
    return found
  end },
  { "each, per entity of the world", function(s)
    local sum = 0
    for _, p, v in s.world:each(Position, Velocity) do sum = sum + p.x * v.x end
    return sum
  end, function(s)
    local sum = 0
    for _, entity in ipairs(s.list) do
      local p, v = entity.Position, entity.Velocity
      if p and v then sum = sum + p.x * v.x end
    end
    return sum
  end },
  { "move by slots, per entity of the world", function(s)
    local world = s.world
    local slots, count = world:slots(Position, Velocity)
    local x, y = world:column(Position, "x"), world:column(Position, "y")
    local vx, vy = world:column(Velocity, "x"), world:column(Velocity, "y")
    for i = 1, count do
      local slot = slots[i]
      x[slot] = x[slot] + vx[slot] * 0.25
      y[slot] = y[slot] + vy[slot] * 0.25
    end
  end, function(s)
    for _, entity in ipairs(s.list) do
      local p, v = entity.Position, entity.Velocity
      if p and v then p.x, p.y = p.x + v.x * 0.25, p.y + v.y * 0.25 end
    end
  end },
  { "remove a trait", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:remove(list[i], Position) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do list[i].Position = nil end
  end },
  { "destroy", function(s, n)
    local world, list = s.world, s.list
    for i = 1, n do world:destroy(list[i]) end
  end, function(s, n)
    local list = s.list
    for i = 1, n do list[i] = false end
  end },
}

local function cases(n)
  local list = {}
  for _, operation in ipairs(OPERATIONS) do
    table.insert(list, {
      name = "ours: " .. operation[1], setup = function() return ours(n) end,
      run = function(s) return operation[2](s, n) end,
      done = function(s) s.world:close() end,
    })
    table.insert(list, {
      name = "plain: " .. operation[1], setup = function() return plain(n) end,
      run = function(s) return operation[3](s, n) end,
    })
  end
  return list
end

--- Prints the table for worlds of n entities.
return function(n, rounds)
  local results = measure.inTurn(rounds, cases(n))
  report.title(("Single operations in a world of %s entities, ns"):format(report.grouped(n)))
  print(("%-44s %10s %10s %8s"):format("", "ecsser", "tables", "ratio"))
  for _, operation in ipairs(OPERATIONS) do
    local a = results["ours: " .. operation[1]].min
    local b = results["plain: " .. operation[1]].min
    print(("%-44s %10.1f %10.1f %8.1f"):format(operation[1], a / n * 1e9, b / n * 1e9, a / b))
  end
end
