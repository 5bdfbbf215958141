/* cbor_test.c - tests of whole values: es_cbor_read_value and the sink. */
#include "cbor_tools.h"

#define BYTES_MAX 256

/* ---- appendix A of RFC 8949 -------------------------------------------- */

typedef struct Example {
  const char *hex;
  const char *json;   /* the value; NULL when it must be refused */
  es_CborError error;
  size_t offset;
} Example;

static const Example examples[] = {
  {"00", "0", 0, 0}, {"01", "1", 0, 0}, {"0a", "10", 0, 0},
  {"17", "23", 0, 0}, {"1818", "24", 0, 0}, {"1819", "25", 0, 0},
  {"1864", "100", 0, 0}, {"1903e8", "1000", 0, 0},
  {"1a000f4240", "1000000", 0, 0},
  {"1b000000e8d4a51000", "1000000000000", 0, 0},
  {"1bffffffffffffffff", NULL, ES_CBOR_RANGE, 0},
  {"c249010000000000000000", NULL, ES_CBOR_TYPE, 0},
  {"3bffffffffffffffff", NULL, ES_CBOR_RANGE, 0},
  {"c349010000000000000000", NULL, ES_CBOR_TYPE, 0},
  {"20", "-1", 0, 0}, {"29", "-10", 0, 0}, {"3863", "-100", 0, 0},
  {"3903e7", "-1000", 0, 0}, {"f90000", "0.0", 0, 0},
  {"f98000", "-0.0", 0, 0}, {"f93c00", "1.0", 0, 0},
  {"fb3ff199999999999a", "1.1", 0, 0}, {"f93e00", "1.5", 0, 0},
  {"f97bff", "65504.0", 0, 0}, {"fa47c35000", "100000.0", 0, 0},
  {"fa7f7fffff", "3.4028234663852886e38", 0, 0},
  {"fb7e37e43c8800759c", "1e300", 0, 0},
  {"f90001", "5.960464477539063e-8", 0, 0},
  {"f90400", "0.00006103515625", 0, 0}, {"f9c400", "-4.0", 0, 0},
  {"fbc010666666666666", "-4.1", 0, 0},
  {"fa7f800000", NULL, ES_CBOR_SHORTEST, 0},
  {"fa7fc00000", NULL, ES_CBOR_SHORTEST, 0},
  {"faff800000", NULL, ES_CBOR_SHORTEST, 0},
  {"fb7ff0000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"fb7ff8000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"fbfff0000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"f4", "false", 0, 0}, {"f5", "true", 0, 0}, {"f6", "null", 0, 0},
  {"f7", NULL, ES_CBOR_FORM, 0}, {"f0", NULL, ES_CBOR_FORM, 0},
  {"f8ff", NULL, ES_CBOR_FORM, 0},
  {"c074323031332d30332d32315432303a30343a30305a", NULL, ES_CBOR_TYPE, 0},
  {"c11a514b67b0", NULL, ES_CBOR_TYPE, 0},
  {"c1fb41d452d9e2000000", NULL, ES_CBOR_TYPE, 0},
  {"d74401020304", NULL, ES_CBOR_TYPE, 0},
  {"d818456449455446", NULL, ES_CBOR_TYPE, 0},
  {"d82076687474703a2f2f7777772e6578616d706c652e636f6d", NULL,
   ES_CBOR_TYPE, 0},
  {"40", NULL, ES_CBOR_UTF8, 0}, {"4401020304", NULL, ES_CBOR_UTF8, 0},
  {"60", "\"\"", 0, 0}, {"6161", "\"a\"", 0, 0},
  {"6449455446", "\"IETF\"", 0, 0}, {"62225c", "\"\\\"\\\\\"", 0, 0},
  {"62c3bc", "\"\xC3\xBC\"", 0, 0}, {"63e6b0b4", "\"\xE6\xB0\xB4\"", 0, 0},
  {"64f0908591", "\"\xF0\x90\x85\x91\"", 0, 0}, {"80", "[]", 0, 0},
  {"83010203", "[1,2,3]", 0, 0}, {"8301820203820405", "[1,[2,3],[4,5]]", 0, 0},
  {"98190102030405060708090a0b0c0d0e0f101112131415161718181819",
   "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]",
   0, 0},
  {"a0", "{}", 0, 0}, {"a201020304", NULL, ES_CBOR_KEY, 1},
  {"a26161016162820203", "{\"a\":1,\"b\":[2,3]}", 0, 0},
  {"826161a161626163", "[\"a\",{\"b\":\"c\"}]", 0, 0},
  {"a56161614161626142616361436164614461656145",
   "{\"a\":\"A\",\"b\":\"B\",\"c\":\"C\",\"d\":\"D\",\"e\":\"E\"}", 0, 0},
  {"5f42010243030405ff", NULL, ES_CBOR_FORM, 0},
  {"7f657374726561646d696e67ff", NULL, ES_CBOR_FORM, 0},
  {"9fff", NULL, ES_CBOR_FORM, 0},
  {"9f018202039f0405ffff", NULL, ES_CBOR_FORM, 0},
  {"9f01820203820405ff", NULL, ES_CBOR_FORM, 0},
  {"83018202039f0405ff", NULL, ES_CBOR_FORM, 5},
  {"83019f0203ff820405", NULL, ES_CBOR_FORM, 2},
  {"9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", NULL,
   ES_CBOR_FORM, 0},
  {"bf61610161629f0203ffff", NULL, ES_CBOR_FORM, 0},
  {"826161bf61626163ff", NULL, ES_CBOR_FORM, 3},
  {"bf6346756ef563416d7421ff", NULL, ES_CBOR_FORM, 0}
};

/* Writes the document again, which must give the bytes it was read from. */
static void check_again(const es_Document *d, Heap *heap, const void *bytes,
                        size_t n, const char *name) {
  es_Buffer out;
  es_buffer_init(&out, heap_of(heap));
  CHECK(write_cbor(d, &out) == ES_OK, "%s", name);
  CHECK(out.len == n && memcmp(out.data, bytes, n) == 0, "%s: %zu bytes",
        name, out.len);
  es_buffer_free(&out);
}

static void check_json(const es_Document *d, Heap *heap, const char *want) {
  es_Buffer out;
  es_buffer_init(&out, heap_of(heap));
  CHECK(write_json(d, &out) == ES_OK, "%s", want);
  CHECK(out.len == strlen(want) && memcmp(out.data, want, out.len) == 0,
        "%s is %.*s", want, (int)out.len, out.data);
  es_buffer_free(&out);
}

/* What stands behind a value is not looked at. */
static void check_behind(const unsigned char *bytes, size_t n,
                         const char *name) {
  unsigned char longer[BYTES_MAX + 1];
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  memcpy(longer, bytes, n);
  longer[n] = 0xFF;
  CHECK(read_block(&d, &heap, longer, n + 1, &r) == 0 && r.at == n,
        "%s: at %zu", name, r.at);
  es_document_free(&d);
}

static void check_example(const Example *e) {
  unsigned char bytes[BYTES_MAX];
  size_t n = from_hex(e->hex, bytes);
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  es_CborError error = read_block(&d, &heap, bytes, n, &r);
  CHECK(error == e->error && r.offset == e->offset, "%s: %s at %zu", e->hex,
        es_cbor_message(error), r.offset);
  if (error == ES_CBOR_OK && e->json != NULL) {
    CHECK(r.at == n, "%s: %zu of %zu", e->hex, r.at, n);
    check_json(&d, &heap, e->json);
    check_again(&d, &heap, bytes, n, e->hex);
    check_behind(bytes, n, e->hex);
  }
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "%s leaks", e->hex);
}

