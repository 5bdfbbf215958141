-- SER-F06: worlds that do not touch each other, names as the contract, and what the package says.

local ecs = require "ecsser"
local child = require "spec.support.world_child"
local deep = require "spec.support.deep"
local malformed = require "spec.support.malformed"
local ser = require "spec.support.ser"

-- The output of a script in a process of its own, with the module's path set.
local function run(code)
  local how, status, output = child.run(code)
  assert.equal("exit 0", how .. " " .. status, output)
  return output
end

local function readFile(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function files(pattern)
  local out = {}
  local pipe <close> = assert(io.popen("ls " .. pattern .. " 2>/dev/null"))
  for name in pipe:lines() do
    out[#out + 1] = name
  end
  return out
end

describe("the package", function()
  it("SER-090 is loaded without side effects", function()
    local output = run [[
      local function snapshot()
        local out = {}
        local function add(name, t)
          for key, value in pairs(t) do
            if key ~= "_G" and key ~= "package" then
              out[name .. tostring(key)] = tostring(value)
            end
          end
        end
        add("_G.", _G)
        add("string meta.", getmetatable "")
        for _, name in ipairs { "string", "table", "math", "io", "os", "debug", "coroutine" } do
          add(name .. ".", _G[name])
        end
        for key, value in pairs(package.loaded) do
          if not key:find "^ecsser" then
            out["loaded " .. key] = tostring(value)
          end
        end
        out.mode = collectgarbage("isrunning") and "running" or "stopped"
        return out
      end
      local before = snapshot()
      os.setlocale("C")
      local ecs = require "ecsser"
      local after = snapshot()
      for key, value in pairs(after) do
        if before[key] ~= value then print("changed", key) end
      end
      for key in pairs(before) do
        if after[key] == nil then print("gone", key) end
      end
      for key in pairs(package.loaded) do
        if key:find "^ecsser" and key ~= "ecsser" and key ~= "ecsser.core" then
          print("loaded", key)
        end
      end
      assert(require "ecsser" == ecs)
      for i, mode in ipairs { "generational", "incremental" } do collectgarbage(mode) end
      print(type(ecs.createWorld))
    ]]
    assert.equal("function\n", output)
  end)

  it("SER-090 makes a world and its snapshots independent", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local e = world:spawn(t.P { x = 1 }, t.A { list = { 1 } })
    world:add(e, t.M(e, { "data" }))
    world:add(t.A { "world" })
    local first, second = ecs.saveWorld(world), ecs.saveWorld(world)
    local copy = deep.copy(first)
    second.entities[1].traits.A.list[1] = "changed"
    second.entities[1].pairs.M[1].data[1] = "changed"
    second.world.traits.A[1] = "changed"
    second.format = "changed"
    deep.assertSame(copy, first, "the other snapshot")
    deep.assertSame(copy, ecs.saveWorld(world), "the world")
    world:reset()
    deep.assertSame(copy, first, "the snapshot after a reset")
    local restored = ecs.restoreWorld(world, first)
    restored.entities[1] = nil
    deep.assertSame(copy, ecs.saveWorld(world), "the restored world")
  end)

  it("SER-091 keeps registrations, ignores and restores of one world out of the other", function()
    local a, b = ecs.createWorld(), ecs.createWorld()
    local t, r, ignored = ecs.trait { v = 0 }, ecs.relation(), ecs.trait()
    ecs.registerTraits(a, { T = t, R = r })
    ecs.ignoreTraits(a, { ignored })
    assert.is_nil(ecs.getTraitName(b, t))
    assert.is_nil(ecs.getTraitName(b, r))
    local e = b:spawn(t)
    ser.raises("saveWorld", "unregistered-trait", { "trait #" .. t.id }, ecs.saveWorld, b)
    b:remove(e, t)
    b:add(e, r(e))
    ser.raises("saveWorld", "unregistered-trait", { "trait #" .. r.id }, ecs.saveWorld, b)
    b:remove(e, r(e))
    b:add(e, ignored)
    ser.raises("saveWorld", "unregistered-trait", { "trait #" .. ignored.id }, ecs.saveWorld, b)
    b:reset()
    local before = ser.state(b)
    local first = ecs.restoreWorld(a, ser.doc({ { traits = { T = { v = 1 } } } })).entities[1]
    ser.assertUnchanged(before, b, "a restore in another world")
    assert.is_false(b:isAlive(first))
    ser.raises("restoreWorld", "unknown-trait", { "T" }, ecs.restoreWorld, b, ecs.saveWorld(a))
    assert.equal(1, a:get(first, t, "v"))
    ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, b, {})
    assert.equal(1, #ecs.saveWorld(a).entities)
  end)

  it("SER-092 names are the contract between save and restore", function()
    local health, twin = ecs.trait { hp = 1, max = 2 }, ecs.trait { max = 20, hp = 10 }
    local world = ser.world { Hp = health }
    world:spawn(health { hp = 5 })
    world:add(health { max = 9 })
    local s = ecs.saveWorld(world)
    local renamed = ser.world { Health = health }
    ser.raises("restoreWorld", "unknown-trait", { "Hp" }, ecs.restoreWorld, renamed, s)
    ser.assertFresh(renamed, { health })
    local other = ser.world { Hp = twin, Health = health }
    local e = ecs.restoreWorld(other, s).entities[1]
    deep.assertSame({ hp = 5, max = 2 }, other:get(e, twin), "the twin")
    deep.assertSame({ hp = 1, max = 9 }, other:get(twin), "the twin on the world")
    assert.is_false(other:has(e, health))
    assert.is_false(other:has(health))
    deep.assertSame(s, ecs.saveWorld(other), "saved again")
  end)

  it("SER-093 names its dependencies in the rockspec", function()
    local names = files "*.rockspec"
    assert.equal(1, #names)
    local spec = {}
    assert(loadfile(names[1], "t", spec))()
    assert.equal("ecsser", spec.package)
    local function has(list, pattern)
      for _, name in ipairs(list or {}) do
        if name:find(pattern) then
          return true
        end
      end
      return false
    end
    assert.is_true(has(spec.dependencies, "^lua >= 5%.4"))
    assert.is_true(has(spec.dependencies, "^lua%-cjson"))
    assert.is_true(has(spec.test_dependencies, "^busted"))
    assert.equal(2, #spec.dependencies)
  end)

  it("SER-094 says in the README what an application has to know", function()
    local text = readFile("README.md"):gsub("%s+", " "):lower()
    local statements = {
      a = { "rename", "registered name", "migrat" },
      b = { "registertraits", "ignoretraits", "unregistered", "prefab", "world entity" },
      c = { "refs", "codec", "plain number", "wrong entity" },
      d = { "aos", "codec", "relation[^.]*json%-safe" },
      e = { "fresh", "reset", "observers", "after `?restoreworld" },
      f = { "handles", "before a? ?`?[%w:]*reset", "entities" },
    }
    for letter, words in pairs(statements) do
      for _, word in ipairs(words) do
        assert.truthy(text:find(word), ("README: (%s) says nothing of %q"):format(letter, word))
      end
    end
  end)

  it("SER-095 does not depend on the schedule or other modules of its own", function()
    local output = run [[
      local seen = {}
      table.insert(package.searchers, 1, function(name)
        seen[#seen + 1] = name
      end)
      local ecs = require "ecsser"
      local t = ecs.trait { v = 0 }
      local world, other = ecs.createWorld(), ecs.createWorld()
      for _, w in ipairs { world, other } do ecs.registerTraits(w, { T = t }) end
      world:spawn(t)
      ecs.restoreWorld(other, ecs.saveWorld(world))
      table.sort(seen)
      print(table.concat(seen, " "))
    ]]
    assert.equal("ecsser ecsser.core\n", output)
    for _, name in ipairs(files "src/*.[ch]") do
      assert.is_nil(readFile(name):lower():find("ecs%-schedule"), name)
      assert.is_nil(readFile(name):find("ecsser.schedule", 1, true), name)
    end
  end)

  it("P6 gives the same results in every process, whatever the hash seed and insertion order",
    function()
      local code = [[
        local ecs = require "ecsser"
        local deep = require "spec.support.deep"
        local order = %d
        local names = {}
        for i = 1, 40 do names[i] = "n" .. i * 37 %% 41 end
        local function each(fn)
          for i = 1, #names do
            fn(names[(i * order) %% 41])
          end
        end
        local tags, traits, relations, entries = {}, {}, {}, {}
        for _, name in ipairs(names) do
          tags[name], traits[name], relations[name] = ecs.trait(), ecs.trait { v = 0, w = 0 },
            ecs.relation()
        end
        each(function(name)
          entries[name], entries["s" .. name] = tags[name], traits[name]
          entries["r" .. name] = relations[name]
        end)
        local world, other = ecs.createWorld(), ecs.createWorld()
        ecs.registerTraits(world, entries)
        ecs.registerTraits(other, entries)
        local a, b = world:spawn(), world:spawn()
        each(function(name)
          world:add(a, tags[name], traits[name] { v = #name }, relations[name](b))
        end)
        local s = ecs.saveWorld(world)
        print(table.concat(s.entities[1].tags, " "))
        if ecs.saveJSON then print(ecs.saveJSON(world)) end
        for name, trait in pairs(traits) do
          other:onAdd(trait, function() io.write(name, " ") end)
          other:onAdd(relations[name], function() io.write("r", name, " ") end)
        end
        ecs.restoreWorld(other, s)
        print()
        for i, trait in ipairs(world:traits()) do
          io.write(ecs.getTraitName(world, trait) or "-", " ")
        end
        print()
        other:reset()
        local bad = { tags = ecs.array {}, traits = {}, pairs = {} }
        each(function(name)
          bad.traits["s" .. name] = { v = "no", w = "no", [name] = 1 }
          bad.pairs["r" .. name] = { { target = 7, [name] = 1 } }
          bad[name] = 1
        end)
        s.entities[2] = bad
        print(pcall(ecs.restoreWorld, other, s))
        each(function(name) bad[name] = nil end)
        print(pcall(ecs.restoreWorld, other, s))
        print(pcall(ecs.registerTraits, world, {
          x = 1, y = 2, z = 3, [names[1] ] = 5, [names[2] ] = 6, [true] = 7, [1] = 8,
        }))
        world:set(a, traits.n1, { v = 0 / 0, w = 1 / 0 })
        print(pcall(ecs.saveWorld, world))
        assert(deep.same(1, 1))
      ]]
      local first
      for _, order in ipairs { 1, 1, 2, 7, 40 } do
        local output = run(code:format(order))
        first = first or output
        assert.equal(first, output)
      end
      assert.truthy(first:find("restoreWorld: ", 1, true))
      assert.truthy(first:find("saveWorld: ", 1, true))
    end)
end)

describe("memory", function()
  it("P10 300 cycles of save, reset, restore and failing restore keep it flat", function()
    local t = malformed.kit()
    local world = malformed.world(t)
    local records = {}
    for i = 1, 30 do
      records[i] = {
        tags = { "T" }, traits = {
          P = { x = i, s = "text " .. i, b = true }, A = { i, { i } }, L = { to = i - 1 },
          C = { i },
        },
        pairs = {
          D = {
            { target = 0, data = { n = i, s = "" } }, { target = 29, data = { n = i, s = "" } },
          },
          N = { { target = i - 1 } }, M = { { target = 1, data = { "m" } } },
        },
      }
    end
    local snapshot = ser.doc(records, { tags = { "T" }, traits = { A = { "world" } } })
    local bad = deep.copy(snapshot)
    bad.entities[30].pairs.N[1].target = 30
    local fail
    world:onAdd(t.M, function()
      fail = fail and fail - 1
      if fail == 0 then
        error("no", 0)
      end
    end)
    local function registrySize()
      local count = 0
      for _ in pairs(debug.getregistry()) do
        count = count + 1
      end
      return count
    end
    local function cycle()
      ecs.restoreWorld(world, snapshot)
      local saved = ecs.saveWorld(world)
      world:reset()
      ser.raises("restoreWorld", "malformed", {}, ecs.restoreWorld, world, bad)
      fail = 20
      ser.raises("restoreWorld", "restore-failed", {}, ecs.restoreWorld, world, saved)
      fail = nil
      pcall(ecs.registerTraits, world, { Again = t.P })
      ecs.registerTraits(world, { P = t.P })
      ecs.ignoreTraits(world, { t.Ign })
    end
    for _ = 1, 30 do
      cycle()
    end
    collectgarbage()
    collectgarbage()
    local before, registry = collectgarbage "count", registrySize()
    for _ = 1, 300 do
      cycle()
    end
    collectgarbage()
    collectgarbage()
    local grown = collectgarbage "count" - before
    assert.is_true(grown < 16, ("%.1f KB more after 300 cycles"):format(grown))
    assert.equal(registry, registrySize())
    ecs.restoreWorld(world, snapshot)
    deep.assertSame(snapshot, ecs.saveWorld(world), "the last restore")
  end)

  it("P10 300 worlds that are saved into and dropped keep it flat", function()
    local t = malformed.kit()
    local snapshot = ser.doc { { traits = { A = { 1 }, P = { x = 1, s = "", b = true } } } }
    local function cycle()
      local world = malformed.world(t)
      ecs.restoreWorld(world, snapshot)
      ecs.saveWorld(world)
    end
    for _ = 1, 30 do
      cycle()
    end
    collectgarbage()
    collectgarbage()
    local before = collectgarbage "count"
    for _ = 1, 300 do
      cycle()
    end
    collectgarbage()
    collectgarbage()
    local grown = collectgarbage "count" - before
    assert.is_true(grown < 16, ("%.1f KB more after 300 worlds"):format(grown))
  end)
end)
