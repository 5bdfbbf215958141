-- Everything a script may try inside every hook. Whatever is allowed or refused there, afterwards
-- the world is consistent and usable, and no error is a fault of Lua's or of the machine's.

local ecs = require "ecsser"
local hooks = require "spec.support.world_hooks"
local util = require "spec.support.world_util"

local function sorted(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function isOpen(world) return (pcall(world.count, world)) end

-- All that can be seen of a world, to compare.
local function picture(world)
  local all = world:entities()
  local lines = {}
  for _, e in ipairs(all) do
    local line = { e }
    for i, T in ipairs(hooks.traits) do
      if world:has(e, T) then
        local value = world:get(e, T)
        line[#line + 1] = i .. "=" .. tostring(type(value) == "table" and value.n)
      end
    end
    for i, R in ipairs(hooks.relations) do
      for _, target in ipairs(util.slot(e) > 0 and world:targets(e, R) or {}) do
        local data = world:get(e, R(target))
        line[#line + 1] = i .. ">" .. target .. "=" .. tostring(data and data.n)
      end
    end
    lines[#lines + 1] = table.concat(line, " ")
  end
  return table.concat(lines, "\n")
end

local function use(world)
  local e = world:spawn(hooks.Other { n = 11 })
  local f = world:spawn(hooks.R(e, { n = 12 }), hooks.Child(e))
  assert.equal(11, world:get(e, hooks.Other, "n"))
  assert.equal(12, world:get(f, hooks.R(e), "n"))
  world:set(e, hooks.Other, "n", 13)
  world:destroy(e)
  assert.is_false(world:isAlive(f))
end

-- Runs the operation with the action in the hook, in a coroutine or not. The action runs once.
local function run(hookName, actionName, inCoroutine)
  local hook, action = hooks.hooks[hookName], hooks.actions[actionName]
  local s = hooks.setup()
  local ran, armed = 0, true
  local function guarded(...)
    if not armed then return end
    armed = false
    ran = ran + 1
    action(s, ...)
  end
  hook.install(s, guarded)
  local before = picture(s.world)
  local ok, err
  if inCoroutine then
    local co = coroutine.create(hook.operate)
    repeat ok, err = coroutine.resume(co, s) until coroutine.status(co) == "dead"
  else
    ok, err = pcall(hook.operate, s)
  end
  assert.equal(1, ran, "the hook did not run")
  return s, ok, err, before
end

local function cause(err)
  return ecs.isSerializeError and ecs.isSerializeError(err) and err.cause or err
end

local function checkError(hookName, actionName, inCoroutine, err)
  if actionName == "errorString" then
    assert.equal("boom", cause(err))
  elseif actionName == "errorTable" then
    assert.equal(hooks.errors.table, cause(err))
  elseif actionName == "yield" and not inCoroutine then
    assert.is_string(tostring(err))
  else
    local text = tostring(err)
    assert(util.isOurs(err), hookName .. " × " .. actionName .. ": " .. text)
    if actionName == "yield" then assert.matches("must not yield", tostring(cause(err))) end
  end
end

-- What must raise, and what must not.
local function mustRaise(hookName, actionName)
  local hook = hooks.hooks[hookName]
  if actionName == "errorString" or actionName == "errorTable" then return true end
  if actionName == "yield" and not hook.loop then return true end
  if actionName == "close" then return true end
  local changes = {
    spawn = 1, spawnMany = 1, newTraits = 1, destroyOther = 1, addToWorld = 1, reset = 1,
  }
  return hook.readonly and changes[actionName] ~= nil
end

local harmless = { nothing = true, collect = true, saveOther = true, read = true }

local function check(hookName, actionName, inCoroutine)
  local s, ok, err, before = run(hookName, actionName, inCoroutine)
  local what = hookName .. " × " .. actionName
  if not ok then
    checkError(hookName, actionName, inCoroutine, err)
    assert(not harmless[actionName], what .. " raised " .. tostring(err))
  elseif mustRaise(hookName, actionName) then
    error(what .. " should have raised")
  end
  if actionName == "close" and hooks.hooks[hookName].loop then
    assert.is_false(isOpen(s.world))
    return
  end
  assert.is_true(isOpen(s.world), what .. " closed the world")
  util.checkInvariants(s.world, hooks.traits, hooks.relations)
  if not ok and hooks.hooks[hookName].readonly then
    assert.equal(before, picture(s.world), what .. " left a change behind")
  end
  use(s.world)
  util.checkInvariants(s.world, hooks.traits, hooks.relations)
  s.world:reset()
  use(s.world)
  s.world:close()
end

for _, hookName in ipairs(sorted(hooks.hooks)) do
  describe("hook " .. hookName .. " ×", function()
    for _, actionName in ipairs(sorted(hooks.actions)) do
      it(actionName, function()
        check(hookName, actionName, false)
        check(hookName, actionName, true)
      end)
    end
  end)
end

describe("a refused action in a hook", function()
  it("undoes an add without a trace", function()
    for _, hookName in ipairs { "onAdd", "onQueryAdd", "onChange", "onRemove", "factory" } do
      local s, ok, _, before = run(hookName, "errorTable", false)
      assert.is_false(ok)
      assert.equal(before, picture(s.world), hookName)
      s.world:close()
    end
  end)

  it("may be caught inside the hook, and the operation goes on", function()
    local s = hooks.setup()
    local message
    s.world:onAdd(hooks.Mark, function()
      local _, err = pcall(s.world.close, s.world)
      message = err
    end)
    s.world:add(s.self, hooks.Mark)
    assert.matches("close: ", message)
    assert.is_true(s.world:has(s.self, hooks.Mark))
    s.world:close()
  end)

  it("caught during a save or a restore does not end them", function()
    local s = hooks.setup()
    local messages = {}
    hooks.toJSON = function()
      local _, err = pcall(s.world.spawn, s.world)
      messages[#messages + 1] = tostring(err)
      _, err = pcall(s.world.set, s.world, s.other, hooks.Other, "n", 0)
      messages[#messages + 1] = tostring(err)
      _, err = pcall(s.world.close, s.world)
      messages[#messages + 1] = tostring(err)
    end
    hooks.fromJSON = hooks.toJSON
    local before = s.world:count()
    local snapshot = ecs.saveWorld(s.world)
    assert.equal(3, #messages)
    s.world:reset()
    ecs.restoreWorld(s.world, snapshot)
    assert.equal(6, #messages)
    for i, name in ipairs { "spawn", "set", "close", "spawn" } do
      assert.matches(name .. ": ", messages[i])
    end
    assert.equal(before, s.world:count())
    s.world:close()
  end)
end)
