/*
** wording.h - what a save tells of the entries of a world, as phrases.
*/
#ifndef ES_WORDING_H
#define ES_WORDING_H

#include "phrase.h"
#include "world.h"

/* The parts of a record, in their order. */
typedef enum es_Part { ES_PART_TAGS, ES_PART_TRAITS, ES_PART_PAIRS, ES_PARTS }
    es_Part;

/* The part that an entry belongs to. */
es_Part es_wording_part(const es_Entry *e);

/* What is told about every entity, and where it stands in a record. */
enum {
  ES_SAY_RECORD,          /* {"tags":[ */
  ES_SAY_RECORD_NO_TAGS,  /* {"tags":[],"traits":{ */
  ES_SAY_TRAITS,          /* ],"traits":{ */
  ES_SAY_PAIRS,           /* },"pairs":{ */
  ES_SAY_END,             /* }} */
  ES_SAY_END_NO_PAIRS,    /* },"pairs":{}} */
  ES_SAY_TARGET,          /* {"target": */
  ES_SAY_END_PAIR,        /* } */
  ES_SAY_END_LIST,        /* ] */
  ES_SAY_COUNT
};

/*
** What is told of an entry. A tag: its name. A relation: its name and a list
** that opens. Then, one for each field, the key and what stands before it (for
** any other value: one), and last what closes behind them.
*/
typedef struct es_Words {
  const es_Entry *entry;
  const es_Phrase *name;
  const es_Phrase *fields;
  uint32_t n;                /* how many fields are told; 0: one value */
  int columns;               /* stack index of the first field's column */
} es_Words;

typedef struct es_Wording {
  es_Phrase *phrases;   /* ES_SAY_..., then those of the entries */
  es_Words *words;      /* per entry */
} es_Wording;

/* Makes all phrases, with their text, and leaves them there. [-0, +3] */
void es_wording_make(lua_State *L, const es_World *w, es_Wording *wording);

/* About how long the JSON text of the world will be. */
size_t es_wording_length(const es_World *w, const es_Wording *wording);

#endif
