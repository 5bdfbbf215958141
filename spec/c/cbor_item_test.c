/* cbor_item_test.c - tests of single items: put functions and cursors. */
#include "cbor_tools.h"

#define BYTES_MAX 512

static Heap heap;

static void begin(es_Buffer *b) {
  es_buffer_init(b, heap_of(&heap));
}

/* The buffer holds these bytes and no others; it is emptied. */
static void holds(es_Buffer *b, const char *hex) {
  unsigned char bytes[BYTES_MAX];
  size_t n = from_hex(hex, bytes);
  CHECK(b->len == n && (n == 0 || memcmp(b->data, bytes, n) == 0),
        "%s: %zu bytes", hex, b->len);
  es_buffer_free(b);
}

/* A cursor over a copy of exactly these bytes, which the caller frees. */
static char *cursor(es_CborReader *r, const char *hex) {
  unsigned char bytes[BYTES_MAX];
  size_t n = from_hex(hex, bytes);
  char *copy = exact((const char *)bytes, n);
  es_cbor_reader(r, copy, n);
  return copy;
}

/* ---- heads and integers ------------------------------------------------ */

typedef struct Integer {
  int64_t value;
  const char *hex;
} Integer;

static const Integer integers[] = {
  {0, "00"}, {1, "01"}, {23, "17"}, {24, "1818"}, {255, "18ff"},
  {256, "190100"}, {65535, "19ffff"}, {65536, "1a00010000"},
  {INT32_MAX, "1a7fffffff"}, {UINT32_MAX, "1affffffff"},
  {INT64_C(4294967296), "1b0000000100000000"},
  {INT64_C(9007199254740993), "1b0020000000000001"},
  {INT64_MAX, "1b7fffffffffffffff"}, {-1, "20"}, {-24, "37"}, {-25, "3818"},
  {-256, "38ff"}, {-257, "390100"}, {-65536, "39ffff"},
  {-65537, "3a00010000"}, {INT32_MIN, "3a7fffffff"},
  {INT64_C(-4294967296), "3affffffff"},
  {INT64_C(-4294967297), "3b0000000100000000"},
  {INT64_MIN, "3b7fffffffffffffff"}
};

static void test_integers(void) {
  size_t i;
  for (i = 0; i < sizeof integers / sizeof *integers; i++) {
    const Integer *c = &integers[i];
    es_Buffer b;
    es_CborReader r;
    int64_t value = 7;
    char *copy = cursor(&r, c->hex);
    begin(&b);
    CHECK(es_cbor_put_int(&b, c->value) == ES_OK, "%s", c->hex);
    holds(&b, c->hex);
    CHECK(es_cbor_read_int(&r, &value) && value == c->value, "%s", c->hex);
    CHECK(r.at == r.n && !es_cbor_read_int(&r, &value), "%s", c->hex);
    CHECK(r.error == ES_CBOR_END && r.offset == r.n, "%s", c->hex);
    free(copy);
  }
}

static void test_heads(void) {
  static const uint64_t values[] = {
    0, 23, 24, 255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32,
    UINT64_C(1) << 63, UINT64_MAX
  };
  static const size_t sizes[] = {1, 1, 2, 2, 3, 3, 5, 5, 9, 9, 9};
  size_t i;
  unsigned m;
  for (i = 0; i < sizeof values / sizeof *values; i++)
    for (m = ES_CBOR_UINT; m <= ES_CBOR_TAG; m++) {
      es_Buffer b;
      es_CborReader r;
      es_CborMajor major = ES_CBOR_SIMPLE;
      uint64_t value = 7;
      begin(&b);
      CHECK(es_cbor_put_head(&b, (es_CborMajor)m, values[i]) == ES_OK, "put");
      CHECK(b.len == sizes[i], "%zu bytes", b.len);
      es_cbor_reader(&r, b.data, b.len);
      CHECK(es_cbor_peek(&r, &major) && major == m && r.at == 0, "peek");
      major = ES_CBOR_SIMPLE;
      CHECK(es_cbor_read_head(&r, &major, &value), "%u, %zu", m, i);
      CHECK(major == m && value == values[i] && r.at == r.n, "%u, %zu", m, i);
      CHECK(!es_cbor_peek(&r, &major), "nothing left to peek at");
      es_buffer_free(&b);
    }
}

