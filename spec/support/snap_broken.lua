--- A snapshot with a bit of everything, and how to break one part of it, for the specs of what the
-- reader refuses.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"
local ser = require "spec.support.ser"

local broken = {}

local T, Tag, Aos = ecs.trait { n = 0, b = false, s = "" }, ecs.trait(),
  ecs.trait(function() return {} end)
local Ref, P, D = ecs.trait { to = ecs.null }, ecs.relation(), ecs.relation { store = { w = 0 } }
local Only = ecs.relation { exclusive = true }

broken.Tag = Tag

--- An empty world with the registrations.
function broken.newWorld()
  return ser.world { T = T, Tag = Tag, Aos = Aos, Ref = { trait = Ref, refs = { "to" } }, P = P,
    D = { relation = D }, Only = Only, Key = ecs.Key }
end

-- Slots 1..5, 3 free, 4 excluded. The fields of T are b, n, s; it has five rows.
local function filled()
  local world, e = broken.newWorld(), {}
  for i = 1, 5 do e[i] = world:spawn(T { n = i, b = i % 2 == 0, s = "s" .. i }) end
  world:add(e[1], Tag, Aos { 1, { x = 2 } }, Ref { to = e[2] })
  world:add(e[1], P(e[2]), P(e[1]), D(e[5], { w = 7 }))
  world:add(e[2], Ref, ecs.Key "two", Only(e[1]), P(e[1]))
  world:add(e[5], ecs.Key "five", Aos "text")
  world:destroy(e[3])
  world:add(e[4], ecs.IsExcluded)
  world:add(T { n = 100 })
  return world
end

--- Before the specs of a file: `snapshot` is that of `world`, `other` another one.
function broken.open()
  broken.world, broken.other = filled(), broken.newWorld()
  broken.snapshot = ecs.saveSnapshot(broken.world)
  broken.other:spawn(T)
end

function broken.close()
  broken.world:close()
  broken.other:close()
end

--- Expects that the edited snapshot is refused with this code (malformed), and this in the message.
function broken.refuse(text, edit, code)
  local other = broken.other
  local edited, hash = bytes.edited(broken.snapshot, edit), ecs.hashWorld(other)
  local err = ser.raises("loadSnapshot", code or "malformed", { text }, ecs.loadSnapshot, other,
    edited)
  if (code or "malformed") == "malformed" then
    assert(math.type(err.offset) == "integer" and err.offset >= 0 and err.offset <= #edited)
  end
  assert(hash == ecs.hashWorld(other), "the world changed")
end

--- Refuses what `edit(node)` makes of one of the five parts of the entities.
function broken.entity(name, edit, text)
  return broken.refuse(text or "", function(_, body)
    local entities = cbor.get(body, "entities")
    local node, at = cbor.get(entities, name)
    entities[at] = edit(node) or node
  end)
end

--- Refuses what `edit(part, header, body)` makes of a trait's part of the body.
function broken.part(name, text, edit, code)
  broken.refuse(text, function(header, body)
    local node, traitHeader = bytes.trait(header, body, name)
    edit(node, traitHeader, body)
  end, code)
end

return broken
