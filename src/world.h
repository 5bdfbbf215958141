/*
** world.h - the world: its parts, and what every operation begins with.
**
** A world is a userdata that points at a block outside Lua. User value 1 is
** its anchor table: columns, traits, observers, codecs, at integer keys that
** es_world_anchor hands out. The block and all that it owns stay as long as
** an operation of the world may be running, even when the world is closed
** meanwhile; see life.c.
*/
#ifndef ES_WORLD_H
#define ES_WORLD_H

#include <lua.h>

#include "entity.h"
#include "error.h"
#include "registry.h"
#include "state.h"
#include "store.h"

struct es_Tracked;

typedef struct es_World {
  es_State *state;
  es_Alloc alloc;
  unsigned char open;
  unsigned char restoring;  /* inside restoreWorld */
  unsigned char resetting;  /* inside reset: nothing can be added */
  uint32_t busy;            /* callbacks of this world that are running */
  uint32_t readonly;        /* nested saves and codec calls */
  uint32_t loading;         /* snapshots being loaded or appended */
  uint32_t least;           /* slots that queries must have room for */
  int anchors;              /* the last anchor handed out */
  int handlers;             /* anchor of the snapshot handlers, or 0 */
  int query_cache;          /* anchor of signature -> query, or 0 */
  es_Entities entities;
  es_Store **by_id;         /* by trait id; NULL where not met */
  uint32_t idcap;
  es_Store **stores;        /* ascending by trait id */
  uint32_t nstores, storecap;
  es_Store *spare;          /* a block for the next store, or NULL */
  es_Store *excluded;       /* the store of ecs.IsExcluded */
  es_Store *key;            /* the store of ecs.Key, or NULL */
  es_Bitset dying;          /* being destroyed; see destroy.h */
  uint64_t lives;           /* counts spawns and deaths */
  uint64_t changes;         /* counts changes of who has what */
  unsigned char observed;   /* an observer was ever added */
  struct es_Tracked *tracked;  /* queries with observers */
  uint32_t ntracked, trackedcap;
  uint32_t *dirty;          /* chain of slots to look at; see query.h */
  uint32_t dirtycap, dirty_first, dirty_last;
  es_Registry registry;
} es_World;

/* One call of a method: what its helpers need to know. */
typedef struct es_Op {
  lua_State *L;
  es_World *w;
  const char *fn;   /* the method's name, for errors */
  int world;        /* stack index of the world */
  int anchors;      /* stack index of the anchor table */
  int top;          /* stack index of the last argument */
} es_Op;

/*
** Begins a method: argument 1 must be an open world. Pushes the anchor table
** behind the arguments. [-0, +1]
*/
void es_op_begin(lua_State *L, es_Op *op, const char *fn);

/* The same, and the world must not be read-only. */
void es_op_change(lua_State *L, es_Op *op, const char *fn);

/*
** From es_op_lock to es_op_unlock the world stays open, nothing in it changes
** and its names are fixed, whatever finalizers try that the collector runs
** meanwhile. What lies between must run protected. Locking raises when a
** finalizer has closed the world; unlocking puts the count of 'readonly' from
** before back, so that a part of the call may take it down.
*/
void es_op_lock(const es_Op *op);
void es_op_unlock(const es_Op *op, uint32_t readonly);

/*
** A part of an operation that runs protected is a function of ours whose first
** arguments are the world and its anchors: es_op_push_call pushes all three,
** and the function begins with es_op_enter. [-0, +3] [-0, +0]
*/
void es_op_push_call(const es_Op *op, lua_CFunction part);
void es_op_enter(es_Op *op, lua_State *L);

/* The world at 'idx', or NULL; it may be closed. */
es_World *es_world_test(lua_State *L, const es_State *s, int idx);

/* The same for what is known to be a world: an upvalue of ours. */
static inline es_World *es_world_held(lua_State *L, int idx) {
  const es_State *s = es_state(L);
  return s->over ? s->gone : *(es_World **)lua_touserdata(L, idx);
}

/* Hands out an anchor index; the value there is nil. */
int es_world_anchor(es_World *w);

/* The world's own hidden entity. */
static inline es_Entity es_world_entity(const es_World *w) {
  return es_entity_handle(&w->entities, 0);
}

/* The handle at 'idx' as it is, or 0 when it is no integer number. */
es_Entity es_world_handle(lua_State *L, int idx);

/*
** The slot of the entity at 'idx', which must be alive here; 'n' is the
** argument's number in messages.
*/
uint32_t es_world_slot(const es_Op *op, int idx, int n);

/* The slot, or ES_NO_SLOT when the handle is dead or foreign. */
uint32_t es_world_slot_or_none(const es_Op *op, int idx, int n);

/* Raises unless pairs may point at the entity. */
void es_world_check_target(const es_Op *op, es_Entity target, int n);

/*
** As es_error_arg, for an argument of the operation: one that is missing is
** "nothing".
*/
int es_op_bad(const es_Op *op, int n, const char *what, int idx);

/*
** True when argument 2 is a trait or term, so that the call is about the
** world entity ("world:get(Encounter)").
*/
int es_world_is_singleton(const es_Op *op, int idx);

/* Pushes a handle as a Lua integer. [-0, +1] */
void es_world_push(lua_State *L, es_Entity e);

/* True when entities carry ecs.IsExcluded. */
static inline int es_world_is_excluded(const es_World *w, uint32_t slot) {
  return es_bitset_test(&w->excluded->has, slot);
}

/* Room for one more slot in all that is indexed by slot. */
es_Status es_world_reserve_slots(es_World *w, uint32_t more);

/* ecs.createWorld(), world:close(), __gc, __close */
int es_world_lua_create(lua_State *L);
int es_world_lua_close(lua_State *L);
int es_world_lua_gc(lua_State *L);

/* Pushes a world that is closed yet: a block of zeroes. [-0, +1] */
es_World *es_world_new(lua_State *L);

/* Gives the state, upvalue 1 of the running function, what worlds need. */
void es_world_open(lua_State *L, es_State *s);

#endif
