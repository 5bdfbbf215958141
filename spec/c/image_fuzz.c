/*
** image_fuzz.c - libFuzzer target of the snapshot reader.
**
** Every input is read as it is, and again with the digest made right, so that
** the structure behind it is reached. What is accepted must keep the promises
** of image.h that the loaders build on.
*/
#include "cbor_tools.h"
#include "digest.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition) {
  if (!condition) abort();
}

/* Rows are of entities or, for traits, of slot 0; references lead to some. */
static void check_trait(const es_Image *image, const es_ImageTrait *t) {
  uint32_t i, k, before = 0;
  int pairs = t->kind >= ES_SAVED_PAIR;
  for (i = 0; i < t->rows; i++) {
    uint32_t slot = es_image_slot(image, t, i);
    demand(es_image_is_alive(image, slot) || (slot == 0 && !pairs));
    demand(i == 0 || slot > before || (pairs && slot == before));
    if (pairs) demand(es_image_is_alive(image, es_image_target(t, i)));
    before = slot;
  }
  for (i = 0; i < t->ncolumns; i++) {
    const es_ImageColumn *c = es_image_column(image, t, i);
    for (k = 0; c->form == ES_COLUMN_SLOTS && k < t->rows; k++) {
      uint32_t slot = es_u32_at(c->data, k);
      demand(slot == 0 || es_image_is_alive(image, slot));
    }
    if (c->form == ES_COLUMN_VALUES)
      demand(c->node < image->values.count);
  }
}

static void check_image(const es_Image *image) {
  uint32_t i, alive = 0;
  for (i = 0; i < image->known; i++) {
    demand(es_image_generation(image, i) <= ES_RETIRED);
    alive += (uint32_t)es_image_is_alive(image, i);
  }
  demand(alive == image->count && image->used <= image->known);
  for (i = 0; i < image->nfree; i++)
    demand(es_u32_at(image->free, i) < image->used);
  for (i = 0; i < image->ntraits; i++)
    check_trait(image, es_image_trait(image, i));
}

static void read_once(const uint8_t *bytes, size_t n) {
  Heap heap = {0};
  es_Image image;
  es_image_init(&image, heap_of(&heap));
  if (es_image_read(&image, (const char *)bytes, n, 1)) check_image(&image);
  else demand(image.nomem || (image.wrong != NULL && image.offset <= n));
  es_image_free(&image);
  demand(heap.live == 0);
}

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
  uint8_t *copy = malloc(size + 1);
  demand(copy != NULL);
  read_once(data, size);
  memcpy(copy, data, size);
  mend(copy, size);
  read_once(copy, size);
  free(copy);
  return 0;
}