static void test_examples(void) {
  size_t i;
  for (i = 0; i < sizeof examples / sizeof *examples; i++)
    check_example(&examples[i]);
}

/* ---- what is refused, and where ---------------------------------------- */

static const Example refused[] = {
  /* the end comes too early */
  {"", NULL, ES_CBOR_END, 0}, {"18", NULL, ES_CBOR_END, 1},
  {"1900", NULL, ES_CBOR_END, 2}, {"1a000000", NULL, ES_CBOR_END, 4},
  {"1b00000000000000", NULL, ES_CBOR_END, 8}, {"f9", NULL, ES_CBOR_END, 1},
  {"fb7ff00000000000", NULL, ES_CBOR_END, 8}, {"f8", NULL, ES_CBOR_END, 1},
  {"61", NULL, ES_CBOR_END, 1}, {"6261", NULL, ES_CBOR_END, 2},
  {"42ff", NULL, ES_CBOR_END, 2}, {"78", NULL, ES_CBOR_END, 1},
  {"8218", NULL, ES_CBOR_COUNT, 0}, {"820118", NULL, ES_CBOR_END, 3},
  {"828001", "[[],1]", 0, 0}, {"8281016161", "[[1],\"a\"]", 0, 0},
  {"a1616118", NULL, ES_CBOR_END, 4}, {"a16161", NULL, ES_CBOR_END, 3},
  {"a161", NULL, ES_CBOR_COUNT, 0}, {"a16261", NULL, ES_CBOR_END, 3},
  {"a17818", NULL, ES_CBOR_END, 3}, {"828100", NULL, ES_CBOR_END, 3},
  {"82a16161008201", NULL, ES_CBOR_COUNT, 5},
  /* heads that are too long */
  {"1800", NULL, ES_CBOR_SHORTEST, 0}, {"1817", NULL, ES_CBOR_SHORTEST, 0},
  {"190018", NULL, ES_CBOR_SHORTEST, 0},
  {"1900ff", NULL, ES_CBOR_SHORTEST, 0}, {"190100", "256", 0, 0},
  {"1a0000ffff", NULL, ES_CBOR_SHORTEST, 0}, {"1a00010000", "65536", 0, 0},
  {"1b00000000ffffffff", NULL, ES_CBOR_SHORTEST, 0},
  {"1b0000000100000000", "4294967296", 0, 0},
  {"3817", NULL, ES_CBOR_SHORTEST, 0}, {"3818", "-25", 0, 0},
  {"7800", NULL, ES_CBOR_SHORTEST, 0}, {"5801ff", NULL, ES_CBOR_SHORTEST, 0},
  {"9800", NULL, ES_CBOR_SHORTEST, 0}, {"b800", NULL, ES_CBOR_SHORTEST, 0},
  {"81990000", NULL, ES_CBOR_SHORTEST, 1},
  {"d81700", NULL, ES_CBOR_SHORTEST, 0},
  {"a1780161", NULL, ES_CBOR_SHORTEST, 1},
  {"bb0000000000000000", NULL, ES_CBOR_SHORTEST, 0},
  /* floats that are too long */
  {"fa00000000", NULL, ES_CBOR_SHORTEST, 0},
  {"81fa3f800000", NULL, ES_CBOR_SHORTEST, 1},
  {"fb3ff0000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"fb8000000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"fb36a0000000000000", NULL, ES_CBOR_SHORTEST, 0},
  {"fb7fffffffe0000000", NULL, ES_CBOR_SHORTEST, 0},
  /* reserved and indefinite forms, other simple values */
  {"1c", NULL, ES_CBOR_FORM, 0}, {"1d", NULL, ES_CBOR_FORM, 0},
  {"1e", NULL, ES_CBOR_FORM, 0}, {"1f", NULL, ES_CBOR_FORM, 0},
  {"3f", NULL, ES_CBOR_FORM, 0}, {"5f", NULL, ES_CBOR_FORM, 0},
  {"7e", NULL, ES_CBOR_FORM, 0}, {"9f", NULL, ES_CBOR_FORM, 0},
  {"bf", NULL, ES_CBOR_FORM, 0}, {"df", NULL, ES_CBOR_FORM, 0},
  {"ff", NULL, ES_CBOR_FORM, 0}, {"fc", NULL, ES_CBOR_FORM, 0},
  {"81ff", NULL, ES_CBOR_FORM, 1}, {"e0", NULL, ES_CBOR_FORM, 0},
  {"f3", NULL, ES_CBOR_FORM, 0}, {"f814", NULL, ES_CBOR_FORM, 0},
  {"f820", NULL, ES_CBOR_FORM, 0}, {"8201f7", NULL, ES_CBOR_FORM, 2},
  {"a17fff", NULL, ES_CBOR_FORM, 1},
  /* integers beyond int64 */
  {"1b7fffffffffffffff", "9223372036854775807", 0, 0},
  {"1b8000000000000000", NULL, ES_CBOR_RANGE, 0},
  {"3b7fffffffffffffff", "-9223372036854775808", 0, 0},
  {"823b80000000000000001901", NULL, ES_CBOR_RANGE, 1},
  /* text and bytes */
  {"61ff", NULL, ES_CBOR_UTF8, 0}, {"8163eda080", NULL, ES_CBOR_UTF8, 1},
  {"62c080", NULL, ES_CBOR_UTF8, 0}, {"4161", NULL, ES_CBOR_UTF8, 0},
  {"a161ff00", NULL, ES_CBOR_UTF8, 1}, {"a1416100", NULL, ES_CBOR_UTF8, 1},
  {"a140 00", NULL, ES_CBOR_UTF8, 1},
  {"a1495f5f70726f746f5f5f00", NULL, ES_CBOR_UTF8, 1},
  /* keys */
  {"a2616200616101", NULL, ES_CBOR_ORDER, 4},
  {"a2616100616101", NULL, ES_CBOR_ORDER, 4},
  {"a262616100616201", NULL, ES_CBOR_ORDER, 5},
  {"a2600060f6", NULL, ES_CBOR_ORDER, 3},
  {"a26161a0 41ff00", NULL, ES_CBOR_ORDER, 4},
  {"a241ff0041fe00", NULL, ES_CBOR_ORDER, 4},
  {"a241ff0041ff00", NULL, ES_CBOR_ORDER, 4},
  {"a361610061628161ff616180", NULL, ES_CBOR_UTF8, 7},
  {"a3616100616281616d616180", NULL, ES_CBOR_ORDER, 9},
  {"a26161a2616b006161f6616200", NULL, ES_CBOR_ORDER, 7},
  {"a10000", NULL, ES_CBOR_KEY, 1}, {"a12000", NULL, ES_CBOR_KEY, 1},
  {"a18000", NULL, ES_CBOR_KEY, 1}, {"a1a000", NULL, ES_CBOR_KEY, 1},
  {"a1f600", NULL, ES_CBOR_KEY, 1}, {"a1c06100", NULL, ES_CBOR_KEY, 1},
  {"a2616100f90000", NULL, ES_CBOR_KEY, 4},
  {"a1695f5f70726f746f5f5f00", NULL, ES_CBOR_PROTO, 1},
  {"81a2616100695f5f70726f746f5f5f00", NULL, ES_CBOR_PROTO, 5},
  {"695f5f70726f746f5f5f", "\"__proto__\"", 0, 0},
  /* tags */
  {"d9d9f700", NULL, ES_CBOR_TYPE, 0}, {"81d84840", NULL, ES_CBOR_TYPE, 1}
};

