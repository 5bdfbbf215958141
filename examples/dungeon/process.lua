-- Runs this program again as a process of its own, so that nothing but a file can pass from
-- one part of a fight to the next.

local process = {}

-- The interpreter is arg[-1]; options in between push it further down.
local function interpreter()
  local lowest = -1
  while arg[lowest - 1] do lowest = lowest - 1 end
  return arg[lowest]
end

local function quote(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end

-- Returns true if the process ended with success. It finds modules where this one does.
function process.run(...)
  local words = {
    "LUA_PATH_5_4=" .. quote(package.path),
    "LUA_CPATH_5_4=" .. quote(package.cpath),
    quote(interpreter()), quote(arg[0]),
  }
  for _, word in ipairs { ... } do words[#words + 1] = quote(word) end
  io.stdout:flush()
  return (os.execute(table.concat(words, " ")))
end

return process
