-- Dice whose state is in the world, so that it is saved and a resumed fight rolls on where it
-- stopped. This is Lehmer's generator with the modulus 2^31 - 1. A small state is on purpose:
-- lua-cjson writes numbers with 14 significant digits, so a 64-bit state would come back as
-- another number. (Text from ecs.saveJSON is exact and could hold any integer.)

local traits = require "dungeon.traits"

local MODULUS <const> = 2^31 - 1 | 0
local FACTOR <const> = 48271

local dice = {}

function dice.seed(world, seed)
  world:add(traits.Rng { state = seed % (MODULUS - 1) + 1 })
end

-- A whole number from 1 to `sides`.
function dice.roll(world, sides)
  local state = world:get(traits.Rng, "state") * FACTOR % MODULUS
  world:set(traits.Rng, "state", state)
  return state * sides // MODULUS + 1
end

return dice
