/* cbor_tools.h - what the tests of CBOR share beyond json_tools.h. */
#ifndef ES_CBOR_TOOLS_H
#define ES_CBOR_TOOLS_H

#include "cbor.h"
#include "json_tools.h"

/* Reads one value from a block of exactly 'n' bytes. */
static inline es_CborError read_block(es_Document *d, Heap *heap,
                                      const void *bytes, size_t n,
                                      es_CborReader *r) {
  char *copy = exact(bytes, n);
  int good;
  es_document_init(d, heap_of(heap));
  es_cbor_reader(r, copy, n);
  good = es_cbor_read_value(r, d);
  if (good != (r->error == ES_CBOR_OK)) abort();
  free(copy);
  return r->error;
}

static inline es_Status write_cbor(const es_Document *d, es_Buffer *out) {
  es_CborSink sink;
  es_Status status;
  es_sink_cbor(&sink, out);
  status = walk(d, &sink.sink);
  if (status == ES_OK && sink.depth != 0) abort();
  return status;
}

static inline unsigned hex_digit(char c) {
  const char *digits = "0123456789abcdef";
  const char *digit = c == '\0' ? NULL : strchr(digits, c);
  if (digit == NULL) abort();
  return (unsigned)(digit - digits);
}

/* Bytes from hexadecimal digits; spaces are skipped. */
static inline size_t from_hex(const char *hex, unsigned char *out) {
  size_t n = 0;
  while (*hex != '\0') {
    if (*hex == ' ') {
      hex++;
      continue;
    }
    out[n++] = (unsigned char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
    hex += 2;
  }
  return n;
}

/* SplitMix64 */
static inline uint64_t random_bits(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static inline uint64_t bits_of(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static inline double from_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

#endif
