--- ecsser: worlds of entities that can be saved, restored and rolled back.
--
-- This file documents every function of the module; `ecsser.doc.world` the methods of a world, of
-- traits and of scenes; `ecsser.codec` and `ecsser.schedule` document themselves. `ecsser.types`
-- says the same to editors that run the Lua language server.
--
-- Words that are used everywhere:
--
-- * *entity*: an integer of at most 53 bits. It is dead once its entity is destroyed, and never
--   becomes alive again. Floats with an integral value are taken for it, strings are not.
-- * *trait*: a tag (no value), a SoA trait (named fields) or an AoS trait (one Lua value).
--   *Relation*: a trait with a target. Both belong to no world.
-- * *term*: what a call of a trait or relation gives: `Health { hp = 8 }`, `ChildOf(parent)`.
-- * *world-level trait*: a trait of the hidden world entity in slot 0. `spawn` begins with slot 1.
-- * *JSON-safe*: `ecs.null`, booleans, finite numbers, strings of UTF-8, arrays (keys exactly 1..n)
--   and objects (string keys only) of such values, nested at most 512 deep, without cycles, without
--   the key "__proto__" and without metatables other than the mark of `ecs.array`.
--
-- Misuse is a string error "file.lua:3: function: what is wrong" at the caller's line, raised
-- before anything is changed. What is wrong with data to be saved, or with a save, is a
-- *SerializeError*: see `isSerializeError`. "not enough memory" stays Lua's own error.
--
-- @module ecsser
local core = require "ecsser.core"

local ecs = {} --[[@as ecsser]]
for name, value in pairs(core) do
  ecs[name] = value
end

--- Traits, relations and terms
-- @section Traits

--- Defines a trait. Calling it, as in `Health { hp = 8 }`, makes a term: the trait with a value
-- (SoA: the fields that differ from their defaults; AoS: the value itself).
--
--     local Hero      = ecs.trait()                                     -- tag
--     local Health    = ecs.trait { hp = 10, max = 10 }                 -- SoA
--     local Position  = ecs.trait { { "x", 0.0 }, { "y", 0.0 } }        -- SoA, in this order
--     local Intent    = ecs.trait { kind = "none", target = ecs.null }  -- target may be nil
--     local Inventory = ecs.trait(function() return {} end)             -- AoS
--
-- A field takes values of its default's type: boolean, number (integer and float are one type here)
-- or string. The default `ecs.null` takes anything and nil; a function is called for each entity,
-- and the field then takes anything but nil. Fields are ordered bytewise by name, or as in the
-- list.
--
-- Source: koota's `trait`; K6; SER-015, SER-016, SER-075.
-- @function trait
-- @tparam[opt] table|function schema `{ field = default, … }`, or `{ { field, default }, … }` for
-- an order of its own, or the factory of an AoS trait; nothing or `{}` for a tag
-- @treturn Trait with the fields `id` (integer, ascending by definition), `kind` ("tag", "soa" or
-- "aos"), `isRelation`, `where` (the place of definition, "file.lua:12") and `fields` (SoA: list of
-- names)
-- @raise misuse: another default (such as a table), a field name that is no UTF-8, empty or
-- "__proto__"

--- Defines a relation. `R(target)` and `R(target, data)` make the term of a pair, `R("*")` one that
-- stands for any target, where that makes sense.
--
-- Source: koota's `relation`; K2, K11; SER-012, SER-032.
-- @function relation
-- @tparam[opt] table options `store`: the pair's data, a schema or factory as for `trait`; none by
-- default. `exclusive`: true for at most one target per source, a new one replaces the old one.
-- `autoDestroy`: "source" (or "orphan"): an entity is destroyed with the target of its pair;
-- "target": the target is destroyed with the source
-- @treturn Relation with the same fields as a trait; `kind` is that of the data
-- @raise misuse: an unknown option or a wrong value of one; the store as for `trait`

--- Whether a value is a trait and no relation. Never raises.
-- @function isTrait
-- @param value anything
-- @treturn boolean
-- @usage ecs.isTrait(Health)      --> true

