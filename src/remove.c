/* remove.c - world:remove, world:destroy and world:reset; see drop.h */
#include <string.h>

#include <lauxlib.h>

#include "drop.h"
#include "guard.h"
#include "methods.h"
#include "query.h"

/* One thing to remove: a trait (target 0) or a pair. */
typedef struct es_Removal {
  es_Store *store;
  es_Entity target;
} es_Removal;

/* Raises the error object on top, or the first of the list there. */
static void raise_first(lua_State *L, int errors) {
  if (lua_rawgeti(L, errors, 1) != LUA_TNIL) lua_error(L);
  lua_pop(L, 1);
}

static const es_Removal *removals(const es_Buffer *b, size_t *n) {
  *n = b->len / sizeof(es_Removal);
  return (const es_Removal *)(const void *)b->data;
}

/* Adds what is not on the list yet. */
static void add_removal(const es_Op *op, es_Buffer *b, es_Store *s,
                        es_Entity target) {
  size_t i, n;
  const es_Removal *list = removals(b, &n);
  es_Removal r = {s, target};
  for (i = 0; i < n; i++)
    if (list[i].store == s && list[i].target == target) return;
  es_try(op->L, es_buffer_put(b, &r, sizeof r));
}

static void add_pair(const es_Op *op, es_Buffer *b, es_Store *s,
                     const es_Term *pair, uint32_t slot) {
  const es_Entities *entities = &op->w->entities;
  es_Entity target = (es_Entity)pair->target;
  uint32_t row;
  if (!pair->wildcard) {
    if (es_entity_slot(target) != 0 && es_entity_is_alive(entities, target) &&
        es_has(s, slot, es_entity_slot(target)))
      add_removal(op, b, s, target);
    return;
  }
  for (row = es_pairs_first(&s->pairs, slot); row != 0;
       row = es_pairs_next(&s->pairs, row))
    add_removal(op, b, s,
                es_entity_handle(entities, s->pairs.rows[row].target));
}

/* The trait or pair at 'idx'; what the entity lacks is skipped. */
static void read_removal(const es_Op *op, es_Buffer *b, int idx, int n,
                         uint32_t slot) {
  lua_State *L = op->L;
  const es_Trait *t = es_trait_test(L, op->w->state, idx);
  const es_Term *term = es_term_test(L, op->w->state, idx);
  es_Store *s;
  if (term != NULL && term->op == ES_TERM_PAIR) {
    lua_getiuservalue(L, idx, 1);
    s = es_store_get(op, lua_gettop(L));
    lua_pop(L, 1);
    add_pair(op, b, s, term, slot);
    return;
  }
  if (t == NULL || t->relation)
    es_op_bad(op, n, "trait or pair", idx);
  s = es_store_get(op, idx);
  if (s == op->w->excluded && slot == 0)
    es_error(L, op->fn, "the world entity always carries ecs.IsExcluded");
  if (es_has(s, slot, 0)) add_removal(op, b, s, 0);
}

/* Tells all, then drops all. */
static void remove_all(const es_Op *op, es_Buffer *b, es_Entity entity) {
  uint32_t slot = es_entity_slot(entity);
  size_t i, n;
  const es_Removal *list = removals(b, &n);
  int errors;
  es_observer_new_errors(op->L);
  errors = lua_gettop(op->L);
  for (i = 0; i < n; i++)
    if (es_tell(op, list[i].store, ES_ON_REMOVE, entity, list[i].target,
                ES_STOP) != LUA_OK)
      lua_error(op->L);
  if (!es_entity_is_alive(&op->w->entities, entity)) return;
  for (i = 0; i < n; i++)
    if (list[i].target == 0 ||
        es_entity_is_alive(&op->w->entities, list[i].target))
      es_drop(op, list[i].store, slot, es_entity_slot(list[i].target));
  es_query_flush(op, errors);
  raise_first(op->L, errors);
}

int es_method_remove(lua_State *L) {
  es_Op op;
  int first, i;
  uint32_t slot;
  es_Entity entity;
  es_Buffer *b;
  es_op_change(L, &op, "remove");
  slot = es_method_subject(&op, &first);
  entity = es_entity_handle(&op.w->entities, slot);
  b = es_guard_buffer(L);
  if (first > op.top)
    return es_op_bad(&op, first - 1, "trait or pair", first);
  for (i = first; i <= op.top; i++)
    read_removal(&op, b, i, i - 1, slot);
  if (!es_bitset_test(&op.w->dying, slot)) remove_all(&op, b, entity);
  return 0;
}

/* Marks an entity and puts it on the list. */
static es_Status doom(es_World *w, es_Buffer *list, uint32_t slot) {
  es_Entity e = es_entity_handle(&w->entities, slot);
  if (es_bitset_test(&w->dying, slot) ||
      !es_bitset_test(&w->entities.alive, slot))
    return ES_OK;
  if (es_buffer_put(list, &e, sizeof e) != ES_OK) return ES_NOMEM;
  es_bitset_set(&w->dying, slot);
  return ES_OK;
}

/* Those that go with the entity in one relation. */
static es_Status doom_along(es_World *w, es_Buffer *list, es_Store *s,
                            uint32_t slot) {
  es_Pairs *p = &s->pairs;
  es_Status status = ES_OK;
  uint32_t row;
  if (s->trait->autodestroy == ES_DESTROY_TARGET)
    for (row = es_pairs_first(p, slot); row != 0 && status == ES_OK;
         row = es_pairs_next(p, row))
      status = doom(w, list, p->rows[row].target);
  if (s->trait->autodestroy == ES_DESTROY_SOURCE) {
    es_pairs_sort_sources(p, slot);
    for (row = es_pairs_first_source(p, slot); row != 0 && status == ES_OK;
         row = es_pairs_next_source(p, row))
      status = doom(w, list, p->rows[row].source);
  }
  return status;
}

