/* phrase.c - see phrase.h */
#include "phrase.h"

static void add(es_Phrase *p, es_WordType type, const char *text,
                size_t len) {
  es_Word *word = &p->words[p->count++];
  word->type = type;
  word->text = text;
  word->len = len;
}

void es_phrase_key(es_Phrase *p, const char *text, size_t len) {
  add(p, ES_WORD_KEY, text, len);
}

void es_phrase_string(es_Phrase *p, const char *text, size_t len) {
  add(p, ES_WORD_STRING, text, len);
}

void es_phrase_word(es_Phrase *p, es_WordType type) {
  add(p, type, NULL, 0);
}
