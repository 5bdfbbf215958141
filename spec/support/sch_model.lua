--- The orders that a schedule must have, worked out as naively as the requirements put it.
--
-- A description has the lists `phases`, `sets` and `systems` in the order of declaration. Nothing
-- here is fast; everything goes through all pairs again and again.

local schedule = require "ecsser.schedule"

local model = {}

local BUILTIN = {
  schedule.OnStart, schedule.OnLoad, schedule.PostLoad, schedule.PreUpdate, schedule.OnUpdate,
  schedule.OnValidate, schedule.PostUpdate, schedule.PreStore, schedule.OnStore,
}

local isBuiltin = {}
for _, phase in ipairs(BUILTIN) do isBuiltin[phase] = true end

--- The declared edges of phases as a list of { from, to }.
function model.phaseEdges(phases)
  local edges = {}
  for _, phase in ipairs(phases) do
    for _, other in ipairs(phase.dependsOn) do edges[#edges + 1] = { other, phase } end
    for _, other in ipairs(phase.before) do edges[#edges + 1] = { phase, other } end
  end
  return edges
end

--- The same with the builtin chain.
function model.allPhaseEdges(phases)
  local edges = model.phaseEdges(phases)
  for i = 2, #BUILTIN do edges[#edges + 1] = { BUILTIN[i - 1], BUILTIN[i] } end
  return edges
end

--- Everything that `start` reaches along the edges.
local function reached(start, edges)
  local found, grown = {}, true
  while grown do
    grown = false
    for _, edge in ipairs(edges) do
      if (edge[1] == start or found[edge[1]]) and not found[edge[2]] then
        found[edge[2]], grown = true, true
      end
    end
  end
  return found
end

local function hasCycle(nodes, edges)
  for _, node in ipairs(nodes) do
    if reached(node, edges)[node] then return true end
  end
  return false
end

local function predecessors(node, edges)
  local list = {}
  for _, edge in ipairs(edges) do
    if edge[2] == node then list[#list + 1] = edge[1] end
  end
  return list
end

local function all(list, holds)
  for _, item in ipairs(list) do
    if not holds(item) then return false end
  end
  return true
end

-- SCH-102, step by step.
local function placePhases(phases)
  local edges, declared = model.allPhaseEdges(phases), model.phaseEdges(phases)
  local rooted, emitted, promoted, order = {}, {}, {}, {}
  for _, builtin in ipairs(BUILTIN) do
    for phase in pairs(reached(builtin, declared)) do rooted[phase] = true end
  end
  local function floating(phase) return not isBuiltin[phase] and not rooted[phase] end
  local function ready(phase)
    return not emitted[phase] and all(predecessors(phase, edges), function(p) return emitted[p] end)
  end
  local function promote()
    local changed = false
    for _, edge in ipairs(edges) do
      local phase, target = edge[1], edge[2]
      if floating(phase) and not promoted[phase] and not emitted[target]
        and (not floating(target) or promoted[target])
        and all(predecessors(target, edges), function(p) return emitted[p] or floating(p) end)
      then
        promoted[phase], changed = true, true
      end
    end
    return changed
  end
  local function choose()
    while promote() do end
    for _, phase in ipairs(phases) do
      if (rooted[phase] or promoted[phase]) and ready(phase) then return phase end
    end
    for _, phase in ipairs(BUILTIN) do
      if not emitted[phase] then
        if ready(phase) then return phase end
        break
      end
    end
    for _, phase in ipairs(phases) do
      if floating(phase) and ready(phase) then return phase end
    end
    error "nothing is ready"
  end
  for _ = 1, #phases + #BUILTIN do
    local phase = choose()
    emitted[phase] = true
    order[#order + 1] = phase
  end
  return order
end

--- The phases in order, or nil if they form a cycle.
function model.phaseOrder(phases)
  if hasCycle(phases, model.allPhaseEdges(phases)) then return nil end
  return placePhases(phases)
end

--- SCH-104: marked, or in a component without a builtin phase.
function model.isManual(phase, phases)
  if isBuiltin[phase] then return false end
  local both = {}
  for _, edge in ipairs(model.phaseEdges(phases)) do
    both[#both + 1] = edge
    both[#both + 1] = { edge[2], edge[1] }
  end
  for other in pairs(reached(phase, both)) do
    if isBuiltin[other] then return phase.manual end
  end
  return true
end

local function membersOf(item, systems)
  if item.run then return { item } end
  local members = {}
  for _, system in ipairs(systems) do
    for _, set in ipairs(system.sets) do
      if set == item then members[#members + 1] = system end
    end
  end
  return members
end

--- The edges between systems, those of sets expanded, as a list of { from, to, throughSet }.
function model.systemEdges(d)
  local edges = {}
  local function add(from, to)
    for _, a in ipairs(membersOf(from, d.systems)) do
      for _, b in ipairs(membersOf(to, d.systems)) do
        edges[#edges + 1] = { a, b, not (from.run and to.run) }
      end
    end
  end
  for _, list in ipairs { d.sets, d.systems } do
    for _, item in ipairs(list) do
      for _, other in ipairs(item.before) do add(item, other) end
      for _, other in ipairs(item.after) do add(other, item) end
    end
  end
  return edges
end

local function places(phaseOrder)
  local place = {}
  for i, phase in ipairs(phaseOrder) do place[phase] = i end
  return place
end

--- The edges that contradict the order of the phases.
function model.contradictions(edges, phaseOrder)
  local place, found = places(phaseOrder), {}
  for _, edge in ipairs(edges) do
    if place[edge[1].phase] > place[edge[2].phase] then found[#found + 1] = edge end
  end
  return found
end

-- SCH-014, phase by phase.
local function sortSystems(d, edges, phaseOrder)
  local order, done = {}, {}
  for _, phase in ipairs(phaseOrder) do
    local left = 0
    for _, system in ipairs(d.systems) do
      if system.phase == phase then left = left + 1 end
    end
    for _ = 1, left do
      for _, system in ipairs(d.systems) do
        if system.phase == phase and not done[system]
          and all(predecessors(system, edges), function(p) return p.phase ~= phase or done[p] end)
        then
          done[system] = true
          order[#order + 1] = system
          break
        end
      end
    end
  end
  return order
end

--- What building a schedule must come to: "phase cycle", "system cycle", "contradiction", or "ok"
-- with the order of the phases and the order of the systems.
function model.build(d)
  local phaseOrder = model.phaseOrder(d.phases)
  if not phaseOrder then return "phase cycle" end
  local edges = model.systemEdges(d)
  if hasCycle(d.systems, edges) then return "system cycle" end
  if #model.contradictions(edges, phaseOrder) > 0 then return "contradiction", phaseOrder end
  return "ok", phaseOrder, sortSystems(d, edges, phaseOrder)
end

return model