static void test_constants(void) {
  es_Buffer b;
  es_CborReader r;
  es_CborMajor major;
  uint64_t value;
  int yes = 7;
  char *copy = cursor(&r, "f5f4f6");
  begin(&b);
  CHECK(es_cbor_put_bool(&b, 2) == ES_OK, "true");
  CHECK(es_cbor_put_bool(&b, 0) == ES_OK, "false");
  CHECK(es_cbor_put_null(&b) == ES_OK, "null");
  holds(&b, "f5f4f6");
  CHECK(es_cbor_read_bool(&r, &yes) && yes == 1, "true");
  CHECK(es_cbor_read_bool(&r, &yes) && yes == 0, "false");
  CHECK(es_cbor_read_head(&r, &major, &value) && major == ES_CBOR_SIMPLE &&
        value == 22, "null");
  free(copy);
}

/* ---- strings ----------------------------------------------------------- */

typedef struct String {
  const char *s;
  size_t n;
  const char *hex;
} String;

static const String strings[] = {
  {"", 0, "60"}, {"a", 1, "6161"}, {"\0", 1, "6100"}, {"a\0b", 3, "63610062"},
  {"\xC3\xBC", 2, "62c3bc"}, {"\xC3", 1, "41c3"}, {"\xFF\0", 2, "42ff00"},
  {"\xED\xA0\xBD", 3, "43eda0bd"},
  {"\xED\xA0\xBD\xED\xB8\x80", 6, "46eda0bdedb880"},
  {"\xF4\x90\x80\x80", 4, "44f4908080"},
  {"abcdefghijklmnopqrstuvwx", 24,
   "7818 6162636465666768696a6b6c6d6e6f707172737475767778"}
};

static void check_string(const String *c) {
  es_Buffer b;
  es_CborReader r;
  const char *s = NULL;
  size_t n = 77;
  char *copy = cursor(&r, c->hex);
  char *source = exact(c->s, c->n);
  begin(&b);
  CHECK(es_cbor_put_string(&b, source, c->n) == ES_OK, "%s", c->hex);
  holds(&b, c->hex);
  CHECK(es_cbor_read_string(&r, &s, &n), "%s", c->hex);
  CHECK(n == c->n && memcmp(s, c->s, n) == 0 && r.at == r.n, "%s", c->hex);
  /* as bytes it may be any string, but must not be read as one then */
  begin(&b);
  CHECK(es_cbor_put_bytes(&b, source, c->n) == ES_OK, "%s", c->hex);
  es_cbor_reader(&r, b.data, b.len);
  CHECK(es_cbor_read_bytes(&r, &s, &n), "%s", c->hex);
  CHECK(n == c->n && memcmp(s, c->s, n) == 0 && r.at == r.n, "%s", c->hex);
  es_cbor_reader(&r, b.data, b.len);
  CHECK(es_cbor_read_string(&r, &s, &n) == (c->hex[0] < '6'), "%s", c->hex);
  CHECK(r.error == (c->hex[0] < '6' ? ES_CBOR_OK : ES_CBOR_UTF8), "%s",
        c->hex);
  es_buffer_free(&b);
  free(copy);
  free(source);
}

static void test_strings(void) {
  es_Buffer b;
  size_t i;
  for (i = 0; i < sizeof strings / sizeof *strings; i++)
    check_string(&strings[i]);
  begin(&b);
  CHECK(es_cbor_put_bytes(&b, NULL, 0) == ES_OK, "no bytes");
  CHECK(es_cbor_put_string(&b, NULL, 0) == ES_OK, "no text");
  CHECK(es_cbor_put_bytes(&b, "", SIZE_MAX) == ES_NOMEM, "all memory");
  CHECK(es_cbor_put_bytes(&b, "", SIZE_MAX - 9) == ES_NOMEM, "nearly");
  holds(&b, "4060");
}

