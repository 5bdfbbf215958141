-- SER-F05: errors, and everything that a snapshot may do wrong.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local malformed = require "spec.support.malformed"
local malformedValues = require "spec.support.malformed_values"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"

local SECRET = ser.SECRET

local function identity(x)
  return x
end

-- The path of what holds the value at `path`: an error about a missing or superfluous part may
-- give the place where it is missing.
local function holder(path)
  return path:match("^(.*)%.[^.%[]+$") or path:match("^(.*)%[%d+%]$") or ""
end

-- Checks one case against a world; the world is used again and again.
local function check(case, world)
  local ok, e = pcall(ecs.restoreWorld, world, case.snapshot())
  local what = ("%s %s: "):format(case.path or case.pathPrefix or "", case.what or "")
  if ok then
    error(what .. "the snapshot was accepted")
  end
  local good, message = pcall(ser.isError, e, "restoreWorld", case.code, case.names)
  if not good then
    error(what .. tostring(message))
  end
  if case.path and e.path ~= case.path and (e.path or "") ~= holder(case.path) then
    error(("%sthe path is %s (%s)"):format(what, tostring(e.path), e.message))
  end
  if case.pathPrefix and (e.path or ""):sub(1, #case.pathPrefix) ~= case.pathPrefix then
    error(("%sthe path is %s (%s)"):format(what, tostring(e.path), e.message))
  end
  return e
end

-- Runs all cases of one requirement and reports every one that went wrong.
local function checkAll(rule)
  local t = malformed.kit()
  local world = malformed.world(t)
  local count, wrong = 0, {}
  local lists = { malformed.cases, rule == "SER-078" and malformedValues or {} }
  for _, list in ipairs(lists) do
    for _, case in ipairs(list) do
      if case.rule == rule then
        count = count + 1
        local ok, message = pcall(check, case, world)
        if not ok then
          wrong[#wrong + 1] = message
        end
        ser.assertFresh(world, t.registered)
      end
    end
  end
  assert.is_true(count > 0)
  if wrong[1] then
    error(("%d of %d cases:\n%s"):format(#wrong, count, table.concat(wrong, "\n", 1,
      math.min(#wrong, 15))))
  end
end

describe("SerializeError", function()
  it("SER-070 every error has a code and a message that names the function and the cause",
    function()
      local tag, soa, aos = ecs.trait(), ecs.trait { f = ecs.null }, ecs.trait(identity)
      local coded, link = ecs.trait(identity), ecs.trait { to = ecs.null }
      local world = ecs.createWorld()
      local function register(entries)
        return function() ecs.registerTraits(world, entries) end
      end
      local function save()
        ecs.saveWorld(world)
      end
      ser.raises("registerTraits", "invalid-registration", { "Bad" }, register { Bad = SECRET })
      register {
        Soa = soa, Aos = aos, Link = { trait = link, refs = { "to" } },
        Coded = { trait = coded, codec = {
          toJSON = function() error("no") end, fromJSON = function() error("no") end,
        } },
      } ()
      ser.raises("registerTraits", "duplicate-name", { "Soa" }, register { Soa = tag })
      ser.raises("ignoreTraits", "invalid-registration", { "Aos" }, ecs.ignoreTraits, world,
        { aos })
      local e = world:spawn(tag)
      ser.raises("saveWorld", "unregistered-trait", { "trait #" .. tag.id }, save)
      world:remove(e, tag)
      world:add(e, soa { f = function() return SECRET end })
      ser.raises("saveWorld", "not-serializable", { "Soa", "f" }, save)
      world:set(e, soa, { f = { text = SECRET .. "\xFF" } })
      ser.raises("saveWorld", "not-serializable", { "Soa", "f" }, save)
      world:remove(e, soa)
      world:add(e, aos { [SECRET] = { [SECRET] = print } })
      local err = ser.catch(save)
      assert.equal("not-serializable", err.code)
      assert.truthy(err.message:find("^saveWorld: ") and err.message:find("Aos", 1, true))
      world:remove(e, aos)
      world:add(e, link { to = SECRET })
      ser.raises("saveWorld", "dangling-ref", { "Link", "to" }, save)
      world:remove(e, link)
      world:add(e, coded(SECRET))
      ser.raises("saveWorld", "codec-error", { "Coded" }, save)
      local function restore(snapshot)
        return function() ecs.restoreWorld(world, snapshot) end
      end
      ser.raises("restoreWorld", "world-not-empty", {}, restore(ser.doc()))
      world:reset()
      ser.raises("restoreWorld", "unknown-trait", { "Nope" },
        restore(ser.doc { { tags = { "Nope" } } }))
      ser.raises("restoreWorld", "malformed", { "entities" }, restore { format = "ecs-serialize",
        version = 1, entities = SECRET, world = { tags = {}, traits = {} } })
      ser.raises("restoreWorld", "unsupported-version", { "7" }, restore {
        format = "ecs-serialize", version = 7,
      })
      ser.raises("restoreWorld", "codec-error", { "Coded" },
        restore(ser.doc { { traits = { Coded = SECRET } } }))
      world:onAdd(soa, function() error("no", 0) end)
      err = ser.raises("restoreWorld", "restore-failed", { "Soa" },
        restore(ser.doc { { traits = { Soa = { f = SECRET } } } }))
      assert.equal("no", err.cause)
    end)

  it("SER-070 is told apart by isSerializeError, and shows its message", function()
    local e = ser.catch(ecs.restoreWorld, ecs.createWorld(), 5)
    assert.is_table(e)
    assert.is_true(ecs.isSerializeError(e))
    assert.equal(e.message, tostring(e))
    assert.equal("malformed", e.code)
    assert.is_nil(e.cause)
    assert.is_string(e.message)
    assert.truthy(getmetatable(e))
    local copy = { code = e.code, message = e.message }
    local fake = setmetatable({ code = "malformed" }, { __name = "ecsser.SerializeError" })
    for _, other in ipairs {
      copy, fake, "restoreWorld: text", 5, true, print, io.stdout, ecs.null, ecs.trait(), {},
    } do
      assert.is_false(ecs.isSerializeError(other))
    end
    assert.is_false(ecs.isSerializeError(nil))
    local ran = {}
    assert.is_false(ecs.isSerializeError(setmetatable({}, ser.hostile(ran, true))))
    assert.same({}, ran)
    -- A misuse of a method is an ordinary error.
    assert.is_false(ecs.isSerializeError(ser.catch(ecs.saveWorld, 5)))
    assert.is_false(ecs.isSerializeError(ser.catch(ecs.restoreWorld, nil, ser.doc())))
    for _, name in ipairs { "saveWorld", "restoreWorld" } do
      for _, bad in ipairs { 5, "x", true, {}, print, io.stdout, ecs.trait(), ecs.null } do
        assert.truthy(tostring(ser.catch(ecs[name], bad, ser.doc())):find(name, 1, true))
      end
      local closed = ecs.createWorld()
      closed:close()
      assert.truthy(tostring(ser.catch(ecs[name], closed, ser.doc())):find(name, 1, true))
    end
  end)

  it("SER-070 long and strange names do not make long messages", function()
    local world = ecs.createWorld()
    local long = ("n"):rep(100000)
    for _, name in ipairs { long, "a\nb\0c\27[31m", "\u{1F600}" } do
      local e = ser.raises("restoreWorld", "unknown-trait", {}, ecs.restoreWorld, world,
        ser.doc { { tags = { name } } })
      assert.is_nil(e.message:find("[%z\1-\31]"), "a control character in a message")
    end
    local e = ser.catch(ecs.registerTraits, world, { [long] = 5 })
    assert.is_true(#e.message < 500)
    -- A key inside a value is no exception.
    local bag = ecs.trait(function() return {} end)
    ecs.registerTraits(world, { Bag = bag })
    local value = { [long] = { [long] = print } }
    local entity = world:spawn(bag(value))
    ser.raises("saveWorld", "not-serializable", { "Bag" }, ecs.saveWorld, world)
    world:destroy(entity)
    ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, world,
      ser.doc { { traits = { Bag = value } } })
    local snapshot = ser.doc { {} }
    snapshot.entities[1][long] = 1
    e = ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, snapshot)
    assert.equal("entities[0]", e.path:sub(1, 11))
  end)
end)

describe("restoreWorld refuses", function()
  it("SER-071 what is no ecs-serialize document of version 1", function()
    checkAll("SER-071")
    -- 1 and 1.0 are the number 1.
    local world = ecs.createWorld()
    local snapshot = ser.doc()
    ecs.restoreWorld(world, snapshot)
    snapshot.version = 1.0
    ecs.restoreWorld(world, snapshot)
  end)

  it("SER-072 a wrong shape, and every unknown key", function()
    checkAll("SER-072")
  end)

  it("SER-073 unknown names, those of ignored traits too", function()
    checkAll("SER-073")
  end)

  it("SER-074 a registered name in the wrong place, and a tag twice", function()
    checkAll("SER-074")
  end)

  it("SER-075 SoA values with other fields or other types than the schema's", function()
    checkAll("SER-075")
    local t = malformed.kit()
    local world = malformed.world(t)
    -- A factory's field and a null default take anything; a number is of either subtype.
    for _, any in ipairs { ecs.null, 1, 1.5, "x", true, {}, { 1 }, { a = 1 } } do
      ecs.restoreWorld(world, ser.doc {
        {
          traits = { F = { list = any, any = any }, P = { x = 1.5, s = "x", b = false }, C = any },
          pairs = { M = { { target = 0, data = any } } },
        },
      })
      world:reset()
    end
  end)

  it("SER-076 every index outside of the entities", function()
    checkAll("SER-076")
    local t = malformed.kit()
    local world = malformed.world(t)
    for _, index in ipairs { 0, 1, 0.0, 1.0, -0.0 } do
      local e = ecs.restoreWorld(world, ser.doc {
        { traits = { L = { to = index } } }, { pairs = { N = { { target = index } } } },
      }).entities
      local expected = e[index == 1 and 2 or 1]
      assert.equal(expected, world:get(e[1], t.L, "to"))
      deep.assertSame({ expected }, world:targets(e[2], t.N), "the target")
      world:reset()
    end
  end)

  it("SER-077 pair lists that are empty, odd, with data at the wrong place, or double", function()
    checkAll("SER-077")
    local t = malformed.kit()
    local world = malformed.world(t)
    -- The same target for two relations or from two sources is fine.
    ecs.restoreWorld(world, ser.doc {
      { pairs = { N = { { target = 0 }, { target = 1 } }, E = { { target = 0 } } } },
      { pairs = { N = { { target = 0 } }, E = { { target = 0 } } } },
    })
  end)

  it("SER-078 whatever is not JSON-safe, at every place", function()
    checkAll("SER-078")
  end)

  it("SER-078 no metamethod runs, and no metatable or global changes", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local ran = {}
    local stringMeta, globals = deep.copy(getmetatable("")), {}
    for key, value in pairs(_G) do
      globals[key] = value
    end
    local places = {
      function(s, mt) setmetatable(s, mt) end,
      function(s, mt) setmetatable(s.entities, mt) end,
      function(s, mt) setmetatable(s.entities[1], mt) end,
      function(s, mt) setmetatable(s.entities[1].tags, mt) end,
      function(s, mt) setmetatable(s.entities[1].traits, mt) end,
      function(s, mt) setmetatable(s.entities[1].traits.P, mt) end,
      function(s, mt) setmetatable(s.entities[1].traits.A, mt) end,
      function(s, mt) setmetatable(s.entities[1].pairs, mt) end,
      function(s, mt) setmetatable(s.entities[1].pairs.D, mt) end,
      function(s, mt) setmetatable(s.entities[1].pairs.D[1], mt) end,
      function(s, mt) setmetatable(s.entities[1].pairs.D[1].data, mt) end,
      function(s, mt) setmetatable(s.world, mt) end,
      function(s, mt) s.format = setmetatable({}, mt) end,
      function(s, mt) s.version = setmetatable({}, mt) end,
      function(s, mt) s.entities[1].tags[1] = setmetatable({}, mt) end,
      function(s, mt) s.entities[1].pairs.D[1].target = setmetatable({}, mt) end,
      function(s, mt) s.entities[1].traits[setmetatable({}, mt)] = 1 end,
    }
    for _, place in ipairs(places) do
      for _, locked in ipairs { false, true } do
        local s = ser.doc {
          {
            tags = { "T" }, traits = { P = { x = 1, s = "", b = true }, A = { 1 } },
            pairs = { D = { { target = 0, data = { n = 1, s = "" } } } },
          },
        }
        place(s, ser.hostile(ran, locked))
        local e = ser.catch(ecs.restoreWorld, world, s)
        assert.is_true(ecs.isSerializeError(e), tostring(e))
        assert.is_true(e.code == "malformed" or e.code == "unsupported-version")
        ser.assertFresh(world, t.registered)
      end
    end
    assert.same({}, ran)
    local proto = ser.doc { { traits = { A = { __proto__ = { x = 1 } } } } }
    ser.raises("restoreWorld", "malformed", { "A" }, ecs.restoreWorld, world, proto)
    deep.assertSame(stringMeta, getmetatable(""), "the metatable of strings")
    for key, value in pairs(_G) do
      assert.is_true(rawequal(globals[key], value), tostring(key))
    end
    assert.is_nil(rawget({}, "x"))
  end)

  it("SER-078 nesting deeper than 512, and takes 512", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local carriers = {
      [508] = function(value) return ser.doc { { traits = { A = value } } } end,
      [507] = function(value) return ser.doc { { traits = { F = { list = value, any = 1 } } } } end,
      [506] = function(value)
        return ser.doc { { pairs = { M = { { target = 0, data = value } } } } }
      end,
      [509] = function(value) return ser.doc({}, { traits = { C = value } }) end,
    }
    for limit, wrap in pairs(carriers) do
      for depth = limit - 1, limit do
        local snapshot = wrap(ser.nested(depth))
        ecs.restoreWorld(world, snapshot)
        deep.assertSame(snapshot, ecs.saveWorld(world), "depth " .. depth)
        world:reset()
      end
      for _, depth in ipairs { limit + 1, limit + 2, 1000, 100000 } do
        local snapshot = wrap(ser.nested(depth))
        ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, snapshot)
        coroutine.wrap(function()
          ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, snapshot)
        end)()
        ser.assertFresh(world, t.registered)
      end
    end
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, ser.nested(1000000))
    local deepObject = {}
    for _ = 1, 1000000 do
      deepObject = { k = deepObject }
    end
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, deepObject)
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world,
      ser.doc { { traits = { A = deepObject } } })
  end)

  it("SER-078 takes all text: zero bytes, lone surrogates, and what JavaScript calls names",
    function()
      local t = malformed.kit()
      local world = malformed.world(t)
      for _, text in ipairs(unsafe.texts) do
        local snapshot = ser.doc {
          { traits = { A = { [text] = { text } }, P = { x = 0, s = text, b = true } } },
        }
        ecs.restoreWorld(world, snapshot)
        deep.assertSame(snapshot, ecs.saveWorld(world), "the text")
        world:reset()
      end
      local keys = { "constructor", "toString", "prototype", "__proto", "_proto__", "__proto__\0" }
      local value = { hasOwnProperty = 1 }
      for i, key in ipairs(keys) do
        value[key] = i
      end
      local snapshot = ser.doc { { traits = { A = value } } }
      ecs.restoreWorld(world, snapshot)
      deep.assertSame(snapshot, ecs.saveWorld(world), "the keys")
    end)

  it("(exclusive relations) two targets are malformed, one is fine", function()
    local r = ecs.relation { exclusive = true, store = { n = 0 } }
    local world = ser.world { Only = r }
    local function doc(list)
      return ser.doc { { pairs = { Only = list } }, {} }
    end
    local one, two = { target = 0, data = { n = 1 } }, { target = 1, data = { n = 2 } }
    for _, list in ipairs { { one, two }, { two, one } } do
      ser.raises("restoreWorld", "malformed", { "Only" }, ecs.restoreWorld, world, doc(list))
      ser.assertFresh(world)
    end
    local e = ecs.restoreWorld(world, doc { two }).entities
    deep.assertSame({ e[2] }, world:targets(e[1], r), "the target")
  end)

  it("(Key) a key twice is duplicate-key, and nothing of a failed restore holds a key", function()
    local n = ecs.trait { v = 0 }
    local world = ser.world { Key = ecs.Key, N = n }
    local a = world:spawn(ecs.Key "player", n)
    world:spawn(ecs.Key "boss")
    world:spawn(n)
    assert.equal(a, world:find "player")
    local s = ecs.saveWorld(world)
    local value = s.entities[1].traits.Key
    assert.is_true(value ~= nil)
    local other = ser.world { Key = ecs.Key, N = n }
    local e = ecs.restoreWorld(other, s).entities
    assert.equal(e[1], other:find "player")
    assert.equal(e[2], other:find "boss")
    assert.is_nil(other:find "nobody")
    deep.assertSame(s, ecs.saveWorld(other), "saved again")
    local copy = deep.copy(s)
    copy.entities[3].traits.Key = deep.copy(value)
    local third = ser.world { Key = ecs.Key, N = n }
    local err = ser.raises("restoreWorld", "duplicate-key", { "Key" }, ecs.restoreWorld, third,
      copy)
    assert.equal("entities[2].traits.Key", err.path:sub(1, 22))
    ser.assertFresh(third, { n })
    assert.is_nil(third:find "player")
    -- A restore that fails after the keys were given leaves them free.
    local fail = third:onAdd(n, function(entity)
      if third:has(entity, ecs.Key) == false then
        error("no", 0)
      end
    end)
    ser.raises("restoreWorld", "restore-failed", { "N" }, ecs.restoreWorld, third, s)
    assert.is_nil(third:find "player")
    assert.is_nil(third:find "boss")
    fail()
    e = ecs.restoreWorld(third, s).entities
    assert.equal(e[1], third:find "player")
    for _, bad in ipairs { 5, true, ecs.null, {}, { 1 }, { value = 1 } } do
      copy = deep.copy(s)
      copy.entities[1].traits.Key = bad
      local fresh = ser.world { Key = ecs.Key, N = n }
      ser.raises("restoreWorld", "malformed", { "Key" }, ecs.restoreWorld, fresh, copy)
    end
  end)
