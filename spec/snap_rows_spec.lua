-- P4, systematically, second part: rows, references, pairs, keys and columns; nesting and counts.

local bytes = require "spec.support.snap_bytes"
local broken = require "spec.support.snap_broken"
local cbor = require "spec.support.snap_cbor"
local memory = require "spec.support.snap_memory"

local get, int, u32s = cbor.get, cbor.int, cbor.u32s
local refuse, part = broken.refuse, broken.part

setup(broken.open)
teardown(broken.close)

describe("rows and references", function()
  it("are of entities that are alive, or of the world", function()
    for _, set in ipairs { "\x3B", "\x77", "\x3F" } do
      part("T", "", function(node) node[1].value = set end)
    end
    part("Tag", "", function(node) node[1].value = "\8" end)
    part("Tag", "", function(node) node[1].value = "\x40" end)
  end)

  it("refer to entities that are alive, or to none", function()
    for _, slots in ipairs { { 3, 0 }, { 0, 3 }, { 6, 0 }, { 1 << 24, 0 }, { 0xFFFFFFFF, 0 } } do
      part("Ref", "reference", function(node) node[2][1] = u32s(slots) end)
    end
    for _, column in ipairs { cbor.typed(72, "i1", { 2, 0 }), cbor.array { int(2), cbor.NULL },
      cbor.bytes "\1", cbor.typed(69, "I2", { 2, 0 }), u32s { 2 }, u32s { 2, 0, 0 },
      cbor.tag(70, cbor.bytes "\2\0\0\0\0\0\0") } do
      part("Ref", "", function(node) node[2][1] = column end)
    end
    part("T", "", function(node) node[2][2] = u32s { 1, 1, 1, 1, 1 } end)
    part("D", "", function(node) node[3][1] = u32s { 1 } end)
  end)

  it("pairs have sources that ascend, are alive, and no target twice", function()
    for _, case in ipairs {
      { { 2, 1, 1 }, { 1, 2, 1 } }, { { 1, 1, 3 }, { 2, 1, 1 } }, { { 1, 1, 2 }, { 2, 1, 3 } },
      { { 1, 1, 2 }, { 2, 2, 1 } }, { { 0, 1, 2 }, { 1, 1, 1 } }, { { 1, 1, 2 }, { 2, 0, 1 } },
      { { 1, 1, 2 }, { 2, 1, 6 } }, { { 1, 1, 2 }, { 2, 1, 0xFFFFFFFF } },
      { { 1, 1, 0xFFFFFFFF }, { 2, 1, 1 } }, { { 1, 2, 1 }, { 2, 1, 1 } },
      { { 1, 1 }, { 2, 1, 1 } },
      { { 1, 1, 2 }, { 2, 1 } }, { { 1, 1, 2, 2 }, { 2, 1, 1, 2 } }, { {}, {} },
    } do
      part("P", "", function(node)
        node[1], node[2] = u32s(case[1]), u32s(case[2])
      end)
    end
    part("P", "", function(node) node[1] = cbor.bytes "\6" end)
    part("P", "", function(node) node[2] = cbor.typed(69, "I2", { 2, 1, 1 }) end)
    part("Only", "exclusive", function(node, trait)
      node[1], node[2] = u32s { 2, 2 }, u32s { 1, 2 }
      get(trait, "rows").value = 2
    end)
  end)

  it("pairs that repeat are found for every relation and source, not only the first", function()
    for _, case in ipairs {
      { { 1, 2, 2 }, { 1, 1, 1 } }, { { 1, 1, 2, 2, 2 }, { 1, 2, 1, 2, 1 } },
      { { 1, 2, 4, 5, 5 }, { 1, 1, 1, 1, 1 } },
    } do
      part("P", "twice", function(node, trait)
        node[1], node[2] = u32s(case[1]), u32s(case[2])
        get(trait, "rows").value = #case[1]
      end)
    end
  end)

  it("keys are strings, each of one entity", function()
    part("Key", "two", function(node) node[2][1][2].value = "two" node[2][1][1].value = "two" end,
      "duplicate-key")
    for _, column in ipairs { cbor.typed(72, "i1", { 1, 2 }), cbor.bytes "\3",
      cbor.array { cbor.text "two", cbor.NULL }, cbor.array { cbor.text "two", int(1) },
      cbor.typed(86, "d", { 1, 2 }), cbor.array { cbor.array {}, cbor.text "x" } } do
      part("Key", "", function(node) node[2][1] = column end)
    end
    part("Key", "", function(node) table.remove(node[2]) end)
  end)
end)

