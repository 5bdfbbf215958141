/*
** number_tools.h - what number_test.c stands on: counted checks, random
** numbers, reading and writing next to walls, and other ways to spell numbers.
** The counters belong to one test program.
*/
#ifndef NUMBER_TOOLS_H
#define NUMBER_TOOLS_H

#if defined(__unix__) || defined(__APPLE__)
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <sys/mman.h>
#define HAVE_MMAP 1
#endif

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define TEXT_MAX 4000

static uint64_t passed, failed, seed, state;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int check(int good, const char *format, ...) {
  va_list args;
  if (good) {
    passed++;
    return 1;
  }
  if (++failed > 30) return 0;
  printf("FAILED (seed %" PRIu64 "): ", seed);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  return 0;
}

static const char *part;  /* the test that runs, and the failures before */
static uint64_t failed_before;

/* Ends a test and starts the next; NULL if there is none. */
static void section(const char *name) {
  if (part != NULL)
    printf("%s - number: %s\n", failed == failed_before ? "ok" : "not ok",
           part);
  fflush(stdout);
  part = name;
  failed_before = failed;
}

/* SplitMix64 */
static uint64_t random_bits(void) {
  uint64_t x = state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static int random_below(int n) {
  return (int)(random_bits() % (uint64_t)n);
}

static uint64_t bits_of(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static double from_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static double random_finite(void) {
  double d;
  do d = from_bits(random_bits());
  while (!isfinite(d));
  return d;
}

static int same(double a, double b) {
  return bits_of(a) == bits_of(b);
}

/* ---- reading, with walls around the text ---- */

static char *guarded;  /* the end of a page, before one that faults */

static void make_guard(void) {
#if defined(HAVE_MMAP)
  const size_t page = 65536;
  char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE) != 0) abort();
  guarded = p + page;
#endif
}

static int equal_numbers(es_Number a, es_Number b) {
  return a.kind == b.kind && a.len == b.len && a.i == b.i && same(a.d, b.d);
}

/* Reads at the end of a page, of a heap block, and with digits behind. */
static es_Number read_walled(const char *s, size_t n) {
  static char behind[TEXT_MAX + 32];
  char *block = malloc(n > 0 ? n : 1);
  es_Number r, again;
  if (block == NULL || n > TEXT_MAX) abort();
  memcpy(block, s, n);
  r = es_number_read(n > 0 ? block : block + 1, n);
  free(block);
  memcpy(behind, s, n);
  memcpy(behind + n, "9876543210.12345e67", 19);
  again = es_number_read(behind, n);
  check(equal_numbers(r, again), "bytes behind the text: %.*s", (int)n, s);
  if (guarded != NULL) {
    memcpy(guarded - n, s, n);
    again = es_number_read(guarded - n, n);
    check(equal_numbers(r, again), "end of page: %.*s", (int)n, s);
  }
  return r;
}

/* ---- writing, within the promised room ---- */

static char out[ES_NUMBER_MAX + 16];

static size_t seal(size_t n) {
  size_t i;
  for (i = ES_NUMBER_MAX; i < sizeof out; i++)
    if (out[i] != '#') check(0, "byte %zu of the room is overwritten", i);
  if (n == 0 || n > 26) check(0, "%zu bytes written", n);
  out[n < ES_NUMBER_MAX ? n : 0] = '\0';
  return n;
}

static size_t write_double(double d) {
  memset(out + ES_NUMBER_MAX, '#', sizeof out - ES_NUMBER_MAX);
  return seal(es_number_put_double(out, d));
}

static size_t write_int(int64_t i) {
  memset(out + ES_NUMBER_MAX, '#', sizeof out - ES_NUMBER_MAX);
  return seal(es_number_put_int(out, i));
}

/* ---- other ways to spell numbers ---- */

