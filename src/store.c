/* store.c - see store.h */
#include "store.h"

#include <string.h>

#include <lauxlib.h>

#include "call.h"
#include "error.h"
#include "names.h"
#include "world.h"

es_Store *es_store_find(const es_World *w, const es_Trait *t) {
  return t->id < w->idcap ? w->by_id[t->id] : NULL;
}

es_Store *es_store_after(const es_World *w, uint32_t id) {
  uint32_t low = 0, high = w->nstores;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (w->stores[mid]->trait->id <= id) low = mid + 1;
    else high = mid;
  }
  return low < w->nstores ? w->stores[low] : NULL;
}

/* Room for the id, and for one more store. */
static es_Status reserve_store(es_World *w, uint32_t id) {
  size_t cap = es_alloc_grow(w->idcap, (size_t)id + 1);
  es_Store **block;
  if (w->spare == NULL)
    w->spare = es_alloc_array(&w->alloc, NULL, 0, 1, sizeof *w->spare);
  if (w->spare == NULL) return ES_NOMEM;
  if (id >= w->idcap) {
    block = es_alloc_array(&w->alloc, w->by_id, w->idcap, cap, sizeof *block);
    if (block == NULL) return ES_NOMEM;
    memset(block + w->idcap, 0, (cap - w->idcap) * sizeof *block);
    w->by_id = block;
    w->idcap = (uint32_t)cap;
  }
  if (w->nstores < w->storecap) return ES_OK;
  cap = es_alloc_grow(w->storecap, (size_t)w->nstores + 1);
  block = es_alloc_array(&w->alloc, w->stores, w->storecap, cap,
                         sizeof *block);
  if (block == NULL) return ES_NOMEM;
  w->stores = block;
  w->storecap = (uint32_t)cap;
  return ES_OK;
}

/*
** Makes the store known to the world; its columns come later. Room must be
** reserved, and the trait anchored: the store points at it.
*/
static void link_store(es_World *w, const es_Trait *t) {
  es_Store *s = w->spare;
  uint32_t i;
  w->spare = NULL;
  memset(s, 0, sizeof *s);
  s->trait = t;
  s->entry = -1;
  s->key = (const void *)t == w->state->shared[ES_SHARED_KEY];
  es_pairs_init(&s->pairs, w->alloc);
  s->anchor = w->anchors + 1;
  w->anchors += (int)t->nfields + 2;
  for (i = w->nstores++; i > 0 && w->stores[i - 1]->trait->id > t->id; i--)
    w->stores[i] = w->stores[i - 1];
  w->stores[i] = s;
  w->by_id[t->id] = s;
  if (s->key) w->key = s;
}

/*
** Anchors the columns. A failure leaves the store to be set up later; a
** finalizer that runs meanwhile may do it, and put values there.
*/
static void set_up(const es_Op *op, es_Store *s) {
  lua_State *L = op->L;
  int i, n = (int)s->trait->nfields, columns = s->key ? 3 : n;
  for (i = 0; i < columns && !s->ready; i++) {
    if (i == n) continue;   /* the trait */
    lua_newtable(L);
    if (s->ready) lua_pop(L, 1);
    else lua_rawseti(L, op->anchors, s->anchor + i);
  }
  s->ready = 1;
}

es_Store *es_store_get(const es_Op *op, int idx) {
  const es_Trait *t = lua_touserdata(op->L, idx);
  es_Store *s = es_store_find(op->w, t);
  if (s != NULL && s->ready) return s;
  if (s == NULL) {
    es_try(op->L, reserve_store(op->w, t->id));
    s = es_store_find(op->w, t);   /* a finalizer may have made it */
  }
  if (s == NULL) {
    lua_pushvalue(op->L, idx);
    lua_rawseti(op->L, op->anchors, op->w->anchors + 1 + (int)t->nfields);
    link_store(op->w, t);
    s = es_store_find(op->w, t);
  }
  set_up(op, s);
  return s;
}

