--- The order of the systems: phase by phase, and within a phase by the edges of
-- systems and sets, ties in the order of declaration.

local check = require "ecsser.schedule.check"
local frozen = require "ecsser.schedule.frozen"
local graph = require "ecsser.schedule.graph"

-- An edge to or from a set stands for one edge per member. Drawn one by one
-- they would grow with the product of the sizes, so each set has two nodes of
-- its own, *gates*, that carry no system: whatever comes before the set leads
-- to its entry and from there to every member, and every member leads to its
-- exit. Entry and exit are not joined, for an empty set orders nothing.
local Sorter = {}
Sorter.__index = Sorter

local function isSet(item) return frozen.kindOf(item) == "ecsser.Set" end

--- Numbers the systems by phase, then by declaration: the least number that is
-- ready is then the one that runs first.
local function number(self, systems)
  local byPhase = {}
  for _, system in ipairs(systems) do
    local place = self.placeOf[system.phase]
    if not place then
      check.fail("%s: %s is in %s, which is neither builtin nor in phases", self.fn,
        check.describe(system), check.describe(system.phase))
    end
    byPhase[place] = byPhase[place] or {}
    table.insert(byPhase[place], system)
  end
  for place = 1, self.places do
    for _, system in ipairs(byPhase[place] or {}) do
      table.insert(self.systemAt, system)
      self.nodeOf[system] = #self.systemAt
    end
  end
end

function Sorter.new(fn, systems, sets, placeOf, places)
  local self = setmetatable({
    fn = fn, placeOf = placeOf, places = places, systemAt = {}, nodeOf = {}, links = {},
    entryOf = {}, exitOf = {}, setAt = {}, earliest = {}, latest = {},
  }, Sorter)
  number(self, systems)
  self.g = graph.new(#self.systemAt)
  for _, set in ipairs(sets) do
    self.entryOf[set], self.exitOf[set] = graph.node(self.g), graph.node(self.g)
    self.setAt[self.entryOf[set]], self.setAt[self.exitOf[set]] = set, set
  end
  return self
end

--- Puts the systems into their sets. They come by ascending phase, so the first
-- member of a set is in its earliest phase, the last one in its latest.
function Sorter:join()
  for node, system in ipairs(self.systemAt) do
    for _, set in ipairs(system.sets) do
      if not self.entryOf[set] then
        check.fail("%s: %s is in %s, which is not in sets", self.fn, check.describe(system),
          check.describe(set))
      end
      graph.edge(self.g, self.entryOf[set], node)
      graph.edge(self.g, node, self.exitOf[set])
      self.earliest[set] = self.earliest[set] or system
      self.latest[set] = system
    end
  end
end

--- The node of one end of an edge that `owner` declares.
function Sorter:nodeFor(owner, edge, other, gateOf)
  local node = self.nodeOf[other] or gateOf[other]
  if not node then
    check.fail("%s: %s is %s %s, which is not in %s", self.fn, check.describe(owner), edge,
      check.describe(other), isSet(other) and "sets" or "systems")
  end
  return node
end

function Sorter:link(owner, edge, other)
  local from, to = owner, other
  if edge == "after" then from, to = other, owner end
  graph.edge(self.g, self:nodeFor(owner, edge, from, self.exitOf),
    self:nodeFor(owner, edge, to, self.entryOf))
  table.insert(self.links, { from = from, to = to })
end

--- Adds the edges that the items of a list declare.
function Sorter:linkAll(owners)
  for _, owner in ipairs(owners) do
    for _, other in ipairs(owner.before) do self:link(owner, "before", other) end
    for _, other in ipairs(owner.after) do self:link(owner, "after", other) end
  end
end

function Sorter:failOnCycle()
  local names, sets, seen = {}, {}, {}
  for _, node in ipairs(graph.cycle(self.g)) do
    local system, set = self.systemAt[node], self.setAt[node]
    if system then
      names[#names + 1] = ('"%s"'):format(system.name)
    elseif not seen[set] then
      seen[set] = true
      sets[#sets + 1] = check.describe(set)
    end
  end
  names[#names + 1] = names[1]
  check.fail("%s: the systems form a cycle: %s%s", self.fn, table.concat(names, " -> "),
    #sets > 0 and " (through " .. table.concat(sets, ", ") .. ")" or "")
end

local function membership(item) return isSet(item) and " of " .. check.describe(item) or "" end

--- Refuses edges against the order of the phases. If any pair of members is
-- against it, then so are the latest member before and the earliest behind.
function Sorter:checkPhases()
  for _, link in ipairs(self.links) do
    local from = self.latest[link.from] or link.from
    local to = self.earliest[link.to] or link.to
    if not isSet(from) and not isSet(to)
      and self.placeOf[from.phase] > self.placeOf[to.phase] then
      check.fail("%s: %s%s must run before %s%s, but its %s comes after %s", self.fn,
        check.describe(from), membership(link.from), check.describe(to), membership(link.to),
        check.describe(from.phase), check.describe(to.phase))
    end
  end
end

local systems = {}

--- Orders the systems of all phases.
-- @param fn how messages begin
-- @param declared the systems in the order of their declaration
-- @param sets the sets
-- @param phaseOrder the phases in the order in which they run
-- @return the systems in the order in which they run
function systems.order(fn, declared, sets, phaseOrder)
  local placeOf = {}
  for place, phase in ipairs(phaseOrder) do placeOf[phase] = place end
  local sorter = Sorter.new(fn, declared, sets, placeOf, #phaseOrder)
  sorter:join()
  sorter:linkAll(sets)
  sorter:linkAll(declared)
  local order = graph.sort(sorter.g, #declared)
  if #order < #declared then sorter:failOnCycle() end
  sorter:checkPhases()
  for i, node in ipairs(order) do order[i] = sorter.systemAt[node] end
  return order
end

return systems
