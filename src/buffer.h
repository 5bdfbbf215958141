/*
** buffer.h - a growable byte buffer.
**
** Owner: whoever called es_buffer_init; es_buffer_free releases the block.
** A zeroed es_Buffer is valid and empty once 'alloc' is set.
*/
#ifndef ES_BUFFER_H
#define ES_BUFFER_H

#include <string.h>

#include "alloc.h"

typedef struct es_Buffer {
  es_Alloc alloc;
  char *data;
  size_t len;
  size_t cap;
} es_Buffer;

void es_buffer_init(es_Buffer *b, es_Alloc alloc);
void es_buffer_free(es_Buffer *b);

/* What es_buffer_reserve does when the room is not there yet. */
es_Status es_buffer_grow(es_Buffer *b, size_t n);

/* Makes room for 'n' more bytes. ES_NOMEM leaves the buffer as it was. */
static inline es_Status es_buffer_reserve(es_Buffer *b, size_t n) {
  return n <= b->cap - b->len ? ES_OK : es_buffer_grow(b, n);
}

/* Appends 'n' bytes. */
static inline es_Status es_buffer_put(es_Buffer *b, const void *bytes,
                                      size_t n) {
  es_Status status = es_buffer_reserve(b, n);
  if (status != ES_OK) return status;
  if (n > 0) memcpy(b->data + b->len, bytes, n);
  b->len += n;
  return ES_OK;
}

/* Appends one byte. */
static inline es_Status es_buffer_putc(es_Buffer *b, char c) {
  es_Status status = es_buffer_reserve(b, 1);
  if (status == ES_OK) b->data[b->len++] = c;
  return status;
}

#endif
