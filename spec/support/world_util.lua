-- Helpers of the world specs: expecting our own errors, and checking that a world is consistent.

local assert = require "luassert"
local ecs = require "ecsser"

local M = {}

-- The slot of a handle.
function M.slot(handle)
  local _, _, slot = ecs.unpack(handle)
  return slot
end

-- The handle of the hidden world entity.
function M.worldEntity(world)
  return world:entities()[1]
end

-- What is in a list, as a set.
function M.set(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

-- Errors that Lua itself raises ("attempt to index a nil value") are never ours.
function M.isOurs(err)
  local text = tostring(err)
  return not text:find("attempt to", 1, true) and not text:find("bad self", 1, true)
end

-- Expects that fn raises "<spec file>:<line>: <name>: ...", and that the text matches `pattern`.
function M.fails(name, pattern, fn)
  local ok, err = pcall(fn)
  assert.is_false(ok, name .. " should have raised an error")
  assert.is_string(err)
  local text = err:match("^[%w_/%.%-]*_spec%.lua:%d+: " .. name .. ": (.+)$")
  assert(text, ("expected a position and %q in front, got: %s"):format(name .. ": ", err))
  assert(M.isOurs(err), "not an error of ours: " .. err)
  if pattern then
    assert(text:find(pattern), ("expected a text like %q, got: %s"):format(pattern, text))
  end
  return text
end

-- Expects that fn raises this very value.
function M.raisesValue(value, fn)
  local ok, err = pcall(fn)
  assert.is_false(ok, "an error was expected")
  assert.is_true(rawequal(err, value), "another error was raised: " .. tostring(err))
end

-- A list that observers write to: log "name" makes one that notes its name, the slot of the entity
-- and the slot of the target, such as "name 3" or "name 3>1".
function M.newLog()
  local log = { entries = {} }
  function log.note(name)
    return function(entity, target)
      local text = name .. " " .. M.slot(entity)
      if target then text = text .. ">" .. M.slot(target) end
      log.entries[#log.entries + 1] = text
    end
  end
  function log.take()
    local entries = log.entries
    log.entries = {}
    return entries
  end
  return log
end

function M.collectAll()
  for _ = 1, 3 do collectgarbage() end
end

-- Plain comparisons first, for these run very often; luassert explains what differs.
local function equal(expected, got)
  if expected ~= got then assert.equal(expected, got) end
end

local function sameList(expected, got)
  local same = #expected == #got
  for i = 1, #expected do same = same and expected[i] == got[i] end
  if not same then assert.same(expected, got) end
end

local function check(condition, message)
  if not condition then error(message or "the world is inconsistent", 2) end
end

local function holders(world, all, test)
  local list = {}
  for i = 2, #all do
    if test(all[i]) and not world:has(all[i], ecs.IsExcluded) then list[#list + 1] = all[i] end
  end
  return list
end

local function checkLookups(world, expected, term)
  sameList(expected, world:query(term))
  local slots, n = world:slots(term)
  equal(#expected, n)
  equal(n, #slots)
  for i = 1, n do assert.equal(M.slot(expected[i]), slots[i]) end
  local seen = {}
  for entity in world:each(term) do seen[#seen + 1] = entity end
  sameList(expected, seen)
end

local function checkTrait(world, all, trait)
  local expected = holders(world, all, function(e) return world:has(e, trait) end)
  checkLookups(world, expected, trait)
  for _, entity in ipairs(all) do
    local value = world:get(entity, trait)
    if not world:has(entity, trait) then
      equal(nil, value)
    elseif trait.kind == "soa" then
      equal("table", type(value))
    end
  end
end

local function checkRelation(world, all, relation)
  local incoming = {}
  for _, entity in ipairs(all) do incoming[entity] = {} end
  for i = 2, #all do
    local targets = world:targets(all[i], relation)
    for _, target in ipairs(targets) do
      check(world:isAlive(target))
      check(world:has(all[i], relation(target)))
      table.insert(incoming[target], all[i])
    end
    equal(#targets > 0, world:has(all[i], relation("*")))
  end
  for i = 2, #all do
    sameList(incoming[all[i]], world:sources(all[i], relation))
    local expected = holders(world, all, function(e) return world:has(e, relation(all[i])) end)
    sameList(expected, world:query(relation(all[i])))
  end
  local any = holders(world, all, function(e) return world:has(e, relation("*")) end)
  checkLookups(world, any, relation("*"))
end

local function inUse(world, all, item)
  for _, entity in ipairs(all) do
    if ecs.isRelation(item) then
      if M.slot(entity) > 0 and #world:targets(entity, item) > 0 then return true end
    elseif world:has(entity, item) then
      return true
    end
  end
  return false
end

local function checkTraitList(world, all, items)
  local listed, before = world:traits(), -1
  for _, item in ipairs(listed) do
    check(item.id > before, "traits() is not ascending")
    check(inUse(world, all, item), "traits() lists a trait that nobody has")
    before = item.id
  end
  local set = M.set(listed)
  for _, item in ipairs(items) do assert.equal(inUse(world, all, item), set[item] or false) end
end

-- Everything that must hold of any world at any time between two operations.
function M.checkInvariants(world, traits, relations)
  local all, before = world:entities(), -1
  for _, entity in ipairs(all) do
    check(world:isAlive(entity), "entities() lists a dead one")
    check(M.slot(entity) > before, "entities() is not ascending by slot")
    before = M.slot(entity)
  end
  equal(0, M.slot(all[1]))
  check(world:has(all[1], ecs.IsExcluded))
  equal(#all - 1, world:count())
  local items = {}
  for _, trait in ipairs(traits) do
    checkTrait(world, all, trait)
    items[#items + 1] = trait
  end
  for _, relation in ipairs(relations or {}) do
    checkRelation(world, all, relation)
    items[#items + 1] = relation
  end
  checkTraitList(world, all, items)
end

return M
