/* query_track.c - queries that have observers; see query.h */
#include <string.h>

#include "observer.h"
#include "query.h"

#define CLEAN UINT32_MAX   /* not in the chain */
#define LAST (UINT32_MAX - 1)

/* How many slots there may be, also while a load keeps two contents. */
static uint32_t capacity(const es_World *w) {
  return w->entities.cap > w->least ? w->entities.cap : w->least;
}

/* Room for the dirty chain. */
static es_Status reserve_dirty(es_World *w, uint32_t cap) {
  uint32_t *dirty;
  if (w->dirtycap >= cap) return ES_OK;
  dirty = es_alloc_array(&w->alloc, w->dirty, w->dirtycap, cap,
                         sizeof *dirty);
  if (dirty == NULL) return ES_NOMEM;
  memset(dirty + w->dirtycap, 0xff, (cap - w->dirtycap) * sizeof *dirty);
  w->dirty = dirty;
  w->dirtycap = cap;
  return ES_OK;
}

es_Status es_query_reserve_slots(es_World *w, uint32_t cap) {
  uint32_t i;
  es_Status status = ES_OK;
  if (w->ntracked > 0) status = reserve_dirty(w, cap);
  for (i = 0; i < w->ntracked && status == ES_OK; i++)
    status = es_bitset_reserve(&w->tracked[i].members, &w->alloc, cap);
  return status;
}

es_Status es_query_reserve(es_World *w) {
  return es_query_reserve_slots(w, capacity(w));
}

/* Says anew who matches. */
static void recount(const es_World *w, es_Tracked *t) {
  uint32_t slot;
  es_bitset_clear_all(&t->members);
  for (slot = 1; slot < w->entities.known; slot++)
    if (es_query_matches(w, t->query, slot)) es_bitset_set(&t->members, slot);
}

void es_query_recount(es_World *w) {
  uint32_t i;
  for (i = 0; i < w->ntracked; i++) recount(w, &w->tracked[i]);
}

/* A place behind the others, whose members have room already. */
static es_Status reserve_tracked(es_World *w) {
  size_t cap = es_alloc_grow(w->trackedcap, (size_t)w->ntracked + 1);
  es_Tracked *block;
  if (reserve_dirty(w, capacity(w)) != ES_OK) return ES_NOMEM;
  if (w->ntracked == w->trackedcap) {
    block = es_alloc_array(&w->alloc, w->tracked, w->trackedcap, cap,
                           sizeof *block);
    if (block == NULL) return ES_NOMEM;
    memset(block + w->trackedcap, 0, (cap - w->trackedcap) * sizeof *block);
    w->tracked = block;
    w->trackedcap = (uint32_t)cap;
  }
  return es_bitset_reserve(&w->tracked[w->ntracked].members, &w->alloc,
                           capacity(w));
}

void es_query_track(const es_Op *op, es_Query *q) {
  es_World *w = op->w;
  if (q->anchor != 0) return;
  es_try(op->L, reserve_tracked(w));
  lua_pushvalue(op->L, -1);
  lua_rawseti(op->L, op->anchors, w->anchors + 1);
  q->anchor = es_world_anchor(w);
  w->tracked[w->ntracked].query = q;
  recount(w, &w->tracked[w->ntracked++]);
}

static void untrack(const es_Op *op, es_Tracked *t) {
  es_Query *q = t->query;
  const int anchors[3] = {q->anchor, q->observers[0], q->observers[1]};
  int i;
  es_bitset_free(&t->members, &op->w->alloc);
  q->observers[0] = q->observers[1] = q->anchor = 0;
  for (i = 0; i < 3; i++) {
    if (anchors[i] == 0) continue;
    lua_pushnil(op->L);
    lua_rawseti(op->L, op->anchors, anchors[i]);
  }
}

/* Not inside a callback: a flush may be walking along the queries. */
void es_query_prune(const es_Op *op) {
  es_World *w = op->w;
  uint32_t i, n = 0;
  if (w->busy > 0) return;
  for (i = 0; i < w->ntracked; i++) {
    es_Tracked *t = &w->tracked[i];
    if (es_observer_none(op, t->query->observers[0]) &&
        es_observer_none(op, t->query->observers[1]))
      untrack(op, t);
    else
      w->tracked[n++] = *t;
  }
  for (i = n; i < w->ntracked; i++)
    memset(&w->tracked[i], 0, sizeof w->tracked[i]);
  w->ntracked = n;
}

void es_query_touch(es_World *w, uint32_t slot) {
  if (slot == 0 || w->ntracked == 0 || w->dirty[slot] != CLEAN) return;
  w->dirty[slot] = LAST;
  if (w->dirty_first == LAST) w->dirty_first = slot;
  else w->dirty[w->dirty_last] = slot;
  w->dirty_last = slot;
}

/* Takes the first dirty slot out of the chain. */
static uint32_t take(es_World *w) {
  uint32_t slot = w->dirty_first;
  w->dirty_first = w->dirty[slot];
  w->dirty[slot] = CLEAN;
  return slot;
}

/* One query, one slot: tells the observers if it came or went. */
static int tell(const es_Op *op, es_Tracked *t, uint32_t slot, int errors) {
  const es_Query *q = t->query;
  int was = es_bitset_test(&t->members, slot);
  int is = es_query_matches(op->w, q, slot);
  es_Occasion what = {0, 0, NULL};
  if (was == is) return LUA_OK;
  if (is) es_bitset_set(&t->members, slot);
  else es_bitset_clear(&t->members, slot);
  what.entity = es_entity_handle(&op->w->entities, slot);
  return es_observer_call(op, q->observers[is ? 0 : 1], &what, errors);
}

int es_query_flush(const es_Op *op, int errors) {
  es_World *w = op->w;
  int status = LUA_OK;
  uint32_t i;
  while (w->ntracked > 0 && w->dirty_first != LAST) {
    uint32_t slot = take(w);
    for (i = 0; i < w->ntracked; i++) {
      status = tell(op, &w->tracked[i], slot, errors);
      if (status != LUA_OK) {
        es_query_touch(w, slot);   /* the undo looks at it again */
        return status;
      }
    }
  }
  return LUA_OK;
}

void es_query_close(es_World *w) {
  uint32_t i;
  for (i = 0; i < w->trackedcap; i++)
    es_bitset_free(&w->tracked[i].members, &w->alloc);
  es_alloc_free(&w->alloc, w->tracked, w->trackedcap, sizeof *w->tracked);
  es_alloc_free(&w->alloc, w->dirty, w->dirtycap, sizeof *w->dirty);
  w->tracked = NULL;
  w->dirty = NULL;
  w->ntracked = w->trackedcap = w->dirtycap = 0;
}
