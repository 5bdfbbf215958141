-- The collector runs in the midst of every call, and finalizers with it: whatever they do to the
-- world, nothing crashes, and the world stays consistent.

local child = require "spec.support.world_child"
local finalizer = require "spec.support.snap_finalizer"

describe("finalizers may change the world during", function()
  for _, call in ipairs(finalizer.calls()) do
    it(call, function()
      for _, change in ipairs(finalizer.changes()) do
        local how, number, output = child.run(
          ('require "spec.support.snap_finalizer".change(%q, %q)'):format(call, change))
        local times = tonumber(output)
        assert(how == "exit" and number == 0 and times,
          ("%s: %s %d: %s"):format(change, how, number, output))
        assert(times >= 50, ("%s: only %d times"):format(change, times))
      end
    end)
  end
end)
