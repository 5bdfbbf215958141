/*
** image_read.h - private to image*.c: a read in progress.
*/
#ifndef ES_IMAGE_READ_H
#define ES_IMAGE_READ_H

#include "image.h"

typedef struct es_Read {
  es_Image *image;
  es_CborReader r;
  es_Buffer seen;      /* scratch of image_body.c */
  uint32_t stamp;
} es_Read;

/* Notes what is wrong, the reader's own error, or full memory. False. */
int es_read_wrong(es_Read *read, const char *what, size_t offset);
int es_read_failed(es_Read *read);
int es_read_nomem(es_Read *read);

/* An integer in 0..top. */
int es_read_count(es_Read *read, uint32_t top, uint32_t *value,
                  const char *what);

/* Any value, as the next child of the image's document. */
int es_read_value(es_Read *read, uint32_t *node);

static inline int es_image_is_relation(const es_ImageTrait *t) {
  return t->kind >= ES_SAVED_PAIR;
}

/* image_entities.c: { free, used, alive, excluded, generations } */
int es_read_entities(es_Read *read, es_Buffer *scratch);
/* Appends a set of slots, ascending, to 'out'. */
int es_read_set(es_Read *read, es_Buffer *out);
int es_read_u32s(es_Read *read, const unsigned char **data, uint32_t *n);

/* image_body.c: all of the body. */
int es_read_body(es_Read *read, es_Buffer *scratch);

/* 'at' must name the offset that a failed check is about. */
#define need(read, call) \
  do { if (!(call)) return es_read_failed(read); } while (0)
#define check(read, condition, what) \
  do { if (!(condition)) return es_read_wrong(read, what, at); } while (0)
#define room(read, call) \
  do { if ((call) != ES_OK) return es_read_nomem(read); } while (0)

#endif
