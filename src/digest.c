/* digest.c - see digest.h */
#include "digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t es_digest(const void *a, size_t n, const void *b, size_t m) {
  _Alignas(64) XXH3_state_t state;
  XXH3_64bits_reset(&state);
  if (n > 0) XXH3_64bits_update(&state, a, n);
  if (m > 0) XXH3_64bits_update(&state, b, m);
  return XXH3_64bits_digest(&state);
}

void es_digest_hex(uint64_t digest, char out[16]) {
  static const char digits[] = "0123456789abcdef";
  int i;
  for (i = 15; i >= 0; i--) {
    out[i] = digits[digest & 15];
    digest >>= 4;
  }
}
