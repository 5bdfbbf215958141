-- Numbers in texts and worlds: subtypes and bits survive every exact route. ECSSER_OPS limits how
-- many random numbers are tried, ECSSER_SEED sets others.

local cjson = require "cjson"
local ecs = require "ecsser"
local deep = require "spec.support.deep"
local random = require "spec.support.random"
local ser = require "spec.support.ser"

local SEED <const> = math.tointeger(tonumber(os.getenv "ECSSER_SEED" or "")) or 20260101
local MOST <const> = math.tointeger(tonumber(os.getenv "ECSSER_OPS" or "")) or math.maxinteger

-- Calls body(rng) so many times. The failures tell the number that is wrong.
local function bulk(count, body)
  local rng = random.new(SEED)
  for _ = 1, math.min(count, MOST) do body(rng) end
end

local function bits(x)
  return (string.unpack("<i8", string.pack("<d", x)))
end

local function fromBits(i)
  return (string.unpack("<d", string.pack("<i8", i)))
end

local function finite(x)
  return x - x == 0
end

-- A float must be written as such and come back with the same bits.
local function checkFloat(x, text)
  text = text or ecs.encode(x)
  local back = ecs.decode(text)
  if math.type(back) ~= "float" or bits(back) ~= bits(x) then
    error(("%a is written as %s and comes back as %a"):format(x, text, back), 2)
  end
  if not text:find "^%-?%d+%.%d+$" and not text:find "^%-?%d%.?%d*e%-?%d+$" then
    error(("%a is written as %s"):format(x, text), 2)
  end
  return text
end

-- The decimal digits of a number's text without leading and trailing zeros.
local function digits(text)
  return (text:gsub("[eE].*", ""):gsub("[-.]", ""):gsub("^0+", ""):gsub("0+$", ""))
end

-- As few digits as any text that reads back, and of those the nearest.
local function checkShortest(x)
  local text = digits(ecs.encode(x))
  for precision = 0, 16 do
    local other = ("%%.%de"):format(precision):format(x)
    if bits(tonumber(other)) == bits(x) then
      other = digits(other)
      if #text > #other or #text == #other and text ~= other then
        error(("%a is written with the digits %s, not %s"):format(x, text, other), 2)
      end
      return
    end
  end
  error "17 digits are always enough"
end

local CORNERS = {
  0.0, 1.0, 0.1, 0.5, 1 / 3, 2 / 3, 1.5, 100.0, 123456.789, 5e-324, 1e-323, 2.5e-320,
  2.2250738585072009e-308, 2.2250738585072014e-308, 2.225073858507202e-308, 1.7976931348623157e308,
  1.7976931348623155e308, 1e16, 1e17, 1e18, 1e21, 1e22, 1e23, 9007199254740991.0,
  9007199254740992.0, 9007199254740994.0, 2.0^63, 2.0^64, 2.0^62, 4294967296.0, 1e-5, 1e-6, 1e-7,
  1e-8, 299792458.0, 6.02214076e23, 1.602176634e-19, 9.5367431640625e-07, 2.0^-1022, 2.0^-1074,
  4.35, 0.3, 8.41e21, 2.0^-44, 5e-320, 1e300, 123456789012345680.0,
}

