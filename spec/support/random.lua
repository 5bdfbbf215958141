--- A seeded generator (splitmix64), so that a failing run can be repeated from its seed.

local random = {}
random.__index = random

function random.new(seed)
  return setmetatable({ state = seed, seed = seed }, random)
end

function random:bits()
  self.state = self.state + 0x9E3779B97F4A7C15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

--- An integer in low..high.
function random:int(low, high)
  return low + (self:bits() >> 1) % (high - low + 1)
end

function random:chance(percent)
  return self:int(1, 100) <= percent
end

function random:pick(list)
  return list[self:int(1, #list)]
end

--- A new list with the same elements in another order.
function random:shuffled(list)
  local out = table.move(list, 1, #list, 1, {})
  for i = #out, 2, -1 do
    local j = self:int(1, i)
    out[i], out[j] = out[j], out[i]
  end
  return out
end

--- Runs `body(rng, round)` for `rounds` rounds, each with its own seed; a failure says which.
-- ECSSER_SEED sets the first seed, ECSSER_ROUNDS the number of rounds, which is the result.
function random.rounds(rounds, body)
  local first = math.tointeger(tonumber(os.getenv("ECSSER_SEED") or "")) or 20260101
  rounds = math.tointeger(tonumber(os.getenv("ECSSER_ROUNDS") or "")) or rounds
  for round = 1, rounds do
    local seed = first + round - 1
    local ok, message = xpcall(body, function(e)
      return debug.traceback(tostring(e), 2)
    end, random.new(seed), round)
    if not ok then
      error(("seed %d (repeat with ECSSER_SEED=%d ECSSER_ROUNDS=1): %s"):format(
        seed, seed, message), 2)
    end
  end
  return rounds
end

return random
