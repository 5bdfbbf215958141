/*
** quick_private.h - private to quick*.c: a quick restore.
*/
#ifndef ES_QUICK_PRIVATE_H
#define ES_QUICK_PRIVATE_H

#include "json_read.h"
#include "luadoc.h"
#include "wording.h"

/*
** The entries are listed by part; before them stands one for each part that is
** none, so that something can come before the first one.
*/
typedef struct es_QuickEntry {
  const es_Words *words;
  es_Store *store;
  int columns;              /* stack index of the first new column */
  uint32_t count;           /* how many members or pairs were taken */
  uint32_t follow;          /* what came behind it last time, or 0 */
  unsigned char usable;
} es_QuickEntry;

/* What is to be added: a trait, or a pair with the index of its target. */
typedef struct es_QuickMember {
  es_Store *store;
  uint32_t slot, target;
} es_QuickMember;

/* A value that becomes the handle of an entity. */
typedef struct es_QuickRef {
  int column;
  uint32_t key, index;
} es_QuickRef;

typedef struct es_Quick {
  es_Op op;
  const unsigned char *p, *end;
  unsigned char comma;      /* a comma is due, unless something closes */
  unsigned char dry;        /* only look, and count */
  uint32_t slot;            /* that of the first entity */
  uint32_t n;               /* records so far */
  uint32_t sampled;         /* records of the sample */
  double ratio;             /* how many times as many there will be */
  es_Wording wording;
  es_QuickEntry *entries;
  uint32_t first[ES_PARTS + 1];   /* where the parts begin */
  int guards;               /* stack index of the guards of the next three */
  es_Buffer *members, *refs;
  es_Document *document;    /* the value in hand, when it is no plain one */
  es_JsonReader *reader;
  es_Pusher pusher;
} es_Quick;

/* Reads the first records, to know how large columns will be. */
int es_quick_sample(es_Quick *q);

/* Reads the text into the new columns and lists; false: not the usual. */
int es_quick_take(es_Quick *q);

#endif
