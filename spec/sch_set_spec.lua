local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnLoad, OnUpdate, OnStore = schedule.OnLoad, schedule.OnUpdate, schedule.OnStore
local defineSystem, defineSet, definePhase =
  schedule.defineSystem, schedule.defineSet, schedule.definePhase
local definePlugin, refused = schedule.definePlugin, sch.refused

local function nop() end

local function system(name, options)
  local all = { name = name, run = nop }
  for key, value in pairs(options or {}) do all[key] = value end
  return defineSystem(all)
end

local function orderOf(options)
  return sch.names(sch.create(options).systems)
end

describe("sets", function()
  it("SCH-126 defineSet returns a read-only set with its defaults", function()
    local A = defineSet "A"
    assert.equal("A", A.name)
    assert.equal(0, #A.before + #A.after)
    assert.is_nil(A.runIf)
    local B = defineSet("B", { before = { A }, after = { A }, runIf = nop })
    assert.equal(A, B.before[1])
    assert.equal(A, B.after[1])
    assert.equal(nop, B.runIf)
    assert.has_error(function() B.runIf = nil end)
    assert.has_error(function() B.before[1] = nil end)
    sch.fails({ "defineSet", "name is missing or empty" }, function() defineSet() end)
    sch.fails({ "defineSet", "name is missing or empty" }, function() defineSet "" end)
  end)

  it("SCH-127 a system is in every set that it lists", function()
    local asked = {}
    local function ask(name)
      return function()
        asked[#asked + 1] = name
        return true
      end
    end
    local A, B = defineSet("A", { runIf = ask "A" }), defineSet("B", { runIf = ask "B" })
    local first = system("first", { before = { A } })
    local last = system("last", { after = { B } })
    local both = system("both", { sets = { A, B } })
    local options = { sets = { A, B }, systems = { last, both, first } }
    assert.equal("first both last", orderOf(options))
    sch.create(options):run(ecs.createWorld(), 0)
    assert.same({ "A", "B" }, asked)
  end)

  it("SCH-128 a set in before or after stands for all of its members", function()
    local S = defineSet "S"
    local x, y = system("x", { sets = { S } }), system("y", { sets = { S } })
    assert.equal("m a x y", orderOf { sets = { S }, systems = {
      x, system "m", y, system("a", { before = { S } }),
    } })
    assert.equal("x m y a", orderOf { sets = { S }, systems = {
      system("a", { after = { S } }), x, system "m", y,
    } })
  end)

  it("SCH-129 edges between sets stand for edges between their members", function()
    local B = defineSet "B"
    local A = defineSet("A", { before = { B } })
    local C = defineSet("C", { after = { B } })
    local function member(name, ...) return system(name, { sets = { ... } }) end
    local sets = { A, B, C }
    assert.equal("a1 a2 b1 b2 c1 c2", orderOf { sets = sets, systems = {
      member("c1", C), member("b1", B), member("a1", A), member("c2", C), member("a2", A),
      member("b2", B),
    } })
    -- every member of A comes before every one of B; what is in neither is free
    assert.equal("x a1 y a2 b1", orderOf { sets = sets, systems = {
      member("b1", B), system "x", member("a1", A), system "y", member("a2", A),
    } })
  end)

  it("SCH-130 sets may span phases and change none", function()
    local B = defineSet "B"
    local A = defineSet("A", { before = { B } })
    local x = system("x", { phase = OnLoad, sets = { A } })
    local y = system("y", { sets = { A, B } })
    local z = system("z", { phase = OnStore, sets = { B } })
    local s = sch.create { sets = { A, B }, systems = {
      z, system("y2", { sets = { B } }), x, system("y1", { sets = { A } }),
    } }
    assert.equal("x y1 y2 z", sch.names(s.systems))
    assert.equal("y1 y2", sch.names(s:systemsOf(OnUpdate)))
    refused({ '"y" -> "y"', "cycle" }, { sets = { A, B }, systems = { x, y } })
  end)

  it("SCH-130 refuses expanded edges against the order of the phases", function()
    local B = defineSet "B"
    local A = defineSet("A", { before = { B } })
    local early, late = system("early", { phase = OnLoad, sets = { B } }),
      system("late", { phase = OnStore, sets = { A } })
    refused({ 'system "late"', 'system "early"', 'set "A"', 'set "B"', "OnLoad", "OnStore" },
      { sets = { A, B }, systems = { early, late, system("m", { sets = { A } }),
        system("n", { phase = OnStore, sets = { B } }) } })
    refused({ 'system "a"', 'system "early"', 'set "B"' },
      { sets = { B }, systems = { early, system("a", { before = { B } }),
        system("n", { phase = OnStore, sets = { B } }) } })
    refused({ 'system "a"', 'system "late"', 'set "A"' },
      { sets = { A, B }, systems = { late, system("a", { after = { A } }) } })
  end)

  it("SCH-131 refuses cycles and names the systems and the sets on them", function()
    local B = defineSet "B"
    local A = defineSet("A", { before = { B } })
    local x = system("x", { sets = { A } })
    local y = system("y", { sets = { B }, before = { x } })
    refused({ "cycle", '"x"', '"y"', 'set "A"', 'set "B"' },
      { sets = { A, B }, systems = { x, y } })
    local z = system("z", { before = { A }, after = { B } })
    refused({ "cycle", '"x"', '"z"', '"w"', 'set "A"', 'set "B"' },
      { sets = { A, B }, systems = { z, x, system("w", { sets = { B } }) } })
  end)

  it("SCH-131 refuses a system that lists its own set", function()
    local S = defineSet "S"
    for _, edge in ipairs { "before", "after" } do
      refused({ "cycle", '"x" -> "x"', 'set "S"' },
        { sets = { S }, systems = { system("x", { sets = { S }, [edge] = { S } }) } })
    end
    local B = defineSet "B"
    local A = defineSet("A", { before = { B } })
    refused({ "cycle", '"x" -> "x"', 'set "A"', 'set "B"' },
      { sets = { A, B }, systems = { system("x", { sets = { A, B } }) } })
  end)

  it("SCH-132 the condition of a set gates every member, in all phases", function()
    local log, world, on = sch.log(), ecs.createWorld(), false
    local T = definePhase "T"
    local S = defineSet("S", { runIf = function() return on end })
    local s = sch.create { phases = { T }, sets = { S }, systems = {
      log.system("x", { sets = { S } }), log.system("y", { sets = { S }, phase = OnStore }),
      log.system("t", { sets = { S }, phase = T }), log.system "z",
    } }
    local function run()
      s:run(world, 0)
      s:runPhase(world, T, 0)
      return log.take()
    end
    assert.equal("z", run())
    on = true
    assert.equal("x z y t", run())
  end)

  it("SCH-133 refuses sets that are not listed, and names who uses them", function()
    local S = defineSet "S"
    local A = defineSet("A", { before = { S } })
    local Z = defineSet("Z", { after = { S } })
    refused({ 'system "x"', 'set "S"' }, { systems = { system("x", { sets = { S } }) } })
    refused({ 'system "x"', 'set "S"' }, { systems = { system("x", { before = { S } }) } })
    refused({ 'system "x"', 'set "S"' }, { systems = { system("x", { after = { S } }) } })
    refused({ 'set "A"', 'set "S"' }, { sets = { A } })
    refused({ 'set "Z"', 'set "S"' }, { sets = { Z } })
    refused({ 'system "x"', 'set "S"' },
      { sets = { defineSet "S" }, systems = { system("x", { sets = { S } }) } })
    local p = definePlugin { name = "p", sets = { S } }
    sch.create { plugins = { p }, sets = { A, Z }, systems = {
      system("x", { sets = { S } }), system("y", { before = { S } }),
    } }
  end)

  it("SCH-134 empty sets are allowed and do nothing", function()
    local function never() error "asked" end
    local E = defineSet("E", { runIf = never })
    local A = defineSet("A", { before = { E } })
    local C = defineSet("C", { after = { E } })
    local log = sch.log()
    local s = sch.create { sets = { A, C, E }, systems = {
      log.system("c", { sets = { C } }), log.system("x", { after = { E } }),
      log.system("a", { sets = { A }, before = { E } }), log.system("y", { before = { E } }),
    } }
    -- no edge leads through the empty set: c stays before a, x before y
    assert.equal("c x a y", sch.names(s.systems))
    s:run(ecs.createWorld(), 0)
    assert.equal("c x a y", log.take())
  end)
end)

describe("plugins", function()
  it("SCH-135 definePlugin returns read-only data with its defaults", function()
    local empty = definePlugin { name = "empty" }
    assert.equal("empty", empty.name)
    assert.equal(0, #empty.phases + #empty.sets + #empty.systems)
    local X, S, a = definePhase "X", defineSet "S", system "a"
    local lists = { name = "p", phases = { X }, sets = { S }, systems = { a } }
    local p = definePlugin(lists)
    lists.systems[2] = system "b"
    assert.equal(X, p.phases[1])
    assert.equal(S, p.sets[1])
    assert.equal(a, p.systems[1])
    assert.equal(1, #p.systems)
    for _, field in ipairs { "name", "phases", "install" } do
      assert.has_error(function() p[field] = {} end)
    end
    assert.has_error(function() p.systems[1] = nil end)
    for _, options in ipairs { {}, { name = "" } } do
      sch.fails({ "definePlugin", "name is missing or empty" }, function()
        definePlugin(options)
      end)
    end
  end)

  it("SCH-136 flattens plugins in order, then the schedule's own entries", function()
    local P, Q, R = definePhase "P", definePhase "Q", definePhase "R"
    local S = defineSet "S"
    local p = definePlugin { name = "p", phases = { P }, sets = { S }, systems = {
      system("p1", { sets = { S } }), system "p2",
    } }
    local q = definePlugin { name = "q", phases = { Q }, systems = { system "q1" } }
    local s = sch.create {
      phases = { R }, systems = { system "own", system("first", { before = { S } }) },
      plugins = { p, q },
    }
    assert.equal("p2 q1 own first p1", sch.names(s.systems))
    assert.equal("OnStore P Q R", sch.names { table.unpack(s.phases, 9) })
  end)

  it("SCH-137 another order of plugins is another order of ties", function()
    local function plugin(name)
      return definePlugin {
        name = name, phases = { definePhase("P" .. name, { dependsOn = { OnUpdate } }) },
        systems = { system(name .. "1"), system(name .. "2") },
      }
    end
    local p, q = plugin "p", plugin "q"
    for _ = 1, 3 do
      assert.equal("p1 p2 q1 q2", orderOf { plugins = { p, q } })
      assert.equal("q1 q2 p1 p2", orderOf { plugins = { q, p } })
      assert.equal("Pp Pq", sch.names { table.unpack(
        sch.create({ plugins = { p, q } }).phases, 6, 7) })
      assert.equal("Pq Pp", sch.names { table.unpack(
        sch.create({ plugins = { q, p } }).phases, 6, 7) })
    end
  end)

  it("SCH-138 refuses duplicates and names both sources", function()
    local X, S, a = definePhase "X", defineSet "S", system "a"
    local p = definePlugin { name = "p", phases = { X }, sets = { S }, systems = { a } }
    local kinds = {
      { "phases", X, definePhase "X", 'phase "X"' }, { "sets", S, defineSet "S", 'set "S"' },
      { "systems", a, system("a", { phase = OnStore }), 'system "a"' },
    }
    for _, kind in ipairs(kinds) do
      local list, same, alike, name = table.unpack(kind)
      for _, item in ipairs { same, alike } do
        refused({ name, 'plugin "p"', 'schedule "main"' },
          { plugins = { p }, [list] = { item } })
        local q = definePlugin { name = "q", [list] = { item } }
        refused({ name, 'plugin "p"', 'plugin "q"' }, { plugins = { p, q } })
        refused({ name }, { [list] = { item, item } })
      end
      refused({ name }, { [list] = { same, alike } })
    end
    refused({ 'plugin "p"' }, { plugins = { p, p } })
    -- names of different kinds have nothing to do with each other
    sch.create { phases = { definePhase "n" }, sets = { defineSet "n" },
      systems = { system "n" }, plugins = { definePlugin { name = "n" } } }
  end)

  it("SCH-139 takes no plugins, but plugins may use each other's objects", function()
    local X, S = definePhase("X", { dependsOn = { OnUpdate } }), defineSet "S"
    local a = system("a", { phase = X, sets = { S } })
    local p = definePlugin { name = "p", phases = { X }, sets = { S }, systems = { a } }
    local q = definePlugin { name = "q", systems = {
      system("b", { phase = X, sets = { S }, before = { a } }),
      system("c", { phase = X, before = { S } }),
    } }
    assert.is_nil(p.plugins)
    assert.equal("c b a", orderOf { plugins = { p, q } })
    assert.equal("c b a", orderOf { plugins = { q, p } })
    refused({ 'system "b"', 'phase "X"' }, { plugins = { q } })
    local r = definePlugin { name = "r", systems = { system("d", { after = { a } }) } }
    refused({ 'system "d"', 'system "a"' }, { plugins = { r } })
    local t = definePlugin { name = "t", systems = { system("e", { sets = { S } }) } }
    refused({ 'system "e"', 'set "S"' }, { plugins = { t } })
    sch.fails({ "definePlugin", "plugins" }, function()
      definePlugin { name = "u", plugins = { p } }
    end)
  end)
end)
