/*
** match.h - a snapshot's traits against the names of a world.
**
** Traits are found by name, also by one that they had formerly; fields are
** matched by name. Nothing changes here, and everything that cannot be loaded
** is an error with the offset of the trait in the bytes.
*/
#ifndef ES_MATCH_H
#define ES_MATCH_H

#include "image.h"
#include "luadoc.h"
#include "world.h"

typedef struct es_Found {
  const es_Entry *entry;   /* NULL: the trait is skipped (transient) */
  int defaults;            /* only who has it is known, not the values */
  int migrate;             /* values go through the entry's migrate */
  uint32_t map;            /* in 'maps': per field its saved column + 1 */
} es_Found;

typedef struct es_Matches {
  const es_Op *op;
  const es_Image *image;
  es_Buffer *list;         /* es_Found per trait of the image */
  es_Buffer *maps;         /* uint32 */
} es_Matches;

/* Pushes the guards and matches everything. Raises. [-0, +2] */
void es_match_all(es_Matches *m, const es_Op *op, const es_Image *image);

const es_Found *es_match_at(const es_Matches *m, uint32_t i);

/* The saved column of a registered field + 1; 0: it takes its default. */
uint32_t es_match_column(const es_Matches *m, const es_Found *match,
                         uint32_t field);

/* Raises malformed about a trait of the image; the reason is on top. */
void es_match_fail(const es_Matches *m, const es_ImageTrait *t);

#endif
