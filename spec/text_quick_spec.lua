-- restoreJSON has a quick way for texts as saveJSON writes them. A blank in front of a text is
-- enough to send it the general way: what comes of the two must be the same, down to the error.

local child = require "spec.support.world_child"
local deep = require "spec.support.deep"
local ecs = require "ecsser"
local random = require "spec.support.random"

local T <const> = {
  Tag = ecs.trait(), Mark = ecs.trait(),
  Pos = ecs.trait { { "x", 0.0 }, { "y", 0.0 } },
  Hp = ecs.trait { { "hp", 1 }, { "max", 1 } },
  Name = ecs.trait { text = "" },
  Flag = ecs.trait { on = false },
  Aim = ecs.trait { { "kind", "none" }, { "at", ecs.null }, { "any", ecs.null } },
  Made = ecs.trait { list = function() return {} end },
  Bag = ecs.trait(function() return {} end),
  Likes = ecs.relation(),
  Only = ecs.relation { exclusive = true },
  Owns = ecs.relation { store = { { "n", 0 }, { "since", 0.0 } } },
  Notes = ecs.relation { store = function() return {} end },
}

local ENTRIES <const> = {
  { "Tag", T.Tag }, { "Pos", T.Pos }, { "Hp", T.Hp }, { "Name", T.Name }, { "Mark", T.Mark },
  { "Flag", T.Flag }, { "Aim", { trait = T.Aim, refs = { "at" } } }, { "Made", T.Made },
  { "Bag", T.Bag }, { "Likes", T.Likes }, { "Only", T.Only }, { "Owns", T.Owns },
  { "Notes", T.Notes }, { "quote \" and \u{e9}", ecs.trait() },
}

local function newWorld()
  local world = ecs.createWorld()
  ecs.registerTraits(world, ENTRIES)
  return world
end

-- ---- Random worlds --------------------------------------------------------------------------

local STRINGS <const> = { "", "x", "plain", "exactly-eight", "with \"quotes\"", "\n\t\\", "\u{e9}",
  "\u{1F600}", ("long "):rep(40), "1234567", "12345678", "\0", "\x7f" }

local function number(rng)
  local kind = rng:int(0, 4)
  if kind == 0 then return rng:int(0, 9) end
  if kind == 1 then return -rng:int(0, 1 << 40) end
  if kind == 2 then return math.maxinteger - rng:int(0, 2) end
  if kind == 3 then return (rng:int(0, 1999) - 1000) / 8 end
  return (rng:int(0, 1 << 50) - (1 << 49)) * 1.1e-7
end

local function any(rng, depth)
  local kind = rng:int(0, depth > 3 and 4 or 6 - 1)
  if kind == 0 then return number(rng) end
  if kind == 1 then return rng:pick(STRINGS) end
  if kind == 2 then return rng:chance(50) end
  if kind == 3 then return ecs.null end
  local value = {}
  if kind == 4 then
    for i = 1, rng:int(0, 3) do value[i] = any(rng, depth + 1) end
    return ecs.array(value)
  end
  for _ = 1, rng:int(0, 3) do value[rng:pick(STRINGS)] = any(rng, depth + 1) end
  return value
end

