/* value.c - reading and writing values: has, get, set, column, targets */
#include <string.h>

#include <lauxlib.h>

#include "add.h"
#include "drop.h"
#include "methods.h"
#include "names.h"

uint32_t es_method_subject(const es_Op *op, int *first) {
  if (es_world_is_singleton(op, 2)) {
    *first = 2;
    return 0;
  }
  *first = 3;
  return es_world_slot(op, 2, 1);
}

/* As es_method_subject, but ES_NO_SLOT for a dead or foreign handle. */
static uint32_t subject_or_none(const es_Op *op, int *first) {
  if (es_world_is_singleton(op, 2)) {
    *first = 2;
    return 0;
  }
  *first = 3;
  return es_world_slot_or_none(op, 2, 1);
}

/* A trait or a pair that an argument names. */
typedef struct es_Named {
  const es_Trait *trait;
  es_Store *store;      /* NULL: nobody here has it */
  es_Entity target;     /* pairs; 0 for a trait or a wildcard */
  int pair, wildcard;
} es_Named;

static es_Named read_named(const es_Op *op, int idx, int n) {
  lua_State *L = op->L;
  es_Named named = {NULL, NULL, 0, 0, 0};
  const es_Term *term = es_term_test(L, op->w->state, idx);
  named.trait = es_trait_test(L, op->w->state, idx);
  if (term != NULL && term->op == ES_TERM_PAIR) {
    named.pair = 1;
    named.wildcard = term->wildcard;
    named.target = (es_Entity)term->target;
    lua_getiuservalue(L, idx, 1);
    named.trait = lua_touserdata(L, -1);   /* anchored by the term */
    lua_pop(L, 1);
  } else if (named.trait == NULL || named.trait->relation) {
    es_error_arg(L, op->fn, n, "trait or pair", idx);
  }
  named.store = es_store_find(op->w, named.trait);
  return named;
}

/* The key of the value: the slot, or the pair's row; ES_NO_SLOT: none. */
static uint32_t value_key(const es_World *w, const es_Named *n,
                          uint32_t slot) {
  uint32_t row;
  if (slot == ES_NO_SLOT || n->store == NULL) return ES_NO_SLOT;
  if (!n->pair)
    return es_bitset_test(&n->store->has, slot) ? slot : ES_NO_SLOT;
  if (!es_entity_is_alive(&w->entities, n->target)) return ES_NO_SLOT;
  row = es_pairs_find(&n->store->pairs, slot, es_entity_slot(n->target));
  return row != 0 ? row : ES_NO_SLOT;
}

int es_method_has(lua_State *L) {
  es_Op op;
  es_Named named;
  int first, has = 0;
  uint32_t slot;
  es_op_begin(L, &op, "has");
  slot = subject_or_none(&op, &first);
  named = read_named(&op, first, first - 1);
  if (named.wildcard)
    has = slot != ES_NO_SLOT && named.store != NULL &&
          es_bitset_test(&named.store->has, slot);
  else
    has = value_key(op.w, &named, slot) != ES_NO_SLOT;
  lua_pushboolean(L, has);
  return 1;
}

/* The field that the string at 'idx' names; raises when there is none. */
static uint32_t read_field(const es_Op *op, const es_Trait *t, int idx,
                           int n) {
  size_t len;
  const char *name;
  int field;
  if (lua_type(op->L, idx) != LUA_TSTRING)
    es_op_bad(op, n, "field name", idx);
  name = lua_tolstring(op->L, idx, &len);
  field = es_trait_field(t, name, len);
  if (field < 0)
    es_error(op->L, op->fn, "bad argument #%d (there is no field %s)", n,
             es_names_quote(op->L, name, len));
  return (uint32_t)field;
}

static void check_single_target(const es_Op *op, const es_Named *named,
                                int n) {
  if (named->wildcard)
    es_error(op->L, op->fn,
             "bad argument #%d (a pair needs a target, not \"*\")", n);
}

