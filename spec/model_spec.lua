-- Random operations on worlds and on a naive model of them, side by side. ECSSER_OPS gives the
-- number of operations, ECSSER_SEED the first seed; a failure prints the seed and what came last.

local Stream = require "spec.support.world_ops"

local total = tonumber(os.getenv "ECSSER_OPS") or 100000
local firstSeed = tonumber(os.getenv "ECSSER_SEED") or 1
local streams = 20

describe("a world and its naive model agree", function()
  for i = 1, streams do
    local seed = firstSeed + 2 * i
    it("on two interleaved streams, seeds " .. seed .. " and " .. seed + 1, function()
      local a, b = Stream.new(seed), Stream.new(seed + 1)
      a.other, b.other = b, a
      for _ = 1, math.max(1, total // (2 * streams)) do
        a:step()
        b:step()
      end
      a:compareAll()
      b:compareAll()
      a.world:close()
      b.world:close()
    end)
  end
end)
