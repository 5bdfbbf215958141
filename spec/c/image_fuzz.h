/*
** image_fuzz.h - what the fuzz targets of the snapshot reader share: reading
** once, and the promises of image.h that the loaders build on.
*/
#ifndef ES_IMAGE_FUZZ_H
#define ES_IMAGE_FUZZ_H

#include "cbor_tools.h"
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

static void read_once(const uint8_t *bytes, size_t n, int body) {
  Heap heap = {0};
  es_Image image;
  es_image_init(&image, heap_of(&heap));
  if (!es_image_read(&image, (const char *)bytes, n, body))
    demand(image.nomem || (image.wrong != NULL && image.offset <= n));
  else if (body)
    check_image(&image);
  es_image_free(&image);
  demand(heap.live == 0);
}

#endif
