/*
** utf8.h - checks of text.
**
** "Text" is UTF-8 (RFC 3629) in which lone surrogates may stand as their
** three bytes (WTF-8), because JavaScript strings may hold them. A high
** surrogate followed by a low one, each as three bytes, is refused: the pair
** has a four-byte form.
*/
#ifndef ES_UTF8_H
#define ES_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
** The offset of the first byte that is not text, or 'n' when all of it is;
** without 'surrogates', that is not strict UTF-8.
*/
size_t es_utf8_scan(const char *s, size_t n, int surrogates);

/* True for 4 to 16 bytes of ASCII, as most names are; they may overlap. */
static inline int es_utf8_is_short_ascii(const char *s, size_t n) {
  uint64_t a = 0, b = 0;
  if (n >= 8 && n <= 16) {
    memcpy(&a, s, 8);
    memcpy(&b, s + n - 8, 8);
  } else if (n >= 4 && n < 8) {
    memcpy(&a, s, 4);
    memcpy(&b, s + n - 4, 4);
  } else {
    return 0;
  }
  return ((a | b) & UINT64_C(0x8080808080808080)) == 0;
}

/* The offset of the first byte that is not text, or 'n' when all of it is. */
static inline size_t es_utf8_check(const char *s, size_t n) {
  return es_utf8_is_short_ascii(s, n) ? n : es_utf8_scan(s, n, 1);
}

/* True when the bytes are text without lone surrogates (strict UTF-8). */
static inline int es_utf8_strict(const char *s, size_t n) {
  return es_utf8_is_short_ascii(s, n) || es_utf8_scan(s, n, 0) == n;
}

/*
** Writes the code point 'c' (0..0x10FFFF, surrogates as three bytes) to 'out'
** (room for 4) and returns the number of bytes.
*/
size_t es_utf8_put(char *out, unsigned c);

#endif