static void test_refused(void) {
  size_t i;
  for (i = 0; i < sizeof refused / sizeof *refused; i++)
    check_example(&refused[i]);
}

/* A node too many can only be pretended. */
static void test_limit(void) {
  static const unsigned char bytes[] = {0x82, 0x01, 0x02};
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  es_document_init(&d, heap_of(&heap));
  es_cbor_reader(&r, bytes, sizeof bytes);
  r.at = 1;
  d.count = d.cap = UINT32_MAX - 1;
  CHECK(!es_cbor_read_value(&r, &d) && r.error == ES_CBOR_LIMIT &&
        r.offset == 1, "%s at %zu", es_cbor_message(r.error), r.offset);
  d.count = d.cap = 0;
  es_document_free(&d);
}

static void test_messages(void) {
  int i, j;
  for (i = ES_CBOR_OK; i <= ES_CBOR_TYPE; i++)
    for (j = ES_CBOR_OK; j < i; j++)
      CHECK(strcmp(es_cbor_message((es_CborError)i),
                   es_cbor_message((es_CborError)j)) != 0, "%d, %d", i, j);
  CHECK(es_cbor_message((es_CborError)99) != NULL, "never NULL");
}

/* ---- documents --------------------------------------------------------- */

static void test_nodes(void) {
  static const char hex[] = "a4 41ff80 60a0 6162f97e01 62c3bc820a6162";
  static const es_NodeType types[] = {
    ES_NODE_OBJECT, ES_NODE_STRING, ES_NODE_ARRAY, ES_NODE_STRING,
    ES_NODE_EMPTY, ES_NODE_STRING, ES_NODE_FLOAT, ES_NODE_STRING,
    ES_NODE_ARRAY, ES_NODE_INT, ES_NODE_STRING
  };
  unsigned char bytes[64];
  size_t n = from_hex(hex, bytes);
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  uint32_t i;
  CHECK(read_block(&d, &heap, bytes, n, &r) == 0, "reads");
  CHECK(d.count == 11 && d.depth == 0, "%u nodes", d.count);
  for (i = 0; i < 11 && i < d.count; i++) {
    CHECK(es_document_node(&d, i)->type == types[i], "node %u is %u", i,
          es_document_node(&d, i)->type);
  }
  CHECK(bits_of(es_document_node(&d, 6)->u.d) ==
        UINT64_C(0x7FF8040000000000), "the payload of a NaN");
  CHECK(es_document_node(&d, 0)->count == 4, "four pairs");
  CHECK(es_document_find(&d, 0, "\xFF", 1) == 2, "found by its bytes");
  CHECK(es_document_find(&d, 0, "", 0) == 4, "found by no bytes");
  check_again(&d, &heap, bytes, n, hex);
  es_document_free(&d);
}

