/* sink.c - see sink.h */
#include "sink.h"

static es_Document *target(es_Sink *s) {
  return ((es_DocumentSink *)(void *)s)->document;
}

static es_Status on_open(es_Sink *s, es_NodeType type, uint32_t count) {
  (void)count;
  return es_document_open(target(s), type);
}

static es_Status on_close(es_Sink *s) {
  es_document_close(target(s));
  return ES_OK;
}

static es_Status on_key(es_Sink *s, const char *text, size_t n) {
  return es_document_key(target(s), text, n);
}

static es_Status say(es_Document *d, const es_Word *word) {
  switch (word->type) {
    case ES_WORD_KEY: return es_document_key(d, word->text, word->len);
    case ES_WORD_STRING: return es_document_string(d, word->text, word->len);
    case ES_WORD_OPEN_ARRAY: return es_document_open(d, ES_NODE_ARRAY);
    case ES_WORD_OPEN_OBJECT: return es_document_open(d, ES_NODE_OBJECT);
    default: es_document_close(d); return ES_OK;
  }
}

/* Memory may be short only before the first word. */
static es_Status on_phrase(es_Sink *s, const es_Phrase *p) {
  es_Document *d = target(s);
  es_Status status = es_document_reserve(d, p->count);
  size_t text = 0;
  uint32_t i;
  for (i = 0; i < p->count; i++) text += p->words[i].len;
  if (status == ES_OK) status = es_buffer_reserve(&d->text, text);
  for (i = 0; i < p->count && status == ES_OK; i++)
    status = say(d, &p->words[i]);
  return status;
}

static es_Status on_null(es_Sink *s) {
  return es_document_null(target(s));
}

static es_Status on_boolean(es_Sink *s, int value) {
  return es_document_bool(target(s), value);
}

static es_Status on_integer(es_Sink *s, int64_t value) {
  return es_document_int(target(s), value);
}

static es_Status on_number(es_Sink *s, double value) {
  return es_document_float(target(s), value);
}

static es_Status on_string(es_Sink *s, const char *text, size_t n) {
  return es_document_string(target(s), text, n);
}

void es_sink_document(es_DocumentSink *s, es_Document *document) {
  static const es_Sink methods = {
    on_open, on_close, on_key, on_phrase, on_null,
    on_boolean, on_integer, on_number, on_string, NULL
  };
  s->sink = methods;
  s->document = document;
}
