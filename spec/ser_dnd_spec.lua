-- SER-F07: a fight in progress is saved and resumed.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local dnd = require "spec.support.dnd"
local ser = require "spec.support.ser"

describe("a fight", function()
  local t, world, who

  before_each(function()
    t = dnd.traits()
    world = dnd.world(t)
    who = dnd.fight(world, t)
  end)

  -- The fight in a fresh world, by way of a text.
  local function resume(route)
    local other = dnd.world(t)
    return other, route.restore(other, route.save(world)).entities
  end

  it("SER-100 is restored with its combatants, the effect and the pair", function()
    for _, route in ipairs(ser.routes()) do
      local other, e = resume(route)
      assert.equal(7, #e)
      assert.equal(7, other:count())
      local new = dnd.check(other, t)
      local effects = other:query(t.Effect)
      assert.equal(1, #effects)
      deep.assertSame(effects, other:targets(new.Orc, t.HasEffect), route.name)
      deep.assertSame({ turns = 3, damage = 2 },
        other:get(new.Orc, t.HasEffect(new.Poisoned)), route.name)
      assert.equal(3, #other:query(t.Hero))
      assert.equal(3, #other:query(t.Monster))
      for name, old in pairs(who) do
        assert.is_false(other:isAlive(old), name)
      end
    end
  end)

  it("SER-101 restores Intent and Targeting to the new entities", function()
    for _, route in ipairs(ser.routes()) do
      local other = resume(route)
      local active = other:query(t.Active)[1]
      local target = other:get(active, t.Intent, "target")
      assert.equal("Goblin", other:get(target, t.Name, "value"))
      assert.equal("attack", other:get(active, t.Intent, "kind"))
      assert.is_nil(other:get(active, t.Targeting, "target"))
      assert.equal("none", other:get(active, t.Targeting, "mode"))
      local wolf = dnd.byName(other, t).Wolf
      assert.equal("Cael", other:get(other:get(wolf, t.Targeting, "target"), t.Name, "value"))
    end
  end)

  it("SER-102 restores Cues through the codec and CombatLog as a new array", function()
    for _, route in ipairs(ser.routes()) do
      local other = resume(route)
      local new = dnd.byName(other, t)
      deep.assertSame({ new.Goblin }, other:get(t.Cues).defeated, route.name)
      deep.assertSame({ { on = new.Orc, amount = 5 } }, other:get(t.Cues).hits, route.name)
      local entries, saved = other:get(t.CombatLog).entries, world:get(t.CombatLog).entries
      deep.assertSame(saved, entries, route.name)
      assert.are_not.equal(saved, entries)
      assert.are_not.equal(saved[1], entries[1])
    end
    local s = ecs.saveWorld(world)
    local other = dnd.world(t)
    ecs.restoreWorld(other, s)
    assert.are_not.equal(s.world.traits.CombatLog.entries, other:get(t.CombatLog).entries)
  end)

  it("SER-103 leaves the ignored Rng out, and refuses an unregistered Speed", function()
    world:add(t.Rng)
    for _, route in ipairs(ser.routes()) do
      local other = resume(route)
      assert.is_false(other:has(t.Rng))
      assert.is_true(world:has(t.Rng))
      -- It may be there before the restore, and stays.
      other:reset()
      local rng = { next = print }
      other:add(t.Rng(rng))
      route.restore(other, route.save(world))
      assert.equal(rng, other:get(t.Rng))
    end
    for _, name in ipairs { "Aria", "Bram", "Cael" } do
      world:add(who[name], t.Speed)
    end
    ser.raises("saveWorld", "unregistered-trait", { "trait #" .. t.Speed.id, "dnd.lua:" },
      ecs.saveWorld, world)
  end)

  it("SER-104 is resumed in the same world after a reset", function()
    for _, route in ipairs(ser.routes()) do
      local saved = route.save(world)
      local old = world:entities()
      world:reset()
      assert.equal(0, world:count())
      route.restore(world, saved)
      dnd.check(world, t)
      assert.equal(3, #world:query(t.Hero))
      for i = 2, #old do
        assert.is_false(world:isAlive(old[i]))
      end
      local defeated = {}
      local stop = world:onQueryAdd(t.Defeated, function(entity)
        defeated[#defeated + 1] = entity
      end)
      assert.same({}, defeated)
      local goblin = dnd.byName(world, t).Goblin
      world:add(goblin, t.Defeated)
      assert.same({ goblin }, defeated)
      world:add(goblin, t.Defeated)
      assert.same({ goblin }, defeated)
      stop()
      world:remove(goblin, t.Defeated)
      for name, trait in pairs(t) do
        local registered = name ~= "Rng" and name ~= "Speed" and name ~= "IsA"
        assert.equal(registered and name or nil, ecs.getTraitName(world, trait))
      end
      deep.assertSame(7, #ecs.saveWorld(world).entities)
    end
  end)

  it("SER-104 restored entities that are already defeated do not fire a later observer", function()
    world:add(who.Wolf, t.Defeated)
    local other = dnd.world(t)
    local s = ecs.saveWorld(world)
    ecs.restoreWorld(other, s)
    local calls = 0
    other:onQueryAdd(t.Defeated, function() calls = calls + 1 end)
    assert.equal(0, calls)
    assert.equal(1, #other:query(t.Defeated))
    other:add(dnd.byName(other, t).Orc, t.Defeated)
    assert.equal(1, calls)
  end)

  it("SER-105 with gaps in the ids, all references point at the right new entities", function()
    for _, route in ipairs(ser.routes()) do
      world = dnd.world(t)
      who = dnd.fight(world, t, true)
      local gaps = 0
      local list = ser.savedEntities(world)
      local last = 0
      for _, entity in ipairs(list) do
        local _, generation, slot = ecs.unpack(entity)
        gaps = gaps + (slot - last - 1) + (generation > 0 and 1 or 0)
        last = slot
      end
      assert.is_true(gaps > 0)
      assert.equal(7, #list)
      local other, e = resume(route)
      local new = dnd.check(other, t)
      for i, entity in ipairs(list) do
        assert.equal(e[i], new[world:get(entity, t.Name, "value")])
        assert.equal(i, select(3, ecs.unpack(e[i])))
      end
      -- And once more, from the restored world.
      local third = dnd.world(t)
      route.restore(third, route.save(other))
      dnd.check(third, t)
      deep.assertSame(ecs.saveWorld(world), ecs.saveWorld(third), route.name)
    end
  end)

  it("SER-106 pairs to prefabs: an error until the relation is ignored, then dropped", function()
    local prefab = world:spawn(ecs.IsExcluded, t.Monster, t.Name { value = "prefab" })
    for _, name in ipairs { "Goblin", "Orc", "Wolf" } do
      world:add(who[name], t.IsA(prefab))
    end
    ser.raises("saveWorld", "unregistered-trait", { "trait #" .. t.IsA.id }, ecs.saveWorld, world)
    ecs.ignoreTraits(world, { t.IsA })
    for _, route in ipairs(ser.routes()) do
      local other = dnd.world(t)
      ecs.ignoreTraits(other, { t.IsA })
      local template = other:spawn(ecs.IsExcluded, t.Monster)
      route.restore(other, route.save(world))
      local new = dnd.check(other, t)
      for _, name in ipairs { "Goblin", "Orc", "Wolf" } do
        assert.is_false(other:has(new[name], t.IsA("*")))
        deep.assertSame({}, other:targets(new[name], t.IsA), name)
      end
      assert.is_true(other:isAlive(template))
      -- The saved world keeps its own pairs.
      assert.is_true(world:has(who.Orc, t.IsA(prefab)))
    end
    -- Registered instead, the pair to a prefab is a dangling reference.
    local strict = dnd.world(t)
    ecs.registerTraits(strict, { IsA = t.IsA })
    local a, b = strict:spawn(), strict:spawn(ecs.IsExcluded)
    strict:add(a, t.IsA(b))
    ser.raises("saveWorld", "dangling-ref", { "IsA" }, ecs.saveWorld, strict)
  end)
end)