/* Values join a document that has open containers, and may follow them. */
static void test_joined(void) {
  static const unsigned char bytes[] = {0x82, 0x01, 0x80, 0x61, 'k', 0xA0};
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  es_document_init(&d, heap_of(&heap));
  es_cbor_reader(&r, bytes, sizeof bytes);
  CHECK(es_document_open(&d, ES_NODE_ARRAY) == ES_OK, "opens");
  CHECK(es_cbor_read_value(&r, &d) && r.at == 3 && d.depth == 1, "first");
  CHECK(es_document_open(&d, ES_NODE_OBJECT) == ES_OK, "opens");
  CHECK(es_document_key(&d, "x", 1) == ES_OK, "key");
  CHECK(es_cbor_read_value(&r, &d) && r.at == 5 && d.depth == 2, "second");
  es_document_close(&d);
  CHECK(es_cbor_read_value(&r, &d) && r.at == 6, "third");
  es_document_close(&d);
  check_json(&d, &heap, "[[1,[]],{\"x\":\"k\"},{}]");
  CHECK(!es_cbor_read_value(&r, &d) && r.error == ES_CBOR_END, "no fourth");
  es_document_free(&d);
  CHECK(heap.live == 0, "leak");
}

/* ---- every prefix, every flipped bit, every failing allocation ---------- */

