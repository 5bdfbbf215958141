-- Prefabs: what was built once in a workshop is kept as a scene and comes alive in levels as often
-- as wanted, moved by an offset and finished by a patch. Scenes may be made of scenes, and are
-- plain bytes, to be kept in a file.
--
--   lua5.4 prefab.lua [TOWERS]
--
-- Ends with status 0 only if everything is where and what it should be.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = ("%s;%s/../lua/?.lua;%s/../lua/?/init.lua"):format(package.path, here, here)
package.cpath = ("%s;%s/../build/?.so"):format(package.cpath, here)

local ecs = require "ecsser"

local Position = ecs.trait { x = 0.0, y = 0.0 }
local Look = ecs.trait { glyph = "?", colour = "grey" }
local Health = ecs.trait { hp = 10, max = 10 }
local Aim = ecs.trait { at = ecs.null }   -- an entity
local PartOf = ecs.relation { exclusive = true, autoDestroy = "orphan" }
local Guards = ecs.relation { store = { since = 0 } }

-- Every world of the game knows its traits by these names; so do the bytes.
local function newWorld()
  local world = ecs.createWorld()
  ecs.registerTraits(world, {
    Position = Position, Look = Look, Health = Health, Aim = { trait = Aim, refs = { "at" } },
    PartOf = PartOf, Guards = Guards, Key = ecs.Key,
  })
  return world
end

local passed, failed = 0, 0

local function check(condition, what)
  passed, failed = passed + (condition and 1 or 0), failed + (condition and 0 or 1)
  print(("  %-6s%s"):format(condition and "ok" or "WRONG", what))
end

local function title(text)
  print("\n== " .. text)
end

-- ---- The workshop ---------------------------------------------------------------------------

-- A tower with a gun on top and two guards, around the origin.
local function buildTower(world)
  local tower = world:spawn(Position, Look { glyph = "T" }, Health { hp = 50, max = 50 })
  world:spawn(Position { y = 1.0 }, Look { glyph = "^" }, PartOf(tower), Aim)
  for i = -1, 1, 2 do
    world:spawn(Position { x = 1.0 * i }, Look { glyph = "g" }, Health, Guards(tower))
  end
end

-- A keep with a gate on either side, and a tower at each end: a scene made with another one.
local function buildFort(world, tower)
  local keep = world:spawn(Position, Look { glyph = "#" }, Health { hp = 200, max = 200 })
  for i = -1, 1, 2 do
    world:spawn(Position { x = 2.0 * i }, Look { glyph = "n" }, PartOf(keep))
    tower:instantiate(world, {
      offset = { Position = { x = 5.0 * i } },
      patch = function(entities)
        world:add(entities[1], PartOf(keep))
        world:set(entities[2], Aim, "at", keep)   -- guns guard the keep until there is an enemy
      end,
    })
  end
end

-- Only the tower: other things lie around in a workshop.
local function towerScene(world)
  local tower = world:query(Health, ecs.Not(Guards "*"))[1]
  return ecs.scene(world, { filter = function(entity)
    return entity == tower or world:has(entity, PartOf(tower)) or world:has(entity, Guards(tower))
  end, meta = { author = "the workshop" } })
end

-- ---- The level ------------------------------------------------------------------------------

local COLOURS <const> = { "red", "green", "blue" }

