local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("entities", function()
  local world, slot, fails = nil, util.slot, util.fails

  before_each(function() world = ecs.createWorld() end)
  after_each(function() world:close() end)

  describe("handles", function()
    it("are integers of at most 53 bits, so that they survive doubles", function()
      for _ = 1, 100 do
        local e = world:spawn()
        assert.equal("integer", math.type(e))
        assert.is_true(e > 0 and e < 1 << 53)
        assert.equal(e, math.tointeger(e + 0.0))
      end
    end)

    it("pack world id, generation and slot", function()
      local e = world:spawn()
      local id, generation, s = ecs.unpack(e)
      assert.equal(e, id << 45 | generation << 24 | s)
      assert.is_true(id >= 1 and id <= 255)
      assert.equal(1, s)
    end)

    it("carry the id of their world", function()
      local other <close> = ecs.createWorld()
      local a, b = ecs.unpack(world:spawn()), ecs.unpack(other:spawn())
      assert.are_not.equal(a, b)
      assert.equal(a, (ecs.unpack(world:spawn())))
    end)

    it("start at slot 1 and ascend", function()
      for i = 1, 50 do assert.equal(i, slot(world:spawn())) end
    end)

    it("are accepted as floats with an integer value", function()
      local T = ecs.trait { n = 1 }
      local e = world:spawn(T)
      local f = e + 0.0
      assert.is_true(world:isAlive(f))
      assert.is_true(world:has(f, T))
      world:set(f, T, "n", 5)
      assert.equal(5, world:get(f, T, "n"))
      local id, generation, s = ecs.unpack(f)
      assert.same({ ecs.unpack(e) }, { id, generation, s })
      world:destroy(f)
      assert.is_false(world:isAlive(e))
    end)

    it("are not accepted as strings or fractions", function()
      local e = world:spawn()
      fails("destroy", "bad argument #1", function() world:destroy(tostring(e)) end)
      fails("destroy", nil, function() world:destroy(e + 0.5) end)
      fails("unpack", nil, function() ecs.unpack(tostring(e)) end)
      assert.is_true(world:isAlive(e))
    end)

    it("that never existed are dead, whatever their bits", function()
      local e = world:spawn()
      local numbers = {
        0, 1, -1, 2, e + 1, e | 1 << 53, e | 1 << 62, -e, 1 << 31, (1 << 31) - 1, 1 << 32,
        (1 << 32) + 1, 1 << 45, 1 << 53, (1 << 53) + 1, math.maxinteger, math.mininteger,
        2.0 ^ 53, 2.0 ^ 63, -2.0 ^ 63,
      }
      for _, number in ipairs(numbers) do
        assert.is_false(world:isAlive(number))
        assert.is_false(pcall(world.destroy, world, number))
      end
      for _, number in ipairs { 1e300, -1e300, 1 / 0, -1 / 0, 0 / 0, e + 0.5 } do
        local ok, alive = pcall(world.isAlive, world, number)
        assert.is_false(ok and alive)
        assert.is_false(pcall(world.destroy, world, number))
      end
      assert.is_true(world:isAlive(e))
      assert.equal(1, world:count())
    end)
  end)

  describe("spawn", function()
    it("without traits gives a bare entity", function()
      local e = world:spawn()
      assert.is_true(world:isAlive(e))
      assert.equal(1, world:count())
      assert.same({ e }, world:query())
    end)

    it("takes traits, terms and pairs", function()
      local Tag, Soa, Rel = ecs.trait(), ecs.trait { n = 1, m = 2 }, ecs.relation()
      local target = world:spawn()
      local e = world:spawn(Tag, Soa { n = 7 }, Rel(target))
      assert.is_true(world:has(e, Tag))
      assert.same({ n = 7, m = 2 }, world:get(e, Soa))
      assert.same({ target }, world:targets(e, Rel))
    end)

    it("keeps the first of two terms of one trait", function()
      local Soa = ecs.trait { n = 1 }
      local e = world:spawn(Soa { n = 2 }, Soa { n = 3 })
      assert.equal(2, world:get(e, Soa, "n"))
    end)

    it("takes more terms than a small stack holds", function()
      local terms = {}
      for i = 1, 200 do terms[i] = ecs.trait { n = i } end
      local e = world:spawn(table.unpack(terms))
      for i = 1, 200 do assert.equal(i, world:get(e, terms[i], "n")) end
    end)

    it("checks all its arguments before it makes anything", function()
      local Tag, Rel = ecs.trait(), ecs.relation()
      local calls = 0
      world:onAdd(Tag, function() calls = calls + 1 end)
      fails("spawn", "bad argument #2", function() world:spawn(Tag, nil) end)
      fails("spawn", "bad argument #2", function() world:spawn(Tag, 5) end)
      fails("spawn", nil, function() world:spawn(Tag, Rel) end)
      fails("spawn", nil, function() world:spawn(Tag, Rel("*")) end)
      fails("spawn", nil, function() world:spawn(Tag, ecs.Not(Tag)) end)
      assert.equal(0, calls)
      assert.equal(0, world:count())
    end)
  end)

  describe("destroy", function()
    it("ends an entity", function()
      local e = world:spawn()
      world:destroy(e)
      assert.is_false(world:isAlive(e))
      assert.equal(0, world:count())
      assert.same({}, world:query())
    end)

    it("of a dead entity is an error that says so", function()
      local e = world:spawn()
      world:destroy(e)
      fails("destroy", "dead", function() world:destroy(e) end)
    end)

    it("frees the slot for reuse, under another handle", function()
      local seen = {}
      for _ = 1, 1000 do
        local e = world:spawn()
        assert.is_nil(seen[e])
        seen[e] = true
        assert.is_true(slot(e) <= 2)
        world:destroy(e)
      end
    end)

    it("leaves nothing behind for the next entity in the slot", function()
      local Tag, Soa, Rel = ecs.trait(), ecs.trait { n = 1 }, ecs.relation { store = { d = 0 } }
      local target = world:spawn()
      local old = world:spawn(Tag, Soa { n = 9 }, Rel(target, { d = 4 }))
      world:destroy(old)
      local new = world:spawn()
      assert.equal(slot(old), slot(new))
      assert.is_false(world:has(new, Tag))
      assert.is_nil(world:get(new, Soa))
      assert.same({}, world:targets(new, Rel))
      assert.same({}, world:sources(target, Rel))
      world:add(new, Soa, Rel(target))
      assert.equal(1, world:get(new, Soa, "n"))
      assert.equal(0, world:get(new, Rel(target), "d"))
    end)

    it("refuses the world entity", function()
      local w = util.worldEntity(world)
      fails("destroy", "world entity", function() world:destroy(w) end)
      assert.is_true(world:isAlive(w))
    end)
  end)

  describe("a stale handle", function()
    local Tag, Soa, Rel = ecs.trait(), ecs.trait { n = 1 }, ecs.relation()
    local Aos = ecs.trait(function() return {} end)
    local old, new, other

    before_each(function()
      other = world:spawn()
      old = world:spawn(Tag)
      world:destroy(old)
      new = world:spawn(Tag, Soa, Aos, Rel(other))
      assert.equal(slot(old), slot(new))
    end)

    it("is not alive", function()
      assert.is_false(world:isAlive(old))
      assert.is_true(world:isAlive(new))
    end)

    it("has nothing of its successor", function()
      assert.is_false(world:has(old, Tag))
      assert.is_false(world:has(old, Soa))
      assert.is_false(world:has(old, Rel("*")))
      assert.is_false(world:has(old, Rel(other)))
    end)

    it("reads nothing of its successor", function()
      assert.is_nil(world:get(old, Soa))
      assert.is_nil(world:get(old, Aos))
      assert.is_nil(world:get(old, Soa, "n"))
      assert.is_nil(world:get(old, Rel(other)))
      assert.equal(1, select("#", world:get(old, Soa, "n")))
    end)

    it("is refused by everything that changes or follows", function()
      fails("set", "dead", function() world:set(old, Soa, { n = 2 }) end)
      fails("set", "dead", function() world:set(old, Soa, "n", 2) end)
      fails("add", "dead", function() world:add(old, Soa) end)
      fails("remove", "dead", function() world:remove(old, Tag) end)
      fails("destroy", "dead", function() world:destroy(old) end)
      fails("targets", "dead", function() world:targets(old, Rel) end)
      fails("sources", "dead", function() world:sources(old, Rel) end)
      fails("add", "dead", function() world:add(other, Rel(old)) end)
      fails("spawn", "dead", function() world:spawn(Tag, Rel(old)) end)
      assert.same({ n = 1 }, world:get(new, Soa))
      assert.is_true(world:has(new, Tag))
      assert.equal(2, world:count())
    end)

    it("of another world is refused in the same way", function()
      local foreign <close> = ecs.createWorld()
      foreign:spawn()
      local stranger = foreign:spawn(Soa { n = 77 })
      assert.equal(slot(new), slot(stranger))
      assert.is_false(world:isAlive(stranger))
      assert.is_false(world:has(stranger, Soa))
      assert.is_nil(world:get(stranger, Soa))
      fails("set", nil, function() world:set(stranger, Soa, { n = 2 }) end)
      fails("add", nil, function() world:add(stranger, Tag) end)
      fails("remove", nil, function() world:remove(stranger, Soa) end)
      fails("destroy", nil, function() world:destroy(stranger) end)
      fails("targets", nil, function() world:targets(stranger, Rel) end)
      fails("sources", nil, function() world:sources(stranger, Rel) end)
      fails("add", nil, function() world:add(new, Rel(stranger)) end)
      fails("spawn", nil, function() world:spawn(Rel(stranger)) end)
      assert.same({ n = 1 }, world:get(new, Soa))
      assert.same({ n = 77 }, foreign:get(stranger, Soa))
      assert.same({ other }, world:targets(new, Rel))
    end)
  end)

  describe("entities()", function()
    it("begins with the hidden world entity, which is excluded", function()
      local all = world:entities()
      assert.equal(1, #all)
      assert.equal(0, slot(all[1]))
      assert.is_true(world:has(all[1], ecs.IsExcluded))
      assert.is_true(world:isAlive(all[1]))
      assert.equal(0, world:count())
    end)

    it("is ascending by slot, whatever the history", function()
      local list = {}
      for i = 1, 200 do list[i] = world:spawn() end
      for i = 200, 1, -3 do world:destroy(list[i]) end
      for i = 2, 199, 7 do if world:isAlive(list[i]) then world:destroy(list[i]) end end
      for _ = 1, 40 do world:spawn() end
      util.checkInvariants(world, {})
    end)

    it("is a fresh list each time", function()
      local a, b = world:entities(), world:entities()
      assert.are_not.equal(a, b)
      a[1] = nil
      assert.equal(1, #world:entities())
    end)

    it("includes excluded entities, and count() counts them", function()
      local e = world:spawn(ecs.IsExcluded)
      assert.same({ util.worldEntity(world), e }, world:entities())
      assert.equal(1, world:count())
    end)
  end)

  describe("traits()", function()
    it("of a fresh world lists IsExcluded alone", function()
      assert.same({ ecs.IsExcluded }, world:traits())
    end)

    it("lists what is in use right now, ascending by definition", function()
      local A, R, B = ecs.trait(), ecs.relation(), ecs.trait { n = 0 }
      local target = world:spawn(B)
      local e = world:spawn(R(target), A)
      assert.same({ ecs.IsExcluded, A, R, B }, world:traits())
      world:remove(e, A)
      assert.same({ ecs.IsExcluded, R, B }, world:traits())
      world:remove(e, R(target))
      assert.same({ ecs.IsExcluded, B }, world:traits())
      world:add(A)
      assert.same({ ecs.IsExcluded, A, B }, world:traits())
      world:destroy(target)
      assert.same({ ecs.IsExcluded, A }, world:traits())
    end)
  end)
end)
