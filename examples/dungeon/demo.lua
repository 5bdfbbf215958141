-- A turn-based fight that is saved in the middle, loaded in another process and played on.
--
--   lua5.4 demo.lua [SEED [TURNS]]           the whole demonstration
--   lua5.4 demo.lua whole SEED LOG           play a fight without a break, write its log
--   lua5.4 demo.lua save SEED TURNS FILE     play some turns, save, end
--   lua5.4 demo.lua resume FILE LOG          load, play to the end, write the log
--   lua5.4 demo.lua compare LOG LOG          are two logs equal?
--   lua5.4 demo.lua adopt FILE               play a fight that another program saved

local here = arg[0]:match "^(.*)/[^/]*$" or "."
local root = here .. "/../.."
package.path = ("%s/../?.lua;%s;%s/lua/?.lua;%s/lua/?/init.lua"):format(here, package.path, root,
  root)
package.cpath = ("%s;%s/build/?.so"):format(package.cpath, root)

local ecs = require "ecsser"
local compare = require "dungeon.compare"
local fight = require "dungeon.fight"
local process = require "dungeon.process"
local save = require "dungeon.save"
local show = require "dungeon.show"

local FOREIGN <const> = root .. "/spec/vectors/dnd-resume.json"

local function writeLog(path, lines)
  save.writeFile(path, table.concat(lines, "\n") .. "\n")
end

local function readLog(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

local commands = {}

function commands.whole(seed, logPath)
  local world <close> = fight.new(math.tointeger(seed))
  local turns = fight.play(world)
  local lines = show.lines(fight.log(world))
  show.list(lines)
  print(("After %d turns:"):format(turns))
  show.combatants(world)
  writeLog(logPath, lines)
end

function commands.save(seed, turns, path)
  local world <close> = fight.new(math.tointeger(seed))
  local played = fight.play(world, math.tointeger(turns))
  local text = save.text(world)
  save.writeFile(path, text)
  print(("  %d turns played, %d log lines, saved as %d bytes of JSON:"):format(played,
    #fight.log(world), #text))
  show.combatants(world)
end

function commands.resume(path, logPath)
  local world <close> = fight.fromText(save.readFile(path))
  local before = #fight.log(world)
  local turns = fight.play(world)
  local lines = show.lines(fight.log(world))
  print(("  loaded with %d log lines; %d turns more make %d:"):format(before, turns, #lines))
  show.combatants(world)
  writeLog(logPath, lines)
end

function commands.compare(firstPath, secondPath)
  local equal, different = compare.print(readLog(firstPath), readLog(secondPath))
  if different > 0 or equal == 0 then
    print(("FAILED: the logs differ in %d of %d lines"):format(different, equal + different))
    return false
  end
  print(("OK: the resumed log equals the uninterrupted one in all %d lines"):format(equal))
end

function commands.adopt(path)
  local world <close> = fight.fromText(save.readFile(path), 1)
  local before = #fight.log(world)
  print "  what its log says already:"
  show.list(show.lines(fight.log(world)))
  print "  and then:"
  fight.play(world)
  show.list(show.lines(fight.log(world)), before + 1)
  show.combatants(world)
end

-- The steps of the demonstration, each in a process of its own; the first failure ends it.
local function steps(seed, turns, files)
  return {
    { "A fight without interruption", "whole", seed, files.whole },
    { "The same fight again, saved within", "save", seed, turns, files.save },
    { "A new process loads the file and plays on", "resume", files.save, files.resumed },
    { "A fight that a JavaScript program saved, played on here", "adopt", FOREIGN },
    { "Both logs of the first fight", "compare", files.whole, files.resumed },
  }
end

local function demonstrate(seed, turns)
  local files = { whole = os.tmpname(), save = os.tmpname(), resumed = os.tmpname() }
  local succeeded = true
  for _, step in ipairs(steps(seed or 211, turns or 38, files)) do
    show.title(step[1])
    succeeded = process.run(table.unpack(step, 2))
    if not succeeded then break end
  end
  for _, path in pairs(files) do os.remove(path) end
  return succeeded
end

local function run(command, ...)
  if commands[command] then return commands[command](...) end
  return demonstrate(command, ...)
end

local ok, result = xpcall(run, function(err)
  if ecs.isSerializeError(err) then return ("%s (%s)"):format(err.message, err.code) end
  return debug.traceback(tostring(err), 2)
end, ...)
if not ok then io.stderr:write("FAILED: ", result, "\n") end
os.exit(ok and result ~= false, true)