describe("columns", function()
  local function column(i, node, text)
    part("T", text or "", function(trait) trait[2][i] = node end)
  end

  -- The fields of T: 1 b, 2 n, 3 s; five rows.
  it("have as many values as rows", function()
    for _, n in ipairs { 0, 1, 4, 6, 100 } do
      local list, nodes = {}, {}
      for i = 1, n do list[i], nodes[i] = i, cbor.text "x" end
      column(1, cbor.bytes(("\0"):rep(n == 1 and 2 or n)))   -- one byte would be right
      column(2, cbor.typed(72, "i1", list))
      column(3, cbor.array(nodes))
    end
    for _, n in ipairs { 0, 4, 6, 255, 1 << 31, 1 << 32, math.maxinteger, -1 } do
      part("T", "", function(node) node[2][3].count = n end)
      part("T", "", function(node) node[2][2][1].count = n end)
      part("T", "", function(node) node[2].count = n end)
    end
    part("T", "", function(node) table.remove(node[2]) end)
    part("T", "", function(node) node[2][4] = node[2][3] end)
    part("T", "", function(node) node[3] = node[2] end)
    part("Aos", "", function(node) node[2][2] = node[2][1] end)
    part("D", "", function(node) node[3] = cbor.array { node[3][1], node[3][1] } end)
  end)

  it("are in the shortest form for their values", function()
    local five = { 100, 1, 2, 4, 5 }
    column(2, cbor.typed(77, "i2", five), "shortest")
    column(2, cbor.typed(78, "i4", five), "shortest")
    column(2, cbor.typed(79, "i8", five), "shortest")
    column(2, cbor.typed(77, "i2", { 127, -128, 0, 0, 0 }), "shortest")
    column(2, cbor.typed(78, "i4", { 32767, -32768, 0, 0, 0 }), "shortest")
    column(2, cbor.typed(79, "i8", { 0x7FFFFFFF, -0x80000000, 0, 0, 0 }), "shortest")
    for _, tag in ipairs { 64, 69, 71 } do
      column(2, cbor.typed(tag, tag == 64 and "I1" or tag == 69 and "I2" or "i8", five))
    end
    for _, tag in ipairs { 65, 66, 67, 68, 73, 74, 75, 80, 81, 82, 83, 84, 85, 87 } do
      column(2, cbor.tag(tag, cbor.bytes(("\0"):rep(40))))
    end
    local ints, floats, bools = {}, {}, {}
    for i = 1, 5 do
      ints[i], bools[i] = int(i), i % 2 == 0 and cbor.TRUE or cbor.FALSE
      floats[i] = { type = "float", size = 2, bits = 0x3C00 + i }
    end
    column(2, cbor.array(ints), "shortest")
    column(2, cbor.array(floats), "shortest")
    column(1, cbor.array(bools), "shortest")
    part("Aos", "shortest", function(node) node[2][1] = cbor.array { int(1), int(2) } end)
  end)

  it("of booleans have no bits behind their end", function()
    for _, s in ipairs { "\x20", "\xFF", "\x80", "\x0A\0", "" } do column(1, cbor.bytes(s)) end
  end)

  it("have values of the field's type", function()
    local text, null = cbor.text "x", cbor.NULL
    for _, node in ipairs { cbor.typed(72, "i1", { 1, 1, 1, 1, 1 }), cbor.typed(86, "d",
      { 1, 1, 1, 1, 1 }), cbor.array { text, cbor.TRUE, text, text, text },
      cbor.array { null, null, null, null, null } } do
      column(1, node)
    end
    for _, node in ipairs { cbor.bytes "\1", cbor.array { text, text, text, text, text },
      cbor.array { int(1), int(2), int(3), int(4), null },
      cbor.array { int(1), int(2), int(3), int(4), cbor.TRUE } } do
      column(2, node)
    end
    for _, node in ipairs { cbor.bytes "\1", cbor.typed(72, "i1", { 1, 1, 1, 1, 1 }),
      cbor.array { text, text, text, text, null }, cbor.array { text, int(1), text, text, text },
      cbor.array { text, text, cbor.array {}, text, text } } do
      column(3, node)
    end
  end)
end)

