--- The objects a schedule is made of: phases, systems, sets and plugins.
-- They are read-only data. Only what concerns the object itself is checked
-- here; how the objects fit together is checked when a schedule is built.

local check = require "ecsser.schedule.check"
local frozen = require "ecsser.schedule.frozen"

local define = {}

local NOTHING = frozen.list {}

local function listOf(fn, label, value, kinds)
  local items = check.list(fn, label, value, kinds)
  return #items == 0 and NOTHING or frozen.list(items)
end

local PHASE_OPTIONS = { dependsOn = true, before = true, manual = true }

function define.phase(name, options)
  local fn = ('definePhase: phase "%s"'):format(check.name("definePhase", name))
  options = check.options(fn, options == nil and {} or options, PHASE_OPTIONS)
  if options.manual ~= nil and type(options.manual) ~= "boolean" then
    check.fail("%s: bad argument manual (boolean expected, got %s)", fn,
      check.describe(options.manual))
  end
  return frozen.object("ecsser.Phase", {
    name = name,
    dependsOn = listOf(fn, "dependsOn", options.dependsOn, check.PHASES),
    before = listOf(fn, "before", options.before, check.PHASES),
    manual = options.manual or false,
  })
end

--- The builtin phases, in the order in which they run.
define.BUILTIN = {}
for i, name in ipairs {
  "OnStart", "OnLoad", "PostLoad", "PreUpdate", "OnUpdate", "OnValidate", "PostUpdate",
  "PreStore", "OnStore",
} do
  define.BUILTIN[i] = define.phase(name)
  define[name] = define.BUILTIN[i]
end

local SYSTEM_OPTIONS = {
  name = true, run = true, phase = true, before = true, after = true, sets = true, runIf = true,
}

--- The name out of a table of options, and how messages begin from then on.
local function nameIn(fn, noun, options)
  if type(options) ~= "table" then
    check.fail("%s: bad argument #1 (table expected, got %s)", fn, check.describe(options))
  end
  local name = check.name(fn, options.name)
  return name, ('%s: %s "%s"'):format(fn, noun, name)
end

function define.system(options)
  local name, fn = nameIn("defineSystem", "system", options)
  check.options(fn, options, SYSTEM_OPTIONS)
  local phase = options.phase
  if phase == nil then phase = define.OnUpdate end
  return frozen.object("ecsser.System", {
    name = name,
    run = check.callable(fn, "run", options.run, true),
    phase = check.kind(fn, "phase", phase, check.PHASES),
    before = listOf(fn, "before", options.before, check.NODES),
    after = listOf(fn, "after", options.after, check.NODES),
    sets = listOf(fn, "sets", options.sets, check.SETS),
    runIf = check.callable(fn, "runIf", options.runIf),
  })
end

local SET_OPTIONS = { before = true, after = true, runIf = true }

function define.set(name, options)
  local fn = ('defineSet: set "%s"'):format(check.name("defineSet", name))
  options = check.options(fn, options == nil and {} or options, SET_OPTIONS)
  return frozen.object("ecsser.Set", {
    name = name,
    before = listOf(fn, "before", options.before, check.SETS),
    after = listOf(fn, "after", options.after, check.SETS),
    runIf = check.callable(fn, "runIf", options.runIf),
  })
end

local PLUGIN_OPTIONS = { name = true, phases = true, sets = true, systems = true }

function define.plugin(options)
  local name, fn = nameIn("definePlugin", "plugin", options)
  check.options(fn, options, PLUGIN_OPTIONS)
  return frozen.object("ecsser.Plugin", {
    name = name,
    phases = listOf(fn, "phases", options.phases, check.PHASES),
    sets = listOf(fn, "sets", options.sets, check.SETS),
    systems = listOf(fn, "systems", options.systems, check.SYSTEMS),
  })
end

return define
