-- The JSON parsing test suite (github.com/nst/JSONTestSuite) through ecs.decode. The suite is
-- optional data beside this tree; without it there is nothing to do.

local ecs = require "ecsser"
local deep = require "spec.support.deep"

local DIRECTORY <const> = "../shared/jsontestsuite/"

-- What is valid JSON and yet refused unless it is allowed: a key that occurs twice.
local STRICTER <const> = {
  ["y_object_duplicated_key.json"] = { a = "c" },
  ["y_object_duplicated_key_and_value.json"] = { a = "b" },
}

-- What the standard leaves open: false for refused, or the value.
local DECIDED <const> = {
  ["i_number_double_huge_neg_exp.json"] = { 0.0 },
  ["i_number_huge_exp.json"] = false,
  ["i_number_neg_int_huge_exp.json"] = false,
  ["i_number_pos_double_huge_exp.json"] = false,
  ["i_number_real_neg_overflow.json"] = false,
  ["i_number_real_pos_overflow.json"] = false,
  ["i_number_real_underflow.json"] = { 0.0 },
  ["i_number_too_big_neg_int.json"] = { -123123123123123123123123123123.0 },
  ["i_number_too_big_pos_int.json"] = { 100000000000000000000.0 },
  ["i_number_very_big_negative_int.json"] = { -237462374673276894279832749832423479823246327846.0 },
  ["i_object_key_lone_2nd_surrogate.json"] = { ["\xED\xBE\xAA"] = 0 },
  ["i_string_1st_surrogate_but_2nd_missing.json"] = { "\xED\xAB\x9A" },
  ["i_string_1st_valid_surrogate_2nd_invalid.json"] = { "\xED\xA2\x88\u{1234}" },
  ["i_string_UTF-16LE_with_BOM.json"] = false,
  ["i_string_UTF-8_invalid_sequence.json"] = false,
  ["i_string_UTF8_surrogate_U+D800.json"] = { "\xED\xA0\x80" },
  ["i_string_incomplete_surrogate_and_escape_valid.json"] = { "\xED\xA0\x80\n" },
  ["i_string_incomplete_surrogate_pair.json"] = { "\xED\xB4\x9Ea" },
  ["i_string_incomplete_surrogates_escape_valid.json"] = { "\xED\xA0\x80\xED\xA0\x80\n" },
  ["i_string_invalid_lonely_surrogate.json"] = { "\xED\xA0\x80" },
  ["i_string_invalid_surrogate.json"] = { "\xED\xA0\x80abc" },
  ["i_string_invalid_utf-8.json"] = false,
  ["i_string_inverted_surrogates_U+1D11E.json"] = { "\xED\xB4\x9E\xED\xA0\xB4" },
  ["i_string_iso_latin_1.json"] = false,
  ["i_string_lone_second_surrogate.json"] = { "\xED\xBE\xAA" },
  ["i_string_lone_utf8_continuation_byte.json"] = false,
  ["i_string_not_in_unicode_range.json"] = false,
  ["i_string_overlong_sequence_2_bytes.json"] = false,
  ["i_string_overlong_sequence_6_bytes.json"] = false,
  ["i_string_overlong_sequence_6_bytes_null.json"] = false,
  ["i_string_truncated-utf-8.json"] = false,
  ["i_string_utf16BE_no_BOM.json"] = false,
  ["i_string_utf16LE_no_BOM.json"] = false,
  ["i_structure_500_nested_arrays.json"] = true,
  ["i_structure_UTF-8_BOM_empty_object.json"] = false,
}

