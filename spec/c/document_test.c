/* document_test.c - the document, its builder and its sink. */
#include <time.h>

#include "json_tools.h"

/* ---- building ---------------------------------------------------------- */

/* {"a":[null,true,false,-7,1.5,"x\0y",{}],"":{"b":""}} through a sink. */
static es_Status tell(es_Sink *s) {
  es_Status status = s->open(s, ES_NODE_OBJECT, ES_UNCOUNTED);
  if (status == ES_OK) status = s->key(s, "a", 1);
  if (status == ES_OK) status = s->open(s, ES_NODE_ARRAY, ES_UNCOUNTED);
  if (status == ES_OK) status = s->null(s);
  if (status == ES_OK) status = s->boolean(s, 7);
  if (status == ES_OK) status = s->boolean(s, 0);
  if (status == ES_OK) status = s->integer(s, -7);
  if (status == ES_OK) status = s->number(s, 1.5);
  if (status == ES_OK) status = s->string(s, "x\0y", 3);
  if (status == ES_OK) status = s->open(s, ES_NODE_EMPTY, 0);
  if (status == ES_OK) status = s->close(s);
  if (status == ES_OK) status = s->close(s);
  if (status == ES_OK) status = s->key(s, "", 0);
  if (status == ES_OK) status = s->open(s, ES_NODE_OBJECT, ES_UNCOUNTED);
  if (status == ES_OK) status = s->key(s, "b", 1);
  if (status == ES_OK) status = s->string(s, "", 0);
  if (status == ES_OK) status = s->close(s);
  if (status == ES_OK) status = s->close(s);
  return status;
}

static es_Status tell_document(es_Document *d) {
  es_DocumentSink sink;
  es_sink_document(&sink, d);
  return tell(&sink.sink);
}

static void check_shape(const es_Document *d) {
  static const struct {
    uint32_t type, count, next;
  } want[] = {
    {ES_NODE_OBJECT, 2, 14}, {ES_NODE_STRING, 1, 2}, {ES_NODE_ARRAY, 7, 10},
    {ES_NODE_NULL, 0, 4}, {ES_NODE_TRUE, 0, 5}, {ES_NODE_FALSE, 0, 6},
    {ES_NODE_INT, 0, 7}, {ES_NODE_FLOAT, 0, 8}, {ES_NODE_STRING, 3, 9},
    {ES_NODE_EMPTY, 0, 10}, {ES_NODE_STRING, 0, 11},
    {ES_NODE_OBJECT, 1, 14}, {ES_NODE_STRING, 1, 13},
    {ES_NODE_STRING, 0, 14}
  };
  uint32_t i;
  CHECK(d->count == 14 && d->depth == 0, "%u nodes", d->count);
  for (i = 0; i < 14 && i < d->count; i++) {
    const es_Node *node = es_document_node(d, i);
    CHECK(node->type == want[i].type, "node %u", i);
    CHECK(node->count == want[i].count, "node %u", i);
    CHECK(es_document_next(d, i) == want[i].next, "node %u", i);
  }
}

static void test_shape(void) {
  Heap heap = {0};
  es_Document d;
  es_document_init(&d, heap_of(&heap));
  CHECK(heap.calls == 0, "a new document has no memory");
  CHECK(tell_document(&d) == ES_OK, "builds");
  check_shape(&d);
  CHECK(es_document_node(&d, 6)->u.i == -7, "integer");
  CHECK(es_document_node(&d, 7)->u.d == 1.5, "float");
  CHECK(memcmp(es_document_text(&d, es_document_node(&d, 8)), "x\0y", 3) == 0,
        "string");
  CHECK(es_document_text(&d, es_document_node(&d, 13)) != NULL, "empty");
  es_document_free(&d);
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "%zu bytes left", heap.live);
}

