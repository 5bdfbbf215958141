/*
** json_random_test.c - the JSON reader and random texts.
**
** A generator writes a text and tells the same tree to the builder of
** documents, which knows nothing of keys that are remembered, of text that
** ends soon, or of how a string is best copied. Both must agree, also on
** where each node stands and on the first key that occurs twice.
*/
#include <stdarg.h>
#include <time.h>

#include "json_tools.h"

#define LONG_TEXT 400000

typedef struct Maker {
  uint64_t state;         /* of the random numbers */
  es_Document *want;
  char *text;
  size_t len;
  unsigned space;         /* 0: none, 1: lines, 2: anything */
  unsigned names;         /* how many different keys there are */
  unsigned depth;
  size_t twice;           /* offset of the key that is an error, or 0 */
  size_t *offsets;        /* of the nodes of 'want' */
} Maker;

static uint32_t draw(Maker *m, uint32_t n) {
  m->state ^= m->state << 13;
  m->state ^= m->state >> 7;
  m->state ^= m->state << 17;
  return (uint32_t)(m->state >> 32) % n;
}

static void put(Maker *m, const char *s, size_t n) {
  if (m->len + n > LONG_TEXT) abort();
  memcpy(m->text + m->len, s, n);
  m->len += n;
}

static void put_space(Maker *m) {
  static const char some[] = " \t\n\r                 ";
  uint32_t n;
  if (m->space == 1) {
    put(m, "\n                                  ", 1 + 2 * m->depth);
  } else if (m->space == 2 && draw(m, 3) == 0) {
    n = draw(m, sizeof some);
    put(m, some + sizeof some - 1 - n, n);
  }
}

/* The next node begins here. */
static void note_offset(Maker *m) {
  m->offsets[m->want->count] = m->len;
}

static void expect_good(es_Status status) {
  if (status != ES_OK) abort();
}

/* ---- strings ----------------------------------------------------------- */

typedef struct Content {
  char bytes[200];
  size_t n;
} Content;

static void add(Content *c, const char *format, ...) {
  va_list list;
  va_start(list, format);
  c->n += (size_t)vsnprintf(c->bytes + c->n, sizeof c->bytes - c->n, format,
                            list);
  va_end(list);
}

