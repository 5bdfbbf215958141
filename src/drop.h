/*
** drop.h - taking traits, pairs and entities away.
**
** Telling comes first, while everything can still be read: onRemove observers
** run for all that will go, and one that raises can stop it. Then everything
** is dropped at once, which allocates nothing and cannot fail; then the
** observers of queries are told.
*/
#ifndef ES_DROP_H
#define ES_DROP_H

#include "observer.h"
#include "world.h"

/*
** Calls the observers of one event of a trait or (target != 0) a pair, as
** long as the entity is alive and has it.
*/
int es_tell(const es_Op *op, const es_Store *s, es_Event event,
            es_Entity entity, es_Entity target, int errors);

/* Drops a trait, or the pair with 'target' unless that is 0. */
void es_drop(const es_Op *op, es_Store *s, uint32_t slot, uint32_t target);

/* True if the slot has the trait, or the pair. */
int es_has(const es_Store *s, uint32_t slot, uint32_t target);

/*
** Calls onRemove observers for all that the entity is part of: its traits by
** id, its pairs in their order, then the pairs that point at it, by relation
** and ascending source. Pairs whose source is dying too are told there.
*/
int es_tell_entity(const es_Op *op, uint32_t slot, int errors);

/*
** Destroys entities that are marked as dying: drops all, tells the queries,
** gives the slots back and clears the marks. Errors of observers are
** collected (see es_observer_call).
*/
void es_drop_entities(const es_Op *op, const es_Entity *list, size_t n,
                      int errors);

/*
** Destroys the entities of the list that are alive, telling everyone and
** going on after errors. The slots are given back from the last on: the next
** spawns take them in the order of the list, as if it had never been.
** Allocates nothing.
*/
void es_undo_entities(const es_Op *op, const es_Entity *list, size_t n,
                      int errors);

#endif
