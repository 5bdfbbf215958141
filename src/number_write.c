/*
** number_write.c - integers and doubles to text; see number.h.
**
** Doubles follow R. Giulietti, "The Schubfach way to render doubles" (2020).
** v = c * 2^q is scaled by a power of ten to V = 4v / 10^k such that the
** interval of decimals that read back as v holds at least one multiple of
** 10^k and at most one of 10^(k+1): so four candidates settle the shortest.
** V and the ends of the interval are needed only as compared with integers,
** for which a word that is rounded to odd is exact enough; the proof is in
** scripts/gen_number_table.py.
**
** Eight digits at a time are made in one word; stores may write more bytes
** than the text has, within ES_NUMBER_MAX.
*/
#include "number.h"

#include "number_bits.h"

#define FRACTION_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << FRACTION_BITS)
#define EXPONENT_MASK 0x7FF
#define EXPONENT_BIAS 1075  /* of the integer significand c */

/* Plain notation where PLAIN_ABOVE < e <= PLAIN_MAX in d.ddd * 10^e. */
#define PLAIN_ABOVE (-7)
#define PLAIN_MAX 17

#define POW8 UINT64_C(100000000)
#define POW16 (POW8 * POW8)

/* The eight digits of x < 10^8, one a byte (not ASCII), the first lowest. */
static uint64_t eight_digits(uint64_t x) {
  uint64_t high = x / 10000, t;
  x = high | (x - 10000 * high) << 32;
  t = ((x * 5243) >> 19) & UINT64_C(0x0000007F0000007F);  /* / 100 */
  x = t | (x - 100 * t) << 16;
  t = ((x * 103) >> 10) & UINT64_C(0x000F000F000F000F);  /* / 10 */
  return t | (x - 10 * t) << 8;
}

static void put_eight(char *out, uint64_t x) {
  es_number_store(out, eight_digits(x) | ES_NUMBER_ASCII_ZEROS);
}

/* Writes x < 10^8 without leading zeros; returns the length. */
static size_t put_short(char *out, uint64_t x) {
  uint64_t digits = eight_digits(x);
  /* The bit stands for the last digit, which is written even if 0. */
  unsigned zeros = es_number_trailing(digits | UINT64_C(1) << 56) / 8;
  es_number_store(out, (digits | ES_NUMBER_ASCII_ZEROS) >> (8 * zeros));
  return 8 - zeros;
}

static size_t put_unsigned(char *out, uint64_t x) {
  uint64_t high = x / POW8, top;
  size_t n;
  if (high == 0) return put_short(out, x);
  if (high < POW8) {
    n = put_short(out, high);
  } else {
    top = high / POW8;
    n = put_short(out, top);
    put_eight(out + n, high - top * POW8);
    n += 8;
  }
  put_eight(out + n, x - high * POW8);
  return n + 8;
}

size_t es_number_put_int(char *out, int64_t value) {
  if (value >= 0) return put_unsigned(out, (uint64_t)value);
  out[0] = '-';
  return 1 + put_unsigned(out + 1, 0 - (uint64_t)value);
}

/* A decimal number digits * 10^exp; the digits may end in zeros. */
typedef struct Decimal {
  uint64_t digits;
  int exp;
} Decimal;

/* floor(c * power), with the lowest bit set if that is not exact. */
static uint64_t round_to_odd(es_NumberPair power, uint64_t c) {
  es_NumberPair p = es_number_scale(c, power);
  return p.hi | (p.lo != 0);
}

/*
** Chooses the decimal for 'v' from the multiples of 10^exp next to it (4 is
** one of them in the scale of 'v'), within 'low' and 'high' inclusive: one of
** 10^(exp+1) if there is one, else the nearest, else the even one.
*/
static Decimal choose(uint64_t v, uint64_t low, uint64_t high, int exp) {
  Decimal d;
  uint64_t s = v >> 2, tens = s / 10;
  uint64_t below10 = low <= 40 * tens, above10 = 40 * tens + 40 <= high;
  uint64_t below = low <= 4 * s, above = 4 * s + 4 <= high;
  uint64_t nearer = (v & 3) + (s & 1) > 2;
  /* Masks, since branches on digits are as good as random. */
  uint64_t one = s + (nearer ^ ((nearer ^ above) & (below ^ above)));
  uint64_t ten = 10 * (tens + above10);
  d.digits = one ^ ((one ^ ten) & (0 - (below10 ^ above10)));
  d.exp = exp;
  return d;
}

