-- Worlds with many traits, and traits with many fields: what a save and a restore keep on the
-- stack must have room there. In a coroutine the stack is small at first.

local ecs = require "ecsser"

local function wide(count)
  local fields <const> = {}
  for i = 1, count do fields[i] = { "f" .. i, i } end
  return ecs.trait(fields), ecs.relation { store = fields }
end

local function newWorld(entries)
  local world = ecs.createWorld()
  ecs.registerTraits(world, entries)
  return world
end

-- What comes back from the text, the quick way and the general one, and from a table.
local function assertKept(entries, build)
  coroutine.wrap(function()
    local world <close> = newWorld(entries)
    build(world)
    local text, saved = ecs.saveJSON(world), ecs.saveWorld(world)
    for _, from in ipairs { text, " " .. text, saved } do
      local other <close> = newWorld(entries)
      local restore = from == saved and ecs.restoreWorld or ecs.restoreJSON
      restore(other, from)
      assert.equal(text, ecs.saveJSON(other))
    end
  end)()
end

describe("the text of a world", function()
  it("may have traits with many fields", function()
    for count = 30, 250, 11 do
      local trait, relation = wide(count)
      assertKept({ { "Wide", trait }, { "With", relation }, { "Last", ecs.trait { a = 1 } } },
        function(world)
          local e = world:spawn(trait)
          world:add(e, relation(e))
        end)
    end
  end)

  it("may have many traits", function()
    for _, count in ipairs { 70, 300 } do
      local entries <const>, traits <const> = {}, {}
      for i = 1, count do
        traits[i] = ecs.trait { a = i, b = "", c = ecs.null }
        entries[i] = { "T" .. i, traits[i] }
      end
      assertKept(entries, function(world)
        world:spawn(table.unpack(traits, 1, 60))
        for i = 1, count do world:spawn(traits[i]) end
        world:add(traits[count])
      end)
    end
  end)
end)
