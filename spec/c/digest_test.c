/* digest_test.c - tests of digest.h: known answers, and every way to cut. */
#include "digest.h"

#include "json_tools.h"

static uint64_t whole(const void *s, size_t n) {
  return es_digest(s, n, NULL, 0);
}

/*
** Answers of xxhsum -H3 (xxHash 0.8). Lengths on both sides of the borders
** between its ways to hash: 3, 8, 16, 128, 240, and blocks of 1024 bytes.
*/
typedef struct Answer {
  size_t n;          /* bytes 0, 1, ... 250, 0, 1, ... */
  const char *hex;
} Answer;

static const Answer answers[] = {
  {0, "2d06800538d394c2"},
  {1, "c44bdff4074eecdb"},
  {3, "5f4299fc161c9cbb"},
  {4, "60dab036a58211f2"},
  {8, "3a1c2d7c85af88f8"},
  {9, "e9612598145bb9dc"},
  {16, "8355e3a6f61770db"},
  {17, "9ef341a99de37328"},
  {128, "85c6174c7ff4c46b"},
  {129, "ec7642b431ba3e5a"},
  {240, "375a384d957fe865"},
  {241, "02e8cd95421c6d02"},
  {1023, "d3d91d80ac495685"},
  {1024, "e5d78bafa45b2aa5"},
  {1025, "e95c42288f28186e"},
  {4096, "7135ffa504f1bc71"},
  {100000, "42c23aeead96750d"}
};

#define LONGEST 100000

static void fill(unsigned char *bytes) {
  size_t i;
  for (i = 0; i < LONGEST; i++) bytes[i] = (unsigned char)(i % 251);
}

static void test_answers(const unsigned char *bytes) {
  size_t i;
  for (i = 0; i < sizeof answers / sizeof *answers; i++) {
    size_t n = answers[i].n;
    char *copy = exact((const char *)bytes, n);
    char hex[17] = {0};
    hex[16] = '#';
    es_digest_hex(whole(copy, n), hex);
    CHECK(memcmp(hex, answers[i].hex, 16) == 0, "%zu bytes: %.16s", n, hex);
    CHECK(hex[16] == '#', "%zu bytes: more than 16 digits", n);
    free(copy);
  }
}

/* Cut anywhere, the two parts give what the whole gives. */
static void test_cuts(const unsigned char *bytes, size_t n, size_t step) {
  uint64_t digest = whole(bytes, n);
  size_t cut;
  for (cut = 0; cut <= n; cut += step) {
    char *a = exact((const char *)bytes, cut);
    char *b = exact((const char *)bytes + cut, n - cut);
    CHECK(es_digest(a, cut, b, n - cut) == digest, "%zu of %zu", cut, n);
    free(a);
    free(b);
  }
}

/* A digest that misses a flipped bit would be useless here. */
static void test_flips(const unsigned char *bytes) {
  unsigned char copy[300];
  uint64_t digest;
  size_t i;
  memcpy(copy, bytes, sizeof copy);
  digest = whole(copy, sizeof copy);
  for (i = 0; i < 8 * sizeof copy; i++) {
    copy[i / 8] ^= (unsigned char)(1u << i % 8);
    CHECK(whole(copy, sizeof copy) != digest, "bit %zu", i);
    copy[i / 8] ^= (unsigned char)(1u << i % 8);
  }
  CHECK(whole(copy, sizeof copy) == digest, "as before");
}

static void test_hex(void) {
  char hex[16];
  es_digest_hex(UINT64_C(0x0123456789ABCDEF), hex);
  CHECK(memcmp(hex, "0123456789abcdef", 16) == 0, "%.16s", hex);
  es_digest_hex(0, hex);
  CHECK(memcmp(hex, "0000000000000000", 16) == 0, "%.16s", hex);
  es_digest_hex(UINT64_MAX, hex);
  CHECK(memcmp(hex, "ffffffffffffffff", 16) == 0, "%.16s", hex);
}

int main(void) {
  unsigned char *bytes = malloc(LONGEST);
  if (bytes == NULL) abort();
  fill(bytes);
  test_answers(bytes);
  test_cuts(bytes, 17, 1);
  test_cuts(bytes, 300, 1);
  test_cuts(bytes, 2100, 7);
  test_cuts(bytes, LONGEST, 997);
  test_flips(bytes);
  test_hex();
  free(bytes);
  return report();
}
