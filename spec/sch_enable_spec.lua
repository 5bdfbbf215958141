local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnLoad, OnUpdate, OnStore = schedule.OnLoad, schedule.OnUpdate, schedule.OnStore
local defineSystem, defineSet = schedule.defineSystem, schedule.defineSet

describe("enabling, disabling and conditions", function()
  local log, world, a, b, c, s

  before_each(function()
    log, world = sch.log(), ecs.createWorld()
    a, b, c = log.system "a", log.system "b", log.system "c"
    s = sch.create { systems = { a, b, c } }
  end)

  local function run()
    s:run(world, 0)
    return log.take()
  end

  local function disabled()
    return table.concat(world:get(s.state, "disabled"), " ")
  end

  it("SCH-050 systems are enabled by default", function()
    for _, system in ipairs { a, b, c } do assert.is_true(s:isEnabled(world, system)) end
    assert.equal("a b c", run())
  end)

  it("SCH-051 disable makes every run call skip the system, and is kept by name", function()
    s:disable(world, b)
    assert.equal("b", disabled())
    assert.equal("a c", run())
    s:runPhase(world, OnUpdate, 0)
    s:runPhases(world, OnLoad, OnStore, 0)
    assert.equal("a c a c", log.take())
    s:disable(world, a)
    assert.equal("b a", disabled())
    assert.equal("c", run())
  end)

  it("SCH-052 enable puts the system back to its place", function()
    s:disable(world, a)
    s:disable(world, b)
    s:enable(world, b)
    assert.equal("b c", run())
    s:enable(world, a)
    assert.equal("a b c", run())
    assert.equal("", disabled())
    for _, system in ipairs { c, a, b } do s:disable(world, system) end
    for _, system in ipairs { b, c, a } do s:enable(world, system) end
    assert.equal("a b c", run())
    assert.equal("a b c", sch.names(s.systems))
  end)

  it("SCH-053 a disabled system goes on separating the others", function()
    local x = log.system "x"
    local y = log.system("y", { before = { x } })
    local z = log.system("z", { before = { y } })
    s = sch.create { systems = { x, y, z } }
    assert.equal("z y x", run())
    s:disable(world, y)
    assert.equal("z x", run())
  end)

  it("SCH-054 isEnabled tells the flag and asks no conditions", function()
    local d = log.system("d", { runIf = function() error "asked" end })
    s = sch.create { systems = { d } }
    assert.is_true(s:isEnabled(world, d))
    s:disable(world, d)
    assert.is_false(s:isEnabled(world, d))
    assert.equal("", run())
    s:enable(world, d)
    assert.is_true(s:isEnabled(world, d))
  end)

  it("SCH-055 unknown systems are errors; repeating a call changes nothing", function()
    local stranger = defineSystem { name = "a", run = print }
    for _, method in ipairs { "enable", "disable", "isEnabled" } do
      sch.fails({ method, '"main"', 'system "a"' }, function() s[method](s, world, stranger) end)
      sch.fails({ method, '"main"', "#2", "nil" }, function() s[method](s, world) end)
      sch.fails({ method, '"main"', "#2", "string" }, function() s[method](s, world, "a") end)
    end
    assert.is_false(world:has(s.state))
    s:disable(world, a)
    s:disable(world, a)
    assert.equal("a", disabled())
    s:enable(world, a)
    s:enable(world, a)
    s:enable(world, b)
    assert.equal("", disabled())
    assert.equal("a b c", run())
  end)

  it("SCH-056 enable and disable work at once, also within a run", function()
    local seen = {}
    local first
    first = log.system("first", { run = function()
      s:disable(world, b)
      seen[#seen + 1] = s:isEnabled(world, b)
      s:enable(world, b)
      seen[#seen + 1] = s:isEnabled(world, b)
      s:disable(world, c)
    end })
    s = sch.create { systems = { first, a, b, c } }
    assert.equal("first a b", run())
    assert.same({ false, true }, seen)
  end)

  it("SCH-057 a change affects the systems that have not run yet", function()
    local switch = log.system("switch", { run = function()
      s:disable(world, b)
      s:enable(world, c)
    end })
    s = sch.create { systems = { a, switch, b, c } }
    s:disable(world, c)
    assert.equal("a switch c", run())
    -- in a later phase, too
    local late = log.system("late", { phase = OnStore })
    s = sch.create { systems = { late, log.system("off", { run = function()
      s:disable(world, late)
    end }) } }
    assert.equal("off", run())
  end)

  it("SCH-058 a change to systems that ran already applies to later calls", function()
    local once
    once = log.system("once", { run = function()
      s:disable(world, once)
      s:disable(world, a)
    end })
    s = sch.create { systems = { a, once, b } }
    assert.equal("a once b", run())
    assert.equal("b", run())
  end)

  it("SCH-118 asks flag, set conditions and own condition in order, and stops at a no", function()
    local answers = { S = true, T = true, U = true, own = true }
    local function ask(name)
      return function()
        log.write(name)
        return answers[name]
      end
    end
    local S = defineSet("S", { runIf = ask "S" })
    local T = defineSet("T", { runIf = ask "T" })
    local U, plain = defineSet("U", { runIf = ask "U" }), defineSet "plain"
    local d = log.system("d", { sets = { T, plain, S, U }, runIf = ask "own" })
    s = sch.create { sets = { S, T, U, plain }, systems = { d } }
    assert.equal("T S U own d", run())
    answers.own = false
    assert.equal("T S U own", run())
    answers.S = false
    assert.equal("T S", run())
    answers.T = false
    assert.equal("T", run())
    s:disable(world, d)
    assert.equal("", run())
  end)

  it("SCH-118 asks for every system and call, so that it sees changes", function()
    local Count = ecs.trait { n = 0 }
    world:add(Count)
    local function even(w) return w:get(Count, "n") % 2 == 0 end
    local function add(w) w:set(Count, "n", w:get(Count, "n") + 1) end
    local S = defineSet("S", { runIf = even })
    s = sch.create { sets = { S }, systems = {
      log.system("x", { sets = { S }, run = add }), log.system("y", { sets = { S } }),
      log.system("z", { run = add }), log.system("w", { sets = { S } }),
    } }
    assert.equal("x z w", run())
    assert.equal("x z w", run())
    add(world)
    assert.equal("z w", run())
  end)

  it("SCH-119 does not run what is skipped", function()
    s = sch.create { systems = {
      log.system("no", { runIf = function() return false end }), a, b,
    } }
    s:disable(world, a)
    assert.equal("b", run())
  end)

  it("SCH-120 calls runIf(world) with nothing but the world", function()
    local calls = {}
    local function note(...)
      calls[#calls + 1] = table.pack(...)
      return true
    end
    local S = defineSet("S", { runIf = note })
    s = sch.create { sets = { S }, systems = { log.system("d", { sets = { S }, runIf = note }) } }
    run()
    assert.equal(2, #calls)
    for _, call in ipairs(calls) do
      assert.equal(1, call.n)
      assert.equal(world, call[1])
    end
  end)

  it("SCH-121 a condition must answer with a boolean", function()
    for _, answer in ipairs { "nil", 1, 0, "yes", {}, coroutine.create(print) } do
      local value = answer
      if answer == "nil" then value = nil end
      local function odd() return value end
      s = sch.create { systems = { a, log.system("d", { runIf = odd }), c } }
      sch.breaks({ 'schedule "main"', 'system "d"', "boolean", type(value) }, s.run, s, world, 0)
      assert.equal("a", log.take())
      local S = defineSet("S", { runIf = odd })
      s = sch.create { sets = { S }, systems = { log.system("e", { sets = { S } }) } }
      sch.breaks({ 'schedule "main"', 'system "e"', 'set "S"', "boolean" }, s.run, s, world, 0)
      assert.equal("", log.take())
      sch.breaks({ "boolean" }, s.run, s, world, 0)  -- not "already running"
    end
  end)

  it("SCH-122 conditions count in runPhase and runPhases, manual phases included", function()
    local on = false
    local T1 = schedule.definePhase "T1"
    local T2 = schedule.definePhase("T2", { dependsOn = { T1 } })
    local S = defineSet("S", { runIf = function() return on end })
    s = sch.create { phases = { T1, T2 }, sets = { S }, systems = {
      log.system("x", { phase = T1, sets = { S } }), log.system("y", { phase = T2 }),
      log.system("z", { phase = OnLoad, sets = { S } }),
    } }
    local function all()
      s:runPhase(world, T1, 0)
      s:runPhases(world, T1, T2, 0)
      s:runPhase(world, OnLoad, 0)
      return log.take()
    end
    assert.equal("y", all())
    on = true
    assert.equal("x x y z", all())
  end)

  describe("SCH-123 the state trait is the truth about what is enabled", function()
    -- Checks isEnabled and run against the list in the trait.
    local function agrees()
      local list, expected = {}, {}
      for _, name in ipairs(world:get(s.state, "disabled")) do list[name] = true end
      for _, system in ipairs { a, b, c } do
        assert.equal(not list[system.name], s:isEnabled(world, system))
        if not list[system.name] then expected[#expected + 1] = system.name end
      end
      assert.equal(table.concat(expected, " "), run())
      return table.concat(expected, " ")
    end

    before_each(function()
      s:isEnabled(world, a)
      run()
    end)

    it("SCH-123 (a) after disable and enable", function()
      local before = world:get(s.state, "disabled")
      s:disable(world, b)
      local after = world:get(s.state, "disabled")
      assert.are_not.equal(before, after)
      assert.equal(0, #before)
      assert.equal("a c", agrees())
      s:enable(world, b)
      assert.are_not.equal(after, world:get(s.state, "disabled"))
      assert.equal("b", table.concat(after, " "))
      assert.equal("a b c", agrees())
    end)

    it("SCH-123 (b) after world:set with a new list", function()
      world:set(s.state, { disabled = { "c", "a" } })
      assert.equal("b", agrees())
      world:set(s.state, "disabled", { "b" })
      assert.equal("a c", agrees())
      s:disable(world, a)
      assert.equal("c", agrees())
    end)

    it("SCH-123 (c) after world:reset", function()
      s:disable(world, a)
      assert.equal("b c", agrees())
      world:reset()
      assert.equal("a b c", run())
      assert.equal("a b c", agrees())
      world:set(s.state, { disabled = { "b" } })
      world:reset()
      assert.is_true(s:isEnabled(world, b))
      assert.equal("a b c", agrees())
    end)

    it("SCH-123 after the trait was removed, and added with another list", function()
      s:disable(world, a)
      world:remove(s.state)
      assert.equal("a b c", run())
      world:remove(s.state)
      world:add(s.state { disabled = { "b" } })
      assert.equal("a c", agrees())
    end)

    it("SCH-123 after thousands of replacements, without mixing lists up", function()
      for i = 1, 2000 do
        world:set(s.state, { disabled = i % 3 == 0 and { "a" } or { "b", "c" } })
        assert.equal(i % 3 ~= 0, s:isEnabled(world, a))
        if i % 500 == 0 then collectgarbage() end
      end
    end)
  end)

  describe("SCH-153 world:set on the state counts at once", function()
    it("SCH-153 (a) for isEnabled", function()
      assert.is_true(s:isEnabled(world, a))
      world:set(s.state, { disabled = { "a" } })
      assert.is_false(s:isEnabled(world, a))
    end)

    it("SCH-153 (b) for the next run", function()
      assert.equal("a b c", run())
      world:set(s.state, { disabled = { "b" } })
      assert.equal("a c", run())
      s:runPhase(world, OnUpdate, 0)
      s:runPhases(world, OnUpdate, OnUpdate, 0)
      assert.equal("a c a c", log.take())
    end)

    it("SCH-153 (c) when the list is empty again", function()
      run()
      world:set(s.state, { disabled = { "a", "b", "c" } })
      assert.equal("", run())
      world:set(s.state, { disabled = {} })
      assert.equal("a b c", run())
      assert.is_true(s:isEnabled(world, a))
    end)

    it("SCH-153 (d) for the later systems of the call it is made in", function()
      local set = log.system("set", { run = function(w)
        w:set(s.state, { disabled = { "b" } })
      end })
      s = sch.create { systems = { a, set, b, c } }
      assert.equal("a set c", run())
    end)
  end)

  it("SCH-125 ignores names that no system has", function()
    s:isEnabled(world, a)
    world:set(s.state, {
      name = s.name, disabled = { "gone", "b", "a ", "A", "" }, onStartDone = true,
    })
    assert.equal("a c", run())
    s:runPhase(world, OnUpdate, 0)
    assert.equal("a c", log.take())
    assert.is_true(s:isEnabled(world, a))
    s:enable(world, b)
    s:disable(world, c)
    assert.equal("a b", run())
    assert.equal("gone a  A  c", disabled())
  end)

  it("SCH-125 ignores entries that are no names, and refuses a list that is none", function()
    s:isEnabled(world, a)
    world:set(s.state, { disabled = { 1, true, 0 / 0, { "a" }, "b" } })
    assert.equal("a c", run())
    world:set(s.state, { disabled = "a" })
    sch.breaks({ 'schedule "main"', "disabled", "string" }, s.run, s, world, 0)
    sch.breaks({ 'schedule "main"', "disabled", "string" }, s.isEnabled, s, world, a)
    world:set(s.state, { disabled = {} })
    assert.equal("a b c", run())
  end)
end)
