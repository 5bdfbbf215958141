/*
** number_read.c - JSON numbers from text; see number.h.
**
** Up to 19 significant digits make a word w, for w * 10^q. If both factors
** are exact doubles, one multiplication or division of them is right (W. D.
** Clinger, "How to read floating point numbers accurately", 1990). If not,
** one product of 192 bits is rounded: D. Lemire, "Number parsing at a gigabyte
** per second" (2021), after M. Eisel. That 128 bits of the power of ten always
** suffice is proved in scripts/gen_number_table.py.
**
** Of longer texts the value lies between w and w + 1. If the two round to
** different doubles, the digits are compared, as integers of up to 2700 bits
** on the stack, with the point halfway between the doubles.
*/
#include "number.h"

#include <float.h>

#include "number_bits.h"

#define WORD_DIGITS 19  /* as many digits as always fit into a word */

/* Up to these, integers and powers of ten are exact doubles. */
#define MAX_EXACT_WORD (UINT64_C(1) << 53)
#define MAX_EXACT_POWER 22

/* A point halfway between two doubles has at most 767 significant digits. */
#define MAX_DIGITS 800

#define MAX_POWER 308  /* 10^309 rounds to infinity */

/* An exponent above this is as good as this; no text is that long. */
#define EXPONENT_LIMIT INT64_C(100000000000000000)

#define FRACTION_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << FRACTION_BITS)
#define INFINITE_BITS (UINT64_C(0x7FF) << FRACTION_BITS)
#define SIGN_BIT (UINT64_C(1) << 63)

typedef struct Text {
  const char *p;        /* the next byte; in the end the first not taken */
  const char *end;
  const char *first;    /* the first digit */
  const char *stop;     /* behind the last digit of the significand */
  uint64_t word;        /* the digits, modulo 2^64 */
  int64_t whole, frac;  /* digits before and behind the point */
  int64_t exp;          /* as written */
  int negative, integer;
} Text;

static int is_digit(char c) {
  return (unsigned)c - '0' < 10;
}

static inline int at_digit(const Text *t) {
  return t->p < t->end && is_digit(*t->p);
}

static inline int at(const Text *t, char c) {
  return t->p < t->end && *t->p == c;
}

static inline int at_letter(const Text *t, char lower) {
  return t->p < t->end && (*t->p | 0x20) == lower;
}

/*
** Not 0 in the bytes that are no digits. A carry out of one of those may spoil
** the bytes above it; the lowest one is right.
*/
static inline uint64_t no_digits(uint64_t eight) {
  const uint64_t high = UINT64_C(0xF0F0F0F0F0F0F0F0);
  uint64_t above = (eight + UINT64_C(0x0606060606060606)) & high;
  return ((eight & high) | above >> 4) ^ UINT64_C(0x3333333333333333);
}

