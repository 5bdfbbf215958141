-- The operations of a stream, and the comparisons after each.

local ecs = require "ecsser"
local Stream = require "spec.support.world_stream"

local ops = {}

local function slot(handle)
  local _, _, s = ecs.unpack(handle)
  return s
end

-- What get says of a trait's value in the model.
local function valueOf(term, box)
  if box == nil or term.item.kind == "tag" then return nil end
  return box[1]
end

local function unpackTerms(terms) return table.unpack(terms, 1, #terms) end

function ops.spawn(self)
  if #self.model.list > 40 then return end
  local terms, objects = self:terms(0, 4)
  self:traceOp("spawn", terms)
  if not self:keysAreFree(terms) then
    self:refused("spawn", self.world.spawn, self.world, unpackTerms(objects))
    return
  end
  local handle = self.world:spawn(unpackTerms(objects))
  self.model:spawn(handle, terms)
end

function ops.destroy(self)
  local e = self:entity()
  if not e or #self.model.list < self.random:int(0, 30) then return end
  self:traceOp("destroy", slot(e))
  self.world:destroy(e)
  for _, entity in ipairs(self.model:destroy(e)) do
    self.dead[self.random:int(1, 20)] = entity.handle
  end
end

function ops.add(self)
  local e = self:entity()
  if not e then return end
  local terms, objects = self:terms(1, 3)
  self:traceOp("add", slot(e), terms)
  if not self:keysAreFree(terms, e) then
    self:refused("add", self.world.add, self.world, e, unpackTerms(objects))
    return
  end
  self.world:add(e, unpackTerms(objects))
  self.model:add(e, terms)
  self.single = #terms == 1 and not terms[1].item.exclusive
end

function ops.remove(self)
  local e = self:entity()
  if not e then return end
  local terms, objects = self:plainTerms(1, 3)
  self:traceOp("remove", slot(e), terms)
  self.world:remove(e, unpackTerms(objects))
  self.model:remove(e, terms)
  self.single = true
end

-- A data term that the entity has or does not have.
local function dataTerm(self, e)
  for _ = 1, 10 do
    local term, object = self:plainTerm()
    if term.item.kind ~= "tag" and not term.wildcard then return term, object end
    if term.wildcard and term.item.kind ~= "tag" then
      local target = self.model:targets(e, term.item)[1]
      if target then return { item = term.item, target = target }, term.item.object(target) end
    end
  end
end

local function setOne(self, e, term, object, ...)
  local value = self:value(term.item)
  local holder = term.item.object == ecs.Key and self.model:holder(value)
  local box = self.model:box(e, term)
  local field = term.item.kind == "soa" and self.random:pick(term.item.names)
  if field and value[field] == nil then field = nil end
  local args = table.pack(...)
  if field then
    value = { [field] = value[field] }
    args[args.n + 1], args[args.n + 2], args[args.n + 3] = object, field, value[field]
    args.n = args.n + 3
  else
    args[args.n + 1], args[args.n + 2] = object, value
    args.n = args.n + 2
  end
  if not box or holder and holder ~= e then
    self:refused("set", self.world.set, self.world, table.unpack(args, 1, args.n))
  else
    self.world:set(table.unpack(args, 1, args.n))
    self.model:set(e, term, value)
  end
end

function ops.set(self)
  local e = self:entity()
  if not e then return end
  local term, object = dataTerm(self, e)
  if not term then return end
  self:traceOp("set", slot(e), term)
  setOne(self, e, term, object, e)
end

function ops.onWorld(self)
  local world, model, w = self.world, self.model, self.model.worldEntity
  local roll = self.random:int(1, 4)
  self:traceOp("onWorld", roll)
  if roll == 1 then
    local terms, objects = self:terms(1, 2, true)
    world:add(unpackTerms(objects))
    model:add(w, terms)
  elseif roll == 2 then
    local terms, objects = {}, {}
    for i, term in ipairs((self:plainTerms(1, 2, true))) do
      local item = term.item.object == ecs.IsExcluded and Stream.items[3] or term.item
      terms[i], objects[i] = { item = item }, item.object
    end
    world:remove(unpackTerms(objects))
    model:remove(w, terms)
  elseif roll == 3 then
    local item = self.random:pick { Stream.items[5], Stream.items[8], Stream.items[10] }
    setOne(self, w, { item = item }, item.object)
  else
    local term, object = self:plainTerm(true)
    self:expect("has on the world", model:has(w, term), world:has(object))
    self:expect("get on the world", valueOf(term, model:box(w, term)), (world:get(object)))
  end
end

function ops.query(self)
  local terms, objects = self:queryTerms()
  self:traceOp("query", terms)
  local expected = self.model:query(terms)
  self:expect("query", expected, self.world:query(unpackTerms(objects)))
  local slots, n = self.world:slots(objects)
  self:expect("number of slots", #expected, n)
  for i, e in ipairs(expected) do self:expect("slots", slot(e), slots[i]) end
  self:expect("end of slots", nil, slots[n + 1])
  local i = 0
  for e, a, b, c, d in self.world:each(unpackTerms(objects)) do
    i = i + 1
    self:expect("each", expected[i], e)
    local got, wanted = { a, b, c }, 0
    for _, term in ipairs(terms) do
      if term.item and term.item.kind ~= "tag" and not term.wildcard then
        wanted = wanted + 1
        self:expect("value of each", self.model:box(e, term)[1], got[wanted])
      end
    end
    self:expect("number of values of each", nil, ({ a, b, c, d })[wanted + 1])
  end
  self:expect("length of each", #expected, i)
end

function ops.look(self)
  local e = self:entity()
  if not e then return end
  local term, object = self:plainTerm()
  self:traceOp("look", slot(e), term)
  self:expect("has", self.model:has(e, term), self.world:has(e, object))
  if not term.wildcard then
    local box = self.model:box(e, term)
    self:expect("get", valueOf(term, box), (self.world:get(e, object)))
    if box and term.item.kind == "soa" then
      for _, name in ipairs(term.item.names) do
        self:expect("get of " .. name, box[1][name], (self.world:get(e, object, name)))
      end
    end
  end
end

function ops.find(self)
  local key = "key" .. self.random:int(1, 12)
  self:expect("find", self.model:holder(key), self.world:find(key))
end

-- What is wrong is refused, and changes nothing.
function ops.misuse(self)
  local world, e, dead = self.world, self:entity(), self.dead[self.random:int(1, 20)]
  if not e or not dead or self.model:isAlive(dead) then return end
  self:traceOp("misuse", slot(e), slot(dead))
  local P, Data = Stream.items[5].object, Stream.items[6].object
  local foreign = self.other and self.other:entity() or dead
  for _, bad in ipairs { dead, foreign } do
    self:expect("isAlive", false, world:isAlive(bad))
    self:expect("has", false, world:has(bad, P))
    self:expect("get", nil, (world:get(bad, P)))
    self:refused("destroy", world.destroy, world, bad)
    self:refused("add", world.add, world, bad, P)
    self:refused("add", world.add, world, e, Data(bad))
    self:refused("remove", world.remove, world, bad, P)
    self:refused("set", world.set, world, bad, P, "x", 1)
    self:refused("targets", world.targets, world, bad, Data)
  end
  self:refused("set", world.set, world, e, P, { x = 1, nonsense = 2 })
  self:refused("set", world.set, world, e, P, { x = "text" })
  self:refused("get", world.get, world, e, P, "nonsense")
  self:refused("spawn", world.spawn, world, P, Data)
  self:refused("destroy", world.destroy, world, self.model.worldEntity)
end

-- Subscribes to a random query, or ends a subscription.
function ops.watch(self)
  local random = self.random
  if #self.watches >= 6 or self.watches[1] and random:chance(30) then
    local watch = table.remove(self.watches, random:int(1, #self.watches))
    watch.endAdd()
    watch.endRemove()
    return
  end
  local terms, objects = self:queryTerms()
  self:traceOp("watch", terms)
  local watch = { terms = terms, matching = {}, events = {} }
  for _, e in ipairs(self.model:query(terms)) do watch.matching[e] = true end
  local function note(event)
    return function(e) table.insert(watch.events, { event, e }) end
  end
  watch.endAdd = self.world:onQueryAdd(objects, note "in")
  watch.endRemove = self.world:onQueryRemove(objects, note "out")
  table.insert(self.watches, watch)
end

-- Subscribes to the pairs with one target.
function ops.watchPair(self)
  local target = self:entity()
  if not target or #self.pairWatches >= 6 then return end
  local item = self.random:pick { Stream.items[4], Stream.items[6], Stream.items[9] }
  self:traceOp("watchPair", item.name, slot(target))
  local watch = { target = target, item = item, log = {}, ends = {} }
  for event, hook in pairs { add = "onAdd", remove = "onRemove", change = "onChange" } do
    table.insert(watch.ends, self.world[hook](self.world, item.object(target), function(e, t)
      local text = event .. " " .. item.name .. " " .. slot(e) .. ">" .. slot(t)
      table.insert(watch.log, text)
    end))
  end
  table.insert(self.pairWatches, watch)
end

function ops.reset(self)
  if not self.random:chance(3) then return end
  self:traceOp("reset")
  for _, entity in ipairs(self.model.list) do
    self.dead[self.random:int(1, 20)] = entity.handle
  end
  self.world:reset()
  self.model:reset()
  self.unordered = true
end

-- Comparisons ---------------------------------------------------------------

function Stream:compareLogs()
  local expected, got = self.model.log, self.log
  if self.unordered then
    table.sort(expected)
    table.sort(got)
  end
  self:expect("observers' log", expected, got)
end

function Stream:comparePairWatches()
  for i = #self.pairWatches, 1, -1 do
    local watch, expected = self.pairWatches[i], {}
    for _, text in ipairs(self.model.log) do
      local name, target = text:match("^%a+ (%a+) %d+>(%d+)$")
      if name == watch.item.name and tonumber(target) == slot(watch.target) then
        expected[#expected + 1] = text
      end
    end
    if self.unordered then table.sort(watch.log) end
    self:expect("log of " .. watch.item.name .. " to one target", expected, watch.log)
    watch.log = {}
    if not self.model:isAlive(watch.target) then
      for _, stop in ipairs(watch.ends) do stop() end
      table.remove(self.pairWatches, i)
    end
  end
end

function Stream:compareMembers(watch)
  local count = 0
  for _, e in ipairs(self.model:query(watch.terms)) do
    count = count + 1
    if not watch.matching[e] then error("onQueryAdd was not told of slot " .. slot(e), 0) end
  end
  for _ in pairs(watch.matching) do count = count - 1 end
  if count ~= 0 then error("onQueryRemove was not told of something", 0) end
end

-- The events of a query lead from what matched before to what matches now, step by step.
function Stream:compareWatches()
  for _, watch in ipairs(self.watches) do
    local seen = {}
    for _, event in ipairs(watch.events) do
      local kind, e = event[1], event[2]
      local before = watch.matching[e] or false
      self:expect("query event of slot " .. slot(e), kind == "out", before)
      if self.single and seen[e] then error("two query events for one change", 0) end
      seen[e] = true
      watch.matching[e] = kind == "in" or nil
    end
    if watch.events[1] or self.ops % 8 == 0 then self:compareMembers(watch) end
    watch.events = {}
    for _, term in ipairs(watch.terms) do
      for _, part in ipairs(term.any or term.none or { term }) do
        if part.target and not self.model:isAlive(part.target) then watch.over = true end
      end
    end
  end
  -- A query for a target that is gone is at its end.
  for i = #self.watches, 1, -1 do
    if self.watches[i].over then
      self.watches[i].endAdd()
      self.watches[i].endRemove()
      table.remove(self.watches, i)
    end
  end
end

function Stream:compareEntity(e)
  local world, model = self.world, self.model
  for _, item in ipairs(Stream.items) do
    if item.relation then
      local targets = model:targets(e, item)
      self:expect("targets of " .. item.name, targets, world:targets(e, item.object))
      self:expect("sources of " .. item.name, model:sources(e, item),
        world:sources(e, item.object))
      for _, target in ipairs(targets) do
        local term = { item = item, target = target }
        self:expect("data of " .. item.name, valueOf(term, model:box(e, term)),
          (world:get(e, item.object(target))))
      end
    else
      local term = { item = item }
      local box = model:box(e, term)
      self:expect("has " .. item.name, box ~= nil, world:has(e, item.object))
      self:expect("value of " .. item.name, valueOf(term, box), (world:get(e, item.object)))
    end
  end
end

function Stream:compareAll()
  local world, model = self.world, self.model
  local expected = { model.worldEntity }
  for i, entity in ipairs(model:sorted()) do expected[i + 1] = entity.handle end
  self:expect("entities", expected, world:entities())
  self:expect("count", #expected - 1, world:count())
  self:expect("traits", model:inUse(), world:traits())
  for i = 2, #expected do self:compareEntity(expected[i]) end
  for _, dead in pairs(self.dead) do
    self:expect("isAlive of a dead one", model:isAlive(dead), world:isAlive(dead))
  end
end

local weights = {
  spawn = 14, destroy = 8, add = 16, remove = 12, set = 12, onWorld = 5, query = 8, look = 8,
  find = 2, misuse = 2, watch = 2, watchPair = 2, reset = 2,
}
local wheel, names = {}, {}
for name in pairs(weights) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  for _ = 1, weights[name] do wheel[#wheel + 1] = name end
end

function Stream:stepOnce()
  self.ops = self.ops + 1
  self.model.log, self.log = {}, {}
  self.single, self.unordered = false, false
  ops[self.random:pick(wheel)](self)
  self:compareLogs()
  self:comparePairWatches()
  self:compareWatches()
  if self.ops % 100 == 0 then self:compareAll() end
end

-- One operation; a failure tells how to see it again.
function Stream:step()
  local ok, err = xpcall(self.stepOnce, debug.traceback, self)
  if not ok then
    error(("seed %d, operation %d: %s\nlast operations:\n  %s"):format(
      self.seed, self.ops, tostring(err), table.concat(self.trace, "\n  ")), 0)
  end
end

return Stream
