--- What the scenarios of the allocation harness share: a world with some of everything, and a text
-- that tells all a script can learn about a world.
--
-- The chunk is called with a table of functions written in C: `open` gives the module, `check` and
-- `core` look inside a world (harness_check.h).

local c = ...

-- So many traits and relations are queried; a scenario may define more.
local BASE = 14

local kit = { check = c.check, core = c.core, anchors = c.anchors, open = c.open }

-- ---- a state to begin with ----------------------------------------------------------------------

--- The module, and one trait or relation of each sort. `defs` lists them in their order.
function kit.define()
  local ecs = c.open()
  local s = { ecs = ecs, defs = {}, keys = {}, handles = {}, columns = {} }
  local function def(name, thing)
    s[name] = thing
    s.defs[#s.defs + 1] = { name, thing }
  end
  def("Tag", ecs.trait())
  def("Mark", ecs.trait())
  def("Pos", ecs.trait { x = 0.5, y = 0 })
  def("Label", ecs.trait { text = "?", shown = true })
  def("Intent", ecs.trait { kind = "none", note = ecs.null, target = ecs.null })
  def("Bag", ecs.trait(function() return { items = {} } end))
  def("Made", ecs.trait { id = function() return { "made" } end, n = 1 })
  def("Near", ecs.relation())
  def("Likes", ecs.relation { store = { why = "", much = 1 } })
  def("Owns", ecs.relation { autoDestroy = "target" })
  def("ChildOf", ecs.relation { exclusive = true, autoDestroy = "orphan" })
  def("Holds", ecs.relation { exclusive = true, store = { hand = "left", grip = ecs.null } })
  def("Key", ecs.Key)
  def("IsExcluded", ecs.IsExcluded)
  return s
end

--- The same with an empty world.
function kit.empty()
  local s = kit.define()
  s.w = s.ecs.createWorld()
  return s
end

--- The same with `n` (5 or more) entities that have values and pairs.
function kit.filled(n)
  local s = kit.empty()
  local w, e = s.w, s.handles
  for i = 1, n or 5 do
    e[i] = w:spawn()
  end
  w:add(e[1], s.Tag, s.Pos { x = 1.5, y = -2 }, s.Key "first", s.Label { text = "one" })
  w:add(e[2], s.Pos { x = 3, y = 4 }, s.Intent { kind = "flee", note = "quickly" })
  w:add(e[3], s.Mark, s.Bag { items = { "rope", { n = 3, of = { 1, 2.5, true } } } })
  w:add(e[4], s.Intent { target = s.ecs.null }, s.Made)
  w:add(e[1], s.Likes(e[2], { why = "kind", much = 3 }), s.Likes(e[3]), s.Near(e[5]))
  w:add(e[2], s.Likes(e[1], { much = 9 }), s.Holds(e[3], { hand = "right", grip = "firm" }))
  w:add(e[3], s.Near(e[1]), s.Near(e[2]), s.ChildOf(e[1]))
  w:add(e[5], s.Owns(e[4]))
  w:add(s.Label { text = "world" })
  s.keys = { "first", "second", "third" }
  return s
end

-- ---- a world that can be saved ------------------------------------------------------------------

-- Shared values with an entity inside, which only a codec can save.
local function link_codec()
  return {
    toJSON = function(value, ctx)
      return { to = ctx.ref(value.to), text = value.text .. "!", list = { 1, { value.n } } }
    end,
    fromJSON = function(json, ctx)
      return { to = ctx.entity(json.to), text = json.text:sub(1, -2), n = json.list[2][1] }
    end,
  }
end

-- The entries of all traits of kit.define, and of some more: a codec, refs, a codec of fields.
function kit.entries(s)
  if not s.Link then
    s.Link = s.ecs.trait(function() return { text = "", n = 0 } end)
    s.Goal = s.ecs.trait { who = s.ecs.null, whom = s.ecs.null, since = 1.5 }
    s.Path = s.ecs.trait { from = "a", to = "b" }
    s.defs[#s.defs + 1] = { "Link", s.Link }
    s.defs[#s.defs + 1] = { "Goal", s.Goal }
    s.defs[#s.defs + 1] = { "Path", s.Path }
    s.link = link_codec()
    s.path = {
      toJSON = function(value) return value.from .. "->" .. value.to end,
      fromJSON = function(json)
        local from, to = json:match "^(.*)->(.*)$"
        return { from = from, to = to }
      end,
    }
  end
  return {
    Tag = s.Tag, Mark = { trait = s.Mark }, Pos = s.Pos, Label = s.Label, Intent = s.Intent,
    Bag = s.Bag, Made = s.Made, Near = s.Near, Likes = { relation = s.Likes }, Owns = s.Owns,
    ChildOf = s.ChildOf, Holds = s.Holds, Key = s.Key,
    Link = { trait = s.Link, codec = s.link }, Goal = { trait = s.Goal, refs = { "who", "whom" } },
    Path = { trait = s.Path, codec = s.path },
  }
end

function kit.registered(n)
  local s = kit.filled(n)
  s.ecs.registerTraits(s.w, kit.entries(s))
  s.saved = true
  return s
end

-- A world with something of everything, ready to be saved.
function kit.full(n)
  local s = kit.registered(n)
  local w, e = s.w, s.handles
  w:add(e[3], s.Link { to = e[1], text = "link", n = 2 ^ 53 }, s.Path { from = "x" })
  w:add(e[1], s.Goal { who = e[2], whom = e[5] }, s.Path)
  w:add(e[4], s.Goal { whom = e[4] })
  w:add(s.Goal { whom = e[1] }, s.Tag, s.Link { to = e[2], text = "", n = -0.0 })
  w:spawn(s.IsExcluded, s.Pos)
  for i = 6, n or 5 do
    w:add(e[i], s.Pos { x = i }, s.Label { text = ("text "):rep(i % 7) }, s.Likes(e[i - 1]),
      s.Key("key" .. i), s.Near(e[1]))
  end
  return s
end

-- ---- everything a script can learn --------------------------------------------------------------

local function slot(handle) return handle & 0xFFFFFF end

local show

-- What a table holds: a list as it is, all else by its keys.
local function inside(value, exact)
  local parts, named = {}, false
  for key, item in next, value do
    named = named or math.type(key) ~= "integer" or key < 1 or key > #value
    parts[#parts + 1] = show(key, exact) .. "=" .. show(item, exact)
  end
  if named then
    table.sort(parts)
    return table.concat(parts, ",")
  end
  for i, item in ipairs(value) do
    parts[i] = show(item, exact)
  end
  return table.concat(parts, ",")
end

-- A value as text; handles as their slot, because generations may have gone on.
function show(value, exact)
  if math.type(value) == "integer" then
    if value >= 1 << 45 and value < 1 << 53 and not exact then
      return "@" .. slot(value)
    end
    return ("%d"):format(value)
  elseif math.type(value) == "float" then
    return ("%a"):format(value)
  elseif type(value) == "string" then
    return ("%q"):format(value)
  elseif type(value) == "function" then
    return "function"
  elseif type(value) ~= "table" then
    return (tostring(value):gsub(": 0x%x+", ""))
  end
  return (getmetatable(value) and "marked{" or "{") .. inside(value, exact) .. "}"
end
kit.show = show

local function writer(exact)
  local lines = {}
  local function out(...)
    local parts = table.pack(...)
    for i = 1, parts.n do
      parts[i] = type(parts[i]) == "string" and parts[i] or show(parts[i], exact)
    end
    lines[#lines + 1] = table.concat(parts, " ", 1, parts.n)
  end
  return out, lines
end

-- A list of handles, quickly.
local function members(list, exact)
  if not exact then
    for i, e in ipairs(list) do
      list[i] = slot(e)
    end
  end
  return "<" .. table.concat(list, " ") .. ">"
end

local function tell_trait(s, w, out, name, T, e)
  if not s.ecs.isRelation(T) then
    if w:has(e, T) then
      out(e, name, w:get(e, T))
    end
    return
  end
  for _, target in ipairs(w:targets(e, T)) do
    out(e, name, target, w:get(e, T(target)))
  end
  local sources = w:sources(e, T)
  if #sources > 0 then
    out(e, name, "sources", sources)
  end
end

local function tell_queries(s, w, out, exact)
  local ecs = s.ecs
  local Not, Or = ecs.Not, ecs.Or
  local function all(...) return members(w:query(...), exact) end
  for i = 1, BASE do
    local name, T = s.defs[i][1], s.defs[i][2]
    local term = ecs.isRelation(T) and T("*") or T
    out("query", name, all(term), table.concat((w:slots(term)), " "))
  end
  out("queries", all(s.Pos, Not(s.Intent)), all(Or(s.Tag, s.Mark)), all(), all(Not(s.Likes("*"))))
end

-- The columns that the state holds: whether they are the ones in use, and agree with get.
local function tell_columns(s, w, out)
  for _, column in ipairs(s.columns) do
    local T, field, held = column[1], column[2], column[3]
    if not pcall(next, held) or getmetatable(held) ~= nil then
      out("column", field, "dead")
    else
      local agree = rawequal(held, w:column(T, field))
      for _, e in ipairs(w:query(T)) do
        local value = field and w:get(e, T, field) or not field and w:get(e, T)
        agree = agree and held[slot(e)] == value
      end
      out("column", field, agree)
    end
  end
end

local function tell_world(s, w, out, exact)
  if not pcall(w.count, w) then
    return out("closed")
  end
  local kinds, present = {}, {}
  for i, T in ipairs(w:traits()) do
    kinds[i] = T.id
    present[T] = true
  end
  out("count", w:count(), "traits", kinds, members(w:entities(), exact))
  for _, def in ipairs(s.defs) do
    for _, e in ipairs(present[def[2]] and w:entities() or {}) do
      tell_trait(s, w, out, def[1], def[2], e)
    end
  end
  for _, def in ipairs(s.defs) do
    out("name of", def[1], s.ecs.getTraitName(w, def[2]))
  end
  for _, key in ipairs(s.keys) do
    out("key", key, w:find(key))
  end
  tell_queries(s, w, out, exact)
  tell_columns(s, w, out)
  out(kit.core(w, exact))
end

--- All about the worlds of a state. `exact`: with generations and the free slots.
function kit.digest(s, exact)
  local out, lines = writer(exact)
  for _, w in ipairs(s.worlds or { s.w }) do
    tell_world(s, w, out, exact)
    local lives = {}
    for i, e in ipairs(s.handles) do
      lives[i] = tostring(select(2, pcall(w.isAlive, w, e)))
    end
    out("alive", table.concat(lives, " "))
    if s.saved then
      local ok, text = pcall(s.ecs.saveJSON, w)
      out("text", ok, tostring(text))
    end
  end
  return table.concat(lines, "\n")
end

--- What an act returned, as text.
function kit.results(exact, ...)
  local out, lines = writer(exact)
  out("results", ...)
  return table.concat(lines, "\n")
end

--- What is wrong inside the worlds of a state; "" when nothing is.
function kit.faults(s, garbage)
  local faults = {}
  for _, w in ipairs(s.worlds or { s.w }) do
    faults[#faults + 1] = kit.check(w, garbage)
  end
  return table.concat(faults)
end

--- How many things the worlds keep alive.
function kit.kept(s)
  local n = 0
  for _, w in ipairs(s.worlds or { s.w }) do
    n = n + kit.anchors(w)
  end
  return n
end

-- ---- for acts -----------------------------------------------------------------------------------

-- Lua says "stack overflow" where there is no memory for a larger stack.
local function is_memory_error(err)
  return err == "not enough memory" or type(err) == "string" and err:find "stack overflow %("
end

--- Calls a function that must raise; returns what tells the error. Full memory goes on.
function kit.refused(f, ...)
  local ok, err = pcall(f, ...)
  if ok then
    error("this should have failed")
  elseif is_memory_error(err) then
    error(err, 0)
  elseif type(err) == "table" then
    return { err.code, err.path, err.message, tostring(err.cause), err.suppressed }
  end
  return tostring(err)
end

--- An observer that needs memory and writes down what it was told.
function kit.listen(s)
  return function(...)
    local log = s.log
    log[#log + 1] = { ... }
    log[#log + 1] = "told " .. #log .. " " .. ("x"):rep(30 + #log)
  end
end

return kit
