--- The methods of worlds and scenes, which are written in C. This file holds their description
-- only.
--
-- Where a method takes traits, it takes one or more arguments. Where it takes an entity first, the
-- entity may be left out: the method is then about the world-level trait. The handle of the world
-- entity, `world:entities()[1]`, is taken as well, but it cannot be destroyed and has no pairs.
--
-- A dead handle, or one of another world, is an error except in `isAlive`, `has` and `get`. So is a
-- closed world. A callback (observer, codec, factory, filter, handler) must not yield, nor close,
-- reset or load its world.
--
-- Orders never depend on history: entities ascend by slot, pairs of an entity keep the order in
-- which they were added.
--
-- @module ecsser.doc.world

--- Entities of a world
-- @section World

--- Makes an entity. The traits are stored, then onAdd observers run in the order of the arguments,
-- then those of queries. If one raises, the entity is destroyed again and the error raised.
--
-- Source: koota's `world.spawn`; K9.
-- @function World:spawn
-- @tparam Trait|Term ... traits with their defaults, `Health { hp = 8 }`, pairs; may be none. Of
-- two arguments with the same trait or pair the first counts
-- @treturn integer the entity
-- @raise misuse: an unknown field, a value of a wrong type, a dead target, two targets of an
-- exclusive relation, a key that another entity has; what a factory or observer raises
-- @usage local orc = world:spawn(Monster, Health { hp = 8 }, Suffers(poison, { turns = 3 }))

--- Destroys an entity, with all pairs that point at it and, by `autoDestroy`, the entities at their
-- other ends. First onRemove observers run for everything that will go, while it is still readable;
-- one that raises keeps all as it is. Then all goes at once; then onQueryRemove observers run,
-- whose errors are raised at the end. Does nothing for an entity that is being destroyed.
--
-- onRemove is called for the traits by ascending `id`, the entity's pairs, the pairs that point at
-- it, then likewise for the entities that go along.
--
-- Source: koota's `entity.destroy`.
-- @function World:destroy
-- @tparam integer entity
-- @raise misuse, also for the world entity; what observers raise

--- Whether an entity of this world is alive.
-- @function World:isAlive
-- @tparam integer entity any number
-- @treturn boolean
-- @raise misuse: no number

--- Adds traits and pairs. What is there already keeps its value, and no observer is told. Otherwise
-- as `spawn`; if an observer raises, what was added is removed again.
--
-- Source: koota's `entity.add`, `world.add`; SER-053, SER-062.
-- @function World:add
-- @tparam[opt] integer entity
-- @tparam Trait|Term ... as for `spawn`, at least one
-- @raise as `spawn`; an entity that is being destroyed
-- @usage world:add(orc, Hero, Intent { kind = "flee" })
-- world:add(Encounter { round = 1 })   -- world-level

--- Removes traits and pairs; `R("*")` stands for all pairs of a relation. What is not there is
-- skipped. First onRemove observers run, while the values are still readable; one that raises keeps
-- all as it is. Then onQueryRemove observers run, whose errors are raised at the end.
--
-- Source: koota's `entity.remove`, `world.remove`.
-- @function World:remove
-- @tparam[opt] integer entity
-- @tparam Trait|Term ... traits and pairs, at least one
-- @raise misuse; what observers raise

--- Whether an entity has a trait or pair; `R("*")` asks for any pair.
--
-- Source: koota's `entity.has`, `world.has`; SER-053.
-- @function World:has
-- @tparam[opt] integer entity a dead one has nothing
-- @tparam Trait|Term trait
-- @treturn boolean
-- @raise misuse

--- The value of a trait or pair. Without field names: a new table of fields (SoA), the value itself
-- (AoS), nil (tags and what is not there). With field names: their values, nil where the trait is
-- not there. A field of default `ecs.null` that is nil is missing in the table.
--
-- Source: koota's `entity.get`, `world.get`; K6; SER-053.
-- @function World:get
-- @tparam[opt] integer entity a dead one has nothing
-- @tparam Trait|Term trait a trait, or a pair with a target
-- @tparam[opt] string ... field names
-- @return the value, or one value per name
-- @raise misuse: an unknown field, also of a trait that is not there
-- @usage world:get(orc, Health)                --> { hp = 8, max = 10 }
-- world:get(orc, Health, "hp", "max")    --> 8, 10
-- world:get(orc, Suffers(poison))        --> { turns = 3 }

--- Changes the value of a trait or pair that is there, then tells onChange observers, whether it
-- differs or not; if one raises, the old value is put back. SoA: a table changes the fields that it
-- holds; a field name and a value change one. nil and `ecs.null` empty a field of default
-- `ecs.null`. AoS: the value is kept as it is, not copied.
--
-- Source: koota's `entity.set`, `world.set`; SER-053.
-- @function World:set
-- @tparam[opt] integer entity
-- @tparam Trait|Term trait a trait, or a pair with a target
-- @param value a table of fields or a field name (SoA), or the value (AoS)
-- @param[opt] fieldValue the value of the field
-- @raise misuse: the trait is not there, is a tag, an unknown field, a value of a wrong type, a key
-- that another entity has; what an observer raises

--- The targets of an entity in a relation, in the order in which the pairs were added.
--
-- Source: koota's `entity.targetsFor`; K10; SER-052.
-- @function World:targets
-- @tparam integer entity
-- @tparam Relation relation
-- @treturn table list of entities
-- @raise misuse

--- The entities that have a pair with this target, ascending by slot.
-- @function World:sources
-- @tparam integer entity the target
-- @tparam Relation relation
-- @treturn table list of entities
-- @raise misuse

--- The entity whose `ecs.Key` is this.
--
-- Source: Tecs, save games (`requireKey`).
-- @function World:find
-- @tparam string key
-- @treturn ?integer nil when there is none
-- @raise misuse

