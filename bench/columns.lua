--- The floor: how long it takes the C API to move the same values, with nothing else done.

local workload = require "bench.workload"

local columns = {}
local T = workload.traits

--- The C module bench.floor, or nil where make has not built it.
columns.floor = package.searchpath("bench.floor", package.cpath) and require "bench.floor" or nil

--- Pairs have no columns that a script can see: tables of their size stand in.
local function pairColumns(list, world, floor)
  local turns, damage, rows = {}, {}, {}
  for _, source in ipairs(world:query(T.HasEffect "*")) do
    for _, target in ipairs(world:targets(source, T.HasEffect)) do
      local row = #rows + 1
      rows[row] = row
      turns[row], damage[row] = world:get(source, T.HasEffect(target), "turns", "damage")
    end
  end
  local keys = floor.keys(rows)
  table.insert(list, { turns, keys, 1 })
  table.insert(list, { damage, keys, 0.5 })
end

--- All columns of W(n): { table, keys, a value such as they hold }.
function columns.of(world, floor)
  local list = {}
  local function add(trait, sample, ...)
    local keys = floor.keys((world:slots(trait)))
    for _, field in ipairs { ... } do
      table.insert(list, { world:column(trait, field), keys, sample })
    end
  end
  add(T.Position, 0.5, "x", "y")
  add(T.Velocity, 0.5, "x", "y")
  add(T.Health, 1, "hp", "max")
  add(T.Name, "entity", "value")
  add(T.Intent, "attack", "kind")
  add(T.Intent, 1, "target")
  local item = { id = 1, count = 1, name = "potion" }
  table.insert(list, {
    world:column(T.Inventory), floor.keys((world:slots(T.Inventory))), { item, item, item },
  })
  pairColumns(list, world, floor)
  return list
end

return columns
