-- The world of the galaxy: which traits there are, how they are saved, what happens in a tick.

local ecs = require "ecsser"
local codec = require "ecsser.codec"
local components = require "galaxy.components"

local HasPosition, HasLifeforce = components.HasPosition, components.HasLifeforce
local ConsumesLifeforce, HasDestination = components.ConsumesLifeforce, components.HasDestination

local game = {}

local IsPlanet, IsShip = ecs.trait(), ecs.trait()
local Position, Lifeforce = ecs.trait(HasPosition.new), ecs.trait(HasLifeforce.new)
local Destination = ecs.trait(HasDestination.new)
local Chart = ecs.trait(function() return {} end)     -- planet -> tick of the last visit
local Clock = ecs.trait { tick = 0 }

-- Each codec is made once. The classes give restored values their methods again, the references
-- are entities inside of values.
local ENTRIES <const> = {
  { "IsPlanet", IsPlanet }, { "IsShip", IsShip }, { "Name", ecs.Key }, { "Clock", Clock },
  { "Position", { trait = Position, codec = codec.class(HasPosition) } },
  { "Lifeforce", {
    trait = Lifeforce, codec = codec.classes { HasLifeforce, ConsumesLifeforce },
  } },
  { "Destination", {
    trait = Destination,
    codec = codec.both(codec.class(HasDestination), codec.refs { "planet" }),
  } },
  { "Chart", { trait = Chart, codec = codec.map { key = "entity" } } },
}

--- The traits whose values are instances, each with the class of its values.
game.instances = {
  { trait = Position, class = HasPosition }, { trait = Lifeforce, class = HasLifeforce },
  { trait = Destination, class = HasDestination },
}

local function newWorld()
  local world = ecs.createWorld()
  ecs.registerTraits(world, ENTRIES)
  return world
end

local function consumers(list)
  for i, fields in ipairs(list) do list[i] = ConsumesLifeforce.new(fields) end
  return list
end

local function addPlanet(world, name, x, y, lifeforce)
  return world:spawn(IsPlanet, ecs.Key(name), Position(HasPosition.new { x = x, y = y }),
    Lifeforce(HasLifeforce.new(lifeforce)))
end

local function addShip(world, name, speed, from, to)
  local start = world:get(from, Position)
  world:spawn(IsShip, ecs.Key(name), Position(HasPosition.new { x = start.x, y = start.y }),
    Destination(HasDestination.new { planet = to, speed = speed }), Chart { [from] = 0 })
end

--- A new galaxy: three planets, two ships.
function game.new()
  local world = newWorld()
  world:add(Clock)
  local terra = addPlanet(world, "Terra", 0.0, 0.0, {
    amount = 120, generation = 12,
    consumers = consumers { { reason = "mining", amount = 7 }, { reason = "people", amount = 9 } },
  })
  local kepler = addPlanet(world, "Kepler", 4.0, 3.0, {
    amount = 60, generation = 5, consumers = consumers { { reason = "mining", amount = 2 } },
  })
  local vega = addPlanet(world, "Vega", -6.0, 8.0, {
    amount = 10, generation = 3, consumers = ecs.array {},
  })
  addShip(world, "Heron", 1.5, terra, kepler)
  addShip(world, "Stork", 0.75, kepler, vega)
  return world
end

-- A ship that has arrived goes on to the next planet in the list.
local function flyOn(world, ship, destination)
  world:get(ship, Chart)[destination.planet] = world:get(Clock, "tick")
  local planets = world:query(IsPlanet)
  for i, planet in ipairs(planets) do
    if planet == destination.planet then
      destination.planet = planets[i % #planets + 1]
      return
    end
  end
end

function game.tick(world)
  world:set(Clock, "tick", world:get(Clock, "tick") + 1)
  for _, lifeforce in world:each(Lifeforce) do
    lifeforce.amount = lifeforce.amount + lifeforce:perTick()
  end
  for ship, position, destination in world:each(Position, Destination) do
    local goal = world:get(destination.planet, Position)
    if position:approach(goal, destination.speed) then flyOn(world, ship, destination) end
  end
end

function game.play(world, ticks)
  for _ = 1, ticks do game.tick(world) end
end

function game.serialize(world)
  return ecs.saveJSON(world)
end

function game.recall(text)
  local world = newWorld()
  ecs.restoreJSON(world, text)
  return world
end

function game.nameOf(world, entity)
  return world:get(entity, ecs.Key)
end

local function visits(world, ship)
  local out = {}
  for _, planet in ipairs(world:query(IsPlanet)) do
    local tick = world:get(ship, Chart)[planet]
    if tick then out[#out + 1] = ("%s in tick %d"):format(game.nameOf(world, planet), tick) end
  end
  return table.concat(out, ", ")
end

--- The galaxy as lines of text, in the words of the components' own methods.
function game.describe(world)
  local lines = { ("tick %d"):format(world:get(Clock, "tick")) }
  for planet, position, lifeforce in world:each(IsPlanet, Position, Lifeforce) do
    lines[#lines + 1] = ("%-7s %-15s %s"):format(game.nameOf(world, planet), position:describe(),
      lifeforce:describe())
  end
  for ship, position, destination in world:each(IsShip, Position, Destination) do
    lines[#lines + 1] = ("%-7s %-15s flies to %s with %s; was at %s"):format(
      game.nameOf(world, ship), position:describe(), game.nameOf(world, destination.planet),
      destination:describe(), visits(world, ship))
  end
  return lines
end

return game
