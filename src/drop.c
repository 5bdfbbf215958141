/* drop.c - see drop.h */
#include "drop.h"

#include "query.h"

int es_tell(const es_Op *op, const es_Store *s, es_Event event,
            es_Entity entity, es_Entity target, int errors) {
  es_Occasion what;
  if (s->observers[event] == 0) return LUA_OK;
  what.entity = entity;
  what.target = target;
  what.store = s;
  return es_observer_call(op, s->observers[event], &what, errors);
}

int es_has(const es_Store *s, uint32_t slot, uint32_t target) {
  if (target != 0) return es_pairs_find(&s->pairs, slot, target) != 0;
  return es_bitset_test(&s->has, slot);
}

static es_Entity handle(const es_Op *op, uint32_t slot) {
  return es_entity_handle(&op->w->entities, slot);
}

static void drop_pair(const es_Op *op, es_Store *s, uint32_t row) {
  uint32_t source = s->pairs.rows[row].source;
  es_store_erase(op, s, row);
  es_pairs_remove(&s->pairs, row);
  s->version++;
  op->w->changes++;
  if (es_pairs_first(&s->pairs, source) == 0) es_store_clear(s, source);
  es_query_touch(op->w, source);
}

void es_drop(const es_Op *op, es_Store *s, uint32_t slot, uint32_t target) {
  if (target != 0) {
    uint32_t row = es_pairs_find(&s->pairs, slot, target);
    if (row != 0) drop_pair(op, s, row);
    return;
  }
  if (!es_bitset_test(&s->has, slot)) return;
  op->w->changes++;
  es_store_erase(op, s, slot);
  es_store_clear(s, slot);
  es_query_touch(op->w, slot);
}

/* Observers may remove pairs; 'told' keeps every pair to one telling. */
static int tell_own_pairs(const es_Op *op, const es_Store *s, uint32_t slot,
                          int errors) {
  const es_Pairs *p = &s->pairs;
  uint32_t row;
  int status;
  for (row = es_pairs_first(p, slot); row != 0; row = p->rows[row].next)
    p->rows[row].told = 0;
  row = es_pairs_first(p, slot);
  while (row != 0) {
    uint32_t target = p->rows[row].target;
    if (p->rows[row].told) {
      row = p->rows[row].next;
      continue;
    }
    p->rows[row].told = 1;
    status = es_tell(op, s, ES_ON_REMOVE, handle(op, slot), handle(op, target),
                     errors);
    if (status != LUA_OK) return status;
    row = es_pairs_find(p, slot, target) == row ? p->rows[row].next
                                                : es_pairs_first(p, slot);
  }
  return LUA_OK;
}

static int tell_incoming(const es_Op *op, es_Store *s, uint32_t slot,
                         int errors) {
  es_Pairs *p = &s->pairs;
  const es_Bitset *dying = &op->w->dying;
  uint32_t row;
  int status;
  es_pairs_sort_sources(p, slot);
  for (row = es_pairs_first_source(p, slot); row != 0;
       row = p->rows[row].tnext)
    if (!es_bitset_test(dying, p->rows[row].source)) p->rows[row].told = 0;
  row = es_pairs_first_source(p, slot);
  while (row != 0) {
    uint32_t source = p->rows[row].source;
    if (p->rows[row].told || es_bitset_test(dying, source)) {
      row = p->rows[row].tnext;
      continue;
    }
    p->rows[row].told = 1;
    status = es_tell(op, s, ES_ON_REMOVE, handle(op, source), handle(op, slot),
                     errors);
    if (status != LUA_OK) return status;
    row = es_pairs_find(p, source, slot) == row
              ? p->rows[row].tnext : es_pairs_first_source(p, slot);
  }
  return LUA_OK;
}

/* Observers may make new stores, so that the walk goes by trait id. */
int es_tell_entity(const es_Op *op, uint32_t slot, int errors) {
  es_Store *s;
  int status = LUA_OK;
  for (s = es_store_after(op->w, 0); s != NULL && status == LUA_OK;
       s = es_store_after(op->w, s->trait->id)) {
    if (s->observers[ES_ON_REMOVE] == 0) continue;
    if (s->trait->relation)
      status = tell_own_pairs(op, s, slot, errors);
    else if (es_bitset_test(&s->has, slot))
      status = es_tell(op, s, ES_ON_REMOVE, handle(op, slot), 0, errors);
  }
  for (s = es_store_after(op->w, 0); s != NULL && status == LUA_OK;
       s = es_store_after(op->w, s->trait->id))
    if (s->trait->relation && s->observers[ES_ON_REMOVE] != 0)
      status = tell_incoming(op, s, slot, errors);
  return status;
}

/* Drops all that the slot is part of. */
static void drop_slot(const es_Op *op, uint32_t slot) {
  es_World *w = op->w;
  uint32_t i, row;
  for (i = 0; i < w->nstores; i++) {
    es_Store *s = w->stores[i];
    if (!s->trait->relation) {
      es_drop(op, s, slot, 0);
      continue;
    }
    while ((row = es_pairs_first(&s->pairs, slot)) != 0)
      drop_pair(op, s, row);
    while ((row = es_pairs_first_source(&s->pairs, slot)) != 0)
      drop_pair(op, s, row);
  }
}

/* Those that were dead before have no mark. */
static void release(es_World *w, es_Entity e) {
  uint32_t slot = es_entity_slot(e);
  if (!es_bitset_test(&w->dying, slot) ||
      es_entity_handle(&w->entities, slot) != e)
    return;
  es_bitset_clear(&w->dying, slot);
  es_entity_release(&w->entities, slot);
}

/* Everything but giving the slots back. */
static void drop_all(const es_Op *op, const es_Entity *list, size_t n,
                     int errors) {
  es_World *w = op->w;
  size_t i;
  for (i = 0; i < n; i++) {
    uint32_t slot = es_entity_slot(list[i]);
    if (!es_entity_is_alive(&w->entities, list[i])) continue;
    drop_slot(op, slot);
    es_entity_kill(&w->entities, slot);
    es_query_touch(w, slot);
  }
  w->lives++;
  w->changes++;
  es_query_flush(op, errors);
}

void es_drop_entities(const es_Op *op, const es_Entity *list, size_t n,
                      int errors) {
  size_t i;
  drop_all(op, list, n, errors);
  for (i = 0; i < n; i++) release(op->w, list[i]);
}

void es_undo_entities(const es_Op *op, const es_Entity *list, size_t n,
                      int errors) {
  es_World *w = op->w;
  size_t i;
  for (i = 0; i < n; i++)
    if (es_entity_is_alive(&w->entities, list[i]))
      es_bitset_set(&w->dying, es_entity_slot(list[i]));
  for (i = 0; i < n; i++)
    if (es_entity_is_alive(&w->entities, list[i]))
      es_tell_entity(op, es_entity_slot(list[i]), errors);
  drop_all(op, list, n, errors);
  for (i = n; i-- > 0;) release(w, list[i]);
}
