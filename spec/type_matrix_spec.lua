-- Every function with every kind of value in every place: an error of ours, or none; never a crash.

local ecs = require "ecsser"
local samples = require "spec.support.world_samples"
local util = require "spec.support.world_util"

local T, Tag, Aos, R = samples.T, samples.Tag, samples.Aos, samples.R

local function set(text)
  local result = {}
  for word in text:gmatch "%a+" do result[word] = true end
  return result
end

local traits = "tag trait aos term pair "
local terms = traits .. "wildcard notTerm orTerm "
local numbers = "integer dead float nan "
local callables = "func iterator unsubscribe"

-- Per method: good arguments, and per place the kinds that are not refused there. What is not
-- listed must raise.
local methods = {
  spawn = { function() return { T, Tag } end, traits .. "none", traits .. "none" },
  destroy = { function(s) return { s.e } end, "" },
  isAlive = { function(s) return { s.e } end, numbers },
  has = { function(s) return { s.e, T } end, terms .. numbers, traits .. "wildcard" },
  get = {
    function(s) return { s.e, T, "hp" } end,
    traits .. numbers, traits, "none",
  },
  set = { function(s) return { s.e, T, "hp", 1 } end, "", "trait term", "table", numbers },
  add = { function(s) return { s.e, T, Tag } end, traits, traits .. "none", traits .. "none" },
  remove = {
    function(s) return { s.e, T, Tag } end,
    traits .. "wildcard", traits .. "wildcard none", traits .. "wildcard none",
  },
  targets = { function(s) return { s.e, R } end, "", "relation" },
  sources = { function(s) return { s.e, R } end, "", "relation" },
  query = { function() return { T, Tag } end, terms .. "none", terms .. "none" },
  each = { function() return { T, Tag } end, terms .. "none", terms .. "none" },
  slots = { function() return { T, Tag } end, terms .. "none", terms .. "none" },
  column = { function() return { T, "hp" } end, "trait", "" },
  find = { function() return { "key" } end, "text" },
  entities = { function() return {} end },
  traits = { function() return {} end },
  count = { function() return {} end },
  reset = { function() return {} end },
  close = { function() return {} end },
}
for _, name in ipairs { "onAdd", "onRemove", "onChange" } do
  methods[name] = {
    function() return { T, function() end } end, traits .. "relation wildcard", callables,
  }
end
for _, name in ipairs { "onQueryAdd", "onQueryRemove" } do
  methods[name] = { function() return { T, function() end } end, terms .. "table", callables }
end

local ofWorld = {
  registerTraits = function() return { {} } end,
  ignoreTraits = function() return { {} } end,
  getTraitName = function() return { T } end,
  saveWorld = function() return {} end,
  restoreWorld = function() return { { format = "ecs-serialize" } } end,
  saveJSON = function() return {} end,
  restoreJSON = function() return { "{}" } end,
  checkSnapshot = function() return { "{}" } end,
  findStrayHandles = function() return {} end,
  saveSnapshot = function() return { {} } end,
  loadSnapshot = function() return { "x" } end,
  appendSnapshot = function() return { "x", {} } end,
  hashWorld = function() return {} end,
  addSnapshotHandler = function() return { { name = "x" } } end,
}

local function methodOf(world, name)
  return assert(world[name], "there is no method " .. name)
end

-- The error must be ours and must begin with the function's name, behind a position at most.
local function checkError(name, what, err)
  local text = tostring(err)
  assert(util.isOurs(err), what .. " is not an error of ours: " .. text)
  local found = text:find("^" .. name .. ": ") or text:find("^[^:]+:%d+: " .. name .. ": ")
  assert(found, what .. ": no '" .. name .. ": ' in front of: " .. text)
end

local function usable(s)
  util.checkInvariants(s.world, { T, Tag, Aos }, { R })
  local e = s.world:spawn(T { hp = 9 })
  assert.equal(9, s.world:get(e, T, "hp"))
  s.world:destroy(e)
end

