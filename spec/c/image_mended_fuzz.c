/*
** image_mended_fuzz.c - libFuzzer target of what lies behind the digest.
**
** The digest of every input is made right before it is read, so that the
** structure is reached. What is accepted must keep the promises of image.h.
*/
#include "image_fuzz.h"

#include "digest.h"

/*
** The offsets of the header's start and end and of the body's content, found
** by reading the frame alone. False when there is no such frame.
*/
static int find_parts(const uint8_t *bytes, size_t n, size_t *header,
                      size_t *body, size_t *end) {
  Heap heap = {0};
  es_CborReader r;
  es_Document d;
  uint64_t five;
  int64_t version;
  const char *s;
  size_t at, len;
  int ok;
  es_cbor_reader(&r, bytes, n);
  if (!es_cbor_read_tag(&r, ES_FORMAT_TAG) ||
      !es_cbor_read_array(&r, &five) ||
      !es_cbor_read_word(&r, ES_FORMAT_NAME) ||
      !es_cbor_read_int(&r, &version))
    return 0;
  at = r.at;
  es_document_init(&d, heap_of(&heap));
  ok = es_cbor_read_value(&r, &d);
  es_document_free(&d);
  *header = at;
  *end = r.at;
  if (!ok || !es_cbor_read_bytes(&r, &s, &len)) return 0;
  *body = (size_t)(s - (const char *)bytes);
  return *body + len + 9 <= n;
}

/* Puts the right digest behind the body, as the writer would. */
static void mend(uint8_t *bytes, size_t n) {
  size_t header, body, end, k;
  es_CborReader r;
  const char *s;
  size_t len;
  uint64_t digest;
  if (!find_parts(bytes, n, &header, &body, &end)) return;
  es_cbor_reader(&r, bytes, n);
  r.at = end;
  if (!es_cbor_read_bytes(&r, &s, &len)) return;
  digest = es_digest(bytes + header, end - header, s, len);
  bytes[r.at] = 0x48;
  for (k = 0; k < 8; k++)
    bytes[r.at + 1 + k] = (uint8_t)(digest >> 8 * k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1);
  demand(copy != NULL);
  if (size > 0) memcpy(copy, data, size);
  mend(copy, size);
  read_once(copy, size, 1);
  free(copy);
  return 0;
}
