local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnStart, OnUpdate = schedule.OnStart, schedule.OnUpdate

describe("schedules and worlds", function()
  local log, one, two, a, start, s

  before_each(function()
    log, one, two = sch.log(), ecs.createWorld(), ecs.createWorld()
    a, start = log.system "a", log.system("start", { phase = OnStart })
    s = sch.create { systems = { a, log.system "b", start } }
  end)

  local function run(world)
    s:run(world, 0)
    return log.take()
  end

  it("SCH-060 keeps what is disabled separately per world", function()
    s:disable(one, a)
    assert.is_false(s:isEnabled(one, a))
    assert.is_true(s:isEnabled(two, a))
    assert.equal("start b", run(one))
    assert.equal("start a b", run(two))
    assert.same({ "a" }, { table.unpack(one:get(s.state, "disabled")) })
    assert.same({}, { table.unpack(two:get(s.state, "disabled")) })
    s:disable(two, a)
    s:enable(one, a)
    assert.equal("a b", run(one))
    assert.equal("b", run(two))
  end)

  it("SCH-061 keeps OnStart separately per world", function()
    assert.equal("start a b", run(one))
    assert.equal("a b", run(one))
    assert.equal("start a b", run(two))
    assert.is_true(one:get(s.state, "onStartDone"))
    two:reset()
    assert.equal("a b", run(one))
    assert.equal("start a b", run(two))
  end)

  it("SCH-062 schedules with different names share nothing in one world", function()
    local t = sch.create { name = "other", systems = { a, start } }
    assert.are_not.equal(s.state, t.state)
    s:disable(one, a)
    assert.is_true(t:isEnabled(one, a))
    run(one)
    t:run(one, 0)
    assert.equal("start a", log.take())
    assert.equal("main", one:get(s.state, "name"))
    assert.equal("other", one:get(t.state, "name"))
    assert.same({}, { table.unpack(one:get(t.state, "disabled")) })
  end)

  it("SCH-063 keeps its state in a world-level trait with three fields, added lazily", function()
    assert.is_false(one:has(s.state))
    for _, first in ipairs {
      function() s:run(one, 0) end,
      function() s:runPhase(one, OnUpdate, 0) end,
      function() s:runPhases(one, OnUpdate, OnUpdate, 0) end,
      function() s:runPhase(one, schedule.OnValidate, 0) end,
      function() s:isEnabled(one, a) end,
      function() s:enable(one, a) end,
      function() s:disable(one, a) end,
    } do
      one:reset()
      assert.is_false(one:has(s.state))
      first()
      assert.is_true(one:has(s.state))
    end
    local fields = {}
    for field, value in pairs(one:get(s.state)) do fields[field] = type(value) end
    assert.same({ name = "string", disabled = "table", onStartDone = "boolean" }, fields)
  end)

  it("SCH-063 never reads the name back from the trait", function()
    run(one)
    one:set(s.state, { name = "renamed" })
    s:disable(one, a)
    assert.equal("b", run(one))
    assert.equal("main", s.name)
    assert.equal("renamed", one:get(s.state, "name"))
  end)

  it("SCH-063 keeps the schedule immutable, and the mark of a running call out of the trait",
    function()
      for _, field in ipairs { "name", "state", "phases", "systems", "run", "new" } do
        assert.has_error(function() s[field] = 1 end)
      end
      local during
      s = sch.create { systems = { log.system("x", { run = function(world)
        during = world:get(s.state)
      end }) } }
      run(one)
      assert.same({ name = "main", onStartDone = true },
        { name = during.name, onStartDone = during.onStartDone })
      local count = 0
      for _ in pairs(during) do count = count + 1 end
      assert.equal(3, count)
    end)

  it("SCH-064 loading the module has no side effects", function()
    local globals, loaded = {}, {}
    for key, value in pairs(_G) do globals[key] = value end
    for name, module in pairs(package.loaded) do
      if name:find "^ecsser%.schedule" then
        loaded[name], package.loaded[name] = module, nil
      end
    end
    local fresh = require "ecsser.schedule"
    for key, value in pairs(_G) do
      assert.equal(globals[key], value)
      globals[key] = nil
    end
    assert.is_nil(next(globals))
    for name in pairs(package.loaded) do
      if name:find "^ecsser%.schedule" then package.loaded[name] = loaded[name] end
    end
    -- another copy of the module is another module: nothing is shared through globals
    assert.are_not.equal(fresh.OnUpdate, OnUpdate)
    assert.equal(9, #fresh.createSchedule({ name = "x" }).phases)
  end)

  it("SCH-064 running in one world changes nothing in another", function()
    local Seen = ecs.trait { n = 0 }
    two:add(Seen)
    local traits = #two:traits()
    run(one)
    s:disable(one, a)
    assert.is_false(two:has(s.state))
    assert.equal(traits, #two:traits())
    assert.equal("start a b", run(two))
  end)

  it("SCH-064 keeps no world alive", function()
    local alive = setmetatable({}, { __mode = "k" })
    for _ = 1, 5 do
      local world = ecs.createWorld()
      alive[world] = true
      run(world)
    end
    for _ = 1, 3 do collectgarbage() end
    assert.is_nil(next(alive))
  end)

  it("SCH-065 world:reset brings the defaults back", function()
    run(one)
    s:disable(one, a)
    one:reset()
    assert.is_false(one:has(s.state))
    assert.is_true(s:isEnabled(one, a))
    assert.equal("main", one:get(s.state, "name"))
    assert.equal("start a b", run(one))
    assert.equal("a b", run(one))
    for _ = 1, 20 do
      one:reset()
      assert.equal("start a b", run(one))
      assert.is_true(one:get(s.state, "onStartDone"))
    end
  end)

  it("SCH-151 schedule.state is the trait, with the same identity on every access", function()
    local state = s.state
    assert.is_true(ecs.isTrait(state))
    run(one)
    assert.equal(state, s.state)
    assert.are_not.equal(state, sch.create({}).state)
    assert.has_error(function() s.state = nil end)
  end)

  it("SCH-151 works with the world's methods", function()
    assert.is_false(one:has(s.state))
    assert.is_nil(one:get(s.state))
    one:add(s.state)
    local state = one:get(s.state)
    assert.equal("main", state.name)
    assert.equal(0, #state.disabled)
    assert.is_false(state.onStartDone)
    assert.equal("start a b", run(one))
    one:set(s.state, { onStartDone = false, disabled = { "b" } })
    assert.equal("start a", run(one))
    one:reset()
    run(one)
    assert.equal("main", one:get(s.state).name)
    one:remove(s.state)
    assert.equal("start a b", run(one))
  end)

  it("SCH-151 gives every world a list of its own", function()
    one:add(s.state)
    two:add(s.state)
    assert.are_not.equal(one:get(s.state, "disabled"), two:get(s.state, "disabled"))
  end)

  it("tells observers of its state what happens to it", function()
    local events = {}
    one:onAdd(s.state, function() events[#events + 1] = "add" end)
    one:onChange(s.state, function()
      events[#events + 1] = #one:get(s.state, "disabled") .. " "
        .. tostring(one:get(s.state, "onStartDone"))
    end)
    s:disable(one, a)
    s:disable(one, a)
    run(one)
    run(one)
    s:enable(one, a)
    assert.same({ "add", "1 false", "1 true", "0 true" }, events)
  end)

  it("lets the errors of such observers through unchanged, and stays usable", function()
    local err, broken = {}, true
    one:onAdd(s.state, function() if broken then error(err) end end)
    local _, got = pcall(s.run, s, one, 0)
    assert.equal(err, got)
    _, got = pcall(s.disable, s, one, a)
    assert.equal(err, got)
    broken = false
    assert.equal("start a b", run(one))
    one:onChange(s.state, function() error(err) end)
    _, got = pcall(s.disable, s, one, a)
    assert.equal(err, got)
    assert.is_true(s:isEnabled(one, a))
  end)

  it("names itself when its world was closed", function()
    run(one)
    one:close()
    two:close()
    sch.breaks({ 'schedule "main"', "closed" }, s.run, s, one, 0)
    sch.breaks({ 'schedule "main"', "closed" }, s.isEnabled, s, one, a)
    sch.fails({ "run", 'schedule "main"', "#1", "closed" }, function() s:run(two, 0) end)
    sch.fails({ "disable", 'schedule "main"', "#1", "closed" }, function() s:disable(two, a) end)
    assert.equal("", log.take())
  end)

  it("survives a system that closes its world", function()
    s = sch.create { systems = {
      log.system("x", { run = function(world) world:close() end }), log.system "y",
    } }
    sch.breaks({ 'schedule "main"', "closed" }, s.run, s, one, 0)
    assert.equal("x", log.take())
  end)

  it("survives a system that resets its world", function()
    s = sch.create { systems = {
      log.system("x", { phase = OnStart, run = function(world) world:reset() end }),
      log.system("y", { run = function(world) world:reset() end }), log.system "z",
    } }
    for _ = 1, 3 do
      s:run(one, 0)
      one:get(s.state)
    end
    assert.truthy(log.take():find("x y z", 1, true))
  end)
end)
