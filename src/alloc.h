/*
** alloc.h - memory for the parts that know no Lua.
**
** Every block comes from the allocator of the Lua state that owns it. The
** type is that of lua_Alloc, spelled here so that lua.h is not needed. Sizes
** are checked: a request that overflows size_t fails like a full memory.
** Nothing in this part raises; failure is a return value.
*/
#ifndef ES_ALLOC_H
#define ES_ALLOC_H

#include <stddef.h>

typedef void *(*es_AllocFn)(void *ud, void *ptr, size_t osize, size_t nsize);

typedef struct es_Alloc {
  es_AllocFn f;
  void *ud;
} es_Alloc;

/* What a part that cannot raise reports. */
typedef enum es_Status {
  ES_OK = 0,
  ES_NOMEM,   /* the allocator said no; the structure is as it was */
  ES_LIMIT,   /* a fixed limit (slots, depth, length) is reached */
  ES_INVALID  /* the data break the rules; who reports says which */
} es_Status;

/*
** Resizes an array from 'n' to 'm' elements of 'size' bytes; 'm' == 0 frees.
** Returns NULL when memory is full (the old block stays valid) or when 'm'
** is 0.
*/
void *es_alloc_array(const es_Alloc *a, void *block, size_t n, size_t m,
                     size_t size);

/* Frees an array of 'n' elements of 'size' bytes. NULL is fine. */
void es_alloc_free(const es_Alloc *a, void *block, size_t n, size_t size);

/*
** The capacity to grow to from 'cap' so that 'need' elements fit: doubles,
** starts at 8. Returns 0 when it would overflow.
*/
size_t es_alloc_grow(size_t cap, size_t need);

#endif
