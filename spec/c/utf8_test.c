/* utf8_test.c - the checks of text against sets made by encoding. */
#include "json_tools.h"
#include "utf8.h"

/* Called through pointers, as a caller that knows nothing of the bytes. */
static size_t call_check(const char *s, size_t n) {
  return es_utf8_check(s, n);
}

static int call_strict(const char *s, size_t n) {
  return es_utf8_strict(s, n);
}

static size_t (*const volatile check)(const char *, size_t) = call_check;
static int (*const volatile strict)(const char *, size_t) = call_strict;

/* Which byte sequences of a length are the encoding of one code point. */
static unsigned char *encodings(unsigned from, unsigned to) {
  unsigned char *set = calloc(1u << 24, 1);
  unsigned c;
  if (set == NULL) abort();
  for (c = from; c <= to; c++) {
    char out[4];
    size_t n = es_utf8_put(out, c);
    uint32_t key = 0;
    size_t i;
    for (i = 0; i < n; i++) key = key << 8 | (unsigned char)out[i];
    set[key & 0xFFFFFF] = 1;   /* of four bytes the last three suffice */
  }
  return set;
}

/* Every sequence of two or three bytes that starts above ASCII. */
static void test_sequences(size_t n, unsigned from, unsigned to) {
  unsigned char *set = encodings(from, to);
  uint32_t first = n == 2 ? 0xC000 : 0xE00000;
  uint32_t end = n == 2 ? 0xE000 : 0xF00000;
  unsigned wrong = 0;
  uint32_t key;
  for (key = first; key < end; key++) {
    char s[3];
    size_t want = set[key] ? n : 0;
    size_t i;
    for (i = 0; i < n; i++) s[i] = (char)(key >> 8 * (n - 1 - i));
    if (check(s, n) != want) wrong++;
  }
  CHECK(wrong == 0, "%u sequences of %u bytes", wrong, (unsigned)n);
  free(set);
}

/* Four bytes: F0..FF, any second byte, the others at their borders. */
static void test_four(void) {
  static const unsigned char edges[] = {0x00, 0x7F, 0x80, 0x9A, 0xBF, 0xC0};
  unsigned lead, second, wrong = 0;
  size_t i, k;
  for (lead = 0xF0; lead <= 0xFF; lead++)
    for (second = 0; second <= 0xFF; second++)
      for (i = 0; i < sizeof edges; i++)
        for (k = 0; k < sizeof edges; k++) {
          char s[4] = {(char)lead, (char)second, (char)edges[i],
                       (char)edges[k]};
          int tails = second >> 6 == 2 && edges[i] >> 6 == 2 &&
                      edges[k] >> 6 == 2;
          unsigned point = (lead & 7) << 18 | (second & 0x3F) << 12;
          int good = tails && lead <= 0xF4 && point >= 0x10000 &&
                     point < 0x110000;
          if (check(s, 4) != (good ? 4u : 0u)) wrong++;
        }
  CHECK(wrong == 0, "%u sequences of four bytes", wrong);
}

static void test_points(void) {
  unsigned c, wrong = 0;
  for (c = 0; c <= 0x10FFFF; c++) {
    char out[4];
    size_t n = es_utf8_put(out, c);
    int surrogate = c >= 0xD800 && c <= 0xDFFF;
    if (check(out, n) != n) wrong++;
    if (strict(out, n) == surrogate) wrong++;
    if (n > 1 && check(out, n - 1) != 0) wrong++;
  }
  CHECK(wrong == 0, "%u code points", wrong);
}

static size_t check_exact(const char *s, size_t n) {
  char *copy = exact(s, n);
  size_t at = check(copy, n);
  CHECK(!strict(copy, n) || at == n, "strict is narrower");
  free(copy);
  return at;
}

/* A fault after every length of ASCII, so that no word boundary hides it. */
static void test_places(void) {
  char s[64];
  size_t before, after;
  for (before = 0; before < 20; before++)
    for (after = 0; after < 20; after++) {
      memset(s, 'a', sizeof s);
      s[before] = '\xFF';
      CHECK(check_exact(s, before + 1 + after) == before, "before %u",
            (unsigned)before);
      memcpy(s + before, "\xC3\xA9", 2);
      CHECK(check_exact(s, before + 2 + after) == before + 2 + after,
            "good, before %u", (unsigned)before);
      CHECK(check_exact(s, before + 1) == before, "cut off");
    }
}

static void test_surrogates(void) {
  static const struct {
    const char *s;
    size_t at;
  } cases[] = {
    {"\xED\xA0\xBD", 3},                          /* high */
    {"\xED\xB8\x80", 3},                          /* low */
    {"\xED\xB8\x80\xED\xA0\xBD", 6},              /* low, high */
    {"\xED\xA0\xBD\xED\xA0\xBD", 6},              /* high, high */
    {"\xED\xA0\xBD\xED\xB8\x80", 3},              /* high, low */
    {"\xED\xA0\xBD\xED\xA0\xBD\xED\xB8\x80", 6},  /* high, high, low */
    {"\xED\xA0\xBDx\xED\xB8\x80", 7},             /* apart */
    {"\xED\xA0\xBD\xED\xB8", 3},                  /* cut off */
    {"\xED\x9F\xBF\xED\xB0\x80", 6},              /* U+D7FF, low */
    {"\xEE\x80\x80\xED\xB0\x80", 6},              /* U+E000, low */
  };
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK(check_exact(cases[i].s, strlen(cases[i].s)) == cases[i].at,
          "case %u", (unsigned)i);
  CHECK(!strict("a\xED\xA0\xBD", 4), "a surrogate is not strict");
  CHECK(strict("", 0) && check(NULL, 0) == 0, "no bytes");
  CHECK(strict("a\0b", 3), "zero is a character");
}

int main(void) {
  test_points();
  test_sequences(2, 0x80, 0x7FF);
  test_sequences(3, 0x800, 0xFFFF);
  test_four();
  test_places();
  test_surrogates();
  return report();
}
