-- Codecs and observers that misbehave while a world is saved or restored.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"

local function identity(x)
  return x
end

-- A world with a tag, a SoA, a coded AoS trait and a relation, and a snapshot of three records.
local function scene(toJSON, fromJSON)
  local t = {
    Tag = ecs.trait(), Soa = ecs.trait { hp = 0 }, Coded = ecs.trait(function() return {} end),
    Rel = ecs.relation { store = { n = 0 } },
  }
  local entries = {
    Tag = t.Tag, Soa = t.Soa, Rel = t.Rel,
    Coded = { trait = t.Coded, codec = {
      toJSON = toJSON or identity, fromJSON = fromJSON or identity,
    } },
  }
  local records = {}
  for i = 1, 3 do
    records[i] = {
      tags = { "Tag" }, traits = { Soa = { hp = i }, Coded = i },
      pairs = { Rel = { { target = 3 - i, data = { n = i } } } },
    }
  end
  local snapshot = ser.doc(records, { tags = { "Tag" }, traits = { Soa = { hp = 9 } } })
  return ser.world(entries), t, snapshot, entries
end

-- Runs fn in a coroutine and returns what pcall would.
local function inCoroutine(fn, ...)
  local co = coroutine.create(fn)
  local result = table.pack(coroutine.resume(co, ...))
  assert.equal("dead", coroutine.status(co), "a yield came through")
  return table.unpack(result, 1, result.n)
end

describe("a codec during saveWorld", function()
  it("P9 may not change the world, whatever it tries; its pcall may go on", function()
    local world, attempt, e, t
    local caught
    local function toJSON(value)
      if caught ~= nil then
        local ok, message = pcall(attempt)
        caught = not ok and tostring(message)
        return "went on"
      end
      attempt()
      return value
    end
    world, t = scene(toJSON)
    e = world:spawn(t.Coded, t.Soa { hp = 4 })
    local other = world:spawn(t.Tag)
    world:add(e, t.Rel(other, { n = 1 }))
    world:add(t.Soa)
    local attempts = {
      spawn = function() world:spawn() end,
      ["spawn with terms"] = function() world:spawn(t.Tag) end,
      ["destroy self"] = function() world:destroy(e) end,
      ["destroy other"] = function() world:destroy(other) end,
      add = function() world:add(e, t.Tag) end,
      ["add a pair"] = function() world:add(e, t.Rel(e)) end,
      remove = function() world:remove(e, t.Soa) end,
      ["remove itself"] = function() world:remove(e, t.Coded) end,
      ["remove a pair"] = function() world:remove(e, t.Rel(other)) end,
      set = function() world:set(e, t.Soa, { hp = 5 }) end,
      ["set a field"] = function() world:set(e, t.Soa, "hp", 5) end,
      ["set a pair"] = function() world:set(e, t.Rel(other), { n = 5 }) end,
      ["add to the world"] = function() world:add(t.Tag) end,
      ["remove from the world"] = function() world:remove(t.Soa) end,
      ["set on the world"] = function() world:set(t.Soa, "hp", 5) end,
      reset = function() world:reset() end,
      close = function() world:close() end,
      restore = function() ecs.restoreWorld(world, ser.doc { {} }) end,
    }
    local before = ser.state(world)
    for what, fn in pairs(attempts) do
      attempt, caught = fn, nil
      ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world)
      ser.assertUnchanged(before, world, what)
      caught = true
      assert.equal("went on", ecs.saveWorld(world).entities[1].traits.Coded)
      assert.is_string(caught, what .. " is possible during a save")
      ser.assertUnchanged(before, world, what)
    end
    -- Afterwards the world can be changed again.
    world:set(e, t.Soa, "hp", 6)
    world:destroy(other)
    assert.equal(1, world:count())
  end)

  it("may read the world, save it once more, and save and restore other worlds", function()
    local world, t, snapshot, entries, depth
    local other, inner
    local function toJSON(_, ctx)
      depth = depth + 1
      if depth > 1 then
        depth = depth - 1
        return "inner"
      end
      inner = { same = ecs.saveWorld(world), other = ecs.saveWorld(other) }
      local third = ser.world(entries)
      ecs.restoreWorld(third, snapshot)
      third:spawn(t.Tag)
      third:close()
      local ok = pcall(world.spawn, world)
      assert.is_false(ok, "the world is writable after an inner save")
      depth = depth - 1
      return { ctx.ref(world:query(t.Tag)[1]), world:get(world:query(t.Coded)[1], t.Coded) }
    end
    world, t, snapshot, entries = scene(toJSON)
    other = ser.world { Soa = t.Soa }
    other:spawn(t.Soa { hp = 42 })
    depth = 0
    world:spawn()
    world:spawn(t.Tag)
    world:spawn(t.Coded { "value" })
    local s = ecs.saveWorld(world)
    deep.assertSame({ 1, { "value" } }, s.entities[3].traits.Coded, "the outer value")
    deep.assertSame("inner", inner.same.entities[3].traits.Coded, "the inner value")
    deep.assertSame(ser.doc { { traits = { Soa = { hp = 42 } } } }, inner.other, "the other world")
    deep.assertSame({ "Tag" }, s.entities[2].tags, "the rest")
    world:spawn()
  end)

  it("may not yield; the world is usable afterwards", function()
    local world, t = scene(function() return coroutine.yield(1) end)
    world:spawn(t.Coded)
    local ok, e = inCoroutine(ecs.saveWorld, world)
    assert.is_false(ok)
    ser.isError(e, "saveWorld", "codec-error", { "Coded" })
    assert.truthy(tostring(e.cause):find("yield", 1, true))
    e = ser.raises("saveWorld", "codec-error", { "Coded" }, ecs.saveWorld, world)
    assert.truthy(tostring(e.cause):find("yield", 1, true))
    world:spawn(t.Tag)
    assert.equal(2, world:count())
  end)

  it("may use coroutines, collect garbage, and change its registration's table", function()
    local world, t, _, entries
    local function toJSON(value)
      collectgarbage()
      local inner = coroutine.wrap(function() coroutine.yield({ value }) end)
      local result = inner()
      collectgarbage()
      return result
    end
    world, t, _, entries = scene(toJSON)
    world:spawn(t.Coded { 1 })
    deep.assertSame({ { 1 } }, ecs.saveWorld(world).entities[1].traits.Coded, "the value")
    entries.Coded.codec.toJSON = nil
    entries.Coded.codec.fromJSON = 5
    local ok, e = pcall(ecs.saveWorld, world)
    assert.is_true(ok or ecs.isSerializeError(e), tostring(e))
    world:reset()
    ok, e = pcall(ecs.restoreWorld, world, ser.doc { { traits = { Coded = 1 } } })
    assert.is_true(ok or ecs.isSerializeError(e), tostring(e))
  end)
