-- Snapshots that travel as text through lua-cjson 2.1.0: every number comes back as a float, and
-- empty arrays and objects cannot be told apart.

local cjson = require "cjson"
local ecs = require "ecsser"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"

local function identity(x)
  return x
end

describe("lua-cjson", function()
  local t, entries

  before_each(function()
    t = {
      Ints = ecs.trait { i = 0, big = 0 }, Floats = ecs.trait { f = 0.0, g = 1.5 },
      Any = ecs.trait { null = ecs.null, made = function() return {} end },
      Bag = ecs.trait(function() return {} end), Coded = ecs.trait(function() return {} end),
      Link = ecs.trait { to = ecs.null }, Tag = ecs.trait(),
      Pair = ecs.relation { store = { i = 0, f = 0.0 } },
      Meta = ecs.relation { store = function() return {} end }, Bare = ecs.relation(),
    }
    entries = {
      Ints = t.Ints, Floats = t.Floats, Any = t.Any, Bag = t.Bag, Tag = t.Tag, Pair = t.Pair,
      Meta = t.Meta, Bare = t.Bare, Link = { trait = t.Link, refs = { "to" } },
      Coded = { trait = t.Coded, codec = { toJSON = identity, fromJSON = identity } },
    }
  end)

  -- The one entity of a fresh world into which this trait value was restored, via text.
  local function restored(name, value)
    local world = ser.world(entries)
    local snapshot = ser.viaCjson(ser.doc { { traits = { [name] = value } } })
    local e = ecs.restoreWorld(world, snapshot).entities[1]
    return world:get(e, t[name]), world, e
  end

  it("SER-010 gives floats for every number, so that the version tells this route", function()
    assert.equal("float", math.type(cjson.decode("1")))
    assert.equal("float", math.type(ser.viaCjson(ser.doc()).version))
    assert.equal(cjson.null, ecs.null)
  end)

  it("SER-071 takes 1, 1.0 and 1e0 as the version, and nothing else", function()
    local text = '{"format":"ecs-serialize","version":%s,"entities":[],'
      .. '"world":{"tags":[],"traits":{}}}'
    for _, version in ipairs { "1", "1.0", "1e0", "10e-1" } do
      local world = ecs.createWorld()
      deep.assertSame({ entities = {} },
        ecs.restoreWorld(world, cjson.decode(text:format(version))), version)
    end
    for _, version in ipairs {
      "0", "2", "1.5", '"1"', "true", "null", "-1", "[]", "{}", "1e300",
    } do
      ser.raises("restoreWorld", "unsupported-version", { "version" }, ecs.restoreWorld,
        ecs.createWorld(), cjson.decode(text:format(version)))
    end
  end)

  it("SER-051 integral floats become integers unless the field's default is a float", function()
    deep.assertSame({ i = 7, big = -12345678901234 },
      restored("Ints", { i = 7, big = -12345678901234 }), "integer fields")
    deep.assertSame({ i = 1, big = 0 }, restored("Ints", { i = 1.0, big = 0 }), "1.0 in the world")
    deep.assertSame({ i = 1.5, big = -0.25 }, restored("Ints", { i = 1.5, big = -0.25 }),
      "fractions")
    deep.assertSame({ f = 7.0, g = -2.0 }, restored("Floats", { f = 7.0, g = -2 }), "float fields")
    deep.assertSame({ null = 3, made = { 1, { n = 2 }, 2.5 } },
      restored("Any", { null = 3, made = { 1, { n = 2 }, 2.5 } }), "fields without a type")
    deep.assertSame({ 1, { deep = { 2, 3.5 } }, -7 },
      restored("Bag", { 1, { deep = { 2, 3.5 } }, -7 }), "AoS")
    deep.assertSame(5, restored("Bag", 5), "a plain number")
    deep.assertSame({ list = { 1, 2.5 } }, restored("Coded", { list = { 1, 2.5 } }), "a codec")
  end)

  it("SER-051 the borders: -0.0 stays, and so does what no integer can hold", function()
    local function through(text)
      local world = ser.world(entries)
      local e = ecs.restoreWorld(world, cjson.decode(
        '{"format":"ecs-serialize","version":1,"entities":[{"tags":[],"traits":{"Bag":[' .. text
        .. '],"Floats":{"f":' .. text .. ',"g":0},"Ints":{"i":' .. text
        .. ',"big":0}},"pairs":{}}],"world":{"tags":[],"traits":{}}}')).entities[1]
      deep.assertSame(world:get(e, t.Bag)[1], world:get(e, t.Ints, "i"), text)
      local float = world:get(e, t.Floats, "f")
      assert.equal("float", math.type(float))
      assert.equal(tonumber(text) + 0.0, float)
      return world:get(e, t.Bag)[1]
    end
    deep.assertSame(-0.0, through "-0", "-0")
    deep.assertSame(-0.0, through "-0.0", "-0.0")
    deep.assertSame(0, through "0", "0")
    deep.assertSame(9007199254740992, through "9007199254740992", "2^53")
    deep.assertSame(-9007199254740992, through "-9007199254740992", "-2^53")
    deep.assertSame(1 << 62, through "4611686018427387904", "2^62")
    deep.assertSame(2.0^63, through "9223372036854775808", "2^63")
    deep.assertSame(-2.0^64, through "-18446744073709551616", "-2^64")
    deep.assertSame(1e300, through "1e300", "1e300")
    deep.assertSame(1000, through "1e3", "1e3")
    deep.assertSame(0.5, through "0.5", "0.5")
    deep.assertSame(5e-324, through "5e-324", "5e-324")
    deep.assertSame(math.mininteger, through "-9223372036854775808", "-2^63")
  end)

  it("SER-051 with an integer version nothing is converted", function()
    local world = ser.world(entries)
    local e = ecs.restoreWorld(world, ser.doc { {
      traits = { Ints = { i = 1.0, big = 2.0 }, Floats = { f = 1, g = 2 }, Bag = { 1.0, 2 } },
    } }).entities[1]
    deep.assertSame({ i = 1.0, big = 2.0 }, world:get(e, t.Ints), "integer fields")
    deep.assertSame({ f = 1, g = 2 }, world:get(e, t.Floats), "float fields")
    deep.assertSame({ 1.0, 2 }, world:get(e, t.Bag), "AoS")
  end)

  it("SER-052 pairs, their data and the world record follow the same rule", function()
    local world = ser.world(entries)
    local s = ser.doc({ {}, { pairs = {
      Pair = {
        { target = 1, data = { i = 2, f = 3 } }, { target = 0, data = { i = 1.5, f = -4 } },
      },
      Meta = { { target = 0, data = { 1, 2.5, { n = 3 } } }, { target = 1, data = 4 } },
      Bare = { { target = 1 }, { target = 0 } },
    } } }, { traits = { Ints = { i = 5, big = 6 }, Floats = { f = 5, g = 6 }, Link = { to = 1 } } })
    local e = ecs.restoreWorld(world, ser.viaCjson(s)).entities
    deep.assertSame({ i = 2, f = 3.0 }, world:get(e[2], t.Pair(e[2])), "the first pair")
    deep.assertSame({ i = 1.5, f = -4.0 }, world:get(e[2], t.Pair(e[1])), "the second pair")
    deep.assertSame({ 1, 2.5, { n = 3 } }, world:get(e[2], t.Meta(e[1])), "AoS data")
    deep.assertSame(4, world:get(e[2], t.Meta(e[2])), "AoS data")
    deep.assertSame({ e[2], e[1] }, world:targets(e[2], t.Bare), "targets")
    deep.assertSame({ i = 5, big = 6 }, world:get(t.Ints), "world")
    deep.assertSame({ f = 5.0, g = 6.0 }, world:get(t.Floats), "world")
    deep.assertSame({ to = e[2] }, world:get(t.Link), "world")
  end)

  it("SER-012 empty arrays and empty objects are accepted for each other", function()
    local world = ser.world(entries)
    world:spawn()
    local text = cjson.encode(ecs.saveWorld(world))
    for _, empties in ipairs { { "%[%]", "{}" }, { "{}", "[]" } } do
      local changed = text:gsub(empties[1], empties[2])
      local other = ser.world(entries)
      assert.equal(1, #ecs.restoreWorld(other, cjson.decode(changed)).entities)
    end
    local none = cjson.decode('{"format":"ecs-serialize","version":1,"entities":{},'
      .. '"world":{"tags":{},"traits":[]}}')
    deep.assertSame({ entities = {} }, ecs.restoreWorld(ser.world(entries), none), "no entities")
    deep.assertSame({}, restored("Bag", {}), "an empty value")
    deep.assertSame({ made = {} }, restored("Any", { null = ecs.null, made = {} }),
      "an empty field")
  end)

  it("SER-030 null, indices and text come back right", function()
    local world = ser.world(entries)
    local a, b = world:spawn(t.Tag), world:spawn()
    world:add(a, t.Link { to = b }, t.Bag { ecs.null, { x = ecs.null } }, t.Any)
    world:add(b, t.Link, t.Bag(ecs.null))
    local saved = ecs.saveWorld(world)
    local other = ser.world(entries)
    local e = ecs.restoreWorld(other, ser.viaCjson(saved)).entities
    deep.assertSame({ to = e[2] }, other:get(e[1], t.Link), "a reference")
    deep.assertSame({}, other:get(e[2], t.Link), "null")
    deep.assertSame({ ecs.null, { x = ecs.null } }, other:get(e[1], t.Bag), "nulls")
    assert.equal(ecs.null, other:get(e[2], t.Bag))
    deep.assertSame({ null = ecs.null, made = {} }, saved.entities[1].traits.Any, "null default")
    deep.assertSame(saved, ecs.saveWorld(other), "saved again")
    for _, text in ipairs {
      "", "\0", "a\0b", "\127", "\"\\/\b\f\n\r\t\1", "\u{e9}\u{65e5}\u{1F600}\u{2028}\u{10FFFF}",
    } do
      deep.assertSame({ [text] = text }, restored("Bag", { [text] = text }), "text")
    end
  end)

  it("SER-076 indices that are no integers stay malformed", function()
    for _, to in ipairs { "0.5", "1", "-1", '"0"', "true", "{}", "[]", "1e300" } do
      local text = cjson.encode(ser.doc { { traits = { Link = { to = "TO" } } } }):gsub('"TO"', to)
      ser.raises("restoreWorld", "malformed", { "Link" }, ecs.restoreWorld, ser.world(entries),
        cjson.decode(text))
    end
    for _, to in ipairs { "0", "0.0", "-0", "0e5" } do
      local text = cjson.encode(ser.doc { { traits = { Link = { to = "TO" } } } }):gsub('"TO"', to)
      assert.equal(1, #ecs.restoreWorld(ser.world(entries), cjson.decode(text)).entities)
    end
  end)

  it("SER-078 what cjson reads beyond JSON is refused: huge numbers, invalid UTF-8", function()
    for _, bad in ipairs {
      "1e999", "-1e999", '"\xFF"', '{"\xC0\x80":1}', '"\xED\xA0\xBD\xED\xB8\x80"',
    } do
      local text = cjson.encode(ser.doc { { traits = { Bag = { "BAD" } } } }):gsub('"BAD"', bad)
      ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, ser.world(entries),
        cjson.decode(text))
    end
    local proto = cjson.decode('{"__proto__":{"x":1}}')
    ser.raises("restoreWorld", "malformed", { "Bag" }, ecs.restoreWorld, ser.world(entries),
      ser.doc { { traits = { Bag = proto } } })
  end)

  it("SER-054 a document nested 500 deep goes through cjson both ways", function()
    local value = ser.nested(500)
    deep.assertSame(value, restored("Bag", value), "500 deep")
  end)
end)
