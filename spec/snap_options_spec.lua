-- What the functions about snapshots say to wrong arguments and options: errors at the caller, in
-- the words of all other functions, before anything has changed.

local ecs = require "ecsser"
local util = require "spec.support.world_util"

local T, R = ecs.trait { x = 0 }, ecs.relation()
local world, bytes, scene, hash

local function fails(name, text, fn)
  local said = util.fails(name, nil, fn)
  assert(said:find(text, 1, true), ("%s: expected %q, got: %s"):format(name, text, said))
  assert.equal(hash, ecs.hashWorld(world))
end

-- The functions with their options, as functions of the options.
local withOptions = {
  saveSnapshot = { 1, function(o) ecs.saveSnapshot(world, o) end },
  loadSnapshot = { 2, function(o) ecs.loadSnapshot(world, bytes, o) end },
  appendSnapshot = { 2, function(o) ecs.appendSnapshot(world, bytes, o) end },
  instantiate = { 2, function(o) scene:instantiate(world, o) end },
  scene = { 2, function(o) ecs.scene(world, o) end },
}

describe("wrong arguments of", function()
  setup(function()
    world = ecs.createWorld()
    ecs.registerTraits(world, { T = T, R = R })
    world:spawn(T { x = 1 })
    bytes, scene, hash = ecs.saveSnapshot(world), ecs.scene(world), ecs.hashWorld(world)
  end)
  teardown(function() world:close() end)

  for name, case in pairs(withOptions) do
    it(name .. ": options are a table of known names", function()
      local n, call = table.unpack(case)
      for _, wrong in ipairs { 5, "x", true, print, T } do
        fails(name, ("bad argument #%d (options table expected, got "):format(n),
          function() call(wrong) end)
      end
      fails(name, 'unknown option "ofset"', function() call { ofset = {} } end)
      fails(name, 'unknown option "1"', function() call { "x" } end)
      fails(name, 'unknown option "true"', function() call { [true] = 1 } end)
      -- The options of the others are unknown, too.
      for option in pairs { format = 1, replay = 1, keys = 1, name = 1, path = 1 } do
        local mine = ({ format = "saveSnapshot", replay = "loadSnapshot" })[option]
        if mine ~= name and not (option == "keys" and n == 2) then
          fails(name, ('unknown option "%s"'):format(option), function() call { [option] = 1 } end)
        end
      end
      -- Options are read raw.
      local hostile = setmetatable({}, { __index = function() error "read" end })
      call(hostile)
      ecs.loadSnapshot(world, bytes)
    end)
  end

  it("saveSnapshot and scene", function()
    for name, call in pairs { saveSnapshot = ecs.saveSnapshot, scene = ecs.scene } do
      for option, expected in pairs { filter = "list of terms or function",
        exclude = "list of traits", meta = "table", dangling = "string" } do
        fails(name, ("option '%s': %s expected, got number"):format(option, expected),
          function() call(world, { [option] = 5 }) end)
      end
      fails(name, "option 'dangling': \"error\" or \"null\" expected", function()
        call(world, { dangling = "x" })
      end)
      fails(name, "option 'filter': bad argument #1 (trait, pair, Not or Or expected, got number)",
        function() call(world, { filter = { T, 5 } }) end)
      fails(name, "option 'filter': bad argument #1 (", function()
        call(world, { filter = { R } })
      end)
      fails(name, "exclude: trait expected, got number", function()
        call(world, { exclude = { T, 5 } })
      end)
      fails(name, "exclude: not a list", function() call(world, { exclude = { T, x = T } }) end)
    end
    fails("scene", 'unknown option "data"', function() ecs.scene(world, { data = {} }) end)
    fails("scene", "bad argument #2 (bytes take no options)", function() ecs.scene(bytes, {}) end)
    fails("scene", "bad argument #1 (world or snapshot bytes expected, got nothing)", function()
      ecs.scene()
    end)
    fails("saveSnapshot", "option 'data': table expected", function()
      ecs.saveSnapshot(world, { data = 5 })
    end)
    fails("saveSnapshot", "option 'format': \"binary\" or \"table\" expected", function()
      ecs.saveSnapshot(world, { format = "json" })
    end)
  end)

  it("appendSnapshot and instantiate", function()
    for name, call in pairs { appendSnapshot = function(o) ecs.appendSnapshot(world, bytes, o) end,
      instantiate = function(o) scene:instantiate(world, o) end } do
      for option, expected in pairs { keys = '"error", "drop" or "replace"', patch = "function",
        dangling = '"error" or "null"', offset = "table" } do
        fails(name, ("option '%s': %s expected, got number"):format(option, expected),
          function() call { [option] = 5 } end)
      end
    end
    fails("instantiate", "bad world (world expected, got nil)", function() scene:instantiate() end)
    fails("instantiate", "bad scene (scene expected, got nothing)",
      function() scene.instantiate() end)
  end)

  it("addSnapshotHandler", function()
    local function add(text, handler)
      fails("addSnapshotHandler", text, function() ecs.addSnapshotHandler(world, handler) end)
    end
    add("bad argument #1 (handler table expected, got number)", 5)
    add("option 'name': string expected, got nil", {})
    add("option 'name': the string is empty", { name = "" })
    add("option 'save': function expected, got number", { name = "x", save = 1 })
    add("option 'finish': function expected, got string", { name = "x", finish = "f" })
    add('unknown option "laod"', { name = "x", laod = print })
  end)

  it("snapshots and worlds", function()
    for _, name in ipairs { "loadSnapshot", "appendSnapshot" } do
      fails(name, "bad argument #1 (snapshot bytes or table expected, got nothing)",
        function() ecs[name](world) end)
      fails(name, "bad argument #1 (snapshot bytes or table expected, got world)",
        function() ecs[name](world, world) end)
    end
    fails("inspectSnapshot", "bad argument #1 (snapshot bytes expected, got nothing)",
      function() ecs.inspectSnapshot() end)
    local closed = ecs.createWorld()
    closed:close()
    for _, name in ipairs { "saveSnapshot", "loadSnapshot", "appendSnapshot", "hashWorld",
      "addSnapshotHandler" } do
      fails(name, "bad world (world expected, got nothing)", function() ecs[name]() end)
      fails(name, "bad world (world expected, got string)", function() ecs[name](bytes, world) end)
      fails(name, "the world is closed", function() ecs[name](closed, bytes) end)
    end
  end)
end)