es_Status es_store_reserve(es_Store *s, const es_Alloc *a, uint32_t slots,
                           uint32_t pairs) {
  if (s->trait->relation && pairs > 0) {
    es_Status status = es_pairs_reserve(&s->pairs, slots, pairs);
    if (status != ES_OK) return status;
  }
  return es_bitset_reserve(&s->has, a, slots);
}

void es_store_push_trait(const es_Op *op, const es_Store *s) {
  lua_rawgeti(op->L, op->anchors, s->anchor + (int)s->trait->nfields);
}

const char *es_store_describe(const es_Op *op, const es_Store *s) {
  es_store_push_trait(op, s);
  es_trait_describe(op->L, lua_gettop(op->L));
  lua_remove(op->L, -2);
  return lua_tostring(op->L, -1);
}

void es_store_push_unregistered(const es_Op *op, const es_Store *s) {
  lua_State *L = op->L;
  es_store_push_trait(op, s);
  lua_getiuservalue(L, -1, ES_TRAIT_WHERE);
  lua_pushfstring(L, "has trait #%d (%s%s), which is neither registered nor "
                     "ignored", (int)s->trait->id,
                  s->trait->relation ? "a relation, " : "",
                  lua_tostring(L, -1));
  lua_replace(L, -3);
  lua_pop(L, 1);
}

void es_store_push_column(const es_Op *op, const es_Store *s,
                          uint32_t field) {
  lua_rawgeti(op->L, op->anchors, s->anchor + (int)field);
}

void es_store_push(const es_Op *op, const es_Store *s, uint32_t field,
                   uint32_t key) {
  es_store_push_column(op, s, field);
  lua_rawgeti(op->L, -1, key);
  lua_replace(op->L, -2);
  if (s->trait->fields[field].type == ES_FIELD_NULLABLE &&
      es_is_null(op->L, -1)) {
    lua_pushnil(op->L);   /* a script, or set(), wrote it into the column */
    lua_replace(op->L, -2);
  }
}

void es_store_push_value(const es_Op *op, const es_Store *s, uint32_t key) {
  lua_State *L = op->L;
  uint32_t i;
  if (s->trait->kind == ES_TAG) {
    lua_pushnil(L);
    return;
  }
  if (s->trait->kind == ES_AOS) {
    es_store_push(op, s, 0, key);
    return;
  }
  lua_createtable(L, 0, (int)s->trait->nfields);
  for (i = 0; i < s->trait->nfields; i++) {
    const es_Field *f = &s->trait->fields[i];
    lua_pushlstring(L, f->name, f->len);
    es_store_push(op, s, i, key);
    lua_rawset(L, -3);
  }
}

void es_store_put(const es_Op *op, const es_Store *s, uint32_t field,
                  uint32_t key, int idx) {
  es_store_push_column(op, s, field);
  lua_pushvalue(op->L, idx);
  es_store_put_top(op->L, -2, key);
  lua_pop(op->L, 1);
}

/* A nil is written over a value only: elsewhere it could need memory. */
void es_store_put_top(lua_State *L, int column, uint32_t key) {
  column = lua_absindex(L, column);
  if (lua_isnil(L, -1)) {
    if (lua_rawgeti(L, column, key) == LUA_TNIL) {
      lua_pop(L, 2);
      return;
    }
    lua_pop(L, 1);
  }
  lua_rawseti(L, column, key);
}

/* ecs.Key's index: string -> slot. [-0, +0] */
static void index_key(const es_Op *op, const es_Store *s, uint32_t slot,
                      int idx) {
  lua_rawgeti(op->L, op->anchors, s->anchor + 2);
  lua_pushvalue(op->L, idx);
  lua_pushinteger(op->L, slot);
  lua_rawset(op->L, -3);
  lua_pop(op->L, 1);
}

