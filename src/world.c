/* world.c - making, checking and closing worlds; see world.h */
#include "world.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"
#include "query.h"

/* No method looks at a fixed argument behind this one. */
enum { FEW = 4 };

es_World *es_world_test(lua_State *L, const es_State *s, int idx) {
  if (lua_type(L, idx) != LUA_TUSERDATA) return NULL;
  if (!es_state_has_meta(L, s, idx, ES_SHARED_WORLD)) return NULL;
  return lua_touserdata(L, idx);
}

void es_op_begin(lua_State *L, es_Op *op, const char *fn) {
  es_World *w = es_world_test(L, es_state(L), 1);
  if (w == NULL) {
    const char *got = es_error_typename(L, 1);
    es_error(L, fn, "bad world (world expected, got %s)", got);
    return;
  }
  if (!w->open) {
    es_error(L, fn, "the world is closed");
    return;
  }
  es_need_stack(L, 3 * LUA_MINSTACK);
  op->L = L;
  op->w = w;
  op->fn = fn;
  op->world = 1;
  op->top = lua_gettop(L);
  if (op->top < FEW) lua_settop(L, FEW);   /* missing arguments are nil */
  lua_getiuservalue(L, 1, 1);
  op->anchors = lua_gettop(L);
}

void es_op_change(lua_State *L, es_Op *op, const char *fn) {
  es_op_begin(L, op, fn);
  if (op->w->readonly > 0)
    es_error(L, fn, "the world is read-only while it is saved and while a "
                    "codec runs");
}

void es_op_lock(const es_Op *op) {
  if (!op->w->open) es_error(op->L, op->fn, "the world is closed");
  op->w->readonly++;
  op->w->busy++;
  op->w->loading++;
}

void es_op_unlock(const es_Op *op, uint32_t readonly) {
  op->w->loading--;
  op->w->busy--;
  op->w->readonly = readonly;
}

int es_op_bad(const es_Op *op, int n, const char *what, int idx) {
  if (idx <= op->top) return es_error_arg(op->L, op->fn, n, what, idx);
  return es_error(op->L, op->fn, "bad argument #%d (%s expected, got nothing)",
                  n, what);
}

int es_world_anchor(es_World *w) { return ++w->anchors; }

es_Entity es_world_handle(lua_State *L, int idx) {
  int integer = 0;
  lua_Integer e = 0;
  if (lua_type(L, idx) == LUA_TNUMBER) e = lua_tointegerx(L, idx, &integer);
  return integer && e > 0 && (uint64_t)e <= ES_ENTITY_MAX ? (es_Entity)e : 0;
}

uint32_t es_world_slot_or_none(const es_Op *op, int idx, int n) {
  es_Entity e = es_world_handle(op->L, idx);
  if (lua_type(op->L, idx) != LUA_TNUMBER)
    es_op_bad(op, n, "entity", idx);
  if (!es_entity_is_alive(&op->w->entities, e)) return ES_NO_SLOT;
  return es_entity_slot(e);
}

uint32_t es_world_slot(const es_Op *op, int idx, int n) {
  uint32_t slot = es_world_slot_or_none(op, idx, n);
  es_Entity e;
  if (slot != ES_NO_SLOT) return slot;
  e = es_world_handle(op->L, idx);
  if (e == 0)
    es_error(op->L, op->fn, "bad argument #%d (not an entity)", n);
  if (es_entity_world(e) != op->w->entities.world)
    es_error(op->L, op->fn,
             "bad argument #%d (an entity of another world)", n);
  es_error(op->L, op->fn, "bad argument #%d (a dead entity)", n);
  return ES_NO_SLOT;
}

void es_world_check_target(const es_Op *op, es_Entity target, int n) {
  const es_World *w = op->w;
  const char *wrong = NULL;
  if (es_entity_world(target) != w->entities.world)
    wrong = "no entity of this world";
  else if (!es_entity_is_alive(&w->entities, target))
    wrong = "a dead entity";
  else if (es_entity_slot(target) == 0)
    wrong = "the world entity, which no pair can point at";
  else if (es_bitset_test(&w->dying, es_entity_slot(target)))
    wrong = "an entity that is being destroyed";
  if (wrong != NULL)
    es_error(op->L, op->fn, "bad argument #%d (the pair's target is %s)", n,
             wrong);
}

int es_world_is_singleton(const es_Op *op, int idx) {
  return idx <= op->top &&
         (es_trait_test(op->L, op->w->state, idx) != NULL ||
          es_term_test(op->L, op->w->state, idx) != NULL);
}

void es_world_push(lua_State *L, es_Entity e) {
  lua_pushinteger(L, (lua_Integer)e);
}

es_Status es_world_reserve_slots(es_World *w, uint32_t more) {
  es_Status status = es_entity_reserve(&w->entities, more);
  if (status == ES_OK)
    status = es_bitset_reserve(&w->dying, &w->alloc, w->entities.cap);
  if (status == ES_OK) status = es_query_reserve(w);
  return status;
}

/* A free world id, after a collection when there is none. */
static uint32_t take_id(lua_State *L, es_State *s) {
  uint32_t id = es_state_take_world(s);
  if (id == 0) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    id = es_state_take_world(s);
  }
  if (id == 0)
    es_error(L, "createWorld", "%d worlds are alive; close one first",
             ES_WORLD_MAX);
  return id;
}

/* The world entity carries ecs.IsExcluded. The world is at index 1. */
static void exclude_world_entity(lua_State *L) {
  es_Op op;
  es_op_begin(L, &op, "createWorld");
  es_state_push(L, ES_SHARED_EXCLUDED);
  op.w->excluded = es_store_get(&op, lua_gettop(L));
  es_try(L, es_store_reserve(op.w->excluded, &op.w->alloc, 1, 0));
  es_try(L, es_world_reserve_slots(op.w, 0));
  es_store_set(op.w->excluded, 0);
}

int es_world_lua_create(lua_State *L) {
  es_State *s = es_state(L);
  es_World *w;
  lua_settop(L, 0);
  w = lua_newuserdatauv(L, sizeof *w, 1);
  memset(w, 0, sizeof *w);
  w->state = s;
  w->alloc = es_state_alloc(L);
  w->dirty_first = UINT32_MAX - 1;   /* the chain is empty */
  lua_newtable(L);
  lua_setiuservalue(L, 1, 1);
  es_state_push(L, ES_SHARED_WORLD);
  lua_setmetatable(L, 1);
  w->entities.world = take_id(L, s);
  w->open = 1;   /* from here on, closing gives the id back */
  es_try(L, es_entity_init(&w->entities, w->alloc, w->entities.world,
                           s->world_base[w->entities.world]));
  exclude_world_entity(L);
  lua_settop(L, 1);
  return 1;
}

void es_world_close(es_World *w) {
  uint32_t i;
  if (!w->open) return;
  w->open = 0;
  es_state_free_world(w->state, w->entities.world,
                      es_entity_next_base(&w->entities));
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

/* A column that outlives its world raises when it is used. */
static void bury_columns(lua_State *L, const es_World *w) {
  es_Op op = {L, NULL, "close", 1, 2, 1};
  uint32_t i;
  lua_getiuservalue(L, 1, 1);
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
  lua_settop(L, 1);
  bury_columns(L, w);
  es_world_close(w);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  return 0;
}

/* Called by the collector, or by hand: never raises, never allocates. */
int es_world_lua_gc(lua_State *L) {
  es_World *w = es_world_test(L, es_state(L), 1);
  if (w != NULL && w->busy == 0) es_world_close(w);
  return 0;
}
