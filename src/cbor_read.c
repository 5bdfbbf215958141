/*
** cbor_read.c - the reader of cbor.h.
**
** All reading goes through next_head, which checks what is common to all
** items. A whole value is read without recursion: the document keeps the open
** containers, a stack beside it how many items each still lacks.
*/
#include "cbor.h"

#include <string.h>

#include "cbor_float.h"
#include "utf8.h"

typedef unsigned char Byte;

typedef struct Head {
  size_t at;          /* where it begins */
  es_CborMajor major;
  unsigned info;      /* low bits of the initial byte */
  uint64_t value;
} Head;

/* The simple values that are allowed. */
enum { SIMPLE_FALSE = 20, SIMPLE_TRUE = 21, SIMPLE_NULL = 22 };

void es_cbor_reader(es_CborReader *r, const void *bytes, size_t n) {
  r->bytes = n > 0 ? bytes : (const void *)"";   /* no arithmetic on NULL */
  r->n = n;
  r->at = 0;
  r->error = ES_CBOR_OK;
  r->offset = 0;
}

int es_cbor_fail(es_CborReader *r, es_CborError error, size_t offset) {
  if (r->error == ES_CBOR_OK) {
    r->error = error;
    r->offset = offset;
  }
  return 0;
}

static size_t left(const es_CborReader *r) {
  return r->n - r->at;
}

/* ---- heads ------------------------------------------------------------- */

static int is_float(const Head *h) {
  return h->major == ES_CBOR_SIMPLE && h->info >= ES_CBOR_HALF;
}

/* The big-endian value behind the initial byte. */
static int read_argument(es_CborReader *r, Head *h) {
  size_t n = (size_t)1 << (h->info - 24);
  if (left(r) < n) return es_cbor_fail(r, ES_CBOR_END, r->n);
  h->value = 0;
  for (; n > 0; n--) h->value = h->value << 8 | r->bytes[r->at++];
  return 1;
}

static int is_shortest(const Head *h) {
  uint64_t shorter;
  if (is_float(h))
    return es_cbor_float_shortest(es_cbor_float_widen(h->info, h->value),
                                  &shorter) == h->info;
  switch (h->info) {
    case 24: return h->value >= 24;
    case 25: return h->value > UINT8_MAX;
    case 26: return h->value > UINT16_MAX;
    case 27: return h->value > UINT32_MAX;
    default: return 1;
  }
}

static int is_allowed(const Head *h) {
  if (h->major != ES_CBOR_SIMPLE || is_float(h)) return 1;
  return h->info >= SIMPLE_FALSE && h->info <= SIMPLE_NULL;
}

static int any_head(es_CborReader *r, Head *h) {
  Byte first;
  if (r->error != ES_CBOR_OK) return 0;
  if (left(r) == 0) return es_cbor_fail(r, ES_CBOR_END, r->n);
  h->at = r->at;
  first = r->bytes[r->at++];
  h->major = (es_CborMajor)(first >> 5);
  h->info = first & 31;
  h->value = h->info;
  if (h->info > 27) return es_cbor_fail(r, ES_CBOR_FORM, h->at);
  if (h->info >= 24 && !read_argument(r, h)) return 0;
  if (!is_allowed(h)) return es_cbor_fail(r, ES_CBOR_FORM, h->at);
  if (!is_shortest(h)) return es_cbor_fail(r, ES_CBOR_SHORTEST, h->at);
  return 1;
}

/* Most heads are one byte and stand for a number that is in it. */
static inline int next_head(es_CborReader *r, Head *h) {
  unsigned first;
  if (r->error != ES_CBOR_OK || left(r) == 0) return any_head(r, h);
  first = r->bytes[r->at];
  if ((first & 31) >= 24 || first >> 5 == ES_CBOR_SIMPLE)
    return any_head(r, h);
  h->at = r->at++;
  h->major = (es_CborMajor)(first >> 5);
  h->info = first & 31;
  h->value = h->info;
  return 1;
}

