/* json_write_test.c - the JSON writer. */
#include "json_tools.h"
#include "number.h"

/* ---- every failing allocation ------------------------------------------ */

static const char sample[] =
  "{\"entities\":[{\"tags\":[\"Hero\",\"\"],\"x\":-495.3096495848144,\"y\":7,"
  "\"pairs\":{\"Owns\":[{\"target\":0,\"data\":null}]},\"b\":[true,false]}],"
  "\"\\u0000\\ud83d\\ude00\\ud83d\\n\\\"\":\"\xC3\xA9 and more of it\"}";

static void test_memory(void) {
  Heap heap = {0};
  es_Document d;
  es_Status status = ES_NOMEM;
  size_t offset, k;
  es_document_init(&d, heap_of(&heap));
  CHECK(es_json_read(&d, sample, sizeof sample - 1, &offset) == ES_JSON_OK,
        "reads");
  for (k = 1; status != ES_OK && k < 100; k++) {
    Heap other = {0};
    es_Buffer out;
    other.fail_at = k;
    es_buffer_init(&out, heap_of(&other));
    status = write_json(&d, &out);
    CHECK(status == ES_OK || status == ES_NOMEM, "%zu", k);
    es_buffer_free(&out);
    CHECK(other.live == 0 && other.wrong == 0, "leak at %zu", k);
  }
  CHECK(status == ES_OK && k > 3, "%zu runs", k);
  es_document_free(&d);
}

/* The same at every byte of the text: a buffer of that size cannot grow. */
static void test_full(void) {
  static const char text[] =
    "[\"ab\",null,true,\"a\\n\\u0001\\\"b\\ud83dc\xED\x80\x80\",[],{},"
    "{\"k\":[],\"l\":\"\",\"\\t\":{}},1,-2.5]";   /* numbers last: */
  Heap heap = {0};
  es_Document d;
  size_t n = sizeof text - 1;
  size_t offset, k;
  es_document_init(&d, heap_of(&heap));
  CHECK(es_json_read(&d, text, n, &offset) == ES_JSON_OK, "reads");
  for (k = 1; k <= n + ES_NUMBER_MAX; k++) {
    Heap other = {0};
    es_Buffer out;
    es_Status status;
    es_buffer_init(&out, heap_of(&other));
    out.data = heap_alloc(&other, NULL, 0, k);
    out.cap = k;
    other.fail_at = other.calls + 1;
    status = write_json(&d, &out);
    /* they ask for more room than they take */
    CHECK(status == ES_NOMEM || (status == ES_OK && k >= n), "%zu", k);
    CHECK(k < n + ES_NUMBER_MAX || status == ES_OK, "%zu", k);
    CHECK(out.len <= k && memcmp(out.data, text, out.len) == 0, "%zu", k);
    es_buffer_free(&out);
    CHECK(other.live == 0 && other.wrong == 0, "leak at %zu", k);
  }
  es_document_free(&d);
}

/* ---- calls that are repeated -------------------------------------------- */

/* One call of a walk over [[],{"k":"a"},1]. */
static es_Status call(es_Sink *s, int step) {
  switch (step) {
    case 0: case 1: return s->open(s, ES_NODE_ARRAY, ES_UNCOUNTED);
    case 2: case 6: return s->close(s);
    case 3: return s->open(s, ES_NODE_OBJECT, ES_UNCOUNTED);
    case 4: return s->key(s, "k", 1);
    case 5: return s->string(s, "a\n", 2);
    case 7: return s->integer(s, 1);
    case 8: return s->null(s);
    default: return s->close(s);
  }
}

/* A call that memory failed is as if it had not been made. */
static void test_repeated(void) {
  static const char want[] = "[[],{\"k\":\"a\\n\"},1,null]";
  size_t k, n = sizeof want - 1;
  for (k = 0; k < n; k++) {
    Heap heap = {0};
    es_Buffer out;
    es_JsonSink sink;
    int step, repeated = 0;
    es_buffer_init(&out, heap_of(&heap));
    es_sink_json(&sink, &out);
    out.data = k > 0 ? heap_alloc(&heap, NULL, 0, k) : NULL;
    out.cap = k;
    heap.fail_at = heap.calls + 1;
    for (step = 0; step < 10; step++)
      while (call(&sink.sink, step) != ES_OK && repeated < 10) {
        heap.fail_at = 0;
        repeated++;
      }
    CHECK(repeated == 1, "%zu: %d", k, repeated);
    CHECK(out.len == n && memcmp(out.data, want, n) == 0, "%zu: %.*s", k,
          (int)out.len, out.data);
    es_buffer_free(&out);
    CHECK(heap.live == 0 && heap.wrong == 0, "leak at %zu", k);
  }
}

/* ---- limits and shapes ------------------------------------------------- */

