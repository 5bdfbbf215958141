--- Scenarios of the allocation harness without observers: making, changing, asking.
--
-- `setup` returns the state (see harness_kit.lua); `act(state)` does one thing to it.

local kit = ...

local list = {}

-- The scenario with a given way to set up; `flags` may be added to what is returned.
local function scenario(name, setup, act)
  local entry = { name = name, setup = setup, act = act }
  list[#list + 1] = entry
  return entry
end

local function filled() return kit.filled() end
local function empty() return kit.empty() end

-- `n` traits of one field each, with terms that give them values.
local function many_traits(s, n)
  s.many = {}
  for i = 1, n do
    local T = s.ecs.trait { value = i, label = "t" .. i }
    s.many[i] = i % 2 == 0 and T { value = -i } or T
    s.defs[#s.defs + 1] = { "Many" .. i, T }
  end
  return s
end

-- ---- making -------------------------------------------------------------------------------------

scenario("the module is loaded", function()
  return { worlds = {}, handles = {} }
end, function()
  return kit.open().null
end)

scenario("traits, relations and terms are defined", empty, function(s)
  local ecs = s.ecs
  local A = ecs.trait { a = 1, b = "text", c = ecs.null, d = function() return 1 end, e = 2.5 }
  local B = ecs.trait { { "y", 1 }, { "x", 2 }, { "a", 3 } }
  local C = ecs.trait(function() return {} end)
  local R = ecs.relation { store = { n = 1 }, exclusive = true, autoDestroy = "orphan" }
  local terms = { A { a = 2 }, C {}, R(1 << 45 | 1), R("*"), ecs.Not(A, B), ecs.Or(A, R("*")) }
  return A.fields, B.fields, C.kind, R.isRelation, #terms, tostring(terms[5]), #A.where
end)

scenario("createWorld", function()
  local s = kit.filled()
  s.worlds = { s.w }
  return s
end, function(s)
  local w = s.ecs.createWorld()
  return w:count(), #w:traits(), kit.check(w)
end)

scenario("createWorld when all worlds are garbage", function()
  local s = kit.empty()
  collectgarbage("stop")
  for _ = 2, 255 do
    s.ecs.createWorld()
  end
  return s
end, function(s)
  return s.ecs.createWorld():count()
end).garbage = true

scenario("a world is closed while a script holds columns", function()
  local s = kit.filled()
  s.columns = { { s.Pos, "x", s.w:column(s.Pos, "x") }, { s.Bag, nil, s.w:column(s.Bag) } }
  return s
end, function(s)
  s.w:close()
end)

-- ---- spawn --------------------------------------------------------------------------------------

scenario("the first spawn, bare", empty, function(s)
  return s.w:spawn()
end)

scenario("spawn, bare", filled, function(s)
  return s.w:spawn()
end)

scenario("spawn with a trait", filled, function(s)
  return s.w:spawn(s.Pos { x = 9 })
end)

scenario("the first spawn with a trait", empty, function(s)
  return s.w:spawn(s.Label)
end)

-- What the world keeps of such a trait must not outlive it. Where a table has to grow for it
-- depends on how many there were before.
for n = 0, 8, 2 do
  scenario("spawn with traits that nobody else holds, after " .. n, function()
    local s = kit.empty()
    for _ = 1, n do
      s.w:spawn(s.ecs.trait())
    end
    return s
  end, function(s)
    local ecs = s.ecs
    s.w:spawn(ecs.trait { x = 1, y = ecs.null }, ecs.relation()(s.w:spawn()), ecs.trait())
  end).loose = true
end

scenario("spawn with 8 traits and pairs", empty, function(s)
  return s.w:spawn(s.Tag, s.Mark, s.Pos { x = 1 }, s.Label { text = "eight" },
    s.Intent { target = s.ecs.null, note = "n" }, s.Bag { 1, 2 }, s.Made, s.Key "eight")
end)

scenario("spawn with pairs", filled, function(s)
  local e = s.handles
  return s.w:spawn(s.Likes(e[1]), s.Likes(e[2], { why = "so" }), s.Near(e[3]), s.ChildOf(e[4]),
    s.Holds(e[5]), s.Likes(e[5], { much = 2.5 }), s.Owns(e[1]))
end)

scenario("spawn with 70 traits", function()
  return many_traits(kit.empty(), 70)
end, function(s)
  return s.w:spawn(table.unpack(s.many))
end)

scenario("spawn of traits known already, 70", function()
  local s = many_traits(kit.empty(), 70)
  s.w:spawn(table.unpack(s.many))
  return s
end, function(s)
  return s.w:spawn(table.unpack(s.many))
end)

scenario("spawn with factories and a key", filled, function(s)
  return s.w:spawn(s.Bag, s.Made, s.Key "second", s.Tag)
end)

for _, capacity in ipairs { 64, 128, 256 } do
  scenario("spawn behind slot " .. capacity - 1, function()
    local s = kit.filled(capacity - 1)
    s.last = s.handles[capacity - 1]
    s.w:add(s.last, s.Pos, s.Tag, s.Likes(s.handles[1]))
    return s
  end, function(s)
    return s.w:spawn(s.Pos { x = 64 }, s.Tag, s.Bag, s.Likes(s.last), s.Near(s.last), s.Key "third")
  end)
end

scenario("spawn into freed slots", function()
  local s = kit.filled(20)
  for i = 6, 20, 3 do
    s.w:destroy(s.handles[i])
  end
  return s
end, function(s)
  return s.w:spawn(s.Tag, s.Pos, s.Holds(s.handles[1]))
end)

scenario("spawn is refused", filled, function(s)
  return kit.refused(s.w.spawn, s.w, s.Tag, s.Pos { x = 1 }, s.Key "first"),
    kit.refused(s.w.spawn, s.w, s.Label { text = 5 }),
    kit.refused(s.w.spawn, s.w, s.Pos { z = 1 }),
    kit.refused(s.w.spawn, s.w, s.Likes("*"))
end)

-- ---- add ----------------------------------------------------------------------------------------

scenario("add of traits", filled, function(s)
  s.w:add(s.handles[5], s.Tag, s.Pos { x = 7 }, s.Label, s.Intent { note = { "deep", { 1 } } },
    s.Bag, s.Key "third", s.Made { n = 5 })
end)

scenario("add of traits, some there already", filled, function(s)
  s.w:add(s.handles[1], s.Tag, s.Pos { x = 7 }, s.Bag, s.Made, s.Key "first")
end)

scenario("add to the world itself", filled, function(s)
  s.w:add(s.Pos { x = 1 }, s.Bag, s.Intent, s.Key "second", s.Tag)
end)

scenario("add of exclusive pairs that replace others", filled, function(s)
  local e = s.handles
  s.w:add(e[2], s.Holds(e[4], { grip = "loose" }), s.Tag, s.Likes(e[5]))
end)

scenario("add of an exclusive pair without data", filled, function(s)
  s.w:add(s.handles[3], s.ChildOf(s.handles[2]))
end)

scenario("add of 40 pairs", function()
  local s = kit.filled(60)
  s.pairs = {}
  for i = 10, 49 do
    s.pairs[#s.pairs + 1] = s.Likes(s.handles[i], { why = "w" .. i, much = i })
  end
  return s
end, function(s)
  s.w:add(s.handles[2], table.unpack(s.pairs))
end)

scenario("add of pairs far apart", function()
  local s = kit.filled(300)
  s.w:add(s.handles[300], s.Tag)
  return s
end, function(s)
  local e = s.handles
  s.w:add(e[300], s.Likes(e[1]), s.Near(e[150]), s.ChildOf(e[200]), s.Holds(e[299]))
end)

scenario("add of 70 traits", function()
  local s = many_traits(kit.filled(), 70)
  return s
end, function(s)
  s.w:add(s.handles[3], table.unpack(s.many))
end)

-- ---- remove, destroy, reset ---------------------------------------------------------------------

scenario("remove of traits and pairs", filled, function(s)
  local e = s.handles
  s.w:remove(e[1], s.Pos, s.Key, s.Likes(e[2]), s.Near(e[5]), s.Mark, s.Label, s.Tag)
end)

scenario("remove of many pairs by wildcard", function()
  local s = kit.filled(40)
  for i = 10, 40 do
    s.w:add(s.handles[1], s.Likes(s.handles[i], { much = i }))
  end
  return s
end, function(s)
  s.w:remove(s.handles[1], s.Likes("*"), s.Near("*"), s.Owns("*"))
end)

scenario("destroy", filled, function(s)
  s.w:destroy(s.handles[2])
end)

scenario("destroy with sources that go along", function()
  local s = kit.filled(60)
  local w, e = s.w, s.handles
  for i = 10, 60 do
    w:add(e[i], s.ChildOf(e[i < 20 and 1 or i - 10]), s.Pos { x = i }, s.Likes(e[i - 1]))
  end
  w:add(e[1], s.ChildOf(e[60]))   -- a ring
  return s
end, function(s)
  s.w:destroy(s.handles[1])
end)

scenario("destroy with targets that go along", function()
  local s = kit.filled(60)
  for i = 10, 60 do
    s.w:add(s.handles[i < 20 and 1 or i - 10], s.Owns(s.handles[i]))
    s.w:add(s.handles[i], s.Bag, s.Key("key" .. i))
  end
  s.w:add(s.handles[60], s.Owns(s.handles[1]))
  return s
end, function(s)
  s.w:destroy(s.handles[1])
end)

scenario("reset", function()
  local s = kit.filled(80)
  s.columns = { { s.Pos, "x", s.w:column(s.Pos, "x") }, { s.Bag, nil, s.w:column(s.Bag) },
    { s.Intent, "note", s.w:column(s.Intent, "note") } }
  return s
end, function(s)
  s.w:reset()
end)

-- ---- set ----------------------------------------------------------------------------------------

scenario("set of empty fields", function()
  local s = kit.filled(40)
  for i = 10, 40 do
    s.w:add(s.handles[i], s.Intent)
  end
  return s
end, function(s)
  s.w:set(s.handles[33], s.Intent, { kind = "go", note = { "new" }, target = s.handles[2] })
end)

scenario("set of empty fields, far out", function()
  local s = kit.filled(300)
  for i = 290, 300 do
    s.w:add(s.handles[i], s.Intent)
  end
  return s
end, function(s)
  s.w:set(s.handles[299], s.Intent, { note = "far", target = "out", kind = "x" })
end)

scenario("set of one empty field", function()
  local s = kit.filled(300)
  s.w:add(s.handles[300], s.Intent)
  return s
end, function(s)
  s.w:set(s.handles[300], s.Intent, "target", ("long text "):rep(8))
end)

scenario("set of a pair's data", filled, function(s)
  s.w:set(s.handles[2], s.Holds(s.handles[3]), { grip = s.ecs.null, hand = "both" })
end)

scenario("set of a pair's empty data", function()
  local s = kit.filled(60)
  for i = 10, 60 do
    s.w:add(s.handles[i], s.Holds(s.handles[i - 1]))
  end
  return s
end, function(s)
  s.w:set(s.handles[50], s.Holds(s.handles[49]), { grip = "new", hand = "new" })
end)

scenario("set of an AoS value", filled, function(s)
  s.w:set(s.handles[3], s.Bag, { "other", { deep = true } })
end)

scenario("set of the key", function()
  local s = kit.filled(40)
  for i = 10, 40 do
    s.w:add(s.handles[i], s.Key("key" .. i))
  end
  return s
end, function(s)
  s.w:set(s.handles[1], s.Key, "second" .. #s.handles)
end).setup = function()
  local s = kit.filled(40)
  for i = 10, 25 do
    s.w:add(s.handles[i], s.Key("key" .. i))
  end
  s.keys[#s.keys + 1] = "second40"
  return s
end

scenario("set is refused", filled, function(s)
  return kit.refused(s.w.set, s.w, s.handles[1], s.Pos, { x = 1, y = "text" }),
    kit.refused(s.w.set, s.w, s.handles[1], s.Pos, { x = 1, w = 2 }),
    kit.refused(s.w.set, s.w, s.handles[1], s.Pos, "w", 2),
    kit.refused(s.w.set, s.w, s.handles[5], s.Pos, "x", 2)
end)

-- ---- asking -------------------------------------------------------------------------------------

scenario("query", filled, function(s)
  local ecs, w = s.ecs, s.w
  return w:query(s.Pos), w:query(s.Pos, ecs.Not(s.Tag, s.Mark)), w:query { s.Likes("*") },
    w:query(ecs.Or(s.Tag, s.Likes(s.handles[1]))), w:query(s.Near(s.handles[1])), w:query()
end)

scenario("query over 130 entities", function()
  local s = kit.filled(130)
  for i = 10, 130 do
    s.w:add(s.handles[i], s.Pos, s.Likes(s.handles[1]))
  end
  return s
end, function(s)
  return #s.w:query(s.Pos, s.Likes(s.handles[1])), #s.w:query(s.Pos, s.Label),
    #s.w:query(s.ecs.Not(s.Likes(s.handles[2])))
end)

scenario("each", filled, function(s)
  local seen = {}
  for e, pos, intent in s.w:each(s.Pos, s.ecs.Not(s.Made), s.Intent) do
    seen[#seen + 1] = { e, pos, intent }
  end
  for e, data in s.w:each(s.Likes(s.handles[2])) do
    seen[#seen + 1] = { e, data }
  end
  return seen
end)

scenario("slots and columns", filled, function(s)
  local slots, n = s.w:slots(s.Pos, s.ecs.Not(s.Mark))
  local x, y, bag = s.w:column(s.Pos, "x"), s.w:column(s.Pos, "y"), s.w:column(s.Bag)
  local again = s.w:slots(s.Pos, s.ecs.Not(s.Mark))
  return slots, n, x[slots[1]], y[slots[n]], bag[3], rawequal(slots, again)
end).sides = true

scenario("targets, sources, entities and traits", filled, function(s)
  local w, e = s.w, s.handles
  return w:targets(e[1], s.Likes), w:sources(e[1], s.Likes), w:targets(e[5], s.ChildOf),
    w:entities(), #w:traits(), w:count(), w:find("first"), w:find("nobody")
end)

scenario("get", filled, function(s)
  local w, e = s.w, s.handles
  return w:get(e[1], s.Pos), w:get(e[2], s.Intent, "kind", "note"), w:get(e[3], s.Bag),
    w:get(e[2], s.Holds(e[3])), w:get(s.Label), w:has(e[1], s.Likes("*")), w:get(e[4], s.Made)
end)

return list
