/*
** json.h - JSON text (RFC 8259) to document, and the writer as a sink.
**
** The reader refuses what the RFC refuses, and also: duplicate keys (after
** unescaping), text that is not UTF-8, a byte order mark, bytes behind the
** value, nesting deeper than ES_DEPTH_MAX, numbers that round to infinity,
** the key "__proto__". It uses no C recursion. A lone surrogate escape
** becomes its three bytes (WTF-8), and is written back as the same escape.
*/
#ifndef ES_JSON_H
#define ES_JSON_H

#include "document.h"
#include "sink.h"

typedef enum es_JsonError {
  ES_JSON_OK = 0,
  ES_JSON_NOMEM,
  ES_JSON_EMPTY,        /* no value at all */
  ES_JSON_END,          /* the text ends inside a value */
  ES_JSON_BYTE,         /* a byte that cannot stand here */
  ES_JSON_TRAILING,     /* bytes behind the value */
  ES_JSON_BOM,          /* a byte order mark, or UTF-16/32 */
  ES_JSON_UTF8,         /* not UTF-8 */
  ES_JSON_CONTROL,      /* a raw control character in a string */
  ES_JSON_ESCAPE,       /* a wrong escape */
  ES_JSON_NUMBER,       /* not a JSON number */
  ES_JSON_HUGE,         /* a number out of the range of doubles */
  ES_JSON_DUPLICATE,    /* a key twice in one object */
  ES_JSON_PROTO,        /* the key "__proto__" */
  ES_JSON_DEPTH,        /* nesting deeper than ES_DEPTH_MAX */
  ES_JSON_LIMIT         /* more nodes than a document can hold */
} es_JsonError;

/*
** Reads 'n' bytes into the empty document 'd'. On an error '*offset' is the
** 0-based byte where it was found, and the document may only be freed.
*/
es_JsonError es_json_read(es_Document *d, const char *s, size_t n,
                          size_t *offset);

/* The same, but a key may occur twice; the document holds both. */
es_JsonError es_json_read_last(es_Document *d, const char *s, size_t n,
                               size_t *offset);

/* Where in a valid text a node of its document begins. */
size_t es_json_offset(const char *s, size_t n, uint32_t node);

/* What is wrong, in words, for a message ("a key occurs twice"). */
const char *es_json_message(es_JsonError error);

/*
** Makes the JSON text of a phrase at the end of 'texts'. Once all are made and
** the buffer does not move any more, 'p->text' must be set.
*/
es_Status es_json_phrase(es_Buffer *texts, es_Phrase *p);

/* A sink that appends compact JSON text to 'out'. ES_NODE_EMPTY is "{}". */
typedef struct es_JsonSink {
  es_Sink sink;
  es_Buffer *out;
  uint32_t depth;
  unsigned char comma;                    /* a comma is due */
  unsigned char object[ES_DEPTH_MAX];     /* what is open */
} es_JsonSink;

void es_sink_json(es_JsonSink *s, es_Buffer *out);

#endif
