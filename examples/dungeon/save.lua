-- A world as text, with any JSON library: saveWorld gives a plain Lua table, and restoreWorld
-- takes one.

local cjson = require "cjson"
local ecs = require "ecsser"

local save = {}

function save.text(world)
  return cjson.encode(ecs.saveWorld(world))
end

-- `world` must be empty and have its traits registered. Raises a SerializeError and leaves the
-- world as it was if the text is not a valid save.
function save.restore(world, text)
  return ecs.restoreWorld(world, cjson.decode(text)).entities
end

function save.writeFile(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

function save.readFile(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(file:read("a"))
end

return save
