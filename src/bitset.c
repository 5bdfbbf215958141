/* bitset.c - see bitset.h */
#include "bitset.h"

#include <string.h>

es_Status es_bitset_reserve(es_Bitset *b, const es_Alloc *a, uint32_t slots) {
  size_t need = ((size_t)slots + 63) / 64, n;
  uint64_t *words;
  if (need <= b->n) return ES_OK;
  n = es_alloc_grow(b->n, need);
  words = es_alloc_array(a, b->words, b->n, n, sizeof *words);
  if (words == NULL) return ES_NOMEM;
  memset(words + b->n, 0, (n - b->n) * sizeof *words);
  b->words = words;
  b->n = (uint32_t)n;
  return ES_OK;
}

void es_bitset_free(es_Bitset *b, const es_Alloc *a) {
  es_alloc_free(a, b->words, b->n, sizeof *b->words);
  b->words = NULL;
  b->n = 0;
}

void es_bitset_clear_all(es_Bitset *b) {
  if (b->n > 0) memset(b->words, 0, b->n * sizeof *b->words);
}

uint32_t es_bits_count(uint64_t word) {
#if defined(__GNUC__)
  return (uint32_t)__builtin_popcountll(word);
#else
  uint32_t n = 0;
  for (; word != 0; word &= word - 1) n++;
  return n;
#endif
}

uint32_t es_bitset_count(const es_Bitset *b) {
  uint32_t i, n = 0;
  for (i = 0; i < b->n; i++) n += es_bits_count(b->words[i]);
  return n;
}

uint32_t es_bitset_next(const es_Bitset *b, uint32_t from) {
  uint32_t i = from >> 6;
  uint64_t word;
  if (i >= b->n) return ES_NO_SLOT;
  word = b->words[i] & (~(uint64_t)0 << (from & 63));
  while (word == 0) {
    if (++i >= b->n) return ES_NO_SLOT;
    word = b->words[i];
  }
  return i * 64 + es_bits_lowest(word);
}
