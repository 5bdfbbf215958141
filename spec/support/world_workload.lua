-- A bit of everything, for runs under hostile conditions. It needs nothing but the module.

local ecs = require "ecsser"

local T, Tag, Aos = ecs.trait { n = 0, any = ecs.null }, ecs.trait(),
  ecs.trait(function() return {} end)
local R = ecs.relation { store = { n = 0 }, autoDestroy = "orphan" }

local function slot(handle)
  local _, _, s = ecs.unpack(handle)
  return s
end

local function fill(world, t)
  local list = {}
  for i = 1, 12 do
    local Own = ecs.trait { [("field" .. i):rep(3)] = "text" .. i }
    list[i] = world:spawn(T { n = i, any = { i } }, R(t, { n = i }), Own, Aos { i })
  end
  return list
end

local function check(world, list)
  for i = 1, 12 do
    local field, found = ("field" .. i):rep(3), 0
    local value = world:get(list[i], T)
    assert(value.n == i and value.any[1] == i and world:get(list[i], Aos)[1] == i)
    for _, trait in ipairs(world:traits()) do
      if trait.kind == "soa" and not trait.isRelation and trait.fields[1] == field then
        assert(world:get(list[i], trait, field) == "text" .. i)
        found = found + 1
      end
    end
    assert(found == 1)
    world:set(list[i], T, { any = "any" .. i })
  end
end

return function(world)
  world:reset()
  local log = 0
  local function count() log = log + 1 end
  local stops = {
    world:onAdd(T, count), world:onRemove(R, count), world:onQueryAdd(T, ecs.Not(Tag), count),
  }
  local t = world:spawn(ecs.Key "t")
  local list = fill(world, t)
  check(world, list)
  for e, value in world:each(T, ecs.Or(Tag, Aos)) do
    assert(value.any == "any" .. slot(e) - 1)
    world:add(e, Tag)
    if slot(e) % 3 == 0 then world:destroy(e) end
  end
  assert(#world:sources(t, R) == 8 and world:targets(list[1], R)[1] == t)
  assert(world:find "t" == t)
  assert(not pcall(world.set, world, list[1], T, "nonsense", {}))
  assert(not pcall(world.spawn, world, R(t), 5))
  assert(not pcall(ecs.trait, { x = {} }))
  world:destroy(t)
  assert(world:count() == 0 and #world:query(T) == 0)
  for _, stop in ipairs(stops) do stop() end
  assert(log == 12 + 12 + 12)
end
