-- The demo and the README, run as a user runs them: in processes of their own. The fights of
-- many seeds run in this process.

local cjson = require "cjson"

package.path = "examples/?.lua;" .. package.path

local fight = require "dungeon.fight"
local save = require "dungeon.save"
local traits = require "dungeon.traits"
local turn = require "dungeon.turn"

local DEMO <const> = "examples/dungeon/demo.lua"
local FOREIGN <const> = "spec/vectors/dnd-resume.json"

local function quote(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end

local function interpreter()
  local lowest = -1
  while arg[lowest - 1] do lowest = lowest - 1 end
  return arg[lowest] or "lua5.4"
end

-- Runs a Lua script; returns its exit code and its output, errors included.
local function run(...)
  local words = {
    "LUA_PATH_5_4=" .. quote(package.path), "LUA_CPATH_5_4=" .. quote(package.cpath),
    quote(interpreter()),
  }
  for _, word in ipairs { ... } do words[#words + 1] = quote(word) end
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
  local output = pipe:read("a")
  local _, _, code = pipe:close()
  return code, output
end

local function lastLine(output)
  return output:match("([^\n]*)\n*$")
end

describe("the dungeon demo", function()
  local files

  before_each(function()
    files = { whole = os.tmpname(), save = os.tmpname(), resumed = os.tmpname() }
  end)

  after_each(function()
    for _, path in pairs(files) do os.remove(path) end
  end)

  it("plays a fight, saves it, resumes it in another process and finds both equal", function()
    local code, output = run(DEMO)
    assert.equal(0, code, output)
    local _, equal = output:gsub("\n  = Round", "")
    assert.equal(("OK: the resumed log equals the uninterrupted one in all %d lines")
      :format(equal), lastLine(output))
    assert.is_true(equal > 40)
    assert.truthy(output:find("Der Ork brüllt — «Ха!»", 1, true))
    assert.truthy(output:find("The fight is won", 1, true))
  end)

  it("takes another seed and number of turns", function()
    local code, output = run(DEMO, 12, 3)
    assert.equal(0, code, output)
    assert.truthy(output:find("3 turns played", 1, true))
    assert.truthy(lastLine(output):find("^OK: "))
  end)

  local function saveAfter(turns)
    assert.equal(0, (run(DEMO, "whole", 211, files.whole)))
    assert.equal(0, (run(DEMO, "save", 211, turns, files.save)))
  end

  -- Resumes a save that `tamper` has changed. Returns the code and output of the process that
  -- resumed it, then those of the comparison.
  local function resumeTampered(tamper)
    saveAfter(38)
    local document = cjson.decode(save.readFile(files.save))
    tamper(document)
    save.writeFile(files.save, cjson.encode(document))
    local code, output = run(DEMO, "resume", files.save, files.resumed)
    return code, output, run(DEMO, "compare", files.whole, files.resumed)
  end

  it("resumes in separate steps", function()
    local code, output, compared, comparison = resumeTampered(function() end)
    assert.equal(0, code, output)
    assert.equal(0, compared, comparison)
  end)

  local function record(document, name)
    for _, entity in ipairs(document.entities) do
      if entity.traits.Name.value == name then return entity end
    end
    error("nobody has the name " .. name)
  end

  local changed = {
    ["fewer hit points"] = function(document)
      record(document, "Bram").traits.Health.hp = 1
    end,
    ["another state of the dice"] = function(document)
      document.world.traits.Rng.state = 12345
    end,
    ["a combatant who has acted already"] = function(document)
      document.world.traits.Encounter.acted = {}
    end,
    ["an effect less"] = function(document)
      for _, entity in ipairs(document.entities) do entity.pairs = {} end
    end,
    ["a changed line in the log"] = function(document)
      document.world.traits.CombatLog.entries[3].text = "Cael takes a nap"
    end,
  }
  for what, tamper in pairs(changed) do
    it("reports a tampered save by the log: " .. what, function()
      local code, output, compared, comparison = resumeTampered(tamper)
      assert.equal(0, code, output)
      assert.equal(1, compared)
      assert.truthy(lastLine(comparison):find("^FAILED: the logs differ in %d+ of %d+ lines"))
    end)
  end

  local refused = {
    { "unsupported-version", function(document) document.version = 2 end },
    { "malformed", function(document) document.format = "save game" end },
    { "malformed", function(document) document.entities = nil end },
    { "malformed", function(document) record(document, "Aria").traits.Health.hp = "20" end },
    { "malformed", function(document) record(document, "Aria").traits.Health.hq = 20 end },
    { "malformed", function(document) record(document, "Aria").traits.Intent.target = 99 end },
    { "malformed", function(document) record(document, "Aria").tags = { "Hero", "Hero" } end },
    { "malformed", function(document) document.world.traits.Cues.hits[1].on = -1 end },
    { "unknown-trait", function(document) record(document, "Aria").tags[1] = "Heroine" end },
    { "unknown-trait", function(document) document.world.traits.Weather = {} end },
  }
  for i, case in ipairs(refused) do
    it(("refuses a tampered save: %s (%d)"):format(case[1], i), function()
      local code, output = resumeTampered(case[2])
      assert.equal(1, code)
      assert.truthy(output:find("^FAILED: restoreWorld: "), output)
      assert.truthy(output:find("(" .. case[1] .. ")", 1, true), output)
    end)
  end

  it("refuses a truncated file and a missing one", function()
    saveAfter(38)
    save.writeFile(files.save, save.readFile(files.save):sub(1, -10))
    assert.equal(1, (run(DEMO, "resume", files.save, files.resumed)))
    os.remove(files.save)
    assert.equal(1, (run(DEMO, "resume", files.save, files.resumed)))
  end)

  it("does not call two empty logs equal", function()
    save.writeFile(files.whole, "")
    save.writeFile(files.resumed, "")
    assert.equal(1, (run(DEMO, "compare", files.whole, files.resumed)))
  end)
end)

-- What is observable of a fight, without handles and independent of slots.
local function summary(world)
  local function nameOf(entity) return entity and world:get(entity, traits.Name, "value") end
  local result = { log = fight.log(world), dice = world:get(traits.Rng),
    encounter = world:get(traits.Encounter), hits = {}, defeated = {} }
  for entity, name in world:each(traits.Name) do
    local seen = { health = world:get(entity, traits.Health),
      position = world:get(entity, traits.Position), summoner = world:get(entity, traits.Summoner),
      intent = world:get(entity, traits.Intent), aim = world:get(entity, traits.Targeting),
      hero = world:has(entity, traits.Hero), monster = world:has(entity, traits.Monster),
      defeated = world:has(entity, traits.Defeated), effects = {} }
    if seen.intent then seen.intent.target = nameOf(seen.intent.target) end
    if seen.aim then seen.aim.target = nameOf(seen.aim.target) end
    for i, effect in ipairs(world:targets(entity, traits.HasEffect)) do
      seen.effects[i] = { nameOf(effect), world:get(entity, traits.HasEffect(effect)) }
    end
    result[name.value] = seen
  end
  local cues = world:get(traits.Cues)
  for i, hit in ipairs(cues.hits) do
    result.hits[i] = { nameOf(hit.by) or "an effect", nameOf(hit.on), hit.amount }
  end
  for i, entity in ipairs(cues.defeated) do result.defeated[i] = nameOf(entity) end
  return result
end

local function length(seed)
  local world <close> = fight.new(seed)
  return fight.play(world), summary(world)
end

local function resumedAfter(seed, turns)
  local world <close> = fight.new(seed)
  fight.play(world, turns)
  local resumed = fight.fromText(save.text(world))
  assert.same(summary(world), summary(resumed))
  return resumed
end

describe("a resumed fight equals the uninterrupted one", function()
  local seeds = os.time()
  math.randomseed(seeds)

  for case = 1, 40 do
    local seed, share = math.random(1, 2^31 - 3), math.random()
    it(("(case %d of random seed %d: fight %d at %.3f)"):format(case, seeds, seed, share),
      function()
        local turns, expected = length(seed)
        local resumed <close> = resumedAfter(seed, math.floor(share * turns))
        fight.play(resumed)
        assert.same(expected, summary(resumed))
      end)
  end

  it("when it is saved and loaded after every single turn", function()
    local turns, expected = length(211)
    local world = fight.new(211)
    for _ = 1, turns do
      assert.equal(1, fight.play(world, 1))
      local resumed = fight.fromText(save.text(world))
      world:close()
      world = resumed
    end
    assert.same(expected, summary(world))
    world:close()
  end)

  for steps = 1, 2 do
    it("when it is saved within a turn, after step " .. steps, function()
      local turns, expected = length(211)
      for before = 0, turns - 1, 7 do
        local world <close> = fight.new(211)
        fight.play(world, before)
        turn.run(world, steps)
        local resumed <close> = fight.fromText(save.text(world))
        fight.play(resumed)
        assert.same(expected, summary(resumed))
      end
    end)
  end

  it("when the defeated were destroyed before the save", function()
    local world <close> = fight.new(211)
    fight.play(world, 38)
    local document = cjson.decode(save.text(world))
    local highest = 0
    for _, entity in ipairs(world:entities()) do
      local _, _, slot = require("ecsser").unpack(entity)
      highest = math.max(highest, slot)
    end
    assert.is_true(highest > #document.entities, "this fight should have a gap here")
  end)
end)

describe("the fight that a JavaScript program saved", function()
  local function resume()
    return fight.fromText(save.readFile(FOREIGN), 1)
  end

  it("is saved again as the same document", function()
    local world <close> = resume()
    world:remove(traits.Rng)                -- which that program does not save
    assert.same(cjson.decode(save.readFile(FOREIGN)), cjson.decode(save.text(world)))
  end)

  it("knows its entities", function()
    local world <close> = resume()
    local seen = summary(world)
    assert.equal("Goblin", seen.Aria.intent.target)
    assert.is_nil(seen.Aria.aim.target)
    assert.same({ { "Poisoned", { turns = 3, damage = 2 } } }, seen.Orc.effects)
    assert.same({ { "Aria", "Goblin", 5 }, { "an effect", "Orc", 2 } }, seen.hits)
    assert.same({ "Goblin" }, seen.defeated)
    assert.equal("float", math.type(seen.Aria.position.x))
    assert.equal("integer", math.type(seen.Aria.health.hp))
  end)

  it("is played to its end, without announcing an old defeat again", function()
    local world <close> = resume()
    fight.play(world)
    assert.is_false(fight.isRunning(world))
    for _, entry in ipairs(fight.log(world)) do
      assert.are_not.equal("Goblin is defeated", entry.text)
    end
  end)
end)

describe("the README", function()
  local readme = save.readFile("README.md")

  -- A ```lua block that is directly followed by a ```text block must print just that text.
  local function examples()
    local list = {}
    for code, output in readme:gmatch("```lua\n(.-)```\n\n```text\n(.-)```") do
      list[#list + 1] = { code = code, output = output }
    end
    return list
  end

  for i, example in ipairs(examples()) do
    it("prints what it says in example " .. i, function()
      local code, output = run("-e", ("load(%q, '@game.lua')()"):format(example.code))
      assert.equal(0, code, output)
      assert.equal(example.output, output)
    end)
  end

  it("has a first example of at most 30 lines, and one of errors", function()
    local list = examples()
    assert.equal(2, #list)
    local _, lines = list[1].code:gsub("\n", "")
    assert.is_true(lines <= 30)
  end)

  -- The blocks of the tour are one program; `expression  --> values` is a promise.
  it("keeps the promises of its tour", function()
    local code, promises = {}, 0
    for block in readme:match("## A tour(.*)"):gmatch("```lua\n(.-)```") do
      for line in block:gmatch("[^\n]*\n") do
        local expression, values = line:match("^(.-)%s+%-%-> (.*)\n$")
        if expression then
          promises = promises + 1
          line = ("same({ %s }, { %s })\n"):format(values, expression)
        end
        code[#code + 1] = line
      end
    end
    local env = setmetatable({ same = assert.same, print = function() end }, { __index = _G })
    assert(load(table.concat(code), "@tour.lua", "t", env))()
    assert.is_true(promises > 10)
  end)
end)
