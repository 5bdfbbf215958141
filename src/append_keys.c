/* append_keys.c - ecs.Key in appended snapshots; see append_private.h */
#include "add.h"
#include "append_private.h"
#include "drop.h"
#include "query.h"
#include "table.h"

/* Notes the key on top and who loses it. [-0, +0] */
static void note_taken(const es_Append *a, uint32_t holder) {
  lua_State *L = a->op.L;
  lua_Integer n = (lua_Integer)lua_rawlen(L, ES_APPEND_TAKEN);
  lua_pushvalue(L, -1);
  lua_rawseti(L, ES_APPEND_TAKEN, n + 1);
  es_world_push(L, es_entity_handle(&a->op.w->entities, holder));
  lua_rawseti(L, ES_APPEND_TAKEN, n + 2);
}

/* Pushes the i-th key of the list and returns its holder. [-0, +1] */
static es_Entity push_taken(lua_State *L, int taken, lua_Integer i) {
  es_Entity holder;
  lua_rawgeti(L, taken, 2 * i);
  holder = (es_Entity)lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_rawgeti(L, taken, 2 * i - 1);
  return holder;
}

/* Decides about the key on top: it is free, taken over, or dropped. */
static int admit_key(es_Append *a, const es_Store *s) {
  lua_State *L = a->op.L;
  uint32_t holder = es_add_find_key(&a->op, s, lua_gettop(L));
  if (holder == ES_NO_SLOT) return 1;
  if (a->policy == KEYS_ERROR) es_table_fail_key(&a->op, lua_gettop(L));
  if (a->policy == KEYS_REPLACE) note_taken(a, holder);
  return a->policy == KEYS_REPLACE;
}

void es_append_tell_taken(const es_Append *a) {
  lua_State *L = a->op.L;
  const es_Store *s = a->op.w->key;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, ES_APPEND_TAKEN) / 2;
  for (i = 1; i <= n; i++) {
    es_Entity holder = push_taken(L, ES_APPEND_TAKEN, i);
    lua_pop(L, 1);
    es_append_check(a, es_tell(&a->op, s, ES_ON_REMOVE, holder, 0, ES_STOP));
  }
}

void es_append_give_back(const es_Op *op, int taken) {
  lua_State *L = op->L;
  es_Store *s = op->w->key;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, taken) / 2;
  for (i = 1; i <= n; i++) {
    es_Entity holder = push_taken(L, taken, i);
    uint32_t slot = es_entity_slot(holder);
    if (es_entity_is_alive(&op->w->entities, holder) && !es_has(s, slot, 0) &&
        es_add_find_key(op, s, lua_gettop(L)) == ES_NO_SLOT) {
      es_store_put_all(op, s, slot, lua_gettop(L));
      es_store_set(s, slot);
      es_query_touch(op->w, slot);
    }
    lua_pop(L, 1);
  }
}

/* Raises when the key on top is in the set at 'seen', else puts it there. */
static void check_once(const es_Append *a, int seen) {
  lua_State *L = a->op.L;
  lua_pushvalue(L, -1);
  if (lua_rawget(L, seen) != LUA_TNIL)
    es_table_fail_key(&a->op, lua_gettop(L) - 1);
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_pushboolean(L, 1);
  lua_rawset(L, seen);
}

void es_append_fill_keys(es_Append *a, uint32_t i, const es_Store *s) {
  lua_State *L = a->op.L;
  const es_ImageTrait *t = es_image_trait(a->image, i);
  const es_ImageColumn *c = es_image_column(a->image, t, 0);
  uint32_t k, node = c->node, *keys = es_append_keys_of(a, i);
  int seen;
  lua_newtable(L);
  seen = lua_gettop(L);
  for (k = 0; k < t->rows; k++) {
    if (c->form != ES_COLUMN_VALUES ||
        es_document_node(&a->image->values, node)->type != ES_NODE_STRING) {
      lua_pushliteral(L, "has a value that is no string");
      es_match_fail(&a->matches, t);
    }
    es_luadoc_push(L, &a->image->values, node, 0);
    node = es_document_next(&a->image->values, node);
    check_once(a, seen);
    if (keys[k] != ES_NO_SLOT && !admit_key(a, s)) keys[k] = ES_NO_SLOT;
    if (keys[k] != ES_NO_SLOT)
      es_store_put(&a->op, s, 0, keys[k], lua_gettop(L));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void es_append_link_keys(es_Append *a, es_Store *s, const uint32_t *keys,
                         uint32_t rows) {
  lua_State *L = a->op.L;
  uint32_t k, holder;
  for (k = 0; k < rows; k++) {
    if (keys[k] == ES_NO_SLOT) continue;
    es_store_push(&a->op, s, 0, keys[k]);
    holder = es_add_find_key(&a->op, s, lua_gettop(L));
    if (holder != ES_NO_SLOT) es_drop(&a->op, s, holder, 0);
    es_store_put_all(&a->op, s, keys[k], lua_gettop(L));
    lua_pop(L, 1);
    es_store_set(s, keys[k]);
  }
}

