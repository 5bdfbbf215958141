local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("values", function()
  local world, fails = nil, util.fails
  local Tag, Health, Intent, Bag
  local e

  before_each(function()
    world = ecs.createWorld()
    Tag = ecs.trait()
    Health = ecs.trait { hp = 10, max = 10, name = "none", ok = true }
    Intent = ecs.trait { kind = "none", target = ecs.null }
    Bag = ecs.trait(function() return { "fresh" } end)
    e = world:spawn()
  end)
  after_each(function() world:close() end)

  describe("has", function()
    it("tells what an entity has", function()
      assert.is_false(world:has(e, Tag))
      world:add(e, Tag)
      assert.is_true(world:has(e, Tag))
      assert.is_false(world:has(e, Health))
      world:remove(e, Tag)
      assert.is_false(world:has(e, Tag))
    end)

    it("answers false for a dead entity", function()
      world:add(e, Tag)
      world:destroy(e)
      assert.is_false(world:has(e, Tag))
    end)
  end)

  describe("add", function()
    it("gives the defaults, or the values of a term over the defaults", function()
      world:add(e, Health, Bag)
      assert.same({ hp = 10, max = 10, name = "none", ok = true }, world:get(e, Health))
      assert.same({ "fresh" }, world:get(e, Bag))
      local other = world:spawn()
      world:add(other, Health { hp = 3, ok = false })
      assert.same({ hp = 3, max = 10, name = "none", ok = false }, world:get(other, Health))
    end)

    it("takes several at once", function()
      world:add(e, Tag, Health, Intent { kind = "flee" }, Bag)
      for _, T in ipairs { Tag, Health, Intent, Bag } do assert.is_true(world:has(e, T)) end
      assert.equal("flee", world:get(e, Intent, "kind"))
    end)

    it("of a trait that is there keeps the old value and fires nothing", function()
      local value = {}
      world:add(e, Tag, Health { hp = 3 }, Bag(value))
      local log = util.newLog()
      for _, T in ipairs { Tag, Health, Bag } do
        world:onAdd(T, log.note "add")
        world:onChange(T, log.note "change")
        world:onRemove(T, log.note "remove")
        world:onQueryAdd(T, log.note "query")
      end
      world:add(e, Tag, Health { hp = 5 }, Bag {})
      world:add(e, Health)
      assert.equal(3, world:get(e, Health, "hp"))
      assert.equal(value, world:get(e, Bag))
      assert.same({}, log.take())
    end)

    it("after a removal starts from the defaults again", function()
      world:add(e, Health { hp = 3 })
      world:remove(e, Health)
      world:add(e, Health)
      assert.equal(10, world:get(e, Health, "hp"))
    end)

    it("checks all arguments before any change", function()
      fails("add", "bad argument #3", function() world:add(e, Tag, nil) end)
      fails("add", "bad argument #3", function() world:add(e, Tag, "x") end)
      fails("add", nil, function() world:add(e, Tag, ecs.Not(Tag)) end)
      fails("add", nil, function() world:add(e, Tag, ecs.relation()) end)
      assert.is_false(world:has(e, Tag))
    end)
  end)

  describe("remove", function()
    it("takes several at once, and those that are missing are no error", function()
      world:add(e, Tag, Health)
      world:remove(e, Health, Intent, Tag)
      assert.is_false(world:has(e, Tag))
      assert.is_false(world:has(e, Health))
      assert.is_true(world:isAlive(e))
      world:remove(e, Health)
    end)

    it("checks all arguments before any change", function()
      world:add(e, Tag)
      fails("remove", "bad argument #3", function() world:remove(e, Tag, nil) end)
      fails("remove", "bad argument #3", function() world:remove(e, Tag, 7) end)
      fails("remove", nil, function() world:remove(e, Tag, ecs.relation()) end)
      fails("remove", nil, function() world:remove(e) end)
      assert.is_true(world:has(e, Tag))
    end)
  end)

  describe("get", function()
    it("gives a fresh table each time", function()
      world:add(e, Health)
      local value = world:get(e, Health)
      value.hp = 99
      assert.are_not.equal(value, world:get(e, Health))
      assert.equal(10, world:get(e, Health, "hp"))
      assert.is_nil(getmetatable(value))
    end)

    it("gives fields in the order asked for, without a table", function()
      world:add(e, Health { hp = 8 })
      assert.same({ 10, 8 }, { world:get(e, Health, "max", "hp") })
      assert.equal(1, select("#", world:get(e, Health, "hp")))
      assert.same({ 8, 8, 8 }, { world:get(e, Health, "hp", "hp", "hp") })
    end)

    it("of a missing trait is nil, and with fields one nil per field", function()
      assert.is_nil(world:get(e, Health))
      assert.equal(1, select("#", world:get(e, Health)))
      assert.equal(2, select("#", world:get(e, Health, "hp", "max")))
      assert.same({}, { world:get(e, Health, "hp", "max") })
    end)

    it("of a dead entity is the same", function()
      world:add(e, Health)
      world:destroy(e)
      assert.is_nil(world:get(e, Health))
      assert.equal(2, select("#", world:get(e, Health, "hp", "max")))
      assert.same({}, { world:get(e, Health, "hp", "max") })
    end)

    it("of a tag is nil", function()
      world:add(e, Tag)
      assert.is_nil(world:get(e, Tag))
    end)

    it("of an AoS trait is the value itself", function()
      local value = {}
      world:add(e, Bag(value))
      assert.equal(value, world:get(e, Bag))
      value[1] = "sword"
      assert.same({ "sword" }, world:get(e, Bag))
    end)

    it("of an unknown field is an error, whether the trait is there or not", function()
      fails("get", "speed", function() world:get(e, Health, "speed") end)
      world:add(e, Health, Bag, Tag)
      fails("get", "speed", function() world:get(e, Health, "speed") end)
      fails("get", "speed", function() world:get(e, Health, "hp", "speed") end)
      fails("get", nil, function() world:get(e, Health, 1) end)
      fails("get", nil, function() world:get(e, Health, nil) end)
      fails("get", nil, function() world:get(e, Bag, "1") end)
      fails("get", nil, function() world:get(e, Tag, "hp") end)
      world:destroy(e)
      fails("get", "speed", function() world:get(e, Health, "speed") end)
    end)

    it("takes many fields", function()
      local names = {}
      for i = 1, 200 do names[i] = i % 2 == 0 and "hp" or "max" end
      world:add(e, Health { hp = 1 })
      local values = { world:get(e, Health, table.unpack(names)) }
      assert.equal(200, #values)
      assert.equal(1, values[200])
      assert.equal(10, values[199])
    end)
  end)

  describe("set", function()
    it("merges a table into the fields", function()
      world:add(e, Health { hp = 8 })
      world:set(e, Health, { hp = 7 })
      assert.same({ hp = 7, max = 10, name = "none", ok = true }, world:get(e, Health))
      world:set(e, Health, { max = 20, ok = false })
      assert.same({ hp = 7, max = 20, name = "none", ok = false }, world:get(e, Health))
      world:set(e, Health, {})
      assert.equal(7, world:get(e, Health, "hp"))
    end)

    it("sets one field", function()
      world:add(e, Health)
      world:set(e, Health, "hp", 7)
      world:set(e, Health, "name", "orc")
      assert.same({ hp = 7, max = 10, name = "orc", ok = true }, world:get(e, Health))
    end)

    it("does not keep the table", function()
      world:add(e, Health)
      local value = { hp = 7 }
      world:set(e, Health, value)
      value.hp = 1
      assert.equal(7, world:get(e, Health, "hp"))
      assert.same({ hp = 1 }, value)
    end)

    it("keeps the subtype of numbers", function()
      world:add(e, Health)
      world:set(e, Health, "hp", 7.0)
      assert.equal("float", math.type(world:get(e, Health, "hp")))
      world:set(e, Health, "hp", 7)
      assert.equal("integer", math.type(world:get(e, Health, "hp")))
      world:set(e, Health, "hp", -0.0)
      assert.equal(-math.huge, 1 / world:get(e, Health, "hp"))
      for _, number in ipairs { math.maxinteger, math.mininteger, 2 ^ 53, 5e-324, math.huge } do
        world:set(e, Health, "hp", number)
        assert.equal(number, world:get(e, Health, "hp"))
      end
      world:set(e, Health, "hp", 0 / 0)
      local nan = world:get(e, Health, "hp")
      assert.is_true(nan ~= nan)
    end)

    it("keeps strings byte for byte", function()
      local bytes = {}
      for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
      world:add(e, Health)
      for _, text in ipairs { "", "\0", "a\0b", "a\0c", table.concat(bytes), ("x"):rep(10000) } do
        world:set(e, Health, "name", text)
        assert.equal(text, world:get(e, Health, "name"))
      end
    end)

    it("replaces the value of an AoS trait", function()
      world:add(e, Bag)
      for _, value in ipairs { {}, "text", 5, false, print, ecs.null } do
        world:set(e, Bag, value)
        assert.equal(value, world:get(e, Bag))
      end
    end)

    it("on a missing trait is an error", function()
      fails("set", nil, function() world:set(e, Health, { hp = 1 }) end)
      fails("set", nil, function() world:set(e, Health, "hp", 1) end)
      fails("set", nil, function() world:set(e, Bag, {}) end)
      assert.is_false(world:has(e, Health))
      assert.is_nil(world:get(e, Bag))
    end)

    it("on a tag is an error", function()
      world:add(e, Tag)
      fails("set", nil, function() world:set(e, Tag, {}) end)
      fails("set", nil, function() world:set(e, Tag, "hp", 1) end)
      fails("set", nil, function() world:set(e, Tag, true) end)
    end)

    it("refuses unknown fields and wrong types, before any change", function()
      world:add(e, Health { hp = 5 }, Bag)
      local log = util.newLog()
      world:onChange(Health, log.note "change")
      fails("set", "speed", function() world:set(e, Health, "speed", 1) end)
      fails("set", "speed", function() world:set(e, Health, { hp = 1, speed = 1 }) end)
      fails("set", "hp", function() world:set(e, Health, "hp", "7") end)
      fails("set", "hp", function() world:set(e, Health, "hp", true) end)
      fails("set", "hp", function() world:set(e, Health, "hp", {}) end)
      fails("set", "hp", function() world:set(e, Health, "hp", nil) end)
      fails("set", "hp", function() world:set(e, Health, "hp", ecs.null) end)
      fails("set", "hp", function() world:set(e, Health, { hp = "x", max = 1 }) end)
      fails("set", "hp", function() world:set(e, Health, { max = 1, hp = "x" }) end)
      fails("set", "name", function() world:set(e, Health, "name", 5) end)
      fails("set", "ok", function() world:set(e, Health, "ok", "true") end)
      fails("set", nil, function() world:set(e, Health, { hp = 1, [1] = 2 }) end)
      fails("set", nil, function() world:set(e, Health, 5) end)
      fails("set", nil, function() world:set(e, Health, nil) end)
      fails("set", nil, function() world:set(e, Health) end)
      fails("set", nil, function() world:set(e, Health, "hp") end)
      fails("set", nil, function() world:set(e, Bag, nil) end)
      fails("set", nil, function() world:set(e, Bag) end)
      assert.same({ hp = 5, max = 10, name = "none", ok = true }, world:get(e, Health))
      assert.same({}, log.take())
    end)

    it("says what was expected and what was given", function()
      world:add(e, Health)
      local text = fails("set", "hp", function() world:set(e, Health, "hp", "7") end)
      assert.matches("number", text)
      assert.matches("string", text)
    end)

    it("of a field of an AoS trait is an error, not a new value", function()
      local value = {}
      world:add(e, Bag(value))
      fails("set", nil, function() world:set(e, Bag, "field", 5) end)
      assert.equal(value, world:get(e, Bag))
    end)

    it("of extra arguments is an error or is the same as without them", function()
      world:add(e, Health)
      local ok, err = pcall(world.set, world, e, Health, { hp = 1 }, 2, 3)
      assert.is_true(ok or util.isOurs(err))
      util.checkInvariants(world, { Health })
    end)
  end)

  describe("a field whose default is ecs.null", function()
    it("is absent while it is nil", function()
      world:add(e, Intent)
      assert.same({ kind = "none" }, world:get(e, Intent))
      assert.is_nil(world:get(e, Intent, "target"))
      assert.equal(1, select("#", world:get(e, Intent, "target")))
    end)

    it("takes a value of any type", function()
      world:add(e, Intent)
      for _, value in ipairs { e, 2.5, "x", true, false, { 1 }, print, io.stdout } do
        world:set(e, Intent, "target", value)
        assert.equal(value, world:get(e, Intent, "target"))
        assert.same({ kind = "none", target = value }, world:get(e, Intent))
      end
    end)

    it("is cleared by nil and by ecs.null", function()
      world:add(e, Intent { target = 5 })
      world:set(e, Intent, "target", nil)
      assert.is_nil(world:get(e, Intent, "target"))
      world:set(e, Intent, "target", 5)
      world:set(e, Intent, "target", ecs.null)
      assert.is_nil(world:get(e, Intent, "target"))
      world:set(e, Intent, "target", 5)
      world:set(e, Intent, { target = ecs.null })
      assert.same({ kind = "none" }, world:get(e, Intent))
    end)

    it("is not cleared by a table that does not name it", function()
      world:add(e, Intent { target = 5 })
      world:set(e, Intent, { kind = "flee" })
      assert.equal(5, world:get(e, Intent, "target"))
    end)

    it("may be null in a term", function()
      world:add(e, Intent { target = ecs.null })
      assert.same({ kind = "none" }, world:get(e, Intent))
    end)
  end)

  describe("many traits", function()
    it("on one entity do not disturb each other", function()
      local traits = {}
      for i = 1, 300 do
        traits[i] = i % 3 == 0 and ecs.trait() or ecs.trait { v = i }
        world:add(e, traits[i])
      end
      for i = 1, 300, 2 do world:remove(e, traits[i]) end
      for i = 1, 300 do
        assert.equal(i % 2 == 0, world:has(e, traits[i]))
        if i % 3 ~= 0 then
          assert.equal(i % 2 == 0 and i or nil, world:get(e, traits[i], "v"))
        end
      end
    end)

    it("across many entities keep their values", function()
      local list = {}
      for i = 1, 5000 do list[i] = world:spawn(Health { hp = i }, i % 2 == 0 and Tag or Bag) end
      for i = 1, 5000, 3 do world:destroy(list[i]) end
      for i = 1, 5000 do
        local expected = i % 3 ~= 1 and i or nil
        assert.equal(expected, world:get(list[i], Health, "hp"))
      end
    end)
  end)
end)
