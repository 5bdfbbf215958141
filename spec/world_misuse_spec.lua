-- The wording of errors: the caller's position, the function, the argument, the thing.

local ecs = require "ecsser"

describe("the message of an error", function()
  local world, e, dead, foreign, other
  local T, Tag, Aos = ecs.trait { hp = 1 }, ecs.trait(), ecs.trait(function() return {} end)
  local R, D = ecs.relation(), ecs.relation { store = { n = 0 } }

  before_each(function()
    world, other = ecs.createWorld(), ecs.createWorld()
    e, dead = world:spawn(T, Aos), world:spawn()
    foreign = other:spawn()
    world:destroy(dead)
  end)
  after_each(function()
    world:close()
    other:close()
  end)

  -- Runs a line of a script called game.lua and gives back its error.
  local function script(line)
    local env = {
      world = world, e = e, dead = dead, foreign = foreign, T = T, Tag = Tag, R = R, D = D,
      Aos = Aos, ecs = ecs, file = io.stdout, co = coroutine.create(print), print = print,
      w = world:entities()[1],
    }
    local chunk = assert(load("\n\n" .. line, "@game.lua", "t", env))
    local ok, err = pcall(chunk)
    assert.is_false(ok, line .. " did not raise")
    return err
  end

  it("is exactly this for arguments of a wrong type", function()
    local change, removal = "trait, trait with value or pair expected", "trait or pair expected"
    local term = "trait, pair, Not or Or expected"
    local expected = {
      ["world:spawn(nil)"] = "spawn: bad argument #1 (" .. change .. ", got nil)",
      ["world:spawn(T, 5)"] = "spawn: bad argument #2 (" .. change .. ", got number)",
      ["world:spawn(T, 'x')"] = "spawn: bad argument #2 (" .. change .. ", got string)",
      ["world:spawn(world)"] = "spawn: bad argument #1 (" .. change .. ", got world)",
      ["world:spawn({})"] = "spawn: bad argument #1 (" .. change .. ", got table)",
      ["world:add(e, false)"] = "add: bad argument #2 (" .. change .. ", got boolean)",
      ["world:add(e, T, print)"] = "add: bad argument #3 (" .. change .. ", got function)",
      ["world:remove(e, co)"] = "remove: bad argument #2 (" .. removal .. ", got thread)",
      ["world:destroy('x')"] = "destroy: bad argument #1 (entity expected, got string)",
      ["world:destroy()"] = "destroy: bad argument #1 (entity expected, got nothing)",
      ["world:destroy(T)"] = "destroy: bad argument #1 (entity expected, got trait)",
      ["world:destroy(R)"] = "destroy: bad argument #1 (entity expected, got relation)",
      ["world:targets(e, T)"] = "targets: bad argument #2 (relation expected, got trait)",
      ["world:sources(e, 1)"] = "sources: bad argument #2 (relation expected, got number)",
      ["world:query(5)"] = "query: bad argument #1 (" .. term .. ", got number)",
      ["world:find(5)"] = "find: bad argument #1 (string expected, got number)",
      ["world:onAdd(T, 5)"] = "onAdd: bad argument #2 (function expected, got number)",
      ["world:column(5)"] = "column: bad argument #1 (SoA or AoS trait expected, got number)",
    }
    for line, text in pairs(expected) do
      assert.equal("game.lua:3: " .. text, script(line), line)
    end
  end)

  it("names the position, the function and the thing", function()
    local expected = {
      { "world:set(e, T, 'speed', 1)", "set: ", "speed" },
      { "world:set(e, T, { speed = 1 })", "set: ", "speed" },
      { "world:get(e, T, 'speed')", "get: ", "speed" },
      { "world:set(e, T, 'hp', 'x')", "set: ", "hp", "number", "string" },
      { "world:set(e, T, { hp = {} })", "set: ", "hp", "number", "table" },
      { "world:set(e, Tag, {})", "set: ", "#2", "tag" },
      { "world:set(dead, T, 'hp', 1)", "set: ", "dead" },
      { "world:add(dead, T)", "add: ", "dead" },
      { "world:remove(dead, T)", "remove: ", "dead" },
      { "world:destroy(dead)", "destroy: ", "dead" },
      { "world:targets(dead, R)", "targets: ", "dead" },
      { "world:sources(dead, R)", "sources: ", "dead" },
      { "world:add(e, R(dead))", "add: ", "dead" },
      { "world:spawn(R(dead))", "spawn: ", "dead" },
      { "world:query(R(dead))", "query: ", "dead" },
      { "world:add(foreign, T)", "add: ", "world" },
      { "world:add(e, R(foreign))", "add: ", "world" },
      { "world:destroy(w)", "destroy: ", "world entity" },
      { "world:add(e, R)", "add: ", "relation" },
      { "world:add(e, R('*'))", "add: " },
      { "world:column(T, 'speed')", "column: ", "speed" },
      { "world:column(Tag)", "column: " },
      { "ecs.trait({ list = {} })", "trait: ", "list" },
      { "ecs.relation({ autoDestroy = 'x' })", "relation: ", "autoDestroy" },
      { "ecs.relation({ exclusive = 1 })", "relation: ", "exclusive" },
      { "ecs.Not(5)", "Not: bad argument #1" },
      { "ecs.Or(T, 5)", "Or: bad argument #2" },
      { "ecs.unpack('x')", "unpack: bad argument #1" },
    }
    for _, case in ipairs(expected) do
      local line, err = case[1], script(case[1])
      assert.is_string(err, line)
      assert.equal("game.lua:3: " .. case[2], err:sub(1, #case[2] + 12), line)
      for i = 3, #case do
        assert(err:find(case[i], 1, true), ("%s: %q is not in %q"):format(line, case[i], err))
      end
    end
  end)

  it("tells traits apart by where they were defined", function()
    for _, line in ipairs { "world:set(e, T, 'hp', 'x')", "world:set(e, T, { hp = 'x' })" } do
      local err = script(line)
      assert(err:find("trait #" .. T.id, 1, true), err)
      assert(err:find(T.where, 1, true), err)
    end
  end)

  it("of a method called without a world is ours, too", function()
    for _, line in ipairs {
      "world.spawn()", "world.spawn(5)", "world.spawn(T)", "world.destroy(e)", "world.get({}, e)",
      "world.query(nil)", "world.close(file)", "world.count('x')", "world.each(ecs.null)",
    } do
      local err = script(line)
      local name = line:match("%.(%a+)")
      assert.matches("^game%.lua:3: " .. name .. ": ", err)
      assert(err:find("world", 1, true), err)
    end
  end)

  it("is bounded, however long the thing is", function()
    local ok, err = pcall(world.get, world, e, T, ("x"):rep(100000))
    assert.is_false(ok)
    assert.is_true(#err < 2000)
    ok, err = pcall(world.set, world, e, T, ("\0"):rep(1000), 1)
    assert.is_false(ok)
    assert.is_string(err)
  end)

  it("leaves the world as it was", function()
    script("world:spawn(T, 5)")
    script("world:add(e, Tag, 5)")
    script("world:set(e, T, { hp = 2, x = 1 })")
    script("world:remove(e, T, 5)")
    assert.equal(1, world:count())
    assert.is_false(world:has(e, Tag))
    assert.equal(1, world:get(e, T, "hp"))
  end)
end)
