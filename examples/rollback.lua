-- Two players fight over a bad network. Each has a world of its own and does not wait: what the
-- other one does is guessed, and when the guess turns out wrong, the world goes back to a snapshot
-- from before that frame and plays on from there.
--
--   lua5.4 rollback.lua [FRAMES] [SEED]
--
-- Ends with status 0 only if both worlds, and a third one that knew everything from the beginning,
-- had the same hash after every frame.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = ("%s;%s/../lua/?.lua;%s/../lua/?/init.lua"):format(package.path, here, here)
package.cpath = ("%s;%s/../build/?.so"):format(package.cpath, here)

local ecs = require "ecsser"

local DELAY <const> = 2    -- a player's input counts this many frames later
local WINDOW <const> = 8   -- so far a world may run ahead of what is known
local NAMES <const> = { "Ana", "Ben" }

-- ---- The fight: a function of the world and the inputs, and of nothing else ----------------

local Fighter = ecs.trait { side = 0, hp = 30, wins = 0, guarding = false }
local Knife = ecs.trait { target = ecs.null, left = 3 }
local Poison = ecs.trait { bite = 1 }
local Suffers = ecs.relation { store = { turns = 4 } }
local Rng = ecs.trait { state = 1 }   -- part of the world, so that it goes back as well

local function newFight(seed)
  local world = ecs.createWorld()
  ecs.registerTraits(world, {
    Fighter = Fighter, Knife = { trait = Knife, refs = { "target" } }, Poison = Poison,
    Suffers = Suffers, Rng = Rng, Key = ecs.Key,
  })
  world:add(Rng { state = seed })
  for side, name in ipairs(NAMES) do world:spawn(Fighter { side = side }, ecs.Key(name)) end
  world:spawn(Poison { bite = 2 }, ecs.Key "poison")
  return world
end

local function roll(world, sides)
  local state = world:get(Rng, "state") * 48271 % (2^31 - 1 | 0)
  world:set(Rng, "state", state)
  return state * sides // (2^31 - 1 | 0) + 1
end

