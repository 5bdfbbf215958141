-- What a save as text needs: at its peak the text twice over, besides the world. The blocks of the
-- core are outside of what collectgarbage counts, so a child process looks at its own size.

local ecs = require "ecsser"
local worldChild = require "spec.support.world_child"

local CODE = [[
  local ecs = require "ecsser"
  local function status(field)
    for line in io.lines "/proc/self/status" do
      local value = line:match("^" .. field .. ":%%s*(%%d+)")
      if value then return value * 1024 end
    end
  end
  local Body = ecs.trait { { "x", 0.5 }, { "name", "" }, { "id", 0 } }
  local Bag = ecs.trait(function() return {} end)
  local Near = ecs.relation { store = { d = 0.0 } }
  local world = ecs.createWorld()
  ecs.registerTraits(world, { Body = Body, Bag = Bag, Near = Near })
  local last
  for i = 1, %d do
    local e = world:spawn(Body { x = i / 3, name = "the name " .. i %% 1000, id = i })
    if i %% 4 == 0 then world:add(e, Bag { i, { k = "v" } }) end
    if last then world:add(e, Near(last, { d = i / 7 })) end
    last = e
  end
  collectgarbage()
  collectgarbage()
  -- Makes the present size the peak so far, where the kernel lets us.
  local clear = io.open("/proc/self/clear_refs", "w")
  if clear then
    clear:write "5"
    clear:close()
  end
  local before = status "VmRSS"
  local text = ecs.saveJSON(world)
  print(("%%d %%d %%d"):format(#text, before, status "VmHWM"))
]]

-- Sanitizers and valgrind keep freed blocks and shadows of their own.
local function isInstrumented()
  return (os.getenv "LD_PRELOAD" or ""):find("san", 1, true) ~= nil
    or package.cpath:find("asan", 1, true) ~= nil
end

describe("saveJSON", function()
  it("needs at its peak no more than the text twice over", function()
    local status = io.open "/proc/self/status"
    if not status then return pending "there is no /proc/self/status" end
    status:close()
    if isInstrumented() then return pending "the sizes are those of a sanitizer" end
    for _, count in ipairs { 20000, 200000 } do
      local how, number, output = worldChild.run(CODE:format(count), "-W")
      assert.equal("exit 0", how .. " " .. number, output)
      local length, before, after = output:match "^(%d+) (%d+) (%d+)"
      local size = (after - before) / length
      assert.is_true(length + 0 > count * 80, output)
      -- The text itself is one; pages and the stack of the collector are the allowance.
      assert.is_true(size < 2.1 and size > 0.9,
        ("%d entities, %d bytes of text: the peak is %.2f times that"):format(count, length, size))
    end
  end)

  it("leaves nothing behind but the text", function()
    local Body = ecs.trait { x = 0.5, name = "" }
    local world = ecs.createWorld()
    ecs.registerTraits(world, { Body = Body })
    for i = 1, 2000 do world:spawn(Body { x = i / 3, name = "n" .. i }) end
    local function cycle()
      local text = ecs.saveJSON(world)
      world:reset()
      ecs.restoreJSON(world, text)
      ecs.checkSnapshot(world, text)
      ecs.decode(text)
      pcall(ecs.decode, text:sub(1, -2))
    end
    local function count()
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    for _ = 1, 5 do cycle() end
    local before = count()
    for _ = 1, 40 do cycle() end
    local grown = count() - before
    assert.is_true(grown < 64, ("%.1f KB more"):format(grown))
  end)
end)
