local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnStart, OnLoad, OnUpdate = schedule.OnStart, schedule.OnLoad, schedule.OnUpdate
local PreUpdate, PostUpdate, OnStore = schedule.PreUpdate, schedule.PostUpdate, schedule.OnStore
local definePhase, defineSystem = schedule.definePhase, schedule.defineSystem

-- A schedule with one logging system per phase, in all kinds of phases:
-- OnStart, OnLoad, OnUpdate, X (automatic), M (manual, connected), N (manual, after M),
-- OnStore and the detached chains T1 - T2 - T3 and U1 - U2.
local function kit()
  local k = { log = sch.log(), world = ecs.createWorld() }
  k.X = definePhase("X", { dependsOn = { OnUpdate } })
  k.M = definePhase("M", { dependsOn = { OnUpdate }, manual = true })
  k.N = definePhase("N", { dependsOn = { k.M }, manual = true })
  k.T1 = definePhase "T1"
  k.T2 = definePhase("T2", { dependsOn = { k.T1 } })
  k.T3 = definePhase("T3", { dependsOn = { k.T2 } })
  k.U1 = definePhase "U1"
  k.U2 = definePhase("U2", { dependsOn = { k.U1 } })
  k.phases = { k.U1, k.T1, k.M, k.X, k.N, k.T2, k.U2, k.T3 }
  k.systems = {}
  for i, phase in ipairs { OnStart, OnLoad, OnUpdate, OnStore, table.unpack(k.phases) } do
    k.systems[i] = k.log.system("in" .. phase.name, { phase = phase })
  end
  k.s = sch.create { phases = k.phases, systems = k.systems }
  return k
end

