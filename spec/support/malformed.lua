--- Snapshots that restoreWorld must refuse: one case per way, for SER-071 to SER-079.
--
-- A case is { rule, code, names, path, snapshot }: the requirement, the expected code, what the
-- message must name, the path where it is known, and a function that makes the snapshot.

local ecs = require "ecsser"
local ser = require "spec.support.ser"

local malformed = {}

local SECRET = ser.SECRET

--- The traits of the cases, and the list form of their registrations.
function malformed.kit()
  local t = {
    P = ecs.trait { x = 0, s = "", b = true },
    T = ecs.trait(),
    U = ecs.trait(),
    A = ecs.trait(function() return {} end),
    L = ecs.trait { to = ecs.null },
    F = ecs.trait { list = function() return {} end, any = ecs.null },
    C = ecs.trait(function() return {} end),
    D = ecs.relation { store = { n = 0, s = "" } },
    N = ecs.relation(),
    M = ecs.relation { store = function() return {} end },
    E = ecs.relation { exclusive = true },
    Ign = ecs.trait(),
  }
  local codec = {
    toJSON = function(value) return value end,
    fromJSON = function(json) return json end,
  }
  t.entries = {
    { "P", t.P }, { "T", t.T }, { "U", t.U }, { "A", t.A },
    { "L", { trait = t.L, refs = { "to" } } }, { "F", t.F },
    { "C", { trait = t.C, codec = codec } }, { "D", t.D }, { "N", t.N }, { "M", t.M },
    { "E", { relation = t.E } },
  }
  t.registered = { t.P, t.T, t.U, t.A, t.L, t.F, t.C, t.D, t.N, t.M, t.E }
  return t
end

--- A world with the kit registered.
function malformed.world(t)
  return ser.world(t.entries, { t.Ign })
end

local cases = {}

