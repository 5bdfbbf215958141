/*
** add.h - adding a checked value to an entity, for add, spawn and restore.
*/
#ifndef ES_ADD_H
#define ES_ADD_H

#include "world.h"

/*
** Raises unless the string at 'idx' is free as ecs.Key for the slot.
*/
void es_add_check_key(const es_Op *op, const es_Store *s, uint32_t slot,
                      int idx);

/* The slot that has the key at 'idx', or ES_NO_SLOT. */
uint32_t es_add_find_key(const es_Op *op, const es_Store *s, int idx);

/*
** Stores a trait (target 0) or pair that the slot does not have yet, with the
** values from stack index 'first' on, and calls the observers of onAdd and of
** queries. Room must be reserved. Returns a status; when it is not LUA_OK the
** error object is pushed and the value stays.
*/
int es_add_stored(const es_Op *op, es_Store *s, uint32_t slot,
                  uint32_t target, int first);

#endif
