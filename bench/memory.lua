--- How much memory a save needs at its peak, besides the world. It looks at the size of the whole
-- process, so run it in one of its own:
--     lua bench/memory.lua saveJSON|saveSnapshot|baseline n
-- Prints the length of what was saved, and the growth of the process up to its peak, in bytes.

package.path = "./?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "ECSSER_BUILD" or "build") .. "/?.so;" .. package.cpath

local route, n = arg[1], math.tointeger(tonumber(arg[2]))

local ecs = require "ecsser"
local baseline = require "bench.baseline"
local workload = require "bench.workload"

local function status(field)
  for line in io.lines "/proc/self/status" do
    local value = line:match("^" .. field .. ":%s*(%d+)")
    if value then return value * 1024 end
  end
end

local make = route == "baseline" and workload.plain or workload.world
local save = route == "baseline" and baseline.save or ecs[route]
local subject = make(n)
collectgarbage()
collectgarbage()
-- Makes the present size the peak so far, where the kernel lets us.
local clear = io.open("/proc/self/clear_refs", "w")
if clear then
  clear:write "5"
  clear:close()
end
local before = status "VmRSS"
local saved = save(subject)
print(#saved, status "VmHWM" - before)