--- All living entities, the hidden world entity first, then excluded and other ones by slot.
--
-- Source: koota's `world.entities`; K5; SER-023.
-- @function World:entities
-- @treturn table list of entities
-- @raise misuse

--- The traits and relations that some entity has, the world entity included, by ascending `id`.
--
-- Source: koota's `world.traits`; K1; SER-007.
-- @function World:traits
-- @treturn table list of traits and relations
-- @raise misuse

--- The number of living entities, without the world entity.
-- @function World:count
-- @treturn integer
-- @raise misuse

--- Destroys all entities and removes all world-level traits, telling observers as `destroy` does;
-- an onRemove observer that raises keeps all as it is. Slots begin with 1 again, but handles from
-- before stay dead. Registrations, handlers and observers stay. Columns from before must be asked
-- for again.
--
-- Source: koota's `world.reset`; K7; SER-004, SER-059.
-- @function World:reset
-- @raise misuse, also within a callback; what observers raise

--- Closes the world: its methods raise from then on. Closing again does nothing. No observer is
-- told.
--
-- Source: koota's `world.destroy`.
-- @function World:close
-- @raise misuse: within a callback of this world

--- Queries
-- @section Queries

--- The entities that match all terms, as a list made now. A term is a trait, a pair, `Not(…)` or
-- `Or(…)`; `R("*")` is any pair of a relation. Excluded entities never match. Without terms all
-- others match.
--
-- Source: koota's `world.query`.
-- @function World:query
-- @tparam Trait|Term ... terms, or one list of them; at most 64, those in `Not` and `Or` counted
-- @treturn table list of entities, ascending by slot
-- @raise misuse
-- @usage world:query(Monster, ecs.Not(Defeated), Suffers("*"))

--- Iterates over the entities that `query` gives now, leaving out what has died or does not match
-- any more when its turn comes. Gives the entity, then for each term that is a trait with data, or
-- a pair with a target and data, its value as from `get`.
--
-- Source: koota's `updateEach`.
-- @function World:each
-- @tparam Trait|Term ... as for `query`
-- @treturn function iterator for `for`
-- @raise misuse
-- @usage for entity, health in world:each(Health, ecs.Not(Hero)) do … end

--- The slots of the entities that match, for loops over columns. The list is kept until something
-- changes which entities match: do not change it.
-- @function World:slots
-- @tparam Trait|Term ... as for `query`
-- @treturn table list of slots, ascending
-- @treturn integer its length
-- @raise misuse

--- The table, by slot, in which the values of a field (or of an AoS trait) lie. Reading and writing
-- it is the fastest way to many values. Observers are not told, and the type of what is written is
-- checked only when it is saved; do not write to slots that have not the trait. After a reset or a
-- load the table raises when it is used; ask again.
-- @function World:column
-- @tparam Trait trait a SoA or AoS trait; not `ecs.Key`, no relation
-- @tparam[opt] string field SoA only
-- @treturn table
-- @raise misuse
-- @usage local slots, n = world:slots(Position, Velocity)
-- local x, vx = world:column(Position, "x"), world:column(Velocity, "x")
-- for i = 1, n do local s = slots[i]; x[s] = x[s] + vx[s] * dt end

--- Observers
-- @section Observers

--- Calls a function after a trait or pair was added and its value stored. An observer may change
-- the world; what called it goes on with what is still there.
--
-- Source: koota's `world.onAdd`; K8; SER-056, SER-057.
-- @function World:onAdd
-- @tparam Trait|Relation|Term trait a trait, a relation, or a pair for one target only
-- @tparam function observer `observer(entity)`, for relations `observer(entity, target)`
-- @treturn function that ends the observation
-- @raise misuse

--- Calls a function before a trait or pair is removed, also by `destroy` and `reset`, while its
-- value is still readable. An error forbids the removal.
--
-- Source: koota's `world.onRemove`.
-- @function World:onRemove
-- @tparam Trait|Relation|Term trait as for `onAdd`
-- @tparam function observer as for `onAdd`
-- @treturn function that ends the observation
-- @raise misuse

--- Calls a function after `set` changed a value. An error takes the change back.
--
-- Source: koota's `world.onChange`.
-- @function World:onChange
-- @tparam Trait|Relation|Term trait as for `onAdd`
-- @tparam function observer as for `onAdd`
-- @treturn function that ends the observation
-- @raise misuse

--- Calls a function when an entity begins to match, after the onAdd observers.
--
-- Source: koota's `world.onQueryAdd`; SER-057, SER-104.
-- @function World:onQueryAdd
-- @tparam Trait|Term ... terms as for `query`, or one list of them; then the observer, as for
-- `onAdd`
-- @treturn function that ends the observation
-- @raise misuse
-- @usage world:onQueryAdd(Monster, ecs.Not(Defeated), function(entity) … end)

--- Calls a function when an entity has ceased to match, also because it was destroyed. It is too
-- late to forbid that; an error is raised when all is done.
--
-- Source: koota's `world.onQueryRemove`.
-- @function World:onQueryRemove
-- @tparam Trait|Term ... as for `onQueryAdd`
-- @treturn function that ends the observation
-- @raise misuse

--- Scenes
-- @section Scenes

--- Adds the entities of a scene to a world, as `appendSnapshot` does with bytes.
--
-- Source: GodotECS, snapshot API (`Instantiate`).
-- @function Scene:instantiate
-- @tparam World world
-- @tparam[opt] table options as for `appendSnapshot`: `offset`, `keys`, `patch`
-- @treturn table list of the new entities
-- @raise as `appendSnapshot`
-- @usage local ship = scene:instantiate(world, { offset = { Position = { x = 5 } } })[1]