static const es_Entity *entities_of(const es_Buffer *list) {
  return (const es_Entity *)(const void *)list->data;
}

/* Clears the marks of the list and empties it. */
static void spare(es_World *w, es_Buffer *list) {
  size_t i, n = list->len / sizeof(es_Entity);
  for (i = 0; i < n; i++)
    es_bitset_clear(&w->dying, es_entity_slot(entities_of(list)[i]));
  list->len = 0;
}

/*
** The entity, unless a finalizer took it, and all that autoDestroy takes
** along; also rings end.
*/
static es_Status doom_all(es_World *w, es_Buffer *list, es_Entity entity) {
  es_Status status = ES_OK;
  size_t i;
  uint32_t k;
  if (!es_entity_is_alive(&w->entities, entity)) return ES_OK;
  status = doom(w, list, es_entity_slot(entity));
  for (i = 0; status == ES_OK && i < list->len / sizeof(es_Entity); i++) {
    uint32_t at = es_entity_slot(entities_of(list)[i]);
    for (k = 0; k < w->nstores && status == ES_OK; k++)
      if (w->stores[k]->trait->relation)
        status = doom_along(w, list, w->stores[k], at);
  }
  if (status != ES_OK) spare(w, list);
  return status;
}

/*
** Destroys the entities of the list, which are marked. False, with the error
** object pushed, when an observer forbids it.
*/
static int destroy_list(const es_Op *op, const es_Buffer *list, int errors) {
  size_t i, n = list->len / sizeof(es_Entity);
  for (i = 0; i < n; i++)
    if (es_tell_entity(op, es_entity_slot(entities_of(list)[i]), ES_STOP) !=
        LUA_OK)
      return 0;
  es_drop_entities(op, entities_of(list), n, errors);
  return 1;
}

int es_method_destroy(lua_State *L) {
  es_Op op;
  uint32_t slot;
  es_Entity entity;
  es_Buffer *list;
  int errors;
  es_op_change(L, &op, "destroy");
  slot = es_world_slot(&op, 2, 1);
  if (slot == 0)
    return es_error(L, "destroy", "the world entity cannot be destroyed");
  if (es_bitset_test(&op.w->dying, slot)) return 0;
  entity = es_entity_handle(&op.w->entities, slot);
  list = es_guard_buffer(L);
  es_observer_new_errors(L);
  errors = lua_gettop(L);
  es_try(L, doom_all(op.w, list, entity));
  if (!destroy_list(&op, list, errors)) {
    spare(op.w, list);
    return lua_error(L);
  }
  raise_first(L, errors);
  return 0;
}

/* Every entity, ascending. */
static es_Status doom_world(es_World *w, es_Buffer *list) {
  uint32_t slot;
  es_Status status = ES_OK;
  for (slot = es_bitset_next(&w->entities.alive, 1);
       slot != ES_NO_SLOT && status == ES_OK;
       slot = es_bitset_next(&w->entities.alive, slot + 1))
    status = doom(w, list, slot);
  if (status != ES_OK) spare(w, list);
  return status;
}

/* onRemove of the world-level traits; one that raises stops the reset. */
static int tell_singletons(const es_Op *op) {
  es_Store *s;
  int status = LUA_OK;
  for (s = es_store_after(op->w, 0); s != NULL && status == LUA_OK;
       s = es_store_after(op->w, s->trait->id))
    if (s != op->w->excluded && es_has(s, 0, 0))
      status = es_tell(op, s, ES_ON_REMOVE, es_world_entity(op->w), 0,
                       ES_STOP);
  return status;
}

static void drop_singletons(const es_Op *op) {
  uint32_t i;
  for (i = 0; i < op->w->nstores; i++)
    if (op->w->stores[i] != op->w->excluded)
      es_drop(op, op->w->stores[i], 0, 0);
}

/* New tables for the columns that scripts hold. [-0, +1] */
static int push_fresh_columns(const es_Op *op) {
  uint32_t i;
  lua_newtable(op->L);
  for (i = 0; i < op->w->nstores; i++)
    if (op->w->stores[i]->shown) es_store_fresh(op, op->w->stores[i]);
  return lua_gettop(op->L);
}

static void renew_columns(const es_Op *op, int fresh) {
  uint32_t i;
  lua_pushvalue(op->L, fresh);
  for (i = 0; i < op->w->nstores; i++)
    if (op->w->stores[i]->shown) es_store_renew(op, op->w->stores[i]);
  lua_pop(op->L, 1);
}

/* Nothing can be spawned meanwhile. Raises when an observer forbids it. */
static void empty_world(const es_Op *op, es_Buffer *list, int errors) {
  es_World *w = op->w;
  es_try(op->L, doom_world(w, list));
  w->resetting = 1;
  if (tell_singletons(op) != LUA_OK || !destroy_list(op, list, errors)) {
    spare(w, list);
    w->resetting = 0;
    lua_error(op->L);
  }
  drop_singletons(op);
  w->resetting = 0;
}

int es_method_reset(lua_State *L) {
  es_Op op;
  es_Buffer *list;
  int errors, fresh;
  es_op_change(L, &op, "reset");
  if (op.w->busy > 0)
    return es_error(L, "reset", "a world cannot be reset inside a callback");
  list = es_guard_buffer(L);
  es_observer_new_errors(L);
  errors = lua_gettop(L);
  fresh = push_fresh_columns(&op);
  empty_world(&op, list, errors);
  renew_columns(&op, fresh);
  es_entity_reset(&op.w->entities);
  raise_first(L, errors);
  return 0;
}