--- Whether a value is a relation. Never raises.
-- @function isRelation
-- @param value anything
-- @treturn boolean

--- A term for queries (`World:query`): entities that have none of these.
-- @function Not
-- @tparam Trait|Term ... traits and pairs (`R(target)` or `R("*")`), at least one
-- @treturn Term
-- @raise misuse: anything else

--- A term for queries (`World:query`): entities that have at least one of these.
-- @function Or
-- @tparam Trait|Term ... traits and pairs (`R(target)` or `R("*")`), at least one
-- @treturn Term
-- @raise misuse: anything else

--- The tag of entities that queries skip and `saveWorld` leaves out, such as prefabs; snapshots
-- keep them. The world entity always carries it. It is never registered.
--
-- Source: koota's `IsExcluded`; K5; SER-011, SER-023.
-- @field IsExcluded

--- The trait of one string that is unique in its world, for entities that scripts look for by name:
-- `world:spawn(ecs.Key "player")`, then `world:find "player"`. A second holder is an error. It is
-- saved once it is registered, under any name, like every trait.
--
-- Source: Tecs, save games (`EntityKey`).
-- @field Key

--- JSON's null, and an empty field in a table of fields: the null light userdata, the same value as
-- `cjson.null`.
-- @field null

--- Worlds
-- @section Worlds

--- Makes an empty world. Its methods are described in `ecsser.doc.world`. It closes with
-- `world:close()`, by `local world <close> = …`, or when it is collected.
--
-- Source: koota's `createWorld`.
-- @function createWorld
-- @treturn World
-- @raise 255 worlds of this Lua state are alive, also after a garbage collection

--- Takes a handle apart, whether its entity is alive or not.
--
-- Source: koota's `unpackEntity`; K4.
-- @function unpack
-- @tparam integer entity a handle of any world
-- @treturn integer the world's id, from 1 to 255
-- @treturn integer the generation, from 0
-- @treturn integer the slot, from 0 (the world entity)
-- @raise misuse: a value that cannot be a handle

--- Worlds as JSON documents
-- @section Documents

--- Gives traits and relations of a world the names under which they are saved. Calls add up, and
-- saying the same again does nothing; registrations survive `world:reset()`. A call that raises
-- registers nothing.
--
--     ecs.registerTraits(world, {
--       Health = Health,
--       ChildOf = ChildOf,
--       Intent = { trait = Intent, refs = { "target" } },
--       Party  = { trait = Party, codec = codec.refs { "members[]" } },
--       Cache  = { trait = Cache, transient = true },
--     })
--
-- An entry is a trait, a relation or a table with `trait` or `relation` and any of
--
-- * `refs` (SoA traits): list of the fields that hold an entity or nothing; their default is
--   `ecs.null`;
-- * `codec` (SoA and AoS traits): a table with the functions `toJSON(value, ctx)`, which returns
--   something JSON-safe, and `fromJSON(json, ctx)`, which returns the value. `ctx.ref(entity)`
--   gives the number to write for an entity, `ctx.entity(number)` the entity for a number.
--   Documents count their entities from 0, snapshots write slots: do not compute with these
--   numbers. While a codec runs the world is read-only;
-- * `transient`: true: neither saved nor missed. "default": snapshots remember who has the trait,
--   and loading adds it with its default value; documents leave it out;
-- * for snapshots: `version` (integer from 1, the default), `migrate(value, fromVersion)` and
--   `formerly` (list of old names, each of one trait only); see `loadSnapshot`.
--
-- Source: SER-001 to SER-008, SER-030, SER-033; Tecs, save games (transient, versions).
-- @function registerTraits
-- @tparam World world
-- @tparam table entries `{ Name = entry, … }`, taken in the bytewise order of names, or `{ {
-- "Name", entry }, … }` in its own order. Documents list names in the order of registration
-- @raise SerializeError invalid-registration or duplicate-name; misuse

--- Lets traits and relations of a world be left out of every save, and not be missed.
--
-- Source: SER-005.
-- @function ignoreTraits
-- @tparam World world
-- @tparam table items list of traits and relations
-- @raise SerializeError invalid-registration, also for what is registered; misuse

