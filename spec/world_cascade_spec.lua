local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("destroying", function()
  local world
  local Plain, Orphan, Source, Target = ecs.relation(), ecs.relation { autoDestroy = "orphan" },
    ecs.relation { autoDestroy = "source" }, ecs.relation { autoDestroy = "target" }
  local relations = { Plain, Orphan, Source, Target }

  before_each(function() world = ecs.createWorld() end)
  after_each(function()
    util.checkInvariants(world, {}, relations)
    world:close()
  end)

  local function alive(...)
    local list = {}
    for i, e in ipairs { ... } do list[i] = world:isAlive(e) end
    return list
  end

  it("a target removes the pairs that point at it, and no entity", function()
    local target = world:spawn()
    local a, b = world:spawn(Plain(target)), world:spawn(Plain(target))
    world:destroy(target)
    assert.same({ true, true }, alive(a, b))
    assert.is_false(world:has(a, Plain("*")))
    assert.same({}, world:query(Plain("*")))
    assert.same({}, world:targets(b, Plain))
  end)

  it("a source removes its pairs, and no entity", function()
    local target = world:spawn()
    local a = world:spawn(Plain(target))
    world:destroy(a)
    assert.is_true(world:isAlive(target))
    assert.same({}, world:sources(target, Plain))
  end)

  for name, Child in pairs { orphan = Orphan, source = Source } do
    it("a target destroys its sources with autoDestroy = " .. name, function()
      local root = world:spawn()
      local child = world:spawn(Child(root))
      local leaf, other = world:spawn(Child(child)), world:spawn()
      world:destroy(root)
      assert.same({ false, false, true }, alive(child, leaf, other))
      assert.equal(1, world:count())
    end)

    it("a source leaves its target with autoDestroy = " .. name, function()
      local root = world:spawn()
      local child = world:spawn(Child(root))
      world:destroy(child)
      assert.is_true(world:isAlive(root))
    end)
  end

  it("a source destroys its targets with autoDestroy = target", function()
    local item, coin = world:spawn(), world:spawn()
    local box = world:spawn(Target(item), Target(coin))
    local holder = world:spawn(Target(box))
    world:destroy(holder)
    assert.same({ false, false, false }, alive(item, coin, box))
    assert.equal(0, world:count())
  end)

  it("a target leaves its sources with autoDestroy = target", function()
    local item = world:spawn()
    local box = world:spawn(Target(item))
    world:destroy(item)
    assert.is_true(world:isAlive(box))
    assert.same({}, world:targets(box, Target))
  end)

  it("is not caused by removing a pair", function()
    local root, item = world:spawn(), world:spawn()
    local a, b = world:spawn(Orphan(root)), world:spawn(Target(item))
    world:remove(a, Orphan(root))
    world:remove(b, Target(item))
    assert.same({ true, true, true, true }, alive(root, item, a, b))
    world:destroy(root)
    world:destroy(b)
    assert.same({ true, true }, alive(a, item))
  end)

  it("ends where the pairs form a ring", function()
    for _, R in ipairs { Orphan, Target } do
      local first = world:spawn()
      local previous, list = first, { first }
      for i = 2, 20 do
        list[i] = world:spawn(R(previous))
        previous = list[i]
      end
      world:add(first, R(previous))
      local other = world:spawn()
      world:destroy(list[7])
      for _, e in ipairs(list) do assert.is_false(world:isAlive(e)) end
      assert.is_true(world:isAlive(other))
      world:destroy(other)
    end
  end)

  it("ends where an entity points at itself", function()
    for _, R in ipairs { Orphan, Target } do
      local e = world:spawn()
      world:add(e, R(e))
      world:destroy(e)
      assert.is_false(world:isAlive(e))
    end
  end)

  it("ends where two entities point at each other by both ways", function()
    local a, b = world:spawn(), world:spawn()
    world:add(a, Orphan(b), Target(b))
    world:add(b, Orphan(a), Target(a))
    world:destroy(a)
    assert.equal(0, world:count())
  end)

  it("a long chain does not need a long stack", function()
    local root = world:spawn()
    local previous = root
    for _ = 1, 100000 do previous = world:spawn(Orphan(previous)) end
    assert.equal(100001, world:count())
    world:destroy(root)
    assert.equal(0, world:count())
  end)

  it("calls onRemove in the documented order", function()
    local A, R, B = ecs.trait(), ecs.relation(), ecs.trait { n = 1 }
    local S = ecs.relation { autoDestroy = "orphan" }
    local log = util.newLog()
    for name, T in pairs { A = A, B = B, R = R, S = S } do world:onRemove(T, log.note(name)) end
    local e1, e2, e3 = world:spawn(), world:spawn(), world:spawn()
    local mid = world:spawn(B, A, R(e3), R(e1), R(e2))
    world:add(e3, R(mid))
    world:add(e2, R(mid))
    local child = world:spawn(B, S(mid))
    world:add(e1, S(child))
    world:destroy(mid)
    assert.same({
      -- its own traits and pairs, by id and by pair order
      "A 4", "R 4>3", "R 4>1", "R 4>2", "B 4",
      -- the pairs that point at it, by relation and source, but those of sources that go too
      "R 2>4", "R 3>4",
      -- then the cascade, in the order found
      "B 5", "S 5>4", "S 1>5",
    }, log.take())
    assert.same({ false, false, true, true }, alive(e1, child, e2, e3))
  end)

  it("calls onRemove while everything is still readable", function()
    local V = ecs.trait { n = 0 }
    local R = ecs.relation { store = { n = 0 }, autoDestroy = "orphan" }
    local root = world:spawn(V { n = 1 })
    local child = world:spawn(V { n = 2 }, R(root, { n = 3 }))
    local seen = {}
    local function look()
      seen[#seen + 1] = {
        world:isAlive(root), world:isAlive(child), world:get(root, V, "n"),
        world:get(child, V, "n"), world:get(child, R(root), "n"), world:targets(child, R)[1],
      }
    end
    world:onRemove(V, look)
    world:onRemove(R, look)
    world:destroy(root)
    assert.equal(3, #seen)
    for _, what in ipairs(seen) do assert.same({ true, true, 1, 2, 3, root }, what) end
  end)

  it("tells of each pair once, even when both its ends go", function()
    local log = util.newLog()
    world:onRemove(Orphan, log.note "orphan")
    world:onRemove(Target, log.note "target")
    local a = world:spawn()
    local b = world:spawn(Orphan(a), Target(a))
    world:add(a, Target(b), Orphan(b))
    world:destroy(a)
    local entries = log.take()
    table.sort(entries)
    assert.same({ "orphan 1>2", "orphan 2>1", "target 1>2", "target 2>1" }, entries)
  end)
end)
