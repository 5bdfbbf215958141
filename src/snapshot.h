/*
** snapshot.h - exact binary snapshots: the format's parts, and their writer.
**
**   55799(["ecsser-snapshot", 1, header, body, digest])
**
** A column is written as a function of its values alone: a typed array of the
** narrowest integers, of doubles, or of slots (references); a bit string of
** booleans; else an array of values. A set of slots is a bit string or a list
** of uint32, whichever is shorter.
*/
#ifndef ES_SNAPSHOT_H
#define ES_SNAPSHOT_H

#include "cbor.h"
#include "luadoc.h"
#include "world.h"

#define ES_SNAPSHOT_NAME "ecsser-snapshot"
#define ES_SNAPSHOT_VERSION 1
#define ES_SNAPSHOT_TAG 55799

/* What a header says about a trait. */
typedef enum es_SavedKind {
  ES_SAVED_TAG, ES_SAVED_SOA, ES_SAVED_AOS,
  ES_SAVED_PAIR, ES_SAVED_PAIR_SOA, ES_SAVED_PAIR_AOS, ES_SAVED_KINDS
} es_SavedKind;

/* The words of kinds and of field types in the header. */
extern const char *const es_snapshot_kinds[ES_SAVED_KINDS];

/* Field types; the last one is a reference. */
#define ES_SAVED_REF (ES_FIELD_ANY + 1)
extern const char *const es_snapshot_types[ES_SAVED_REF + 1];

/*
** The values of one column: a Lua list of values keyed by 'keys' (slots or
** rows), written to 'out'. 'walk' tells values that are no plain numbers or
** booleans; its sink must write to 'out'. Returns NULL, or what is wrong with
** the value of keys['*at'].
*/
typedef struct es_ColumnWriter {
  lua_State *L;
  es_Buffer *out;
  es_Buffer *scratch;    /* numbers before they are narrowed */
  es_LuaWalk *walk;
  int common;            /* what all values of the last column were */
} es_ColumnWriter;

const char *es_column_write(es_ColumnWriter *w, int column,
                            const uint32_t *keys, uint32_t n, uint32_t *at);

/*
** True if the last column's form alone tells that all values may stand in a
** field of this type.
*/
int es_column_is_typed(const es_ColumnWriter *w, es_FieldType type);

/* References as they are: slots, 0 for none. */
es_Status es_column_put_slots(es_Buffer *out, const uint32_t *slots,
                              uint32_t n);

/* The narrowest type for integers in low..high, and for counts to 'top'. */
es_CborType es_column_narrowest(int64_t low, int64_t high);
es_CborType es_column_narrowest_count(uint32_t top);

/*
** Whether a set of 'n' slots is written as a list, its bit string having
** 'bits' bytes.
*/
int es_set_is_list(uint32_t n, size_t bits);

/* A set of slots, given ascending. */
es_Status es_set_write(es_Buffer *out, const uint32_t *slots, uint32_t n);

/* Unsigned numbers in the narrowest typed array. */
es_Status es_column_put_counts(es_Buffer *out, const uint32_t *values,
                               uint32_t n);

/* A text of ours. */
es_Status es_put_word(es_Buffer *out, const char *word);

/* The frame around header and body, with the digest. */
es_Status es_snapshot_frame(es_Buffer *out, const es_Buffer *header,
                            const es_Buffer *body);

#endif
