/*
** number_bits.h - words, bits and powers of ten for number_read.c and
** number_write.c. Private to them.
**
** Eight digits are handled as one word: the lowest byte is the first digit.
** ES_NUMBER_PORTABLE chooses the code for other compilers and machines, so
** that it can be tested on the usual ones.
*/
#ifndef ES_NUMBER_BITS_H
#define ES_NUMBER_BITS_H

#include <stdint.h>
#include <string.h>

#define ES_NUMBER_POW_MIN (-342)
#define ES_NUMBER_POW_MAX 324
#define ES_NUMBER_POW_COUNT (ES_NUMBER_POW_MAX - ES_NUMBER_POW_MIN + 1)

#define ES_NUMBER_ASCII_ZEROS UINT64_C(0x3030303030303030)

typedef struct es_NumberPair {
  uint64_t hi, lo;
} es_NumberPair;

/*
** 10^e for e from ES_NUMBER_POW_MIN on, scaled to 2^127 <= T < 2^128; rounded
** down for e >= 0, up for e < 0.
*/
extern const es_NumberPair es_number_powers[ES_NUMBER_POW_COUNT];

static inline es_NumberPair es_number_power(int e) {
  return es_number_powers[e - ES_NUMBER_POW_MIN];
}

/* floor(log2(10^e)) for every power of the table. */
static inline int es_number_log2_power(int e) {
  return (e * 1741647) >> 19;
}

/* The product of two words. */
#if defined(__SIZEOF_INT128__) && !defined(ES_NUMBER_PORTABLE)

__extension__ typedef unsigned __int128 es_NumberWide;

static inline es_NumberPair es_number_mul(uint64_t a, uint64_t b) {
  es_NumberWide product = (es_NumberWide)a * b;
  es_NumberPair p;
  p.hi = (uint64_t)(product >> 64);
  p.lo = (uint64_t)product;
  return p;
}

#else

static inline es_NumberPair es_number_mul(uint64_t a, uint64_t b) {
  const uint64_t half = UINT32_MAX;
  uint64_t low = (a & half) * (b & half);
  uint64_t mid1 = (a >> 32) * (b & half) + (low >> 32);
  uint64_t mid2 = (a & half) * (b >> 32) + (mid1 & half);
  es_NumberPair p;
  p.hi = (a >> 32) * (b >> 32) + (mid1 >> 32) + (mid2 >> 32);
  p.lo = (mid2 << 32) | (low & half);
  return p;
}

#endif

/* The upper 128 of the 192 bits of a * t. */
static inline es_NumberPair es_number_scale(uint64_t a, es_NumberPair t) {
  es_NumberPair p = es_number_mul(a, t.hi);
  uint64_t carried = es_number_mul(a, t.lo).hi;
  p.lo += carried;
  p.hi += p.lo < carried;
  return p;
}

/* Zero bits above the highest and below the lowest one; 'x' is not 0. */
#if defined(__GNUC__) && !defined(ES_NUMBER_PORTABLE)

static inline unsigned es_number_leading(uint64_t x) {
  return (unsigned)__builtin_clzll(x);
}

static inline unsigned es_number_trailing(uint64_t x) {
  return (unsigned)__builtin_ctzll(x);
}

#else

static inline unsigned es_number_leading(uint64_t x) {
  unsigned n = 0, step;
  for (step = 32; step > 0; step /= 2)
    if (x >> (64 - step) == 0) {
      x <<= step;
      n += step;
    }
  return n;
}

static inline unsigned es_number_trailing(uint64_t x) {
  return 63 - es_number_leading(x & (0 - x));
}

#endif

/* Eight bytes, the first of them lowest. */
#if defined(__BYTE_ORDER__) && !defined(ES_NUMBER_PORTABLE)
#define ES_NUMBER_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#else
#define ES_NUMBER_LITTLE 0
#endif

static inline uint64_t es_number_load(const char *s) {
  uint64_t x = 0;
  int i;
  if (ES_NUMBER_LITTLE)
    memcpy(&x, s, 8);
  else
    for (i = 7; i >= 0; i--) x = x << 8 | (unsigned char)s[i];
  return x;
}

static inline void es_number_store(char *out, uint64_t x) {
  int i;
  if (ES_NUMBER_LITTLE)
    memcpy(out, &x, 8);
  else
    for (i = 0; i < 8; i++) out[i] = (char)(unsigned char)(x >> (8 * i));
}

static inline uint64_t es_number_bits(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static inline double es_number_from_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

#endif