describe("nesting", function()
  local function deep(depth, kind)
    local open = kind == "map" and "\xA1\x61a" or "\x81"
    return cbor.raw(open:rep(depth) .. "\0")
  end

  it("deeper than 512 is refused wherever it is, however deep", function()
    for _, depth in ipairs { 514, 1000, 40000 } do
      for _, kind in ipairs { "array", "map" } do
        part("Aos", "deep", function(node) node[2][1][1] = deep(depth, kind) end)
        refuse("deep", function(_, body)
          body[select(2, get(body, "data"))] = cbor.map { "x", deep(depth, kind) }
        end)
        refuse("deep", function(header)
          table.insert(header, 1, deep(depth, kind))
          table.insert(header, 1, cbor.text "meta")
        end)
      end
      refuse("", function(header) header[2] = deep(depth) end)
      refuse("", function(_, _, parts) parts.bodyBytes = ("\x81"):rep(depth) end)
      refuse("", function(_, _, parts) parts.bodyBytes = ("\xC6"):rep(depth) end)
    end
  end)
end)

describe("counts", function()
  it("that are far too big fail at once, without memory for them", function()
    local huge = { 1 << 16, 1 << 24, 1 << 28, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 62,
      math.maxinteger, math.mininteger, -1 }
    local edits = {
      function(count, header) header.count = count end,
      function(count, header) get(header, "traits").count = count end,
      function(count, _, body) body.count = count end,
      function(count, header, body) bytes.trait(header, body, "T").count = count end,
      function(count, header, body) bytes.trait(header, body, "T")[1].count = count end,
      function(count, header, body) bytes.trait(header, body, "P")[1][1].count = count end,
      function(count, header, body) bytes.trait(header, body, "Aos")[2][1][1].count = count end,
      function(count, header, body) bytes.trait(header, body, "Aos")[2][1][2].count = count end,
      function(count, header) get(get(header, "traits")[1], "name").count = count end,
      function(count, header) get(get(header, "traits")[1], "rows").value = count end,
      function(count, _, body) get(get(body, "entities"), "used").value = count end,
      function(count, _, _, parts) parts.bodyBytes = "\xBB" .. string.pack(">i8", count) end,
    }
    for _, name in ipairs { "traits", "relations", "data" } do
      edits[#edits + 1] = function(count, _, body) get(body, name).count = count end
    end
    for _, name in ipairs { "free", "generations" } do
      edits[#edits + 1] = function(count, _, body)
        get(get(body, "entities"), name)[1].count = count
      end
    end
    for _, name in ipairs { "alive", "excluded" } do
      edits[#edits + 1] = function(count, _, body)
        get(get(body, "entities"), name).count = count
      end
    end
    refuse("", function(header) header.count = 3 end)
    collectgarbage()
    memory.reset()
    local before, started = memory.peak(), os.clock()
    for _, count in ipairs(huge) do
      for _, edit in ipairs(edits) do
        refuse("", function(...) edit(count, ...) end)
      end
    end
    assert(memory.peak() - before < 64 * 1024, (memory.peak() - before) .. " KiB")
    assert(os.clock() - started < 10)
  end)
end)