/* A value with every kind of item; a long byte string ends it. */
static size_t make_sample(unsigned char *out) {
  static const char hex[] =
    "a7 41ff 8618181819190100190101f93c00fbc010666666666666"
    "42c080 1b7fff000000000000 60a0 6161 a2 6178 3903e7 6179 fa47c35000"
    "6162 82838281f6f5f4f9fe00 90000102030405060708090a0b0c0d0e0f"
    "62c3bc 64f0908591 6362696e 590102";
  size_t n = from_hex(hex, out);
  memset(out + n, 0xF0, 258);
  return n + 258;
}

#define SAMPLE_MAX 400

static void test_prefixes(void) {
  unsigned char bytes[SAMPLE_MAX];
  size_t n = make_sample(bytes);
  size_t cut;
  for (cut = 0; cut <= n; cut++) {
    Heap heap = {0};
    es_Document d;
    es_CborReader r;
    es_CborError error = read_block(&d, &heap, bytes, cut, &r);
    if (cut == n) CHECK(error == ES_CBOR_OK, "%s", es_cbor_message(error));
    else CHECK(error == ES_CBOR_END ? r.offset == cut
                                    : error == ES_CBOR_COUNT && r.offset < cut,
               "%zu: %s at %zu", cut, es_cbor_message(error), r.offset);
    if (cut == n) check_again(&d, &heap, bytes, n, "the sample");
    es_document_free(&d);
    CHECK(heap.live == 0 && heap.wrong == 0, "%zu leaks", cut);
  }
}

