/*
** json_fuzz.c - libFuzzer target of the JSON reader and writer.
**
** Whatever is accepted must survive being written and read again: equal
** trees, and from then on equal texts. Blanks behind a text change nothing,
** though the reader then has other ways to read it. And only equal keys are
** what the two readers may not agree on.
*/
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
  if (plain.error == ES_JSON_OK) write_twice(&plain.d, &heap);
  if (are_comparable(&plain, &padded)) demand_same(&plain, &padded);
  if (padded.error != ES_JSON_DUPLICATE) demand_same(&padded, &last);
  es_document_free(&plain.d);
  es_document_free(&padded.d);
  es_document_free(&last.d);
  demand(heap.live == 0 && heap.wrong == 0);
  return 0;
}
