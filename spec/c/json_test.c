/* json_test.c - the JSON reader, and what the writer makes of it. */
#include <time.h>

#include "json_tools.h"

/* ---- reading what is right --------------------------------------------- */

/* What the text is when written again; NULL: the same. */
typedef struct Good {
  const char *text;
  const char *again;
} Good;

static const Good good[] = {
  {"null", NULL}, {"true", NULL}, {"false", NULL}, {"\"\"", NULL},
  {"[]", NULL}, {"{}", NULL}, {"[[]]", NULL}, {"[{},{}]", NULL},
  {" [ ] ", "[]"}, {"\t\r\n {\t}\n", "{}"},
  {"[1,2,3]", NULL}, {" [ 1 , 2 ] ", "[1,2]"},
  {"{\"a\":1,\"b\":[{\"c\":null}],\"\":true}", NULL},
  {" { \"a\" : 1 , \"b\" : { } } ", "{\"a\":1,\"b\":{}}"},
  {"0", NULL}, {"-1", NULL}, {"9223372036854775807", NULL},
  {"-9223372036854775808", NULL}, {"-0", "-0.0"}, {"1.0", NULL},
  {"[4294967295,4294967296,9999999999]", NULL},
  {"[0]", NULL}, {"[0 ]", "[0]"}, {"{\"a\":0}", NULL},
  {"0.1", NULL}, {"1e300", NULL}, {"5e-324", NULL}, {"1e-400", "0.0"},
  {"1E2", "100.0"}, {"123.456e-789", "0.0"},
  {"9223372036854775808", "9.223372036854776e18"},
  {"\"abc\"", NULL}, {"\"\x7F\"", NULL}, {"\"'/\"", NULL},
  {"\"\\/\"", "\"/\""}, {"\"\\\"\\\\\\b\\f\\n\\r\\t\"", NULL},
  {"\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\""},
  {"\"\\u0000\"", NULL}, {"\"a\\u0000b\"", NULL},
  {"\"\\u0008\\u001F\"", "\"\\b\\u001f\""}, {"\"\\u007f\"", "\"\x7F\""},
  {"{\"\\u0000\":1,\"\\u0000\\u0000\":2}", NULL},
  {"{\"a\\nb\":\"c\"}", NULL}, {"{\"a\":1,\"A\":1,\"\\u00e1\":1}",
                                "{\"a\":1,\"A\":1,\"\xC3\xA1\":1}"},
  {"\"\\uFFFF\\ufffe\"", "\"\xEF\xBF\xBF\xEF\xBF\xBE\""},
  {"\"\xF4\x8F\xBF\xBF\"", NULL}, {"\"\xED\x9F\xBF\xEE\x80\x80\"", NULL},
  /* surrogates: pairs, and what only looks like one */
  {"\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\""},
  {"\"\\uD83D\\uDE00x\"", "\"\xF0\x9F\x98\x80x\""},
  {"\"\\ud83d\"", NULL}, {"\"\\ude00\"", NULL}, {"\"\\ud83dx\"", NULL},
  {"\"\\ude00\\ud83d\"", NULL}, {"\"\\ud83d\\n\"", NULL},
  {"\"\\ud83d\\u0041\"", "\"\\ud83dA\""},
  {"\"\\ud83d\\ud83d\"", NULL},
  {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ud83d\xF0\x9F\x98\x80\""},
  {"\"\\ud83d\\ude00\\ude00\"", "\"\xF0\x9F\x98\x80\\ude00\""},
  {"\"\xED\xA0\xBD\"", "\"\\ud83d\""}, {"\"\xED\xB8\x80\"", "\"\\ude00\""},
  {"\"\xED\xA0\xBDx\\ude00\"", "\"\\ud83dx\\ude00\""},
  {"\"\\ud83d\xED\xA0\xBD\"", "\"\\ud83d\\ud83d\""},
  {"{\"\\ud83d\":\"\xED\xA0\xBD\"}", "{\"\\ud83d\":\"\\ud83d\"}"},
  {"{\"__proto_\":{\"x\":\"__proto__\"}}", NULL},
  {"{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":1}]}}}", NULL}
};

/* Reads an exact copy; 'd' is initialised here and freed by the caller. */
static es_JsonError read_exact(es_Document *d, Heap *heap, const char *text,
                               size_t n, size_t *offset) {
  char *copy = exact(text, n);
  es_JsonError error;
  es_document_init(d, heap_of(heap));
  error = es_json_read(d, copy, n, offset);
  free(copy);   /* the document depends on nothing else */
  return error;
}