describe("type matrix of methods:", function()
  local function try(s, name, place, kind)
    local args = samples.replace(methods[name][1](s), place, kind, s.values[kind])
    local ok, err = pcall(methodOf(s.world, name), s.world, table.unpack(args, 1, args.n))
    local what = ("%s with %s as #%d"):format(name, kind, place)
    if not ok then checkError(name, what, err) end
    local accepted = methods[name][place + 1]
    if accepted and not set(accepted)[kind] then
      assert(not ok, what .. " should have raised")
    end
  end

  for name in pairs(methods) do
    it(name .. " refuses every other world", function()
      for _, kind in ipairs(samples.names) do
        local s = samples.setup()
        local args = methods[name][1](s)
        local self = kind ~= "world" and s.values[kind] or nil
        local ok, err
        if kind == "none" then
          ok, err = pcall(methodOf(s.world, name))
        else
          ok, err = pcall(methodOf(s.world, name), self, table.unpack(args))
        end
        if not ok then checkError(name, name .. " on " .. kind, err) end
        if name ~= "close" or kind ~= "closed" then
          assert(not ok, name .. " on " .. kind .. " should have raised")
        end
        usable(s)
        samples.teardown(s)
      end
    end)

    it(name .. " refuses every wrong argument", function()
      for place = 1, math.max(3, #methods[name]) do
        for _, kind in ipairs(samples.names) do
          local s = samples.setup()
          try(s, name, place, kind)
          if name ~= "close" then usable(s) end
          samples.teardown(s)
        end
      end
    end)
  end

  it("knows all methods", function()
    local s = samples.setup()
    local meta = debug.getmetatable(s.world)
    if type(meta.__index) == "table" then
      for name in pairs(meta.__index) do assert(methods[name], "unknown method " .. name) end
    end
    samples.teardown(s)
  end)
end)

describe("type matrix of the module:", function()
  for name, good in pairs(ofWorld) do
    if not ecs[name] then goto continue end

    it(name .. " refuses everything but an open world", function()
      for _, kind in ipairs(samples.names) do
        local s = samples.setup()
        local args = samples.replace({ 0, table.unpack(good()) }, 1, kind, s.values[kind])
        if kind ~= "world" then
          local ok, err = pcall(ecs[name], table.unpack(args, 1, args.n))
          assert(not ok, name .. " on " .. kind .. " should have raised")
          checkError(name, name .. " on " .. kind, err)
        end
        usable(s)
        samples.teardown(s)
      end
    end)

    it(name .. " takes any other arguments without a crash", function()
      for place = 2, 4 do
        for _, kind in ipairs(samples.names) do
          local s = samples.setup()
          local list = { s.world, table.unpack(good()) }
          local args = samples.replace(list, place, kind, s.values[kind])
          local ok, err = pcall(ecs[name], table.unpack(args, 1, args.n))
          if not ok then checkError(name, ("%s with %s as #%d"):format(name, kind, place), err) end
          usable(s)
          samples.teardown(s)
        end
      end
    end)

    ::continue::
  end

  local others = {}
  for name, value in pairs(ecs) do
    if type(value) == "function" and not ofWorld[name] then others[#others + 1] = name end
  end
  table.sort(others)

  for _, name in ipairs(others) do
    it(name .. " takes anything without a crash", function()
      for place = 1, 3 do
        for _, kind in ipairs(samples.names) do
          for _, first in ipairs { T, {}, 5, "x" } do
            local s = samples.setup()
            local args = samples.replace({ first, T, T }, place, kind, s.values[kind])
            local ok, err = pcall(ecs[name], table.unpack(args, 1, args.n))
            local what = ("%s with %s as #%d"):format(name, kind, place)
            if not ok then checkError(name, what, err) end
            usable(s)
            samples.teardown(s)
          end
        end
      end
    end)
  end

  it("predicates answer false and never raise", function()
    local s = samples.setup()
    local answers = {
      isTrait = set "tag trait aos", isRelation = set "relation", isSerializeError = {},
    }
    for name, yes in pairs(answers) do
      for _, kind in ipairs(samples.names) do
        if kind ~= "none" then
          assert.equal(yes[kind] or false, ecs[name](s.values[kind]), name .. " of " .. kind)
        end
      end
    end
    samples.teardown(s)
  end)
end)

describe("type matrix of our objects:", function()
  local function objects(s)
    return {
      world = s.world, trait = T, tag = Tag, aos = Aos, relation = R, term = s.values.term,
      pair = s.values.pair, wildcard = s.values.wildcard, notTerm = s.values.notTerm,
      orTerm = s.values.orTerm, iterator = s.values.iterator,
    }
  end

  it("calling traits and relations with anything", function()
    for _, kind in ipairs(samples.names) do
      for _, callee in ipairs { T, Tag, Aos, R, ecs.Key, ecs.IsExcluded } do
        local s = samples.setup()
        for _, args in ipairs {
          { n = 1, s.values[kind] }, { n = 2, s.e, s.values[kind] }, { n = 2, s.values[kind], {} },
          { n = 3, s.e, { d = 1 }, s.values[kind] }, { n = 0 },
        } do
          local ok, result = pcall(callee, table.unpack(args, 1, args.n))
          if ok then
            local fine, err = pcall(s.world.spawn, s.world, result)
            assert(fine or util.isOurs(err), err)
          else
            assert(util.isOurs(result), tostring(result))
          end
        end
        samples.teardown(s)
      end
    end
  end)

  it("indexing them with anything", function()
    for _, kind in ipairs(samples.names) do
      local s = samples.setup()
      for _, object in pairs(objects(s)) do
        local ok, err = pcall(function() return object[s.values[kind]] end)
        if type(object) == "userdata" then
          assert(ok or tostring(err):find "attempt to index" or util.isOurs(err), err)
          if kind ~= "nil" and kind ~= "nan" then
            pcall(function() object[s.values[kind]] = 1 end)
          end
        end
      end
      usable(s)
      samples.teardown(s)
    end
  end)

  it("calling their metamethods with anything", function()
    local s = samples.setup()
    local names = {}
    for name in pairs(objects(s)) do names[#names + 1] = name end
    samples.teardown(s)
    for _, owner in ipairs(names) do
      for _, kind in ipairs(samples.names) do
        s = samples.setup()
        local object = objects(s)[owner]
        local meta = type(object) == "userdata" and debug.getmetatable(object) or {}
        for event, metamethod in pairs(meta) do
          local gone = kind == owner and (event == "__gc" or event == "__close")
          if type(metamethod) == "function" and not gone then
            local value = s.values[kind]
            for _, args in ipairs {
              { n = kind == "none" and 0 or 1, value }, { n = 2, value, value },
              { n = 2, value, "id" }, { n = 2, object, value },
            } do
              if not ((event == "__gc" or event == "__close") and args[1] == object) then
                local ok, err = pcall(metamethod, table.unpack(args, 1, args.n))
                assert(ok or util.isOurs(err),
                  ("%s of %s with %s: %s"):format(event, owner, kind, tostring(err)))
              end
            end
          end
        end
        pcall(usable, s)
        assert.is_true(pcall(s.world.count, s.world))
        samples.teardown(s)
      end
    end
  end)

  it("stepping an iterator with anything", function()
    for _, kind in ipairs(samples.names) do
      local s = samples.setup()
      local step, state, control = s.world:each(T)
      local value = s.values[kind]
      for _, args in ipairs {
        { n = 2, value, control }, { n = 2, state, value }, { n = 2, value, value },
        { n = kind == "none" and 0 or 1, value },
      } do
        local ok, err = pcall(step, table.unpack(args, 1, args.n))
        assert(ok or util.isOurs(err), tostring(err))
      end
      usable(s)
      samples.teardown(s)
    end
  end)

  it("unsubscribing with anything", function()
    for _, kind in ipairs(samples.names) do
      local s = samples.setup()
      local unsubscribe = s.world:onAdd(T, function() end)
      local ok, err = pcall(unsubscribe, s.values[kind])
      assert(ok or util.isOurs(err), tostring(err))
      usable(s)
      samples.teardown(s)
    end
  end)
end)
