-- Numbers, strings and other values: what went in comes out, bit for bit, and lies in the snapshot
-- in the one form that its column has.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"
local deep = require "spec.support.deep"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local values = require "spec.support.values"

local N, F, S = ecs.trait { n = 0 }, ecs.trait { f = 0.0 }, ecs.trait { s = "" }
local B, Any, Aos = ecs.trait { b = false }, ecs.trait { any = ecs.null },
  ecs.trait(function() return {} end)

local function newWorld()
  return ser.world { N = N, F = F, S = S, B = B, Any = Any, Aos = Aos, Key = ecs.Key }
end

-- Saves and loads entities with these terms; the new world and the parts of the snapshot.
local function through(terms)
  local world <close> = newWorld()
  for _, term in ipairs(terms) do world:spawn(term) end
  local snapshot = ecs.saveSnapshot(world)
  local copy = newWorld()
  ecs.loadSnapshot(copy, snapshot)
  assert.equal(snapshot, ecs.saveSnapshot(copy))
  local parts = bytes.parts(snapshot)
  return copy, parts, function(name)
    return bytes.trait(parts.header, parts.body, name)[2][1]
  end
end

local function list(trait, field, column)
  local terms = {}
  for i, value in ipairs(column) do
    if field then terms[i] = trait { [field] = value } else terms[i] = trait(value) end
  end
  return terms
end

-- Checks that these values of a trait come back, and gives the node of their column.
local function column(name, trait, field, given)
  local copy <close>, _, node = through(list(trait, field, given))
  local all = copy:entities()
  for i, value in ipairs(given) do
    local got = copy:get(all[i + 1], trait)
    if field then got = got[field] end
    deep.assertSame(value, got, name .. " row " .. i, { marks = false })
  end
  return node(name)
end

local function bits(x) return (string.unpack("<d", string.pack("<i8", x))) end

