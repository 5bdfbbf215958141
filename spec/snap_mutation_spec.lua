-- P4: random changes to the structure of snapshots, with a right digest. Each is refused with an
-- error of ours and nothing has changed, or it is a snapshot like any other.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local deep = require "spec.support.deep"
local golden = require "spec.support.snap_golden"
local kits = require "spec.support.snap_kit"
local mutate = require "spec.support.snap_mutate"
local random = require "spec.support.random"
local util = require "spec.support.world_util"

-- ECSSER_MUTATIONS sets how many there are.
local TOTAL <const> = math.tointeger(tonumber(os.getenv "ECSSER_MUTATIONS")) or 20400
local EACH <const> = 100

local CODES <const> = { malformed = true, ["unknown-trait"] = true, ["codec-error"] = true,
  ["unsupported-version"] = true, ["duplicate-key"] = true }

local function mutated(rng, snapshot)
  return bytes.edited(snapshot, function(header, body)
    for _ = 1, rng:pick { 1, 1, 1, 2, 3 } do
      mutate.once(rng, rng:chance(30) and header or body)
    end
  end)
end

-- The schema of a header: what must be as registered for a load to keep every byte.
local function schema(header)
  local out = {}
  for _, trait in ipairs(header.traits) do
    out[trait.name] = { trait.kind, trait.version, trait.fields }
  end
  return out
end

-- True when the schema is the registered one, and all values are there.
local function isWhole(snapshot, header, known)
  for name, trait in pairs(schema(header)) do
    if not deep.same(trait, known[name]) then return false end
  end
  local parts = bytes.parts(snapshot)
  for _, trait in ipairs(header.traits) do
    local node = bytes.trait(parts.header, parts.body, trait.name)
    local valued = trait.kind ~= "tag" and trait.kind ~= "pair"
    if valued and #node[#node] == 0 then return false end
  end
  return true
end

local function checkRefused(world, snapshot, err, before)
  assert(ecs.isSerializeError(err), tostring(err))
  assert(CODES[err.code], err.code)
  assert(util.isOurs(err), err.message)
  if err.code == "malformed" then
    assert(math.type(err.offset) == "integer" and err.offset >= 0 and err.offset <= #snapshot,
      "no offset: " .. err.message)
  end
  assert(ecs.hashWorld(world) == before, "the world changed: " .. err.message)
end

-- A loaded mutation is a snapshot like any other: the world is consistent, saves, loads again; and
-- is saved as the very same bytes, where the schema is the registered one and no values are left
-- to defaults.
local function checkLoaded(world, snapshot, header, known, lists)
  local options = { meta = header.meta, data = header.data }
  local again = ecs.saveSnapshot(world, options)
  util.checkInvariants(world, table.unpack(lists))
  if isWhole(snapshot, header, known) then
    assert(again == snapshot, "a form that the core would not write was loaded")
  end
  local digest = ecs.loadSnapshot(world, again).digest
  assert(ecs.saveSnapshot(world, options) == again)
  assert(next(options) or digest == ecs.hashWorld(world))
end

-- Mutates one snapshot EACH times into `world`; returns how many were loaded.
local function attack(rng, world, snapshot, known, lists)
  local loaded = 0
  local before = ecs.hashWorld(world)
  for _ = 1, EACH do
    local mutation = mutated(rng, snapshot)
    local ok, result = pcall(ecs.loadSnapshot, world, mutation)
    if ok then
      loaded = loaded + 1
      checkLoaded(world, mutation, result, known, lists)
      before = ecs.hashWorld(world)
    else
      checkRefused(world, mutation, result, before)
    end
    pcall(ecs.inspectSnapshot, mutation)
  end
  return loaded
end

describe("mutations of snapshots", function()
  it("of random worlds are refused, or are snapshots like any other", function()
    local kit = kits.new()
    local loaded, rounds = 0, TOTAL // EACH // 2
    local lists = table.pack(kit:lists())
    rounds = random.rounds(rounds, function(rng)
      local source <close> = kit:random(rng, rng:int(4, 30))
      local world <close> = kit:random(rng, 10)
      local known = schema(ecs.inspectSnapshot(ecs.saveSnapshot(source)))
      loaded = loaded + attack(rng, world, ecs.saveSnapshot(source), known, lists)
    end)
    -- Both must be there, or this spec tests nothing.
    assert(loaded > rounds and loaded < rounds * EACH // 2, loaded .. " were loaded")
  end)

  it("of golden snapshots likewise", function()
    local loaded = 0
    local rounds = random.rounds(TOTAL // EACH // 2, function(rng, round)
      local g = golden.list[(round - 1) % #golden.list + 1]
      local snapshot = golden.read(g)
      local world <close>, traits = golden.world(g)
      local known = schema(ecs.inspectSnapshot(snapshot))
      local lists = { {}, {} }
      if g.kit then lists = table.pack(traits:lists()) end
      for _, trait in pairs(g.kit and {} or traits) do
        table.insert(lists[ecs.isRelation(trait) and 2 or 1], trait)
      end
      lists[1][#lists[1] + 1] = ecs.IsExcluded
      if not g.handler then loaded = loaded + attack(rng, world, snapshot, known, lists) end
    end)
    assert(loaded > rounds, loaded .. " were loaded")
  end)
end)
