/*
** phrase_test.c - phrases tell a sink what single calls would.
**
** A script is a text of words: brackets, a key in lower case (an "a" is the
** first name), a string in upper case, and "." for a number. Between bars lie
** the phrases; numbers stand alone.
*/
#include <ctype.h>

#include "json_tools.h"

static const char *const names[] = {
  "", "x", "sixteen bytes a-", "seventeen bytes a", "quote \" and \\",
  "line\nbreak and \xC3\xA9", "0123456789012345678901234567890123456789"
};

static const char *const scripts[] = {
  "{a|.|}", "{a[|]b{|}}", "[A|B|C|]", "{a[]b{|c|.|d|.|}}", "[|.|.|{e|.|}|]",
  "{a[B|C|]d{e{f|.|g|.|}}a[|{f|.|g{a|.|}}|]}", "[[[[|]]]]", "[{}[]|{}|[]|]",
  "{f[]g{|}}", "[A|.|B|[|.|]{}|.|]"
};

enum { MOST = 40 };

typedef struct Script {
  es_Phrase phrases[MOST];   /* without words: a number */
  size_t count;
} Script;

static void add_word(es_Phrase *p, char c) {
  const char *name = NULL;
  if (isalpha((unsigned char)c))
    name = names[tolower((unsigned char)c) - 'a'];
  switch (c) {
    case '[': es_phrase_word(p, ES_WORD_OPEN_ARRAY); break;
    case ']': es_phrase_word(p, ES_WORD_CLOSE_ARRAY); break;
    case '{': es_phrase_word(p, ES_WORD_OPEN_OBJECT); break;
    case '}': es_phrase_word(p, ES_WORD_CLOSE_OBJECT); break;
    default:
      if (islower((unsigned char)c)) es_phrase_key(p, name, strlen(name));
      else es_phrase_string(p, name, strlen(name));
  }
}

static void parse(Script *script, const char *text) {
  memset(script, 0, sizeof *script);
  script->count = 1;
  for (; *text != '\0'; text++) {
    if (*text == '|') script->count++;
    else if (*text != '.')
      add_word(&script->phrases[script->count - 1], *text);
  }
}

/* As walks do: a call that found no memory is repeated. */
static es_Status twice(Heap *heap, es_Sink *sink, const es_Phrase *p) {
  es_Status status = sink->phrase(sink, p);
  if (status != ES_NOMEM) return status;
  heap->fail_at = 0;
  return sink->phrase(sink, p);
}

static void tell_phrases(Heap *heap, es_Sink *sink, const Script *script) {
  size_t i;
  for (i = 0; i < script->count; i++) {
    const es_Phrase *p = &script->phrases[i];
    es_Status status;
    if (p->count > 0) status = twice(heap, sink, p);
    else if ((status = sink->integer(sink, 7)) == ES_NOMEM)
      heap->fail_at = 0, status = sink->integer(sink, 7);
    CHECK(status == ES_OK, "phrase %zu", i);
  }
}

static es_Status tell_word(es_Sink *sink, const es_Word *word) {
  switch (word->type) {
    case ES_WORD_KEY: return sink->key(sink, word->text, word->len);
    case ES_WORD_STRING: return sink->string(sink, word->text, word->len);
    case ES_WORD_OPEN_ARRAY:
      return sink->open(sink, ES_NODE_ARRAY, ES_UNCOUNTED);
    case ES_WORD_OPEN_OBJECT:
      return sink->open(sink, ES_NODE_OBJECT, ES_UNCOUNTED);
    default: return sink->close(sink);
  }
}

static void tell_words(es_Sink *sink, const Script *script) {
  size_t i;
  uint32_t k;
  for (i = 0; i < script->count; i++) {
    const es_Phrase *p = &script->phrases[i];
    if (p->count == 0) CHECK(sink->integer(sink, 7) == ES_OK, "number");
    for (k = 0; k < p->count; k++)
      CHECK(tell_word(sink, &p->words[k]) == ES_OK, "word %u", (unsigned)k);
  }
}

static void make_texts(Script *script, es_Buffer *texts) {
  size_t i;
  for (i = 0; i < script->count; i++)
    if (script->phrases[i].count > 0)
      CHECK(es_json_phrase(texts, &script->phrases[i]) == ES_OK, "text");
  for (i = 0; i < script->count; i++)
    script->phrases[i].text = texts->data + script->phrases[i].start;
}

static void check_text(const char *text, size_t fail_at) {
  Heap heap = {0}, good = {0};
  Script script;
  es_Buffer texts, got, want;
  es_JsonSink s;
  parse(&script, text);
  es_buffer_init(&texts, heap_of(&good));
  es_buffer_init(&want, heap_of(&good));
  es_buffer_init(&got, heap_of(&heap));
  make_texts(&script, &texts);
  es_sink_json(&s, &want);
  tell_words(&s.sink, &script);
  heap.fail_at = fail_at;
  es_sink_json(&s, &got);
  tell_phrases(&heap, &s.sink, &script);
  CHECK(s.depth == 0, "depth %u", (unsigned)s.depth);
  CHECK(got.len == want.len && memcmp(got.data, want.data, got.len) == 0,
        "%.*s, not %.*s", (int)got.len, got.data, (int)want.len, want.data);
  es_buffer_free(&got);
  es_buffer_free(&want);
  es_buffer_free(&texts);
  CHECK(heap.live + good.live == 0 && heap.wrong + good.wrong == 0, "leak");
}

/* The document that a sink of its own builds, as text. */
static void put_document(Heap *heap, const Script *script, es_Buffer *out,
                         int phrases) {
  es_Document d;
  es_DocumentSink s;
  es_document_init(&d, heap_of(heap));
  es_sink_document(&s, &d);
  if (phrases) tell_phrases(heap, &s.sink, script);
  else tell_words(&s.sink, script);
  CHECK(write_json(&d, out) == ES_OK, "writes");
  es_document_free(&d);
}

static void check_document(const char *text, size_t fail_at) {
  Heap heap = {0}, good = {0};
  Script script;
  es_Buffer got, want;
  parse(&script, text);
  es_buffer_init(&got, heap_of(&good));
  es_buffer_init(&want, heap_of(&good));
  put_document(&good, &script, &want, 0);
  heap.fail_at = fail_at;
  put_document(&heap, &script, &got, 1);
  CHECK(got.len == want.len && memcmp(got.data, want.data, got.len) == 0,
        "%.*s, not %.*s", (int)got.len, got.data, (int)want.len, want.data);
  es_buffer_free(&got);
  es_buffer_free(&want);
  CHECK(heap.live + good.live == 0 && heap.wrong + good.wrong == 0, "leak");
}

int main(void) {
  size_t i, k;
  for (i = 0; i < sizeof scripts / sizeof *scripts; i++)
    for (k = 0; k < 8; k++) {
      check_text(scripts[i], k);
      check_document(scripts[i], k);
    }
  return report();
}
