-- The table form of snapshots: the same parts as plain Lua data, checked the same way.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

local T, Tag, Aos = ecs.trait { n = 0, b = false, s = "" }, ecs.trait(),
  ecs.trait(function() return {} end)
local Ref, P, D = ecs.trait { to = ecs.null }, ecs.relation(), ecs.relation { store = { w = 0 } }

local function newWorld()
  return ser.world { T = T, Tag = Tag, Aos = Aos, Ref = { trait = Ref, refs = { "to" } }, P = P,
    D = D, Key = ecs.Key }
end

local function filled()
  local world, e = newWorld(), {}
  for i = 1, 4 do e[i] = world:spawn(T { n = i, b = i % 2 == 0, s = "s" .. i }) end
  world:add(e[1], Tag, Aos { 1, { x = 2 } }, Ref { to = e[2] })
  world:add(e[1], P(e[2]), P(e[1]), D(e[4], { w = 7 }))
  world:add(e[2], Ref, ecs.Key "two")
  world:destroy(e[3])
  world:add(e[4], ecs.IsExcluded)
  world:add(T { n = 100 })
  return world, e
end

describe("the table form", function()
  it("has the parts of the format: sets as lists of slots, columns as lists of values", function()
    local world <close> = filled()
    local tree = ecs.saveSnapshot(world, { format = "table", meta = { m = 1 }, data = { d = 2 } })
    assert.equal("ecsser-snapshot", tree.format)
    assert.equal(1, tree.version)
    local header = ecs.inspectSnapshot(ecs.saveSnapshot(world, { meta = { m = 1 },
      data = { d = 2 } }))
    deep.assertSame(header, tree.header)
    deep.assertSame({
      data = { d = 2 },
      entities = { free = { 3 }, used = 5, alive = { 1, 2, 4 }, excluded = { 4 },
        generations = { 0, 0, 0, 1, 0 } },
      traits = {
        Aos = { slots = { 1 }, columns = { { { 1, { x = 2 } } } } },
        Key = { slots = { 2 }, columns = { { "two" } } },
        Ref = { slots = { 1, 2 }, columns = { { 2, 0 } } },
        T = { slots = { 0, 1, 2, 4 }, columns = {
          { false, false, true, true }, { 100, 1, 2, 4 }, { "", "s1", "s2", "s4" } } },
        Tag = { slots = { 1 }, columns = {} },
      },
      relations = {
        D = { sources = { 1 }, targets = { 4 }, columns = { { 7 } } },
        P = { sources = { 1, 1 }, targets = { 2, 1 }, columns = {} },
      },
    }, tree.body)
  end)

  it("loads as the bytes do, and is not changed by it", function()
    local kit = kits.new()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 60)
      local bytes, tree = ecs.saveSnapshot(world), ecs.saveSnapshot(world, { format = "table" })
      assert.equal(bytes, ecs.saveSnapshot(world, { format = "binary" }))
      local copy <close> = kit:world()
      local kept = deep.copy(tree)
      deep.assertSame(ecs.loadSnapshot(copy, bytes), ecs.loadSnapshot(copy, tree))
      deep.assertSame(kept, tree, "the tree", { marks = true })
      assert.equal(bytes, ecs.saveSnapshot(copy))
      util.checkInvariants(copy, kit:lists())
    end)
  end)

  it("shares nothing with the world", function()
    local world <close>, e = filled()
    local tree = ecs.saveSnapshot(world, { format = "table" })
    local hash = ecs.hashWorld(world)
    tree.body.traits.Aos.columns[1][1][2].x = 5
    assert.equal(hash, ecs.hashWorld(world))
    ecs.loadSnapshot(world, tree)
    tree.body.traits.Aos.columns[1][1][2].x = 6
    assert.equal(5, world:get(e[1], Aos)[2].x)
  end)

  it("may be edited: what it then says is loaded", function()
    local world <close>, e = filled()
    local tree = ecs.saveSnapshot(world, { format = "table" })
    tree.body.traits.T.columns[2][2] = 77
    tree.body.traits.T.columns[2][3] = 0.5
    tree.body.entities.excluded = {}
    tree.body.traits.Tag.slots = { 1, 2, 4 }
    tree.header.traits[7].rows = 3
    assert.equal("Tag", tree.header.traits[7].name)
    tree.body.relations.D = nil
    table.remove(tree.header.traits, 2)
    tree.header.meta = { edited = true }
    local header = ecs.loadSnapshot(world, tree)
    assert.same({ edited = true }, header.meta)
    assert.equal(77, world:get(e[1], T, "n"))
    assert.equal(0.5, world:get(e[2], T, "n"))
    assert.same({ e[1], e[2], e[4] }, world:query(Tag))
    assert.same({}, world:targets(e[1], D))
    local plain = ecs.saveSnapshot(world, { meta = { edited = true } })
    assert.equal(header.digest, ecs.inspectSnapshot(plain).digest)
  end)

  it("is read by raw access only", function()
    local world <close> = filled()
    local ran = {}
    local function hostile(value)
      for _, item in next, value do
        if type(item) == "table" then hostile(item) end
      end
      if debug.getmetatable(value) == nil then setmetatable(value, ser.hostile(ran)) end
      return value
    end
    local hash = ecs.hashWorld(world)
    local tree = hostile(ecs.saveSnapshot(world, { format = "table" }))
    local ok, err = pcall(ecs.loadSnapshot, world, tree)   -- values must have no metatable
    assert.same({}, ran)
    assert(ok or err.code == "malformed")
    assert.equal(hash, ecs.hashWorld(world))
  end)