/* The shortest decimal for c * 2^q; 'c' is not 0. */
static Decimal shortest(uint64_t c, int q) {
  /*
  ** Below a power of two doubles are denser: the interval is narrower. (Not
  ** below the least normal one, but its text is within both intervals.)
  */
  int narrow = c == HIDDEN_BIT;
  int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;  /* floor of log10 */
  int shift = q + es_number_log2_power(-k) + 1;
  es_NumberPair power = es_number_power(-k);
  uint64_t odd = c & 1;  /* the ends of the interval read back if c is even */
  uint64_t v, low, high;
  v = round_to_odd(power, (4 * c) << shift);
  low = round_to_odd(power, (4 * c - 2 + (uint64_t)narrow) << shift);
  high = round_to_odd(power, (4 * c + 2) << shift);
  return choose(v, low + odd, high - odd, k);
}

/* first.rest * 10^exp; 'count' digits until the last one that is not 0. */
typedef struct Digits {
  char first;
  uint64_t high, low;  /* 16 more digits as ASCII */
  unsigned count;
  int exp;
} Digits;

static Digits split(Decimal d) {
  Digits r;
  uint64_t first, nine, high, low, few = d.digits < POW16;
  d.digits *= 1 + 9 * few;  /* no branch: 16 digits are common */
  r.exp = d.exp + 16 - (int)few;
  for (; d.digits < POW16; r.exp--) d.digits *= 10;
  nine = d.digits / POW8;
  low = eight_digits(d.digits - nine * POW8);
  first = nine / POW8;
  high = eight_digits(nine - first * POW8);
  r.first = (char)('0' + (char)first);
  r.high = high | ES_NUMBER_ASCII_ZEROS;
  r.low = low | ES_NUMBER_ASCII_ZEROS;
  if (low != 0)
    r.count = 17 - es_number_leading(low) / 8;
  else
    r.count = high != 0 ? 9 - es_number_leading(high) / 8 : 1;
  return r;
}

/* 0 <= exp <= PLAIN_MAX: 1.5, 123400.0 */
static size_t put_large(char *out, const Digits *d) {
  unsigned e = (unsigned)d->exp;
  out[0] = d->first;
  es_number_store(out + 1, d->high);
  es_number_store(out + 9, d->low);
  out[17] = '0';
  if (d->count <= e + 1) {
    out[e + 1] = '.';
    out[e + 2] = '0';
    return e + 3;
  }
  /* Put the digits behind the point once more, one byte to the right. */
  if (e < 8) {
    es_number_store(out + e + 2, d->high >> (8 * e));
    es_number_store(out + 10, d->low);
  } else {
    es_number_store(out + e + 2, d->low >> (8 * (e - 8)));
  }
  out[e + 1] = '.';
  return d->count + 1;
}

/* PLAIN_ABOVE < exp < 0: 0.0015 */
static size_t put_small(char *out, const Digits *d) {
  unsigned at = (unsigned)(1 - d->exp);
  memcpy(out, "0.000000", 8);
  out[at] = d->first;
  es_number_store(out + at + 1, d->high);
  es_number_store(out + at + 9, d->low);
  return at + d->count;
}

/* 1.5e-300, 1e300 */
static size_t put_scientific(char *out, const Digits *d) {
  size_t n = d->count > 1 ? d->count + 1 : 1;
  out[0] = d->first;
  out[1] = '.';
  es_number_store(out + 2, d->high);
  es_number_store(out + 10, d->low);
  out[n++] = 'e';
  return n + es_number_put_int(out + n, d->exp);
}

/* A positive double that is c * 2^q. */
static size_t put_positive(char *out, uint64_t c, int q) {
  Digits d;
  if (q <= 0 && q >= -FRACTION_BITS &&
      (c & ((UINT64_C(1) << -q) - 1)) == 0) {
    /* An integer below 2^53: nothing shorter is as near to it. */
    size_t n = put_unsigned(out, c >> -q);
    memcpy(out + n, ".0", 2);
    return n + 2;
  }
  d = split(shortest(c, q));
  if (d.exp > PLAIN_MAX || d.exp <= PLAIN_ABOVE) return put_scientific(out, &d);
  return d.exp >= 0 ? put_large(out, &d) : put_small(out, &d);
}

size_t es_number_put_double(char *out, double value) {
  uint64_t bits = es_number_bits(value), c = bits & (HIDDEN_BIT - 1);
  int biased = (int)(bits >> FRACTION_BITS) & EXPONENT_MASK;
  size_t sign = (size_t)(bits >> 63);
  out[0] = '-';
  out += sign;
  if (biased != 0) {
    c |= HIDDEN_BIT;
  } else if (c == 0) {
    memcpy(out, "0.0", 3);
    return sign + 3;
  } else {
    biased = 1;
  }
  return sign + put_positive(out, c, biased - EXPONENT_BIAS);
}
