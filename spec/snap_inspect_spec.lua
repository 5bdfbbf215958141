-- inspectSnapshot: what can be known of a snapshot without a world.

local ecs = require "ecsser"
local bytes = require "spec.support.snap_bytes"
local cbor = require "spec.support.snap_cbor"
local deep = require "spec.support.deep"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"
local ser = require "spec.support.ser"
local util = require "spec.support.world_util"

describe("inspectSnapshot", function()
  it("tells every trait that is on anything, by name, with kind, version, rows and fields",
    function()
      local T = ecs.trait { { "y", 0.5 }, { "x", 1 }, { "b", true }, { "s", "" },
        { "n", ecs.null }, { "f", function() return 1 end } }
      local Ref, Aos = ecs.trait { a = 1, to = ecs.null }, ecs.trait(function() return {} end)
      local Tag, None = ecs.trait(), ecs.trait()
      local P, D = ecs.relation(), ecs.relation { store = { w = 0 } }
      local A = ecs.relation { store = function() return {} end }
      local world <close> = ser.world {
        T = { trait = T, version = 3 }, Ref = { trait = Ref, refs = { "to" } }, Aos = Aos,
        tag = Tag, none = None, P = P, D = { relation = D, version = 7 }, A = A, Key = ecs.Key,
        Away = { trait = ecs.trait { q = 1 }, transient = true },
      }
      local e = world:spawn(T, Ref, Aos, Tag, ecs.Key "k")
      local f = world:spawn(T, ecs.IsExcluded)
      world:add(e, P(f), P(e), D(e), A(f))
      world:add(T)
      local none = {}
      local header = {
        format = "ecsser-snapshot", version = 1, digest = ecs.hashWorld(world),
        traits = {
          { name = "A", kind = "pair-aos", version = 1, rows = 1, fields = none },
          { name = "Aos", kind = "aos", version = 1, rows = 1, fields = none },
          { name = "D", kind = "pair-soa", version = 7, rows = 1, fields = { { "w", "integer" } } },
          { name = "Key", kind = "aos", version = 1, rows = 1, fields = none },
          { name = "P", kind = "pair", version = 1, rows = 2, fields = none },
          { name = "Ref", kind = "soa", version = 1, rows = 1,
            fields = { { "a", "integer" }, { "to", "ref" } } },
          { name = "T", kind = "soa", version = 3, rows = 3, fields = {
            { "y", "float" }, { "x", "integer" }, { "b", "boolean" }, { "s", "string" },
            { "n", "nullable" }, { "f", "any" } } },
          { name = "tag", kind = "tag", version = 1, rows = 1, fields = none },
        },
      }
      local snapshot = ecs.saveSnapshot(world)
      deep.assertSame(header, ecs.inspectSnapshot(snapshot))
      header.meta = { title = "Caf\u{e9}", list = { 1, 2.5, ecs.null, { a = false } } }
      local with = ecs.saveSnapshot(world, { meta = header.meta, data = { secret = 1 } })
      header.digest = nil
      local got = ecs.inspectSnapshot(with)
      got.digest = nil
      deep.assertSame(header, got)
      got = ecs.saveSnapshot(world, { meta = header.meta, format = "table" }).header
      got.digest = nil
      deep.assertSame(header, got)
      got = ecs.loadSnapshot(world, with)
      got.digest, got.data = nil, nil
      deep.assertSame(header, got)
    end)

  it("agrees with the world, for random ones", function()
    local kit = kits.new()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 60)
      local header = ecs.inspectSnapshot(ecs.saveSnapshot(world))
      local before, rows = "", {}
      for _, trait in ipairs(header.traits) do
        assert.is_true(before < trait.name)   -- bytewise in the C locale of the specs
        before, rows[trait.name] = trait.name, trait.rows
      end
      for _, item in ipairs(kit.items) do
        local n = 0
        for i, e in ipairs(world:entities()) do
          if item.relation then
            n = n + (i > 1 and #world:targets(e, item.object) or 0)
          elseif world:has(e, item.object) then
            n = n + 1
          end
        end
        assert.equal(n > 0 and n or nil, rows[item.name])
      end
    end)
  end)

  it("reads the header only, but checks the digest of all", function()
    local T = ecs.trait { x = 1 }
    local world <close> = ser.world { T = T }
    world:spawn(T)
    local snapshot = ecs.saveSnapshot(world)
    local broken = bytes.edited(snapshot, function(_, _, parts) parts.bodyBytes = "no body" end)
    assert.equal("T", ecs.inspectSnapshot(broken).traits[1].name)
    ser.raises("loadSnapshot", "malformed", { "at byte" }, ecs.loadSnapshot, world, broken)
    local err = ser.raises("inspectSnapshot", "malformed", { "digest" }, ecs.inspectSnapshot,
      snapshot:sub(1, -2) .. string.char(snapshot:byte(-1) ~ 1))
    assert.equal("integer", math.type(err.offset))
  end)

  it("refuses what is no snapshot", function()
    for i, wrong in ipairs {
      "", "\0", "x", ("x"):rep(1000), "\xD9\xD9\xF7", '{"format":"ecs-serialize"}',
      cbor.write(cbor.tag(55799, cbor.array {})), cbor.write(cbor.array { cbor.int(1) }),
    } do
      local err = ser.raises("inspectSnapshot", "malformed", { "at byte " },
        ecs.inspectSnapshot, wrong)
      assert(err.offset >= 0 and err.offset <= #wrong, "offset of case " .. i)
    end
    for _, wrong in ipairs { 1, {}, print, true } do
      util.fails("inspectSnapshot", "snapshot bytes expected", function()
        ecs.inspectSnapshot(wrong)
      end)
    end
    util.fails("inspectSnapshot", "snapshot bytes expected", function() ecs.inspectSnapshot() end)
  end)
end)
