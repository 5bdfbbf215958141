---@meta

-- luacheck: ignore

-- Types for editors that run the Lua language server: completion, and checks of arguments. What
-- the functions do is said in ecsser/init.lua, ecsser/doc/world.lua and ecsser/codec.lua. Those of
-- the scheduler are in ecsser/schedule/types.lua. Nothing needs these files at run time.

-- ---- Values -----------------------------------------------------------------------------------

---An entity: an integer of at most 53 bits.
---@alias ecsser.Entity integer

---`ecs.null`, the same value as `cjson.null`.
---@class ecsser.Null: lightuserdata

---What JSON can say; see `ecsser` in ecsser/init.lua.
---@alias ecsser.JSON ecsser.Null|boolean|number|string|table

---A trait, or a relation. Calling a trait makes a term: `Health { hp = 8 }`.
---@class ecsser.Trait
---@field id integer ascending in the order of definition
---@field kind "tag"|"soa"|"aos" of a relation: of the pairs' data
---@field isRelation boolean
---@field where string the place of definition, "file.lua:12"
---@field fields? string[] SoA only
---@overload fun(value?: any): ecsser.Term

---A relation. Calling it makes the term of a pair: `Suffers(poison, { turns = 3 })`.
---@class ecsser.Relation: ecsser.Trait
---@overload fun(target: ecsser.Entity|"*", data?: any): ecsser.Term

---A trait with a value, a pair, `Not(…)` or `Or(…)`.
---@class ecsser.Term

---@alias ecsser.Default boolean|number|string|ecsser.Null|fun(): any

---Fields and their defaults, or a list of `{ field, default }`.
---@alias ecsser.Schema table<string, ecsser.Default>|{ [1]: string, [2]: ecsser.Default }[]

---@class ecsser.RelationOptions
---@field store? ecsser.Schema|fun(): any the pairs' data
---@field exclusive? boolean one target per source
---@field autoDestroy? "orphan"|"source"|"target"|false who goes along when the other is destroyed

---@class ecsser.SerializeError
---@field code ecsser.ErrorCode
---@field message string what tostring gives
---@field cause? any what a codec or observer raised
---@field path? string such as "entities[3].traits.Health.hp"
---@field offset? integer the byte of the text or snapshot, from 0
---@field suppressed? any[] what observers raised during the undo

---@alias ecsser.ErrorCode
---| "invalid-registration"
---| "duplicate-name"
---| "unregistered-trait"
---| "not-serializable"
---| "dangling-ref"
---| "codec-error"
---| "unknown-trait"
---| "malformed"
---| "unsupported-version"
---| "world-not-empty"
---| "duplicate-key"
---| "restore-failed"

-- ---- Registration and codecs ------------------------------------------------------------------

---What `toJSON` gets.
---@class ecsser.SaveContext
---@field ref fun(entity: ecsser.Entity): integer|ecsser.Null the number to write for it

---What `fromJSON` gets.
---@class ecsser.RestoreContext
---@field entity fun(number: integer): ecsser.Entity the entity that the number stands for

---@class ecsser.Codec
---@field toJSON fun(value: any, ctx: ecsser.SaveContext): ecsser.JSON
---@field fromJSON fun(json: ecsser.JSON, ctx: ecsser.RestoreContext): any

---@class ecsser.EntryTable
---@field trait? ecsser.Trait this, or relation
---@field relation? ecsser.Relation
---@field refs? string[] SoA: the fields that hold an entity or nothing
---@field codec? ecsser.Codec
---@field transient? boolean|"default"
---@field version? integer from 1; snapshots only
---@field migrate? fun(value: any, fromVersion: integer): any snapshots only
---@field formerly? string[] old names; snapshots only

---@alias ecsser.Entry ecsser.Trait|ecsser.Relation|ecsser.EntryTable

-- ---- Documents --------------------------------------------------------------------------------

---@class ecsser.PairRecord
---@field target integer index of an entity, from 0
---@field data? table<string, ecsser.JSON>|ecsser.JSON

---@class ecsser.WorldRecord
---@field tags string[]
---@field traits table<string, ecsser.JSON>

---@class ecsser.EntityRecord: ecsser.WorldRecord
---@field pairs table<string, ecsser.PairRecord[]>

---@class ecsser.Document
---@field format "ecs-serialize"
---@field version 1
---@field entities ecsser.EntityRecord[]
---@field world ecsser.WorldRecord

