-- P4, systematically: each rule of the format broken on its own, with a right digest. All of it is
-- refused with code and offset, before anything changes and before memory is taken for it.

local ecs = require "ecsser"
local broken = require "spec.support.snap_broken"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"

local get, int, u32s = cbor.get, cbor.int, cbor.u32s
local refuse, entity, part = broken.refuse, broken.entity, broken.part

setup(broken.open)
teardown(broken.close)

describe("the untouched snapshot", function()
  it("is what the parts make up again", function()
    assert.equal(broken.snapshot, bytes.edited(broken.snapshot, function() end))
    ecs.loadSnapshot(broken.world, broken.snapshot)
    assert.equal(broken.snapshot, ecs.saveSnapshot(broken.world))
  end)
end)

describe("the frame", function()
  local function frame(text, edit)
    refuse(text, function(_, _, parts) edit(parts) end)
  end

  it("is a tag, five elements, name, version, digest of eight bytes, and nothing more", function()
    frame("", function(p) p.outer = 55800 end)
    frame("", function(p) p.outer = 1 end)
    frame("", function(p) p.format = cbor.text "ecsser-snapshoT" end)
    frame("", function(p) p.format = cbor.bytes "ecsser-snapshot" end)
    frame("", function(p) p.format = int(1) end)
    for _, version in ipairs { int(0), int(2), int(-1), int(math.maxinteger), int(1, 1),
      cbor.text "1", { type = "float", size = 2, bits = 0x3C00 }, cbor.NULL } do
      frame("", function(p) p.version = version end)
    end
    frame("digest", function(p) p.digest = ("\0"):rep(8) end)
    for _, n in ipairs { 0, 4, 7, 9, 16 } do
      frame("digest", function(p) p.digest = ("x"):rep(n) end)
    end
    frame("", function(p) p.more = { int(1) } end)
    for _, n in ipairs { 0, 4, 6, 23, 24, 1 << 32, math.maxinteger, -1 } do
      frame("", function(p) p.count = n end)
    end
    frame("", function(p) p.bodyBytes = "" end)
    frame("behind", function(p) p.bodyBytes = cbor.write(p.body) .. "\0" end)
    frame("", function(p) p.bodyBytes = cbor.write(p.body):sub(1, -2) end)
    frame("", function(p) p.bodyBytes = cbor.write(cbor.array { p.body }) end)
  end)

  it("holds the shortest heads only", function()
    for _, size in ipairs { 1, 2, 4, 8 } do
      refuse("", function(header) header.size = size end)
      refuse("", function(_, body) body.size = size end)
      refuse("", function(header) get(header, "traits").size = size end)
      entity("used", function(node) node.size = size end)
      entity("generations", function(node) node[1].size = size end)
    end
  end)

  it("knows no indefinite lengths, other simple values or tags", function()
    for _, raw in ipairs { "\x9F\xFF", "\xBF\xFF", "\x5F\xFF", "\x7F\xFF", "\xF7", "\xF8\x20",
      "\xE0", "\xF3", "\x1C", "\x3D", "\xFC", "\xFF", "\xC0\x00", "\xD8\x20\x60", "\xC1\x00",
      "\xC2\x41\x01", "\xD9\xD9\xF7\x00", "\x1B\x80\x00\x00\x00\x00\x00\x00\x00",
      "\x3B\x80\x00\x00\x00\x00\x00\x00\x00", "\xFA\x00\x00\x00\x00", "\xFB" .. ("\0"):rep(8),
      "\x61\xFF", "\x41a", "\x18\x00", "\x61", "\xD8\x46\x41\x00", "\xD8\x48\x40" } do
      refuse("", function(_, body)
        local _, at = get(body, "data")
        body[at] = cbor.map { "x", cbor.raw(raw) }
      end)
      part("Aos", "", function(node) node[2][1][1] = cbor.raw(raw) end)
      refuse("", function(header)
        table.insert(header, 1, cbor.array { cbor.raw(raw) })
        table.insert(header, 1, cbor.text "meta")
      end)
    end
  end)
end)

describe("meta", function()
  it("is a table: map or array", function()
    for _, item in ipairs { cbor.int(1), cbor.text "x", cbor.bytes "\xFF", cbor.raw "\xF4",
      cbor.raw "\xF6", cbor.raw "\xF9\x3E\x00" } do
      refuse("meta that is no table", function(header)
        table.insert(header, 1, item)
        table.insert(header, 1, cbor.text "meta")
      end)
    end
  end)
end)

