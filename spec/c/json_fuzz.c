/*
** json_fuzz.c - libFuzzer target of the JSON reader and writer.
**
** Whatever is accepted must survive being written and read again: equal
** trees, and from then on equal texts.
*/
#include "json_tools.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition) {
  if (!condition) abort();
}

/* The promises of document.h about one node. */
static void check_node(const es_Document *d, uint32_t i, size_t size) {
  const es_Node *node = es_document_node(d, i);
  demand(node->offset < size);
  if (node->type == ES_NODE_STRING)
    demand(es_utf8_check(es_document_text(d, node), node->count) ==
           node->count);
  demand(es_document_next(d, i) > i && es_document_next(d, i) <= d->count);
}

static void check_document(const es_Document *d, size_t size, Heap *heap) {
  es_Buffer path;
  uint32_t i;
  demand(d->count > 0 && d->depth == 0);
  demand(es_document_next(d, 0) == d->count);
  for (i = 0; i < d->count; i++) check_node(d, i, size);
  es_buffer_init(&path, heap_of(heap));
  demand(es_document_path(d, d->count - 1, &path) == ES_OK);
  es_buffer_free(&path);
}

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
  es_Document d;
  size_t offset = SIZE_MAX;
  char *text = exact((const char *)data, size);
  es_JsonError error;
  es_document_init(&d, heap_of(&heap));
  error = es_json_read(&d, text, size, &offset);
  if (error == ES_JSON_OK) {
    check_document(&d, size, &heap);
    write_twice(&d, &heap);
  } else {
    demand(offset <= size && error != ES_JSON_NOMEM);
  }
  es_document_free(&d);
  free(text);
  demand(heap.live == 0 && heap.wrong == 0);
  return 0;
}
