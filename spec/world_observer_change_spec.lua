-- Observers that change the world, that raise and that yield.

local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("an observer that changes the world", function()
  local world, log
  local A, B, V, R

  before_each(function()
    world = ecs.createWorld()
    log = util.newLog()
    A, B, V = ecs.trait(), ecs.trait(), ecs.trait { n = 0 }
    R = ecs.relation { store = { n = 0 } }
  end)
  after_each(function()
    util.checkInvariants(world, { A, B, V }, { R })
    world:close()
  end)

  it("by destroying the entity ends its spawn", function()
    world:onAdd(A, function(e) world:destroy(e) end)
    world:onAdd(B, log.note "B")
    local e = world:spawn(A, B)
    assert.is_false(world:isAlive(e))
    assert.equal(0, world:count())
    assert.same({}, log.take())
  end)

  it("by destroying the entity ends its add", function()
    world:onAdd(A, function(e) world:destroy(e) end)
    world:onAdd(V, log.note "V")
    local e = world:spawn()
    world:add(e, A, V)
    assert.is_false(world:isAlive(e))
    assert.same({}, log.take())
  end)

  it("by destroying the target of a pair that is still to come lets the rest go on", function()
    local t = world:spawn()
    world:onAdd(A, function() world:destroy(t) end)
    local e = world:spawn()
    world:onAdd(R, log.note "R")
    world:add(e, A, R(t), B)
    assert.same({}, log.take())
    assert.is_true(world:has(e, A))
    assert.is_true(world:has(e, B))
    assert.same({}, world:targets(e, R))
  end)

  it("by spawning nests", function()
    local depth = 0
    world:onAdd(A, function()
      depth = depth + 1
      if depth < 20 then world:spawn(A, V { n = depth }) end
    end)
    world:spawn(A)
    assert.equal(20, #world:query(A))
  end)

  it("by removing the trait that was just added", function()
    world:onAdd(A, function(e) world:remove(e, A) end)
    local e = world:spawn(A, B)
    assert.is_false(world:has(e, A))
    assert.is_true(world:has(e, B))
  end)

  it("by adding another trait", function()
    world:onAdd(A, function(e) world:add(e, B, V { n = 5 }) end)
    world:onAdd(V, log.note "V")
    local e = world:spawn(A)
    assert.equal(5, world:get(e, V, "n"))
    assert.is_true(world:has(e, B))
    assert.same({ "V 1" }, log.take())
  end)

  it("finds all of the call's values stored", function()
    local seen
    world:onAdd(A, function(e)
      seen = { world:get(e, V, "n"), world:has(e, B) }
      world:add(e, V { n = 7 })
    end)
    world:spawn(A, V { n = 6 }, B)
    assert.same({ 6, true }, seen)
  end)

  it("by removing what is still to be told of: that is not told", function()
    world:onAdd(A, function(e) world:remove(e, B) end)
    world:onAdd(B, log.note "B")
    world:onQueryAdd(B, log.note "in")
    world:onQueryRemove(B, log.note "out")
    local e = world:spawn(A, B)
    assert.is_false(world:has(e, B))
    assert.same({}, log.take())
  end)

  it("by giving the slot of a target to another entity: no pair is taken for another", function()
    local t = world:spawn()
    local e = world:spawn()
    local new
    local function replace()
      world:destroy(t)
      new = world:spawn()
      assert.equal(util.slot(t), util.slot(new))
      world:add(e, R(new, { n = 7 }))
    end
    world:onAdd(A, replace)
    world:onAdd(R, log.note "R")
    world:add(e, A, R(t, { n = 6 }))
    assert.same({ new }, world:targets(e, R))
    assert.same({ "R 2>1" }, log.take())

    t = new
    world:onRemove(B, replace)
    world:add(e, B)
    world:remove(e, B, R(t))
    assert.same({ new }, world:targets(e, R))
    assert.equal(7, world:get(e, R(new), "n"))
  end)

  it("by setting in onAdd and in onChange", function()
    world:onAdd(V, function(e) world:set(e, V, "n", world:get(e, V, "n") + 1) end)
    world:onChange(V, function(e)
      local n = world:get(e, V, "n")
      if n < 10 then world:set(e, V, "n", n + 1) end
    end)
    assert.equal(10, world:get(world:spawn(V { n = 3 }), V, "n"))
  end)

  it("by destroying others in onRemove", function()
    local list = {}
    for i = 1, 10 do list[i] = world:spawn(A) end
    world:onRemove(A, function(e)
      local i = util.slot(e)
      if list[i + 1] and world:isAlive(list[i + 1]) then world:destroy(list[i + 1]) end
    end)
    world:destroy(list[1])
    assert.equal(0, world:count())
  end)

  it("by destroying the source of the pair whose target goes", function()
    local t = world:spawn()
    local a, b = world:spawn(R(t)), world:spawn(R(t))
    world:onRemove(R, function(e) if e == a then world:destroy(b) end end)
    world:destroy(t)
    assert.same({ a }, world:query())
    assert.is_false(world:has(a, R("*")))
  end)

  it("by spawning in onRemove", function()
    world:onRemove(A, function() world:spawn(B) end)
    local e = world:spawn(A)
    world:destroy(e)
    local new = world:query(B)
    assert.equal(1, #new)
    assert.are_not.equal(e, new[1])
  end)

  it("by an onQueryRemove that adds the trait again", function()
    local again = true
    world:onQueryRemove(A, function(e)
      if again and world:isAlive(e) then
        again = false
        world:add(e, A)
      end
    end)
    local e = world:spawn(A)
    world:remove(e, A)
    assert.is_true(world:has(e, A))
    world:destroy(e)
  end)

  it("without end comes to an error, and the world stays usable", function()
    world:onAdd(A, function() world:spawn(A) end)
    local ok, err = pcall(world.spawn, world, A)
    assert.is_false(ok)
    assert.matches("overflow", tostring(err))
    assert.equal(0, world:count())
    local e = world:spawn(V)
    world:onChange(V, function() world:set(e, V, "n", world:get(e, V, "n") + 1) end)
    assert.is_false(pcall(world.set, world, e, V, "n", 1))
    assert.equal(0, world:get(e, V, "n"))
  end)

  describe("while an entity is being destroyed", function()
    it("may destroy it again and remove its traits, to no effect", function()
      local seen = 0
      world:onRemove(A, function(e)
        seen = seen + 1
        world:destroy(e)
        world:remove(e, A, V)
        assert.is_true(world:isAlive(e))
        assert.is_true(world:has(e, A))
        assert.is_true(world:has(e, V))
      end)
      world:onRemove(V, log.note "V")
      local e = world:spawn(A, V)
      world:destroy(e)
      assert.is_false(world:isAlive(e))
      assert.equal(1, seen)
      assert.same({ "V 1" }, log.take())
    end)

    it("may not add to it, nor pair with it", function()
      local other = world:spawn()
      local messages = {}
      world:onRemove(A, function(e)
        for _, f in ipairs {
          function() world:add(e, B) end, function() world:add(other, R(e)) end,
          function() world:spawn(R(e)) end, function() world:add(e, R(other)) end,
        } do
          local ok, err = pcall(f)
          messages[#messages + 1] = not ok and err
        end
      end)
      world:onAdd(B, log.note "B")
      world:destroy((world:spawn(A)))
      assert.equal(4, #messages)
      for _, message in ipairs(messages) do assert.matches("is being destroyed", message) end
      assert.same({}, log.take())
      assert.equal(1, world:count())
    end)

    it("may read and set it", function()
      world:onRemove(V, function(e)
        world:set(e, V, "n", 5)
        assert.equal(5, world:get(e, V, "n"))
      end)
      local e = world:spawn(V)
      world:destroy(e)
      assert.is_nil(world:get(e, V))
    end)

    it("may use other entities freely", function()
      local other = world:spawn(V)
      world:onRemove(A, function()
        world:set(other, V, "n", 1)
        world:add(other, B)
        world:spawn(V)
      end)
      world:destroy((world:spawn(A)))
      assert.equal(2, #world:query(V))
      assert.same({ other }, world:query(B))
    end)
  end)
end)

describe("a factory that changes the world", function()
  local world, e, other, act
  local F = ecs.trait(function() act() return "made" end)
  local P = ecs.relation { store = function() act() return "made" end }
  local X = ecs.relation { exclusive = true, store = { n = function() act() return 1 end } }

  -- Runs fn in the next factory call, and only there.
  local function once(fn)
    act = function()
      act = function() end
      fn()
    end
  end

  before_each(function()
    world = ecs.createWorld()
    e, other = world:spawn(), world:spawn()
  end)
  after_each(function()
    util.checkInvariants(world, { F }, { P, X })
    world:close()
  end)

  it("by adding the same trait: the inner one stays", function()
    once(function() world:add(e, F "inner") end)
    world:add(e, F)
    assert.equal("inner", world:get(e, F))
  end)

  it("by adding pairs of the same relation: each keeps its own data", function()
    once(function() world:add(e, P(other, "inner")) world:add(other, P(e, "other")) end)
    world:add(e, P(e))
    assert.same({ other, e }, world:targets(e, P))
    assert.equal("inner", world:get(e, P(other)))
    assert.equal("made", world:get(e, P(e)))
    once(function() world:add(other, P(other, "inner")) end)
    world:add(other, P(other))
    assert.equal("inner", world:get(other, P(other)))
    assert.equal("other", world:get(other, P(e)))
  end)

  it("by adding a pair of the same exclusive relation", function()
    once(function() world:add(e, X(e, { n = 5 })) end)
    local ok = pcall(world.add, world, e, X(other))
    assert.same({ ok and other or e }, world:targets(e, X))
  end)

  it("by destroying the entity or the target: an error before any change", function()
    local Tag = ecs.trait()
    once(function() world:destroy(other) end)
    assert.is_false(pcall(world.add, world, e, Tag, P(other)))
    assert.is_false(world:has(e, Tag))
    assert.same({}, world:targets(e, P))
    once(function() world:destroy(e) end)
    assert.is_false(pcall(world.add, world, e, F))
    assert.is_false(world:isAlive(e))
  end)

  it("by spawning into the slot that the spawn would have taken", function()
    local inner
    once(function() inner = world:spawn(F "inner") end)
    local outer = world:spawn(F)
    assert.are_not.equal(inner, outer)
    assert.equal("inner", world:get(inner, F))
    assert.equal("made", world:get(outer, F))
  end)

  it("by taking the key that was asked for: an error before any change", function()
    once(function() world:spawn(ecs.Key "k") end)
    assert.is_false(pcall(world.add, world, e, ecs.Key "k", F))
    assert.is_false(world:has(e, F))
    assert.is_nil(world:get(e, ecs.Key))
  end)

  it("by closing or resetting the world is refused", function()
    once(function() world:close() end)
    assert.is_false(pcall(world.add, world, e, F))
    once(function() world:reset() end)
    assert.is_false(pcall(world.spawn, world, F))
    assert.is_false(world:has(e, F))
  end)
end)

describe("an observer that raises", function()
  local world, log
  local A, B, V, R
  local boom = setmetatable({}, { __tostring = function() return "boom" end })
  local function fail() error(boom) end

  before_each(function()
    world = ecs.createWorld()
    log = util.newLog()
    A, B, V = ecs.trait(), ecs.trait(), ecs.trait { n = 0 }
    R = ecs.relation { store = { n = 0 }, autoDestroy = "orphan" }
  end)
  after_each(function()
    util.checkInvariants(world, { A, B, V }, { R })
    world:close()
  end)

  for _, hook in ipairs { "onAdd", "onQueryAdd" } do
    describe("in " .. hook, function()
      it("undoes the spawn, and its error is passed through", function()
        world[hook](world, B, fail)
        world:onRemove(A, log.note "remove")
        util.raisesValue(boom, function() world:spawn(A, B, V) end)
        assert.equal(0, world:count())
        assert.same({}, world:query(A))
        assert.same({ "remove 1" }, log.take())
      end)

      it("undoes the add, and what was there before stays", function()
        local e = world:spawn(V { n = 5 })
        world[hook](world, B, fail)
        world:onRemove(A, log.note "remove A")
        world:onRemove(V, log.note "remove V")
        util.raisesValue(boom, function() world:add(e, A, V { n = 6 }, B) end)
        assert.is_true(world:isAlive(e))
        assert.is_false(world:has(e, A))
        assert.is_false(world:has(e, B))
        assert.equal(5, world:get(e, V, "n"))
        assert.same({ "remove A 1" }, log.take())
      end)

      it("undoes the adding of pairs", function()
        local t, e = world:spawn(), world:spawn()
        world:add(e, R(e, { n = 1 }))
        world[hook](world, B, fail)
        util.raisesValue(boom, function() world:add(e, R(t, { n = 2 }), B) end)
        assert.same({ e }, world:targets(e, R))
        assert.same({}, world:sources(t, R))
        assert.equal(1, world:get(e, R(e), "n"))
      end)

      it("undoes the adding of a world-level trait", function()
        if hook == "onQueryAdd" then return end
        world[hook](world, B, fail)
        util.raisesValue(boom, function() world:add(V, B) end)
        assert.is_false(world:has(V))
        assert.is_false(world:has(B))
      end)

      it("lets the next call succeed", function()
        local unsubscribe = world[hook](world, B, fail)
        pcall(world.spawn, world, A, B)
        unsubscribe()
        local e = world:spawn(A, B)
        assert.is_true(world:has(e, B))
      end)
    end)
  end

  describe("in onChange", function()
    it("puts the old values back", function()
      local P = ecs.trait { a = 1, b = ecs.null, c = 3 }
      local bag = {}
      local Bag = ecs.trait(function() return {} end)
      local t = world:spawn()
      local e = world:spawn(P { b = "old" }, Bag(bag), R(t, { n = 7 }))
      for _, T in ipairs { P, Bag, R } do world:onChange(T, fail) end
      util.raisesValue(boom, function() world:set(e, P, { a = 2, c = 4 }) end)
      util.raisesValue(boom, function() world:set(e, P, "b", nil) end)
      util.raisesValue(boom, function() world:set(e, Bag, {}) end)
      util.raisesValue(boom, function() world:set(e, R(t), "n", 8) end)
      assert.same({ a = 1, b = "old", c = 3 }, world:get(e, P))
      assert.equal(bag, world:get(e, Bag))
      assert.equal(7, world:get(e, R(t), "n"))
    end)
  end)

  describe("in onRemove", function()
    it("vetoes the removal: nothing has changed", function()
      local e = world:spawn(A, V { n = 3 }, B)
      world:onRemove(V, fail)
      world:onQueryRemove(A, log.note "out")
      util.raisesValue(boom, function() world:remove(e, A, V, B) end)
      assert.is_true(world:has(e, A))
      assert.is_true(world:has(e, B))
      assert.equal(3, world:get(e, V, "n"))
      assert.same({}, log.take())
    end)

    it("vetoes the destruction, with all that would have followed", function()
      local root = world:spawn(A)
      local child = world:spawn(V { n = 4 }, R(root, { n = 5 }))
      local leaf = world:spawn(B, R(child))
      world:onQueryRemove(A, log.note "out")
      local unsubscribe = world:onRemove(B, fail)
      util.raisesValue(boom, function() world:destroy(root) end)
      assert.same({ root, child, leaf }, world:query())
      assert.is_true(world:has(root, A))
      assert.equal(4, world:get(child, V, "n"))
      assert.equal(5, world:get(child, R(root), "n"))
      assert.same({ child }, world:sources(root, R))
      assert.same({}, log.take())
      world:add(root, B)
      world:remove(root, A)
      unsubscribe()
      world:destroy(root)
      assert.equal(0, world:count())
    end)

    it("vetoes reset", function()
      local e = world:spawn(V { n = 4 })
      world:add(B)
      local unsubscribe = world:onRemove(V, fail)
      util.raisesValue(boom, function() world:reset() end)
      assert.is_true(world:isAlive(e))
      assert.equal(4, world:get(e, V, "n"))
      assert.is_true(world:has(B))
      unsubscribe()
      world:reset()
      assert.equal(0, world:count())
    end)

    it("vetoes the replacement in an exclusive relation", function()
      local Owner = ecs.relation { exclusive = true }
      local t, u = world:spawn(), world:spawn()
      local e = world:spawn(Owner(t))
      world:onRemove(Owner, fail)
      util.raisesValue(boom, function() world:add(e, A, Owner(u)) end)
      assert.same({ t }, world:targets(e, Owner))
      assert.is_false(world:has(e, A))
    end)
  end)

  describe("in onQueryRemove", function()
    it("is raised after the operation is complete", function()
      local e, f = world:spawn(A, B), world:spawn(A, B)
      world:onQueryRemove(A, fail)
      util.raisesValue(boom, function() world:remove(e, A, B) end)
      assert.is_false(world:has(e, A))
      assert.is_false(world:has(e, B))
      util.raisesValue(boom, function() world:destroy(f) end)
      assert.is_false(world:isAlive(f))
      world:spawn(A)
      util.raisesValue(boom, function() world:reset() end)
      assert.equal(0, world:count())
    end)
  end)

  it("by anything but an error object keeps its value", function()
    for _, value in ipairs { "text", 5, false, print } do
      local unsubscribe = world:onAdd(A, function() error(value, 0) end)
      util.raisesValue(value, function() world:spawn(A) end)
      unsubscribe()
    end
    local unsubscribe = world:onAdd(A, function() error(nil) end)
    local ok, err = pcall(world.spawn, world, A)
    unsubscribe()
    assert.is_false(ok)
    assert.is_nil(err)
  end)
end)

describe("an observer that yields", function()
  local A, V, R = ecs.trait(), ecs.trait { n = 0 }, ecs.relation()

  local function attempt(subscribe, operate)
    local world <close> = ecs.createWorld()
    local e = world:spawn(V)
    operate(world, e)
    world:reset()
    e = world:spawn(V)
    subscribe(world, coroutine.yield)
    local co = coroutine.create(operate)
    local ok, err = coroutine.resume(co, world, e)
    assert.is_false(ok)
    assert.matches("observer must not yield", tostring(err))
    assert.equal("dead", coroutine.status(co))
    util.checkInvariants(world, { A, V }, { R })
    world:spawn()
  end

  it("in onAdd gets an error", function()
    attempt(function(world, fn) world:onAdd(A, fn) end, function(world) world:spawn(A) end)
  end)

  it("in onRemove gets an error", function()
    attempt(function(world, fn) world:onRemove(V, fn) end, function(world, e) world:destroy(e) end)
  end)

  it("in onChange gets an error", function()
    attempt(function(world, fn) world:onChange(V, fn) end,
      function(world, e) world:set(e, V, "n", 1) end)
  end)

  it("in onQueryAdd gets an error", function()
    attempt(function(world, fn) world:onQueryAdd(A, fn) end,
      function(world, e) world:add(e, A) end)
  end)

  it("in onQueryRemove gets an error", function()
    attempt(function(world, fn) world:onQueryRemove(V, fn) end,
      function(world, e) world:remove(e, V) end)
  end)

  it("may use coroutines of its own", function()
    local world <close> = ecs.createWorld()
    local got
    world:onAdd(A, function(e)
      local co = coroutine.wrap(function() coroutine.yield(e); world:add(e, V) end)
      got = co()
      co()
    end)
    local e = world:spawn(A)
    assert.equal(e, got)
    assert.is_true(world:has(e, V))
  end)
end)
