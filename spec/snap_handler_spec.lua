-- Handlers of subsystems, and custom data: what they save and load, in which order, and that a
-- failure of any of them brings everything back.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local T, Tag = ecs.trait { x = 0 }, ecs.trait()

local function newWorld(more)
  local world = ser.world { T = T, Tag = Tag, Key = ecs.Key }
  if more then ecs.registerTraits(world, more) end
  return world
end

describe("a handler", function()
  local world

  before_each(function() world = newWorld() end)
  after_each(function() world:close() end)

  it("saves and loads its own data, references included", function()
    local a, b, got = world:spawn(T), world:spawn(T), nil
    ecs.addSnapshotHandler(world, { name = "path", save = function(w, ctx)
      assert.equal(world, w)
      return { from = ctx.ref(a), to = ctx.ref(b), list = { 1, 2.0, "x\xFF", ecs.null }, e = {} }
    end, load = function(w, value, ctx)
      assert.equal(world, w)
      got = { from = ctx.entity(value.from), to = ctx.entity(value.to), list = value.list }
      assert.equal(ctx.entity(value.from + 0.0), got.from)
    end })
    local bytes = ecs.saveSnapshot(world)
    world:destroy(a)
    world:spawn(T)
    ecs.loadSnapshot(world, bytes)
    deep.assertSame({ from = a, to = b, list = { 1, 2.0, "x\xFF", ecs.null } }, got)
    assert.is_true(ser.isMarked(got.list))
    local tree = ecs.saveSnapshot(world, { format = "table" })
    got = nil
    ecs.loadSnapshot(world, tree)
    assert.equal(a, got.from)
    assert.same({ from = 1, to = 2, list = { 1, 2.0, "x\xFF", ecs.null }, e = {} },
      tree.body.data.path)
  end)

  it("is told in order: save in the order of adding, the world first, then load, then finish",
    function()
      local e, log = world:spawn(T { x = 5 }), {}
      world:onAdd(T, function() log[#log + 1] = "replay" end)
      for _, name in ipairs { "b", "a", "c" } do
        ecs.addSnapshotHandler(world, { name = name,
          save = function() log[#log + 1] = "save " .. name return name end,
          load = function(w, value)
            assert.equal(name, value)
            assert.equal(5, w:get(e, T, "x"))
            log[#log + 1] = "load " .. name
          end,
          finish = function(w, header)
            assert.equal(world, w)
            assert.equal("ecsser-snapshot", header.format)
            assert.equal("meta", header.meta[1])
            assert.same({ other = 1 }, header.data)
            log[#log + 1] = "finish " .. name
          end })
      end
      local bytes = ecs.saveSnapshot(world, { meta = { "meta" }, data = { other = 1 } })
      world:set(e, T, "x", 6)
      ecs.loadSnapshot(world, bytes, { replay = true })
      assert.same({ "save b", "save a", "save c", "load b", "load a", "load c", "replay",
        "finish b", "finish a", "finish c" }, log)
    end)

  it("gets nil when the snapshot has nothing of it, and leaves to others what is theirs", function()
    local plain, got = ecs.saveSnapshot(world, { data = { theirs = { 1 } } }), {}
    ecs.addSnapshotHandler(world, { name = "mine", load = function(_, value, ctx, ...)
      got[#got + 1] = { value, type(ctx), select("#", ...) }
    end })
    local header = ecs.loadSnapshot(world, plain)
    assert.same({ { nil, "table", 0 } }, got)
    assert.same({ theirs = { 1 } }, header.data)
    ecs.addSnapshotHandler(world, { name = "theirs", save = function() return nil end })
    header = ecs.loadSnapshot(world, plain)   -- no load: its data are nobody else's
    assert.same({}, header.data)
    assert.same({}, ecs.saveSnapshot(world, { format = "table" }).body.data)
  end)

  it("may change the world in load and finish; a loaded handle is as good as any", function()
    ecs.addSnapshotHandler(world, { name = "h",
      save = function(w, ctx) return ctx.ref(w:query(T)[1]) end,
      load = function(w, value, ctx)
        local e = ctx.entity(value)
        w:add(e, Tag)
        w:set(e, T, "x", 8)
        w:add(w:spawn(Tag), ecs.Key "made")
      end,
      finish = function(w) w:destroy(w:query(Tag, ecs.Not(T))[1]) end })
    local e = world:spawn(T)
    ecs.loadSnapshot(world, ecs.saveSnapshot(world))
    assert.equal(8, world:get(e, T, "x"))
    assert.is_true(world:has(e, Tag))
    assert.is_nil(world:find "made")
    assert.equal(1, world:count())
    util.checkInvariants(world, { T, Tag, ecs.Key })
  end)

  it("cannot change the world while it saves, load, register, reset or close", function()
    local world2 <close> = newWorld()
    local e, act = world:spawn(T), nil
    local bytes, errors = ecs.saveSnapshot(world), 0
    local function try()
      local ok, err = pcall(act)
      assert.is_false(ok)
      assert.is_true(util.isOurs(err))
      errors = errors + 1
    end
    ecs.addSnapshotHandler(world, { name = "h", save = function() try() return 1 end })
    for _, fn in ipairs {
      function() world:spawn() end, function() world:set(e, T, "x", 1) end,
      function() world:destroy(e) end, function() world:reset() end, function() world:close() end,
      function() ecs.loadSnapshot(world, bytes) end,
      function() ecs.registerTraits(world, { More = ecs.trait() }) end,
      function() ecs.addSnapshotHandler(world, { name = "late" }) end,
    } do
      act = fn
      ecs.hashWorld(world)
    end
    assert.equal(8, errors)
    errors = 0
    ecs.addSnapshotHandler(world2, { name = "h", load = function() try() end })
    for _, fn in ipairs {
      function() world2:reset() end, function() world2:close() end,
      function() ecs.loadSnapshot(world2, bytes) end,
      function() ecs.registerTraits(world2, { More = ecs.trait() }) end,
    } do
      act = fn
      ecs.loadSnapshot(world2, bytes)
    end
    assert.equal(4, errors)
    local fixed = ser.catch(function()
      local third <close> = newWorld()
      ecs.addSnapshotHandler(third, { name = "h", load = function()
        ecs.registerTraits(third, { More = ecs.trait() })
      end })
      ecs.loadSnapshot(third, bytes)
    end)
    assert.truthy(tostring(fixed):find("names are fixed while a snapshot is loaded", 1, true))
  end)

  it("may save while it loads, and another world may load meanwhile", function()
    local other <close> = newWorld()
    local bytes, inner
    ecs.addSnapshotHandler(world, { name = "h", save = function() return 1 end,
      load = function(w)
        inner = ecs.saveSnapshot(w)
        ecs.loadSnapshot(other, inner)
      end })
    world:spawn(T { x = 1 })
    bytes = ecs.saveSnapshot(world)
    world:reset()
    ecs.loadSnapshot(world, bytes)
    assert.equal(bytes, inner)
    assert.equal(1, other:count())
  end)

  it("that refers to what is not saved: dangling-ref, or null on demand", function()
    local e, dead = world:spawn(T), world:spawn()
    world:destroy(dead)
    local foreign <close> = newWorld()
    local refs = { e, dead, foreign:spawn(), world:entities()[1] }
    local which, got = 1, nil
    ecs.addSnapshotHandler(world, { name = "h",
      save = function(_, ctx) return { got = ctx.ref(refs[which]) } end,
      load = function(_, value) got = value end })
    ecs.loadSnapshot(world, ecs.saveSnapshot(world))
    assert.same({ got = 1 }, got)
    for i = 2, 4 do
      which = i
      ser.raises("saveSnapshot", "dangling-ref", {}, ecs.saveSnapshot, world)
      ser.raises("hashWorld", "dangling-ref", {}, ecs.hashWorld, world)
      ecs.loadSnapshot(world, ecs.saveSnapshot(world, { dangling = "null" }))
      assert.same({ got = ecs.null }, got)
    end
    for _, wrong in ipairs { "1", {}, print, 1.5 } do
      refs[5], which = wrong, 5
      assert.is_false(pcall(ecs.saveSnapshot, world))
    end
  end)

  it("that refers to what a later one excludes: dangling-ref", function()
    local e = world:spawn(T, Tag)
    ecs.addSnapshotHandler(world, { name = "a", save = function(_, ctx) return ctx.ref(e) end })
    assert.is_string(ecs.saveSnapshot(world))
    ecs.addSnapshotHandler(world, { name = "b", save = function(_, ctx) ctx.exclude(Tag) end })
    ser.raises("saveSnapshot", "dangling-ref", { "slot 1" }, ecs.saveSnapshot, world)
    ser.raises("saveSnapshot", "dangling-ref", { "slot 1" }, ecs.saveSnapshot, world,
      { dangling = "null" })
    assert.is_true(world:isAlive(e))
  end)

  it("that asks for no entity of the snapshot: malformed, and the load is undone", function()
    local e, ask = world:spawn(T), nil
    local gone = world:spawn()
    world:destroy(gone)
    local bytes = ecs.saveSnapshot(world)
    ecs.addSnapshotHandler(world, { name = "h", load = function(w, _, ctx)
      w:destroy(e)
      ctx.entity(ask)
    end })
    local hash = ecs.hashWorld(world)
    for _, wrong in ipairs { 0, 2, 3, -1, 1.5, "1", true, 1 << 24, math.maxinteger, e } do
      ask = wrong
      ser.raises("loadSnapshot", "malformed", { "handler" }, ecs.loadSnapshot, world, bytes)
      assert.equal(hash, ecs.hashWorld(world))
      assert.is_true(world:isAlive(e))
    end
  end)

  it("has a context that is dead afterwards, also after a failure", function()
    local escaped = {}
    local fail = false
    ecs.addSnapshotHandler(world, { name = "h",
      save = function(_, ctx) escaped[#escaped + 1] = ctx end,
      load = function(_, _, ctx)
        escaped[#escaped + 1] = ctx
        if fail then error "no" end
      end })
    local e = world:spawn()
    local bytes = ecs.saveSnapshot(world)
    ecs.loadSnapshot(world, bytes)
    fail = true
    assert.is_false(pcall(ecs.loadSnapshot, world, bytes))
    collectgarbage()
    assert.equal(3, #escaped)
    assert.is_false(pcall(escaped[1].ref, e))
    assert.is_false(pcall(escaped[1].exclude, T))
    for i = 2, 3 do assert.is_false(pcall(escaped[i].entity, 1)) end
  end)

  it("must not yield, in save, load and finish", function()
    local bytes = ecs.saveSnapshot(world)
    for _, part in ipairs { "save", "load", "finish" } do
      local w <close> = newWorld()
      ecs.addSnapshotHandler(w, { name = "h", [part] = coroutine.yield })
      coroutine.wrap(function()
        local err = ser.catch(part == "save" and ecs.saveSnapshot or ecs.loadSnapshot, w,
          part ~= "save" and bytes or nil)
        assert.truthy(tostring(err):find("must not yield", 1, true))
      end)()
    end
  end)

  it("gives JSON-safe values, strings and floats of any kind: else not-serializable", function()
    local value
    ecs.addSnapshotHandler(world, { name = "h", save = function() return value end })
    local loop = {}
    loop[1] = loop
    for path, wrong in pairs {
      h = print, ["h.a[1]"] = { a = { 1, io.stdout } }, ["h.b"] = { b = coroutine.create(print) },
      ["h[0]"] = loop, ["h.x"] = { x = { 1, k = 2 } }, ["h.y"] = { y = { [3] = 1 } },
      ["h.z"] = { z = setmetatable({}, {}) }, ["h[0][0]"] = { { { [1.5] = 1 } } },
    } do
      value = wrong
      local err = ser.raises("saveSnapshot", "not-serializable", { path }, ecs.saveSnapshot, world)
      assert.equal("data." .. path, err.path)
    end
    value = ser.nested(511)   -- the map of all data is one level
    assert.is_true(pcall(ecs.saveSnapshot, world))
    value = ser.nested(512)
    ser.raises("saveSnapshot", "not-serializable", {}, ecs.saveSnapshot, world)
    value = { 0 / 0, 1 / 0, -0.0, "\xFF\0", ["__proto"] = nil }
    assert.is_string(ecs.saveSnapshot(world))
    value = { ["__proto__"] = 1 }
    ser.raises("saveSnapshot", "not-serializable", {}, ecs.saveSnapshot, world)
  end)

  it("passes its error on as it is", function()
    local fault = setmetatable({}, { __tostring = function() return "fault" end })
    for _, part in ipairs { "save", "load", "finish" } do
      for _, value in ipairs { fault, "text", 5, false } do
        local w <close> = newWorld()
        local bytes = ecs.saveSnapshot(w)
        ecs.addSnapshotHandler(w, { name = "h", [part] = function() error(value, 0) end })
        local ok, err = pcall(part == "save" and ecs.hashWorld or ecs.loadSnapshot, w, bytes)
        assert.is_false(ok)
        assert.is_true(rawequal(value, err))
      end
    end
  end)

  it("names what is wrong with its registration", function()
    local function fails(text, ...)
      local args = table.pack(...)
      util.fails("addSnapshotHandler", text, function()
        ecs.addSnapshotHandler(table.unpack(args, 1, args.n))
      end)
    end
    fails "world expected"
    fails("handler table expected", world, nil)
    fails("'name': string expected, got nil", world, {})
    fails("'name': string expected, got number", world, { name = 5 })
    fails("'save': function expected", world, { name = "a", save = 5 })
    fails("'load': function expected", world, { name = "a", load = {} })
    fails("'finish': function expected", world, { name = "a", finish = "x" })
    ecs.addSnapshotHandler(world, { name = "a" })
    fails("named \"a\" already", world, { name = "a" })
    ecs.addSnapshotHandler(world, { name = "a\0b" })
    ecs.addSnapshotHandler(world, { name = "a\0c" })
  end)
end)

describe("custom data", function()
  it("are any map of JSON-safe values under string keys, and come back in the header", function()
    local world <close> = newWorld()
    random.rounds(40, function(rng)
      local data, values = {}, require "spec.support.values"
      for _ = 1, rng:int(0, 5) do data[values.key(rng)] = values.any(rng, 4) end
      local copy = deep.copy(data)
      local bytes = ecs.saveSnapshot(world, { data = data })
      deep.assertSame(copy, data, "the data given")
      deep.assertSame(data, ecs.loadSnapshot(world, bytes).data, "the data")
      local tree = ecs.saveSnapshot(world, { data = data, format = "table" })
      deep.assertSame(data, tree.body.data, "the data in the table form")
    end)
  end)

  it("must have string keys that no handler has", function()
    local world <close> = newWorld()
    ecs.addSnapshotHandler(world, { name = "mine", save = function() return 1 end })
    for _, wrong in ipairs { { 1 }, { [2] = 1 }, { [true] = 1 }, { mine = 1 } } do
      local ok, err = pcall(ecs.saveSnapshot, world, { data = wrong })
      assert.is_false(ok)
      assert.truthy(tostring(err):find("saveSnapshot: data", 1, true))
    end
    local err = ser.raises("saveSnapshot", "not-serializable", { "x[0]" }, ecs.saveSnapshot, world,
      { data = { x = { print } } })
    assert.equal("data.x[0]", err.path)
    err = ser.raises("saveSnapshot", "not-serializable", { "meta.x[0]" }, ecs.saveSnapshot, world,
      { meta = { x = { print } } })
    assert.equal("meta.x[0]", err.path)
  end)

  it("meta are any JSON-safe table", function()
    local world <close> = newWorld()
    for _, meta in ipairs { {}, { 1, 2 }, { a = { b = 0 / 0 } }, { ["\xFF"] = "\xFF" } } do
      local bytes = ecs.saveSnapshot(world, { meta = meta })
      deep.assertSame(meta, ecs.inspectSnapshot(bytes).meta)
      deep.assertSame(meta, ecs.loadSnapshot(world, bytes).meta)
    end
    ser.raises("saveSnapshot", "not-serializable", { "f" }, ecs.saveSnapshot, world,
      { meta = { f = print } })
    assert.is_false(pcall(ecs.saveSnapshot, world, { meta = 5 }))
  end)
end)

describe("P5 a failing handler", function()
  local kit = kits.new()

  -- A handler that does its worst in the new world, and fails where it is told.
  local function chaos(rng, where)
    local function worst(world)
      kit:run(rng, world, 30)
      world:onQueryAdd(rng:pick(kit.items).object == nil or kit.object.Health, function() end)
      local own = ecs.trait { z = 1 }
      world:column(own, "z")[0] = nil
      for _, e in ipairs(world:entities()) do
        if rng:chance(30) then world:add(e, own) end
      end
      where.columns = { world:column(kit.object.Pos, "x"), world:column(own, "z") }
      world:slots(own)
      world:query(own, kit.object.Health)
    end
    return {
      name = "chaos",
      load = function(world)
        worst(world)
        if where.part == "load" then error(where) end
      end,
      finish = function(world)
        worst(world)
        if where.part == "finish" then error(where) end
      end,
    }
  end

  it("brings every bit of the old content back, and makes columns of the new one dead", function()
    random.rounds(60, function(rng)
      local world <close> = kit:random(rng, rng:pick { 5, 50, 200 })
      local source <close> = kit:random(rng, rng:pick { 5, 50, 200 })
      local bytes, before = ecs.saveSnapshot(source), ecs.saveSnapshot(world)
      local state, x = kit:state(world), world:column(kit.object.Pos, "x")
      local slots = world:slots(kit.object.Health)
      local where = {}
      ecs.addSnapshotHandler(world, chaos(rng, where))
      for _ = 1, 4 do
        where.part = rng:pick { "load", "finish" }
        local ok, err = pcall(ecs.loadSnapshot, world, bytes, { replay = rng:chance(50) })
        assert.is_false(ok)
        assert.equal(where, err)
        assert.equal(before, ecs.saveSnapshot(world))
        kit:assertSame(state, world)
        assert.equal(x, world:column(kit.object.Pos, "x"))
        for _, column in ipairs(where.columns) do
          assert.is_false(pcall(function() return column[1] end))
          assert.is_nil(next(column))
        end
        assert.same(slots, (world:slots(kit.object.Health)))
      end
      util.checkInvariants(world, kit:lists())
      where.part = nil
      ecs.loadSnapshot(world, bytes)
      util.checkInvariants(world, kit:lists())
    end)
  end)

  it("with new tracked queries, when the old world was bigger than the snapshot", function()
    local world <close> = newWorld()
    local bytes = ecs.saveSnapshot(world)
    for _ = 1, 20000 do world:spawn(T) end
    local n, fault = 0, {}
    ecs.addSnapshotHandler(world, { name = "h", load = function(w)
      w:onQueryAdd(T, function() n = n + 1 end)
      w:onQueryRemove(T, ecs.Not(Tag), function() n = n - 1 end)
      error(fault)
    end })
    util.raisesValue(fault, function() ecs.loadSnapshot(world, bytes) end)
    assert.equal(20000, world:count())
    world:spawn(T)
    assert.equal(1, n)
    for _, e in ipairs(world:query(T)) do world:remove(e, T) end
    assert.equal(1 - 20001, n)
  end)
end)