local function hurt(world, fighter, damage)
  local hp, guarding = world:get(fighter, Fighter, "hp", "guarding")
  world:set(fighter, Fighter, "hp", hp - (guarding and damage // 2 or damage))
end

local actions = {}

function actions.wait() end

function actions.guard(world, me)
  world:set(me, Fighter, "guarding", true)
end

function actions.strike(world, _, other)
  hurt(world, other, roll(world, 6))
end

function actions.throw(world, _, other)
  world:spawn(Knife { target = other })
end

function actions.poison(world, _, other)
  local poison = world:find "poison"
  if not world:has(other, Suffers(poison)) then
    world:add(other, Suffers(poison, { turns = 2 + roll(world, 3) }))
  end
end

local function flyKnives(world)
  for knife, flight in world:each(Knife) do
    if flight.left > 1 then
      world:set(knife, Knife, "left", flight.left - 1)
    else
      hurt(world, flight.target, 3 + roll(world, 4))
      world:destroy(knife)
    end
  end
end

local function suffer(world)
  for _, fighter in ipairs(world:query(Suffers "*")) do
    for _, poison in ipairs(world:targets(fighter, Suffers)) do
      local turns = world:get(fighter, Suffers(poison), "turns")
      hurt(world, fighter, world:get(poison, Poison, "bite"))
      if turns > 1 then world:set(fighter, Suffers(poison), "turns", turns - 1)
      else world:remove(fighter, Suffers(poison)) end
    end
  end
end

-- Who is down loses the round, and gets up again.
local function judge(world, one, two)
  for _, duel in ipairs { { one, two }, { two, one } } do
    if world:get(duel[1], Fighter, "hp") <= 0 then
      world:set(duel[1], Fighter, "hp", 30)
      world:set(duel[2], Fighter, "wins", world:get(duel[2], Fighter, "wins") + 1)
    end
  end
end

-- One frame; `inputs` says what each side does.
local function step(world, inputs)
  local one, two = world:find(NAMES[1]), world:find(NAMES[2])
  world:set(one, Fighter, "guarding", false)
  world:set(two, Fighter, "guarding", false)
  for _, first in ipairs { "guard", "strike", "throw", "poison", "wait" } do
    if inputs[1] == first then actions[first](world, one, two) end
    if inputs[2] == first then actions[first](world, two, one) end
  end
  flyKnives(world)
  suffer(world)
  judge(world, one, two)
end

-- ---- The players and the network: chance that is not part of any world ---------------------

-- A player does the same for some frames, then something else.
local function newPlayer(seed, side)
  local state = (seed * 7919 + side * 104729) % (2^31 - 1 | 0) + 1
  local function draw(n)
    state = state * 16807 % (2^31 - 1 | 0)
    return state % n
  end
  local doing, left = "wait", 0
  return function()
    if left == 0 then
      doing = ({ "wait", "guard", "strike", "throw", "poison" })[draw(5) + 1]
      left = doing == "throw" and 1 or 2 + draw(5)
    end
    left = left - 1
    return doing
  end
end

-- Delivers each message 1 to 7 ticks later, so that messages overtake each other; one in 25 is lost
-- and sent again, which takes 12 ticks more.
local function newNetwork(seed)
  local state, due = seed + 1, {}
  local function send(tick, message)
    state = state * 69621 % (2^31 - 1 | 0)
    local at = tick + 1 + state % 7 + (state % 25 == 0 and 12 or 0)
    due[at] = due[at] or {}
    table.insert(due[at], message)
  end
  return send, function(tick) return due[tick] or {} end
end

-- ---- A peer: a world, the snapshots of the last frames, and what is known of the inputs -----

local Peer = {}
Peer.__index = Peer

local function newPeer(side, seed)
  local peer = {
    side = side, world = newFight(seed), frame = 1, known = { {}, {} }, sure = DELAY,
    snapshots = {}, used = {}, hashes = {}, rollbacks = 0, again = 0, deepest = 0, stalls = 0,
  }
  for frame = 1, DELAY do peer.known[1][frame], peer.known[2][frame] = "wait", "wait" end
  return setmetatable(peer, Peer)
end

-- What a side does in a frame, or most likely does: what it did last.
function Peer:input(side, frame)
  for f = frame, 1, -1 do
    if self.known[side][f] then return self.known[side][f] end
  end
end

function Peer:play()
  local frame = self.frame
  self.snapshots[frame] = ecs.saveSnapshot(self.world)
  self.snapshots[frame - WINDOW - 1] = nil
  self.used[frame] = { self:input(1, frame), self:input(2, frame) }
  step(self.world, self.used[frame])
  self.hashes[frame] = ecs.hashWorld(self.world)
  self.frame = frame + 1
end

-- Goes back to before a frame and plays up to the present again.
function Peer:rollBack(to)
  local present = self.frame
  ecs.loadSnapshot(self.world, self.snapshots[to])
  self.frame = to
  while self.frame < present do self:play() end
  self.rollbacks, self.again = self.rollbacks + 1, self.again + present - to
  self.deepest = math.max(self.deepest, present - to)
end

-- Takes in what arrived; returns the first frame that was played with a wrong guess.
function Peer:learn(messages)
  local other, wrong = 3 - self.side, nil
  for _, message in ipairs(messages) do
    if message.to == self.side then
      self.known[other][message.frame] = message.input
    end
  end
  while self.known[other][self.sure + 1] do self.sure = self.sure + 1 end
  for frame = self.frame - 1, math.max(1, self.frame - WINDOW - 1), -1 do
    if self.used[frame][other] ~= self:input(other, frame) then wrong = frame end
  end
  return wrong
end

-- One tick of a peer's time. Returns a line about it when something happened.
function Peer:tick(messages, frames)
  local line
  local other = NAMES[3 - self.side]
  local wrong = self:learn(messages)
  if wrong then
    local guess, present = self.used[wrong][3 - self.side], self.frame
    self:rollBack(wrong)
    line = ("%s had guessed that %s would %s in frame %d, but it was %s: %d frame%s again")
      :format(NAMES[self.side], other, guess, wrong, self.used[wrong][3 - self.side],
        present - wrong, present - wrong == 1 and "" or "s")
  end
  if self.frame <= frames then
    if self.frame - self.sure <= WINDOW then self:play()
    else self.stalls = self.stalls + 1 end
  end
  return line
end

-- ---- The match ------------------------------------------------------------------------------

-- What really happened: one world that has all inputs before it plays.
local function referee(seed, frames, inputs)
  local world, hashes = newFight(seed), {}
  for frame = 1, frames do
    step(world, { inputs[1][frame], inputs[2][frame] })
    hashes[frame] = ecs.hashWorld(world)
  end
  return world, hashes
end

local function status(world)
  local parts = {}
  for side, name in ipairs(NAMES) do
    local hp, wins = world:get(world:find(name), Fighter, "hp", "wins")
    parts[side] = ("%s %2d hp, %d won"):format(name, hp, wins)
  end
  return ("%s; %d knives in the air"):format(table.concat(parts, "; "), #world:query(Knife))
end

local function sendInputs(peers, players, send, tick, frames)
  for side, peer in ipairs(peers) do
    local frame = peer.frame + DELAY
    if frame <= frames and not peer.known[side][frame] then
      local input = players[side]()
      peer.known[side][frame] = input
      send(tick, { to = 3 - side, frame = frame, input = input })
    end
  end
end

local function done(peers, frames)
  for _, peer in ipairs(peers) do
    if peer.frame <= frames or peer.sure < frames then return false end
  end
  return true
end

local function playMatch(frames, seed)
  local peers = { newPeer(1, seed), newPeer(2, seed) }
  local players = { newPlayer(seed, 1), newPlayer(seed, 2) }
  local send, arriving = newNetwork(seed)
  local tick = 0
  repeat
    tick = tick + 1
    sendInputs(peers, players, send, tick, frames)
    for _, peer in ipairs(peers) do
      local line = peer:tick(arriving(tick), frames)
      if line then print(("%5d  %s"):format(tick, line)) end
    end
    if tick % 20 == 0 then print(("%5d  -- %s"):format(tick, status(peers[1].world))) end
  until done(peers, frames) or tick > 20 * frames + 1000
  return peers, tick
end

local function compare(peers, frames, hashes)
  for frame = 1, frames do
    local one, two = peers[1].hashes[frame], peers[2].hashes[frame]
    if one ~= two or one ~= hashes[frame] then
      return ("frame %d: %s has %s, %s has %s, the referee has %s"):format(frame, NAMES[1],
        tostring(one), NAMES[2], tostring(two), tostring(hashes[frame]))
    end
  end
end

local function story(frames, seed)
  print(("%d frames; inputs count %d frames later, messages take 1 to 7 ticks, lost ones more")
    :format(frames, DELAY))
  print " tick"
  local peers, ticks = playMatch(frames, seed)
  local truth, hashes = referee(seed, frames, { peers[1].known[1], peers[2].known[2] })
  print(("\nAfter %d ticks: %s"):format(ticks, status(truth)))
  for side, peer in ipairs(peers) do
    print(("%s went back %d times, played %d frames again, at most %d at once, waited %d ticks")
      :format(NAMES[side], peer.rollbacks, peer.again, peer.deepest, peer.stalls))
  end
  return compare(peers, frames, hashes), peers[1].rollbacks + peers[2].rollbacks
end

local frames = math.tointeger(tonumber(arg[1] or "120"))
local seed = math.tointeger(tonumber(arg[2] or "1"))
local ok, wrong, rollbacks = xpcall(story, debug.traceback, frames, seed)
if not ok then
  io.stderr:write(tostring(wrong), "\n")
  wrong = "the story broke off"
end
print(wrong and "\nFAILED: " .. wrong
  or ("\nOK: the same hash after each of %d frames, in spite of %d rollbacks"):format(frames,
    rollbacks))
os.exit(not wrong, true)
