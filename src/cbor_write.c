/* cbor_write.c - the writer of cbor.h. */
#include "cbor.h"

#include <string.h>

#include "cbor_float.h"
#include "utf8.h"

#define HEAD_MAX 9   /* bytes */

/* The initial bytes of what is no number and no container. */
enum { FALSE_BYTE = 0xF4, TRUE_BYTE = 0xF5, NULL_BYTE = 0xF6 };

/* ---- heads ------------------------------------------------------------- */

/* The low bits of the initial byte, when they are no value themselves. */
static unsigned info_of(uint64_t value) {
  if (value <= UINT8_MAX) return 24;
  if (value <= UINT16_MAX) return 25;
  return value <= UINT32_MAX ? 26 : 27;
}

/* An initial byte and the big-endian value behind it, in reserved room. */
static void append(es_Buffer *b, unsigned major, unsigned info,
                   uint64_t value) {
  char *to = b->data + b->len;
  unsigned n = 1u << (info - 24);
  unsigned i;
  to[0] = (char)(major << 5 | info);
  for (i = n; i > 0; i--) {
    to[i] = (char)(value & 0xFF);
    value >>= 8;
  }
  b->len += n + 1;
}

static inline void append_head(es_Buffer *b, es_CborMajor major,
                               uint64_t value) {
  if (value < 24)
    b->data[b->len++] = (char)((unsigned)major << 5 | (unsigned)value);
  else
    append(b, (unsigned)major, info_of(value), value);
}

es_Status es_cbor_put_head(es_Buffer *b, es_CborMajor major,
                           uint64_t value) {
  es_Status status = es_buffer_reserve(b, HEAD_MAX);
  if (status == ES_OK) append_head(b, major, value);
  return status;
}

/* ---- single values ----------------------------------------------------- */

es_Status es_cbor_put_int(es_Buffer *b, int64_t value) {
  if (value < 0)
    return es_cbor_put_head(b, ES_CBOR_NEGATIVE, (uint64_t)-(value + 1));
  return es_cbor_put_head(b, ES_CBOR_UINT, (uint64_t)value);
}

es_Status es_cbor_put_float(es_Buffer *b, double value) {
  uint64_t bits, shorter;
  unsigned format;
  es_Status status = es_buffer_reserve(b, HEAD_MAX);
  if (status != ES_OK) return status;
  memcpy(&bits, &value, sizeof bits);
  format = es_cbor_float_shortest(bits, &shorter);
  append(b, ES_CBOR_SIMPLE, format, shorter);
  return ES_OK;
}

es_Status es_cbor_put_bool(es_Buffer *b, int value) {
  return es_buffer_putc(b, (char)(value ? TRUE_BYTE : FALSE_BYTE));
}

es_Status es_cbor_put_null(es_Buffer *b) {
  return es_buffer_putc(b, (char)NULL_BYTE);
}

/* ---- strings ----------------------------------------------------------- */

static es_Status put_block(es_Buffer *b, es_CborMajor major,
                           const void *bytes, size_t n) {
  es_Status status = n <= SIZE_MAX - HEAD_MAX
                       ? es_buffer_reserve(b, n + HEAD_MAX)
                       : ES_NOMEM;
  if (status != ES_OK) return status;
  append_head(b, major, n);
  if (n > 0) memcpy(b->data + b->len, bytes, n);
  b->len += n;
  return ES_OK;
}

es_Status es_cbor_put_bytes(es_Buffer *b, const void *bytes, size_t n) {
  return put_block(b, ES_CBOR_BYTES, bytes, n);
}

es_Status es_cbor_put_string(es_Buffer *b, const char *s, size_t n) {
  return put_block(b, es_utf8_strict(s, n) ? ES_CBOR_TEXT : ES_CBOR_BYTES, s,
                   n);
}

int es_cbor_compare_keys(const char *a, size_t n, const char *b, size_t m) {
  int a_text = es_utf8_strict(a, n);
  int b_text = es_utf8_strict(b, m);
  if (a_text != b_text) return a_text - b_text;
  if (n != m) return n < m ? -1 : 1;
  return n > 0 ? memcmp(a, b, n) : 0;
}

/* ---- typed arrays ------------------------------------------------------ */

size_t es_cbor_width(uint64_t tag) {
  switch (tag) {
    case ES_CBOR_UINT8: case ES_CBOR_INT8: return 1;
    case ES_CBOR_UINT16: case ES_CBOR_INT16: return 2;
    case ES_CBOR_UINT32: case ES_CBOR_INT32: return 4;
    case ES_CBOR_UINT64: case ES_CBOR_INT64: case ES_CBOR_FLOAT64: return 8;
    default: return 0;
  }
}

es_Status es_cbor_put_typed(es_Buffer *b, es_CborType type, size_t n) {
  size_t width = es_cbor_width((uint64_t)type);
  es_Status status;
  if (width == 0) return ES_INVALID;
  if (n > SIZE_MAX / width) return ES_LIMIT;
  status = es_buffer_reserve(b, 2 * HEAD_MAX);
  if (status != ES_OK) return status;
  append_head(b, ES_CBOR_TAG, (uint64_t)type);
  append_head(b, ES_CBOR_BYTES, n * width);
  return ES_OK;
}

/* ---- the sink ---------------------------------------------------------- */

static es_CborSink *self(es_Sink *s) {
  return (es_CborSink *)(void *)s;
}

static es_Buffer *out_of(es_Sink *s) {
  return self(s)->out;
}

static es_Status on_open(es_Sink *sink, es_NodeType type, uint32_t count) {
  es_CborSink *s = self(sink);
  es_Status status;
  if (count == ES_UNCOUNTED) return ES_INVALID;
  if (s->depth == ES_DEPTH_MAX) return ES_LIMIT;
  status = es_cbor_put_head(
    s->out, type == ES_NODE_ARRAY ? ES_CBOR_ARRAY : ES_CBOR_MAP, count);
  if (status == ES_OK) s->depth++;
  return status;
}

static es_Status on_close(es_Sink *sink) {
  self(sink)->depth--;
  return ES_OK;
}

/* Longer strings do not fit into a document: they could not be read again. */
static es_Status on_string(es_Sink *s, const char *text, size_t n) {
  size_t len = out_of(s)->len;
  es_Status status;
  if (n > UINT32_MAX) return ES_LIMIT;
  status = es_cbor_put_string(out_of(s), text, n);
  if (status != ES_OK) out_of(s)->len = len;   /* it can be repeated */
  return status;
}

static es_Status on_key(es_Sink *s, const char *text, size_t n) {
  if (n == 9 && memcmp(text, "__proto__", 9) == 0) return ES_INVALID;
  return on_string(s, text, n);
}

static es_Status on_null(es_Sink *s) {
  return es_cbor_put_null(out_of(s));
}

static es_Status on_boolean(es_Sink *s, int value) {
  return es_cbor_put_bool(out_of(s), value);
}

static es_Status on_integer(es_Sink *s, int64_t value) {
  return es_cbor_put_int(out_of(s), value);
}

static es_Status on_number(es_Sink *s, double value) {
  return es_cbor_put_float(out_of(s), value);
}

void es_sink_cbor(es_CborSink *s, es_Buffer *out) {
  static const es_Sink methods = {
    on_open, on_close, on_key, NULL, on_null,
    on_boolean, on_integer, on_number, on_string, NULL
  };
  s->sink = methods;
  s->out = out;
  s->depth = 0;
}