/* The value of eight digits, not ASCII: pairs, fours, then all of them. */
static inline uint64_t eight_value(uint64_t x) {
  x = (x * 10 + (x >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
  x = (x * 100 + (x >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
  return (x * 10000 + (x >> 32)) & UINT32_MAX;
}

/* Takes digits; returns how many. */
static inline int64_t take_digits(Text *t) {
  static const uint32_t power[8] = {1, 10, 100, 1000, 10000, 100000, 1000000,
                                    10000000};
  const char *p = t->p, *start = p;
  uint64_t word = t->word;
  while (t->end - p >= 8) {
    uint64_t digits = es_number_load(p) - ES_NUMBER_ASCII_ZEROS;
    uint64_t other = no_digits(es_number_load(p));
    if (other != 0) {   /* the last ones, behind as many zeros as lack */
      unsigned n = es_number_trailing(other) / 8;
      if (n > 0)
        word = word * power[n] + eight_value(digits << 8 * (8 - n));
      p += n;
      t->word = word;
      t->p = p;
      return p - start;
    }
    word = word * 100000000 + eight_value(digits);
    p += 8;
  }
  for (; p < t->end && is_digit(*p); p++)
    word = word * 10 + (uint64_t)(*p - '0');
  t->word = word;
  t->p = p;
  return p - start;
}

/* Takes the exponent behind its 'e'; false if there is none. */
static inline int take_exponent(Text *t) {
  int64_t exp = 0;
  int negative = at(t, '-');
  if (negative || at(t, '+')) t->p++;
  if (!at_digit(t)) return 0;
  for (; at_digit(t); t->p++)
    if (exp < EXPONENT_LIMIT) exp = exp * 10 + (*t->p - '0');
  t->exp = negative ? -exp : exp;
  return 1;
}

/* True at a byte that cannot stand behind a number, as in 01, 0x1, 1.5.2 */
static inline int at_tail(const Text *t) {
  /* as bits from ' ' on: + - . 0 to 9, A to Z, a to z */
  static const uint32_t bits[3] = {0x03FF6800, 0x07FFFFFE, 0x07FFFFFE};
  unsigned c;
  if (t->p >= t->end) return 0;
  c = (unsigned char)*t->p - 32u;
  return c < 96 && bits[c / 32] >> c % 32 & 1;
}

/* Takes the digits and the point; false if digits are missing. */
static inline int take_significand(Text *t) {
  t->first = t->p;
  if (at(t, '0')) {
    t->p++;
    t->whole = 1;
  } else {
    t->whole = take_digits(t);
    if (t->whole == 0) return 0;
  }
  t->stop = t->p;
  if (!at(t, '.')) return 1;
  t->integer = 0;
  t->p++;
  t->frac = take_digits(t);
  t->stop = t->p;
  return t->frac != 0;
}

/* Takes the number; false if it is not one, then 'p' is the wrong byte. */
static inline int take_number(Text *t) {
  t->integer = 1;
  t->negative = at(t, '-');
  t->p += t->negative;
  if (!take_significand(t)) return 0;
  if (at_letter(t, 'e')) {
    t->integer = 0;
    t->p++;
    if (!take_exponent(t)) return 0;
  }
  return !at_tail(t);
}

/*
** The bits of the double nearest to w * 10^q, ties to even. 'w' is not 0. A
** magnitude that rounds to infinity gives infinity.
*/
static uint64_t round_word(uint64_t w, int64_t q64) {
  int q, biased;
  unsigned zeros = es_number_leading(w), upper, drop;
  es_NumberPair p;
  uint64_t m;
  if (q64 < ES_NUMBER_POW_MIN) return 0;
  if (q64 > MAX_POWER) return INFINITE_BITS;
  q = (int)q64;
  p = es_number_scale(w << zeros, es_number_power(q));
  upper = (unsigned)(p.hi >> 63);
  drop = upper + 9;  /* leaves 54 bits: the last one is for rounding */
  m = p.hi >> drop;
  biased = es_number_log2_power(q) + 1023 + 63 + (int)upper - (int)zeros;
  if (biased <= 0) {  /* subnormal; too small for ties */
    if (biased < -FRACTION_BITS) return 0;
    m >>= 1 - biased;
    return (m + 1) >> 1;
  }
  if (p.lo == 0 && (m & 3) == 1 && m << drop == p.hi)
    m--;  /* a tie; the even one is below */
  m = (m + 1) >> 1;
  /* The leading bit of m, or a carry beyond it, adds to the exponent. */
  m += (uint64_t)(biased - 1) << FRACTION_BITS;
  return m < INFINITE_BITS ? m : INFINITE_BITS;
}

/*
** True if the machine rounds doubles to the nearest double, as it does unless
** the program has set something else or computes in wider registers.
*/
static int rounds_to_nearest(void) {
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
  volatile double memory = 1e-300;  /* keeps the compiler from knowing */
  double tiny = memory;
  return 1.0 + tiny == 1.0 - tiny;
#else
  return 0;
#endif
}

/* The bits of w * 10^q, rounded; 'w' may be 0. */
static inline uint64_t round_short(uint64_t w, int64_t q) {
  static const double power[MAX_EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  double d;
  if (w > MAX_EXACT_WORD || q < -MAX_EXACT_POWER || q > MAX_EXACT_POWER ||
      !rounds_to_nearest())
    return w == 0 ? 0 : round_word(w, q);
  d = (double)(int64_t)w;
  return es_number_bits(q < 0 ? d / power[-q] : d * power[q]);
}

/* A natural number; the lowest limb first, no zeros at the top. */
typedef struct Big {
  uint32_t limb[96];
  int n;
} Big;

static void big_mul_add(Big *b, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  int i;
  for (i = 0; i < b->n; i++) {
    carry += (uint64_t)b->limb[i] * factor;
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry != 0) b->limb[b->n++] = (uint32_t)carry;
}

static void big_mul_pow5(Big *b, int64_t e) {
  const uint32_t pow5_13 = 1220703125;
  for (; e >= 13; e -= 13) big_mul_add(b, pow5_13, 0);
  for (; e > 0; e--) big_mul_add(b, 5, 0);
}

static void big_mul_pow2(Big *b, int64_t e) {
  int limbs = (int)(e / 32);
  memmove(b->limb + limbs, b->limb, (size_t)b->n * sizeof b->limb[0]);
  memset(b->limb, 0, (size_t)limbs * sizeof b->limb[0]);
  b->n += limbs;
  big_mul_add(b, UINT32_C(1) << e % 32, 0);
}

static int big_compare(const Big *a, const Big *b) {
  int i;
  if (a->n != b->n) return a->n < b->n ? -1 : 1;
  for (i = a->n - 1; i >= 0; i--)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

/*
** Reads up to MAX_DIGITS digits from 'p', where the first is not 0; returns
** how many. Sets 'sticky' if a digit behind them is not 0.
*/
static int big_read(Big *b, const char *p, const char *stop, int *sticky) {
  uint32_t chunk = 0, scale = 1;
  int count = 0;
  b->n = 0;
  for (; p < stop && count < MAX_DIGITS; p++) {
    if (*p == '.') continue;
    chunk = chunk * 10 + (uint32_t)(*p - '0');
    scale *= 10;
    count++;
    if (scale == 1000000000) {
      big_mul_add(b, scale, chunk);
      chunk = 0;
      scale = 1;
    }
  }
  big_mul_add(b, scale, chunk);
  for (*sticky = 0; p < stop && !*sticky; p++)
    *sticky = *p != '.' && *p != '0';
  return count;
}

/*
** Sets 'b' to m such that the point halfway between the double 'bits' and the
** next greater one is m * 2^e; returns e.
*/
static int big_halfway(Big *b, uint64_t bits) {
  int biased = (int)(bits >> FRACTION_BITS);
  uint64_t m = bits & (HIDDEN_BIT - 1);
  if (biased != 0)
    m |= HIDDEN_BIT;
  else
    biased = 1;
  m = 2 * m + 1;
  b->limb[0] = (uint32_t)m;
  b->limb[1] = (uint32_t)(m >> 32);
  b->n = b->limb[1] != 0 ? 2 : 1;
  return biased - 1076;
}

/*
** Compares a number with the point halfway between the double 'bits' and the
** next: < 0, 0, > 0. Its 'digits' digits are from 'p' to 'stop', where the
** last one counts 10^q. The two are near to each other, so that both sides
** stay below 2^2700: 10^800, or 2^54 * 5^1123.
*/
static int compare_halfway(const char *p, const char *stop, int64_t digits,
                           int64_t q, uint64_t bits) {
  Big text, half;
  int sticky, order;
  int64_t shift;
  q += digits - big_read(&text, p, stop, &sticky);
  shift = q - big_halfway(&half, bits);
  big_mul_pow5(&text, q);
  big_mul_pow5(&half, -q);
  if (shift > 0)
    big_mul_pow2(&text, shift);
  else
    big_mul_pow2(&half, -shift);
  order = big_compare(&text, &half);
  return order != 0 ? order : sticky;
}

/* The first WORD_DIGITS digits from 'p' on; there are more. */
static uint64_t leading_word(const char *p) {
  uint64_t w = 0;
  int kept;
  for (kept = 0; kept < WORD_DIGITS; p++)
    if (*p != '.') {
      w = w * 10 + (uint64_t)(*p - '0');
      kept++;
    }
  return w;
}

/*
** The bits for more than WORD_DIGITS digits from 'p' to 'stop', where the last
** one counts 10^q.
*/
static uint64_t round_long(const char *p, const char *stop, int64_t digits,
                           int64_t q) {
  uint64_t w = leading_word(p);
  uint64_t below = round_word(w, q + digits - WORD_DIGITS);
  uint64_t above = round_word(w + 1, q + digits - WORD_DIGITS);
  int order;
  if (below == above) return below;
  order = compare_halfway(p, stop, digits, q, below);
  return order > 0 || (order == 0 && (below & 1) != 0) ? above : below;
}

/* The bits of the magnitude, rounded. */
static inline uint64_t round_text(const Text *t) {
  int64_t digits = t->whole + t->frac;
  const char *p = t->first;
  if (digits > WORD_DIGITS) {
    for (; p < t->stop && (*p == '0' || *p == '.'); p++)
      digits -= *p == '0';
    if (digits > WORD_DIGITS)
      return round_long(p, t->stop, digits, t->exp - t->frac);
  }
  return round_short(t->word, t->exp - t->frac);
}

/* True if the text is an integer of int64_t; -0 is not. */
static inline int fits_integer(const Text *t) {
  if (!t->integer || t->whole > WORD_DIGITS) return 0;
  if (!t->negative) return t->word <= INT64_MAX;
  return t->word != 0 && t->word <= (uint64_t)INT64_MAX + 1;
}

es_Number es_number_read(const char *s, size_t n) {
  es_Number r = {ES_NUMBER_BAD, 0, 0, 0};
  Text t = {0};
  uint64_t bits;
  int good;
  t.p = s;
  t.end = s + n;
  good = take_number(&t);
  r.len = (size_t)(t.p - s);
  if (!good) return r;
  if (fits_integer(&t)) {
    r.kind = ES_NUMBER_INT;
    r.i = t.negative ? -1 - (int64_t)(t.word - 1) : (int64_t)t.word;
    return r;
  }
  bits = round_text(&t);
  r.kind = bits == INFINITE_BITS ? ES_NUMBER_HUGE : ES_NUMBER_FLOAT;
  r.d = es_number_from_bits(t.negative ? bits | SIGN_BIT : bits);
  return r;
}