describe("integers", function()
  local function check(i)
    local text = ecs.encode(i)
    local back = ecs.decode(text)
    if text ~= ("%d"):format(i) or back ~= i or math.type(back) ~= "integer" then
      error(("%d is written as %s and comes back as %s"):format(i, text, back), 2)
    end
  end

  it("are exact over 64 bits", function()
    for _, i in ipairs { 0, 1, -1, math.maxinteger, math.mininteger, math.mininteger + 1 } do
      check(i)
    end
    for k = 0, 63 do
      for d = -2, 2 do
        check((1 << k) + d)
        check(-(1 << k) + d)
      end
    end
    local power = 1
    for _ = 1, 19 do
      for d = -1, 1 do
        check(power + d)
        check(-power + d)
      end
      power = power * 10
    end
    bulk(50000, function(rng)
      check(rng:bits() >> rng:int(0, 63))
      check(rng:bits())
    end)
  end)

  it("beyond 64 bits are read as floats, rounded correctly", function()
    for text, x in pairs {
      ["9223372036854775808"] = 2.0^63, ["-9223372036854775809"] = -2.0^63,
      ["18446744073709551615"] = 2.0^64, ["18446744073709551616"] = 2.0^64,
      ["100000000000000000000"] = 1e20, ["9223372036854776833"] = 9223372036854777856.0,
      ["9223372036854776832"] = 9223372036854775808.0,
    } do
      local got = ecs.decode(text)
      assert.equal("float", math.type(got))
      assert.equal(bits(x), bits(got), text)
    end
    bulk(5000, function(rng)
      local text = { tostring(rng:int(1, 9)) }
      for i = 2, rng:int(20, 40) do text[i] = tostring(rng:int(0, 9)) end
      text = table.concat(text)
      assert.equal(bits(tonumber(text .. ".0")), bits(ecs.decode(text)), text)
    end)
  end)
end)

