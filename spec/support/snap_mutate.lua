--- Random changes to the structure of snapshots.

local cbor = require "spec.support.snap_cbor"

local mutate = {}

local INTEGERS <const> = { 0, 1, -1, 2, 3, 7, 23, 24, 127, 128, 255, 256, 65535, 65536, 1 << 24,
  (1 << 24) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, math.maxinteger, math.mininteger }
local COUNTS <const> = { 0, 1, 2, 23, 24, 255, 65536, 1 << 31, (1 << 32) - 1, math.maxinteger, -1 }
local TAGS <const> = { 64, 69, 70, 71, 72, 77, 78, 79, 86, 55799, 0, 32 }

local changes = {}

function changes.int(rng, node)
  if rng:chance(40) then
    node.value = rng:pick(INTEGERS)
  elseif rng:chance(85) then
    node.value = node.value + rng:pick { -2, -1, 1, 2 }
  else
    node.size = rng:pick { 1, 2, 4, 8 }
  end
end

function changes.bytes(rng, node)
  local s, what = node.value, rng:int(1, 100)
  local i = rng:int(1, math.max(#s, 1))
  if what <= 50 and #s > 0 then
    node.value = s:sub(1, i - 1) .. string.char(rng:int(0, 255)) .. s:sub(i + 1)
  elseif what <= 62 and #s > 0 then
    node.value = s:sub(1, i - 1) .. string.char(s:byte(i) ~ 1 << rng:int(0, 7)) .. s:sub(i + 1)
  elseif what <= 72 then
    node.value = s:sub(1, rng:int(0, #s))
  elseif what <= 82 then
    node.value = s .. string.char(rng:int(0, 255)):rep(rng:pick { 1, 2, 4, 8 })
  elseif what <= 88 then
    node.value = s .. s
  elseif what <= 92 then
    node.count = rng:pick(COUNTS)
  elseif what <= 96 then
    node.size = rng:pick { 1, 2, 4, 8 }
  else
    node.type = node.type == "text" and "bytes" or "text"
  end
end
changes.text = changes.bytes

function changes.array(rng, node)
  local what = rng:int(1, 100)
  if what <= 25 and #node > 0 then
    table.remove(node, rng:int(1, #node))
  elseif what <= 50 and #node > 0 then
    table.insert(node, rng:int(1, #node), node[rng:int(1, #node)])
  elseif what <= 70 and #node > 1 then
    local i, k = rng:int(1, #node), rng:int(1, #node)
    node[i], node[k] = node[k], node[i]
  elseif what <= 80 then
    node[#node + 1] = rng:pick { cbor.int(0), cbor.NULL, cbor.TRUE, cbor.text "x",
      cbor.array {}, cbor.map {}, cbor.bytes "", cbor.u32s { 1 } }
  elseif what <= 95 then
    node.count = rng:chance(50) and rng:pick(COUNTS) or #node + rng:pick { -1, 1 }
  else
    node.size = rng:pick { 1, 2, 4, 8 }
  end
end

function changes.map(rng, node)
  if #node < 2 or rng:chance(60) then return changes.array(rng, node) end
  local i, k = rng:int(1, #node // 2) * 2, rng:int(1, #node // 2) * 2
  node[i - 1], node[k - 1], node[i], node[k] = node[k - 1], node[i - 1], node[k], node[i]
end

function changes.tag(rng, node)
  if rng:chance(80) then
    node.tag = rng:pick(TAGS)
  else
    node[1] = rng:pick { cbor.int(0), cbor.text "", cbor.bytes "\0\0\0\0", cbor.array {} }
  end
end

function changes.simple(rng, node) node.value = rng:int(0, 23) end

function changes.float(rng, node)
  node.size = rng:pick { 2, 4, 8 }
  node.bits = rng:int(0, 65535)
  if rng:chance(50) then node.value = rng:pick { 0 / 0, 1 / 0, 1.5, 0.0, -0.0, 0.1, 1e300 } end
end

local function collect(node, out)
  out[#out + 1] = node
  for _, item in ipairs(node) do collect(item, out) end
  return out
end

-- Another node in the place of one, taken from elsewhere in the tree.
local function graft(rng, all, root)
  local parent = rng:pick(all)
  if #parent == 0 then return end
  local item = rng:pick(all)
  if item ~= root then parent[rng:int(1, #parent)] = cbor.raw(cbor.write(item)) end
end

--- Changes one node of the tree.
function mutate.once(rng, root)
  local all = collect(root, {})
  if rng:chance(8) then return graft(rng, all, root) end
  local node = rng:pick(all)
  if changes[node.type] then changes[node.type](rng, node) end
end

return mutate