---@class ecsser.RestoreResult
---@field entities ecsser.Entity[] record i of the document is entities[i + 1]

---@class ecsser.StrayHandle
---@field entity ecsser.Entity the carrier
---@field trait string its registered name
---@field path string the place within the value
---@field value integer the handle

-- ---- Snapshots --------------------------------------------------------------------------------

---@class ecsser.SnapshotOptions
---@field format? "binary"|"table"
---@field filter? (ecsser.Trait|ecsser.Term)[]|fun(entity: ecsser.Entity): boolean?
---@field exclude? (ecsser.Trait|ecsser.Relation)[] their carriers are left out
---@field meta? table JSON-safe, for inspectSnapshot
---@field data? table<string, ecsser.JSON> custom data
---@field dangling? "error"|"null"

---@class ecsser.LoadOptions
---@field replay? boolean calls onAdd observers

---@class ecsser.AppendOptions
---@field offset? table<string, table<string, number>> { Trait = { field = number } }
---@field keys? "error"|"drop"|"replace"
---@field dangling? "error"|"null"
---@field patch? fun(entities: ecsser.Entity[])

---@class ecsser.SnapshotTrait
---@field name string
---@field kind "tag"|"soa"|"aos"|"pair"|"pair-soa"|"pair-aos"
---@field version integer
---@field rows integer entities, or pairs
---@field fields { [1]: string, [2]: string }[] names and types

---@class ecsser.SnapshotHeader
---@field format "ecsser-snapshot"
---@field version 1
---@field digest string 16 hexadecimal digits
---@field meta? table
---@field traits ecsser.SnapshotTrait[]
---@field data? table after a load: what no handler took

---The table form.
---@class ecsser.SnapshotTable
---@field format "ecsser-snapshot"
---@field version 1
---@field header ecsser.SnapshotHeader
---@field body table entities, traits, relations, data

---@class ecsser.HandlerSaveContext: ecsser.SaveContext
---@field exclude fun(trait: ecsser.Trait|ecsser.Relation) leaves its carriers out of the snapshot

---@class ecsser.SnapshotHandler
---@field name string
---@field save? fun(world: ecsser.World, ctx: ecsser.HandlerSaveContext): ecsser.JSON?
---@field load? fun(world: ecsser.World, value: ecsser.JSON?, ctx: ecsser.RestoreContext)
---@field finish? fun(world: ecsser.World, header: ecsser.SnapshotHeader)

---@class ecsser.Scene
---@field bytes string
---@field entityCount integer
---@field traitNames string[]
local Scene = {}

---Adds the entities of the scene to a world.
---@param world ecsser.World
---@param options? ecsser.AppendOptions
---@return ecsser.Entity[]
function Scene:instantiate(world, options) end

-- ---- Worlds -----------------------------------------------------------------------------------

---@alias ecsser.Observer fun(entity: ecsser.Entity, target?: ecsser.Entity)

---@class ecsser.World
local World = {}

---Makes an entity.
---@param ... ecsser.Trait|ecsser.Term
---@return ecsser.Entity
function World:spawn(...) end

---Destroys an entity, with the pairs that point at it.
---@param entity ecsser.Entity
function World:destroy(entity) end

---@param entity ecsser.Entity
---@return boolean
function World:isAlive(entity) end

---Adds traits and pairs; without an entity: world-level traits.
---@param entity ecsser.Entity
---@param ... ecsser.Trait|ecsser.Term
---@overload fun(self: ecsser.World, ...: ecsser.Trait|ecsser.Term)
function World:add(entity, ...) end

---Removes traits and pairs; without an entity: world-level traits.
---@param entity ecsser.Entity
---@param ... ecsser.Trait|ecsser.Term
---@overload fun(self: ecsser.World, ...: ecsser.Trait|ecsser.Term)
function World:remove(entity, ...) end

---Whether an entity has a trait or pair; without an entity: the world.
---@param entity ecsser.Entity
---@param trait ecsser.Trait|ecsser.Term
---@return boolean
---@overload fun(self: ecsser.World, trait: ecsser.Trait): boolean
function World:has(entity, trait) end

---The value, or the values of the named fields; nil where there is none.
---@param entity ecsser.Entity
---@param trait ecsser.Trait|ecsser.Term
---@param ... string
---@return any ...
---@overload fun(self: ecsser.World, trait: ecsser.Trait, ...: string): any
function World:get(entity, trait, ...) end

