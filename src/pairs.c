/* pairs.c - see pairs.h */
#include "pairs.h"

#include <string.h>

void es_pairs_init(es_Pairs *p, es_Alloc alloc) {
  memset(p, 0, sizeof *p);
  p->alloc = alloc;
  p->nrows = 1;
}

void es_pairs_free(es_Pairs *p) {
  es_alloc_free(&p->alloc, p->rows, p->rowcap, sizeof *p->rows);
  es_alloc_free(&p->alloc, p->sources, p->slotcap, sizeof *p->sources);
  es_alloc_free(&p->alloc, p->targets, p->slotcap, sizeof *p->targets);
  es_alloc_free(&p->alloc, p->hash, p->hashcap, sizeof *p->hash);
  es_pairs_init(p, p->alloc);
}

/* Where the search for a pair begins; the product mixes both slots. */
static uint32_t home(const es_Pairs *p, uint32_t source, uint32_t target) {
  uint64_t key = (uint64_t)source << 32 | target;
  key *= UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(key >> 32) & (p->hashcap - 1);
}

static void hash_put(es_Pairs *p, uint32_t row) {
  uint32_t i = home(p, p->rows[row].source, p->rows[row].target);
  while (p->hash[i] != 0) i = (i + 1) & (p->hashcap - 1);
  p->hash[i] = row;
}

/* A source has first != 0 exactly for the rows in use. */
static void rehash(es_Pairs *p) {
  uint32_t slot, row;
  for (slot = 0; slot < p->slotcap; slot++)
    for (row = p->sources[slot].first; row != 0; row = p->rows[row].next)
      hash_put(p, row);
}

static es_Status grow_rows(es_Pairs *p, uint64_t need) {
  size_t cap = es_alloc_grow(p->rowcap, (size_t)need);
  es_PairRow *rows;
  if (need <= p->rowcap) return ES_OK;
  if (cap == 0 || cap > UINT32_MAX / 4) return ES_LIMIT;
  rows = es_alloc_array(&p->alloc, p->rows, p->rowcap, cap, sizeof *rows);
  if (rows == NULL) return ES_NOMEM;
  p->rows = rows;
  p->rowcap = (uint32_t)cap;
  return ES_OK;
}

static es_Status grow_hash(es_Pairs *p, uint64_t need) {
  size_t cap = es_alloc_grow(p->hashcap, (size_t)need * 2);
  uint32_t *hash;
  if (need * 2 <= p->hashcap) return ES_OK;
  hash = es_alloc_array(&p->alloc, NULL, 0, cap, sizeof *hash);
  if (hash == NULL) return ES_NOMEM;
  memset(hash, 0, cap * sizeof *hash);
  es_alloc_free(&p->alloc, p->hash, p->hashcap, sizeof *hash);
  p->hash = hash;
  p->hashcap = (uint32_t)cap;
  rehash(p);
  return ES_OK;
}

static es_PairList *grow_list(es_Pairs *p, es_PairList *list, size_t cap) {
  list = es_alloc_array(&p->alloc, list, p->slotcap, cap, sizeof *list);
  if (list != NULL)
    memset(list + p->slotcap, 0, (cap - p->slotcap) * sizeof *list);
  return list;
}

static es_Status grow_slots(es_Pairs *p, uint32_t slots) {
  size_t cap = es_alloc_grow(p->slotcap, slots);
  es_PairList *sources, *targets;
  if (slots <= p->slotcap) return ES_OK;
  /* copies, not resized in place: both arrays change together or not */
  sources = es_alloc_array(&p->alloc, NULL, 0, cap, sizeof *sources);
  if (sources == NULL) return ES_NOMEM;
  targets = grow_list(p, p->targets, cap);
  if (targets == NULL) {
    es_alloc_free(&p->alloc, sources, cap, sizeof *sources);
    return ES_NOMEM;
  }
  memset(sources, 0, cap * sizeof *sources);
  if (p->slotcap > 0)
    memcpy(sources, p->sources, p->slotcap * sizeof *sources);
  es_alloc_free(&p->alloc, p->sources, p->slotcap, sizeof *sources);
  p->sources = sources;
  p->targets = targets;
  p->slotcap = (uint32_t)cap;
  return ES_OK;
}

es_Status es_pairs_reserve(es_Pairs *p, uint32_t slots, uint32_t more) {
  uint64_t need = (uint64_t)p->count + more + 1;
  es_Status status = grow_slots(p, slots);
  if (status == ES_OK) status = grow_rows(p, need);
  if (status == ES_OK) status = grow_hash(p, need);
  return status;
}

uint32_t es_pairs_find(const es_Pairs *p, uint32_t source, uint32_t target) {
  uint32_t i, row;
  if (p->hashcap == 0) return 0;
  for (i = home(p, source, target); (row = p->hash[i]) != 0;
       i = (i + 1) & (p->hashcap - 1))
    if (p->rows[row].source == source && p->rows[row].target == target)
      return row;
  return 0;
}

void es_pairs_peek_all(const es_Pairs *p, uint32_t *rows, uint32_t n) {
  uint32_t i, row = p->freerow, fresh = p->nrows;
  for (i = 0; i < n; i++) {
    rows[i] = row != 0 ? row : fresh++;
    if (row != 0) row = p->rows[row].next;
  }
}

static uint32_t take_row(es_Pairs *p) {
  uint32_t row = p->freerow;
  if (row != 0)
    p->freerow = p->rows[row].next;
  else
    row = p->nrows++;
  p->count++;
  return row;
}

