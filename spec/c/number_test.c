/*
** number_test.c - src/number*.c against the C library, which is right but
** slow, and against exact arithmetic on decimal digits.
**
** number_test [count] [seed]: 'count' is the number of random doubles, and
** the other random tests follow from it.
*/
#include "number_tools.h"  /* asks for mmap, so it is the first */

#include <errno.h>
#include <float.h>
#include <time.h>

#include "number_cases.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* The reader must give what strtod gives, for a text that is a float. */
static int check_float(const char *s, size_t n) {
  es_Number r = es_number_read(s, n);
  double want = strtod(s, NULL);
  if (isinf(want))
    return check(r.kind == ES_NUMBER_HUGE && r.len == n,
                 "%s: kind %d, want HUGE", s, (int)r.kind);
  return check(r.kind == ES_NUMBER_FLOAT && r.len == n && same(r.d, want),
               "%s: kind %d, %zu bytes, %a, want %a", s, (int)r.kind, r.len,
               r.d, want);
}

static void check_bits(const char *s, uint64_t want) {
  es_Number r = es_number_read(s, strlen(s));
  es_NumberKind kind = isinf(from_bits(want)) ? ES_NUMBER_HUGE
                                              : ES_NUMBER_FLOAT;
  check(r.kind == kind && r.len == strlen(s) && bits_of(r.d) == want,
        "%.60s (%zu bytes): kind %d, %a, want %a", s, strlen(s), (int)r.kind,
        r.d, from_bits(want));
}

/* Written and read again, by us and by strtod. */
static void check_round_trip(double d) {
  size_t n = write_double(d);
  es_Number r = es_number_read(out, n);
  double lib = strtod(out, NULL);
  check(r.kind == ES_NUMBER_FLOAT && r.len == n && same(r.d, d) &&
        same(lib, d), "%a is written as %s, read as %a, by strtod as %a", d,
        out, r.d, lib);
}

/*
** The text must have as few digits as possible, and of those be nearest. The
** correctly rounded text of n - 1 digits must not read back (if any of fewer
** digits did, this one would: it is nearer). That of n digits must be ours,
** unless it does not read back: below powers of two the nearest text may
** miss the narrow half of the interval where another one does not.
*/
static void check_shortest(double d) {
  char printed[64], want[64];
  int n;
  write_double(d);
  n = count_digits(out);
  check(same(strtod(out, NULL), d), "%a is written as %s", d, out);
  if (n > 1) {
    sprintf(printed, "%.*e", n - 2, d);
    check(!same(strtod(printed, NULL), d), "%a: %s, but %s is enough", d, out,
          printed);
  }
  sprintf(printed, "%.*e", n - 1, d);
  lay_out(want, printed);
  if (same(strtod(printed, NULL), d))
    check(strcmp(out, want) == 0, "%a: %s, want %s", d, out, want);
  else
    check((bits_of(d) & (UINT64_MAX >> 12)) == 0, "%a: %s, but %s fails", d,
          out, printed);
}

static void check_both(double d) {
  if (!isfinite(d)) return;
  check_round_trip(d);
  check_shortest(d);
  check_round_trip(-d);
}

/* The double and its neighbours. */
static void check_around(double d) {
  uint64_t bits = bits_of(d);
  check_both(d);
  check_both(from_bits(bits + 1));
  if (bits > 0) check_both(from_bits(bits - 1));
}

/* ---- the tests ---- */

static void test_random_bits(long count) {
  section("random bit patterns, written and read");
  for (; count > 0; count--) check_round_trip(random_finite());
}

static double random_ordinary(void) {
  double d = (double)(random_bits() >> 11) * 0x1p-53;
  switch (random_below(8)) {
    case 0: return d;
    case 1: return d * 2000 - 1000;
    case 2: return (double)(float)d;
    case 3: return (double)random_below(10000000) / 100;
    case 4: return (double)(int64_t)random_bits();
    case 5: return (double)(random_bits() >> random_below(64));
    case 6: return from_bits(random_bits() >> (12 + random_below(52)));
    default: return ldexp(1, random_below(2098) - 1074);
  }
}

static void test_shortest(long count) {
  long i;
  section("shortest, nearest, and the notation");
  for (i = 0; i < count; i++) check_shortest(random_finite());
  for (i = 0; i < count / 2; i++) check_shortest(random_ordinary());
}

