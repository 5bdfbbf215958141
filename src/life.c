/*
** life.c - making, closing and freeing worlds; see world.h
**
** close() marks a world closed, so that every later call raises. But a call
** may be running: any allocation can run a finalizer, and a finalizer can
** close the world that the allocation was for. What it uses outside Lua must
** stay, then. No operation counts itself in and out, because none of them
** could be trusted to do so when an error jumps over it:
**
** - Where it is certain that nothing of ours runs, the memory goes at once.
** - Else it goes when nothing holds the world, as every running operation
**   does, on its stack. This is for the world's keeper to tell: a userdata in
**   user value 2, whose finalizer scripts do not get to call.
** - A finalizer may bring a world back, and use it, when its keeper's turn to
**   be finalized is still to come. So the keeper waits. A world that it has
**   closed can be in no new use, and when nothing holds it once more, nobody
**   uses it.
** - When there is no memory to run a finalizer, or the Lua state closes first,
**   the state frees the world as it frees all guards.
*/
#include "world.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"
#include "guard.h"
#include "query.h"

/* So many calls are looked through; a higher stack tells nothing. */
enum { LEVELS = 100 };

/* User values of a world. */
enum { ANCHORS = 1, KEEPER, USER_VALUES = KEEPER };

/* Its user value 1 is the world, so that 'handle' is alive. */
typedef struct es_Keeper {
  es_World **handle;       /* NULL: nothing to do */
  unsigned char waited;
} es_Keeper;

/* Frees all that the world owns, and gives its id back. */
static void free_world(void *payload) {
  es_World *w = payload;
  uint32_t i;
  w->open = 0;
  if (w->entities.world == 0) return;
  es_state_free_world(w->state, w->entities.world,
                      es_entity_next_base(&w->entities));
  w->entities.world = 0;
  es_query_close(w);
  es_registry_free(w);
  for (i = 0; i < w->nstores; i++) es_store_free(w->stores[i], &w->alloc);
  es_alloc_free(&w->alloc, w->stores, w->storecap, sizeof *w->stores);
  es_alloc_free(&w->alloc, w->by_id, w->idcap, sizeof *w->by_id);
  es_alloc_free(&w->alloc, w->spare, 1, sizeof *w->spare);
  w->stores = w->by_id = NULL;
  w->spare = NULL;
  w->nstores = w->storecap = w->idcap = 0;
  es_bitset_free(&w->dying, &w->alloc);
  es_entity_free(&w->entities);
}

/*
** True when no function of ours runs but the one that asks. Who resumed a
** coroutine cannot be seen from inside.
*/
static int is_idle(lua_State *L) {
  lua_Debug ar;
  int level, main = lua_pushthread(L);
  lua_pop(L, 1);
  if (!main) return 0;
  for (level = 1; lua_getstack(L, level, &ar); level++)
    if (level > LEVELS || es_state_is_ours(L, &ar)) return 0;
  return 1;
}

/* A column that outlives its world raises when it is used. */
static void bury_columns(lua_State *L, const es_World *w) {
  es_Op op = {L, NULL, "close", 1, 2, 1};
  uint32_t i;
  lua_getiuservalue(L, 1, ANCHORS);
  for (i = 0; i < w->nstores; i++)
    if (w->stores[i]->shown) es_store_bury(&op, w->stores[i]);
  lua_pop(L, 1);
}

int es_world_lua_close(lua_State *L) {
  es_World *w = es_world_test(L, es_state(L), 1);
  if (w == NULL)
    return es_error(L, "close", "bad world (world expected, got %s)",
                    es_error_typename(L, 1));
  if (!w->open) return 0;
  if (w->busy > 0)
    return es_error(L, "close", "a world cannot be closed inside a callback");
  w->open = 0;
  lua_settop(L, 1);
  bury_columns(L, w);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, ANCHORS);
  if (is_idle(L)) free_world(w);
  return 0;
}

/* Called by the collector, or by hand: never raises, never allocates. */
int es_world_lua_gc(lua_State *L) {
  es_World *w = es_world_test(L, es_state(L), 1);
  if (w == NULL || !w->open || w->busy > 0) return 0;
  w->open = 0;
  if (is_idle(L)) free_world(w);
  return 0;
}

/* What the keeper's world holds in Lua can go already. */
static void drop_anchors(lua_State *L, int keeper) {
  lua_getiuservalue(L, keeper, 1);
  lua_pushnil(L);
  lua_setiuservalue(L, -2, ANCHORS);
  lua_pop(L, 1);
}

/* Also for a world with callbacks that will never end: the state closes. */
static int keeper_gc(lua_State *L) {
  es_State *s = es_state(L);
  es_Keeper *k;
  es_World *w;
  if (lua_type(L, 1) != LUA_TUSERDATA ||
      !es_state_has_meta(L, s, 1, ES_SHARED_KEEPER))
    return 0;
  k = lua_touserdata(L, 1);
  if (k->handle == NULL) return 0;
  w = *k->handle;
  w->open = 0;
  if (!k->waited) {
    k->waited = 1;
    drop_anchors(L, 1);
    lua_getmetatable(L, 1);
    lua_setmetatable(L, 1);   /* to be finalized again */
    return 0;
  }
  *k->handle = s->gone;
  k->handle = NULL;
  es_guard_drop(w);
  return 0;
}

/* Gives the world at 'idx' its keeper, which has nothing to do yet. */
static es_Keeper *new_keeper(lua_State *L, int idx) {
  es_Keeper *k = lua_newuserdatauv(L, sizeof *k, 1);
  memset(k, 0, sizeof *k);
  es_state_push(L, ES_SHARED_KEEPER);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, idx);
  lua_setiuservalue(L, -2, 1);
  lua_setiuservalue(L, idx, KEEPER);
  return k;
}

es_World *es_world_new(lua_State *L) {
  es_State *s = es_state(L);
  es_World **handle = lua_newuserdatauv(L, sizeof *handle, USER_VALUES);
  es_Keeper *k;
  int idx = lua_gettop(L);
  *handle = s->gone;
  lua_newtable(L);
  lua_setiuservalue(L, idx, ANCHORS);
  k = new_keeper(L, idx);
  es_state_push(L, ES_SHARED_WORLD);
  lua_setmetatable(L, idx);
  *handle = es_guard_block(L, sizeof **handle, free_world);
  k->handle = handle;
  (*handle)->state = s;
  (*handle)->alloc = es_state_alloc(L);
  (*handle)->dirty_first = UINT32_MAX - 1;   /* the chain is empty */
  return *handle;
}

/* A world that is gone is like one that has never been: closed and empty. */
void es_world_open(lua_State *L, es_State *s) {
  s->gone = lua_newuserdatauv(L, sizeof(es_World), 0);
  memset(s->gone, 0, sizeof(es_World));
  lua_setiuservalue(L, lua_upvalueindex(1), 1);
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, keeper_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "ecsser.keeper");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_KEEPER);
}