/* Forgets the string on top if it stands for the slot. [-1, +0] */
static void unindex_key(const es_Op *op, const es_Store *s, uint32_t slot) {
  lua_State *L = op->L;
  if (lua_type(L, -1) == LUA_TSTRING) {
    lua_rawgeti(L, op->anchors, s->anchor + 2);
    lua_pushvalue(L, -2);
    if (lua_rawget(L, -2) == LUA_TNUMBER && lua_tointeger(L, -1) == slot) {
      lua_pushvalue(L, -3);
      lua_pushnil(L);
      lua_rawset(L, -4);   /* the key exists: no allocation */
    }
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

/*
** The new string is indexed before the old one is forgotten: a full memory
** leaves at most an entry that es_add_find_key sees through.
*/
static void put_key(const es_Op *op, const es_Store *s, uint32_t slot,
                    int idx) {
  es_store_push(op, s, 0, slot);
  index_key(op, s, slot, idx);
  es_store_put(op, s, 0, slot, idx);
  if (lua_rawequal(op->L, -1, idx)) lua_pop(op->L, 1);
  else unindex_key(op, s, slot);
}

void es_store_put_all(const es_Op *op, const es_Store *s, uint32_t key,
                      int first) {
  uint32_t i;
  if (s->key) {
    put_key(op, s, key, first);
    return;
  }
  for (i = 0; i < s->trait->nfields; i++)
    es_store_put(op, s, i, key, first + (int)i);
}

void es_store_erase(const es_Op *op, const es_Store *s, uint32_t key) {
  uint32_t i;
  if (s->key) {
    es_store_push(op, s, 0, key);
    unindex_key(op, s, key);
  }
  for (i = 0; i < s->trait->nfields; i++) {
    es_store_push_column(op, s, i);
    lua_pushnil(op->L);
    es_store_put_top(op->L, -2, key);
    lua_pop(op->L, 1);
  }
}

void es_store_set(es_Store *s, uint32_t slot) {
  if (es_bitset_test(&s->has, slot)) return;
  es_bitset_set(&s->has, slot);
  s->count++;
  s->version++;
}

void es_store_clear(es_Store *s, uint32_t slot) {
  if (!es_bitset_test(&s->has, slot)) return;
  es_bitset_clear(&s->has, slot);
  s->count--;
  s->version++;
}

void es_store_check(const es_Op *op, const es_Store *s, uint32_t field,
                    int idx) {
  const es_Field *f = &s->trait->fields[field];
  if (s->key) {
    if (lua_type(op->L, idx) == LUA_TSTRING) return;
    es_error(op->L, op->fn, "ecs.Key: string expected, got %s",
             es_error_typename(op->L, idx));
  }
  if (es_trait_accepts(op->L, f->type, idx)) return;
  if (s->trait->kind == ES_AOS)
    es_error(op->L, op->fn, "%s: value expected, got nil",
             es_store_describe(op, s));
  es_error(op->L, op->fn, "%s: field %s: %s expected, got %s",
           es_store_describe(op, s), es_names_quote(op->L, f->name, f->len),
           es_trait_expects(f->type), es_error_typename(op->L, idx));
}

void es_store_push_default(const es_Op *op, const es_Store *s,
                           uint32_t field) {
  lua_State *L = op->L;
  es_FieldType type = s->trait->fields[field].type;
  if (type == ES_FIELD_NULLABLE) {
    lua_pushnil(L);
    return;
  }
  es_store_push_trait(op, s);
  lua_getiuservalue(L, -1, ES_TRAIT_DEFAULTS);
  lua_rawgeti(L, -1, (int)field + 1);
  lua_copy(L, -1, -3);
  lua_pop(L, 2);
  if (type != ES_FIELD_ANY) return;
  op->w->busy++;
  if (es_call(L, 0, 1, "a factory") != LUA_OK) {
    op->w->busy--;
    lua_error(L);
  }
  op->w->busy--;
}

void es_store_no_field(const es_Op *op, const es_Store *s, int idx) {
  size_t len;
  const char *name = luaL_tolstring(op->L, idx, &len);
  name = es_names_quote(op->L, name, len);
  es_error(op->L, op->fn, "%s has no field %s", es_store_describe(op, s),
           name);
}

/* A table of fields at 'idx' into the slots from 'first' on. [-0, +0] */
static void spread(const es_Op *op, const es_Store *s, int idx, int first) {
  lua_State *L = op->L;
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    size_t len = 0;
    const char *name = NULL;
    int field;
    if (lua_type(L, -2) == LUA_TSTRING) name = lua_tolstring(L, -2, &len);
    field = name != NULL ? es_trait_field(s->trait, name, len) : -1;
    if (field < 0) es_store_no_field(op, s, lua_absindex(L, -2));
    if (es_is_null(L, -1) &&
        s->trait->fields[field].type == ES_FIELD_NULLABLE) {
      lua_pop(L, 1);
      continue;
    }
    es_store_check(op, s, (uint32_t)field, lua_gettop(L));
    lua_replace(L, first + field);
  }
}

static void evaluate_soa(const es_Op *op, const es_Store *s, int idx,
                         int first) {
  uint32_t i;
  if (idx != 0 && lua_istable(op->L, idx)) spread(op, s, idx, first);
  for (i = 0; i < s->trait->nfields; i++) {
    if (!lua_isnil(op->L, first + (int)i)) continue;
    es_store_push_default(op, s, i);
    lua_replace(op->L, first + (int)i);
    es_store_check(op, s, i, first + (int)i);
  }
}

void es_store_evaluate(const es_Op *op, const es_Store *s, int idx) {
  lua_State *L = op->L;
  int first = lua_gettop(L) + 1;
  uint32_t n = s->trait->nfields;
  if (n > 1000000) es_error(L, op->fn, "too many fields");
  es_need_stack(L, (int)n + LUA_MINSTACK);
  if (s->trait->kind == ES_AOS) {
    if (idx != 0 && !lua_isnil(L, idx)) lua_pushvalue(L, idx);
    else if (s->key) lua_pushnil(L);
    else es_store_push_default(op, s, 0);
    es_store_check(op, s, 0, first);
    return;
  }
  lua_settop(L, first + (int)n - 1);
  if (n > 0) evaluate_soa(op, s, idx, first);
}

/* Empties the column on top and makes every use of it an error. [-1, +0] */
static void bury_column(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, -2)) {   /* column key value */
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, -4);        /* clearing a field during a walk is allowed */
  }
  es_state_push(L, ES_SHARED_DEAD);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Lua keeps a table as an array where more than half of it is used. */
