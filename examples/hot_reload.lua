-- A game whose code is changed while it runs. The module of the units is loaded anew with other
-- schemas; the world is kept by a snapshot, and `migrate` brings the values from what they were
-- to what they are now. A change that does not work leaves the game as it was.
--
--   lua5.4 hot_reload.lua [TICKS]
--
-- Ends with status 0 only if nothing was lost on the way.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = ("%s;%s/../lua/?.lua;%s/../lua/?/init.lua"):format(package.path, here, here)
package.cpath = ("%s;%s/../build/?.so"):format(package.cpath, here)

local ecs = require "ecsser"

local passed, failed = 0, 0

local function check(condition, what)
  passed, failed = passed + (condition and 1 or 0), failed + (condition and 0 or 1)
  print(("  %-6s%s"):format(condition and "ok" or "WRONG", what))
end

local function title(text)
  print("\n== " .. text)
end

-- ---- The module "units", as its file reads after each edit ----------------------------------

local editions = {}

editions[1] = [[
local ecs = require "ecsser"
local units = {}

units.Unit = ecs.trait { name = "Nobody None", hp = 10, x = 0, y = 0 }
units.Order = ecs.trait { kind = "idle", target = ecs.null }
units.Follows = ecs.relation { exclusive = true, store = { distance = 1 } }

function units.register(world)
  ecs.registerTraits(world, {
    Unit = units.Unit, Order = { trait = units.Order, refs = { "target" } },
    Follows = units.Follows, Key = ecs.Key,
  })
end

-- Everyone walks one step to the right; who attacks takes one from the target.
function units.tick(world)
  for unit, data in world:each(units.Unit) do world:set(unit, units.Unit, "x", data.x + 1) end
  for _, order in world:each(units.Order) do
    if order.kind == "attack" then
      local hp = world:get(order.target, units.Unit, "hp")
      world:set(order.target, units.Unit, "hp", math.max(0, hp - 1))
    end
  end
end

function units.describe(world, unit)
  local data = world:get(unit, units.Unit)
  return ("%s, %d hp, at %d, %d"):format(data.name, data.hp, data.x, data.y)
end

return units
]]

-- The name becomes two fields, hit points get a maximum, there is morale; places and distances
-- become floats, and "Order" is now called "Intent".
editions[2] = [[
local ecs = require "ecsser"
local units = {}

units.Unit = ecs.trait {
  first = "Nobody", last = "None", hp = 10, max = 10, x = 0.0, y = 0.0, morale = 100,
}
units.Intent = ecs.trait { kind = "idle", target = ecs.null, since = 0 }
units.Follows = ecs.relation { exclusive = true, store = { distance = 1.0 } }

local function migrateUnit(old)
  local first, last = old.name:match "^(%S+) (.+)$"
  return {
    first = first, last = last, hp = old.hp, max = math.max(10, old.hp), x = old.x + 0.0,
    y = old.y + 0.0,
  }
end

function units.register(world)
  ecs.registerTraits(world, {
    Unit = { trait = units.Unit, version = 2, migrate = migrateUnit },
    Intent = { trait = units.Intent, refs = { "target" }, formerly = { "Order" } },
    Follows = units.Follows, Key = ecs.Key,
  })
end

function units.tick(world)
  for unit, data in world:each(units.Unit) do world:set(unit, units.Unit, "x", data.x + 0.5) end
  for _, intent in world:each(units.Intent) do
    if intent.kind == "attack" then
      local hp, morale = world:get(intent.target, units.Unit, "hp", "morale")
      world:set(intent.target, units.Unit, { hp = math.max(0, hp - 1), morale = morale - 5 })
    end
  end
end

function units.describe(world, unit)
  local data = world:get(unit, units.Unit)
  return ("%s %s, %d/%d hp, morale %d, at %.1f, %.1f"):format(data.first, data.last, data.hp,
    data.max, data.morale, data.x, data.y)
end

return units
]]