--- The name under which a trait or relation is registered in a world.
--
-- Source: SER-001.
-- @function getTraitName
-- @tparam World world
-- @tparam Trait|Relation item
-- @treturn ?string nil when it is not registered
-- @raise misuse

--- The world as a JSON document, in Lua tables that share nothing with the world:
--
--     { format = "ecs-serialize", version = 1,
--       entities = { { tags = { "Hero" }, traits = { Health = { hp = 7, max = 10 } },
--                      pairs = { ChildOf = { { target = 0 } } } }, … },
--       world = { tags = {}, traits = {} } }
--
-- Entities come ascending by slot and are referred to by their index from 0. Excluded entities are
-- left out. The world does not change, and no observer is called.
--
-- Source: SER-010 to SER-023, SER-030 to SER-036.
-- @function saveWorld
-- @tparam World world
-- @treturn table the document
-- @raise SerializeError unregistered-trait, not-serializable, dangling-ref or codec-error; misuse

--- Restores a document into a world that has no entity (excluded ones apart) and no registered
-- world-level trait. Everything is checked first; then come all entities without traits, the
-- world-level traits, for each entity its tags and traits, for each its pairs. Observers are called
-- as for any change, with the final values. If anything raises, the world is as empty as before.
--
-- When the `version` of the document is a float, as some decoders have it, integral floats become
-- integers, unless the default of their field is a float.
--
-- Source: SER-050 to SER-064, SER-070 to SER-080.
-- @function restoreWorld
-- @tparam World world with all names of the document registered
-- @tparam table snapshot the document; it is not changed
-- @treturn table `{ entities = { … } }`: record `i` of the document is `entities[i + 1]`
-- @raise SerializeError malformed, unsupported-version, unknown-trait, world-not-empty,
-- duplicate-key, codec-error, or restore-failed when an observer raises (`cause`) or destroys what
-- is being restored; misuse, also within a callback of a restore

--- The document of `saveWorld` as JSON text, without tables in between. Compact; the order of keys
-- and the form of numbers are fixed, so that equal worlds give equal bytes in any process. Floats
-- keep their bits, and are told from integers by ".0" or an exponent.
--
-- Source: SER-010, SER-013.
-- @function saveJSON
-- @tparam World world
-- @treturn string UTF-8
-- @raise as `saveWorld`

--- Restores the text of a document, as `restoreWorld` does. The text is read as RFC 8259 has it;
-- duplicate keys, invalid UTF-8, a byte order mark, trailing bytes and more than 512 levels are
-- refused. `{}` is no array: what lua-cjson wrote goes through `cjson.decode` and `restoreWorld`.
--
-- Source: SER-050 to SER-080.
-- @function restoreJSON
-- @tparam World world as for `restoreWorld`
-- @tparam string text
-- @treturn table as `restoreWorld`
-- @raise as `restoreWorld`; the SerializeErrors about the text have an `offset`

--- Any JSON-safe value as text, in the form of `saveJSON`. Keys are ordered bytewise.
-- @function encode
-- @param value JSON-safe
-- @treturn string UTF-8
-- @raise SerializeError not-serializable with the `path`; misuse

--- The value of a JSON text, read as by `restoreJSON`. Arrays carry the mark of `ecs.array`.
-- @function decode
-- @tparam string text
-- @tparam[opt] table options `duplicates`: what a key that occurs twice in an object is, an
-- `"error"` (the default), or `"last"`: the last of its values counts, as in most decoders
-- @return the value; null is `ecs.null`
-- @raise SerializeError malformed with the `offset`; misuse

--- Marks a table as an array, so that it is written as `[]` when it is empty. Without the mark an
-- empty table is written as `{}`; reading takes it for either.
-- @function array
-- @tparam table t without a metatable
-- @treturn table the same table
-- @raise misuse

--- Looks for all faults of a document, as `restoreWorld` into this world would; whether the world
-- is empty is not asked, except for keys that it has already, and codecs are not run. Nothing is
-- changed.
--
-- Source: SER-070 to SER-079.
-- @function checkSnapshot
-- @tparam World world
-- @tparam table|string snapshotOrText a document, as a table or as text
-- @treturn ?boolean true, or nil when there are faults
-- @treturn ?table list of SerializeErrors, at most 100
-- @raise misuse