/* Whatever one bit becomes: refused, or another value that is written so. */
static void test_flips(void) {
  unsigned char bytes[SAMPLE_MAX];
  size_t n = make_sample(bytes);
  size_t i;
  for (i = 0; i < 8 * n; i++) {
    Heap heap = {0};
    es_Document d;
    es_CborReader r;
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
    if (read_block(&d, &heap, bytes, n, &r) == ES_CBOR_OK)
      check_again(&d, &heap, bytes, r.at, "with a bit flipped");
    else
      CHECK(r.offset <= n && r.error != ES_CBOR_NOMEM, "bit %zu", i);
    es_document_free(&d);
    CHECK(heap.live == 0 && heap.wrong == 0, "bit %zu leaks", i);
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
  }
}

static void test_reading_without_memory(void) {
  unsigned char bytes[SAMPLE_MAX];
  size_t n = make_sample(bytes);
  es_CborError error = ES_CBOR_NOMEM;
  size_t k;
  for (k = 1; error != ES_CBOR_OK && k < 100; k++) {
    Heap heap = {0};
    es_Document d;
    es_CborReader r;
    heap.fail_at = k;
    error = read_block(&d, &heap, bytes, n, &r);
    CHECK(error == ES_CBOR_OK ? heap.calls < k
                              : error == ES_CBOR_NOMEM && r.offset < n,
          "%zu: %s at %zu", k, es_cbor_message(error), r.offset);
    es_document_free(&d);
    CHECK(heap.live == 0 && heap.wrong == 0, "leak at %zu", k);
  }
  CHECK(error == ES_CBOR_OK && k > 6, "%zu runs", k);
}

static void test_writing_without_memory(void) {
  unsigned char bytes[SAMPLE_MAX];
  size_t n = make_sample(bytes);
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  es_Status status = ES_NOMEM;
  size_t k;
  CHECK(read_block(&d, &heap, bytes, n, &r) == ES_CBOR_OK, "reads");
  for (k = 1; status != ES_OK && k < 100; k++) {
    Heap other = {0};
    es_Buffer out;
    other.fail_at = k;
    es_buffer_init(&out, heap_of(&other));
    status = write_cbor(&d, &out);
    CHECK(status == ES_OK || status == ES_NOMEM, "%zu: %d", k, status);
    CHECK(out.len <= n && (out.len == 0 ||
          memcmp(out.data, bytes, out.len) == 0), "%zu", k);
    CHECK((out.len == n) == (status == ES_OK), "%zu", k);
    es_buffer_free(&out);
    CHECK(other.live == 0 && other.wrong == 0, "leak at %zu", k);
  }
  CHECK(status == ES_OK && k > 3, "%zu runs", k);
  es_document_free(&d);
}

/* ---- depth and counts -------------------------------------------------- */

/* 'n' arrays within each other, every other one a map where 'mixed'. */
static void check_depth(size_t n, int mixed) {
  unsigned char *bytes = malloc(3 * n);
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  size_t i, at = 0;
  size_t limit = 0;
  if (bytes == NULL) abort();
  for (i = 1; i < n; i++) {
    if (i == ES_DEPTH_MAX + 1) limit = at;
    bytes[at++] = (unsigned char)(mixed && i % 2 == 0 ? 0xA1 : 0x81);
    if (mixed && i % 2 == 0) bytes[at++] = 0x60;
  }
  if (n == ES_DEPTH_MAX + 1) limit = at;
  bytes[at++] = mixed ? 0xA0 : 0x80;   /* an empty one counts as well */
  read_block(&d, &heap, bytes, at, &r);
  if (n <= ES_DEPTH_MAX) {
    CHECK(r.error == ES_CBOR_OK && r.at == at, "depth %zu", n);
    check_again(&d, &heap, bytes, at, "nested");
  } else {
    CHECK(r.error == ES_CBOR_DEPTH && r.offset == limit, "%zu: %s at %zu", n,
          es_cbor_message(r.error), r.offset);
  }
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "depth %zu leaks", n);
  free(bytes);
}