-- Hit points become a share of the maximum. Who wrote this forgot that the dead have none: the
-- step from version 2 to 3 fails for one of the units.
editions[3] = [[
local ecs = require "ecsser"
local units = assert(load(require "editions"[2], "=units"))()

units.Unit = ecs.trait { name = "Nobody None", health = 1.0, x = 0.0, y = 0.0, morale = 100 }

local steps = {}

function steps.from1(old)
  local first, last = old.name:match "^(%S+) (.+)$"
  return {
    first = first, last = last, hp = old.hp, max = math.max(10, old.hp), x = old.x + 0.0,
    y = old.y + 0.0, morale = 100,
  }
end

function steps.from2(old)
  if old.hp == 0 then error "a unit without hit points" end
  return {
    name = old.first .. " " .. old.last, health = old.hp / old.max, x = old.x, y = old.y,
    morale = old.morale,
  }
end

function units.register(world)
  ecs.registerTraits(world, {
    Unit = { trait = units.Unit, version = 3, migrate = function(value, from)
      return steps["from" .. from](value)
    end },
    Intent = { trait = units.Intent, refs = { "target" }, formerly = { "Order" } },
    Follows = units.Follows, Key = ecs.Key,
  })
end

function units.tick() end

function units.describe(world, unit)
  local data = world:get(unit, units.Unit)
  return ("%s, health %.2f, morale %d, at %.1f, %.1f"):format(data.name, data.health, data.morale,
    data.x, data.y)
end

return units
]]

editions[4] = editions[3]:gsub("  if old.hp == 0 then error .- end\n", "")

-- The "disk": require "units" reads the edition that is current.
local current = 1
package.preload.editions = function() return editions end
package.preload.units = function()
  return assert(load(editions[current], ("=units (edition %d)"):format(current)))()
end

-- ---- The game -------------------------------------------------------------------------------

local game = {}

function game.start()
  game.units = require "units"
  game.world = ecs.createWorld()
  game.units.register(game.world)
  local Unit, Order, Follows = game.units.Unit, game.units.Order, game.units.Follows
  local world = game.world
  world:destroy(world:spawn())   -- so that slots and generations are not just 1, 2, 3
  local orc = world:spawn(Unit { name = "Grom Gash", hp = 25, x = 9 }, ecs.Key "orc")
  local rat = world:spawn(Unit { name = "Rat Fink", hp = 2, y = 3 }, ecs.Key "rat")
  local hero = world:spawn(Unit { name = "Ada of the Hill", hp = 20 }, ecs.Key "hero",
    Order { kind = "attack", target = orc })
  world:spawn(Unit { name = "Bo Low", hp = 8, x = -1 }, ecs.Key "squire",
    Order { kind = "attack", target = rat }, Follows(hero, { distance = 2 }))
end

function game.play(ticks)
  for _ = 1, ticks do game.units.tick(game.world) end
end

local KEYS <const> = { "hero", "orc", "rat", "squire" }

function game.show()
  for _, key in ipairs(KEYS) do
    print(("  %-7s %s"):format(key, game.units.describe(game.world, game.world:find(key))))
  end
end

-- Loads the code anew and moves the world over to it. When anything fails, code and world are the
-- old ones still, and the error is returned. Handles belong to a world: whoever keeps some asks the
-- new one for them, by key.
function game.reload(edition)
  local before, old = current, game.units
  local bytes = ecs.saveSnapshot(game.world)
  local world = ecs.createWorld()
  current, package.loaded.units = edition, nil
  local ok, err = pcall(function()
    local units = require "units"
    units.register(world)
    ecs.loadSnapshot(world, bytes)
    game.units = units
  end)
  if ok then
    game.world:close()
    game.world = world
    return nil
  end
  world:close()
  current, package.loaded.units, game.units = before, old, old
  return err
end

-- ---- What must hold after a reload ----------------------------------------------------------