local function filesOf(part)
  local files = {}
  local pipe = assert(io.popen(("ls '%s%s' 2>/dev/null"):format(DIRECTORY, part)))
  for name in pipe:lines() do
    local file = io.open(DIRECTORY .. part .. "/" .. name, "rb")
    if file and name:find "%.json$" then
      files[#files + 1] = { name = name, text = file:read "a" }
      file:close()
    end
  end
  pipe:close()
  return files
end

local parsing, transform = filesOf "test_parsing", filesOf "test_transform"

-- Reads a file; what is read must survive being written and read again.
local function read(file)
  local ok, value = pcall(ecs.decode, file.text)
  if ok then
    local text = ecs.encode(value)
    deep.assertSame(value, ecs.decode(text), file.name, { marks = true })
    assert.equal(text, ecs.encode(ecs.decode(text)))
    return true, value
  end
  assert.is_true(ecs.isSerializeError(value), file.name .. ": " .. tostring(value))
  assert.equal("malformed", value.code)
  assert.is_true(value.offset >= 0 and value.offset <= #file.text, file.name)
  return false, value
end

local function each(prefix, expected, fn)
  if not parsing[1] then return pending "the suite is not there" end
  local count, wrong = 0, {}
  for _, file in ipairs(parsing) do
    if file.name:sub(1, 2) == prefix then
      count = count + 1
      if not fn(file, read(file)) then wrong[#wrong + 1] = file.name end
    end
  end
  assert.same({}, wrong)
  assert.equal(expected, count)
  print(("# JSON suite: %d of %d files %s* are as they shall be"):format(count, expected, prefix))
end

describe("the JSON parsing test suite", function()
  it("y_: 95 files are valid, and read but for the two with a key twice", function()
    each("y_", 95, function(file, ok, result)
      if STRICTER[file.name] then
        return not ok and result.message:find("twice", 1, true)
      end
      return ok
    end)
  end)

  it("y_: 95 files are read where a key may occur twice", function()
    each("y_", 95, function(file, strict, result)
      local ok, value = pcall(ecs.decode, file.text, { duplicates = "last" })
      local expected = STRICTER[file.name]
      if strict then expected = result end
      return ok and deep.same(expected, value)
    end)
  end)

  it("n_: 188 files are refused", function()
    each("n_", 188, function(_, ok) return not ok end)
  end)

  it("i_: 35 files are decided, down to the value", function()
    each("i_", 35, function(file, ok, result)
      local decision = DECIDED[file.name]
      if type(decision) ~= "table" then return decision == ok end
      return ok and deep.same(decision, result)
    end)
  end)

  it("transform: values are kept, keys twice refused", function()
    if not transform[1] then return pending "the suite is not there" end
    local values = {
      ["number_-9223372036854775808.json"] = { math.mininteger },
      ["number_-9223372036854775809.json"] = { -2.0^63 },
      ["number_1.0.json"] = { 1.0 },
      ["number_1.000000000000000005.json"] = { 1.0 },
      ["number_1000000000000000.json"] = { 1000000000000000 },
      ["number_10000000000000000999.json"] = { 10000000000000000999.0 },
      ["number_1e-999.json"] = { 0.0 },
      ["number_1e6.json"] = { 1e6 },
      ["number_9223372036854775807.json"] = { math.maxinteger },
      ["number_9223372036854775808.json"] = { 2.0^63 },
      ["object_key_nfc_nfd.json"] = { ["\u{e9}"] = "NFC", ["e\u{301}"] = "NFD" },
      ["object_key_nfd_nfc.json"] = { ["\u{e9}"] = "NFC", ["e\u{301}"] = "NFD" },
      ["object_same_key_different_values.json"] = false,
      ["object_same_key_same_value.json"] = false,
      ["object_same_key_unclear_values.json"] = false,
      ["string_1_escaped_invalid_codepoint.json"] = { "\xED\xA0\x80" },
      ["string_1_invalid_codepoint.json"] = { "\xED\xA0\x80" },
      ["string_2_escaped_invalid_codepoints.json"] = { "\xED\xA0\x80\xED\xA0\x80" },
      ["string_2_invalid_codepoints.json"] = { "\xED\xA0\x80\xED\xA0\x80" },
      ["string_3_escaped_invalid_codepoints.json"] = { "\xED\xA0\x80\xED\xA0\x80\xED\xA0\x80" },
      ["string_3_invalid_codepoints.json"] = { "\xED\xA0\x80\xED\xA0\x80\xED\xA0\x80" },
      ["string_with_escaped_NULL.json"] = { "A\0B" },
    }
    for _, file in ipairs(transform) do
      local expected = values[file.name]
      assert.is_not_nil(expected, file.name)
      local ok, result = read(file)
      assert.equal(expected ~= false, ok, file.name)
      if ok then deep.assertSame(expected, result, file.name) end
    end
    print(("# JSON suite: %d files of test_transform"):format(#transform))
  end)
end)
