/* document.c - see document.h */
#include "document.h"

#include <string.h>

#define NODES_MAX (UINT32_MAX - 1)

/* Up to here keys are compared with each other; larger objects are sorted. */
#define FEW_KEYS 16

void es_document_init(es_Document *d, es_Alloc alloc) {
  d->alloc = alloc;
  d->nodes = NULL;
  d->count = d->cap = d->depth = 0;
  es_buffer_init(&d->text, alloc);
}

void es_document_free(es_Document *d) {
  es_alloc_free(&d->alloc, d->nodes, d->cap, sizeof(es_Node));
  d->nodes = NULL;
  d->count = d->cap = d->depth = 0;
  es_buffer_free(&d->text);
}

/* ---- building ---------------------------------------------------------- */

es_Status es_document_reserve(es_Document *d, size_t n) {
  size_t cap;
  es_Node *nodes;
  if (n <= d->cap - d->count) return ES_OK;
  if (n > NODES_MAX - d->count) return ES_LIMIT;
  cap = es_alloc_grow(d->cap, d->count + n);
  if (d->cap == 0 && n >= 8) cap = n;   /* somebody knows what is needed */
  if (cap > NODES_MAX) cap = NODES_MAX;
  if (cap == 0) return ES_NOMEM;
  nodes = es_alloc_array(&d->alloc, d->nodes, d->cap, cap, sizeof(es_Node));
  if (nodes == NULL) return ES_NOMEM;
  d->nodes = nodes;
  d->cap = (uint32_t)cap;
  return ES_OK;
}

/* Adds a node; '*out' is valid until the next one is added. */
static es_Status push(es_Document *d, es_NodeType type, es_Node **out) {
  es_Node *node;
  if (d->count == d->cap) {
    es_Status status = es_document_reserve(d, 1);
    if (status != ES_OK) return status;
  }
  node = &d->nodes[d->count++];
  node->type = (uint32_t)type;
  node->count = 0;
  *out = node;
  return ES_OK;
}

/* The same for a value: an element of the array it stands in. */
static es_Status push_value(es_Document *d, es_NodeType type, es_Node **out) {
  es_Status status = push(d, type, out);
  if (status == ES_OK && d->depth > 0) {
    es_Node *parent = &d->nodes[d->open[d->depth - 1]];
    if (parent->type == ES_NODE_ARRAY) parent->count++;
  }
  return status;
}

es_Status es_document_open(es_Document *d, es_NodeType type) {
  es_Node *node;
  es_Status status;
  if (d->depth == ES_DEPTH_MAX) return ES_LIMIT;
  status = push_value(d, type, &node);
  if (status != ES_OK) return status;
  node->u.end = d->count;
  d->open[d->depth++] = d->count - 1;
  return ES_OK;
}

void es_document_close(es_Document *d) {
  d->nodes[d->open[--d->depth]].u.end = d->count;
}

static es_Status push_constant(es_Document *d, es_NodeType type) {
  es_Node *node;
  es_Status status = push_value(d, type, &node);
  if (status == ES_OK) node->u.i = 0;
  return status;
}

es_Status es_document_null(es_Document *d) {
  return push_constant(d, ES_NODE_NULL);
}

es_Status es_document_bool(es_Document *d, int value) {
  return push_constant(d, value ? ES_NODE_TRUE : ES_NODE_FALSE);
}

es_Status es_document_int(es_Document *d, int64_t value) {
  es_Node *node;
  es_Status status = push_value(d, ES_NODE_INT, &node);
  if (status == ES_OK) node->u.i = value;
  return status;
}

es_Status es_document_float(es_Document *d, double value) {
  es_Node *node;
  es_Status status = push_value(d, ES_NODE_FLOAT, &node);
  if (status == ES_OK) node->u.d = value;
  return status;
}

