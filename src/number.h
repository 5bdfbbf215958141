/*
** number.h - exact, locale-free text for numbers.
**
** Writers give the shortest decimal text that reads back to the same bits;
** the reader is correctly rounded (ties to even). Nothing here allocates or
** fails, and nothing depends on the locale or on printf and strtod.
*/
#ifndef ES_NUMBER_H
#define ES_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Room that every writer may use. */
#define ES_NUMBER_MAX 32

/* Writes an integer in decimal; returns the length. */
size_t es_number_put_int(char *out, int64_t value);

/*
** Writes a finite double as the shortest text that reads back to the same
** bits. It always holds '.', or an exponent, so that it stays a float: 1.0,
** -0.0, 1e+300 is 1e300, 5e-324. Plain notation where the decimal exponent is
** in -7 < e <= 17, scientific (d.ddde±N without '+') elsewhere.
*/
size_t es_number_put_double(char *out, double value);

typedef enum es_NumberKind {
  ES_NUMBER_INT,    /* an integer in the range of int64_t */
  ES_NUMBER_FLOAT,  /* a float, or an integer out of that range */
  ES_NUMBER_HUGE,   /* its magnitude rounds to infinity */
  ES_NUMBER_BAD     /* not a JSON number */
} es_NumberKind;

typedef struct es_Number {
  es_NumberKind kind;
  size_t len;       /* bytes taken; on BAD, the offset of the wrong byte */
  int64_t i;        /* when INT ("-0" is the float -0.0, kind FLOAT) */
  double d;         /* when FLOAT */
} es_Number;

/*
** Reads the JSON number (RFC 8259 section 6) that starts at 's'; 'n' bytes
** may be looked at, and no terminator is needed. An integer text in range
** gives INT; with '.' or an exponent it gives FLOAT. An integer text out of
** range gives FLOAT (rounded). Digits may be many megabytes long.
*/
es_Number es_number_read(const char *s, size_t n);

#endif