static void test_memory(void) {
  size_t k;
  es_Status status = ES_NOMEM;
  for (k = 1; status != ES_OK && k < 100; k++) {
    Heap heap = {0};
    es_Document d;
    heap.fail_at = k;
    es_document_init(&d, heap_of(&heap));
    status = tell_document(&d);
    CHECK(status == ES_NOMEM || (status == ES_OK && heap.calls < k),
          "status %d at %zu", (int)status, k);
    es_document_free(&d);
    CHECK(heap.live == 0 && heap.wrong == 0, "leak at %zu", k);
  }
  CHECK(status == ES_OK && k > 3, "%zu runs", k);
}

static void test_depth(void) {
  Heap heap = {0};
  es_Document d;
  unsigned i;
  es_document_init(&d, heap_of(&heap));
  for (i = 0; i < ES_DEPTH_MAX; i++)
    CHECK(es_document_open(&d, ES_NODE_ARRAY) == ES_OK, "level %u", i);
  CHECK(es_document_open(&d, ES_NODE_ARRAY) == ES_LIMIT, "too deep");
  CHECK(es_document_open(&d, ES_NODE_EMPTY) == ES_LIMIT, "too deep");
  CHECK(es_document_null(&d) == ES_OK, "a leaf is not nesting");
  for (i = 0; i < ES_DEPTH_MAX; i++) es_document_close(&d);
  CHECK(es_document_next(&d, 0) == ES_DEPTH_MAX + 1, "all closed");
  CHECK(es_document_node(&d, 0)->count == 1, "one element");
  es_document_free(&d);
}

/* The last node is refused; a document of that size is only pretended. */
static void test_limits(void) {
  Heap heap = {0};
  es_Document d;
  char *out;
  es_document_init(&d, heap_of(&heap));
  d.count = d.cap = UINT32_MAX - 1;
  CHECK(es_document_null(&d) == ES_LIMIT, "nodes");
  CHECK(es_document_string(&d, "x", 1) == ES_LIMIT, "nodes");
  CHECK(es_document_open(&d, ES_NODE_ARRAY) == ES_LIMIT, "nodes");
  d.count = d.cap = 0;
#if SIZE_MAX > UINT32_MAX
  CHECK(es_document_string_room(&d, (size_t)UINT32_MAX + 1, &out) == ES_LIMIT,
        "bytes");
  CHECK(es_document_open(&d, ES_NODE_OBJECT) == ES_OK, "object");
  CHECK(es_document_key(&d, "x", (size_t)UINT32_MAX + 1) == ES_LIMIT,
        "bytes");
#endif
  heap.fail_at = heap.calls + 1;
  CHECK(es_document_string_room(&d, 100, &out) == ES_NOMEM, "memory");
  es_document_free(&d);
  CHECK(heap.live == 0, "leak");
}

static void test_reserve(void) {
  Heap heap = {0};
  es_Document d;
  size_t calls;
  uint32_t i;
  es_document_init(&d, heap_of(&heap));
  CHECK(es_document_reserve(&d, 0) == ES_OK && heap.calls == 0, "nothing");
  CHECK(es_document_reserve(&d, 1000) == ES_OK && d.count == 0, "room");
  CHECK(d.cap == 1000, "as much as was asked for, not %u", d.cap);
  calls = heap.calls;
  for (i = 0; i < 1000; i++) CHECK(es_document_null(&d) == ES_OK, "fits");
  CHECK(heap.calls == calls, "needs no more");
  CHECK(es_document_null(&d) == ES_OK && d.cap >= 2000, "then it doubles");
  CHECK(es_document_reserve(&d, UINT32_MAX - 1000) == ES_LIMIT, "too many");
  CHECK(es_document_reserve(&d, SIZE_MAX) == ES_LIMIT, "too many");
  heap.fail_at = heap.calls + 1;
  CHECK(es_document_reserve(&d, 100000) == ES_NOMEM, "memory");
  CHECK(d.count == 1001 && d.cap >= 1001, "is as it was");
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
}