/*
** memmove without the call for the few bytes that most strings have: all
** loads come before the stores, and those may overlap.
*/
static void copy(char *out, const char *s, size_t n) {
  if (n > 16) {
    memmove(out, s, n);
  } else if (n >= 8) {
    uint64_t head, tail;
    memcpy(&head, s, 8);
    memcpy(&tail, s + n - 8, 8);
    memcpy(out, &head, 8);
    memcpy(out + n - 8, &tail, 8);
  } else if (n >= 4) {
    uint32_t head, tail;
    memcpy(&head, s, 4);
    memcpy(&tail, s + n - 4, 4);
    memcpy(out, &head, 4);
    memcpy(out + n - 4, &tail, 4);
  } else if (n > 0) {
    char middle = s[n / 2], last = s[n - 1];
    out[0] = s[0];
    out[n / 2] = middle;
    out[n - 1] = last;
  }
}

static es_Status make_room(es_Document *d, size_t n) {
  if (n <= d->text.cap - d->text.len) return ES_OK;
  return es_buffer_reserve(&d->text, n);
}

/*
** Gives a new string node its room in the text. What lies there already
** stays: a reader that unescapes may write behind the text, cut its length
** back, and hand the bytes over in place.
*/
static es_Status room(es_Document *d, es_Node *node, size_t n, char **out) {
  node->count = (uint32_t)n;
  node->u.text = d->text.len;
  *out = n == 0 ? NULL : d->text.data + d->text.len;
  d->text.len += n;
  return ES_OK;
}

es_Status es_document_string_room(es_Document *d, size_t n, char **out) {
  es_Node *node;
  es_Status status;
  if (n > UINT32_MAX) return ES_LIMIT;
  status = make_room(d, n);   /* first: a failure leaves nothing behind */
  if (status == ES_OK) status = push_value(d, ES_NODE_STRING, &node);
  return status == ES_OK ? room(d, node, n, out) : status;
}

es_Status es_document_string(es_Document *d, const char *s, size_t n) {
  char *out;
  es_Status status = es_document_string_room(d, n, &out);
  if (status == ES_OK) copy(out, s, n);
  return status;
}

es_Status es_document_key(es_Document *d, const char *s, size_t n) {
  char *out;
  es_Node *node;
  es_Status status;
  if (n == 9 && memcmp(s, "__proto__", 9) == 0) return ES_INVALID;
  if (n > UINT32_MAX) return ES_LIMIT;
  status = make_room(d, n);
  if (status == ES_OK) status = push(d, ES_NODE_STRING, &node);
  if (status == ES_OK) status = room(d, node, n, &out);
  if (status != ES_OK) return status;
  copy(out, s, n);
  d->nodes[d->open[d->depth - 1]].count++;
  return ES_OK;
}

/* ---- reading ----------------------------------------------------------- */

uint32_t es_document_find(const es_Document *d, uint32_t index,
                          const char *key, size_t n) {
  uint32_t found = 0;
  uint32_t i = index + 1;
  uint32_t end = i;
  if (d->nodes[index].type == ES_NODE_OBJECT) end = d->nodes[index].u.end;
  while (i < end) {
    const es_Node *node = &d->nodes[i];
    if (node->count == n &&
        (n == 0 || memcmp(d->text.data + node->u.text, key, n) == 0))
      found = i + 1;
    i = es_document_next(d, i + 1);
  }
  return found;
}

int es_document_compare(const char *a, size_t n, const char *b, size_t m) {
  size_t shared = n < m ? n : m;
  int order = shared > 0 ? memcmp(a, b, shared) : 0;
  if (order != 0) return order;
  return n < m ? -1 : n > m;
}

/* ---- keys that occur twice --------------------------------------------- */

static int same_key(const es_Document *d, const es_Node *a,
                    const es_Node *b) {
  const char *s, *t;
  if (a->count != b->count) return 0;
  if (a->count == 0) return 1;
  s = d->text.data + a->u.text;
  t = d->text.data + b->u.text;
  return *s == *t && memcmp(s, t, a->count) == 0;
}

