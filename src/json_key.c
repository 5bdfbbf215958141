/*
** json_key.c - keys of JSON text; see json_read.h.
**
** A save repeats a few keys over and over, in much the same order. Those that
** are remembered need only be compared: they are known to be text, and their
** nodes share the bytes in the document. json.c itself takes the key that came
** next the last time, or that came last of those with the same first letters.
*/
#include <string.h>

#include "json_read.h"

typedef unsigned char Byte;
typedef es_JsonReader Reader;

/* How many slots, from its own on, a key may be in. */
#define PROBES 4

void es_json_suspect(Reader *r) {
  r->top->seen = ES_JSON_CHECK;
}

/*
** Spreads the keys over the slots. It depends on the bytes of a key only, and
** so does the bit that is taken from it: equal keys have equal bits. Keys
** that were chosen to share a slot are merely read like other strings.
*/
static inline uint64_t hash_at(const Byte *p, uint64_t word) {
  uint64_t quotes = es_json_quotes(word & ~UINT64_C(0xFF));
  uint64_t head = es_json_up_to(word, quotes);
  if (quotes == 0) {
    uint64_t tail = es_json_load(p + 8);
    tail = es_json_up_to(tail, es_json_quotes(tail));
    head ^= tail << 7 | tail >> 57;
  }
  return head * UINT64_C(0x9E3779B97F4A7C15) >> 48;
}

es_JsonKey *es_json_find(Reader *r, const Byte *p, uint64_t word) {
  uint64_t hash = hash_at(p, word);
  uint64_t i;
  for (i = 0; i < PROBES; i++) {
    size_t index = r->slots[(hash + i) % ES_JSON_SLOTS];
    if (es_json_same(r, &r->keys[index], p, word)) {
      r->recent[es_json_start(word)] = (Byte)index;
      return &r->keys[index];
    }
  }
  return NULL;
}

/* The first free slot for this hash, or its first one. */
static Byte *find_slot(Reader *r, uint64_t hash) {
  uint64_t i;
  for (i = 0; i < PROBES; i++) {
    Byte *slot = &r->slots[(hash + i) % ES_JSON_SLOTS];
    if (*slot == 0) return slot;
  }
  return &r->slots[hash % ES_JSON_SLOTS];
}

/* Remembers the key at 'p', in place of an old one when there are many. */
static es_JsonKey *insert(Reader *r, const Byte *p, const es_Node *node) {
  size_t n = (size_t)node->count + 2;
  uint64_t word = es_json_load(p);
  uint64_t hash = hash_at(p, word);
  size_t index = 1 + r->known++ % (ES_JSON_KEYS - 1);
  es_JsonKey *key = &r->keys[index];
  *find_slot(r, hash) = (Byte)index;
  key->mask = n < 8 ? (UINT64_C(1) << 8 * n) - 1 : UINT64_MAX;
  key->head = word & key->mask;
  key->last = n < 8 ? 0 : es_json_load(p + n - 8);
  key->bit = UINT64_C(1) << hash / 1024;
  key->node = *node;
  key->n = n;
  key->follow = r->keys;
  r->recent[es_json_start(word)] = (Byte)index;
  return key;
}

/* True if the key between 'p' and 'behind' has no escapes. */
static int is_plain(const es_Node *node, const Byte *p, const Byte *behind) {
  return (size_t)(behind - p) == (size_t)node->count + 2;
}

/* Reads the key at 'p' as a string. */
static const Byte *read_new(Reader *r, const Byte *p) {
  const Byte *behind = es_json_string(r, p);
  const es_Node *node;
  if (behind == NULL) return NULL;
  node = r->next - 1;
  if (node->count == 9 &&
      memcmp(r->d->text.data + node->u.text, "__proto__", 9) == 0)
    return es_json_fail(r, ES_JSON_PROTO, p);
  if (p < r->safe && node->count <= ES_JSON_KEY_MAX &&
      is_plain(node, p, behind)) {
    es_JsonKey *key = insert(r, p, node);
    r->latest->follow = key;
    r->next--;
    return es_json_take(r, r->top, key, p);
  }
  es_json_suspect(r);   /* who knows what it equals */
  return behind;
}

const Byte *es_json_colon(Reader *r, const Byte *p) {
  if (p < r->end && *p != ':') p = es_json_space(r, p);
  if (p == r->end || *p != ':') return es_json_fail_at(r, ES_JSON_BYTE, p);
  return p + 1;
}

/* The key at 'p', which lies before 'safe'. */
static const Byte *read_known(Reader *r, const Byte *p) {
  uint64_t word = es_json_load(p);
  es_JsonKey *key = r->latest->follow;
  if (!es_json_same(r, key, p, word)) {
    key = es_json_find(r, p, word);
    if (key == NULL) return read_new(r, p);
    r->latest->follow = key;
  }
  return es_json_take(r, r->top, key, p);
}

const Byte *es_json_key(Reader *r, const Byte *p) {
  p = es_json_space(r, p);
  if (p == r->end || *p != '"') return es_json_fail_at(r, ES_JSON_BYTE, p);
  p = p < r->safe ? read_known(r, p) : read_new(r, p);
  return p == NULL ? NULL : es_json_colon(r, p);
}
