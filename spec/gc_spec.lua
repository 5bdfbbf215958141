-- The collector: finalizers by hand, nothing left in the registry, worlds that hold only what they
-- must, states that are closed with everything still alive, and the collector at its worst.

local ecs = require "ecsser"
local util = require "spec.support.world_util"
local child = require "spec.support.world_child"

local T, Tag, Aos = ecs.trait { n = 0, any = ecs.null }, ecs.trait(),
  ecs.trait(function() return {} end)
local R = ecs.relation { store = { n = 0 }, autoDestroy = "orphan" }

local function metatables()
  local world = ecs.createWorld()
  local e = world:spawn(T)
  local step, state = world:each(T)
  local objects = { world, T, Tag, R, T { n = 1 }, R(e), R("*"), ecs.Not(T), ecs.Or(T) }
  for _, object in pairs { step, state } do
    if type(object) == "userdata" then objects[#objects + 1] = object end
  end
  return objects, world
end

describe("finalizers", function()
  it("called by hand and twice close a world for good, and harm nothing", function()
    local world = ecs.createWorld()
    world:spawn(T, R(world:spawn()))
    local gc = debug.getmetatable(world).__gc
    gc(world)
    gc(world)
    util.fails("count", "closed", function() world:count() end)
    pcall(world.close, world)
    gc(world)
    local other <close> = ecs.createWorld()
    other:spawn(T)
    util.checkInvariants(other, { T })
  end)

  it("called by hand on every other value of ours do no harm", function()
    local objects, world = metatables()
    local keep = ecs.createWorld()
    keep:spawn(T { n = 5 })
    for _, owner in ipairs(objects) do
      local meta = debug.getmetatable(owner)
      for _, event in ipairs { "__gc", "__close" } do
        for _, object in ipairs(objects) do
          if meta[event] then
            for _ = 1, 2 do
              local ok, err = pcall(meta[event], object)
              assert(ok or util.isOurs(err), tostring(err))
            end
          end
        end
      end
    end
    pcall(world.close, world)
    util.checkInvariants(keep, { T }, { R })
    keep:close()
  end)

  it("called by hand on foreign values do no harm", function()
    local objects, world = metatables()
    local file = io.tmpfile()
    for _, owner in ipairs(objects) do
      local meta = debug.getmetatable(owner)
      for _, event in ipairs { "__gc", "__close" } do
        for _, value in ipairs { 1, "x", {}, print, ecs.null, file, coroutine.create(print) } do
          if meta[event] then
            local ok, err = pcall(meta[event], value)
            assert(ok or util.isOurs(err), tostring(err))
          end
        end
      end
    end
    assert.is_truthy(file:write "still open")
    file:close()
    util.checkInvariants(world, { T }, { R })
    world:close()
  end)

  it("of an iterator called by hand in the midst of the loop do no harm", function()
    local world <close> = ecs.createWorld()
    for i = 1, 10 do world:spawn(T { n = i }) end
    local step, state, control = world:each(T)
    control = step(state, control)
    for _, object in pairs { step, state } do
      local meta = type(object) == "userdata" and debug.getmetatable(object)
      if meta and object ~= world and meta.__gc then
        meta.__gc(object)
        meta.__gc(object)
      end
    end
    local ok, err = pcall(step, state, control)
    assert(ok or util.isOurs(err), tostring(err))
    util.checkInvariants(world, { T })
  end)

  it("are hidden behind __metatable", function()
    for _, object in ipairs((metatables())) do
      assert.are_not.equal("table", type(getmetatable(object)))
    end
  end)
end)

describe("the registry", function()
  local function size()
    util.collectAll()
    local n = 0
    for _ in pairs(debug.getregistry()) do n = n + 1 end
    return n
  end

  local function uses()
    local world <close> = ecs.createWorld()
    local t = world:spawn(T, ecs.Key "k")
    local e = world:spawn(T { n = 1, any = {} }, Aos, R(t))
    local stop = world:onAdd(T, print)
    world:onQueryAdd(T, ecs.Not(Tag), function() end)
    world:onChange(R(t), function() end)
    stop()
    local step, state, control = world:each(T, R("*"))
    step(state, control)
    world:slots(T)
    world:column(T, "n")
    world:query(ecs.Or(T, Tag))
    pcall(world.spawn, world, 5)
    pcall(world.set, world, e, T, "n", "x")
    pcall(ecs.trait, { x = {} })
    ecs.trait { a = 1 }
    ecs.relation { store = { a = 1 } }
    if ecs.registerTraits then
      ecs.registerTraits(world, { T = T, Tag = Tag, Aos = Aos, R = R, Key = ecs.Key })
      local ok, snapshot = pcall(ecs.saveWorld, world)
      world:reset()
      pcall(ecs.restoreWorld, world, ok and snapshot or 5)
      pcall(ecs.restoreWorld, world, 5)
    end
  end

  it("does not grow in 10 000 uses", function()
    for _ = 1, 10 do uses() end
    local before = size()
    for _ = 1, 10000 do uses() end
    assert.equal(before, size())
  end)

  it("does not hold observers, values or worlds that are gone", function()
    local held = setmetatable({}, { __mode = "v" })
    do
      local world = ecs.createWorld()
      held.world = world
      held.value = { world }
      held.observer = function() return world end
      held.factory = function() return { world } end
      local Own = ecs.trait(held.factory)
      held.trait = Own
      world:spawn(T { any = held.value }, Own)
      world:onAdd(T, held.observer)
      world:onQueryAdd(T, function() return world, held.value end)
      world:column(T, "any")
      world:slots(T)
      local _, state = world:each(T)
      held.state = state
    end
    util.collectAll()
    assert.is_nil(next(held), "still held: " .. tostring(next(held)))
  end)

  it("keeps a world alive as long as something uses it", function()
    local step, state, control
    do
      local world = ecs.createWorld()
      for i = 1, 3 do world:spawn(T { n = i }) end
      step, state, control = world:each(T)
    end
    util.collectAll()
    local values = {}
    local value
    repeat
      control, value = step(state, control)
      values[#values + 1] = value and value.n
    until not control
    assert.same({ 1, 2, 3 }, values)
  end)

  it("leaves unsubscribers of a collected world harmless", function()
    local unsubscribe
    do
      local world = ecs.createWorld()
      unsubscribe = world:onAdd(T, print)
    end
    util.collectAll()
    unsubscribe()
    unsubscribe()
  end)
end)

describe("memory", function()
  local function used()
    util.collectAll()
    return collectgarbage "count"
  end

  local function cycle(world)
    local list = {}
    for i = 1, 50 do
      list[i] = world:spawn(T { n = i, any = {} }, i % 2 == 0 and Tag or Aos)
      if i > 1 then world:add(list[i], R(list[i - 1], { n = i })) end
    end
    local stop = world:onAdd(Tag, function() end)
    local stopQuery = world:onQueryAdd(Tag, T, function() end)
    world:query(Tag)
    for i = 1, 50 do world:slots(R(list[i])) end
    stop()
    stopQuery()
    world:destroy(list[25])
    world:reset()
  end

  it("is flat over many cycles in one world", function()
    local world <close> = ecs.createWorld()
    for _ = 1, 100 do cycle(world) end
    local before = used()
    for _ = 1, 400 do cycle(world) end
    assert.is_true(used() < before + 40, ("%g kB -> %g kB"):format(before, used()))
  end)

  it("is flat over many subscriptions that ended", function()
    local world <close> = ecs.createWorld()
    local target, source = world:spawn(), world:spawn()
    local function round()
      local gone = world:spawn()
      local stops = {
        world:onQueryAdd(R(target), function() end), world:onQueryRemove(R(gone), function() end),
        world:onQueryAdd(T, ecs.Not(R(target)), function() end), world:onAdd(R(gone), print),
        world:onRemove(R(target), print), world:onChange(T, print),
      }
      world:destroy(gone)
      for _, stop in ipairs(stops) do stop() end
    end
    local function time()
      local start = os.clock()
      for _ = 1, 200 do
        world:add(source, R(target))
        world:remove(source, R(target))
      end
      return os.clock() - start
    end
    for _ = 1, 100 do round() end
    local before, timeBefore = used(), time()
    for _ = 1, 3000 do round() end
    assert.is_true(used() < before + 40, ("%g kB -> %g kB"):format(before, used()))
    assert.is_true(time() < 20 * timeBefore + 0.02, "subscriptions that ended still cost time")
  end)

  it("is flat over many worlds", function()
    local function round()
      local world <close> = ecs.createWorld()
      cycle(world)
    end
    for _ = 1, 50 do round() end
    local before = used()
    for _ = 1, 300 do round() end
    assert.is_true(used() < before + 40, ("%g kB -> %g kB"):format(before, used()))
  end)

  it("is flat over many traits that nobody keeps", function()
    local world <close> = ecs.createWorld()
    local function round()
      for i = 1, 100 do ecs.trait { n = i } ecs.relation() end
    end
    for _ = 1, 10 do round() end
    local before = used()
    for _ = 1, 100 do round() end
    assert.is_true(used() < before + 40, ("%g kB -> %g kB"):format(before, used()))
    world:spawn(ecs.trait())
  end)
end)

describe("worlds made in coroutines", function()
  it("outlive them", function()
    local made = {}
    for i = 1, 20 do
      local co = coroutine.create(function()
        local world = ecs.createWorld()
        local log = {}
        world:onAdd(T, function(e) log[#log + 1] = world:get(e, T, "n") end)
        world:onQueryRemove(T, function(e) log[#log + 1] = util.slot(e) end)
        world:onRemove(R, function() log[#log + 1] = "R" end)
        local e = world:spawn(T { n = i })
        made[i] = { world, log, e, world:each(T) }
        coroutine.yield()
      end)
      coroutine.resume(co)
    end
    util.collectAll()
    for i = 1, 20 do
      local world, log, e = table.unpack(made[i])
      assert.is_nil(made[i][7])
      local f = world:spawn(T { n = -i }, R(e))
      world:destroy(e)
      assert.is_false(world:isAlive(f))
      assert.same({ i, -i, "R", 1, 2 }, log)
      util.checkInvariants(world, { T }, { R })
      world:close()
    end
  end)

  it("may be used after the coroutine died of an error", function()
    local world
    local co = coroutine.create(function()
      world = ecs.createWorld()
      world:onAdd(T, function() error "boom" end)
      world:spawn(T)
    end)
    assert.is_false(coroutine.resume(co))
    co = nil -- luacheck: ignore
    util.collectAll()
    assert.is_false(pcall(world.spawn, world, T))
    assert.equal(0, world:count())
    world:close()
  end)
end)

describe("closing a Lua state", function()
  local function runsSilently(code)
    local how, number, output = child.run(code .. '\nprint "done"', "-W")
    assert.equal("done\n", output)
    assert.equal("exit 0", how .. " " .. number)
  end

  local content = [[
    local ecs = require "ecsser"
    local T, R = ecs.trait { n = 0, any = ecs.null }, ecs.relation { store = { n = 0 } }
    local Aos = ecs.trait(function() return {} end)
    local function fill(world)
      local t = world:spawn(T)
      for i = 1, 100 do world:spawn(T { n = i, any = world }, R(t, { n = i }), Aos { world }) end
      world:onRemove(T, function() error "never" end)
      world:onQueryRemove(T, function() error "never" end)
      world:slots(T)
      return world
    end
  ]]

  it("with worlds alive is silent", function()
    runsSilently(content .. [[
      for i = 1, 20 do _G["w" .. i] = fill(ecs.createWorld()) end
    ]])
  end)

  it("with iterators, unsubscribers and columns alive is silent", function()
    runsSilently(content .. [[
      local world = fill(ecs.createWorld())
      kept = table.pack(world:each(T))
      kept[1](kept[2], kept[3])
      stop = world:onAdd(T, print)
      column = world:column(T, "n")
      slots = world:slots(T)
    ]])
  end)

  it("within a loop, a callback and a coroutine is silent", function()
    runsSilently(content .. [[
      local world = fill(ecs.createWorld())
      thread = coroutine.create(function()
        local inner <close> = fill(ecs.createWorld())
        for e in inner:each(T) do coroutine.yield(e) end
      end)
      coroutine.resume(thread)
      world:onAdd(Aos, function()
        for _ in world:each(T) do print "done" os.exit(0, true) end
      end)
      world:spawn(Aos)
    ]])
  end)

  it("with finalizers of the script that use worlds is silent", function()
    runsSilently(content .. [[
      local world = fill(ecs.createWorld())
      late = setmetatable({}, { __gc = function()
        pcall(world.count, world)
        pcall(world.spawn, world, T)
        pcall(world.close, world)
        pcall(ecs.createWorld)
        pcall(T, { n = 1 })
      end })
      world2 = fill(ecs.createWorld())
      setmetatable({}, { __gc = function(o) pcall(world2.reset, world2) end })
    ]])
  end)

  it("with worlds that were finalized already is silent", function()
    runsSilently(content .. [[
      local world = fill(ecs.createWorld())
      debug.getmetatable(world).__gc(world)
      other = fill(ecs.createWorld())
      other:close()
    ]])
  end)
end)

describe("with the collector at its worst", function()
  local workload = require "spec.support.world_workload"

  local function under(setup)
    local world <close> = ecs.createWorld()
    setup()
    local ok, err = pcall(function()
      for _ = 1, 5 do workload(world) end
    end)
    collectgarbage "incremental"
    collectgarbage("incremental", 200, 100, 13)
    assert(ok, err)
  end

  it("without pause", function()
    under(function() collectgarbage("incremental", 1, 1000, 1) end)
  end)

  it("in generational mode", function()
    under(function() collectgarbage("generational", 1, 1) end)
  end)

  -- In a process of its own, where a full collection takes little time.
  local function hooked(code)
    local how, number, output = child.run([[
      local ecs = require "ecsser"
      local workload = require "spec.support.world_workload"
      local world = ecs.createWorld()
      workload(world)
    ]] .. code .. [[
      for _ = 1, 2 do workload(world) end
      debug.sethook()
      print "done"
    ]], "-W")
    assert.equal("done\n", output)
    assert.equal("exit 0", how .. " " .. number)
  end

  it("with a step at every line", function()
    hooked [[ debug.sethook(function() collectgarbage "step" end, "l") ]]
  end)

  it("with a full collection at every call and return", function()
    hooked [[ debug.sethook(function() collectgarbage() end, "cr") ]]
  end)

  it("with a full collection in generational mode at every third instruction", function()
    hooked [[
      collectgarbage("generational", 1, 1)
      debug.sethook(function() collectgarbage() end, "", 3)
    ]]
  end)
end)
