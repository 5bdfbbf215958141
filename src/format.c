/* format.c - see format.h */
#include "format.h"

#include <string.h>

#include "digest.h"

const char *const es_format_kinds[ES_SAVED_KINDS] = {
    "tag", "soa", "aos", "pair", "pair-soa", "pair-aos"};

const char *const es_format_types[ES_SAVED_TYPES] = {
    "boolean", "integer", "float", "string", "nullable", "any", "ref"};

es_Status es_format_put_word(es_Buffer *out, const char *word) {
  return es_cbor_put_string(out, word, strlen(word));
}

/* With a constant width, one store on a little-endian machine. */
static void put_le(unsigned char *to, uint64_t value, size_t width) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(to, &value, width);
#else
  size_t i;
  for (i = 0; i < width; i++) to[i] = (unsigned char)(value >> (8 * i));
#endif
}

es_CborType es_format_narrowest(int64_t low, int64_t high) {
  if (low >= INT8_MIN && high <= INT8_MAX) return ES_CBOR_INT8;
  if (low >= INT16_MIN && high <= INT16_MAX) return ES_CBOR_INT16;
  if (low >= INT32_MIN && high <= INT32_MAX) return ES_CBOR_INT32;
  return ES_CBOR_INT64;
}

es_Status es_format_put_array(es_Buffer *out, es_CborType type,
                           const uint64_t *values, uint32_t n) {
  size_t width = es_cbor_width((uint64_t)type);
  es_Status status = es_cbor_put_typed(out, type, n);
  unsigned char *to;
  uint32_t i;
  if (status == ES_OK) status = es_buffer_reserve(out, n * width);
  if (status != ES_OK) return status;
  to = (unsigned char *)out->data + out->len;
  switch (width) {   /* a constant width lets the compiler store whole words */
    case 1: for (i = 0; i < n; i++) to[i] = (unsigned char)values[i]; break;
    case 2: for (i = 0; i < n; i++) put_le(to + 2 * (size_t)i, values[i], 2);
            break;
    case 4: for (i = 0; i < n; i++) put_le(to + 4 * (size_t)i, values[i], 4);
            break;
    default: for (i = 0; i < n; i++) put_le(to + 8 * (size_t)i, values[i], 8);
  }
  out->len += n * width;
  return ES_OK;
}

es_Status es_format_put_slots(es_Buffer *out, const uint32_t *slots,
                              uint32_t n) {
  es_Status status = es_cbor_put_typed(out, ES_CBOR_UINT32, n);
  uint32_t i;
  if (status == ES_OK) status = es_buffer_reserve(out, (size_t)n * 4);
  if (status != ES_OK) return status;
  for (i = 0; i < n; i++)
    put_le((unsigned char *)out->data + out->len + 4 * (size_t)i, slots[i], 4);
  out->len += (size_t)n * 4;
  return ES_OK;
}

es_CborType es_format_narrowest_count(uint32_t top) {
  if (top <= UINT8_MAX) return ES_CBOR_UINT8;
  return top <= UINT16_MAX ? ES_CBOR_UINT16 : ES_CBOR_UINT32;
}

es_Status es_format_put_counts(es_Buffer *out, const uint32_t *values,
                               uint32_t n) {
  uint32_t i, top = 0;
  size_t width;
  es_CborType type;
  es_Status status;
  for (i = 0; i < n; i++) if (values[i] > top) top = values[i];
  type = es_format_narrowest_count(top);
  width = es_cbor_width((uint64_t)type);
  status = es_cbor_put_typed(out, type, n);
  if (status == ES_OK) status = es_buffer_reserve(out, n * width);
  if (status != ES_OK) return status;
  for (i = 0; i < n; i++)
    put_le((unsigned char *)out->data + out->len + width * i, values[i],
           width);
  out->len += n * width;
  return ES_OK;
}

/* Bytes of a CBOR head. */
static size_t head_size(uint64_t value) {
  return value < 24 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3
         : value <= UINT32_MAX ? 5 : 9;
}

int es_format_set_is_list(uint32_t n, size_t bits) {
  size_t list = (size_t)n * 4;
  return 2 + head_size(list) + list < head_size(bits) + bits;
}

es_Status es_format_put_set(es_Buffer *out, const uint32_t *slots, uint32_t n) {
  size_t bits = n > 0 ? (size_t)slots[n - 1] / 8 + 1 : 0;
  es_Status status;
  uint32_t i;
  if (es_format_set_is_list(n, bits)) return es_format_put_slots(out, slots, n);
  status = es_cbor_put_head(out, ES_CBOR_BYTES, bits);
  if (status == ES_OK) status = es_buffer_reserve(out, bits + 1);
  if (status != ES_OK) return status;
  memset(out->data + out->len, 0, bits);
  for (i = 0; i < n; i++)
    out->data[out->len + slots[i] / 8] |= (char)(1 << (slots[i] & 7));
  out->len += bits;
  return ES_OK;
}

es_Status es_format_put_frame(es_Buffer *out, const es_Buffer *header,
                            const es_Buffer *body) {
  uint64_t digest = es_digest(header->data, header->len, body->data,
                              body->len);
  unsigned char bytes[8];
  es_Status status = es_cbor_put_head(out, ES_CBOR_TAG, ES_FORMAT_TAG);
  put_le(bytes, digest, 8);
  if (status == ES_OK) status = es_cbor_put_head(out, ES_CBOR_ARRAY, 5);
  if (status == ES_OK) status = es_format_put_word(out, ES_FORMAT_NAME);
  if (status == ES_OK) status = es_cbor_put_int(out, ES_FORMAT_VERSION);
  if (status == ES_OK) status = es_buffer_put(out, header->data, header->len);
  if (status == ES_OK)
    status = es_cbor_put_bytes(out, body->data, body->len);
  if (status == ES_OK) status = es_cbor_put_bytes(out, bytes, 8);
  return status;
}
