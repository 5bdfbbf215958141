/* utf8.c - see utf8.h */
#include "utf8.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

static int is_tail(unsigned char c) {
  return (c & 0xC0) == 0x80;
}

/* The length of the sequence at 'p', surrogates included; 0 when wrong. */
static size_t sequence(const unsigned char *p, size_t left) {
  unsigned char c = p[0];
  if (c < 0x80) return 1;
  if (c < 0xC2 || c > 0xF4 || left < 2 || !is_tail(p[1])) return 0;
  if (c < 0xE0) return 2;
  if (left < 3 || !is_tail(p[2])) return 0;
  if (c < 0xF0) return c == 0xE0 && p[1] < 0xA0 ? 0 : 3;
  if (left < 4 || !is_tail(p[3])) return 0;
  if (c == 0xF0) return p[1] < 0x90 ? 0 : 4;
  return c == 0xF4 && p[1] > 0x8F ? 0 : 4;
}

/* Bytes of ASCII at the start: most text is nothing else. */
static inline size_t ascii(const char *s, size_t n) {
  size_t i = 0;
  uint64_t word;
  uint32_t half;
  for (; n - i >= 8; i += 8) {
    memcpy(&word, s + i, 8);
    if ((word & HIGH_BITS) != 0) break;
  }
  if (n - i >= 4) {
    memcpy(&half, s + i, 4);
    if ((half & (uint32_t)HIGH_BITS) == 0) i += 4;
  }
  while (i < n && (unsigned char)s[i] < 0x80) i++;
  return i;
}

/*
** A low surrogate behind a high one is the wrong one: the high one alone would
** be text.
*/
size_t es_utf8_scan(const char *s, size_t n, int surrogates) {
  const unsigned char *p = (const unsigned char *)s;
  size_t i = ascii(s, n);
  size_t high_end = SIZE_MAX;
  while (i < n) {
    size_t length = sequence(p + i, n - i);
    if (length == 0) return i;
    if (p[i] == 0xED && p[i + 1] >= 0xA0) {
      if (!surrogates) return i;
      if (p[i + 1] < 0xB0) high_end = i + 3;
      else if (high_end == i) return i;
    }
    i += length;
    i += ascii(s + i, n - i);
  }
  return n;
}

static char tail(unsigned bits) {
  return (char)(0x80 | (bits & 0x3F));
}

size_t es_utf8_put(char *out, unsigned c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | (c >> 6));
    out[1] = tail(c);
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | (c >> 12));
    out[1] = tail(c >> 6);
    out[2] = tail(c);
    return 3;
  }
  out[0] = (char)(0xF0 | (c >> 18));
  out[1] = tail(c >> 12);
  out[2] = tail(c >> 6);
  out[3] = tail(c);
  return 4;
}
