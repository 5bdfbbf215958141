/* content.c - see content.h */
#include "content.h"

#include <string.h>

#include "guard.h"
#include "query.h"

static void free_content(void *payload) {
  es_Content *c = payload;
  uint32_t i;
  for (i = 0; i < c->n; i++) {
    es_bitset_free(&c->stores[i].has, &c->alloc);
    es_pairs_free(&c->stores[i].pairs);
  }
  es_alloc_free(&c->alloc, c->stores, c->n, sizeof *c->stores);
  if (c->entities.cap > 0) es_entity_free(&c->entities);
  c->stores = NULL;
  c->n = 0;
}

static es_Status make_stores(es_Content *c, const es_World *w) {
  uint32_t i;
  c->stores = es_alloc_array(&c->alloc, NULL, 0, w->nstores,
                             sizeof *c->stores);
  if (c->stores == NULL) return ES_NOMEM;
  memset(c->stores, 0, w->nstores * sizeof *c->stores);
  c->n = w->nstores;
  for (i = 0; i < c->n; i++) {
    c->stores[i].store = w->stores[i];
    es_pairs_init(&c->stores[i].pairs, c->alloc);
  }
  return ES_OK;
}

es_Content *es_content_new(const es_Op *op) {
  es_Content *c = es_guard_new(op->L, sizeof *c, free_content);
  c->alloc = op->w->alloc;
  lua_newtable(op->L);
  return c;
}

void es_content_begin(const es_Op *op, es_Content *c, int columns) {
  lua_State *L = op->L;
  es_World *w = op->w;
  uint32_t i;
  es_try(L, make_stores(c, w));
  es_try(L, es_entity_init(&c->entities, w->alloc, w->entities.world,
                           w->entities.base));
  lua_pushvalue(L, columns);
  for (i = 0; i < c->n; i++) {
    es_Store *s = c->stores[i].store;
    es_store_fresh(op, s);
    if (!s->key) continue;
    lua_newtable(L);
    lua_rawseti(L, -2, s->anchor + 2);
  }
  lua_pop(L, 1);
}

es_StoreContent *es_content_of(const es_Content *c, const es_Store *s) {
  uint32_t low = 0, high = c->n;
  while (high - low > 1) {
    uint32_t mid = low + (high - low) / 2;
    if (c->stores[mid].store->trait->id <= s->trait->id) low = mid;
    else high = mid;
  }
  return &c->stores[low];
}

es_Status es_content_reserve(es_World *w, const es_Content *c) {
  es_Status status =
      es_bitset_reserve(&w->dying, &w->alloc, c->entities.cap);
  if (status == ES_OK) status = es_query_reserve_slots(w, c->entities.cap);
  return status;
}

/* Exchanges the values under one anchor. */
static void swap_anchor(const es_Op *op, int columns, int at) {
  lua_rawgeti(op->L, columns, at);
  lua_rawgeti(op->L, op->anchors, at);
  lua_rawseti(op->L, columns, at);
  lua_rawseti(op->L, op->anchors, at);
}

static void swap_store(const es_Op *op, es_StoreContent *c, int columns) {
  es_Store *s = c->store;
  es_StoreContent old = *c;
  uint32_t i;
  c->has = s->has;
  c->count = s->count;
  c->pairs = s->pairs;
  c->shown = s->shown;
  s->has = old.has;
  s->count = old.count;
  s->pairs = old.pairs;
  s->shown = old.shown;
  s->version++;
  for (i = 0; i < s->trait->nfields; i++)
    swap_anchor(op, columns, s->anchor + (int)i);
  if (s->key) swap_anchor(op, columns, s->anchor + 2);
}

void es_content_swap(const es_Op *op, es_Content *c, int columns) {
  es_World *w = op->w;
  es_Entities entities = w->entities;
  uint32_t i;
  w->entities = c->entities;
  c->entities = entities;
  for (i = 0; i < c->n; i++) swap_store(op, &c->stores[i], columns);
  w->lives++;
  es_query_recount(w);
}

void es_content_empty_others(const es_Op *op, const es_Content *c) {
  es_World *w = op->w;
  uint32_t i;
  for (i = 0; i < w->nstores; i++) {
    es_Store *s = w->stores[i];
    if (c->n > 0 && es_content_of(c, s)->store == s) continue;
    es_bitset_clear_all(&s->has);
    es_pairs_free(&s->pairs);
    s->count = 0;
    s->version++;
    if (s->ready) es_store_bury(op, s);
    s->ready = 0;   /* it gets new columns when it is needed again */
  }
  es_query_recount(w);
}

void es_content_bury(const es_Op *op, const es_Content *c, int columns) {
  es_Op there = *op;
  uint32_t i;
  there.anchors = columns;
  for (i = 0; i < c->n; i++)
    if (c->stores[i].shown) es_store_bury(&there, c->stores[i].store);
}
