--- The order of the phases, and which of them run by themselves.

local check = require "ecsser.schedule.check"
local define = require "ecsser.schedule.define"
local graph = require "ecsser.schedule.graph"
local heap = require "ecsser.schedule.heap"

local phases = {}

local BUILTINS = #define.BUILTIN

--- Numbers the phases: the builtin ones from 1 in their order, then the custom
-- ones in the order of their declaration.
local function number(custom)
  local nodes, phaseAt = {}, {}
  for _, list in ipairs { define.BUILTIN, custom } do
    for _, phase in ipairs(list) do
      phaseAt[#phaseAt + 1] = phase
      nodes[phase] = #phaseAt
    end
  end
  return nodes, phaseAt
end

local function nodeOf(fn, nodes, phase, edge, other)
  local node = nodes[other]
  if not node then
    check.fail('%s: phase "%s" %s %s, which is neither builtin nor in phases', fn, phase.name,
      edge, check.describe(other))
  end
  return node
end

--- Calls `edge(from, to)` for each declared edge; the builtin chain is not
-- declared.
local function eachEdge(fn, nodes, custom, edge)
  for _, phase in ipairs(custom) do
    for _, other in ipairs(phase.dependsOn) do
      edge(nodeOf(fn, nodes, phase, "depends on", other), nodes[phase])
    end
    for _, other in ipairs(phase.before) do
      edge(nodes[phase], nodeOf(fn, nodes, phase, "is before", other))
    end
  end
end

--- The phases that a builtin phase reaches, and the builtin phases themselves.
-- All others are floating: nothing but their own edges says where they belong.
local function firmNodes(g)
  local firm, open = {}, {}
  for node = 1, BUILTINS do firm[node], open[node] = true, node end
  while #open > 0 do
    for _, successor in ipairs(g.successors[table.remove(open)]) do
      if not firm[successor] then
        firm[successor] = true
        open[#open + 1] = successor
      end
    end
  end
  return firm
end

local function predecessorsOf(g)
  local predecessors = {}
  for node in ipairs(g.successors) do predecessors[node] = {} end
  for node, successors in ipairs(g.successors) do
    for _, successor in ipairs(successors) do
      local list = predecessors[successor]
      list[#list + 1] = node
    end
  end
  return predecessors
end

--- The procedure that places the phases. A floating phase is *promoted* once
-- only floating phases stand between the present point and a phase behind it:
-- from then on it is wanted here and goes before the next builtin phase.
-- `missing[node]` counts the firm predecessors that are not emitted yet.
local Placement = {}
Placement.__index = Placement

function Placement.new(g)
  local self = setmetatable({
    g = g, firm = firmNodes(g), predecessors = predecessorsOf(g), order = {}, emitted = {},
    promoted = {}, missing = {}, urgent = {}, idle = {}, nextBuiltin = 1,
  }, Placement)
  self.release = function(node) self:enqueue(node) end
  for node, predecessors in ipairs(self.predecessors) do
    local missing = 0
    for _, predecessor in ipairs(predecessors) do
      if self.firm[predecessor] then missing = missing + 1 end
    end
    self.missing[node] = missing
  end
  for node, waiting in ipairs(g.waiting) do
    if waiting == 0 then self:enqueue(node) end
  end
  for node in ipairs(g.successors) do
    if self.firm[node] and self.missing[node] == 0 then self:promoteBefore(node) end
  end
  return self
end

--- Puts a phase whose predecessors are all emitted where `take` finds it.
function Placement:enqueue(node)
  if node <= BUILTINS then return end
  heap.push((self.firm[node] or self.promoted[node]) and self.urgent or self.idle, node)
end

--- Promotes the floating phases before `node`, and those before them: the
-- predecessors of a floating phase are all floating.
function Placement:promoteBefore(node)
  local open = { node }
  while #open > 0 do
    for _, predecessor in ipairs(self.predecessors[table.remove(open)]) do
      if not self.firm[predecessor] and not self.promoted[predecessor] then
        self.promoted[predecessor] = true
        open[#open + 1] = predecessor
        if self.g.waiting[predecessor] == 0 and not self.emitted[predecessor] then
          heap.push(self.urgent, predecessor)
        end
      end
    end
  end
end

--- The phase that comes next, or nil if none is ready.
function Placement:take()
  local node = heap.pop(self.urgent)
  if node then return node end
  node = self.nextBuiltin
  if node <= BUILTINS and self.g.waiting[node] == 0 then
    self.nextBuiltin = node + 1
    return node
  end
  repeat node = heap.pop(self.idle) until not node or not self.promoted[node]
  return node
end

function Placement:emit(node)
  self.order[#self.order + 1] = node
  self.emitted[node] = true
  graph.settle(self.g, node, self.release)
  if not self.firm[node] then return end
  for _, successor in ipairs(self.g.successors[node]) do
    self.missing[successor] = self.missing[successor] - 1
    if self.missing[successor] == 0 then self:promoteBefore(successor) end
  end
end

local function place(g)
  local placement = Placement.new(g)
  while true do
    local node = placement:take()
    if not node then return placement.order end
    placement:emit(node)
  end
end

local function failOnCycle(fn, g, phaseAt)
  local names = {}
  for i, node in ipairs(graph.cycle(g)) do names[i] = ('"%s"'):format(phaseAt[node].name) end
  names[#names + 1] = names[1]
  check.fail("%s: the phases form a cycle: %s", fn, table.concat(names, " -> "))
end

--- Disjoint sets: the components that the declared edges form.
local Components = {}
Components.__index = Components

function Components.new() return setmetatable({ parent = {} }, Components) end

function Components:find(node)
  local parent = self.parent
  while parent[node] do
    local above = parent[node]
    parent[node] = parent[above] or above
    node = above
  end
  return node
end

--- The lesser root stays root, so that a component with a builtin phase in it
-- has a builtin root.
function Components:join(a, b)
  a, b = self:find(a), self:find(b)
  if a ~= b then self.parent[math.max(a, b)] = math.min(a, b) end
end

--- Orders the phases.
-- @param fn how messages begin
-- @param custom the custom phases in the order of their declaration
-- @return the list of all phases in the order in which they run
-- @return for each phase its track: `true` for those that run by themselves,
-- one number per component for the manual ones
function phases.order(fn, custom)
  local nodes, phaseAt = number(custom)
  local g, components = graph.new(#phaseAt), Components.new()
  for node = 2, BUILTINS do graph.edge(g, node - 1, node) end
  eachEdge(fn, nodes, custom, function(from, to)
    graph.edge(g, from, to)
    components:join(from, to)
  end)
  local order, trackOf = place(g), {}
  if #order < #phaseAt then failOnCycle(fn, g, phaseAt) end
  for i, node in ipairs(order) do
    local phase, root = phaseAt[node], components:find(node)
    order[i] = phase
    local manual = phase.manual or root > BUILTINS
    trackOf[phase] = not manual or root
  end
  return order, trackOf
end

return phases