static void test_proto(void) {
  static const struct {
    const char *key;
    size_t n;
    es_Status want;
  } cases[] = {
    {"__proto__", 9, ES_INVALID}, {"__proto_", 8, ES_OK},
    {"__proto___", 10, ES_OK}, {"__proto_\0", 9, ES_OK},
    {"__Proto__", 9, ES_OK}, {"constructor", 11, ES_OK}
  };
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    Heap heap = {0};
    es_Document d;
    es_document_init(&d, heap_of(&heap));
    CHECK(es_document_open(&d, ES_NODE_OBJECT) == ES_OK, "open");
    CHECK(es_document_key(&d, cases[i].key, cases[i].n) == cases[i].want,
          "%s", cases[i].key);
    es_document_free(&d);
  }
}

/* Strings of every short length at every alignment, through both routes. */
static void test_strings(void) {
  Heap heap = {0};
  es_Document d;
  size_t n;
  uint32_t i = 0;
  char bytes[40];
  for (n = 0; n < sizeof bytes; n++) bytes[n] = (char)(n * 7 + 1);
  es_document_init(&d, heap_of(&heap));
  for (n = 0; n < sizeof bytes; n++) {
    char *copy = exact(bytes, n);
    char *out = NULL;
    CHECK(es_document_string(&d, copy, n) == ES_OK, "copied");
    CHECK(es_document_string_room(&d, n, &out) == ES_OK, "room");
    if (n > 0) memcpy(out, copy, n);
    free(copy);
  }
  for (n = 0; n < sizeof bytes; n++, i += 2) {
    const char *s = es_document_text(&d, es_document_node(&d, i));
    const char *t = es_document_text(&d, es_document_node(&d, i + 1));
    CHECK(memcmp(s, bytes, n) == 0 && memcmp(t, bytes, n) == 0, "%zu", n);
  }
  es_document_free(&d);
}

/* ---- finding ----------------------------------------------------------- */

static void test_find(void) {
  Heap heap = {0};
  es_Document d;
  int i;
  es_document_init(&d, heap_of(&heap));
  CHECK(tell_document(&d) == ES_OK, "builds");
  CHECK(es_document_find(&d, 0, "a", 1) == 2, "first");
  CHECK(es_document_find(&d, 0, "", 0) == 11, "empty key");
  CHECK(es_document_find(&d, 0, "b", 1) == 0, "only its own keys");
  CHECK(es_document_find(&d, 11, "b", 1) == 13, "inner");
  CHECK(es_document_find(&d, 11, "", 0) == 0, "inner has no empty key");
  CHECK(es_document_find(&d, 0, "a\0", 2) == 0, "longer");
  CHECK(es_document_find(&d, 2, "x\0y", 3) == 0, "an array has no keys");
  CHECK(es_document_find(&d, 9, "a", 1) == 0, "nor has an empty table");
  CHECK(es_document_find(&d, 3, "a", 1) == 0, "nor has a leaf");
  es_document_free(&d);
  CHECK(es_document_open(&d, ES_NODE_OBJECT) == ES_OK, "opens");
  for (i = 0; i < 4; i++) {
    CHECK(es_document_key(&d, i % 2 == 0 ? "a" : "b", 1) == ES_OK, "key");
    CHECK(es_document_int(&d, i) == ES_OK, "value");
  }
  es_document_close(&d);
  CHECK(es_document_find(&d, 0, "a", 1) == 6, "of two keys the last");
  CHECK(es_document_find(&d, 0, "b", 1) == 8, "of two keys the last");
  es_document_free(&d);
}

static void test_compare(void) {
  CHECK(es_document_compare("", 0, "", 0) == 0, "empty");
  CHECK(es_document_compare(NULL, 0, "a", 1) < 0, "empty first");
  CHECK(es_document_compare("a", 1, NULL, 0) > 0, "empty first");
  CHECK(es_document_compare("a", 1, "ab", 2) < 0, "prefix first");
  CHECK(es_document_compare("ab", 2, "a", 1) > 0, "prefix first");
  CHECK(es_document_compare("a\0b", 3, "a\0c", 3) < 0, "behind a zero");
  CHECK(es_document_compare("\x7F", 1, "\x80", 1) < 0, "bytes are unsigned");
  CHECK(es_document_compare("ab", 2, "ab", 2) == 0, "equal");
}