static void test_powers(void) {
  char text[32];
  int e, i;
  section("powers of two and ten, extremes");
  for (e = -1074; e < 1024; e++) check_around(ldexp(1, e));
  for (e = -324; e < 309; e++)
    for (i = 1; i < 10; i++) {
      sprintf(text, "%de%d", i, e);
      check_float(text, strlen(text));
      check_around(strtod(text, NULL));
    }
  for (i = 0; i < 5000; i++) check_both(from_bits((uint64_t)i));
  for (i = -5000; i < 5000; i++) {
    check_both(from_bits(bits_of(DBL_MIN) + (uint64_t)i));
    check_both(from_bits(bits_of(0x1p53) + (uint64_t)i));
    check_both(0x1p53 / 2 + i);
    check_both(i / 2.0);
    check_both(i / 1000.0);
  }
  for (i = 0; i < 5000; i++)
    check_both(from_bits(bits_of(DBL_MAX) - (uint64_t)i));
}

static void test_written(void) {
  size_t i;
  section("texts of known doubles");
  for (i = 0; i < sizeof written / sizeof written[0]; i++) {
    size_t n = write_double(written[i].d);
    check(n == strlen(written[i].text) && strcmp(out, written[i].text) == 0,
          "%a is written as %s, want %s", written[i].d, out, written[i].text);
    check_round_trip(written[i].d);
  }
}

static void check_int(int64_t i) {
  char want[32];
  size_t n = write_int(i);
  es_Number r = read_walled(out, n);
  sprintf(want, "%" PRId64, i);
  check(strcmp(out, want) == 0, "%s is written as %s", want, out);
  check(r.kind == ES_NUMBER_INT && r.len == n && r.i == i,
        "%s: kind %d, %" PRId64, want, (int)r.kind, r.i);
}

static void test_integers(long count) {
  int64_t power = 1, i;
  section("integers");
  for (; count > 0; count--)
    check_int((int64_t)(random_bits() >> random_below(64)) *
              (random_below(2) == 0 ? 1 : -1));
  for (;; power *= 10) {
    for (i = -2; i <= 2; i++) {
      check_int(power + i);
      check_int(-power + i);
    }
    if (power > INT64_MAX / 10) break;
  }
  for (i = -10000; i <= 10000; i++) check_int(i);
  for (i = 0; i < 100; i++) {
    check_int(INT64_MAX - i);
    check_int(INT64_MIN + i);
    check_int((INT64_C(1) << 53) - 50 + i);
    check_int((INT64_C(1) << 32) - 50 + i);
  }
}

static void test_kinds(void) {
  size_t i;
  section("kinds, lengths, offsets of errors");
  for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    es_Number r = read_walled(kinds[i].text, strlen(kinds[i].text));
    check(r.kind == kinds[i].kind && r.len == kinds[i].len &&
          r.i == kinds[i].i && same(r.d, kinds[i].d),
          "%s: kind %d, len %zu, i %" PRId64 ", d %a", kinds[i].text,
          (int)r.kind, r.len, r.i, r.d);
  }
  check(es_number_read("1\0" "2", 3).len == 1, "a zero byte ends a number");
  check(es_number_read("1.\0", 3).len == 2, "a zero byte is no digit");
}

/*
** The grammar once more, as a table: for each state the next one on [-] [0]
** [1-9] [.] [eE] [+], or -1. Returns the length or the wrong byte's offset.
*/
static size_t walk(const char *s, size_t n, es_NumberKind *kind) {
  static const struct { signed char next[6]; signed char accepts; } table[] = {
    {{1, 2, 3, -1, -1, -1}, 0},    /* 0: start */
    {{-1, 2, 3, -1, -1, -1}, 0},   /* 1: behind '-' */
    {{-1, -1, -1, 4, 6, -1}, 1},   /* 2: behind a leading 0 */
    {{-1, 3, 3, 4, 6, -1}, 1},     /* 3: whole digits */
    {{-1, 5, 5, -1, -1, -1}, 0},   /* 4: behind '.' */
    {{-1, 5, 5, -1, 6, -1}, 2},    /* 5: fraction */
    {{7, 8, 8, -1, -1, 7}, 0},     /* 6: behind 'e' */
    {{-1, 8, 8, -1, -1, -1}, 0},   /* 7: behind its sign */
    {{-1, 8, 8, -1, -1, -1}, 2},   /* 8: exponent */
  };
  static const char classes[] = "-0123456789.eE+";
  static const int class_of[] = {0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 5};
  size_t i;
  int at = 0;
  for (i = 0; i < n; i++) {
    const char *c = s[i] != '\0' ? strchr(classes, s[i]) : NULL;
    int next = c == NULL ? -1 : table[at].next[class_of[c - classes]];
    if (next < 0) break;
    at = next;
  }
  *kind = table[at].accepts == 0 ? ES_NUMBER_BAD
        : table[at].accepts == 1 ? ES_NUMBER_INT : ES_NUMBER_FLOAT;
  if (i < n && strchr("-0123456789.eE+x", s[i]) != NULL) *kind = ES_NUMBER_BAD;
  return i;
}

