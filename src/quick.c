/* quick.c - see quick.h */
#include "quick.h"

#include <string.h>

#include <lauxlib.h>

#include "guard.h"
#include "json_read.h"
#include "luadoc.h"
#include "number.h"
#include "query.h"
#include "quick_private.h"

typedef unsigned char Byte;
typedef es_Quick Quick;
typedef es_QuickEntry Entry;

/* ---- what is expected -------------------------------------------------- */

/* The fixed ends of the text. */
#define HEAD "{\"format\":\"ecs-serialize\",\"version\":1,\"entities\":["
#define WORLD "],\"world\":"

/* Eight bytes at a time; the last ones may overlap. */
static inline int same(const Byte *p, const char *text, size_t n) {
  size_t i;
  uint64_t a, b;
  if (n < 8) return memcmp(p, text, n) == 0;
  for (i = 0; i + 8 < n; i += 8) {
    memcpy(&a, p + i, 8);
    memcpy(&b, text + i, 8);
    if (a != b) return 0;
  }
  memcpy(&a, p + n - 8, 8);
  memcpy(&b, text + n - 8, 8);
  return a == b;
}

static int take_text(Quick *q, const char *text, size_t n) {
  if ((size_t)(q->end - q->p) < n || memcmp(q->p, text, n) != 0) return 0;
  q->p += n;
  q->comma = 0;
  return 1;
}

/* Takes what a save would tell here; false if it is something else. */
static inline int take(Quick *q, const es_Phrase *phrase) {
  const Byte *p = q->p;
  if ((size_t)(q->end - p) <= phrase->len) return 0;
  if (q->comma & phrase->before) {
    if (*p != ',') return 0;
    p++;
  }
  if (!same(p, phrase->text, phrase->len)) return 0;
  q->p = p + phrase->len;
  q->comma = phrase->after;
  return 1;
}

static int take_fixed(Quick *q, int which) {
  return take(q, &q->wording.phrases[which]);
}

/* True at the bracket that ends a list, or where the text ends. */
static int at_end(const Quick *q, char bracket) {
  return q->p == q->end || *q->p == (Byte)bracket;
}

/* ---- values ------------------------------------------------------------ */

/* Pushes a string without escapes and beyond ASCII; false for any other. */
static int push_plain(Quick *q) {
  const Byte *p = q->p + 1;
  uint64_t tops;
  for (;; p += 8) {
    if (q->end - p < 8) return 0;
    tops = es_json_not_plain(es_json_load(p));
    if (tops != 0) break;
  }
  p += es_json_below(tops);
  if (*p != '"') return 0;
  if (!q->dry)
    lua_pushlstring(q->op.L, (const char *)q->p + 1,
                    (size_t)(p - q->p) - 1);
  q->p = p + 1;
  return 1;
}

/* True if the value may be nested deeper than is allowed where it stands. */
static int is_deep(const es_Document *d) {
  enum { MOST = ES_DEPTH_MAX - 7 };   /* as deep as values of pairs lie */
  uint32_t ends[MOST], depth = 0, i;
  for (i = 0; i < d->count; i++) {
    const es_Node *n = es_document_node(d, i);
    while (depth > 0 && ends[depth - 1] <= i) depth--;
    if (n->type < ES_NODE_ARRAY) continue;
    if (depth == MOST) return 1;
    ends[depth++] = n->u.end;
  }
  return 0;
}

/* Any value, as a document. */
static int push_any(Quick *q) {
  const Byte *p = es_json_next(q->reader, q->p);
  if (p == NULL || p == q->end) return 0;
  if (p - q->p > ES_DEPTH_MAX && is_deep(q->document)) return 0;
  if (!q->dry) es_pusher_push(&q->pusher, 0);
  q->p = p;
  return 1;
}

/* A small integer, as most are; else any number. */
static inline es_Number read_number(const Quick *q) {
  es_Number number = {ES_NUMBER_INT, 0, 0, 0};
  const Byte *p = q->p;
  size_t left = (size_t)(q->end - p), n = 0;
  if (left > 8 && *p != '0')
    for (; n < 8 && p[n] >= '0' && p[n] <= '9'; n++)
      number.i = number.i * 10 + (p[n] - '0');
  number.len = n;
  if (n > 0 && n < 8 && (p[n] == ',' || p[n] == '}')) return number;
  return es_number_read((const char *)p, left);
}

static int push_number(Quick *q, es_Number *number) {
  *number = read_number(q);
  q->p += number->len;
  if (number->kind == ES_NUMBER_INT) {
    if (!q->dry) lua_pushinteger(q->op.L, number->i);
    return 1;
  }
  if (number->kind != ES_NUMBER_FLOAT) return 0;
  if (!q->dry) lua_pushnumber(q->op.L, number->d);
  return 1;
}

