/*
** content.h - all that a world holds, so that two contents can be exchanged.
**
** Loading builds the new content beside the old one and exchanges them in one
** step, which allocates nothing and cannot fail. Exchanging again brings the
** old content back.
*/
#ifndef ES_CONTENT_H
#define ES_CONTENT_H

#include "world.h"

typedef struct es_StoreContent {
  es_Store *store;
  es_Bitset has;
  uint32_t count;
  es_Pairs pairs;
  unsigned char shown;   /* a script holds the columns that lie here */
} es_StoreContent;

typedef struct es_Content {
  es_Alloc alloc;
  es_Entities entities;
  es_StoreContent *stores;   /* for every store that the world had */
  uint32_t n;
} es_Content;

/*
** Pushes a guard for a content, and a table for its columns, by anchor.
** [-0, +2]
*/
es_Content *es_content_new(const es_Op *op);

/*
** Makes it an empty content for the world, which must be read-only from now on
** until the exchange: every store that has members must be known here.
*/
void es_content_begin(const es_Op *op, es_Content *c, int columns);

/* The part of a store. */
es_StoreContent *es_content_of(const es_Content *c, const es_Store *s);

/*
** Room in the world for all that is indexed by slot, with either content.
*/
es_Status es_content_reserve(es_World *w, const es_Content *c);

/* Exchanges; 'columns' is the stack index of the table of columns. */
void es_content_swap(const es_Op *op, es_Content *c, int columns);

/*
** Forgets what handlers gave to stores that are newer than the content (after
** the old content came back).
*/
void es_content_empty_others(const es_Op *op, const es_Content *c);

/* Makes the columns that scripts hold of this content dead. */
void es_content_bury(const es_Op *op, const es_Content *c, int columns);

#endif