static uint32_t duplicate_of_few(const es_Document *d, uint32_t index) {
  const es_Node *seen[FEW_KEYS];
  uint32_t n = 0;
  uint32_t end = d->nodes[index].u.end;
  uint32_t i = index + 1;
  while (i < end) {
    const es_Node *key = &d->nodes[i];
    uint32_t j;
    for (j = 0; j < n; j++)
      if (same_key(d, seen[j], key)) return i;
    seen[n++] = key;
    i = es_document_next(d, i + 1);
  }
  return 0;
}

/*
** Sorting by a hash first makes most comparisons one of integers. The hash is
** SipHash-1-3 (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
** short-input PRF", 2012), so that keys cannot be chosen to share it. Should
** some be, they cost a comparison of their bytes, n log n times.
*/
typedef struct Entry {
  uint64_t hash;
  uint32_t index;
} Entry;

typedef struct Seed {
  uint64_t a, b;
} Seed;

static uint64_t rotate(uint64_t x, unsigned bits) {
  return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1];
  v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sip_round(v);
  v[0] ^= word;
}

static uint64_t hash_key(const char *s, size_t n, Seed seed) {
  uint64_t v[4], word;
  uint64_t tail = (uint64_t)n << 56;
  v[0] = seed.a ^ UINT64_C(0x736F6D6570736575);
  v[1] = seed.b ^ UINT64_C(0x646F72616E646F6D);
  v[2] = seed.a ^ UINT64_C(0x6C7967656E657261);
  v[3] = seed.b ^ UINT64_C(0x7465646279746573);
  for (; n >= 8; s += 8, n -= 8) {
    memcpy(&word, s, 8);   /* in the machine's order: it is never stored */
    sip_word(v, word);
  }
  for (; n > 0; n--) tail |= (uint64_t)(unsigned char)s[n - 1] << 8 * (n - 1);
  sip_word(v, tail);
  v[2] ^= 0xFF;
  sip_round(v);
  sip_round(v);
  sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

/* It differs from run to run, as addresses do, and from text to text. */
static Seed make_seed(const es_Document *d, const Entry *e) {
  uint64_t first = 0;
  Seed seed;
  if (d->text.len >= 8) memcpy(&first, d->text.data, 8);
  seed.a = mix((uint64_t)(uintptr_t)e ^ mix(d->text.len));
  seed.b = mix((uint64_t)(uintptr_t)d->nodes ^ mix(first ^ seed.a));
  return seed;
}

static int key_order(const es_Document *d, const Entry *a, const Entry *b) {
  const es_Node *s, *t;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  s = &d->nodes[a->index];
  t = &d->nodes[b->index];
  return es_document_compare(es_document_text(d, s), s->count,
                             es_document_text(d, t), t->count);
}

/* Merges two sorted runs; of equal keys the one from 'a' comes first. */
static void merge(const es_Document *d, const Entry *a, size_t n,
                  const Entry *b, size_t m, Entry *out) {
  const Entry *a_end = a + n;
  const Entry *b_end = b + m;
  while (a < a_end && b < b_end)
    *out++ = key_order(d, b, a) < 0 ? *b++ : *a++;
  while (a < a_end) *out++ = *a++;
  while (b < b_end) *out++ = *b++;
}

/*
** A merge sort from below: no recursion, no bad case, and equal keys stay in
** the order of the text. Returns whichever of the two arrays holds the result.
*/
static const Entry *sort(const es_Document *d, Entry *e, Entry *spare,
                         size_t n) {
  size_t width, i;
  for (width = 1; width < n; width *= 2) {
    Entry *sorted = spare;
    for (i = 0; i < n; i += 2 * width) {
      size_t left = n - i < width ? n - i : width;
      size_t rest = n - i - left;
      merge(d, e + i, left, e + i + left, rest < width ? rest : width,
            spare + i);
    }
    spare = e;
    e = sorted;
  }
  return e;
}

static void collect(const es_Document *d, uint32_t index, Entry *e) {
  Seed seed = make_seed(d, e);
  uint32_t end = d->nodes[index].u.end;
  uint32_t i = index + 1;
  while (i < end) {
    const es_Node *key = &d->nodes[i];
    e->hash = hash_key(es_document_text(d, key), key->count, seed);
    e->index = i;
    e++;
    i = es_document_next(d, i + 1);
  }
}

/* The first key in the text that repeats another, as for few keys. */
static uint32_t first_repeated(const es_Document *d, const Entry *e,
                               size_t n) {
  uint32_t found = 0;
  size_t i;
  for (i = 1; i < n; i++) {
    if (found != 0 && e[i].index > found) continue;
    if (key_order(d, &e[i - 1], &e[i]) == 0) found = e[i].index;
  }
  return found;
}

es_Status es_document_duplicate(const es_Document *d, uint32_t index,
                                uint32_t *dup) {
  size_t n = d->nodes[index].count;
  Entry *entries;
  if (n <= FEW_KEYS) {
    *dup = duplicate_of_few(d, index);
    return ES_OK;
  }
  entries = es_alloc_array(&d->alloc, NULL, 0, n, 2 * sizeof(Entry));
  if (entries == NULL) return ES_NOMEM;
  collect(d, index, entries);
  *dup = first_repeated(d, sort(d, entries, entries + n, n), n);
  es_alloc_free(&d->alloc, entries, n, 2 * sizeof(Entry));
  return ES_OK;
}

/* ---- paths ------------------------------------------------------------- */

static int is_identifier(const char *s, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) {
    char c = s[i];
    int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return 0;
  }
  return n > 0;
}

