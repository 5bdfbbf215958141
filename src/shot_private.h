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

static inline int es_shot_is_selected(const es_Shot *s, uint32_t slot) {
  return (slot >> 6) < s->words &&
         ((s->selected[slot >> 6] >> (slot & 63)) & 1);
}

static inline uint32_t *numbers(const es_Buffer *b) {
  return (uint32_t *)(void *)b->data;
}

static inline uint32_t length(const es_Buffer *b) {
  return (uint32_t)(b->len / sizeof(uint32_t));
}

/* Room for 'n' more numbers; where they go. */
static inline uint32_t *number_room(const es_Shot *s, es_Buffer *b, size_t n) {
  es_try(s->op.L, es_buffer_reserve(b, n * sizeof(uint32_t) + 1));
  return (uint32_t *)(void *)(b->data + b->len);
}

static inline void put_number(const es_Shot *s, es_Buffer *b, uint32_t n) {
  *number_room(s, b, 1) = n;
  b->len += sizeof n;
}

/* The number that a slot has in the snapshot. */
static inline uint32_t saved_slot(const es_Shot *s, uint32_t slot) {
  return s->map != NULL ? s->map[slot] : slot;
}

/* The numbers of saved slots, in place of a list of slots. */
static inline const uint32_t *saved_slots(es_Shot *s, const uint32_t *slots,
                                   uint32_t n) {
  uint32_t i, *list;
  if (s->map == NULL) return slots;
  s->renumbered->len = 0;
  list = number_room(s, s->renumbered, n);
  for (i = 0; i < n; i++) list[i] = s->map[slots[i]];
  return list;
}

/* shot_entities.c: { free, used, alive, excluded, generations } */
void es_shot_save_entities(es_Shot *s);

/* shot_select.c: who is saved; slot 0 stands for the world entity. [-0, +1] */
void es_shot_select(es_Shot *s);

/* Takes out of the selection all that carry the trait at 'idx'. */
void es_shot_exclude(es_Shot *s, int idx);

#endif
