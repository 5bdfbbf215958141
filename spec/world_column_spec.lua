local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("slots", function()
  local world
  local Pos, Vel, Tag = ecs.trait { x = 0 }, ecs.trait { x = 0 }, ecs.trait()

  before_each(function() world = ecs.createWorld() end)
  after_each(function() world:close() end)

  it("lists the matching slots, ascending, and their number", function()
    world:spawn(Pos)
    world:spawn(Pos, Vel)
    world:spawn(Vel)
    world:spawn(Vel, Pos, Tag)
    local slots, n = world:slots(Pos, Vel)
    assert.same({ 2, 4 }, slots)
    assert.equal(2, n)
    assert.same({ 2 }, (world:slots(Pos, Vel, ecs.Not(Tag))))
  end)

  it("of nothing are an empty list", function()
    local slots, n = world:slots(Pos)
    assert.same({}, slots)
    assert.equal(0, n)
  end)

  it("are cached until something structural changes", function()
    local e = world:spawn(Pos, Vel)
    local slots = world:slots(Pos, Vel)
    assert.equal(slots, (world:slots(Pos, Vel)))
    world:set(e, Pos, "x", 5)
    world:get(e, Pos)
    world:query(Pos)
    assert.equal(slots, (world:slots(Pos, Vel)))
  end)

  it("are right again after any structural change", function()
    local function check(expected)
      local slots, n = world:slots(Pos, ecs.Not(Tag))
      assert.equal(#expected, n)
      for i = 1, n do assert.equal(expected[i], slots[i]) end
      assert.is_nil(slots[n + 1])
    end
    check {}
    local a, b = world:spawn(Pos), world:spawn(Pos)
    check { 1, 2 }
    world:add(a, Tag)
    check { 2 }
    world:remove(a, Tag)
    check { 1, 2 }
    world:destroy(a)
    check { 2 }
    world:remove(b, Pos)
    check {}
    world:spawn(Pos)
    check { 1 }
    world:add(b, Pos, ecs.IsExcluded)
    check { 1 }
    world:remove(b, ecs.IsExcluded)
    check { 1, 2 }
    world:reset()
    check {}
  end)

  it("of different queries are different lists", function()
    world:spawn(Pos, Vel)
    world:spawn(Pos)
    local a, b = world:slots(Pos), world:slots(Pos, Vel)
    assert.are_not.equal(a, b)
    assert.same({ 1, 2 }, a)
    assert.same({ 1 }, b)
  end)

  it("of pairs follow the pairs", function()
    local R = ecs.relation()
    local t, u = world:spawn(), world:spawn()
    local e = world:spawn(R(t))
    assert.same({ 3 }, (world:slots(R(t))))
    assert.same({}, (world:slots(R(u))))
    world:add(e, R(u))
    world:remove(e, R(t))
    assert.same({}, (world:slots(R(t))))
    assert.same({ 3 }, (world:slots(R(u))))
    assert.same({ 3 }, (world:slots(R("*"))))
    world:destroy(u)
    assert.same({}, (world:slots(R("*"))))
  end)

  it("survive thousands of different queries", function()
    local targets = {}
    local R = ecs.relation()
    for i = 1, 3000 do targets[i] = world:spawn(i > 1 and R(targets[i - 1]) or Tag) end
    for i = 1, 2999 do
      local slots, n = world:slots(R(targets[i]))
      assert.equal(1, n)
      assert.equal(i + 1, slots[1])
    end
  end)
end)

describe("columns", function()
  local world, fails = nil, util.fails
  local Position, Velocity = ecs.trait { x = 0.0, y = 0.0 }, ecs.trait { x = 0.0, y = 0.0 }
  local Bag, Tag = ecs.trait(function() return {} end), ecs.trait()
  local Note = ecs.trait { n = ecs.null }

  before_each(function() world = ecs.createWorld() end)
  after_each(function() world:close() end)

  it("are the field's own table, by slot", function()
    local a, b = world:spawn(Position { x = 1 }), world:spawn(Position { x = 2 })
    local x = world:column(Position, "x")
    assert.same({ 1, 2 }, { x[util.slot(a)], x[util.slot(b)] })
    x[util.slot(b)] = 5
    assert.equal(5, world:get(b, Position, "x"))
    assert.same({ x = 5, y = 0 }, world:get(b, Position))
    world:set(a, Position, "x", 7)
    assert.equal(7, x[util.slot(a)])
    assert.equal(x, world:column(Position, "x"))
    assert.are_not.equal(x, world:column(Position, "y"))
    assert.are_not.equal(x, world:column(Velocity, "x"))
  end)

  it("carry the fast path of plain Lua", function()
    for i = 1, 1000 do
      world:spawn(Position { x = i }, i % 2 == 0 and Velocity { x = 2 } or Tag)
    end
    local dt = 0.5
    local slots, n = world:slots(Position, Velocity)
    local x, vx = world:column(Position, "x"), world:column(Velocity, "x")
    for i = 1, n do
      local s = slots[i]
      x[s] = x[s] + vx[s] * dt
    end
    assert.equal(500, n)
    local i = 0
    for entity, position in world:each(Position) do
      i = i + 1
      assert.equal(i % 2 == 0 and i + 1.0 or i, position.x)
      assert.equal(i, util.slot(entity))
    end
  end)

  it("exist before any entity has the trait", function()
    local x = world:column(Position, "x")
    assert.is_nil(next(x))
    local e = world:spawn(Position { x = 3 })
    assert.equal(3, x[util.slot(e)])
  end)

  it("hold the values of AoS traits", function()
    local value = {}
    local e = world:spawn(Bag(value))
    local bags = world:column(Bag)
    assert.equal(value, bags[util.slot(e)])
    bags[util.slot(e)] = "other"
    assert.equal("other", world:get(e, Bag))
  end)

  it("forget what is removed, destroyed or reset", function()
    local a, b, c = world:spawn(Position, Bag), world:spawn(Position, Bag), world:spawn(Position)
    world:remove(a, Position, Bag)
    world:destroy(b)
    local x, bags = world:column(Position, "x"), world:column(Bag)
    assert.is_nil(x[util.slot(a)])
    assert.is_nil(x[util.slot(b)])
    assert.equal(0, x[util.slot(c)])
    assert.is_nil(next(bags))
    world:reset()
    assert.is_nil(next(world:column(Position, "x")))
  end)

  it("stay the same tables through growth", function()
    local x = world:column(Position, "x")
    local list = {}
    for i = 1, 2000 do list[i] = world:spawn(Position { x = i }) end
    assert.equal(x, world:column(Position, "x"))
    for i = 1, 2000 do assert.equal(i, x[util.slot(list[i])]) end
  end)

  it("are nil where a nullable field is nil", function()
    local e = world:spawn(Note { n = 5 })
    local n = world:column(Note, "n")
    assert.equal(5, n[util.slot(e)])
    n[util.slot(e)] = nil
    assert.same({}, world:get(e, Note))
    assert.is_true(world:has(e, Note))
  end)

  it("may be given a value of a wrong type; save refuses it, as set and restore do", function()
    local e = world:spawn(Position)
    ecs.registerTraits(world, { Position = Position })
    assert.equal(1, #ecs.saveWorld(world).entities)
    world:column(Position, "x")[util.slot(e)] = "far"
    local ok, err = pcall(ecs.saveWorld, world)
    assert.is_false(ok)
    assert.is_true(ecs.isSerializeError(err))
    assert.equal("not-serializable", err.code)
    fails("set", "x", function() world:set(e, Position, "x", "far") end)
    local fresh <close> = ecs.createWorld()
    ecs.registerTraits(fresh, { Position = Position })
    local record = { tags = {}, traits = { Position = { x = "far", y = 0.0 } }, pairs = {} }
    ok, err = pcall(ecs.restoreWorld, fresh, {
      format = "ecs-serialize", version = 1, entities = { record },
      world = { tags = {}, traits = {} },
    })
    assert.is_false(ok)
    assert.equal("malformed", err.code)
  end)

  it("are of one world", function()
    local other <close> = ecs.createWorld()
    local x, y = world:column(Position, "x"), other:column(Position, "x")
    assert.are_not.equal(x, y)
  end)

  it("may be given a metatable, which is never called", function()
    local function never() error "a metamethod ran" end
    local x = world:column(Position, "x")
    setmetatable(x, { __index = never, __newindex = never, __len = never })
    local e = world:spawn(Position { x = 3 })
    world:set(e, Position, "x", 4)
    assert.equal(4, world:get(e, Position, "x"))
    world:remove(e, Position)
    world:destroy(e)
    world:spawn(Position)
    world:reset()
    assert.is_nil(rawget(x, 1))
  end)

  it("do not exist for tags, relations and keys", function()
    local R = ecs.relation { store = { d = 0 } }
    fails("column", nil, function() world:column(Tag) end)
    fails("column", nil, function() world:column(Tag, "x") end)
    fails("column", nil, function() world:column(R, "d") end)
    fails("column", nil, function() world:column(R) end)
    fails("column", nil, function() world:column(R("*"), "d") end)
    fails("column", nil, function() world:column(ecs.Key) end)
  end)

  it("need a known field, and none for AoS traits", function()
    fails("column", "z", function() world:column(Position, "z") end)
    fails("column", nil, function() world:column(Position) end)
    fails("column", nil, function() world:column(Position, 1) end)
    fails("column", nil, function() world:column(Bag, "x") end)
    fails("column", "trait expected", function() world:column("x") end)
    fails("column", "trait expected", function() world:column(nil) end)
  end)
end)
