/*
** json_tools.h - what the tests of documents and JSON share: counted checks,
** an allocator that watches its caller and can fail, and a walk over a
** document. The counters belong to one test program.
*/
#ifndef ES_JSON_TOOLS_H
#define ES_JSON_TOOLS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "json.h"
#include "sink.h"

static unsigned long passed, failed;

#define CHECK(condition, ...)                                         \
  do {                                                                \
    if (condition) passed++;                                          \
    else {                                                            \
      failed++;                                                       \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);          \
      printf(__VA_ARGS__);                                            \
      putchar('\n');                                                  \
    }                                                                 \
  } while (0)

static inline int report(void) {
  printf("%lu passed, %lu failed\n", passed, failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- memory ------------------------------------------------------------ */

typedef struct Heap {
  size_t live;      /* bytes not freed */
  size_t calls;     /* requests for memory so far */
  size_t fail_at;   /* this request and all later ones fail; 0: none does */
  size_t wrong;     /* times the caller named a wrong old size */
} Heap;

typedef union Header {
  size_t size;
  max_align_t align;
} Header;

/* A lua_Alloc. The block ends where malloc's does, so that ASan watches. */
static inline void *heap_alloc(void *ud, void *ptr, size_t osize,
                               size_t nsize) {
  Heap *heap = ud;
  Header *old = ptr == NULL ? NULL : (Header *)ptr - 1;
  Header *block = NULL;
  if (old != NULL && old->size != osize) heap->wrong++;
  if (nsize > 0) {
    heap->calls++;
    if (heap->fail_at != 0 && heap->calls >= heap->fail_at) return NULL;
    block = malloc(sizeof(Header) + nsize);
    if (block == NULL) return NULL;
    block->size = nsize;
    heap->live += nsize;
    if (old != NULL)
      memcpy(block + 1, ptr, old->size < nsize ? old->size : nsize);
  }
  if (old != NULL) {
    heap->live -= old->size;
    free(old);
  }
  return block == NULL ? NULL : block + 1;
}

static inline es_Alloc heap_of(Heap *heap) {
  es_Alloc alloc;
  alloc.f = heap_alloc;
  alloc.ud = heap;
  return alloc;
}

/* A copy of exactly 'n' bytes, so that ASan sees a read behind them. */
static inline char *exact(const char *s, size_t n) {
  char *copy = malloc(n);
  if (copy == NULL && n > 0) abort();
  if (n > 0) memcpy(copy, s, n);
  return copy;
}

/* ---- walks ------------------------------------------------------------- */

static inline es_Status walk_node(const es_Document *d, const es_Node *node,
                                  es_Sink *sink) {
  switch (node->type) {
    case ES_NODE_NULL: return sink->null(sink);
    case ES_NODE_FALSE: return sink->boolean(sink, 0);
    case ES_NODE_TRUE: return sink->boolean(sink, 1);
    case ES_NODE_INT: return sink->integer(sink, node->u.i);
    case ES_NODE_FLOAT: return sink->number(sink, node->u.d);
    case ES_NODE_STRING:
      return sink->string(sink, es_document_text(d, node), node->count);
    default: return sink->open(sink, (es_NodeType)node->type, node->count);
  }
}

/* Tells a whole document to a sink. */
static inline es_Status walk(const es_Document *d, es_Sink *sink) {
  const es_Node *open[ES_DEPTH_MAX];
  size_t depth = 0;
  uint32_t i = 0;
  for (;;) {
    const es_Node *node;
    es_Status status = ES_OK;
    while (depth > 0 && open[depth - 1]->u.end == i && status == ES_OK) {
      status = sink->close(sink);
      depth--;
    }
    if (i == d->count || status != ES_OK) return status;
    node = es_document_node(d, i++);
    if (depth > 0 && open[depth - 1]->type == ES_NODE_OBJECT) {
      status = sink->key(sink, es_document_text(d, node), node->count);
      node = es_document_node(d, i++);
    }
    if (status == ES_OK) status = walk_node(d, node, sink);
    if (status != ES_OK) return status;
    if (node->type >= ES_NODE_ARRAY) open[depth++] = node;
  }
}

static inline es_Status write_json(const es_Document *d, es_Buffer *out) {
  es_JsonSink sink;
  es_sink_json(&sink, out);
  return walk(d, &sink.sink);
}

static inline int same_node(const es_Document *a, const es_Node *x,
                            const es_Document *b, const es_Node *y) {
  if (x->type != y->type || x->count != y->count) return 0;
  if (x->type >= ES_NODE_ARRAY) return x->u.end == y->u.end;
  if (x->type == ES_NODE_STRING)
    return memcmp(es_document_text(a, x), es_document_text(b, y),
                  x->count) == 0;
  return memcmp(&x->u, &y->u, 8) == 0;   /* floats by their bits */
}

/* Equal trees; where the nodes stood in a text does not matter. */
static inline int same_tree(const es_Document *a, const es_Document *b) {
  uint32_t i;
  if (a->count != b->count) return 0;
  for (i = 0; i < a->count; i++)
    if (!same_node(a, es_document_node(a, i), b, es_document_node(b, i)))
      return 0;
  return 1;
}

#endif
