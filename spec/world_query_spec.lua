local ecs = require "ecsser"
local util = require "spec.support.world_util"

describe("queries", function()
  local world, fails = nil, util.fails
  local Not, Or = ecs.Not, ecs.Or
  local A, B, C, V, R

  before_each(function()
    world = ecs.createWorld()
    A, B, C = ecs.trait(), ecs.trait(), ecs.trait()
    V = ecs.trait { n = 0 }
    R = ecs.relation { store = { d = 0 } }
  end)
  after_each(function() world:close() end)

  it("match entities that have all the terms", function()
    local a, ab, abc = world:spawn(A), world:spawn(A, B), world:spawn(A, B, C)
    local bc = world:spawn(B, C)
    assert.same({ a, ab, abc }, world:query(A))
    assert.same({ ab, abc }, world:query(A, B))
    assert.same({ ab, abc }, world:query(B, A))
    assert.same({ abc }, world:query(A, B, C))
    assert.same({ abc, bc }, world:query(C))
    assert.same({}, world:query(A, ecs.trait()))
  end)

  it("without terms match every entity that is not excluded", function()
    local a, b = world:spawn(), world:spawn(A)
    world:spawn(ecs.IsExcluded)
    assert.same({ a, b }, world:query())
    assert.same({ a, b }, world:query({}))
  end)

  it("take their terms as one list as well", function()
    local ab = world:spawn(A, B)
    world:spawn(A, B, C)
    assert.same({ ab }, world:query({ A, B, Not(C) }))
    local seen = {}
    for e in world:each({ A, B, Not(C) }) do seen[#seen + 1] = e end
    assert.same({ ab }, seen)
    assert.same({ util.slot(ab) }, (world:slots({ A, B, Not(C) })))
  end)

  it("with Not match entities that have none of its terms", function()
    local none, a = world:spawn(V), world:spawn(V, A)
    local b, ab = world:spawn(V, B), world:spawn(V, A, B)
    assert.same({ none, b }, world:query(V, Not(A)))
    assert.same({ none }, world:query(V, Not(A, B)))
    assert.same({ none }, world:query(V, Not(A), Not(B)))
    assert.same({ none, b }, world:query(Not(A)))
    assert.same({ b }, world:query(B, Not(A)))
    assert.same({ a, ab }, world:query(A, Not(C)))
    assert.same({}, world:query(A, Not(A)))
  end)

  it("with Or match entities that have one of its terms at least", function()
    local a, b, ab, c = world:spawn(A), world:spawn(B), world:spawn(A, B), world:spawn(C)
    world:spawn()
    assert.same({ a, b, ab }, world:query(Or(A, B)))
    assert.same({ a, b, ab, c }, world:query(Or(A, B, C)))
    assert.same({ ab }, world:query(Or(A), Or(B)))
    assert.same({ b, ab }, world:query(B, Or(A, B)))
    assert.same({ a }, world:query(Or(A, C), Not(B, C)))
  end)

  it("match pairs with a given target", function()
    local t, u = world:spawn(), world:spawn()
    local a, b, c = world:spawn(R(t)), world:spawn(R(u)), world:spawn(R(t), R(u))
    assert.same({ a, c }, world:query(R(t)))
    assert.same({ b, c }, world:query(R(u)))
    assert.same({ c }, world:query(R(t), R(u)))
    assert.same({ a }, world:query(R(t), Not(R(u))))
    assert.same({ a, b, c }, world:query(Or(R(t), R(u))))
    assert.same({}, world:query(R(a)))
  end)

  it("match pairs by wildcard", function()
    local t = world:spawn()
    local a, b, c = world:spawn(R(t)), world:spawn(A, R(t)), world:spawn(A)
    assert.same({ a, b }, world:query(R("*")))
    assert.same({ b }, world:query(A, R("*")))
    assert.same({ t, c }, world:query(Not(R("*"))))
    assert.same({ a, b, c }, world:query(Or(A, R("*"))))
    world:remove(b, R(t))
    assert.same({ a }, world:query(R("*")))
    world:destroy(t)
    assert.same({}, world:query(R("*")))
  end)

  it("skip excluded entities, always", function()
    local e, prefab = world:spawn(A), world:spawn(A, ecs.IsExcluded)
    assert.same({ e }, world:query(A))
    assert.same({}, world:query(ecs.IsExcluded))
    assert.same({ e }, world:query(Not(B)))
    world:remove(prefab, ecs.IsExcluded)
    assert.same({ e, prefab }, world:query(A))
    world:add(e, ecs.IsExcluded)
    assert.same({ prefab }, world:query(A))
  end)

  it("give snapshots", function()
    local a, b = world:spawn(A), world:spawn(A)
    local list = world:query(A)
    world:destroy(a)
    world:spawn(A)
    assert.same({ a, b }, list)
    assert.are_not.equal(world:query(A), world:query(A))
  end)

  it("are ascending by slot, whatever the history", function()
    local list = {}
    for i = 1, 300 do list[i] = world:spawn(A) end
    for i = 1, 300, 2 do world:destroy(list[i]) end
    for i = 300, 2, -4 do world:remove(list[i], A) end
    for _ = 1, 60 do world:spawn(A) end
    for i = 4, 300, 8 do if world:isAlive(list[i]) then world:add(list[i], A) end end
    local before = 0
    for _, e in ipairs(world:query(A)) do
      assert.is_true(util.slot(e) > before)
      before = util.slot(e)
    end
    util.checkInvariants(world, { A })
  end)

  it("have an order that tells nothing of the history", function()
    local other <close> = ecs.createWorld()
    for i = 1, 20 do world:spawn(A, V { n = i }) end
    local list = {}
    for i = 1, 30 do list[i] = other:spawn() end
    for i = 30, 21, -1 do other:destroy(list[i]) end
    for i = 20, 1, -1 do other:add(list[i], V { n = i }) end
    for i = 3, 20, 4 do other:destroy(list[i]) end
    for _ = 3, 20, 4 do
      local e = other:spawn(V)
      other:set(e, V, "n", util.slot(e))
    end
    for _, e in ipairs(other:query()) do
      if util.slot(e) % 3 == 0 then other:add(e, A) other:remove(e, A) end
    end
    for i = 1, 20 do
      local e = other:query()[21 - i]
      other:add(e, A)
    end
    local function order(w)
      local slots = {}
      for e, value in w:each(A, V) do
        slots[#slots + 1] = util.slot(e)
        assert.equal(util.slot(e), value.n)
      end
      return slots
    end
    assert.same(order(world), order(other))
    assert.same((world:slots(A)), (other:slots(A)))
  end)

  it("find all of many", function()
    local expected = { a = {}, av = {}, notB = {} }
    for i = 1, 3000 do
      local terms = {}
      if i % 2 == 0 then terms[#terms + 1] = A end
      if i % 3 == 0 then terms[#terms + 1] = B end
      if i % 5 == 0 then terms[#terms + 1] = V { n = i } end
      local e = world:spawn(table.unpack(terms))
      if i % 2 == 0 then table.insert(expected.a, e) end
      if i % 10 == 0 then table.insert(expected.av, e) end
      if i % 2 == 0 and i % 3 ~= 0 then table.insert(expected.notB, e) end
    end
    assert.same(expected.a, world:query(A))
    assert.same(expected.av, world:query(V, A))
    assert.same(expected.notB, world:query(A, Not(B)))
  end)

  it("take many terms", function()
    local terms = {}
    for i = 1, 64 do terms[i] = ecs.trait() end
    local e = world:spawn(table.unpack(terms))
    world:spawn(table.unpack(terms, 2))
    assert.same({ e }, world:query(table.unpack(terms)))
    assert.same({ e }, world:query(terms))
    assert.equal(2, #world:query(Or(table.unpack(terms))))
    assert.equal(0, #world:query(Not(table.unpack(terms))))
    terms[65] = A
    fails("query", "64", function() world:query(terms) end)
  end)

  it("follow every structural change", function()
    local e = world:spawn()
    assert.same({}, world:query(A))
    world:add(e, A)
    assert.same({ e }, world:query(A))
    world:remove(e, A)
    assert.same({}, world:query(A))
    world:add(e, A)
    world:reset()
    assert.same({}, world:query(A))
  end)

  it("refuse what is no term", function()
    fails("query", "bad argument #1", function() world:query(nil) end)
    fails("query", "bad argument #2", function() world:query(A, 5) end)
    fails("query", "bad argument #2", function() world:query(A, "x") end)
    fails("query", nil, function() world:query({ A, 5 }) end)
    fails("query", nil, function() world:query({ x = A }) end)
    fails("query", nil, function() world:query({ A }, B) end)
    fails("query", nil, function() world:query(world) end)
    fails("each", "bad argument #1", function() world:each(nil) end)
    fails("slots", "bad argument #1", function() world:slots(5) end)
    fails("Not", "bad argument #1", function() Not(5) end)
    fails("Not", nil, function() Not() end)
    fails("Or", "bad argument #2", function() Or(A, nil) end)
    fails("Or", nil, function() Or() end)
    fails("Or", nil, function() Or(R) end)
    fails("query", nil, function() world:query(R) end)
  end)

  it("for a dead target are an error", function()
    local t = world:spawn()
    local a = world:spawn(R(t))
    local term = R(t)
    world:destroy(t)
    fails("query", "[da][el][ai][dv]", function() world:query(term) end)
    local new = world:spawn()
    assert.equal(util.slot(t), util.slot(new))
    world:add(a, R(new))
    fails("query", "[da][el][ai][dv]", function() world:query(term) end)
    fails("each", "[da][el][ai][dv]", function() world:each(term) end)
    fails("slots", "[da][el][ai][dv]", function() world:slots(Not(term)) end)
    assert.same({ a }, world:query(R(new)))
  end)

  it("keep terms that are used by several worlds apart", function()
    local other <close> = ecs.createWorld()
    local terms = { A, Not(B), Or(V, C) }
    local e = world:spawn(A, V)
    other:spawn(A, B, V)
    local f = other:spawn(A, C)
    assert.same({ e }, world:query(terms))
    assert.same({ f }, other:query(terms))
  end)
end)

describe("each", function()
  local world
  local Tag, Pos, Bag, Rel = ecs.trait(), ecs.trait { x = 0, y = 0 },
    ecs.trait(function() return {} end), ecs.relation { store = { d = 0 } }
  local Plain = ecs.relation()

  before_each(function() world = ecs.createWorld() end)
  after_each(function() world:close() end)

  it("yields the entity, then one value per data term", function()
    local bag = {}
    local e = world:spawn(Pos { x = 1, y = 2 }, Bag(bag), Tag)
    local count = 0
    for entity, pos, value, nothing in world:each(Pos, Bag) do
      count = count + 1
      assert.equal(e, entity)
      assert.same({ x = 1, y = 2 }, pos)
      assert.equal(bag, value)
      assert.is_nil(nothing)
    end
    assert.equal(1, count)
  end)

  it("yields nothing for tags, Not, Or and wildcards", function()
    local t = world:spawn()
    world:spawn(Tag, Pos { x = 5 }, Rel(t, { d = 3 }), Plain(t))
    local Other = ecs.trait { z = 0 }
    local terms = {
      Tag, ecs.Not(Other), Rel("*"), ecs.Or(Pos, Other), Plain(t), Pos, Tag,
    }
    for _, pos, more in world:each(terms) do
      assert.same({ x = 5, y = 0 }, pos)
      assert.is_nil(more)
    end
    assert.equal(1, #world:query(terms))
  end)

  it("yields the data of a pair with a given target", function()
    local t, u = world:spawn(), world:spawn()
    world:spawn(Rel(t, { d = 1 }), Rel(u, { d = 2 }), Pos)
    local seen = {}
    for _, second, pos, first in world:each(Rel(u), Pos, Rel(t)) do
      seen = { second, pos, first }
    end
    assert.same({ { d = 2 }, { x = 0, y = 0 }, { d = 1 } }, seen)
  end)

  it("yields fresh tables", function()
    local e = world:spawn(Pos { x = 1 })
    for _, pos in world:each(Pos) do pos.x = 99 end
    assert.equal(1, world:get(e, Pos, "x"))
  end)

  it("yields values as they are when their turn comes", function()
    local a, b = world:spawn(Pos), world:spawn(Pos)
    local seen = {}
    for entity, pos in world:each(Pos) do
      seen[#seen + 1] = pos.x
      if entity == a then world:set(b, Pos, "x", 7) end
    end
    assert.same({ 0, 7 }, seen)
  end)

  it("is ascending by slot", function()
    local list = {}
    for i = 1, 20 do list[i] = world:spawn(Pos) end
    for i = 20, 1, -3 do world:destroy(list[i]) end
    for _ = 1, 4 do world:spawn(Pos) end
    local seen = {}
    for entity in world:each(Pos) do seen[#seen + 1] = entity end
    assert.same(world:query(Pos), seen)
  end)

  it("skips what died or stopped matching meanwhile", function()
    local list = {}
    for i = 1, 6 do list[i] = world:spawn(Pos) end
    local seen = {}
    for entity in world:each(Pos) do
      seen[#seen + 1] = entity
      if entity == list[1] then
        world:destroy(list[2])
        world:remove(list[3], Pos)
        world:add(list[5], ecs.IsExcluded)
        world:destroy(list[1])
      end
    end
    assert.same({ list[1], list[4], list[6] }, seen)
  end)

  it("does not visit what came later", function()
    local first = world:spawn(Pos)
    local bare = world:spawn()
    local count = 0
    for entity in world:each(Pos) do
      count = count + 1
      if entity == first then
        world:spawn(Pos)
        world:add(bare, Pos)
      end
    end
    assert.equal(1, count)
  end)

  it("does not visit a new entity in the slot of one that died", function()
    local a, b = world:spawn(Pos), world:spawn(Pos)
    local seen = {}
    for entity in world:each(Pos) do
      seen[#seen + 1] = entity
      if entity == a then
        world:destroy(b)
        local new = world:spawn(Pos)
        assert.equal(util.slot(b), util.slot(new))
      end
    end
    assert.same({ a }, seen)
  end)

  it("may be nested and left early", function()
    for _ = 1, 5 do world:spawn(Pos) end
    local inner, outer = 0, 0
    for _ in world:each(Pos) do
      outer = outer + 1
      for _ in world:each(Pos) do
        inner = inner + 1
        if outer == 2 then break end
      end
    end
    assert.equal(5, outer)
    assert.equal(4 * 5 + 1, inner)
  end)

  it("goes on in a coroutine that yields in the body", function()
    local list = {}
    for i = 1, 3 do list[i] = world:spawn(Pos) end
    local walk = coroutine.wrap(function()
      for entity in world:each(Pos) do coroutine.yield(entity) end
    end)
    for i = 1, 3 do assert.equal(list[i], walk()) end
    assert.is_nil(walk())
  end)

  it("ends by itself when nothing is left", function()
    for _ in world:each(Pos) do error "nothing matches" end
    world:spawn(Pos)
    local count = 0
    for _ in world:each(Pos) do
      count = count + 1
      world:reset()
    end
    assert.equal(1, count)
  end)

  it("without terms visits every entity that is not excluded", function()
    local a, b = world:spawn(), world:spawn(Tag)
    world:spawn(ecs.IsExcluded)
    local seen = {}
    for entity, extra in world:each() do
      seen[#seen + 1] = entity
      assert.is_nil(extra)
    end
    assert.same({ a, b }, seen)
  end)
end)