/* The notation of number.h for digits in the form d[.ddd]e[+-]xx */
static void lay_out(char *to, const char *printed) {
  char digits[32] = "";
  int i, n = 0, exp = atoi(strchr(printed, 'e') + 1);
  if (*printed == '-') *to++ = *printed++;
  for (; *printed != 'e'; printed++)
    if (*printed != '.') digits[n++] = *printed;
  while (n > 1 && digits[n - 1] == '0') n--;
  if (exp <= -7 || exp > 17) {
    *to++ = digits[0];
    if (n > 1) to += sprintf(to, ".%.*s", n - 1, digits + 1);
    sprintf(to, "e%d", exp);
    return;
  }
  if (exp < 0) *to++ = '0';
  for (i = 0; i <= exp; i++) *to++ = i < n ? digits[i] : '0';
  *to++ = '.';
  if (exp >= n - 1) *to++ = '0';
  for (i = -1; i > exp; i--) *to++ = '0';
  for (i = exp >= 0 ? exp + 1 : 0; i < n; i++) *to++ = digits[i];
  *to = '\0';
}

static int count_digits(const char *s) {
  int n = 0, zeros = 0;
  for (; *s != '\0' && *s != 'e'; s++) {
    if (*s < '0' || *s > '9' || (n == 0 && *s == '0')) continue;
    zeros = *s == '0' ? zeros + 1 : 0;
    n++;
  }
  return n == 0 ? 1 : n - zeros;
}

/* digits * 10^exp in one of the ways to write it. */
static void spell(char *to, const char *digits, int n, int exp) {
  int point = random_below(n + 1), zeros;
  switch (random_below(4)) {
    case 0:
      sprintf(to, "%.*se%d", n, digits, exp);
      return;
    case 1:
      if (point == 0 || point == n) point = 1;
      if (n == 1) sprintf(to, "%sE%+d", digits, exp);
      else sprintf(to, "%.*s.%.*se%d", point, digits, n - point,
                   digits + point, exp + n - point);
      return;
    case 2:
      zeros = random_below(40);
      sprintf(to, "0.%0*d%.*se%d", zeros + 1, 0, n, digits,
              exp + n + zeros + 1);
      return;
    default:  /* without an exponent if that is not too long */
      if (exp < 0 && exp > -n)
        sprintf(to, "%.*s.%.*s", n + exp, digits, -exp, digits + n + exp);
      else if (exp < -n && exp > -400)
        sprintf(to, "0.%0*d%.*s", -exp - n, 0, n, digits);
      else if (exp > 0 && exp < 400)
        sprintf(to, "%.*s%0*d.0", n, digits, exp, 0);
      else
        sprintf(to, "%.*se%d", n, digits, exp);
      return;
  }
}

static int random_digits(char *digits, int n) {
  int i;
  for (i = 0; i < n; i++) digits[i] = (char)('0' + random_below(10));
  if (digits[0] == '0') digits[0] = '7';
  digits[n] = '\0';
  return n;
}

/* The exact digits of m * 2^e; returns the exponent of ten of the last. */
static int exact_digits(char *digits, uint64_t m, int e) {
  static const uint32_t base = 1000000000;
  uint32_t limb[130] = {0};
  uint64_t carry;
  int n = 0, i, steps = abs(e);
  size_t length;
  for (; m != 0; m /= base) limb[n++] = (uint32_t)(m % base);
  while (steps-- > 0) {
    for (carry = 0, i = 0; i < n; i++) {
      carry += (uint64_t)limb[i] * (e < 0 ? 5 : 2);
      limb[i] = (uint32_t)(carry % base);
      carry /= base;
    }
    if (carry != 0) limb[n++] = (uint32_t)carry;
  }
  digits += sprintf(digits, "%" PRIu32, limb[n - 1]);
  for (i = n - 2; i >= 0; i--)
    digits += sprintf(digits, "%09" PRIu32, limb[i]);
  for (length = 0; digits[-1] == '0'; length++) *--digits = '\0';
  return (e < 0 ? e : 0) + (int)length;
}

#endif