describe("floats", function()
  it("are written with .0 or an exponent, and come back as they were", function()
    for _, x in ipairs(CORNERS) do
      checkFloat(x)
      checkFloat(-x)
    end
    for text, x in pairs {
      ["0.0"] = 0.0, ["-0.0"] = -0.0, ["1.0"] = 1.0, ["-1.0"] = -1.0, ["0.1"] = 0.1,
      ["5e-324"] = 5e-324, ["1.7976931348623157e308"] = 1.7976931348623157e308,
      ["2.2250738585072014e-308"] = 2.2250738585072014e-308, ["9007199254740992.0"] = 2.0^53,
      ["0.3333333333333333"] = 1 / 3, ["123456.789"] = 123456.789, ["1e300"] = 1e300,
      ["1e22"] = 1e22, ["1e23"] = 1e23, ["9.223372036854776e18"] = 2.0^63,
    } do
      assert.equal(text, ecs.encode(x))
    end
  end)

  it("keep the sign of zero", function()
    assert.equal("0.0", ecs.encode(0.0))
    assert.equal("-0.0", ecs.encode(-0.0))
    assert.equal("0", ecs.encode(0))
    for text, sign in pairs {
      ["0.0"] = 1, ["-0.0"] = -1, ["-0"] = -1, ["0e0"] = 1, ["-0e5"] = -1, ["-0.0E-7"] = -1,
      ["1e-400"] = 1, ["-1e-400"] = -1,
    } do
      local x = ecs.decode(text)
      assert.equal("float", math.type(x), text)
      assert.equal(sign * math.huge, 1 / x, text)
    end
    assert.equal("integer", math.type(ecs.decode "0"))
  end)

  it("of every power of two and ten, with their neighbours", function()
    for e = -1074, 1023 do
      local x = 2.0^e
      for d = -2, 2 do
        local y = fromBits(bits(x) + d)
        if y >= 0 and finite(y) then
          checkFloat(y)
          checkFloat(-y)
          checkShortest(y)
        end
      end
    end
    for e = -323, 308 do
      local x = tonumber("1e" .. e)
      for d = -1, 1 do checkShortest(fromBits(bits(x) + d)) end
      assert.equal(bits(x), bits(ecs.decode("1e" .. e)))
      assert.equal("1", digits(ecs.encode(x)))
    end
  end)

  it("of every subnormal with one bit, and the largest and smallest", function()
    for k = 0, 51 do checkFloat(fromBits(1 << k)) end
    for i = 1, 2000 do checkFloat(fromBits(i)) end
    for i = 0, 2000 do
      checkFloat(fromBits(0x7FEFFFFFFFFFFFFF - i))
      checkFloat(fromBits(0x0010000000000000 - i))
      checkFloat(fromBits(0x0010000000000000 + i))
    end
  end)

  it("of random bits, in lists", function()
    local done = 0
    bulk(300, function(rng)
      local list = {}
      for _ = 1, 1000 do
        local x = fromBits(rng:bits())
        if finite(x) then list[#list + 1] = x end
      end
      local text = ecs.encode(list)
      local back = ecs.decode(text)
      assert.equal(#list, #back)
      assert.is_nil(text:find "[%[,]%-?%d+[,%]]", "a float is written as an integer")
      for i, x in ipairs(list) do
        local y = back[i]
        if x ~= y or math.type(y) ~= "float" or x == 0 and 1 / x ~= 1 / y then
          error(("%a became %a"):format(x, y))
        end
      end
      done = done + #list
    end)
    assert.is_true(done >= 200000 or MOST < 300)
  end)

  it("of random bits are as short as can be", function()
    bulk(5000, function(rng)
      local x = fromBits(rng:bits())
      if finite(x) then checkShortest(x) end
      checkShortest(rng:int(-10^9 | 0, 10^9 | 0) / 10.0 ^ rng:int(0, 12))
    end)
  end)

  it("are read correctly rounded, however many digits there are", function()
    for _, text in ipairs {
      "9007199254740993.0", "9007199254740992.99999999999999999999", "0.1000000000000000055511151",
      "2.2250738585072011e-308", "2.2250738585072012e-308", "4.9406564584124654e-324",
      "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623158e308",
      "1797693134862315807" .. ("0"):rep(290) .. ".0", "1797693134862315708" .. ("9"):rep(290)
        .. ".0", "6929495644600919.5", "3.4028234663852886e38", "8.10109172351e-10",
      "1.50000000000000011102230246251565", "300785051293811474462000.0", "89255.0e-22",
      "3.14159265358979323846264338327950288419716939937510582097494459", "9.5e-7", "0.000000123",
      "123456789012345678901234567890123456789012345678901234567890e-40",
    } do
      assert.equal(bits(tonumber(text)), bits(ecs.decode(text)), text)
    end
    bulk(20000, function(rng)
      local parts = { rng:int(0, 9), "." }
      for i = 3, rng:int(3, rng:chance(3) and 800 or 25) do parts[i] = rng:int(0, 9) end
      parts[#parts + 1] = "e" .. rng:int(-330, 300)
      local text = table.concat(parts)
      local x = tonumber(text)
      if finite(x) and bits(ecs.decode(text)) ~= bits(x) then
        error(("%s is read as %a, not %a"):format(text, ecs.decode(text), x))
      end
    end)
  end)

  it("halfway between two floats go to the even one", function()
    bulk(5000, function(rng)
      -- An odd integer of 54 bits lies between two floats, so do its multiples by powers of two.
      local half = (1 << 53) | (rng:bits() & ((1 << 53) - 1)) | 1
      local down, up = (half - 1) + 0.0, (half + 1) + 0.0
      local even = bits(down) & 1 == 0 and down or up
      local k = rng:int(0, 9)
      for text, x in pairs {
        [half .. ".0"] = even, [half .. "0e-1"] = even, [(half << k) .. ".0"] = even * 2.0 ^ k,
        [(half - 1) .. ".99999999999999999999999"] = down,
        [half .. ".00000000000000000000000001"] = up,
      } do
        if bits(ecs.decode(text)) ~= bits(x) then
          error(("%s is read as %a, not %a"):format(text, ecs.decode(text), x))
        end
      end
    end)
  end)
end)

describe("a world's numbers", function()
  local Exact = ecs.trait { int = 0, float = 0.0, any = ecs.null }
  local Bag = ecs.trait(function() return {} end)
  local Rel = ecs.relation { store = { n = 0, x = 0.0 } }
  local entries = { Exact = Exact, Bag = Bag, Rel = Rel }
  local routes = {
    { ecs.saveWorld, ecs.restoreWorld }, { ecs.saveJSON, ecs.restoreJSON },
    { function(w) return ecs.encode(ecs.saveWorld(w)) end, function(w, text)
      return ecs.restoreWorld(w, ecs.decode(text))
    end },
    { function(w) return ecs.encode(ecs.saveWorld(w)) end, ecs.restoreJSON },
  }

  it("keep subtype and bits by all exact routes", function()
    random.rounds(5, function(rng)
      local numbers = { 0, 0.0, -0.0, 1, 1.0, math.maxinteger, math.mininteger, 2.0^53, 5e-324 }
      for _ = 1, 200 do
        local x = fromBits(rng:bits())
        numbers[#numbers + 1] = finite(x) and x or 0.25
        numbers[#numbers + 1] = rng:bits()
      end
      for _, route in ipairs(routes) do
        local world, other = ser.world(entries), ser.world(entries)
        local first = world:spawn()
        for _, n in ipairs(numbers) do
          local e = world:spawn(Exact { int = n, float = n, any = n }, Bag { n, { k = n } })
          world:add(e, Rel(first, { n = n, x = n }))
        end
        local e = route[2](other, route[1](world)).entities
        for i, n in ipairs(numbers) do
          local entity = e[i + 1]
          deep.assertSame({ int = n, float = n, any = n }, other:get(entity, Exact), "fields")
          deep.assertSame({ n, { k = n } }, other:get(entity, Bag), "an AoS value")
          deep.assertSame({ n = n, x = n }, other:get(entity, Rel(e[1])), "data of a pair")
        end
        assert.equal(ecs.saveJSON(world), ecs.saveJSON(other))
      end
    end)
  end)

  it("with a version that is a float, integral floats are integers but in float fields", function()
    local text = '{"format":"ecs-serialize","version":%s,"entities":[{"tags":[],"traits":{"Bag":'
      .. '[1.0,2.5,-0.0,1e3,{"k":3.0}],"Exact":{"any":4.0,"float":5.0,"int":6.0}},"pairs":{"Rel":'
      .. '[{"target":0.0,"data":{"n":7.0,"x":8.0}}]}}],"world":{"tags":[],"traits":{}}}'
    local function read(version, restore)
      local world = ser.world(entries)
      local e = restore(world, text:format(version)).entities[1]
      return world:get(e, Bag), world:get(e, Exact), world:get(e, Rel(e))
    end
    local function viaTable(world, source) return ecs.restoreWorld(world, ecs.decode(source)) end
    for _, restore in ipairs { ecs.restoreJSON, viaTable } do
      local bag, exact, rel = read("1", restore)
      deep.assertSame({ 1.0, 2.5, -0.0, 1000.0, { k = 3.0 } }, bag, "as written")
      deep.assertSame({ any = 4.0, float = 5.0, int = 6.0 }, exact, "as written")
      deep.assertSame({ n = 7.0, x = 8.0 }, rel, "as written")
      for _, version in ipairs { "1.0", "1e0", "10e-1" } do
        bag, exact, rel = read(version, restore)
        deep.assertSame({ 1, 2.5, -0.0, 1000, { k = 3 } }, bag, "integers")
        deep.assertSame({ any = 4, float = 5.0, int = 6 }, exact, "integers")
        deep.assertSame({ n = 7, x = 8.0 }, rel, "integers")
      end
    end
    local bag, exact, rel = read("1", function(world, source)
      return ecs.restoreWorld(world, cjson.decode(source))
    end)
    deep.assertSame({ 1, 2.5, -0.0, 1000, { k = 3 } }, bag, "by cjson")
    deep.assertSame({ any = 4, float = 5.0, int = 6 }, exact, "by cjson")
    deep.assertSame({ n = 7, x = 8.0 }, rel, "by cjson")
  end)

  it("that are not finite are refused by path", function()
    for _, x in ipairs { 0 / 0, -(0 / 0), math.huge, -math.huge } do
      for path, make in pairs {
        ["entities[0].traits.Exact.float"] = function(w) w:spawn(Exact { float = x }) end,
        ["entities[0].traits.Bag[1].k"] = function(w) w:spawn(Bag { 1, { k = x } }) end,
        ["world.traits.Exact.any"] = function(w) w:add(Exact { any = x }) end,
        ["entities[0].pairs.Rel[0].data.x"] = function(w)
          local e = w:spawn()
          w:add(e, Rel(e, { x = x }))
        end,
      } do
        local world = ser.world(entries)
        make(world)
        assert.equal(path, ser.raises("saveJSON", "not-serializable", {}, ecs.saveJSON, world).path)
        assert.equal(path,
          ser.raises("saveWorld", "not-serializable", {}, ecs.saveWorld, world).path)
      end
      assert.equal("a[1]",
        ser.raises("encode", "not-serializable", {}, ecs.encode, { a = { 1, x } }).path)
    end
  end)
end)

describe("a locale with a decimal comma", function()
  local function quote(text)
    return "'" .. text:gsub("'", [['\'']]) .. "'"
  end

  local function sh(command)
    local pipe = assert(io.popen(command .. " 2>&1"))
    local output = pipe:read "a"
    local _, _, code = pipe:close()
    return code, output
  end

  local function interpreter()
    local lowest = -1
    while arg[lowest - 1] do lowest = lowest - 1 end
    return arg[lowest] or "lua5.4"
  end

  local CODE = [[
    if not os.setlocale "" or ("%.1f"):format(1.5) ~= "1,5" then os.exit(77, true) end
    local ecs = require "ecsser"
    local random = require "spec.support.random"
    local worlds = require "spec.support.worlds"
    local oracle = require "spec.support.oracle"
    for text, x in pairs {
      ["1.5"] = 1.5, ["-0.25"] = -0.25, ["1e300"] = 1e300, ["[1.5,2.0,\"1,5\"]"] = false,
      ["1.7976931348623157e308"] = 0x1.fffffffffffffp1023, ["5e-324"] = 0x1p-1074,
    } do
      assert(ecs.encode(ecs.decode(text)) == text, text)
      assert(not x or ecs.decode(text) == x, text)
    end
    assert(not pcall(ecs.decode, "1,5") and not pcall(ecs.decode, "[1,5e]"))
    assert(#ecs.decode "[1,5]" == 2)
    local rng = random.new(7)
    for _ = 1, 20000 do
      local x = string.unpack("<d", string.pack("<i8", rng:bits()))
      if x - x == 0 then
        assert(string.pack("<d", ecs.decode(ecs.encode(x))) == string.pack("<d", x))
      end
    end
    local kit = worlds.kit()
    for seed = 1, 10 do
      local world, other = worlds.random(random.new(seed), kit), oracle.world(kit)
      local text = ecs.saveJSON(world)
      ecs.restoreJSON(other, text)
      assert(ecs.saveJSON(other) == text)
      assert(ecs.encode(ecs.decode(text)) == ecs.encode(ecs.saveWorld(world)))
      print(text)
    end
  ]]

  -- Runs CODE under `environment`; 77 when the locale is not there.
  local function run(environment)
    local file = os.tmpname()
    local out = assert(io.open(file, "w"))
    out:write(("package.path, package.cpath = %q, %q\n"):format("./?.lua;" .. package.path,
      package.cpath), CODE)
    out:close()
    local code, output = sh(("%s %s %s"):format(environment, quote(interpreter()), quote(file)))
    os.remove(file)
    return code, output
  end

  it("changes nothing", function()
    local place
    local code, output = 77, ""
    for _, name in ipairs { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pl_PL.UTF-8", "de_DE" } do
      if code == 77 then code, output = run("LC_ALL=" .. name) end
    end
    if code == 77 then
      -- Debian has the sources of locales without the locales.
      place = os.tmpname()
      os.remove(place)
      sh(("mkdir %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8"):format(place, place))
      code, output = run(("LOCPATH=%s LC_ALL=de_DE.UTF-8"):format(place))
      sh("rm -r " .. place)
    end
    if code == 77 then return pending "no locale with a decimal comma" end
    assert.equal(0, code, output)
    local plainCode, plain = run("LC_ALL=C")
    assert.equal(77, plainCode, plain)
    -- The same texts as in this process, whose locale is C.
    assert.equal("1.5", ("%.1f"):format(1.5))
    local worlds = require "spec.support.worlds"
    local kit, lines = worlds.kit(), {}
    for seed = 1, 10 do lines[seed] = ecs.saveJSON(worlds.random(random.new(seed), kit)) end
    assert.is_true(table.concat(lines, "\n") .. "\n" == output)
  end)
end)
