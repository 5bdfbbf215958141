-- The benchmark is only worth something when it measures what it says: the workload, that both
-- sides hold the same, and that a route which loses something is found out.

local baseline = require "bench.baseline"
local workload = require "bench.workload"
local worldChild = require "spec.support.world_child"

local T = workload.traits

--- Runs the benchmark in tiny worlds, after some code of its own.
local function smoke(before)
  return worldChild.run((before or "") .. [[
    arg = { [-1] = arg[-1], [0] = "bench/run.lua", "--smoke" }
    dofile "bench/run.lua"
  ]])
end

describe("the workload", function()
  local N = 1000
  local world, list

  before_each(function()
    world = workload.world(N)
    list = world:entities()
    table.remove(list, 1)
  end)

  after_each(function() world:close() end)

  it("gives the traits to the entities whose turn it is", function()
    assert.equal(N, world:count())
    for k, e in ipairs(list) do
      local i = k - 1
      assert.is_true(world:has(e, T.Position))
      assert.equal(i % 2 == 0, world:has(e, T.Velocity))
      assert.equal(i % 2 == 1, world:has(e, T.Health))
      assert.equal(i % 4 == 0 and "entity-" .. i or nil, world:get(e, T.Name, "value"))
      assert.equal(i % 10 == 0, world:has(e, T.Hero))
      assert.equal(i % 5 == 1, world:has(e, T.Monster))
      assert.equal(i % 4 == 1, world:has(e, T.Intent))
      assert.equal(i % 10 == 3 and 1 or 0, #world:targets(e, T.HasEffect))
      assert.equal(i % 10 == 7 and 3 or 0, #(world:get(e, T.Inventory) or {}))
    end
  end)

  it("refers to the entities that it should", function()
    for k, e in ipairs(list) do
      local i = k - 1
      local target = i % 4 == 1 and i % 8 ~= 1 and list[(i * 7 + 3) % N + 1] or nil
      assert.equal(target, (world:get(e, T.Intent, "target")))
      if i % 10 == 3 then
        assert.same({ list[(i * 13 + 1) % N + 1] }, world:targets(e, T.HasEffect))
      end
    end
  end)

  it("has numbers of the right type and range", function()
    local kinds, low, high = {}, math.huge, -math.huge
    for _, e in ipairs(list) do
      local x, y = world:get(e, T.Position, "x", "y")
      assert.equal("float", math.type(x))
      low, high = math.min(low, x, y), math.max(high, x, y)
      local hp, max = world:get(e, T.Health, "hp", "max")
      if hp then
        assert.equal("integer", math.type(hp))
        assert.is_true(hp >= 0 and hp <= 100 and max == 100)
      end
      local kind = world:get(e, T.Intent, "kind")
      if kind then kinds[kind] = (kinds[kind] or 0) + 1 end
    end
    assert.is_true(low >= -1000 and low < -990 and high < 1000 and high > 990)
    assert.is_true(kinds.attack > 50 and kinds.idle > 50 and kinds.attack + kinds.idle == N / 4)
  end)

  it("is the same in every process, and in both forms", function()
    local sum = workload.checksum(workload.view(world))
    assert.equal(-7645874698479541190, sum)
    assert.equal(sum, workload.checksum(workload.plainView(workload.plain(N))))
  end)

  it("has a checksum that any value changes", function()
    local function changed(trait, field, value, k)
      local other = workload.world(10)
      local sum = workload.checksum(workload.view(other))
      local e = other:entities()[k + 1]
      local before = other:get(e, trait, field)
      other:set(e, trait, field, value(before, other))
      local differs = workload.checksum(workload.view(other)) ~= sum
      other:set(e, trait, field, before)
      assert.equal(sum, workload.checksum(workload.view(other)))
      other:close()
      return differs
    end
    assert.is_true(changed(T.Position, "y", function(y) return y * (1 + 0x1p-52) end, 10))
    assert.is_true(changed(T.Health, "hp", function(hp) return hp + 1 end, 2))
    assert.is_true(changed(T.Health, "hp", function(hp) return hp + 0.0 end, 2))
    assert.is_true(changed(T.Name, "value", function(name) return name .. "\0" end, 1))
    assert.is_true(changed(T.Intent, "target", function(_, w) return w:entities()[4] end, 6))
  end)
end)

describe("the baseline", function()
  it("brings everything back but digits of doubles and integers as such", function()
    local plain = workload.plain(200)
    local loaded = baseline.load(baseline.save(plain))
    local lost, all = workload.losses(workload.plainView(plain), workload.plainView(loaded))
    assert.equal(0, lost.others)
    assert.is_true(lost.doubles > all.doubles * 0.9)
    assert.equal(all.integers, lost.integers)
    assert.equal(340, all.integers)   -- 100 * 2 of Health, 20 turns, 20 * 3 * 2 of items
  end)

  it("has references again, not numbers", function()
    local loaded = baseline.load(baseline.save(workload.plain(20)))
    assert.equal(loaded[(5 * 7 + 3) % 20 + 1], loaded[6].Intent.target)
    assert.equal(loaded[(3 * 13 + 1) % 20 + 1], loaded[4].HasEffect[1].target)
    assert.is_nil(loaded[2].Intent.target)
  end)

  it("is found out when it loses more", function()
    local plain, other = workload.plain(20), workload.plain(20)
    other[8].Inventory[2].name = "poison"
    other[1].Position.x = other[1].Position.x + 1e-6
    other[6].Intent.target = other[1]
    other[20].Health = nil
    local lost = workload.losses(workload.plainView(plain), workload.plainView(other))
    assert.equal(5, lost.others)
  end)
end)

describe("the benchmark", function()
  it("runs all its parts", function()
    local how, status, output = smoke()
    assert.equal("exit 0", how .. " " .. status, output)
    for _, text in ipairs {
      "W(100)", "W(200)", "baseline load: 307 of 310 doubles changed, 170 of 170 integers",
      "saveJSON : baseline save", "loadSnapshot in place", "instantiate, microseconds",
      "Memory at the peak", "move by slots",
    } do
      assert.is_truthy(output:find(text, 1, true), text .. "\n" .. output)
    end
    assert.is_truthy(output:find "\n%d+ goals missed\n$", output)
  end)

  it("fails when a route loses a value", function()
    for _, route in ipairs { "loadSnapshot", "restoreJSON", "restoreWorld", "appendSnapshot" } do
      local how, status, output = smoke(([[
        local ecs, T = require "ecsser", require "bench.workload".traits
        local route = ecs.%s
        function ecs.%s(world, ...)
          route(world, ...)
          world:set(world:entities()[2], T.Position, "x", 0.5)
        end
      ]]):format(route, route))
      assert.equal("exit 1", how .. " " .. status, output)
      assert.is_truthy(output:find "bench: .*", output)
    end
  end)

  it("fails when a save differs from the last one", function()
    local how, status, output = smoke [[
      local ecs = require "ecsser"
      local save, calls = ecs.saveSnapshot, 0
      function ecs.saveSnapshot(world)
        calls = calls + 1
        return save(world) .. (calls > 1 and "x" or "")
      end
    ]]
    assert.equal("exit 1", how .. " " .. status, output)
    assert.is_truthy(output:find("two saves differ", 1, true), output)
  end)
end)