/* ---- keys that occur twice --------------------------------------------- */

#define KEY_LENGTH 272

typedef void (*KeyMaker)(char *out, uint32_t k);

/* As good as random: an odd factor permutes 'k', others follow from it. */
static void random_key(char *out, uint32_t k) {
  uint64_t state = k * UINT64_C(0x9E3779B97F4A7C15);
  size_t i;
  memcpy(out, &k, 4);
  for (i = 4; i < KEY_LENGTH; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    out[i] = (char)(state >> 56);
  }
}

/* All bytes but four are equal: in the middle, or at the end. */
static void plain_key(char *out, uint32_t k) {
  memset(out, 'k', KEY_LENGTH);
  memcpy(out + 100, &k, 4);
}

static void late_key(char *out, uint32_t k) {
  memset(out, 0, KEY_LENGTH);
  memcpy(out + KEY_LENGTH - 4, &k, 4);
}

/*
** Pairs of words that cancel each other out in hashes which multiply, whatever
** their seed: the top bit survives the multiplication, and the second word
** undoes what a shift by 29 made of it. Each pair stands for a bit of 'k'.
*/
static void colliding_key(char *out, uint32_t k) {
  static const uint64_t pair[2] = {
    UINT64_C(1) << 63, UINT64_C(1) << 63 | UINT64_C(1) << 34
  };
  unsigned bit;
  memset(out, 0, KEY_LENGTH);
  for (bit = 0; bit < KEY_LENGTH / 16; bit++)
    if ((k >> bit & 1) != 0) memcpy(out + bit * 16, pair, 16);
}

/* Words with the top bit set or not: sums and products of them meet. */
static void top_bits_key(char *out, uint32_t k) {
  unsigned bit;
  memset(out, 0, KEY_LENGTH);
  for (bit = 0; bit < KEY_LENGTH / 8; bit++)
    if ((k >> bit % 17 & 1) != 0) out[bit * 8 + 7] = (char)-128;
}

/* An object of 'n' keys whose last one repeats number 'again'. */
static void build_keys(es_Document *d, uint32_t n, uint32_t again,
                       KeyMaker make) {
  uint32_t k;
  int good = es_document_open(d, ES_NODE_OBJECT) == ES_OK;
  for (k = 0; good && k < n; k++) {
    char key[KEY_LENGTH];
    /* an odd factor permutes the lower bits, which alone make the keys */
    make(key, (k == n - 1 && again < n ? again : k) * 2654435761u);
    good = es_document_key(d, key, KEY_LENGTH) == ES_OK &&
           es_document_int(d, k) == ES_OK;
  }
  es_document_close(d);
  CHECK(good, "builds");
}

/* No key is twice, then the last one is; returns the seconds of the first. */
static double test_many(uint32_t n, KeyMaker make) {
  Heap heap = {0};
  es_Document d;
  uint32_t dup = 1;
  clock_t start;
  double seconds;
  es_document_init(&d, heap_of(&heap));
  build_keys(&d, n, n, make);
  start = clock();
  CHECK(es_document_duplicate(&d, 0, &dup) == ES_OK, "works");
  seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  CHECK(dup == 0, "no key of %u is twice, said %u", n, dup);
  es_document_free(&d);
  es_document_init(&d, heap_of(&heap));
  build_keys(&d, n, 0, make);
  CHECK(es_document_duplicate(&d, 0, &dup) == ES_OK, "works");
  CHECK(dup == (n < 2 ? 0 : 2 * n - 1), "of %u the last, said %u", n, dup);
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
  return seconds;
}

static double best_of_three(uint32_t n, KeyMaker make, const char *what) {
  double best = test_many(n, make);
  unsigned run;
  for (run = 1; run < 3; run++) {
    double seconds = test_many(n, make);
    if (seconds < best) best = seconds;
  }
  printf("%u %s keys: %.3f s\n", n, what, best);
  return best;
}

