/*
** plan.h - a document checked against the names of a world.
**
** Every rule of the snapshot format is checked here, without touching the
** world. A plan that was made without an error holds the steps that restore
** will take, in their order. Errors carry the path of the value and, where
** the document came from text, its byte offset.
*/
#ifndef ES_PLAN_H
#define ES_PLAN_H

#include "document.h"
#include "world.h"

/* One thing to add: a trait (target unused) or a pair. */
typedef struct es_Step {
  uint32_t entry;     /* index in the registry */
  uint32_t node;      /* the value; without one, what names the step */
  uint32_t record;    /* snapshot index of the entity */
  uint32_t target;    /* snapshot index of the target */
  uint32_t ordered;   /* SoA: the fields come in schema order */
} es_Step;

/* A key of the format, and where its text was found last. */
typedef struct es_PlanWord {
  const char *text;
  size_t len, place;
} es_PlanWord;

/* The same of an entry's name. */
typedef struct es_PlanName {
  size_t place;
  size_t fields;      /* how many the entries before have */
  uint32_t steps;     /* how many add its trait */
} es_PlanName;

typedef struct es_Plan {
  const es_Op *op;
  const es_Document *doc;
  const char *text;   /* what the document was read from, or NULL */
  size_t length;      /* of the text */
  int integers;       /* the decoder knew floats only */
  uint32_t entities;  /* number of records */
  es_Buffer *world;   /* steps of the world record */
  es_Buffer *traits;  /* steps of tags and traits, by record */
  es_Buffer *pairs;   /* steps of pairs, by record */
  int errors;         /* stack index of a list to collect in; 0: raise */
  uint32_t nerrors;
  /* scratch */
  es_Buffer *scratch;
  uint32_t *seen;     /* per entry: the record that had its tag last */
  uint32_t *hit;      /* per entity: the list of pairs that named it last */
  uint32_t list;      /* counts lists of pairs */
  uint32_t guess;     /* the entry after the one that was found last */
  es_PlanWord record_words[3], pair_words[2];
  es_PlanName *names; /* per entry */
  size_t *places;     /* per field of each entry: where its name was found */
  int keys;           /* stack index of the set of ecs.Key values */
} es_Plan;

/* How many errors a check lists at most. */
#define ES_PLAN_ERRORS 100

/*
** Makes the plan of a document that was read from 'length' bytes of 'text',
** which must live as long, or from no text (NULL). Raises the first error, or
** collects them in the list at 'errors'. Leaves what the plan needs on the
** stack. [-0, +n]
*/
void es_plan_make(es_Plan *p, const es_Op *op, const es_Document *doc,
                  const char *text, size_t length, int errors);

/* The steps of one buffer. */
const es_Step *es_plan_steps(const es_Buffer *b, uint32_t *n);

/* A snapshot index: an integer in 0..entities-1. */
int es_plan_index(const es_Plan *p, uint32_t node, uint32_t *index);

/*
** Pushes a SerializeError "fn: path reason" about a node, with its path and
** offset; the reason is on top. [-1, +1]
*/
void es_plan_push_error(const es_Plan *p, const char *code, uint32_t node);

#endif
