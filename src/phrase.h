/*
** phrase.h - what a walk tells often, in one piece.
**
** A phrase is a few words: containers that open or close, and the keys and
** strings between. Its JSON text is made once (es_json_phrase), so that a
** writer only copies it. What a phrase opens must be closed by a phrase.
*/
#ifndef ES_PHRASE_H
#define ES_PHRASE_H

#include "document.h"

typedef enum es_WordType {
  ES_WORD_KEY,
  ES_WORD_STRING,
  ES_WORD_OPEN_ARRAY,
  ES_WORD_OPEN_OBJECT,
  ES_WORD_CLOSE_ARRAY,
  ES_WORD_CLOSE_OBJECT
} es_WordType;

typedef struct es_Word {
  es_WordType type;
  const char *text;   /* of a key or string; lives as long as the phrase */
  size_t len;
} es_Word;

/* The most words of a phrase. */
#define ES_PHRASE_MAX 6

/* The text may be copied in blocks of this size, beyond its end. */
#define ES_PHRASE_BLOCK 16

typedef struct es_Phrase {
  es_Word words[ES_PHRASE_MAX];
  uint32_t count;
  const char *text;      /* JSON, set by the owner of the buffer it lies in */
  /* set by es_json_phrase */
  size_t start, len;     /* where in that buffer */
  unsigned char before;  /* a comma may be due before it */
  unsigned char after;   /* one is due before what follows it */
  int depth;             /* containers that it opens, less those it closes */
} es_Phrase;

/* Adds a word. */
void es_phrase_key(es_Phrase *p, const char *text, size_t len);
void es_phrase_string(es_Phrase *p, const char *text, size_t len);
void es_phrase_word(es_Phrase *p, es_WordType type);

#endif
