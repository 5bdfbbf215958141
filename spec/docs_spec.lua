-- The documentation against the module: every function and method is described, in the comments and
-- in the types for editors, nothing else is, and the README shows what really happens.

local child = require "spec.support.world_child"
local codec = require "ecsser.codec"
local deep = require "spec.support.deep"
local ecs = require "ecsser"
local schedule = require "ecsser.schedule"

local function readFile(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function files(command)
  local list = {}
  local pipe <close> = assert(io.popen(command))
  for name in pipe:lines() do list[#list + 1] = name end
  return list
end

-- ---- Reading comments -------------------------------------------------------------------------

local function words(text, pattern)
  local list = {}
  for word in text:gmatch(pattern) do list[#list + 1] = word end
  return list
end

-- The name that a block is about: its own @function or @field, or that of the code behind it.
local function subject(block, code)
  return block:match "@function%s+([%w_:.]+)" or block:match "@field%s+([%w_]+)\n"
    or code:match "^function ([%w_:.]+)%("
end

-- All blocks of a file by subject: { text =, params =, raises =, code = }. A block is "---" and the
-- comment lines that follow.
local function blocksOf(path)
  local blocks, block = {}, nil
  for line in (readFile(path) .. "\n"):gmatch "([^\n]*)\n" do
    if line:find "^%-%-%- " then
      block = { line:sub(5) .. "\n" }
    elseif block and line:find "^%-%-" then
      block[#block + 1] = line:sub(4) .. "\n"
    elseif block then
      local text = table.concat(block)
      local name = subject(text, line)
      if name then
        assert(not blocks[name], path .. " describes " .. name .. " twice")
        blocks[name] = {
          text = text, code = line, raises = text:find "@raise" or text:find "Never raises",
          params = words(text:gsub("@tparam%b[]", "@tparam"):gsub("@param%b[]", "@param")
            :gsub("@param", "@tparam any"), "@tparam%s+%S+%s+(%S+)"),
        }
      end
      block = nil
    end
  end
  return blocks
end

-- What a file of types declares: functions with their parameters, and the fields of its classes.
local function typesOf(path)
  local types, classes, class = {}, {}, nil
  for line in readFile(path):gmatch "([^\n]*)\n" do
    local name, params = line:match "^function ([%w_:.]+)%((.-)%) end$"
    if name then
      assert(not types[name], path .. " declares " .. name .. " twice")
      types[name] = words(params, "[%w_.]+")
    end
    if line:find "^%-%-%-@class" then
      class = {}
      classes[line:match "@class ([%w_.]+)"] = class
    elseif class and line:find "^%-%-%-@field" then
      local field = line:match "@field ([%w_]+)"
      class[#class + 1] = field
      class[field] = line
    end
  end
  return types, classes
end

local init = blocksOf "lua/ecsser/init.lua"
local world = blocksOf "lua/ecsser/doc/world.lua"
local codecs = blocksOf "lua/ecsser/codec.lua"
local schedules = blocksOf "lua/ecsser/schedule.lua"
local types, classes = typesOf "lua/ecsser/types.lua"
local scheduleTypes, scheduleClasses = typesOf "lua/ecsser/schedule/types.lua"

-- ---- Comments and types -----------------------------------------------------------------------

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- The functions of a table, as "prefix.name".
local function functionsOf(t, prefix)
  local set = {}
  for name, value in pairs(t) do
    if type(value) == "function" then set[prefix .. name] = true end
  end
  return sorted(set)
end

-- The keys that begin with a prefix, or all of them with a prefix put in front.
local function named(set, pattern, prefix)
  local found = {}
  for name in pairs(set) do
    if name:find(pattern) then found[(prefix or "") .. name] = true end
  end
  return sorted(found)
end

local function assertParams(expected, actual, name)
  assert.same(expected, actual, "the parameters of " .. name)
end

describe("the comments and the types", function()
  it("describe the functions of the module, and no others", function()
    local functions = functionsOf(ecs, "ecs.")
    assert.is_true(#functions > 25)
    local described = {}
    for name, block in pairs(init) do
      if block.text:find "@function" then described["ecs." .. name] = true end
    end
    assert.same(functions, sorted(described))
    assert.same(functions, named(types, "^ecs%."))
  end)

  it("describe the other fields of the module, and no others", function()
    local fields, described = {}, {}
    for name, value in pairs(ecs) do
      if type(value) ~= "function" then fields[name] = true end
    end
    for name, block in pairs(init) do
      if not block.text:find "@function" then described[name] = true end
    end
    assert.same(sorted(fields), sorted(described))
    local typed = { table.unpack(classes.ecsser) }
    table.sort(typed)
    assert.same(sorted(fields), typed)
  end)

  it("describe the methods of worlds and scenes, and no others", function()
    local methods = functionsOf(debug.getmetatable(ecs.createWorld()).__index, "World:")
    assert.is_true(#methods > 20)
    assert.same(methods, named(world, "^World:"))
    assert.same(methods, named(types, "^World:"))
    assert.same({ "Scene:instantiate" }, named(world, "^Scene:"))
    assert.same({ "Scene:instantiate" }, named(types, "^Scene:"))
    assert.same(#sorted(world), #methods + 1)
    local scene = ecs.scene(ecs.createWorld())
    assert.is_function(scene.instantiate)
    for _, field in ipairs(classes["ecsser.Scene"]) do assert.is_not_nil(scene[field], field) end
  end)

  it("describe the codecs and the schedule, and nothing else", function()
    assert.same(functionsOf(codec, "codec."), named(codecs, "^codec%."))
    assert.same(functionsOf(codec, "codec."), named(types, "^codec%."))
    assert.same(functionsOf(schedule, "schedule."), named(schedules, "^%a+$", "schedule."))
    assert.same(functionsOf(schedule, "schedule."), named(scheduleTypes, "^schedule%."))
    local s, methods = schedule.createSchedule { name = "docs" }, named(schedules, "^Schedule:")
    for _, name in ipairs(methods) do assert.is_function(s[name:match ":(.*)"], name) end
    assert.same(methods, named(scheduleTypes, "^Schedule:"))
    assert.same(#methods, #words(readFile "lua/ecsser/schedule.lua", "\nfunction Schedule:"))
    for _, field in ipairs(scheduleClasses["ecsser.Schedule"]) do
      assert.is_not_nil(s[field], field)
    end
    for name, value in pairs(schedule) do
      if type(value) ~= "function" then
        assert.truthy(scheduleClasses["ecsser.schedule"][name], name)
      end
    end
  end)

  it("give the same parameters", function()
    for name, block in pairs(init) do
      if block.text:find "@function" then
        assertParams(block.params, types["ecs." .. name], name)
      end
    end
    for name, block in pairs(world) do assertParams(block.params, types[name], name) end
    for name, block in pairs(schedules) do
      local typed = scheduleTypes[name] or scheduleTypes["schedule." .. name]
      assertParams(block.params, typed, name)
    end
    for name, block in pairs(codecs) do
      assertParams(words(block.code:match "%((.*)%)", "[%w_]+"), types[name], name)
    end
  end)

  it("say of every function and method what it raises", function()
    for _, blocks in ipairs { init, world } do
      for name, block in pairs(blocks) do
        if block.text:find "@function" then
          assert.truthy(block.raises, name .. " says nothing about errors")
        end
      end
    end
  end)

  it("name the codes of errors that there are", function()
    local codes = {}
    for code in readFile "src/error.h":gmatch '#define ES_CODE_%u[%u_]* "([%l-]+)"' do
      codes[code] = true
    end
    assert.equal(12, #sorted(codes))
    local typed = {}
    for code in readFile "lua/ecsser/types.lua":gmatch '%-%-%-| "([%l-]+)"' do
      typed[code] = true
    end
    assert.same(sorted(codes), sorted(typed))
    local list = readFile "README.md":match "\nCodes: (.-)\n\n"
    for code in pairs(codes) do
      assert.truthy(init.isSerializeError.text:find(code, 1, true), code)
      assert.truthy(list:find("`" .. code .. "`", 1, true), code)
    end
    for code in list:gmatch "`([%l-]+)`" do assert.is_true(codes[code], code) end
  end)

  it("name the fields of traits and errors that there are", function()
    local trait = ecs.trait { hp = 1 }
    local fields = classes["ecsser.Trait"]
    assert.equal(5, #fields)
    for _, field in ipairs(fields) do
      assert.is_not_nil(trait[field], field)
      assert.truthy(init.trait.text:find("`" .. field .. "`", 1, true), field)
    end
    for _, field in ipairs(classes["ecsser.SerializeError"]) do
      assert.truthy(init.isSerializeError.text:find("`" .. field .. "`", 1, true), field)
    end
  end)
end)

-- ---- Options ----------------------------------------------------------------------------------

describe("the options in the comments and the types", function()
  local Health = ecs.trait { hp = 10, target = ecs.null }
  local Bag = ecs.trait(function() return {} end)
  local Likes = ecs.relation()
  local plain = { toJSON = function(v) return v end, fromJSON = function(v) return v end }

  local function newWorld()
    local w = ecs.createWorld()
    ecs.registerTraits(w, { Health = Health, Bag = Bag, Key = ecs.Key })
    w:spawn(Health)
    return w
  end

  local function register(options)
    ecs.registerTraits(ecs.createWorld(), { Name = options })
  end

  -- Per class of options: how to call with one of them, the comment, and a good value for each.
  local cases = {
    ["ecsser.SnapshotOptions"] = {
      call = function(o) ecs.saveSnapshot(newWorld(), o) end, text = init.saveSnapshot.text,
      values = { format = "table", filter = { Health }, exclude = { Bag }, meta = { level = 1 },
        data = { key = 1 }, dangling = "null" },
    },
    ["ecsser.LoadOptions"] = {
      call = function(o)
        local w = newWorld()
        ecs.loadSnapshot(w, ecs.saveSnapshot(w), o)
      end,
      text = init.loadSnapshot.text, values = { replay = true },
    },
    ["ecsser.AppendOptions"] = {
      call = function(o)
        local w = newWorld()
        ecs.appendSnapshot(w, ecs.saveSnapshot(w), o)
      end,
      text = init.appendSnapshot.text,
      values = { offset = { Health = { hp = 1 } }, keys = "drop", dangling = "null",
        patch = function() end },
    },
    ["ecsser.RelationOptions"] = {
      call = ecs.relation, text = init.relation.text,
      values = { store = { turns = 0 }, exclusive = true, autoDestroy = "target" },
    },
    ["ecsser.EntryTable"] = {
      call = function(o)
        if not o.relation then o.trait = o.trait or (o.codec and Bag or Health) end
        register(o)
      end,
      text = init.registerTraits.text,
      values = { trait = Health, relation = Likes, refs = { "target" }, codec = plain,
        transient = "default", version = 2, migrate = function(v) return v end,
        formerly = { "Old" } },
    },
    ["ecsser.SnapshotHandler"] = {
      call = function(o)
        o.name = o.name or "name"
        ecs.addSnapshotHandler(newWorld(), o)
      end,
      text = init.addSnapshotHandler.text,
      values = { name = "physics", save = function() end, load = function() end,
        finish = function() end },
    },
  }

  for class, case in pairs(cases) do
    it("are those of " .. class, function()
      local fields = { table.unpack(classes[class]) }
      table.sort(fields)
      assert.same(sorted(case.values), fields)
      for name, value in pairs(case.values) do
        assert.truthy(case.text:find("`" .. name .. "`", 1, true)
          or case.text:find("`" .. name .. "(", 1, true), name)
        case.call { [name] = value }
      end
    end)
  end
end)

-- ---- Files ------------------------------------------------------------------------------------

describe("the files of lua/", function()
  local list = files "find lua -name '*.lua' | sort"
  local luac = files "command -v luac5.4"[1]

  it("can all be compiled", function()
    assert.is_true(#list > 10)
    for _, path in ipairs(list) do
      assert(loadfile(path, "t"))
      -- One at a time: luac 5.4.4 crashes when it is given several.
      if luac then assert.is_true(os.execute(luac .. " -p " .. path), path) end
    end
  end)

  it("may be loaded when they hold descriptions only", function()
    for _, name in ipairs { "ecsser.types", "ecsser.schedule.types", "ecsser.doc.world" } do
      local path = assert(package.searchpath(name, package.path))
      local env = setmetatable({}, { __newindex = function(_, key) error("sets " .. key) end })
      assert.is_nil(assert(loadfile(path, "t", env))(), path)
    end
  end)

  it("do not set what is documented twice", function()
    assert.truthy(readFile "lua/ecsser/init.lua":find("--[[@as ecsser]]", 1, true))
    assert.truthy(classes.ecsser)
  end)
end)

-- ---- The README -------------------------------------------------------------------------------

describe("the README", function()
  local readme = readFile "README.md"
  local tour = readme:match "\n## A tour\n(.*)"

  -- Programs: a ```lua block that is directly followed by a ```text block with its output.
  local programs = {}
  for code, output in readme:gmatch "```lua\n(.-)```\n\n```text\n(.-)```" do
    programs[#programs + 1] = { code = code:match ".*```lua\n(.*)" or code, output = output }
  end

  it("has no block of Lua that is not run", function()
    local all = #words(readme, "\n```lua\n")
    assert.equal(all, #programs + #words(tour, "\n```lua\n"))
    assert.equal(2, #programs)
    assert.is_nil(tour:find "\n```text\n")
    assert.equal(#words(readme, "\n```"), 2 * #words(readme, "\n```%l+\n"))
  end)

  for i, program in ipairs(programs) do
    it("prints what it says in program " .. i, function()
      local how, status, output = child.run(("load(%q, '@game.lua')()"):format(program.code))
      assert.equal("exit 0", how .. " " .. status, output)
      assert.equal(program.output, output)
    end)
  end

  -- The blocks of the tour are one program; `expression  --> values` is a promise, to be kept to
  -- the subtype of numbers.
  it("keeps the promises of its tour", function()
    local code, promises = {}, 0
    for block in tour:gmatch "\n```lua\n(.-)```" do
      for line in block:gmatch "[^\n]*\n" do
        local expression, values = line:match "^(.-)%s+%-%-> (.*)\n$"
        if expression then
          promises = promises + 1
          line = ("same(%q, { %s }, { %s })\n"):format(expression, values, expression)
        else
          assert.is_nil(line:find("-->", 1, true), line)
        end
        code[#code + 1] = line
      end
    end
    local env = setmetatable({
      same = function(what, expected, actual) deep.assertSame(expected, actual, what) end,
      print = function() end,
    }, { __index = _G })
    assert(load(table.concat(code), "@tour.lua", "t", env))()
    assert.is_true(promises > 30)
  end)

  it("names functions and methods that there are", function()
    local methods = debug.getmetatable(ecs.createWorld()).__index
    for name in readme:gmatch "%f[%w]ecs%.(%a+)" do assert.is_not_nil(ecs[name], name) end
    for name in readme:gmatch "world:(%a+)[%({ ]" do assert.is_function(methods[name], name) end
    for name in readme:gmatch "%f[%w]codec%.(%a+)" do assert.is_function(codec[name], name) end
    for name in readme:gmatch "schedule%.(%a+) {" do assert.is_function(schedule[name], name) end
  end)

  it("names every function of the module", function()
    for name in pairs(ecs) do assert.truthy(readme:find("%f[%w]" .. name .. "%f[%W]"), name) end
    for name in pairs(codec) do assert.truthy(readme:find("`" .. name .. "`", 1, true), name) end
  end)

  it("names commands and files that there are", function()
    local targets, count = readFile "Makefile" .. readFile "mk/checks.mk", 0
    for target in readme:gmatch "[`\n]make (%l+)" do
      assert.truthy(targets:find("\n" .. target .. ":", 1, true), target)
      count = count + 1
    end
    assert.is_true(count >= 4)
    for path in readme:match "\n## Where things are\n(.*)":gmatch "`([%w_/.]+[/.]%w*)`" do
      local found
      for _, dir in ipairs { "", "lua/ecsser/", "examples/" } do
        found = found or io.open(dir .. path)
      end
      assert(found, path):close()
    end
    for path in readme:gmatch "`(examples/[%w_]+%.lua)`" do assert(io.open(path)):close() end
  end)

  it("has the headings that it links to", function()
    local anchors = {}
    for heading in readme:gmatch "\n#+ ([^\n]+)" do
      anchors[heading:lower():gsub("[^%w ]", ""):gsub(" ", "-")] = true
    end
    for anchor in readme:gmatch "%]%(#([%w-]+)%)" do assert.is_true(anchors[anchor], anchor) end
  end)

  it("states the limits that there are", function()
    local limits = readme:match "\n## Limits\n(.-)\n## "
    local function constant(file, name)
      return readFile(file):match(name .. "%s+(%d+)")
    end
    for _, number in ipairs {
      constant("src/entity.h", "#define ES_WORLD_MAX"),
      "2^" .. constant("src/entity.h", "#define ES_SLOT_BITS"),
      "2^" .. constant("src/entity.h", "#define ES_GENERATION_BITS"),
      constant("src/document.h", "#define ES_DEPTH_MAX"),
      constant("src/query.h", "#define ES_TERMS_MAX"),
    } do
      assert.truthy(limits:find("%f[%w]" .. number:gsub("%^", "%%^") .. "%f[%W]"), number)
    end
  end)

  it("says what SCH-152 and SCH-062 ask for", function()
    local text = tour:match "\n### Systems\n(.-)\n### ":gsub("%s+", " ")
    for _, statement in ipairs {
      "`schedule.state` is a world-level trait `{ name, disabled, onStartDone }`",
      "`enable` and `disable`", "changing the list in place is unsupported",
      "Schedule names must be unique per world",
    } do
      assert.truthy(text:find(statement, 1, true), statement)
    end
  end)
end)