static void test_depth(void) {
  static const size_t depths[] = {
    ES_DEPTH_MAX - 1, ES_DEPTH_MAX, ES_DEPTH_MAX + 1, 1000000
  };
  size_t i;
  for (i = 0; i < sizeof depths / sizeof *depths; i++) {
    check_depth(depths[i], 0);
    check_depth(depths[i], 1);
  }
}

/* Depth counts from the root of the document, not of the value. */
static void test_depth_joined(void) {
  static const unsigned char bytes[] = {0x01, 0x80};
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  int i;
  es_document_init(&d, heap_of(&heap));
  es_cbor_reader(&r, bytes, sizeof bytes);
  for (i = 0; i < ES_DEPTH_MAX; i++)
    CHECK(es_document_open(&d, ES_NODE_ARRAY) == ES_OK, "%d", i);
  CHECK(es_cbor_read_value(&r, &d), "a leaf fits");
  CHECK(!es_cbor_read_value(&r, &d) && r.error == ES_CBOR_DEPTH &&
        r.offset == 1, "%s", es_cbor_message(r.error));
  es_document_free(&d);
}

/* A head with this count, in front of 'rest' more bytes (small integers). */
static void check_count(unsigned major, uint64_t count, size_t rest) {
  Heap heap = {0};
  es_Buffer b;
  es_Document d;
  es_CborReader r;
  es_CborError want = ES_CBOR_COUNT;
  size_t i, head;
  es_buffer_init(&b, heap_of(&heap));
  CHECK(es_cbor_put_head(&b, (es_CborMajor)major, count) == ES_OK, "head");
  head = b.len;
  for (i = 0; i < rest; i++)
    CHECK(es_buffer_putc(&b, (char)(major < 4 ? 'a' : 0)) == ES_OK, "byte");
  if (major < ES_CBOR_ARRAY) want = count > rest ? ES_CBOR_END : ES_CBOR_OK;
  else if (major == ES_CBOR_ARRAY && count <= rest) want = ES_CBOR_OK;
  else if (count == 0) want = ES_CBOR_OK;
  else if (count <= rest / 2) want = ES_CBOR_KEY;
  read_block(&d, &heap, b.data, b.len, &r);
  CHECK(r.error == want, "major %u, %llu of %zu: %s", major,
        (unsigned long long)count, rest, es_cbor_message(r.error));
  CHECK(want != ES_CBOR_OK || r.at == head + count, "at %zu", r.at);
  CHECK(want == ES_CBOR_OK || want == ES_CBOR_KEY || d.nodes == NULL,
        "memory before the count is checked");
  es_document_free(&d);
  es_buffer_free(&b);
  CHECK(heap.live == 0, "leak");
}

static void test_counts(void) {
  static const uint64_t counts[] = {
    0, 1, 49, 50, 51, 99, 100, 101, INT32_MAX, UINT64_C(1) << 31, UINT32_MAX,
    UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1,
    UINT64_MAX
  };
  size_t i;
  for (i = 0; i < sizeof counts / sizeof *counts; i++) {
    check_count(ES_CBOR_TEXT, counts[i], 100);
    check_count(ES_CBOR_ARRAY, counts[i], 100);
    check_count(ES_CBOR_MAP, counts[i], 100);
    check_count(ES_CBOR_TEXT, counts[i], 0);
    check_count(ES_CBOR_ARRAY, counts[i], 0);
    check_count(ES_CBOR_MAP, counts[i], 0);
  }
}