int es_method_get(lua_State *L) {
  es_Op op;
  es_Named named;
  int first, i;
  uint32_t slot, key;
  es_op_begin(L, &op, "get");
  slot = subject_or_none(&op, &first);
  named = read_named(&op, first, first - 1);
  check_single_target(&op, &named, first - 1);
  key = value_key(op.w, &named, slot);
  es_need_stack(L, op.top + LUA_MINSTACK);
  if (first == op.top) {
    if (key == ES_NO_SLOT) lua_pushnil(L);
    else es_store_push_value(&op, named.store, key);
    return 1;
  }
  for (i = first + 1; i <= op.top; i++) {
    uint32_t field = read_field(&op, named.trait, i, i - 1);
    if (key == ES_NO_SLOT) lua_pushnil(L);
    else es_store_push(&op, named.store, field, key);
  }
  return op.top - first;
}

/* One call of set: where the value lies, and what was there before. */
typedef struct es_Write {
  const es_Op *op;
  es_Store *store;
  uint32_t key;
  es_Entity entity, target;
  int given;            /* stack index of the given table or value */
  int old;              /* stack index of all old fields */
} es_Write;

static void push_old(es_Write *w) {
  uint32_t f, n = w->store->trait->nfields;
  es_need_stack(w->op->L, (int)n + LUA_MINSTACK);
  w->old = lua_gettop(w->op->L) + 1;
  for (f = 0; f < n; f++) es_store_push(w->op, w->store, f, w->key);
}

/* Existing keys only, so that this allocates nothing. */
static void put_back(const es_Write *w) {
  uint32_t f;
  if (w->store->key) {
    es_store_put_all(w->op, w->store, w->key, w->old);
    return;
  }
  for (f = 0; f < w->store->trait->nfields; f++) {
    es_store_push(w->op, w->store, f, w->key);
    if (!lua_rawequal(w->op->L, -1, w->old + (int)f))
      es_store_put(w->op, w->store, f, w->key, w->old + (int)f);
    lua_pop(w->op->L, 1);
  }
}

/* Empties the fields in which ecs.null holds the place; see push_normal. */
static void empty_fields(const es_Write *w) {
  lua_State *L = w->op->L;
  uint32_t f;
  for (f = 0; f < w->store->trait->nfields; f++) {
    if (w->store->trait->fields[f].type != ES_FIELD_NULLABLE) continue;
    es_store_push_column(w->op, w->store, f);
    if (lua_rawgeti(L, -1, w->key) == LUA_TLIGHTUSERDATA &&
        es_is_null(L, -1)) {
      lua_pushnil(L);
      lua_rawseti(L, -3, w->key);
    }
    lua_pop(L, 2);
  }
}

/* Whether the value still lies where it was written. */
static int still_there(const es_Write *w) {
  const es_Entities *entities = &w->op->w->entities;
  uint32_t slot = es_entity_slot(w->entity);
  if (!es_entity_is_alive(entities, w->entity)) return 0;
  if (w->target == 0) return es_bitset_test(&w->store->has, slot);
  return es_entity_is_alive(entities, w->target) &&
         es_pairs_find(&w->store->pairs, slot, es_entity_slot(w->target)) ==
             w->key;
}

/* Tells onChange; an observer that raises takes the change back. */
static void finish(const es_Write *w) {
  int status = es_tell(w->op, w->store, ES_ON_CHANGE, w->entity, w->target,
                       ES_STOP);
  if (status != LUA_OK && still_there(w)) put_back(w);
  if (w->store->observers[ES_ON_CHANGE] != 0 && still_there(w))
    empty_fields(w);
  if (status != LUA_OK) lua_error(w->op->L);
}