local function terms(rng)
  local list = {}
  local function maybe(term)
    if rng:chance(40) then list[#list + 1] = term end
  end
  maybe(T.Tag)
  maybe(T.Mark)
  maybe(T.Pos { x = number(rng), y = number(rng) })
  maybe(T.Hp { hp = number(rng), max = number(rng) })
  maybe(T.Name { text = rng:pick(STRINGS) })
  maybe(T.Flag { on = rng:chance(50) })
  maybe(T.Aim { kind = rng:pick(STRINGS), any = any(rng, 0) })
  maybe(T.Made { list = any(rng, 0) })
  maybe(T.Bag(any(rng, 0)))
  return list
end

local function fill(world, rng, n)
  local handles = {}
  for i = 1, n do handles[i] = world:spawn(table.unpack(terms(rng))) end
  for _, e in ipairs(handles) do
    local other = rng:pick(handles)
    if world:has(e, T.Aim) and rng:chance(60) then world:set(e, T.Aim, "at", other) end
    for _ = 1, rng:int(0, 2) do world:add(e, T.Likes(rng:pick(handles))) end
    if rng:chance(20) then world:add(e, T.Only(other)) end
    if rng:chance(30) then
      world:add(e, T.Owns(other, { n = rng:int(0, 8), since = number(rng) }))
    end
    if rng:chance(10) then world:add(e, T.Notes(other, any(rng, 1))) end
  end
  if rng:chance(50) then world:add(T.Tag) end
  if rng:chance(50) then world:add(T.Pos { x = 1, y = -0.5 }) end
end

-- ---- The two ways ---------------------------------------------------------------------------

local function restore(text)
  local world <close> = newWorld()
  local ok, result = pcall(ecs.restoreJSON, world, text)
  if not ok then
    return { code = result.code, path = result.path, offset = result.offset,
      message = result.message:gsub("byte %d+", "byte"), count = world:count() }
  end
  local after = { world:spawn(T.Tag), world:spawn(T.Pos) }
  world:destroy(after[1])
  local handles = {}   -- without the world's id and its first generation, which differ
  local _, base = ecs.unpack(after[2])
  local function note(i, e)
    local _, generation, slot = ecs.unpack(e)
    handles[i] = { generation - base, slot }
  end
  for i, e in ipairs(result.entities) do note(i, e) end
  for i, e in ipairs(after) do note(-i, e) end
  return { handles = handles, hash = ecs.hashWorld(world), text = ecs.saveJSON(world) }
end

local function assertSame(text)
  local quick, general = restore(text), restore(" " .. text)
  if general.offset then general.offset = general.offset - 1 end
  deep.assertSame(general, quick, "the results of " .. text:sub(1, 2000))
  return quick
end

describe("the quick way of restoreJSON", function()
  it("gives what the general way gives, for 400 random worlds", function()
    random.rounds(400, function(rng)
      local world <close> = newWorld()
      fill(world, rng, rng:int(1, rng:chance(20) and 150 or 12))
      local text = ecs.saveJSON(world)
      local result = assertSame(text)
      assert.is_nil(result.code)
    end)
  end)

  it("gives the same error, or the same world, for damaged texts", function()
    local alphabet = "{}[]\",:0123456789.-eEtrufalsn\\ x\n\0\xff"
    random.rounds(200, function(rng)
      local world <close> = newWorld()
      fill(world, rng, rng:int(1, 4))
      local text = ecs.saveJSON(world)
      for _ = 1, 25 do
        local at, kind = rng:int(1, #text), rng:int(0, 3)
        local i = rng:int(1, #alphabet)
        local char = alphabet:sub(i, i)
        local rest = text:sub(at + (kind == 0 and 0 or 1))
        if kind == 3 then rest = text:sub(rng:int(1, #text)) end
        if kind == 1 then char = "" end
        assertSame(text:sub(1, at - 1) .. char .. rest)
      end
    end)
  end)

  it("gives the same for texts with parts in another order, twice, or of another kind", function()
    local world <close> = newWorld()
    fill(world, random.new(7), 6)
    local text = ecs.saveJSON(world)
    local pieces = {}
    for piece in text:gmatch '"[^"]*":%b{}' do pieces[#pieces + 1] = piece end
    for piece in text:gmatch '"[^"]*":%b[]' do pieces[#pieces + 1] = piece end
    for piece in text:gmatch '"[^"]*":[^,{}%[%]]*' do pieces[#pieces + 1] = piece end
    local values = { "null", "true", "0", "-1", "1e400", "99999999999", "1.0", '"s"', "[]", "{}",
      "[1]", '{"a":1}', '{"a":1,"a":2}', "01", "5", '"\\ud800"', '"\\q"', "nul", "-", "1.",
      '[{"target":0}]', '[{"target":1,"data":{"n":1,"since":2}}]', '[{"target":0},{"target":0}]' }
    local function plain(s) return (s:gsub("%%", "%%%%")) end
    for _, piece in ipairs(pieces) do
      local first, last = text:find(piece, 1, true)
      local key = piece:match '^"[^"]*":'
      assertSame(text:sub(1, first - 1) .. piece .. "," .. piece .. text:sub(last + 1))
      assertSame((text:gsub(plain(piece):gsub("%p", "%%%0") .. ",?", "", 1)))
      for _, value in ipairs(values) do
        assertSame(text:sub(1, first - 1) .. key .. value .. text:sub(last + 1))
      end
    end
  end)

  it("keeps the limit of nesting where it is", function()
    for _, depth in ipairs { 100, 500, 504, 505, 506, 507, 508, 509, 510, 512, 600 } do
      local nested = ("["):rep(depth) .. ("]"):rep(depth)
      for _, part in ipairs { '"traits":{"Bag":%s},"pairs":{}',
        '"traits":{"Aim":{"kind":"","at":null,"any":%s}},"pairs":{}',
        '"traits":{},"pairs":{"Notes":[{"target":0,"data":%s}]}' } do
        assertSame('{"format":"ecs-serialize","version":1,"entities":[{"tags":[],' ..
          part:format(nested) .. '}],"world":{"tags":[],"traits":{}}}')
      end
    end
  end)

  it("refers to entities that come later, and to none that does not come", function()
    local function text(at, target)
      return ('{"format":"ecs-serialize","version":1,"entities":[{"tags":[],"traits":{"Aim":' ..
        '{"kind":"a","at":%s,"any":null}},"pairs":{"Likes":[{"target":%s}]}},{"tags":[],' ..
        '"traits":{},"pairs":{}}],"world":{"tags":[],"traits":{}}}'):format(at, target)
    end
    assert.is_nil(assertSame(text(1, 1)).code)
    assert.is_nil(assertSame(text("null", 0)).code)
    for _, index in ipairs { "2", "-1", "1.5", "4294967296", "true", '"1"', "00", "null2" } do
      assert.equal("malformed", assertSame(text(index, 0)).code)
      assert.equal("malformed", assertSame(text(0, index)).code)
    end
  end)

  it("leaves columns that a script holds in use", function()
    local world <close> = newWorld()
    local column = world:column(T.Pos, "x")
    ecs.restoreJSON(world, '{"format":"ecs-serialize","version":1,"entities":[{"tags":[],' ..
      '"traits":{"Pos":{"x":2.5,"y":1.0}},"pairs":{}}],"world":{"tags":[],"traits":{}}}')
    assert.same({ 2.5 }, column)
    column[1] = 7.5
    assert.equal(7.5, world:get(world:query(T.Pos)[1], T.Pos, "x"))
  end)

  it("keeps no columns that are too large when the first records mislead", function()
    local records = {}
    for i = 1, 100 do
      records[i] = '{"tags":[],"traits":{"Pos":{"x":1.5,"y":2.5}},"pairs":{}}'
    end
    records[101] = '{"tags":[],"traits":{"Name":{"text":"' .. ("long"):rep(500000) ..
      '"}},"pairs":{}}'
    local text = '{"format":"ecs-serialize","version":1,"entities":[' ..
      table.concat(records, ",") .. '],"world":{"tags":[],"traits":{}}}'
    local sizes = {}
    for i, lead in ipairs { " ", "" } do
      local world <close> = newWorld()
      local given = lead .. text
      collectgarbage()
      collectgarbage()
      local before = collectgarbage "count"
      ecs.restoreJSON(world, given)
      collectgarbage()
      collectgarbage()
      sizes[i] = collectgarbage "count" - before
    end
    assert.is_true(sizes[2] < sizes[1] + 100, table.concat(sizes, " and ") .. " KB")
  end)

  it("calls observers as ever", function()
    local world <close> = newWorld()
    local seen = {}
    world:onAdd(T.Tag, function(e) seen[#seen + 1] = e end)
    local result = ecs.restoreJSON(world, '{"format":"ecs-serialize","version":1,"entities":[' ..
      '{"tags":["Tag"],"traits":{},"pairs":{}}],"world":{"tags":[],"traits":{}}}')
    assert.same(result.entities, seen)
  end)

  it("fills a world in which excluded entities and free slots are", function()
    local source <close> = newWorld()
    fill(source, random.new(3), 40)
    local text = ecs.saveJSON(source)
    for free = 0, 1 do
      local made = {}
      for i, lead in ipairs { "", " " } do
        local world <close> = newWorld()
        local excluded = world:spawn(ecs.IsExcluded, T.Hp)
        if free == 1 then
          local gone = world:spawn()
          world:spawn(ecs.IsExcluded)
          world:destroy(gone)
        end
        local result = ecs.restoreJSON(world, lead .. text)
        assert.is_true(world:isAlive(excluded))
        local handles = {}
        for k, e in ipairs(result.entities) do handles[k] = { select(2, ecs.unpack(e)) } end
        made[i] = { handles = handles, text = ecs.saveJSON(world), hash = ecs.hashWorld(world) }
      end
      assert.same(made[2], made[1])
      assert.equal(text, made[1].text)
    end
  end)

  it("finds what finalizers change in its midst", function()
    local how, code, output = child.run('require "spec.support.quick_changes".run()', "-W")
    assert.equal("exit 0 done\n", how .. " " .. code .. " " .. output)
  end)
end)
