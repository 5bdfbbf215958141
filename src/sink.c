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

static es_Status on_member(es_Sink *s, const es_Member *m) {
  return es_document_key(target(s), m->text, m->len);
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
    on_open, on_close, on_key, on_member, on_null,
    on_boolean, on_integer, on_number, on_string
  };
  s->sink = methods;
  s->document = document;
}