/* The next head, which must be of this type. */
static int expect(es_CborReader *r, es_CborMajor major, Head *h) {
  if (!next_head(r, h)) return 0;
  return h->major == major ? 1 : es_cbor_fail(r, ES_CBOR_TYPE, h->at);
}

int es_cbor_read_head(es_CborReader *r, es_CborMajor *major,
                      uint64_t *value) {
  Head h;
  if (!next_head(r, &h)) return 0;
  if (is_float(&h)) return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  *major = h.major;
  *value = h.value;
  return 1;
}

int es_cbor_peek(const es_CborReader *r, es_CborMajor *major) {
  if (r->error != ES_CBOR_OK || left(r) == 0) return 0;
  *major = (es_CborMajor)(r->bytes[r->at] >> 5);
  return 1;
}

/* ---- what stands behind a head ----------------------------------------- */

static int take_int(es_CborReader *r, const Head *h, int64_t *value) {
  if (h->value > INT64_MAX) return es_cbor_fail(r, ES_CBOR_RANGE, h->at);
  *value = (int64_t)h->value;
  if (h->major == ES_CBOR_NEGATIVE) *value = -1 - *value;
  return 1;
}

static double take_float(const Head *h) {
  uint64_t bits = es_cbor_float_widen(h->info, h->value);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static int take_bytes(es_CborReader *r, const Head *h, const char **s,
                      size_t *n) {
  if (h->value > left(r)) return es_cbor_fail(r, ES_CBOR_END, r->n);
  *s = (const char *)r->bytes + r->at;
  *n = (size_t)h->value;
  r->at += *n;
  return 1;
}

/* The writer makes text of what can be text, so all else is wrong. */
static int take_string(es_CborReader *r, const Head *h, const char **s,
                       size_t *n) {
  if (!take_bytes(r, h, s, n)) return 0;
  if (es_utf8_strict(*s, *n) != (h->major == ES_CBOR_TEXT))
    return es_cbor_fail(r, ES_CBOR_UTF8, h->at);
  return 1;
}

/* No item is shorter than a byte. */
static int check_count(es_CborReader *r, const Head *h) {
  size_t most = h->major == ES_CBOR_MAP ? left(r) / 2 : left(r);
  return h->value <= most ? 1 : es_cbor_fail(r, ES_CBOR_COUNT, h->at);
}

/* ---- items of a known type --------------------------------------------- */

static int is_string(es_CborMajor major) {
  return major == ES_CBOR_TEXT || major == ES_CBOR_BYTES;
}

int es_cbor_read_int(es_CborReader *r, int64_t *value) {
  Head h;
  if (!next_head(r, &h)) return 0;
  if (h.major > ES_CBOR_NEGATIVE)
    return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  return take_int(r, &h, value);
}

int es_cbor_read_bool(es_CborReader *r, int *value) {
  Head h;
  if (!expect(r, ES_CBOR_SIMPLE, &h)) return 0;
  if (h.info != SIMPLE_FALSE && h.info != SIMPLE_TRUE)
    return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  *value = h.info == SIMPLE_TRUE;
  return 1;
}

int es_cbor_read_string(es_CborReader *r, const char **s, size_t *n) {
  Head h;
  if (!next_head(r, &h)) return 0;
  if (!is_string(h.major)) return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  return take_string(r, &h, s, n);
}

int es_cbor_read_bytes(es_CborReader *r, const char **s, size_t *n) {
  Head h;
  return expect(r, ES_CBOR_BYTES, &h) && take_bytes(r, &h, s, n);
}

int es_cbor_read_tag(es_CborReader *r, uint64_t tag) {
  Head h;
  if (!expect(r, ES_CBOR_TAG, &h)) return 0;
  return h.value == tag ? 1 : es_cbor_fail(r, ES_CBOR_TYPE, h.at);
}

static int read_count(es_CborReader *r, es_CborMajor major, uint64_t *n) {
  Head h;
  if (!expect(r, major, &h) || !check_count(r, &h)) return 0;
  *n = h.value;
  return 1;
}

int es_cbor_read_array(es_CborReader *r, uint64_t *n) {
  return read_count(r, ES_CBOR_ARRAY, n);
}

int es_cbor_read_map(es_CborReader *r, uint64_t *n) {
  return read_count(r, ES_CBOR_MAP, n);
}

int es_cbor_read_word(es_CborReader *r, const char *word) {
  size_t at = r->at;
  const char *s;
  size_t n;
  if (!es_cbor_read_string(r, &s, &n)) return 0;
  if (n != strlen(word) || memcmp(s, word, n) != 0)
    return es_cbor_fail(r, ES_CBOR_TYPE, at);
  return 1;
}

int es_cbor_read_typed(es_CborReader *r, es_CborType *type,
                       const unsigned char **data, size_t *n) {
  Head h;
  const char *s;
  size_t width;
  if (!expect(r, ES_CBOR_TAG, &h)) return 0;
  width = es_cbor_width(h.value);
  if (width == 0) return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  if (!es_cbor_read_bytes(r, &s, n)) return 0;
  if (*n % width != 0) return es_cbor_fail(r, ES_CBOR_COUNT, h.at);
  *type = (es_CborType)h.value;
  *data = (const Byte *)s;
  *n /= width;
  return 1;
}

/* ---- any value --------------------------------------------------------- */

/* An open container. */
typedef struct Level {
  size_t lacks;   /* elements or pairs that are still to come */
  size_t key;     /* where the last key begins; 0: there is none yet */
} Level;

static int built(es_CborReader *r, es_Status status, size_t at) {
  switch (status) {
    case ES_OK: return 1;
    case ES_NOMEM: return es_cbor_fail(r, ES_CBOR_NOMEM, at);
    case ES_INVALID: return es_cbor_fail(r, ES_CBOR_PROTO, at);
    default: return es_cbor_fail(r, ES_CBOR_LIMIT, at);
  }
}

static int open_container(es_CborReader *r, const Head *h, es_Document *d,
                          Level *levels) {
  es_NodeType type = ES_NODE_ARRAY;
  Level *level;
  if (!check_count(r, h)) return 0;
  if (d->depth == ES_DEPTH_MAX) return es_cbor_fail(r, ES_CBOR_DEPTH, h->at);
  if (h->major == ES_CBOR_MAP)
    type = h->value == 0 ? ES_NODE_EMPTY : ES_NODE_OBJECT;
  if (!built(r, es_document_open(d, type), h->at)) return 0;
  level = &levels[d->depth - 1];
  level->lacks = (size_t)h->value;
  level->key = 0;
  return 1;
}

static es_Status add_simple(const Head *h, es_Document *d) {
  if (is_float(h)) return es_document_float(d, take_float(h));
  if (h->info == SIMPLE_NULL) return es_document_null(d);
  return es_document_bool(d, h->info == SIMPLE_TRUE);
}

/* A value, or no more than the head of one that is a container. */
static int read_one(es_CborReader *r, es_Document *d, Level *levels) {
  Head h;
  int64_t i;
  const char *s;
  size_t n;
  if (!next_head(r, &h)) return 0;
  switch (h.major) {
    case ES_CBOR_UINT: case ES_CBOR_NEGATIVE:
      return take_int(r, &h, &i) && built(r, es_document_int(d, i), h.at);
    case ES_CBOR_BYTES: case ES_CBOR_TEXT:
      return take_string(r, &h, &s, &n) &&
             built(r, es_document_string(d, s, n), h.at);
    case ES_CBOR_ARRAY: case ES_CBOR_MAP:
      return open_container(r, &h, d, levels);
    case ES_CBOR_SIMPLE: return built(r, add_simple(&h, d), h.at);
    default: return es_cbor_fail(r, ES_CBOR_TYPE, h.at);
  }
}

/*
** Keys are compared as they stand in the input, as many bytes as the new one
** has there. That is enough: no encoding is the beginning of another, so
** keys that differ do so before either of them ends.
*/
static int in_order(const es_CborReader *r, size_t last, size_t at) {
  return last == 0 || memcmp(r->bytes + last, r->bytes + at, r->at - at) < 0;
}

static int read_key(es_CborReader *r, es_Document *d, Level *level) {
  Head h;
  const char *s;
  size_t n;
  es_CborMajor major;
  if (es_cbor_peek(r, &major) && !is_string(major))
    return es_cbor_fail(r, ES_CBOR_KEY, r->at);
  if (!next_head(r, &h) || !take_string(r, &h, &s, &n)) return 0;
  if (!in_order(r, level->key, h.at))
    return es_cbor_fail(r, ES_CBOR_ORDER, h.at);
  level->key = h.at;
  return built(r, es_document_key(d, s, n), h.at);
}

/*
** Closes what is complete, down to 'depth', and reads the key of the next
** value; '*more' tells whether there is one.
*/
static int read_after(es_CborReader *r, es_Document *d, Level *levels,
                      uint32_t depth, int *more) {
  Level *level;
  while (d->depth > depth && levels[d->depth - 1].lacks == 0)
    es_document_close(d);
  *more = d->depth > depth;
  if (!*more) return 1;
  level = &levels[d->depth - 1];
  level->lacks--;
  if (d->nodes[d->open[d->depth - 1]].type != ES_NODE_OBJECT) return 1;
  return read_key(r, d, level);
}

int es_cbor_read_value(es_CborReader *r, es_Document *d) {
  Level levels[ES_DEPTH_MAX];
  uint32_t depth = d->depth;
  int more = 1;
  while (more)
    if (!read_one(r, d, levels) || !read_after(r, d, levels, depth, &more))
      return 0;
  return 1;
}

/* ---- elements of typed arrays ------------------------------------------ */

/* Little-endian; compilers make one load of each. */
static uint64_t load16(const Byte *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8;
}

static uint64_t load32(const Byte *p) {
  return load16(p) | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t load64(const Byte *p) {
  return load32(p) | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
         (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static int64_t as_signed(uint64_t bits) {
  int64_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The number whose two's complement is 'bits', of which 'sign' is the top. */
static int64_t extend(uint64_t bits, uint64_t sign) {
  return as_signed((bits ^ sign) - sign);
}

int64_t es_cbor_int_at(const unsigned char *data, es_CborType type,
                       size_t i) {
  switch (type) {
    case ES_CBOR_UINT8: return data[i];
    case ES_CBOR_INT8: return extend(data[i], 0x80);
    case ES_CBOR_UINT16: return as_signed(load16(data + 2 * i));
    case ES_CBOR_INT16: return extend(load16(data + 2 * i), 0x8000);
    case ES_CBOR_UINT32: return as_signed(load32(data + 4 * i));
    case ES_CBOR_INT32: return extend(load32(data + 4 * i), 0x80000000);
    default: return as_signed(load64(data + 8 * i));
  }
}

double es_cbor_float_at(const unsigned char *data, size_t i) {
  uint64_t bits = load64(data + 8 * i);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- messages ---------------------------------------------------------- */

const char *es_cbor_message(es_CborError error) {
  switch (error) {
    case ES_CBOR_OK: return "no error";
    case ES_CBOR_NOMEM: return "not enough memory";
    case ES_CBOR_END: return "the bytes end inside an item";
    case ES_CBOR_SHORTEST: return "a head or float that is not the shortest";
    case ES_CBOR_FORM: return "a form that is not allowed";
    case ES_CBOR_RANGE: return "an integer out of range";
    case ES_CBOR_UTF8: return "text that is not UTF-8, or bytes that are";
    case ES_CBOR_ORDER: return "a map key out of order or twice";
    case ES_CBOR_KEY: return "a map key that is no string";
    case ES_CBOR_PROTO: return "the key \"__proto__\" is not allowed";
    case ES_CBOR_DEPTH: return "nested too deeply";
    case ES_CBOR_COUNT: return "a count that does not fit the bytes";
    case ES_CBOR_LIMIT: return "too many values";
    case ES_CBOR_TYPE: return "another kind of item was expected";
  }
  return "unknown error";
}
