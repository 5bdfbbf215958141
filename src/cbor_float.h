/*
** cbor_float.h - the three float formats of CBOR, by their bits.
**
** Done with integers only: a conversion by the processor would make quiet
** NaNs of signalling ones.
*/
#ifndef ES_CBOR_FLOAT_H
#define ES_CBOR_FLOAT_H

#include <stdint.h>

/* The low bits of the initial byte of a float. */
enum { ES_CBOR_HALF = 25, ES_CBOR_SINGLE = 26, ES_CBOR_DOUBLE = 27 };

/*
** The shortest format that holds the double with the bits 'bits': its
** value, sign and, for a NaN, its payload. '*shorter' are the bits there.
*/
unsigned es_cbor_float_shortest(uint64_t bits, uint64_t *shorter);

/* The bits of the double that equals 'bits' of the format. */
uint64_t es_cbor_float_widen(unsigned format, uint64_t bits);

#endif
