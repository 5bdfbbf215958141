/* world.c - creating worlds, and what operations begin with; see world.h */
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
  return *(es_World **)lua_touserdata(L, idx);
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

void es_op_push_call(const es_Op *op, lua_CFunction part) {
  lua_State *L = op->L;
  lua_pushvalue(L, lua_upvalueindex(1));   /* the state */
  lua_pushcclosure(L, part, 1);
  lua_pushvalue(L, op->world);
  lua_pushvalue(L, op->anchors);
}

void es_op_enter(es_Op *op, lua_State *L) {
  op->L = L;
  op->world = 1;
  op->anchors = 2;
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

/*
** A free world id, after collections when there is none: the first one closes
** the worlds that nobody has, the second one frees them.
*/
static uint32_t take_id(lua_State *L, es_State *s) {
  uint32_t id = es_state_take_world(s);
  int tries;
  for (tries = 0; id == 0 && tries < 2; tries++) {
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
  w = es_world_new(L);
  w->entities.world = take_id(L, s);   /* given back with the memory */
  w->open = 1;
  es_try(L, es_entity_init(&w->entities, w->alloc, w->entities.world,
                           s->world_base[w->entities.world]));
  exclude_world_entity(L);
  lua_settop(L, 1);
  return 1;
}
