#!/usr/bin/env python3
"""Writes src/number_table.c, the powers of ten for the number reader and writer.

    python3 scripts/gen_number_table.py > src/number_table.c
    python3 scripts/gen_number_table.py --check

Without an argument the table goes to standard output. --check proves, by exact
arithmetic, what the C code takes for granted: the integer logarithms, and that
128 bits of a power are enough for every double (it takes a few seconds).

An entry is 10^e scaled to 2^127 <= T < 2^128, rounded down for e >= 0 and up
for e < 0. It is exact for 0 <= e <= 55.
"""

import sys
from math import gcd

POW_MIN, POW_MAX = -342, 324

HEAD = """\
/* number_table.c - powers of ten; made by scripts/gen_number_table.py */
#include "number_bits.h"

const es_NumberPair es_number_powers[ES_NUMBER_POW_COUNT] = {
"""


def floor_log2_pow10(e):
    """floor(log2(10^e)), exactly."""
    if e >= 0:
        return (10**e).bit_length() - 1
    return -(10**-e).bit_length()


def fraction(e):
    """10^e * 2^(127 - floor(log2(10^e))) as numerator and denominator."""
    shift = 127 - floor_log2_pow10(e)
    num, den = (10**e, 1) if e >= 0 else (1, 10**-e)
    return (num << shift, den) if shift >= 0 else (num, den << -shift)


def entry(e):
    num, den = fraction(e)
    value = num // den if e >= 0 else -(-num // den)
    assert 1 << 127 <= value < 1 << 128
    return value


def write_table():
    out = [HEAD]
    for e in range(POW_MIN, POW_MAX + 1):
        high, low = divmod(entry(e), 1 << 64)
        out.append("  {0x%016x, 0x%016x},  /* %d */\n" % (high, low, e))
    out.append("};\n")
    sys.stdout.write("".join(out))


def nearest(a, m, n):
    """The least a*x mod m, and the least -a*x mod m, for 1 <= x <= n.

    Values that are 0 count as m. Each step adds one record to the other as
    often as it helps (the three-gap walk), so it takes O(log n) steps.
    """
    a %= m
    if a == 0:
        return m, m
    low, low_x = a, 1      # a*low_x is 'low' above a multiple of m
    high, high_x = m, 0    # a*high_x is 'high' below one
    while True:
        if low < high:
            k = min((high - 1) // low, (n - high_x) // low_x)
            high, high_x = high - k * low, high_x + k * low_x
            if low_x + high_x > n:
                break
        if high < low:
            k = min((low - 1) // high, (n - low_x) // high_x)
            low, low_x = low - k * high, low_x + k * high_x
        if low_x + high_x > n or low == high:
            break
    return low, min(high, m - a)


def check_nearest():
    for m in range(1, 60):
        for a in range(0, m):
            for n in range(1, 70):
                rest = [a * x % m for x in range(1, n + 1)]
                want = (min(r or m for r in rest), min(m - r for r in rest))
                assert nearest(a, m, n) == want, (a, m, n)


def check_logarithms():
    for e in range(POW_MIN, POW_MAX + 1):
        assert e * 1741647 >> 19 == floor_log2_pow10(e)
    for q in range(-1074, 973):
        for num, offset in ((4, 0), (3, 524031)):  # 2^q and 3/4 * 2^q
            k = q * 1262611 - offset >> 22
            up, down = max(q - 2, 0), max(2 - q, 0)
            value, one = num << up, 1 << down
            lower = (value, 10**k * one) if k >= 0 else (value * 10**-k, one)
            assert lower[0] >= lower[1]
            assert lower[0] < 10 * lower[1]


def check_writer():
    """The writer scales n by 2^q / 10^k and rounds to odd.

    n is 4c for the value and 4c - 2, 4c + 2 for its interval; c <= 2^53. The
    value is then compared with even numbers, the ends with multiples of 4.
    For powers of two k takes the offset, c is 2^52, the lower end 4c - 1.

    The entry makes the product wrong by less than 2^-69: too large, or too
    small where it is rounded down. All is right if the true product is
    at least 2^-63 away from what it is compared with, or equal to it and not
    too small.
    """
    for q in range(-1074, 972):
        k = q * 1262611 >> 22
        num, den = scale(q, k)
        assert_apart(*nearest(4 * num, 2 * den, 2**53), den)
        assert_apart(*nearest(2 * num, 4 * den, 2 * 2**53 + 1), den)
        assert -k <= 55 or den // gcd(num, den) > 2**56  # never equal
        k = q * 1262611 - 524031 >> 22
        num, den = scale(q, k)
        for n in (2**54 - 1, 2**54, 2**54 + 2):
            rest = n * num % den
            assert_apart(rest or den, den - rest, den)
            assert -k <= 55 or rest != 0


def scale(q, k):
    """2^q / 10^k as numerator and denominator."""
    return (2**max(q, 0) * 10**max(-k, 0), 2**max(-q, 0) * 10**max(k, 0))


def assert_apart(low, high, den):
    assert low << 63 >= den
    assert high << 63 >= den


def check_reader():
    """The reader scales w < 2^64 and keeps the upper 54 of 191 or 192 bits.

    An inexact entry is wrong by less than 1, so the product by less than 2^64.
    A true product must be at least 2^65 above a multiple of 2^137 or 2^64
    below it: then the kept bits are right, and the upper 64 bits of the rest,
    by which the reader finds ties, are not 0. Or it is a multiple and does not
    become smaller: e < 0, and the kept bits and the tie are those of
    w / 10^-e, exactly.
    """
    for e in range(POW_MIN, 309):
        num, den = fraction(e)
        low, high = nearest(num, den << 137, 2**64 - 1)
        if 0 <= e <= 55:  # exact, but the lowest 64 bits are not looked at
            assert low >= den << 64
            continue
        assert low >= den << 65
        assert high >= den << 64
        assert e < 0 or (den << 137) // gcd(num, den << 137) >= 2**64


def main():
    if sys.argv[1:] == ["--check"]:
        check_nearest()
        check_logarithms()
        check_reader()
        check_writer()
        print("all proved")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write_table()


main()
