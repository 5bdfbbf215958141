/*
** bitset.h - sets of slots, 64 to a word.
**
** A set grows only in es_bitset_reserve; bits beyond its room read as absent,
** and clearing them is fine. es_bitset_set needs room. The owner passes its
** allocator to reserve and free.
*/
#ifndef ES_BITSET_H
#define ES_BITSET_H

#include <stdint.h>

#include "alloc.h"

typedef struct es_Bitset {
  uint64_t *words;
  uint32_t n;       /* words with room */
} es_Bitset;

/* What es_bitset_next returns when there is no further member. */
#define ES_NO_SLOT UINT32_MAX

/* Makes room for the slots 0..slots-1; new room is empty. */
es_Status es_bitset_reserve(es_Bitset *b, const es_Alloc *a, uint32_t slots);
void es_bitset_free(es_Bitset *b, const es_Alloc *a);

/* Removes all members; keeps the room. */
void es_bitset_clear_all(es_Bitset *b);

uint32_t es_bitset_count(const es_Bitset *b);

/* The first member >= 'from', or ES_NO_SLOT. */
uint32_t es_bitset_next(const es_Bitset *b, uint32_t from);

/* The index of the lowest bit of a word that is not 0. */
static inline uint32_t es_bits_lowest(uint64_t word) {
#if defined(__GNUC__)
  return (uint32_t)__builtin_ctzll(word);
#else
  uint32_t i = 0;
  while (((word >> i) & 1) == 0) i++;
  return i;
#endif
}

uint32_t es_bits_count(uint64_t word);

static inline uint64_t es_bitset_word(const es_Bitset *b, uint32_t i) {
  return i < b->n ? b->words[i] : 0;
}

static inline int es_bitset_test(const es_Bitset *b, uint32_t slot) {
  return (int)((es_bitset_word(b, slot >> 6) >> (slot & 63)) & 1);
}

static inline void es_bitset_set(es_Bitset *b, uint32_t slot) {
  b->words[slot >> 6] |= (uint64_t)1 << (slot & 63);
}

static inline void es_bitset_clear(es_Bitset *b, uint32_t slot) {
  if ((slot >> 6) < b->n) b->words[slot >> 6] &= ~((uint64_t)1 << (slot & 63));
}

#endif