static void check_grammar(const char *s, size_t n) {
  char text[TEXT_MAX + 1];
  es_NumberKind kind;
  size_t len = walk(s, n, &kind);
  es_Number r = read_walled(s, n);
  long long i;
  check(r.len == len, "\"%.*s\": len %zu, want %zu", (int)n, s, r.len, len);
  if (kind == ES_NUMBER_BAD) {
    check(r.kind == kind, "\"%.*s\" is no number", (int)n, s);
    return;
  }
  memcpy(text, s, len);
  text[len] = '\0';
  errno = 0;
  i = strtoll(text, NULL, 10);
  if (kind == ES_NUMBER_INT && errno == 0 && strcmp(text, "-0") != 0)
    check(r.kind == ES_NUMBER_INT && r.i == i, "%s: an integer", text);
  else
    check_float(text, len);
}

static void test_grammar(long count) {
  static const char alphabet[] = "00123456789--..eE+x ,";
  static const char *const sample[] = {
    "-12345678901234567890.12345678901234567890e-0012345,", "0.00000001e+5]",
    "123456789012345678 ", "-0.12345678", "1.7976931348623157e308}",
  };
  char text[64];
  size_t i, n, k;
  section("grammar: random texts, every prefix and change of samples");
  for (; count > 0; count--) {
    n = (size_t)random_below(14);
    for (i = 0; i < n; i++)
      text[i] = alphabet[random_below((int)sizeof alphabet - 1)];
    check_grammar(text, n);
  }
  for (k = 0; k < sizeof sample / sizeof sample[0]; k++)
    for (n = 0; n <= strlen(sample[k]); n++) {
      check_grammar(sample[k], n);
      for (i = 0; i < n; i++) {
        size_t a;
        memcpy(text, sample[k], n);
        for (a = 0; a < sizeof alphabet - 1; a++) {
          text[i] = alphabet[a];
          check_grammar(text, n);
        }
      }
    }
}

static void test_hard(void) {
  size_t i;
  section("known hard texts");
  for (i = 0; i < sizeof hard / sizeof hard[0]; i++)
    check_bits(hard[i].text, bits_of(hard[i].d));
}

static void test_decimals(long count) {
  char digits[1101], text[TEXT_MAX];
  long i;
  int n, exp;
  section("random decimals of 1 to 1100 digits");
  for (i = 0; i < count; i++) {
    n = random_below(16) == 0 ? 1100 : 25;
    n = random_digits(digits, 1 + random_below(n));
    exp = random_below(2) == 0 ? random_below(40) - 30
                               : random_below(680) - 350;
    spell(text, digits, n, exp - (n > 20 ? n - 10 : 0));
    check_float(text, strlen(text));
  }
}

/* The point halfway above the double 'bits', and texts just around it. */
static void check_halfway(uint64_t bits) {
  char digits[TEXT_MAX], text[TEXT_MAX];
  uint64_t m = bits & (UINT64_MAX >> 12);
  int e = (int)(bits >> 52), exp, n, more;
  if (e != 0) m |= UINT64_C(1) << 52;
  exp = exact_digits(digits, 2 * m + 1, (e != 0 ? e : 1) - 1076);
  n = (int)strlen(digits);
  spell(text, digits, n, exp);
  check_bits(text, bits + (bits & 1));

  /* Zeros that were left out come first: a unit there is too much. */
  more = random_below(1100) + (exp > 0 ? exp : 0);
  memset(digits + n, '0', (size_t)more + 1);
  spell(text, digits, n + more, exp - more);
  check_bits(text, bits + (bits & 1));
  digits[n + more] = (char)('1' + random_below(9));
  spell(text, digits, n + more + 1, exp - more - 1);
  check_bits(text, bits + 1);

  if (n == 1) return;  /* would begin with 0 */
  digits[n - 1]--;
  if (exp < 0) {
    spell(text, digits, n, exp);
    check_bits(text, bits);
  }
  memset(digits + n, '9', (size_t)more + 1);
  spell(text, digits, n + more + 1, exp - more - 1);
  check_bits(text, bits);
}

/* Ties among words of 19 digits times a power of ten, and words like those. */
static void test_ties(long count) {
  char text[64];
  int q, i;
  section("words of 19 digits and powers of ten, ties");
  for (; count > 0; count--)
    for (q = -5; q <= 24; q++) {
      uint64_t power = 1, odd = (random_bits() >> 11) | UINT64_C(1) << 53 | 1;
      for (i = abs(q); i > 0; i--) power *= 5;
      if (q < 0 && odd <= UINT64_C(10000000000000000000) / power)
        odd *= power;
      else if (q > 0)  /* the word times 5^q has 54 bits, or 53 */
        odd = (odd / power) | 1;
      sprintf(text, "%" PRIu64 "e%d", odd, q);
      check_float(text, strlen(text));
      sprintf(text, "%" PRIu64 "e%d", random_bits() / 2 + 1, q);
      check_float(text, strlen(text));
    }
}

