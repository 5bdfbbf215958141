/* stray.c - see stray.h */
#include "stray.h"

#include <lauxlib.h>

#include "document.h"
#include "guard.h"
#include "world.h"

typedef struct es_Search {
  const es_Op *op;
  es_Buffer *path;       /* the place within the trait */
  int found;             /* stack index of the list */
  int seen;              /* stack index of the set of tables looked at */
  lua_Integer n;
  const es_Entry *entry;
  uint32_t slot;
} es_Search;

static void set_integer(lua_State *L, const char *name, es_Entity e) {
  es_world_push(L, e);
  lua_setfield(L, -2, name);
}

static void report(es_Search *s, es_Entity value) {
  lua_State *L = s->op->L;
  lua_createtable(L, 0, 4);
  set_integer(L, "entity", es_entity_handle(&s->op->w->entities, s->slot));
  lua_pushlstring(L, s->entry->name, s->entry->len);
  lua_setfield(L, -2, "trait");
  lua_pushlstring(L, s->path->data, s->path->len);
  lua_setfield(L, -2, "path");
  set_integer(L, "value", value);
  lua_rawseti(L, s->found, ++s->n);
}

static void search(es_Search *s, int idx, uint32_t depth);

/* Appends the step of the key at 'idx' to the path. */
static void enter(es_Search *s, int idx) {
  lua_State *L = s->op->L;
  size_t len;
  const char *key;
  if (lua_isinteger(L, idx) && lua_tointeger(L, idx) > 0) {
    es_try(L, es_document_path_index(s->path,
                                     (uint64_t)lua_tointeger(L, idx) - 1));
    return;
  }
  lua_pushvalue(L, idx);   /* tolstring would change the key itself */
  key = luaL_tolstring(L, -1, &len);
  es_try_put(L, s->path, es_document_path_key(s->path, key, len));
  lua_pop(L, 2);
}

/* The order of what is found within one table is that of lua_next. */
static void search_table(es_Search *s, int idx, uint32_t depth) {
  lua_State *L = s->op->L;
  size_t len = s->path->len;
  lua_pushvalue(L, idx);
  if (lua_rawget(L, s->seen) != LUA_TNIL || depth == ES_DEPTH_MAX) {
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, idx);
  lua_pushboolean(L, 1);
  lua_rawset(L, s->seen);
  es_need_stack(L, LUA_MINSTACK);
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    enter(s, lua_gettop(L) - 1);
    search(s, lua_gettop(L) - 1, depth);   /* a key may be a handle, too */
    search(s, lua_gettop(L), depth + 1);
    s->path->len = len;
    lua_pop(L, 1);
  }
}

static void search(es_Search *s, int idx, uint32_t depth) {
  lua_State *L = s->op->L;
  es_Entity e;
  if (lua_istable(L, idx)) {
    search_table(s, idx, depth);
    return;
  }
  e = es_world_handle(L, idx);
  if (e != 0 && es_entity_is_alive(&s->op->w->entities, e)) report(s, e);
}

/* All fields of one value that a save would write as they are. */
static void search_value(es_Search *s, uint32_t key) {
  lua_State *L = s->op->L;
  const es_Trait *t = s->entry->store->trait;
  uint32_t i;
  for (i = 0; i < t->nfields; i++) {
    const es_Field *f = &t->fields[i];
    if (es_entry_is_ref(s->entry, i)) continue;
    s->path->len = 0;
    if (f->name != NULL)
      es_try_put(L, s->path, es_document_path_key(s->path, f->name, f->len));
    es_store_push(s->op, s->entry->store, i, key);
    search(s, lua_gettop(L), 0);
    lua_pop(L, 1);
  }
}

static void search_entry(es_Search *s) {
  const es_Store *store = s->entry->store;
  uint32_t slot, row;
  for (slot = es_bitset_next(&store->has, 0); slot != ES_NO_SLOT;
       slot = es_bitset_next(&store->has, slot + 1)) {
    s->slot = slot;
    if (!store->trait->relation) {
      search_value(s, slot);
      continue;
    }
    for (row = es_pairs_first(&store->pairs, slot); row != 0;
         row = es_pairs_next(&store->pairs, row))
      search_value(s, row);
  }
}

int es_stray_lua_find(lua_State *L) {
  es_Op op;
  es_Search s;
  uint32_t i;
  es_op_begin(L, &op, "findStrayHandles");
  s.op = &op;
  s.n = 0;
  s.path = es_guard_buffer(L);
  lua_newtable(L);
  s.found = lua_gettop(L);
  for (i = 0; i < op.w->registry.n; i++) {
    s.entry = &op.w->registry.entries[i];
    if (s.entry->codec || s.entry->transient) continue;
    lua_newtable(L);
    s.seen = lua_gettop(L);
    search_entry(&s);
    lua_pop(L, 1);
  }
  return 1;
}
