local ecs = require "ecsser"

describe("ecs.findStrayHandles", function()
  local world, refs, soa, aos, coded, pair, owner, other

  before_each(function()
    world = ecs.createWorld()
    refs = ecs.trait { target = ecs.null, note = ecs.null }
    soa = ecs.trait { who = 0, list = function() return {} end }
    aos = ecs.trait(function() return {} end)
    coded = ecs.trait(function() return {} end)
    pair = ecs.relation { store = { by = 0 } }
    local function same(value) return value end
    ecs.registerTraits(world, {
      Refs = { trait = refs, refs = { "target" } }, Soa = soa, Aos = aos, Pair = pair,
      Coded = { trait = coded, codec = { toJSON = same, fromJSON = same } },
    })
    owner, other = world:spawn(), world:spawn()
  end)

  local function found()
    local list = {}
    for i, place in ipairs(ecs.findStrayHandles(world)) do
      list[i] = place.trait .. ":" .. place.path
      assert.equal(other, place.value)
    end
    table.sort(list)
    return list
  end

  it("finds nothing where handles are declared or under a codec", function()
    world:add(owner, refs { target = other }, coded { other }, pair(other, { by = 3 }))
    world:add(owner, soa { who = 17 }, aos { 1, 2, "x", { y = 2 ^ 40 } })
    assert.same({}, ecs.findStrayHandles(world))
  end)

  it("finds them in fields, in nested values, as keys, in pair data and as floats", function()
    world:add(owner, refs { target = other, note = other })
    world:add(owner, soa { who = other, list = { { id = other } } })
    world:add(owner, aos { mine = { [other] = true }, float = other + 0.0 })
    world:add(owner, pair(owner, { by = other }))
    assert.same({
      "Aos:float", 'Aos:mine[' .. (other - 1) .. ']', "Pair:by", "Refs:note", "Soa:list[0].id",
      "Soa:who",
    }, found())
  end)

  it("names the entity that holds it, also the world entity", function()
    world:add(aos { other })
    local place = ecs.findStrayHandles(world)[1]
    assert.equal(world:entities()[1], place.entity)
    assert.same({ "Aos", "[0]", other }, { place.trait, place.path, place.value })
  end)

  it("does not take dead or foreign handles for live ones", function()
    local foreign = ecs.createWorld():spawn()
    world:add(owner, aos { other, foreign })
    world:destroy(other)
    assert.same({}, ecs.findStrayHandles(world))
  end)

  it("ends on cycles and shared tables, runs no metamethod, and changes nothing", function()
    local loop = { other }
    loop.loop = loop
    world:add(owner, aos(setmetatable({ loop, loop }, { __index = error, __pairs = error })))
    assert.same({ "Aos:[0][0]" }, found())
    local deep = {}
    for _ = 1, 100000 do deep = { deep } end
    world:set(owner, aos, deep)
    assert.same({}, ecs.findStrayHandles(world))
    assert.equal(2, world:count())
  end)

  it("tells misuse at the caller's place", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, message = pcall(function() return (ecs.findStrayHandles(7)) end)
    assert.is_false(ok)
    assert.equal(("spec/stray_spec.lua:%d: findStrayHandles: bad world (world expected, " ..
      "got number)"):format(line), message)
  end)
end)
