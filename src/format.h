/*
** format.h - the binary snapshot's parts that know no Lua.
**
**   55799(["ecsser-snapshot", 1, header, body, digest])
**
** A column is written as a function of its values alone: a typed array of the
** narrowest integers, of doubles, or of slots (references); a bit string of
** booleans; else an array of values. A set of slots is a bit string or a list
** of uint32, whichever is shorter.
*/
#ifndef ES_FORMAT_H
#define ES_FORMAT_H

#include "cbor.h"

#define ES_FORMAT_NAME "ecsser-snapshot"
#define ES_FORMAT_VERSION 1
#define ES_FORMAT_TAG 55799

/* What a header says about a trait. */
typedef enum es_SavedKind {
  ES_SAVED_TAG, ES_SAVED_SOA, ES_SAVED_AOS,
  ES_SAVED_PAIR, ES_SAVED_PAIR_SOA, ES_SAVED_PAIR_AOS, ES_SAVED_KINDS
} es_SavedKind;

/* The words of kinds in the header. */
extern const char *const es_format_kinds[ES_SAVED_KINDS];

/* The words of field types: those of es_FieldType, then the reference. */
#define ES_SAVED_REF 6u
#define ES_SAVED_TYPES 7u
extern const char *const es_format_types[ES_SAVED_TYPES];

/* References as they are: slots, 0 for none. */
es_Status es_format_put_slots(es_Buffer *out, const uint32_t *slots,
                              uint32_t n);

/* The narrowest type for integers in low..high, and for counts to 'top'. */
es_CborType es_format_narrowest(int64_t low, int64_t high);
es_CborType es_format_narrowest_count(uint32_t top);

/*
** Whether a set of 'n' slots is written as a list, its bit string having
** 'bits' bytes.
*/
int es_format_set_is_list(uint32_t n, size_t bits);

/* A set of slots, given ascending. */
es_Status es_format_put_set(es_Buffer *out, const uint32_t *slots, uint32_t n);

/* Unsigned numbers in the narrowest typed array. */
es_Status es_format_put_counts(es_Buffer *out, const uint32_t *values,
                               uint32_t n);

/* A text of ours. */
es_Status es_format_put_word(es_Buffer *out, const char *word);

/* The frame around header and body, with the digest. */
es_Status es_format_put_frame(es_Buffer *out, const es_Buffer *header,
                            const es_Buffer *body);

/* Elements of a typed array from their 64 bits each. */
es_Status es_format_put_array(es_Buffer *out, es_CborType type,
                              const uint64_t *values, uint32_t n);

#endif
