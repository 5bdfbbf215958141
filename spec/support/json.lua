--- A small exact JSON reader, the specs' own judge of texts: it shares nothing with the module.
--
-- Integers stay integers, `-0` is the float -0.0, a lone surrogate escape becomes its three
-- bytes. The order of the keys of each object is kept aside, because Lua tables have none.

local json = {}

local ESCAPES = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local readValue

local function fail(state, what)
  error(("json: %s at byte %d"):format(what, state.at), 0)
end

local function skip(state)
  state.at = state.text:find("[^ \t\r\n]", state.at) or #state.text + 1
end

local function take(state, literal)
  if state.text:sub(state.at, state.at + #literal - 1) ~= literal then
    fail(state, "expected " .. literal)
  end
  state.at = state.at + #literal
end

local function readUnit(state)
  local digits = state.text:match("^\\u(%x%x%x%x)", state.at)
  if not digits then
    return nil
  end
  state.at = state.at + 6
  return tonumber(digits, 16)
end

local function readEscape(state)
  local unit = readUnit(state)
  if not unit then
    local plain = ESCAPES[state.text:sub(state.at + 1, state.at + 1)]
    if not plain then
      fail(state, "wrong escape")
    end
    state.at = state.at + 2
    return plain
  end
  if unit >= 0xD800 and unit <= 0xDBFF then
    local before = state.at
    local low = readUnit(state)
    if low and low >= 0xDC00 and low <= 0xDFFF then
      return utf8.char(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    end
    state.at = before
  end
  return utf8.char(unit)
end

local function readString(state)
  take(state, '"')
  local parts = {}
  while true do
    local stop = state.text:find('["\\]', state.at)
    if not stop then
      fail(state, "open string")
    end
    parts[#parts + 1] = state.text:sub(state.at, stop - 1)
    state.at = stop
    if state.text:byte(stop) == 34 then
      state.at = stop + 1
      return table.concat(parts)
    end
    parts[#parts + 1] = readEscape(state)
  end
end

local function readNumber(state)
  local token = state.text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", state.at)
  if not token then
    fail(state, "a value was expected")
  end
  state.at = state.at + #token
  if state.rawNumbers then
    return { token = token }
  end
  return token == "-0" and -0.0 or tonumber(token)
end

local function readArray(state)
  take(state, "[")
  local out = {}
  skip(state)
  if state.text:byte(state.at) == 93 then
    state.at = state.at + 1
    return state.mark(out)
  end
  repeat
    out[#out + 1] = readValue(state)
    skip(state)
    local more = state.text:byte(state.at) == 44
    take(state, more and "," or "]")
  until not more
  return state.mark(out)
end

local function readObject(state)
  take(state, "{")
  local out, order = {}, {}
  state.orders[out] = order
  skip(state)
  if state.text:byte(state.at) == 125 then
    state.at = state.at + 1
    return out
  end
  repeat
    skip(state)
    local key = readString(state)
    skip(state)
    take(state, ":")
    if out[key] == nil then
      order[#order + 1] = key
    end
    out[key] = readValue(state)
    skip(state)
    local more = state.text:byte(state.at) == 44
    take(state, more and "," or "}")
  until not more
  return out
end

local LITERALS = { [110] = "null", [116] = "true", [102] = "false" }

function readValue(state)
  skip(state)
  local byte = state.text:byte(state.at)
  if byte == 123 then
    return readObject(state)
  elseif byte == 91 then
    return readArray(state)
  elseif byte == 34 then
    return readString(state)
  elseif LITERALS[byte] then
    take(state, LITERALS[byte])
    if byte == 110 then
      return state.null
    end
    return byte == 116
  end
  return readNumber(state)
end

--- Reads a text. `options`: null (the value for null), mark (called with each array and
-- returning it), rawNumbers (numbers become { token = text }). The second result maps each
-- object to the list of its keys in the order of the text.
function json.read(text, options)
  local state = {
    text = text, at = 1, orders = {}, null = options.null, rawNumbers = options.rawNumbers,
    mark = options.mark or function(array) return array end,
  }
  local value = readValue(state)
  skip(state)
  if state.at <= #text then
    fail(state, "trailing bytes")
  end
  return value, state.orders
end

--- JSON text of a string: what JSON.stringify writes, lone surrogates as escapes.
function json.quote(s)
  local out = s:gsub('[%c"\\]', function(c)
    if c == '"' or c == "\\" then
      return "\\" .. c
    end
    local short = ({ ["\b"] = "b", ["\f"] = "f", ["\n"] = "n", ["\r"] = "r", ["\t"] = "t" })[c]
    return short and "\\" .. short or c ~= "\127" and ("\\u%04x"):format(c:byte()) or c
  end)
  out = out:gsub("\xED([\xA0-\xBF])([\x80-\xBF])", function(a, b)
    return ("\\ud%03x"):format(((a:byte() & 0x3F) << 6 | (b:byte() & 0x3F)) & 0xFFF)
  end)
  return '"' .. out .. '"'
end

function json.readFile(path, options)
  local file <close> = assert(io.open(path, "rb"))
  return json.read(file:read("a"), options)
end

return json
