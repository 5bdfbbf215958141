/*
** shot_private.h - private to shot*.c: a snapshot that is being taken.
*/
#ifndef ES_SHOT_PRIVATE_H
#define ES_SHOT_PRIVATE_H

#include "shot.h"

/* One saveSnapshot. It is a userdata, so that an escaped ctx finds it dead. */
typedef struct es_Shot {
  es_Op op;
  const es_ShotOptions *options;
  unsigned char open;
  unsigned char settled;  /* who is saved does not change any more */
  es_Buffer *header, *body;
  es_Buffer *slots;       /* uint32: the rows of the trait in hand */
  es_Buffer *rows;        /* uint32: keys of the values (pairs: rows) */
  es_Buffer *iota;        /* uint32: 1, 2, 3, ... */
  es_Buffer *renumbered;  /* uint32: slots by their numbers in a scene */
  uint32_t *map;          /* slot -> number; NULL: as they are */
  uint32_t used;          /* slots 0..used-1 are in the snapshot */
  es_Buffer *path;
  es_ColumnWriter column;
  es_CborSink sink;
  uint32_t *counts;       /* per entry: its rows */
  uint64_t *selected;     /* words: who is saved, slot 0 included */
  uint64_t *referenced;   /* words: whom handlers and codecs refer to */
  uint32_t words;
  int ctx;                /* stack index of the codecs' context */
  uint32_t slot;          /* whose value a codec has in hand */
  const es_Entry *entry;  /* in hand, for messages */
  const es_Field *field;
} es_Shot;

/* shot_select.c: who is saved; slot 0 stands for the world entity. [-0, +1] */
void es_shot_select(es_Shot *s);

/* Takes out of the selection all that carry the trait at 'idx'. */
void es_shot_exclude(es_Shot *s, int idx);

#endif
