-- Worlds, scenes and the whole Lua state that go while something may still use them: finalizers
-- that close a world in the middle of a call, bring garbage back, or run when all of ours is gone.

local child = require "spec.support.world_child"

local function run(code)
  local how, number, output = child.run(code, "-W")
  assert.equal("exit 0", how .. " " .. number, output)
  return output
end

describe("a finalizer that closes the world in use", function()
  -- The number of points must not get so small that nothing is visited any more.
  local points = 30

  it("ends every operation with an error, or finds it done", function()
    local output = run(('require "spec.support.world_closer".run(%d)'):format(points))
    assert.equal("done", output:match "(%w+)\n$", output)
    local operations = 0
    for name, seen, closed in output:gmatch "([^\n]+): (%d+) points, (%d+) closed" do
      operations = operations + 1
      assert.is_true(tonumber(seen) >= 5, name .. ": " .. seen .. " points")
      -- where a call locks the world, only what comes before it can be met
      assert.is_true(tonumber(closed) >= 1, name .. ": closed " .. closed .. " times")
    end
    assert.is_true(operations >= 40, operations .. " operations")
  end)
end)

describe("a finalizer that registers traits while traits are registered", function()
  it("does so, or is told that it cannot", function()
    local output = run 'require "spec.support.world_closer".register(5)'
    assert.is_truthy(output:find "done")
    assert.is_true(tonumber(output:match "%d+") > 100, output)
  end)
end)

describe("a finalizer that spawns while a snapshot is loaded", function()
  it("changes the content of before, or that of after", function()
    local output = run 'require "spec.support.world_closer".load(20)'
    assert.is_truthy(output:find "done")
    assert.is_true(tonumber(output:match "%d+") > 100, output)
  end)
end)

describe("a world that a finalizer brings back", function()
  -- Its own finalizer is due as well, while it is used already.
  local code = [[
    local ecs = require "ecsser"
    local T, R = ecs.trait { n = 0, any = ecs.null }, ecs.relation { store = { n = 0 } }
    local saved
    local function throw_away(graves)
      local w = ecs.createWorld()
      ecs.registerTraits(w, { T = T, R = { relation = R } })
      for i = 1, 200 do w:spawn(T { n = i, any = { i } }) end
      w:add(w:query(T)[1], R(w:query(T)[2]))
      w:onQueryAdd(T, type)
      local scene = ecs.scene(w)
      local stray = { w, scene, w:each(T) }
      -- many finalizers, so that those of the world wait; the latest is called first
      for i = 1, graves do setmetatable({}, { __gc = function() end }) end
      setmetatable(stray, { __gc = function(o) saved = o end })
    end
    local used, other = 0, ecs.createWorld()
    ecs.registerTraits(other, { T = T, R = { relation = R } })
    for round = 1, ROUNDS do
      saved = nil
      collectgarbage()
      collectgarbage("incremental", 100, 100, 1)
      collectgarbage "stop"
      throw_away(round * 100)
      for i = 1, 100000 do
        if saved then break end
        collectgarbage "step"
      end
      local w, scene, step, state, control = table.unpack(saved)
      collectgarbage "restart"
      collectgarbage("incremental", 100, 200, 1)
      local again = round % 2 == 0 and function()
        ecs.saveSnapshot(w)
        for i = 1, 10 do w:spawn(T { n = i, any = {} }) end
        for e in step, state, control do w:get(e, T) end
        ecs.saveJSON(w)
      end or function() scene:instantiate(other) end
      for i = 1, 1000 do
        if not pcall(again) then break end
        used = used + 1
        other:reset()
      end
      other:reset()
      collectgarbage("incremental", 200, 100, 13)
      collectgarbage()
      collectgarbage()
      assert(not pcall(w.count, w) and not pcall(step, state, control))
      assert(not pcall(scene.instantiate, scene, other))
    end
    assert(used > ROUNDS // 4, used)
    print "done"
  ]]

  it("is used up safely, and then closed", function()
    assert.equal("done\n", run((code:gsub("ROUNDS", "60"))))
  end)
end)

describe("worlds that are closed where nothing uses them", function()
  it("give their memory and ids back at once, without the collector", function()
    assert.equal("done\n", run [[
      local ecs = require "ecsser"
      collectgarbage()
      collectgarbage "stop"
      local canary = setmetatable({ {} }, { __mode = "v" })
      local function deep(n)
        if n > 0 then return (deep(n - 1)) end
        local w <close> = ecs.createWorld()
        w:spawn(ecs.Key "x")
      end
      for i = 1, 300 do ecs.createWorld():close() end
      for i = 1, 300 do deep(50) end
      assert(canary[1], "there was a collection")
      print "done"
    ]])
  end)
end)

describe("worlds that nobody closes", function()
  it("are freed when there are too many, also when they are closed in coroutines", function()
    assert.equal("done\n", run [[
      local ecs = require "ecsser"
      local T = ecs.trait { n = 0 }
      for i = 1, 600 do ecs.createWorld():spawn(T) end
      for i = 1, 600 do
        coroutine.wrap(function()
          local w <close> = ecs.createWorld()
          w:spawn(T)
        end)()
      end
      local all = {}
      for i = 1, 255 do all[i] = ecs.createWorld() end
      assert(not pcall(ecs.createWorld))
      print "done"
    ]])
  end)
end)

describe("when the Lua state closes", function()
  it("later finalizers find that all is gone", function()
    local output = run [[
      local late, values = {}, nil
      setmetatable(late, { __gc = function()
        local ecs, w, T, scene, step, state, control, off, term, column = table.unpack(values)
        local failed = 0
        for _, try in ipairs {
          function() w:count() end, function() w:spawn() end, function() w:close() end,
          function() step(state, control) end, function() ecs.createWorld() end,
          function() scene:instantiate(w) end, function() ecs.encode({ 1, "x" }) end,
          function() ecs.decode "[1]" end, function() T { n = 1 } end,
          function() ecs.saveJSON(w) end, function() ecs.scene(scene.bytes) end,
          function() ecs.Not(T) end, function() w:add(1, term) end,
        } do
          if not pcall(try) then failed = failed + 1 end
        end
        pcall(off)
        pcall(ecs.trait, { n = 1 })
        pcall(function() column[1] = 2 end)
        io.stdout:write(failed, " failed\n")
      end })
      local ecs = require "ecsser"
      local T = ecs.trait { n = 0 }
      local w = ecs.createWorld()
      ecs.registerTraits(w, { T = T })
      for i = 1, 50 do w:spawn(T { n = i }) end
      local off = w:onAdd(T, print)
      w:onQueryAdd(T, print)
      local step, state, control = w:each(T)
      values = { ecs, w, T, ecs.scene(w), step, state, control or false, off, T { n = 2 },
        w:column(T, "n") }
    ]]
    assert.equal("13 failed\n", output)
  end)
end)
