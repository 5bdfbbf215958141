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

/* Keeps the block of before. Each is twice as large as the last one. */
static void outgrow(es_Registry *r) {
  if (r->cap == 0) return;
  r->outgrown[r->noutgrown].entries = r->entries;
  r->outgrown[r->noutgrown++].cap = r->cap;
}

es_Status es_registry_reserve(es_World *w, uint32_t m) {
  es_Registry *r = &w->registry;
  size_t cap = es_alloc_grow(r->cap, (size_t)r->n + m);
  es_Entry *block;
  uint32_t *sorted;
  if (r->n + m <= r->cap) return ES_OK;
  sorted = es_alloc_array(&w->alloc, NULL, 0, cap, sizeof *sorted);
  if (sorted == NULL) return ES_NOMEM;
  block = es_alloc_array(&w->alloc, NULL, 0, cap, sizeof *block);
  if (block == NULL) {
    es_alloc_free(&w->alloc, sorted, cap, sizeof *sorted);
    return ES_NOMEM;
  }
  if (r->n > 0) {
    memcpy(sorted, r->sorted, r->n * sizeof *sorted);
    memcpy(block, r->entries, r->n * sizeof *block);
  }
  es_alloc_free(&w->alloc, r->sorted, r->cap, sizeof *r->sorted);
  outgrow(r);
  r->sorted = sorted;
  r->entries = block;
  r->cap = (uint32_t)cap;
  return ES_OK;
}

void es_registry_drop_last(es_World *w) {
  es_Registry *r = &w->registry;
  es_Entry *e = &r->entries[r->n + --r->pending];
  es_alloc_free(&w->alloc, e->refs, e->nrefs, 1);
  if (w->anchors == e->anchor + ES_ENTRY_ANCHORS - 1)
    w->anchors = e->anchor - 1;
}

void es_registry_free(es_World *w) {
  es_Registry *r = &w->registry;
  uint32_t i;
  r->pending += r->n;   /* all entries are freed alike */
  r->n = 0;
  while (r->pending > 0) es_registry_drop_last(w);
  es_alloc_free(&w->alloc, r->entries, r->cap, sizeof *r->entries);
  es_alloc_free(&w->alloc, r->sorted, r->cap, sizeof *r->sorted);
  for (i = 0; i < r->noutgrown; i++)
    es_alloc_free(&w->alloc, r->outgrown[i].entries, r->outgrown[i].cap,
                  sizeof *r->entries);
  memset(r, 0, sizeof *r);
}
