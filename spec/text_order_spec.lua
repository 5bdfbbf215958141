-- The order of a saved text, and that it is a function of the world's content only.

local ecs = require "ecsser"
local oracle = require "spec.support.oracle"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local worldChild = require "spec.support.world_child"
local worlds = require "spec.support.worlds"

local function text(world)
  local first = ecs.saveJSON(world)
  assert.equal(first, ecs.saveJSON(world))
  return first
end

local EMPTY = '{"format":"ecs-serialize","version":1,"entities":[],"world":{"tags":[],"traits":{}}}'

describe("saveJSON", function()
  it("writes the top keys in the order of the format, without blanks", function()
    local world = ecs.createWorld()
    assert.equal(EMPTY, text(world))
    world:spawn()
    assert.equal('{"format":"ecs-serialize","version":1,"entities":[{"tags":[],"traits":{},'
      .. '"pairs":{}}],"world":{"tags":[],"traits":{}}}', text(world))
  end)

  it("writes names in the order of registration, in tags, traits and pairs", function()
    local names = { "z", "10", "B", "a", "9", "\u{e4}", "aa", "" .. "_", "A b" }
    local tags, traits, relations, entries = {}, {}, {}, {}
    for i, name in ipairs(names) do
      tags[i], traits[i], relations[i] = ecs.trait(), ecs.trait { v = i }, ecs.relation()
      table.insert(entries, { "t" .. name, tags[i] })
      table.insert(entries, { "r" .. name, relations[i] })
      table.insert(entries, { "d" .. name, traits[i] })
    end
    local world = ser.world(entries)
    local e = world:spawn()
    for i = #names, 1, -1 do
      world:add(e, relations[i](e), tags[i], traits[i])
      world:add(tags[i], traits[i])
    end
    local expected = { tags = {}, traits = {}, pairs = {} }
    for i, name in ipairs(names) do
      expected.tags[i] = ('"t%s"'):format(name)
      expected.traits[i] = ('"d%s":{"v":%d}'):format(name, i)
      expected.pairs[i] = ('"r%s":[{"target":0}]'):format(name)
    end
    for key, parts in pairs(expected) do expected[key] = table.concat(parts, ",") end
    assert.equal(('{"format":"ecs-serialize","version":1,"entities":[{"tags":[%s],"traits":{%s},'
      .. '"pairs":{%s}}],"world":{"tags":[%s],"traits":{%s}}}'):format(expected.tags,
      expected.traits, expected.pairs, expected.tags, expected.traits), text(world))
  end)

  it("takes the keys of one call in bytewise order, and calls in their order", function()
    local names = { "b", "B", "a\u{e4}", "a", "ab", "10", "9", "a\0", "~" }
    local entries = {}
    for _, name in ipairs(names) do entries[name] = ecs.trait() end
    local late = ecs.trait()
    local world = ser.world(entries)
    ecs.registerTraits(world, { ["0"] = late })
    local e = world:spawn(late)
    for _, name in ipairs(names) do world:add(e, entries[name]) end
    assert.truthy(text(world):find('"tags":["10","9","B","a","a\\u0000","ab","a\u{e4}","b","~",'
      .. '"0"]', 1, true), text(world))
  end)

  it("writes fields in the order of the schema, pairs' data too", function()
    local listed = ecs.trait { { "z", 1 }, { "a", 2.0 }, { "Z", "" }, { "m", true } }
    local named = ecs.trait { z = 1, a = 2.0, Z = "", m = true }
    local relation = ecs.relation { store = { { "y", 0 }, { "x", 0 } } }
    local linked = ecs.trait { { "to", ecs.null }, { "from", ecs.null } }
    local world = ser.world {
      { "Listed", listed }, { "Named", named }, { "R", relation },
      { "Linked", { trait = linked, refs = { "from", "to" } } },
    }
    local a = world:spawn(listed { m = false, Z = "q", a = -1.5, z = 3 }, named)
    local b = world:spawn(linked { from = a })
    world:add(a, relation(b, { x = 1, y = 2 }), relation(a, { x = 3 }))
    assert.truthy(text(world):find('[{"tags":[],"traits":{'
      .. '"Listed":{"z":3,"a":-1.5,"Z":"q","m":false},'
      .. '"Named":{"Z":"","a":2.0,"m":true,"z":1}},"pairs":{"R":['
      .. '{"target":1,"data":{"y":2,"x":1}},{"target":0,"data":{"y":0,"x":3}}]}},'
      .. '{"tags":[],"traits":{"Linked":{"to":null,"from":0}},"pairs":{}}]', 1, true), text(world))
  end)

  it("writes other keys bytewise, at any depth and whatever made them", function()
    local bag = ecs.trait(function() return {} end)
    local soa = ecs.trait { any = ecs.null }
    local meta = ecs.relation { store = function() return {} end }
    local coded = ecs.trait(function() return {} end)
    local world = ser.world {
      { "Bag", bag }, { "Soa", soa }, { "Meta", meta },
      { "Coded", { trait = coded, codec = {
        toJSON = function(value) return { json = value, first = 1 } end,
        fromJSON = function(json) return json.json end,
      } } },
    }
    local value = {
      b = 1, a = { z = 1, y = { 1, { d = 1, c = 2 } } }, B = 3, ["\u{e4}"] = 4, ["a\0"] = 5,
      [""] = 6, ["10"] = 7, ["9"] = 8, ["\u{1F600}"] = 9, ["\u{FFFF}"] = 10, aa = 11,
      ["\xED\xA0\x80"] = 12,
    }
    local expected = '{"":6,"10":7,"9":8,"B":3,"a":{"y":[1,{"c":2,"d":1}],"z":1},"a\\u0000":5,'
      .. '"aa":11,"b":1,"\u{e4}":4,"\\ud800":12,"\u{FFFF}":10,"\u{1F600}":9}'
    local e = world:spawn(bag(value), soa { any = value }, coded(value))
    world:add(e, meta(e, value))
    assert.truthy(text(world):find(('"traits":{"Bag":%s,"Soa":{"any":%s},"Coded":{"first":1,'
      .. '"json":%s}},"pairs":{"Meta":[{"target":0,"data":%s}]}'):format(expected, expected,
      expected, expected), 1, true), text(world))
    assert.equal(expected, ecs.encode(value))
  end)

  it("does not depend on the order in which keys were inserted", function()
    local bag = ecs.trait(function() return {} end)
    local keys = {}
    for i = 1, 50 do keys[i] = ("key %d"):format(i * 37 % 53) end
    local texts = {}
    random.rounds(30, function(rng)
      local world, value = ser.world { Bag = bag }, {}
      -- Keys that are gone again leave their mark in a table's inner order.
      for _, key in ipairs(rng:shuffled(keys)) do value[key .. "x"] = 1 end
      for _, key in ipairs(rng:shuffled(keys)) do value[key] = { [key] = 1, a = 2 } end
      for _, key in ipairs(rng:shuffled(keys)) do value[key .. "x"] = nil end
      world:spawn(bag(value))
      texts[text(world)], texts[1] = true, text(world)
      assert.equal(ecs.encode(value), ecs.encode(ecs.decode(ecs.encode(value))))
    end)
    texts[texts[1]], texts[1] = nil, nil
    assert.is_nil(next(texts))
  end)

  it("does not depend on how the world came about", function()
    local kit = worlds.kit()
    random.rounds(60, function(rng)
      local world = worlds.random(rng, kit, { size = 15 })
      local expected = text(world)
      -- The same content in a world with a past: other entities came and went, traits were added
      -- and removed in other orders, and a restore has filled it before.
      local other = oracle.world(kit)
      worlds.fill(rng, kit, other)
      other:reset()
      local noise = {}
      for i = 1, rng:int(1, 8) do noise[i] = other:spawn(kit.items[rng:int(1, 2)].object) end
      for _, e in ipairs(rng:shuffled(noise)) do other:destroy(e) end
      ecs.restoreJSON(other, expected)
      for _, e in ipairs(rng:shuffled(ser.savedEntities(other))) do
        for _, item in ipairs(rng:shuffled(kit.items)) do
          if item.kind == "tag" or item.kind == "soa" then
            if other:has(e, item.object) then
              local value = item.kind == "soa" and other:get(e, item.object) or nil
              other:remove(e, item.object)
              other:add(e, item.kind == "soa" and item.object(value) or item.object)
            elseif rng:chance(50) then
              other:add(e, item.object)
              other:remove(e, item.object)
            end
          end
        end
      end
      assert.equal(expected, text(other))
    end)
  end)

  it("does not depend on the order of definition, nor on what is registered besides", function()
    local function make(order)
      local t = {}
      for _, name in ipairs(order) do
        t[name] = name == "C" and ecs.relation() or ecs.trait { x = 0 }
      end
      local world = ser.world { { "B", t.B }, { "A", t.A }, { "C", t.C } }
      ecs.registerTraits(world, { Unused = t.U, Other = ecs.relation() })
      local e = world:spawn(t.A, t.B)
      world:add(e, t.C(e))
      return text(world)
    end
    local first = make { "A", "B", "C", "U" }
    assert.equal(first, make { "U", "C", "B", "A" })
    assert.equal(first, make { "B", "U", "A", "C" })
  end)

  it("is the same in every process", function()
    local code = [[
      package.path = %q .. package.path
      local random = require "spec.support.random"
      local worlds = require "spec.support.worlds"
      local ecs = require "ecsser"
      -- Another layout of memory and another insertion order of strings each time.
      local junk = {}
      for i = 1, %d do junk["junk" .. i * 7] = { i } end
      local kit = worlds.kit()
      for seed = 1, 30 do
        local world = worlds.random(random.new(seed), kit, { size = 20 })
        print(ecs.saveJSON(world))
        print(ecs.encode(ecs.saveWorld(world)))
      end
    ]]
    local first
    for _, junk in ipairs { 0, 1, 100, 5000, 0 } do
      local how, status, output = worldChild.run(code:format("./?.lua;", junk), "-W")
      assert.equal("exit 0", how .. " " .. status, output)
      first = first or output
      assert.is_true(first == output, "two processes wrote different texts")
    end
    assert.is_true(#first > 30000, "the worlds are hardly worlds")
    -- And in this one.
    local kit = worlds.kit()
    local lines = {}
    for seed = 1, 30 do
      local world = worlds.random(random.new(seed), kit, { size = 20 })
      table.insert(lines, ecs.saveJSON(world))
      table.insert(lines, ecs.encode(ecs.saveWorld(world)))
    end
    assert.is_true(table.concat(lines, "\n") .. "\n" == first)
  end)
end)
