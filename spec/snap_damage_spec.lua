-- P4: every damaged snapshot is refused with code and offset, and the world stays as it was.

local ecs = require "ecsser"
local golden = require "spec.support.snap_golden"
local kits = require "spec.support.snap_kit"
local random = require "spec.support.random"

local load, isOurs = ecs.loadSnapshot, ecs.isSerializeError

-- A world with other content than the golden one, and a function that tells whether it changed.
local function target(g)
  local world, traits = golden.world(g)
  local Mine = ecs.trait { x = 1 }
  if not g.kit then ecs.registerTraits(world, { ["mine!"] = Mine }) end
  if not g.kit then world:spawn(Mine { x = 5 }) end
  for _ = 1, 3 do world:spawn() end
  if g.kit then traits:run(random.new(3), world, 30) end
  local hash, x, all = ecs.hashWorld(world), world:column(Mine, "x"), world:entities()
  return world, function()
    assert.equal(hash, ecs.hashWorld(world))
    assert.equal(x, world:column(Mine, "x"))
    assert.same(all, world:entities())
  end
end

-- Expects that these bytes are refused; the offset lies in them.
local function refuse(world, bytes, what, ...)
  local ok, err = pcall(load, world, bytes)
  if ok then error(what:format(...) .. " was loaded") end
  if not isOurs(err) or err.code ~= "malformed" then
    error(what:format(...) .. ": " .. tostring(err))
  end
  local offset = err.offset
  if math.type(offset) ~= "integer" or offset < 0 or offset > #bytes then
    error(("%s: offset %s"):format(what:format(...), offset))
  end
end

describe("of the golden snapshot", function()
  for _, g in ipairs(golden.list) do
    it(g.name .. " every prefix is refused", function()
      local world <close>, unchanged = target(g)
      local bytes = golden.read(g)
      for n = 0, #bytes - 1 do refuse(world, bytes:sub(1, n), "the prefix of %d bytes", n) end
      unchanged()
      assert.is_false(pcall(ecs.inspectSnapshot, bytes:sub(1, -2)))
      for _, more in ipairs { "\0", "x", bytes, ("\0"):rep(100) } do
        refuse(world, bytes .. more, "bytes behind it")
        refuse(world, more .. bytes, "bytes before it")
      end
      unchanged()
      load(world, bytes)
    end)

    it(g.name .. " every single bit is guarded", function()
      local world <close>, unchanged = target(g)
      local bytes = golden.read(g)
      for i = 1, #bytes do
        local before, byte, after = bytes:sub(1, i - 1), bytes:byte(i), bytes:sub(i + 1)
        for bit = 0, 7 do
          local flipped = before .. string.char(byte ~ 1 << bit) .. after
          refuse(world, flipped, "bit %d of byte %d flipped", bit, i)
        end
        if i % 64 == 0 then unchanged() end
      end
      unchanged()
      load(world, bytes)
    end)
  end
end)

describe("of random snapshots", function()
  local kit = kits.new()

  it("bytes that are changed, gone, doubled or swapped are found", function()
    random.rounds(200, function(rng)
      local world <close> = kit:random(rng, 60)
      local bytes, hash = ecs.saveSnapshot(world), ecs.hashWorld(world)
      local function place() return rng:int(1, #bytes) end
      for _ = 1, 100 do
        local i, k = place(), place()
        if i > k then i, k = k, i end
        local damaged
        local what = rng:int(1, 5)
        if what == 1 then
          damaged = bytes:sub(1, i - 1) .. string.char(rng:int(0, 255)) .. bytes:sub(i + 1)
        elseif what == 2 then
          damaged = bytes:sub(1, i - 1) .. bytes:sub(k)
        elseif what == 3 then
          damaged = bytes:sub(1, k) .. bytes:sub(i)
        elseif what == 4 then
          damaged = bytes:sub(1, i) .. ("\0"):rep(rng:int(1, 9)) .. bytes:sub(i + 1)
        else
          damaged = bytes:sub(1, i - 1) .. ("\0"):rep(k - i) .. bytes:sub(k)
        end
        if damaged ~= bytes then refuse(world, damaged, "damage %d at %d..%d", what, i, k) end
      end
      assert.equal(hash, ecs.hashWorld(world))
    end)
  end)

  it("what is no snapshot at all is refused", function()
    local world <close> = kit:world()
    random.rounds(200, function(rng)
      for _ = 1, 100 do
        local noise = {}
        for i = 1, rng:int(1, 40) do noise[i] = string.char(rng:int(0, 255)) end
        refuse(world, table.concat(noise), "noise")
        refuse(world, "\xD9\xD9\xF7\x85\x6Fecsser-snapshot\1" .. table.concat(noise), "noise")
      end
    end)
    assert.equal(0, world:count())
  end)
end)
