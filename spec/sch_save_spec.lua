local cjson = require "cjson"
local ecs = require "ecsser"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local OnStart = schedule.OnStart

local function read(name)
  local file = assert(io.open("spec/vectors/" .. name, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

-- A game whose turns are a detached chain of phases: what is built anew when it is loaded.
local function game()
  local g = { log = sch.log(), world = ecs.createWorld(), Turn = ecs.trait { count = 0 } }
  g.StartOfTurn = schedule.definePhase "StartOfTurn"
  g.Move = schedule.definePhase("Move", { dependsOn = { g.StartOfTurn } })
  g.Act = schedule.definePhase("Act", { dependsOn = { g.Move } })
  g.EndOfTurn = schedule.definePhase("EndOfTurn", { dependsOn = { g.Act } })
  g.trap = g.log.system("trap", { phase = g.Act })
  g.render = g.log.system "render"
  g.turn = sch.create {
    name = "dnd/turn", phases = { g.StartOfTurn, g.Move, g.Act, g.EndOfTurn },
    systems = {
      g.log.system("setup", { phase = OnStart }),
      g.log.system("begin", { phase = g.StartOfTurn, run = function(world)
        world:set(g.Turn, "count", world:get(g.Turn, "count") + 1)
      end }),
      g.log.system("walk", { phase = g.Move }),
      g.trap,
      g.log.system("strike", { phase = g.Act, runIf = function(world)
        return world:get(g.Turn, "count") > 1
      end }),
      g.log.system("finish", { phase = g.EndOfTurn }),
    },
  }
  g.frame = sch.create { name = "frame", systems = {
    g.log.system("load", { phase = OnStart }), g.render,
  } }
  ecs.registerTraits(g.world, {
    { "Turn", g.Turn }, { "schedule:turn", g.turn.state }, { "schedule:frame", g.frame.state },
  })
  return g
end

-- The first half of a turn: the game then waits for its player.
local function firstHalf(g)
  g.world:add(g.Turn)
  g.frame:run(g.world, 0.016)
  g.turn:run(g.world, 0)
  g.turn:disable(g.world, g.trap)
  g.frame:disable(g.world, g.render)
  g.turn:runPhases(g.world, g.StartOfTurn, g.Move, 0)
  return g.log.take()
end

-- The rest of that turn, and another one.
local function secondHalf(g)
  g.turn:runPhases(g.world, g.Act, g.EndOfTurn, 0)
  g.frame:run(g.world, 0.016)
  g.turn:run(g.world, 0)
  g.turn:runPhases(g.world, g.StartOfTurn, g.EndOfTurn, 0)
  g.turn:enable(g.world, g.trap)
  g.turn:runPhase(g.world, g.Act, 0)
  return g.log.take()
end

describe("saved schedules", function()
  local ways = {
    { "as tables", function(from, to)
      ecs.restoreWorld(to, ecs.saveWorld(from))
    end },
    { "as text", function(from, to)
      ecs.restoreJSON(to, ecs.saveJSON(from))
    end },
    { "through another JSON library", function(from, to)
      ecs.restoreWorld(to, cjson.decode(cjson.encode(ecs.saveWorld(from))))
    end },
  }

  for _, way in ipairs(ways) do
    it("SCH-063 a half-played turn goes on after save and restore, " .. way[1], function()
      local uninterrupted = game()
      assert.equal("load render setup begin walk", firstHalf(uninterrupted))
      local expected = secondHalf(uninterrupted)
      assert.equal("finish begin walk strike finish trap strike", expected)

      local saved = game()
      firstHalf(saved)
      local restored = game()
      way[2](saved.world, restored.world)
      assert.is_false(restored.turn:isEnabled(restored.world, restored.trap))
      assert.is_false(restored.frame:isEnabled(restored.world, restored.render))
      assert.is_true(restored.world:get(restored.turn.state, "onStartDone"))
      assert.equal(expected, secondHalf(restored))
      assert.equal(ecs.saveJSON(uninterrupted.world), ecs.saveJSON(restored.world))
    end)
  end

  it("SCH-123 what a session remembers of a world does not outlive a restore", function()
    local saved = game()
    firstHalf(saved)
    local g = game()
    g.world:add(g.Turn)
    g.turn:run(g.world, 0)
    g.turn:runPhase(g.world, g.Act, 0)
    assert.equal("setup trap", g.log.take())
    g.world:reset()
    ecs.restoreWorld(g.world, ecs.saveWorld(saved.world))
    assert.equal(secondHalf(saved), secondHalf(g))
  end)

  it("SCH-063 the state is saved as an ordinary trait", function()
    local g = game()
    g.turn:isEnabled(g.world, g.trap)
    local traits = ecs.saveWorld(g.world).world.traits
    assert.equal("dnd/turn", traits["schedule:turn"].name)
    assert.is_false(traits["schedule:turn"].onStartDone)
    assert.same({}, { table.unpack(traits["schedule:turn"].disabled) })
    assert.is_nil(traits["schedule:frame"])
    assert.truthy(ecs.saveJSON(g.world):find(
      '"schedule:turn":{"name":"dnd/turn","disabled":[],"onStartDone":false}', 1, true))
    g.turn:disable(g.world, g.trap)
    g.turn:enable(g.world, g.trap)
    assert.truthy(ecs.saveJSON(g.world):find('"disabled":[]', 1, true))
  end)

  it("SCH-125 names of systems that are gone are kept, and disable nothing", function()
    local log, world = sch.log(), ecs.createWorld()
    local render, think = log.system "render", log.system "think"
    local s = sch.create { systems = { render, think, log.system("boot", { phase = OnStart }) } }
    ecs.registerTraits(world, { ["schedule:main"] = s.state })
    ecs.restoreJSON(world, read "schedule-state.json")
    s:run(world, 0)
    assert.equal("think", log.take())
    s:enable(world, render)
    assert.equal("ai.think", table.concat(world:get(s.state, "disabled"), " "))
  end)

  it("SCH-063 restores the golden file, and saves it again byte for byte", function()
    local text = read "schedule-state.json"
    local registration = cjson.decode(read "schedule-state.reg.json").register[1]
    local log, world = sch.log(), ecs.createWorld()
    local render, think = log.system "render", log.system "ai.think"
    local s = sch.create { name = registration.schema.name, systems = {
      log.system("boot", { phase = OnStart }), render, think, log.system "move",
    } }
    ecs.registerTraits(world, { [registration.name] = s.state })
    ecs.restoreJSON(world, text)
    assert.is_false(s:isEnabled(world, render))
    assert.is_false(s:isEnabled(world, think))
    s:run(world, 0)
    assert.equal("move", log.take())
    assert.equal(text, ecs.saveJSON(world) .. "\n")

    local second = ecs.createWorld()
    ecs.registerTraits(second, { [registration.name] = s.state })
    ecs.restoreWorld(second, cjson.decode(text))
    s:enable(second, think)
    s:run(second, 0)
    assert.equal("ai.think move", log.take())
    assert.is_false(s:isEnabled(world, think))
  end)
end)