-- Slots and generations by key: the part of a handle that a snapshot keeps.
local function places()
  local out = {}
  for _, key in ipairs(KEYS) do
    local _, generation, slot = ecs.unpack(game.world:find(key))
    out[#out + 1] = ("%s %d/%d"):format(key, slot, generation)
  end
  return table.concat(out, ", ")
end

local function checkKept(before)
  local world, units = game.world, game.units
  local Goal = units.Order or units.Intent
  check(places() == before, "every unit is where it was: " .. before)
  check(world:count() == #KEYS, "there is no unit more or less")
  local hero, squire = world:find "hero", world:find "squire"
  check(world:get(hero, Goal, "target") == world:find "orc"
    and world:get(squire, Goal, "target") == world:find "rat", "the hero still hates the orc")
  check(world:targets(squire, units.Follows)[1] == hero
    and world:sources(hero, units.Follows)[1] == squire, "the squire still follows the hero")
end

local function firstReload(ticks)
  title "Edition 2: two names, a maximum, morale; Order is called Intent"
  local before = places()
  local hp = game.world:get(game.world:find "orc", game.units.Unit, "hp")
  local err = game.reload(2)
  check(not err, "the code is loaded, the world moved over" .. (err and ", but " .. tostring(err)
    or ""))
  game.show()
  checkKept(before)
  local world, units = game.world, game.units
  local orc = world:get(world:find "orc", units.Unit)
  check(orc.hp == hp and orc.max == math.max(10, hp) and orc.morale == 100
    and math.type(orc.x) == "float", "hit points are kept, what is new has its default")
  local distance = world:get(world:find "squire", units.Follows(world:find "hero"), "distance")
  check(math.type(distance) == "float" and distance == 2.0, "the distance is a float now")
  game.play(ticks)
  check(world:get(world:find "orc", units.Unit, "morale") == 100 - 5 * ticks,
    ("%d ticks of the new code hurt the orc's morale"):format(ticks))
end

local function failingReload()
  title "Edition 3: a share instead of hit points, with a mistake"
  local before, hash = places(), ecs.hashWorld(game.world)
  local units = game.units
  local err = game.reload(3)
  print("  " .. tostring(err))
  if ecs.isSerializeError(err) then print("  because: " .. tostring(err.cause)) end
  check(ecs.isSerializeError(err) and err.code == "codec-error"
    and tostring(err.cause):find("without hit points", 1, true), "the reload failed, and says why")
  check(ecs.hashWorld(game.world) == hash and game.units == units and require "units" == units,
    "the game goes on with the old code and the world as it was")
  checkKept(before)
end

local function lastReload(original)
  title "Edition 4: the mistake is gone"
  local before = places()
  local world, units = game.world, game.units
  local shares = {}
  for i, key in ipairs(KEYS) do
    local hp, max = world:get(world:find(key), units.Unit, "hp", "max")
    shares[i] = hp / max
  end
  check(not game.reload(4), "the code is loaded, the world moved over")
  game.show()
  checkKept(before)
  local same = true
  for i, key in ipairs(KEYS) do
    same = same and game.world:get(game.world:find(key), game.units.Unit, "health") == shares[i]
  end
  check(same, "everyone has the share that was left")
  local fresh <close> = ecs.createWorld()
  game.units.register(fresh)
  ecs.loadSnapshot(fresh, original)
  local ada = fresh:get(fresh:find "hero", game.units.Unit)
  check(ada.name == "Ada of the Hill" and ada.health == 1.0 and ada.morale == 100,
    "a save from before all edits loads as well, over both steps")
end

local function story(ticks)
  title "Edition 1"
  game.start()
  game.play(ticks)
  game.show()
  local original = ecs.saveSnapshot(game.world)
  firstReload(ticks)
  failingReload()
  lastReload(original)
  game.world:close()
end

local ok, err = xpcall(story, debug.traceback, math.tointeger(tonumber(arg[1] or "3")))
if not ok then io.stderr:write(tostring(err), "\n") end
local good = ok and failed == 0 and passed > 0
print(good and ("\nOK: all %d checks passed"):format(passed)
  or ("\nFAILED: %s"):format(ok and failed .. " checks" or "the story broke off"))
os.exit(good, true)
