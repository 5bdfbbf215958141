-- The introduction of the manual, statement by statement.

local ecs = require "ecsser"

describe("the introduction", function()
  local Effect, Monster, Defeated = ecs.trait(), ecs.trait(), ecs.trait()
  local Hero = ecs.trait()
  local Health = ecs.trait { hp = 10, max = 10 }
  local Intent = ecs.trait { kind = "none", target = ecs.null }
  local Inventory = ecs.trait(function() return {} end)
  local HasEffect = ecs.relation { store = { turns = 0, damage = 0 } }
  local ChildOf = ecs.relation { exclusive = true, autoDestroy = "orphan" }
  local Encounter = ecs.trait { round = 0 }
  local Position, Velocity = ecs.trait { x = 0.0, y = 0.0 }, ecs.trait { x = 0.0, y = 0.0 }
  local world, poison, orc

  before_each(function()
    world = ecs.createWorld()
    poison = world:spawn(Effect)
    orc = world:spawn(Monster, Health { hp = 8 }, HasEffect(poison, { turns = 3 }))
  end)
  after_each(function() world:close() end)

  it("spawns and reads", function()
    assert.is_true(world:has(orc, Health))
    assert.same({ hp = 8, max = 10 }, world:get(orc, Health))
    assert.same({ 8, 10 }, { world:get(orc, Health, "hp", "max") })
  end)

  it("sets, adds and removes", function()
    local changes = 0
    world:onChange(Health, function() changes = changes + 1 end)
    world:set(orc, Health, { hp = 7 })
    assert.same({ hp = 7, max = 10 }, world:get(orc, Health))
    world:set(orc, Health, "hp", 6)
    assert.same({ hp = 6, max = 10 }, world:get(orc, Health))
    assert.equal(2, changes)
    world:add(orc, Hero, Intent { kind = "flee" })
    assert.same({ kind = "flee" }, world:get(orc, Intent))
    world:remove(orc, Hero)
    assert.is_false(world:has(orc, Hero))
  end)

  it("has an inventory per entity", function()
    local a, b = world:spawn(Inventory), world:spawn(Inventory)
    table.insert(world:get(a, Inventory), "sword")
    assert.same({ "sword" }, world:get(a, Inventory))
    assert.same({}, world:get(b, Inventory))
  end)

  it("follows pairs in both directions", function()
    assert.same({ turns = 3, damage = 0 }, world:get(orc, HasEffect(poison)))
    assert.same({ poison }, world:targets(orc, HasEffect))
    assert.same({ orc }, world:sources(poison, HasEffect))
  end)

  it("destroys, with the children", function()
    local club = world:spawn(ChildOf(orc))
    world:destroy(orc)
    assert.is_false(world:isAlive(orc))
    assert.is_false(world:isAlive(club))
    assert.same({}, world:sources(poison, HasEffect))
  end)

  it("has world-level traits", function()
    world:add(Encounter { round = 1 })
    assert.equal(1, world:get(Encounter, "round"))
  end)

  it("queries", function()
    local hero = world:spawn(Hero, HasEffect(poison), Health { hp = 3 })
    world:spawn(Hero, Defeated, HasEffect(poison))
    world:spawn(Hero)
    assert.same({ hero }, world:query(Hero, ecs.Not(Defeated), HasEffect("*")))
    local seen = {}
    for entity, health in world:each(Health) do seen[#seen + 1] = { entity, health } end
    assert.same({ { orc, { hp = 8, max = 10 } }, { hero, { hp = 3, max = 10 } } }, seen)
  end)

  it("moves things by columns", function()
    for i = 1, 4 do world:spawn(Position { x = i }, i % 2 == 0 and Velocity { x = 10 } or Hero) end
    local dt = 0.5
    local slots, n = world:slots(Position, Velocity)
    local x, vx = world:column(Position, "x"), world:column(Velocity, "x")
    for i = 1, n do local s = slots[i]; x[s] = x[s] + vx[s] * dt end
    local result = {}
    for _, position in world:each(Position) do result[#result + 1] = position.x end
    assert.same({ 1, 7.0, 3, 9.0 }, result)
  end)

  it("observes", function()
    local added = {}
    local unsubscribe = world:onAdd(Health, function(entity) added[#added + 1] = entity end)
    local a = world:spawn(Health)
    unsubscribe()
    world:spawn(Health)
    assert.same({ a }, added)
  end)

  it("lists, counts and resets", function()
    assert.equal(3, #world:entities())
    assert.same({ ecs.IsExcluded, Effect, Monster, Health, HasEffect }, world:traits())
    assert.equal(2, world:count())
    world:reset()
    assert.equal(0, world:count())
  end)

  it("finds entities by key", function()
    local player = world:spawn(ecs.Key "player", Hero)
    assert.equal(player, world:find "player")
  end)
end)
