-- The places where a script's code runs inside an operation of the world, and what that code may
-- try there.

local ecs = require "ecsser"

local M = {}

M.T, M.Other, M.New = ecs.trait { n = 0 }, ecs.trait { n = 0 }, ecs.trait { n = 0 }
M.Mark = ecs.trait()
M.Coded = ecs.trait(function() return { "coded" } end)
M.Made = ecs.trait(function() return M.factory() end)
M.R = ecs.relation { store = { n = 0 } }
M.Child = ecs.relation { autoDestroy = "orphan" }

M.traits = { M.T, M.Other, M.New, M.Mark, M.Coded, M.Made }
M.relations = { M.R, M.Child }

-- Called by the AoS trait Made.
function M.factory() return {} end

-- Called by the codec of the trait Coded, when they are set.
function M.toJSON() end
function M.fromJSON() end

local codec = {
  toJSON = function(value) M.toJSON() return value end,
  fromJSON = function(json) M.fromJSON() return json end,
}

function M.register(world)
  if not ecs.registerTraits then return end
  ecs.registerTraits(world, {
    T = M.T, Other = M.Other, New = M.New, Mark = M.Mark, R = M.R, Child = M.Child,
    Coded = { trait = M.Coded, codec = codec },
    Made = M.Made, Key = ecs.Key,
  })
end

-- A world with some entities, all of which one action or another is aimed at.
function M.setup()
  M.factory = function() return {} end
  M.toJSON, M.fromJSON = function() end, function() end
  local world = ecs.createWorld()
  M.register(world)
  local other = world:spawn(M.Other { n = 2 }, ecs.Key "other")
  local self = world:spawn(M.T { n = 1 }, M.R(other, { n = 3 }))
  world:spawn(M.Child(self), M.R(self), M.Other { n = 4 })
  world:spawn(M.Coded)
  return { world = world, self = self, other = other }
end

-- Each hook: install(s, fn) makes fn run within operate(s). fn gets the entity at hand, or nil.
M.hooks = {
  onAdd = {
    install = function(s, fn) s.world:onAdd(M.Mark, fn) end,
    operate = function(s) s.world:add(s.self, M.Mark, M.New) end,
  },
  onAddInSpawn = {
    install = function(s, fn) s.world:onAdd(M.Mark, fn) end,
    operate = function(s) s.world:spawn(M.New, M.Mark, M.R(s.self)) end,
  },
  onAddOfPair = {
    install = function(s, fn) s.world:onAdd(M.Child, fn) end,
    operate = function(s) s.world:add(s.self, M.Child(s.other), M.R(s.self)) end,
  },
  onRemove = {
    install = function(s, fn) s.world:onRemove(M.T, fn) end,
    operate = function(s) s.world:remove(s.self, M.T, M.R("*")) end,
  },
  onRemoveInDestroy = {
    install = function(s, fn) s.world:onRemove(M.T, fn) end,
    operate = function(s) s.world:destroy(s.self) end,
  },
  onRemoveInCascade = {
    install = function(s, fn) s.world:onRemove(M.Child, fn) end,
    operate = function(s) s.world:destroy(s.self) end,
  },
  onRemoveInReset = {
    install = function(s, fn) s.world:onRemove(M.T, fn) end,
    operate = function(s) s.world:reset() end,
  },
  onChange = {
    install = function(s, fn) s.world:onChange(M.T, fn) end,
    operate = function(s) s.world:set(s.self, M.T, { n = 9 }) end,
  },
  onChangeOfPair = {
    install = function(s, fn) s.world:onChange(M.R, fn) end,
    operate = function(s) s.world:set(s.self, M.R(s.other), "n", 9) end,
  },
  onQueryAdd = {
    install = function(s, fn) s.world:onQueryAdd(M.Mark, ecs.Not(M.New), fn) end,
    operate = function(s) s.world:add(s.self, M.Mark) end,
  },
  onQueryAddInSpawn = {
    install = function(s, fn) s.world:onQueryAdd(M.Mark, fn) end,
    operate = function(s) s.world:spawn(M.Mark, M.R(s.self)) end,
  },
  onQueryRemove = {
    install = function(s, fn) s.world:onQueryRemove(M.T, fn) end,
    operate = function(s) s.world:remove(s.self, M.T) end,
  },
  onQueryRemoveInDestroy = {
    install = function(s, fn) s.world:onQueryRemove(M.T, fn) end,
    operate = function(s) s.world:destroy(s.self) end,
  },
  onQueryRemoveInReset = {
    install = function(s, fn) s.world:onQueryRemove(M.T, fn) end,
    operate = function(s) s.world:reset() end,
  },
  factory = {
    install = function(_, fn) M.factory = function() fn() return {} end end,
    operate = function(s) s.world:add(s.self, M.Mark, M.Made) end,
  },
  factoryInSpawn = {
    install = function(_, fn) M.factory = function() fn() return {} end end,
    operate = function(s) s.world:spawn(M.R(s.self), M.Made) end,
  },
  toJSON = {
    readonly = true,
    install = function(_, fn) M.toJSON = fn end,
    operate = function(s) ecs.saveWorld(s.world) end,
  },
  fromJSON = {
    readonly = true,
    install = function(s, fn)
      s.snapshot = ecs.saveWorld(s.world)
      s.world:reset()
      M.fromJSON = fn
    end,
    operate = function(s) ecs.restoreWorld(s.world, s.snapshot) end,
  },
  onAddInRestore = {
    install = function(s, fn)
      s.snapshot = ecs.saveWorld(s.world)
      s.world:reset()
      s.world:onAdd(M.T, fn)
    end,
    operate = function(s) ecs.restoreWorld(s.world, s.snapshot) end,
  },
  loopBody = {
    loop = true,
    install = function(s, fn) s.body = fn end,
    operate = function(s)
      for e in s.world:each(M.Other) do s.body(e) end
    end,
  },
}

