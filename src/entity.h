/*
** entity.h - handles, generations and the free list of one world.
**
** A handle packs world id (8 bits), generation (21) and slot (24), at most
** 53 bits, so that it survives a double. Slot 0 is the world entity; it is
** always alive. A slot whose last generation was used is retired and never
** handed out again, so that no stale handle ever comes alive.
**
** 'base' is the generation of a slot that was never used. A world that takes
** over the id of a closed one starts above all generations of that one, so
** that handles of the closed world stay dead as well.
**
** Freeing has two steps: es_entity_kill makes the handle dead, and
** es_entity_release gives the slot back. Between them the slot's handle can
** still be told to observers, and nothing can reuse it.
*/
#ifndef ES_ENTITY_H
#define ES_ENTITY_H

#include "bitset.h"

typedef uint64_t es_Entity;   /* a handle; 0 is none */

#define ES_SLOT_BITS 24
#define ES_GENERATION_BITS 21
#define ES_SLOT_MAX ((uint32_t)(1 << ES_SLOT_BITS) - 1)
#define ES_GENERATION_MAX ((uint32_t)(1 << ES_GENERATION_BITS) - 1)
#define ES_RETIRED (ES_GENERATION_MAX + 1)
#define ES_WORLD_MAX 255
#define ES_ENTITY_MAX (((uint64_t)1 << 53) - 1)

typedef struct es_Entities {
  es_Alloc alloc;
  es_Bitset alive;
  uint32_t *generation;  /* per slot; ES_RETIRED when used up */
  uint32_t *free;        /* slots to reuse, the last one first */
  uint32_t cap;          /* room of both arrays */
  uint32_t nfree;
  uint32_t known;        /* slots with a generation of their own */
  uint32_t used;         /* slots 0..used-1 were handed out since reset */
  uint32_t count;        /* alive ones, without the world entity */
  uint32_t base;
  uint32_t world;        /* 1..ES_WORLD_MAX */
} es_Entities;

static inline uint32_t es_entity_slot(es_Entity e) {
  return (uint32_t)(e & ES_SLOT_MAX);
}
static inline uint32_t es_entity_generation(es_Entity e) {
  return (uint32_t)(e >> ES_SLOT_BITS) & ES_GENERATION_MAX;
}
static inline uint32_t es_entity_world(es_Entity e) {
  return (uint32_t)(e >> (ES_SLOT_BITS + ES_GENERATION_BITS));
}

/* Slot 0 is alive afterwards. On ES_NOMEM nothing is owned. */
es_Status es_entity_init(es_Entities *s, es_Alloc alloc, uint32_t world,
                         uint32_t base);
void es_entity_free(es_Entities *s);

/* Makes sure that the next 'n' calls of es_entity_spawn succeed. */
es_Status es_entity_reserve(es_Entities *s, uint32_t n);

/* The slot that the next es_entity_spawn takes, when it is reserved. */
uint32_t es_entity_peek(const es_Entities *s);

/* A new entity's slot. Needs a reservation; never fails then. */
uint32_t es_entity_spawn(es_Entities *s);

/* The handle of a slot that is, or just was, alive. */
es_Entity es_entity_handle(const es_Entities *s, uint32_t slot);

/* The handle that a slot will have which was never used before. */
es_Entity es_entity_first_handle(const es_Entities *s, uint32_t slot);

int es_entity_is_alive(const es_Entities *s, es_Entity e);

void es_entity_kill(es_Entities *s, uint32_t slot);
void es_entity_release(es_Entities *s, uint32_t slot);

/*
** Takes back spawns: everything since the mark, when nothing was killed or
** released meanwhile.
*/
typedef struct es_EntityMark {
  uint32_t nfree, used, known, count;
} es_EntityMark;
es_EntityMark es_entity_mark(const es_Entities *s);
void es_entity_rewind(es_Entities *s, const es_EntityMark *mark,
                      const es_Entity *spawned, size_t n);

/* Reuses free slots in ascending order from now on. */
void es_entity_sort_free(es_Entities *s);

/*
** Takes back es_entity_sort_free and the spawns behind it: the next spawns
** take the slots of 'old', a free list from before, in its order, and then
** those that were not in it, ascending. 'was' has the bits of those that were
** alive then, 'used' slots had been handed out. Allocates nothing.
*/
void es_entity_restore_free(es_Entities *s, const uint32_t *old, uint32_t n,
                            const uint64_t *was, uint32_t used);

/*
** Starts again at slot 1, generations going on. All entities but slot 0 must
** have been killed and released.
*/
void es_entity_reset(es_Entities *s);

/* The generation above all that were used, for the next world of this id. */
uint32_t es_entity_next_base(const es_Entities *s);

#endif
