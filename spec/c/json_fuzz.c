/*
** json_fuzz.c - libFuzzer target of the JSON readers.
**
** Whatever is accepted must be a document that keeps its promises. Blanks
** behind a text change nothing, though the reader then has other ways to read
** it. And only equal keys are what the two readers may not agree on.
*/
#include "json_fuzz.h"

static void demand_same(const Outcome *a, const Outcome *b) {
  demand(a->error == b->error);
  if (a->error == ES_JSON_OK) demand(same_tree(&a->d, &b->d));
  else demand(a->offset == b->offset);
}

/* With blanks a text may no longer end too soon, or look like UTF-16. */
static int are_comparable(const Outcome *plain, const Outcome *padded) {
  return plain->error != ES_JSON_END && plain->error != ES_JSON_EMPTY &&
         plain->error != ES_JSON_BOM && padded->error != ES_JSON_BOM;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Heap heap = {0};
  Outcome plain, padded, last;
  attempt(&plain, &heap, es_json_read, data, size, 0);
  attempt(&padded, &heap, es_json_read, data, size, 60);
  attempt(&last, &heap, es_json_read_last, data, size, 60);
  if (are_comparable(&plain, &padded)) demand_same(&plain, &padded);
  if (padded.error != ES_JSON_DUPLICATE) demand_same(&padded, &last);
  es_document_free(&plain.d);
  es_document_free(&padded.d);
  es_document_free(&last.d);
  demand(heap.live == 0 && heap.wrong == 0);
  return 0;
}
