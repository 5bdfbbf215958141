-- Snapshots of earlier code: other names, other schemas, other versions. Loading and appending
-- follow the same rules, so that everything here is tried both ways.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local null <const> = ecs.null

local function list() return {} end

-- The entries of one trait or relation under a name, with options.
local function entries(name, object, options)
  local entry = { [ecs.isRelation(object) and "relation" or "trait"] = object }
  for key, value in pairs(options or {}) do entry[key] = value end
  return { [name] = entry }
end

-- The bytes of a world in which, for each value, an entity has it (or a pair with the first one).
local function saved(name, object, values, options)
  local world <close> = ser.world(entries(name, object, options))
  if ecs.isRelation(object) then world:spawn() end
  for _, value in ipairs(values) do
    if ecs.isRelation(object) then world:spawn(object(world:entities()[2], value))
    else world:spawn(object.kind == "tag" and object or object(value)) end
  end
  return ecs.saveSnapshot(world)
end

-- Both ways to bring a snapshot into a world: name of the function, and what runs it.
local ways = { { "loadSnapshot", ecs.loadSnapshot }, { "appendSnapshot", ecs.appendSnapshot } }

-- What the bytes become under other registrations: the list of values, the same both ways.
local function become(bytes, name, object, options)
  local results = {}
  for i, way in ipairs(ways) do
    local world <close> = ser.world(entries(name, object, options))
    way[2](world, bytes)
    results[i] = {}
    for k, entity in ipairs(world:query(ecs.isRelation(object) and object "*" or object)) do
      local term = object
      if ecs.isRelation(object) then term = object(world:targets(entity, object)[1]) end
      results[i][k] = world:get(entity, term) or null
    end
    -- What came is a world like any other.
    local copy <close> = ser.world(entries(name, object, options))
    ecs.loadSnapshot(copy, ecs.saveSnapshot(world))
    assert.equal(ecs.hashWorld(world), ecs.hashWorld(copy))
  end
  deep.assertSame(results[1], results[2], "loaded and appended")
  return results[1]
end

-- Neither way may work, and nothing may change. Returns the error.
local function refused(code, names, bytes, name, object, options)
  local err
  for _, way in ipairs(ways) do
    local world <close> = ser.world(entries(name, object, options))
    local target = world:spawn(ecs.IsExcluded)
    world:spawn(ecs.isRelation(object) and object(target) or object)
    world:destroy(world:spawn())
    local before, hash = ser.state(world), ecs.hashWorld(world)
    err = ser.raises(way[1], code, names, way[2], world, bytes)
    ser.assertUnchanged(before, world, way[1])
    assert.equal(hash, ecs.hashWorld(world))
    assert.is_string(err.path)
  end
  return err
end

-- A SoA schema as trait and as data of pairs.
local function both(schema)
  return { ecs.trait(schema), ecs.relation { store = schema } }
end

