/*
** cbor_random_test.c - random documents, told to a document and to the writer
** at once: what is read from the bytes is the document.
*/
#include "cbor_tools.h"

#define KEYS_MAX 8

typedef struct Maker {
  es_Sink *one;    /* both are told the same */
  es_Sink *other;
  uint64_t random;
} Maker;

typedef struct Key {
  char s[12];
  size_t n;
} Key;

static size_t below(Maker *m, size_t n) {
  return (size_t)(random_bits(&m->random) % n);
}

static void both(es_Status one, es_Status other) {
  if (one != ES_OK || other != ES_OK) abort();
}

static void make_key(Maker *m, Key *key) {
  static const char *const pieces[] = {
    "a", "b", "", "\xFF", "\xC3\xBC", "\xC3", "\xED\xA0\xBD", "0", "xyz"
  };
  size_t i;
  key->n = 0;
  for (i = 0; i < 3; i++) {
    const char *piece = pieces[below(m, sizeof pieces / sizeof *pieces)];
    memcpy(key->s + key->n, piece, strlen(piece));
    key->n += strlen(piece);
  }
  if (below(m, 8) == 0 && key->n > 0) key->s[0] = '\0';
}

static int key_order(const void *a, const void *b) {
  const Key *x = a;
  const Key *y = b;
  return es_cbor_compare_keys(x->s, x->n, y->s, y->n);
}

static void make_leaf(Maker *m) {
  uint64_t bits = random_bits(&m->random);
  unsigned shift = (unsigned)below(m, 64);
  int64_t i;
  double f;
  Key key;
  switch (below(m, 6)) {
    case 0: both(m->one->null(m->one), m->other->null(m->other)); return;
    case 1:
      both(m->one->boolean(m->one, bits & 1),
           m->other->boolean(m->other, bits & 1));
      return;
    case 2: case 3:
      i = (int64_t)(bits >> 1 >> shift);
      if (bits & 1) i = -i - 1;
      both(m->one->integer(m->one, i), m->other->integer(m->other, i));
      return;
    case 4:
      f = from_bits(bits >> shift << shift);
      both(m->one->number(m->one, f), m->other->number(m->other, f));
      return;
    default:
      make_key(m, &key);
      both(m->one->string(m->one, key.s, key.n),
           m->other->string(m->other, key.s, key.n));
  }
}

static void make_value(Maker *m, int depth);

static void make_map(Maker *m, int depth) {
  Key keys[KEYS_MAX];
  size_t i, n = 0;
  size_t wanted = below(m, KEYS_MAX);
  es_NodeType type;
  for (i = 0; i < wanted; i++) make_key(m, &keys[i]);
  qsort(keys, wanted, sizeof *keys, key_order);
  for (i = 0; i < wanted; i++)
    if (n == 0 || key_order(&keys[n - 1], &keys[i]) != 0) keys[n++] = keys[i];
  type = n == 0 ? ES_NODE_EMPTY : ES_NODE_OBJECT;
  both(m->one->open(m->one, type, (uint32_t)n),
       m->other->open(m->other, type, (uint32_t)n));
  for (i = 0; i < n; i++) {
    both(m->one->key(m->one, keys[i].s, keys[i].n),
         m->other->key(m->other, keys[i].s, keys[i].n));
    make_value(m, depth + 1);
  }
  both(m->one->close(m->one), m->other->close(m->other));
}

static void make_array(Maker *m, int depth) {
  uint32_t n = (uint32_t)below(m, below(m, 6) == 0 ? 40 : 6);
  uint32_t i;
  both(m->one->open(m->one, ES_NODE_ARRAY, n),
       m->other->open(m->other, ES_NODE_ARRAY, n));
  for (i = 0; i < n; i++) make_value(m, depth + 1);
  both(m->one->close(m->one), m->other->close(m->other));
}

static void make_value(Maker *m, int depth) {
  size_t kind = depth < 5 ? below(m, 4) : 3;
  if (kind == 0) make_map(m, depth);
  else if (kind == 1) make_array(m, depth);
  else make_leaf(m);
}

static void check_random(uint64_t seed) {
  Heap heap = {0};
  es_Document d, again;
  es_Buffer out, copy;
  es_DocumentSink to_document;
  es_CborSink to_bytes;
  es_CborReader r;
  Maker m;
  es_document_init(&d, heap_of(&heap));
  es_buffer_init(&out, heap_of(&heap));
  es_buffer_init(&copy, heap_of(&heap));
  es_sink_document(&to_document, &d);
  es_sink_cbor(&to_bytes, &out);
  m.one = &to_document.sink;
  m.other = &to_bytes.sink;
  m.random = seed;
  make_value(&m, 0);
  read_block(&again, &heap, out.data, out.len, &r);
  CHECK(r.error == ES_CBOR_OK && r.at == out.len, "seed %llu: %s at %zu",
        (unsigned long long)seed, es_cbor_message(r.error), r.offset);
  if (r.error == ES_CBOR_OK) {
    CHECK(same_tree(&d, &again), "seed %llu", (unsigned long long)seed);
    CHECK(write_cbor(&again, &copy) == ES_OK, "writes");
    CHECK(copy.len == out.len && memcmp(copy.data, out.data, out.len) == 0,
          "seed %llu: other bytes", (unsigned long long)seed);
  }
  es_document_free(&d);
  es_document_free(&again);
  es_buffer_free(&out);
  es_buffer_free(&copy);
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
}

static void test_random(void) {
  uint64_t seed;
  for (seed = 1; seed <= 5000; seed++) check_random(seed);
}

int main(void) {
  test_random();
  return report();
}