/* Each length whose head is the first or the last of its size. */
static void test_lengths(void) {
  static const size_t lengths[] = {0, 1, 23, 24, 255, 256, 65535, 65536,
                                   100000};
  char *source = malloc(100000);
  size_t i;
  if (source == NULL) abort();
  memset(source, 'a', 100000);
  for (i = 0; i < 2 * (sizeof lengths / sizeof *lengths); i++) {
    size_t length = lengths[i / 2];
    es_Buffer b;
    es_CborReader r;
    const char *s;
    size_t n = 0;
    begin(&b);
    CHECK((i % 2 ? es_cbor_put_bytes(&b, source, length)
                 : es_cbor_put_string(&b, source, length)) == ES_OK, "put");
    es_cbor_reader(&r, b.data, b.len);
    CHECK(i % 2 ? es_cbor_read_bytes(&r, &s, &n)
                : es_cbor_read_string(&r, &s, &n), "%zu", length);
    CHECK(n == length && r.at == r.n, "%zu", length);
    es_cbor_reader(&r, b.data, b.len - 1);   /* cut off */
    CHECK(!(i % 2 ? es_cbor_read_bytes(&r, &s, &n)
                  : es_cbor_read_string(&r, &s, &n)), "%zu", length);
    CHECK(r.error == ES_CBOR_END && r.offset == r.n, "%zu", length);
    es_buffer_free(&b);
  }
  free(source);
}

static int sign(int x) {
  return (x > 0) - (x < 0);
}

/* The order of keys is that of their encodings. */
static void check_order(const char *a, size_t n, const char *b, size_t m) {
  es_Buffer x, y;
  int want;
  begin(&x);
  begin(&y);
  if (es_cbor_put_string(&x, a, n) != ES_OK) abort();
  if (es_cbor_put_string(&y, b, m) != ES_OK) abort();
  want = sign(es_document_compare(x.data, x.len, y.data, y.len));
  CHECK(sign(es_cbor_compare_keys(a, n, b, m)) == want, "%zu and %zu bytes",
        n, m);
  CHECK(sign(es_cbor_compare_keys(b, m, a, n)) == -want, "%zu and %zu", m, n);
  es_buffer_free(&x);
  es_buffer_free(&y);
}

static void test_order(void) {
  static const size_t lengths[] = {0, 1, 2, 23, 24, 255, 256, 300};
  char a[300], b[300];
  size_t i, j, k;
  for (i = 0; i < 8; i++)
    for (j = 0; j < 8; j++)
      for (k = 0; k < 16; k++) {
        memset(a, k & 1 ? 'a' : 'b', sizeof a);
        memset(b, k & 2 ? 'a' : 'b', sizeof b);
        if (k & 4) a[0] = '\xFF';
        if (k & 8) b[0] = '\xFF';
        check_order(a, lengths[i], b, lengths[j]);
      }
  check_order("a\0b", 3, "a\0c", 3);
  check_order("\xC3\xBC", 2, "zz", 2);
  CHECK(es_cbor_compare_keys(NULL, 0, NULL, 0) == 0, "nothing");
}

/* ---- cursors ----------------------------------------------------------- */

typedef int Read(es_CborReader *r);

static int as_head(es_CborReader *r) {
  es_CborMajor major;
  uint64_t value;
  return es_cbor_read_head(r, &major, &value);
}

static int as_int(es_CborReader *r) {
  int64_t value;
  return es_cbor_read_int(r, &value);
}

static int as_bool(es_CborReader *r) {
  int value;
  return es_cbor_read_bool(r, &value);
}

static int as_string(es_CborReader *r) {
  const char *s;
  size_t n;
  return es_cbor_read_string(r, &s, &n);
}

static int as_bytes(es_CborReader *r) {
  const char *s;
  size_t n;
  return es_cbor_read_bytes(r, &s, &n);
}

