/* buffer.c - see buffer.h */
#include "buffer.h"

#include <stdint.h>

void es_buffer_init(es_Buffer *b, es_Alloc alloc) {
  b->alloc = alloc;
  b->data = NULL;
  b->len = b->cap = 0;
}

void es_buffer_free(es_Buffer *b) {
  es_alloc_free(&b->alloc, b->data, b->cap, 1);
  b->data = NULL;
  b->len = b->cap = 0;
}

es_Status es_buffer_grow(es_Buffer *b, size_t n) {
  size_t cap;
  char *data;
  if (n > SIZE_MAX - b->len) return ES_NOMEM;
  cap = es_alloc_grow(b->cap < 64 ? 64 : b->cap, b->len + n);
  if (cap == 0) return ES_NOMEM;
  data = es_alloc_array(&b->alloc, b->data, b->cap, cap, 1);
  if (data == NULL) return ES_NOMEM;
  b->data = data;
  b->cap = cap;
  return ES_OK;
}
