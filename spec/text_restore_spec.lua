-- Texts to worlds: restoreJSON's errors carry path and offset, and all routes agree.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local malformed = require "spec.support.malformed"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local worlds = require "spec.support.worlds"

-- Where every value and every key of a text stands: { [path] = offset }, for both.
local function placesOf(text)
  local places = { values = {}, keys = {} }
  local readValue
  local function readMembers(at, path, close)
    local index = 0
    at = text:find("%S", at + 1)
    while text:sub(at, at) ~= close do
      if text:sub(at, at) == "," then at = text:find("%S", at + 1) end
      local inner = ("%s[%d]"):format(path, index)
      if close == "}" then
        local key, stop = text:match('^"([^"]*)"%s*:%s*()', at)
        inner = key:find "^[%a_][%w_]*$" and path .. (path == "" and "" or ".") .. key
          or ('%s["%s"]'):format(path, key)
        places.keys[inner], at = at - 1, stop
      end
      index = index + 1
      at = text:find("%S", readValue(at, inner))
    end
    return at + 1
  end
  function readValue(at, path)
    places.values[path] = at - 1
    local first = text:sub(at, at)
    if first == "{" then return readMembers(at, path, "}") end
    if first == "[" then return readMembers(at, path, "]") end
    return text:match(first == '"' and '^"[^"]*"()' or "^[^],} ]*()", at)
  end
  readValue(1, "")
  return places
end

-- Documents of the specs leave the mark off where they mean an empty array.
local function markTags(snapshot)
  local function mark(t, key)
    if type(t) == "table" and type(t[key]) == "table" and next(t[key]) == nil then
      ecs.array(t[key])
    end
  end
  if type(snapshot) ~= "table" then return snapshot end
  mark(snapshot, "entities")
  mark(snapshot.world, "tags")
  if type(snapshot.entities) == "table" then
    for _, record in ipairs(snapshot.entities) do mark(record, "tags") end
  end
  return snapshot
end

local function toText(snapshot)
  return ecs.encode(markTags(snapshot))
end

local function holder(path)
  return path:match "^(.*)%.[^.%[]+$" or path:match "^(.*)%[%d+%]$" or ""
end

local EMPTY = '{"format":"ecs-serialize","version":1,"entities":[],"world":{"tags":[],"traits":{}}}'

