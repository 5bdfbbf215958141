-- checkSnapshot: all errors at once, of tables and of texts, without changing anything.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local malformed = require "spec.support.malformed"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"
local worlds = require "spec.support.worlds"

local function head(rest)
  return '{"format":"ecs-serialize","version":1,"entities":[' .. rest
end

local TAIL = '],"world":{"tags":[],"traits":{}}}'

local function errorsOf(world, snapshot)
  local result = table.pack(ecs.checkSnapshot(world, snapshot))
  assert.equal(2, result.n)
  assert.is_nil(result[1])
  assert.is_true(#result[2] > 0)
  for _, e in ipairs(result[2]) do ser.isError(e, "checkSnapshot", e.code) end
  return result[2]
end

local function list(errors, withOffset, text)
  local out = {}
  for i, e in ipairs(errors) do
    out[i] = e.code .. " " .. (e.path or "")
    if withOffset then
      out[i] = out[i] .. " " .. text:sub(e.offset + 1, e.offset + 6)
    else
      assert.is_nil(e.offset)
    end
  end
  return out
end

local MANY = head('{"tags":["T","T","X",5],"traits":{"P":{"x":"1","y":2},"Q":1,"T":{}},'
  .. '"pairs":{"D":[],"N":[{"target":9},{"target":0,"data":1},{"target":0}],'
  .. '"E":[{"target":0},{"target":1}]}},{"tags":{},"traits":[1],"pairs":5,"more":1}'
  .. '],"world":{"tags":["P"],"traits":{"L":{"to":7}},"pairs":{}},"extra":1}')

local EXPECTED = {
  'malformed  {"form',
  'malformed entities[0].tags[1] "T","X', 'unknown-trait entities[0].tags[2] "X",5]',
  'malformed entities[0].tags[3] 5],"tr', 'malformed entities[0].traits.P.x "1","y',
  'malformed entities[0].traits.P {"x":"', 'malformed entities[0].traits.P {"x":"',
  'malformed entities[0].traits.P {"x":"', 'unknown-trait entities[0].traits.Q "Q":1,',
  'malformed entities[0].traits.T "T":{}', 'malformed entities[0].pairs.D [],"N"',
  'malformed entities[0].pairs.N[0].target 9},{"t',
  'malformed entities[0].pairs.N[1] {"targ', 'malformed entities[0].pairs.N[2].target 0}],"E',
  'malformed entities[0].pairs.E [{"tar', 'malformed entities[1] {"tags',
  'malformed entities[1] {"tags', 'malformed entities[1] {"tags', 'malformed entities[1] {"tags',
  'malformed world {"tags', 'malformed world.tags[0] "P"],"', 'malformed world.traits.L.to 7}},"p',
}

local function sorted(t)
  table.sort(t)
  return t
end

describe("checkSnapshot", function()
  it("lists all errors of a text with paths and offsets", function()
    local world = malformed.world(malformed.kit())
    local got = list(errorsOf(world, MANY), true, MANY)
    assert.same(sorted(table.move(EXPECTED, 1, #EXPECTED, 1, {})), sorted(got))
  end)

  it("lists them in the order of the text", function()
    local world = malformed.world(malformed.kit())
    local text = head('{"tags":["X1","X2"],"traits":{"X4":1,"X3":1},"pairs":{"X6":1,"X5":1}},'
      .. '{"tags":["X7"],"traits":{},"pairs":{}}],"world":{"tags":["X8"],"traits":{"X9":1}}}')
    local names = {}
    for i, e in ipairs(errorsOf(world, text)) do
      assert.equal("unknown-trait", e.code)
      names[i] = e.message:match '"(X%d)"'
    end
    assert.same({ "X1", "X2", "X4", "X3", "X6", "X5", "X7", "X8", "X9" }, names)
  end)

  it("lists all errors of a table with paths", function()
    local world = malformed.world(malformed.kit())
    local expected = {}
    for i, line in ipairs(EXPECTED) do expected[i] = line:match "^%S+ %S*" end
    -- What is a wrong empty object in the text is also an empty array when unmarked.
    local snapshot = ecs.decode(MANY)
    snapshot.entities[2].tags = ecs.array {}
    local got = list(errorsOf(world, snapshot))
    table.insert(got, "malformed entities[1]")
    assert.same(sorted(expected), sorted(got))
  end)

  it("gives true alone when all is well", function()
    local kit = worlds.kit()
    random.rounds(60, function(rng)
      local world = worlds.random(rng, kit)
      local before = ser.state(world)
      for _, snapshot in ipairs {
        ecs.saveWorld(world), ecs.saveJSON(world), ecs.encode(ecs.saveWorld(world)),
      } do
        local result = table.pack(ecs.checkSnapshot(world, snapshot))
        assert.equal(1, result.n)
        assert.is_true(result[1])
      end
      ser.assertUnchanged(before, world, "a check")
    end)
  end)

  it("reports first what a restore raises, for every malformed document", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    for _, case in ipairs(malformed.cases) do
      local snapshot = case.snapshot()
      -- A snapshot that is nil or no table at all has an error, too.
      local errors = errorsOf(world, snapshot)
      local raised = ser.raises("restoreWorld", case.code, {}, ecs.restoreWorld, world, snapshot)
      if type(snapshot) == "string" then   -- a text for the one, no table for the other
        assert.equal("malformed", errors[1].code)
      else
        assert.equal(raised.code, errors[1].code)
        assert.equal(raised.path, errors[1].path)
        assert.equal((raised.message:gsub("^restoreWorld", "checkSnapshot")), errors[1].message)
      end
      ser.assertFresh(world, t.registered)
    end
  end)

  it("changes nothing and calls nobody, whatever is in the world", function()
    local t = malformed.kit()
    local calls = 0
    t.C = ecs.trait(function() return {} end)
    local world = ser.world {
      P = t.P, T = t.T, D = t.D, L = { trait = t.L, refs = { "to" } },
      C = { trait = t.C, codec = {
        toJSON = function(value) return value end,
        fromJSON = function(json)
          calls = calls + 1
          return json
        end,
      } },
    }
    local a = world:spawn(t.P, t.T)
    world:add(a, t.D(a))
    world:add(t.P)
    local log = ser.watch(world, { P = t.P, T = t.T, D = t.D, C = t.C })
    local before, traits = ser.state(world), #world:traits()
    local good = head('{"tags":["T"],"traits":{"C":[1,{"x":2}],"P":{"b":true,"s":"","x":1}},'
      .. '"pairs":{"D":[{"target":0,"data":{"n":1,"s":""}}]}}') .. TAIL
    assert.is_true(ecs.checkSnapshot(world, good))
    assert.is_true(ecs.checkSnapshot(world, ecs.decode(good)))
    for _, text in ipairs { MANY, "", "[", good:sub(1, -2), good:gsub("true", "1") } do
      errorsOf(world, text)
    end
    local snapshot = ecs.decode(MANY)
    local copy = deep.copy(snapshot)
    errorsOf(world, snapshot)
    deep.assertSame(copy, snapshot, "the snapshot", { marks = true })
    ser.assertUnchanged(before, world, "a check")
    assert.equal(traits, #world:traits())
    assert.same({}, log)
    assert.equal(0, calls)
  end)

  it("works in observers and codecs", function()
    local results = {}
    local t = ecs.trait(function() return {} end)
    local text = head '{"tags":[],"traits":{"Coded":1},"pairs":{}}' .. TAIL
    local world
    local function check()
      results[#results + 1] = ecs.checkSnapshot(world, text)
      results[#results + 1] = ecs.checkSnapshot(world, "[") == nil
    end
    world = ser.world { Coded = { trait = t, codec = {
      toJSON = function(value) check() return value end,
      fromJSON = function(json) check() return json end,
    } } }
    world:onAdd(t, check)
    world:onRemove(t, check)
    ecs.restoreJSON(world, text)
    assert.equal(text, ecs.saveJSON(world))
    world:reset()
    assert.same({ true, true, true, true, true, true, true, true }, results)
  end)

  it("lists at most 100 errors", function()
    local world = malformed.world(malformed.kit())
    for _, count in ipairs { 1, 99, 100, 101, 5000 } do
      local records = {}
      for i = 1, count do records[i] = '{"tags":["X' .. i .. '"],"traits":{},"pairs":{}}' end
      local text = head(table.concat(records, ",")) .. TAIL
      for _, snapshot in ipairs { text, ecs.decode(text) } do
        local errors = errorsOf(world, snapshot)
        assert.equal(math.min(count, 100), #errors)
        for i, e in ipairs(errors) do
          assert.equal(("entities[%d].tags[0]"):format(i - 1), e.path)
        end
      end
    end
  end)

  it("finds every fault among many good records", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    random.rounds(50, function(rng)
      local records, expected = {}, {}
      for i = 1, 200 do
        local bad = #expected < 90 and rng:chance(20)
        local path = ("entities[%d]."):format(i - 1)
        local kind = bad and rng:int(1, 5) or 0
        records[i] = {
          tags = { kind == 1 and "Nope" or "T" },
          traits = {
            P = { x = kind == 2 and "1" or i, s = "", b = true },
            L = { to = kind == 3 and 200 or i - 1 },
          },
          pairs = {
            N = { { target = kind == 4 and -1 or i - 1 } },
            D = { { target = 0, data = { n = 1, s = kind == 5 and 1 or "" } } },
          },
        }
        expected[#expected + 1] = bad and path .. ({ "tags[0]", "traits.P.x", "traits.L.to",
          "pairs.N[0].target", "pairs.D[0].data.s" })[kind] or nil
      end
      local snapshot = ser.doc(records)
      snapshot.world.tags = ecs.array {}
      for _, form in ipairs { snapshot, ecs.encode(snapshot) } do
        local ok, errors = ecs.checkSnapshot(world, form)
        local got = {}
        for i, e in ipairs(errors or {}) do got[i] = e.path end
        assert.equal(#expected == 0, ok == true)
        assert.same(sorted(expected), sorted(got))
      end
    end)
  end)

  -- Replaces, removes or adds something at a random place of a document.
  local function mutate(rng, document)
    local node = document
    while true do
      local keys = {}
      for key in pairs(node) do keys[#keys + 1] = key end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      if not keys[1] then return end
      local key = rng:pick(keys)
      if type(node[key]) ~= "table" or rng:chance(15) then
        local choice = rng:int(1, 4)
        if choice == 1 and type(key) == "string" then
          node[key] = nil
        elseif choice == 2 and type(key) == "string" then
          node[rng:pick { "T", "P", "x", "target", "data", "tags", "to" }] = node[key]
        else
          node[key] = rng:pick { 0, 1, -1, 1.5, 2.0, "T", "P", "", true, ecs.null, {}, ecs.array {},
            { 0 }, { x = 1 } }
        end
        return
      end
      node = node[key]
    end
  end

  it("P4 says true exactly when a restore succeeds, of mutated documents", function()
    local t = malformed.kit()
    local world, checked = malformed.world(t), malformed.world(t)
    local e = { checked:spawn(t.T), checked:spawn(), checked:spawn(t.T, t.U) }
    checked:add(e[1], t.P, t.L { to = e[3] }, t.D(e[2]), t.D(e[1]), t.N(e[1]), t.E(e[2]))
    checked:add(e[2], t.A { 1, { x = {} } }, t.F, t.M(e[3]), t.C { 5 }, t.N(e[3]), t.N(e[2]))
    checked:add(t.P, t.T, t.L { to = e[1] })
    local text = ecs.saveJSON(checked)
    local good, bad = 0, 0
    random.rounds(2000, function(rng)
      local document = ecs.decode(text)
      for _ = 1, rng:int(1, 3) do mutate(rng, document) end
      local mutated = ecs.encode(document)
      local ok, errors = ecs.checkSnapshot(checked, mutated)
      local restored, result = pcall(ecs.restoreJSON, world, mutated)
      if ok ~= true then
        bad = bad + 1
        assert.is_false(restored, mutated)
        assert.equal(errors[1].code, result.code)
        assert.equal(errors[1].path, result.path)
        assert.equal(errors[1].offset, result.offset)
        ser.assertFresh(world, t.registered)
      else
        good = good + 1
        assert.is_true(restored, tostring(result) .. " " .. mutated)
        local again = ecs.saveJSON(world)
        world:reset()
        ecs.restoreJSON(world, again)
        assert.equal(again, ecs.saveJSON(world))
        world:reset()
      end
    end)
    assert.is_true(bad + good < 100 or good > 50 and bad > 50, good .. " good, " .. bad .. " bad")
  end)

  it("has one error for a text that is not JSON", function()
    local world = malformed.world(malformed.kit())
    for text, offset in pairs {
      [""] = 0, ["["] = 1, [MANY:sub(1, 70)] = 70, [MANY .. "x"] = #MANY, ["\xEF\xBB\xBF{}"] = 0,
      ['{"a":1,"a":2}'] = 7, [("["):rep(1000000)] = 512, ['{"__proto__":1}'] = 1, ['"\xFF"'] = 1,
    } do
      local errors = errorsOf(world, text)
      assert.equal(1, #errors)
      assert.equal("malformed", errors[1].code)
      assert.equal(offset, errors[1].offset)
      assert.is_nil(errors[1].path)
    end
    for _, text in ipairs { "null", "5", "[]", '"ecs-serialize"', "{}" } do
      local errors = errorsOf(world, text)
      assert.equal("malformed", errors[1].code)
      assert.equal(0, errors[1].offset)
    end
  end)

  it("has an error for what is not JSON-safe, by path", function()
    local world = malformed.world(malformed.kit())
    for _, value in ipairs(unsafe.values) do
      local errors = errorsOf(world, ser.doc { {}, { traits = { A = { value.make() } } } })
      assert.equal("malformed", errors[1].code)
      assert.equal("entities[1].traits.A[0]", errors[1].path:sub(1, 23), value.what)
    end
    local ran = {}
    errorsOf(world, setmetatable(ser.doc {}, ser.hostile(ran)))
    assert.same({}, ran)
  end)

  it("reports other versions and formats as restore does", function()
    local world = malformed.world(malformed.kit())
    local text = head "" .. TAIL
    for _, case in ipairs {
      { text:gsub("ecs%-serialize", "flecs"), "malformed" },
      { text:gsub('"version":1', '"version":2'), "unsupported-version" },
      { text:gsub('"version":1', '"version":"1"'), "unsupported-version" },
      { text:gsub('"version":1,', ""), "unsupported-version" },
    } do
      local errors = errorsOf(world, case[1])
      assert.equal(1, #errors)
      assert.equal(case[2], errors[1].code)
    end
    assert.is_true(ecs.checkSnapshot(world, (text:gsub('"version":1', '"version":1.0'))))
  end)

  it("checks its arguments", function()
    local world = ecs.createWorld()
    local function wrong(message, ...)
      local ok, err = pcall(ecs.checkSnapshot, ...)
      assert.is_false(ok)
      assert.truthy(tostring(err):find(message, 1, true), tostring(err))
    end
    wrong("checkSnapshot: bad ", world)
    wrong("checkSnapshot: bad ")
    for _, bad in ipairs { 5, "x", {}, ecs.null, ecs.trait() } do
      wrong("checkSnapshot: bad ", bad, {})
    end
    for _, bad in ipairs { 5, true, print, ecs.null, io.stdout } do
      assert.equal("malformed", errorsOf(world, bad)[1].code)
    end
    assert.equal("malformed", errorsOf(world, nil)[1].code)
    world:close()
    wrong("checkSnapshot: ", world, {})
  end)
end)
