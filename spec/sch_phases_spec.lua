local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local BUILTIN = "OnStart OnLoad PostLoad PreUpdate OnUpdate OnValidate PostUpdate PreStore OnStore"
local OnStart, OnLoad, OnUpdate = schedule.OnStart, schedule.OnLoad, schedule.OnUpdate
local OnValidate, OnStore = schedule.OnValidate, schedule.OnStore
local definePhase, refused = schedule.definePhase, sch.refused

-- The order of all phases when these are declared.
local function orderOf(...)
  return sch.names(sch.create({ phases = { ... } }).phases)
end

-- The builtin order with some names put in behind another one.
local function after(name, inserted)
  return (BUILTIN:gsub("%f[%w]" .. name .. "%f[%W]", name .. " " .. inserted))
end

describe("phases", function()
  it("SCH-001 exports the builtin phases in their order", function()
    local count = 0
    for name in BUILTIN:gmatch "%S+" do
      count = count + 1
      assert.equal(name, schedule[name].name)
      assert.is_false(schedule[name].manual)
      assert.equal(schedule[name], sch.create({}).phases[count])
    end
    assert.equal(9, count)
    assert.equal(BUILTIN, orderOf())
  end)

  it("SCH-002 runs systems in phase order whatever their declaration order", function()
    local log, systems = sch.log(), {}
    for name in BUILTIN:gmatch "%S+" do
      table.insert(systems, 1, log.system("in" .. name, { phase = schedule[name] }))
    end
    sch.create({ systems = systems }):run(ecs.createWorld(), 1)
    assert.equal((BUILTIN:gsub("%S+", "in%0")), log.take())
  end)

  it("SCH-003 runs a custom phase after every phase in dependsOn", function()
    local A = definePhase("A", { dependsOn = { OnLoad } })
    local X = definePhase("X", { dependsOn = { OnStore, A, OnStart } })
    assert.equal("OnStart OnLoad A " .. BUILTIN:match "PostLoad.*" .. " X", orderOf(X, A))
  end)

  it("SCH-004 orders custom phases transitively", function()
    local C = definePhase("C", { dependsOn = { OnUpdate } })
    local B = definePhase("B", { dependsOn = { C } })
    local A = definePhase("A", { dependsOn = { B } })
    assert.equal(after("OnUpdate", "C B A"), orderOf(A, B, C))
    local log = sch.log()
    local s = sch.create { phases = { A, B, C }, systems = {
      log.system("a", { phase = A }), log.system("b", { phase = B }),
      log.system("c", { phase = C }),
    } }
    s:run(ecs.createWorld(), 1)
    assert.equal("c b a", log.take())
  end)

  it("SCH-006 refuses references to phases that are not listed", function()
    local A = definePhase "A"
    refused({ '"A"', '"B"', "depends on" },
      { phases = { definePhase("B", { dependsOn = { OnUpdate, A } }) } })
    refused({ '"A"', '"B"', "before" },
      { phases = { definePhase("B", { before = { A } }) } })
    refused({ '"A"', '"B"' }, { phases = {
      definePhase("B", { dependsOn = { A } }), definePhase "A2",
    } })
  end)

  it("SCH-007 refuses a phase that is listed twice, and builtin phases", function()
    local A = definePhase "A"
    refused({ 'phase "A"', "twice" }, { phases = { A, A } })
    refused({ 'phase "A"', "twice" }, { phases = { A, definePhase "B", A } })
    refused({ 'phase "OnUpdate"', "builtin" }, { phases = { A, OnUpdate } })
    refused({ 'phase "OnUpdate"', "builtin" }, { phases = { definePhase "OnUpdate" } })
  end)

  describe("SCH-008 schedule.phases", function()
    it("SCH-008 is a read-only list with the same identity on every access", function()
      local s = sch.create { phases = { definePhase "A" } }
      assert.equal(s.phases, s.phases)
      local first = s.phases
      s:run(ecs.createWorld(), 1)
      assert.equal(first, s.phases)
      assert.equal(10, #s.phases)
      assert.has_error(function() s.phases[1] = OnStore end)
      assert.has_error(function() s.phases[11] = OnStore end)
      assert.has_error(function() table.insert(s.phases, OnStore) end)
      assert.has_error(function() s.phases = {} end)
      assert.equal(OnStart, s.phases[1])
    end)

    it("SCH-008 X after OnUpdate stands directly behind it", function()
      assert.equal(after("OnUpdate", "X"), orderOf(definePhase("X", { dependsOn = { OnUpdate } })))
    end)

    it("SCH-008 X before OnValidate stands at the same place", function()
      assert.equal(after("OnUpdate", "X"), orderOf(definePhase("X", { before = { OnValidate } })))
    end)

    it("SCH-008 X before OnStart comes first", function()
      assert.equal("X " .. BUILTIN, orderOf(definePhase("X", { before = { OnStart } })))
    end)

    it("SCH-008 X after OnStore comes last", function()
      assert.equal(BUILTIN .. " X", orderOf(definePhase("X", { dependsOn = { OnStore } })))
    end)

    it("SCH-008 X after OnUpdate and before OnStore stands directly behind OnUpdate", function()
      assert.equal(after("OnUpdate", "X"),
        orderOf(definePhase("X", { dependsOn = { OnUpdate }, before = { OnStore } })))
    end)

    it("SCH-008 A and B after OnUpdate keep their declaration order", function()
      local A = definePhase("A", { dependsOn = { OnUpdate } })
      local B = definePhase("B", { dependsOn = { OnUpdate } })
      assert.equal(after("OnUpdate", "A B"), orderOf(A, B))
      assert.equal(after("OnUpdate", "B A"), orderOf(B, A))
    end)

    it("SCH-008 C after A takes its place by declaration", function()
      local A = definePhase("A", { dependsOn = { OnUpdate } })
      local B = definePhase("B", { dependsOn = { OnUpdate } })
      local C = definePhase("C", { dependsOn = { A } })
      assert.equal(after("OnUpdate", "A B C"), orderOf(A, B, C))
      assert.equal(after("OnUpdate", "A C B"), orderOf(A, C, B))
    end)

    it("SCH-008 X before Y, which is after OnUpdate, stands directly before Y", function()
      local Y = definePhase("Y", { dependsOn = { OnUpdate } })
      local X = definePhase("X", { before = { Y } })
      assert.equal(after("OnUpdate", "X Y"), orderOf(Y, X))
      assert.equal(after("OnUpdate", "X Y"), orderOf(X, Y))
    end)

    it("SCH-008 a detached chain comes last", function()
      local T1 = definePhase "T1"
      local T2 = definePhase("T2", { dependsOn = { T1 } })
      local T3 = definePhase("T3", { dependsOn = { T2 } })
      assert.equal(BUILTIN .. " T1 T2 T3", orderOf(T1, T2, T3))
      assert.equal(BUILTIN .. " T1 T2 T3", orderOf(T3, T2, T1))
    end)
  end)

  it("SCH-100 definePhase returns a read-only phase with its defaults", function()
    local A = definePhase "A"
    assert.equal("A", A.name)
    assert.equal(0, #A.dependsOn)
    assert.equal(0, #A.before)
    assert.is_false(A.manual)
    local B = definePhase("B", { dependsOn = { A, OnLoad }, before = { OnStore }, manual = true })
    assert.equal("A OnLoad", sch.names(B.dependsOn))
    assert.equal("OnStore", sch.names(B.before))
    assert.is_true(B.manual)
    assert.has_error(function() B.name = "C" end)
    assert.has_error(function() B.before[1] = A end)
    assert.has_error(function() B.color = "red" end)
    for _, phase in ipairs(sch.create({}).phases) do assert.is_false(phase.manual) end
    sch.fails({ "definePhase", "name is missing or empty" }, function() definePhase() end)
    sch.fails({ "definePhase", "name is missing or empty" }, function() definePhase("", {}) end)
  end)

  it("SCH-101 satisfies every edge of the phase graph", function()
    local A = definePhase("A", { dependsOn = { OnLoad }, before = { OnStore } })
    local B = definePhase("B", { before = { A, OnUpdate } })
    local C = definePhase("C", { dependsOn = { B }, before = { OnStart } })
    local s = sch.create { phases = { A, B, C } }
    local place = {}
    for i, phase in ipairs(s.phases) do place[phase] = i end
    for _, phase in ipairs(s.phases) do
      for _, other in ipairs(phase.dependsOn) do assert.is_true(place[other] < place[phase]) end
      for _, other in ipairs(phase.before) do assert.is_true(place[phase] < place[other]) end
    end
    assert.equal("B C " .. after("OnLoad", "A"), sch.names(s.phases))
  end)

  describe("SCH-102 the placement procedure", function()
    it("SCH-102 promotes a floating phase through other floating ones", function()
      local X = definePhase("X", { before = { OnValidate } })
      local Y = definePhase("Y", { before = { X } })
      local Z = definePhase("Z", { dependsOn = { Y } })
      assert.equal(after("OnUpdate", "Y X") .. " Z", orderOf(Z, X, Y))
    end)

    it("SCH-102 puts floating phases before their earliest successor", function()
      local X = definePhase("X", { before = { OnStore, OnLoad } })
      assert.equal(after("OnStart", "X"), orderOf(X))
    end)

    it("SCH-102 promotes several predecessors of one phase at once", function()
      local F = definePhase("F", { before = { OnValidate } })
      local G = definePhase("G", { before = { OnValidate } })
      local H = definePhase("H", { dependsOn = { F, G }, before = { OnValidate } })
      assert.equal(after("OnUpdate", "G F H"), orderOf(H, G, F))
    end)

    it("SCH-102 waits with the promotion for the predecessors that are not floating", function()
      local R = definePhase("R", { dependsOn = { OnStore } })
      local S = definePhase("S", { dependsOn = { R } })
      local F = definePhase("F", { before = { S } })
      assert.equal(BUILTIN .. " R F S", orderOf(F, S, R))
    end)

    it("SCH-102 leaves phases that are never promoted to the end", function()
      local F = definePhase("F", { before = { OnLoad } })
      local G = definePhase("G", { dependsOn = { F } })
      local H = definePhase "H"
      assert.equal(after("OnStart", "F") .. " H G", orderOf(H, G, F))
    end)

    it("SCH-102 prefers custom phases to the next builtin one", function()
      local A = definePhase("A", { dependsOn = { OnStart } })
      local B = definePhase("B", { dependsOn = { A } })
      local C = definePhase("C", { before = { OnLoad } })
      assert.equal(after("OnStart", "C A B"), orderOf(C, B, A))
      assert.equal(after("OnStart", "A B C"), orderOf(A, B, C))
    end)
  end)

  it("SCH-103 refuses cycles and names the phases on them", function()
    refused({ "cycle", '"X"' },
      { phases = { definePhase("X", { dependsOn = { OnStore }, before = { OnLoad } }) } })
    local A = definePhase "A"
    refused({ "cycle", '"A"', '"B"' },
      { phases = { A, definePhase("B", { dependsOn = { A }, before = { A } }) } })
    local C = definePhase("C", { dependsOn = { A } })
    local D = definePhase("D", { dependsOn = { C }, before = { A } })
    local E = definePhase("E", { dependsOn = { D } })
    local text = refused({ "cycle", '"A"', '"C"', '"D"' },
      { phases = { E, A, C, D, definePhase "F" } })
    assert.is_nil(text:find('"E"', 1, true))
    assert.is_nil(text:find('"F"', 1, true))
  end)

  it("SCH-104 tells which phases are manual", function()
    local function manual(phase, others)
      local list = { phase }
      for _, other in ipairs(others or {}) do list[#list + 1] = other end
      return sch.create({ phases = list }):isManual(phase)
    end
    for _, phase in ipairs(sch.create({}).phases) do
      assert.is_false(sch.create({}):isManual(phase))
    end
    assert.is_true(manual(definePhase "A"))
    assert.is_false(manual(definePhase("A", { dependsOn = { OnUpdate } })))
    assert.is_false(manual(definePhase("A", { before = { OnStart } })))
    assert.is_true(manual(definePhase("A", { before = { OnStart }, manual = true })))
    -- connected through others, against the direction of the edges as well
    local X = definePhase("X", { before = { OnLoad } })
    assert.is_false(manual(definePhase("A", { dependsOn = { X } }), { X }))
    -- the builtin chain joins nothing
    local T1 = definePhase "T1"
    local T2 = definePhase("T2", { dependsOn = { T1 } })
    assert.is_true(manual(T2, { T1, X }))
    assert.is_true(manual(T1, { T2, X }))
    local s = sch.create {}
    sch.fails({ "isManual", '"main"', '"T1"' }, function() s:isManual(T1) end)
    sch.fails({ "isManual", '"main"', "nil" }, function() s:isManual() end)
  end)

  it("SCH-105 manual does not spread, and changes no order", function()
    local function build(manual)
      local M = definePhase("M", { dependsOn = { OnUpdate }, manual = manual })
      local A = definePhase("A", { dependsOn = { M } })
      local B = definePhase("B", { before = { M } })
      local D = definePhase "D"
      local E = definePhase("E", { dependsOn = { D }, manual = manual })
      local s = sch.create { phases = { M, A, B, D, E } }
      assert.equal(manual, s:isManual(M))
      assert.is_false(s:isManual(A))
      assert.is_false(s:isManual(B))
      assert.is_true(s:isManual(D))
      return sch.names(s.phases)
    end
    assert.equal(build(false), build(true))
    assert.equal(after("OnUpdate", "B M A") .. " D E", build(true))
  end)
end)