static int as_tag(es_CborReader *r) {
  return es_cbor_read_tag(r, 55799);
}

static int as_array(es_CborReader *r) {
  uint64_t n;
  return es_cbor_read_array(r, &n);
}

static int as_map(es_CborReader *r) {
  uint64_t n;
  return es_cbor_read_map(r, &n);
}

static int as_word(es_CborReader *r) {
  return es_cbor_read_word(r, "name");
}

static int as_typed(es_CborReader *r) {
  es_CborType type;
  const unsigned char *data;
  size_t n;
  return es_cbor_read_typed(r, &type, &data, &n);
}

static int as_value(es_CborReader *r) {
  es_Document d;
  int good;
  es_document_init(&d, heap_of(&heap));
  good = es_cbor_read_value(r, &d);
  es_document_free(&d);
  return good;
}

static Read *const reads[] = {
  as_head, as_int, as_bool, as_string, as_bytes, as_tag, as_array, as_map,
  as_word, as_typed, as_value
};

#define READS (sizeof reads / sizeof *reads)

/* Which of them take an item, in their order; '-' refuses its type. */
typedef struct Item {
  const char *hex;
  const char *taken;
} Item;

static const Item items[] = {
  {"00", "yy--------y"}, {"1903e8", "yy--------y"}, {"20", "yy--------y"},
  {"f4", "y-y-------y"}, {"f5", "y-y-------y"}, {"f6", "y---------y"},
  {"f93c00", "----------y"}, {"f90014", "----------y"},
  {"fa00000000", "sssssssssss"}, {"fb3ff199999999999a", "----------y"},
  {"646e616d65", "y--y----y-y"}, {"646e616d66", "y--y------y"},
  {"636e616d", "y--y------y"}, {"656e616d6573", "y--y------y"},
  {"60", "y--y------y"}, {"41ff", "y--yy-----y"},
  {"446e616d65", "y--uy---u-u"}, {"40", "y--uy---u-u"},
  {"d9d9f7", "y----y-----"},
  {"d84040", "y--------y-"}, {"d85648000000000000f03f", "y--------y-"},
  {"80", "y-----y---y"}, {"a0", "y------y--y"}, {"8100", "y-----y---y"},
  {"c0", "y----------"}, {"1800", "sssssssssss"}, {"ff", "fffffffffff"},
  {"9f", "fffffffffff"}, {"f7", "fffffffffff"}, {"", "eeeeeeeeeee"},
  {"19", "eeeeeeeeeee"}, {"81", "y-----c---c"}, {"a100", "y------c--c"},
  {"1b8000000000000000", "yr--------r"}, {"61ff", "y--u----u-u"},
  {"61", "y--e----e-e"}, {"41", "y--ee---e-e"}, {"d840", "y--------e-"},
  {"d8406161", "y----------"}, {"d8454161", "y--------c-"},
  {"d84641ff", "y--------c-"}, {"d84649000000000000000000", "y--------c-"},
  {"d9404141", "y----------"}, {"d8444100", "y----------"}
};

static es_CborError meant(char c) {
  switch (c) {
    case 'y': return ES_CBOR_OK;
    case 's': return ES_CBOR_SHORTEST;
    case 'f': return ES_CBOR_FORM;
    case 'e': return ES_CBOR_END;
    case 'u': return ES_CBOR_UTF8;
    case 'c': return ES_CBOR_COUNT;
    case 'r': return ES_CBOR_RANGE;
    default: return ES_CBOR_TYPE;
  }
}

/* After an error nothing moves, whatever is asked for. */
static void check_stays(const es_CborReader *failed_one, const char *hex) {
  es_CborReader r = *failed_one;
  es_CborMajor major;
  size_t i;
  for (i = 0; i < READS; i++) CHECK(!reads[i](&r), "%s: read %zu", hex, i);
  CHECK(!es_cbor_peek(&r, &major), "%s: peek", hex);
  CHECK(!es_cbor_fail(&r, ES_CBOR_LIMIT, 99), "%s: fail", hex);
  CHECK(r.error == failed_one->error && r.offset == failed_one->offset &&
        r.at == failed_one->at, "%s: stays", hex);
}