static void test_limits(void) {
  Heap heap = {0};
  es_Buffer out;
  es_JsonSink sink;
  es_Sink *s = &sink.sink;
  unsigned i;
  es_buffer_init(&out, heap_of(&heap));
  es_sink_json(&sink, &out);
  for (i = 0; i < ES_DEPTH_MAX; i++)
    CHECK(s->open(s, ES_NODE_ARRAY, ES_UNCOUNTED) == ES_OK, "level %u", i);
  CHECK(s->open(s, ES_NODE_ARRAY, ES_UNCOUNTED) == ES_LIMIT, "too deep");
  CHECK(s->open(s, ES_NODE_EMPTY, 0) == ES_LIMIT, "too deep");
  es_buffer_free(&out);
  es_sink_json(&sink, &out);
  CHECK(s->open(s, ES_NODE_OBJECT, ES_UNCOUNTED) == ES_OK, "object");
  CHECK(s->key(s, "__proto__", 9) == ES_INVALID, "refused");
  CHECK(s->key(s, "__proto_", 8) == ES_OK, "another key");
  es_buffer_free(&out);
}

static void test_empty(void) {
  static const char want[] = "[{},[],{},{\"a\":{},\"b\":-7}]";
  Heap heap = {0};
  es_Buffer out;
  es_JsonSink sink;
  es_Sink *s = &sink.sink;
  int ok;
  es_buffer_init(&out, heap_of(&heap));
  es_sink_json(&sink, &out);
  ok = s->open(s, ES_NODE_ARRAY, 4) == ES_OK &&
       s->open(s, ES_NODE_EMPTY, 0) == ES_OK && s->close(s) == ES_OK &&
       s->open(s, ES_NODE_ARRAY, 0) == ES_OK && s->close(s) == ES_OK &&
       s->open(s, ES_NODE_OBJECT, 0) == ES_OK && s->close(s) == ES_OK &&
       s->open(s, ES_NODE_OBJECT, ES_UNCOUNTED) == ES_OK &&
       s->key(s, "a", 1) == ES_OK &&
       s->open(s, ES_NODE_EMPTY, 0) == ES_OK && s->close(s) == ES_OK &&
       s->key(s, "b", 1) == ES_OK && s->integer(s, -7) == ES_OK &&
       s->close(s) == ES_OK && s->close(s) == ES_OK;
  CHECK(ok, "all calls");
  CHECK(out.len == sizeof want - 1 && memcmp(out.data, want, out.len) == 0,
        "%.*s", (int)out.len, out.data);
  es_buffer_free(&out);
}

/* How a string of one character is written, by the rules of JavaScript. */
static size_t expected(char *out, const char *bytes, size_t n, unsigned c) {
  static const char shorts[] = "\b\t\n\f\r\"\\", names[] = "btnfr\"\\";
  const char *found = c == 0 || c > 0x7F ? NULL : strchr(shorts, (int)c);
  if (found != NULL) return (size_t)sprintf(out, "\"\\%c\"",
                                            names[found - shorts]);
  if (c < 0x20 || (c >= 0xD800 && c <= 0xDFFF))
    return (size_t)sprintf(out, "\"\\u%04x\"", c);
  out[0] = '"';
  memcpy(out + 1, bytes, n);
  out[n + 1] = '"';
  return n + 2;
}

/* Three bytes of every code point of the first plane, without utf8.h. */
static size_t encode(char *out, unsigned c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  out[0] = (char)(0xE0 | c >> 12);
  out[1] = (char)(0x80 | (c >> 6 & 0x3F));
  out[2] = (char)(0x80 | (c & 0x3F));
  return 3;
}

/* Each character alone, and at each place of a longer string. */
static void test_strings(void) {
  Heap heap = {0};
  es_Buffer out;
  unsigned c, wrong = 0;
  es_buffer_init(&out, heap_of(&heap));
  for (c = 0; c < 0x10000; c++) {
    char bytes[3], want[16], text[32];
    size_t n = encode(bytes, c);
    size_t length = expected(want, bytes, n, c);
    size_t before = c % 17;
    es_JsonSink sink;
    out.len = 0;
    es_sink_json(&sink, &out);
    if (sink.sink.string(&sink.sink, bytes, n) != ES_OK) wrong++;
    if (out.len != length || memcmp(out.data, want, length) != 0) wrong++;
    memset(text, '.', sizeof text);
    memcpy(text + before, bytes, n);
    out.len = 0;
    es_sink_json(&sink, &out);
    if (sink.sink.string(&sink.sink, text, 20 + n) != ES_OK) wrong++;
    if (out.len != length + 20 ||
        memcmp(out.data + 1 + before, want + 1, length - 2) != 0)
      wrong++;
  }
  CHECK(wrong == 0, "%u characters", wrong);
  es_buffer_free(&out);
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
}

int main(void) {
  test_memory();
  test_full();
  test_repeated();
  test_limits();
  test_empty();
  test_strings();
  return report();
}