/* Chosen keys take at most three times as long as random ones. */
static void test_chosen(void) {
  static const struct {
    KeyMaker make;
    const char *what;
  } chosen[] = {
    {plain_key, "plain"}, {late_key, "late"}, {colliding_key, "colliding"},
    {top_bits_key, "top bit"}
  };
  double base = best_of_three(100000, random_key, "random");
  size_t i;
  for (i = 0; i < sizeof chosen / sizeof *chosen; i++) {
    double seconds = best_of_three(100000, chosen[i].make, chosen[i].what);
    CHECK(seconds < 3 * base + 0.02, "%s: %.3f s, not %.3f s",
          chosen[i].what, seconds, base);
  }
}

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static uint32_t naive_duplicate(const es_Document *d) {
  uint32_t i, j;
  for (i = 1; i < d->count; i = es_document_next(d, i + 1))
    for (j = 1; j < i; j = es_document_next(d, j + 1)) {
      const es_Node *a = es_document_node(d, i);
      const es_Node *b = es_document_node(d, j);
      if (es_document_compare(es_document_text(d, a), a->count,
                              es_document_text(d, b), b->count) == 0)
        return i;
    }
  return 0;
}

/* Random short keys, some values being containers, against the naive way. */
static void test_random(void) {
  uint32_t state = 0x9E3779B9u;
  unsigned round, found = 0;
  for (round = 0; round < 2000; round++) {
    Heap heap = {0};
    es_Document d;
    uint32_t n = next_random(&state) % 60;
    uint32_t range = 1 + next_random(&state) % 1000;
    uint32_t want, dup, k;
    es_document_init(&d, heap_of(&heap));
    (void)es_document_open(&d, ES_NODE_OBJECT);
    for (k = 0; k < n; k++) {
      char key[12];
      int length = snprintf(key, sizeof key, "%u",
                            (unsigned)(next_random(&state) % range));
      (void)es_document_key(&d, key, (size_t)length);
      (void)es_document_open(&d, ES_NODE_ARRAY);
      if (k % 3 == 0) (void)es_document_null(&d);
      es_document_close(&d);
    }
    es_document_close(&d);
    want = naive_duplicate(&d);
    found += want != 0;
    CHECK(es_document_duplicate(&d, 0, &dup) == ES_OK && dup == want,
          "round %u: %u, not %u", round, dup, want);
    es_document_free(&d);
  }
  CHECK(found > 200 && found < 1800, "%u rounds had one", found);
}

static void test_duplicates(void) {
  uint32_t n;
  Heap heap = {0};
  es_Document d;
  uint32_t dup;
  for (n = 0; n < 40; n++) (void)test_many(n, plain_key);
  test_chosen();
  test_random();
  es_document_init(&d, heap_of(&heap));
  build_keys(&d, 50, 50, plain_key);
  heap.fail_at = heap.calls + 1;
  CHECK(es_document_duplicate(&d, 0, &dup) == ES_NOMEM, "memory");
  heap.fail_at = 0;
  CHECK(es_document_duplicate(&d, 0, &dup) == ES_OK && dup == 0, "again");
  es_document_free(&d);
  CHECK(heap.live == 0, "leak");
}

/* ---- paths ------------------------------------------------------------- */

static void check_path(const es_Document *d, uint32_t index,
                       const char *want) {
  Heap heap = {0};
  es_Buffer out;
  size_t k;
  es_Status status = ES_NOMEM;
  es_buffer_init(&out, heap_of(&heap));
  CHECK(es_document_path(d, index, &out) == ES_OK, "%s", want);
  CHECK(out.len == strlen(want) &&
        (out.len == 0 || memcmp(out.data, want, out.len) == 0),
        "%.*s is not %s", (int)out.len, out.len ? out.data : "", want);
  es_buffer_free(&out);
  for (k = 1; status != ES_OK && k < 20; k++) {
    heap.calls = 0;
    heap.fail_at = k;
    status = es_document_path(d, index, &out);
    CHECK(status == ES_OK || status == ES_NOMEM, "%s", want);
    es_buffer_free(&out);
  }
  CHECK(status == ES_OK && heap.live == 0 && heap.wrong == 0, "%s", want);
}

