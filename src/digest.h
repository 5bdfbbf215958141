/*
** digest.h - XXH3-64, the digest of snapshots, one-shot and streamed.
*/
#ifndef ES_DIGEST_H
#define ES_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 (seed 0) of the concatenation of two blocks. */
uint64_t es_digest(const void *a, size_t n, const void *b, size_t m);

/* 16 lower-case hexadecimal digits, most significant first; no terminator. */
void es_digest_hex(uint64_t digest, char out[16]);

#endif
