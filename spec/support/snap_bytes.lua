--- The parts of a snapshot as CBOR nodes, and snapshots from parts with the right digest.

local cbor = require "spec.support.snap_cbor"
local xxh3 = require "spec.support.snap_xxh3"

local bytes = {}

--- The bytes of a snapshot with these parts: nodes for `header` and `body` (or `bodyBytes`);
-- `digest`, `format`, `version`, `outer` (the tag) and `more` (further elements) may be given.
function bytes.pack(parts)
  local header = cbor.write(parts.header)
  local body = parts.bodyBytes or cbor.write(parts.body)
  local digest = parts.digest or string.pack("<i8", xxh3.digest(header .. body))
  local items = {
    parts.format or cbor.text "ecsser-snapshot", parts.version or cbor.int(1),
    cbor.raw(header), cbor.bytes(body), cbor.bytes(digest), table.unpack(parts.more or {}),
  }
  return cbor.write(cbor.tag(parts.outer or 55799, cbor.array(items, parts.count)))
end

--- The parts of a snapshot: { header=, body=, bodyBytes=, digest=, version= }, all nodes.
function bytes.parts(snapshot)
  local outer = cbor.read(snapshot)
  assert(outer.tag == 55799 and #outer[1] == 5, "not a snapshot")
  local items = outer[1]
  return {
    format = items[1], version = items[2], header = items[3],
    body = cbor.read(items[4].value), digest = items[5].value,
  }
end

--- The same snapshot with its parts changed by `edit(header, body, parts)`, and a right digest.
function bytes.edited(snapshot, edit)
  local old = bytes.parts(snapshot)
  local parts = { header = old.header, body = old.body }
  edit(parts.header, parts.body, parts)
  return bytes.pack(parts)
end

--- The part of the body that the trait or relation of this name has: its node.
function bytes.trait(header, body, name)
  local index = { traits = 0, relations = 0 }
  for _, trait in ipairs((cbor.get(header, "traits"))) do
    local part = cbor.get(trait, "kind").value:sub(1, 4) == "pair" and "relations" or "traits"
    index[part] = index[part] + 1
    if cbor.get(trait, "name").value == name then
      return cbor.get(body, part)[index[part]], trait
    end
  end
  error("no trait " .. name, 2)
end

return bytes
