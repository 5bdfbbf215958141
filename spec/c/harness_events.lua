--- Scenarios of the allocation harness with callbacks: observers, factories, finalizers.
--
-- What observers do to the world is theirs and stays when the call that told them is undone, so
-- they only need memory here and write down what they heard.

local kit = ...

local list = {}

local function scenario(name, setup, act)
  local entry = { name = name, setup = setup, act = act }
  list[#list + 1] = entry
  return entry
end

local function filled() return kit.filled() end

-- A filled world where everything is listened to.
local function heard(n)
  local s = kit.filled(n)
  local listen = kit.listen(s)
  s.log, s.unsubscribe = {}, {}
  for _, def in ipairs(s.defs) do
    s.w:onAdd(def[2], listen)
    s.w:onRemove(def[2], listen)
    s.w:onChange(def[2], listen)
  end
  return s
end

-- The same, and queries are tracked whose observers need no memory.
local function tracked(n, listen)
  local s = heard(n)
  local w, Not, Or = s.w, s.ecs.Not, s.ecs.Or
  local function quiet() end
  local fn = listen and kit.listen(s) or quiet
  w:onQueryAdd(s.Pos, fn)
  w:onQueryRemove(s.Pos, fn)
  w:onQueryAdd(s.Tag, Not(s.Mark), fn)
  w:onQueryAdd(Or(s.Tag, s.Likes("*")), fn)
  w:onQueryRemove(s.Near(s.handles[1]), fn)
  w:onQueryRemove(Not(s.Intent), fn)
  return s
end

local function loud(n) return tracked(n, true) end

-- ---- subscribing --------------------------------------------------------------------------------

for _, event in ipairs { "onAdd", "onRemove", "onChange" } do
  scenario(event .. ", the first one", filled, function(s)
    return type(s.w[event](s.w, s.Tag, print))
  end)
end

scenario("onAdd of one target, others listening", heard, function(s)
  return type(s.w:onAdd(s.Likes(s.handles[2]), print))
end)

scenario("onAdd of a new trait", filled, function(s)
  return type(s.w:onAdd(s.T or s.ecs.trait { x = 1 }, print))
end).setup = function()
  local s = kit.filled()
  s.T = s.ecs.trait { x = 1, y = 2 }
  return s
end

scenario("onQueryAdd, the first one", filled, function(s)
  return type(s.w:onQueryAdd(s.Pos, s.ecs.Not(s.Mark), print))
end)

scenario("onQueryAdd of a query that is tracked", loud, function(s)
  return type(s.w:onQueryAdd(s.Pos, print))
end)

scenario("onQueryRemove of a pair", loud, function(s)
  return type(s.w:onQueryRemove(s.Likes(s.handles[2]), print))
end)

scenario("unsubscribing", function()
  local s = kit.filled()
  for i = 1, 5 do
    local off = s.w:onAdd(s.Tag, function() return i end)
    s.off = i == 3 and off or s.off
  end
  return s
end, function(s)
  s.off()
end)

scenario("unsubscribing from a query", function()
  local s = loud()
  s.off = s.w:onQueryAdd(s.Pos, print)
  return s
end, function(s)
  s.off()
end)

-- ---- changes that are heard ---------------------------------------------------------------------

local function undone(name, setup, act)
  local entry = scenario(name, setup, function(s)
    s.log = {}
    return act(s, s.w, s.handles), s.log
  end)
  entry.undo = true
  return entry
end

-- The act is undone with memory too. What observers that run during an undo raise is not told, so
-- that there they may hear nothing of it.
local function refused(name, setup, act)
  local entry = undone(name, setup, act)
  function entry.act(s)
    s.log = {}
    return act(s, s.w, s.handles)
  end
  return entry
end

for _, how in ipairs { { "observers", heard }, { "observers and tracked queries", loud } } do
  local setup = how[2]

  undone("spawn with " .. how[1], setup, function(s, w, e)
    return w:spawn(s.Tag, s.Pos { x = 3 }, s.Bag, s.Intent { note = "n" }, s.Key "second",
      s.Likes(e[1]), s.Near(e[1]), s.Holds(e[2]))
  end)

  undone("spawn behind slot 63 with " .. how[1], function()
    local s = setup(63)
    s.w:add(s.handles[63], s.Pos)
    return s
  end, function(s, w, e)
    return w:spawn(s.Tag, s.Pos, s.Likes(e[63]))
  end)

  undone("add with " .. how[1], setup, function(s, w, e)
    w:add(e[5], s.Tag, s.Pos, s.Mark, s.Likes(e[1]), s.Likes(e[2]), s.Near(e[1]), s.Key "third")
  end)

  undone("add of exclusive pairs that replace others with " .. how[1], setup, function(s, w, e)
    w:add(e[2], s.Tag, s.Holds(e[4]), s.Near(e[1]))
  end)

  undone("add to the world itself with " .. how[1], setup, function(s, w)
    w:add(s.Tag, s.Pos, s.Bag)
  end)

  refused("add that an observer refuses with " .. how[1], function()
    local s = setup()
    s.w:onAdd(s.Mark, function() error({ code = "no" }) end)
    return s
  end, function(s, w, e)
    return kit.refused(w.add, w, e[2], s.Holds(e[4]), s.Tag, s.Mark)
  end)

  refused("spawn that an observer refuses with " .. how[1], function()
    local s = setup()
    s.w:onAdd(s.Mark, function() error("no") end)
    return s
  end, function(s, w, e)
    return kit.refused(w.spawn, w, s.Holds(e[4]), s.Tag, s.Likes(e[1]), s.Mark, s.Key "second")
  end)

  undone("set with " .. how[1], setup, function(s, w, e)
    w:set(e[2], s.Intent, { kind = "stay", note = s.ecs.null, target = "new" })
  end)

  undone("set of one field with " .. how[1], setup, function(s, w, e)
    w:set(e[2], s.Intent, "note", nil)
  end)

  undone("set of the key with " .. how[1], setup, function(s, w, e)
    w:set(e[1], s.Key, "second")
  end)

  undone("set of a pair's data with " .. how[1], setup, function(s, w, e)
    w:set(e[2], s.Holds(e[3]), { grip = s.ecs.null })
  end)

  undone("set of an AoS value with " .. how[1], setup, function(s, w, e)
    w:set(e[3], s.Bag, { "other" })
  end)

  refused("set that an observer refuses with " .. how[1], function()
    local s = setup()
    s.w:onChange(s.Intent, function() error("no") end)
    return s
  end, function(s, w, e)
    return kit.refused(w.set, w, e[2], s.Intent, { note = s.ecs.null, target = 1 })
  end)

  -- the observers of queries may fail when everything is done already
  undone("remove with " .. how[1], setup, function(s, w, e)
    w:remove(e[1], s.Pos, s.Tag, s.Likes("*"), s.Near(e[5]), s.Key)
  end).complete = true

  undone("destroy with " .. how[1], setup, function(_, w, e)
    w:destroy(e[1])
  end).complete = true

  undone("reset with " .. how[1], setup, function(_, w)
    w:reset()
  end).complete = true
end

-- An observer that makes many others take a place in the column before it fails. The old value may
-- have lost its own place by then; when there is no memory for a new one, the field stays empty.
refused("set of a field to nil while many are added", function()
  local s = kit.filled(20)
  s.T = s.ecs.trait { a = s.ecs.null, b = s.ecs.null }
  s.defs[#s.defs + 1] = { "T", s.T }
  for i = 6, 13 do
    s.w:add(s.handles[i], s.T { a = "a" .. i })
  end
  s.w:onChange(s.T, function()
    for i = 14, 20 do
      s.w:spawn(s.T { a = i })
    end
    error("no")
  end)
  return s
end, function(s, w, e)
  return kit.refused(w.set, w, e[13], s.T, { a = s.ecs.null, b = "new" })
end).tell = function(s)
  local a, b = s.w:get(s.handles[13], s.T, "a", "b")
  return tostring(a == nil or a == "a13") .. tostring(b)
end

-- ---- callbacks that yield -----------------------------------------------------------------------

local function yield() coroutine.yield() end

refused("an observer yields", function()
  local s = kit.filled()
  s.w:onAdd(s.Mark, yield)
  return s
end, function(s, w)
  return kit.refused(w.spawn, w, s.Tag, s.Mark)
end)

refused("an observer yields in an undo", function()
  local s = kit.filled()
  s.w:onAdd(s.Mark, function() error("no") end)
  s.w:onRemove(s.Tag, yield)
  return s
end, function(s, w)
  return kit.refused(w.spawn, w, s.Tag, s.Mark)
end)

refused("an observer yields in a coroutine", function()
  local s = kit.filled()
  s.w:onRemove(s.Tag, yield)
  return s
end, function(_, w, e)
  return kit.refused(coroutine.wrap(function() w:destroy(e[1]) end))
end)

scenario("a factory yields", function()
  local s = kit.filled()
  s.T = s.ecs.trait { a = function() coroutine.yield() end }
  return s
end, function(s)
  return kit.refused(s.w.spawn, s.w, s.Tag, s.T)
end)

-- ---- finalizers that change the world -----------------------------------------------------------

-- Makes garbage whose finalizer calls fn, and makes such garbage again.
local function haunt(fn)
  local meta = {}
  function meta.__gc()
    setmetatable({}, meta)
    fn()
  end
  setmetatable({}, meta)
end

local function haunted(name, change, act, setup)
  local entry = scenario(name, function()
    local s = (setup or kit.filled)()
    s.left = 200
    s.New = s.ecs.trait { x = 0 }
    haunt(function()
      s.left = s.left - 1
      if s.left > 0 then
        change(s, s.w, s.handles)
      end
    end)
    return s
  end, function(s)
    return act(s, s.w, s.handles)
  end)
  entry.loose, entry.garbage = true, true
end

local function spawn(s, w, e) w:spawn(s.Pos, s.Bag, s.Likes(e[1])) end

local function destroy(_, w, e)
  local last = w:entities()
  last = last[#last]
  if last ~= e[1] and last ~= e[2] and w:count() > 2 then
    w:destroy(last)
  end
end

local function same_trait(s, w) w:spawn(s.New { x = 2 }) end
local function new_trait(s, w)
  w:spawn(s.ecs.trait { x = 1 })
end

local function reset(_, w) w:reset() end
local function close(_, w) pcall(w.close, w) end

local function subscribe(s, w, e)
  w:onQueryAdd(s.Pos, type)
  w:onQueryRemove(s.Bag, type)
  w:onAdd(s.Likes(e[1]), type)()
end

for _, change in ipairs { { "spawns", spawn }, { "destroys", destroy }, { "resets", reset },
  { "brings new traits", new_trait }, { "brings the same trait", same_trait },
  { "subscribes", subscribe }, { "closes", close } } do
  local name = "while a finalizer " .. change[1] .. ": "
  local fn = change[2]

  haunted(name .. "spawn", fn, function(s, w, e)
    for _ = 1, 3 do
      w:spawn(s.Tag, s.New, s.Intent, s.Made, s.Likes(e[1]), s.Holds(e[2]), s.ecs.trait { x = 1 })
    end
  end)

  haunted(name .. "add and set", fn, function(s, w, e)
    w:add(e[1], s.Bag, s.Near(e[2]), s.Holds(e[2]), s.New { x = 3 }, s.ecs.trait { z = 1 })
    w:set(e[1], s.Holds(e[2]), { grip = "new" })
    w:set(e[1], s.Bag, {})
  end)

  haunted(name .. "asking", fn, function(s, w, e)
    local Not = s.ecs.Not
    for _ = 1, 2 do
      type(w:query(s.Pos), w:query(Not(s.Likes(e[2]))), w:entities(), w:slots(s.Bag))
      type(w:query(s.Likes(e[1])), w:targets(e[1], s.Likes), w:sources(e[1], s.Likes))
      for _, pos in w:each(s.Pos, s.ecs.Or(s.Tag, s.Likes(e[1]))) do
        assert(pos.x)
      end
    end
  end)

  haunted(name .. "remove and destroy", fn, function(s, w, e)
    w:remove(e[1], s.Likes("*"), s.Pos, s.Near("*"))
    for i = 5, 1, -1 do
      if w:isAlive(e[i]) then
        pcall(w.destroy, w, e[i])
      end
    end
  end)

  haunted(name .. "observers", fn, function(s, w, e)
    w:onAdd(s.Pos, type)()
    w:onQueryAdd(s.ecs.Not(s.Tag), s.Near(e[1]), type)()
    w:onQueryRemove(s.Bag, type)()
  end)

  haunted(name .. "reset", fn, function(_, w)
    w:reset()
  end, function()
    local s = kit.filled()
    s.columns = { { s.Pos, "x", s.w:column(s.Pos, "x") } }
    return s
  end)

  haunted(name .. "save and restore", fn, function(s, w)
    local text = s.ecs.saveJSON(w)
    local fresh = s.ecs.createWorld()
    s.ecs.registerTraits(fresh, s.names)
    s.w = fresh
    s.ecs.restoreJSON(fresh, text)
  end, function()
    local s = kit.filled()
    s.names = { Tag = s.Tag, Mark = s.Mark, Pos = s.Pos, Label = s.Label, Intent = s.Intent,
      Bag = s.Bag, Made = s.Made, Near = s.Near, Likes = s.Likes, Owns = s.Owns,
      ChildOf = s.ChildOf, Holds = s.Holds, Key = s.Key }
    s.ecs.registerTraits(s.w, s.names)
    return s
  end)
end

return list
