local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("reset", function()
  local world
  local A, V, Bag, R = ecs.trait(), ecs.trait { n = 0 }, ecs.trait(function() return {} end),
    ecs.relation { store = { n = 0 } }

  before_each(function() world = ecs.createWorld() end)
  after_each(function()
    util.checkInvariants(world, { A, V, Bag }, { R })
    world:close()
  end)

  it("destroys everything and drops world-level traits", function()
    local t = world:spawn(A)
    world:spawn(V, Bag, R(t))
    world:spawn(A, ecs.IsExcluded)
    world:add(V { n = 1 })
    world:reset()
    assert.equal(0, world:count())
    assert.same({ util.worldEntity(world) }, world:entities())
    assert.same({ ecs.IsExcluded }, world:traits())
    assert.same({}, world:query(A))
    assert.same({}, world:query(R("*")))
    assert.is_false(world:has(V))
  end)

  it("starts the slots at 1 again, with new handles", function()
    local old = {}
    for i = 1, 10 do old[i] = world:spawn(A) end
    for i = 1, 10, 2 do world:destroy(old[i]) end
    world:reset()
    for i = 1, 10 do
      local e = world:spawn()
      assert.equal(i, util.slot(e))
      assert.are_not.equal(old[i], e)
      assert.is_false(world:isAlive(old[i]))
      assert.is_nil(world:get(old[i], V))
    end
    assert.equal(11, util.slot(world:spawn()))
  end)

  it("many times over never gives a handle twice", function()
    local seen = {}
    for round = 1, 200 do
      for i = 1, round % 7 + 1 do
        local e = world:spawn()
        assert.equal(i, util.slot(e))
        assert.is_nil(seen[e])
        seen[e] = true
      end
      world:reset()
    end
    for e in pairs(seen) do assert.is_false(world:isAlive(e)) end
  end)

  it("leaves no value behind", function()
    world:spawn(V { n = 5 }, Bag { "old" })
    world:add(V { n = 6 })
    world:reset()
    local e = world:spawn()
    world:add(e, V, Bag)
    world:add(V)
    assert.equal(0, world:get(e, V, "n"))
    assert.same({}, world:get(e, Bag))
    assert.equal(0, world:get(V, "n"))
  end)

  it("tells onRemove of everything, once, while all is readable", function()
    local log = util.newLog()
    local t = world:spawn(A, V { n = 1 })
    local e = world:spawn(V { n = 2 }, R(t, { n = 3 }))
    world:add(A)
    local values = {}
    for name, T in pairs { A = A, V = V, R = R } do
      world:onRemove(T, log.note(name))
      world:onRemove(T, function()
        local n1, n2 = world:get(t, V, "n"), world:get(e, V, "n")
        values[#values + 1] = { n1, n2, world:get(e, R(t), "n") }
      end)
    end
    world:reset()
    local entries = log.take()
    table.sort(entries)
    assert.same({ "A 0", "A 1", "R 2>1", "V 1", "V 2" }, entries)
    for _, value in ipairs(values) do assert.same({ 1, 2, 3 }, value) end
  end)

  it("keeps the registrations", function()
    ecs.registerTraits(world, { Value = V })
    world:spawn(V { n = 1 })
    world:reset()
    assert.equal("Value", ecs.getTraitName(world, V))
    world:spawn(V { n = 2 })
    assert.same({ n = 2 }, ecs.saveWorld(world).entities[1].traits.Value)
  end)

  it("of an empty world changes nothing", function()
    world:reset()
    world:reset()
    assert.equal(1, util.slot(world:spawn()))
  end)

  it("keeps the world entity's handle", function()
    local w = util.worldEntity(world)
    world:reset()
    assert.equal(w, util.worldEntity(world))
    assert.is_true(world:isAlive(w))
  end)

  it("leaves snapshots and iterators of before harmless", function()
    for i = 1, 5 do world:spawn(V { n = i }) end
    local step, state, control = world:each(V)
    local list = world:query(V)
    world:reset()
    for i = 1, 5 do world:spawn(V { n = i * 10 }) end
    for _, e in ipairs(list) do assert.is_false(world:has(e, V)) end
    assert.is_nil((step(state, control)))
  end)
end)

describe("close", function()
  local A, V, R = ecs.trait(), ecs.trait { n = 0 }, ecs.relation()

  local function calls(world, e)
    return {
      spawn = function() world:spawn(A) end,
      destroy = function() world:destroy(e) end,
      isAlive = function() world:isAlive(e) end,
      has = function() world:has(e, A) end,
      get = function() world:get(e, V) end,
      set = function() world:set(e, V, "n", 1) end,
      add = function() world:add(e, A) end,
      remove = function() world:remove(e, A) end,
      targets = function() world:targets(e, R) end,
      sources = function() world:sources(e, R) end,
      query = function() world:query(A) end,
      each = function() world:each(A) end,
      slots = function() world:slots(A) end,
      column = function() world:column(V, "n") end,
      onAdd = function() world:onAdd(A, function() end) end,
      onRemove = function() world:onRemove(A, function() end) end,
      onChange = function() world:onChange(V, function() end) end,
      onQueryAdd = function() world:onQueryAdd(A, function() end) end,
      onQueryRemove = function() world:onQueryRemove(A, function() end) end,
      entities = function() world:entities() end,
      traits = function() world:traits() end,
      count = function() world:count() end,
      reset = function() world:reset() end,
      find = function() world:find("x") end,
    }
  end

  it("makes every method an error that says so", function()
    local world = ecs.createWorld()
    local e = world:spawn(A, V)
    local list = calls(world, e)
    for name, call in pairs(list) do
      if name ~= "destroy" and name ~= "reset" then
        assert.is_true(pcall(call), name)
      end
    end
    world:close()
    for name, call in pairs(list) do util.fails(name, "closed", call) end
  end)

  it("works by <close>, also after an explicit close", function()
    local kept
    do
      local world <close> = ecs.createWorld()
      kept = world
      kept:spawn()
    end
    util.fails("count", "closed", function() kept:count() end)
    do
      local world <close> = ecs.createWorld()
      world:close()
    end
  end)

  it("fires nothing", function()
    local world = ecs.createWorld()
    local log = util.newLog()
    world:onRemove(A, log.note "remove")
    world:onQueryRemove(A, log.note "out")
    world:spawn(A)
    world:close()
    assert.same({}, log.take())
  end)

  it("leaves iterators, columns and unsubscribers harmless", function()
    local world = ecs.createWorld()
    for i = 1, 3 do world:spawn(V { n = i }) end
    local step, state, control = world:each(V)
    control = step(state, control)
    local column = world:column(V, "n")
    local unsubscribe = world:onAdd(V, function() end)
    world:close()
    local ok, err = pcall(step, state, control)
    assert.is_true(ok and err == nil or not ok and util.isOurs(err))
    assert.is_false(ok, "an iterator of a closed world should say so")
    assert.matches("closed", tostring(err))
    -- A column of before says that it is one; it never writes into the void unnoticed.
    ok, err = pcall(function() column[1] = 5 end)
    assert.is_false(ok)
    assert.matches("column", err)
    ok, err = pcall(function() return column[1] end)
    assert.is_false(ok)
    assert.matches("column", err)
    unsubscribe()
  end)

  it("within a loop over each is an error of the loop's next step", function()
    local world = ecs.createWorld()
    for _ = 1, 3 do world:spawn(V) end
    local count = 0
    local ok, err = pcall(function()
      for _ in world:each(V) do
        count = count + 1
        world:close()
      end
    end)
    assert.equal(1, count)
    assert.is_false(ok)
    assert.matches("closed", tostring(err))
  end)

  it("inside a callback of that world is refused", function()
    local world <close> = ecs.createWorld()
    local message
    world:onAdd(A, function()
      local _, err = pcall(world.close, world)
      message = err
    end)
    local e = world:spawn(A)
    assert.matches("close: ", message)
    assert.is_true(world:isAlive(e))
  end)

  it("inside a callback of another world is fine", function()
    local world <close> = ecs.createWorld()
    local other = ecs.createWorld()
    other:spawn(A)
    world:onAdd(A, function() other:close() end)
    world:spawn(A)
    assert.equal(1, world:count())
    assert.is_false(pcall(other.count, other))
  end)

  it("of one world leaves terms and traits usable in others", function()
    local term
    do
      local world <close> = ecs.createWorld()
      term = V { n = 5 }
      world:spawn(term)
    end
    local world <close> = ecs.createWorld()
    assert.equal(5, world:get(world:spawn(term), V, "n"))
  end)
end)

describe("worlds", function()
  it("show what they are", function()
    local world = ecs.createWorld()
    assert.equal("userdata", type(world))
    assert.is_string(tostring(world))
    world:close()
    assert.is_string(tostring(world))
    assert.is_string(tostring(ecs.trait()))
    assert.is_string(tostring(ecs.relation()))
    assert.is_string(tostring(ecs.relation()("*")))
    assert.is_string(tostring(ecs.trait { n = 0 } { n = 1 }))
    assert.is_string(tostring(ecs.Not(ecs.trait())))
  end)

  it("take no arguments and no fields", function()
    local world <close> = ecs.createWorld()
    assert.is_false(pcall(function() world.field = 1 end))
    assert.is_nil(world.nonsense)
  end)

  it("are independent of each other", function()
    local A <const> = ecs.trait { n = 0 }
    local worlds = {}
    for i = 1, 5 do
      worlds[i] = ecs.createWorld()
      for j = 1, i do worlds[i]:spawn(A { n = j }) end
      worlds[i]:add(A { n = -i })
    end
    worlds[3]:reset()
    worlds[2]:close()
    for _, i in ipairs { 1, 4, 5 } do
      assert.equal(i, #worlds[i]:query(A))
      assert.equal(-i, worlds[i]:get(A, "n"))
    end
    assert.equal(0, worlds[3]:count())
    for _, i in ipairs { 1, 3, 4, 5 } do worlds[i]:close() end
  end)

  it("may be used from coroutines", function()
    local A <const> = ecs.trait { n = 0 }
    local world <close> = ecs.createWorld()
    local order = {}
    local function worker(name)
      return coroutine.wrap(function()
        for i = 1, 5 do
          local e = world:spawn(A { n = i })
          coroutine.yield()
          order[#order + 1] = name .. world:get(e, A, "n")
          world:destroy(e)
        end
      end)
    end
    local a, b = worker "a", worker "b"
    for _ = 1, 6 do a(); b() end
    assert.equal("a1b1a2b2a3b3a4b4a5b5", table.concat(order))
    assert.equal(0, world:count())
  end)
end)