int es_pairs_in_use(const es_Pairs *p, uint32_t row) {
  const es_PairRow *r;
  if (row == 0 || row >= p->nrows) return 0;
  r = &p->rows[row];
  return es_pairs_find(p, r->source, r->target) == row;
}

uint32_t es_pairs_peek(const es_Pairs *p, uint32_t k) {
  uint32_t row = p->freerow;
  for (; row != 0 && k > 0; k--) row = p->rows[row].next;
  return row != 0 ? row : p->nrows + k;
}

uint32_t es_pairs_add(es_Pairs *p, uint32_t source, uint32_t target) {
  uint32_t row = take_row(p);
  es_PairRow *r = &p->rows[row];
  es_PairList *s = &p->sources[source], *t = &p->targets[target];
  r->source = source;
  r->target = target;
  r->next = r->tnext = r->told = 0;
  r->prev = s->last;
  r->tprev = t->last;
  if (s->last != 0) p->rows[s->last].next = row; else s->first = row;
  if (t->last != 0) p->rows[t->last].tnext = row; else t->first = row;
  s->last = t->last = row;
  s->count++;
  t->count++;
  hash_put(p, row);
  return row;
}

/* Deletes with backward shift, so that searches need no tombstones. */
static void hash_remove(es_Pairs *p, uint32_t row) {
  uint32_t mask = p->hashcap - 1, hole, i, at;
  hole = home(p, p->rows[row].source, p->rows[row].target);
  while (p->hash[hole] != row) hole = (hole + 1) & mask;
  for (i = (hole + 1) & mask; p->hash[i] != 0; i = (i + 1) & mask) {
    const es_PairRow *r = &p->rows[p->hash[i]];
    at = home(p, r->source, r->target);
    if (((i - at) & mask) >= ((i - hole) & mask)) {
      p->hash[hole] = p->hash[i];
      hole = i;
    }
  }
  p->hash[hole] = 0;
}

void es_pairs_remove(es_Pairs *p, uint32_t row) {
  es_PairRow *r = &p->rows[row];
  es_PairList *s = &p->sources[r->source], *t = &p->targets[r->target];
  hash_remove(p, row);
  if (r->prev != 0) p->rows[r->prev].next = r->next; else s->first = r->next;
  if (r->next != 0) p->rows[r->next].prev = r->prev; else s->last = r->prev;
  if (r->tprev != 0) p->rows[r->tprev].tnext = r->tnext;
  else t->first = r->tnext;
  if (r->tnext != 0) p->rows[r->tnext].tprev = r->tprev;
  else t->last = r->tprev;
  s->count--;
  t->count--;
  p->count--;
  r->next = p->freerow;
  p->freerow = row;
}

uint32_t es_pairs_first(const es_Pairs *p, uint32_t source) {
  return source < p->slotcap ? p->sources[source].first : 0;
}

uint32_t es_pairs_first_source(const es_Pairs *p, uint32_t target) {
  return target < p->slotcap ? p->targets[target].first : 0;
}

uint32_t es_pairs_next(const es_Pairs *p, uint32_t row) {
  return p->rows[row].next;
}

uint32_t es_pairs_next_source(const es_Pairs *p, uint32_t row) {
  return p->rows[row].tnext;
}

uint32_t es_pairs_target_count(const es_Pairs *p, uint32_t source) {
  return source < p->slotcap ? p->sources[source].count : 0;
}

uint32_t es_pairs_source_count(const es_Pairs *p, uint32_t target) {
  return target < p->slotcap ? p->targets[target].count : 0;
}

/* Merges two chains (by tnext) that are sorted by source. */
static uint32_t merge(es_Pairs *p, uint32_t a, uint32_t b) {
  uint32_t first = 0, last = 0, row;
  while (a != 0 && b != 0) {
    if (p->rows[a].source < p->rows[b].source) {
      row = a;
      a = p->rows[a].tnext;
    } else {
      row = b;
      b = p->rows[b].tnext;
    }
    if (last != 0) p->rows[last].tnext = row; else first = row;
    last = row;
  }
  row = a != 0 ? a : b;
  if (last != 0) p->rows[last].tnext = row; else first = row;
  return first;
}

static int is_sorted(const es_Pairs *p, uint32_t row) {
  uint32_t next;
  for (; row != 0 && (next = p->rows[row].tnext) != 0; row = next)
    if (p->rows[next].source < p->rows[row].source) return 0;
  return 1;
}

/* Bottom-up: run[i] holds a sorted chain of 2^i rows, or nothing. */
static uint32_t sort_chain(es_Pairs *p, uint32_t row) {
  uint32_t run[32] = {0}, next, sorted = 0;
  size_t i;
  for (; row != 0; row = next) {
    next = p->rows[row].tnext;
    p->rows[row].tnext = 0;
    for (i = 0; run[i] != 0; i++) {
      row = merge(p, run[i], row);
      run[i] = 0;
    }
    run[i] = row;
  }
  for (i = 0; i < 32; i++) sorted = merge(p, run[i], sorted);
  return sorted;
}

void es_pairs_sort_sources(es_Pairs *p, uint32_t target) {
  es_PairList *list;
  uint32_t row, before = 0;
  if (target >= p->slotcap) return;
  list = &p->targets[target];
  if (is_sorted(p, list->first)) return;
  list->first = sort_chain(p, list->first);
  for (row = list->first; row != 0; row = p->rows[row].tnext) {
    p->rows[row].tprev = before;
    before = row;
  }
  list->last = before;
}