end)

describe("a codec during restoreWorld", function()
  it("P9 may not change the world; the restore fails as a whole, or goes on after its pcall",
    function()
      local world, attempt, caught, t, snapshot
      local function fromJSON(json)
        if caught ~= nil then
          local ok = pcall(attempt)
          caught = not ok
          return json
        end
        attempt()
        return json
      end
      world, t, snapshot = scene(nil, fromJSON)
      local function any()
        return world:entities()[2]
      end
      local attempts = {
        spawn = function() world:spawn() end,
        destroy = function() world:destroy(any()) end,
        add = function() world:add(any(), t.Rel(any())) end,
        remove = function() world:remove(any(), t.Tag) end,
        set = function() world:set(t.Soa, "hp", 5) end,
        ["remove from the world"] = function() world:remove(t.Soa) end,
        reset = function() world:reset() end,
        close = function() world:close() end,
        restore = function() ecs.restoreWorld(world, ser.doc()) end,
      }
      for what, fn in pairs(attempts) do
        attempt, caught = fn, nil
        ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, world, snapshot)
        ser.assertFresh(world, t)
        caught = true
        assert.equal(3, #ecs.restoreWorld(world, snapshot).entities)
        assert.is_true(caught, what .. " is possible in fromJSON")
        deep.assertSame(snapshot, ecs.saveWorld(world), what)
        world:reset()
      end
      world:spawn(t.Tag)
    end)

  it("may not yield", function()
    local world, t, snapshot = scene(nil, function() return coroutine.yield(1) end)
    local ok, e = inCoroutine(ecs.restoreWorld, world, snapshot)
    assert.is_false(ok)
    ser.isError(e, "restoreWorld", "codec-error", { "Coded" })
    assert.truthy(tostring(e.cause):find("yield", 1, true))
    ser.assertFresh(world, t)
    ser.raises("restoreWorld", "codec-error", { "Coded" }, ecs.restoreWorld, world, snapshot)
    ser.assertFresh(world, t)
    world:spawn(t.Tag)
  end)

  it("may restore other worlds from the same snapshot", function()
    local world, t, snapshot, entries
    local inner = {}
    local function fromJSON(json)
      if not inner.active then
        inner.active = true
        local other = ser.world(entries)
        ecs.restoreWorld(other, snapshot)
        inner[#inner + 1] = other
        inner.active = false
      end
      return json
    end
    world, t, snapshot, entries = scene(nil, fromJSON)
    ecs.restoreWorld(world, snapshot)
    assert.equal(3, #inner)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the outer world")
    for _, other in ipairs(inner) do
      deep.assertSame(snapshot, ecs.saveWorld(other), "an inner world")
      assert.equal(3, #other:query(t.Tag))
    end
  end)
end)

describe("an observer during restoreWorld", function()
  -- Restores with an onAdd observer on each trait in turn that calls `act` at the call number
  -- `call`; returns the result of pcall.
  local function attemptAt(name, call, act, before)
    local world, t, snapshot = scene()
    if before then
      before(world, t)
    end
    local calls = 0
    world:onAdd(t[name], function(entity, target)
      calls = calls + 1
      if calls == call then
        act(world, t, entity, target)
      end
    end)
    local ok, e = pcall(ecs.restoreWorld, world, snapshot)
    return ok, e, world, t, snapshot
  end

  local CALLS = { Tag = 4, Soa = 4, Coded = 3, Rel = 3 }

  it("that raises: restore-failed with the original as cause, everything undone", function()
    for _, cause in ipairs { "a text", { ser.SECRET }, 5, ecs.null } do
      for name, count in pairs(CALLS) do
        for call = 1, count do
          local ok, e, world, t, snapshot = attemptAt(name, call, function() error(cause, 0) end)
          assert.is_false(ok)
          ser.isError(e, "restoreWorld", "restore-failed", { name })
          assert.is_true(rawequal(cause, e.cause))
          ser.assertFresh(world, t)
          assert.equal(0, world:count())
          deep.assertSame({ ecs.IsExcluded }, world:traits(), "traits")
          assert.equal(3, #ecs.restoreWorld(world, snapshot).entities)
          deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
        end
      end
    end
  end)

  it("of a query that raises: restore-failed as well", function()
    for _, name in ipairs { "Tag", "Soa", "Coded", "Rel" } do
      local world, t, snapshot = scene()
      local fail = true
      world:onQueryAdd(name == "Rel" and t.Rel("*") or t[name], function()
        if fail then
          error({ "cause" }, 0)
        end
      end)
      local e = ser.raises("restoreWorld", "restore-failed", {}, ecs.restoreWorld, world, snapshot)
      deep.assertSame({ "cause" }, e.cause, "the cause")
      ser.assertFresh(world, t)
      fail = false
      ecs.restoreWorld(world, snapshot)
      deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
    end
  end)

  it("that destroys an entity under restore: restore-failed, everything undone", function()
    for name, count in pairs(CALLS) do
      for call = 1, count do
        for victim = 1, 3 do
          local ok, e, world, t, snapshot = attemptAt(name, call, function(w)
            local alive = ser.savedEntities(w)
            w:destroy(alive[victim])
          end)
          assert.is_false(ok, ("%s %d %d"):format(name, call, victim))
          ser.isError(e, "restoreWorld", "restore-failed")
          ser.assertFresh(world, t)
          assert.equal(3, #ecs.restoreWorld(world, snapshot).entities)
          deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
        end
      end
    end
  end)

  it("that resets the world or puts another entity in a destroyed one's slot", function()
    for _, act in ipairs {
      function(w) w:reset() end,
      function(w) w:destroy(ser.savedEntities(w)[3]) w:spawn() end,
      function(w)
        for _, entity in ipairs(ser.savedEntities(w)) do
          w:destroy(entity)
        end
      end,
    } do
      for name, count in pairs(CALLS) do
        local ok, e, world, t, snapshot = attemptAt(name, count, act)
        assert.is_false(ok)
        ser.isError(e, "restoreWorld", "restore-failed")
        ser.assertFresh(world, t)
        ecs.restoreWorld(world, snapshot)
        deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
      end
    end
  end)

  it("that closes the world or restores into it raises; the world stays usable", function()
    for _, act in ipairs {
      function(w) w:close() end,
      function(w) ecs.restoreWorld(w, ser.doc()) end,
      function(w) ecs.restoreWorld(w, ser.doc { {} }) end,
    } do
      local ok, e, world, t, snapshot = attemptAt("Soa", 2, act)
      assert.is_false(ok)
      ser.isError(e, "restoreWorld", "restore-failed", { "Soa" })
      assert.is_true(e.cause ~= nil)
      ser.assertFresh(world, t)
      ecs.restoreWorld(world, snapshot)
      deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
      -- Caught by the observer, it is as if nothing had happened.
      local result
      ok, result, world, t, snapshot = attemptAt("Soa", 2, function(w)
        assert.is_false((pcall(act, w)))
      end)
      assert.is_true(ok, tostring(result))
      deep.assertSame(snapshot, ecs.saveWorld(world), "the restored world")
      world:add(t.Coded)
    end
  end)

  it("that yields: restore-failed; the world is usable", function()
    for name in pairs(CALLS) do
      local world, t, snapshot = scene()
      local stop = world:onAdd(t[name], function() coroutine.yield() end)
      local ok, e = inCoroutine(ecs.restoreWorld, world, snapshot)
      assert.is_false(ok)
      ser.isError(e, "restoreWorld", "restore-failed", { name })
      assert.truthy(tostring(e.cause):find("yield", 1, true))
      ser.assertFresh(world, t)
      ser.raises("restoreWorld", "restore-failed", { name }, ecs.restoreWorld, world, snapshot)
      stop()
      ok, e = inCoroutine(ecs.restoreWorld, world, snapshot)
      assert.is_true(ok, tostring(e))
      deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
    end
  end)

  it("that adds, sets, removes, spawns and collects: the restore goes on", function()
    local extra = ecs.trait(function() return {} end)
    local ok, result, world, t, snapshot = attemptAt("Soa", 2, function(w, tt, entity)
      w:set(entity, tt.Soa, "hp", 1000)
      w:remove(entity, tt.Tag)
      w:add(entity, extra)
      w:spawn(extra)
      collectgarbage()
    end)
    assert.is_true(ok, tostring(result))
    local e = result.entities
    assert.equal(3, #e)
    assert.equal(1000, world:get(e[1], t.Soa, "hp"))
    assert.is_false(world:has(e[1], t.Tag))
    deep.assertSame({ hp = 2 }, world:get(e[2], t.Soa), "the second record")
    assert.equal(2, #world:query(extra))
    world:destroy(world:query(extra)[2])
    world:remove(e[1], extra)
    world:add(e[1], t.Tag)
    world:set(e[1], t.Soa, "hp", 1)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the rest")
  end)

  it("that has added what the snapshot adds later does not displace the restored value", function()
    local world, t, snapshot = scene()
    world:onAdd(t.Tag, function(entity)
      world:add(entity, t.Soa { hp = -1 })
    end)
    local ok, e = pcall(ecs.restoreWorld, world, snapshot)
    -- Either the snapshot's value wins, or the restore fails as a whole: never a silent mixture.
    if ok then
      deep.assertSame(snapshot, ecs.saveWorld(world), "the restored world")
    else
      ser.isError(e, "restoreWorld", "restore-failed")
      ser.assertFresh(world, t)
    end
  end)

  it("whose helpers are still there when the restore fails: they go as well", function()
    local helper = ecs.trait()
    local world, t, snapshot = scene()
    local stop = world:onAdd(t.Soa, function() world:spawn(helper) end)
    local fail = world:onAdd(t.Rel, function() error("no", 0) end)
    local before = ser.state(world)
    ser.raises("restoreWorld", "restore-failed", { "Rel" }, ecs.restoreWorld, world, snapshot)
    ser.assertUnchanged(before, world, "a failed restore")
    fail()
    stop()
    ecs.restoreWorld(world, snapshot)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
  end)

  it("of onRemove runs during the undo; what it raises is kept in `suppressed`", function()
    local world, t, snapshot = scene()
    local removed, thrown = 0, {}
    for _, name in ipairs { "Tag", "Soa", "Coded", "Rel" } do
      world:onRemove(t[name], function()
        removed = removed + 1
        thrown[removed] = { removed }
        error(thrown[removed], 0)
      end)
    end
    local fail = true
    local cause = { "the cause" }
    local calls = 0
    world:onAdd(t.Rel, function()
      calls = calls + 1
      if fail and calls == 3 then
        error(cause, 0)
      end
    end)
    local e = ser.raises("restoreWorld", "restore-failed", { "Rel" }, ecs.restoreWorld, world,
      snapshot)
    assert.equal(cause, e.cause)
    assert.is_table(e.suppressed)
    assert.is_true(removed >= 3, "onRemove ran " .. removed .. " times")
    assert.equal(removed, #e.suppressed)
    for i, original in ipairs(thrown) do
      assert.is_true(rawequal(original, e.suppressed[i]))
    end
    ser.assertFresh(world, t)
    fail = false
    assert.equal(3, #ecs.restoreWorld(world, snapshot).entities)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the next restore")
  end)

  it("that subscribes and unsubscribes while the restore runs", function()
    local world, t, snapshot = scene()
    local late, gone = 0, 0
    local stopGone = world:onAdd(t.Rel, function() gone = gone + 1 end)
    local stopSelf
    stopSelf = world:onAdd(t.Tag, function()
      stopSelf()
      stopGone()
      world:onAdd(t.Rel, function() late = late + 1 end)
      collectgarbage()
    end)
    ecs.restoreWorld(world, snapshot)
    assert.equal(3, late)
    assert.equal(0, gone)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the restored world")
  end)

  it("may save the world and change other worlds", function()
    local other = ecs.createWorld()
    local ok, result, world, _, snapshot = attemptAt("Soa", 3, function(w)
      other:spawn()
      pcall(ecs.saveWorld, w)
      ecs.restoreWorld(ecs.createWorld(), ser.doc { {}, {} })
    end)
    assert.is_true(ok, tostring(result))
    assert.equal(1, other:count())
    deep.assertSame(snapshot, ecs.saveWorld(world), "the restored world")
  end)
end)

describe("a small stack", function()
  -- Calls `fn` below `depth` C calls.
  local function below(depth, fn)
    if depth == 0 then
      return fn()
    end
    local result
    string.gsub("x", "x", function()
      result = table.pack(pcall(below, depth - 1, fn))
    end)
    if not result[1] then
      error(result[2], 0)
    end
    return table.unpack(result, 2, result.n)
  end

  it("P11 near the limit of C calls a save or restore works or fails cleanly", function()
    local aos = ecs.trait(function() return {} end)
    local entries = { Aos = aos }
    local world = ser.world(entries)
    world:spawn(aos(ser.nested(400)))
    local snapshot = ecs.saveWorld(world)
    local done = 0
    for depth = 1, 75 do
      local other = ser.world(entries)
      local ok, result = pcall(below, depth, function()
        local saved = ecs.saveWorld(world)
        deep.assertSame(#snapshot.entities, #saved.entities)
        ecs.restoreWorld(other, saved)
        return saved
      end)
      if ok then
        deep.assertSame(snapshot, result, "a save below " .. depth .. " calls")
        done = done + 1
      else
        assert.truthy(tostring(result):find("stack overflow") or ecs.isSerializeError(result))
        ser.assertFresh(other, { aos })
        ecs.restoreWorld(other, snapshot)
      end
      deep.assertSame(snapshot, ecs.saveWorld(other), "the restored world")
      other:close()
    end
    assert.is_true(done > 20, "only " .. done .. " depths succeeded")
  end)
end)