describe("maps", function()
  local maps = {
    header = function(header) return header end,
    body = function(_, body) return body end,
    entities = function(_, body) return (get(body, "entities")) end,
    trait = function(header) return get(header, "traits")[1] end,
  }

  for name, find in pairs(maps) do
    it("have exactly their keys, in order: " .. name, function()
      local n = #find(bytes.parts(broken.snapshot).header, bytes.parts(broken.snapshot).body)
      for i = 1, n, 2 do
        refuse("", function(h, b)
          local map = find(h, b)
          table.remove(map, i)
          table.remove(map, i)
        end)
        refuse("", function(h, b)
          local map = find(h, b)
          table.insert(map, i, map[i + 1])
          table.insert(map, i, map[i + 1])
        end)
        refuse("", function(h, b) find(h, b)[i] = cbor.text "other" end)
        refuse("", function(h, b) find(h, b)[i].type = "bytes" end)
        refuse("", function(h, b) find(h, b)[i + 1] = cbor.NULL end)
        refuse("", function(h, b) find(h, b)[i + 1] = int(-1) end)
        for k = i + 2, n, 2 do
          refuse("", function(h, b)
            local map = find(h, b)
            map[i], map[i + 1], map[k], map[k + 1] = map[k], map[k + 1], map[i], map[i + 1]
          end)
        end
      end
      refuse("", function(h, b)
        local map = find(h, b)
        map[#map + 1] = cbor.text "zzzzzzzzzzzzzzzz"
        map[#map + 1] = int(1)
      end)
      for _, count in ipairs { 0, 1, 3, 7, 100, 1 << 31, (1 << 32) - 1, 1 << 62, -1 } do
        refuse("", function(h, b) if count * 2 ~= n then find(h, b).count = count end
          if count * 2 == n then h.count = 99 end end)
      end
    end)
  end

  it("of data have string keys, once each and in order, never __proto__", function()
    local function data(map)
      refuse("", function(_, body)
        local _, at = get(body, "data")
        body[at] = map
      end)
    end
    data(cbor.map { "a", int(1), "a", int(2) })
    data(cbor.map { "b", int(1), "a", int(2) })
    data(cbor.map { "aa", int(1), "b", int(2) })
    data(cbor.map { "__proto__", int(1) })
    data(cbor.map { "x", cbor.map { "__proto__", int(1) } })
    data(cbor.map { int(1), int(1) })
    data(cbor.map { cbor.TRUE, int(1) })
    data(cbor.map { cbor.array {}, int(1) })
    data(cbor.array {})
    data(cbor.array { int(1) })
    data(int(0))
    data(cbor.NULL)
    data(cbor.text "")
  end)
end)

describe("the header's traits", function()
  it("ascend bytewise by name, each once", function()
    refuse("order", function(header)
      local traits = get(header, "traits")
      traits[1], traits[2] = traits[2], traits[1]
    end)
    refuse("", function(header)
      local traits = get(header, "traits")
      table.insert(traits, 1, traits[1])
    end)
    refuse("", function(header) table.remove(get(header, "traits"), 1) end)
    refuse("", function(header) table.remove(get(header, "traits")) end)
    for _, name in ipairs { cbor.text "", cbor.bytes "Aos", int(1), cbor.text "\xFF", cbor.NULL } do
      part("Aos", "", function(_, trait) trait[select(2, get(trait, "name"))] = name end)
    end
  end)

  it("that nobody registered are unknown", function()
    part("Aos", "Aot", function(_, trait)
      trait[select(2, get(trait, "name"))] = cbor.text "Aot"
    end, "unknown-trait")
  end)

  it("have one of six kinds, and the registered one", function()
    for _, kind in ipairs { "", "Tag", "tags", "pair-", "relation", "soa\0" } do
      part("T", "kind", function(_, trait) get(trait, "kind").value = kind end)
    end
    for name, kinds in pairs { Tag = { "soa", "aos" }, T = { "tag", "aos" }, Aos = { "tag", "soa" },
      P = { "pair-soa", "pair-aos" }, D = { "pair", "pair-aos" } } do
      for _, kind in ipairs(kinds) do
        part(name, "", function(_, trait) get(trait, "kind").value = kind end)
      end
    end
    part("Tag", "", function(_, trait) get(trait, "kind").value = "pair" end)
    part("P", "", function(_, trait) get(trait, "kind").value = "tag" end)
  end)

  it("have rows and a version from 1", function()
    for _, rows in ipairs { 0, -1, 2, 4, 6, 1 << 28, 1 << 31, (1 << 32) - 1, 1 << 32,
      math.maxinteger, math.mininteger } do
      part("T", "", function(_, trait) get(trait, "rows").value = rows end)
      part("P", "", function(_, trait) get(trait, "rows").value = rows end)
    end
    for _, version in ipairs { 0, -1, 1 << 31, 1 << 32, math.maxinteger } do
      part("T", "version", function(_, trait) get(trait, "version").value = version end)
    end
    for _, version in ipairs { 2, (1 << 31) - 1 } do
      part("T", "version", function(_, trait) get(trait, "version").value = version end,
        "unsupported-version")
    end
  end)

  local function fields(text, edit)
    part("T", text, function(_, trait) edit(get(trait, "fields")) end)
  end

  it("have fields [name, type], each name once", function()
    fields("twice", function(f) f[1][1].value = "n" f[2][1].value = "n" end)
    fields("", function(f) f[1][1].value = "q" end)
    fields("", function(f) table.remove(f) end)
    fields("", function(f) f[4] = f[1] end)
    fields("", function(f) f[4] = cbor.array { cbor.text "q", cbor.text "any" } end)
    for _, type in ipairs { "", "number", "Integer", "int", "ref" } do
      fields("", function(f) f[2][2].value = type end)
    end
    fields("converted", function(f) f[2][2].value = "string" end)
    fields("", function(f) f[1][3] = int(1) end)
    fields("", function(f) table.remove(f[1]) end)
    fields("", function(f) f[1] = cbor.text "n" end)
    fields("", function(f) f[1][1] = int(1) end)
    fields("", function(f) f[1][2] = int(1) end)
    for _, n in ipairs { 0, 1, 2, 4, 1 << 24, 1 << 31, 1 << 62, -1 } do
      fields("", function(f) f.count = n end)
    end
  end)

  it("have each field once also among thousands", function()
    fields("twice", function(f)
      for i = 1, 3000 do f[#f + 1] = cbor.array { cbor.text("y" .. i), cbor.text "any" } end
      f[#f + 1] = cbor.array { cbor.text "y1777", cbor.text "any" }
    end)
  end)

  it("without values have no columns: tags and plain pairs", function()
    part("Tag", "", function(node) node[2][1] = cbor.typed(72, "i1", { 1 }) end)
    part("Tag", "", function(node) node[2][1] = cbor.array { cbor.text "x" } end)
    part("P", "", function(node) node[3][1] = cbor.typed(72, "i1", { 1, 2, 3 }) end)
    part("Tag", "", function(node, trait)
      get(trait, "fields")[1] = cbor.array { cbor.text "x", cbor.text "any" }
      node[2][1] = cbor.typed(72, "i1", { 1 })
    end)
  end)
end)

describe("sets of slots", function()
  local sets = {
    alive = function(edit) entity("alive", edit) end,
    excluded = function(edit) entity("excluded", edit) end,
    rows = function(edit)
      part("T", "", function(node) node[1] = edit(node[1]) or node[1] end)
    end,
  }
  for name, set in pairs(sets) do
    it("are in their one form: " .. name, function()
      set(function(node) return u32s(({ alive = { 1, 2, 4, 5 }, excluded = { 4 },
        rows = { 0, 1, 2, 4, 5 } })[name]), node end)
      set(function(node) node.value = node.value .. "\0" end)
      set(function(node) node.value = "\0" .. node.value end)
      set(function(node) node.value = node.value .. ("\0"):rep(1 << 16) .. "\1" end)
      set(function() return u32s {} end)
      set(function() return u32s { 0xFFFFFFFF } end)
      set(function() return u32s { 1 << 24 } end)
      set(function() return u32s { 2, 1 } end)
      set(function() return u32s { 1, 1 } end)
      set(function() return cbor.typed(69, "I2", { 1 }) end)
      set(function() return cbor.typed(78, "i4", { 1 }) end)
      set(function() return cbor.array { int(1) } end)
      set(function() return cbor.NULL end)
      set(function() return cbor.text "" end)
      set(function(node) return cbor.tag(70, cbor.bytes "\1\0\0"), node end)
    end)
  end

  it("reach no further than slots do", function()
    entity("alive", function(node) node.value = ("\0"):rep(1 << 21) .. "\1" end)
    entity("alive", function() return u32s { 1 << 24 } end)
    entity("alive", function() return u32s { (1 << 24) - 1 } end)
  end)

  it("are a list exactly where that is shorter", function()
    local big = broken.newWorld()
    for _ = 1, 300 do big:spawn() end
    local all = big:entities()
    for _, case in ipairs { { 20, 200 }, { 17, 100, 290 }, { 300 }, { 2 } } do
      for _, slot in ipairs(case) do big:add(all[slot + 1], broken.Tag) end
      local saved = ecs.saveSnapshot(big)
      local bits = {}
      for i = 1, case[#case] // 8 + 1 do bits[i] = 0 end
      for _, slot in ipairs(case) do bits[slot // 8 + 1] = bits[slot // 8 + 1] | 1 << slot % 8 end
      local forms = { u32s(case), cbor.bytes(string.char(table.unpack(bits))) }
      local loaded = 0
      for _, form in ipairs(forms) do
        local edited = bytes.edited(saved, function(header, body)
          bytes.trait(header, body, "Tag")[1] = form
        end)
        local ok, err = pcall(ecs.loadSnapshot, broken.other, edited)
        loaded = loaded + (ok and 1 or 0)
        assert(ok == (edited == saved), "the longer form was loaded, or the shorter one not")
        assert(ok or err.code == "malformed")
      end
      assert.equal(1, loaded)
      for _, slot in ipairs(case) do big:remove(all[slot + 1], broken.Tag) end
    end
    big:close()
    ecs.loadSnapshot(broken.other, broken.snapshot)
  end)
end)

describe("entities", function()
  it("are alive, free or retired, and one of these only", function()
    entity("alive", function(node) node.value = "\x36\1" end)    -- slot 8 was never used
    entity("alive", function(node) node.value = "\x37" end)      -- slot 0
    entity("alive", function(node) node.value = "\x3E" end)      -- slot 3 is free
    entity("alive", function(node) node.value = "\x26" end)      -- slot 4 is nowhere
    entity("alive", function(node) node.value = "" end)
    entity("excluded", function(node) node.value = "\8" end)     -- slot 3 is not alive
    entity("excluded", function(node) node.value = "\x11" end)   -- slot 0
    entity("excluded", function(node) node.value = "\x90" end)
  end)

  it("have a free list of used slots, each once", function()
    for _, list in ipairs { {}, { 0 }, { 3, 3 }, { 1 }, { 3, 1 }, { 6 }, { 3, 6 }, { 3, 0 },
      { 1 << 24 }, { 0xFFFFFFFF }, { 3, 0xFFFFFFFF } } do
      entity("free", function() return u32s(list) end)
    end
    for _, node in ipairs { cbor.bytes "\8", cbor.typed(69, "I2", { 3 }), cbor.array { int(3) },
      cbor.typed(64, "I1", { 3 }), cbor.tag(70, cbor.bytes "\3\0\0"), cbor.NULL,
      cbor.tag(70, cbor.text "\3\0\0\0"), cbor.tag(70, cbor.array { int(3) }) } do
      entity("free", function() return node end)
    end
  end)

  it("have a number of used slots", function()
    for _, used in ipairs { 0, -1, 1, 5, 7, 8, 1 << 24, (1 << 24) + 1, 1 << 31, (1 << 32) - 1,
      1 << 32, math.maxinteger, math.mininteger } do
      entity("used", function(node) node.value = used end)
    end
  end)

  it("have a generation for each slot, in the narrowest form", function()
    for _, list in ipairs { {}, { 0 }, { 0, 0, 0, 1, 0 }, { 1, 0, 0, 1, 0, 0 } } do
      entity("generations", function() return cbor.typed(64, "I1", list) end)
    end
    entity("generations", function() return cbor.typed(69, "I2", { 0, 0, 0, 1, 0, 0 }) end)
    entity("generations", function() return u32s { 0, 0, 0, 1, 0, 0 } end)
    entity("generations", function() return cbor.typed(69, "I2", { 0, 0, 0, 255, 0, 0 }) end)
    entity("generations", function() return u32s { 0, 0, 0, 65535, 0, 0 } end)
    entity("generations", function() return u32s { 0, 0, 0, (1 << 21) + 1, 0, 0 } end)
    entity("generations", function() return u32s { 0, 0, 0, 0xFFFFFFFF, 0, 0 } end)
    entity("generations", function() return u32s { 0, 0, 0, 1 << 21, 0, 0 } end)   -- retired, free
    entity("generations", function() return u32s { 0, 1 << 21, 0, 1, 0, 0 } end)   -- retired, alive
    entity("generations", function() return cbor.typed(71, "i8", { 0, 0, 0, 1, 0, 0 }) end)
    entity("generations", function() return cbor.typed(72, "i1", { 0, 0, 0, 1, 0, 0 }) end)
    entity("generations", function() return cbor.typed(86, "d", { 0, 0, 0, 1, 0, 0 }) end)
    entity("generations", function() return cbor.bytes "\0\0\0\1\0\0" end)
  end)
end)