/* [12] */
es_Status es_document_path_index(es_Buffer *out, uint64_t k) {
  char text[24];
  size_t at = sizeof text;
  text[--at] = ']';
  do {
    text[--at] = (char)('0' + k % 10);
    k /= 10;
  } while (k > 0);
  text[--at] = '[';
  return es_buffer_put(out, text + at, sizeof text - at);
}

/* ["a \"b\""]: what would end the quotes or the line is escaped. */
static es_Status put_quoted(es_Buffer *out, const char *s, size_t n) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  es_Status status = es_buffer_put(out, "[\"", 2);
  for (i = 0; i < n && status == ES_OK; i++) {
    unsigned char c = (unsigned char)s[i];
    char text[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    if (c < 0x20) {
      status = es_buffer_put(out, text, 6);
      continue;
    }
    if (c == '"' || c == '\\') status = es_buffer_putc(out, '\\');
    if (status == ES_OK) status = es_buffer_putc(out, s[i]);
  }
  return status == ES_OK ? es_buffer_put(out, "\"]", 2) : status;
}

es_Status es_document_path_key(es_Buffer *out, const char *s, size_t n) {
  es_Status status;
  if (!is_identifier(s, n)) return put_quoted(out, s, n);
  status = out->len > 0 ? es_buffer_putc(out, '.') : ES_OK;
  return status == ES_OK ? es_buffer_put(out, s, n) : status;
}

/* The element of the array at '*at' that holds 'index'; '*at' moves to it. */
static es_Status step_array(const es_Document *d, uint32_t *at,
                            uint32_t index, es_Buffer *out) {
  uint32_t k = 0;
  uint32_t i = *at + 1;
  uint32_t next;
  while ((next = es_document_next(d, i)) <= index) {
    i = next;
    k++;
  }
  *at = i;
  return es_document_path_index(out, k);
}

/* The same for the pair of an object; its key counts as its value. */
static es_Status step_object(const es_Document *d, uint32_t *at,
                             uint32_t index, es_Buffer *out) {
  uint32_t i = *at + 1;
  uint32_t next;
  const es_Node *key;
  while ((next = es_document_next(d, i + 1)) <= index) i = next;
  key = &d->nodes[i];
  *at = i == index ? i : i + 1;
  return es_document_path_key(out, es_document_text(d, key), key->count);
}

es_Status es_document_path(const es_Document *d, uint32_t index,
                           es_Buffer *out) {
  uint32_t at = 0;
  while (at != index) {
    es_Status status = d->nodes[at].type == ES_NODE_OBJECT
                         ? step_object(d, &at, index, out)
                         : step_array(d, &at, index, out);
    if (status != ES_OK) return status;
  }
  return ES_OK;
}
