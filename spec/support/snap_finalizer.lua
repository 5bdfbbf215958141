--- Finalizers that change a world while it is saved, loaded or restored. They run whenever the
--- collector does, in the midst of any call that needs memory. For processes of their own (see
--- snap_gc_spec.lua): what goes wrong here is a crash.

local ecs = require "ecsser"
local util = require "spec.support.world_util"

local finalizer = {}

local T, Aos, R = ecs.trait { x = 0 }, ecs.trait(function() return {} end),
  ecs.relation { store = { n = 1 } }

local function newWorld(n)
  local world = ecs.createWorld()
  ecs.registerTraits(world, { T = T, Aos = Aos, R = R })
  local first
  for i = 1, n do
    local e = world:spawn(T { x = i }, Aos { i, { i } })
    first = first or e
    world:add(e, R(first, { n = i }))
  end
  return world
end

-- Calls `act` from a finalizer in each cycle of the collector until it returns true.
local function arm(act)
  setmetatable({}, { __gc = function()
    if not act() then arm(act) end
  end })
end

local function calm() collectgarbage("incremental", 200, 100, 13) end

-- Wherever the collector may run, it runs through a whole cycle.
local function aggressive()
  collectgarbage("incremental", 200, 1000, 30)
  collectgarbage("setpause", 0)
  collectgarbage()
end

-- Ends the process when it runs on and on.
local function guard()
  debug.sethook(function() assert(os.clock() < 60, "this takes too long") end, "", 100000)
end

-- Every form that a small and a bigger world can be saved in.
local function forms()
  local small <close> = newWorld(4)
  local big <close> = newWorld(14)
  local out = {}
  for i, world in ipairs { small, big } do
    out[i] = { bytes = ecs.saveSnapshot(world),
      tree = ecs.saveSnapshot(world, { format = "table" }),
      scene = ecs.scene(world), json = ecs.saveJSON(world), document = ecs.saveWorld(world) }
  end
  return out
end

-- `true` in front: the world is emptied before each call.
local calls = {
  load = { false, function(world, form) ecs.loadSnapshot(world, form.bytes) end },
  loadTable = { false, function(world, form) ecs.loadSnapshot(world, form.tree) end },
  append = { true, function(world, form) ecs.appendSnapshot(world, form.bytes) end },
  instantiate = { true, function(world, form)
    form.scene:instantiate(world, { offset = { T = { x = 5 } } })
  end },
  restore = { true, function(world, form) ecs.restoreWorld(world, form.document) end },
  restoreJSON = { true, function(world, form) ecs.restoreJSON(world, form.json) end },
  check = { false, function(world, form) ecs.checkSnapshot(world, form.document) end },
  save = { false, function(world)
    ecs.saveSnapshot(world, { exclude = { Aos }, meta = { 1 }, data = { x = { 1, 2 } },
      dangling = "null" })
    ecs.saveSnapshot(world, { filter = { T } })
  end },
  saveWorld = { false, function(world)
    ecs.saveWorld(world)
    ecs.saveJSON(world)
  end },
}

local changes = {
  spawn = function(world, New) world:spawn(New, T { x = -1 }) end,
  destroy = function(world)
    local all = world:query(T)
    for i = 1, 3 do if all[i] then world:destroy(all[i]) end end
  end,
  add = function(world, New)
    world:add(New)
    local all = world:query(T)
    if all[1] then world:add(all[1], New, R(all[#all])) end
  end,
  register = function(world, New, n)
    local entries = {}
    if n <= 60 then entries["New" .. n] = New end
    for i = 1, n < 40 and 30 or 1 do entries["New" .. n .. "_" .. i] = ecs.trait() end
    ecs.registerTraits(world, entries)
  end,
  observe = function(world, New, n)
    local stop = world:onQueryAdd(T, ecs.Not(New), function() end)
    world:slots(T, New)
    world:column(New, "z")
    if n % 8 > 0 then stop() end
  end,
  reset = function(world) world:reset() end,
  load = function(world, _, _, form) ecs.loadSnapshot(world, form.bytes) end,
}

local function names(of)
  local out = {}
  for name in pairs(of) do out[#out + 1] = name end
  table.sort(out)
  return out
end

--- The names of the calls, and of the changes that can be tried during each.
function finalizer.calls() return names(calls) end
function finalizer.changes() return names(changes) end

--- Changes the world from finalizers in every cycle of the collector while the call runs; with
--- and without an observer. Prints how many changes there were, each allowed or refused.
function finalizer.change(call, change)
  guard()
  local both, world = forms(), newWorld(8)
  local n, made = 0, {}
  for round = 1, 8 do
    local over = false
    if calls[call][1] then world:reset() end
    if round == 5 then world:onAdd(T, function() end) end
    aggressive()
    arm(function()
      if over then return true end
      n = n + 1
      local New = made[n % 60 + 1] or ecs.trait { z = n }
      if #made < 60 then made[#made + 1] = New end
      local ok, err = pcall(changes[change], world, New, n, both[1])
      assert(ok or util.isOurs(err), tostring(err))
    end)
    local ok, err = pcall(calls[call][2], world, both[round % 2 + 1])
    over = true
    calm()
    assert(ok or util.isOurs(err), tostring(err))
    local traits = { T, Aos }
    table.move(made, 1, #made, 3, traits)
    util.checkInvariants(world, traits, { R })
  end
  print(n)
end

return finalizer
