-- hashWorld: a function of the content alone, and of all of it.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"
local child = require "spec.support.world_child"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"
local xxh3 = require "spec.support.snap_xxh3"

local null <const> = ecs.null

-- The digest worked out from the bytes, by an implementation of its own.
local function digest(snapshot)
  local parts = bytes.parts(snapshot)
  return xxh3.hex(cbor.write(parts.header) .. cbor.write(parts.body))
end

describe("hashWorld", function()
  local kit = kits.new()

  it("is the XXH3-64 of header and body, in the snapshot and in its headers", function()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, rng:int(0, 60))
      local snapshot, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
      assert.truthy(hash:find "^%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x$")
      assert.equal(digest(snapshot), hash)
      assert.equal(string.pack("<i8", math.tointeger("0x" .. hash)), snapshot:sub(-8))
      assert.equal(hash, ecs.inspectSnapshot(snapshot).digest)
      assert.equal(hash, ecs.loadSnapshot(world, snapshot).digest)
      assert.equal(hash, ecs.saveSnapshot(world, { format = "table" }).header.digest)
      assert.equal(hash, ecs.hashWorld(world))
    end)
  end)

  it("of the empty world is what it always was", function()
    local world <close> = ecs.createWorld()
    assert.equal("5cb092d7f09b0486", ecs.hashWorld(world))
    ecs.registerTraits(world, { Any = ecs.trait { x = 1 } })
    assert.equal("5cb092d7f09b0486", ecs.hashWorld(world))
  end)

  it("is not that of meta and custom data, but that of handlers' data", function()
    local world <close> = kit:random(random.new(1), 30)
    local hash = ecs.hashWorld(world)
    local with = ecs.saveSnapshot(world, { meta = { a = 1 }, data = { b = 2 } })
    assert.equal(digest(with), ecs.inspectSnapshot(with).digest)
    assert.not_equal(hash, ecs.inspectSnapshot(with).digest)
    assert.equal(hash, ecs.hashWorld(world))
    local value
    ecs.addSnapshotHandler(world, { name = "h", save = function() return value end })
    assert.equal(hash, ecs.hashWorld(world))
    value = 1
    local one = ecs.hashWorld(world)
    value = 1.0
    assert.not_equal(hash, one)
    assert.not_equal(one, ecs.hashWorld(world))
  end)
end)

