-- codec.class and codec.classes: restored values have their class again, also after the code of
-- the class was loaded anew.

local ecs = require "ecsser"
local codec = require "ecsser.codec"
local deep = require "spec.support.deep"
local ser = require "spec.support.ser"

local function newClass(name, parent)
  local class = setmetatable({ __name = name }, parent and { __index = parent })
  class.__index = class
  return class
end

local Stock = newClass "Stock"
function Stock:total() return self.amount * 2 end

local Planet = newClass "Planet"
function Planet:describe() return self.name .. ":" .. self.stock:total() end

local Gas = newClass("Gas", Planet)
function Gas:describe() return "gas " .. Planet.describe(self) end

local function stock(amount)
  return setmetatable({ amount = amount }, Stock)
end

local function planet(class, name, amount)
  return setmetatable({ name = name, stock = stock(amount) }, class)
end

-- A world with one AoS trait under this codec.
local function worldOf(c)
  local trait = ecs.trait(function() return {} end)
  local world = ser.world { Body = { trait = trait, codec = c } }
  return world, trait
end

-- The value after a save and a restore by `route`.
local function roundTrip(c, value, route)
  local world, trait = worldOf(c)
  world:spawn(trait(value))
  local other, twin = worldOf(c)
  local e = route.restore(other, route.save(world)).entities[1]
  return other:get(e, twin)
end

local function causeOf(func, ...)
  local err = ser.raises(func, "codec-error", { "Body" }, ...)
  assert.equal("string", type(err.cause))
  assert.equal("codec.class: ", err.cause:sub(1, 13))
  return err.cause
end

local function saveCause(c, value)
  local world, trait = worldOf(c)
  world:spawn(trait(value))
  return causeOf("saveWorld", ecs.saveWorld, world)
end

local function restoreCause(c, json)
  local world = worldOf(c)
  local snapshot = ser.doc { { traits = { Body = json } } }
  return causeOf("restoreWorld", ecs.restoreWorld, world, snapshot)
end

local classes = codec.classes { Planet, Stock, Gas }

