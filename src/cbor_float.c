/* cbor_float.c - see cbor_float.h */
#include "cbor_float.h"

#define BIAS 1023      /* of the exponent of a double */
#define FRACTION 52    /* bits of its fraction */
#define EXPONENT 0x7FF

/* Widths of the narrower formats. */
typedef struct Shape {
  unsigned exponent;
  unsigned fraction;
} Shape;

static const Shape half = {5, 10};
static const Shape single = {8, 23};

static uint64_t ones(unsigned n) {
  return (UINT64_C(1) << n) - 1;
}

static int bias_of(const Shape *s) {
  return (int)ones(s->exponent - 1);
}

/* 'bits' in the narrower format, where nothing is lost; else 0. */
static int narrow(uint64_t bits, const Shape *s, uint64_t *out) {
  uint64_t sign = bits >> 63 << (s->exponent + s->fraction);
  int exponent = (int)(bits >> FRACTION & EXPONENT);
  uint64_t fraction = bits & ones(FRACTION);
  unsigned drop = FRACTION - s->fraction;
  int e = exponent - BIAS + bias_of(s);
  if (exponent == EXPONENT) {
    e = (int)ones(s->exponent);
  } else if ((bits << 1) == 0) {
    e = 0;
  } else if (e <= 0) {   /* only as a subnormal: the leading 1 is explicit */
    if (e <= -(int)s->fraction) return 0;
    fraction |= UINT64_C(1) << FRACTION;
    drop += (unsigned)(1 - e);
    e = 0;
  } else if (e >= (int)ones(s->exponent)) {
    return 0;
  }
  if ((fraction & ones(drop)) != 0) return 0;
  *out = sign | (uint64_t)e << s->fraction | fraction >> drop;
  return 1;
}

unsigned es_cbor_float_shortest(uint64_t bits, uint64_t *shorter) {
  if (narrow(bits, &half, shorter)) return ES_CBOR_HALF;
  if (narrow(bits, &single, shorter)) return ES_CBOR_SINGLE;
  *shorter = bits;
  return ES_CBOR_DOUBLE;
}

static uint64_t widen(uint64_t bits, const Shape *s) {
  uint64_t sign = bits >> (s->exponent + s->fraction);
  uint64_t fraction = bits & ones(s->fraction);
  int e = (int)(bits >> s->fraction & ones(s->exponent));
  int exponent = e - bias_of(s) + BIAS;
  if (e == (int)ones(s->exponent)) {
    exponent = EXPONENT;
  } else if (e == 0 && fraction == 0) {
    exponent = 0;
  } else if (e == 0) {   /* a subnormal becomes normal */
    exponent++;
    while (fraction >> s->fraction == 0) {
      fraction <<= 1;
      exponent--;
    }
    fraction &= ones(s->fraction);
  }
  return sign << 63 | (uint64_t)exponent << FRACTION |
         fraction << (FRACTION - s->fraction);
}

uint64_t es_cbor_float_widen(unsigned format, uint64_t bits) {
  if (format == ES_CBOR_HALF) return widen(bits, &half);
  if (format == ES_CBOR_SINGLE) return widen(bits, &single);
  return bits;
}