static void test_halfway(long count) {
  int i;
  section("points halfway between doubles, exact digits");
  for (i = 0; i < 20; i++) {
    check_halfway((uint64_t)i);
    check_halfway(bits_of(DBL_MIN) - 10 + (uint64_t)i);
    check_halfway(bits_of(1) - 10 + (uint64_t)i);
    check_halfway(bits_of(0x1p53) - 10 + (uint64_t)i);
    check_halfway(bits_of(DBL_MAX) - (uint64_t)i);
  }
  for (; count > 0; count--) {
    check_halfway(bits_of(fabs(random_finite())));
    check_halfway(bits_of(random_below(1000000) / 1024.0));
  }
}

/* head, 'count' times 'fill', tail */
static void check_long(const char *head, char fill, size_t count,
                       const char *tail, double want) {
  size_t before = strlen(head), behind = strlen(tail);
  size_t n = before + count + behind;
  char *text = malloc(n);
  es_Number r;
  if (text == NULL) abort();
  memcpy(text, head, before);
  memset(text + before, fill, count);
  memcpy(text + before + count, tail, behind);
  r = es_number_read(text, n);
  check(r.kind == (isinf(want) ? ES_NUMBER_HUGE : ES_NUMBER_FLOAT) &&
        r.len == n && same(r.d, want),
        "%s %c... %s: kind %d, len %zu, %a", head, fill, tail, (int)r.kind,
        r.len, r.d);
  r = es_number_read(text, before + count);
  check(r.len == before + count, "%s %c...: len %zu", head, fill, r.len);
  free(text);
}

static void test_long(void) {
  const size_t n = 10000000;
  clock_t start = clock();
  double seconds;
  section("ten million digits");
  check_long("1", '0', n, "", INFINITY);
  check_long("-7", '7', n, "", -INFINITY);
  check_long("1", '0', n, "e-10000000", 1);
  check_long("1", '0', n, ".5e-10000000", 1);
  check_long("0.", '0', n, "1", 0.0);
  check_long("-0.", '0', n, "", -0.0);
  check_long("0.", '0', n, "1e10000001", 1);
  check_long("0.", '0', n, "17976931348623159e10000309", INFINITY);
  check_long("0.", '3', n, "", 1.0 / 3);
  check_long("0.", '9', n, "", 1);
  check_long("9007199254740993.", '0', n, "", 0x1p53);
  check_long("9007199254740993.", '0', n, "1", 0x1p53 + 2);
  check_long("9007199254740992.", '9', n, "", 0x1p53);
  check_long("1e", '0', n, "5", 1e5);
  check_long("1e", '9', n, "", INFINITY);
  check_long("1e-", '9', n, "", 0.0);
  seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  check(seconds < 120, "not linear: %.1f s", seconds);
}

/* What the program sets in the processor must not matter. */
static void test_rounding_modes(long count) {
#if defined(__SSE2__)
  const unsigned normal = _mm_getcsr();
  section("other rounding modes");
  for (; count > 0; count--) {
    double d = count % 2 != 0 ? random_finite() : random_ordinary(), first;
    size_t n = write_double(d), again;
    char text[ES_NUMBER_MAX];
    unsigned mode;
    memcpy(text, out, n + 1);
    first = es_number_read(text, n).d;
    for (mode = 1; mode < 4; mode++) {
      es_Number r;
      _mm_setcsr((normal & ~0x6000u) | mode << 13 | 0x8040u);
      again = es_number_put_double(out, d);
      r = es_number_read(text, n);
      _mm_setcsr(normal);
      check(again == n && memcmp(out, text, n) == 0 && same(r.d, first),
            "mode %u: %s, written as %.*s, read as %a", mode, text,
            (int)again, out, r.d);
    }
  }
  _mm_setcsr((normal & ~0x6000u) | 0x4000u);
  check_bits("0e500", 0);
  check_bits("0e-3", 0);
  _mm_setcsr(normal);
#else
  (void)count;
#endif
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 10000000;
  seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
  state = seed;
  make_guard();
  test_written();
  test_kinds();
  test_hard();
  test_powers();
  test_long();
  test_grammar(count / 40);
  test_integers(count / 40);
  test_halfway(count / 5000);
  test_ties(count / 1000);
  test_decimals(count / 25);
  test_rounding_modes(count / 50);
  test_shortest(count / 12);
  test_random_bits(count);
  section(NULL);
  if (failed > 0) printf("seed %" PRIu64 "\n", seed);
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