local function before(a, b)
  if a.trait ~= b.trait then return a.trait < b.trait end
  if a.entity ~= b.entity then return a.entity < b.entity end
  return a.path < b.path
end

--- Looks for handles that would be saved as plain numbers: integers in registered traits that equal
-- a living entity of this world, but stand neither in a field of `refs` nor under a codec. Some may
-- be numbers by chance.
--
-- Source: SER-016, SER-094 (c).
-- @function findStrayHandles
-- @tparam World world
-- @treturn table list of `{ entity =, trait =, path =, value = }`, by trait, entity and path: the
-- carrier, the registered name, the place within the value ("items[0].owner", counted from 0 as in
-- a file; "" is the value itself) and the handle
-- @raise misuse
function ecs.findStrayHandles(world)
  local ok, places = pcall(core.findStrayHandles, world)
  if not ok then error(places, 2) end   -- at the caller's place
  table.sort(places, before)
  return places
end

--- Whether a value is a SerializeError: a table with
--
-- * `code`: invalid-registration, duplicate-name, unregistered-trait, not-serializable,
--   dangling-ref, codec-error, unknown-trait, malformed, unsupported-version, world-not-empty,
--   duplicate-key or restore-failed;
-- * `message`: what `tostring` gives; begins with the name of the function;
-- * `cause`: what a codec or an observer raised, as it was;
-- * `path`: the place in the document, such as "entities[3].traits.Health.hp"; in snapshots the
--   trait and field;
-- * `offset`: the byte of the text or snapshot, counted from 0;
-- * `suppressed`: list of what observers raised while a failed restore was undone.
--
-- Source: SER-070. Never raises.
-- @function isSerializeError
-- @param value anything
-- @treturn boolean

--- Snapshots
-- @section Snapshots

--- The world itself as bytes: entities with their handles and generations, the order in which slots
-- will be used again, excluded entities, all registered traits, pairs in their order. Integers and
-- floats keep their subtype and bits, also NaN; strings their bytes. The bytes are CBOR in its one
-- canonical form: the same content gives the same bytes, whatever the history of the world, the
-- order of registration, or the machine.
--
-- Traits with a codec are saved as its JSON-safe form. While a snapshot is taken the world is
-- read-only; handlers are asked first.
--
-- Source: Tecs, save games (format, selection, custom data); GodotECS, snapshot API (`Save`).
-- @function saveSnapshot
-- @tparam World world
-- @tparam[opt] table options `format`: "binary" or "table" (plain Lua data, for inspection and
-- tools). `filter`: only these entities: a list of terms as for `query`, which skips excluded
-- entities, or a function of the entity. `exclude`: list of traits and relations whose carriers and
-- sources are left out. `meta`: a JSON-safe table for `inspectSnapshot`. `data`: a table of custom
-- data by string key. `dangling`: what to do with a reference to an entity that is not in the
-- snapshot: "error", or "null": it becomes `ecs.null`, a pair is left out
-- @treturn string|table
-- @raise SerializeError unregistered-trait, not-serializable, dangling-ref or codec-error; what a
-- filter or handler raises; misuse

--- Replaces the content of a world by that of a snapshot. Everything is checked before anything
-- changes, the digest included. No observer is called; they stay, as do registrations and handlers.
-- Handles are as they were: those that were alive when it was saved are alive, all others are dead.
-- (A handle holds the id of its world: another world has handles of its own for the same slots.)
-- Traits that are ignored or transient are on no entity any more. Then the handlers' `load` and
-- `finish` are called; if one raises, the old content comes back.
--
-- A trait is found by its name, or by that of the entry that lists the name in `formerly`. Where
-- its saved version is older than the registered one and the entry has `migrate`, that is called
-- for each value and each step, with the form that was saved (refs as entities) and the version it
-- has. It must return the next form. Without it fields are matched by name: new fields take their
-- default, numbers convert between integer and float where nothing is lost of an integer; a field
-- that is gone or of another type is an error.
--
-- Source: Tecs, save games (load lifecycle, schema changes); GodotECS, snapshot API (`Load`).
-- @function loadSnapshot
-- @tparam World world
-- @tparam string|table snapshot bytes or the table form
-- @tparam[opt] table options `replay`: true to call onAdd observers for every trait and pair that
-- was loaded, by trait name and slot
-- @treturn table the header as from `inspectSnapshot`; `data` holds the data that no handler took
-- @raise SerializeError malformed, unknown-trait, unsupported-version (a newer version of a trait),
-- duplicate-key or codec-error; what a handler or observer raises; misuse, also within a callback
-- of this world

