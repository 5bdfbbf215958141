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

/* The offset of the first byte that is not text, or 'n' when all of it is. */
size_t es_utf8_check(const char *s, size_t n);

/* True when the bytes are text without lone surrogates (strict UTF-8). */
int es_utf8_strict(const char *s, size_t n);

/*
** Writes the code point 'c' (0..0x10FFFF, surrogates as three bytes) to 'out'
** (room for 4) and returns the number of bytes.
*/
size_t es_utf8_put(char *out, unsigned c);

#endif
