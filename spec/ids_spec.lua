-- Generations and world ids that are used up.

local ecs = require "ecsser"
local util = require "spec.support.world_util"
local child = require "spec.support.world_child"

local generations <const> = 1 << 21

describe("generations", function()
  it("that are used up retire their slot: no handle is ever given twice", function()
    local world <close> = ecs.createWorld()
    local unpack, before, rounds = ecs.unpack, -1, generations + 1000
    local first, last = world:spawn(), nil
    world:destroy(first)
    for _ = 1, rounds do
      local e = world:spawn()
      world:destroy(e)
      local _, generation, slot = unpack(e)
      -- Slot first, then generation: that this ascends shows that no handle comes back.
      local order = slot << 21 | generation
      if order <= before then error("handle " .. e .. " came after a greater one") end
      before, last = order, e
    end
    assert.equal(2, util.slot(last))
    assert.is_false(world:isAlive(first))
    assert.is_false(world:isAlive(last))
    assert.equal(0, world:count())
    util.checkInvariants(world, {})
    -- The retired slot stays retired, also through reset.
    world:reset()
    for i = 2, 10 do assert.equal(i, util.slot(world:spawn())) end
    assert.is_false(world:isAlive(first))
  end)

  it("that are used up by reset retire the slot as well", function()
    local world <close> = ecs.createWorld()
    local _, generation = ecs.unpack(world:spawn())
    world:reset()
    local seen = {}
    for _ = generation + 1, generations - 3 do
      world:destroy(world:spawn())
    end
    for _ = 1, 6 do
      local e = world:spawn()
      assert.is_nil(seen[e])
      seen[e] = true
      world:reset()
    end
    assert.equal(2, util.slot(world:spawn()))
    for e in pairs(seen) do assert.is_false(world:isAlive(e)) end
  end)

  it("that are used up do not wear out the id of the world", function()
    local old = {}
    do
      local world <close> = ecs.createWorld()
      local e
      for i = 1, generations + 10 do
        e = world:spawn()
        if i % 1000 == 0 or i > generations - 10 then old[e] = true end
        world:destroy(e)
      end
    end
    for _ = 1, 600 do
      local world <close> = ecs.createWorld()
      for i = 1, 3 do
        local e = world:spawn()
        assert.is_nil(old[e])
        assert.equal(i, util.slot(e))
        old[e] = true
      end
    end
  end)
end)

describe("handles of closed worlds", function()
  it("stay dead in later worlds that reuse the id", function()
    local T = ecs.trait { n = 0 }
    local all, ids = {}, {}
    for round = 1, 1000 do
      local world = ecs.createWorld()
      for i = 1, 3 do
        local e = world:spawn(T { n = round })
        if i == 2 then world:destroy(e) end
        assert.is_nil(all[e], "a handle was given twice")
        all[e] = true
        ids[ecs.unpack(e)] = true
      end
      if round % 100 == 0 then
        local alive = 0
        for e in pairs(all) do
          if world:isAlive(e) then alive = alive + 1 end
        end
        assert.equal(2, alive)
      end
      if round % 2 == 0 then world:close() end
      world = nil -- luacheck: ignore
      if round % 50 == 0 then collectgarbage() end
    end
    local count = 0
    for _ in pairs(ids) do count = count + 1 end
    assert.is_true(count <= 255)
  end)

  it("of the world entity stay dead, too", function()
    local old = {}
    for _ = 1, 600 do
      local world <close> = ecs.createWorld()
      local w = world:entities()[1]
      assert.is_nil(old[w])
      old[w] = true
      world:reset()
      assert.equal(w, world:entities()[1])
    end
  end)

  it("that was reset often stay dead, too", function()
    local old = {}
    for _ = 1, 300 do
      local world <close> = ecs.createWorld()
      for _ = 1, 5 do
        local e = world:spawn()
        assert.is_nil(old[e])
        old[e] = true
        world:reset()
      end
    end
  end)
end)

describe("world ids", function()
  it("are given back by close", function()
    for _ = 1, 2000 do
      local world = ecs.createWorld()
      world:spawn()
      world:close()
    end
  end)

  it("are given back by the collector, which createWorld calls when they run out", function()
    for _ = 1, 2000 do ecs.createWorld():spawn() end
  end)

  it("are given back even while the collector is stopped", function()
    collectgarbage "stop"
    local ok, err = pcall(function()
      for _ = 1, 600 do ecs.createWorld():spawn() end
    end)
    collectgarbage "restart"
    assert.is_true(ok, err)
  end)

  it("allow 255 worlds at a time; the next raises, and works again after a close", function()
    local how, number, output = child.run [[
      local ecs = require "ecsser"
      local worlds = {}
      for i = 1, 255 do
        worlds[i] = ecs.createWorld()
        worlds[i]:spawn()
      end
      local seen = {}
      for i = 1, 255 do
        local id = ecs.unpack(worlds[i]:entities()[2])
        assert(id >= 1 and id <= 255 and not seen[id])
        seen[id] = true
      end
      local ok, err = pcall(function() ecs.createWorld() end)
      assert(not ok)
      print(err)
      assert(not pcall(ecs.createWorld))
      for i = 1, 255 do assert(worlds[i]:count() == 1) end
      local stale = worlds[77]:entities()[2]
      worlds[77]:close()
      local world = ecs.createWorld()
      world:spawn()
      assert(not world:isAlive(stale))
      assert(not pcall(ecs.createWorld))
      worlds[5] = nil
      assert(pcall(ecs.createWorld))
      print "done"
    ]]
    assert.matches("done%s*$", output)
    assert.matches("createWorld: .*255", output)
    assert.equal("exit 0", how .. " " .. number)
  end)

  it("are per Lua state", function()
    local a, b = ecs.createWorld(), ecs.createWorld()
    assert.are_not.equal(ecs.unpack(a:spawn()), (ecs.unpack(b:spawn())))
    a:close()
    b:close()
  end)
end)

describe("unpack", function()
  it("takes handles apart, whatever they are", function()
    assert.same({ 3, 5, 7 }, { ecs.unpack(3 << 45 | 5 << 24 | 7) })
    assert.same({ 3, 5, 7 }, { ecs.unpack((3 << 45 | 5 << 24 | 7) + 0.0) })
    local top = { 255, generations - 1, (1 << 24) - 1 }
    assert.same(top, { ecs.unpack((1 << 53) - 1) })
    assert.same(top, { ecs.unpack(2.0 ^ 53 - 1) })
  end)

  it("refuses what can be no handle", function()
    for _, bad in ipairs {
      0, -1, 1 << 53, math.maxinteger, math.mininteger, 0.5, 1e300, -1 / 0, 0 / 0, "1", true, {},
      print, ecs.null,
    } do
      util.fails("unpack", nil, function() ecs.unpack(bad) end)
    end
    util.fails("unpack", nil, function() ecs.unpack() end)
  end)
end)