/*
** The same with blanks behind it: where more text follows, strings and keys
** are read in another way.
*/
static es_JsonError read_padded(es_Document *d, Heap *heap, const char *text,
                                size_t n, size_t *offset) {
  size_t more = 50;
  char *copy = malloc(n + more);
  es_JsonError error;
  if (copy == NULL) abort();
  memcpy(copy, text, n);
  memset(copy + n, ' ', more);
  error = read_exact(d, heap, copy, n + more, offset);
  free(copy);
  return error;
}

static void check_good(const Good *c) {
  const char *want = c->again == NULL ? c->text : c->again;
  Heap heap = {0};
  es_Document d, e;
  es_Buffer out;
  size_t offset = 77;
  CHECK(read_exact(&d, &heap, c->text, strlen(c->text), &offset) == 0,
        "%s", c->text);
  CHECK(offset == 77, "%s: the offset is left alone", c->text);
  es_buffer_init(&out, heap_of(&heap));
  CHECK(write_json(&d, &out) == ES_OK, "%s", c->text);
  CHECK(out.len == strlen(want) && memcmp(out.data, want, out.len) == 0,
        "%s gives %.*s", c->text, (int)out.len, out.data);
  CHECK(read_exact(&e, &heap, out.data, out.len, &offset) == 0, "%s", want);
  CHECK(same_tree(&d, &e), "%s", want);
  es_document_free(&e);
  CHECK(read_padded(&e, &heap, c->text, strlen(c->text), &offset) == 0,
        "%s", c->text);
  CHECK(same_tree(&d, &e), "%s", c->text);
  es_document_free(&d);
  es_document_free(&e);
  es_buffer_free(&out);
  CHECK(heap.live == 0 && heap.wrong == 0, "%s leaks", c->text);
}

static void test_good(void) {
  size_t i;
  for (i = 0; i < sizeof good / sizeof *good; i++) check_good(&good[i]);
}

static void test_nodes(void) {
  static const char text[] = " {\"ab\": [10, -2.5,\"\\u0041\"] , \"c\":{}}";
  static const size_t offsets[] = {1, 2, 8, 9, 13, 18, 30, 34};
  Heap heap = {0};
  es_Document d;
  size_t offset;
  uint32_t i;
  CHECK(read_exact(&d, &heap, text, sizeof text - 1, &offset) == 0, "reads");
  CHECK(d.count == 8, "%u nodes", d.count);
  for (i = 0; i < 8 && i < d.count; i++)
    CHECK(es_json_offset(text, sizeof text - 1, i) == offsets[i],
          "node %u at %zu", i, es_json_offset(text, sizeof text - 1, i));
  CHECK(es_document_node(&d, 0)->count == 2, "two pairs");
  CHECK(es_document_node(&d, 2)->count == 3, "three elements");
  CHECK(es_document_node(&d, 3)->type == ES_NODE_INT, "integer");
  CHECK(es_document_node(&d, 4)->type == ES_NODE_FLOAT, "float");
  CHECK(es_document_find(&d, 0, "c", 1) == 7, "found");
  es_document_free(&d);
}

/* ---- reading what is wrong --------------------------------------------- */

typedef struct Bad {
  const char *text;
  es_JsonError error;
  size_t offset;
} Bad;

