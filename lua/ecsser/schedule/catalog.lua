--- What a schedule is made of: its own entries and those of its plugins in one
-- list per kind, each entry and each name once.

local check = require "ecsser.schedule.check"
local define = require "ecsser.schedule.define"

local catalog = {}

local KINDS = {
  { list = "phases", noun = "phase", kinds = check.PHASES },
  { list = "sets", noun = "set", kinds = check.SETS },
  { list = "systems", noun = "system", kinds = check.SYSTEMS },
}

--- Collects the entries of one kind and remembers where each came from.
local Collector = {}
Collector.__index = Collector

function Collector.new(fn, noun)
  return setmetatable({ fn = fn, noun = noun, items = {}, sourceOf = {}, named = {} }, Collector)
end

function Collector:add(item, source)
  local name = item.name
  local first = self.named[name]
  if first then
    local told = first == item and "is listed twice" or "shares its name with another one"
    check.fail('%s: %s "%s" %s: in %s and in %s', self.fn, self.noun, name, told,
      self.sourceOf[first], source)
  end
  self.named[name], self.sourceOf[item] = item, source
  self.items[#self.items + 1] = item
end

--- A builtin phase, or another one with its name, would be a duplicate as well.
function Collector:reserveBuiltins()
  for _, phase in ipairs(define.BUILTIN) do
    self.named[phase.name], self.sourceOf[phase] = phase, "the builtin phases"
  end
end

--- Flattens the options of a schedule: plugins first, in their order, then the
-- schedule's own entries.
-- @param fn how messages begin
-- @param name the name of the schedule
-- @param options the options of `createSchedule`
-- @return a table with the lists `phases`, `sets` and `systems`
function catalog.flatten(fn, name, options)
  local plugins = check.list(fn, "plugins", options.plugins, check.PLUGINS)
  local flat = {}
  for _, kind in ipairs(KINDS) do
    local collector = Collector.new(fn, kind.noun)
    if kind.list == "phases" then collector:reserveBuiltins() end
    for _, plugin in ipairs(plugins) do
      local source = check.describe(plugin)
      for _, item in ipairs(plugin[kind.list]) do collector:add(item, source) end
    end
    local source = ('schedule "%s"'):format(name)
    for _, item in ipairs(check.list(fn, kind.list, options[kind.list], kind.kinds)) do
      collector:add(item, source)
    end
    flat[kind.list] = collector.items
  end
  return flat
end

return catalog