---Changes a value: a table of fields, one field and its value, or an AoS value.
---@param entity ecsser.Entity
---@param trait ecsser.Trait|ecsser.Term
---@param value any
---@param fieldValue? any
---@overload fun(self: ecsser.World, trait: ecsser.Trait, value: any, fieldValue?: any)
function World:set(entity, trait, value, fieldValue) end

---The targets of an entity, in the order in which the pairs were added.
---@param entity ecsser.Entity
---@param relation ecsser.Relation
---@return ecsser.Entity[]
function World:targets(entity, relation) end

---The entities that have a pair with this target, ascending by slot.
---@param entity ecsser.Entity
---@param relation ecsser.Relation
---@return ecsser.Entity[]
function World:sources(entity, relation) end

---The entity with that `ecs.Key`.
---@param key string
---@return ecsser.Entity?
function World:find(key) end

---All living entities, the world entity first.
---@return ecsser.Entity[]
function World:entities() end

---The traits and relations that are in use.
---@return ecsser.Trait[]
function World:traits() end

---The number of living entities, without the world entity.
---@return integer
function World:count() end

---Destroys everything; registrations and observers stay.
function World:reset() end

---Closes the world for good.
function World:close() end

---The entities that match, ascending by slot.
---@param ... ecsser.Trait|ecsser.Term|(ecsser.Trait|ecsser.Term)[]
---@return ecsser.Entity[]
function World:query(...) end

---Iterates over matching entities and the values of the terms.
---@param ... ecsser.Trait|ecsser.Term|(ecsser.Trait|ecsser.Term)[]
---@return fun(): ecsser.Entity, ...any
function World:each(...) end

---The slots of matching entities, for loops over columns.
---@param ... ecsser.Trait|ecsser.Term|(ecsser.Trait|ecsser.Term)[]
---@return integer[] slots
---@return integer count
function World:slots(...) end

---The table of a field, by slot.
---@param trait ecsser.Trait
---@param field? string
---@return table<integer, any>
function World:column(trait, field) end

---After something was added.
---@param trait ecsser.Trait|ecsser.Relation|ecsser.Term
---@param observer ecsser.Observer
---@return fun() unsubscribe
function World:onAdd(trait, observer) end

---Before something is removed.
---@param trait ecsser.Trait|ecsser.Relation|ecsser.Term
---@param observer ecsser.Observer
---@return fun() unsubscribe
function World:onRemove(trait, observer) end

---After `set` changed a value.
---@param trait ecsser.Trait|ecsser.Relation|ecsser.Term
---@param observer ecsser.Observer
---@return fun() unsubscribe
function World:onChange(trait, observer) end

---When an entity begins to match the terms; the last argument is the observer.
---@param ... ecsser.Trait|ecsser.Term|(ecsser.Trait|ecsser.Term)[]|ecsser.Observer
---@return fun() unsubscribe
function World:onQueryAdd(...) end

---When an entity has ceased to match the terms; the last argument is the observer.
---@param ... ecsser.Trait|ecsser.Term|(ecsser.Trait|ecsser.Term)[]|ecsser.Observer
---@return fun() unsubscribe
function World:onQueryRemove(...) end

-- ---- require "ecsser" -------------------------------------------------------------------------

---@class ecsser
---@field IsExcluded ecsser.Trait the tag of what queries and documents leave out
---@field Key ecsser.Trait one string, unique in its world
---@field null ecsser.Null JSON's null
local ecs = {}

---Defines a trait: a tag, or by a schema, or by the factory of one value.
---@param schema? ecsser.Schema|fun(): any
---@return ecsser.Trait
function ecs.trait(schema) end

---Defines a relation.
---@param options? ecsser.RelationOptions
---@return ecsser.Relation
function ecs.relation(options) end

---@param value any
---@return boolean
function ecs.isTrait(value) end

---@param value any
---@return boolean
function ecs.isRelation(value) end

---Entities that have none of these.
---@param ... ecsser.Trait|ecsser.Term
---@return ecsser.Term
function ecs.Not(...) end

---Entities that have at least one of these.
---@param ... ecsser.Trait|ecsser.Term
---@return ecsser.Term
function ecs.Or(...) end

---Makes an empty world.
---@return ecsser.World
function ecs.createWorld() end

---Takes a handle apart.
---@param entity ecsser.Entity
---@return integer world from 1
---@return integer generation from 0
---@return integer slot from 0
function ecs.unpack(entity) end

