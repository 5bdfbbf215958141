-- One value of every kind that a script could pass where something else is expected.

local ecs = require "ecsser"

local M = {}

M.Tag, M.T, M.Aos = ecs.trait(), ecs.trait { hp = 1 }, ecs.trait(function() return {} end)
M.R = ecs.relation { store = { d = 0 } }

M.names = {
  "none", "nil", "integer", "float", "nan", "dead", "text", "boolean", "table", "func", "null",
  "file", "thread", "world", "closed", "tag", "trait", "aos", "relation", "term", "pair",
  "wildcard", "notTerm", "orTerm", "iterator", "unsubscribe",
}

-- A world with some content, and what else calls on it need.
function M.setup()
  local world, closed, other = ecs.createWorld(), ecs.createWorld(), ecs.createWorld()
  closed:close()
  local target, dead = world:spawn(M.Tag), world:spawn()
  world:destroy(dead)
  local e = world:spawn(M.T, M.Aos, M.R(target))
  other:spawn(M.T)
  local iterator, state = other:each(M.T)
  return {
    world = world, e = e, target = target, iterator = iterator, state = state,
    values = {
      integer = 5, float = 1.5, nan = 0 / 0, dead = dead, text = "text", boolean = true,
      table = {}, func = function() end, null = ecs.null, file = io.tmpfile(),
      thread = coroutine.create(print), world = other, closed = closed, tag = M.Tag,
      trait = M.T, aos = M.Aos, relation = M.R, term = M.T { hp = 3 }, pair = M.R(target),
      wildcard = M.R("*"), notTerm = ecs.Not(M.Tag), orTerm = ecs.Or(M.T, M.Tag),
      iterator = type(iterator) == "userdata" and iterator or state or iterator,
      unsubscribe = other:onAdd(M.T, function() end),
    },
  }
end

-- Ends the worlds of a setup, even if the calls under test closed some of them.
function M.teardown(setup)
  setup.world:close()
  setup.values.world:close()
  setup.values.file:close()
end

-- The arguments with position i replaced by the sample; "none" cuts the list off there.
function M.replace(args, i, name, value)
  local list = { n = math.max(#args, i) }
  for j = 1, list.n do list[j] = args[j] end
  list[i] = value
  if name == "none" then
    list[i] = nil
    list.n = i - 1
  end
  return list
end

return M
