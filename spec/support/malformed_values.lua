--- The cases of SER-078: snapshots that are not JSON-safe, at every place; see malformed.lua.

local ecs = require "ecsser"
local ser = require "spec.support.ser"
local unsafe = require "spec.support.unsafe"

local cases = {}

local function case(names, path, snapshot)
  cases[#cases + 1] = {
    rule = "SER-078", code = "malformed", names = names, path = path, snapshot = snapshot,
  }
end

local carriers = {
  { names = { "A" }, path = "entities[1].traits.A", wrap = function(x)
    return ser.doc { {}, { traits = { A = x } } }
  end },
  { names = { "C" }, path = "entities[0].traits.C", wrap = function(x)
    return ser.doc { { traits = { C = x } } }
  end },
  { names = { "F", "list" }, path = "entities[0].traits.F.list", wrap = function(x)
    return ser.doc { { traits = { F = { list = x, any = 1 } } } }
  end },
  { names = { "F", "any" }, path = "entities[0].traits.F.any", wrap = function(x)
    return ser.doc { { traits = { F = { list = 1, any = x } } } }
  end },
  { names = { "M" }, path = "entities[0].pairs.M[0].data", wrap = function(x)
    return ser.doc { { pairs = { M = { { target = 0, data = x } } } } }
  end },
  { names = { "A" }, path = "world.traits.A", wrap = function(x)
    return ser.doc({}, { traits = { A = x } })
  end },
}

-- Paths are checked where the value stands directly in its carrier; a fault in a key or deeper
-- inside has a longer path, which must begin with the carrier's.
for _, value in ipairs(unsafe.values) do
  for _, carrier in ipairs(carriers) do
    for _, place in ipairs(unsafe.places) do
      case(carrier.names, nil, function() return carrier.wrap(place(value.make())) end)
      cases[#cases].pathPrefix = carrier.path
      cases[#cases].what = value.what
    end
  end
end

-- Typed fields, names and structure.
for _, x in ipairs { 0 / 0, math.huge, -math.huge } do
  case({ "P", "x" }, "entities[0].traits.P.x", function()
    return ser.doc { { traits = { P = { x = x, s = "", b = true } } } }
  end)
  case({ "D", "n" }, "entities[0].pairs.D[0].data.n", function()
    return ser.doc { { pairs = { D = { { target = 0, data = { n = x, s = "" } } } } } }
  end)
  case({ "L", "to" }, nil, function() return ser.doc { { traits = { L = { to = x } } } } end)
  case({ "N" }, nil, function() return ser.doc { { pairs = { N = { { target = x } } } } } end)
end
case({ "P", "s" }, "entities[0].traits.P.s", function()
  return ser.doc { { traits = { P = { x = 1, s = "a\xFFb", b = true } } } }
end)

local edits = {
  function(s) s.__proto__ = {} end,
  function(s) s.entities[1].__proto__ = {} end,
  function(s) s.entities[1].traits.__proto__ = {} end,
  function(s) s.entities[1].traits.P.__proto__ = { y = 1 } end,
  function(s) s.entities[1].pairs.__proto__ = { { target = 0 } } end,
  function(s) s.entities[1].pairs.D[1].__proto__ = {} end,
  function(s) s.entities[1].pairs.D[1].data.__proto__ = {} end,
  function(s) s.world.__proto__ = {} end,
  function(s) s.world.traits.__proto__ = {} end,
  function(s) setmetatable(s, {}) end,
  function(s) setmetatable(s, { __index = function() error("__index ran") end }) end,
  function(s) setmetatable(s.entities, {}) end,
  function(s) setmetatable(s.entities[1], {}) end,
  function(s) setmetatable(s.entities[1].tags, {}) end,
  function(s) setmetatable(s.entities[1].traits, {}) end,
  function(s) setmetatable(s.entities[1].traits.P, {}) end,
  function(s) setmetatable(s.entities[1].pairs, {}) end,
  function(s) setmetatable(s.entities[1].pairs.D, {}) end,
  function(s) setmetatable(s.entities[1].pairs.D[1], {}) end,
  function(s) setmetatable(s.world, {}) end,
  function(s) setmetatable(s.entities[1], debug.getmetatable(ecs.array {})) end,
  function(s) s.entities[1].traits = ecs.array {} end,
  function(s) s.entities[3] = {} end,
  function(s) s.entities.n = 1 end,
  function(s) s.entities[1].tags[3] = "T" end,
  function(s) s.entities[1].traits[1] = {} end,
  function(s) s.entities[1].traits[true] = {} end,
  function(s) s.entities[1].pairs[print] = {} end,
  function(s) s[1] = 1 end,
  function(s) s[s] = 1 end,
  function(s) s.entities[1].traits.P = s end,
  function(s) s.entities[1] = s.entities end,
  function(s) s.entities[1].traits = s.entities end,
  function(s) s.entities = s end,
  function(s) s.world = s end,
}
for _, edit in ipairs(edits) do
  case({}, nil, function()
    local snapshot = ser.doc {
      {
        tags = { "T" }, traits = { P = { x = 1, s = "", b = true } },
        pairs = { D = { { target = 0, data = { n = 1, s = "" } } } },
      },
    }
    edit(snapshot)
    return snapshot
  end)
end

return cases