static const Bad bad[] = {
  {"", ES_JSON_EMPTY, 0}, {" \t\r\n", ES_JSON_EMPTY, 4},
  /* the end comes too early */
  {"[", ES_JSON_END, 1}, {"{", ES_JSON_END, 1}, {"[1", ES_JSON_END, 2},
  {"[1 ", ES_JSON_END, 3}, {"[1,", ES_JSON_END, 3},
  {"[{}", ES_JSON_END, 3}, {"[[] ", ES_JSON_END, 4},
  {"{\"a\":[]", ES_JSON_END, 7}, {"{\"a\":{}  ", ES_JSON_END, 9},
  {"[\"]", ES_JSON_END, 3}, {"[\"a\\\"]", ES_JSON_END, 6},
  {"[[1]\n", ES_JSON_END, 5}, {"[[]", ES_JSON_END, 3},
  {"{\"a\"", ES_JSON_END, 4}, {"{\"a\":", ES_JSON_END, 5},
  {"{\"a\":1", ES_JSON_END, 6}, {"{\"a\":1,", ES_JSON_END, 7},
  {"{ ", ES_JSON_END, 2}, {"{\"a", ES_JSON_END, 3}, {"\"", ES_JSON_END, 1},
  {"\"abcdefghijklmn", ES_JSON_END, 15}, {"\"\\", ES_JSON_END, 2},
  {"\"\\u", ES_JSON_END, 3}, {"\"\\u12", ES_JSON_END, 5},
  {"\"\\u1234", ES_JSON_END, 7}, {"\"\\ud83d\\", ES_JSON_END, 8},
  {"\"\\ud83d\\ude", ES_JSON_END, 11}, {"t", ES_JSON_END, 1},
  {"tru", ES_JSON_END, 3}, {"[fals", ES_JSON_END, 5},
  {"nul", ES_JSON_END, 3}, {"-", ES_JSON_END, 1}, {"1.", ES_JSON_END, 2},
  {"1e", ES_JSON_END, 2}, {"1e+", ES_JSON_END, 3}, {"[-", ES_JSON_END, 2},
  /* a byte that cannot stand there */
  {"x", ES_JSON_BYTE, 0}, {" x", ES_JSON_BYTE, 1}, {"[1 2]", ES_JSON_BYTE, 3},
  {"[,1]", ES_JSON_BYTE, 1}, {"[1,]", ES_JSON_BYTE, 3},
  {"[1,,2]", ES_JSON_BYTE, 3}, {"{,}", ES_JSON_BYTE, 1},
  {"{1:2}", ES_JSON_BYTE, 1}, {"{\"a\" 1}", ES_JSON_BYTE, 5},
  {"{\"a\":1,}", ES_JSON_BYTE, 7}, {"{\"a\":1 \"b\":2}", ES_JSON_BYTE, 7},
  {"{\"a\":}", ES_JSON_BYTE, 5}, {"{\"a\"}", ES_JSON_BYTE, 4},
  {"{\"a\"::1}", ES_JSON_BYTE, 5}, {"{\"a\":1]", ES_JSON_BYTE, 6},
  {"[1}", ES_JSON_BYTE, 2}, {"]", ES_JSON_BYTE, 0}, {"}", ES_JSON_BYTE, 0},
  {",", ES_JSON_BYTE, 0}, {":", ES_JSON_BYTE, 0}, {"[}", ES_JSON_BYTE, 1},
  {"{]", ES_JSON_BYTE, 1}, {"trux", ES_JSON_BYTE, 3},
  {"nuLl", ES_JSON_BYTE, 2}, {"[fAlse]", ES_JSON_BYTE, 2},
  {"+1", ES_JSON_BYTE, 0}, {".5", ES_JSON_BYTE, 0}, {"'a'", ES_JSON_BYTE, 0},
  {"NaN", ES_JSON_BYTE, 0}, {"Infinity", ES_JSON_BYTE, 0},
  {"/**/1", ES_JSON_BYTE, 0}, {"[1//\n]", ES_JSON_BYTE, 2},
  {"\f1", ES_JSON_BYTE, 0}, {"\v1", ES_JSON_BYTE, 0},
  {"[\xC2\xA0]", ES_JSON_BYTE, 1}, {"\xFF", ES_JSON_BYTE, 0},
  {"\xEF\xBB", ES_JSON_BYTE, 0}, {"[1;]", ES_JSON_BYTE, 2},
  {"[truex]", ES_JSON_BYTE, 5},
  /* bytes behind the value */
  {"{}}", ES_JSON_TRAILING, 2}, {"[1] 2", ES_JSON_TRAILING, 4},
  {"[[]] ]", ES_JSON_TRAILING, 5}, {"{}\"", ES_JSON_TRAILING, 2},
  {"1]", ES_JSON_TRAILING, 1}, {"1 2", ES_JSON_TRAILING, 2},
  {"[] ,", ES_JSON_TRAILING, 3}, {"nullx", ES_JSON_TRAILING, 4},
  {"1;", ES_JSON_TRAILING, 1}, {"\"a\"\"b\"", ES_JSON_TRAILING, 3},
  {"1\"\"", ES_JSON_TRAILING, 1}, {"[]\f", ES_JSON_TRAILING, 2},
  /* marks */
  {"\xEF\xBB\xBF[]", ES_JSON_BOM, 0}, {"\xEF\xBB\xBF", ES_JSON_BOM, 0},
  {"\xFF\xFE", ES_JSON_BOM, 0}, {"\xFE\xFF", ES_JSON_BOM, 0},
  /* not UTF-8 */
  {"\"\xFF\"", ES_JSON_UTF8, 1}, {"\"a\xC0\x80\"", ES_JSON_UTF8, 2},
  {"\"\xE2\x82\"", ES_JSON_UTF8, 1}, {"\"\xFF", ES_JSON_UTF8, 1},
  {"\"abcdefghijklmnopqrst\x80\"", ES_JSON_UTF8, 21},
  {"\"\xF4\x90\x80\x80\"", ES_JSON_UTF8, 1},
  {"{\"\xE9\":1}", ES_JSON_UTF8, 2}, {"\"\\n\xFF\"", ES_JSON_UTF8, 3},
  {"\"\xFF\n\"", ES_JSON_UTF8, 1},
  {"\"\xED\xA0\xBD\xED\xB8\x80\"", ES_JSON_UTF8, 4},
  {"\"\\ud83d\xED\xB8\x80\"", ES_JSON_UTF8, 7},
  /* control characters */
  {"\"\n\"", ES_JSON_CONTROL, 1}, {"\"a\tb\"", ES_JSON_CONTROL, 2},
  {"\"abcdefghijklmnopqrstuvw\x1F\"", ES_JSON_CONTROL, 24},
  {"\"\\n\n\"", ES_JSON_CONTROL, 3}, {"{\"\x01\":1}", ES_JSON_CONTROL, 2},
  /* escapes */
  {"\"\\x\"", ES_JSON_ESCAPE, 2}, {"\"\\u12G4\"", ES_JSON_ESCAPE, 5},
  {"\"\\u\"", ES_JSON_ESCAPE, 3}, {"\"\\'\"", ES_JSON_ESCAPE, 2},
  {"\"\\U0041\"", ES_JSON_ESCAPE, 2}, {"\"\\\n\"", ES_JSON_ESCAPE, 2},
  {"\"\\u-123\"", ES_JSON_ESCAPE, 3}, {"\"\\\xFF\"", ES_JSON_ESCAPE, 2},
  {"\"\\ud83d\\u12\"", ES_JSON_ESCAPE, 11},
  {"\"\xED\xA0\xBD\\ude00\"", ES_JSON_ESCAPE, 4},
  {"{\"\\a\":1}", ES_JSON_ESCAPE, 3},
  /* numbers */
  {"01", ES_JSON_NUMBER, 1}, {"-01", ES_JSON_NUMBER, 2},
  {"[-x]", ES_JSON_NUMBER, 2}, {"[-]", ES_JSON_NUMBER, 2},
  {"[1.]", ES_JSON_NUMBER, 3}, {"1.e5", ES_JSON_NUMBER, 2},
  {"[1ex]", ES_JSON_NUMBER, 3}, {"1e+-1", ES_JSON_NUMBER, 3},
  {"-Infinity", ES_JSON_NUMBER, 1}, {"--1", ES_JSON_NUMBER, 1},
  {"0x10", ES_JSON_NUMBER, 1}, {"[1x]", ES_JSON_NUMBER, 2},
  {"[1.5.5]", ES_JSON_NUMBER, 4}, {"1e309", ES_JSON_HUGE, 0},
  {"[-1e400]", ES_JSON_HUGE, 1},
  {"[1.7976931348623159e308]", ES_JSON_HUGE, 1},
  /* keys */
  {"{\"a\":1,\"a\":2}", ES_JSON_DUPLICATE, 7},
  {"{\"a\":1,\"\\u0061\":2}", ES_JSON_DUPLICATE, 7},
  {"{\"\":1,\"b\":2 , \"\":2}", ES_JSON_DUPLICATE, 14},
  {"[{\"a\":{\"b\":1,\"b\":1}}]", ES_JSON_DUPLICATE, 13},
  {"{\"a\":{\"a\":1},\"b\":[1],\"a\":2}", ES_JSON_DUPLICATE, 21},
  {"{\"\\u0000\":1,\"\\u0000\":2}", ES_JSON_DUPLICATE, 12},
  {"{\"\\ud83d\":1,\"\xED\xA0\xBD\":2}", ES_JSON_DUPLICATE, 12},
  {"{\"__proto__\":1}", ES_JSON_PROTO, 1},
  {"[{\"a\":1,\"\\u005f_proto__\":1}]", ES_JSON_PROTO, 8}
};

