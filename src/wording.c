/* wording.c - see wording.h */
#include "wording.h"

#include <string.h>

#include "error.h"
#include "guard.h"
#include "json.h"

es_Part es_wording_part(const es_Entry *e) {
  const es_Trait *t = e->store->trait;
  if (t->relation) return ES_PART_PAIRS;
  return t->kind == ES_TAG ? ES_PART_TAGS : ES_PART_TRAITS;
}

/* The next phrase; the words are added. */
static es_Phrase *next_phrase(es_Phrase **at) {
  es_Phrase *p = (*at)++;
  memset(p, 0, sizeof *p);
  return p;
}

/* The words of the fixed phrases, by their first letters. */
static void make_fixed(es_Phrase *phrases) {
  static const char *const scripts[ES_SAY_COUNT] = {
    "{t[", "{t[]d{", "]d{", "}p{", "}}", "}p{}}", "{e", "}", "]"
  };
  int i;
  for (i = 0; i < ES_SAY_COUNT; i++) {
    es_Phrase *p = &phrases[i];
    const char *c;
    memset(p, 0, sizeof *p);
    for (c = scripts[i]; *c != '\0'; c++) {
      switch (*c) {
        case '{': es_phrase_word(p, ES_WORD_OPEN_OBJECT); break;
        case '}': es_phrase_word(p, ES_WORD_CLOSE_OBJECT); break;
        case '[': es_phrase_word(p, ES_WORD_OPEN_ARRAY); break;
        case ']': es_phrase_word(p, ES_WORD_CLOSE_ARRAY); break;
        case 't': es_phrase_key(p, "tags", 4); break;
        case 'd': es_phrase_key(p, "traits", 6); break;
        case 'p': es_phrase_key(p, "pairs", 5); break;
        default: es_phrase_key(p, "target", 6); break;
      }
    }
  }
}

/* The key of a value: the name of the trait, or "data" of a pair. */
static void add_value_key(es_Phrase *p, const es_Entry *e) {
  if (e->store->trait->relation) es_phrase_key(p, "data", 4);
  else es_phrase_key(p, e->name, e->len);
}

static void make_fields(es_Words *w, es_Phrase **at) {
  const es_Trait *t = w->entry->store->trait;
  uint32_t i;
  es_Phrase *p = next_phrase(at);
  w->fields = p;
  add_value_key(p, w->entry);
  if (w->n > 0) es_phrase_word(p, ES_WORD_OPEN_OBJECT);
  for (i = 0; i < w->n; i++) {
    if (i > 0) p = next_phrase(at);
    es_phrase_key(p, t->fields[i].name, t->fields[i].len);
  }
  p = next_phrase(at);
  es_phrase_word(p, ES_WORD_CLOSE_OBJECT);
  if (w->n > 0 && t->relation) es_phrase_word(p, ES_WORD_CLOSE_OBJECT);
}

static void make_words(es_Words *w, const es_Entry *e, es_Phrase **at) {
  const es_Trait *t = e->store->trait;
  es_Phrase *p = next_phrase(at);
  w->entry = e;
  w->name = p;
  w->n = t->kind == ES_SOA && !e->codec ? t->nfields : 0;
  if (t->relation) {
    es_phrase_key(p, e->name, e->len);
    es_phrase_word(p, ES_WORD_OPEN_ARRAY);
  } else {
    es_phrase_string(p, e->name, e->len);
  }
  make_fields(w, at);
}

void es_wording_make(lua_State *L, const es_World *w, es_Wording *wording) {
  const es_Registry *r = &w->registry;
  es_Buffer *text = es_guard_buffer(L);
  size_t count = ES_SAY_COUNT;
  uint32_t i;
  es_Phrase *p, *end;
  for (i = 0; i < r->n; i++) count += r->entries[i].store->trait->nfields + 3;
  wording->words =
      lua_newuserdatauv(L, (r->n + 1) * sizeof *wording->words, 0);
  wording->phrases =
      lua_newuserdatauv(L, count * sizeof *wording->phrases, 0);
  make_fixed(wording->phrases);
  end = wording->phrases + ES_SAY_COUNT;
  for (i = 0; i < r->n; i++)
    make_words(&wording->words[i], &r->entries[i], &end);
  for (p = wording->phrases; p < end; p++)
    es_try_put(L, text, es_json_phrase(text, p));
  for (p = wording->phrases; p < end; p++) p->text = text->data + p->start;
}

/* What the values of an entry will take, if each is 16 bytes long. */
static size_t expected(const es_Words *w) {
  const es_Store *s = w->entry->store;
  size_t bytes = w->name->len, values = s->trait->kind == ES_TAG ? 0 : 1;
  uint32_t i;
  if (w->n > values) values = w->n;
  if (w->entry->transient) return 0;
  for (i = 0; i < values; i++) bytes += w->fields[i].len + 16;
  return bytes * (s->trait->relation ? s->pairs.count : s->count);
}

size_t es_wording_length(const es_World *w, const es_Wording *wording) {
  size_t record = wording->phrases[ES_SAY_RECORD_NO_TAGS].len +
                  wording->phrases[ES_SAY_END_NO_PAIRS].len;
  size_t bytes = (size_t)w->entities.count * record;
  uint32_t i;
  for (i = 0; i < w->registry.n; i++) bytes += expected(&wording->words[i]);
  return bytes;
}
