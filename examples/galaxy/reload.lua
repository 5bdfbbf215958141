-- Hot reload, as a development server does it: the modules are loaded anew after an edit. The edit
-- is made in memory, so that the files of this example stay what they are.

local reload = {}

local function sourceOf(name)
  local path = assert(package.searchpath(name, package.path))
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local function replaced(source, old, new)
  local first, last = source:find(old, 1, true)
  assert(first, "the text to edit is not in the module")
  return source:sub(1, first - 1) .. new .. source:sub(last + 1)
end

--- From now on `require(name)` loads the module's source with `old` replaced by `new`.
function reload.edit(name, old, new)
  local chunk = assert(load(replaced(sourceOf(name), old, new), "=" .. name))
  package.preload[name] = chunk
end

--- Forgets all modules of the galaxy and loads the one of this name again.
function reload.all(name)
  for loaded in pairs(package.loaded) do
    if loaded:find "^galaxy%." then package.loaded[loaded] = nil end
  end
  return require(name)
end

return reload