/* A reference: its place is noted, and holds the index until all are known. */
static int push_ref(Quick *q, int column, uint32_t key) {
  es_QuickRef ref = {0, 0, 0};
  es_Number number;
  if (!push_number(q, &number) || number.kind != ES_NUMBER_INT ||
      number.i < 0 || number.i > ES_SLOT_MAX)
    return 0;
  if (q->dry) return 1;
  ref.column = column;
  ref.key = key;
  ref.index = (uint32_t)number.i;
  es_try(q->op.L, es_buffer_put(q->refs, &ref, sizeof ref));
  return 1;
}

static int is_number(Byte c) {
  return c == '-' || (c >= '0' && c <= '9');
}

/* Pushes null, or nil where the field takes it for that. */
static int push_null(Quick *q, es_FieldType type, int ref) {
  if (!ref && type < ES_FIELD_NULLABLE) return 0;
  if (!take_text(q, "null", 4)) return 0;
  if (q->dry) return 1;
  if (type == ES_FIELD_NULLABLE) lua_pushnil(q->op.L);
  else lua_pushlightuserdata(q->op.L, NULL);
  return 1;
}

/* Pushes a value that may stand in the field. */
static inline int push_value(Quick *q, es_FieldType type) {
  Byte c = *q->p;
  es_Number number;
  if (is_number(c))
    return type != ES_FIELD_BOOLEAN && type != ES_FIELD_STRING &&
           push_number(q, &number);
  if (c == '"')
    return type >= ES_FIELD_STRING && (push_plain(q) || push_any(q));
  if (c == 'n') return push_null(q, type, 0);
  if (type != ES_FIELD_BOOLEAN && type < ES_FIELD_NULLABLE) return 0;
  if (type == ES_FIELD_BOOLEAN && c != 't' && c != 'f') return 0;
  return push_any(q);
}

/* The value of a field, under a key of its column. */
static inline int take_value(Quick *q, const Entry *e, uint32_t field,
                             uint32_t key) {
  es_FieldType type = e->store->trait->fields[field].type;
  int column = e->columns + (int)field, ok;
  if (q->end - q->p < 4) return 0;
  if (!es_entry_is_ref(e->words->entry, field)) ok = push_value(q, type);
  else if (is_number(*q->p)) ok = push_ref(q, column, key);
  else ok = push_null(q, type, 1);
  q->comma = 1;
  if (!ok || q->dry) return ok;
  if (lua_isnil(q->op.L, -1)) lua_pop(q->op.L, 1);   /* there is none yet */
  else lua_rawseti(q->op.L, column, key);
  return 1;
}

/* ---- records ----------------------------------------------------------- */

/* The fields of a value, or the value; the first phrase has been taken. */
static int take_fields(Quick *q, const Entry *e, uint32_t key) {
  const es_Words *w = e->words;
  uint32_t i;
  if (!take_value(q, e, 0, key)) return 0;
  for (i = 1; i < w->n; i++)
    if (!take(q, &w->fields[i]) || !take_value(q, e, i, key)) return 0;
  if (w->n == 0 && !e->store->trait->relation) return 1;
  return take(q, &w->fields[w->n > 0 ? w->n : 1]);
}

/* What begins an entry: a tag's or relation's name, or a value's key. */
static const es_Phrase *opening(const Entry *e, es_Part part) {
  return part == ES_PART_TRAITS ? e->words->fields : e->words->name;
}

/*
** Takes what begins the next entry of a part. They come in the order of
** registration, so that none comes twice; what followed the last one before
** mostly does so again. NULL for anything else.
*/
static Entry *take_entry(Quick *q, es_Part part, uint32_t *last) {
  Entry *before = &q->entries[*last];
  uint32_t i = before->follow;
  if (i == 0 || !take(q, opening(&q->entries[i], part))) {
    for (i = *last < q->first[part] ? q->first[part] : *last + 1;
         i < q->first[part + 1]; i++)
      if (q->entries[i].usable && take(q, opening(&q->entries[i], part)))
        break;
    if (i == q->first[part + 1]) return NULL;
    before->follow = i;
  }
  *last = i;
  return &q->entries[i];
}

static void add_member(Quick *q, Entry *e, uint32_t slot, uint32_t target) {
  es_QuickMember m = {NULL, 0, 0};
  e->count++;
  if (q->dry) return;
  m.store = e->store;
  m.slot = slot;
  m.target = target;
  es_try(q->op.L, es_buffer_put(q->members, &m, sizeof m));
}