static int shown(size_t n) {
  return n < 60 ? (int)n : 60;
}

static void check_bad(const char *text, size_t n, es_JsonError error,
                      size_t at) {
  Heap heap = {0};
  es_Document d;
  size_t offset = SIZE_MAX;
  es_JsonError got = read_exact(&d, &heap, text, n, &offset);
  CHECK(got == error && offset == at, "%.*s: %s at %zu", shown(n), text,
        es_json_message(got), offset);
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "%.*s leaks", shown(n), text);
}

/* More text makes no other error of one that is not at the end. */
static void check_bad_padded(const Bad *c) {
  Heap heap = {0};
  es_Document d;
  size_t offset = SIZE_MAX;
  es_JsonError got = read_padded(&d, &heap, c->text, strlen(c->text), &offset);
  CHECK(got == c->error && offset == c->offset, "%s: %s at %zu", c->text,
        es_json_message(got), offset);
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "%s leaks", c->text);
}

static void test_bad(void) {
  size_t i;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    check_bad(bad[i].text, strlen(bad[i].text), bad[i].error, bad[i].offset);
    if (bad[i].error != ES_JSON_END && bad[i].error != ES_JSON_EMPTY)
      check_bad_padded(&bad[i]);
  }
}

/* Zero bytes, which the table cannot hold. */
static void test_zeros(void) {
  check_bad("\0", 1, ES_JSON_BYTE, 0);
  check_bad("[\0]", 3, ES_JSON_BYTE, 1);
  check_bad("1\0", 2, ES_JSON_BOM, 0);
  check_bad("\0" "1", 2, ES_JSON_BOM, 0);
  check_bad("1 \0", 3, ES_JSON_TRAILING, 2);
  check_bad("\"\0\"", 3, ES_JSON_CONTROL, 1);
  check_bad("\"a\0b\"", 5, ES_JSON_CONTROL, 2);
  check_bad("\"\\\0\"", 4, ES_JSON_ESCAPE, 2);
  check_bad("nul\0", 4, ES_JSON_BYTE, 3);
  check_bad("\xFF\xFE[\0]\0", 6, ES_JSON_BOM, 0);
  check_bad("\xFE\xFF\0[\0]", 6, ES_JSON_BOM, 0);
  check_bad("[\0]\0", 4, ES_JSON_BOM, 0);
  check_bad("\0[\0]", 4, ES_JSON_BOM, 0);
  check_bad("[\0\0\0]\0\0\0", 8, ES_JSON_BOM, 0);
  check_bad("\0\0\0[\0\0\0]", 8, ES_JSON_BOM, 0);
  check_bad("\0\0\xFE\xFF\0\0\0[", 8, ES_JSON_BOM, 0);
  check_bad(NULL, 0, ES_JSON_EMPTY, 0);
}