/* The item behind a zero byte, so that offsets are not 0 by chance. */
static void check_item(const Item *item, size_t i) {
  char hex[64] = "00";
  es_CborReader r;
  char *copy;
  int good;
  strcat(hex, item->hex);
  copy = cursor(&r, hex);
  r.at = 1;
  good = reads[i](&r);
  CHECK(r.error == meant(item->taken[i]), "%s, read %zu: %s", item->hex, i,
        es_cbor_message(r.error));
  CHECK(good == (r.error == ES_CBOR_OK), "%s, read %zu", item->hex, i);
  if (!good) {
    CHECK(r.offset == (r.error == ES_CBOR_END ? r.n : 1) ||
          (r.error == ES_CBOR_TYPE && strncmp(item->hex, "d840", 4) == 0),
          "%s, read %zu: at %zu", item->hex, i, r.offset);
    check_stays(&r, item->hex);
  }
  free(copy);
}

static void test_items(void) {
  size_t i, j;
  for (i = 0; i < sizeof items / sizeof *items; i++)
    for (j = 0; j < READS; j++) check_item(&items[i], j);
}

static void test_reader(void) {
  es_CborReader r;
  es_CborMajor major;
  es_cbor_reader(&r, NULL, 0);
  CHECK(r.n == 0 && r.at == 0 && r.error == ES_CBOR_OK, "empty");
  CHECK(!es_cbor_peek(&r, &major) && r.error == ES_CBOR_OK, "peek is quiet");
  CHECK(!es_cbor_fail(&r, ES_CBOR_PROTO, 5), "fail");
  CHECK(r.error == ES_CBOR_PROTO && r.offset == 5, "the caller's error");
}

/* ---- typed arrays ------------------------------------------------------ */

typedef struct Typed {
  es_CborType type;
  size_t n;
  const char *hex;
  int64_t values[3];
} Typed;

static const Typed typed[] = {
  {ES_CBOR_UINT8, 3, "d84043 007fff", {0, 127, 255}},
  {ES_CBOR_INT8, 3, "d84843 ff7f80", {-1, 127, -128}},
  {ES_CBOR_UINT16, 3, "d84546 0100ff7fffff", {1, 32767, 65535}},
  {ES_CBOR_INT16, 3, "d84d46 ffffff7f0080", {-1, 32767, -32768}},
  {ES_CBOR_UINT32, 3, "d8464c 01000000ffffff7fffffffff",
   {1, INT32_MAX, UINT32_MAX}},
  {ES_CBOR_INT32, 3, "d84e4c ffffffffffffff7f00000080",
   {-1, INT32_MAX, INT32_MIN}},
  {ES_CBOR_UINT64, 2, "d84750 0807060504030201ffffffffffffff7f",
   {INT64_C(0x0102030405060708), INT64_MAX, 0}},
  {ES_CBOR_INT64, 3,
   "d84f5818 ffffffffffffffff ffffffffffffff7f 0000000000000080",
   {-1, INT64_MAX, INT64_MIN}},
  {ES_CBOR_INT64, 0, "d84f40", {0, 0, 0}}
};

static void check_typed(const Typed *c) {
  es_Buffer b;
  es_CborReader r;
  es_CborType type = ES_CBOR_FLOAT64;
  const unsigned char *data = NULL;
  size_t i, n = 77;
  char *copy = cursor(&r, c->hex);
  CHECK(es_cbor_read_typed(&r, &type, &data, &n) && r.at == r.n, "%s",
        c->hex);
  CHECK(type == c->type && n == c->n, "%s: %zu", c->hex, n);
  for (i = 0; i < n; i++)
    CHECK(es_cbor_int_at(data, type, i) == c->values[i], "%s: %zu", c->hex,
          i);
  begin(&b);
  CHECK(es_cbor_put_typed(&b, type, n) == ES_OK, "%s", c->hex);
  CHECK(es_buffer_put(&b, data, n * es_cbor_width(type)) == ES_OK, "put");
  holds(&b, c->hex);
  free(copy);
}

