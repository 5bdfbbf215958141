/*
** buffer.h - a growable byte buffer.
**
** Owner: whoever called es_buffer_init; es_buffer_free releases the block.
** A zeroed es_Buffer is valid and empty once 'alloc' is set.
*/
#ifndef ES_BUFFER_H
#define ES_BUFFER_H

#include "alloc.h"

typedef struct es_Buffer {
  es_Alloc alloc;
  char *data;
  size_t len;
  size_t cap;
} es_Buffer;

void es_buffer_init(es_Buffer *b, es_Alloc alloc);
void es_buffer_free(es_Buffer *b);

/* Makes room for 'n' more bytes. ES_NOMEM leaves the buffer as it was. */
es_Status es_buffer_reserve(es_Buffer *b, size_t n);

/* Appends 'n' bytes. */
es_Status es_buffer_put(es_Buffer *b, const void *bytes, size_t n);

/* Appends one byte. */
es_Status es_buffer_putc(es_Buffer *b, char c);

#endif
