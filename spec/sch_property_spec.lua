local ecs = require "ecsser"
local model = require "spec.support.sch_model"
local random = require "spec.support.random"
local sch = require "spec.support.sch"
local schedule = require "ecsser.schedule"

local CASES = 2400
local FIRST = tonumber(os.getenv "SCH_SEED") or 1

local BUILTIN = { table.unpack(sch.create({}).phases) }

local function some(rng, percent, pool)
  local list = {}
  while #pool > 0 and rng:chance(percent) do list[#list + 1] = rng:pick(pool) end
  return list
end

local function makePhases(rng)
  local phases, pool = {}, { table.unpack(BUILTIN) }
  for i = 1, rng:int(0, 8) do
    phases[i] = schedule.definePhase("P" .. i, {
      dependsOn = some(rng, 35, pool), before = some(rng, 25, pool), manual = rng:chance(15),
    })
    -- Custom phases are wanted more often than any single builtin one.
    for _ = 1, 3 do pool[#pool + 1] = phases[i] end
  end
  return rng:shuffled(phases)
end

-- Phases that cannot form a cycle: each has its edges in one direction.
local function makeTamePhases(rng)
  local phases, pool = {}, { table.unpack(BUILTIN) }
  for i = 1, rng:int(0, 8) do
    local direction = rng:chance(50) and "dependsOn" or "before"
    phases[i] = schedule.definePhase("P" .. i, {
      [direction] = some(rng, 40, pool), manual = rng:chance(15),
    })
    for _ = 1, 3 do pool[#pool + 1] = phases[i] end
  end
  return rng:shuffled(phases)
end

local function makeSets(rng)
  local sets = {}
  for i = 1, rng:int(0, 4) do
    sets[i] = schedule.defineSet("S" .. i, {
      before = some(rng, 15, sets), after = some(rng, 15, sets),
    })
  end
  return sets
end

-- Systems with any edges.
local function makeSystems(rng, phases, sets, log)
  local systems, nodes = {}, { table.unpack(sets) }
  local homes = { table.unpack(phases) }
  for _ = 1, rng:int(1, 12) do homes[#homes + 1] = rng:pick(BUILTIN) end
  for i = 1, rng:int(0, 12) do
    systems[i] = log.system("s" .. i, {
      phase = rng:pick(homes), before = some(rng, 12, nodes), after = some(rng, 12, nodes),
      sets = some(rng, 25, sets),
    })
    nodes[#nodes + 1] = systems[i]
  end
  return rng:shuffled(systems)
end

-- Systems whose edges follow an order that the phases allow, so that there are many of them.
local function makeTameSystems(rng, phaseOrder, sets, log)
  local plan, place = {}, {}
  for i, phase in ipairs(phaseOrder) do place[phase] = i end
  for i = 1, rng:int(0, 16) do
    plan[i] = { name = "s" .. i, phase = rng:pick(phaseOrder), tie = rng:bits(), edges = {} }
  end
  local function comesFirst(a, b)
    if a.phase ~= b.phase then return place[a.phase] < place[b.phase] end
    return a.tie < b.tie
  end
  local systems, percent = {}, rng:int(0, 30)
  for i, item in ipairs(plan) do
    local before, after = {}, {}
    for j = 1, i - 1 do
      if rng:chance(percent) then
        local list = comesFirst(item, plan[j]) and before or after
        list[#list + 1] = plan[j].system
      end
    end
    item.system = log.system(item.name, {
      phase = item.phase, before = before, after = after,
      sets = rng:chance(30) and some(rng, 30, sets) or nil,
    })
    systems[i] = item.system
  end
  return rng:shuffled(systems)
end

local function describeSchedule(rng, log)
  local tame = rng:chance(60)
  local d = { phases = tame and makeTamePhases(rng) or makePhases(rng), sets = makeSets(rng) }
  local order = tame and model.phaseOrder(d.phases)
  d.systems = order and makeTameSystems(rng, order, d.sets, log)
    or makeSystems(rng, d.phases, d.sets, log)
  return d
end

-- Deals the entries to plugins and the schedule, in their order.
local function optionsOf(rng, d)
  local plugins, own = {}, {}
  for i = 1, rng:int(0, 3) do plugins[i] = { name = "plugin" .. i } end
  for _, kind in ipairs { "phases", "sets", "systems" } do
    local cuts, from = {}, 0
    for i = 1, #plugins do cuts[i] = rng:int(0, #d[kind]) end
    table.sort(cuts)
    for i, plugin in ipairs(plugins) do
      plugin[kind] = { table.unpack(d[kind], from + 1, cuts[i]) }
      from = math.max(from, cuts[i])
    end
    own[kind] = { table.unpack(d[kind], from + 1) }
  end
  for i, plugin in ipairs(plugins) do plugins[i] = schedule.definePlugin(plugin) end
  own.plugins = plugins
  return own
end

-- The names in a message behind its colon, as a list.
local function namesIn(text)
  local names = {}
  for name in text:gmatch '"([^"]+)"' do names[#names + 1] = name end
  return names
end

local function hasEdge(edges, from, to)
  for _, edge in ipairs(edges) do
    if edge[1].name == from and edge[2].name == to then return edge end
  end
end

local function checkCycle(text, kind, edges)
  local path, rest = text:match("the " .. kind .. " form a cycle: ([^()]+)(.*)$")
  assert(path, text)
  local names, direct = namesIn(path), true
  assert.equal(names[1], names[#names])
  assert.is_true(#names > 1)
  local seen = {}
  for i = 1, #names - 1 do
    local edge = hasEdge(edges, names[i], names[i + 1])
    assert(edge, ("%s: no edge from %s to %s"):format(text, names[i], names[i + 1]))
    direct = direct and not edge[3]
    assert.is_nil(seen[names[i]])
    seen[names[i]] = true
  end
  if not direct then assert(rest:find('set "S', 1, true), text) end
end

local function checkContradiction(text, edges)
  local a, b = text:match 'system "([^"]+)".- must run before system "([^"]+)"'
  assert(a and hasEdge(edges, a, b), text)
end

local function checkOrder(s, d, phaseOrder, systemOrder, log)
  assert.equal(sch.names(phaseOrder), sch.names(s.phases))
  assert.equal(sch.names(systemOrder), sch.names(s.systems))
  local place, expected = {}, {}
  for i, system in ipairs(s.systems) do place[system] = i end
  for _, edge in ipairs(model.systemEdges(d)) do
    assert.is_true(place[edge[1]] < place[edge[2]])
  end
  for _, system in ipairs(systemOrder) do
    local manual = model.isManual(system.phase, d.phases)
    assert.equal(manual, s:isManual(system.phase))
    if not manual then expected[#expected + 1] = system.name end
  end
  local world <close> = ecs.createWorld()
  s:run(world, 0)
  assert.equal(table.concat(expected, " "), log.take())
end

local function check(seed, counts)
  local rng, log = random.new(seed), sch.log()
  local d = describeSchedule(rng, log)
  local options = optionsOf(rng, d)
  local outcome, phaseOrder, systemOrder = model.build(d)
  local ok, result = pcall(sch.create, options)
  counts[outcome] = (counts[outcome] or 0) + 1
  if outcome == "ok" then
    assert(ok, result)
    checkOrder(result, d, phaseOrder, systemOrder, log)
    counts.systems = (counts.systems or 0) + #d.systems
    counts.edges = (counts.edges or 0) + #model.systemEdges(d)
    return
  end
  assert.is_false(ok, outcome .. " was not found")
  assert.truthy(result:find('createSchedule: schedule "main": ', 1, true))
  if outcome == "phase cycle" then
    checkCycle(result, "phases", model.allPhaseEdges(d.phases))
  elseif outcome == "system cycle" then
    checkCycle(result, "systems", model.systemEdges(d))
  else
    checkContradiction(result, model.contradictions(model.systemEdges(d), phaseOrder))
  end
end

describe("random schedules", function()
  it("SCH-102 SCH-014 SCH-103 SCH-131 agree with a naive model of the order", function()
    local counts = {}
    for seed = FIRST, FIRST + CASES - 1 do
      local ok, err = pcall(check, seed, counts)
      if not ok then
        error(("seed %d (SCH_SEED=%d repeats it): %s"):format(seed, seed,
          type(err) == "table" and err.message or tostring(err)), 0)
      end
    end
    -- The cases are of all kinds, and the good ones are no trivial ones.
    assert.is_true(counts.ok >= CASES / 4, "good ones: " .. counts.ok)
    for _, outcome in ipairs { "phase cycle", "system cycle", "contradiction" } do
      assert.is_true(counts[outcome] >= CASES / 40, outcome .. ": " .. counts[outcome])
    end
    assert.is_true(counts.systems >= counts.ok * 5)
    assert.is_true(counts.edges >= counts.ok * 4)
  end)
end)
