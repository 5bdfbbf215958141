local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("ecs.Key", function()
  local world, fails = nil, util.fails
  local Hero = ecs.trait()

  before_each(function() world = ecs.createWorld() end)
  after_each(function()
    util.checkInvariants(world, { Hero, ecs.Key })
    world:close()
  end)

  it("lets scripts find an entity", function()
    local e = world:spawn(ecs.Key "player", Hero)
    assert.equal(e, world:find "player")
    assert.is_nil(world:find "Player")
    assert.is_nil(world:find "")
    assert.equal("player", world:get(e, ecs.Key))
    assert.is_true(world:has(e, ecs.Key))
    assert.same({ e }, world:query(ecs.Key, Hero))
    for entity, key in world:each(ecs.Key) do assert.same({ e, "player" }, { entity, key }) end
  end)

  it("is a trait like any other", function()
    assert.is_true(ecs.isTrait(ecs.Key))
    assert.equal("aos", ecs.Key.kind)
    local log = util.newLog()
    world:onAdd(ecs.Key, log.note "add")
    world:onChange(ecs.Key, log.note "change")
    world:onRemove(ecs.Key, log.note "remove")
    local e = world:spawn(ecs.Key "a")
    world:set(e, ecs.Key, "b")
    world:remove(e, ecs.Key)
    assert.same({ "add 1", "change 1", "remove 1" }, log.take())
  end)

  it("takes any string", function()
    local keys = { "", "\0", "a\0b", "a\0c", "\xff\xfe", ("k"):rep(1000), "1", "é" }
    local holders = {}
    for i, key in ipairs(keys) do holders[i] = world:spawn(ecs.Key(key)) end
    for i, key in ipairs(keys) do assert.equal(holders[i], world:find(key)) end
  end)

  it("takes nothing but a string", function()
    for _, bad in ipairs { 1, 1.5, true, {}, print, ecs.null, world, Hero } do
      fails(".-", nil, function() world:spawn(Hero, ecs.Key(bad)) end)
    end
    fails(".-", nil, function() world:spawn(Hero, ecs.Key) end)
    fails(".-", nil, function() world:spawn(Hero, ecs.Key(nil)) end)
    assert.equal(0, world:count())
    local e = world:spawn(ecs.Key "x")
    fails("set", nil, function() world:set(e, ecs.Key, 5) end)
    fails("set", nil, function() world:set(e, ecs.Key, nil) end)
    assert.equal(e, world:find "x")
    fails("find", "string expected", function() world:find(1) end)
    fails("find", "string expected", function() world:find() end)
  end)

  it("is unique in its world: a second holder is an error before any change", function()
    local e = world:spawn(ecs.Key "player")
    local other = world:spawn(ecs.Key "other")
    local bare = world:spawn()
    local log = util.newLog()
    world:onAdd(Hero, log.note "add")
    fails("spawn", "player", function() world:spawn(Hero, ecs.Key "player") end)
    fails("add", "player", function() world:add(bare, Hero, ecs.Key "player") end)
    fails("set", "player", function() world:set(other, ecs.Key, "player") end)
    assert.equal(3, world:count())
    assert.is_false(world:has(bare, Hero))
    assert.is_false(world:has(bare, ecs.Key))
    assert.equal(e, world:find "player")
    assert.equal(other, world:find "other")
    assert.same({}, log.take())
  end)

  it("that is taken is refused before any observer is told of anything", function()
    world:spawn(ecs.Key "taken")
    local Owner = ecs.relation { exclusive = true }
    local a, b = world:spawn(), world:spawn()
    local e = world:spawn(Owner(a))
    local log = util.newLog()
    world:onRemove(Owner, log.note "remove")
    world:onAdd(Owner, log.note "add")
    fails("add", "taken", function() world:add(e, Owner(b), ecs.Key "taken") end)
    assert.same({ a }, world:targets(e, Owner))
    assert.same({}, log.take())
  end)

  it("may be changed, and set to what it is", function()
    local e = world:spawn(ecs.Key "a")
    world:set(e, ecs.Key, "a")
    assert.equal(e, world:find "a")
    world:set(e, ecs.Key, "b")
    assert.is_nil(world:find "a")
    assert.equal(e, world:find "b")
    local other = world:spawn(ecs.Key "a")
    assert.equal(other, world:find "a")
  end)

  it("added again keeps the old one, also where the new one is taken", function()
    local e = world:spawn(ecs.Key "a")
    world:add(e, ecs.Key "b")
    assert.equal(e, world:find "a")
    assert.is_nil(world:find "b")
  end)

  it("is free again after removal, destruction and reset", function()
    local e = world:spawn(ecs.Key "k")
    world:remove(e, ecs.Key)
    assert.is_nil(world:find "k")
    local f = world:spawn(ecs.Key "k")
    assert.equal(f, world:find "k")
    world:destroy(f)
    assert.is_nil(world:find "k")
    world:spawn(ecs.Key "k")
    world:reset()
    assert.is_nil(world:find "k")
    assert.equal(world:spawn(ecs.Key "k"), world:find "k")
  end)

  it("is put back when an observer refuses the change", function()
    local e = world:spawn(ecs.Key "a")
    world:onChange(ecs.Key, function() error "no" end)
    assert.is_false(pcall(world.set, world, e, ecs.Key, "b"))
    assert.equal(e, world:find "a")
    assert.is_nil(world:find "b")
    assert.equal("a", world:get(e, ecs.Key))
  end)

  it("is free again when the spawn is undone", function()
    world:onAdd(Hero, function() error "no" end)
    assert.is_false(pcall(world.spawn, world, ecs.Key "a", Hero))
    assert.is_nil(world:find "a")
    assert.equal(world:spawn(ecs.Key "a"), world:find "a")
  end)

  it("is found by an observer of its own addition, and of its removal", function()
    local seen = {}
    world:onAdd(ecs.Key, function(e) seen[#seen + 1] = world:find "k" == e end)
    world:onRemove(ecs.Key, function(e) seen[#seen + 1] = world:find "k" == e end)
    world:destroy(world:spawn(ecs.Key "k"))
    assert.same({ true, true }, seen)
  end)

  it("is of one world", function()
    local other <close> = ecs.createWorld()
    local a, b = world:spawn(ecs.Key "k"), other:spawn(ecs.Key "k")
    assert.equal(a, world:find "k")
    assert.equal(b, other:find "k")
  end)

  it("finds among many", function()
    local list = {}
    for i = 1, 5000 do list[i] = world:spawn(ecs.Key("key" .. i)) end
    for i = 1, 5000, 2 do world:destroy(list[i]) end
    for i = 1, 5000 do
      assert.equal(i % 2 == 0 and list[i] or nil, world:find("key" .. i))
    end
    world:reset()
  end)
end)