static void check_paths(const char *text, const char *const *want,
                        uint32_t n) {
  Heap heap = {0};
  es_Document d;
  size_t offset = 0;
  uint32_t i;
  es_document_init(&d, heap_of(&heap));
  CHECK(es_json_read(&d, text, strlen(text), &offset) == ES_JSON_OK, "%s",
        text);
  CHECK(d.count == n, "%s has %u nodes", text, d.count);
  for (i = 0; i < n && i < d.count; i++) check_path(&d, i, want[i]);
  es_document_free(&d);
}

static void test_paths(void) {
  static const char *const plain[] = {
    "", "entities", "entities", "entities[0]", "entities[1]",
    "entities[1].traits", "entities[1].traits", "entities[1].traits.Health",
    "entities[1].traits.Health", "entities[1].traits.Health.hp",
    "entities[1].traits.Health.hp", "world", "world", "world.x", "world.x",
    "world.x[0]", "world.x[0][0]", "world.x[1]"
  };
  static const char *const odd[] = {
    "", "[0]", "[0][\"a.b\"]", "[0][\"a.b\"]", "[0][\"\"]", "[0][\"\"]",
    "[0][\"1a\"]", "[0][\"1a\"]", "[0]._1", "[0]._1",
    "[0][\"q\\\"\\\\\\u000a\"]", "[0][\"q\\\"\\\\\\u000a\"]",
    "[0][\"\xC3\xA9\"]", "[0][\"\xC3\xA9\"]", "[0][\"\xC3\xA9\"].Z",
    "[0][\"\xC3\xA9\"].Z"
  };
  static const char *const leaf[] = {""};
  check_paths("{\"entities\":[{},{\"traits\":{\"Health\":{\"hp\":1}}}],"
              "\"world\":{\"x\":[[2],3]}}", plain, 18);
  check_paths("[{\"a.b\":0,\"\":0,\"1a\":0,\"_1\":0,\"q\\\"\\\\\\n\":0,"
              "\"\xC3\xA9\":{\"Z\":1}}]", odd, 16);
  check_paths("7", leaf, 1);
}

/* The steps alone, behind what a walk over something else has written. */
static void test_steps(void) {
  static const char want[] = "a[18446744073709551615].b[\"\"]";
  Heap heap = {0};
  es_Buffer out;
  es_buffer_init(&out, heap_of(&heap));
  CHECK(es_document_path_key(&out, "a", 1) == ES_OK, "first key");
  CHECK(es_document_path_index(&out, UINT64_MAX) == ES_OK, "index");
  CHECK(es_document_path_key(&out, "b", 1) == ES_OK, "key");
  CHECK(es_document_path_key(&out, "", 0) == ES_OK, "quoted key");
  CHECK(out.len == sizeof want - 1 && memcmp(out.data, want, out.len) == 0,
        "%.*s", (int)out.len, out.data);
  es_buffer_free(&out);
}

static void test_far(void) {
  Heap heap = {0};
  es_Document d;
  uint32_t i;
  es_document_init(&d, heap_of(&heap));
  (void)es_document_open(&d, ES_NODE_ARRAY);
  for (i = 0; i <= 1234567; i++) (void)es_document_null(&d);
  es_document_close(&d);
  check_path(&d, 1234568, "[1234567]");
  check_path(&d, 1, "[0]");
  check_path(&d, 11, "[10]");
  es_document_free(&d);
}

int main(void) {
  test_shape();
  test_memory();
  test_depth();
  test_limits();
  test_reserve();
  test_proto();
  test_strings();
  test_find();
  test_compare();
  test_duplicates();
  test_paths();
  test_steps();
  test_far();
  return report();
}
