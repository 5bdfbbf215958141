-- What planets and ships are made of: classes with methods.

local class = require "galaxy.class"

local components = {}

local HasPosition = class("HasPosition", { x = 0.0, y = 0.0 })
components.HasPosition = HasPosition

function HasPosition:distance(other)
  return ((self.x - other.x) ^ 2 + (self.y - other.y) ^ 2) ^ 0.5
end

-- Moves towards a place; true when it has arrived.
function HasPosition:approach(other, speed)
  local distance = self:distance(other)
  if distance <= speed then
    self.x, self.y = other.x, other.y
    return true
  end
  self.x = self.x + (other.x - self.x) * speed / distance
  self.y = self.y + (other.y - self.y) * speed / distance
  return false
end

function HasPosition:describe()
  return ("at (%.1f, %.1f)"):format(self.x, self.y)
end

-- One reason why a planet loses lifeforce.
local ConsumesLifeforce = class("ConsumesLifeforce", { reason = "", amount = 0 })
components.ConsumesLifeforce = ConsumesLifeforce

function ConsumesLifeforce:describe()
  return ("-%d %s"):format(self.amount, self.reason)
end

-- `consumers` is a list of instances of the class above.
local HasLifeforce = class("HasLifeforce", { amount = 0, generation = 0 })
components.HasLifeforce = HasLifeforce

function HasLifeforce:perTick()
  local sum = self.generation
  for _, consumer in ipairs(self.consumers) do sum = sum - consumer.amount end
  return sum
end

function HasLifeforce:describe()
  local parts = { ("lifeforce %d, +%d"):format(self.amount, self.generation) }
  for _, consumer in ipairs(self.consumers) do parts[#parts + 1] = consumer:describe() end
  return table.concat(parts, " ")
end

-- Where a ship flies: `planet` is an entity.
local HasDestination = class("HasDestination", { speed = 1.0 })
components.HasDestination = HasDestination

function HasDestination:describe()
  return ("speed %.1f"):format(self.speed)
end

return components
