-- P12: snapshots of every version of the format load for ever, and are byte-equal when they are
-- saved again. And a reader that is not ours finds the same in them.

local ecs = require "ecsser"
local deep = require "spec.support.deep"
local golden = require "spec.support.snap_golden"
local util = require "spec.support.world_util"
local xxh3 = require "spec.support.snap_xxh3"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"

local function hex(s)
  return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- A value as reader.py shows it.
local function show(value)
  local kind = math.type(value) or type(value)
  if value == nil or value == ecs.null then
    return "n"
  elseif kind == "boolean" then
    return value and "t" or "f"
  elseif kind == "integer" then
    return "i" .. value
  elseif kind == "float" then
    return value ~= value and "dnan" or "d" .. hex(string.pack(">d", value))
  elseif kind == "string" then
    return "s" .. hex(value)
  end
  local parts = {}
  if #value > 0 or debug.getmetatable(value) == debug.getmetatable(ecs.array {}) then
    for i, item in ipairs(value) do parts[i] = show(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return hex(a) < hex(b) end)
  for i, key in ipairs(keys) do parts[i] = hex(key) .. ":" .. show(value[key]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- ---- What a world holds, as reader.py lists it -------------------------------------------------

local function fieldsOf(world, trait, e, saved, entry)
  local out = {}
  if saved.kind == "tag" or saved.kind == "pair" or entry.transient then return "" end
  local value = world:get(e, trait)
  if entry.codec then
    return show(entry.codec.toJSON(value, { ref = util.slot }))
  elseif #saved.fields == 0 then
    return show(value)
  end
  for i, field in ipairs(saved.fields) do
    local item = value[field[1]]
    if field[2] == "ref" then
      out[i] = "i" .. (item and item ~= ecs.null and util.slot(item) or 0)
    else
      out[i] = show(item)
    end
  end
  return table.concat(out, " ")
end

local function relationLines(world, saved, relation, put)
  for i, e in ipairs(world:entities()) do
    for _, target in ipairs(i > 1 and world:targets(e, relation) or {}) do
      local value = saved.kind ~= "pair" and world:get(e, relation(target))
      local out = {}
      for k, field in ipairs(saved.fields) do out[k] = show(value[field[1]]) end
      if saved.kind == "pair-aos" then out[1] = show(value) end
      put("pair %s %d %d %s", hex(saved.name), util.slot(e), util.slot(target),
        table.concat(out, " "))
    end
  end
end

local function traitLines(world, saved, trait, entry, put)
  for _, e in ipairs(world:entities()) do
    if world:has(e, trait) then
      put("row %s %d %s", hex(saved.name), util.slot(e), fieldsOf(world, trait, e, saved, entry))
    end
  end
end

local function entityLines(world, tree, put)
  local alive, excluded = {}, {}
  for i, e in ipairs(world:entities()) do
    local _, generation, slot = ecs.unpack(e)
    if i > 1 then
      alive[#alive + 1] = slot
      if world:has(e, ecs.IsExcluded) then excluded[#excluded + 1] = slot end
    end
    local first = select(2, ecs.unpack(world:entities()[1]))
    assert.equal(tree.generations[slot + 1], i > 1 and generation - first or 0)
  end
  put("used %d", tree.used)
  put("alive %s", table.concat(alive, " "))
  put("excluded %s", table.concat(excluded, " "))
  put("free %s", table.concat(tree.free, " "))
  put("generations %s", table.concat(tree.generations, " "))
end

local function entriesOf(g, traits)
  local entries = {}
  if g.kit then
    for _, item in ipairs(traits.items) do
      entries[item.name] = { codec = item.codec }
    end
  else
    for name, entry in pairs(g.traits()) do
      entries[name] = type(entry) == "table" and entry or {}
    end
  end
  return entries
end

local function describeWorld(g, world, traits, header)
  local lines = {}
  local function put(...) lines[#lines + 1] = string.format(...) end
  put("digest %s", header.digest)
  for _, t in ipairs(header.traits) do
    local fields = ""
    for _, f in ipairs(t.fields) do fields = fields .. " " .. hex(f[1]) .. " " .. f[2] end
    put("trait %s %s %d %d%s", hex(t.name), t.kind, t.version, t.rows, fields)
  end
  put("meta %s", header.meta and show(header.meta) or "-")
  local tree = ecs.saveSnapshot(world, { format = "table", data = header.data }).body
  entityLines(world, tree.entities, put)
  local objects, entries = g.kit and traits.object or traits, entriesOf(g, traits)
  for _, relation in ipairs { false, true } do
    for _, t in ipairs(header.traits) do
      local object = objects[t.name] or ecs.Key
      if relation and t.kind:sub(1, 4) == "pair" then
        relationLines(world, t, object, put)
      elseif not relation and t.kind:sub(1, 4) ~= "pair" then
        traitLines(world, t, object, entries[t.name] or {}, put)
      end
    end
  end
  put("data %s", show(tree.data))
  return lines
end

-- ---- The specs ---------------------------------------------------------------------------------

describe("the golden snapshot", function()
  assert(#golden.list >= 20)
  for _, g in ipairs(golden.list) do
    it(g.name .. " loads, is byte-equal when saved again, and is what its world gives today",
      function()
        local saved = golden.read(g)
        local world <close> = golden.world(g)
        for _ = 1, 2 do
          local header = ecs.loadSnapshot(world, saved)
          assert.equal(saved, ecs.saveSnapshot(world, { meta = header.meta, data = header.data }))
          local tree = ecs.saveSnapshot(world, { meta = header.meta, data = header.data,
            format = "table" })
          assert.equal(header.digest, tree.header.digest)
          world:reset()
          ecs.loadSnapshot(world, tree)
          assert.equal(saved, ecs.saveSnapshot(world, { meta = header.meta, data = header.data }))
        end
        local parts = bytes.parts(saved)
        assert.equal(saved, bytes.pack(parts))
        assert.equal(ecs.inspectSnapshot(saved).digest,
          xxh3.hex(cbor.write(parts.header) .. cbor.write(parts.body)))
        if g.kit then return end
        local today <close> = golden.filled(g)
        assert.equal(saved, ecs.saveSnapshot(today, g.options))
      end)
  end

  it("is text of hexadecimal digits", function()
    for _, g in ipairs(golden.list) do
      local file <close> = assert(io.open("spec/golden/" .. g.name .. ".hex"))
      assert.equal(golden.hex(golden.read(g)), file:read "a")
    end
  end)
end)

describe("an independent reader", function()
  it("finds every value of the golden snapshots as it is in the loaded worlds", function()
    local python = "/usr/bin/python3"
    local probe = os.execute(python .. " -c 'import cbor2' 2>/dev/null")
    if not probe then
      pending "Python's cbor2 is not there"
      return
    end
    local names = {}
    for i, g in ipairs(golden.list) do names[i] = "spec/golden/" .. g.name .. ".hex" end
    local pipe <close> = assert(io.popen(python .. " -B spec/golden/reader.py " ..
      table.concat(names, " ") .. " 2>&1"))
    local files, current = {}, nil
    for line in pipe:lines() do
      local name = line:match "^file spec/golden/(.*)%.hex$"
      if name then
        current = {}
        files[name] = current
      else
        table.insert(assert(current, line), (line:gsub(" $", "")))
      end
    end
    for _, g in ipairs(golden.list) do
      local world <close>, traits = golden.world(g)
      local header = ecs.loadSnapshot(world, golden.read(g))
      local lines = describeWorld(g, world, traits, header)
      for i, line in ipairs(lines) do lines[i] = line:gsub(" $", "") end
      deep.assertSame(lines, files[g.name], g.name)
    end
  end)
end)
