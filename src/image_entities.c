/* image_entities.c - the entities of a snapshot; see image_read.h */
#include <string.h>

#include "image_read.h"

/* Appends the members of a bit string; the last byte must not be empty. */
static int read_bits(es_Read *read, es_Buffer *out, const char *s, size_t n,
                     size_t at) {
  size_t i, before = out->len;
  uint32_t *slots, *start;
  check(read, n == 0 || s[n - 1] != 0, "a set that is not the shortest");
  check(read, n <= ((size_t)ES_SLOT_MAX + 1) / 8, "a set beyond all slots");
  for (i = 0; i < n; i++) {
    unsigned bits = (unsigned char)s[i];
    room(read, es_buffer_reserve(out, 8 * sizeof *slots));
    slots = start = (uint32_t *)(void *)(out->data + out->len);
    for (; bits != 0; bits &= bits - 1)
      *slots++ = (uint32_t)i * 8 + es_bits_lowest(bits);
    out->len += (size_t)(slots - start) * sizeof *slots;
  }
  check(read, !es_format_set_is_list((uint32_t)((out->len - before) / 4), n),
        "a set that is not in its shortest form");
  return 1;
}

/* A list of slots: ascending, and shorter than the bit string would be. */
static int read_list(es_Read *read, es_Buffer *out,
                     const unsigned char *data, size_t n, size_t at) {
  size_t i;
  uint32_t last = 0, *slots;
  room(read, es_buffer_reserve(out, (n + 1) * sizeof *slots));
  slots = (uint32_t *)(void *)(out->data + out->len);
  for (i = 0; i < n; i++) {
    slots[i] = es_u32_at(data, i);
    check(read, slots[i] <= ES_SLOT_MAX && (i == 0 || slots[i] > last),
          "a set of slots that do not ascend");
    last = slots[i];
  }
  out->len += n * sizeof *slots;
  check(read, n > 0 && es_format_set_is_list((uint32_t)n, (size_t)last / 8 + 1),
        "a set that is not in its shortest form");
  return 1;
}

/* Appends a set of slots, ascending, to 'out'. */
int es_read_set(es_Read *read, es_Buffer *out) {
  size_t at = read->r.at, n;
  es_CborMajor major;
  es_CborType type;
  const char *s;
  const unsigned char *data;
  if (es_cbor_peek(&read->r, &major) && major == ES_CBOR_BYTES) {
    need(read, es_cbor_read_bytes(&read->r, &s, &n));
    return read_bits(read, out, s, n, at);
  }
  need(read, es_cbor_read_typed(&read->r, &type, &data, &n));
  check(read, type == ES_CBOR_UINT32, "a set of slots of a wrong type");
  return read_list(read, out, data, n, at);
}

/* A set of slots as words of bits for all known slots. */
static int read_words(es_Read *read, es_Buffer *words, es_Buffer *list) {
  es_Image *image = read->image;
  size_t at = read->r.at, bytes = ((size_t)ES_SLOT_MAX + 64) / 64 * 8, i, n;
  const uint32_t *slots;
  uint64_t *w;
  list->len = 0;
  if (!es_read_set(read, list)) return 0;
  n = list->len / sizeof *slots;
  slots = (const uint32_t *)(const void *)list->data;
  bytes = n > 0 ? ((size_t)slots[n - 1] / 64 + 1) * 8 : 0;
  words->len = 0;
  room(read, es_buffer_reserve(words, bytes + 8));
  memset(words->data, 0, bytes + 8);
  words->len = bytes;
  w = (uint64_t *)(void *)words->data;
  for (i = 0; i < n; i++) {
    check(read, slots[i] > 0 && slots[i] < image->used,
          "an entity in a slot that was not used");
    w[slots[i] >> 6] |= (uint64_t)1 << (slots[i] & 63);
  }
  return 1;
}

