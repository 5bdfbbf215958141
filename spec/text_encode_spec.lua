-- ecs.encode and ecs.array: how values are written, and which are refused.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local json = require "spec.support.json"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"
local values = require "spec.support.values"

local function refused(value, path)
  local e = ser.raises("encode", "not-serializable", {}, ecs.encode, value)
  assert.equal(path, e.path)
  return e
end

describe("encode", function()
  it("writes every kind of value, compact", function()
    for expected, value in pairs {
      ["null"] = ecs.null, ["true"] = true, ["false"] = false, ["0"] = 0, ["-1"] = -1,
      ["1.0"] = 1.0, ['""'] = "", ['"a b"'] = "a b", ["[]"] = ecs.array {}, ["{}"] = {},
      ["[1,2.5,null,\"x\"]"] = { 1, 2.5, ecs.null, "x" }, ['{"a":{"b":[]}}'] = {
        a = { b = ecs.array {} },
      },
      ['[[],{},[[]]]'] = { ecs.array {}, {}, { ecs.array {} } }, ["[null]"] = { ecs.null },
      ['{"":null}'] = { [""] = ecs.null }, ['{"1":1}'] = { ["1"] = 1 },
    } do
      assert.equal(expected, ecs.encode(value))
      deep.assertSame(value, ecs.decode(expected), expected, { marks = true })
    end
  end)

  it("writes strings with the escapes of JSON.stringify", function()
    local all = {}
    for i = 0, 127 do all[#all + 1] = string.char(i) end
    local ascii = table.concat(all)
    assert.equal([["\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f]]
      .. [[\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d]]
      .. [[\u001e\u001f !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`]]
      .. [[abcdefghijklmnopqrstuvwxyz{|}~]] .. "\127\"", ecs.encode(ascii))
    for _, text in ipairs(unsafe.texts) do
      assert.equal(json.quote(text), ecs.encode(text))
      assert.equal("{" .. json.quote(text) .. ":1}", ecs.encode { [text] = 1 })
      assert.equal(text, ecs.decode(ecs.encode(text)))
    end
    random.rounds(300, function(rng)
      local text = values.string(rng)
      assert.equal(json.quote(text), ecs.encode(text))
    end)
    -- Escapes and multi-byte characters at every place in words of eight bytes.
    for length = 0, 24 do
      for _, special in ipairs { '"', "\\", "\n", "\0", "\u{e4}", "\xED\xA0\x80", "\u{D7FF}" } do
        local text = ("x"):rep(length) .. special .. ("y"):rep(24 - length)
        assert.equal(json.quote(text), ecs.encode(text))
        assert.equal(text, ecs.decode(ecs.encode(text)))
      end
    end
  end)

  it("writes every code point, and reads it back", function()
    local parts = {}
    for c = 0, 0x10FFFF, 0x11 do
      if c < 0xD800 or c > 0xDFFF then parts[#parts + 1] = utf8.char(c) end
    end
    local text = table.concat(parts)
    assert.is_true(text == ecs.decode(ecs.encode(text)))
    for c = 0xD800, 0xDFFF do
      local lone = utf8.char(c)
      assert.equal(('"\\u%04x"'):format(c), ecs.encode(lone))
      assert.equal(lone, ecs.decode(('"\\u%04X"'):format(c)))
      assert.equal(lone, ecs.decode('"' .. lone .. '"'))
    end
  end)

  it("refuses surrogates that are a pair, and all else that is not UTF-8", function()
    for _, text in ipairs {
      "\xED\xA0\x80\xED\xB0\x80", "x\xED\xAF\xBF\xED\xBF\xBFy", "\xFF", "ok\0\xC3",
    } do
      refused(text, "")
      refused({ a = { 1, text } }, "a[1]")
      local e = ser.raises("encode", "not-serializable", {}, ecs.encode, { a = { [text] = 1 } })
      assert.equal('a["', e.path:sub(1, 3))
    end
    -- A low one before a high one is no pair.
    assert.equal('"\\udc00\\ud800"', ecs.encode "\xED\xB0\x80\xED\xA0\x80")
  end)

  it("refuses what is not JSON-safe, by path", function()
    for _, unsafeValue in ipairs(unsafe.values) do
      for _, place in ipairs(unsafe.places) do
        local e = ser.raises("encode", "not-serializable", {}, ecs.encode,
          place(unsafeValue.make()))
        assert.equal("string", type(e.path))
      end
    end
    refused(print, "")
    refused({ 1, { x = print } }, "[1].x")
    refused({ a = { ["odd key"] = { 0 / 0 } } }, 'a["odd key"][0]')
    refused({ { { math.huge } } }, "[0][0][0]")
    refused({ a = { __proto__ = 1 } }, "a.__proto__")
    local cycle = { x = {} }
    cycle.x.y = { cycle }
    refused(cycle, "x.y[0]")
  end)

  it("refuses nil, and to be called without a value", function()
    refused(nil, "")
    local ok, message = pcall(ecs.encode)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("encode: bad argument #1", 1, true))
  end)

  it("runs no metamethod", function()
    local ran = {}
    for _, locked in ipairs { true, false } do
      refused(setmetatable({ 1, 2 }, ser.hostile(ran, locked)), "")
      refused({ k = { setmetatable({ a = 1 }, ser.hostile(ran, locked)) } }, "k[0]")
    end
    assert.same({}, ran)
    local mt = debug.getmetatable ""
    local old = mt.__index
    mt.__index = function() error "an index of a string" end
    local ok, text = pcall(ecs.encode, { a = "text" })
    mt.__index = old
    assert.is_true(ok)
    assert.equal('{"a":"text"}', text)
  end)

  it("writes what is shared as copies, and does not change anything", function()
    local shared = { 1, { a = 2 } }
    local value = { shared, shared, { k = shared } }
    local copy = deep.copy(value)
    assert.equal('[[1,{"a":2}],[1,{"a":2}],{"k":[1,{"a":2}]}]', ecs.encode(value))
    deep.assertSame(copy, value, "the value", { marks = true })
    -- The same table 2^12 times.
    local twice = ecs.array {}
    for _ = 1, 12 do twice = { twice, twice } end
    assert.equal(4096, select(2, ecs.encode(twice):gsub("%[%]", "")))
  end)

  it("nests 512 deep, arrays and objects", function()
    local function objects(depth)
      local value = {}
      for _ = 2, depth do value = { a = value } end
      return value
    end
    for _, make in ipairs { ser.nested, objects } do
      for _, depth in ipairs { 511, 512 } do
        local text = ecs.encode(make(depth))
        deep.assertSame(make(depth), ecs.decode(text), "nested")
      end
      local e = ser.raises("encode", "not-serializable", { "deep" }, ecs.encode, make(513))
      assert.truthy(#e.path > 512)
      ser.raises("encode", "not-serializable", { "deep" }, ecs.encode, make(100000))
    end
    local inside = coroutine.wrap(function() return pcall(ecs.encode, ser.nested(513)) end)
    assert.is_false(inside())
    assert.equal(("["):rep(512) .. ("]"):rep(512),
      coroutine.wrap(function() return ecs.encode(ser.nested(512)) end)())
  end)

  it("agrees with another reader and with decode on random values", function()
    random.rounds(500, function(rng)
      local value = values.any(rng, 6)
      local text = ecs.encode(value)
      deep.assertSame(value, json.read(text, { null = ecs.null, mark = ecs.array }), "read by spec")
      deep.assertSame(value, ecs.decode(text), "decode")
      assert.equal(text, ecs.encode(ecs.decode(text)))
    end)
  end)

  it("writes large things", function()
    local list, object = {}, {}
    for i = 1, 20000 do list[i], object["k" .. i] = i, { i } end
    local text = ecs.encode(list)
    assert.equal(20000, #ecs.decode(text))
    assert.is_true(text == "[" .. table.concat(list, ",") .. "]")
    deep.assertSame(object, ecs.decode(ecs.encode(object)), "the object")
    local long = ("abc\n\u{e4}"):rep(300000)
    assert.is_true(long == ecs.decode(ecs.encode(long)))
  end)
end)

describe("array", function()
  it("marks a table, so that it stays an array when it is empty", function()
    local t = {}
    assert.is_true(rawequal(t, ecs.array(t)))
    assert.is_true(rawequal(t, ecs.array(t)))
    assert.equal("[]", ecs.encode(t))
    t[1] = 5
    assert.equal("[5]", ecs.encode(t))
    assert.is_true(ser.isMarked(ecs.decode "[]"))
    assert.is_true(ser.isMarked(ecs.decode "[1]"))
    assert.is_true(ser.isMarked(ecs.decode '{"a":[]}'.a))
    assert.is_false(ser.isMarked(ecs.decode "{}"))
    assert.equal('[{},[],{"a":[]}]', ecs.encode(ecs.decode '[{},[],{"a":[]}]'))
  end)

  it("refuses other values, and tables with a metatable of their own", function()
    for _, bad in ipairs { 5, "x", true, print, ecs.null, io.stdout, ecs.trait() } do
      local ok, message = pcall(ecs.array, bad)
      assert.is_false(ok)
      assert.truthy(message:find("array: bad argument #1 (table expected, got ", 1, true), message)
    end
    for _, mt in ipairs { {}, { __metatable = false }, ser.hostile {} } do
      local t = setmetatable({}, mt)
      local ok, message = pcall(ecs.array, t)
      assert.is_false(ok)
      assert.truthy(message:find("array: ", 1, true), message)
      assert.equal(mt, debug.getmetatable(t))
    end
  end)

  it("adds nothing that a program could stumble over", function()
    local t = ecs.array { 1, 2, 3 }
    assert.equal(3, #t)
    assert.equal(6, t[1] + t[2] + t[3])
    assert.is_nil(t.x)
    assert.is_nil(t[4])
    t.x = 1
    assert.equal(1, t.x)
    local count = 0
    for _ in pairs(t) do count = count + 1 end
    assert.equal(4, count)
    table.sort(t, function(a, b) return a > b end)
    assert.equal("3 2 1", table.concat(t, " "))
  end)
end)

describe("null", function()
  it("is the null light userdata, one value everywhere", function()
    assert.equal("userdata", type(ecs.null))
    assert.is_true(rawequal(ecs.null, require "cjson".null))
    assert.is_true(rawequal(ecs.null, ecs.decode "null"))
    assert.is_true(rawequal(ecs.null, ecs.decode "[null]"[1]))
    assert.equal(1, select("#", ecs.decode "null"))
  end)
end)

describe("a finalizer that empties the table", function()
  local function keyOf(i) return ("k%03d"):format(i) .. ("x"):rep(100) end

  -- In the n-th collection within the call the table loses all; later ones free its keys, and
  -- other strings take their place.
  local function emptied(t, skip)
    local armed, done, junk = false, false, {}
    local function arm()
      setmetatable({}, { __gc = function()
        if armed == nil then return end
        if armed then skip = skip - 1 end
        if armed and skip < 0 then
          for k in pairs(t) do t[k] = nil end
          if done then
            for i = 1, 50 do junk[#junk + 1] = ("z"):rep(104 - #tostring(i)) .. i end
          end
          done = true
        end
        arm()
      end })
    end
    arm()
    collectgarbage("incremental", 200, 1000, 30)
    collectgarbage("setpause", 0)
    collectgarbage()
    armed = true
    local ok, err = pcall(ecs.encode, t)
    armed = nil
    collectgarbage("incremental", 200, 100, 13)
    return done, ok, err
  end

  it("takes no key from under the walk", function()
    local times = 0
    for _, size in ipairs { 1, 5, 16, 17, 18, 40 } do
      local known = {}
      for i = 1, size do known[keyOf(i)] = true end
      for skip = 0, 60 do
        local t = {}
        for i = 1, size do t[keyOf(i)] = i < size and i or print end
        local done, ok, err = emptied(t, skip)
        if not done then break end
        times = times + 1
        if ok then assert.equal("{}", err)   -- it came before the walk
        else assert(known[err.path], tostring(err.path)) end
      end
    end
    assert(times > 6, times)
  end)
end)
