-- Runs a piece of Lua in a process of its own, for what only a whole process can show: the limit
-- on worlds, warnings of finalizers, what happens when a state is closed.

local M = {}

local function interpreter()
  local i = 0
  while arg and arg[i - 1] do i = i - 1 end
  return i < 0 and arg[i] or "lua5.4"
end

local function quote(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

-- The exit state ("exit" or "signal"), its number, and all that was written.
function M.run(code, flags)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write(("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath), code)
  file:close()
  local command = ("%s %s %s 2>&1"):format(quote(interpreter()), flags or "", quote(name))
  local pipe = assert(io.popen(command))
  local output = pipe:read "a"
  local _, how, number = pipe:close()
  os.remove(name)
  return how, number, output
end

return M