int es_read_u32s(es_Read *read, const unsigned char **data, uint32_t *n) {
  size_t at = read->r.at, count;
  es_CborType type;
  need(read, es_cbor_read_typed(&read->r, &type, data, &count));
  check(read, type == ES_CBOR_UINT32, "a list of slots of a wrong type");
  check(read, count <= UINT32_MAX / 8, "a list of slots that is too long");
  *n = (uint32_t)count;
  return 1;
}

static int read_generations(es_Read *read) {
  es_Image *image = read->image;
  size_t at = read->r.at, n;
  need(read, es_cbor_read_typed(&read->r, &image->generation_type,
                                &image->generations, &n));
  check(read, image->generation_type == ES_CBOR_UINT8 ||
              image->generation_type == ES_CBOR_UINT16 ||
              image->generation_type == ES_CBOR_UINT32,
        "generations of a wrong type");
  check(read, n >= image->used && n <= (size_t)ES_SLOT_MAX + 1,
        "a wrong number of generations");
  image->known = (uint32_t)n;
  return 1;
}

/* Every used slot is alive, free or retired, and exactly one of them. */
static int check_slots(es_Read *read, es_Buffer *seen, size_t at) {
  es_Image *image = read->image;
  uint64_t *words;
  size_t bytes = ((size_t)image->known / 64 + 1) * 8;
  uint32_t i, slot, top = 0;
  seen->len = 0;
  room(read, es_buffer_reserve(seen, bytes));
  seen->len = bytes;
  words = (uint64_t *)(void *)seen->data;
  memset(words, 0, bytes);
  for (i = 0; i < image->nfree; i++) {
    slot = es_u32_at(image->free, i);
    check(read, slot > 0 && slot < image->used, "a free slot out of range");
    check(read, !es_image_bit(seen, slot), "a slot that is free twice");
    words[slot >> 6] |= (uint64_t)1 << (slot & 63);
  }
  for (slot = 0; slot < image->known; slot++) {
    uint32_t generation = es_image_generation(image, slot);
    int alive = es_image_bit(&image->alive, slot),
        is_free = es_image_bit(seen, slot);
    check(read, generation <= ES_RETIRED, "a generation out of range");
    if (generation > top) top = generation;
    check(read, slot > 0 || generation == 0, "a wrong generation of slot 0");
    check(read, generation < ES_RETIRED || !(alive || is_free),
          "a retired slot in use");
    check(read, !(alive && is_free), "a slot that is alive and free");
    check(read, slot == 0 || slot >= image->used || alive || is_free ||
                generation == ES_RETIRED, "a slot that is nowhere");
    check(read, !es_image_bit(&image->excluded, slot) || alive,
          "an excluded entity that is not alive");
    image->count += (uint32_t)alive;
  }
  check(read, image->generation_type == es_format_narrowest_count(top),
        "generations that are not in their shortest form");
  return 1;
}

/* { free, used, alive, excluded, generations } */
int es_read_entities(es_Read *read, es_Buffer *scratch) {
  es_Image *image = read->image;
  es_CborReader *r = &read->r;
  size_t at = r->at;
  uint64_t pairs;
  need(read, es_cbor_read_map(r, &pairs));
  check(read, pairs == 5, "the entities have not their five keys");
  need(read, es_cbor_read_word(r, "free"));
  if (!es_read_u32s(read, &image->free, &image->nfree)) return 0;
  need(read, es_cbor_read_word(r, "used"));
  if (!es_read_count(read, ES_SLOT_MAX + 1, &image->used, "too many slots"))
    return 0;
  check(read, image->used > 0, "slot 0 is missing");
  need(read, es_cbor_read_word(r, "alive"));
  if (!read_words(read, &image->alive, scratch)) return 0;
  need(read, es_cbor_read_word(r, "excluded"));
  if (!read_words(read, &image->excluded, scratch)) return 0;
  need(read, es_cbor_read_word(r, "generations"));
  if (!read_generations(read)) return 0;
  return check_slots(read, scratch, at);
}