static void test_typed(void) {
  es_Buffer b;
  es_CborReader r;
  es_CborType type;
  const unsigned char *data;
  size_t i, n;
  char *copy = cursor(&r, "d85658180000000000000080000000000000f07f"
                          "010000000000f07f");
  for (i = 0; i < sizeof typed / sizeof *typed; i++) check_typed(&typed[i]);
  CHECK(es_cbor_read_typed(&r, &type, &data, &n), "floats");
  CHECK(type == ES_CBOR_FLOAT64 && n == 3, "%zu", n);
  CHECK(bits_of(es_cbor_float_at(data, 0)) == UINT64_C(1) << 63, "-0.0");
  CHECK(bits_of(es_cbor_float_at(data, 1)) == UINT64_C(0x7FF) << 52, "inf");
  CHECK(bits_of(es_cbor_float_at(data, 2)) ==
        (UINT64_C(0x7FF) << 52 | 1), "a signalling NaN");
  free(copy);
  begin(&b);
  CHECK(es_cbor_put_typed(&b, (es_CborType)65, 1) == ES_INVALID, "no type");
  CHECK(es_cbor_put_typed(&b, ES_CBOR_INT16, SIZE_MAX / 2 + 1) == ES_LIMIT,
        "more bytes than can be");
  holds(&b, "");
}

static void test_widths(void) {
  static const uint64_t tags[] = {64, 69, 70, 71, 72, 77, 78, 79, 86};
  static const size_t widths[] = {1, 2, 4, 8, 1, 2, 4, 8, 8};
  size_t k = 0;
  uint64_t tag;
  for (tag = 0; tag < 400; tag++) {
    size_t want = k < 9 && tags[k] == tag ? widths[k++] : 0;
    CHECK(es_cbor_width(tag) == want, "tag %u", (unsigned)tag);
  }
  CHECK(es_cbor_width((UINT64_C(1) << 32) + 64) == 0, "a large tag");
  CHECK(es_cbor_width(UINT64_MAX) == 0, "the largest tag");
}

/* ---- memory ------------------------------------------------------------ */

static es_Status put_nth(es_Buffer *b, int i) {
  switch (i) {
    case 0: return es_cbor_put_head(b, ES_CBOR_TAG, 55799);
    case 1: return es_cbor_put_int(b, -1);
    case 2: return es_cbor_put_float(b, 1.1);
    case 3: return es_cbor_put_bool(b, 1);
    case 4: return es_cbor_put_null(b);
    case 5: return es_cbor_put_bytes(b, "ab", 2);
    case 6: return es_cbor_put_string(b, "ab", 2);
    default: return es_cbor_put_typed(b, ES_CBOR_INT8, SIZE_MAX);
  }
}

/* An item is written whole or not at all. */
static void test_memory(void) {
  int i;
  size_t room;
  for (i = 0; i < 8; i++)
    for (room = 0; room < 24; room++) {
      es_Buffer b;
      es_Status status;
      size_t before;
      begin(&b);
      CHECK(es_buffer_reserve(&b, 100) == ES_OK, "reserve");
      before = b.len = b.cap - room;
      memset(b.data, 0, b.len);
      heap.fail_at = heap.calls + 1;
      status = put_nth(&b, i);
      heap.fail_at = 0;
      CHECK(status == ES_OK ? b.len > before && b.len <= b.cap
                            : status == ES_NOMEM && b.len == before,
            "put %d with room for %zu: %d", i, room, status);
      CHECK(status == ES_OK || room < 18, "put %d, room %zu", i, room);
      es_buffer_free(&b);
    }
}

int main(void) {
  test_integers();
  test_heads();
  test_constants();
  test_strings();
  test_lengths();
  test_order();
  test_items();
  test_reader();
  test_typed();
  test_widths();
  test_memory();
  CHECK(heap.live == 0 && heap.wrong == 0, "leak");
  return report();
}
