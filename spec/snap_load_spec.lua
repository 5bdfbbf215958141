-- What runs while a load builds the new content (codecs, factories), the errors of schemas that do
-- not match, and P10: thousands of loads leave nothing behind.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"
local kits = require "spec.support.snap_kit"
local memory = require "spec.support.snap_memory"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

-- What a script may try while the world is read-only; `e` is alive in the old content.
local function tries(world, e, T, saved)
  return {
    spawn = function() world:spawn() end,
    add = function() world:add(e, T) end,
    remove = function() world:remove(e, T) end,
    set = function() world:set(e, T, "x", 5) end,
    destroy = function() world:destroy(e) end,
    world = function() world:add(T) end,
    reset = function() world:reset() end,
    close = function() world:close() end,
    load = function() ecs.loadSnapshot(world, saved) end,
    append = function() ecs.appendSnapshot(world, saved) end,
    register = function() ecs.registerTraits(world, { More = ecs.trait() }) end,
    ignore = function() ecs.ignoreTraits(world, { ecs.trait() }) end,
    handler = function() ecs.addSnapshotHandler(world, { name = "late" }) end,
  }
end

describe("while the new content is built", function()
  local T, hook = ecs.trait { x = 0 }, nil
  local function call() if hook then hook() end end
  local Made = ecs.trait { f = function() call() return 1 end }
  local Coded, Plain = ecs.trait(function() return {} end), ecs.trait(function() return {} end)
  local entries = {
    T = T, Plain = Plain,
    Made = { trait = Made, transient = "default" },
    Coded = { trait = Coded, codec = {
      toJSON = function() return 1 end,
      fromJSON = function() call() return { "loaded" } end,
    } },
  }

  for _, what in ipairs { "Made", "Coded" } do
    local trait = what == "Made" and Made or Coded

    it("the world is read-only for " .. (what == "Made" and "factories" or "codecs"), function()
      hook = nil
      local world <close> = ser.world(entries)
      local e = world:spawn(T { x = 1 }, trait)
      for _ = 1, 20 do world:spawn(trait, Plain { "p" }) end
      local saved = ecs.saveSnapshot(world)
      world:set(e, T, "x", 2)
      for name, try in pairs(tries(world, e, T, saved)) do
        local failures, calls = 0, 0
        hook = function()
          calls = calls + 1
          local ok, err = pcall(try)
          assert(not ok, name .. " was possible")
          assert(util.isOurs(err), tostring(err))
          failures = failures + 1
        end
        ecs.loadSnapshot(world, saved)
        assert.equal(21, calls)
        assert.equal(21, failures)
        assert.equal(1, world:get(e, T, "x"))
        world:set(e, T, "x", 2)
        local hash = ecs.hashWorld(world)
        hook = try   -- raising: the load fails, nothing has changed
        assert.is_false(pcall(ecs.loadSnapshot, world, saved))
        hook = nil
        assert.equal(hash, ecs.hashWorld(world))
        local new = world:spawn()
        assert.equal(22, util.slot(new))
        assert.is_false(world:has(new, T))
        world:destroy(new)
        util.checkInvariants(world, { T, Made, Coded, Plain })
      end
    end)

    it("reading shows the old content: " .. what, function()
      hook = nil
      local world <close> = ser.world(entries)
      local e = world:spawn(T { x = 1 }, trait)
      local saved = ecs.saveSnapshot(world)
      world:set(e, T, "x", 2)
      local more = world:spawn(T)
      local seen
      hook = function()
        seen = { world:get(e, T, "x"), world:count(), world:isAlive(more), #world:query(T) }
      end
      ecs.loadSnapshot(world, saved)
      hook = nil
      assert.same({ 2, 2, true, 2 }, seen)
      assert.equal(1, world:count())
    end)

    it("an error at any call changes nothing: " .. what, function()
      hook = nil
      local world <close> = ser.world(entries)
      for i = 1, 8 do world:spawn(trait, T { x = i }, Plain { i }) end
      local saved = ecs.saveSnapshot(world)
      for _, e in ipairs(world:query(T)) do world:set(e, T, "x", -1) end
      local state, x, plain = ser.state(world), world:column(T, "x"), world:column(Plain)
      for stop = 1, 8 do
        local calls, fault = 0, { "fault" }
        hook = function()
          calls = calls + 1
          if calls == stop then error(fault) end
        end
        local ok, err = pcall(ecs.loadSnapshot, world, saved)
        assert.is_false(ok)
        assert(rawequal(err, fault) or rawequal(err.cause, fault))
        assert(what == "Made" or err.code == "codec-error" and err.path == "Coded")
        hook = nil
        ser.assertUnchanged(state, world)
        assert.equal(x, world:column(T, "x"))
        assert.equal(plain, world:column(Plain))
      end
      hook = coroutine.yield
      coroutine.wrap(function()
        assert.is_false(pcall(ecs.loadSnapshot, world, saved))
      end)()
      hook = nil
      ser.assertUnchanged(state, world)
      ecs.loadSnapshot(world, saved)
      assert.equal(8, world:get(world:query(T)[8], T, "x"))
    end)
  end
end)

describe("a codec", function()
  local C, ask, escaped = ecs.trait(function() return {} end), nil, nil
  local entries = { C = { trait = C, codec = {
    toJSON = function() return { 1 } end,
    fromJSON = function(_, ctx)
      escaped = ctx
      return { ask(ctx) }
    end,
  } } }

  it("gets handles of the new content, and the context is dead afterwards", function()
    local world <close> = ser.world(entries)
    local a, b = world:spawn(C), world:spawn()
    local saved = ecs.saveSnapshot(world)
    ask = function(ctx) return ctx.entity(2) end
    ecs.loadSnapshot(world, saved)
    assert.equal(b, world:get(a, C)[1])
    assert.is_false(pcall(escaped.entity, 1))
  end)

  it("that asks for no entity: malformed with the trait and its offset", function()
    local world <close> = ser.world(entries)
    world:spawn(C)
    world:destroy(world:spawn())
    local saved, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
    for _, wrong in ipairs { 0, 2, 3, -1, 1.5, "1", {}, 1 << 40 } do
      ask = function(ctx) return ctx.entity(wrong) end
      local err = ser.raises("loadSnapshot", "malformed", { "C", "ctx.entity" },
        ecs.loadSnapshot, world, saved)
      assert.equal("C", err.path)
      assert.equal("integer", math.type(err.offset))
      assert.equal(hash, ecs.hashWorld(world))
      ask = function(ctx) return pcall(ctx.entity, wrong) end   -- it may catch that
      ecs.loadSnapshot(world, saved)
      assert.is_false(world:get(world:query(C)[1], C)[1])
    end
  end)

  it("that fails: codec-error with trait, slot and cause", function()
    local world <close> = ser.world(entries)
    local e = world:spawn(C)
    local saved = ecs.saveSnapshot(world)
    for _, cause in ipairs { "text", {}, 5, false } do
      ask = function() error(cause, 0) end
      local err = ser.raises("loadSnapshot", "codec-error", { "C", "slot 1" }, ecs.loadSnapshot,
        world, saved)
      assert.is_true(rawequal(cause, err.cause))
    end
    assert.is_true(world:isAlive(e))
  end)
end)

describe("a snapshot of other registrations", function()
  local T = ecs.trait { x = 1 }
  local saved
  setup(function()
    local world <close> = ser.world { T = T }
    world:spawn(T)
    saved = ecs.saveSnapshot(world)
  end)

  local function refuse(entries, code, names)
    local world <close> = ser.world(entries)
    local e = world:spawn()
    local err = ser.raises("loadSnapshot", code, names, ecs.loadSnapshot, world, saved)
    assert.equal("T", err.path)
    assert.equal("integer", math.type(err.offset))
    assert.is_true(world:isAlive(e))
  end

  it("is refused: the trait, the field and what is wrong are named", function()
    refuse({}, "unknown-trait", { '"T"', "not registered" })
    refuse({ T = ecs.trait { y = 1 } }, "malformed", { '"T"', '"x"', "migrate" })
    refuse({ T = ecs.trait() }, "malformed", { '"T"', "saved as soa", "registered as tag" })
    refuse({ T = ecs.relation() }, "malformed", { '"T"', "saved as soa", "registered as pair" })
    refuse({ T = ecs.trait(function() return 1 end) }, "malformed", { "saved as soa", "aos" })
    refuse({ T = ecs.trait { x = "" } }, "malformed", { '"T"', '"x"', "integer", "converted" })
    refuse({ T = { trait = ecs.trait { x = ecs.null }, refs = { "x" } } }, "malformed", { '"x"' })
  end)

  it("is refused as ever when numbers are converted and some values are none", function()
    local Float, Integer = ecs.trait { x = 0.5 }, ecs.trait { x = 1 }
    local from <close> = ser.world { T = Float }
    local e = from:spawn(Float)
    for _, value in ipairs { "5", "text", true, ecs.null, {}, { 1 }, { a = 1 } } do
      local tree = ecs.saveSnapshot(from, { format = "table" })
      tree.body.traits.T.columns[1][1] = value
      tree.header.digest = nil
      for _, trait in ipairs { Float, Integer } do
        local world <close> = ser.world { T = trait }
        ser.raises("loadSnapshot", "malformed", { '"T"', '"x"', "no number" }, ecs.loadSnapshot,
          world, tree)
        assert.is_false(world:isAlive(e))
      end
    end
  end)
end)

describe("many relations in many slots", function()
  it("are checked in a time that grows with the bytes only", function()
    local RELATIONS <const>, SLOTS <const> = 1500, 150000
    local headers, parts = {}, {}
    for i = 1, RELATIONS do
      headers[i] = cbor.map { "kind", cbor.text "pair", "name", cbor.text(("r%06d"):format(i)),
        "rows", cbor.int(1), "fields", cbor.array {}, "version", cbor.int(1) }
      parts[i] = cbor.array { cbor.u32s { 1 }, cbor.u32s { 1 }, cbor.array {} }
    end
    local free = {}
    for slot = SLOTS - 1, 2, -1 do free[#free + 1] = slot end
    local snapshot = bytes.pack {
      header = cbor.map { "traits", cbor.array(headers) },
      body = cbor.map { "data", cbor.map {}, "traits", cbor.array {}, "entities", cbor.map {
        "free", cbor.u32s(free), "used", cbor.int(SLOTS), "alive", cbor.bytes "\2", "excluded",
        cbor.bytes "", "generations", cbor.tag(64, cbor.bytes(("\0"):rep(SLOTS))) },
        "relations", cbor.array(parts) },
    }
    local world <close> = ecs.createWorld()
    local started = os.clock()
    ser.raises("loadSnapshot", "unknown-trait", { "r000001" }, ecs.loadSnapshot, world, snapshot)
    assert(os.clock() - started < 2, os.clock() - started)
  end)
end)

describe("P10 cycles", function()
  local function registrySize()
    local n = 0
    for _ in pairs(debug.getregistry()) do n = n + 1 end
    return n
  end

  it("of save, reset, load and failing loads leave memory and registry flat", function()
    local kit, fail = kits.new(), false
    local rng = random.new(11)
    local world <close> = kit:random(rng, 400)
    local source <close> = kit:random(rng, 300)
    ecs.addSnapshotHandler(world, { name = "h", save = function() return { 1 } end,
      load = function(w)
        kit:run(random.new(1), w, 20)
        if fail then error "no" end
      end })
    local saved, other = ecs.saveSnapshot(world), ecs.saveSnapshot(source)
    local damaged = saved:sub(1, -2) .. string.char(saved:byte(-1) ~ 1)
    local function cycle(i)
      fail = false
      ecs.loadSnapshot(world, saved, { replay = i % 2 == 0 })
      ecs.loadSnapshot(world, other)
      fail = true
      assert.is_false(pcall(ecs.loadSnapshot, world, saved))
      assert.is_false(pcall(ecs.loadSnapshot, world, damaged))
      ecs.inspectSnapshot(saved)
      local tree = ecs.saveSnapshot(world, { format = "table" })
      fail = false
      if i % 3 == 0 then world:reset() end
      ecs.loadSnapshot(world, tree)
      world:column(kit.object.Pos, "x")
      world:slots(kit.object.Pos)
    end
    for i = 1, 60 do cycle(i) end
    util.collectAll()
    local before, rss, registry = collectgarbage "count", memory.now(), registrySize()
    for i = 1, 300 do cycle(i) end
    util.collectAll()
    local grown = collectgarbage "count" - before
    assert(grown < 64, ("%.1f KiB more Lua memory"):format(grown))
    assert(memory.now() - rss < 8 * 1024, (memory.now() - rss) .. " KiB more memory")
    assert.equal(registry, registrySize())
    util.checkInvariants(world, kit:lists())
  end)
end)
