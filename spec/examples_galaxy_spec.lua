-- The galaxy example, run as a user runs it, in a process of its own; and sabotaged, because an
-- example that cannot fail shows nothing.

local EXAMPLE <const> = "examples/galaxy.lua"

local function quote(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end

local function interpreter()
  local lowest = -1
  while arg[lowest - 1] do lowest = lowest - 1 end
  return arg[lowest] or "lua5.4"
end

-- Runs a script; `before` is Lua that runs first. Returns the exit code and the output.
local function run(script, before, ...)
  local words = {
    "LUA_PATH_5_4=" .. quote(package.path), "LUA_CPATH_5_4=" .. quote(package.cpath),
    quote(interpreter()), "-W", "-e", quote(before), quote(script),
  }
  for _, word in ipairs { ... } do words[#words + 1] = quote(word) end
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
  local output = pipe:read("a")
  local _, _, code = pipe:close()
  return code, output
end

local function lastLine(output)
  return output:match("([^\n]*)\n*$")
end

-- Lua that replaces a function of ecsser.codec: `name` by what `body` makes of it.
local function sabotage(name, body)
  return ([[
    local codec = require "ecsser.codec"
    local original = codec.%s
    codec.%s = function(...)
      local c = original(...)
      %s
    end
  ]]):format(name, name, body)
end

describe("the galaxy example", function()
  it("recalls planets and ships with their classes and passes its checks", function()
    local code, output = run(EXAMPLE, "")
    assert.equal(0, code, output)
    assert.equal("OK: all 7 checks passed", lastLine(output))
    assert.truthy(output:find("Terra   at (0.0, 0.0)   lifeforce 84, +12 -7 mining -9 people", 1,
      true))
    assert.truthy(output:find("declining: lifeforce 84, +12, -7 mining, -9 people", 1, true))
    assert.truthy(output:find('{"@class":"HasLifeforce","amount":84,"consumers":'
      .. '[{"@class":"ConsumesLifeforce","amount":7,"reason":"mining"}', 1, true))
    assert.truthy(output:find("10 of 10 components have their class, as it is now", 1, true))
    assert.is_nil(output:find("WRONG", 1, true))
    assert.is_nil(output:find("Lua warning", 1, true))
  end)

  it("tells the same in every process, and from every directory", function()
    local _, first = run(EXAMPLE, "")
    local _, second = run(EXAMPLE, "")
    assert.equal(first, second)
    local pipe = assert(io.popen("pwd"))
    local here = pipe:read("l")
    pipe:close()
    local moved = ("cd / && LUA_CPATH_5_4=%s %s %s 2>&1"):format(
      quote(package.cpath:gsub("%f[^%z;]([^/;][^;]*)", here .. "/%1")), quote(interpreter()),
      quote(here .. "/" .. EXAMPLE))
    pipe = assert(io.popen(moved))
    local third = pipe:read("a")
    pipe:close()
    assert.equal(first, third)
  end)

  it("takes another number of ticks", function()
    for _, ticks in ipairs { 1, 2, 40 } do
      local code, output = run(EXAMPLE, "", ticks)
      assert.equal(0, code, output)
      assert.truthy(output:find(("after %d ticks"):format(ticks), 1, true))
    end
    local code, output = run(EXAMPLE, "", "many")
    assert.equal(1, code)
    assert.equal("FAILED: the story broke off", lastLine(output))
  end)

  local broken = {
    ["restored values without a class"] = sabotage("classes", [[
      return { toJSON = c.toJSON, fromJSON = function(json)
        json["@class"] = nil
        return json
      end }
    ]]),
    ["values of the class from before the reload"] = [[
      local first
    ]] .. sabotage("class", [[
      local class = ...
      if class.__name ~= "HasPosition" then return c end
      first = first or class
      return { toJSON = c.toJSON, fromJSON = function(json)
        return setmetatable(c.fromJSON(json), first)
      end }
    ]]),
    ["a field that is lost"] = sabotage("class", [[
      if (...).__name ~= "HasDestination" then return c end
      return { toJSON = c.toJSON, fromJSON = function(json)
        json.speed = 1.25
        return c.fromJSON(json)
      end }
    ]]),
    ["a reference to another planet"] = sabotage("refs", [[
      return { toJSON = c.toJSON, fromJSON = function(json, ctx)
        json.planet = (json.planet + 1) % 3
        return c.fromJSON(json, ctx)
      end }
    ]]),
    ["handles that are saved as numbers"] = sabotage("refs", [[
      local function same(value) return value end
      return { toJSON = same, fromJSON = same }
    ]]),
    ["a chart that is lost"] = sabotage("map", [[
      return { toJSON = c.toJSON, fromJSON = function() return {} end }
    ]]),
  }
  for what, before in pairs(broken) do
    it("fails with " .. what, function()
      local code, output = run(EXAMPLE, before)
      assert.equal(1, code, output)
      assert.truthy(lastLine(output):find("^FAILED: "), output)
    end)
  end
end)
