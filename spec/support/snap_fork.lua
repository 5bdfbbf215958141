--- Forked runs: operations, a save, more operations, in one world and in loaded copies of it. Runs
-- in processes of its own (see snap_fork_spec.lua), where worlds get the same ids, so that every
-- handle must be the same number.

local ecs = require "ecsser"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local xxh3 = require "spec.support.snap_xxh3"

local fork = {}

-- Worlds that are kept open, so that the next one gets another id.
local open = {}

local BEFORE <const>, AFTER <const> = 60, 40

-- What the operations after the save gave: every handle, every byte.
local function continue(kit, world, seed)
  local log = kit:run(random.new(seed ~ 0x5555), world, AFTER)
  local bytes = ecs.saveSnapshot(world)
  return table.concat({
    "seed " .. seed, ecs.hashWorld(world), #bytes, xxh3.hex(bytes),
    xxh3.hex(table.concat(log, " ")), xxh3.hex(table.concat(world:entities(), " ")),
  }, " ")
end

local function isDead(world, log)
  for _, entity in ipairs(log) do
    if entity < 0 and world:isAlive(-entity) then return false end
  end
  return true
end

local function live(kit, seed, file)
  local rng = random.new(seed)
  local world, log = kit:random(rng, BEFORE)
  local bytes, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
  local state = kit:state(world)
  local line = continue(kit, world, seed)
  ecs.loadSnapshot(world, bytes)
  assert(ecs.saveSnapshot(world) == bytes and ecs.hashWorld(world) == hash, "another content")
  kit:assertSame(state, world, "the loaded world")
  local again = continue(kit, world, seed)
  assert(again == line, "the loaded world went on otherwise:\n" .. line .. "\n" .. again)
  assert(isDead(world, log), "a dead handle came alive")
  file:write(string.pack("<s4s4", bytes, hash))
  return line, world
end

--- Runs all seeds from `first`, saves each half-way to `path`, and prints a line for each.
function fork.live(first, n, path)
  local kit, file = kits.new(), assert(io.open(path, "wb"))
  for seed = first, first + n - 1 do
    local ok, line, world = xpcall(live, debug.traceback, kit, seed, file)
    if not ok then error("seed " .. seed .. ": " .. line, 0) end
    open[#open + 1] = world
    print(line)
  end
  file:close()
end

--- Loads what `live` saved in worlds of another registration order, goes on, prints the same.
function fork.loaded(first, n, path)
  local file <close> = assert(io.open(path, "rb"))
  local all, at = file:read "a", 1
  local kit = kits.new(random.new(first))
  for seed = first, first + n - 1 do
    local bytes, hash
    bytes, hash, at = string.unpack("<s4s4", all, at)
    local world = kit:world(random.new(seed))
    ecs.loadSnapshot(world, bytes)
    assert(ecs.saveSnapshot(world) == bytes and ecs.hashWorld(world) == hash, "another content")
    open[#open + 1] = world
    print(continue(kit, world, seed))
  end
end

--- How many worlds are open.
function fork.count() return #open end

return fork
