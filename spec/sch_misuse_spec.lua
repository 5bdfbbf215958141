local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnUpdate = schedule.OnUpdate

-- Values of every type that is not a table.
local function scalars()
  return { 1, 1.5, "text", true, print, coroutine.create(print), io.stdout }
end

local function nop() end

describe("misuse of the scheduler", function()
  local world, s, a

  before_each(function()
    world = ecs.createWorld()
    a = schedule.defineSystem { name = "a", run = nop }
    s = sch.create { systems = { a } }
  end)

  it("options must be a table", function()
    for _, value in ipairs(scalars()) do
      sch.fails({ "definePhase", '"p"', type(value) }, function()
        schedule.definePhase("p", value)
      end)
      sch.fails({ "defineSet", '"p"', type(value) }, function() schedule.defineSet("p", value) end)
      for _, name in ipairs { "defineSystem", "definePlugin", "createSchedule" } do
        sch.fails({ name, "#1", "table expected", type(value) }, function()
          schedule[name](value)
        end)
      end
    end
    for _, name in ipairs { "defineSystem", "definePlugin", "createSchedule" } do
      sch.fails({ name, "#1", "nil" }, function() schedule[name]() end)
    end
  end)

  it("options must be known ones", function()
    for _, case in ipairs {
      { "definePhase", { "p", { dependOn = {} } }, "dependOn" },
      { "defineSet", { "p", { phase = OnUpdate } }, "phase" },
      { "defineSystem", { { name = "p", run = nop, set = {} } }, "set" },
      { "definePlugin", { { name = "p", hooks = {} } }, "hooks" },
      { "createSchedule", { { name = "p", system = {} } }, "system" },
      { "createSchedule", { { name = "p", a } }, "1" },
      { "createSchedule", { { name = "p", hooks = { onskip = nop } } }, "onskip" },
    } do
      sch.fails({ case[1], '"p"', "unknown option '" .. case[3] .. "'" }, function()
        schedule[case[1]](table.unpack(case[2]))
      end)
    end
  end)

  it("names must be strings of UTF-8", function()
    for _, value in ipairs { 1, true, {}, print } do
      for _, fn in ipairs { "definePhase", "defineSet" } do
        sch.fails({ fn, "name", "string expected" }, function() schedule[fn](value) end)
      end
      for _, fn in ipairs { "defineSystem", "definePlugin", "createSchedule" } do
        sch.fails({ fn, "name", "string expected" }, function() schedule[fn] { name = value } end)
      end
    end
    sch.fails({ "defineSystem", "name", "UTF-8" }, function()
      schedule.defineSystem { name = "\xFF", run = nop }
    end)
    assert.equal("Zo\u{eb}\0", schedule.definePhase("Zo\u{eb}\0").name)
  end)

  it("functions must be callable", function()
    for _, value in ipairs { 1, "text", true, {}, io.stdout } do
      sch.fails({ "defineSystem", '"p"', "run", "function expected" }, function()
        schedule.defineSystem { name = "p", run = value }
      end)
      sch.fails({ "defineSystem", '"p"', "runIf", "function expected" }, function()
        schedule.defineSystem { name = "p", run = nop, runIf = value }
      end)
      sch.fails({ "defineSet", '"p"', "runIf", "function expected" }, function()
        schedule.defineSet("p", { runIf = value })
      end)
      for _, hook in ipairs { "beforeSystem", "afterSystem", "onSkip" } do
        sch.fails({ "createSchedule", '"p"', "hooks." .. hook, "function expected" }, function()
          schedule.createSchedule { name = "p", hooks = { [hook] = value } }
        end)
      end
    end
    sch.fails({ "defineSystem", '"p"', "run", "nil" }, function()
      schedule.defineSystem { name = "p" }
    end)
    sch.fails({ "createSchedule", '"p"', "hooks" }, function()
      schedule.createSchedule { name = "p", hooks = 1 }
    end)
    local called = 0
    local callable = setmetatable({}, { __call = function(_, w)
      assert.equal(world, w)
      called = called + 1
      return true
    end })
    sch.create({ systems = { schedule.defineSystem {
      name = "p", run = callable, runIf = callable,
    } } }):run(world, 0)
    assert.equal(2, called)
  end)

  it("lists must be lists, without holes, of the right kind", function()
    local X, S, P = schedule.definePhase "X", schedule.defineSet "S",
      schedule.definePlugin { name = "P" }
    local wrong = { phases = { a, S, P }, systems = { X, S, P }, sets = { X, a, P },
      plugins = { X, a, S } }
    for list, items in pairs(wrong) do
      for _, value in ipairs(scalars()) do
        sch.refused({ list, "list expected" }, { [list] = value })
        sch.refused({ list .. "[1]", type(value) }, { [list] = { value } })
      end
      for _, item in ipairs(items) do
        sch.refused({ list .. "[1]", '"' .. item.name .. '"' }, { [list] = { item } })
      end
      sch.refused({ list .. "[1]", "nil" }, { [list] = { nil, X } })
      sch.refused({ list .. "[1]", "nil" }, { [list] = { name = X } })
      sch.refused({ list .. "[1]" }, { [list] = { {} } })
    end
    sch.fails({ "definePhase", '"p"', "dependsOn[1]", "phase expected", 'system "a"' },
      function() schedule.definePhase("p", { dependsOn = { a } }) end)
    sch.fails({ "definePhase", '"p"', "before[2]", "nil" }, function()
      schedule.definePhase("p", { before = { X, nil, X } })
    end)
    sch.fails({ "definePhase", '"p"', "manual", "boolean expected" }, function()
      schedule.definePhase("p", { manual = 1 })
    end)
    sch.fails({ "defineSystem", '"p"', "phase", "phase expected", "string" }, function()
      schedule.defineSystem { name = "p", run = nop, phase = "OnUpdate" }
    end)
    sch.fails({ "defineSystem", '"p"', "phase", "boolean" }, function()
      schedule.defineSystem { name = "p", run = nop, phase = false }
    end)
    sch.fails({ "defineSystem", '"p"', "after[1]", "system or set expected", 'phase "X"' },
      function() schedule.defineSystem { name = "p", run = nop, after = { X } } end)
    sch.fails({ "defineSystem", '"p"', "sets[1]", "set expected", 'system "a"' }, function()
      schedule.defineSystem { name = "p", run = nop, sets = { a } }
    end)
    sch.fails({ "defineSet", '"p"', "before[1]", "set expected", 'system "a"' }, function()
      schedule.defineSet("p", { before = { a } })
    end)
    sch.fails({ "definePlugin", '"p"', "systems[1]", "system expected", 'set "S"' }, function()
      schedule.definePlugin { name = "p", systems = { S } }
    end)
  end)

  it("read-only lists are lists", function()
    local again = sch.create { name = "again", systems = s.systems }
    assert.equal(a, again.systems[1])
  end)

  it("methods take a colon and a world", function()
    local calls = {
      run = { 0 }, runPhase = { OnUpdate, 0 }, runPhases = { OnUpdate, OnUpdate, 0 },
      enable = { a }, disable = { a }, isEnabled = { a },
    }
    local others = { s, a, {}, ecs.trait(), world }
    for name, arguments in pairs(calls) do
      for _, value in ipairs(scalars()) do
        sch.fails({ name, '"main"', "#1", "world expected", type(value) }, function()
          s[name](s, value, table.unpack(arguments))
        end)
      end
      for i = 1, #others - 1 do
        sch.fails({ name, '"main"', "#1", "world expected" }, function()
          s[name](s, others[i], table.unpack(arguments))
        end)
      end
      for i = 2, #others do
        sch.fails({ name, "self", "schedule expected" }, function()
          s[name](others[i], world, table.unpack(arguments))
        end)
      end
      sch.fails({ name, "self", "colon" }, function() s[name](world, table.unpack(arguments)) end)
    end
    for _, name in ipairs { "systemsOf", "isManual" } do
      sch.fails({ name, "self", "colon" }, function() s[name](OnUpdate) end)
    end
    assert.is_false(world:has(s.state))
  end)

  it("read-only objects show what they are, and hide the rest", function()
    assert.equal("ecsser.System: a", tostring(a))
    assert.equal("ecsser.Schedule: main", tostring(s))
    assert.equal("ecsser.Phase: OnUpdate", tostring(OnUpdate))
    local fields = {}
    for field in pairs(s) do fields[#fields + 1] = field end
    table.sort(fields)
    assert.equal("name phases state systems", table.concat(fields, " "))
    for _, object in ipairs { s, a, OnUpdate, s.systems } do
      assert.equal("string", type(getmetatable(object)))
      assert.has_error(function() setmetatable(object, {}) end)
    end
    for i, system in ipairs(s.systems) do assert.equal(s.systems[i], system) end
    for i, system in pairs(s.systems) do assert.equal(s.systems[i], system) end
    assert.equal(a, (table.unpack(s.systems)))
    local ok, err = pcall(function() s.systems[1] = nil end)
    assert.is_false(ok)
    assert.truthy(err:find "^[%w_/%.%-]+sch_misuse_spec%.lua:%d+: .*read%-only")
  end)

  it("errors of metamethods in the options pass unchanged", function()
    local err = {}
    local options = setmetatable({}, { __index = function() error(err) end })
    local _, got = pcall(schedule.createSchedule, options)
    assert.equal(err, got)
    _, got = pcall(schedule.defineSystem, options)
    assert.equal(err, got)
  end)
end)
