/*
** cbor_float_test.c - floats take the shortest form that keeps their bits:
** every half, and what lies around the borders of singles and doubles.
*/
#include "cbor_tools.h"

/* It is written with this initial byte and these bits, and read again. */
static int put_is(double value, unsigned first, uint64_t bits) {
  unsigned size = 1u << (first - 0xF8);
  Heap heap = {0};
  es_Buffer b;
  es_CborReader r;
  es_Document d;
  uint64_t got = 0;
  unsigned i;
  int good;
  es_buffer_init(&b, heap_of(&heap));
  es_document_init(&d, heap_of(&heap));
  if (es_cbor_put_float(&b, value) != ES_OK) abort();
  for (i = 1; i < b.len; i++) got = got << 8 | (unsigned char)b.data[i];
  good = b.len == size + 1 && (unsigned char)b.data[0] == first &&
         got == bits;
  es_cbor_reader(&r, b.data, b.len);
  good = good && es_cbor_read_value(&r, &d) &&
         d.nodes[0].type == ES_NODE_FLOAT &&
         bits_of(d.nodes[0].u.d) == bits_of(value);
  es_document_free(&d);
  es_buffer_free(&b);
  return good && heap.live == 0;
}

/* The double that equals a half: by arithmetic, NaNs by their bits. */
static uint64_t half_to_double(unsigned half) {
  uint64_t sign = (uint64_t)(half >> 15) << 63;
  unsigned exponent = half >> 10 & 31;
  unsigned fraction = half & 1023;
  double value = exponent == 0 ? fraction : fraction + 1024.0;
  if (exponent == 31)
    return sign | UINT64_C(0x7FF) << 52 | (uint64_t)fraction << 42;
  for (; exponent > 25; exponent--) value *= 2;
  for (; exponent > 0 && exponent < 25; exponent++) value /= 2;
  if (exponent == 0) value /= 16777216;
  return sign | bits_of(value);
}

static uint64_t halves[65536];

static int order(const void *a, const void *b) {
  const uint64_t *x = a;
  const uint64_t *y = b;
  return (*x > *y) - (*x < *y);
}

static int is_half(uint64_t bits) {
  return bsearch(&bits, halves, 65536, sizeof bits, order) != NULL;
}

static void test_halves(void) {
  unsigned i;
  for (i = 0; i < 65536; i++) {
    halves[i] = half_to_double(i);
    CHECK(put_is(from_bits(halves[i]), 0xF9, i), "half %04x", i);
  }
  qsort(halves, 65536, sizeof *halves, order);
}

/* The bits of the single that equals it; 0 when there is none. */
static int to_single(uint64_t bits, uint64_t *out) {
  uint32_t single;
  double value = from_bits(bits);
  float narrow;
  if ((bits >> 52 & 0x7FF) == 0x7FF) {
    if ((bits & 0x1FFFFFFF) != 0) return 0;
    *out = bits >> 63 << 31 | 0x7F800000 | (bits >> 29 & 0x7FFFFF);
    return 1;
  }
  if (value > 3.4028234663852886e38 || value < -3.4028234663852886e38)
    return 0;
  narrow = (float)value;
  memcpy(&single, &narrow, sizeof single);
  *out = single;
  return bits_of((double)narrow) == bits;
}

static void check_float(uint64_t bits) {
  double value = from_bits(bits);
  uint64_t single;
  if (is_half(bits)) {
    CHECK(!put_is(value, 0xFB, bits), "%016llx", (unsigned long long)bits);
  } else if (to_single(bits, &single)) {
    CHECK(put_is(value, 0xFA, single), "%016llx", (unsigned long long)bits);
  } else {
    CHECK(put_is(value, 0xFB, bits), "%016llx", (unsigned long long)bits);
  }
}

/* Around every power of two, and random bits with zeros at the end. */
static void test_floats(void) {
  uint64_t seed = 1;
  uint64_t e, k;
  for (e = 0; e < 0x800; e++)
    for (k = 0; k < 55; k++) {
      uint64_t bits = e << 52 | (k < 52 ? UINT64_C(1) << k : 0);
      check_float(k == 53 ? bits - 1 : bits);
      check_float(bits | UINT64_C(1) << 63);
    }
  for (k = 0; k < 200000; k++) {
    uint64_t bits = random_bits(&seed);
    unsigned shift = (unsigned)(random_bits(&seed) % 53);
    check_float(bits >> shift << shift);
    bits &= ~(UINT64_C(0x7FF) << 52);   /* and near the range of singles */
    bits |= (UINT64_C(1023) - 160 + random_bits(&seed) % 320) << 52;
    check_float(bits >> shift << shift);
  }
}

int main(void) {
  test_halves();
  test_floats();
  return report();
}