describe("the hash does not depend on", function()
  it("the orders of definition and registration", function()
    random.rounds(200, function(rng)
      local one, two = kits.new(), kits.new(rng)
      local a <close> = one:random(random.new(rng.seed), 60)
      local b <close> = two:random(random.new(rng.seed), 60, rng)
      assert.equal(ecs.hashWorld(a), ecs.hashWorld(b))
      assert.equal(ecs.saveSnapshot(a), ecs.saveSnapshot(b))
    end)
  end)

  it("the order in which traits were added, removed and changed", function()
    local A, B, C = ecs.trait { x = 1, y = "a" }, ecs.trait(), ecs.trait(function() return {} end)
    local R = ecs.relation { store = { n = 0 } }
    local function build(order)
      local world = ser.world { A = A, B = B, C = C, R = R, Key = ecs.Key }
      local e, f = world:spawn(), world:spawn()
      local steps = {
        function() world:add(e, A { x = 5 }) world:set(e, A, "y", "b") end,
        function() world:add(e, B) end,
        function() world:add(e, B) world:remove(e, B) world:add(e, B) end,
        function() world:add(f, C { 1, 2 }) end,
        function() world:add(C { k = 1 }) end,
        function() world:add(e, C {}) world:remove(e, C) end,
        function() world:add(f, ecs.Key "f") world:remove(f, ecs.Key) world:add(f, ecs.Key "g") end,
        function() world:add(e, R(f, { n = 9 })) world:set(e, R(f), "n", 3) end,
        function() world:add(f, R(e)) end,
        function() world:add(f, R(f)) world:remove(f, R(f)) end,
        function() world:add(f, ecs.IsExcluded) end,
        function() world:add(A { x = 0 }) world:remove(A) end,
      }
      for _, i in ipairs(order) do steps[i]() end
      return world, #steps
    end
    local first, order = nil, {}
    for i = 1, 12 do order[i] = i end
    random.rounds(200, function(rng, round)
      local world <close> = build(round == 1 and order or rng:shuffled(order))
      first = first or ecs.saveSnapshot(world)
      assert.equal(first, ecs.saveSnapshot(world))
    end)
  end)

  it("the order in which keys came into tables, and their array and hash parts", function()
    local A = ecs.trait(function() return {} end)
    local names = {}
    for i = 1, 40 do names[i] = (i % 3 == 0 and "long name " or "k") .. i end
    local first
    random.rounds(200, function(rng)
      local value, list, world <close> = {}, {}, ser.world { A = A }
      for i = 1, 30 do value["gone" .. i] = i end
      for i = 1, 30 do value["gone" .. i] = nil end
      for _, name in ipairs(rng:shuffled(names)) do value[name] = #name end
      local places = {}
      for i = 1, 20 do places[i] = i end
      for _, i in ipairs(rng:shuffled(places)) do list[i] = i end
      value.list = list
      world:spawn(A(value))
      first = first or ecs.hashWorld(world)
      assert.equal(first, ecs.hashWorld(world))
    end)
  end)

  it("what is not saved: observers, queries, columns, ignored traits, other worlds", function()
    local kit = kits.new()
    local I, T = ecs.trait(function() return {} end), ecs.trait { f = 1 }
    local world <close> = kit:random(random.new(5), 40)
    ecs.ignoreTraits(world, { I })
    ecs.registerTraits(world, { Passing = { trait = T, transient = true } })
    local hash = ecs.hashWorld(world)
    world:onAdd(kit.object.Health, function() end)
    world:onQueryAdd(kit.object.Health, ecs.Not(kit.object.Pos), function() end)
    world:query(kit.object.Zeta)
    world:slots(kit.object.Zeta, kit.object.Pos)
    world:column(kit.object.Pos, "x")
    for _, e in ipairs(world:entities()) do world:add(e, I { print }, T) end
    local other <close> = kit:random(random.new(6), 40)
    assert.equal(hash, ecs.hashWorld(world))
    assert.is_string(ecs.hashWorld(other))
    collectgarbage()
    assert.equal(hash, ecs.hashWorld(world))
  end)

  it("the process and its hash seed, and on the world's id and first generation", function()
    local code = [[
      local random, kits = require "spec.support.random", require "spec.support.snap_kit"
      local ecs, kit, out = require "ecsser", nil, {}
      for i = 1, 5 do ecs.createWorld():spawn() end   -- other ids, and generations above 0
      collectgarbage()
      for seed = 1, 25 do
        kit = kits.new(random.new(seed + %d))
        local world = kit:random(random.new(seed), 40)
        out[seed] = ecs.hashWorld(world)
        world:close()
      end
      print(table.concat(out, " "))]]
    local function run(n)
      local how, number, output = child.run(code:format(n))
      assert(how == "exit" and number == 0, output)
      return output
    end
    local first = run(0)
    assert.equal(first, run(1))
    local kit, out = kits.new(), {}
    for seed = 1, 25 do
      local world <close> = kit:random(random.new(seed), 40)
      out[seed] = ecs.hashWorld(world)
    end
    assert.equal(first, table.concat(out, " ") .. "\n")
  end)
end)