/* Every byte where a value, a string's content, an escape may stand. */
static void test_bytes(void) {
  unsigned c;
  for (c = 0; c < 256; c++) {
    char value[] = {'[', (char)c, ' ', ' ', ']'};
    char content[] = {'"', (char)c, '"'};
    char escape[] = {'"', '\\', (char)c, '"'};
    Heap heap = {0};
    es_Document d;
    size_t offset = 0;
    int ok = c != '\0' && strchr(" \t\r\n0123456789", (int)c) != NULL;
    CHECK((read_exact(&d, &heap, value, 5, &offset) == 0) == ok, "%u", c);
    es_document_free(&d);
    ok = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
    CHECK((read_exact(&d, &heap, content, 3, &offset) == 0) == ok, "%u", c);
    es_document_free(&d);
    ok = c != '\0' && strchr("\"\\/bfnrt", (int)c) != NULL;
    CHECK((read_exact(&d, &heap, escape, 4, &offset) == 0) == ok, "%u", c);
    es_document_free(&d);
    CHECK(heap.live == 0, "leak");
  }
}

/* Equal keys that are no error. */
static void test_last(void) {
  static const char text[] = "{\"a\":1,\"b\":{\"c\":2,\"\\u0063\":3},\"a\":4}";
  static const char proto[] = "{\"a\":1,\"a\":2,\"__proto__\":3}";
  Heap heap = {0};
  es_Document d;
  size_t offset = 77;
  es_document_init(&d, heap_of(&heap));
  CHECK(es_json_read_last(&d, text, sizeof text - 1, &offset) == 0, "reads");
  CHECK(offset == 77, "the offset is left alone");
  CHECK(d.count == 11 && es_document_node(&d, 0)->count == 3, "has both");
  CHECK(es_document_find(&d, 0, "a", 1) == 10, "finds the last one");
  CHECK(es_document_find(&d, 4, "c", 1) == 8, "finds the last one");
  es_document_free(&d);
  CHECK(es_json_read(&d, text, sizeof text - 1, &offset) ==
        ES_JSON_DUPLICATE && offset == 18, "the inner object ends first");
  es_document_free(&d);
  CHECK(es_json_read_last(&d, proto, sizeof proto - 1, &offset) ==
        ES_JSON_PROTO && offset == 13, "at %zu", offset);
  es_document_free(&d);
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
}