describe("restoreJSON", function()
  it("refuses every malformed document by code, path and offset", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local count, empty = 0, 0
    for _, case in ipairs(malformed.cases) do
      local snapshot = case.snapshot()
      local ok, text = pcall(toText, snapshot)
      if ok then
        count = count + 1
        local e = ser.raises("restoreJSON", case.code, case.names, ecs.restoreJSON, world, text)
        local path = e.path or ""
        if case.path and path ~= case.path and path ~= holder(case.path) then
          error(("the path is %s, not %s: %s"):format(path, case.path, e.message))
        end
        local places = placesOf(text)
        if e.offset ~= places.values[path] and e.offset ~= places.keys[path] then
          error(("%s is at %s or %s, not at %s, in %s"):format(path, places.values[path],
            places.keys[path], e.offset, text))
        end
        empty = empty + (path == "" and 1 or 0)
        -- The table gives the same error without the offset.
        local same = ser.raises("restoreWorld", case.code, {}, ecs.restoreWorld, world, snapshot)
        assert.is_nil(same.offset)
        ser.assertFresh(world, t.registered)
      end
    end
    assert.is_true(count >= 250 and empty < count / 4, count .. " cases, " .. empty)
    -- It still takes a good one.
    assert.same({ entities = {} }, ecs.restoreJSON(world, EMPTY))
  end)

  it("counts the offset in the text as it is, with blanks and escapes", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local text = '\n{ "format" : "ecs-serialize",\r\n\t"version":1,'
      .. '"world":{"tags":[],"traits":{}},\n "entities" : [ {"tags": ["\\u0054"],'
      .. ' "traits" : { "\\u0050" : { "s":"\u{e4}\\n",'
      .. ' "b":true , "x" :  "bad" } },"pairs":{}} ] }  \n'
    local e = ser.raises("restoreJSON", "malformed", { "x" }, ecs.restoreJSON, world, text)
    assert.equal("entities[0].traits.P.x", e.path)
    assert.equal(text:find('"bad"', 1, true) - 1, e.offset)
    local good = text:gsub('"bad"', "5")
    local entity = ecs.restoreJSON(world, good).entities[1]
    deep.assertSame({ x = 5, s = "\u{e4}\n", b = true }, world:get(entity, t.P), "the value")
    assert.is_true(world:has(entity, t.T))
  end)

  it("refuses texts that are not JSON by offset, and changes nothing", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    world:spawn(ecs.IsExcluded, t.P)
    local before = ser.state(world)
    local function with(old, new) return (EMPTY:gsub(old, new)) end
    local function at(old) return EMPTY:find(old, 1, true) - 1 end
    for text, offset in pairs {
      [""] = 0, ["["] = 1, [EMPTY:sub(1, -2)] = #EMPTY - 1, [EMPTY .. "x"] = #EMPTY,
      [EMPTY .. EMPTY] = #EMPTY, ["\xEF\xBB\xBF" .. EMPTY] = 0,
      [with(":1", ":01")] = at ":1" + 2, [("["):rep(1000000)] = 512,
      [with('"tags":%[%]', '%0,%0')] = at '"tags":[]' + #'"tags":[],',
      [with("tags", "t\xFFgs")] = at "tags" + 1,
      [with('"traits":{}', '"traits":{"__proto__":{"x":1}}')] = at '"traits":{}' + #'"traits":{',
    } do
      local e = ser.raises("restoreJSON", "malformed", {}, ecs.restoreJSON, world, text)
      assert.equal(offset, e.offset, text:sub(1, 100))
      assert.is_nil(e.path)
      ser.assertUnchanged(before, world, "a text that is not JSON")
    end
    ecs.restoreJSON(world, EMPTY)
  end)

  it("P4 every prefix of a save is refused at an offset", function()
    local kit = worlds.kit()
    local text = ecs.saveJSON(worlds.random(random.new(5), kit, { size = 6 }))
    local world = oracle.world(kit)
    for n = 0, #text - 1, math.max(1, #text // 2000) do
      local e = ser.raises("restoreJSON", "malformed", {}, ecs.restoreJSON, world, text:sub(1, n))
      assert.is_true(e.offset <= n)
    end
    ecs.restoreJSON(world, text)
    assert.equal(text, ecs.saveJSON(world))
  end)

  it("says first that the world is not fresh", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    world:spawn()
    ser.raises("restoreJSON", "world-not-empty", {}, ecs.restoreJSON, world, "[")
    ser.raises("restoreJSON", "world-not-empty", {}, ecs.restoreJSON, world, EMPTY)
  end)

  it("takes strings only", function()
    local world = ecs.createWorld()
    for _, bad in ipairs { 5, true, {}, print, ecs.null, world } do
      local ok, message = pcall(ecs.restoreJSON, world, bad)
      assert.is_false(ok)
      assert.truthy(message:find("restoreJSON: bad argument #1 (string expected, got ", 1, true),
        message)
    end
    assert.is_false(pcall(ecs.restoreJSON, world))
    assert.is_false(pcall(ecs.restoreJSON, EMPTY, world))
    assert.is_false(pcall(ecs.saveJSON))
    assert.is_false(pcall(ecs.saveJSON, EMPTY))
  end)

  it("errors of codecs and observers carry path and offset as well", function()
    local t = ecs.trait(function() return {} end)
    local fail
    local entries = { Coded = { trait = t, codec = {
      toJSON = function(value) return value end,
      fromJSON = function(json, ctx) return fail(json, ctx) end,
    } } }
    local world = ser.world(entries)
    local text = '{"format":"ecs-serialize","version":1,"entities":[{"tags":[],"traits":{},'
      .. '"pairs":{}},{"tags":[],"traits":{"Coded":[7,8]},"pairs":{}}],'
      .. '"world":{"tags":[],"traits":{}}}'
    local at = text:find("[7,8]", 1, true) - 1
    local cause = {}
    for code, fn in pairs {
      ["codec-error"] = function() error(cause) end,
      malformed = function(json, ctx) return ctx.entity(json[1]) end,
    } do
      fail = fn
      local e = ser.raises("restoreJSON", code, { "Coded" }, ecs.restoreJSON, world, text)
      assert.equal("entities[1].traits.Coded", e.path)
      assert.equal(at, e.offset)
      ser.assertFresh(world, { t })
    end
    fail = function(json) return json end
    local stop = world:onAdd(t, function() error(cause) end)
    local e = ser.raises("restoreJSON", "restore-failed", {}, ecs.restoreJSON, world, text)
    assert.is_true(rawequal(cause, e.cause))
    assert.equal("entities[1].traits.Coded", e.path)
    assert.equal(at, e.offset)
    stop()
    deep.assertSame({ 7, 8 }, world:get(ecs.restoreJSON(world, text).entities[2], t), "the value")
  end)

  it("adds traits in the order of the text", function()
    local names = { "b", "a", "c", "z", "m" }
    local traits, entries, log = {}, {}, {}
    for _, name in ipairs(names) do
      traits[name] = ecs.trait { v = 0 }
      entries[name] = traits[name]
    end
    for seed = 1, 10 do
      local world = ser.world(entries)
      for _, name in ipairs(names) do
        world:onAdd(traits[name], function() log[#log + 1] = name end)
      end
      local order, parts = random.new(seed):shuffled(names), {}
      for i, name in ipairs(order) do parts[i] = ('"%s":{"v":%d}'):format(name, i) end
      log = {}
      ecs.restoreJSON(world, '{"version":1,"world":{"traits":{},"tags":[]},"entities":[{"pairs":{},'
        .. '"traits":{' .. table.concat(parts, ",") .. '},"tags":[]}],"format":"ecs-serialize"}')
      assert.same(order, log)
    end
  end)
end)

describe("the routes", function()
  local kit

  setup(function() kit = worlds.kit() end)

  it("P3 a table that is encoded and decoded is the same table, marks included", function()
    random.rounds(200, function(rng)
      local world = worlds.random(rng, kit, { size = 15 })
      local snapshot = ecs.saveWorld(world)
      local text = ecs.encode(snapshot)
      local again = ecs.decode(text)
      deep.assertSame(snapshot, again, "decode(encode(snapshot))", { marks = true })
      assert.equal(text, ecs.encode(again))
      deep.assertSame(snapshot, ecs.decode(ecs.saveJSON(world)), "decode(saveJSON(world))",
        { marks = true })
    end)
  end)

  it("P3 all ways from world to world give equal content and equal texts", function()
    local saves = {
      ecs.saveWorld, ecs.saveJSON, function(w) return ecs.encode(ecs.saveWorld(w)) end,
      function(w) return ecs.decode(ecs.saveJSON(w)) end,
    }
    random.rounds(100, function(rng)
      local world = worlds.random(rng, kit, { size = 12 })
      local expected, text = oracle.describe(world, kit), ecs.saveJSON(world)
      for i, save in ipairs(saves) do
        local saved = save(world)
        local other = oracle.world(kit, rng:chance(50) and rng:shuffled(kit.items) or nil)
        local restore = type(saved) == "string" and ecs.restoreJSON or ecs.restoreWorld
        assert.is_true((ecs.checkSnapshot(other, saved)))
        local e = restore(other, saved).entities
        assert.equal(#expected.entities, #e)
        deep.assertSame(expected, oracle.describe(other, kit), "way " .. i)
        local same = oracle.world(kit)
        ecs.restoreJSON(same, ecs.saveJSON(other))
        assert.equal(text, ecs.saveJSON(same))
        other:close()
        same:close()
      end
    end)
  end)

  it("P1 texts are a fixed point from the first save on", function()
    random.rounds(100, function(rng)
      local world = worlds.random(rng, kit, { size = 20 })
      local text = ecs.saveJSON(world)
      for _ = 1, 3 do
        world:reset()
        ecs.restoreJSON(world, text)
        assert.equal(text, ecs.saveJSON(world))
      end
      local second = oracle.world(kit)
      ecs.restoreJSON(second, text)
      assert.equal(text, ecs.saveJSON(second))
    end)
  end)

  it("saveJSON and saveWorld raise the same errors", function()
    local t = malformed.kit()
    local unregistered = ecs.trait()
    for code, make in pairs {
      ["not-serializable"] = function(w) w:spawn(t.A { 1, { x = print } }) end,
      ["unregistered-trait"] = function(w) w:spawn(unregistered) end,
      ["dangling-ref"] = function(w)
        local gone = w:spawn()
        w:destroy(gone)
        w:spawn(t.L { to = gone })
      end,
    } do
      local world = malformed.world(t)
      world:spawn()
      make(world)
      local before = ser.state(world)
      local one = ser.raises("saveJSON", code, {}, ecs.saveJSON, world)
      local two = ser.raises("saveWorld", code, {}, ecs.saveWorld, world)
      assert.equal(two.path, one.path)
      assert.equal(two.message:gsub("saveWorld", "saveJSON"), one.message)
      ser.assertUnchanged(before, world, "a failed save")
    end
  end)

  it("a codec may save another world as text meanwhile", function()
    local inner = ecs.createWorld()
    local t = ecs.trait(function() return {} end)
    local world = ser.world { Nested = { trait = t, codec = {
      toJSON = function() return ecs.saveJSON(inner) end,
      fromJSON = function(text)
        local other = ecs.createWorld()
        ecs.restoreJSON(other, text)
        return { count = other:count(), decoded = ecs.decode(text) }
      end,
    } } }
    for _ = 1, 3 do inner:spawn() end
    for _ = 1, 5 do world:spawn(t) end
    local text = ecs.saveJSON(world)
    world:reset()
    local e = ecs.restoreJSON(world, text).entities
    assert.equal(5, #e)
    for _, entity in ipairs(e) do
      assert.equal(3, world:get(entity, t).count)
      deep.assertSame(ecs.saveWorld(inner), world:get(entity, t).decoded, "the inner document")
    end
  end)
end)
