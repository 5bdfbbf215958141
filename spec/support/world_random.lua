-- A small pseudo-random generator of the specs' own (xorshift64*), so that a seed printed by a
-- failing run gives the same run again, whatever else uses math.random.

local Random = {}
Random.__index = Random

function Random.new(seed)
  return setmetatable({ state = (seed * 0x9E3779B97F4A7C15) | 1 }, Random)
end

function Random:next()
  local x = self.state
  x = x ~ (x >> 12)
  x = x ~ (x << 25)
  x = x ~ (x >> 27)
  self.state = x
  return (x * 0x2545F4914F6CDD1D) >> 11
end

-- An integer from low to high.
function Random:int(low, high) return low + self:next() % (high - low + 1) end

function Random:chance(percent) return self:int(1, 100) <= percent end

function Random:pick(list) return list[self:int(1, #list)] end

return Random
