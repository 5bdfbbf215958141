/*
** observer.h - lists of callbacks, and calling them.
**
** A list is a Lua table in the anchor table that is never changed: adding and
** removing make a new one, so that a list can be walked while callbacks
** subscribe and unsubscribe. Its elements are boxes { fn, target }; an
** unsubscribed box is empty, so that it is not called any more.
*/
#ifndef ES_OBSERVER_H
#define ES_OBSERVER_H

#include "world.h"

/* What a callback is about. */
typedef struct es_Occasion {
  es_Entity entity;
  es_Entity target;       /* relations: the pair's target; else 0 */
  const es_Store *store;  /* when set: stop once the entity lost it */
} es_Occasion;

/*
** Adds the function at 'fn' to the list at '*anchor' (0: a new list), heard
** for 'target' only unless that is 0. Pushes the function that unsubscribes.
** [-0, +1]
*/
void es_observer_add(const es_Op *op, int *anchor, int fn, es_Entity target);

/* Nothing is to be called: the list is empty or missing. */
int es_observer_none(const es_Op *op, int anchor);

/*
** Calls all that listen. Stops at the first error and returns its status with
** the error object pushed. With 'errors' (the stack index of a list table, or
** of nil for none wanted) it goes on, appends each error there, and returns
** LUA_OK. Never raises.
*/
int es_observer_call(const es_Op *op, int anchor, const es_Occasion *what,
                     int errors);

/*
** Pushes an empty list for 'errors'. The first ones are kept in it even when
** memory is full. [-0, +1]
*/
void es_observer_new_errors(lua_State *L);

/* 'errors' of es_observer_call: stop at the first one. */
#define ES_STOP 0

#endif