/* A node too many can only be pretended. */
static void test_limit(void) {
  Heap heap = {0};
  es_Document d;
  size_t offset = 0;
  es_document_init(&d, heap_of(&heap));
  d.count = d.cap = UINT32_MAX - 1;
  CHECK(es_json_read(&d, " 1", 2, &offset) == ES_JSON_LIMIT && offset == 1,
        "at %zu", offset);
  d.count = d.cap = 0;
  es_document_free(&d);
}

static void test_messages(void) {
  int i, j;
  for (i = ES_JSON_OK; i <= ES_JSON_LIMIT; i++)
    for (j = ES_JSON_OK; j < i; j++)
      CHECK(strcmp(es_json_message((es_JsonError)i),
                   es_json_message((es_JsonError)j)) != 0, "%d, %d", i, j);
  CHECK(strcmp(es_json_message(ES_JSON_DUPLICATE), "a key occurs twice") == 0,
        "words");
  CHECK(es_json_message((es_JsonError)99) != NULL, "never NULL");
}

/* ---- every prefix, every failing allocation ---------------------------- */

static const char sample[] =
  "{\"format\":\"ecs-serialize\",\"version\":1,\"entities\":[{\"tags\":["
  "\"Hero\"],\"traits\":{\"Position\":{\"x\":-495.3096495848144,\"y\":0.5}},"
  "\"pairs\":{\"Owns\":[{\"target\":0,\"data\":null}]}}],\"world\":{\"t\":["
  "true,false,\"\\u0000\\ud83d\\ude00\xF0\x9F\x98\x80\\ud83d\\n\",1e9,-0]},"
  "\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,"
  "\"j\":0,\"k\":0,\"l\":0,\"m\":0,\"\xE2\x82\xAC\":\"\xED\xA0\xBD\"}";

static void test_prefixes(void) {
  size_t n;
  for (n = 0; n < sizeof sample - 1; n++) {
    Heap heap = {0};
    es_Document d;
    size_t offset = SIZE_MAX;
    es_JsonError error = read_exact(&d, &heap, sample, n, &offset);
    CHECK(error == (n == 0 ? ES_JSON_EMPTY : ES_JSON_END) ||
          error == ES_JSON_UTF8, "%zu: %s", n, es_json_message(error));
    CHECK(error == ES_JSON_UTF8 ? offset < n && n - offset < 4 : offset == n,
          "%zu: offset %zu", n, offset);
    es_document_free(&d);
    CHECK(heap.live == 0, "%zu leaks", n);
  }
}

/* Whatever one byte becomes: no fault, and an offset within the text. */
static void test_flips(void) {
  char text[sizeof sample];
  size_t n = sizeof sample - 1;
  size_t i;
  unsigned bit;
  memcpy(text, sample, sizeof text);
  for (i = 0; i < n; i++)
    for (bit = 0; bit < 8; bit++) {
      Heap heap = {0};
      es_Document d;
      size_t offset = SIZE_MAX;
      es_JsonError error;
      text[i] = (char)(text[i] ^ (1 << bit));
      error = read_exact(&d, &heap, text, n, &offset);
      CHECK(error == ES_JSON_OK || offset <= n, "byte %zu bit %u", i, bit);
      es_document_free(&d);
      CHECK(heap.live == 0, "byte %zu bit %u leaks", i, bit);
      text[i] = sample[i];
    }
}

