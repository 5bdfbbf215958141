/* entity.c - see entity.h */
#include "entity.h"

#include <string.h>

/* Copies into new blocks: both arrays change together or not at all. */
static es_Status grow(es_Entities *s, uint32_t need) {
  size_t cap = es_alloc_grow(s->cap, need);
  uint32_t *generation, *list;
  if (need <= s->cap) return ES_OK;
  if (cap > (size_t)ES_SLOT_MAX + 1) cap = (size_t)ES_SLOT_MAX + 1;
  if (es_bitset_reserve(&s->alive, &s->alloc, (uint32_t)cap) != ES_OK)
    return ES_NOMEM;
  generation = es_alloc_array(&s->alloc, NULL, 0, cap, sizeof *generation);
  if (generation == NULL) return ES_NOMEM;
  list = es_alloc_array(&s->alloc, s->free, s->cap, cap, sizeof *list);
  if (list == NULL) {
    es_alloc_free(&s->alloc, generation, cap, sizeof *generation);
    return ES_NOMEM;
  }
  if (s->cap > 0)
    memcpy(generation, s->generation, s->cap * sizeof *generation);
  es_alloc_free(&s->alloc, s->generation, s->cap, sizeof *generation);
  s->generation = generation;
  s->free = list;
  s->cap = (uint32_t)cap;
  return ES_OK;
}

es_Status es_entity_init(es_Entities *s, es_Alloc alloc, uint32_t world,
                         uint32_t base) {
  memset(s, 0, sizeof *s);
  s->alloc = alloc;
  s->world = world;
  s->base = base;
  if (grow(s, 64) != ES_OK) {
    es_entity_free(s);
    return ES_NOMEM;
  }
  s->generation[0] = base;
  s->known = s->used = 1;
  es_bitset_set(&s->alive, 0);
  return ES_OK;
}

void es_entity_free(es_Entities *s) {
  es_bitset_free(&s->alive, &s->alloc);
  es_alloc_free(&s->alloc, s->generation, s->cap, sizeof *s->generation);
  es_alloc_free(&s->alloc, s->free, s->cap, sizeof *s->free);
  s->generation = s->free = NULL;
  s->cap = 0;
}

/* Fresh slots below 'known' may be retired; they do not count. */
static uint64_t fresh_needed(const es_Entities *s, uint32_t n) {
  uint64_t end = s->used;
  uint32_t slot;
  for (slot = s->used; n > 0 && slot < s->known; slot++) {
    if (s->generation[slot] != ES_RETIRED) n--;
    end = (uint64_t)slot + 1;
  }
  return end + n;
}

es_Status es_entity_reserve(es_Entities *s, uint32_t n) {
  uint64_t end;
  if (n <= s->nfree) return ES_OK;
  end = fresh_needed(s, n - s->nfree);
  if (end > (uint64_t)ES_SLOT_MAX + 1) return ES_LIMIT;
  return grow(s, (uint32_t)end);
}

uint32_t es_entity_peek(const es_Entities *s) {
  uint32_t slot = s->used;
  if (s->nfree > 0) return s->free[s->nfree - 1];
  while (slot < s->known && s->generation[slot] == ES_RETIRED) slot++;
  return slot;
}

uint32_t es_entity_spawn(es_Entities *s) {
  uint32_t slot = es_entity_peek(s);
  if (s->nfree > 0) {
    s->nfree--;
  } else {
    s->used = slot + 1;
    if (slot >= s->known) {
      s->generation[slot] = s->base;
      s->known = slot + 1;
    }
  }
  es_bitset_set(&s->alive, slot);
  s->count++;
  return slot;
}

static es_Entity pack(const es_Entities *s, uint32_t generation,
                      uint32_t slot) {
  return (uint64_t)s->world << (ES_SLOT_BITS + ES_GENERATION_BITS) |
         (uint64_t)generation << ES_SLOT_BITS | slot;
}

es_Entity es_entity_handle(const es_Entities *s, uint32_t slot) {
  return pack(s, s->generation[slot], slot);
}

es_Entity es_entity_first_handle(const es_Entities *s, uint32_t slot) {
  return pack(s, s->base, slot);
}

int es_entity_is_alive(const es_Entities *s, es_Entity e) {
  uint32_t slot = es_entity_slot(e);
  return slot < s->known && es_bitset_test(&s->alive, slot) &&
         es_entity_handle(s, slot) == e;
}

void es_entity_kill(es_Entities *s, uint32_t slot) {
  es_bitset_clear(&s->alive, slot);
  s->count--;
}

void es_entity_release(es_Entities *s, uint32_t slot) {
  if (++s->generation[slot] < ES_RETIRED) s->free[s->nfree++] = slot;
}

es_EntityMark es_entity_mark(const es_Entities *s) {
  es_EntityMark m = {s->nfree, s->used, s->known, s->count};
  return m;
}

/* Spawning reads the free list from its end, but leaves it as it is. */
void es_entity_rewind(es_Entities *s, const es_EntityMark *mark,
                      const es_Entity *spawned, size_t n) {
  size_t i;
  for (i = 0; i < n; i++)
    es_bitset_clear(&s->alive, es_entity_slot(spawned[i]));
  s->nfree = mark->nfree;
  s->used = mark->used;
  s->known = mark->known;
  s->count = mark->count;
}

/* The last one is reused first, so that the order is descending. */
static void sift_free(uint32_t *list, uint32_t i, uint32_t n) {
  while (2 * i + 1 < n) {
    uint32_t child = 2 * i + 1, slot = list[i];
    if (child + 1 < n && list[child + 1] < list[child]) child++;
    if (list[child] >= slot) return;
    list[i] = list[child];
    list[child] = slot;
    i = child;
  }
}

void es_entity_sort_free(es_Entities *s) {
  uint32_t i;
  for (i = s->nfree / 2; i > 0; i--) sift_free(s->free, i - 1, s->nfree);
  for (i = s->nfree; i > 1; i--) {
    uint32_t lowest = s->free[0];
    s->free[0] = s->free[i - 1];
    s->free[i - 1] = lowest;
    sift_free(s->free, 0, i - 1);
  }
}

void es_entity_restore_free(es_Entities *s, const uint32_t *old, uint32_t n,
                            const uint64_t *was, uint32_t used) {
  uint32_t i, slot, m = 0;
  es_entity_sort_free(s);
  for (i = 0; i < s->nfree; i++) {   /* what was not in the list stays */
    slot = s->free[i];
    if (slot >= used || (was[slot >> 6] >> (slot & 63) & 1))
      s->free[m++] = slot;
  }
  for (i = 0; i < n; i++) {
    slot = old[i];
    if (s->generation[slot] < ES_RETIRED && !es_bitset_test(&s->alive, slot))
      s->free[m++] = slot;
  }
  s->nfree = m;
}

void es_entity_reset(es_Entities *s) {
  s->nfree = 0;
  s->used = 1;
}

uint32_t es_entity_next_base(const es_Entities *s) {
  uint32_t slot, top = s->base + 1;   /* above slot 0's */
  for (slot = 1; slot < s->known; slot++) {
    uint32_t gen = s->generation[slot];
    if (es_bitset_test(&s->alive, slot)) gen++;
    if (gen > top) top = gen;
  }
  return top;
}
