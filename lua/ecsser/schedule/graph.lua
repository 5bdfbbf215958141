--- Directed graphs over the integers 1..n, and what both orders need of them.

local heap = require "ecsser.schedule.heap"

local graph = {}

--- A graph of `count` nodes without edges. `waiting[node]` is the number of
-- predecessors that have not been settled yet.
function graph.new(count)
  local g = { successors = {}, waiting = {} }
  for _ = 1, count do graph.node(g) end
  return g
end

--- Adds a node and returns it.
function graph.node(g)
  local node = #g.successors + 1
  g.successors[node], g.waiting[node] = {}, 0
  return node
end

--- Adds an edge: `from` comes before `to`. The same edge may be added again.
function graph.edge(g, from, to)
  local successors = g.successors[from]
  successors[#successors + 1] = to
  g.waiting[to] = g.waiting[to] + 1
end

--- Marks a node as done and calls `release` for each node that waited for
-- nothing else. A node that is on a cycle is never released.
function graph.settle(g, node, release)
  local waiting = g.waiting
  for _, successor in ipairs(g.successors[node]) do
    waiting[successor] = waiting[successor] - 1
    if waiting[successor] == 0 then release(successor) end
  end
end

--- Sorts the nodes 1..count so that every edge points forward; of the nodes
-- that are ready the least comes first. Nodes above `count` are only there to
-- carry edges: they take no place in the order and never wait for one.
-- @return the order, shorter than `count` if the graph has a cycle
function graph.sort(g, count)
  local ready, order = {}, {}
  local function release(node)
    if node <= count then
      heap.push(ready, node)
    else
      graph.settle(g, node, release)
    end
  end
  local free = {}
  for node, waiting in ipairs(g.waiting) do
    if waiting == 0 then free[#free + 1] = node end
  end
  for _, node in ipairs(free) do release(node) end
  while true do
    local node = heap.pop(ready)
    if not node then return order end
    order[#order + 1] = node
    graph.settle(g, node, release)
  end
end

--- One predecessor that is not settled, for each node that waits for one.
local function blockers(g)
  local blocker = {}
  for node, successors in ipairs(g.successors) do
    if g.waiting[node] > 0 then
      for _, successor in ipairs(successors) do
        blocker[successor] = blocker[successor] or node
      end
    end
  end
  return blocker
end

--- A cycle among the nodes that were never settled, in the order of its edges,
-- starting with its least node.
function graph.cycle(g)
  local blocker, node = blockers(g), 1
  while g.waiting[node] == 0 do node = node + 1 end
  -- Whoever waits, waits for someone who waits: going back ends in a cycle.
  local seen = {}
  while not seen[node] do
    seen[node] = true
    node = blocker[node]
  end
  local backwards, first = {}, node
  local least, at = first, 1
  repeat
    backwards[#backwards + 1] = node
    if node < least then least, at = node, #backwards end
    node = blocker[node]
  until node == first
  local cycle, length = {}, #backwards
  for i = 0, length - 1 do cycle[i + 1] = backwards[(at - 1 - i) % length + 1] end
  return cycle
end

return graph