/*
** A name by its number: short ones, long ones that begin or end alike or
** differ in the middle, others that hold what must be escaped.
*/
static Content name_of(uint32_t k) {
  Content c = {{0}, 0};
  switch (k % 8) {
    case 0: add(&c, "%u", k / 8); break;
    case 1: add(&c, "%.*s", (int)(k / 8 % 48), "abcdefghijklmnopqrstuvwxyz"
                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"); break;
    case 2: add(&c, "position.%u", k); break;
    case 3: add(&c, "%u.of.the.position", k); break;
    case 4: add(&c, "position.%u.of.the.position", k); break;
    case 5: add(&c, "position.of.%u.the.first.position", k); break;
    case 6: add(&c, "\xC3\xA9t\xC3\xA9 %u", k); break;
    default: add(&c, "%u\"\\\n", k); break;
  }
  return c;
}

static Content random_string(Maker *m) {
  Content c = {{0}, 0};
  size_t n = draw(m, draw(m, 8) == 0 ? 150 : 24);
  unsigned kind = draw(m, 4);
  for (; c.n < n; c.n++) {
    c.bytes[c.n] = (char)(' ' + draw(m, 95));
    if (kind > 0 && (c.bytes[c.n] == '"' || c.bytes[c.n] == '\\'))
      c.bytes[c.n] = 'q';
  }
  if (kind == 1) add(&c, "\xF0\x9F\x98\x80");
  return c;
}

/* Some characters are written as escapes though they need not be. */
static void put_string(Maker *m, const Content *c) {
  unsigned odds = draw(m, 4) == 0 ? 5 : 1000;
  size_t i;
  put(m, "\"", 1);
  for (i = 0; i < c->n; i++) {
    unsigned char byte = (unsigned char)c->bytes[i];
    char escape[8];
    snprintf(escape, sizeof escape, "\\u%04x", byte);
    if (byte < 0x20 || byte == '"' || byte == '\\' ||
        (byte < 0x80 && draw(m, odds) == 0))
      put(m, escape, 6);
    else
      put(m, c->bytes + i, 1);
  }
  put(m, "\"", 1);
}

/* ---- values ------------------------------------------------------------ */

static void make_value(Maker *m);

static void make_leaf(Maker *m) {
  static const int64_t edge[] = {
    0, 9, 10, 999999999, 1000000000, 4294967296, 9999999999, INT64_MAX
  };
  char number[40];
  int64_t i = draw(m, 3) == 0 ? edge[draw(m, 8)] : (int64_t)draw(m, 2000);
  double d = (double)draw(m, 1000000) / 64;
  Content c;
  switch (draw(m, 6)) {
    case 0:
      c = random_string(m);
      put_string(m, &c);
      expect_good(es_document_string(m->want, c.bytes, c.n));
      return;
    case 1:
      put(m, "null", 4);
      expect_good(es_document_null(m->want));
      return;
    case 2:
      put(m, "true", 4);
      expect_good(es_document_bool(m->want, 1));
      return;
    case 3:
      put(m, number, (size_t)snprintf(number, sizeof number, "%.6f", d));
      expect_good(es_document_float(m->want, d));
      return;
    default:
      if (draw(m, 4) == 0) i = -i - 1;
      put(m, number, (size_t)snprintf(number, sizeof number, "%lld",
                                      (long long)i));
      expect_good(es_document_int(m->want, i));
  }
}

static void make_array(Maker *m, uint32_t n) {
  uint32_t i;
  put(m, "[", 1);
  for (i = 0; i < n; i++) {
    if (i > 0) put(m, ",", 1);
    put_space(m);
    make_value(m);
    put_space(m);
  }
  if (n == 0) put_space(m);
  put(m, "]", 1);
}

static void make_object(Maker *m, uint32_t n) {
  uint32_t index = m->want->count - 1;
  uint32_t first = draw(m, m->names), i, twice;
  put(m, "{", 1);
  for (i = 0; i < n; i++) {
    /* mostly one after the other, as the fields of a trait */
    Content c = name_of(draw(m, 20) == 0 ? draw(m, m->names)
                                         : (first + i) % m->names);
    if (i > 0) put(m, ",", 1);
    put_space(m);
    note_offset(m);
    put_string(m, &c);
    expect_good(es_document_key(m->want, c.bytes, c.n));
    put_space(m);
    put(m, ":", 1);
    put_space(m);
    make_value(m);
    put_space(m);
  }
  put(m, "}", 1);
  m->want->nodes[index].u.end = m->want->count;
  expect_good(es_document_duplicate(m->want, index, &twice));
  if (twice != 0 && m->twice == 0)
    m->twice = m->offsets[twice];
}

static void make_value(Maker *m) {
  uint32_t kind = draw(m, 3);
  uint32_t n = draw(m, draw(m, 12) == 0 ? 40 : 5);
  note_offset(m);
  if (m->depth > 0 && (kind == 0 || m->depth == 8 || m->len > 50000)) {
    make_leaf(m);
    return;
  }
  expect_good(es_document_open(m->want, kind == 1 ? ES_NODE_ARRAY
                                                  : ES_NODE_OBJECT));
  m->depth++;
  if (kind == 1) make_array(m, n);
  else make_object(m, n);
  m->depth--;
  es_document_close(m->want);
}

/* ---- the comparison ---------------------------------------------------- */

/* Each look is a walk over the text, so that some nodes must do. */
static int same_offsets(const Maker *m, const char *text) {
  uint32_t i, n = m->want->count, step = n / 20 + 1;
  for (i = 0; i < n; i += step)
    if (es_json_offset(text, m->len, i) != m->offsets[i]) return 0;
  return es_json_offset(text, m->len, n - 1) == m->offsets[n - 1] &&
         es_json_offset(text, m->len, n) == m->len;
}

static void check_text(const Maker *m, unsigned round) {
  Heap heap = {0};
  es_Document d;
  size_t offset = 0;
  char *copy = exact(m->text, m->len);
  es_JsonError error;
  es_document_init(&d, heap_of(&heap));
  error = es_json_read_last(&d, copy, m->len, &offset);
  CHECK(error == ES_JSON_OK, "round %u: %s at %zu", round,
        es_json_message(error), offset);
  CHECK(same_tree(m->want, &d), "round %u", round);
  CHECK(same_offsets(m, copy), "round %u", round);
  es_document_free(&d);
  error = es_json_read(&d, copy, m->len, &offset);
  if (m->twice == 0)
    CHECK(error == ES_JSON_OK && same_tree(m->want, &d), "round %u", round);
  else
    CHECK(error == ES_JSON_DUPLICATE && offset == m->twice,
          "round %u: %s at %zu, not %zu", round, es_json_message(error),
          offset, m->twice);
  es_document_free(&d);
  free(copy);
  CHECK(heap.live == 0 && heap.wrong == 0, "round %u leaks", round);
}

/* Without its last bytes, or with others there, no text is right. */
static void check_cut(Maker *m, unsigned round) {
  size_t cut = 1 + draw(m, 60);
  size_t n = m->len > cut ? m->len - cut : 0;
  size_t offset = SIZE_MAX;
  Heap heap = {0};
  es_Document d;
  char *copy = exact(m->text, n);
  es_JsonError error;
  es_document_init(&d, heap_of(&heap));
  error = es_json_read_last(&d, copy, n, &offset);
  CHECK(error == ES_JSON_END ? offset == n
                             : error == ES_JSON_EMPTY || error == ES_JSON_UTF8,
        "round %u: %s at %zu of %zu", round, es_json_message(error), offset,
        n);
  es_document_free(&d);
  free(copy);
  CHECK(heap.live == 0, "round %u leaks", round);
}

static void test_random(unsigned rounds) {
  static char text[LONG_TEXT];
  static size_t offsets[LONG_TEXT];   /* no node is shorter than a byte */
  static const unsigned names[] = {3, 30, 100, 700, 100000};
  unsigned round, twice = 0, large = 0;
  for (round = 0; round < rounds; round++) {
    Heap heap = {0};
    es_Document want;
    Maker m = {0};
    m.state = (round + 1) * UINT64_C(0x9E3779B97F4A7C15);
    m.text = text;
    m.want = &want;
    m.offsets = offsets;
    m.space = draw(&m, 3);
    m.names = names[draw(&m, 5)];
    es_document_init(&want, heap_of(&heap));
    make_value(&m);
    check_text(&m, round);
    check_cut(&m, round);
    twice += m.twice != 0;
    large += m.len > 1000;
    es_document_free(&want);
  }
  CHECK(twice > rounds / 10 && twice < rounds / 10 * 9, "%u of %u", twice,
        rounds);
  CHECK(large > rounds / 10, "%u of %u", large, rounds);
}

/* ---- keys that were chosen to be alike --------------------------------- */

/* The best of three runs, in seconds. */
static double read_time(const char *text, size_t n) {
  double best = 1e9;
  unsigned run;
  for (run = 0; run < 3; run++) {
    Heap heap = {0};
    es_Document d;
    size_t offset = 0;
    clock_t start = clock();
    double seconds;
    es_document_init(&d, heap_of(&heap));
    CHECK(es_json_read(&d, text, n, &offset) == ES_JSON_OK, "at %zu", offset);
    seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds < best) best = seconds;
    es_document_free(&d);
  }
  return best;
}