/*
** Lua's hashes have a power of two of nodes, of 24 bytes each, its arrays 16
** bytes for each key. An array is faster to fill: it may be half as large
** again. When a key behind it finds no room Lua chooses anew, and moves all
** keys if less than half of the array is used: so there is some.
*/
static int is_dense(uint32_t count, uint32_t top) {
  uint64_t nodes = 1;
  while (nodes < count) nodes *= 2;
  return (uint64_t)top * 4 <= nodes * 9;
}

void es_store_new_column(lua_State *L, uint32_t count, uint32_t top) {
  int dense = is_dense(count, top);
  if (top > INT32_MAX / 2) top = INT32_MAX / 2;
  lua_createtable(L, dense ? (int)top : 0,
                  dense ? (int)(top / 32) + 1 : (int)count);
}

void es_store_fresh(const es_Op *op, const es_Store *s) {
  int at, end = s->anchor + (int)s->trait->nfields;
  for (at = s->anchor; at < end; at++) {
    lua_newtable(op->L);
    lua_rawseti(op->L, -2, at);
  }
}

void es_store_renew(const es_Op *op, es_Store *s) {
  lua_State *L = op->L;
  int at, end = s->anchor + (int)s->trait->nfields;
  for (at = s->anchor; at < end; at++) {
    lua_rawgeti(L, op->anchors, at);
    if (lua_rawgeti(L, -2, at) == LUA_TNIL) {   /* first shown meanwhile */
      lua_pop(L, 2);
      return;
    }
    lua_rawseti(L, op->anchors, at);
    bury_column(L);
  }
  s->shown = 0;
}

void es_store_bury(const es_Op *op, const es_Store *s) {
  uint32_t i;
  for (i = 0; i < s->trait->nfields; i++) {
    es_store_push_column(op, s, i);
    bury_column(op->L);
  }
}

void es_store_free(es_Store *s, const es_Alloc *a) {
  es_bitset_free(&s->has, a);
  es_pairs_free(&s->pairs);
  es_alloc_free(a, s, 1, sizeof *s);
}
