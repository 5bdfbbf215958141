/*
** document.h - an immutable tree of JSON-safe values in two blocks.
**
** What every reader (JSON text, Lua tables, CBOR) produces and what the plan
** checks. Nodes lie in pre-order: a container is followed by its children,
** and its 'end' is the index of the node behind its last descendant. In an
** object each key is a string node followed by its value. Strings are copied
** into the document, so that it depends on nothing else.
**
** Building: es_document_open/close around children, es_document_* for
** leaves. The builder enforces the depth limit and refuses the key
** "__proto__"; every other rule is the reader's. After a failure the document
** may only be freed.
*/
#ifndef ES_DOCUMENT_H
#define ES_DOCUMENT_H

#include <stdint.h>

#include "buffer.h"

/* The deepest nesting of arrays and objects, for readers and writers. */
#define ES_DEPTH_MAX 512

typedef enum es_NodeType {
  ES_NODE_NULL,
  ES_NODE_FALSE,
  ES_NODE_TRUE,
  ES_NODE_INT,
  ES_NODE_FLOAT,
  ES_NODE_STRING,
  ES_NODE_ARRAY,
  ES_NODE_OBJECT,
  ES_NODE_EMPTY   /* an unmarked empty Lua table: array or object */
} es_NodeType;

typedef struct es_Node {
  uint32_t type;    /* es_NodeType */
  uint32_t count;   /* array: elements; object: pairs; string: bytes */
  union {
    int64_t i;
    double d;
    size_t text;    /* string: offset into 'text' */
    uint32_t end;   /* container: index behind its last descendant */
  } u;
} es_Node;

typedef struct es_Document {
  es_Alloc alloc;
  es_Node *nodes;
  uint32_t count;
  uint32_t cap;
  es_Buffer text;                  /* the bytes of all strings */
  uint32_t open[ES_DEPTH_MAX];     /* while building: open containers */
  uint32_t depth;
} es_Document;

void es_document_init(es_Document *d, es_Alloc alloc);
void es_document_free(es_Document *d);

/* Makes room for 'n' more nodes, which are not counted. ES_NOMEM, ES_LIMIT. */
es_Status es_document_reserve(es_Document *d, size_t n);

/*
** The builder. ES_NOMEM, or ES_LIMIT (depth, or more than 2^32 - 2 nodes),
** or, from es_document_key only, ES_INVALID for "__proto__".
** 'type' of open is ES_NODE_ARRAY, ES_NODE_OBJECT or ES_NODE_EMPTY (a
** container that is closed at once).
*/
es_Status es_document_open(es_Document *d, es_NodeType type);
void es_document_close(es_Document *d);
es_Status es_document_key(es_Document *d, const char *s, size_t n);
es_Status es_document_null(es_Document *d);
es_Status es_document_bool(es_Document *d, int value);
es_Status es_document_int(es_Document *d, int64_t value);
es_Status es_document_float(es_Document *d, double value);
es_Status es_document_string(es_Document *d, const char *s, size_t n);
/* A string of 'n' bytes whose content the caller writes through '*out'. */
es_Status es_document_string_room(es_Document *d, size_t n, char **out);

/* Reading. Indices are trusted. */
static inline const es_Node *es_document_node(const es_Document *d,
                                              uint32_t index) {
  return &d->nodes[index];
}

/* The bytes of a string node (not terminated). */
static inline const char *es_document_text(const es_Document *d,
                                           const es_Node *node) {
  /* without any bytes there may be no block to point into */
  return node->count == 0 ? "" : d->text.data + node->u.text;
}

/* The index of the node behind the value at 'index'. */
static inline uint32_t es_document_next(const es_Document *d,
                                        uint32_t index) {
  const es_Node *node = &d->nodes[index];
  return node->type >= ES_NODE_ARRAY ? node->u.end : index + 1;
}

/*
** The value of 'key' in the object at 'index', or 0 when it has none: the last
** one, should the key occur twice.
*/
uint32_t es_document_find(const es_Document *d, uint32_t index,
                          const char *key, size_t n);
/*
** Looks for a key that occurs twice in the object at 'index' (O(n log n)
** where the object is large). '*dup' becomes the index of the later key node,
** or 0 when there is none.
*/
es_Status es_document_duplicate(const es_Document *d, uint32_t index,
                                uint32_t *dup);

/*
** Appends the path of the node to 'out': "entities[3].traits.Health.hp". The
** path of the root is empty. A key that is no identifier is written as
** ["key"]; a key node has the path of its value.
*/
es_Status es_document_path(const es_Document *d, uint32_t index,
                           es_Buffer *out);

/* Appends one step of a path: ".key" or ["key"], and [index] (0-based). */
es_Status es_document_path_key(es_Buffer *out, const char *s, size_t n);
es_Status es_document_path_index(es_Buffer *out, uint64_t index);

/* Bytewise order of two strings; less, equal or greater than 0. */
int es_document_compare(const char *a, size_t n, const char *b, size_t m);

#endif