M.errors = { string = "boom", table = { "boom" } }

-- Each action: what it does, given the setup and the entity at hand (which may be missing).
M.actions = {
  nothing = function() end,
  spawn = function(s) s.world:spawn(M.Other { n = 7 }, M.R(s.other)) end,
  spawnMany = function(s) for _ = 1, 80 do s.world:spawn(M.Other) end end,
  newTraits = function(s)
    for _ = 1, 70 do s.world:spawn(ecs.trait { x = 0 }, ecs.relation()(s.other)) end
  end,
  destroySelf = function(s, e) s.world:destroy(e or s.self) end,
  destroyOther = function(s) s.world:destroy(s.other) end,
  destroyAll = function(s)
    for _, e in ipairs(s.world:query()) do
      if s.world:isAlive(e) then s.world:destroy(e) end
    end
  end,
  add = function(s, e)
    s.world:add(e or s.self, M.New { n = 8 })
    s.world:add(s.other, M.New)
  end,
  addPair = function(s, e)
    s.world:add(s.other, M.R(e or s.self))
    s.world:add(e or s.self, M.Child(s.other))
  end,
  addToWorld = function(s) s.world:add(M.New) end,
  remove = function(s, e)
    s.world:remove(e or s.self, M.T, M.Mark, M.New, M.R("*"), M.Child("*"))
    s.world:remove(s.other, M.Other)
  end,
  set = function(s, e)
    s.world:set(s.other, M.Other, "n", 5)
    s.world:set(e or s.self, M.T, { n = 5 })
  end,
  setKey = function(s) s.world:set(s.other, ecs.Key, "renamed") end,
  exclude = function(s, e) s.world:add(e or s.self, ecs.IsExcluded) end,
  close = function(s) s.world:close() end,
  errorString = function() error(M.errors.string, 0) end,
  errorTable = function() error(M.errors.table) end,
  yield = function() coroutine.yield() end,
  saveWorld = function(s) s.saved = ecs.saveWorld(s.world) end,
  saveJSON = ecs.saveJSON and function(s) ecs.saveJSON(s.world) end,
  restoreWorld = function(s)
    local nothing = { tags = {}, traits = {} }
    local snapshot = { format = "ecs-serialize", version = 1, entities = {}, world = nothing }
    ecs.restoreWorld(s.world, s.snapshot or snapshot)
  end,
  saveOther = function()
    local world <close> = ecs.createWorld()
    M.register(world)
    world:spawn(M.T { n = 1 }, M.Coded)
    local copy <close> = ecs.createWorld()
    M.register(copy)
    ecs.restoreWorld(copy, ecs.saveWorld(world))
    assert(copy:count() == 1)
  end,
  collect = function() collectgarbage() collectgarbage() end,
  reset = function(s) s.world:reset() end,
  subscribe = function(s)
    for _ = 1, 20 do
      s.world:onAdd(M.Mark, function() end)
      s.world:onRemove(M.T, function() end)()
      s.world:onQueryAdd(M.Mark, M.T, function() end)
      s.world:onQueryRemove(M.T, function() end)
    end
  end,
  register = function(s)
    ecs.registerTraits(s.world, { Late = ecs.trait { n = 0 } })
  end,
  read = function(s, e)
    s.world:entities()
    s.world:traits()
    s.world:get(e or s.self, M.T)
    if s.world:isAlive(s.other) then s.world:targets(s.other, M.R) end
    for _ in s.world:each(M.Other) do s.world:slots(M.T) end
  end,
}

return M