end)

describe("a wrong table", function()
  local world, other

  setup(function()
    world, other = filled(), newWorld()
    other:spawn(T)
  end)
  teardown(function()
    world:close()
    other:close()
  end)

  local function refuse(edit, path, code)
    local tree = ecs.saveSnapshot(world, { format = "table", data = { x = 1 }, meta = { y = 1 } })
    edit(tree, tree.body, tree.header.traits)
    local hash = ecs.hashWorld(other)
    local err = ser.raises("loadSnapshot", code or "malformed", {}, ecs.loadSnapshot, other, tree)
    assert.equal(hash, ecs.hashWorld(other))
    if path then assert.equal(path, err.path) end
  end

  -- Every table and value of the tree, as functions that put another value there.
  local function places(tree)
    local all = {}
    local function walk(value, path)
      for key, item in next, value do
        local steps = table.move(path, 1, #path, 1, {})
        steps[#steps + 1] = key
        all[#all + 1] = steps
        if type(item) == "table" then walk(item, steps) end
      end
    end
    walk(tree, {})
    return all
  end

  local function put(tree, path, value)
    for i = 1, #path - 1 do tree = tree[path[i]] end
    rawset(tree, path[#path], value)
  end

  it("with anything missing is refused, but for meta and the header's own fields", function()
    local tree = ecs.saveSnapshot(world, { format = "table" })
    for _, path in ipairs(places(tree)) do
      local name = table.concat(path, ".")
      -- Values may be anything, also less; an AoS trait without its values takes its default; a
      -- prefab may be none; the rest of the header is not read.
      local free = name:find "^body.traits.Aos.columns.1" or name == "header.digest"
        or name == "body.entities.excluded.1"
        or name == "header.format" or name == "header.version"
      local copy = ecs.saveSnapshot(world, { format = "table" })
      put(copy, path, nil)
      local hash = ecs.hashWorld(other)
      local ok, err = pcall(ecs.loadSnapshot, other, copy)
      assert((not ok) or free, name .. " was missed by nobody")
      assert(ok or err.code == "malformed" and hash == ecs.hashWorld(other), name)
    end
  end)

  it("of a wrong form is refused, each part", function()
    for _, wrong in ipairs { false, 1, "x", print, ecs.null } do
      for _, part in ipairs { "header", "body" } do
        refuse(function(tree) tree[part] = wrong end, part)
      end
      refuse(function(tree) tree.header.traits = wrong end, "traits")
      for _, part in ipairs { "entities", "traits", "relations", "data" } do
        refuse(function(_, body) body[part] = wrong end)
      end
      for _, part in ipairs { "free", "alive", "excluded", "generations" } do
        refuse(function(_, body) body.entities[part] = wrong end, part)
      end
      refuse(function(_, body) body.traits.T = wrong end)
      refuse(function(_, body) body.traits.T.slots = wrong end, "slots")
      refuse(function(_, body) body.traits.T.columns = wrong end, "columns")
      refuse(function(_, body) body.traits.T.columns[2] = wrong end)
      refuse(function(_, body) body.relations.P.sources = wrong end, "sources")
      refuse(function(_, body) body.relations.P.targets = wrong end, "targets")
      refuse(function(_, _, traits) traits[1] = wrong end)
    end
    for _, wrong in ipairs { false, 1, "x", print, ecs.null } do
      refuse(function(tree) tree.header.meta = wrong end, "meta")
    end
    refuse(function(tree) tree.format = "ecs-serialize" end, "format")
    for _, version in ipairs { 0, 2, 1.5, "1", -1 } do
      refuse(function(tree) tree.version = version end, "version")
    end
  end)

  it("with numbers that are no slots or counts is refused", function()
    for _, wrong in ipairs { -1, 0.5, 1 << 24, 1 << 31, 1 << 32, math.maxinteger, 0 / 0, 1 / 0,
      "1", true, {}, ecs.null } do
      for _, part in ipairs { "free", "alive", "excluded", "generations" } do
        refuse(function(_, body) body.entities[part][1] = wrong end)
      end
      refuse(function(_, body) body.entities.used = wrong end)
      refuse(function(_, body) body.traits.T.slots[1] = wrong end)
      refuse(function(_, body) body.traits.Ref.columns[1][1] = wrong end)
      refuse(function(_, body) body.relations.P.sources[1] = wrong end)
      refuse(function(_, body) body.relations.P.targets[1] = wrong end)
      refuse(function(_, _, traits) traits[1].rows = wrong end)
    end
  end)

  it("that contradicts itself is refused", function()
    refuse(function(_, body) body.entities.alive = { 1, 2, 3, 4 } end)
    refuse(function(_, body) body.entities.alive = { 1, 2 } end)
    refuse(function(_, body) body.entities.alive = { 2, 1, 4 } end, "alive")
    refuse(function(_, body) body.entities.alive = { 1, 1, 4 } end, "alive")
    refuse(function(_, body) body.entities.free = { 3, 3 } end)
    refuse(function(_, body) body.entities.free = {} end)
    refuse(function(_, body) body.entities.free = { 4 } end)
    refuse(function(_, body) body.entities.excluded = { 3 } end)
    refuse(function(_, body) body.entities.generations = { 0, 0, 0, 1 } end)
    refuse(function(_, body) body.entities.generations = { 1, 0, 0, 1, 0 } end)
    refuse(function(_, body) body.entities.used = 6 end)
    refuse(function(_, body) body.traits.Tag.slots = { 3 } end)
    refuse(function(_, body) body.traits.Tag.slots = { 1, 2 } end, "rows")
    refuse(function(_, body) body.traits.T.columns[2][5] = 1 end, "columns")
    refuse(function(_, body) body.traits.T.columns[4] = { 1, 2, 3, 4 } end)
    refuse(function(_, body) body.traits.Ref.columns[1][1] = 3 end)
    refuse(function(_, body) body.relations.P.targets = { 2, 2 } end)
    refuse(function(_, body) body.relations.P.targets = { 2, 3 } end)
    refuse(function(_, body) body.relations.P.sources = { 1 } end)
    refuse(function(_, body) body.relations.P.sources = { 2, 1 } end)
    refuse(function(_, body) body.traits.Other = { slots = { 1 }, columns = {} } end, "traits")
    refuse(function(_, body) body.relations.T = body.traits.T end, "relations")
    refuse(function(_, body) body.traits.Tag = nil end, "traits")
    refuse(function(_, _, traits) traits[1], traits[2] = traits[2], traits[1] end)
    refuse(function(_, _, traits) traits[8] = traits[7] end)
    refuse(function(_, _, traits) table.remove(traits) end, "traits")
    refuse(function(_, _, traits) traits[6].fields[1][2] = "string" end)
    refuse(function(_, _, traits) traits[6].fields[1][1] = "n" end)
    refuse(function(_, _, traits) traits[6].kind = "pair" end)
    refuse(function(_, _, traits) traits[6].version = 0 end)
    refuse(function(_, _, traits) traits[6].version = 2 end, nil, "unsupported-version")
    refuse(function(_, body, traits)
      traits[7].name, body.traits.Uag = "Uag", body.traits.Tag
      body.traits.Tag = nil
    end, nil, "unknown-trait")
    refuse(function(_, body) body.traits.Key.columns[1][1] = 5 end)
    refuse(function(_, body) body.traits.T.columns[1][1] = 1 end)
    refuse(function(_, body) body.data = { 1 } end)
    refuse(function(_, body) body.traits.Tag.columns = { { 1 } } end)
  end)

  it("with values that are not JSON-safe is refused", function()
    local loop = {}
    loop[1] = loop
    for _, wrong in ipairs { print, io.stdout, coroutine.create(print), { print }, loop,
      { [1.5] = 1 }, { 1, nil, 3 }, { ["__proto__"] = 1 }, setmetatable({}, { __len = error }),
      ser.nested(600) } do
      refuse(function(_, body) body.traits.Aos.columns[1][1] = wrong end)
      refuse(function(_, body) body.traits.T.columns[3][1] = wrong end)
      refuse(function(_, body) body.data.x = wrong end)
      refuse(function(tree) tree.header.meta.y = wrong end)
      refuse(function(_, _, traits) traits[6].fields[1][2] = wrong end)
    end
  end)

  it("with what no part has is refused, wherever it is", function()
    refuse(function(tree) tree.extra = 1 end, "extra")
    refuse(function(tree) tree.header.extra = 1 end, "header.extra")
    refuse(function(_, body) body.extra = 1 end, "body.extra")
    refuse(function(_, body) body.entities.extra = 1 end, "body.entities.extra")
    refuse(function(_, body) body.traits.T.extra = 1 end, "body.traits.T.extra")
    refuse(function(_, body) body.traits.T.sources = {} end, "body.traits.T.sources")
    refuse(function(_, body) body.relations.P.extra = 1 end, "body.relations.P.extra")
    refuse(function(_, _, traits) traits[7].extra = 1 end, "header.traits.Tag.extra")
    refuse(function(_, _, traits) traits.extra = 1 end, "header.traits.extra")
    refuse(function(_, body) body.entities.alive.extra = 1 end, "alive.extra")
    refuse(function(_, body) body.entities.free[0] = 1 end, "free[0]")
    refuse(function(_, body) body.relations.P.targets[1.5] = 1 end, "targets[1.5]")
    refuse(function(_, body) body.traits.T.columns.extra = 1 end, "columns.extra")
    refuse(function(_, body) body.traits.T.columns[1].extra = 1 end, "columns.extra")
    refuse(function(_, body) body.traits.Ref.columns[1].extra = 1 end, "columns.extra")
    refuse(function(_, body) body.traits[1] = body.traits.T end, "traits")
    refuse(function(_, body) body[1] = 1 end, "body[1]")
  end)
end)

describe("P4 random changes to tables", function()
  local JUNK <const> = { -1, 0, 1, 2, 3, 1.5, 0 / 0, 1 << 24, 1 << 31, math.maxinteger, "x", "",
    "5", "__proto__", "\xFF", true, false, print, ecs.null, io.stdout }

  local function junk(rng)
    local what = rng:int(1, #JUNK + 5)
    if what <= #JUNK then return JUNK[what] end
    return ({ {}, { 1, 2 }, { a = 1 }, ecs.array {}, ser.nested(600) })[what - #JUNK]
  end

  -- The keys of a table in an order that does not depend on hash seeds.
  local function keys(value)
    local out = {}
    for key in next, value do out[#out + 1] = key end
    table.sort(out, function(x, y)
      if math.type(x) == math.type(y) and type(x) == type(y) and type(x) ~= "boolean" then
        return x < y
      end
      return tostring(x) < tostring(y)
    end)
    return out
  end

  local function change(rng, tree)
    local value = tree
    local all = keys(value)
    while #all > 0 do
      local key = rng:pick(all)
      if type(value[key]) ~= "table" or rng:chance(12) then
        if rng:chance(10) then key = rng:pick { "x", 0, 1, "slots", true } end
        if rng:chance(20) then rawset(value, key, nil) else rawset(value, key, junk(rng)) end
        return
      end
      value = value[key]
      all = keys(value)
    end
  end

  it("are refused, or make a world like any other", function()
    local kit = kits.new()
    local loaded = 0
    local rounds = random.rounds(40, function(rng)
      local source <close> = kit:random(rng, 25)
      local world <close> = kit:random(rng, 10)
      local hash = ecs.hashWorld(world)
      for _ = 1, 60 do
        local tree = ecs.saveSnapshot(source, { format = "table" })
        for _ = 1, rng:int(1, 2) do change(rng, tree) end
        local ok, err = pcall(ecs.loadSnapshot, world, tree)
        if ok then
          loaded, hash = loaded + 1, ecs.hashWorld(world)
          util.checkInvariants(world, kit:lists())
        else
          assert(ecs.isSerializeError(err) and util.isOurs(err), tostring(err))
          assert.equal(hash, ecs.hashWorld(world))
        end
      end
    end)
    assert(loaded > 0 and loaded < rounds * 40, loaded)
  end)
end)