local function case(rule, code, names, path, snapshot)
  cases[#cases + 1] = { rule = rule, code = code, names = names, path = path, snapshot = snapshot }
end

-- A snapshot with one record (or with a second, bare one) as the case.
local function record(rule, code, names, path, parts, bare)
  case(rule, code, names, path, function()
    return ser.doc({ parts(), bare and {} or nil })
  end)
end

-- The same for one trait value of record 0.
local function value(rule, names, path, name, make)
  record(rule, "malformed", names, path, function()
    return { traits = { [name] = make() } }
  end, true)
end

-- The same for the pair list of one relation of record 0.
local function pairList(rule, code, names, path, name, make)
  record(rule, code, names, path, function()
    return { pairs = { [name] = make() } }
  end, true)
end

local function edited(rule, code, names, path, edit)
  case(rule, code, names, path, function()
    local snapshot = ser.doc({ {}, {} })
    edit(snapshot)
    return snapshot
  end)
end

local function constant(x)
  return function() return x end
end

local function valid()
  return { x = 1, s = "", b = false }
end

local function with(field, x)
  return function()
    local out = valid()
    out[field] = x
    return out
  end
end

-- SER-071
for _, x in ipairs { 5, 1.5, true, false, SECRET, print, ecs.null, io.stdout } do
  case("SER-071", "malformed", {}, nil, constant(x))
end
case("SER-071", "malformed", {}, nil, function() return nil end)
case("SER-071", "malformed", { "format" }, nil, function() return {} end)
case("SER-071", "malformed", {}, nil, function() return { ser.doc() } end)
edited("SER-071", "malformed", { "format" }, nil, function(s) s.format = nil end)
for _, format in ipairs { "flecs", "ecs-serialize\0", "Ecs-serialize", "", 1, true, ecs.null } do
  edited("SER-071", "malformed", { "format" }, "format", function(s) s.format = format end)
end
edited("SER-071", "malformed", { "format" }, "format", function(s)
  s.format, s.version = "flecs", 2
end)
local versions = {
  { "1", "1" }, { 0, "0" }, { 2, "2" }, { 1.5, "1.5" }, { -1, "-1" }, { 2.0, "2" },
  { 4294967297, "4294967297" }, { true, "" }, { ecs.null, "" },
}
for _, v in ipairs(versions) do
  edited("SER-071", "unsupported-version", { "version", v[2] }, nil, function(s)
    s.version = v[1]
  end)
end
edited("SER-071", "unsupported-version", { "version" }, nil, function(s) s.version = nil end)
edited("SER-071", "unsupported-version", { "version", "2" }, nil, function(s)
  -- The version decides before the shape: a later format may look different.
  s.version, s.entities, s.world, s.added = 2, "other", nil, {}
end)

-- SER-072
edited("SER-072", "malformed", { "entities" }, nil, function(s) s.entities = nil end)
edited("SER-072", "malformed", { "world" }, nil, function(s) s.world = nil end)
for _, x in ipairs { 1, SECRET, true, ecs.null, { a = 1 } } do
  edited("SER-072", "malformed", { "entities" }, "entities", function(s) s.entities = x end)
end
for _, x in ipairs { 1, SECRET, true, ecs.null, { 1 } } do
  edited("SER-072", "malformed", { "world" }, "world", function(s) s.world = x end)
  edited("SER-072", "malformed", { "1" }, "entities[1]", function(s) s.entities[2] = x end)
  edited("SER-072", "malformed", { "traits" }, "world.traits", function(s) s.world.traits = x end)
  edited("SER-072", "malformed", { "traits" }, "entities[1].traits", function(s)
    s.entities[2].traits = x
  end)
  edited("SER-072", "malformed", { "pairs" }, "entities[1].pairs", function(s)
    s.entities[2].pairs = x
  end)
end
for _, x in ipairs { 1, SECRET, true, ecs.null, { T = true } } do
  edited("SER-072", "malformed", { "tags" }, "world.tags", function(s) s.world.tags = x end)
  edited("SER-072", "malformed", { "tags" }, "entities[1].tags", function(s)
    s.entities[2].tags = x
  end)
end
for _, x in ipairs { 1, true, ecs.null, {}, { "T" } } do
  edited("SER-072", "malformed", { "tags" }, "entities[0].tags[1]", function(s)
    s.entities[1].tags = { "T", x }
  end)
  edited("SER-072", "malformed", { "tags" }, "world.tags[0]", function(s) s.world.tags = { x } end)
end
for _, key in ipairs { "tags", "traits", "pairs" } do
  edited("SER-072", "malformed", { key }, nil, function(s) s.entities[2][key] = nil end)
end
for _, key in ipairs { "tags", "traits" } do
  edited("SER-072", "malformed", { key }, nil, function(s) s.world[key] = nil end)
end
edited("SER-072", "malformed", { "extra" }, "extra", function(s) s.extra = 1 end)
edited("SER-072", "malformed", { "id" }, "entities[1].id", function(s) s.entities[2].id = 4 end)
edited("SER-072", "malformed", { "pairs" }, "world.pairs", function(s) s.world.pairs = {} end)
edited("SER-072", "malformed", { "extra" }, "world.extra", function(s) s.world.extra = 1 end)
pairList("SER-072", "malformed", { "N", "extra" }, "entities[0].pairs.N[0].extra", "N", function()
  return { { target = 1, extra = SECRET } }
end)

-- SER-073
for _, name in ipairs { "Nope", "Ign", "t", "T\0", "IsExcluded", "constructor", "" } do
  local names = { (name:gsub("%z.*", "")) }
  record("SER-073", "unknown-trait", names, "entities[0].tags[0]", function()
    return { tags = { name } }
  end)
  record("SER-073", "unknown-trait", names, nil, function() return { traits = { [name] = {} } } end)
  pairList("SER-073", "unknown-trait", names, nil, name, function() return { { target = 0 } } end)
  case("SER-073", "unknown-trait", names, "world.tags[1]", function()
    return ser.doc({}, { tags = { "T", name } })
  end)
  case("SER-073", "unknown-trait", names, nil, function()
    return ser.doc({}, { traits = { [name] = {} } })
  end)
end

-- SER-074
for _, name in ipairs { "P", "A", "L", "D", "N" } do
  record("SER-074", "malformed", { name, "tags" }, "entities[0].tags[1]", function()
    return { tags = { "T", name } }
  end)
  case("SER-074", "malformed", { name, "tags" }, "world.tags[0]", function()
    return ser.doc({}, { tags = { name } })
  end)
end
for _, name in ipairs { "T", "D", "N" } do
  value("SER-074", { name, "traits" }, "entities[0].traits." .. name, name, function()
    return { n = 1, s = "" }
  end)
  case("SER-074", "malformed", { name, "traits" }, "world.traits." .. name, function()
    return ser.doc({}, { traits = { [name] = { n = 1, s = "" } } })
  end)
end
for _, name in ipairs { "T", "P", "A" } do
  pairList("SER-074", "malformed", { name, "pairs" }, "entities[0].pairs." .. name, name,
    function() return { { target = 0 } } end)
end
record("SER-074", "malformed", { "T" }, "entities[0].tags[2]", function()
  return { tags = { "T", "U", "T" } }
end)
case("SER-074", "malformed", { "T" }, "world.tags[1]", function()
  return ser.doc({}, { tags = { "T", "T" } })
end)

-- SER-075
for _, x in ipairs { 1, SECRET, true, ecs.null, { 1, "", true } } do
  value("SER-075", { "P" }, "entities[0].traits.P", "P", constant(x))
  pairList("SER-075", "malformed", { "D" }, "entities[0].pairs.D[0].data", "D", function()
    return { { target = 0, data = x } }
  end)
  case("SER-075", "malformed", { "P" }, "world.traits.P", function()
    return ser.doc({}, { traits = { P = x } })
  end)
end
value("SER-075", { "P", "b" }, nil, "P", with("b", nil))
value("SER-075", { "P" }, nil, "P", function() return {} end)
value("SER-075", { "P", "z" }, "entities[0].traits.P.z", "P", with("z", SECRET))
value("SER-075", { "P", "toString" }, "entities[0].traits.P.toString", "P", with("toString", 1))
value("SER-075", { "P", "X" }, "entities[0].traits.P.X", "P", with("X", 1))
value("SER-075", { "L", "to" }, nil, "L", function() return {} end)
value("SER-075", { "F", "any" }, nil, "F", function() return { list = {} } end)
local wrong = {
  x = { "1", true, ecs.null, {}, { 1 } },
  s = { 1, true, ecs.null, {} },
  b = { 1, "true", ecs.null, {} },
}
for _, field in ipairs { "b", "s", "x" } do
  for _, x in ipairs(wrong[field]) do
    value("SER-075", { "P", field }, "entities[0].traits.P." .. field, "P", with(field, x))
  end
end
pairList("SER-075", "malformed", { "D", "n" }, "entities[0].pairs.D[1].data.n", "D", function()
  return { { target = 0, data = { n = 1, s = "" } }, { target = 1, data = { n = "1", s = "" } } }
end)
pairList("SER-075", "malformed", { "D", "s" }, nil, "D", function()
  return { { target = 0, data = { n = 1 } } }
end)
pairList("SER-075", "malformed", { "D", "z" }, "entities[0].pairs.D[0].data.z", "D", function()
  return { { target = 0, data = { n = 1, s = "", z = 1 } } }
end)
case("SER-075", "malformed", { "P", "x" }, "world.traits.P.x", function()
  return ser.doc({}, { traits = { P = with("x", SECRET)() } })
end)

-- SER-076
local indices = {
  { -1, "-1" }, { 2, "2" }, { 0.5, "0.5" }, { "0", "L" }, { true, "L" }, { {}, "L" },
  { { 0 }, "L" }, { 4294967296, "4294967296" }, { 4294967297.0, "4294967297" },
  { math.maxinteger, "9223372036854775807" }, { math.mininteger, "-9223372036854775808" },
  { 1e300, "1e" }, { 2.0, "2" }, { -0.5, "-0.5" },
}
for _, index in ipairs(indices) do
  local x, text = index[1], index[2]
  value("SER-076", { "L", text }, "entities[0].traits.L.to", "L", function() return { to = x } end)
  pairList("SER-076", "malformed", { "N", text == "L" and "N" or text },
    "entities[0].pairs.N[1].target", "N", function() return { { target = 1 }, { target = x } } end)
  case("SER-076", "malformed", { "L", text }, "world.traits.L.to", function()
    local snapshot = ser.doc({ {}, {} })
    snapshot.world.traits.L = { to = x }
    return snapshot
  end)
end
value("SER-076", { "L", "to" }, "entities[0].traits.L.to", "L", constant { to = SECRET })
pairList("SER-076", "malformed", { "N" }, "entities[0].pairs.N[0].target", "N",
  function() return { { target = ecs.null } } end)
pairList("SER-076", "malformed", { "N", "target" }, nil, "N", function() return { {} } end)
case("SER-076", "malformed", { "L", "0" }, "world.traits.L.to", function()
  return ser.doc({}, { traits = { L = { to = 0 } } })
end)

-- SER-077
for _, x in ipairs { 1, SECRET, true, ecs.null, {}, { target = 0 }, ecs.array {} } do
  pairList("SER-077", "malformed", { "N" }, "entities[0].pairs.N", "N", constant(x))
end
for _, x in ipairs { 0, SECRET, true, ecs.null, { 0 } } do
  pairList("SER-077", "malformed", { "N" }, "entities[0].pairs.N[1]", "N", function()
    return { { target = 0 }, x }
  end)
end
pairList("SER-077", "malformed", { "N", "data" }, "entities[0].pairs.N[0].data", "N", function()
  return { { target = 0, data = {} } }
end)
pairList("SER-077", "malformed", { "N", "data" }, "entities[0].pairs.N[0].data", "N", function()
  return { { target = 0, data = ecs.null } }
end)
pairList("SER-077", "malformed", { "D", "data" }, nil, "D", function()
  return { { target = 0 } }
end)
pairList("SER-077", "malformed", { "M", "data" }, nil, "M", function()
  return { { target = 0 } }
end)
pairList("SER-077", "malformed", { "N" }, "entities[0].pairs.N[2].target", "N", function()
  return { { target = 1 }, { target = 0 }, { target = 1 } }
end)
pairList("SER-077", "malformed", { "N" }, "entities[0].pairs.N[1].target", "N", function()
  return { { target = 1 }, { target = 1.0 } }
end)
pairList("SER-077", "malformed", { "E" }, nil, "E", function()
  return { { target = 1 }, { target = 0 } }
end)

malformed.cases = cases
return malformed