local function colourOf(i)
  return COLOURS[(i - 1) % #COLOURS + 1]
end

-- Towers in a row, each of the colour of its owner, with a name to be found by.
local function placeTowers(world, scene, n)
  local placed = {}
  for i = 1, n do
    placed[i] = scene:instantiate(world, {
      offset = { Position = { x = 10.0 * i }, Guards = { since = i } },
      patch = function(entities)
        for _, entity in ipairs(entities) do
          world:set(entity, Look, "colour", colourOf(i))
        end
        world:add(entities[1], ecs.Key("tower " .. i))
        world:set(entities[1], Health, { hp = 40 + i })
      end,
    })
  end
  return placed
end

-- The level from above, one character per entity.
local function draw(world)
  local rows, width = {}, 0
  for _, position, look in world:each(Position, Look) do
    local row, column = math.floor(position.y), math.floor(position.x) + 8
    rows[row] = rows[row] or {}
    rows[row][column] = look.glyph
    width = math.max(width, column)
  end
  local order = {}
  for row in pairs(rows) do order[#order + 1] = row end
  table.sort(order, function(a, b) return a > b end)
  for _, row in ipairs(order) do
    local text = {}
    for column = 1, math.min(width, 76) do text[column] = rows[row][column] or " " end
    print("  " .. table.concat(text))
  end
end

-- True when each tower of the list is the prefab, at its place, in its colour.
local function towersStand(world, placed)
  for i, list in ipairs(placed) do
    local x, y = world:get(list[1], Position, "x", "y")
    local gun = list[2]
    local good = #list == 4 and x == 10.0 * i and y == 0.0
      and world:get(gun, Position, "x") == x and world:get(gun, Position, "y") == 1.0
      and world:targets(gun, PartOf)[1] == list[1] and #world:sources(list[1], Guards) == 2
      and world:get(list[3], Position, "x") == x - 1 and world:get(list[4], Position, "x") == x + 1
      and world:get(list[4], Guards(list[1]), "since") == i
      and world:get(list[1], Health, "hp") == 40 + i and world:find("tower " .. i) == list[1]
      and world:get(list[1], Look, "colour") == colourOf(i)
      and world:get(list[4], Look, "colour") == colourOf(i)
    if not good then return false end
  end
  return true
end

local function checkTowers(world, placed, scene)
  check(world:count() == 4 * #placed, ("%d towers are %d entities"):format(#placed, world:count()))
  check(towersStand(world, placed),
    "each is at its place, with its colour, its gun and its guards")
  local shots = 0
  for i = 2, #placed do
    world:set(placed[i][2], Aim, "at", placed[i - 1][1])
    shots = shots + 1
  end
  check(towersStand(world, placed) and shots == #placed - 1,
    "a change to one changes no other and not the prefab")
  world:destroy(placed[#placed][1])
  check(not world:isAlive(placed[#placed][2]) and world:count() == 4 * #placed - 2,
    "a tower takes its gun along when it falls; its guards stay")
  local again = scene:instantiate(world)
  check(world:get(again[1], Look, "colour") == "grey" and world:get(again[1], Position, "x") == 0.0
    and world:get(again[1], Health, "hp") == 50, "a new one is as it was in the workshop")
  return again
end

local function checkFort(world, fort)
  local before = world:count()
  local west = fort:instantiate(world, { offset = { Position = { x = 6.0, y = 4.0 } } })
  local east = fort:instantiate(world, { offset = { Position = { x = 30.0, y = 4.0 } } })
  check(world:count() == before + 2 * fort.entityCount and fort.entityCount == 11,
    "two forts of two towers each are 22 entities")
  local aims = 0
  for _, list in ipairs { west, east } do
    for _, entity in ipairs(list) do
      if world:has(entity, Aim) and world:get(entity, Aim, "at") == list[1] then
        aims = aims + 1
      end
    end
  end
  check(aims == 4, "the guns of each fort aim at its own keep")
  return west, east
end

local function checkBytes(scene)
  local header = ecs.inspectSnapshot(scene.bytes)
  check(header.meta.author == "the workshop", "the bytes say who made it")
  local copy <close> = newWorld()
  local loaded = ecs.scene(scene.bytes)
  local one, two = scene:instantiate(copy), loaded:instantiate(copy)
  check(#one == #two and loaded.bytes == scene.bytes, "a scene from these bytes is the same scene")
end

local function story(towers)
  title "In the workshop"
  local workshop <close> = newWorld()
  workshop:spawn(Look { glyph = "a hammer" })
  buildTower(workshop)
  local tower = towerScene(workshop)
  print(("  a tower: %d entities, %d bytes, traits %s"):format(tower.entityCount, #tower.bytes,
    table.concat(tower.traitNames, ", ")))
  local yard <close> = newWorld()
  buildFort(yard, tower)
  local fort = ecs.scene(yard)
  print(("  a fort: %d entities, %d bytes"):format(fort.entityCount, #fort.bytes))

  title(("A level with %d towers"):format(towers))
  local level <close> = newWorld()
  local placed = placeTowers(level, tower, towers)
  draw(level)
  local again = checkTowers(level, placed, tower)
  for _, entity in ipairs(again) do
    if level:isAlive(entity) then level:destroy(entity) end
  end

  title "Two forts behind them"
  local west, east = checkFort(level, fort)
  draw(level)
  level:destroy(west[1])
  check(not level:isAlive(west[2]) and level:isAlive(east[1]),
    "when a keep falls, its fort falls with it, and no other")

  title "As bytes"
  checkBytes(tower)
  local copy <close> = newWorld()
  ecs.loadSnapshot(copy, ecs.saveSnapshot(level))
  check(ecs.hashWorld(copy) == ecs.hashWorld(level), "the level itself is saved as any world is")
end

local ok, err = xpcall(story, debug.traceback, math.tointeger(tonumber(arg[1] or "5")))
if not ok then io.stderr:write(tostring(err), "\n") end
local good = ok and failed == 0 and passed > 0
print(good and ("\nOK: all %d checks passed"):format(passed)
  or ("\nFAILED: %s"):format(ok and failed .. " checks" or "the story broke off"))
os.exit(good, true)
