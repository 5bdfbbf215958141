/* alloc.c - see alloc.h */
#include "alloc.h"

#include <stdint.h>

void *es_alloc_array(const es_Alloc *a, void *block, size_t n, size_t m,
                     size_t size) {
  if (m == 0) {
    es_alloc_free(a, block, n, size);
    return NULL;
  }
  if (m > SIZE_MAX / size) return NULL;
  return a->f(a->ud, block, n * size, m * size);
}

void es_alloc_free(const es_Alloc *a, void *block, size_t n, size_t size) {
  if (block != NULL) a->f(a->ud, block, n * size, 0);
}

size_t es_alloc_grow(size_t cap, size_t need) {
  size_t grown = cap < 8 ? 8 : cap;
  while (grown < need) {
    if (grown > SIZE_MAX / 2) return 0;
    grown *= 2;
  }
  return grown;
}