/*
** nil and ecs.null both empty a nullable field. While observers may still
** raise, ecs.null holds the place of a value in its column, so that putting
** it back needs no memory; get() shows nil. [-0, +1]
*/
static void push_normal(const es_Op *op, const es_Store *s, uint32_t field,
                        int idx) {
  int empty = lua_isnil(op->L, idx) || es_is_null(op->L, idx);
  if (s->trait->fields[field].type != ES_FIELD_NULLABLE || !empty)
    lua_pushvalue(op->L, idx);
  else if (s->observers[ES_ON_CHANGE] != 0)
    lua_pushlightuserdata(op->L, NULL);
  else
    lua_pushnil(op->L);
}

static void set_field(es_Write *w, int name) {
  const es_Op *op = w->op;
  uint32_t field = read_field(op, w->store->trait, name, name - 1);
  int idx;
  push_old(w);
  if (name + 1 <= op->top) lua_pushvalue(op->L, name + 1);
  else lua_pushnil(op->L);
  push_normal(op, w->store, field, lua_gettop(op->L));
  idx = lua_gettop(op->L);
  es_store_check(op, w->store, field, idx);
  es_store_put(op, w->store, field, w->key, idx);
  finish(w);
}

/* The field of the key at 'idx', checking its value at 'idx' + 1. */
static uint32_t merge_field(const es_Op *op, const es_Store *s, int idx) {
  size_t len = 0;
  int field = -1;
  const char *name;
  if (lua_type(op->L, idx) == LUA_TSTRING) {
    name = lua_tolstring(op->L, idx, &len);
    field = es_trait_field(s->trait, name, len);
  }
  if (field < 0) es_store_no_field(op, s, idx);
  return (uint32_t)field;
}

static void check_merge(const es_Write *w) {
  lua_State *L = w->op->L;
  lua_pushnil(L);
  while (lua_next(L, w->given)) {   /* key value */
    int idx = lua_gettop(L);
    uint32_t field = merge_field(w->op, w->store, idx - 1);
    es_store_check(w->op, w->store, field, idx);
    lua_pop(L, 1);
  }
}

/* Runs protected: filling an empty field may need memory. */
static int write_merge(lua_State *L) {
  const es_Write *w = lua_touserdata(L, 1);
  es_Op op = *w->op;
  op.anchors = 2;
  lua_pushnil(L);
  while (lua_next(L, 3)) {   /* write anchors table key value */
    uint32_t field = merge_field(&op, w->store, 4);
    push_normal(&op, w->store, field, 5);
    es_store_put(&op, w->store, field, w->key, 6);
    lua_settop(L, 4);
  }
  return 0;
}

static void set_table(es_Write *w) {
  lua_State *L = w->op->L;
  if (!lua_istable(L, w->given))
    es_op_bad(w->op, w->given - 1, "table of fields or field name", w->given);
  check_merge(w);
  push_old(w);
  lua_pushcfunction(L, write_merge);
  lua_pushlightuserdata(L, w);
  lua_pushvalue(L, w->op->anchors);
  lua_pushvalue(L, w->given);
  if (lua_pcall(L, 3, 0, 0) != LUA_OK) {
    put_back(w);
    lua_error(L);
  }
  finish(w);
}

static void set_aos(es_Write *w) {
  if (w->given < w->op->top)
    es_error(w->op->L, "set", "bad argument #%d (the trait has no fields)",
             w->given - 1);
  es_store_check(w->op, w->store, 0, w->given);
  if (w->store->key)
    es_add_check_key(w->op, w->store, es_entity_slot(w->entity), w->given);
  push_old(w);
  es_store_put_all(w->op, w->store, w->key, w->given);
  finish(w);
}

/* Raises: the entity lacks what argument 'idx' names. */
static int no_value(const es_Op *op, const es_Named *named, int idx) {
  lua_State *L = op->L;
  if (named->pair) lua_getiuservalue(L, idx, 1);
  else lua_pushvalue(L, idx);
  es_trait_describe(L, lua_gettop(L));
  return es_error(L, op->fn, "bad argument #%d (the entity does not have %s; "
                  "add it first)", idx - 1, lua_tostring(L, -1));
}