describe("codec.class", function()
  for _, route in ipairs(ser.routes()) do
    it("gives restored values their class back by " .. route.name, function()
      local got = roundTrip(codec.class(Stock), stock(21), route)
      assert.equal(Stock, getmetatable(got))
      assert.equal(42, got:total())
      deep.assertSame({ amount = 21 }, got, "the fields")
    end)

    it("gives several classes back at any depth by " .. route.name, function()
      local value = {
        bodies = { planet(Planet, "Terra", 1), planet(Gas, "Jove", 2) },
        by = { name = planet(Gas, "Chronos", 3) },
        plain = { 1, { two = "2" } }, none = ecs.array {}, null = ecs.null,
      }
      local got = roundTrip(classes, value, route)
      deep.assertSame(value, got, "the value", { marks = not route.loose })
      assert.equal("Terra:2", got.bodies[1]:describe())
      assert.equal("gas Jove:4", got.bodies[2]:describe())
      assert.equal("gas Chronos:6", got.by.name:describe())
      assert.is_nil(getmetatable(got))
      assert.equal(Stock, getmetatable(got.by.name.stock))
      assert.is_true(route.loose or ser.isMarked(got.none))
    end)
  end

  it("saves the name, the fields and the list part", function()
    local List = newClass "List"
    local list = setmetatable({ "a", stock(1), title = "t" }, List)
    local c = codec.classes { List, Stock }
    local world, trait = worldOf(c)
    world:spawn(trait(list))
    assert.truthy(ecs.saveJSON(world):find('"Body":{"@class":"List","@items":["a",'
      .. '{"@class":"Stock","amount":1}],"title":"t"}', 1, true), ecs.saveJSON(world))
    for _, route in ipairs(ser.routes()) do
      local got = roundTrip(c, list, route)
      deep.assertSame(list, got, "the list")
      assert.equal(List, getmetatable(got))
      assert.equal(2, got[2]:total())
    end
    -- Nothing inside at all.
    for _, route in ipairs(ser.routes()) do
      local got = roundTrip(c, setmetatable({}, List), route)
      assert.is_nil(next(got))
      assert.equal(List, getmetatable(got))
    end
  end)

  it("keeps what looks like its own keys", function()
    local value = {
      ["@class"] = "Ghost", ["@items"] = { 1 }, ["@"] = 1, ["@@class"] = { ["@@@"] = 2 },
      inner = setmetatable({ ["@class"] = 5, ["@items"] = stock(3), "item" }, Stock),
    }
    for _, route in ipairs(ser.routes()) do
      local got = roundTrip(classes, value, route)
      deep.assertSame(value, got, "the value")
      assert.equal(Stock, getmetatable(got.inner))
      assert.equal(6, got.inner["@items"]:total())
    end
  end)

  it("takes values that are no tables, and the fields of a SoA trait", function()
    for _, value in ipairs { 5, 2.5, "text", true, ecs.null } do
      assert.equal(value, roundTrip(classes, value, ser.routes()[1]))
    end
    local trait = ecs.trait { hold = function() return {} end, n = 0 }
    local entries = { Soa = { trait = trait, codec = classes } }
    local world, other = ser.world(entries), ser.world(entries)
    world:spawn(trait { hold = planet(Gas, "g", 4), n = 7 })
    local e = ecs.restoreWorld(other, ecs.saveWorld(world)).entities[1]
    assert.equal("gas g:8", other:get(e, trait, "hold"):describe())
    assert.equal(7, other:get(e, trait, "n"))
  end)

  it("works for world-level traits", function()
    local world, trait = worldOf(classes)
    world:add(trait(planet(Planet, "sun", 5)))
    local other, twin = worldOf(classes)
    ecs.restoreJSON(other, ecs.saveJSON(world))
    assert.equal("sun:10", other:get(twin):describe())
  end)

  it("never changes the value or the snapshot, nor shares tables with them", function()
    local value = { planet(Gas, "x", 1), { planet(Planet, "y", 2) } }
    local copy = deep.copy(value)
    local world, trait = worldOf(classes)
    world:spawn(trait(value))
    local snapshot = ecs.saveWorld(world)
    deep.assertSame(copy, value, "the value")
    assert.equal(Gas, getmetatable(value[1]))
    assert.equal(Stock, getmetatable(value[2][1].stock))
    local before = deep.copy(snapshot)
    local json = classes.toJSON(value)
    local jsonBefore = deep.copy(json)
    local again = classes.fromJSON(json)
    deep.assertSame(jsonBefore, json, "the JSON", { marks = true })
    deep.assertSame(value, again, "the value again")
    assert.is_false(rawequal(again[2], json[2]))
    assert.is_false(rawequal(json[2], value[2]))
    world:reset()
    ecs.restoreWorld(world, snapshot)
    deep.assertSame(before, snapshot, "the snapshot")
  end)

  it("saves shared instances as copies and refuses cycles with the place", function()
    local shared = stock(5)
    local got = roundTrip(classes, { shared, shared }, ser.routes()[1])
    deep.assertSame({ { amount = 5 }, { amount = 5 } }, got, "the copies")
    assert.is_false(rawequal(got[1], got[2]))
    local a, b = stock(1), {}
    a.other, b.back = b, { a }
    assert.equal("codec.class: other.back[0] contains itself", saveCause(classes, a))
    local own = {}
    own[1] = own
    assert.equal("codec.class: [0] contains itself", saveCause(classes, own))
  end)

  it("leaves what is not JSON-safe to the save, with the path", function()
    local world, trait = worldOf(classes)
    world:spawn(trait(setmetatable({ stock(1), stock(print) }, Stock)))
    local err = ser.raises("saveWorld", "not-serializable", {}, ecs.saveWorld, world)
    assert.equal('entities[0].traits.Body["@items"][1].amount', err.path)
    for _, bad in ipairs {
      { [1.5] = 1 }, { [true] = 1 }, { 1, 2, nil, 4 }, { 1, x = 1 }, { v = 0 / 0 },
      setmetatable({ [3] = 1 }, Stock), setmetatable({ [{}] = 1 }, Stock), { "\xFF" },
    } do
      world, trait = worldOf(classes)
      world:spawn(trait(bad))
      ser.raises("saveWorld", "not-serializable", { "Body" }, ecs.saveWorld, world)
    end
  end)

  it("goes as deep as a document may", function()
    local function nest(depth)
      local value = stock(0)
      for _ = 2, depth do value = setmetatable({ amount = value }, Stock) end
      return value
    end
    -- A trait's value lies below the document, entities, a record, and traits.
    local deepest = nest(512 - 4)
    for _, route in ipairs(ser.routes()) do
      local got = route.loose or roundTrip(classes, deepest, route)
      for _ = 2, route.loose and 0 or 508 do
        assert.equal(Stock, getmetatable(got))
        got = got.amount
      end
    end
    local world, trait = worldOf(classes)
    world:spawn(trait(nest(509)))
    ser.raises("saveWorld", "not-serializable", { "Body" }, ecs.saveWorld, world)
    assert.equal("codec.class: the value is nested too deep", saveCause(classes, nest(100000)))
  end)

  it("refuses instances of other classes when saving, by place and name", function()
    local Ghost = newClass "Ghost"
    local nameless = setmetatable({}, {})
    local ghost = setmetatable({}, Ghost)
    assert.equal('codec.class: the value is of the class "Ghost", which is not registered',
      saveCause(classes, ghost))
    assert.equal('codec.class: a.b[1]["odd key"] is of the class "Ghost", which is not registered',
      saveCause(classes, { a = { b = { 1, { ["odd key"] = ghost } } } }))
    assert.equal("codec.class: [0] has a metatable that is none of the classes and has no __name",
      saveCause(classes, { nameless }))
    -- A name that is only inherited is not the class's own.
    local Child = setmetatable({}, { __index = Planet })
    assert.truthy(saveCause(classes, setmetatable({}, Child)):find("has no __name", 1, true))
  end)

  it("refuses unknown names when restoring, and leaves the world empty", function()
    assert.equal('codec.class: the value is of the unknown class "Ghost"',
      restoreCause(classes, { ["@class"] = "Ghost" }))
    assert.equal('codec.class: moons[1] is of the unknown class "Gas"',
      restoreCause(codec.classes { Planet, Stock }, {
        ["@class"] = "Planet",
        moons = { { ["@class"] = "Stock" }, { ["@class"] = "Gas" } },
      }))
    local long = restoreCause(classes, { ["@class"] = "x\n" .. ("\"\u{e9}\u{20ac}"):rep(1000) })
    assert.truthy(#long < 300, long)
    assert.truthy(utf8.len(long), "a name is cut within a character")
    local world, trait = worldOf(classes)
    local bad = ser.doc { {}, { traits = { Body = { ["@class"] = "Ghost" } } } }
    local err = ser.raises("restoreWorld", "codec-error", { "Body" }, ecs.restoreWorld, world, bad)
    assert.equal("entities[1].traits.Body", err.path)
    ser.assertFresh(world, { trait })
    ecs.restoreWorld(world, ser.doc { { traits = { Body = { ["@class"] = "Gas" } } } })
  end)

  it("refuses forms that it never writes", function()
    for json, message in pairs {
      [{ ["@class"] = 5 }] = "the value has a class that is a number, not a name",
      [{ ["@class"] = ecs.null }] = "the value has a class that is a userdata, not a name",
      [{ a = { ["@items"] = { 1 } } }] = 'a has the unknown key "@items"',
      [{ ["@class"] = "Gas", ["@other"] = 1 }] = 'the value has the unknown key "@other"',
      [{ ["@"] = 1 }] = 'the value has the unknown key "@"',
      [{ ["@class"] = "Gas", ["@items"] = 5 }] = "the @items of the value are not a list",
      [{ ["@class"] = "Gas", ["@items"] = { x = 1 } }] = "the @items of the value are not a list",
      [{ ["@class"] = "Gas", ["@items"] = { 1, { ["@class"] = "No" } } }] =
        '["@items"][1] is of the unknown class "No"',
    } do
      assert.equal("codec.class: " .. message, restoreCause(classes, json))
    end
  end)

  it("reports the same fault whatever the order of the keys", function()
    local names = {}
    for i = 1, 60 do names[i] = ("k%02d"):format(i * 7 % 61) end
    for _, order in ipairs { 1, 7, 13, 59 } do
      local value, json = {}, {}
      for i = 1, 60 do
        local name = names[i * order % 60 + 1]
        value[name] = setmetatable({}, newClass("Ghost" .. name))
        json[name] = { ["@class"] = "Ghost" .. name }
      end
      assert.equal('codec.class: k01 is of the class "Ghostk01", which is not registered',
        saveCause(classes, value))
      assert.equal('codec.class: k01 is of the unknown class "Ghostk01"',
        restoreCause(classes, json))
    end
  end)

  it("runs no method of a class, and takes classes that hide their metatable", function()
    local ran = {}
    local Hostile = ser.hostile(ran, true)
    Hostile.__name = "Hostile"
    local c = codec.class(Hostile)
    for _, route in ipairs(ser.routes()) do
      local value = setmetatable({ a = 1, { 2 } }, Hostile)
      local got = roundTrip(c, value, route)
      assert.is_true(rawequal(Hostile, debug.getmetatable(got)))
      assert.equal(1, rawget(got, "a"))
      deep.assertSame({ 2 }, rawget(got, 1), "the list part")
    end
    assert.same({}, ran)
  end)

  it("names a metatable that has no __name", function()
    local methods = { total = function(self) return self.n + 1 end }
    local meta = { __index = methods }
    local c = codec.class(meta, "Counter")
    for _, route in ipairs(ser.routes()) do
      assert.equal(6, roundTrip(c, setmetatable({ n = 5 }, meta), route):total())
    end
    -- Its own __name gives way to the explicit one.
    local world, trait = worldOf(codec.class(Stock, "Hoard"))
    world:spawn(trait(stock(1)))
    assert.truthy(ecs.saveJSON(world):find('{"@class":"Hoard","amount":1}', 1, true))
    world, trait = worldOf(codec.classes { Planet, Hoard = Stock, Gas = meta })
    world:spawn(trait { planet(Planet, "t", 1), setmetatable({}, meta) })
    assert.truthy(ecs.saveJSON(world):find('[{"@class":"Planet","name":"t","stock":'
      .. '{"@class":"Hoard","amount":1}},{"@class":"Gas"}]', 1, true))
  end)

  it("checks its arguments", function()
    local function wrong(message, fn, ...)
      local ok, err = pcall(fn, ...)
      assert.is_false(ok)
      assert.equal(message, err:match("%.lua:%d+: (.*)$") or err)
    end
    wrong("codec.class: a class must be a metatable, or a function that returns it, not a nil",
      function() codec.class() end)
    wrong("codec.class: the class has no __name of its own; give it a name",
      function() codec.class {} end)
    wrong("codec.class: the class has no __name of its own; give it a name",
      function() codec.class(setmetatable({}, { __index = Planet })) end)
    wrong("codec.class: the class has no __name of its own; give it a name",
      function() codec.class(function() return Planet end) end)
    for _, name in ipairs { "", "\xFF", 5, true } do
      wrong("codec.class: the name of a class must be a non-empty string of UTF-8",
        function() codec.class(Planet, name) end)
    end
    wrong("codec.classes: bad argument #1 (table of classes expected, got nil)",
      function() codec.classes() end)
    wrong("codec.classes: a class must be a metatable, or a function that returns it, not a string",
      function() codec.classes { "Planet" } end)
    wrong('codec.classes: two classes have the name "Planet"',
      function() codec.classes { Planet, Planet = Gas } end)
    wrong("codec.classes: one class has two names",
      function() codec.classes { A = Planet, B = Planet } end)
    local _, err = pcall(function() codec.class({}) end)
    assert.truthy(err:find("codec_class_spec.lua", 1, true), err)
  end)
end)

describe("hot reload", function()
  local MODULE = "spec.reloaded.planet"
  local version

  -- A module file in two versions: the second has other methods and one more field.
  local function loadVersion(n)
    version = n
    package.loaded[MODULE] = nil
    return require(MODULE)
  end

  setup(function()
    package.preload[MODULE] = function()
      local Class = { __name = "Planet" }
      Class.__index = Class
      function Class.new(n) return setmetatable({ n = n }, Class) end
      if version == 1 then
        function Class:value() return self.n end
      else
        function Class:value() return self.n * 10 end
        function Class:added() return "added" end
      end
      return Class
    end
  end)

  teardown(function()
    package.preload[MODULE], package.loaded[MODULE] = nil, nil
  end)

  local function entriesOf(Class)
    local trait = ecs.trait(function() return Class.new(0) end)
    return { Body = { trait = trait, codec = codec.class(Class) } }, trait
  end

  for _, route in ipairs(ser.routes()) do
    it("gives restored values the new methods in a new world by " .. route.name, function()
      local Old = loadVersion(1)
      local entries, trait = entriesOf(Old)
      local world = ser.world(entries)
      world:spawn(trait(Old.new(4)))
      local saved = route.save(world)
      local New = loadVersion(2)
      assert.is_false(rawequal(Old, New))
      entries, trait = entriesOf(New)
      local other = ser.world(entries)
      local got = other:get(route.restore(other, saved).entities[1], trait)
      assert.equal(New, getmetatable(got))
      assert.equal(40, got:value())
      assert.equal("added", got:added())
    end)
  end

  it("saves instances of the old class with the codec of the new one", function()
    local Old = loadVersion(1)
    local value = Old.new(4)
    local New = loadVersion(2)
    local entries, trait = entriesOf(New)
    local world = ser.world(entries)
    world:spawn(trait(value))
    local snapshot = ecs.saveWorld(world)
    world:reset()
    local got = world:get(ecs.restoreWorld(world, snapshot).entities[1], trait)
    assert.equal(40, got:value())
    assert.equal(4, value:value())
  end)

  it("works in a world that outlives it, when the class is a function", function()
    local Old = loadVersion(1)
    local trait = ecs.trait(function() return {} end)
    local c = codec.class(function() return require(MODULE) end, "Planet")
    local world = ser.world { Body = { trait = trait, codec = c } }
    world:spawn(trait { Old.new(1), Old.new(2) })
    loadVersion(2)
    local snapshot = ecs.saveWorld(world)
    world:reset()
    local list = world:get(ecs.restoreWorld(world, snapshot).entities[1], trait)
    assert.equal(10, list[1]:value())
    assert.equal("added", list[2]:added())
    -- Again without a reload, several classes, one of them fixed.
    local mixed = codec.classes { Stock, Planet = function() return require(MODULE) end }
    local json = mixed.toJSON { Old.new(1), stock(2), require(MODULE).new(3) }
    deep.assertSame({
      { ["@class"] = "Planet", n = 1 }, { ["@class"] = "Stock", amount = 2 },
      { ["@class"] = "Planet", n = 3 },
    }, json, "the JSON")
    assert.equal(30, mixed.fromJSON(json)[3]:value())
  end)

  it("says when that function gives no class", function()
    local c = codec.class(function() return nil end, "Planet")
    assert.equal('codec.class: the function for the class "Planet" returned a nil',
      saveCause(c, {}))
    assert.equal('codec.class: the function for the class "Planet" returned a nil',
      restoreCause(c, {}))
    local thrown = {}
    c = codec.class(function() error(thrown) end, "Planet")
    local world, trait = worldOf(c)
    world:spawn(trait(stock(1)))
    local err = ser.raises("saveWorld", "codec-error", { "Body" }, ecs.saveWorld, world)
    assert.is_true(rawequal(thrown, err.cause))
  end)
end)
