/*
** state.h - what all worlds of one Lua state share.
**
** One userdata per Lua state, upvalue 1 of every function of the module. It
** hands out trait and world ids and knows the metatables by address, so that
** type checks need no lookups. The metatables and the built-in traits are
** anchored in the registry under private keys.
*/
#ifndef ES_STATE_H
#define ES_STATE_H

#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 504
#error "ecsser needs the headers of Lua 5.4: set LUA_INCDIR"
#endif

#include "alloc.h"
#include "entity.h"

typedef enum es_Shared {
  ES_SHARED_WORLD,      /* metatables */
  ES_SHARED_TRAIT,
  ES_SHARED_TERM,
  ES_SHARED_ERROR,
  ES_SHARED_ARRAY,
  ES_SHARED_GUARD,
  ES_SHARED_KEEPER,
  ES_SHARED_DEAD,
  ES_SHARED_SCENE,
  ES_SHARED_MESSAGES,   /* what es_call may raise */
  ES_SHARED_EXCLUDED,   /* built-in traits */
  ES_SHARED_KEY,
  ES_SHARED_COUNT
} es_Shared;

/* Guards that own something are in one list; see guard.c. */
typedef struct es_GuardLink {
  struct es_GuardLink *prev, *next;
} es_GuardLink;

typedef struct es_State {
  const void *shared[ES_SHARED_COUNT];  /* addresses, for comparing */
  es_GuardLink guards;   /* the head */
  void *gone;            /* what worlds are when they are gone; see life.c */
  unsigned char over;    /* the Lua state closes, all of ours is freed */
  uint32_t next_trait;
  unsigned char world_used[ES_WORLD_MAX + 1];
  uint32_t world_base[ES_WORLD_MAX + 1];  /* see entity.h */
} es_State;

/* The state of the running function; it must have upvalue 1. */
static inline es_State *es_state(lua_State *L) {
  return (es_State *)lua_touserdata(L, lua_upvalueindex(1));
}

/* Creates the state userdata and pushes it. */
es_State *es_state_new(lua_State *L);

/* Pops a value and shares it. */
void es_state_share(lua_State *L, es_State *s, es_Shared what);

/* Pushes a shared value. */
void es_state_push(lua_State *L, es_Shared what);

/* True if the value at 'idx' has the shared metatable 'what'. */
int es_state_has_meta(lua_State *L, const es_State *s, int idx,
                      es_Shared what);

/* True when a function of ours is at work there: its upvalue 1 is the state. */
int es_state_is_ours(lua_State *L, lua_Debug *ar);

/* The allocator of the Lua state. */
es_Alloc es_state_alloc(lua_State *L);

/*
** World ids: 0 when all are in use. The id with the fewest generations used
** up is taken, so that ids rotate.
*/
uint32_t es_state_take_world(es_State *s);
void es_state_free_world(es_State *s, uint32_t world, uint32_t base);

#endif
