/*
** json_round_fuzz.c - libFuzzer target of reading, writing and reading JSON.
**
** Whatever is accepted must survive being written and read again: equal
** trees, and from then on equal texts.
*/
#include "json_fuzz.h"

static void write_twice(const es_Document *first, Heap *heap) {
  es_Buffer text, again;
  es_Document second;
  size_t offset;
  es_buffer_init(&text, heap_of(heap));
  es_buffer_init(&again, heap_of(heap));
  es_document_init(&second, heap_of(heap));
  demand(write_json(first, &text) == ES_OK);
  demand(es_json_read(&second, text.data, text.len, &offset) == ES_JSON_OK);
  demand(same_tree(first, &second));
  demand(write_json(&second, &again) == ES_OK);
  demand(text.len == again.len);
  demand(memcmp(text.data, again.data, text.len) == 0);
  es_document_free(&second);
  es_buffer_free(&text);
  es_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Heap heap = {0};
  Outcome o;
  attempt(&o, &heap, es_json_read, data, size, 0);
  if (o.error == ES_JSON_OK) write_twice(&o.d, &heap);
  es_document_free(&o.d);
  demand(heap.live == 0 && heap.wrong == 0);
  return 0;
}