/* Objects of one pair each; the keys are of 30 bytes. */
static char *many_objects(uint32_t n, int alike, size_t *len) {
  Maker m = {0};
  char *text = malloc((size_t)n * 40 + 2);
  uint32_t i;
  if (text == NULL) abort();
  m.state = 88172645463325252u;
  *len = 0;
  for (i = 0; i < n; i++) {
    char key[31] = "0123456789abcdefghijklmnopqrst";
    char *at = alike ? key + 18 : key;
    size_t left = alike ? 4 : 30;
    for (; left > 0; left--) *at++ = (char)('a' + draw(&m, 26));
    *len += (size_t)sprintf(text + *len, "%c{\"%s\":%u}", i == 0 ? '[' : ',',
                            key, i % 10);
  }
  text[(*len)++] = ']';
  return text;
}

static void test_alike(void) {
  size_t n, m;
  char *plain = many_objects(100000, 0, &n);
  char *alike = many_objects(100000, 1, &m);
  double base = read_time(plain, n);
  double seconds = read_time(alike, m);
  printf("100000 random keys: %.3f s, similar ones: %.3f s\n", base, seconds);
  CHECK(seconds < 3 * base + 0.05, "%.3f s, not %.3f s", seconds, base);
  free(plain);
  free(alike);
}

int main(void) {
  test_random(3000);
  test_alike();
  return report();
}
