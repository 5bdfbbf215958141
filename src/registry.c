/* registry.c - finding entries; see registry.h */
#include "registry.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"
#include "world.h"

static const es_Entry *entry_at(const es_Op *op, uint32_t i, const char *name,
                                size_t len) {
  const es_Registry *r = &op->w->registry;
  const es_Entry *e = i >= 1 && i <= r->n ? &r->entries[i - 1] : NULL;
  if (e == NULL || e->len != len || memcmp(e->name, name, len) != 0)
    return NULL;
  return e;
}

const es_Entry *es_registry_find(const es_Op *op, const char *name,
                                 size_t len) {
  lua_State *L = op->L;
  uint32_t i = 0;
  if (op->w->registry.names == 0) return NULL;
  lua_rawgeti(L, op->anchors, op->w->registry.names);
  lua_pushlstring(L, name, len);
  if (lua_rawget(L, -2) == LUA_TNUMBER) i = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return entry_at(op, i, name, len);
}

const es_Entry *es_registry_of(const es_World *w, const es_Store *s) {
  return s->entry >= 0 ? &w->registry.entries[s->entry] : NULL;
}

lua_Integer es_entry_version(const es_Op *op, const es_Entry *e) {
  lua_State *L = op->L;
  lua_Integer version = 1;
  lua_rawgeti(L, op->anchors, e->anchor + ES_ENTRY_OPTIONS);
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "version");
    if (lua_rawget(L, -2) == LUA_TNUMBER)
      version = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return version;
}

int es_registry_lua_name(lua_State *L) {
  es_Op op;
  const es_Trait *t;
  const es_Store *s;
  const es_Entry *e = NULL;
  es_op_begin(L, &op, "getTraitName");
  t = es_trait_test(L, op.w->state, 2);
  if (t == NULL)
    return es_op_bad(&op, 1, "trait or relation", 2);
  s = es_store_find(op.w, t);
  if (s != NULL) e = es_registry_of(op.w, s);
  if (e == NULL) lua_pushnil(L);
  else lua_rawgeti(L, op.anchors, e->anchor + ES_ENTRY_NAME);
  return 1;
}