end)

describe("an error", function()
  -- A world with much that must stay: prefabs, ignored world traits, observers.
  local function richWorld()
    local t = malformed.kit()
    local world = malformed.world(t)
    local other = ecs.trait(function() return {} end)
    ecs.ignoreTraits(world, { other })
    local prefab = world:spawn(ecs.IsExcluded, t.P { x = 7 }, t.A { 1 })
    world:add(prefab, t.D(prefab, { n = 5 }))
    world:add(other { "kept" })
    local log = ser.watch(world, { P = t.P, T = t.T, A = t.A, L = t.L, D = t.D, N = t.N, C = t.C })
    return world, log
  end

  local function goodSnapshot()
    return ser.doc({
      {
        tags = { "T" }, traits = { P = { x = 1, s = "", b = true }, C = 1, L = { to = 0 } },
        pairs = { D = { { target = 0, data = { n = 1, s = "" } } }, E = { { target = 0 } } },
      },
    }, { tags = { "U" }, traits = { A = { 1 } } })
  end

  it("SER-079 is thrown before any change: nothing of the world differs, no observer ran",
    function()
      local world, log = richWorld()
      local before = ser.state(world)
      local count = world:count()
      for _, list in ipairs { malformed.cases, malformedValues } do
        for _, case in ipairs(list) do
          -- A good record in front of the bad ones must not be restored either.
          local snapshot = case.snapshot()
          ser.catch(ecs.restoreWorld, world, snapshot)
          assert.equal(count, world:count())
          assert.is_nil(log[1], log[1])
        end
      end
      ser.assertUnchanged(before, world, "a refused snapshot")
      ecs.restoreWorld(world, goodSnapshot())
      assert.equal(count + 1, world:count())
    end)

  it("SER-079 in the last record: the good ones before it are not restored", function()
    local world, log = richWorld()
    local before = ser.state(world)
    for _, bad in ipairs {
      { tags = { "Nope" } }, { tags = { "T", "T" } }, { traits = { P = {} } },
      { traits = { A = print } }, { pairs = { N = { { target = 99 } } } },
      { pairs = { N = { { target = 0 }, { target = 0 } } } },
    } do
      local s = goodSnapshot()
      for i = 2, 50 do
        s.entities[i] = goodSnapshot().entities[1]
      end
      s.entities[51] = ser.record(bad)
      local e = ser.catch(ecs.restoreWorld, world, s)
      assert.is_true(ecs.isSerializeError(e))
      assert.truthy(e.path:find("^entities%[50%]"), e.path)
      ser.assertUnchanged(before, world, "a refused snapshot")
      assert.same({}, log)
    end
  end)

  it("SER-079 which of several errors is reported is a function of the snapshot", function()
    local t = malformed.kit()
    local first
    for _ = 1, 20 do
      local world = malformed.world(t)
      local traits = { P = { q = 1, r = 2, x = "", s = 1 }, L = {}, F = {}, Zz = 1, Yy = 1 }
      local e = ser.catch(ecs.restoreWorld, world, ser.doc { { traits = traits } })
      first = first or e.message
      assert.equal(first, e.message)
    end
  end)

  it("SER-080 never makes a later restore fail", function()
    local good = goodSnapshot()
    local t = malformed.kit()
    local world = malformed.world(t)
    local rules = {}
    for _, list in ipairs { malformed.cases, malformedValues } do
      for i, case in ipairs(list) do
        local fresh = (rules[case.rule] or 0) < 40 or i % 16 == 0
        rules[case.rule] = (rules[case.rule] or 0) + 1
        ser.catch(ecs.restoreWorld, world, case.snapshot())
        if fresh then
          local e = ecs.restoreWorld(world, good).entities
          deep.assertSame(good, ecs.saveWorld(world), "the restored world")
          assert.equal(1, #e)
          world:reset()
        end
      end
    end
    -- Failures in the later steps, in the same world.
    local fail
    world:onAdd(t.E, function()
      if fail then
        error("no", 0)
      end
    end)
    for _ = 1, 20 do
      fail = true
      ser.raises("restoreWorld", "restore-failed", { "E" }, ecs.restoreWorld, world, good)
      ser.assertFresh(world, t.registered)
      fail = false
      ecs.restoreWorld(world, good)
      deep.assertSame(good, ecs.saveWorld(world), "the restored world")
      world:reset()
    end
  end)
end)
