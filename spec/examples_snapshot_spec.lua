-- The examples of rollback, prefabs and hot reload, run as a user runs them, in processes of their
-- own; and sabotaged, because an example that cannot fail shows nothing.

local function quote(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end

local function interpreter()
  local lowest = -1
  while arg[lowest - 1] do lowest = lowest - 1 end
  return arg[lowest] or "lua5.4"
end

-- Runs an example; `before` is Lua that runs first. Returns the exit code and the output.
local function run(name, before, ...)
  local words = {
    "LUA_PATH_5_4=" .. quote(package.path), "LUA_CPATH_5_4=" .. quote(package.cpath),
    quote(interpreter()), "-W", "-e", quote(before), quote(("examples/%s.lua"):format(name)),
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

local function contains(output, ...)
  for _, text in ipairs { ... } do
    assert.truthy(output:find(text, 1, true), ("%q is not in: %s"):format(text, output))
  end
end

-- Lua that replaces ecs.<name>: `body` has the original and the arguments as `...`.
local function sabotage(name, body)
  return ([[
    local ecs = require "ecsser"
    local original = ecs.%s
    ecs.%s = function(...)
      %s
    end
  ]]):format(name, name, body)
end

-- Lua that changes a world after each load.
local function afterLoad(body)
  return sabotage("loadSnapshot", ([[
    local world = ...
    local header = original(...)
    %s
    return header
  ]]):format(body))
end

local function failsWith(name, before, pattern, ...)
  local code, output = run(name, before, ...)
  assert.equal(1, code, output)
  assert.truthy(lastLine(output):find("^FAILED: " .. pattern), output)
end

describe("every snapshot example", function()
  local examples = {
    rollback = "^OK: the same hash after each of 120 frames, in spite of %d+ rollbacks$",
    prefab = "^OK: all 11 checks passed$", hot_reload = "^OK: all 21 checks passed$",
  }
  for name, closing in pairs(examples) do
    it(name .. " ends well, without warnings", function()
      local code, output = run(name, "")
      assert.equal(0, code, output)
      assert.truthy(lastLine(output):find(closing), output)
      for _, bad in ipairs { "WRONG", "FAILED", "Lua warning", "traceback" } do
        assert.is_nil(output:find(bad, 1, true), output)
      end
    end)

    it(name .. " tells the same in every process, and from every directory", function()
      local _, first = run(name, "")
      local _, second = run(name, "")
      assert.equal(first, second)
      local pipe = assert(io.popen("pwd"))
      local here = pipe:read("l")
      pipe:close()
      local moved = ("cd / && LUA_CPATH_5_4=%s %s %s 2>&1"):format(
        quote(package.cpath:gsub("%f[^%z;]([^/;][^;]*)", here .. "/%1")), quote(interpreter()),
        quote(("%s/examples/%s.lua"):format(here, name)))
      pipe = assert(io.popen(moved))
      local third = pipe:read("a")
      pipe:close()
      assert.equal(first, third)
    end)

    it(name .. " breaks off with status 1 when its argument is no number", function()
      failsWith(name, "", "the story broke off", "many")
    end)
  end
end)

describe("the rollback example", function()
  it("tells of guesses, of the fight and of what it cost", function()
    local _, output = run("rollback", "")
    contains(output, "Ana had guessed that Ben would", "frames again", "-- Ana ", "Ben went back ",
      "at most 8 at once")
    assert.is_nil(output:find("went back 0 times", 1, true))
  end)

  it("plays any number of frames under any weather of the network", function()
    for seed = 2, 9 do
      local code, output = run("rollback", "", 100, seed)
      assert.equal(0, code, output)
      assert.is_true(tonumber(lastLine(output):match "of (%d+) rollbacks") > 5, output)
    end
    for _, frames in ipairs { 0, 1, 2, 1000 } do
      local code, output = run("rollback", "", frames)
      assert.equal(0, code, output)
    end
  end)

  local broken = {
    ["snapshots that are not loaded"] = sabotage("loadSnapshot", ""),
    ["a snapshot that is too old"] = sabotage("loadSnapshot", [[
      local world, bytes = ...
      first = first or bytes
      return original(world, first)
    ]]),
    ["dice that do not go back"] = [[
      local states = setmetatable({}, { __mode = "k" })
      local ecs = require "ecsser"
      local Rng
      local trait, load, hash = ecs.trait, ecs.loadSnapshot, ecs.hashWorld
      ecs.trait = function(schema)
        local made = trait(schema)
        if schema.state then Rng = made end
        return made
      end
      ecs.loadSnapshot = function(world, bytes)
        local state = world:get(Rng, "state")
        load(world, bytes)
        world:set(Rng, "state", state)
      end
    ]],
    ["a value that a load changes"] = afterLoad [[
      for _, entity in ipairs(world:entities()) do
        for _, trait in ipairs(world:traits()) do
          if trait.kind == "soa" and trait.fields[1] == "guarding" and world:has(entity, trait) then
            world:set(entity, trait, "wins", 50)
          end
        end
      end
    ]],
    ["an entity that a load forgets"] = afterLoad [[
      local all = world:entities()
      world:destroy(world:spawn())   -- the next handle is another one
      if #all > 4 then world:destroy(all[#all]) end
    ]],
  }
  for what, before in pairs(broken) do
    it("fails with " .. what, function()
      failsWith("rollback", before, ".*frame %d+.*")
    end)
  end

  it("fails when hashes are no function of the content", function()
    failsWith("rollback", sabotage("hashWorld", [[
      calls = (calls or 0) + 1
      return original(...) .. (calls % 2 == 0 and "!" or "")
    ]]), "frame %d+: Ana has %x+!?, Ben has %x+!?, the referee has %x+!?")
  end)
end)

describe("the prefab example", function()
  it("draws what it places", function()
    local _, output = run("prefab", "")
    contains(output, "gTg       gTg       gTg       gTg       gTg", "gTg n # n gTg",
      "a tower: 4 entities", "a fort: 11 entities", "traits Aim, Guards, Health, Look")
  end)

  it("takes another number of towers", function()
    for _, towers in ipairs { 1, 2, 30 } do
      local code, output = run("prefab", "", towers)
      assert.equal(0, code, output)
      contains(output, ("%d towers are %d entities"):format(towers, towers * 4))
    end
  end)

  -- Scenes whose instantiate gets its options, and what it returns, from `body`.
  local function wrapped(body)
    return sabotage("scene", ([[
      local scene = original(...)
      return setmetatable({ instantiate = function(_, world, options)
        options = options or {}
        %s
      end }, { __index = function(_, key) return scene[key] end })
    ]]):format(body))
  end

  local broken = {
    ["without offsets"] = wrapped "options.offset = nil return scene:instantiate(world, options)",
    ["without patches"] = wrapped "options.patch = nil return scene:instantiate(world, options)",
    ["with references to the first copy"] = wrapped [[
      local list = scene:instantiate(world, options)
      first = first or {}
      first[world] = first[world] or list
      for _, entity in ipairs(list) do
        for _, trait in ipairs(world:traits()) do
          if ecs.isRelation(trait) and #world:targets(entity, trait) == 1 then
            local target = first[world][1]
            if world:isAlive(target) and target ~= entity
              and not world:has(entity, trait(target)) then
              world:add(entity, trait(target))
            end
          end
        end
      end
      return list
    ]],
    ["when copies share their values"] = wrapped [[
      local list = scene:instantiate(world, options)
      for _, entity in ipairs(world:entities()) do
        for _, trait in ipairs(world:traits()) do
          if trait.kind == "soa" and not ecs.isRelation(trait) and trait.fields[1] == "colour"
            and world:has(entity, trait) then
            world:set(entity, trait, "colour", world:get(list[1], trait, "colour"))
          end
        end
      end
      return list
    ]],
  }
  for what, before in pairs(broken) do
    it("fails " .. what, function()
      failsWith("prefab", before, "")
    end)
  end
end)

describe("the hot reload example", function()
  it("shows units before and after, and the mistake", function()
    local _, output = run("hot_reload", "")
    contains(output, "Ada of the Hill, 20 hp, at 3, 0",
      "Ada of the Hill, 20/20 hp, morale 100, at 3.0, 0.0",
      "Grom Gash, health 0.86, morale 85, at 13.5, 0.0", "migrate from version 2",
      "because: units (edition 3):17: a unit without hit points")
  end)

  it("takes another number of ticks", function()
    for _, ticks in ipairs { 1, 2, 10 } do
      local code, output = run("hot_reload", "", ticks)
      assert.equal(0, code, output)
    end
  end)

  -- Registrations whose entries `body` may change.
  local function registering(body)
    return sabotage("registerTraits", ([[
      local world, entries = ...
      for name, entry in pairs(entries) do
        if type(entry) == "table" then %s end
      end
      return original(world, entries)
    ]]):format(body))
  end

  local broken = {
    ["without former names"] = registering "entry.formerly = nil",
    ["without migrate"] = registering "entry.migrate = nil",
    ["with a migrate that forgets"] = registering [[
      local migrate = entry.migrate
      entry.migrate = migrate and function(...)
        local value = migrate(...)
        value.hp, value.health = nil, nil
        return value
      end
    ]],
    ["with a migrate that never fails"] = registering [[
      local migrate = entry.migrate
      entry.migrate = migrate and function(value, from)
        local ok, result = pcall(migrate, value, from)
        return ok and result or {}
      end
    ]],
    ["with references that are lost"] = afterLoad [[
      local ecs = require "ecsser"
      for _, entity in ipairs(world:entities()) do
        for _, trait in ipairs(world:traits()) do
          if trait.kind == "soa" and not ecs.isRelation(trait) and world:has(entity, trait)
            and world:get(entity, trait).target then
            world:set(entity, trait, "target", nil)
          end
        end
      end
    ]],
    ["with a load that does nothing"] = sabotage("loadSnapshot", ""),
  }
  for what, before in pairs(broken) do
    it("fails " .. what, function()
      failsWith("hot_reload", before, "")
    end)
  end
end)
