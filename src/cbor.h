/*
** cbor.h - deterministic CBOR (RFC 8949 section 4.2.1) and typed arrays
** (RFC 8746).
**
** The writer appends to a buffer. The reader is a cursor over bytes that
** refuses everything that the writer would not have written: heads that are
** not the shortest, floats that a shorter form could hold, map keys out of
** order or twice, indefinite lengths, integers beyond int64, nesting deeper
** than ES_DEPTH_MAX, simple values other than false, true and null. Counts
** are compared with the bytes that are left before they are believed. No part
** of it raises, and only es_cbor_read_value allocates.
*/
#ifndef ES_CBOR_H
#define ES_CBOR_H

#include <stdint.h>

#include "buffer.h"
#include "document.h"
#include "sink.h"

typedef enum es_CborMajor {
  ES_CBOR_UINT, ES_CBOR_NEGATIVE, ES_CBOR_BYTES, ES_CBOR_TEXT,
  ES_CBOR_ARRAY, ES_CBOR_MAP, ES_CBOR_TAG, ES_CBOR_SIMPLE
} es_CborMajor;

/* Typed arrays, little-endian; the numbers are the tags of RFC 8746. */
typedef enum es_CborType {
  ES_CBOR_UINT8 = 64, ES_CBOR_UINT16 = 69, ES_CBOR_UINT32 = 70,
  ES_CBOR_UINT64 = 71, ES_CBOR_INT8 = 72, ES_CBOR_INT16 = 77,
  ES_CBOR_INT32 = 78, ES_CBOR_INT64 = 79, ES_CBOR_FLOAT64 = 86
} es_CborType;

/* Bytes per element of a typed array, or 0 for another tag. */
size_t es_cbor_width(uint64_t tag);

/* ---- Writing ---- */

es_Status es_cbor_put_head(es_Buffer *b, es_CborMajor major, uint64_t value);
es_Status es_cbor_put_int(es_Buffer *b, int64_t value);
/* The shortest of half, single and double that keeps the bits. */
es_Status es_cbor_put_float(es_Buffer *b, double value);
es_Status es_cbor_put_bool(es_Buffer *b, int value);
es_Status es_cbor_put_null(es_Buffer *b);
es_Status es_cbor_put_bytes(es_Buffer *b, const void *bytes, size_t n);
/* Text when the bytes are strict UTF-8, else a byte string. */
es_Status es_cbor_put_string(es_Buffer *b, const char *s, size_t n);
/* The head of a typed array of 'n' elements; their bytes follow. */
es_Status es_cbor_put_typed(es_Buffer *b, es_CborType type, size_t n);

/*
** The order of map keys: bytewise by their encoding, so that byte strings
** come first and shorter ones before longer ones.
*/
int es_cbor_compare_keys(const char *a, size_t n, const char *b, size_t m);

/*
** A sink for one value. Keys must come in the order of es_cbor_compare_keys;
** containers need their count. Strings may be any bytes, numbers also NaN
** and infinite. An unmarked empty table is an empty map.
*/
typedef struct es_CborSink {
  es_Sink sink;
  es_Buffer *out;
  uint32_t depth;
} es_CborSink;

void es_sink_cbor(es_CborSink *s, es_Buffer *out);

/* ---- Reading ---- */

typedef enum es_CborError {
  ES_CBOR_OK = 0,
  ES_CBOR_NOMEM,
  ES_CBOR_END,        /* the bytes end inside an item */
  ES_CBOR_SHORTEST,   /* a head or float that is not the shortest */
  ES_CBOR_FORM,       /* reserved or indefinite form, or other simple value */
  ES_CBOR_RANGE,      /* an integer beyond int64 */
  ES_CBOR_UTF8,       /* text that is not UTF-8, or bytes that are text */
  ES_CBOR_ORDER,      /* map keys out of order or twice */
  ES_CBOR_KEY,        /* a map key that is no string */
  ES_CBOR_PROTO,      /* the key "__proto__" */
  ES_CBOR_DEPTH,      /* nesting deeper than ES_DEPTH_MAX */
  ES_CBOR_COUNT,      /* a count that the bytes left cannot hold, or bytes
                         that are no whole number of elements */
  ES_CBOR_LIMIT,      /* more nodes than a document can hold */
  ES_CBOR_TYPE        /* another kind of item was expected here */
} es_CborError;

/* A cursor. After an error it stays there: all further reads fail. */
typedef struct es_CborReader {
  const unsigned char *bytes;
  size_t n, at;
  es_CborError error;
  size_t offset;      /* of the error */
} es_CborReader;

void es_cbor_reader(es_CborReader *r, const void *bytes, size_t n);

/*
** Each returns true, or false with r->error and r->offset set: where the item
** begins, the end of the bytes for ES_CBOR_END. The first error stays.
*/
int es_cbor_fail(es_CborReader *r, es_CborError error, size_t offset);
/* Any head but that of a float, whose value would look like another's. */
int es_cbor_read_head(es_CborReader *r, es_CborMajor *major,
                      uint64_t *value);
/* The major type of the next item, without moving; false at the end. */
int es_cbor_peek(const es_CborReader *r, es_CborMajor *major);
int es_cbor_read_int(es_CborReader *r, int64_t *value);
int es_cbor_read_bool(es_CborReader *r, int *value);
/* A text or byte string; '*s' points into the input. */
int es_cbor_read_string(es_CborReader *r, const char **s, size_t *n);
/* A byte string, whatever it holds. */
int es_cbor_read_bytes(es_CborReader *r, const char **s, size_t *n);
int es_cbor_read_tag(es_CborReader *r, uint64_t tag);
/* An array or map of at most as many items as bytes are left. */
int es_cbor_read_array(es_CborReader *r, uint64_t *n);
int es_cbor_read_map(es_CborReader *r, uint64_t *n);
/* A key of a map; it must be text and equal 'word'. */
int es_cbor_read_word(es_CborReader *r, const char *word);
/*
** A typed array; '*data' points at its little-endian bytes in the input
** (unaligned), '*n' counts elements.
*/
int es_cbor_read_typed(es_CborReader *r, es_CborType *type,
                       const unsigned char **data, size_t *n);
/*
** Any value (no tags) as the next value of a document under construction.
** Maps become objects, an empty map ES_NODE_EMPTY.
*/
int es_cbor_read_value(es_CborReader *r, es_Document *d);

/* Little-endian numbers of a typed array. */
int64_t es_cbor_int_at(const unsigned char *data, es_CborType type, size_t i);
double es_cbor_float_at(const unsigned char *data, size_t i);

const char *es_cbor_message(es_CborError error);

#endif
