/*
** json_read.h - what the files of the JSON reader share; see json.h.
**
** Reading functions take the place where they begin and return the place
** behind what they took, or NULL when reading is over: with 'error' set, or
** with the value complete. Nodes are written where the document has room for
** them, without asking it each time: json.c sees to the room.
*/
#ifndef ES_JSON_READ_H
#define ES_JSON_READ_H

#include <string.h>

#include "json.h"

/* Keys that are remembered, more than most saves have, and their length. */
#define ES_JSON_KEYS 256
#define ES_JSON_KEY_MAX 32

/* Where they are found; a power of two. */
#define ES_JSON_SLOTS 512

/* The bytes that may be looked at from before 'safe': a key and more. */
#define ES_JSON_AHEAD 40

/* In 'seen': the keys must be compared, some may be equal. */
#define ES_JSON_CHECK UINT64_MAX

/*
** A key that was read before, and held no escapes. It is compared as it stands
** in the text, with its quotes: the first eight bytes; if there are more, the
** last eight; and then what lies between.
*/
typedef struct es_JsonKey {
  uint64_t head, mask;         /* 'mask' leaves what belongs to the key */
  uint64_t last;
  uint64_t bit;                /* for 'seen' */
  es_Node node;
  size_t n;                    /* its length with the quotes */
  struct es_JsonKey *follow;   /* the key that came next, last time */
} es_JsonKey;

/* An open container. */
typedef struct es_JsonLevel {
  union {
    es_Node *node;
    size_t index;   /* while the nodes move */
  } at;
  uint64_t seen;    /* a bit for each key so far, or ES_JSON_CHECK */
  uint32_t count;
  unsigned char close;   /* the bracket that ends it */
} es_JsonLevel;

typedef struct es_JsonReader {
  es_Document *d;
  const unsigned char *start, *end, *safe;
  const unsigned char *check;     /* there it is time to look for room */
  const unsigned char *behind;    /* where the complete value ends */
  es_Node *nodes, *next;          /* those of 'd'; the first free one */
  es_JsonLevel *top;
  int last;                       /* equal keys are no error */
  es_JsonError error;
  size_t offset;                  /* of the error */
  es_JsonKey *latest;             /* the key that was read last */
  size_t known;                   /* how many keys were remembered */
  unsigned char slots[ES_JSON_SLOTS];      /* indices of keys, by hash */
  unsigned char recent[256];               /* and by their first letters */
  es_JsonKey keys[ES_JSON_KEYS];           /* the first one is none */
  es_JsonLevel levels[ES_DEPTH_MAX + 1];   /* and so is this */
} es_JsonReader;

/* ---- words ------------------------------------------------------------- */

#define ES_JSON_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes, the first one lowest; compilers make one load of it. */
static inline uint64_t es_json_load(const unsigned char *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
         (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
         (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/*
** The bytes that are quotes, as their top bits. Borrows may set bits above
** the lowest one that is set; that one is right.
*/
static inline uint64_t es_json_quotes(uint64_t word) {
  uint64_t x = word ^ ES_JSON_EACH('"');
  return (x - ES_JSON_EACH(1)) & ~x & ES_JSON_EACH(0x80);
}

/*
** Bytes that cannot stand in a plain string of ASCII, or end it, likewise:
** those from which 0x20 borrows, or 1 where they equal a quote or a backslash.
*/
static inline uint64_t es_json_not_plain(uint64_t w) {
  uint64_t control = w - ES_JSON_EACH(0x20);
  uint64_t quote = (w ^ ES_JSON_EACH('"')) - ES_JSON_EACH(1);
  uint64_t slash = (w ^ ES_JSON_EACH('\\')) - ES_JSON_EACH(1);
  return (w | control | quote | slash) & ES_JSON_EACH(0x80);
}

/* What stands up to the lowest bit of 'tops', which are top bits, or all. */
static inline uint64_t es_json_up_to(uint64_t word, uint64_t tops) {
  return word & (tops ^ (tops - 1));
}

/* How many bytes lie below the lowest bit of 'bits', which is not 0. */
static inline size_t es_json_below(uint64_t bits) {
  uint64_t below = (bits - 1) & ~bits;
  /* as many as 'below' has whole bytes: one bit of each, added up */
  return (size_t)((((below >> 7) & ES_JSON_EACH(1)) * ES_JSON_EACH(1)) >> 56);
}

/* Has the keys of the innermost object compared. */
void es_json_suspect(es_JsonReader *r);

/* ---- keys -------------------------------------------------------------- */

/* True if the key at 'p', of which 'word' is the head, is 'key'. */
static inline int es_json_same(const es_JsonReader *r, const es_JsonKey *key,
                               const unsigned char *p, uint64_t word) {
  size_t n = key->n;
  if ((word & key->mask) != key->head) return 0;
  if (n <= 8) return 1;
  if (es_json_load(p + n - 8) != key->last) return 0;
  return n <= 16 || memcmp(p + 8, r->d->text.data + key->node.u.text + 7,
                           n - 16) == 0;
}

/* The index in 'recent' of a key that begins with 'word'. */
static inline size_t es_json_start(uint64_t word) {
  return (uint32_t)word * UINT32_C(0x9E3779B9) >> 24;
}

/*
** Adds the key's node and its bit; returns the place behind the key. Keys that
** differ may share a bit; equal ones always do.
*/
static inline const unsigned char *es_json_take(es_JsonReader *r,
                                                es_JsonLevel *top,
                                                es_JsonKey *key,
                                                const unsigned char *p) {
  es_Node *node = r->next++;
  *node = key->node;
  if ((top->seen & key->bit) != 0) es_json_suspect(r);
  else top->seen |= key->bit;
  r->latest = key;
  return p + key->n;
}

/* The key at 'p', of which 'word' is the head, if it is remembered. */
es_JsonKey *es_json_find(es_JsonReader *r, const unsigned char *p,
                         uint64_t word);

/* Any key and its colon, with the space before and between. */
const unsigned char *es_json_key(es_JsonReader *r, const unsigned char *p);

/* What stands behind a key: a colon. */
const unsigned char *es_json_colon(es_JsonReader *r, const unsigned char *p);

/* ---- one value after the other ----------------------------------------- */

/*
** Begins to read values from a text that ends with a closing bracket. Then
** each value, from its first byte on, is read into 'd' in place of the one
** before; NULL, with 'error' set, when it is none.
*/
void es_json_begin(es_JsonReader *r, es_Document *d, const char *s, size_t n);
const unsigned char *es_json_next(es_JsonReader *r, const unsigned char *p);

/* ---- and the rest ------------------------------------------------------ */

/* A string, from its opening quote on. */
const unsigned char *es_json_string(es_JsonReader *r, const unsigned char *p);

/* To what is no space. */
const unsigned char *es_json_space(const es_JsonReader *r,
                                   const unsigned char *p);

/* Notes the error; returns NULL. */
const unsigned char *es_json_fail(es_JsonReader *r, es_JsonError error,
                                  const unsigned char *at);

/* A wrong byte, unless there is none because the text ends. */
const unsigned char *es_json_fail_at(es_JsonReader *r, es_JsonError error,
                                     const unsigned char *at);

/* True if ES_OK; notes the error if not. */
int es_json_built(es_JsonReader *r, es_Status status,
                  const unsigned char *at);

#endif