static int take_tags(Quick *q, uint32_t slot) {
  uint32_t last = ES_PART_TAGS;
  while (!at_end(q, ']')) {
    Entry *e = take_entry(q, ES_PART_TAGS, &last);
    if (e == NULL) return 0;
    add_member(q, e, slot, 0);
  }
  return 1;
}

static int take_traits(Quick *q, uint32_t slot) {
  uint32_t last = ES_PART_TRAITS;
  while (!at_end(q, '}')) {
    Entry *e = take_entry(q, ES_PART_TRAITS, &last);
    if (e == NULL || !take_fields(q, e, slot)) return 0;
    add_member(q, e, slot, 0);
  }
  return 1;
}

/* True if the list that began at 'from' has the target already. */
static int is_repeated(const Quick *q, size_t from, uint32_t target) {
  const char *at = q->members->data + from, *end;
  end = q->members->data + q->members->len;
  for (; !q->dry && at < end; at += sizeof(es_QuickMember))
    if (((const es_QuickMember *)(const void *)at)->target == target)
      return 1;
  return 0;
}

static int take_pair(Quick *q, Entry *e, uint32_t slot, size_t from) {
  const es_Words *w = e->words;
  uint32_t key = es_pairs_peek(&e->store->pairs, e->count);
  es_Number number;
  if (!take_fixed(q, ES_SAY_TARGET)) return 0;
  number = read_number(q);
  if (number.kind != ES_NUMBER_INT || number.i < 0 || number.i > ES_SLOT_MAX)
    return 0;
  q->p += number.len;
  q->comma = 1;
  if (is_repeated(q, from, (uint32_t)number.i)) return 0;
  if (e->store->trait->kind == ES_TAG) {
    if (!take_fixed(q, ES_SAY_END_PAIR)) return 0;
  } else if (!take(q, w->fields) || !take_fields(q, e, key)) {
    return 0;
  }
  add_member(q, e, slot, (uint32_t)number.i);
  return 1;
}

/* More targets than are quickly compared are left to the general way. */
static int take_targets(Quick *q, Entry *e, uint32_t slot) {
  enum { MOST = 64 };
  size_t from = q->members->len;
  uint32_t n = 0;
  do {
    if (!take_pair(q, e, slot, from) || ++n > MOST) return 0;
  } while (!at_end(q, ']'));
  if (e->store->trait->exclusive && n > 1) return 0;
  return take_fixed(q, ES_SAY_END_LIST);
}

static int take_pairs(Quick *q, uint32_t slot) {
  uint32_t last = ES_PART_PAIRS;
  do {
    Entry *e = take_entry(q, ES_PART_PAIRS, &last);
    if (e == NULL || !take_targets(q, e, slot)) return 0;
  } while (!at_end(q, '}'));
  return take_fixed(q, ES_SAY_END);
}

static int take_record(Quick *q, uint32_t slot) {
  if (!take_fixed(q, ES_SAY_RECORD_NO_TAGS)) {
    if (!take_fixed(q, ES_SAY_RECORD) || !take_tags(q, slot) ||
        !take_fixed(q, ES_SAY_TRAITS))
      return 0;
  }
  if (!take_traits(q, slot)) return 0;
  if (slot == 0) return take_fixed(q, ES_SAY_END);
  if (take_fixed(q, ES_SAY_END_NO_PAIRS)) return 1;
  return take_fixed(q, ES_SAY_PAIRS) && take_pairs(q, slot);
}

/* At most so many records. */
static int take_records(Quick *q, uint32_t most) {
  uint32_t slot = q->slot;
  for (q->n = 0; q->n < most && !at_end(q, ']'); q->n++) {
    if (slot + q->n > ES_SLOT_MAX || !take_record(q, slot + q->n)) return 0;
  }
  return 1;
}

int es_quick_take(Quick *q) {
  return take_text(q, HEAD, sizeof HEAD - 1) &&
         take_records(q, UINT32_MAX) &&
         take_text(q, WORLD, sizeof WORLD - 1) && take_record(q, 0) &&
         q->end - q->p == 1;   /* the last bracket, which is there */
}

/* How many records there will be of each kind, by the first ones. */
int es_quick_sample(Quick *q) {
  enum { SAMPLE = 64 };
  const Byte *start = q->p;
  size_t taken;
  q->dry = 1;
  if (!take_text(q, HEAD, sizeof HEAD - 1) || !take_records(q, SAMPLE))
    return 0;
  taken = (size_t)(q->p - start);
  q->ratio = at_end(q, ']') ? 1.0
                            : 1.02 * (double)(q->end - start) / (double)taken;
  q->sampled = q->n;
  q->p = start;
  q->dry = 0;
  return 1;
}