---Names traits and relations for saving.
---@param world ecsser.World
---@param entries table<string, ecsser.Entry>|{ [1]: string, [2]: ecsser.Entry }[]
function ecs.registerTraits(world, entries) end

---Leaves traits and relations out of every save.
---@param world ecsser.World
---@param items (ecsser.Trait|ecsser.Relation)[]
function ecs.ignoreTraits(world, items) end

---The registered name.
---@param world ecsser.World
---@param item ecsser.Trait|ecsser.Relation
---@return string?
function ecs.getTraitName(world, item) end

---The world as a JSON document, in Lua tables.
---@param world ecsser.World
---@return ecsser.Document
function ecs.saveWorld(world) end

---Restores a document into an empty world.
---@param world ecsser.World
---@param snapshot ecsser.Document|table
---@return ecsser.RestoreResult
function ecs.restoreWorld(world, snapshot) end

---The world as the text of a JSON document, exactly.
---@param world ecsser.World
---@return string
function ecs.saveJSON(world) end

---Restores the text of a JSON document into an empty world.
---@param world ecsser.World
---@param text string
---@return ecsser.RestoreResult
function ecs.restoreJSON(world, text) end

---Any JSON-safe value as text.
---@param value ecsser.JSON
---@return string
function ecs.encode(value) end

---The value of a JSON text.
---@param text string
---@param options? { duplicates?: "error"|"last" }
---@return ecsser.JSON
function ecs.decode(text, options) end

---Marks a table as an array.
---@generic T: table
---@param t T
---@return T
function ecs.array(t) end

---True, or nil and all faults of a document.
---@param world ecsser.World
---@param snapshotOrText ecsser.Document|table|string
---@return true? ok
---@return ecsser.SerializeError[]? errors
function ecs.checkSnapshot(world, snapshotOrText) end

---Handles that would be saved as plain numbers.
---@param world ecsser.World
---@return ecsser.StrayHandle[]
function ecs.findStrayHandles(world) end

---@param value any
---@return boolean
function ecs.isSerializeError(value) end

---The world itself, as bytes or in the table form.
---@param world ecsser.World
---@param options? ecsser.SnapshotOptions
---@return string|ecsser.SnapshotTable
function ecs.saveSnapshot(world, options) end

---Replaces the content of a world by a snapshot.
---@param world ecsser.World
---@param snapshot string|ecsser.SnapshotTable
---@param options? ecsser.LoadOptions
---@return ecsser.SnapshotHeader
function ecs.loadSnapshot(world, snapshot, options) end

---Adds the entities of a snapshot as new ones.
---@param world ecsser.World
---@param snapshot string|ecsser.SnapshotTable
---@param options? ecsser.AppendOptions
---@return ecsser.Entity[]
function ecs.appendSnapshot(world, snapshot, options) end

---A snapshot that is read once and added many times.
---@param source ecsser.World|string
---@param options? ecsser.SnapshotOptions
---@return ecsser.Scene
function ecs.scene(source, options) end

---The digest of the world's snapshot.
---@param world ecsser.World
---@return string
function ecs.hashWorld(world) end

---The header of a snapshot.
---@param bytes string
---@return ecsser.SnapshotHeader
function ecs.inspectSnapshot(bytes) end

---Lets a subsystem keep its data in the snapshots of a world.
---@param world ecsser.World
---@param handler ecsser.SnapshotHandler
function ecs.addSnapshotHandler(world, handler) end

-- ---- require "ecsser.codec" -------------------------------------------------------------------

---@class ecsser.codec
local codec = {}

---Instances of one class, by its name.
---@param class table|fun(): table the metatable, or a function that returns it
---@param name? string its `__name` by default
---@return ecsser.Codec
function codec.class(class, name) end

---Instances of several classes.
---@param classes table<string|integer, table|fun(): table>
---@return ecsser.Codec
function codec.classes(classes) end

---Entities at places within an AoS value: "owner", "members[]", "slots{}", "a.b".
---@param paths string[]
---@return ecsser.Codec
function codec.refs(paths) end

---@class ecsser.MapOptions
---@field key "entity"|"integer"
---@field value? "value"|"entity"|ecsser.Codec

---Tables whose keys are entities or integers.
---@param options ecsser.MapOptions
---@return ecsser.Codec
function codec.map(options) end

---One codec after another.
---@param a ecsser.Codec
---@param b ecsser.Codec
---@return ecsser.Codec
function codec.both(a, b) end