describe("formerly", function()
  it("finds traits, relations and keys under names that they had", function()
    for _, object in ipairs(both { n = 1 }) do
      local bytes = saved("Old", object, { { n = 5 }, { n = 6 } })
      for _, formerly in ipairs { { "Old" }, { "Older", "Old" }, { "Old", "", "New" } } do
        deep.assertSame({ { n = 5 }, { n = 6 } }, become(bytes, "New", object, {
          formerly = formerly,
        }))
      end
      refused("unknown-trait", { "Old" }, bytes, "Olde", object, { formerly = { "old", "Older" } })
    end
    local tag = ecs.trait()
    assert.equal(2, #become(saved("T", tag, { null, null }), "U", tag, { formerly = { "T" } }))
    deep.assertSame({ "k" }, become(saved("Id", ecs.Key, { "k" }), "Key", ecs.Key, {
      formerly = { "Id" },
    }))
  end)

  it("gives way to a trait of that name, and takes no two traits for one", function()
    local A, B = ecs.trait { n = 1 }, ecs.trait { n = 1 }
    local old <close> = ser.world { A = A, B = B }
    old:spawn(A { n = 2 }, B { n = 3 })
    local onlyA <close> = ser.world { A = A }
    onlyA:spawn(A { n = 4 })
    local world <close> = ser.world { A = A, C = { trait = B, formerly = { "A", "B" } } }
    ecs.loadSnapshot(world, ecs.saveSnapshot(old))
    local e = world:query()[1]
    assert.same({ { n = 2 }, { n = 3 } }, { world:get(e, A), world:get(e, B) })
    ecs.loadSnapshot(world, ecs.saveSnapshot(onlyA))
    assert.same({ 1, 0 }, { #world:query(A), #world:query(B) })
    local one <close> = ser.world { C = { trait = B, formerly = { "A", "B" } } }
    local hash = ecs.hashWorld(one)
    for _, way in ipairs(ways) do
      ser.raises(way[1], "malformed", { "B" }, way[2], one, ecs.saveSnapshot(old))
      assert.equal(hash, ecs.hashWorld(one))
    end
  end)

  it("goes together with changed schemas, and the new name is the one that is saved", function()
    local bytes = saved("Old", ecs.trait { hp = 1, name = "" }, { { hp = 5, name = "x" } })
    local New = ecs.trait { health = 1, title = "none" }
    local options = { formerly = { "Old" }, version = 2, migrate = function(value)
      return { health = value.hp * 10, title = value.name }
    end }
    deep.assertSame({ { health = 50, title = "x" } }, become(bytes, "New", New, options))
    local world <close> = ser.world(entries("New", New, options))
    ecs.loadSnapshot(world, bytes)
    local header = ecs.inspectSnapshot(ecs.saveSnapshot(world)).traits[1]
    assert.same({ "New", 2, { { "health", "integer" }, { "title", "string" } } },
      { header.name, header.version, header.fields })
    local entity = ecs.appendSnapshot(world, bytes, { offset = { New = { health = 7 } } })[1]
    assert.equal(57, world:get(entity, New, "health"))
  end)

  it("is a list of names, each of one trait only", function()
    local world <close> = ecs.createWorld()
    for _, wrong in ipairs { "Old", 1, true, { 1 }, { "a", {} }, { x = "Old" } } do
      ser.raises("registerTraits", "invalid-registration", { "T" }, ecs.registerTraits, world,
        entries("T", ecs.trait(), { formerly = wrong }))
    end
    ser.raises("registerTraits", "invalid-registration", {}, ecs.registerTraits, world, {
      A = { trait = ecs.trait(), formerly = { "Old" } },
      B = { trait = ecs.trait(), formerly = { "Old" } },
    })
  end)
end)

describe("fields", function()
  it("that are new take their default, from a factory one each", function()
    local made = 0
    local function factory()
      made = made + 1
      return { "made" }
    end
    local schema = { a = 1, b = 2.5, c = "c", d = true, e = null, f = factory }
    for _, Old in ipairs(both { a = 0 }) do
      local New = both(schema)[ecs.isRelation(Old) and 2 or 1]
      made = 0
      local values = become(saved("T", Old, { { a = 7 }, { a = 8 } }), "T", New)
      deep.assertSame({ a = 7, b = 2.5, c = "c", d = true, f = { "made" } }, values[1])
      deep.assertSame({ a = 8, b = 2.5, c = "c", d = true, f = { "made" } }, values[2])
      assert.is_false(rawequal(values[1].f, values[2].f))
      assert.equal(4, made)   -- two ways
    end
  end)

  it("may come in another order, and be new or gone for the world entity as well", function()
    local Old, New = ecs.trait { { "b", 1 }, { "a", "x" } }, ecs.trait { a = "", b = 0, c = 5 }
    local old <close> = ser.world { T = Old }
    old:add(Old { b = 2, a = "y" })
    local world <close> = ser.world { T = New }
    ecs.loadSnapshot(world, ecs.saveSnapshot(old))
    deep.assertSame({ a = "y", b = 2, c = 5 }, world:get(New))
    local moved <close> = ser.world {
      T = { trait = New, version = 2, migrate = function(v) return { c = v.b + 1 } end },
    }
    ecs.loadSnapshot(moved, ecs.saveSnapshot(old))
    deep.assertSame({ a = "", b = 0, c = 3 }, moved:get(New))
  end)

  it("that are gone are an error without migrate", function()
    for i, Old in ipairs(both { kept = 1, gone = "x" }) do
      local New = both { kept = 1 }[i]
      local bytes = saved("T", Old, { { kept = 5 } })
      refused("malformed", { '"T"', '"gone"' }, bytes, "T", New)
      refused("malformed", { '"T"', '"gone"' }, bytes, "T", New, { version = 2 })
      deep.assertSame({ { kept = 5 } }, become(bytes, "T", New, {
        version = 2, migrate = function(value) return { kept = value.kept } end,
      }))
    end
  end)

  -- Saved default, value, registered default, what the value becomes (nothing: refused).
  local CONVERSIONS <const> = {
    { 0, 5, 0.5, 5.0 }, { 0, -0, 0.5, 0.0 }, { 0.5, 5.0, 0, 5 }, { 0.5, -2.0 ^ 62, 0, -(1 << 62) },
    { 0.5, 1.5, 0, 1.5 }, { 0.5, 2.0 ^ 63, 0, 2.0 ^ 63 }, { 0.5, -2.0 ^ 63, 0, math.mininteger },
    { 0.5, math.huge, 0, math.huge }, { 0.5, -1 / 0, 0, -1 / 0 },
    { 0, 2 ^ 53 | 0, 0.5, 2.0 ^ 53 }, { 0, math.mininteger, 0.5, -2.0 ^ 63 },
    -- The same type keeps whatever number there is.
    { 0, 1.0, 0, 1.0 }, { 0.5, 1, 0.5, 1 }, { 0, 1.5, 0.5, 1.5 }, { 0.5, 3, 0, 3 },
    { null, 5, 0, 5 }, { null, 5.0, 0, 5.0 }, { null, "x", "", "x" }, { null, true, false, true },
    { 0, 5, null, 5 }, { "", "x", null, "x" }, { false, true, null, true },
    { null, { 1, "a" }, null, { 1, "a" } }, { list, { 1 }, null, { 1 } },
    { null, { 1 }, list, { 1 } }, { 0, 5, list, 5 }, { list, 5, 0, 5 },
    { "", "5", 0 }, { 0, 5, "" }, { false, true, 0 }, { 0, 1, false }, { "", "true", false },
    { false, true, "" }, { 0.5, 1.0, "" }, { "", "", 0.5 },
    { null, "x", 0 }, { null, { 1 }, 0 }, { null, 5, "" }, { null, nil, 0 }, { null, nil, "" },
    { list, {}, 0 }, { list, "5", 0.5 },
  }

  for i, case in ipairs(CONVERSIONS) do
    local from, value, to, expected = table.unpack(case, 1, 4)
    local function show(x) return x == null and "null" or x == list and "list" or tostring(x) end
    it(("%d: %s of a %s default to a %s default"):format(i, show(value), show(from), show(to)),
      function()
        for k, Old in ipairs(both { f = from, other = "kept" }) do
          local New = both { f = to, other = "" }[k]
          local bytes = saved("T", Old, { { f = value }, { f = value } })
          if expected == nil then
            refused("malformed", { '"T"', '"f"' }, bytes, "T", New)
          else
            deep.assertSame({ { f = expected, other = "kept" }, { f = expected, other = "kept" } },
              become(bytes, "T", New))
          end
          -- With migrate everything is possible.
          local made = to
          if to == null or to == list then made = 1 end
          deep.assertSame({ f = made, other = "new" },
            become(bytes, "T", New, { version = 2, migrate = function(v)
              deep.assertSame(value == nil and null or value, v.f)
              return { f = made, other = "new" }
            end })[1])
        end
      end)
  end

  it("NaN keeps its bits when its field becomes an integer", function()
    local bytes = saved("T", ecs.trait { f = 0.5 }, { { f = 0 / 0 } })
    local value = become(bytes, "T", ecs.trait { f = 0 })[1].f
    assert.equal(string.pack("<d", 0 / 0), string.pack("<d", value))
  end)
end)

describe("references", function()
  it("and plain fields never become each other without migrate", function()
    local T = ecs.trait { to = null }
    local refs = { refs = { "to" } }
    local world <close> = ser.world(entries("T", T, refs))
    local a = world:spawn(T)
    world:spawn(T { to = a })
    local bytes = ecs.saveSnapshot(world)
    refused("malformed", { '"T"', '"to"' }, bytes, "T", T)
    refused("malformed", { '"T"', '"to"' }, saved("T", T, { { to = 5 } }), "T", T, refs)
    -- migrate gets handles, and may make something else of them.
    for _, way in ipairs(ways) do
      local Named = ecs.trait { has = false, target = null }
      local seen
      local other <close> = ser.world { T = {
        trait = Named, refs = { "target" }, version = 2, migrate = function(value)
          seen = value.to or seen
          return { has = value.to ~= null, target = value.to }
        end,
      } }
      local spare = other:spawn()
      way[2](other, bytes)
      local e = other:query(Named)
      assert.equal(e[1], seen)
      assert.is_true(other:isAlive(seen))
      assert.equal(way[1] == "loadSnapshot", seen == spare)
      assert.same({ has = true, target = e[1] }, other:get(e[2], Named))
      assert.same({ has = false }, other:get(e[1], Named))
    end
  end)
end)

describe("kinds", function()
  it("never become each other, whatever migrate is there", function()
    local function objects()
      return {
        { ecs.trait(), null }, { ecs.trait { n = 1 }, { n = 2 } }, { ecs.trait(list), { 1 } },
        { ecs.relation() }, { ecs.relation { store = { n = 1 } }, { n = 2 } },
        { ecs.relation { store = list }, { 1 } },
      }
    end
    local words = { "tag", "soa", "aos", "pair", "pair-soa", "pair-aos" }
    for i, from in ipairs(objects()) do
      local world <close> = ser.world(entries("T", from[1]))
      local target = world:spawn()
      if i > 3 then world:spawn(i == 4 and from[1](target) or from[1](target, from[2]))
      else world:spawn(i == 1 and from[1] or from[1](from[2])) end
      local bytes = ecs.saveSnapshot(world)
      for k, to in ipairs(objects()) do
        local options = { version = 2, migrate = function(value) return value end }
        if i ~= k then
          refused("malformed", { '"T"', words[i], words[k] }, bytes, "T", to[1])
          refused("malformed", { '"T"', words[i], words[k] }, bytes, "T", to[1], options)
        else
          assert.equal(1, #become(bytes, "T", to[1], options))
        end
      end
    end
  end)

  it("exclusive relations take no two targets", function()
    local Many, One = ecs.relation(), ecs.relation { exclusive = true }
    local world <close> = ser.world(entries("R", Many))
    local a, b = world:spawn(), world:spawn()
    local source = world:spawn(Many(a))
    assert.equal(1, #become(ecs.saveSnapshot(world), "R", One))
    world:add(source, Many(b))
    refused("malformed", { '"R"', "exclusive" }, ecs.saveSnapshot(world), "R", One)
  end)
end)

describe("migrate", function()
  -- Schemas of four versions, and the steps between them.
  local SCHEMAS <const> = {
    { hp = 1, pos = "0,0" }, { hp = 1, max = 1, x = 0, y = 0 },
    { health = { 1 }, x = 0.0, y = 0.0 }, { health = 1, max = 1, at = null },
  }
  SCHEMAS[3].health = function() return { hp = 1, max = 1 } end
  local STEPS <const> = {
    function(v)
      local x, y = v.pos:match "(%-?%d+),(%-?%d+)"
      return { hp = v.hp, max = v.hp * 2, x = math.tointeger(x), y = math.tointeger(y) }
    end,
    function(v)
      v.health, v.hp, v.max = { hp = v.hp, max = v.max }, nil, nil   -- in place
      v.x, v.y = v.x + 0.0, v.y + 0.0
      return v
    end,
    function(v)
      return { health = v.health.hp, max = v.health.max, at = { v.x + 0.0, v.y + 0.0 } }
    end,
  }
  local VALUES <const> = {
    { { hp = 5, pos = "1,2" }, { hp = -3, pos = "0,-7" } },
    { { hp = 5, max = 10, x = 1, y = 2 }, { hp = -3, max = -6, x = 0, y = -7 } },
    { { health = { hp = 5, max = 10 }, x = 1.0, y = 2.0 },
      { health = { hp = -3, max = -6 }, x = 0.0, y = -7.0 } },
    { { health = 5, max = 10, at = { 1.0, 2.0 } }, { health = -3, max = -6, at = { 0.0, -7.0 } } },
  }

  it("runs once per value and step, from the saved version to the registered one", function()
    for first = 1, 4 do
      for last = first, 4 do
        for k, Old in ipairs(both(SCHEMAS[first])) do
          local New = both(SCHEMAS[last])[k]
          local bytes = saved("T", Old, VALUES[first], { version = first })
          local steps = {}
          local options = { version = last, migrate = function(value, from, ...)
            assert.equal(0, select("#", ...))
            steps[#steps + 1] = from
            return STEPS[from](value)
          end }
          deep.assertSame(VALUES[last], become(bytes, "T", New, options))
          local expected = {}
          for _ = 1, #ways * #VALUES[first] do
            for step = first, last - 1 do expected[#expected + 1] = step end
          end
          assert.same(expected, steps)
          if last < 4 then
            refused("unsupported-version", { '"T"' }, saved("T", Old, VALUES[first],
              { version = 4 }), "T", New, options)
          end
        end
      end
    end
  end)

  it("works on copies: values and bytes stay what they were", function()
    local T = ecs.trait(list)
    local shared = { 1, { 2 } }
    local bytes = saved("T", T, { shared, shared })
    for _ = 1, 2 do
      local values = become(bytes, "T", T, { version = 3, migrate = function(value, from)
        value[1], value[2][1] = from, value[2][1] + from
        return value
      end })
      deep.assertSame({ { 2, { 5 } }, { 2, { 5 } } }, values)
    end
    deep.assertSame({ 1, { 2 } }, shared)
    local world <close> = ser.world { T = T }
    world:spawn(T(shared))
    local tree = ecs.saveSnapshot(world, { format = "table" })
    local copy = deep.copy(tree)
    local other <close> = ser.world(entries("T", T, { version = 2, migrate = function(value)
      value[2] = nil
      return value
    end }))
    ecs.loadSnapshot(other, tree)
    deep.assertSame(copy, tree)
    deep.assertSame({ 1 }, other:get(other:query(T)[1], T))
  end)

  it("gives what the codec then decodes, also when there was no codec, or is none now", function()
    local T = ecs.trait(list)
    local function codec(name)
      return {
        toJSON = function(value) return { name, value[1] } end,
        fromJSON = function(json)
          assert.equal(name, json[1])
          return { json[2] }
        end,
      }
    end
    local function to(name)
      return function(value) return { name, value[#value] } end
    end
    local a, plain = saved("T", T, { { 5 } }, { codec = codec "a" }), saved("T", T, { { 5 } })
    deep.assertSame({ { 5 } }, become(a, "T", T, { version = 2, codec = codec "b",
      migrate = to "b" }))
    deep.assertSame({ { 5 } }, become(plain, "T", T, { version = 2, codec = codec "b",
      migrate = to "b" }))
    deep.assertSame({ { 5 } }, become(a, "T", T, { version = 2,
      migrate = function(value) return { value[2] } end }))
    local S = ecs.trait { n = 0 }
    local soa = saved("T", S, { { n = 4 } }, { codec = {
      toJSON = function(value) return value.n end, fromJSON = function(n) return { n = n } end,
    } })
    deep.assertSame({ { n = 8 } }, become(soa, "T", S, { version = 2,
      migrate = function(n) return { n = n * 2 } end }))
    refused("malformed", { '"T"', "codec" }, soa, "T", S)
    local fields = saved("T", S, { { n = 4 } })
    refused("malformed", { '"T"', "codec" }, fields, "T", S, { codec = codec "b" })
  end)

  it("fills in defaults and nulls, and refuses what the schema does not know", function()
    local bytes = saved("T", ecs.trait { n = 0 }, { { n = 5 } })
    local New = ecs.trait { n = 1, s = "s", any = null }
    local function gives(result)
      return { version = 2, migrate = function() return result end }
    end
    deep.assertSame({ { n = 1, s = "s" } }, become(bytes, "T", New, gives {}))
    deep.assertSame({ { n = 1, s = "x" } }, become(bytes, "T", New, gives { any = null, s = "x" }))
    deep.assertSame({ { n = 2.5, s = "s", any = false } },
      become(bytes, "T", New, gives { n = 2.5, any = false }))
    for _, wrong in ipairs {
      5, "x", false, null, { nope = 1 }, { n = "1" }, { s = 1 }, { n = null }, { 1 }, print,
    } do
      local err = refused("codec-error", { '"T"' }, bytes, "T", New, gives(wrong))
      assert.truthy(err.cause)
    end
    refused("codec-error", { '"T"', "version 1" }, bytes, "T", New, gives(nil))
  end)

  it("P5 that fails at any step of any value changes nothing, and tells trait, step and cause",
    function()
      for k, Old in ipairs(both(SCHEMAS[1])) do
        local New = both(SCHEMAS[4])[k]
        local bytes = saved("T", Old, VALUES[1])
        for n = 1, 6 do
          for _, cause in ipairs { "text", {}, 5 } do
            local left = 0
            local options = { version = 4, migrate = function(value, from)
              left = left - 1
              if left == 0 then error(cause, 0) end
              return STEPS[from](value)
            end }
            for _, way in ipairs(ways) do
              local world <close> = ser.world(entries("T", New, options))
              local target = world:spawn()
              world:spawn(k == 1 and New { health = 7 } or New(target, { health = 7 }))
              local before, hash = ser.state(world), ecs.hashWorld(world)
              left = n
              local err = ser.raises(way[1], "codec-error", {
                '"T"', "version " .. (n - 1) % 3 + 1,
              }, way[2], world, bytes)
              assert.equal(cause, err.cause)
              ser.assertUnchanged(before, world, way[1])
              assert.equal(hash, ecs.hashWorld(world))
              way[2](world, bytes)   -- and then it works
            end
          end
        end
      end
    end)

  it("cannot change, save, load or close the world, or yield", function()
    local T = ecs.trait { n = 0 }
    local bytes = saved("T", T, { { n = 5 } })
    for name, fn in pairs {
      spawn = function(world) world:spawn() end,
      add = function(world) world:add(T) end,
      destroy = function(world) world:destroy(world:query(T)[1]) end,
      reset = function(world) world:reset() end,
      close = function(world) world:close() end,
      load = function(world) ecs.loadSnapshot(world, bytes) end,
      append = function(world) ecs.appendSnapshot(world, bytes) end,
      register = function(world) ecs.registerTraits(world, { U = ecs.trait() }) end,
      yield = function() coroutine.yield() end,
    } do
      for _, way in ipairs(ways) do
        local world <close>, ran = ecs.createWorld(), 0
        ecs.registerTraits(world, entries("T", T, { version = 2, migrate = function(value)
          ran = ran + 1
          fn(world)
          return value
        end }))
        world:spawn(T { n = 1 })
        local hash = ecs.hashWorld(world)
        local err = coroutine.wrap(function() return ser.catch(way[2], world, bytes) end)()
        ser.isError(err, way[1], "codec-error", { '"T"' })
        assert.equal(1, ran, name)
        assert.equal(hash, ecs.hashWorld(world))
      end
    end
  end)

  it("is asked for by version, which must be an integer from 1", function()
    local world <close> = ecs.createWorld()
    local wrong = {
      version = { 0, -1, 1.5, 2.0, "2", true, math.huge, 2 ^ 31 | 0, math.maxinteger },
      migrate = { 1, "x", {}, true },
    }
    for option, values in pairs(wrong) do
      for _, value in ipairs(values) do
        ser.raises("registerTraits", "invalid-registration", { "T", option }, ecs.registerTraits,
          world, entries("T", ecs.trait(), { [option] = value }))
      end
    end
    -- Registering again with another version or migrate is no repetition.
    local T = ecs.trait { n = 0 }
    for _ = 1, 2 do ecs.registerTraits(world, entries("T", T, { version = 2 })) end
    for _, other in ipairs {
      { version = 3 }, {}, { version = 2, migrate = print }, { version = 2, formerly = { "U" } },
    } do
      ser.raises("registerTraits", "duplicate-name", { "T" }, ecs.registerTraits, world,
        entries("T", T, other))
    end
  end)
end)

describe("a game over the years", function()
  -- Each version of the game knows all its versions so far, and loads saves of every one.
  local function game(version)
    local body = {
      ecs.trait { hp = 10, x = 0, y = 0 }, ecs.trait { hp = 10, max = 10, x = 0.0, y = 0.0 },
      ecs.trait { health = 10.0, x = 0.0, y = 0.0, z = 0.0 },
    }
    local holds = {
      ecs.relation { store = { n = 1 } }, ecs.relation { store = { count = 1 } },
      ecs.relation { store = { count = 1, since = 0 } },
    }
    local function migrate(value, from)
      if from == 1 then
        return { hp = value.hp, max = value.hp, x = value.x + 0.0, y = value.y + 0.0 }
      end
      return { health = value.hp / value.max, x = value.x, y = value.y }
    end
    local Body, Holds = body[version], holds[version]
    local world = ser.world {
      [version == 3 and "Body" or "Unit"] = {
        trait = Body, version = version, migrate = migrate,
        formerly = version == 3 and { "Unit" } or nil,
      },
      Holds = { relation = Holds, version = version, migrate = function(value, from)
        return from == 1 and { count = value.n } or { count = value.count, since = -1 }
      end },
    }
    return world, Body, Holds
  end

  it("loads every save of its past, with all handles and pairs", function()
    random.rounds(30, function(rng)
      local worlds, body, holds = {}, {}, {}
      for v = 1, 3 do worlds[v], body[v], holds[v] = game(v) end
      local all = {}
      for i = 1, rng:int(2, 30) do
        all[i] = worlds[1]:spawn(body[1] { hp = rng:int(1, 50), x = rng:int(-9, 9) })
        if i > 1 then
          worlds[1]:add(all[i], holds[1](all[rng:int(1, i - 1)], { n = rng:int(1, 5) }))
        end
        if i > 1 and rng:chance(20) then
          worlds[1]:destroy(all[i])
          all[i] = all[1]
        end
      end
      local first = ecs.saveSnapshot(worlds[1])
      ecs.loadSnapshot(worlds[2], first)
      ecs.loadSnapshot(worlds[3], ecs.saveSnapshot(worlds[2]))
      local direct, Body, Holds = game(3)
      ecs.loadSnapshot(direct, first)
      assert.equal(ecs.hashWorld(direct), ecs.hashWorld(worlds[3]))
      for i, entity in ipairs(worlds[1]:entities()) do
        local old = worlds[1]:get(entity, body[1])
        local e = direct:entities()[i]
        assert.equal(util.slot(entity), util.slot(e))
        if old then
          deep.assertSame({ health = 1.0, x = old.x + 0.0, y = 0.0, z = 0.0 }, direct:get(e, Body))
          for k, target in ipairs(worlds[1]:targets(entity, holds[1])) do
            local now = direct:targets(e, Holds)[k]
            assert.equal(util.slot(target), util.slot(now))
            deep.assertSame({ count = worlds[1]:get(entity, holds[1](target), "n"), since = -1 },
              direct:get(e, Holds(now)))
          end
        end
      end
      for _, world in ipairs { worlds[1], worlds[2], worlds[3], direct } do world:close() end
    end)
  end)
end)