--- Adds the entities of a snapshot to a world, as new ones, in the order of their saved slots.
-- References among them follow. World-level traits and data of handlers are left out, nothing else
-- changes. onAdd observers are called for all traits and pairs, then those of queries. If anything
-- raises, the new entities are gone again.
--
-- Source: GodotECS, snapshot API (`Append`); Tecs, save games.
-- @function appendSnapshot
-- @tparam World world
-- @tparam string|table snapshot bytes or the table form
-- @tparam[opt] table options `offset`: `{ Trait = { field = number } }`, added to the fields of the
-- trait with that name. `keys`: what to do with an `ecs.Key` that the world has: "error", "drop"
-- (the new entity gets none) or "replace" (the old holder loses it, with onRemove as ever).
-- `dangling`: "error" or "null", as for `saveSnapshot`; a snapshot has no such references. `patch`:
-- function of the list of new entities, called at the end
-- @treturn table list of the new entities
-- @raise SerializeError as `loadSnapshot`; what observers and `patch` raise; misuse

--- A snapshot that is read once and added many times. What is taken from a world gets slots from 1
-- on, so that a scene does not depend on where its entities were; handlers are not asked.
--
-- Source: GodotECS, snapshot API (`EntityScene`).
-- @function scene
-- @tparam World|string source a world, or the bytes of a snapshot
-- @tparam[opt] table options for a world: as for `saveSnapshot`
-- @treturn Scene with the fields `bytes`, `entityCount` and `traitNames` (list), and the method
-- `instantiate`
-- @raise as `saveSnapshot`, or SerializeError malformed

--- The digest of the snapshot that `saveSnapshot(world)` would give: equal worlds have equal
-- hashes. Handlers are asked for their data, which count.
--
-- Source: GodotECS, snapshot API (`Hash`).
-- @function hashWorld
-- @tparam World world
-- @treturn string 16 hexadecimal digits (XXH3, 64 bits)
-- @raise as `saveSnapshot`

--- What the header of a snapshot says, without a world and without reading its content, except that
-- the digest is checked.
--
-- Source: GodotECS, snapshot API (`GetComponentTypeNames`); Tecs, save games (prelude).
-- @function inspectSnapshot
-- @tparam string bytes
-- @treturn table `{ format =, version =, digest =, meta =, traits = { { name =, kind =, version =,
-- rows =, fields = { { name, type }, … } }, … } }`. `kind` is "tag", "soa", "aos", "pair" and so
-- on; `rows` counts entities, or pairs
-- @raise SerializeError malformed with the `offset`; misuse

--- Lets a subsystem keep its data in the snapshots of a world. Handlers are called in the order in
-- which they were added.
--
-- Source: Tecs, save games (snapshot handlers, derived entities).
-- @function addSnapshotHandler
-- @tparam World world
-- @tparam table handler `name`: string, unique in the world, the key of its data. `save(world,
-- ctx)`: returns JSON-safe data, or nil for none; `ctx.ref(entity)` gives the number to write for
-- an entity, `ctx.exclude(trait)` leaves the carriers of a trait or relation out of the snapshot.
-- `load(world, value, ctx)`: gets the data, or nil, once the world is loaded; `ctx.entity(number)`
-- gives the entity. `finish(world, header)`: is called after all `load`. Each function may be
-- missing
-- @raise misuse, also for a name that is taken

return ecs