/* Each array promises no more than is left, all of them far more. */
static void test_nested_counts(void) {
  unsigned char bytes[3 * ES_DEPTH_MAX];
  Heap heap = {0};
  es_Document d;
  es_CborReader r;
  size_t i;
  for (i = 0; i < ES_DEPTH_MAX; i++) {
    unsigned rest = (unsigned)(sizeof bytes - 3 * i - 3);
    if (rest < 256) break;
    bytes[3 * i] = 0x99;
    bytes[3 * i + 1] = (unsigned char)(rest >> 8);
    bytes[3 * i + 2] = (unsigned char)(rest & 0xFF);
  }
  memset(bytes + 3 * i, 0, sizeof bytes - 3 * i);
  CHECK(read_block(&d, &heap, bytes, sizeof bytes, &r) == ES_CBOR_END, "%s",
        es_cbor_message(r.error));
  CHECK(heap.live < 100000, "%zu bytes", heap.live);
  es_document_free(&d);
}

/* ---- the sink ---------------------------------------------------------- */

/* Keys need not be text. */
static void test_keys(void) {
  static const char *const keys[] = {"\xFF", "", "x"};
  static const unsigned char want[] = {
    0xA3, 0x41, 0xFF, 0xF6, 0x60, 0xF6, 0x61, 'x', 0xF6
  };
  Heap heap = {0};
  es_Buffer out;
  es_CborSink s;
  es_Sink *sink = &s.sink;
  int i;
  es_buffer_init(&out, heap_of(&heap));
  es_sink_cbor(&s, &out);
  CHECK(sink->open(sink, ES_NODE_OBJECT, 3) == ES_OK, "opens");
  for (i = 0; i < 3; i++) {
    CHECK(sink->key(sink, keys[i], strlen(keys[i])) == ES_OK, "key %d", i);
    CHECK(sink->null(sink) == ES_OK, "value %d", i);
  }
  CHECK(sink->close(sink) == ES_OK && s.depth == 0, "closes");
  CHECK(out.len == sizeof want && memcmp(out.data, want, out.len) == 0,
        "%zu bytes", out.len);
  es_buffer_free(&out);
}

static void test_sink_refuses(void) {
  Heap heap = {0};
  es_Buffer out;
  es_CborSink s;
  es_Sink *sink = &s.sink;
  int i;
  es_buffer_init(&out, heap_of(&heap));
  es_sink_cbor(&s, &out);
  CHECK(sink->open(sink, ES_NODE_ARRAY, ES_UNCOUNTED) == ES_INVALID, "[");
  CHECK(sink->open(sink, ES_NODE_OBJECT, ES_UNCOUNTED) == ES_INVALID, "{");
  CHECK(sink->key(sink, "__proto__", 9) == ES_INVALID, "__proto__");
  CHECK(s.depth == 0 && out.len == 0, "nothing written");
#if SIZE_MAX > UINT32_MAX
  CHECK(sink->string(sink, "", (size_t)UINT32_MAX + 1) == ES_LIMIT, "long");
  CHECK(sink->key(sink, "", (size_t)UINT32_MAX + 1) == ES_LIMIT, "long");
#endif
  heap.fail_at = 1;
  CHECK(sink->open(sink, ES_NODE_ARRAY, 1) == ES_NOMEM, "no memory");
  heap.fail_at = 0;
  for (i = 0; i < ES_DEPTH_MAX; i++)
    CHECK(sink->open(sink, ES_NODE_ARRAY, 1) == ES_OK, "%d", i);
  CHECK(sink->open(sink, ES_NODE_ARRAY, 0) == ES_LIMIT, "one too many");
  CHECK(sink->open(sink, ES_NODE_EMPTY, 0) == ES_LIMIT, "one too many");
  CHECK(out.len == ES_DEPTH_MAX, "%zu bytes", out.len);
  CHECK(sink->close(sink) == ES_OK && s.depth == ES_DEPTH_MAX - 1, "closes");
  CHECK(sink->key(sink, "__proto_", 8) == ES_OK, "another key");
  CHECK(sink->string(sink, "__proto__", 9) == ES_OK, "no key");
  es_buffer_free(&out);
}

int main(void) {
  test_examples();
  test_refused();
  test_limit();
  test_messages();
  test_nodes();
  test_joined();
  test_prefixes();
  test_flips();
  test_reading_without_memory();
  test_writing_without_memory();
  test_depth();
  test_depth_joined();
  test_counts();
  test_nested_counts();
  test_keys();
  test_sink_refuses();
  return report();
}
