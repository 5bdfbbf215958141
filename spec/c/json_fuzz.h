/*
** json_fuzz.h - what the fuzz targets of JSON share: reading a text, and what
** any document promises.
*/
#ifndef ES_JSON_FUZZ_H
#define ES_JSON_FUZZ_H

#include "json_tools.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition) {
  if (!condition) abort();
}

/* The promises of document.h about one node. */
static void check_node(const es_Document *d, uint32_t i) {
  const es_Node *node = es_document_node(d, i);
  if (node->type == ES_NODE_STRING)
    demand(es_utf8_check(es_document_text(d, node), node->count) ==
           node->count);
  demand(es_document_next(d, i) > i && es_document_next(d, i) <= d->count);
}

static void check_document(const es_Document *d, const char *text,
                           size_t size, Heap *heap) {
  es_Buffer path;
  uint32_t i;
  demand(d->count > 0 && d->depth == 0);
  demand(es_document_next(d, 0) == d->count);
  for (i = 0; i < d->count; i++) check_node(d, i);
  demand(es_json_offset(text, size, d->count - 1) < size);
  demand(es_json_offset(text, size, d->count) == size);
  es_buffer_init(&path, heap_of(heap));
  demand(es_document_path(d, d->count - 1, &path) == ES_OK);
  es_buffer_free(&path);
}

typedef es_JsonError (*ReadFn)(es_Document *d, const char *s, size_t n,
                               size_t *offset);

typedef struct Outcome {
  es_Document d;
  es_JsonError error;
  size_t offset;
} Outcome;

/* Reads a copy with 'more' blanks behind it. */
static void attempt(Outcome *o, Heap *heap, ReadFn read, const uint8_t *data,
                    size_t size, size_t more) {
  char *text = malloc(size + more);
  demand(text != NULL || size + more == 0);
  if (size > 0) memcpy(text, data, size);
  if (more > 0) memset(text + size, ' ', more);
  o->offset = SIZE_MAX;
  es_document_init(&o->d, heap_of(heap));
  o->error = read(&o->d, text, size + more, &o->offset);
  if (o->error == ES_JSON_OK) check_document(&o->d, text, size, heap);
  else demand(o->offset <= size + more && o->error != ES_JSON_NOMEM);
  free(text);
}

#endif