describe("running", function()
  local k

  before_each(function() k = kit() end)

  -- Runs it and tells what was run.
  local function run(dt)
    k.s:run(k.world, dt or 0)
    return k.log.take()
  end

  local function runPhases(from, to)
    k.s:runPhases(k.world, from, to, 0)
    return k.log.take()
  end

  local function started()
    return k.world:get(k.s.state, "onStartDone")
  end

  it("SCH-030 run runs every system of every automatic phase, phase by phase", function()
    assert.equal("inOnStart inOnLoad inOnUpdate inX inOnStore", run())
    k.s:disable(k.world, k.systems[3])
    assert.equal("inOnLoad inX inOnStore", run())
  end)

  it("SCH-031 passes dt unchanged and reads no clock", function()
    local seen = {}
    local s = sch.create { systems = {
      defineSystem { name = "a", run = function(_, dt) seen[#seen + 1] = dt end },
    } }
    local kept = { clock = os.clock, time = os.time, date = os.date }
    for name in pairs(kept) do rawset(os, name, function() error "a clock was read" end) end
    local dts = { 0.1, 1 / 3, 5e-324, 1e300, 7, math.maxinteger }
    local ok, err = pcall(function()
      for _, dt in ipairs(dts) do s:run(k.world, dt) end
    end)
    for name, original in pairs(kept) do rawset(os, name, original) end
    assert.is_true(ok, err)
    for i, dt in ipairs(dts) do
      assert.equal(dt, seen[i])
      assert.equal(math.type(dt), math.type(seen[i]))
    end
  end)

  it("SCH-032 runPhase runs the systems of that phase only, in order", function()
    local b, c = k.log.system "b", k.log.system "c"
    local a = k.log.system("a", { before = { b } })
    local no = k.log.system("no", { runIf = function() return false end })
    local s = sch.create { systems = { b, no, a, c, k.log.system("x", { phase = OnLoad }) } }
    s:runPhase(k.world, OnUpdate, 0)
    assert.equal("a b c", k.log.take())
    s:disable(k.world, b)
    s:runPhase(k.world, OnUpdate, 0)
    assert.equal("a c", k.log.take())
    s:runPhase(k.world, OnLoad, 0)
    assert.equal("x", k.log.take())
  end)

  it("SCH-033 runPhases runs the automatic phases of the range, both ends included", function()
    assert.equal("inOnUpdate inX inOnStore", runPhases(OnUpdate, OnStore))
    assert.equal("inOnUpdate inX", runPhases(PreUpdate, k.X))
    assert.equal("inX", runPhases(k.X, PostUpdate))
    assert.equal("inOnUpdate", runPhases(OnUpdate, OnUpdate))
    assert.equal("inOnStart inOnLoad inOnUpdate inX inOnStore", runPhases(OnStart, OnStore))
  end)

  it("SCH-033 includes phases that depend on neither end", function()
    local log = sch.log()
    local A = definePhase("A", { dependsOn = { OnLoad } })
    local B = definePhase("B", { dependsOn = { OnLoad } })
    local C = definePhase("C", { dependsOn = { OnLoad } })
    local s = sch.create { phases = { A, B, C }, systems = {
      log.system("c", { phase = C }), log.system("b", { phase = B }),
      log.system("a", { phase = A }),
    } }
    s:runPhases(k.world, A, C, 0)
    assert.equal("a b c", log.take())
  end)

  it("SCH-034 refuses unknown phases and ranges that end before they begin", function()
    local Z = definePhase "Z"
    local s, world = k.s, k.world
    sch.fails({ "runPhase", '"main"', '"Z"' }, function() s:runPhase(world, Z, 0) end)
    sch.fails({ "runPhase", '"main"', "#2", "nil" }, function() s:runPhase(world, nil, 0) end)
    sch.fails({ "runPhases", '"main"', '"Z"' }, function() s:runPhases(world, Z, OnLoad, 0) end)
    sch.fails({ "runPhases", '"main"', '"Z"' }, function() s:runPhases(world, OnLoad, Z, 0) end)
    sch.fails({ "runPhases", '"main"', "#3" }, function() s:runPhases(world, OnLoad, "X", 0) end)
    sch.fails({ "runPhases", '"main"', '"OnStore"', '"OnLoad"' }, function()
      s:runPhases(world, OnStore, OnLoad, 0)
    end)
    sch.fails({ "runPhases", '"main"', '"T3"', '"T1"' }, function()
      s:runPhases(world, k.T3, k.T1, 0)
    end)
    assert.equal("", k.log.take())
  end)

  it("SCH-035 keeps no cursor: ranges that cover all phases are a run", function()
    local whole = run()
    k = kit()
    local parts = {}
    for _, range in ipairs { { OnStart, OnLoad }, { schedule.PostLoad, OnUpdate },
      { k.X, PostUpdate }, { schedule.PreStore, OnStore } } do
      parts[#parts + 1] = runPhases(range[1], range[2])
    end
    assert.equal(whole, table.concat(parts, " "))
    -- and any range may follow any other
    assert.equal("inOnStore", runPhases(OnStore, OnStore))
    assert.equal("inOnLoad", runPhases(OnLoad, OnLoad))
    assert.equal("inOnLoad", runPhases(OnLoad, OnLoad))
  end)

  it("SCH-036 runs OnStart systems once per world, by whichever call", function()
    local starts = {
      function() k.s:run(k.world, 0) end,
      function() k.s:runPhase(k.world, OnStart, 0) end,
      function() k.s:runPhases(k.world, OnStart, OnLoad, 0) end,
    }
    for _, first in ipairs(starts) do
      k.world:reset()
      first()
      assert.truthy(k.log.take():find("inOnStart", 1, true))
      for _, later in ipairs(starts) do
        later()
        assert.is_nil(k.log.take():find("inOnStart", 1, true))
      end
    end
    assert.equal("inOnLoad inOnUpdate inX inOnStore", run())
  end)

  it("SCH-037 lets errors of systems through unchanged, and goes on later", function()
    local err = setmetatable({}, { __tostring = function() return "an object" end })
    local broken, raise = true, nil
    local bad = k.log.system("bad", { run = function() if broken then raise() end end })
    local s = sch.create { systems = {
      k.log.system "a", bad, k.log.system "b", k.log.system("c", { phase = OnStore }),
    } }
    for _, case in ipairs { err, "a string", 42, false } do
      raise = function() error(case, 0) end
      local ok, got = pcall(s.run, s, k.world, 0)
      assert.is_false(ok)
      assert.equal(case, got)
      assert.equal("a bad", k.log.take())
    end
    broken = false
    s:run(k.world, 0)
    assert.equal("a bad b c", k.log.take())
  end)

  it("SCH-037 lets errors of conditions through unchanged", function()
    local err, S = {}, schedule.defineSet("S", { runIf = function() return true end })
    local s = sch.create { sets = { S }, systems = {
      k.log.system "a",
      k.log.system("bad", { sets = { S }, runIf = function() error(err) end }),
      k.log.system "b",
    } }
    local ok, got = pcall(s.runPhase, s, k.world, OnUpdate, 0)
    assert.is_false(ok)
    assert.equal(err, got)
    assert.equal("a", k.log.take())
    s:runPhase(k.world, OnLoad, 0)
  end)

  it("SCH-037 shows the system in the traceback of its error", function()
    local function deepInTheGame() error "deep" end
    local s = sch.create { systems = {
      defineSystem { name = "a", run = function() deepInTheGame() end },
    } }
    local _, trace = xpcall(s.run, debug.traceback, s, k.world, 0)
    assert.truthy(trace:find("deepInTheGame", 1, true), trace)
  end)

  it("SCH-038 runs nothing where there is nothing", function()
    local s = sch.create {}
    s:run(k.world, 0)
    s:runPhase(k.world, OnUpdate, 0)
    s:runPhases(k.world, OnStart, OnStore, 0)
    k.s:runPhase(k.world, PostUpdate, 0)
    assert.equal("", k.log.take())
    local D = definePhase "D"
    s = sch.create { phases = { D } }
    s:runPhase(k.world, D, 0)
    s:runPhases(k.world, D, D, 0)
  end)

  it("SCH-039 makes a full pass with its own dt on every call", function()
    local seen = {}
    local function note(_, dt) seen[#seen + 1] = dt end
    local s = sch.create { systems = {
      defineSystem { name = "a", run = note },
      defineSystem { name = "b", run = note, phase = OnStore },
    } }
    for _, dt in ipairs { 0.016, 0.033, 0, 0.1 } do s:run(k.world, dt) end
    assert.same({ 0.016, 0.016, 0.033, 0.033, 0, 0, 0.1, 0.1 }, seen)
  end)

  it("SCH-040 leaves everything outside of the range alone", function()
    assert.equal("inT1 inT2", runPhases(k.T1, k.T2))
    assert.equal("inT3", runPhases(k.T3, k.T3))
    assert.equal("inOnLoad", runPhases(OnLoad, PreUpdate))
  end)

  it("SCH-041 refuses a dt that is NaN, infinite or negative, before anything happens", function()
    for _, dt in ipairs { 0 / 0, -(0 / 0), math.huge, -math.huge, -1, -0.001, math.mininteger } do
      sch.fails({ "run: ", '"main"', "dt", "#2" }, function() k.s:run(k.world, dt) end)
      sch.fails({ "runPhase: ", '"main"', "dt", "#3" }, function()
        k.s:runPhase(k.world, OnStart, dt)
      end)
      sch.fails({ "runPhases: ", '"main"', "dt", "#4" }, function()
        k.s:runPhases(k.world, OnStart, OnStore, dt)
      end)
    end
    for _, dt in ipairs { "1", true, {} } do
      sch.fails({ "run: ", '"main"', "dt", type(dt) }, function() k.s:run(k.world, dt) end)
    end
    sch.fails({ "run: ", '"main"', "dt", "nil" }, function() k.s:run(k.world) end)
    assert.equal("", k.log.take())
    assert.is_false(k.world:has(k.s.state))
    assert.equal("inOnStart", run():match "%S+")
  end)

  it("SCH-042 passes a dt of 0 as 0", function()
    local seen = {}
    local s = sch.create { systems = {
      defineSystem { name = "a", run = function(_, dt) seen[#seen + 1] = dt end },
    } }
    s:run(k.world, 0)
    s:runPhase(k.world, OnUpdate, 0)
    s:runPhases(k.world, OnUpdate, OnUpdate, 0.0)
    assert.same({ 0, 0, 0.0 }, seen)
  end)

  it("SCH-043 refuses calls while the schedule runs on that world", function()
    local errors = {}
    local s
    local calls = {
      function() s:run(k.world, 0) end,
      function() s:runPhase(k.world, OnStore, 0) end,
      function() s:runPhases(k.world, OnStore, OnStore, 0) end,
    }
    local a = k.log.system("a", { run = function()
      for i, call in ipairs(calls) do errors[i] = select(2, pcall(call)) end
    end })
    s = sch.create { systems = { a, k.log.system("b", { phase = OnStore }) } }
    s:run(k.world, 0)
    assert.equal("a b", k.log.take())
    for i, name in ipairs { "run", "runPhase", "runPhases" } do
      assert.truthy(errors[i]:find(name .. ': schedule "main": ', 1, true), errors[i])
      assert.truthy(errors[i]:find("already running", 1, true), errors[i])
    end
    -- the same from a condition, and from a coroutine that a system starts
    s = sch.create { systems = {
      k.log.system("c", { runIf = function() return (pcall(s.run, s, k.world, 0)) end }),
      k.log.system("d", { run = function()
        errors[1] = select(2, coroutine.resume(coroutine.create(calls[1])))
      end }),
    } }
    s:run(k.world, 0)
    assert.equal("d", k.log.take())
    assert.truthy(errors[1]:find("already running", 1, true))
  end)

  it("SCH-044 clears the mark of a running call, however the call ends", function()
    run()
    run()
    local fail = true
    local s
    s = sch.create { systems = { k.log.system("a", { run = function()
      if fail == "nested" then s:run(k.world, 0) elseif fail then error "no" end
    end }) } }
    for _, how in ipairs { true, "nested", true } do
      fail = how
      assert.is_false(pcall(s.run, s, k.world, 0))
      assert.is_false(pcall(s.runPhase, s, k.world, OnUpdate, 0))
      fail = false
      s:run(k.world, 0)
    end
    k.log.take()
    s:run(k.world, 0)
    assert.equal("a", k.log.take())
  end)

  it("SCH-045 lets a system run another schedule, or its own on another world", function()
    local other, inner = ecs.createWorld(), sch.create {
      name = "inner", systems = { k.log.system "inner" },
    }
    local s
    s = sch.create { systems = { k.log.system("a", { run = function(world)
      inner:run(world, 0)
      if world == k.world then s:run(other, 0) end
    end }) } }
    s:run(k.world, 0)
    assert.equal("a inner a inner", k.log.take())
    s:run(other, 0)
    assert.equal("a inner", k.log.take())
  end)

  it("SCH-107 run leaves manual phases out, enabled or not", function()
    assert.is_nil(run():find "in[MNTU]")
    for _, system in ipairs(k.systems) do k.s:enable(k.world, system) end
    assert.is_nil(run():find "in[MNTU]")
    local s = sch.create { phases = { k.T1 }, systems = { k.log.system("t", { phase = k.T1 }) } }
    s:run(k.world, 0)
    assert.equal("", k.log.take())
  end)

  it("SCH-108 runPhase runs a manual phase and nothing else", function()
    for _, phase in ipairs { k.M, k.N, k.T1, k.T2, k.T3, k.U2 } do
      k.s:runPhase(k.world, phase, 0)
      assert.equal("in" .. phase.name, k.log.take())
    end
    k.s:disable(k.world, k.s:systemsOf(k.T2)[1])
    k.s:runPhase(k.world, k.T2, 0)
    assert.equal("", k.log.take())
  end)

  it("SCH-109 runPhases runs the manual phases of one component", function()
    assert.equal("inT1 inT2 inT3", runPhases(k.T1, k.T3))
    assert.equal("inU1 inU2", runPhases(k.U1, k.U2))
    assert.equal("inT2 inT3", runPhases(k.T2, k.T3))
    assert.equal("inM inN", runPhases(k.M, k.N))
    -- a component with automatic phases between its manual ones
    local log = sch.log()
    local A = definePhase("A", { dependsOn = { OnUpdate }, manual = true })
    local B = definePhase("B", { dependsOn = { A } })
    local C = definePhase("C", { dependsOn = { B }, manual = true })
    local D = definePhase("D", { dependsOn = { OnStore }, manual = true })
    local s = sch.create { phases = { A, B, C, D }, systems = {
      log.system("d", { phase = D }), log.system("c", { phase = C }),
      log.system("b", { phase = B }), log.system("a", { phase = A }),
    } }
    s:runPhases(k.world, A, C, 0)
    assert.equal("a c", log.take())
    sch.fails({ '"A"', '"D"' }, function() s:runPhases(k.world, A, D, 0) end)
  end)

  it("SCH-110 refuses two manual phases that are not connected", function()
    for _, pair in ipairs { { k.T1, k.U1 }, { k.U2, k.T1 }, { k.M, k.T1 }, { k.T3, k.M } } do
      sch.fails({ "runPhases", '"main"', '"' .. pair[1].name .. '"', '"' .. pair[2].name .. '"' },
        function() k.s:runPhases(k.world, pair[1], pair[2], 0) end)
    end
    assert.equal("", k.log.take())
    assert.is_false(k.world:has(k.s.state))
  end)

  it("SCH-111 refuses a range with exactly one manual end", function()
    for _, pair in ipairs { { k.T1, OnLoad }, { OnStart, k.M }, { k.M, OnStore }, { k.X, k.N } } do
      local text = sch.fails({ "runPhases", '"main"', "only" }, function()
        k.s:runPhases(k.world, pair[1], pair[2], 0)
      end)
      assert.truthy(text:find('"' .. pair[1].name .. '"', 1, true))
      assert.truthy(text:find('"' .. pair[2].name .. '"', 1, true))
    end
    assert.equal("", k.log.take())
    assert.is_false(k.world:has(k.s.state))
  end)

  it("SCH-112 counts OnStart as done at the end of the phase, if no system raised", function()
    local fail, during = true, {}
    local s
    s = sch.create { systems = {
      k.log.system("a", { phase = OnStart }),
      k.log.system("b", { phase = OnStart, run = function(world)
        during[#during + 1] = world:get(s.state, "onStartDone")
        if fail == true then error "no" end
      end }),
      k.log.system("c", { phase = OnLoad, run = function(world)
        during[#during + 1] = world:get(s.state, "onStartDone")
        if fail == "later" then error "no" end
      end }),
    } }
    assert.is_false(pcall(s.run, s, k.world, 0))
    assert.equal("a b", k.log.take())
    assert.is_false(k.world:get(s.state, "onStartDone"))
    assert.is_false(pcall(s.run, s, k.world, 0))
    assert.equal("a b", k.log.take())
    fail = "later"
    assert.is_false(pcall(s.run, s, k.world, 0))
    assert.equal("a b c", k.log.take())
    assert.is_true(k.world:get(s.state, "onStartDone"))
    assert.is_false(pcall(s.run, s, k.world, 0))
    assert.equal("c", k.log.take())
    assert.same({ false, false, false, true, true }, during)
  end)

  it("SCH-113 counts an OnStart phase in which nothing ran as done", function()
    k.s:disable(k.world, k.systems[1])
    assert.equal("inOnLoad inOnUpdate inX inOnStore", run())
    assert.is_true(started())
    k.s:enable(k.world, k.systems[1])
    assert.equal("inOnLoad inOnUpdate inX inOnStore", run())
    local gate = false
    local s = sch.create { systems = {
      k.log.system("a", { phase = OnStart, runIf = function() return gate end }),
    } }
    s:runPhase(k.world, OnStart, 0)
    gate = true
    s:run(k.world, 0)
    assert.equal("", k.log.take())
    local empty = sch.create {}
    empty:run(k.world, 0)
    assert.is_true(k.world:get(empty.state, "onStartDone"))
  end)

  it("SCH-114 runs OnStart only when the range of a call includes it", function()
    assert.equal("inOnLoad inOnUpdate inX inOnStore", runPhases(OnLoad, OnStore))
    k.s:runPhase(k.world, OnUpdate, 0)
    runPhases(k.T1, k.T3)
    assert.is_false(started())
    assert.equal("inOnStart", run():match "%S+")
    assert.is_true(started())
  end)

  it("SCH-115 raises the first of: wrong phases, wrong dt, re-entrancy", function()
    local Z, errors = definePhase "Z", {}
    local s
    local function try(...) errors[#errors + 1] = select(2, pcall(s.runPhases, s, ...)) end
    local T = definePhase "T"
    local U = definePhase "U"
    s = sch.create { phases = { T, U }, systems = {
      k.log.system("a", { run = function(world)
        try(world, OnLoad, Z, -1)
        try(world, OnStore, OnLoad, -1)
        try(world, T, U, -1)
        try(world, T, OnLoad, -1)
        try(world, OnLoad, OnStore, -1)
        try(world, OnLoad, OnStore, 0)
        errors[#errors + 1] = select(2, pcall(s.runPhase, s, world, Z, -1))
        errors[#errors + 1] = select(2, pcall(s.runPhase, s, world, OnLoad, -1))
        errors[#errors + 1] = select(2, pcall(s.run, s, world, -1))
      end }),
    } }
    s:run(k.world, 0)
    for i, text in ipairs {
      '"Z"', "earlier", "not connected", "only", "dt", "already running", '"Z"', "dt", "dt",
    } do
      assert.truthy(errors[i]:find(text, 1, true), i .. ": " .. errors[i])
    end
  end)

  describe("SCH-116 a system must be synchronous", function()
    -- Expects that this system breaks the run, and that the schedule still works.
    local function breaks(runIt)
      local on = true
      local s = sch.create { systems = {
        k.log.system("a"),
        k.log.system("slow", { run = function(...) if on then return runIt(...) end end }),
        k.log.system("b"),
      } }
      for _ = 1, 2 do
        sch.breaks({ 'schedule "main"', 'system "slow"', "synchronous" }, s.run, s, k.world, 0)
        assert.equal("a slow", k.log.take())
      end
      on = false
      s:run(k.world, 0)
      assert.equal("a slow b", k.log.take())
    end

    it("SCH-116 refuses a coroutine as its result", function()
      breaks(function() return coroutine.create(print) end)
    end)

    it("SCH-116 refuses a value with a function then as its result", function()
      breaks(function() return { ["then"] = function() end } end)
      local Promise = { ["then"] = function() end }
      Promise.__index = Promise
      breaks(function() return setmetatable({}, Promise) end)
    end)

    it("SCH-116 refuses a yield on the main thread", function()
      breaks(function() coroutine.yield() end)
    end)

    it("SCH-116 refuses a yield inside of a coroutine, where it would suspend the call", function()
      local co = coroutine.create(function() breaks(function() coroutine.yield(1) end) end)
      assert.is_true(coroutine.resume(co))
      assert.equal("dead", coroutine.status(co))
    end)

    it("SCH-116 refuses yields of conditions and hooks", function()
      for _, options in ipairs {
        { systems = { k.log.system("slow", { runIf = coroutine.yield }) } },
        { systems = { k.log.system "slow" }, hooks = { beforeSystem = coroutine.yield } },
        { systems = { k.log.system "slow" }, hooks = { afterSystem = coroutine.yield } },
      } do
        local s = sch.create(options)
        coroutine.wrap(function()
          sch.breaks({ 'schedule "main"', 'system "slow"', "yield" }, s.run, s, k.world, 0)
          sch.breaks({ 'schedule "main"', 'system "slow"', "yield" }, s.run, s, k.world, 0)
        end)()
      end
    end)

    it("SCH-116 lets a system use coroutines of its own", function()
      local sum = 0
      local s = sch.create { systems = { defineSystem { name = "a", run = function()
        local numbers = coroutine.wrap(function() for i = 1, 4 do coroutine.yield(i) end end)
        for i in numbers do sum = sum + i end
      end } } }
      s:run(k.world, 0)
      coroutine.wrap(function() s:run(k.world, 0) end)()
      assert.equal(20, sum)
    end)

    it("SCH-116 ignores every other result", function()
      local results = { 1, "text", true, {}, { ["then"] = 1 }, print,
        setmetatable({}, { __index = function() error "hands off" end }), k.world }
      local i = 0
      local s = sch.create { systems = {
        defineSystem { name = "a", run = function() i = i + 1 return results[i] end },
        k.log.system "b",
      } }
      for _ = 1, #results do
        s:run(k.world, 0)
        assert.equal("b", k.log.take())
      end
    end)
  end)
end)
