local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnStart, OnLoad, OnUpdate = schedule.OnStart, schedule.OnLoad, schedule.OnUpdate
local OnStore = schedule.OnStore
local definePhase = schedule.definePhase

describe("introspection", function()
  it("SCH-140 a schedule needs a name, and tells it", function()
    for _, options in ipairs { {}, { name = "" } } do
      sch.fails({ "createSchedule", "name is missing or empty" }, function()
        schedule.createSchedule(options)
      end)
    end
    local s = schedule.createSchedule { name = "dnd/turn" }
    assert.equal("dnd/turn", s.name)
    local world = ecs.createWorld()
    s:run(world, 0)
    assert.equal("dnd/turn", world:get(s.state, "name"))
  end)

  it("SCH-141 every error names the schedule", function()
    -- The cases of the single requirements say so as well; these are the run APIs at a glance.
    local log, world = sch.log(), ecs.createWorld()
    local D = definePhase "D"
    local E = definePhase "E"
    local a = log.system("a", { runIf = function() end })
    local s = sch.create { name = "odd % \"name\"", phases = { D, E }, systems = { a } }
    for i, call in ipairs {
      function() s:run(world, -1) end,
      function() s:run(world, 0) end,
      function() s:run(nil, 0) end,
      function() s:runPhase(world, definePhase "D", 0) end,
      function() s:runPhases(world, D, E, 0) end,
      function() s:runPhases(world, D, OnLoad, 0) end,
      function() s:runPhases(world, OnStore, OnLoad, 0) end,
      function() s:enable(world, nil) end,
      function() s:disable(world, D) end,
      function() s:isEnabled(nil, a) end,
      function() s:systemsOf(a) end,
      function() s:isManual "D" end,
      function() sch.create { name = s.name, systems = { a, a } } end,
      function() sch.create { name = s.name, systems = { 1 } } end,
      function() sch.create { name = s.name, systms = {} } end,
      function() sch.create { name = s.name, hooks = { before = print } } end,
    } do
      local ok, err = pcall(call)
      assert.is_false(ok)
      assert.truthy(err:find('schedule "odd % "name""', 1, true), i .. ": " .. err)
    end
  end)

  it("SCH-142 schedule.systems lists all systems in execution order", function()
    local log, world = sch.log(), ecs.createWorld()
    local D = definePhase("D", { manual = true })
    local a = log.system("a", { phase = OnStore })
    local b = log.system "b"
    local c = log.system("c", { before = { b } })
    local d = log.system("d", { phase = D })
    local e = log.system("e", { phase = OnStart })
    local s = sch.create { phases = { D }, systems = { d, a, b, c, e } }
    local systems = s.systems
    assert.equal("e c b a d", sch.names(systems))
    s:disable(world, b)
    s:run(world, 0)
    assert.equal(systems, s.systems)
    assert.equal("e c b a d", sch.names(systems))
    assert.equal(b, systems[3])
    assert.equal(5, #systems)
    for _, key in ipairs { 1, 6, "x" } do
      assert.has_error(function() systems[key] = a end)
    end
    assert.has_error(function() table.sort(systems, function() return true end) end)
    assert.equal("e c b a d", sch.names(systems))
    local order = {}
    for _, phase in ipairs(s.phases) do
      for _, system in ipairs(s:systemsOf(phase)) do order[#order + 1] = system end
    end
    assert.equal("e c b a d", sch.names(order))
  end)

  it("SCH-143 systemsOf gives the systems of a phase", function()
    local log, world = sch.log(), ecs.createWorld()
    local D = definePhase "D"
    local b = log.system "b"
    local s = sch.create { phases = { D }, systems = {
      log.system("d", { phase = D }), b, log.system("a", { before = { b } }),
    } }
    local list = s:systemsOf(OnUpdate)
    assert.equal("a b", sch.names(list))
    assert.equal("d", sch.names(s:systemsOf(D)))
    assert.equal(0, #s:systemsOf(OnLoad))
    assert.is_nil(s:systemsOf(OnLoad)[1])
    s:disable(world, b)
    s:run(world, 0)
    for _, phase in ipairs(s.phases) do
      assert.equal(s:systemsOf(phase), s:systemsOf(phase))
      assert.has_error(function() s:systemsOf(phase)[1] = b end)
    end
    assert.equal(list, s:systemsOf(OnUpdate))
    sch.fails({ "systemsOf", '"main"', '"Z"' }, function() s:systemsOf(definePhase "Z") end)
    sch.fails({ "systemsOf", '"main"', "nil" }, function() s:systemsOf() end)
  end)
end)

describe("hooks", function()
  local log, world, seen, hooks

  -- The fields of a context, as the hook saw them.
  local function note(kind)
    return function(ctx, reason)
      seen[#seen + 1] = {
        kind = kind, object = ctx, schedule = ctx.schedule, world = ctx.world,
        system = ctx.system, phase = ctx.phase, dt = ctx.dt, reason = reason,
      }
      log.write(kind .. ":" .. ctx.system.name .. (reason and ":" .. reason or ""))
    end
  end

  before_each(function()
    log, world, seen = sch.log(), ecs.createWorld(), {}
    hooks = { beforeSystem = note "before", afterSystem = note "after", onSkip = note "skip" }
  end)

  it("SCH-144 calls the hooks around each system and for each skip", function()
    local S = schedule.defineSet("S", { runIf = log.condition("ask", false) })
    local b = log.system "b"
    local s = sch.create { hooks = hooks, sets = { S }, systems = {
      log.system("a", { runIf = log.condition("asked", true) }), b,
      log.system("c", { sets = { S } }),
      log.system("d", { runIf = log.condition("own", false), phase = OnStore }),
    } }
    s:disable(world, b)
    s:run(world, 0)
    assert.equal("asked before:a a after:a skip:b:disabled ask skip:c:condition "
      .. "own skip:d:condition", log.take())
    s:runPhase(world, OnStore, 0)
    assert.equal("own skip:d:condition", log.take())
    s:runPhases(world, OnStore, OnStore, 0)
    assert.equal("own skip:d:condition", log.take())
  end)

  it("SCH-144 every hook is optional", function()
    for _, name in ipairs { "beforeSystem", "afterSystem", "onSkip" } do
      local a, b = log.system "a", log.system "b"
      local s = sch.create { hooks = { [name] = hooks[name] }, systems = { a, b } }
      s:disable(world, b)
      s:run(world, 0)
    end
    assert.equal("before:a a a after:a a skip:b:disabled", log.take())
  end)

  it("SCH-145 gives the hooks exactly schedule, world, system, phase and dt", function()
    local D = definePhase "D"
    local a, d = log.system "a", log.system("d", { phase = D })
    local s
    hooks.onSkip = function(ctx)
      local fields = {}
      for field in pairs(ctx) do fields[#fields + 1] = field end
      table.sort(fields)
      log.write(table.concat(fields, ","))
    end
    s = sch.create { hooks = hooks, phases = { D }, systems = { a, d } }
    s:run(world, 0.5)
    s:runPhase(world, D, 3)
    for i, expected in ipairs {
      { system = a, phase = OnUpdate, dt = 0.5 }, { system = a, phase = OnUpdate, dt = 0.5 },
      { system = d, phase = D, dt = 3 }, { system = d, phase = D, dt = 3 },
    } do
      assert.equal(s, seen[i].schedule)
      assert.equal(world, seen[i].world)
      for field, value in pairs(expected) do assert.equal(value, seen[i][field]) end
    end
    log.take()
    s:disable(world, a)
    s:run(world, 0)
    assert.equal("dt,phase,schedule,system,world", log.take())
  end)

  it("SCH-146 a system that raises has no afterSystem", function()
    local s = sch.create { hooks = hooks, systems = {
      log.system("bad", { run = function() error "no" end }), log.system "b",
    } }
    assert.is_false(pcall(s.run, s, world, 0))
    assert.equal("before:bad bad", log.take())
  end)

  it("SCH-146 errors of hooks pass unchanged, and the schedule works on", function()
    for name, expected in pairs { beforeSystem = "", afterSystem = "a", onSkip = "" } do
      local err, broken = {}, true
      local a = log.system "a"
      local s = sch.create { hooks = { [name] = function() if broken then error(err) end end },
        systems = { a, log.system "b" } }
      if name == "onSkip" then s:disable(world, a) end
      for _ = 1, 2 do
        local ok, got = pcall(s.run, s, world, 0)
        assert.is_false(ok)
        assert.equal(err, got)
        assert.equal(expected, log.take())
      end
      broken = false
      s:run(world, 0)
      assert.equal(name == "onSkip" and "b" or "a b", log.take())
      world:reset()
    end
  end)

  it("SCH-147 fires none for systems that are not considered", function()
    local D = definePhase "D"
    local s = sch.create { hooks = hooks, phases = { D }, systems = {
      log.system("start", { phase = OnStart }), log.system("d", { phase = D }),
    } }
    s:run(world, 0)
    assert.equal("before:start start after:start", log.take())
    s:run(world, 0)
    assert.equal("", log.take())
    s:disable(world, s.systems[1])
    s:disable(world, s.systems[2])
    s:run(world, 0)
    s:runPhase(world, OnStart, 0)
    assert.equal("", log.take())
  end)

  it("SCH-148 hooks are taken when the schedule is built", function()
    local options = { name = "main", hooks = hooks, systems = { log.system "a" } }
    local s = schedule.createSchedule(options)
    hooks.beforeSystem, hooks.afterSystem = nil, function() error "late" end
    options.hooks = nil
    s:run(world, 0)
    assert.equal("before:a a after:a", log.take())
    assert.is_nil(s.hooks)
    assert.has_error(function() s.hooks = {} end)
    local bare = { name = "main", systems = { log.system "b" } }
    s = schedule.createSchedule(bare)
    bare.hooks = hooks
    s:run(world, 0)
    assert.equal("b", log.take())
  end)

  it("SCH-150 (a) the context is one object per schedule and world", function()
    local b = log.system("b", { phase = OnStore })
    local function build(name)
      return sch.create { name = name, hooks = hooks, systems = {
        log.system "a", b, log.system("c", { runIf = function() return false end }),
      } }
    end
    local s, other = build "main", build "other"
    s:run(world, 0)
    s:disable(world, b)
    s:runPhase(world, OnUpdate, 1)
    s:run(world, 2)
    local kinds = {}
    for _, entry in ipairs(seen) do
      kinds[entry.kind] = true
      assert.equal(seen[1].object, entry.object)
    end
    assert.same({ before = true, after = true, skip = true }, kinds)
    world:reset()
    s:run(world, 0)
    assert.equal(seen[1].object, seen[#seen].object)
    other:run(world, 0)
    assert.are_not.equal(seen[1].object, seen[#seen].object)
  end)

  it("SCH-150 (b) its fields are right inside of each hook", function()
    local a, b = log.system "a", log.system("b", { phase = OnStore })
    local s = sch.create { hooks = hooks, systems = { b, a } }
    s:run(world, 1)
    s:disable(world, a)
    s:run(world, 2)
    local expected = {
      { "before", a, OnUpdate, 1 }, { "after", a, OnUpdate, 1 },
      { "before", b, OnStore, 1 }, { "after", b, OnStore, 1 },
      { "skip", a, OnUpdate, 2 }, { "before", b, OnStore, 2 }, { "after", b, OnStore, 2 },
    }
    assert.equal(#expected, #seen)
    for i, entry in ipairs(seen) do
      assert.equal(expected[i][1], entry.kind)
      assert.equal(expected[i][2], entry.system)
      assert.equal(expected[i][3], entry.phase)
      assert.equal(expected[i][4], entry.dt)
      assert.equal(s, entry.schedule)
      assert.equal(world, entry.world)
    end
  end)

  it("SCH-150 (c) nested calls on two worlds have two contexts", function()
    local two = ecs.createWorld()
    local s
    s = sch.create { hooks = hooks, systems = { log.system("a", { run = function(w)
      if w == world then s:run(two, 7) end
    end }) } }
    s:run(world, 5)
    assert.equal("before:a a before:a a after:a after:a", log.take())
    local outer, inner = seen[1], seen[2]
    assert.are_not.equal(outer.object, inner.object)
    assert.equal(world, seen[4].world)
    assert.equal(5, seen[4].dt)
    assert.equal(outer.object, seen[4].object)
    assert.equal(two, seen[3].world)
    assert.equal(7, seen[3].dt)
    assert.equal(inner.object, seen[3].object)
  end)
end)