int es_method_set(lua_State *L) {
  es_Op op;
  es_Named named;
  es_Write w;
  int first;
  uint32_t slot;
  es_op_change(L, &op, "set");
  memset(&w, 0, sizeof w);
  w.op = &op;
  slot = es_method_subject(&op, &first);
  w.entity = es_entity_handle(&op.w->entities, slot);
  named = read_named(&op, first, first - 1);
  check_single_target(&op, &named, first - 1);
  if (named.trait->kind == ES_TAG)
    return es_error(L, "set", "bad argument #%d (a %s has no value)",
                    first - 1, named.pair ? "relation without store" : "tag");
  w.store = named.store;
  w.key = value_key(op.w, &named, slot);
  w.target = named.target;
  w.given = first + 1;
  if (w.key == ES_NO_SLOT)
    return no_value(&op, &named, first);
  if (w.given > op.top)
    return es_op_bad(&op, w.given - 1, "value", w.given);
  if (named.trait->kind == ES_AOS) set_aos(&w);
  else if (lua_type(L, w.given) == LUA_TSTRING) set_field(&w, w.given);
  else set_table(&w);
  return 0;
}

/* column(T, field), column(T) of an AoS trait */
int es_method_column(lua_State *L) {
  es_Op op;
  const es_Trait *t;
  es_Store *s;
  uint32_t field = 0;
  es_op_begin(L, &op, "column");
  t = es_trait_test(L, op.w->state, 2);
  if (t == NULL || t->relation || t->kind == ES_TAG ||
      (const void *)t == op.w->state->shared[ES_SHARED_KEY])
    return es_op_bad(&op, 1, "SoA or AoS trait", 2);
  if (t->kind == ES_SOA) field = read_field(&op, t, 3, 2);
  else if (!lua_isnil(L, 3))
    return es_error(L, "column", "bad argument #2 (the trait has no fields)");
  s = es_store_get(&op, 2);
  s->shown = 1;
  es_store_push_column(&op, s, field);
  return 1;
}

static es_Store *read_relation(const es_Op *op, int idx, int n) {
  const es_Trait *t = es_trait_test(op->L, op->w->state, idx);
  if (t == NULL || !t->relation)
    es_op_bad(op, n, "relation", idx);
  return es_store_find(op->w, t);
}

static void append(const es_Op *op, lua_Integer i, uint32_t slot) {
  es_world_push(op->L, es_entity_handle(&op->w->entities, slot));
  lua_rawseti(op->L, -2, i);
}

int es_method_targets(lua_State *L) {
  es_Op op;
  uint32_t slot, row;
  lua_Integer n = 0;
  const es_Store *s;
  es_op_begin(L, &op, "targets");
  slot = es_world_slot(&op, 2, 1);
  s = read_relation(&op, 3, 2);
  lua_createtable(L, s ? (int)es_pairs_target_count(&s->pairs, slot) : 0, 0);
  if (s == NULL) return 1;
  for (row = es_pairs_first(&s->pairs, slot); row != 0;
       row = es_pairs_next(&s->pairs, row))
    append(&op, ++n, s->pairs.rows[row].target);
  return 1;
}

int es_method_sources(lua_State *L) {
  es_Op op;
  uint32_t slot, row;
  lua_Integer n = 0;
  es_Store *s;
  es_op_begin(L, &op, "sources");
  slot = es_world_slot(&op, 2, 1);
  s = read_relation(&op, 3, 2);
  lua_createtable(L, s ? (int)es_pairs_source_count(&s->pairs, slot) : 0, 0);
  if (s == NULL) return 1;
  es_pairs_sort_sources(&s->pairs, slot);
  for (row = es_pairs_first_source(&s->pairs, slot); row != 0;
       row = es_pairs_next_source(&s->pairs, row))
    append(&op, ++n, s->pairs.rows[row].source);
  return 1;
}
