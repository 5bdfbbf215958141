-- Observers that do anything at random, within operations at random. There is no model of that;
-- what must hold is that the world is consistent between any two operations, that observers of
-- queries know who matches, and that nothing but errors of ours and of the observers is raised.

local ecs = require "ecsser"
local Random = require "spec.support.world_random"
local util = require "spec.support.world_util"

local total = (tonumber(os.getenv "ECSSER_OPS") or 100000) // 10
local streams = 10

local A, B, V, G = ecs.trait(), ecs.trait(), ecs.trait { n = 0, any = ecs.null },
  ecs.trait(function() return {} end)
local R = ecs.relation { store = { n = 0 } }
local Child = ecs.relation { autoDestroy = "orphan" }
local Only = ecs.relation { exclusive = true, autoDestroy = "target" }
local traits, relations = { A, B, V, G }, { R, Child, Only }
local boom = { "boom" }

local Chaos = {}
Chaos.__index = Chaos

function Chaos.new(seed, raising)
  local self = setmetatable({
    seed = seed, random = Random.new(seed), world = ecs.createWorld(), depth = 0, budget = 0,
    handles = {}, watches = {}, raising = raising,
  }, Chaos)
  for i = 1, 50 do self.handles[i] = 1 end   -- a dead one
  for _, item in ipairs { A, B, V, G, R, Child, Only, ecs.IsExcluded } do
    for _, hook in ipairs { "onAdd", "onRemove", "onChange" } do
      self.world[hook](self.world, item, function() self:observe() end)
    end
  end
  for _, terms in ipairs {
    { A }, { V, ecs.Not(B) }, { ecs.Or(A, R("*")), ecs.Not(Child("*")) }, { Only("*"), G }, {},
  } do
    self:watch(terms)
  end
  return self
end

function Chaos:watch(terms)
  local watch = { terms = terms, members = {} }
  self.world:onQueryAdd(terms, function(e)
    if not self.raising and watch.members[e] then error "told twice of one that matches" end
    watch.members[e] = true
    self:observe()
  end)
  self.world:onQueryRemove(terms, function(e)
    if not self.raising and not watch.members[e] then error "told of one that did not match" end
    watch.members[e] = nil
    self:observe()
  end)
  self.watches[#self.watches + 1] = watch
end

-- What an observer does: mostly nothing, else one to three operations; now and then it raises.
function Chaos:observe()
  if self.depth > 3 or self.budget <= 0 or self.random:chance(70) then return end
  self.depth = self.depth + 1
  for _ = 1, self.random:int(1, 3) do self:operate() end
  self.depth = self.depth - 1
  if self.raising and self.random:chance(10) then error(boom) end
end

function Chaos:entity() return self.random:pick(self.handles) end

function Chaos:term()
  local roll = self.random:int(1, 10)
  if roll == 1 then return A end
  if roll == 2 then return B end
  if roll <= 4 then return V { n = roll } end
  if roll == 5 then return G end
  if roll == 6 then return self.random:chance(20) and ecs.IsExcluded or A end
  return self.random:pick(relations)(self:entity())
end

function Chaos:plain()
  local roll = self.random:int(1, 6)
  if roll <= 4 then return traits[roll] end
  return self.random:pick(relations)(roll == 5 and "*" or self:entity())
end

local operations = {
  function(self, world)
    if world:count() < 60 then
      self.handles[self.random:int(1, 50)] = world:spawn(self:term(), self:term(), self:term())
    end
  end,
  function(self, world) world:destroy(self:entity()) end,
  function(self, world) world:add(self:entity(), self:term(), self:term()) end,
  function(self, world) world:add(self:entity(), self:term()) end,
  function(self, world) world:remove(self:entity(), self:plain(), self:plain()) end,
  function(self, world) world:set(self:entity(), V, "n", self.random:int(1, 100)) end,
  function(self, world)
    local e = self:entity()
    local target = world:targets(e, R)[1]
    if target then world:set(e, R(target), { n = 5 }) end
  end,
  function(self, world)
    for e in world:each(V, R("*")) do
      if self.random:chance(30) then world:remove(e, V) end
    end
  end,
  function(self, world) if self.random:chance(5) then world:reset() end end,
  function(_, world) world:add(V { n = 1 }, A) world:remove(V, A) end,
}

-- One operation; errors of ours are part of the game.
function Chaos:operate()
  self.budget = self.budget - 1
  local depth = self.depth
  local ok, err = pcall(self.random:pick(operations), self, self.world)
  self.depth = depth
  if ok or rawequal(err, boom) then return end
  if not util.isOurs(err) or tostring(err):find "told " then error(err, 0) end
end

function Chaos:check()
  util.checkInvariants(self.world, traits, relations)
  for _, watch in ipairs(self.raising and {} or self.watches) do
    local list = self.world:query(watch.terms)
    for _, e in ipairs(list) do
      if not watch.members[e] then error "not told of one that matches" end
      watch.members[e] = nil
    end
    if next(watch.members) then error "not told of one that ceased to match" end
    for _, e in ipairs(list) do watch.members[e] = true end
  end
end

for _, raising in ipairs { false, true } do
  describe(raising and "chaos with errors" or "chaos", function()
    for i = 1, streams do
      local seed = i + (raising and 100 or 0)
      it("of seed " .. seed .. " leaves a consistent world", function()
        local chaos = Chaos.new(seed, raising)
        for n = 1, total // streams do
          chaos.budget = 12
          local ok, err = pcall(function()
            chaos:operate()
            if n % 5 == 0 then chaos:check() end
          end)
          if not ok then
            error(("seed %d, operation %d: %s"):format(seed, n, tostring(err)), 0)
          end
        end
        chaos.world:close()
      end)
    end
  end)
end
