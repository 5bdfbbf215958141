/*
** sink.h - what a walk over values tells its listener.
**
** A walk (over a world, or over one Lua value) calls these in document order:
** in an object, 'key' before each value. The document builder and the JSON
** text writer are sinks. Each call reports ES_OK, ES_NOMEM, ES_LIMIT (depth)
** or ES_INVALID (the key "__proto__"). Strings need not be terminated and
** are copied; they are text (utf8.h), which the walk has checked.
*/
#ifndef ES_SINK_H
#define ES_SINK_H

#include <stdint.h>

#include "document.h"
#include "phrase.h"

typedef struct es_Sink es_Sink;

#define ES_UNCOUNTED UINT32_MAX

struct es_Sink {
  /* 'count': elements or pairs, or ES_UNCOUNTED when not known yet */
  es_Status (*open)(es_Sink *s, es_NodeType type, uint32_t count);
  es_Status (*close)(es_Sink *s);
  es_Status (*key)(es_Sink *s, const char *text, size_t n);
  /* all of its words or none; NULL: must not be told */
  es_Status (*phrase)(es_Sink *s, const es_Phrase *p);
  es_Status (*null)(es_Sink *s);
  es_Status (*boolean)(es_Sink *s, int value);
  es_Status (*integer)(es_Sink *s, int64_t value);
  es_Status (*number)(es_Sink *s, double value);   /* finite */
  es_Status (*string)(es_Sink *s, const char *text, size_t n);
  /* about so many bytes of text will come; NULL: of no use */
  void (*expect)(es_Sink *s, size_t bytes);
};

/* A sink that builds a document. 'sink' must be the first field. */
typedef struct es_DocumentSink {
  es_Sink sink;
  es_Document *document;
} es_DocumentSink;

void es_sink_document(es_DocumentSink *s, es_Document *document);

#endif
