local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnStart, OnLoad, OnUpdate = schedule.OnStart, schedule.OnLoad, schedule.OnUpdate
local OnStore = schedule.OnStore
local defineSystem, definePhase = schedule.defineSystem, schedule.definePhase
local refused = sch.refused

local function nop() end

local function system(name, options)
  local all = { name = name, run = nop }
  for key, value in pairs(options or {}) do all[key] = value end
  return defineSystem(all)
end

-- The order of these systems in a schedule that declares them so.
local function orderOf(...)
  return sch.names(sch.create({ systems = { ... } }).systems)
end

describe("systems", function()
  it("SCH-010 defineSystem returns a read-only descriptor with its defaults", function()
    local a = defineSystem { name = "a", run = nop }
    assert.equal("a", a.name)
    assert.equal(nop, a.run)
    assert.equal(OnUpdate, a.phase)
    assert.equal(0, #a.before + #a.after + #a.sets)
    assert.is_nil(a.runIf)
    local S = schedule.defineSet "S"
    local function yes() return true end
    local b = defineSystem {
      name = "b", run = nop, phase = OnLoad, before = { a }, after = { S }, sets = { S },
      runIf = yes,
    }
    assert.equal(OnLoad, b.phase)
    assert.equal(a, b.before[1])
    assert.equal(S, b.after[1])
    assert.equal(S, b.sets[1])
    assert.equal(yes, b.runIf)
    assert.has_error(function() b.phase = OnStore end)
    assert.has_error(function() b.before[1] = b end)
    assert.has_error(function() b.sets[2] = S end)
    for _, options in ipairs { { run = nop }, { name = "", run = nop } } do
      sch.fails({ "defineSystem", "name is missing or empty" }, function()
        defineSystem(options)
      end)
    end
  end)

  it("SCH-011 calls run(world, dt) with what the run call was given", function()
    local world, calls = ecs.createWorld(), {}
    local a = defineSystem { name = "a", run = function(...) calls[#calls + 1] = { ... } end }
    local s = sch.create { systems = { a } }
    s:run(world, 0.25)
    s:runPhase(world, OnUpdate, 2)
    s:runPhases(world, OnLoad, OnStore, 3.5)
    assert.equal(3, #calls)
    for i, dt in ipairs { 0.25, 2, 3.5 } do
      assert.equal(2, #calls[i])
      assert.equal(world, calls[i][1])
      assert.equal(dt, calls[i][2])
    end
    assert.equal("integer", math.type(calls[2][2]))
  end)

  it("SCH-012 runs systems without edges in declaration order", function()
    local log, systems, names = sch.log(), {}, {}
    for i = 1, 50 do
      names[i] = "s" .. (i * 37 % 50)
      systems[i] = log.system(names[i])
    end
    sch.create({ systems = systems }):run(ecs.createWorld(), 0)
    assert.equal(table.concat(names, " "), log.take())
  end)

  it("SCH-013 obeys before and after within a phase", function()
    local a = system "a"
    assert.equal("a b", orderOf(system("b", { after = { a } }), a))
    assert.equal("b a", orderOf(a, system("b", { before = { a } })))
    local b = system("b", { after = { a } })
    local c = system("c", { after = { a }, before = { b } })
    assert.equal("a c b", orderOf(b, c, a))
    local log = sch.log()
    local x = log.system "x"
    local y = log.system("y", { before = { x } })
    sch.create({ systems = { x, y } }):run(ecs.createWorld(), 0)
    assert.equal("y x", log.take())
  end)

  it("SCH-014 sorts stably: of the ready systems the first declared runs first", function()
    local d = system "d"
    local a = system("a", { after = { d } })
    local b = system "b"
    local c = system("c", { before = { b } })
    -- c lets b run, b is declared before d, d lets a run, a is declared before e
    assert.equal("c b d a e", orderOf(a, b, c, d, system "e"))
    assert.equal("d c b a", orderOf(d, c, b, a))
  end)

  it("SCH-015 accepts edges that agree with the order of the phases", function()
    local late = system("late", { phase = OnStore })
    local a = system("a", { before = { late } })
    local b = system "b"
    local early = system("early", { phase = OnStart, before = { b } })
    local c = system("c", { phase = OnStore, after = { b, early } })
    assert.equal("early b a late c", orderOf(late, b, a, c, early))
    assert.equal("early b a c late", orderOf(c, b, a, late, early))
  end)

  it("SCH-016 refuses edges that contradict the order of the phases", function()
    local a = system "a"
    refused({ 'system "a"', 'system "b"', "OnStore", "OnUpdate" },
      { systems = { a, system("b", { phase = OnStore, before = { a } }) } })
    refused({ 'system "a"', 'system "b"' },
      { systems = { a, system("b", { phase = OnLoad, after = { a } }) } })
    local X = definePhase("X", { dependsOn = { OnUpdate } })
    refused({ 'system "a"', 'system "b"', '"X"' },
      { phases = { X }, systems = { a, system("b", { phase = X, before = { a } }) } })
  end)

  it("SCH-017 refuses cycles and names the systems on them", function()
    local a = system "a"
    local b = system("b", { before = { a }, after = { a } })
    refused({ "cycle", '"a"', '"b"' }, { systems = { a, b } })
    local c = system("c", { after = { a } })
    local d = system("d", { after = { c }, before = { a } })
    local e = system("e", { after = { d } })
    local f = system("f", { before = { a } })
    local text = refused({ "cycle", '"a" -> "c" -> "d" -> "a"' },
      { systems = { f, a, c, d, e } })
    assert.is_nil(text:find('"e"', 1, true))
    assert.is_nil(text:find('"f"', 1, true))
    -- told from its first system on, wherever it was come upon
    refused({ 'cycle: "a" -> "c" -> "d" -> "a"' },
      { systems = { system("z", { after = { c } }), a, c, d } })
  end)

  it("SCH-017 refuses cycles through several phases and names their systems", function()
    local a = system("a", { phase = OnStart })
    local b = system("b", { phase = OnUpdate, after = { a } })
    local c = system("c", { phase = OnStore, after = { b }, before = { a } })
    refused({ "cycle", '"a"', '"b"', '"c"' }, { systems = { c, b, a } })
  end)

  it("SCH-017 refuses a system that refers to itself", function()
    -- The define functions give no way to do it, so the descriptor has to be forced open.
    for _, edge in ipairs { "before", "after" } do
      local a = system "a"
      rawset(a, edge, { a })
      refused({ "cycle", '"a" -> "a"' }, { systems = { a } })
    end
  end)

  it("SCH-018 refuses edges to systems that are not listed", function()
    local a = system "a"
    refused({ 'system "b"', "after", 'system "a"' },
      { systems = { system("b", { after = { a } }) } })
    refused({ 'system "b"', "before", 'system "a"' },
      { systems = { system("b", { before = { a } }) } })
    refused({ 'system "b"', "after", 'system "a"' },
      { systems = { system "a", system("b", { after = { a } }) } })
  end)

  it("SCH-019 refuses systems in phases that are not listed", function()
    local X = definePhase "X"
    refused({ 'system "a"', 'phase "X"' }, { systems = { system("a", { phase = X }) } })
    refused({ 'system "a"', 'phase "X"' },
      { phases = { definePhase "X" }, systems = { system("a", { phase = X }) } })
  end)

  it("SCH-020 refuses a system that is listed twice", function()
    local a, b = system "a", system "b"
    refused({ 'system "a"', "twice" }, { systems = { a, b, a } })
  end)

  it("SCH-023 refuses two systems with one name", function()
    refused({ 'system "a"', "name" }, { systems = { system "a", system "b", system "a" } })
    refused({ 'system "a"', "name" },
      { systems = { system "a", system("a", { phase = OnLoad }) } })
  end)

  it("SCH-021 checks systems, phases and edges only in createSchedule", function()
    local unlisted = definePhase "unlisted"
    local X = definePhase("X", { dependsOn = { OnStore, unlisted }, before = { OnLoad } })
    local a = system("a", { phase = X })
    local b = system("b", { phase = OnStore, before = { a, system "a" }, after = { a } })
    assert.equal("b", b.name)
    refused({}, { phases = { X }, systems = { a, b } })
    schedule.definePlugin { name = "p", phases = { X, X, OnLoad }, systems = { a, a, b } }
  end)

  it("SCH-021 never raises ordering errors when a built schedule runs", function()
    local log, world = sch.log(), ecs.createWorld()
    local X = definePhase("X", { before = { OnStart } })
    local D = definePhase "D"
    local a = log.system("a", { phase = X })
    local b = log.system("b", { phase = D })
    local s = sch.create { phases = { D, X }, systems = { b, a } }
    s:run(world, 1)
    s:runPhase(world, D, 1)
    for _, phase in ipairs(s.phases) do s:runPhase(world, phase, 1) end
    assert.equal("a b a b", log.take())
  end)

  it("SCH-022 depends on the lists only, not on the order of the definitions", function()
    local function build(order)
      local made = {}
      local make = {
        function() made.a = system "a" end,
        function() made.b = system "b" end,
        function() made.c = system("c", { phase = OnLoad }) end,
        function() made.X = definePhase("X", { dependsOn = { OnLoad } }) end,
        function() made.Y = definePhase("Y", { dependsOn = { OnLoad } }) end,
      }
      for _, i in ipairs(order) do make[i]() end
      local d = system("d", { phase = made.X, before = { made.a } })
      local e = system("e", { phase = made.Y })
      local options = { phases = { made.Y, made.X }, systems = { made.b, e, d, made.a, made.c } }
      local first, second = sch.create(options), sch.create(options)
      assert.equal(sch.names(first.systems), sch.names(second.systems))
      assert.equal(sch.names(first.phases), sch.names(second.phases))
      return sch.names(first.phases) .. " / " .. sch.names(first.systems)
    end
    local once = build { 1, 2, 3, 4, 5 }
    assert.truthy(once:find("/ c e d b a", 1, true))
    assert.equal(once, build { 5, 4, 3, 2, 1 })
    assert.equal(once, build { 3, 1, 5, 2, 4 })
  end)

  it("SCH-106 keeps the plan: same lists, whatever becomes of the options", function()
    local log, world = sch.log(), ecs.createWorld()
    local X = definePhase("X", { dependsOn = { OnUpdate } })
    local before = {}
    local a, b = log.system("a", { before = before }), log.system "b"
    local options = { name = "main", phases = { X }, sets = {}, systems = { b, a },
      plugins = { schedule.definePlugin { name = "p", systems = { log.system "p" } } } }
    before[1] = b
    local s = schedule.createSchedule(options)
    local phases, systems, inUpdate = s.phases, s.systems, s:systemsOf(OnUpdate)
    table.insert(options.systems, 1, log.system "late")
    options.systems[2] = nil
    options.phases[1], options.plugins[1], options.name = nil, nil, "other"
    for _ = 1, 2 do
      s:run(world, 1)
      assert.equal("p b a", log.take())
      assert.equal(phases, s.phases)
      assert.equal(systems, s.systems)
      assert.equal(inUpdate, s:systemsOf(OnUpdate))
    end
    assert.equal("p b a", sch.names(s.systems))
    assert.equal(10, #s.phases)
    assert.equal("main", s.name)
  end)
end)
