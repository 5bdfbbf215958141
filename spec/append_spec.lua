-- appendSnapshot: what comes equals what was saved, up to handles; nothing else in the world
-- changes; a failure takes everything back; and everyone is told once, in the documented order.

local ecs = require "ecsser"
local child = require "spec.support.world_child"
local deep = require "spec.support.deep"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"
local worlds = require "spec.support.worlds"

local ROUNDS <const> = 200

local kit = worlds.kit()
local described = { items = table.move(kit.items, 1, #kit.items, 1, {}) }
table.insert(described.items, { name = "Key", kind = "aos", object = ecs.Key })
local traits, relations = { ecs.Key, ecs.IsExcluded }, {}
for _, item in ipairs(kit.items) do
  table.insert(item.kind == "relation" and relations or traits, item.object)
end

-- `items` replaces those of the kit (with other codecs, for one).
local function newWorld(items)
  local world = oracle.world({ items = items or kit.items, ignored = kit.ignored })
  ecs.registerTraits(world, { Key = ecs.Key })
  ecs.ignoreTraits(world, { kit.unregistered })
  return world
end

-- A random world whose free list is in no order; the second result lists handles that are dead.
local function inUse(rng, prefix, world)
  world = world or newWorld()
  local fillers, dead = {}, {}
  for i = 1, rng:int(5, 25) do fillers[i] = world:spawn() end
  worlds.fill(rng, kit, world)
  for i, entity in ipairs(rng:shuffled(fillers)) do
    world:destroy(entity)
    dead[i] = entity
  end
  for i, entity in ipairs(world:entities()) do
    if i > 1 and rng:chance(20) then world:add(entity, ecs.Key(prefix .. i)) end
  end
  return world, dead
end

local function living(world)
  local list = world:entities()
  table.remove(list, 1)   -- the world entity
  return list
end

-- What these entities are, references as places in the list; `singletons` adds the world's own.
local function contentOf(world, list, singletons)
  local view = {
    entities = function() return list end,
    targets = function(_, ...) return world:targets(...) end,
    get = function(_, ...) return world:get(...) end,
    has = function(_, entity, trait)
      if trait == nil then return singletons and world:has(entity) or false end
      return trait ~= ecs.IsExcluded and world:has(entity, trait)
    end,
  }
  local out = oracle.describe(view, described)
  out.excluded = {}
  for i, entity in ipairs(list) do out.excluded[i] = world:has(entity, ecs.IsExcluded) end
  return out
end

local function slotsOf(list)
  local out = {}
  for i, entity in ipairs(list) do out[i] = util.slot(entity) end
  return out
end

describe("append", function()
  it("P1 brings what was saved, up to handles, and changes nothing else", function()
    random.rounds(ROUNDS, function(rng)
      local source = inUse(rng, "source")
      local world, dead = inUse(rng, "world")
      local others = living(world)
      local before = contentOf(world, others, true)
      local saved = contentOf(source, living(source))
      local bytes = ecs.saveSnapshot(source)
      local list = ecs.appendSnapshot(world, bytes)
      deep.assertSame(saved, contentOf(world, list), "what came")
      deep.assertSame(before, contentOf(world, others, true), "what was there")
      assert.equal(#others + source:count(), world:count())
      local old = util.set(others)
      for _, entity in ipairs(dead) do
        assert.is_false(world:isAlive(entity))
        old[entity] = true
      end
      for _, entity in ipairs(list) do assert.is_nil(old[entity], "a handle is used again") end
      util.checkInvariants(world, traits, relations)
      assert.equal(bytes, ecs.saveSnapshot(source))
      -- The second generation, through another world with holes.
      local second, third = newWorld(), inUse(rng, "third")
      for _ = 1, 9 do second:spawn() end
      for _, entity in ipairs(rng:shuffled(second:entities())) do
        if util.slot(entity) > 0 then second:destroy(entity) end
      end
      ecs.appendSnapshot(second, bytes)
      local again = ecs.appendSnapshot(third, ecs.saveSnapshot(second))
      deep.assertSame(contentOf(second, living(second)), contentOf(third, again), "the second")
      -- When all of it is gone, the world is as it was.
      for _, entity in ipairs(rng:shuffled(list)) do
        if world:isAlive(entity) then world:destroy(entity) end
      end
      deep.assertSame(before, contentOf(world, others, true), "what was there, afterwards")
      for _, w in ipairs { world, second, third, source } do w:close() end
    end)
  end)

  it("P2, P3 does the same in a world and in its copy, by bytes and by table", function()
    random.rounds(ROUNDS, function(rng)
      local source, world, copy = inUse(rng, "source"), inUse(rng, "world"), newWorld()
      local bytes, tree = ecs.saveSnapshot(source), ecs.saveSnapshot(source, { format = "table" })
      ecs.loadSnapshot(copy, ecs.saveSnapshot(world))
      for _ = 1, 3 do
        local options = { keys = "drop" }
        local a = ecs.appendSnapshot(world, bytes, options)
        local b = ecs.appendSnapshot(copy, tree, options)
        assert.same(slotsOf(a), slotsOf(b))
        assert.equal(ecs.hashWorld(world), ecs.hashWorld(copy))
      end
      world:close()
      copy:close()
    end)
  end)

  it("appends a world to itself, and leaves out singletons and handlers' data", function()
    local T, Single = ecs.trait { ref = ecs.null, n = 0 }, ecs.trait { round = 1 }
    local world <close> = ser.world {
      T = { trait = T, refs = { "ref" } }, Single = { trait = Single, refs = {} },
    }
    local loads = 0
    ecs.addSnapshotHandler(world, {
      name = "test", save = function() return { 5 } end, load = function() loads = loads + 1 end,
      finish = function() loads = loads + 1 end,
    })
    local a = world:spawn(T { n = 1 })
    local b = world:spawn(T { n = 2, ref = a })
    world:set(a, T, "ref", b)
    world:add(Single { round = 3 })
    local bytes = ecs.saveSnapshot(world)
    world:set(Single, "round", 4)
    local list = ecs.appendSnapshot(world, bytes)
    assert.same({ n = 1, ref = list[2] }, world:get(list[1], T))
    assert.same({ n = 2, ref = list[1] }, world:get(list[2], T))
    assert.same({ n = 1, ref = b }, world:get(a, T))
    assert.equal(4, world:get(Single, "round"))
    assert.equal(0, loads)
    assert.equal(4, world:count())
    assert.same({}, ecs.appendSnapshot(world, ecs.saveSnapshot(ser.world {})))
    local onlySingle <close> = ser.world { Single = Single }
    onlySingle:add(Single { round = 9 })
    assert.same({}, ecs.appendSnapshot(world, ecs.saveSnapshot(onlySingle)))
    assert.equal(4, world:get(Single, "round"))
  end)

  it("gives the new entities in the order of their old slots, in the free slots", function()
    local T = ecs.trait { n = 0 }
    local source <close> = ser.world { T = T }
    for i = 1, 6 do source:spawn(T { n = i }) end
    source:destroy(source:entities()[3])
    source:spawn(T { n = 7 })   -- in slot 2
    local world <close> = ser.world { T = T }
    local e = {}
    for i = 1, 8 do e[i] = world:spawn() end
    for _, i in ipairs { 4, 2, 7 } do world:destroy(e[i]) end
    local list = ecs.appendSnapshot(world, ecs.saveSnapshot(source))
    local order = {}
    for i, entity in ipairs(list) do order[i] = world:get(entity, T, "n") end
    assert.same({ 1, 7, 3, 4, 5, 6 }, order)
    assert.same({ 7, 2, 4, 9, 10, 11 }, slotsOf(list))   -- last freed, first used
  end)

  it("takes snapshots of another process, and of a world of another registration order", function()
    local file = os.tmpname()
    local how, code, output = child.run(([[
      local ecs = require "ecsser"
      local Likes, Pos = ecs.relation { store = { much = 0.5 } }, ecs.trait { x = 0, name = "" }
      local world = ecs.createWorld()
      ecs.registerTraits(world, { { "Likes", Likes }, { "Pos", Pos }, { "Key", ecs.Key } })
      for i = 1, 70 do world:destroy(world:spawn()) end
      local a = world:spawn(Pos { x = 1, name = "a" }, ecs.Key "key of a")
      world:add(world:spawn(Pos { x = -0.0, name = "\0b" }), Likes(a, { much = 1e300 }))
      local file = assert(io.open(%q, "wb"))
      file:write(ecs.saveSnapshot(world)):close()
    ]]):format(file))
    assert.same({ "exit", 0 }, { how, code }, output)
    local handle = assert(io.open(file, "rb"))
    local bytes = handle:read "a"
    handle:close()
    os.remove(file)
    local Pos, Likes = ecs.trait { x = 0, name = "" }, ecs.relation { store = { much = 0.5 } }
    local world <close> = ser.world { Key = ecs.Key, Pos = Pos, Likes = { relation = Likes } }
    local kept = world:spawn(Pos { x = 5, name = "kept" })
    local list = ecs.appendSnapshot(world, bytes)
    deep.assertSame({ x = 1, name = "a" }, world:get(list[1], Pos))
    deep.assertSame({ x = -0.0, name = "\0b" }, world:get(list[2], Pos))
    assert.equal(list[1], world:find "key of a")
    assert.same({ list[1] }, world:targets(list[2], Likes))
    assert.same({ list[2] }, world:sources(list[1], Likes))
    assert.equal(1e300, world:get(list[2], Likes(list[1]), "much"))
    assert.same({ x = 5, name = "kept" }, world:get(kept, Pos))
  end)

  it("shows in queries, columns and cached slots at once, for codecs and afterwards", function()
    local T, C, Tag = ecs.trait { x = 0 }, ecs.trait(function() return {} end), ecs.trait()
    local world <close>, seen = ecs.createWorld(), nil
    local function look()
      return { #world:query(T), #world:query(), #world:query(ecs.Not(T)), (select(2,
        world:slots(T, ecs.Not(Tag)))), world:count() }
    end
    ecs.registerTraits(world, {
      T = T, Tag = Tag, C = { trait = C, codec = {
        toJSON = function() return 1 end,
        fromJSON = function() seen = look() return { 1 } end,
      } },
    })
    local first = world:spawn(T { x = 1 }, C, Tag)
    local second = world:spawn(T { x = 2 }, C)
    world:spawn(ecs.IsExcluded, T)
    local bytes = ecs.saveSnapshot(world)
    assert.same({ 2, 2, 0, 1, 3 }, look())
    local x = world:column(T, "x")
    local list = ecs.appendSnapshot(world, bytes)
    assert.equal(2, seen[1])   -- nobody has traits while values are decoded
    assert.same({ 4, 4, 0, 2, 6 }, look())
    assert.equal(x, world:column(T, "x"))
    assert.equal(2, x[util.slot(list[2])])
    assert.same({ first, second, list[1], list[2] }, world:query(T))
    world:destroy(list[1])
    assert.same({ 3, 3, 0, 2, 5 }, look())
  end)
end)

describe("offset", function()
  local T, U, R = ecs.trait { x = 0.0, n = 1, name = "" }, ecs.trait { x = 0 },
    ecs.relation { store = { w = 1 } }
  local world, bytes

  before_each(function()
    world = ser.world { T = T, U = { trait = U, formerly = { "V" } }, R = { relation = R } }
    local a = world:spawn(T { x = 1.5, n = 2 }, U { x = 7 })
    world:spawn(T { x = -2.5, n = math.maxinteger }, R(a, { w = 10 }))
    world:spawn(U { x = 1 })
    world:add(T { x = 4.0 })
    bytes = ecs.saveSnapshot(world)
  end)

  after_each(function() world:close() end)

  it("adds to the fields of all that came, and to nothing else", function()
    local list = ecs.appendSnapshot(world, bytes, {
      offset = { T = { x = 10, n = -1 }, R = { w = 0.5 }, U = {} },
    })
    deep.assertSame({ x = 11.5, n = 1, name = "" }, world:get(list[1], T))
    deep.assertSame({ x = 7.5, n = math.maxinteger - 1, name = "" }, world:get(list[2], T))
    deep.assertSame({ x = 7 }, world:get(list[1], U))
    assert.equal(10.5, world:get(list[2], R(list[1]), "w"))
    local old = world:entities()
    deep.assertSame({ x = 1.5, n = 2, name = "" }, world:get(old[2], T))
    assert.equal(10, world:get(old[3], R(old[2]), "w"))
    assert.equal(4.0, world:get(T, "x"))
    list = ecs.appendSnapshot(world, bytes, { offset = { U = { x = 3 } } })
    assert.equal(10, world:get(list[1], U, "x"))
    assert.equal(4, world:get(list[3], U, "x"))
  end)

  it("refuses offsets that make no sense, and nothing has changed", function()
    local K = ecs.trait { ref = ecs.null, flag = true, any = function() return 1 end }
    local other = ser.world {
      T = T, K = { trait = K, refs = { "ref" } }, R = { relation = R }, Tag = ecs.trait(),
      Aos = ecs.trait(function() return 1 end),
    }
    local e = other:spawn(T, K)
    other:set(e, K, "ref", e)
    other:spawn(T, K { ref = e }, R(e))
    local saved, hash = ecs.saveSnapshot(other), ecs.hashWorld(other)
    local cases = {
      { { Nope = { x = 1 } }, "Nope" }, { { T = { nope = 1 } }, "nope" }, { { T = 1 }, "table" },
      { { T = { x = "1" } }, "number" }, { { T = { name = 1 } }, "number" },
      { { T = { [1] = 1 } }, "1" }, { { K = { flag = 1 } }, "number" },
      { { [5] = { x = 1 } }, "5" }, { { R = { x = 1 } }, "x" },
      { { T = { x = ecs.null } }, "null" },
      -- A handle is no number to add to.
      { { K = { ref = 1 } }, "ref" },
    }
    for _, case in ipairs(cases) do
      local text = util.fails("appendSnapshot", nil, function()
        ecs.appendSnapshot(other, saved, { offset = case[1] })
      end)
      assert.truthy(text:find(case[2], 1, true), text)
      assert.equal(hash, ecs.hashWorld(other))
    end
    local list = ecs.appendSnapshot(other, saved, { offset = { K = { any = 1 } } })
    assert.equal(2, other:get(list[2], K, "any"))
    other:close()
  end)
end)

describe("keys", function()
  local T = ecs.trait { n = 0 }
  local world, bytes, hero, log

  before_each(function()
    local source <close> = ser.world { Key = ecs.Key, T = T }
    source:spawn(ecs.Key "hero", T { n = 2 })
    source:spawn(ecs.Key "orc", T { n = 3 })
    bytes = ecs.saveSnapshot(source)
    world = ser.world { Key = ecs.Key, T = T }
    hero = world:spawn(ecs.Key "hero", T { n = 1 })
    log = {}
    for _, event in ipairs { "onAdd", "onRemove" } do
      world[event](world, ecs.Key, function(entity)
        log[#log + 1] = ("%s %d %s"):format(event, util.slot(entity), world:get(entity, ecs.Key))
      end)
    end
  end)

  after_each(function() world:close() end)

  it("that the world has are an error", function()
    local hash = ecs.hashWorld(world)
    for _, options in ipairs { {}, { keys = "error" } } do
      ser.raises("appendSnapshot", "duplicate-key", { "hero" }, ecs.appendSnapshot, world, bytes,
        options)
      assert.equal(hash, ecs.hashWorld(world))
      assert.equal(hero, world:find "hero")
      assert.is_nil(world:find "orc")
    end
    assert.same({}, log)
  end)

  it("are dropped on demand", function()
    local list = ecs.appendSnapshot(world, bytes, { keys = "drop" })
    assert.equal(hero, world:find "hero")
    assert.is_false(world:has(list[1], ecs.Key))
    assert.is_nil(world:get(list[1], ecs.Key))
    assert.equal(2, world:get(list[1], T, "n"))
    assert.equal(list[2], world:find "orc")
    assert.same({ "onAdd 3 orc" }, log)
    -- What was dropped leaves no trace for the next holder.
    world:add(list[1], ecs.Key "second")
    assert.equal("second", world:get(list[1], ecs.Key))
    util.checkInvariants(world, { ecs.Key, T })
  end)

  it("are taken over on demand, and the old holder's loss is told", function()
    local list = ecs.appendSnapshot(world, bytes, { keys = "replace" })
    assert.equal(list[1], world:find "hero")
    assert.is_false(world:has(hero, ecs.Key))
    assert.is_nil(world:get(hero, ecs.Key))
    assert.equal(1, world:get(hero, T, "n"))
    assert.same({ "onRemove 1 hero", "onAdd 2 hero", "onAdd 3 orc" }, log)
    util.checkInvariants(world, { ecs.Key, T })
    assert.equal(2, #ecs.appendSnapshot(world, bytes, { keys = "replace" }))
    assert.is_false(world:has(list[1], ecs.Key))
  end)

  it("that were taken over come back when the append fails", function()
    local left = 0
    world:onAdd(T, function()
      left = left - 1
      if left == 0 then error("no", 0) end
    end)
    for k = 1, 2 do
      left = k
      assert.equal("no", ser.catch(ecs.appendSnapshot, world, bytes, { keys = "replace" }))
      assert.equal(hero, world:find "hero")
      assert.equal("hero", world:get(hero, ecs.Key))
      assert.is_nil(world:find "orc")
      assert.equal(1, world:count())
    end
    assert.equal("no", ser.catch(ecs.appendSnapshot, world, bytes, {
      keys = "replace", patch = function() error("no", 0) end,
    }))
    assert.equal(hero, world:find "hero")
    util.checkInvariants(world, { ecs.Key, T })
  end)

  it("replace: an observer that forbids the old holder's loss stops the append", function()
    world:onRemove(ecs.Key, function(entity)
      if entity == hero then error("mine", 0) end
    end)
    assert.equal("mine", ser.catch(ecs.appendSnapshot, world, bytes, { keys = "replace" }))
    assert.equal(hero, world:find "hero")
    assert.equal(1, world:count())
  end)
end)

describe("P5 a failing append", function()
  -- Like the kit, with a codec that counts its calls down and fails at the last one.
  local function failingItems(state)
    local items = {}
    for i, item in ipairs(kit.items) do
      items[i] = item
      if item.codec then
        items[i] = setmetatable({ codec = {
          toJSON = item.codec.toJSON,
          fromJSON = function(...)
            state.left = state.left - 1
            if state.left == 0 then error(state.cause, 0) end
            return item.codec.fromJSON(...)
          end,
        } }, { __index = item })
      end
    end
    return items
  end

  it("leaves the world as it was, to the last bit, when a codec fails at any call", function()
    local failures = 0
    local rounds = random.rounds(ROUNDS, function(rng)
      local state = { left = 0, cause = {} }
      local bytes = ecs.saveSnapshot((inUse(rng, "source")))
      local world = inUse(rng, "world", newWorld(failingItems(state)))
      local twin = newWorld()
      ecs.loadSnapshot(twin, ecs.saveSnapshot(world))
      ecs.appendSnapshot(twin, bytes)
      state.left = 0
      local before, hash = ser.state(world), ecs.hashWorld(world)
      local rehearsal = newWorld(failingItems(state))
      ecs.appendSnapshot(rehearsal, bytes)
      for k = 1, -state.left do
        state.left = k
        local e = ser.raises("appendSnapshot", "codec-error", { "Threat" }, ecs.appendSnapshot,
          world, bytes)
        assert.equal(state.cause, e.cause)
        ser.assertUnchanged(before, world, "a failed append")
        assert.equal(hash, ecs.hashWorld(world))
        failures = failures + 1
      end
      state.left = 0
      ecs.appendSnapshot(world, bytes)
      assert.equal(ecs.hashWorld(twin), ecs.hashWorld(world))
      for _, w in ipairs { world, twin, rehearsal } do w:close() end
    end)
    assert.is_true(failures >= rounds // 4, "only " .. failures .. " failures")
  end)

  it("leaves the content as it was when an observer or patch fails at any call", function()
    local failures = 0
    local rounds = random.rounds(ROUNDS // 4, function(rng)
      local source, world = inUse(rng, "source"), inUse(rng, "world")
      local bytes = ecs.saveSnapshot(source)
      local others, left, cause = living(world), 0, nil
      local function observer()
        left = left - 1
        if left == 0 then error(cause, 0) end
      end
      for _, item in ipairs(kit.items) do
        world:onAdd(item.object, observer)
        world:onQueryAdd(item.kind == "relation" and item.object("*") or item.object, observer)
      end
      local before, state = contentOf(world, others, true), ser.state(world)
      -- The last call is patch's.
      local calls, done = 0, false
      while not done do
        calls, left, cause = calls + 1, calls + 1, {}
        local ok, result = pcall(ecs.appendSnapshot, world, bytes, { patch = observer })
        done = ok
        if not ok then
          assert.equal(cause, result)
          ser.assertUnchanged(state, world, "a failed append")
          util.checkInvariants(world, traits, relations)
          failures = failures + 1
        else
          deep.assertSame(contentOf(source, living(source)), contentOf(world, result), "afterwards")
          deep.assertSame(before, contentOf(world, others, true), "what was there")
        end
      end
      world:close()
    end)
    assert.is_true(failures > 4 * rounds, "only " .. failures .. " failures")
  end)

  -- A world with an older relation's bytes, where each pair calls `hook` for its new field.
  local function hooked(pairCount)
    local Old = ecs.relation { store = { n = 0 } }
    local source <close> = ser.world { R = { relation = Old } }
    local target = source:spawn()
    for i = 1, pairCount do source:spawn(Old(target, { n = 6 + i })) end
    local state = {}
    local R = ecs.relation { store = {
      n = 0, tag = function() return state.hook and state.hook() or "new" end,
    } }
    local world = ser.world { R = { relation = R } }
    return world, R, ecs.saveSnapshot(source), state
  end

  it("by a factory leaves the world as it was", function()
    local world <close>, R, bytes, state = hooked(5)
    local e = world:spawn(R(world:spawn()))
    local hash = ecs.hashWorld(world)
    for k = 1, 5 do
      local left = k
      state.hook = function()
        left = left - 1
        if left == 0 then error("factory", 0) end
      end
      assert.equal("factory", ser.catch(ecs.appendSnapshot, world, bytes))
      assert.equal(hash, ecs.hashWorld(world))
    end
    state.hook = nil
    local list = ecs.appendSnapshot(world, bytes)
    assert.same({ n = 8, tag = "new" }, world:get(list[3], R(list[1])))
    assert.equal(1, #world:targets(e, R))
  end)

  it("a factory cannot make pairs and entities get lost or mixed up", function()
    local world <close>, R, bytes, state = hooked(40)
    local list = {}
    for i = 1, 100 do list[i] = world:spawn() end
    local mine
    state.hook = function()
      state.hook = nil
      mine = world:spawn()
      for i = 1, 100 do world:add(list[i], R(list[101 - i], { n = -i, tag = "mine" })) end
    end
    local ok, new = pcall(ecs.appendSnapshot, world, bytes)
    state.hook = nil
    if ok then   -- it may be allowed, if it does no harm
      for i = 2, 41 do
        assert.same({ n = 5 + i, tag = "new" }, world:get(new[i], R(new[1])))
      end
    end
    for i = 1, 100 do
      local data = world:get(list[i], R(list[101 - i]))
      assert.is_true(data == nil or data.n == -i and data.tag == "mine")
    end
    assert.is_true(mine == nil or world:isAlive(mine))
    util.checkInvariants(world, {}, { R })
    -- And one that fails after it spawned.
    local count, spawned = world:count(), nil
    state.hook = function()
      spawned = world:spawn()
      error("factory", 0)
    end
    assert.is_false(pcall(ecs.appendSnapshot, world, bytes))
    assert.equal(count + (spawned and 1 or 0), world:count())
    assert.is_true(spawned == nil or world:isAlive(spawned))
    util.checkInvariants(world, {}, { R })
  end)

  it("leaves a context that escaped dead", function()
    local escaped
    local C = ecs.trait(function() return {} end)
    local world <close> = ser.world { C = { trait = C, codec = {
      toJSON = function() return 1 end,
      fromJSON = function(_, ctx) escaped = ctx error("no", 0) end,
    } } }
    for _ = 1, 1000 do world:spawn(C) end
    local bytes = ecs.saveSnapshot(world)
    for _, fn in ipairs { ecs.appendSnapshot, ecs.loadSnapshot } do
      assert.is_false(pcall(fn, world, bytes))
      util.collectAll()
      local err = ser.catch(escaped.entity, 999)
      assert.truthy(tostring(err):find("over", 1, true), tostring(err))
    end
  end)
end)

describe("appendSnapshot", function()
  it("names what is wrong with its arguments", function()
    local T = ecs.trait { n = 0 }
    local world <close> = ser.world { T = T }
    world:spawn(T)
    local bytes, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
    for _, case in ipairs {
      { "world expected, got nil" }, { "world expected, got string", bytes, world },
      { "#1 .*snapshot", world }, { "#1 .*snapshot", world, 5 }, { "#2 .*table", world, bytes, 5 },
      { "'keys'", world, bytes, { keys = "keep" } }, { "'keys'", world, bytes, { keys = 1 } },
      { "'offset'", world, bytes, { offset = 1 } }, { "'patch'", world, bytes, { patch = {} } },
      { "dangling", world, bytes, { dangling = "drop" } }, { "nope", world, bytes, { nope = 1 } },
    } do
      util.fails("appendSnapshot", case[1], function()
        ecs.appendSnapshot(case[2], case[3], case[4])
      end)
    end
    for _, damaged in ipairs { "", "x", bytes:sub(1, -2), bytes .. "\0", (bytes:gsub("T", "U")) } do
      local e = ser.raises("appendSnapshot", "malformed", {}, ecs.appendSnapshot, world, damaged)
      assert.equal("integer", math.type(e.offset))
    end
    ser.raises("appendSnapshot", "malformed", {}, ecs.appendSnapshot, world, {})
    local other <close> = ser.world { U = T }
    ser.raises("appendSnapshot", "unknown-trait", { "T" }, ecs.appendSnapshot, other, bytes)
    assert.equal(hash, ecs.hashWorld(world))
    assert.equal(1, #ecs.appendSnapshot(world, bytes, {
      keys = "error", offset = {}, patch = function() end, dangling = "error",
    }))
    world:close()
    util.fails("appendSnapshot", "closed", function() ecs.appendSnapshot(world, bytes) end)
  end)
end)