describe("the hash depends on", function()
  local A, B = ecs.trait { n = 0, s = "", b = false, any = null }, ecs.trait()
  local C, Ref = ecs.trait(function() return {} end), ecs.trait { to = null }
  local R, D = ecs.relation(), ecs.relation { store = { w = 0 } }
  local world, e, f, g

  before_each(function()
    world = ser.world { A = A, B = B, C = C, Ref = { trait = Ref, refs = { "to" } }, R = R, D = D,
      Key = ecs.Key }
    e, f, g = world:spawn(A { n = 1 }, C { 1 }), world:spawn(B, ecs.Key "f"), world:spawn()
    world:add(e, R(f), R(g), D(f))
    world:add(f, Ref { to = g })
    world:add(A)
  end)
  after_each(function() world:close() end)

  -- Each takes the hash after its changes; all must differ.
  local function allDiffer(changes)
    local seen = { [ecs.hashWorld(world)] = 0 }
    for i, change in ipairs(changes) do
      change()
      local hash = ecs.hashWorld(world)
      assert(seen[hash] == nil, ("change %d gives the hash of %s"):format(i, seen[hash]))
      seen[hash] = i
    end
  end

  it("every bit and subtype of a value", function()
    local nan = string.unpack("<d", string.pack("<i8", 0x7FF8000000000001))
    local changes = {}
    for i, value in ipairs { 1.0, 0, 0.0, -0.0, -1, 0 / 0, -(0 / 0), nan, 1 / 0, -1 / 0, 5e-324,
      math.maxinteger, math.mininteger, 2^53, 2^53 | 0, (2^53 | 0) + 1, 127, 128, 255, 256 } do
      changes[i] = function() world:set(e, A, "n", value) end
    end
    allDiffer(changes)
    changes = {}
    for i, value in ipairs { false, true, 0, "", "0", "\0", "a\0", "a\0b", "\xFF", "\u{FF}",
      { 0 }, { { 0 } }, { ["0"] = 0 }, ecs.array {}, {}, { ecs.array {} }, { {} }, { a = {} },
      { a = ecs.array {} }, { a = 1, b = 2 }, { a = 2, b = 1 }, { null }, { null, null } } do
      changes[i] = function() world:set(e, A, "any", value) end
    end
    changes[#changes + 1] = function() world:set(e, A, { s = "x" }) end
    changes[#changes + 1] = function() world:set(e, A, { b = true }) end
    allDiffer(changes)
  end)

  it("who has what", function()
    allDiffer {
      function() world:add(g, B) end, function() world:remove(f, B) end,
      function() world:add(f, A) end, function() world:add(g, C) end,
      function() world:add(B) end, function() world:set(A, "n", 5) end,
      function() world:remove(A) end, function() world:add(f, ecs.IsExcluded) end,
      function() world:add(g, ecs.IsExcluded) end, function() world:remove(f, ecs.IsExcluded) end,
      function() world:remove(f, ecs.Key) end, function() world:add(f, ecs.Key "g") end,
      function() world:set(f, Ref, "to", e) end, function() world:set(f, Ref, "to", nil) end,
      function() table.insert(world:get(e, C), 2) end,
      function() world:column(A, "n")[util.slot(e)] = 77 end,
    }
  end)

  it("pairs, their order and data", function()
    allDiffer {
      function() world:set(e, D(f), "w", 1) end,
      function() world:remove(e, R(f)) world:add(e, R(f)) end,   -- now g, f
      function() world:remove(e, R(f)) end, function() world:add(f, R(g)) end,
      function() world:remove(e, D(f)) end, function() world:add(e, R(e)) end,
      function() world:add(f, D(f, { w = 0.0 })) end,
    }
  end)

  it("generations and the free list, which the next spawns depend on", function()
    local function churn() world:destroy(world:spawn()) end
    allDiffer { churn, churn, churn, function() world:spawn() end }
    local a, b = world:spawn(), world:spawn()
    local saved, hashes = ecs.saveSnapshot(world), {}
    for i, order in ipairs { { 1, 2 }, { 2, 1 } } do
      ecs.loadSnapshot(world, saved)
      for _, k in ipairs(order) do world:destroy(k == 1 and a or b) end
      hashes[i] = ecs.hashWorld(world)
    end
    assert.not_equal(hashes[1], hashes[2])
    world:reset()
    local after = ecs.hashWorld(world)
    world:reset()
    assert.is_string(after)
  end)

  it("names, versions and schemas", function()
    local seen = {}
    local function add(entries, ...)
      local other <close> = ser.world(entries)
      other:spawn(...)
      local hash = ecs.hashWorld(other)
      assert.is_nil(seen[hash])
      seen[hash] = true
    end
    local one, two = ecs.trait { x = 1 }, ecs.trait { y = 1 }
    local any, nullable = ecs.trait { x = function() return 1 end }, ecs.trait { x = null }
    add({ T = one }, one)
    add({ U = one }, one)
    add({ T = two }, two)
    add({ T = any }, any)
    add({ T = nullable }, nullable { x = 1 })
    add({ T = { trait = one, version = 2 } }, one)
    add({ T = ecs.trait { x = 1.0 } })
    add({ T = C }, C(1))
    add({ T = { trait = C, codec = { toJSON = function() return 2 end,
      fromJSON = function() return 1 end } } }, C(1))
    local list = ecs.trait { { "x", 1 }, { "a", 1 } }
    local byte = ecs.trait { x = 1, a = 1 }
    add({ T = list }, list)
    add({ T = byte }, byte)
  end)
end)
