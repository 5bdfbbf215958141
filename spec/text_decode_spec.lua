-- ecs.decode: what is read, and every refusal with its code and offset.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local json = require "spec.support.json"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"
local values = require "spec.support.values"

-- The text must be refused at this byte (from 0), as it is and as part of larger texts.
local function refused(text, offset, reason)
  local e = ser.raises("decode", "malformed", { reason }, ecs.decode, text)
  assert.equal(offset, e.offset, ("the offset in %q"):format(text:sub(1, 80)))
  assert.truthy(e.message:find(("byte %d"):format(offset), 1, true), e.message)
  assert.is_nil(e.path)
  return e
end

local function refusedAnywhere(text, offset, reason)
  refused(text, offset, reason)
  refused("[" .. text .. "]", offset + 1, reason)
  refused('{"key":\n' .. text .. "}", offset + 8, reason)
  refused("[0,1," .. text .. ",2]", offset + 5, reason)
end

describe("decode", function()
  it("reads every kind of value", function()
    for text, value in pairs {
      ["null"] = ecs.null, ["true"] = true, ["false"] = false, ["0"] = 0, ["-12"] = -12,
      ["1.5"] = 1.5, ["1.0"] = 1.0, ["1e2"] = 100.0, ["-0"] = -0.0, ['""'] = "", ['"a"'] = "a",
      ["[]"] = ecs.array {}, ["{}"] = {}, ["[1,[2]]"] = { 1, { 2 } }, ['{"a":{"":1}}'] = {
        a = { [""] = 1 },
      },
      ['{"1":1,"2":[{}]}'] = { ["1"] = 1, ["2"] = { {} } },
    } do
      deep.assertSame(value, ecs.decode(text), text, { marks = true })
      for _, space in ipairs { " ", "\t", "\n", "\r", " \r\n\t " } do
        deep.assertSame(value, ecs.decode(space .. text .. space), text, { marks = true })
      end
    end
    deep.assertSame({ a = { 1, 2 }, b = {} },
      ecs.decode ' { "a" : [ 1 , 2 ] ,\n"b"\t:\r{ } } ', "with blanks")
    assert.equal("hp/\"\\\b\f\n\r\t/\0\u{e4}\u{20ac}\u{1F600}",
      ecs.decode [["\u0068p\/\"\\\b\f\n\r\t/\u0000\u00e4\u20AC\uD83D\uDe00"]])
  end)

  it("takes strings only", function()
    for _, bad in ipairs { 5, true, {}, print, ecs.null, io.stdout } do
      local ok, message = pcall(ecs.decode, bad)
      assert.is_false(ok)
      assert.truthy(message:find("decode: bad argument #1 (string expected", 1, true), message)
    end
    local ok, message = pcall(ecs.decode)
    assert.is_false(ok)
    assert.truthy(message:find("decode: bad argument #1", 1, true), message)
  end)

  it("refuses what breaks the grammar", function()
    local cases = {
      { "", 0 }, { " ", 1 }, { "\n\t ", 3 },
      { "nul", 3 }, { "nulL", 3 }, { "Null", 0 }, { "tru", 3 }, { "trve", 2 }, { "fals", 4 },
      { "nullx", 4 }, { "True", 0 }, { "undefined", 0 }, { "NaN", 0 }, { "Infinity", 0 },
      { "-Infinity", 1 }, { "'a'", 0 }, { "a", 0 }, { "/**/1", 0 }, { "1//", 1 }, { "#1", 0 },
      { "[", 1 }, { "[1", 2 }, { "[1,", 3 }, { "[,", 1 }, { "[,1]", 1 }, { "[1,]", 3 },
      { "[1,,2]", 3 }, { "[1 2]", 3 }, { "[1:2]", 2 }, { "]", 0 }, { "[}", 1 }, { "[1}", 2 },
      { "[]]", 2 }, { "[1];", 3 },
      { "{", 1 }, { "{]", 1 }, { "{1:2}", 1 }, { "{a:1}", 1 }, { "{'a':1}", 1 }, { '{"a"}', 4 },
      { '{"a" 1}', 5 }, { '{"a":}', 5 }, { '{"a":1', 6 }, { '{"a":1]', 6 }, { '{"a":1,}', 7 },
      { '{"a":1,,"b":2}', 7 }, { '{"a":1 "b":2}', 7 }, { '{"a"::1}', 5 }, { '{"a":1,2}', 7 },
      { '{,"a":1}', 1 }, { '{"a",1}', 4 }, { "{null:1}", 1 }, { "{[]:1}", 1 }, { "}", 0 },
      { ":", 0 }, { ",", 0 }, { "1,", 1 }, { "\0", 0 }, { "\xC2\xA01", 0 },
      { "\u{2003}1", 0 }, { "\v1", 0 }, { "\f1", 0 }, { "[1,\0]", 3 }, { "[\u{a0}]", 1 },
    }
    for _, case in ipairs(cases) do refused(case[1], case[2]) end
  end)

  it("refuses malformed numbers", function()
    for text, offset in pairs {
      ["-a"] = 1, ["-,"] = 1, ["--1"] = 1, ["+1"] = 0, [".5"] = 0, ["1.e5"] = 2, ["1.x"] = 2,
      ["1e,"] = 2, ["1e+x"] = 3, ["01"] = 1, ["-01"] = 2, ["00"] = 1, ["0x10"] = 1, ["1_000"] = 1,
      ["1.2.3"] = 3, ["1e2e3"] = 3, ["1e2.5"] = 3, ["1f"] = 1, ["\u{ff11}"] = 0, ["1L"] = 1,
      ["0e-"] = 3, ["2.\xE2"] = 2, ["1.5e\0"] = 4, ["- 1"] = 1,
    } do
      local e = ser.raises("decode", "malformed", {}, ecs.decode, text)
      assert.equal(offset, e.offset, text)
      e = ser.raises("decode", "malformed", {}, ecs.decode, "[" .. text .. "]")
      assert.equal(offset + 1, e.offset, text)
    end
    for _, text in ipairs { "-", "1.", "1e", "1E", "1e+", "1e-", "1.5e", "0.", "-0." } do
      refused(text, #text, "ends")
      refused("[" .. text .. "]", #text + 1)
    end
    for _, text in ipairs {
      "1e400", "-1e400", "1e309", "1.8e308", "1" .. ("0"):rep(400), "1e99999999999999999999",
      ("9"):rep(310) .. ".5",
    } do
      refusedAnywhere(text, 0, "out of range")
    end
  end)

  it("refuses broken strings", function()
    for text, offset in pairs {
      ['"'] = 1, ['"abc'] = 4, ['"\\'] = 2, ['"\\"'] = 3, ['"abc\\'] = 5, ['"a\\u'] = 4,
      ['"a\\u1'] = 5, ['"a\\u12'] = 6, ['"a\\u123'] = 7, ['"a\\u1234'] = 8,
      ['"a\\ud83d\\ude'] = 12,
    } do
      refused(text, offset, "ends")
      refused("[1," .. text, offset + 3, "ends")
    end
    for text, offset in pairs {
      ['"\\x41"'] = 2, ['"\\a"'] = 2, ["\"\\'\""] = 2, ['"\\0"'] = 2, ['"\\ "'] = 2,
      ['"\\U0041"'] = 2, ['"\\u"'] = 3, ['"\\u004"'] = 6, ['"\\u00 41"'] = 5, ['"\\u+041"'] = 3,
      ['"\\u004g"'] = 6, ['"\\\u{e4}"'] = 2, ['"\\\n"'] = 2, ['"\\\0"'] = 2, ['"\\ud83d\\u"'] = 9,
      ['"\\ud83d\\ude0"'] = 12, ['"\\u00e\u{e4}"'] = 6, ['"\\u{41}"'] = 3,
    } do
      refusedAnywhere(text, offset, "escape")
    end
    for byte = 0, 31 do
      local raw = string.char(byte)
      refusedAnywhere('"' .. raw .. '"', 1, "control")
      refusedAnywhere('"abcdefgh' .. raw .. 'ijk"', 9, "control")
      refusedAnywhere('"\\n' .. raw .. '"', 3, "control")
    end
    assert.equal("\127", ecs.decode '"\127"')
  end)

  it("refuses every truncation of an escape", function()
    local text = [["a\n\u00e4\ud83d\ude00\ud800\\"]]
    assert.equal("a\n\u{e4}\u{1F600}\xED\xA0\x80\\", ecs.decode(text))
    for n = 1, #text - 1 do refused(text:sub(1, n), n, "ends") end
    for n = 1, #text - 1 do
      local ok, e = pcall(ecs.decode, text:sub(1, n) .. '"')
      if not ok then
        assert.is_true(ecs.isSerializeError(e))
        assert.is_true(e.offset <= n + 1)
      end
    end
  end)

  it("refuses bytes that are not UTF-8", function()
    for bytes, bad in pairs {
      ["\x80"] = 0, ["\xBF"] = 0, ["\xC0\x80"] = 0, ["\xC1\xBF"] = 0, ["\xC3("] = 0,
      ["\xE0\x80\x80"] = 0, ["\xE0\x9F\xBF"] = 0, ["\xE2\x82"] = 0, ["\xE2(\xA1"] = 0,
      ["\xF0\x80\x80\x80"] = 0, ["\xF0\x8F\xBF\xBF"] = 0, ["\xF4\x90\x80\x80"] = 0,
      ["\xF5\x80\x80\x80"] = 0, ["\xF8\x88\x80\x80\x80"] = 0, ["\xFC\x84\x80\x80\x80\x80"] = 0,
      ["\xFE"] = 0, ["\xFF"] = 0, ["\xF0\x9F\x98"] = 0,
      -- A raw pair of surrogates: the second half is wrong.
      ["\xED\xA0\xBD\xED\xB8\x80"] = 3,
    } do
      refusedAnywhere('"' .. bytes .. '"', 1 + bad, "UTF-8")
      refusedAnywhere('"abc\u{e4}' .. bytes .. 'def"', 6 + bad, "UTF-8")
      refusedAnywhere('"\\n\\u00e4' .. bytes .. '"', 9 + bad, "UTF-8")
      refused('{"' .. bytes .. '":1}', 2 + bad, "UTF-8")
    end
    -- An escaped half and a raw one are no pair either.
    refused('"\\ud83d\xED\xB8\x80"', 7)
    refused('"\xED\xA0\xBD\\ude00"', 4)
  end)

  it("refuses byte order marks, UTF-16 and UTF-32", function()
    local text = '{"a":[1,"x"]}'
    local function wide(unit, pad)
      return (text:gsub(".", function(c)
        return unit == "little" and c .. ("\0"):rep(pad) or ("\0"):rep(pad) .. c
      end))
    end
    refused("\xEF\xBB\xBF" .. text, 0, "byte order mark")
    refused("\xEF\xBB\xBF", 0, "byte order mark")
    for _, pad in ipairs { 1, 3 } do
      refused(wide("little", pad), 0)
      refused(wide("big", pad), 0)
      refused("\xFF\xFE" .. ("\0"):rep(pad - 1) .. wide("little", pad), 0, "byte order mark")
      refused(("\0"):rep(pad - 1) .. "\xFE\xFF" .. wide("big", pad), 0, "byte order mark")
    end
    refused("[1,\xEF\xBB\xBF2]", 3)
    refused("[]\xEF\xBB\xBF", 2)
    -- Within a string it is a character like any other.
    assert.equal("\u{FEFF}", ecs.decode '"\u{FEFF}"')
    assert.equal("\u{FEFF}", ecs.decode '"\\uFEFF"')
  end)

  it("refuses bytes behind the value", function()
    for text, offset in pairs {
      ["1 2"] = 2, ["{} {}"] = 3, ["[]x"] = 2, ["null\0"] = 4, ['"a""b"'] = 3, ["1\n2"] = 2,
      ["{}\u{e4}"] = 2, ["true false"] = 5, ["[1]\xFF"] = 3, ["0 ,"] = 2,
    } do
      refused(text, offset)
    end
  end)

  it("refuses a key that occurs twice, as it is after unescaping", function()
    refused('{"a":1,"a":2}', 7, "twice")
    refused('{"a":1,"\\u0061":2}', 7, "twice")
    refused('{"\\u0061":1,"a":2}', 12, "twice")
    refused('{"\\/":1,"/":2}', 8, "twice")
    refused('{"\\ud83d\\ude00":1,"\u{1F600}":2}', 18, "twice")
    refused('{"\\ud800":1,"\xED\xA0\x80":2}', 12, "twice")
    refused('{"":1,"b":2,"":3}', 12, "twice")
    refused('{"a":1,"b":{"c":1,"c":1}}', 18, "twice")
    refused('[{"x":[{"y":null,"y":null}]}]', 17, "twice")
    refused('{"a\\u0000b":1,"a\\u0000c":2,"a\\u0000b":3}', 27, "twice")
    -- The first key that repeats is told, wherever its pair is.
    refused('{"a":1,"b":1,"b":2,"a":2}', 13, "twice")
    deep.assertSame({ ["a\0b"] = 1, ["a\0c"] = 2, a = 3, A = 4 },
      ecs.decode '{"a\\u0000b":1,"a\\u0000c":2,"a":3,"A":4}', "keys that differ")
    deep.assertSame({ a = { a = { a = 1 } } }, ecs.decode '{"a":{"a":{"a":1}}}', "nested keys")
  end)

  it("finds the one double key among many", function()
    local keys = {}
    for i = 1, 3000 do keys[i] = ('"key %d":%d'):format(i, i) end
    assert.equal(1500, ecs.decode("{" .. table.concat(keys, ",") .. "}")["key 1500"])
    random.rounds(10, function(rng)
      local first, second = rng:int(1, 3000), rng:int(1, 3000)
      if first ~= second then
        local changed = table.move(keys, 1, #keys, 1, {})
        changed[second] = keys[first]
        local text = "{" .. table.concat(changed, ",") .. "}"
        local before = table.concat(changed, ",", 1, math.max(first, second) - 1)
        refused(text, #before + 2, "twice")
      end
    end)
  end)

  it("refuses the key __proto__ however it is written", function()
    refused('{"__proto__":1}', 1, "__proto__")
    refused('{"a":{"__proto__":{"x":1}}}', 6, "__proto__")
    refused('{"\\u005f_proto\\u005F_":1}', 1, "__proto__")
    refused('[1,{"a":1,"__proto__":null}]', 10, "__proto__")
    for _, key in ipairs {
      "__proto", "_proto__", "__proto__ ", "__PROTO__", "__proto__\0", "constructor", "prototype",
    } do
      assert.equal(1, ecs.decode(ecs.encode { [key] = 1 })[key])
    end
    assert.equal("__proto__", ecs.decode '"__proto__"')
    assert.equal("__proto__", ecs.decode '["__proto__"]'[1])
  end)

  it("keeps lone surrogates", function()
    for _, text in ipairs(unsafe.texts) do
      local quoted = json.quote(text)
      assert.equal(text, ecs.decode(quoted))
      assert.equal(quoted, ecs.encode(ecs.decode(quoted)))
      assert.equal(1, ecs.decode(("{%s:1}"):format(quoted))[text])
    end
    assert.equal("\xED\xA0\x80x\xED\xB0\x80", ecs.decode [["\ud800x\udc00"]])
    assert.equal("\xED\xB0\x80\xED\xA0\x80", ecs.decode [["\udc00\ud800"]])
    assert.equal("\xED\xA0\x80\u{10000}", ecs.decode [["\ud800\ud800\udc00"]])
  end)

  it("nests 512 deep and not deeper", function()
    local kinds = { { "[", "", "]" }, { '{"a":', "1", "}" }, { '[{"a":', "[]", "}]" } }
    for i, kind in ipairs(kinds) do
      local levels = i == 3 and 2 or 1
      local inner = i == 3 and 1 or 0
      local function nested(depth)
        local n = (depth - inner) // levels
        return kind[1]:rep(n) .. kind[2] .. kind[3]:rep(n)
      end
      assert.equal("table", type(ecs.decode(nested(511))))
      assert.equal("table", type(ecs.decode(nested(i == 3 and 511 or 512))))
      assert.equal(ecs.encode(ecs.decode(nested(511))), nested(511))
      local deeper = nested(513)
      local e = ser.raises("decode", "malformed", { "deep" }, ecs.decode, deeper)
      -- The offset is that of the bracket that is too much.
      local depth, at = 0, 0
      for pos in deeper:gmatch "()[%[{]" do
        depth, at = depth + 1, pos
        if depth == 513 then break end
      end
      assert.equal(at - 1, e.offset)
    end
  end)

  it("refuses a million brackets, inside coroutines as well", function()
    local function check()
      refused(("["):rep(1000000), 512, "deep")
      refused(("["):rep(1000000) .. ("]"):rep(1000000), 512, "deep")
      refused(("[ "):rep(1000000), 1024, "deep")
      refused(('{"a":'):rep(1000000), 512 * 5, "deep")
      refused(("]"):rep(1000000), 0)
      return true
    end
    check()
    local co = coroutine.create(check)
    local ok, result = coroutine.resume(co)
    assert.is_true(ok, result)
    -- Coroutines within coroutines use up the C stack; each works or fails cleanly.
    local function within(depth)
      local deepest = ("["):rep(512) .. ("]"):rep(512)
      assert.equal(deepest, ecs.encode(ecs.decode(deepest)))
      return depth == 0 or coroutine.wrap(within)(depth - 1)
    end
    assert.is_true(within(100))
  end)

  it("refuses or reads megabytes of digits, in linear time", function()
    local digits = ("1234567890"):rep(1000000)
    local function time(form, count)
      local text = form:format(digits:sub(1, count), count)
      local before = os.clock()
      for _ = 1, 3 do assert.equal(0.12345678901234568, ecs.decode(text)) end
      return os.clock() - before
    end
    for _, form in ipairs { "%se-%d", "%s.5e-%d", "0.%s" } do
      local short, long = time(form, 1000000), time(form, 10000000)
      assert.is_true(long < 40 * short + 0.1, ("%.3f s against %.3f s"):format(short, long))
    end
    refused(digits, 0, "out of range")
    refused("-" .. digits .. "e-9", 0, "out of range")
    assert.equal(0.0, ecs.decode("0." .. ("0"):rep(10000000) .. "1"))
    assert.equal(1.0, ecs.decode("1." .. ("0"):rep(10000000) .. "1"))
    assert.equal(0.12345678901234568, ecs.decode("0." .. digits))
    assert.equal(1.2345678901234567e9, ecs.decode(digits .. "e-9999990"))
    assert.equal(2.0, ecs.decode("2e" .. ("0"):rep(10000000)))
    refused("1e" .. digits, 0, "out of range")
    assert.equal(0.0, ecs.decode("1e-" .. digits))
    refused(("0"):rep(10000000), 1)
  end)

  it("P4 every prefix of a text is refused at its end", function()
    local text = '{"a":[1,-2.5e3,{"b":null,"c\\u00e4\\n":"\u{1F600}x"},[],{}],"d":true,"e":"\\\\"}'
    ecs.decode(text)
    for n = 0, #text - 1 do
      local e = ser.raises("decode", "malformed", {}, ecs.decode, text:sub(1, n))
      assert.is_true(e.offset <= n and e.offset >= n - 4, ("prefix %d: %d"):format(n, e.offset))
    end
  end)

  it("P4 every changed byte is refused at an offset, or gives another text's value", function()
    local text = '{"a":[1,-2.5e3,null,"\\u00e4\u{e4}"],"b":{"c":false}}'
    local accepted = 0
    for at = 1, #text do
      for byte = 0, 255 do
        local changed = text:sub(1, at - 1) .. string.char(byte) .. text:sub(at + 1)
        local ok, result = pcall(ecs.decode, changed)
        if ok then
          accepted = accepted + 1
          deep.assertSame(json.read(changed, { null = ecs.null, mark = ecs.array }), result,
            changed)
        else
          assert.is_true(ecs.isSerializeError(result))
          assert.equal("malformed", result.code)
          assert.is_true(result.offset >= 0 and result.offset <= #changed)
        end
      end
    end
    assert.is_true(accepted > 500, "only " .. accepted)
  end)

  it("leaves no trace of what was refused", function()
    local world = ecs.createWorld()
    collectgarbage()
    collectgarbage()
    local before = collectgarbage "count"
    for _ = 1, 300 do
      pcall(ecs.decode, '{"a":[1,2,{"b":"ccccccccccccccccccccc"},')
      pcall(ecs.decode, ("["):rep(600))
      pcall(ecs.restoreJSON, world, "[")
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(collectgarbage "count" - before < 16)
  end)

  -- JSON text of a value with blanks, escapes and exponents wherever they may be.
  local function scrawl(rng, value)
    local function blank()
      return rng:chance(70) and "" or rng:pick { " ", "\n", "\t\r", "    " }
    end
    local function string(text)
      local out = {}
      for _, c in utf8.codes(text, true) do
        if c < 0x10000 and (c < 32 or c == 34 or c == 92 or rng:chance(20)) then
          out[#out + 1] = (rng:chance(50) and "\\u%04x" or "\\u%04X"):format(c)
        elseif c == 47 and rng:chance(50) then
          out[#out + 1] = "\\/"
        elseif c >= 0x10000 and rng:chance(50) then
          c = c - 0x10000
          out[#out + 1] = ("\\u%04x\\u%04X"):format(0xD800 + (c >> 10), 0xDC00 + (c & 0x3FF))
        else
          out[#out + 1] = utf8.char(c)
        end
      end
      return '"' .. table.concat(out) .. '"'
    end
    local function number(x)
      if math.type(x) == "integer" then return ("%d"):format(x) end
      return (rng:chance(50) and "%.16e" or "%.16E"):format(x)
    end
    if value == ecs.null or type(value) == "boolean" then
      return blank() .. (value == ecs.null and "null" or tostring(value)) .. blank()
    elseif type(value) ~= "table" then
      return blank() .. (type(value) == "number" and number or string)(value) .. blank()
    end
    local parts = {}
    if value[1] ~= nil or ser.isMarked(value) then
      for i, item in ipairs(value) do parts[i] = scrawl(rng, item) end
      return blank() .. "[" .. table.concat(parts, ",") .. blank() .. "]" .. blank()
    end
    for key, item in pairs(value) do
      parts[#parts + 1] = blank() .. string(key) .. blank() .. ":" .. scrawl(rng, item)
    end
    return blank() .. "{" .. table.concat(parts, ",") .. blank() .. "}" .. blank()
  end

  it("reads values however they are written", function()
    random.rounds(500, function(rng)
      local value = values.any(rng, 5)
      deep.assertSame(value, ecs.decode(scrawl(rng, value)), "the value", { marks = true })
    end)
  end)

  describe("with a key that occurs twice", function()
    local TEXT <const> = '{"a":1,"b":{"c":[1],"c":null},"\\u0061":2}'

    it("is an error, also when it is asked for", function()
      for _, options in ipairs { false, {}, { duplicates = "error" } } do
        local ok, err = pcall(ecs.decode, TEXT, options or nil)
        assert.is_false(ok)
        assert.equal("malformed", err.code)
        assert.matches("a key occurs twice", err.message, 1, true)
        assert.equal(20, err.offset)
      end
    end)

    it("takes the last value when that is asked for", function()
      local value = ecs.decode(TEXT, { duplicates = "last" })
      assert.same({ a = 2, b = { c = ecs.null } }, value)
      local keys = {}
      for i = 1, 1000 do keys[i] = ('"k%d":%d'):format(i % 100, i) end
      value = ecs.decode("{" .. table.concat(keys, ",") .. "}", { duplicates = "last" })
      for i = 0, 99 do assert.equal(i == 0 and 1000 or 900 + i, value["k" .. i]) end
    end)

    it("refuses other options", function()
      local function fails(message, ...)
        local ok, err = pcall(ecs.decode, ...)
        assert.is_false(ok)
        assert.matches(message, tostring(err), 1, true)
      end
      fails('decode: option \'duplicates\': "error" or "last" expected, got string', "1",
        { duplicates = "first" })
      fails('expected, got boolean', "1", { duplicates = true })
      fails('decode: unknown option "duplicate"', "1", { duplicate = "last" })
      fails("decode: bad argument #2 (options table expected, got string)", "1", "last")
    end)
  end)
end)
