-- Planets and ships whose components are instances of classes: saved, and recalled with their
-- classes after all code was loaded anew, as on a hot reload during development.
--
--   lua5.4 galaxy.lua [TICKS]
--
-- Ends with status 0 only if everything that was recalled is what was saved.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = ("%s/?.lua;%s;%s/../lua/?.lua;%s/../lua/?/init.lua"):format(here, package.path, here,
  here)
package.cpath = ("%s;%s/../build/?.so"):format(package.cpath, here)

local check = require "galaxy.check"
local game = require "galaxy.game"
local reload = require "galaxy.reload"

local MORE <const> = 12   -- ticks that are played on afterwards, with and without the reload

local function title(text)
  print("\n== " .. text)
end

local function show(lines)
  for _, line in ipairs(lines) do print("  " .. line) end
end

-- The developer wants to read at a glance whether a planet thrives.
local function editAndReload()
  reload.edit("galaxy.components", 'return table.concat(parts, " ")', [[
  local trend = self:perTick() < 0 and "declining" or "thriving"
  return trend .. ": " .. table.concat(parts, ", ")]])
  return reload.all "galaxy.game"
end

-- The entities of the one world with those of the same name in the other.
local function twinsOf(before, old, after)
  local twins = {}
  for i, entity in ipairs(before:entities()) do
    if i > 1 then twins[entity] = after:find(old.nameOf(before, entity)) end   -- 1 is the world's
  end
  return twins
end

-- All pairs of instances, one from each world: { old, new, oldClass, newClass }.
local function instancePairs(before, old, after, new, twins)
  local list = {}
  for entity, twin in pairs(twins) do
    for i, item in ipairs(old.instances) do
      if before:has(entity, item.trait) then
        local newItem = new.instances[i]
        list[#list + 1] = { before:get(entity, item.trait), after:get(twin, newItem.trait),
          item.class, newItem.class }
      end
    end
  end
  return list
end

local function checkInstances(list, twins)
  local current, stale, differ = 0, 0, nil
  for _, pair in ipairs(list) do
    local was, is, oldClass, newClass = table.unpack(pair)
    current = current + (getmetatable(is) == newClass and 1 or 0)
    stale = stale + (getmetatable(is) == oldClass and 1 or 0)
    differ = differ or check.difference(was, is, twins, oldClass.__name)
  end
  check.that(#list > 0 and current == #list,
    ("%d of %d components have their class, as it is now"):format(current, #list))
  check.that(stale == 0, ("%d have a class of the code that is gone"):format(stale))
  check.that(not differ, "the fields are equal, references lead to the entity of the same name"
    .. (differ and (", but not " .. differ) or ""))
end

local function checkAll(before, old, after, new, text)
  check.that(before:count() == after:count(),
    ("%d entities were saved, %d recalled"):format(before:count(), after:count()))
  local twins = twinsOf(before, old, after)
  checkInstances(instancePairs(before, old, after, new, twins), twins)
  check.that(new.serialize(after) == text, "saved again it is the same text, byte for byte")
  local is, was = table.concat(new.describe(after), "\n"), table.concat(old.describe(before), "\n")
  check.that(is:find("thriving", 1, true) and not was:find("thriving", 1, true),
    "the changed method is the one that runs")
  old.play(before, MORE)
  new.play(after, MORE)
  check.that(new.serialize(after) == old.serialize(before),
    ("%d ticks more make it the galaxy that was never interrupted"):format(MORE))
end

local function story(ticks)
  title(("A galaxy after %d ticks"):format(ticks))
  local before <close> = game.new()
  game.play(before, ticks)
  show(game.describe(before))

  local text = game.serialize(before)
  title(("Saved as %d bytes of JSON; one component of it"):format(#text))
  print("  " .. (text:match '"Lifeforce":({.-}%],.-})' or "there is none"))

  title "The method HasLifeforce:describe is edited, and all modules are loaded anew"
  local newGame = editAndReload()
  local after <close> = newGame.recall(text)
  show(newGame.describe(after))

  title "What was recalled, compared with what was saved"
  checkAll(before, game, after, newGame, text)
end

local ok, err = xpcall(story, debug.traceback, math.tointeger(tonumber(arg[1] or "9")))
if not ok then io.stderr:write(tostring(err), "\n") end
local good = ok and check.failed == 0 and check.passed > 0
print(good and ("\nOK: all %d checks passed"):format(check.passed)
  or ("\nFAILED: %s"):format(ok and check.failed .. " checks" or "the story broke off"))
os.exit(good, true)
