--- The worlds whose snapshots lie under spec/golden/. A file, once written, must never change, and
-- neither must the world that it holds: new worlds go to the end of the list.
--
-- `golden.write()` writes the files that are missing. Run by hand:
--     lua5.4 -e 'require("spec.support.snap_golden").write()'

local ecs = require "ecsser"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"

local golden = { list = {} }

local null <const> = ecs.null

-- `traits` gives the entries for registerTraits; `fill(world, t)` fills the world, t being the
-- traits by name; `options` are those of saveSnapshot; `handler` is added when there is one.
local function add(name, traits, fill, more)
  local world = more or {}
  world.name, world.traits, world.fill = name, traits, fill
  golden.list[#golden.list + 1] = world
end

local function spawnAll(trait, field, list)
  return function(world, t)
    for _, value in ipairs(list) do
      if field then
        world:spawn(t[trait] { [field] = value })
      else
        world:spawn(t[trait](value))
      end
    end
  end
end

local function bits(x) return (string.unpack("<d", string.pack("<i8", x))) end

local function nothing() return {} end
local function list() return {} end

-- ---- Entities ----------------------------------------------------------------------------------

add("empty", nothing, function() end)

add("bare", nothing, function(world) for _ = 1, 3 do world:spawn() end end)

add("gaps", nothing, function(world)
  local e = {}
  for i = 1, 9 do e[i] = world:spawn() end
  for _, i in ipairs { 4, 2, 9, 7 } do world:destroy(e[i]) end
  world:destroy(world:spawn())
end)

add("generations-16", nothing, function(world)
  for _ = 1, 300 do world:destroy(world:spawn()) end
  world:spawn()
end)

add("generations-32", nothing, function(world)
  for _ = 1, 70000 do world:destroy(world:spawn()) end
  world:spawn()
  world:spawn()
end)

add("retired", nothing, function(world)
  for _ = 1, 1 << 21 do world:destroy(world:spawn()) end
  world:destroy(world:spawn())
  world:spawn()
end)

add("reset", nothing, function(world)
  for _ = 1, 6 do world:spawn() end
  world:reset()
  world:spawn()
  world:spawn()
end)

add("excluded", function() return { T = ecs.trait { x = 1 }, R = ecs.relation() } end,
  function(world, t)
    local a = world:spawn(ecs.IsExcluded, t.T)
    local b = world:spawn(t.T { x = 2 })
    world:spawn(ecs.IsExcluded)
    world:add(a, t.R(b))
    world:add(b, t.R(a))
  end)

-- ---- Sets and columns --------------------------------------------------------------------------

add("tags", function() return { A = ecs.trait(), B = ecs.trait(), None = ecs.trait() } end,
  function(world, t)
    for i = 1, 10 do
      world:add(world:spawn(i % 2 == 0 and t.A or t.B), i % 3 == 0 and t.A or t.B)
    end
  end)

add("sparse", function() return { T = ecs.trait { x = 1 }, Tag = ecs.trait() } end,
  function(world, t)
    for i = 1, 200 do
      local e = world:spawn()
      if i == 190 or i == 200 then world:add(e, t.T { x = i }) end
      if i == 199 then world:add(e, t.Tag) end
    end
  end)

add("integers", function()
  return { I8 = ecs.trait { x = 0 }, I16 = ecs.trait { x = 0 }, I32 = ecs.trait { x = 0 },
    I64 = ecs.trait { x = 0 } }
end, function(world, t)
  for _, x in ipairs { 0, -1, 127, -128 } do
    world:spawn(t.I8 { x = x }, t.I16 { x = x * 256 }, t.I32 { x = x * 65536 * 256 },
      t.I64 { x = x << 56 })
  end
  world:spawn(t.I64 { x = math.mininteger })
  world:spawn(t.I64 { x = math.maxinteger })
end)

add("floats", function() return { F = ecs.trait { x = 0.0 } } end, spawnAll("F", "x", {
  0.0, -0.0, 1.5, -1e300, 5e-324, 0.1, 1 / 0, -1 / 0, bits(0x7FF8000000000001),
  bits(0x7FF0000000000001), 2.0^53 }))

add("booleans", function() return { B = ecs.trait { b = false, c = true } } end,
  function(world, t)
    for i = 1, 11 do world:spawn(t.B { b = i % 3 == 0, c = i > 8 }) end
  end)

add("strings", function() return { S = ecs.trait { s = "" } } end, spawnAll("S", "s", {
  "", "a", "\0", "a\0b", "Zo\u{eb}", "\u{1F600}", "\xFF", "\xED\xA0\x80", ("x"):rep(24),
  ("\xFE"):rep(25) }))

add("numbers-mixed", function() return { N = ecs.trait { n = 0 } } end, spawnAll("N", "n", {
  1, 1.0, -1, -1.0, 23, 24, 255, 256, 65535, 65536, 1 << 32, 1 << 53, math.mininteger,
  math.maxinteger, 0.5, 100000.0, 0.1, -0.0, bits(0x7FF8000000000000), 1 / 0 }))

add("nullable", function() return { T = ecs.trait { a = null, b = null } } end,
  function(world, t)
    world:spawn(t.T)
    world:spawn(t.T { a = 1 })
    world:spawn(t.T { a = "x", b = true })
    world:spawn(t.T { a = { null }, b = null })
  end)

add("any", function() return { T = ecs.trait { v = list, w = function() return 1 end } } end,
  function(world, t)
    world:spawn(t.T)
    world:spawn(t.T { v = ecs.array {}, w = 2 })
    world:spawn(t.T { v = { { {} }, ecs.array {} }, w = 3 })
  end)

add("aos", function() return { A = ecs.trait(list) } end, spawnAll("A", nil, {
  {}, ecs.array {}, { 1, 2.0, "x", true, false, null }, { b = 1, a = { c = { 1 } }, aa = 2 },
  { ["\xFF"] = 1, [""] = 2, ["\u{e9}"] = 3, ["1"] = 4 }, null, 5, 0.25, "text", true }))

add("fields-in-order", function()
  return { T = ecs.trait { { "z", 1 }, { "a", 2.5 }, { "m", "s" }, { "Gr\u{f6}\u{df}e", true } } }
end, function(world, t)
  world:spawn(t.T)
  world:spawn(t.T { z = 7, a = -0.5, m = "", ["Gr\u{f6}\u{df}e"] = false })
end)

-- ---- References and relations ------------------------------------------------------------------

add("refs", function()
  return { R = { trait = ecs.trait { to = null, other = null, n = 0 }, refs = { "to", "other" } } }
end, function(world, t)
  local a, b = world:spawn(), world:spawn()
  world:spawn(t.R { to = a, other = b, n = 1 })
  world:spawn(t.R { to = b, n = 2 })
  world:add(a, t.R { to = a })
  world:add(t.R { other = b })
end)

add("codec", function()
  return { C = { trait = ecs.trait(list), codec = {
    toJSON = function(value, ctx)
      return { to = value.to and ctx.ref(value.to), list = value.list }
    end,
    fromJSON = function(json, ctx)
      for key in pairs(json) do assert(key == "to" or key == "list", "another key") end
      assert(math.type(json.to) == "integer" or json.to == nil)
      return { to = json.to and ctx.entity(json.to), list = json.list }
    end,
  } } }
end, function(world, t)
  local a = world:spawn()
  world:add(a, t.C { to = a, list = { 1 } })
  world:spawn(t.C { to = a, list = ecs.array {} })
end)

add("codec-numbers", function()   -- what codecs give makes a typed column as well
  return { C = { trait = ecs.trait { x = 0, y = 0 }, codec = {
    toJSON = function(value) return value.x * 100 + value.y end,
    fromJSON = function(json)
      assert(math.type(json) == "integer", "no integer")
      return { x = json // 100, y = json % 100 }
    end,
  } } }
end, function(world, t)
  for i = 1, 3 do world:spawn(t.C { x = i, y = 2 * i }) end
end)

add("pairs", function() return { R = ecs.relation(), S = ecs.relation(), T = ecs.relation() } end,
  function(world, t)
    local a, b, c = world:spawn(), world:spawn(), world:spawn()
    world:add(c, t.R(b), t.R(a), t.R(c))
    world:add(a, t.R(c), t.S(a))
    world:remove(c, t.R(b))
    world:add(c, t.R(b))
  end)

add("pairs-data", function()
  return { D = ecs.relation { store = { turns = 0, damage = 0.5, who = "" } },
    A = ecs.relation { store = list } }
end, function(world, t)
  local a, b = world:spawn(), world:spawn()
  world:add(a, t.D(b, { turns = 3 }), t.D(a, { who = "a" }), t.A(b, { 1, { x = 2 } }))
  world:add(b, t.D(a, { damage = -1.5 }), t.A(a), t.A(b, "text"))
end)

add("exclusive", function()
  return { ChildOf = ecs.relation { exclusive = true, autoDestroy = "orphan" } }
end, function(world, t)
  local root = world:spawn()
  local child = world:spawn(t.ChildOf(root))
  world:spawn(t.ChildOf(child))
  world:spawn(t.ChildOf(root))
end)

-- ---- Names, versions, singletons, data ---------------------------------------------------------

add("world-traits", function()
  return { T = ecs.trait { x = 1 }, Tag = ecs.trait(), A = ecs.trait(list) }
end, function(world, t)
  world:add(t.T { x = 5 }, t.Tag, t.A { 1 })
  world:spawn(t.T)
end)

add("keys", function() return { Key = ecs.Key } end, function(world)
  world:spawn(ecs.Key "player")
  world:spawn()
  world:spawn(ecs.Key "\xFF")
  world:spawn(ecs.Key "")
end)

add("unicode", function()
  return { ["\u{65e5}\u{672c}"] = ecs.trait { ["\u{540d}"] = "\u{524d}" }, Z = ecs.trait(),
    a = ecs.trait(), ["\u{e9}t\u{e9}"] = ecs.trait(), ["a\0b"] = ecs.trait(), ["1"] = ecs.trait() }
end, function(world, t)
  for _, name in ipairs { "\u{65e5}\u{672c}", "Z", "a", "\u{e9}t\u{e9}", "a\0b", "1" } do
    world:spawn(t[name])
  end
end)

add("versions", function()
  return { T = { trait = ecs.trait { x = 1 }, version = 3 },
    R = { relation = ecs.relation(), version = 70000 } }
end, function(world, t) world:add(world:spawn(t.T), t.R(world:spawn())) end)

add("transient", function()
  return { Default = { trait = ecs.trait { x = 7 }, transient = "default" },
    Away = { trait = ecs.trait { y = 7 }, transient = true } }
end, function(world, t)
  world:spawn(t.Default)
  world:spawn(t.Away, t.Default)
end)

add("meta-data", function() return { T = ecs.trait { x = 1 } } end,
  function(world, t) world:spawn(t.T) end,
  { options = { meta = { title = "Caf\u{e9}", playtime = 12.5, list = { 1, 2 }, e = {} },
    data = { config = { a = 1 }, ["\xFF"] = "\xFF", empty = ecs.array {}, n = null } } })

add("handler", function() return { T = ecs.trait { x = 1 } } end,
  function(world, t)
    world:spawn(t.T)
    world:spawn(t.T)
  end, { handler = {
    name = "path",
    save = function(world, ctx)
      local all = world:entities()
      return { from = ctx.ref(all[2]), to = ctx.ref(all[3]), cost = 0.75 }
    end,
  } })

add("many-traits", function()
  local traits = {}
  for i = 1, 30 do traits["T" .. i] = ecs.trait() end
  return traits
end, function(world, t)
  local a, b = world:spawn(), world:spawn()
  for i = 1, 30 do world:add(i % 2 == 0 and a or b, t["T" .. i]) end
end)

add("everything", nil, nil, { kit = true })

-- ---- Worlds and files --------------------------------------------------------------------------

--- An empty world with the registrations (and the handler) of `g`, and its traits by name.
function golden.world(g)
  if g.kit then
    local kit = kits.new()
    return kit:world(), kit
  end
  local world, traits, entries = ecs.createWorld(), {}, g.traits()
  for name, entry in pairs(entries) do
    traits[name] = type(entry) == "table" and (entry.trait or entry.relation) or entry
  end
  ecs.registerTraits(world, entries)
  if g.handler then ecs.addSnapshotHandler(world, g.handler) end
  return world, traits
end

--- The world with its content.
function golden.filled(g)
  local world, traits = golden.world(g)
  if g.kit then
    traits:run(random.new(7), world, 60)
  else
    g.fill(world, traits)
  end
  return world, traits
end

local function path(g) return "spec/golden/" .. g.name .. ".hex" end

--- The bytes of the golden file.
function golden.read(g)
  local file = assert(io.open(path(g), "r"))
  local text = file:read "a"
  file:close()
  return (text:gsub("%s", ""):gsub("%x%x", function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

--- The bytes as lines of hexadecimal digits, as they lie in the file.
function golden.hex(bytes)
  local text = bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  return (text:gsub(("%x"):rep(64), "%0\n"):gsub("([^\n])$", "%1\n"))
end

--- Writes the files that are missing.
function golden.write()
  for _, g in ipairs(golden.list) do
    local old = io.open(path(g), "r")
    if old then
      old:close()
    else
      local world <close> = golden.filled(g)
      local file = assert(io.open(path(g), "w"))
      file:write(golden.hex(ecs.saveSnapshot(world, g.options)))
      file:close()
    end
  end
end

return golden