/* Fails one request after the other; returns how many there are. */
static size_t check_memory(const char *text, size_t n, es_JsonError want) {
  es_JsonError error = ES_JSON_NOMEM;
  size_t k;
  for (k = 1; error == ES_JSON_NOMEM && k < 100; k++) {
    Heap heap = {0};
    es_Document d;
    size_t offset = SIZE_MAX;
    heap.fail_at = k;
    error = read_exact(&d, &heap, text, n, &offset);
    CHECK(error == ES_JSON_NOMEM ? offset <= n : heap.calls < k, "%zu: %s",
          k, es_json_message(error));
    es_document_free(&d);
    CHECK(heap.live == 0 && heap.wrong == 0, "leak at %zu", k);
  }
  CHECK(error == want, "%s", es_json_message(error));
  return k - 2;
}

/* 'n' times the element in brackets, on 'depth' levels. */
static char *repeat(const char *element, size_t n, size_t depth, size_t *len) {
  size_t length = strlen(element);
  char *text = malloc(n * length + 2 * depth);
  size_t i;
  if (text == NULL) abort();
  memset(text, '[', depth);
  for (i = 0; i < n; i++) memcpy(text + depth + i * length, element, length);
  /* the last element ends with a comma: in its place */
  memset(text + depth + n * length - 1, ']', depth);
  *len = n * length + 2 * depth - 1;
  return text;
}

/* Nodes, strings and the copy of a broken text outgrow their first room. */
static void test_memory(void) {
  size_t n, requests;
  char *text;
  requests = check_memory(sample, sizeof sample - 1, ES_JSON_OK);
  CHECK(requests >= 3, "%zu requests", requests);
  requests = check_memory(sample, sizeof sample - 2, ES_JSON_END);
  CHECK(requests >= 3, "%zu requests", requests);
  text = repeat("1,", 10000, 40, &n);
  requests = check_memory(text, n, ES_JSON_OK);
  CHECK(requests >= 4, "%zu requests", requests);
  free(text);
  text = repeat("\"some bytes\",\"more of \\u0074hem\",", 1000, 1, &n);
  requests = check_memory(text, n, ES_JSON_OK);
  CHECK(requests >= 5, "%zu requests", requests);
  free(text);
}

/* A first guess at the room that is refused is no reason to fail. */
typedef struct Narrow {
  Heap heap;
  size_t most;
} Narrow;

static void *narrow_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  Narrow *narrow = ud;
  if (nsize > narrow->most) return NULL;
  return heap_alloc(&narrow->heap, ptr, osize, nsize);
}

static void test_narrow(void) {
  Narrow narrow = {{0}, 100000};
  es_Alloc alloc = {narrow_alloc, &narrow};
  es_Document d;
  size_t n, offset = 0;
  char *text = repeat("\"0123456789012345678901234567890123456789\",",
                      1000, 1, &n);
  es_document_init(&d, alloc);
  CHECK(es_json_read(&d, text, n, &offset) == ES_JSON_OK, "at %zu", offset);
  CHECK(d.count == 1001, "%u nodes", d.count);
  es_document_free(&d);
  CHECK(narrow.heap.live == 0 && narrow.heap.wrong == 0, "leak");
  free(text);
}

/* ---- size -------------------------------------------------------------- */

/* 'n' brackets, every other one an object's where 'mixed', and no end. */
static void check_brackets(size_t n, int mixed) {
  char *text = malloc(n * 5);
  char *p = text;
  size_t i;
  if (text == NULL) abort();
  for (i = 0; i < n; i++) {
    size_t length = mixed && i % 2 == 1 ? 5 : 1;
    memcpy(p, length == 5 ? "{\"a\":" : "[", length);
    p += length;
  }
  if (n <= ES_DEPTH_MAX)
    check_bad(text, (size_t)(p - text), ES_JSON_END, (size_t)(p - text));
  else
    check_bad(text, (size_t)(p - text), ES_JSON_DEPTH,
              mixed ? ES_DEPTH_MAX * 3 : ES_DEPTH_MAX);
  free(text);
}

