-- Scenes: snapshots that are parsed once and added many times, and what observers see of it.

local ecs = require "ecsser"
local child = require "spec.support.world_child"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local Pos, Name = ecs.trait { x = 0.0, y = 0.0 }, ecs.trait { text = "", n = 0 }
local Bag, Tag = ecs.trait(function() return {} end), ecs.trait()
local Aim = ecs.trait { at = ecs.null }
local ChildOf = ecs.relation { exclusive = true, autoDestroy = "orphan" }
local Likes = ecs.relation { store = { much = 1 } }
local TRAITS <const>, RELATIONS <const> = { Pos, Name, Bag, Tag, Aim, ecs.Key }, { ChildOf, Likes }

local function newWorld()
  return ser.world {
    Pos = Pos, Name = Name, Bag = Bag, Tag = Tag, Aim = { trait = Aim, refs = { "at" } },
    ChildOf = ChildOf, Likes = Likes, Key = ecs.Key,
  }
end

-- A tower: a root, a turret on it, a gun on that which aims at the root.
local function buildTower(world)
  local root = world:spawn(Pos { x = 1.0 }, Name { text = "tower" }, Tag)
  local turret = world:spawn(Pos { y = 2.0 }, Name { text = "turret", n = 1 }, ChildOf(root))
  local gun = world:spawn(Name { text = "gun", n = 2 }, ChildOf(turret), Likes(root, { much = 5 }),
    Aim { at = root }, Bag { rounds = { 1, 2.5 } })
  return { root, turret, gun }
end

local function checkTower(world, list, x)
  deep.assertSame({ x = x or 1.0, y = 0.0 }, world:get(list[1], Pos))
  deep.assertSame({ text = "turret", n = 1 }, world:get(list[2], Name))
  assert.same({ list[1] }, world:targets(list[2], ChildOf))
  assert.same({ list[2] }, world:targets(list[3], ChildOf))
  assert.same({ list[3] }, world:sources(list[1], Likes))
  assert.equal(5, world:get(list[3], Likes(list[1]), "much"))
  assert.equal(list[1], world:get(list[3], Aim, "at"))
  deep.assertSame({ rounds = { 1, 2.5 } }, world:get(list[3], Bag))
end