describe("integers", function()
  it("lie in the narrowest typed array that holds all of them", function()
    for _, case in ipairs {
      { 72, { 0, -128, 127 } }, { 77, { 0, 128 } }, { 77, { -129 } }, { 77, { 32767, -32768 } },
      { 78, { 32768 } }, { 78, { -32769 } }, { 78, { 2^31 - 1 | 0, -2^31 | 0 } },
      { 79, { 2^31 | 0 } }, { 79, { -2^31 - 1 | 0 } }, { 79, { 1 << 53, (1 << 53) + 1 } },
      { 79, { math.maxinteger, math.mininteger, 0 } },
    } do
      for _, spot in ipairs { { "N", N, "n" }, { "Any", Any, "any" }, { "Aos", Aos } } do
        local node = column(spot[1], spot[2], spot[3], case[2])
        assert.equal(case[1], node.tag)
        assert.same(case[2], cbor.numbers(node))
      end
    end
  end)

  it("of any size inside values", function()
    local all = {}
    for shift = 0, 63 do
      for _, d in ipairs { -1, 0, 1 } do all[#all + 1] = (1 << shift) + d end
      all[#all + 1] = -(1 << shift)
    end
    column("Any", Any, "any", { all, "x" })
    column("N", N, "n", all)
  end)
end)

describe("floats", function()
  local special = { 0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 5e-324, -5e-324, 2.2250738585072014e-308,
    1.7976931348623157e308, 1 / 0, -1 / 0, 2.0^53, 2.0^63, -2.0^63, 2.0^64, 65504.0, 65520.0,
    6.103515625e-05, 5.960464477539063e-08, 3.4028234663852886e38, 1.401298464324817e-45,
    bits(0x7FF8000000000000), bits(0x7FF8000000000001), bits(0x7FF4000000000000),
    bits(0xFFF8000000000000 | 0), bits(0x7FF0000000000001), bits(0xFFFFFFFFFFFFFFFF | 0) }

  it("are float64 in a column, with all their bits, NaN's payload included", function()
    for _, spot in ipairs { { "F", F, "f" }, { "N", N, "n" }, { "Any", Any, "any" },
      { "Aos", Aos } } do
      local node = column(spot[1], spot[2], spot[3], special)
      assert.equal(86, node.tag)
      deep.assertSame(special, cbor.numbers(node))
    end
  end)

  it("are the shortest float that keeps the bits inside values", function()
    column("Any", Any, "any", { special, "x" })
    random.rounds(20, function(rng)
      local all = {}
      for i = 1, 200 do all[i] = bits(rng:bits()) end
      for i = 1, 50 do
        all[#all + 1] = (string.unpack("<f", string.pack("<I4", rng:int(0, ~0 >> 32))))
        all[#all + 1] = i / 8
      end
      column("Any", Any, "any", { all, "x" })
      column("F", F, "f", all)
    end)
    for _, case in ipairs { { 1.5, 2 }, { 65504.0, 2 }, { 65520.0, 4 }, { 0.1, 8 }, { 1 / 0, 2 },
      { 100000.0, 4 }, { 2.0^64, 4 }, { -0.0, 2 }, { 2.0^-24, 2 }, { 2.0^-25, 4 },
      { 2.0^-149, 4 }, { 2.0^-150, 8 } } do
      local value, size = case[1], case[2]
      local node = column("Any", Any, "any", { value, "x" })
      assert.equal("float", node[1].type)
      assert.equal(size, node[1].size)
    end
  end)

  it("among integers make a column of values, each with its subtype", function()
    for _, spot in ipairs { { "N", N, "n" }, { "F", F, "f" }, { "Any", Any, "any" } } do
      local node = column(spot[1], spot[2], spot[3], { 1, 1.0, 2^53 | 0, 2.0^53, 0, -0.0 })
      assert.equal("array", node.type)
      assert.same({ "int", "float", "int", "float", "int", "float" }, {
        node[1].type, node[2].type, node[3].type, node[4].type, node[5].type, node[6].type })
    end
  end)
end)

describe("booleans", function()
  it("are a bit string, the first row in the lowest bit", function()
    for _, case in ipairs {
      { "\1", { true } }, { "\0", { false } }, { "\5", { true, false, true } },
      { "\xFF", { true, true, true, true, true, true, true, true } },
      { "\0\1", { false, false, false, false, false, false, false, false, true } },
    } do
      for _, spot in ipairs { { "B", B, "b" }, { "Any", Any, "any" }, { "Aos", Aos } } do
        local node = column(spot[1], spot[2], spot[3], case[2])
        assert.equal("bytes", node.type)
        assert.equal(case[1], node.value)
      end
    end
    random.rounds(10, function(rng)
      local all = {}
      for i = 1, rng:int(1, 100) do all[i] = rng:chance(50) end
      column("B", B, "b", all)
    end)
  end)
end)

describe("strings", function()
  it("are text when they are UTF-8, else a byte string; every byte comes back", function()
    local every = {}
    for i = 0, 255 do every[i + 1] = string.char(i) end
    local node = column("S", S, "s", every)
    for i = 0, 255 do
      assert.equal(i < 128 and "text" or "bytes", node[i + 1].type)
      assert.equal(string.char(i), node[i + 1].value)
    end
    for text, kind in pairs {
      ["a\0b"] = "text", ["\u{7FF}\u{800}\u{FFFF}\u{10FFFF}"] = "text", ["\xED\xA0\x80"] = "bytes",
      ["\xC0\x80"] = "bytes", ["\xF4\x90\x80\x80"] = "bytes", ["\xE2\x82"] = "bytes",
      [("x"):rep(70000)] = "text", [("\xFF"):rep(70000)] = "bytes", [table.concat(every)] = "bytes",
      ["\u{FEFF}"] = "text", ["\xF5"] = "bytes", ["\xED\xBF\xBF"] = "bytes",
    } do
      for _, spot in ipairs { { "S", S, "s" }, { "Any", Any, "any" } } do
        node = column(spot[1], spot[2], spot[3], { text })
        assert.equal(kind, node[1].type)
        assert.equal(text, node[1].value)
      end
    end
  end)

  it("of all lengths around the sizes of heads", function()
    local all = {}
    for _, n in ipairs { 0, 1, 22, 23, 24, 25, 254, 255, 256, 257, 65534, 65535, 65536, 65537 } do
      all[#all + 1] = ("a"):rep(n)
    end
    column("S", S, "s", all)
  end)

  it("as keys come in the order of their encoding, byte strings before text", function()
    local value = { b = 1, a = 2, aa = 3, [""] = 4, ["\xFF"] = 5, ["\xFE\xFE"] = 6, ["\u{e9}"] = 7,
      [("k"):rep(300)] = 8, ["\0"] = 9 }
    local node = column("Aos", Aos, nil, { value, 1 })
    local keys = {}
    for i = 1, #node[1], 2 do keys[#keys + 1] = node[1][i].value end
    assert.same({ "\xFF", "\xFE\xFE", "", "\0", "a", "b", "aa", "\u{e9}", ("k"):rep(300) }, keys)
  end)
end)

describe("tables", function()
  it("keep arrays, maps and the mark of empty arrays", function()
    local copy <close>, _, node = through(list(Aos, nil, { ecs.array {}, {}, { {} },
      { ecs.array {} }, { a = {} }, { 1, 2 }, { [1] = 1 }, { ["1"] = 1 } }))
    local types = {}
    for i, item in ipairs(node "Aos") do types[i] = item.type end
    assert.same({ "array", "map", "array", "array", "map", "array", "array", "map" }, types)
    local all = copy:entities()
    for i, marked in ipairs { true, false, true, true, false, true, true, false } do
      assert.equal(marked, ser.isMarked(copy:get(all[i + 1], Aos)))
    end
    assert.is_true(ser.isMarked(copy:get(all[5], Aos)[1]))
    assert.is_false(ser.isMarked(copy:get(all[4], Aos)[1]))
  end)

  it("of random make come back, marks and all", function()
    random.rounds(60, function(rng)
      local given = {}
      for i = 1, rng:int(1, 8) do given[i] = values.any(rng, 6) end
      local copy <close> = through(list(Aos, nil, given))
      for i, e in ipairs(copy:entities()) do
        if i > 1 then deep.assertSame(given[i - 1], copy:get(e, Aos), "row " .. i) end
      end
    end)
  end)

  it("may be 512 deep, and no deeper", function()
    local world <close> = newWorld()
    local e = world:spawn(Aos(ser.nested(512)))
    ecs.loadSnapshot(world, ecs.saveSnapshot(world))
    local depth, value = 0, world:get(e, Aos)
    while value do depth, value = depth + 1, value[1] end
    assert.equal(512, depth)
    world:remove(e, Aos)
    for _, deepest in ipairs { 513, 5000, 100000 } do
      local ok, err = pcall(world.add, world, e, Aos(ser.nested(deepest)))
      if ok then ok, err = pcall(ecs.saveSnapshot, world) end
      assert.is_false(ok)
      assert.is_true(ecs.isSerializeError(err) and err.code == "not-serializable")
    end
  end)

  it("that are shared are saved as copies; cycles and functions are refused", function()
    local shared = { 1 }
    local copy <close> = through { Aos { shared, shared } }
    local value = copy:get(copy:entities()[2], Aos)
    assert.same({ { 1 }, { 1 } }, value)
    assert.is_false(rawequal(value[1], value[2]))
    local world <close> = newWorld()
    local loop, e = {}, world:spawn(Aos)
    loop.x = { loop }
    for _, wrong in ipairs { loop, { print }, { a = io.stdout }, { [1.5] = 1 }, { 1, nil, 3 },
      setmetatable({}, { __index = {} }), { ["__proto__"] = 1 }, { [1] = 1, a = 2 } } do
      world:set(e, Aos, wrong)
      local err = ser.raises("saveSnapshot", "not-serializable", { "Aos", "slot 1" },
        ecs.saveSnapshot, world)
      assert.truthy(err.path:find("Aos", 1, true))
    end
  end)
end)

describe("an empty field", function()
  it("is null among values, and nil again; null inside values stays null", function()
    local copy <close>, _, node = through {
      Any, Any { any = 1 }, Any { any = { ecs.null, { a = ecs.null } } }, Any { any = ecs.null } }
    assert.same({ "simple", "int", "array", "simple" },
      { node "Any"[1].type, node "Any"[2].type, node "Any"[3].type, node "Any"[4].type })
    local e = copy:entities()
    assert.is_nil(copy:get(e[2], Any, "any"))
    assert.same({}, copy:get(e[5], Any))
    assert.equal(ecs.null, copy:get(e[4], Any, "any")[2].a)
    local all <close>, _, column2 = through { Any, Any }
    assert.equal("array", column2 "Any".type)
    assert.is_nil(all:get(all:entities()[2], Any, "any"))
  end)

  it("in an AoS trait is ecs.null", function()
    local copy <close> = through { Aos(ecs.null), Aos(1) }
    assert.equal(ecs.null, copy:get(copy:entities()[2], Aos))
  end)
end)

describe("values that a script wrote into a column past the checks", function()
  it("are found when they are saved: not-serializable, with trait, field and slot", function()
    for _, case in ipairs { { N, "n", "N.n", { "x", true, {}, print } },
      { B, "b", "B.b", { 1, "true", ecs.null } }, { S, "s", "S.s", { 1, false } },
      { F, "f", "F.f", { "1.0", {} } }, { Any, "any", "Any.any", { print, { print } } } } do
      for _, wrong in ipairs(case[4]) do
        local world <close> = newWorld()
        local e = world:spawn(case[1])
        world:spawn(case[1])
        world:column(case[1], case[2])[1] = wrong
        ser.raises("saveSnapshot", "not-serializable", { case[3], "slot 1" }, ecs.saveSnapshot,
          world)
        world:column(case[1], case[2])[1] = case[1] == Any and 1 or world:get(
          world:entities()[3], case[1], case[2])
        assert.is_string(ecs.saveSnapshot(world))
        assert.is_true(world:isAlive(e))
      end
    end
  end)
end)
