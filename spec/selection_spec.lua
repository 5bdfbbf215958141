-- What a snapshot holds: filters, derived entities, references to what is left out, transient
-- traits, prefabs and world-level traits.

local ecs = require "ecsser"
local child = require "spec.support.world_child"
local deep = require "spec.support.deep"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"
local worlds = require "spec.support.worlds"

local ROUNDS <const> = 200

local T, U, Tag = ecs.trait { n = 0 }, ecs.trait { s = "" }, ecs.trait()
local R, ChildOf = ecs.relation { store = { w = 0 } }, ecs.relation { exclusive = true }

local function newWorld(more)
  local world = ser.world { T = T, U = U, Tag = Tag, R = R, ChildOf = ChildOf, Key = ecs.Key }
  ecs.registerTraits(world, more or {})
  return world
end

-- A fresh world (or `into`) with what the options select.
local function loaded(world, options, into)
  into = into or newWorld()
  ecs.loadSnapshot(into, ecs.saveSnapshot(world, options))
  return into
end

local function slots(list)
  local out = {}
  for i, entity in ipairs(list) do out[i] = util.slot(entity) end
  return out
end

-- The slots of all entities but the world entity.
local function contents(world)
  local out = slots(world:entities())
  table.remove(out, 1)
  return out
end

describe("a filter", function()
  local world, e

  before_each(function()
    world, e = newWorld(), {}
    for i = 1, 9 do e[i] = world:spawn(T { n = i }) end
    for i = 2, 9, 2 do world:add(e[i], U { s = "even" }) end
    for i = 3, 9, 3 do world:add(e[i], Tag) end
    world:add(e[5], ChildOf(e[1]))
    world:add(e[6], ChildOf(e[1]))
    world:add(e[9], ecs.IsExcluded)
    world:destroy(e[8])
  end)

  after_each(function() world:close() end)

  it("is a list of terms as for a query", function()
    for _, case in ipairs {
      { {}, { 1, 2, 3, 4, 5, 6, 7 } }, { { T }, { 1, 2, 3, 4, 5, 6, 7 } }, { { U }, { 2, 4, 6 } },
      { { U, ecs.Not(Tag) }, { 2, 4 } }, { { ecs.Not(U) }, { 1, 3, 5, 7 } },
      { { ecs.Or(Tag, U) }, { 2, 3, 4, 6 } }, { { Tag, U }, { 6 } }, { { R "*" }, {} },
      { { ecs.Key }, {} },
    } do
      assert.same(case[2], slots(world:query(case[1])))
      local copy <close> = loaded(world, { filter = case[1], dangling = "null" })
      assert.same(case[2], contents(copy))
      local again = {}
      for i, term in ipairs(case[1]) do again[i] = term end
      assert.same(again, case[1])
    end
    for _, terms in ipairs { { ChildOf(e[1]) }, { ChildOf "*" }, { T, ChildOf(e[1]) } } do
      local copy <close> = loaded(world, { filter = terms, dangling = "null" })
      assert.same({ 5, 6 }, contents(copy))
      assert.same({}, copy:targets(copy:entities()[2], ChildOf))
    end
  end)

  it("is a function of the entity: all that are alive are asked, ascending, once", function()
    local asked = {}
    local copy <close> = loaded(world, { filter = function(entity, ...)
      assert.equal(0, select("#", ...))
      asked[#asked + 1] = entity
      return world:get(entity, T, "n") % 2 == 1 and 0 or nil   -- 0 is true
    end, dangling = "null" })
    assert.same({ e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[9] }, asked)
    assert.same({ 1, 3, 5, 7, 9 }, contents(copy))
    local all = copy:entities()
    assert.is_true(copy:has(all[6], ecs.IsExcluded))
    assert.same({ all[2] }, copy:targets(all[4], ChildOf))
  end)

  it("keeps handles: of what is saved alive, of what is not dead for ever", function()
    local bytes = ecs.saveSnapshot(world, { filter = { U }, dangling = "null" })
    local last = world:spawn()
    ecs.loadSnapshot(world, bytes)
    for i = 1, 9 do assert.equal(i % 2 == 0 and i < 8, world:isAlive(e[i])) end
    assert.is_false(world:isAlive(last))
    local old = util.set(e)
    for _ = 1, 30 do
      local new = world:spawn()
      assert.is_nil(old[new])
      -- 'last' was spawned after the save: the continued run may give its handle again.
      old[new] = true
    end
    for i = 1, 9 do assert.equal(i % 2 == 0 and i < 8, world:isAlive(e[i])) end
  end)

  it("that fails, yields or changes the world: the save fails, nothing has changed", function()
    local hash = ecs.hashWorld(world)
    for _, value in ipairs { "text", {}, 5 } do
      util.raisesValue(value, function()
        ecs.saveSnapshot(world, { filter = function() error(value, 0) end })
      end)
    end
    local err = coroutine.wrap(function()
      return ser.catch(ecs.saveSnapshot, world, { filter = coroutine.yield })
    end)()
    assert.truthy(tostring(err):find("must not yield", 1, true))
    for _, fn in ipairs {
      function() world:spawn() end, function() world:destroy(e[1]) end,
      function() world:set(e[1], T, "n", 5) end, function() world:add(e[1], Tag) end,
      function() world:reset() end, function() world:close() end,
      function() ecs.loadSnapshot(world, "") end,
    } do
      assert.is_false(pcall(ecs.saveSnapshot, world, { filter = fn }))
      assert.equal(hash, ecs.hashWorld(world))
    end
    for _, wrong in ipairs { 1, "T", true, T, world } do
      util.fails("saveSnapshot", "'filter'", function()
        ecs.saveSnapshot(world, { filter = wrong })
      end)
    end
    for _, wrong in ipairs { { 5 }, { "T" }, { R }, { x = T }, { T, nil, U }, { {} } } do
      util.fails("saveSnapshot", "", function() ecs.saveSnapshot(world, { filter = wrong }) end)
    end
    assert.equal(hash, ecs.hashWorld(world))
  end)

  it("may save and look at the world meanwhile", function()
    local copy <close> = loaded(world, { filter = function(entity)
      assert.is_string(ecs.saveSnapshot(world))
      return #world:query(T) == 7 and entity == e[3]
    end })
    assert.same({ 3 }, contents(copy))
  end)
end)

describe("exclude", function()
  it("leaves out the carriers of traits and sources of relations, also filtered ones", function()
    local world <close> = newWorld()
    local a = world:spawn(T)
    world:spawn(T, Tag)
    local c = world:spawn(U, R(a))
    world:spawn(ecs.IsExcluded, T)
    world:add(Tag)
    for _, case in ipairs {
      { { Tag }, { 1, 3, 4 } }, { { R }, { 1, 2, 4 } }, { { Tag, R }, { 1, 4 } },
      { {}, { 1, 2, 3, 4 } },
      { { ecs.IsExcluded }, { 1, 2, 3 } }, { { ecs.trait() }, { 1, 2, 3, 4 } }, { { U, T }, {} },
    } do
      local copy <close> = loaded(world, { exclude = case[1] })
      assert.same(case[2], contents(copy))
      assert.is_true(copy:has(Tag))   -- the world entity is no derived one
    end
    local copy <close> = loaded(world, { exclude = { Tag }, filter = { T } })
    assert.same({ 1 }, contents(copy))
    for _, wrong in ipairs { { 5 }, { "Tag" }, { R(a) }, { ecs.Not(T) }, { x = Tag } } do
      util.fails("saveSnapshot", "exclude", function()
        ecs.saveSnapshot(world, { exclude = wrong })
      end)
    end
    for _, wrong in ipairs { 5, "Tag", Tag, print } do
      util.fails("saveSnapshot", "'exclude'", function()
        ecs.saveSnapshot(world, { exclude = wrong })
      end)
    end
    assert.same({ a }, world:targets(c, R))
  end)

  it("may be asked for by a handler, of that save only", function()
    local world <close> = newWorld()
    local kept, escaped = world:spawn(T), nil
    world:spawn(U)
    ecs.addSnapshotHandler(world, { name = "derived", save = function(_, ctx)
      escaped = ctx
      ctx.exclude(U)
      return { kept = ctx.ref(kept) }
    end })
    local copy <close> = loaded(world)
    assert.same({ 1 }, contents(copy))
    assert.equal(2, world:count())
    assert.is_false(pcall(escaped.exclude, T))
    assert.is_false(pcall(escaped.ref, kept))
  end)
end)

describe("references to what is not saved", function()
  local Ref, Cue = ecs.trait { to = ecs.null, n = 0 }, ecs.trait(function() return {} end)
  local codec = {
    toJSON = function(value, ctx) return { ctx.ref(value[1]), "x" } end,
    fromJSON = function(json, ctx)
      return { json[1] ~= ecs.null and ctx.entity(json[1]) or nil, json[2] }
    end,
  }
  local more = { Ref = { trait = Ref, refs = { "to" } }, Cue = { trait = Cue, codec = codec } }
  local world, lost, kept

  before_each(function()
    world = newWorld(more)
    lost, kept = world:spawn(U), world:spawn(T)
  end)

  after_each(function() world:close() end)

  local cases = {
    { "a field", { "Ref", "to", "slot 2" },
      function() world:add(kept, Ref { to = lost, n = 5 }) end },
    { "a pair", { "R", "slot 2" },
      function() world:add(kept, R(lost, { w = 5 }), R(kept, { w = 6 })) end },
    { "a codec's value", { "Cue", "slot 2" }, function() world:add(kept, Cue { lost }) end },
    { "a field of the world entity", { "Ref", "to", "the world entity" },
      function() world:add(Ref { to = lost }) end },
    { "a codec's value of the world entity", { "Cue", "the world entity" },
      function() world:add(Cue { lost }) end },
  }

  for _, case in ipairs(cases) do
    it("by " .. case[1] .. ": an error, or nothing on demand", function()
      case[3]()
      local hash = ecs.hashWorld(world)
      local whole <close> = loaded(world, nil, newWorld(more))   -- here nothing is left out
      assert.equal(hash, ecs.hashWorld(whole))
      for _, options in ipairs {
        { filter = { T } }, { filter = function(x) return x == kept end, dangling = "error" },
        { exclude = { U } },
      } do
        ser.raises("saveSnapshot", "dangling-ref", case[2], ecs.saveSnapshot, world, options)
      end
      assert.equal(hash, ecs.hashWorld(world))
      local copy <close> = loaded(world, { filter = { T }, dangling = "null" }, newWorld(more))
      local e = copy:entities()[2]
      assert.same({ 2 }, contents(copy))
      if copy:has(e, Ref) then assert.same({ n = 5 }, copy:get(e, Ref)) end
      if copy:has(Ref) then assert.same({ n = 0 }, copy:get(Ref)) end
      if copy:has(e, R "*") then
        assert.same({ e }, copy:targets(e, R))
        assert.equal(6, copy:get(e, R(e), "w"))
      end
      if copy:has(e, Cue) then assert.is_nil(copy:get(e, Cue)[1]) end
      util.checkInvariants(copy, { T, U, Ref, Cue }, { R, ChildOf })
      assert.equal(hash, ecs.hashWorld(world))
    end)
  end

  it("that died: the same, without any filter", function()
    world:add(kept, Ref { to = lost }, Cue { lost })
    world:destroy(lost)
    world:spawn()   -- takes the slot
    ser.raises("saveSnapshot", "dangling-ref", {}, ecs.saveSnapshot, world)
    ser.raises("hashWorld", "dangling-ref", {}, ecs.hashWorld, world)
    local copy <close> = loaded(world, { dangling = "null" }, newWorld(more))
    local e = copy:query(Ref)[1]
    assert.is_nil(copy:get(e, Ref, "to"))
    assert.is_nil(copy:get(e, Cue)[1])
  end)

  it("by a source that is not saved are no matter", function()
    world:add(lost, Ref { to = lost }, R(kept), R(lost), Cue { 5 })
    local copy <close> = loaded(world, { filter = { T } }, newWorld(more))
    assert.same({}, copy:sources(copy:entities()[2], R))
  end)

  it("cannot be declared for a field that cannot hold null", function()
    for _, default in ipairs { 0, 0.5, "", true } do
      local Typed = ecs.trait { to = default }
      ser.raises("registerTraits", "invalid-registration", { "Num", "null" }, ecs.registerTraits,
        ecs.createWorld(), { Num = { trait = Typed, refs = { "to" } } })
    end
  end)
end)

describe("transient traits", function()
  local Cache = ecs.trait { path = function() return { print } end, n = 1 }
  local Seen, Near = ecs.trait(), ecs.relation { store = { d = 0.5 } }
  local Body = ecs.trait(function() return { io.stdout } end)
  local durable = { Cache = Cache, Seen = Seen, Near = { relation = Near }, Body = Body }

  local function entriesFor(how)
    local out = {}
    for name, object in pairs(durable) do
      if type(object) == "table" then out[name] = { relation = object.relation, transient = how }
      else out[name] = { trait = object, transient = how } end
    end
    return out
  end

  -- `plain` makes the values such that they can be saved.
  local function filled(how, plain)
    local world = newWorld(how and entriesFor(how) or durable)
    local a = world:spawn(T { n = 1 }, plain and Cache { path = { 5 }, n = 7 } or Cache { n = 7 },
      Seen, plain and Body { 5 } or Body)
    world:spawn(T { n = 2 }, Near(a, { d = 9.5 }))
    world:add(Seen, Cache { path = { 6 }, n = 8 }, T)
    return world
  end

  local function names(bytes)
    local out = {}
    for i, trait in ipairs(ecs.inspectSnapshot(bytes).traits) do out[i] = trait.name end
    return out
  end

  it("are not saved, and no error", function()
    local world <close> = filled(true)
    local bytes = ecs.saveSnapshot(world)
    assert.same({ "T" }, names(bytes))
    assert.is_nil(bytes:find("Cache", 1, true))
    local hash = ecs.hashWorld(world)
    world:set(world:query(T)[1], Cache, "n", 99)
    world:remove(world:query(T)[1], Seen)
    assert.equal(hash, ecs.hashWorld(world))
    ecs.loadSnapshot(world, bytes)
    for _, entity in ipairs(world:query(T)) do
      for _, trait in ipairs { Cache, Seen, Body } do assert.is_false(world:has(entity, trait)) end
      assert.same({}, world:targets(entity, Near))
    end
    assert.is_false(world:has(Cache) or world:has(Seen))
    assert.equal(2, world:count())
    util.checkInvariants(world, { T, Cache, Seen, Body }, { Near })
    assert.is_true(pcall(ecs.saveJSON, world))
  end)

  it('"default": come again with their default values, by load and by append', function()
    local world <close> = filled "default"
    local bytes = ecs.saveSnapshot(world)
    assert.same({ "Body", "Cache", "Near", "Seen", "T" }, names(bytes))
    for _, trait in ipairs(ecs.inspectSnapshot(bytes).traits) do
      assert.equal(trait.name == "T" and 1 or 0, #trait.fields)
    end
    local copy <close> = newWorld(entriesFor "default")
    ecs.loadSnapshot(copy, bytes)
    local e = copy:query(T)
    local function check(a, b)
      assert.same({ path = { print }, n = 1 }, copy:get(a, Cache))
      assert.same({ io.stdout }, copy:get(a, Body))
      assert.is_true(copy:has(a, Seen))
      assert.same({ a }, copy:targets(b, Near))
      assert.equal(0.5, copy:get(b, Near(a), "d"))
      assert.is_false(copy:has(b, Cache))
    end
    check(e[1], e[2])
    assert.same({ path = { print }, n = 1 }, copy:get(Cache))
    assert.equal(bytes, ecs.saveSnapshot(copy))
    copy:set(Cache, "n", 5)
    local list = ecs.appendSnapshot(copy, bytes)
    check(list[1], list[2])
    assert.is_false(rawequal(copy:get(list[1], Cache, "path"), copy:get(e[1], Cache, "path")))
    assert.equal(5, copy:get(Cache, "n"))
    util.checkInvariants(copy, { T, Cache, Seen, Body }, { Near })
  end)

  it("may have been durable, and become it", function()
    local world <close> = filled(nil, true)
    local bytes = ecs.saveSnapshot(world)
    for _, how in ipairs { true, "default" } do
      local copy <close> = newWorld(entriesFor(how))
      ecs.loadSnapshot(copy, bytes)
      local e = copy:query(T)[1]
      assert.equal(how == "default", copy:has(e, Cache))
      assert.equal(how == "default" and 1 or nil, copy:get(e, Cache, "n"))
      assert.equal(how == "default", copy:has(Seen))
      assert.equal(how == "default" and 1 or 0, #copy:query(Near "*"))
      local list = ecs.appendSnapshot(copy, bytes)
      assert.equal(how == "default" and 1 or nil, copy:get(list[1], Cache, "n"))
      local other <close> = filled(how)
      local back <close> = newWorld(durable)
      ecs.loadSnapshot(back, ecs.saveSnapshot(other))
      assert.equal(how == "default" and 1 or nil, back:get(back:query(T)[1], Cache, "n"))
    end
  end)

  it("whose factory fails stop the load, which changes nothing", function()
    local fail
    local Made = ecs.trait(function() if fail then error(fail, 0) end return 1 end)
    local world <close> = newWorld { Made = { trait = Made, transient = "default" } }
    for _ = 1, 3 do world:spawn(Made) end
    local bytes = ecs.saveSnapshot(world)
    world:destroy(world:query(Made)[2])
    local hash = ecs.hashWorld(world)
    fail = {}
    for _, fn in ipairs { ecs.loadSnapshot, ecs.appendSnapshot } do
      util.raisesValue(fail, function() fn(world, bytes) end)
      assert.equal(hash, ecs.hashWorld(world))
    end
    fail = nil
    ecs.loadSnapshot(world, bytes)
    assert.equal(3, #world:query(Made))
  end)

  it("are registered as such: true, false or \"default\", without codec and refs", function()
    local world <close> = ecs.createWorld()
    local codec = { toJSON = print, fromJSON = print }
    for _, wrong in ipairs { "true", 1, {}, "Default" } do
      ser.raises("registerTraits", "invalid-registration", { "X" }, ecs.registerTraits, world,
        { X = { trait = ecs.trait(), transient = wrong } })
    end
    for _, how in ipairs { true, "default" } do
      ser.raises("registerTraits", "invalid-registration", { "X" }, ecs.registerTraits, world,
        { X = { trait = T, transient = how, codec = codec } })
      ser.raises("registerTraits", "invalid-registration", { "X" }, ecs.registerTraits, world,
        { X = { trait = ecs.trait { to = ecs.null }, transient = how, refs = { "to" } } })
    end
    ecs.registerTraits(world, { X = { trait = T, transient = false } })
    ser.raises("registerTraits", "duplicate-name", { "X" }, ecs.registerTraits, world,
      { X = { trait = T, transient = true } })
    -- A key has no default: two entities cannot have the same.
    ser.raises("registerTraits", "invalid-registration", { "K" }, ecs.registerTraits, world,
      { K = { trait = ecs.Key, transient = "default" } })
  end)

  it("a snapshot that says who has a key, but not which, is refused", function()
    local how, code, output = child.run [[
      local ecs = require "ecsser"
      local function newWorld()
        local world = ecs.createWorld()
        ecs.registerTraits(world, { Key = ecs.Key })
        return world
      end
      local source, target = newWorld(), newWorld()
      source:spawn(ecs.Key "hero")
      local tree = ecs.saveSnapshot(source, { format = "table" })
      tree.body.traits.Key.columns = {}
      for _, fn in ipairs { ecs.loadSnapshot, ecs.appendSnapshot } do
        local ok, err = pcall(fn, target, tree)
        print(ok, ecs.isSerializeError(err) and err.code, target:count())
      end
    ]]
    local line = "false\tmalformed\t0\n"
    assert.same({ "exit", 0, line .. line }, { how, code, output })
  end)
end)

describe("keys", function()
  it("under a codec or migrate either work or are refused at once", function()
    for _, options in ipairs {
      { codec = { toJSON = string.upper, fromJSON = string.lower } },
      { version = 2, migrate = function(key) return "new " .. key end },
    } do
      options.trait = ecs.Key
      local plain <close> = ser.world { Key = ecs.Key }
      local world <close>, other = ecs.createWorld(), ecs.createWorld()
      plain:spawn(ecs.Key "hero")
      if pcall(ecs.registerTraits, world, { Key = options }) then
        ecs.registerTraits(other, { Key = options })
        if options.migrate then
          ecs.loadSnapshot(world, ecs.saveSnapshot(plain))
          assert.truthy(world:find "new hero")
        else
          world:spawn(ecs.Key "hero")
          ecs.loadSnapshot(other, ecs.saveSnapshot(world))
          assert.truthy(other:find "hero")
        end
      end
      other:close()
    end
  end)
end)

describe("prefabs and the world entity", function()
  it("prefabs are saved, loaded and appended as prefabs", function()
    local world <close> = newWorld()
    local prefab = world:spawn(ecs.IsExcluded, T { n = 5 }, ecs.Key "prefab")
    local part = world:spawn(ecs.IsExcluded, ChildOf(prefab))
    world:spawn(T { n = 6 }, R(prefab, { w = 1 }))
    local copy <close> = loaded(world)
    assert.equal(ecs.hashWorld(world), ecs.hashWorld(copy))
    local e = copy:entities()
    assert.same({ true, true, false }, { copy:has(e[2], ecs.IsExcluded),
      copy:has(e[3], ecs.IsExcluded), copy:has(e[4], ecs.IsExcluded) })
    assert.same({ e[4] }, copy:query(T))
    assert.same({ e[3] }, copy:sources(e[2], ChildOf))
    assert.equal(5, copy:get(e[2], T, "n"))
    assert.equal(e[2], copy:find "prefab")
    local list = ecs.appendSnapshot(copy, ecs.saveSnapshot(world), { keys = "drop" })
    assert.same({ e[4], list[3] }, copy:query(T))
    assert.is_true(copy:has(list[1], ecs.IsExcluded) and copy:has(list[2], ecs.IsExcluded))
    util.checkInvariants(copy, { T, ecs.IsExcluded, ecs.Key }, { R, ChildOf })
    -- Only the function sees them.
    local scene = ecs.scene(world, { filter = function(x)
      return x == prefab or world:has(x, ChildOf(prefab))
    end })
    assert.equal(2, scene.entityCount)
    list = scene:instantiate(copy, { keys = "drop", patch = function(entities)
      for _, entity in ipairs(entities) do copy:remove(entity, ecs.IsExcluded) end
    end })
    assert.same({ e[4], list[1] }, { copy:query(T)[1], copy:query(T)[3] })
    assert.is_true(world:isAlive(part))
  end)

  it("the world's own traits are saved with every selection, and replaced by a load", function()
    local world <close> = newWorld()
    world:add(T { n = 1 }, Tag)
    world:spawn(T { n = 2 })
    for _, options in ipairs {
      {}, { filter = { U } }, { filter = function() return false end }, { exclude = { T } },
    } do
      local copy <close> = newWorld()
      copy:add(T { n = 9 }, U { s = "gone" })
      loaded(world, options, copy)
      assert.equal(1, copy:get(T, "n"))
      assert.is_true(copy:has(Tag))
      assert.is_false(copy:has(U))
      assert.equal(next(options) and 0 or 1, copy:count())
    end
  end)

  it("what nobody registered is an error only where it is saved", function()
    local Other, Ignored = ecs.trait { fn = function() return print end }, ecs.relation()
    local world <close> = newWorld()
    ecs.ignoreTraits(world, { Ignored })
    local a = world:spawn(T)
    local b = world:spawn(U, Other)
    world:add(a, Ignored(b))
    ser.raises("saveSnapshot", "unregistered-trait", { "slot 2" }, ecs.saveSnapshot, world)
    for _, options in ipairs { { filter = { T } }, { exclude = { Other } }, { exclude = { U } } } do
      local copy <close> = loaded(world, options)
      assert.same({ 1 }, contents(copy))
    end
    world:destroy(b)
    world:add(Other)
    ser.raises("saveSnapshot", "unregistered-trait", { "the world entity" }, ecs.saveSnapshot,
      world, { filter = { T } })
  end)
end)

describe("random selections", function()
  it("P1 hold what they hold: saved again they are the same bytes, for generations", function()
    local kit = worlds.kit()
    local function kitWorld()
      local world = oracle.world(kit)
      ecs.ignoreTraits(world, { kit.unregistered })
      return world
    end
    random.rounds(ROUNDS, function(rng)
      local world = worlds.fill(rng, kit, kitWorld(), { size = 25 })
      for _, item in ipairs(kit.items) do   -- their references may lead anywhere
        if item.kind ~= "relation" and world:has(item.object) then world:remove(item.object) end
      end
      for _, name in ipairs { "Intent", "Two", "Threat" } do
        for _, entity in ipairs(world:query(oracle.item(kit, name).object)) do
          world:remove(entity, oracle.item(kit, name).object)
        end
      end
      local chosen = {}
      for _, entity in ipairs(world:entities()) do chosen[entity] = rng:chance(60) end
      local options = {
        filter = function(entity) return chosen[entity] end, dangling = "null",
        exclude = rng:chance(50) and { rng:pick(kit.items).object } or nil,
        meta = { seed = rng.seed },
      }
      local hash = ecs.hashWorld(world)
      local bytes = ecs.saveSnapshot(world, options)
      assert.equal(bytes, ecs.saveSnapshot(world, options))
      local second, third = kitWorld(), kitWorld()
      ecs.loadSnapshot(second, bytes)
      assert.equal(bytes, ecs.saveSnapshot(second, { meta = { seed = rng.seed } }))
      ecs.loadSnapshot(third, ecs.saveSnapshot(second, { format = "table" }))
      assert.equal(ecs.hashWorld(second), ecs.hashWorld(third))
      local wanted = {}
      for i, entity in ipairs(world:entities()) do
        local derived = false
        for _, trait in ipairs(options.exclude or {}) do
          derived = derived or world:has(entity, ecs.isRelation(trait) and trait "*" or trait)
        end
        if i > 1 and chosen[entity] and not derived then wanted[#wanted + 1] = entity end
      end
      assert.same(slots(wanted), contents(second))
      for i, entity in ipairs(second:entities()) do
        for _, item in ipairs(i > 1 and kit.items or {}) do
          if item.kind ~= "relation" then
            deep.assertSame(world:get(wanted[i - 1], item.object),
              second:get(entity, item.object), item.name)
          end
        end
      end
      assert.equal(hash, ecs.hashWorld(world))
      for _, w in ipairs { world, second, third } do w:close() end
    end)
  end)
end)