describe("a scene", function()
  local source, tower

  before_each(function()
    source = newWorld()
    source:destroy(source:spawn())
    source:spawn(Tag)
    tower = buildTower(source)
    source:add(Name { text = "the world's own" })
  end)

  after_each(function() source:close() end)

  local function towerOnly(entity) return source:has(entity, Name) end

  it("does not depend on where its entities were, nor grow with their world", function()
    local fresh <close> = newWorld()
    local large <close> = newWorld()
    for _ = 1, 5000 do large:spawn() end
    buildTower(fresh)
    buildTower(large)
    large:add(Name { text = "the world's own" })
    fresh:add(Name { text = "the world's own" })
    local options = { filter = { ecs.Or(Name, ecs.Key) } }
    assert.equal(ecs.scene(fresh, options).bytes, ecs.scene(large, options).bytes)
  end)

  it("is a snapshot with these options", function()
    local options = { filter = towerOnly, meta = { by = "test" } }
    local scene = ecs.scene(source, options)
    assert.equal(3, scene.entityCount)
    assert.same({ "Aim", "Bag", "ChildOf", "Likes", "Name", "Pos", "Tag" }, scene.traitNames)
    assert.same({ by = "test" }, ecs.inspectSnapshot(scene.bytes).meta)
    local again = ecs.scene(scene.bytes)
    assert.equal(scene.bytes, again.bytes)
    assert.equal(3, again.entityCount)
    assert.same(scene.traitNames, again.traitNames)
    local world <close> = newWorld()
    ecs.loadSnapshot(world, scene.bytes)
    checkTower(world, world:query(Name))
    local all, none = ecs.scene(source), ecs.scene(ecs.saveSnapshot(ser.world {}))
    assert.equal(4, all.entityCount)
    assert.equal(0, none.entityCount)
    assert.same({}, none.traitNames)
    assert.same({}, none:instantiate(world))
  end)

  it("comes alive in any world, as often as wanted", function()
    local scene = ecs.scene(source, { filter = towerOnly })
    local one <close> = newWorld()
    local two <close> = newWorld()
    two:spawn(Tag)
    for i = 1, 5 do
      checkTower(one, scene:instantiate(one))
      checkTower(two, scene:instantiate(two, { offset = { Pos = { x = i } } }), 1.0 + i)
      checkTower(source, scene:instantiate(source))
    end
    assert.same({ 15, 16, 19 }, { one:count(), two:count(), source:count() })
    assert.is_false(one:has(Name))
    assert.equal("the world's own", source:get(Name, "text"))
    for _, world in ipairs { one, two, source } do
      util.checkInvariants(world, TRAITS, RELATIONS)
    end
    checkTower(source, tower)
  end)

  it("does what appendSnapshot does", function()
    local a <close> = newWorld()
    local b <close> = newWorld()
    for _, world in ipairs { a, b } do
      for _ = 1, 3 do buildTower(world) end
      world:destroy(world:query(Tag)[2])
    end
    local scene = ecs.scene(source)
    for i = 1, 3 do
      local options = { offset = { Pos = { x = i, y = 0.5 }, Likes = { much = 1 } } }
      local list, other = scene:instantiate(a, options),
        ecs.appendSnapshot(b, scene.bytes, options)
      for k = 1, 4 do assert.equal(util.slot(list[k]), util.slot(other[k])) end
      assert.equal(ecs.hashWorld(a), ecs.hashWorld(b))
    end
  end)

  it("does not depend on its world, and holds on to what it needs", function()
    local scene = ecs.scene(source, { filter = towerOnly })
    source:set(tower[1], Pos, "x", 99.0)
    source:destroy(tower[1])
    local world <close> = newWorld()
    checkTower(world, scene:instantiate(world))
    source:close()
    util.collectAll()
    checkTower(world, scene:instantiate(world))
    -- Collected while it is at work.
    local weak = setmetatable({ scene }, { __mode = "v" })
    world:onAdd(Pos, function()
      scene = nil
      util.collectAll()
    end)
    checkTower(world, (function() return scene:instantiate(world) end)())
    util.collectAll()
    assert.is_nil(weak[1])
  end)

  it("keeps cascades", function()
    local world <close> = newWorld()
    local scene = ecs.scene(source, { filter = towerOnly })
    local first, second = scene:instantiate(world), scene:instantiate(world)
    world:destroy(first[1])
    for i = 1, 3 do assert.is_false(world:isAlive(first[i])) end
    checkTower(world, second)
    assert.equal(3, world:count())
  end)

  it("may be made of scenes", function()
    local world <close> = newWorld()
    local scene = ecs.scene(source, { filter = towerOnly })
    local yard = newWorld()
    local castle = yard:spawn(Name { text = "castle" })
    for i = 1, 4 do
      scene:instantiate(yard, { offset = { Pos = { x = 10 * i } }, patch = function(entities)
        yard:add(entities[1], ChildOf(castle))
      end })
    end
    local castles = ecs.scene(yard)
    yard:close()
    for i = 1, 2 do
      local list = castles:instantiate(world, { offset = { Pos = { y = 100 * i } } })
      assert.equal(13, #list)
      assert.same({ list[2], list[5], list[8], list[11] }, world:sources(list[1], ChildOf))
      for k = 1, 4 do
        deep.assertSame({ x = 1.0 + 10 * k, y = 100.0 * i }, world:get(list[3 * k - 1], Pos))
        assert.equal(list[3 * k - 1], world:get(list[3 * k + 1], Aim, "at"))
      end
    end
    world:destroy(world:query(Name, ecs.Not(ChildOf("*")))[1])
    assert.equal(13, world:count())
  end)

  it("names what is wrong, and cannot be changed", function()
    local scene, world = ecs.scene(source), newWorld()
    util.fails("scene", "", function() ecs.scene() end)
    util.fails("scene", "world or snapshot bytes expected, got number", function() ecs.scene(5) end)
    util.fails("scene", "nope", function() ecs.scene(source, { nope = 1 }) end)
    ser.raises("scene", "malformed", {}, ecs.scene, "no snapshot")
    ser.raises("scene", "malformed", {}, ecs.scene, scene.bytes:sub(1, -2))
    local made = scene.instantiate
    util.fails("instantiate", "scene expected, got nothing", function() made() end)
    for _, wrong in ipairs { 1, "x", {}, io.stdout, world, Tag, ecs.null, print } do
      util.fails("instantiate", "scene expected", function() made(wrong, world) end)
    end
    util.fails("instantiate", "world expected, got nil", function() scene:instantiate() end)
    util.fails("instantiate", "world expected, got scene", function() scene:instantiate(scene) end)
    util.fails("instantiate", "keys", function() scene:instantiate(world, { keys = 1 }) end)
    local foreign <close> = ser.world { Pos = Pos }
    ser.raises("instantiate", "unknown-trait", { "Aim" }, scene.instantiate, scene, foreign)
    world:close()
    util.fails("instantiate", "closed", function() scene:instantiate(world) end)
    assert.is_false(pcall(function() scene.bytes = "" end))
    assert.is_nil(scene.nope)
    assert.is_nil(scene[1])
    assert.truthy(tostring(scene):find("scene", 1, true))
    assert.is_false(getmetatable(scene))
    table.remove(scene.traitNames)
    local other <close> = newWorld()
    assert.equal(4, #scene:instantiate(other))
  end)
end)

describe("patch", function()
  local world, scene

  before_each(function()
    world = newWorld()
    buildTower(world)
    scene = ecs.scene(world)
  end)

  after_each(function() world:close() end)

  it("gets the new entities, finished, once; it may change them", function()
    local calls, inside = 0, nil
    local list = scene:instantiate(world, {
      offset = { Pos = { x = 1 } },
      patch = function(entities, ...)
        calls, inside = calls + 1, entities
        assert.equal(0, select("#", ...))
        checkTower(world, entities, 2.0)
        world:set(entities[1], Name, "text", "patched")
        world:destroy(entities[3])
        world:add(entities[2], Tag, Likes(world:spawn(), { much = 7 }), ecs.Key "turret")
      end,
    })
    assert.equal(1, calls)
    assert.same(inside, list)
    assert.equal("patched", world:get(list[1], Name, "text"))
    assert.is_false(world:isAlive(list[3]))
    assert.equal(list[2], world:find "turret")
    util.checkInvariants(world, TRAITS, RELATIONS)
  end)

  it("may instantiate again and save, but not load, reset, close or yield", function()
    local inner
    scene:instantiate(world, { patch = function()
      inner = scene:instantiate(world)
      assert.equal(3, #inner)
      checkTower(world, inner)
      local bytes = ecs.saveSnapshot(world)
      util.fails("loadSnapshot", "callback", function() ecs.loadSnapshot(world, bytes) end)
      util.fails("reset", "callback", function() world:reset() end)
      util.fails("close", "callback", function() world:close() end)
    end })
    assert.equal(9, world:count())
    local ok, err = coroutine.wrap(function()
      return pcall(scene.instantiate, scene, world, { patch = coroutine.yield })
    end)()
    assert.is_false(ok)
    assert.truthy(tostring(err):find("patch must not yield", 1, true))
    assert.equal(9, world:count())
    util.checkInvariants(world, TRAITS, RELATIONS)
  end)

  it("that fails takes back what came and what it did to it, whatever it raises", function()
    local before = ser.state(world)
    for _, value in ipairs { "text", {}, 5, false } do
      util.raisesValue(value, function()
        scene:instantiate(world, { patch = function(entities)
          scene:instantiate(world, { patch = function(others)
            world:destroy(others[1])   -- and by the cascade the others
          end })
          world:add(entities[1], Likes(entities[3]), ecs.Key "gone")
          world:destroy(entities[2])
          error(value, 0)
        end })
      end)
      ser.assertUnchanged(before, world, "a failed patch")
      assert.is_nil(world:find "gone")
    end
    util.checkInvariants(world, TRAITS, RELATIONS)
  end)
end)

describe("observers of what a scene brings", function()
  local traits = { B = Pos, A = Tag, Z = Bag, R = Likes, Early = ChildOf, Key = ecs.Key }
  local scene

  setup(function()
    local source <close> = ser.world(traits)
    for _ = 1, 4 do source:spawn() end
    for _ = 1, 4 do source:destroy(source:entities()[2]) end
    local third = source:spawn(Tag)                        -- slot 4, the last one freed
    local second = source:spawn(Bag { 1 }, Pos { x = 2 })  -- slot 3
    local first = source:spawn(Pos { x = 1 }, Tag, ecs.Key "first")   -- slot 2
    source:add(third, Likes(second, { much = 1 }), Likes(first, { much = 2 }), ChildOf(first))
    source:add(first, Likes(third, { much = 3 }))
    source:add(Pos { x = 50 })
    scene = ecs.scene(source)
  end)

  local function watched()
    local world, log = ser.world(traits), {}
    world:spawn(Tag)   -- the new ones get the slots 2, 3 and 4
    for name, trait in pairs(traits) do
      for _, event in ipairs { "onAdd", "onRemove", "onChange" } do
        world[event](world, trait, function(entity, target)
          log[#log + 1] = ("%s %s %d%s"):format(event, name, util.slot(entity),
            target and ">" .. util.slot(target) or "")
        end)
      end
    end
    local queries = { B = { Pos }, ["A-B"] = { Tag, ecs.Not(Pos) }, R = { Likes "*" } }
    for _, name in ipairs { "B", "A-B", "R" } do
      for _, event in ipairs { "onQueryAdd", "onQueryRemove" } do
        world[event](world, queries[name], function(entity)
          log[#log + 1] = ("%s %s %d"):format(event, name, util.slot(entity))
        end)
      end
    end
    return world, log
  end

  local EXPECTED <const> = {
    "onAdd A 2", "onAdd A 4", "onAdd B 2", "onAdd B 3", "onAdd Early 4>2", "onAdd Key 2",
    "onAdd R 2>4", "onAdd R 4>3", "onAdd R 4>2", "onAdd Z 3",
    "onQueryAdd B 2", "onQueryAdd R 2", "onQueryAdd B 3", "onQueryAdd A-B 4", "onQueryAdd R 4",
  }

  it("P9 are told once, by name, then ascending, then for queries", function()
    local world <close>, log = watched()
    scene:instantiate(world, { offset = { B = { x = 3 } } })
    assert.same(EXPECTED, log)
    local n = #log
    ecs.appendSnapshot(world, scene.bytes, { keys = "drop", patch = function() n = #log - n end })
    assert.equal(#EXPECTED - 1, n)   -- all but the key's, and before patch
  end)

  it("see everything in its final state from the first call on", function()
    local world <close> = ser.world(traits)
    local calls = 0
    local function look()
      calls = calls + 1
      local e = world:entities()
      assert.equal(4, #e)
      assert.equal(4.0, world:get(e[2], Pos, "x"))
      assert.equal(5.0, world:get(e[3], Pos, "x"))
      assert.same({ 1 }, world:get(e[3], Bag))
      assert.same({ e[3], e[2] }, world:targets(e[4], Likes))
      assert.same({ e[2] }, world:sources(e[4], Likes))
      assert.same({ e[4] }, world:sources(e[2], ChildOf))
      assert.equal(2, world:get(e[4], Likes(e[2]), "much"))
      assert.equal(e[2], world:find "first")
      assert.same({ e[2], e[3] }, world:query(Pos))
      assert.same({ e[2], e[4] }, world:query(Likes "*"))
    end
    for _, trait in pairs(traits) do
      world:onAdd(trait, look)
      world:onQueryAdd(ecs.isRelation(trait) and trait "*" or trait, look)
    end
    scene:instantiate(world, { offset = { B = { x = 3 } } })
    assert.equal(10 + 9, calls)
  end)

  it("hear of the prefabs among what came as well", function()
    local source <close> = newWorld()
    local world <close> = newWorld()
    source:spawn(ecs.IsExcluded, Tag)
    local log = util.newLog()
    world:onAdd(ecs.IsExcluded, log.note "excluded")
    world:onAdd(Tag, log.note "tag")
    world:onQueryAdd(Tag, log.note "query")
    ecs.appendSnapshot(world, ecs.saveSnapshot(source))
    local entries = log.take()
    table.sort(entries)
    assert.same({ "excluded 1", "tag 1" }, entries)
  end)

  it("when they fail, hear the removal of what they were told, and no more events follow",
    function()
      for k = 1, #EXPECTED do
        local world <close>, log = watched()
        local hash = ecs.hashWorld(world)
        setmetatable(log, { __newindex = function(t, i, text)
          rawset(t, i, text)
          if i == k then error("stop", 0) end
        end })
        util.raisesValue("stop", function() scene:instantiate(world) end)
        for i = 1, k do assert.equal(EXPECTED[i], log[i]) end
        for i = k + 1, #log do assert.is_nil(log[i]:find("Add", 1, true), log[i]) end
        assert.equal(1, world:count())
        assert.is_nil(world:find "first")
        util.checkInvariants(world, { Pos, Tag, Bag, ecs.Key }, RELATIONS)
        assert.is_false(world:has(Pos))
        -- Before the first event nothing had been seen, so that nothing needs to have changed.
        util.raisesValue("stop", function()
          setmetatable(log, { __newindex = function() error("stop", 0) end })
          scene:instantiate(world)
        end)
        assert.equal(1, world:count())
        assert.are_not.equal(hash, ecs.hashWorld(world))   -- generations went on: handles were seen
      end
    end)

  it("may destroy, change and add; the append goes on with what is alive", function()
    for _, trait in pairs(traits) do
      local world <close>, log = watched()
      local inside = false
      local stop = world:onAdd(trait, function(entity)
        if inside then return end
        inside = true
        local all = world:entities()
        world:destroy(all[#all])
        if world:isAlive(entity) then
          world:add(entity, Aim)
          world:remove(entity, Tag)
        end
        world:spawn(Name { text = "new" }, Tag)
        inside = false
      end)
      local list = scene:instantiate(world)
      stop()
      assert.equal(3, #list)
      local seen = {}
      for _, text in ipairs(log) do
        if text:find("onAdd", 1, true) then
          assert.is_nil(seen[text] and not text:find("onAdd A", 1, true) or nil, text)
          seen[text] = true
        end
      end
      util.checkInvariants(world, { Pos, Tag, Bag, ecs.Key, Aim, Name }, RELATIONS)
    end
  end)

  it("may instantiate, subscribe and add, but not register", function()
    local world <close>, log = ser.world(traits), util.newLog()
    local depth = 0
    world:onAdd(Tag, function(entity)
      depth = depth + 1
      if depth == 1 then
        assert.equal(3, #scene:instantiate(world, { keys = "drop" }))
        world:onAdd(Likes, log.note "subscribed meanwhile")
        local many = {}
        for i = 1, 300 do many["More" .. i] = ecs.trait() end
        util.fails("registerTraits", "fixed", function() ecs.registerTraits(world, many) end)
        util.collectAll()
        world:add(entity, Name)
      end
    end)
    world:onAdd(Bag, log.note "bag")
    local list = scene:instantiate(world)
    assert.equal(6, world:count())
    assert.equal(4, depth)
    assert.same({ "bag 5", "subscribed meanwhile 1>3", "subscribed meanwhile 3>2",
      "subscribed meanwhile 3>1", "bag 2" }, log.take())
    assert.equal(list[1], world:find "first")
  end)
end)

describe("many instantiations", function()
  -- Tools that watch the memory keep what was freed.
  local function resident()
    local watched = (os.getenv "RUNNER" or "") ~= "" or os.getenv "LD_PRELOAD"
    local file = not watched and io.open "/proc/self/status"
    local text = file and file:read "a" or ""
    if file then file:close() end
    return tonumber(text:match "VmRSS:%s*(%d+)") or 0
  end

  it("P10 100 000 of them leave nothing behind but handles that stay dead", function()
    local source <close> = newWorld()
    local world <close> = newWorld()
    buildTower(source)
    source:add(source:query(Tag)[1], ecs.Key "tower")
    local scene = ecs.scene(source)
    local kept = buildTower(world)
    local options = { offset = { Pos = { x = 1 } }, keys = "error", patch = function() end }
    local lua, rss, earlier
    for i = 1, 100000 do
      local list = scene:instantiate(world, options)
      if i % 10000 == 0 then checkTower(world, list, 2.0) end
      world:destroy(list[1])   -- and by the cascade the others
      assert(not world:isAlive(list[3]) and (not earlier or earlier ~= list[1]))
      earlier = list[1]
      if i == 20000 then
        util.collectAll()
        lua, rss = collectgarbage "count", resident()
      end
    end
    util.collectAll()
    assert.is_true(collectgarbage "count" - lua < 32, "Lua's memory grew")
    assert.is_true(resident() - rss < 4096, "the process grew")
    assert.equal(3, world:count())
    checkTower(world, kept)
    util.checkInvariants(world, TRAITS, RELATIONS)
  end)

  it("that stay alive are all there, and go at once", function()
    local source <close> = newWorld()
    local world <close> = newWorld()
    buildTower(source)
    local scene = ecs.scene(source)
    local roots = {}
    for i = 1, 10000 do roots[i] = scene:instantiate(world, { offset = { Pos = { x = i } } })[1] end
    assert.equal(30000, world:count())
    for i = 1, 10000, 999 do assert.equal(1.0 + i, world:get(roots[i], Pos, "x")) end
    local copy <close> = newWorld()
    ecs.loadSnapshot(copy, ecs.saveSnapshot(world))
    assert.equal(ecs.hashWorld(world), ecs.hashWorld(copy))
    for _, root in ipairs(roots) do world:destroy(root) end
    assert.equal(0, world:count())
  end)

  it("of scenes that come and go as well", function()
    local how, code, output = child.run([[
      local ecs = require "ecsser"
      local T, R = ecs.trait { n = 0, any = ecs.null }, ecs.relation { store = { n = 0 } }
      local world = ecs.createWorld()
      ecs.registerTraits(world, { T = T, R = { relation = R } })
      for i = 1, 20 do world:spawn(T { n = i, any = { i } }, R(world:spawn())) end
      local bytes, count = ecs.saveSnapshot(world), nil
      for i = 1, 3000 do
        local scene = i % 2 == 0 and ecs.scene(world) or ecs.scene(bytes)
        for _, e in ipairs(scene:instantiate(world)) do world:destroy(e) end
        assert(#scene.bytes >= #bytes)
        if i == 1000 then
          collectgarbage() collectgarbage()
          count = collectgarbage "count"
        end
      end
      collectgarbage() collectgarbage()
      assert(collectgarbage "count" - count < 64, "memory grew")
      local scene <const> = ecs.scene(bytes)   -- alive when the state is closed
      print "fine"
    ]], "-W")
    assert.same({ "exit", 0, "fine\n" }, { how, code, output })
  end)
end)
