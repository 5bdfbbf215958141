/* ask.c - query, each, slots, entities and other questions to a world */
#include <lauxlib.h>

#include "add.h"
#include "methods.h"
#include "query.h"

static uint32_t count_words(const uint64_t *words, uint32_t n) {
  uint32_t k, sum = 0;
  for (k = 0; k < n; k++) sum += es_bits_count(words[k]);
  return sum;
}

/* Pushes the list of the members, as slots or as handles. [-0, +1] */
static lua_Integer push_list(const es_Op *op, const uint64_t *words,
                             uint32_t n, int handles) {
  uint32_t k;
  lua_Integer i = 0;
  lua_createtable(op->L, (int)count_words(words, n), 0);
  for (k = 0; k < n; k++) {
    uint64_t word = words[k];
    for (; word != 0; word &= word - 1) {
      uint32_t slot = k * 64 + es_bits_lowest(word);
      if (handles)
        es_world_push(op->L, es_entity_handle(&op->w->entities, slot));
      else
        lua_pushinteger(op->L, slot);
      lua_rawseti(op->L, -2, ++i);
    }
  }
  return i;
}

int es_method_query(lua_State *L) {
  es_Op op;
  uint32_t n;
  const uint64_t *words;
  es_op_begin(L, &op, "query");
  words = es_query_words(&op, es_query_get(&op, 2, op.top), &n);
  push_list(&op, words, n, 1);
  return 1;
}

/* The list is kept in the query until something structural changes. */
int es_method_slots(lua_State *L) {
  es_Op op;
  es_Query *q;
  uint64_t version;
  const uint64_t *words;
  uint32_t n;
  es_op_begin(L, &op, "slots");
  q = es_query_get(&op, 2, op.top);
  version = es_query_version(op.w, q);
  lua_getiuservalue(L, -1, 1);
  if (q->listed < 0 || q->seen != version) {
    lua_pop(L, 1);
    words = es_query_words(&op, q, &n);
    lua_insert(L, -2);   /* words query */
    q->listed = push_list(&op, words, n, 0);
    q->seen = version;
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, -3, 1);
  }
  lua_pushinteger(L, q->listed);
  return 2;
}

/* Pushes what one term yields in each(). Returns how many values. */
static int push_term_value(const es_Op *op, const es_QueryTerm *t,
                           uint32_t slot) {
  uint32_t key = slot;
  if (t->match != ES_MATCH_WITH || t->store->trait->kind == ES_TAG) return 0;
  if (t->store->trait->relation) {
    if (t->target == 0) return 0;
    key = es_pairs_find(&t->store->pairs, slot, es_entity_slot(t->target));
  }
  es_store_push_value(op, t->store, key);
  return 1;
}

/* Upvalues: 1 state, 2 world, 3 query, 4 list, 5 position. */
static int each_next(lua_State *L) {
  es_Op op = {L, NULL, "each", 1, 2, 0};
  const es_Query *q = lua_touserdata(L, lua_upvalueindex(3));
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(5));
  uint32_t k;
  int values = 1;
  op.w = es_world_held(L, lua_upvalueindex(2));
  if (!op.w->open) return es_error(L, "each", "the world is closed");
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_getiuservalue(L, 1, 1);
  es_need_stack(L, (int)q->n + LUA_MINSTACK);
  while (lua_rawgeti(L, lua_upvalueindex(4), ++i) == LUA_TNUMBER) {
    es_Entity e = (es_Entity)lua_tointeger(L, -1);
    uint32_t slot = es_entity_slot(e);
    if (!es_entity_is_alive(&op.w->entities, e) ||
        !es_query_matches(op.w, q, slot)) {
      lua_pop(L, 1);
      continue;
    }
    for (k = 0; k < q->n; k++)
      values += push_term_value(&op, &q->terms[k], slot);
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(5));
    return values;
  }
  return 1;   /* the nil that ends the list */
}

int es_method_each(lua_State *L) {
  es_Op op;
  uint32_t n;
  const es_Query *q;
  const uint64_t *words;
  int query;
  es_op_begin(L, &op, "each");
  q = es_query_get(&op, 2, op.top);
  query = lua_gettop(L);
  words = es_query_words(&op, q, &n);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushvalue(L, query);
  push_list(&op, words, n, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, each_next, 5);
  return 1;
}

int es_method_entities(lua_State *L) {
  es_Op op;
  es_op_begin(L, &op, "entities");
  push_list(&op, op.w->entities.alive.words, op.w->entities.alive.n, 1);
  return 1;
}

int es_method_traits(lua_State *L) {
  es_Op op;
  uint32_t i;
  lua_Integer n = 0;
  es_op_begin(L, &op, "traits");
  lua_newtable(L);
  for (i = 0; i < op.w->nstores; i++) {
    if (op.w->stores[i]->count == 0) continue;
    es_store_push_trait(&op, op.w->stores[i]);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

int es_method_count(lua_State *L) {
  es_Op op;
  es_op_begin(L, &op, "count");
  lua_pushinteger(L, op.w->entities.count);
  return 1;
}

int es_method_is_alive(lua_State *L) {
  es_Op op;
  es_op_begin(L, &op, "isAlive");
  lua_pushboolean(L, es_world_slot_or_none(&op, 2, 1) != ES_NO_SLOT);
  return 1;
}

int es_method_find(lua_State *L) {
  es_Op op;
  uint32_t slot = ES_NO_SLOT;
  es_op_begin(L, &op, "find");
  if (lua_type(L, 2) != LUA_TSTRING)
    return es_op_bad(&op, 1, "string", 2);
  if (op.w->key != NULL && op.w->key->ready)
    slot = es_add_find_key(&op, op.w->key, 2);
  if (slot == ES_NO_SLOT) lua_pushnil(L);
  else es_world_push(L, es_entity_handle(&op.w->entities, slot));
  return 1;
}
