/*
** pairs.h - the pairs of one relation in one world.
**
** A pair (source, target) has a row, a number from 1 that its data columns
** are keyed by. Pairs of a source keep the order in which they were added;
** removing one keeps the order of the others. Adding, finding and removing
** take constant time; both directions can be walked. Room is made only by
** es_pairs_reserve.
*/
#ifndef ES_PAIRS_H
#define ES_PAIRS_H

#include "bitset.h"

typedef struct es_PairRow {
  uint32_t source, target;
  uint32_t next, prev;      /* within the source, in order of adding */
  uint32_t tnext, tprev;    /* within the target */
  uint32_t told;            /* a mark for walks whose visitor may remove */
} es_PairRow;

typedef struct es_PairList {
  uint32_t first, last, count;
} es_PairList;

typedef struct es_Pairs {
  es_Alloc alloc;
  es_PairRow *rows;      /* rows[0] is not used */
  uint32_t nrows;        /* rows 1..nrows-1 were used */
  uint32_t rowcap;
  uint32_t freerow;      /* chain through 'next' */
  uint32_t count;
  es_PairList *sources;  /* by slot */
  es_PairList *targets;  /* by slot */
  uint32_t slotcap;
  uint32_t *hash;        /* rows; 0 is free; size is a power of two */
  uint32_t hashcap;
} es_Pairs;

void es_pairs_init(es_Pairs *p, es_Alloc alloc);
void es_pairs_free(es_Pairs *p);

/* Makes sure that 'more' pairs among slots < 'slots' can be added. */
es_Status es_pairs_reserve(es_Pairs *p, uint32_t slots, uint32_t more);

/* The row of the pair, or 0. */
uint32_t es_pairs_find(const es_Pairs *p, uint32_t source, uint32_t target);

/* True if the row holds a pair. */
int es_pairs_in_use(const es_Pairs *p, uint32_t row);

/* The row that the k-th next es_pairs_add takes, from 0. */
uint32_t es_pairs_peek(const es_Pairs *p, uint32_t k);

/* The rows that the next 'n' calls of es_pairs_add take. */
void es_pairs_peek_all(const es_Pairs *p, uint32_t *rows, uint32_t n);

/* Adds a pair that is not there yet; needs a reservation. */
uint32_t es_pairs_add(es_Pairs *p, uint32_t source, uint32_t target);
void es_pairs_remove(es_Pairs *p, uint32_t row);

/* Walks: the first row of a source or target, or 0; then the next. */
uint32_t es_pairs_first(const es_Pairs *p, uint32_t source);
uint32_t es_pairs_first_source(const es_Pairs *p, uint32_t target);
uint32_t es_pairs_next(const es_Pairs *p, uint32_t row);
uint32_t es_pairs_next_source(const es_Pairs *p, uint32_t row);
uint32_t es_pairs_target_count(const es_Pairs *p, uint32_t source);
uint32_t es_pairs_source_count(const es_Pairs *p, uint32_t target);

/* Puts the sources of a target in ascending order; allocates nothing. */
void es_pairs_sort_sources(es_Pairs *p, uint32_t target);

#endif