static void check_nested(size_t n, es_JsonError want) {
  char text[2 * ES_DEPTH_MAX + 2];
  Heap heap = {0};
  es_Document d;
  es_Buffer out;
  size_t offset = 0;
  memset(text, '[', n);
  memset(text + n, ']', n);
  CHECK(read_exact(&d, &heap, text, 2 * n, &offset) == want, "depth %zu", n);
  if (want == ES_JSON_OK) {
    es_buffer_init(&out, heap_of(&heap));
    CHECK(write_json(&d, &out) == ES_OK, "depth %zu", n);
    CHECK(out.len == 2 * n && memcmp(out.data, text, 2 * n) == 0, "%zu", n);
    es_buffer_free(&out);
  } else {
    CHECK(offset == ES_DEPTH_MAX, "at %zu", offset);
  }
  es_document_free(&d);
}

static void test_depth(void) {
  check_nested(ES_DEPTH_MAX - 1, ES_JSON_OK);
  check_nested(ES_DEPTH_MAX, ES_JSON_OK);
  check_nested(ES_DEPTH_MAX + 1, ES_JSON_DEPTH);
  check_brackets(ES_DEPTH_MAX, 0);
  check_brackets(ES_DEPTH_MAX, 1);
  check_brackets(1000000, 0);
  check_brackets(1000000, 1);
}

/* Ten million digits, as an integer and behind the point. */
static void test_digits(void) {
  size_t n = 10000000;
  char *text = malloc(n);
  Heap heap = {0};
  es_Document d;
  size_t offset = 0;
  if (text == NULL) abort();
  memset(text, '7', n);
  check_bad(text, n, ES_JSON_HUGE, 0);
  text[1] = '.';
  CHECK(read_exact(&d, &heap, text, n, &offset) == ES_JSON_OK, "reads");
  CHECK(d.count == 1 && es_document_node(&d, 0)->u.d == 7.0 + 7.0 / 9,
        "rounds");
  es_document_free(&d);
  text[n - 1] = ',';
  check_bad(text, n, ES_JSON_TRAILING, n - 1);
  free(text);
}

/* An object of 'n' keys; with 'again' the last key repeats the first. */
static void check_keys(size_t n, int again) {
  char *text = malloc(n * 24 + 2);
  char *p = text;
  size_t last = 0, offset = 0, i;
  Heap heap = {0};
  es_Document d;
  es_JsonError error;
  clock_t start;
  double seconds;
  if (text == NULL) abort();
  for (i = 0; i < n; i++) {
    last = (size_t)(p - text) + 1;
    p += sprintf(p, "%c\"key-%zu\":%zu", i == 0 ? '{' : ',',
                 again && i == n - 1 ? 0 : i, i);
  }
  *p++ = '}';
  start = clock();
  error = read_exact(&d, &heap, text, (size_t)(p - text), &offset);
  seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  CHECK(again ? error == ES_JSON_DUPLICATE && offset == last : error == 0,
        "%zu keys: %s at %zu", n, es_json_message(error), offset);
  CHECK(seconds < 5, "%zu keys took %.2f s", n, seconds);
  if (n >= 100000) printf("%zu keys: %.3f s\n", n, seconds);
  es_document_free(&d);
  CHECK(heap.live == 0, "leak");
  free(text);
}

static void test_keys(void) {
  size_t n;
  for (n = 2; n < 40; n++) {
    check_keys(n, 0);
    check_keys(n, 1);
  }
  check_keys(100000, 0);
  check_keys(100000, 1);
}

/* So many keys between the two that the first one is forgotten. */
static void test_between(size_t n) {
  char *text = malloc(n * 16 + 100);
  char *p = text;
  size_t i;
  if (text == NULL) abort();
  p += sprintf(p, "{\"again\":1,\"b\":{");
  for (i = 0; i < n; i++)
    p += sprintf(p, "%s\"%zu\":0", i == 0 ? "" : ",", i);
  i = (size_t)(p - text) + 2;
  p += sprintf(p, "},\"again\":2,\"with some more text behind it\":3}");
  check_bad(text, (size_t)(p - text), ES_JSON_DUPLICATE, i);
  free(text);
}

int main(void) {
  size_t n;
  test_good();
  test_nodes();
  test_bad();
  test_zeros();
  test_bytes();
  test_limit();
  test_messages();
  test_prefixes();
  test_flips();
  test_memory();
  test_narrow();
  test_last();
  test_depth();
  test_digits();
  test_keys();
  for (n = 1; n < 600; n++) test_between(n);
  return report();
}
