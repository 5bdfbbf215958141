/*
** query.h - which entities match a list of terms.
**
** A query is a userdata that holds its terms. Those without a given target are
** kept in the world's query cache, so that asking again costs one lookup.
** Queries with observers are tracked: 'members' says who matched when their
** observers were last told.
**
** Operations mark the slots they touch as dirty; es_query_flush then compares
** each tracked query with its members and calls the observers of what
** changed. Marking allocates nothing.
*/
#ifndef ES_QUERY_H
#define ES_QUERY_H

#include "world.h"

#define ES_TERMS_MAX 64

typedef enum es_Match { ES_MATCH_WITH, ES_MATCH_NOT, ES_MATCH_OR } es_Match;

typedef struct es_QueryTerm {
  es_Store *store;
  es_Entity target;   /* 0: none, or any */
  es_Match match;
  uint32_t group;     /* OR: terms of one Or() share it */
} es_QueryTerm;

typedef struct es_Query {
  int observers[2];   /* anchors: entered, left */
  int anchor;         /* keeps a tracked query alive; else 0 */
  uint64_t seen;      /* the version of the cached list of slots */
  lua_Integer listed; /* its length; -1: none yet */
  uint32_t n;
  es_QueryTerm terms[];
} es_Query;

/* What the world has of a query with observers. */
typedef struct es_Tracked {
  es_Query *query;
  es_Bitset members;
} es_Tracked;

/*
** Pushes the query for the terms at stack indices first..last (or in the one
** list there). [-0, +1]
*/
es_Query *es_query_get(const es_Op *op, int first, int last);

int es_query_matches(const es_World *w, const es_Query *q, uint32_t slot);

/*
** Pushes a guard with the words of the matching slots, and returns them;
** '*n' is the number of words. [-0, +1]
*/
const uint64_t *es_query_words(const es_Op *op, const es_Query *q,
                               uint32_t *n);

/* Changes whenever the result may have changed. */
uint64_t es_query_version(const es_World *w, const es_Query *q);

/* Starts tracking the query on top of the stack, if need be. [-0, +0] */
void es_query_track(const es_Op *op, es_Query *q);

/* Stops tracking queries that have no observer any more. */
void es_query_prune(const es_Op *op);

/* Marks a slot as touched; the world entity matches no query. */
void es_query_touch(es_World *w, uint32_t slot);

/*
** Tells the observers of tracked queries about all touched slots. Stops at
** the first error, or collects (see es_observer_call).
*/
int es_query_flush(const es_Op *op, int errors);

/* Room for slots up to the entities' capacity, or up to 'cap'. */
es_Status es_query_reserve(es_World *w);
es_Status es_query_reserve_slots(es_World *w, uint32_t cap);

/* Says anew who matches each tracked query, and tells no one. */
void es_query_recount(es_World *w);

/* Frees what the tracking needed; the queries may be gone already. */
void es_query_close(es_World *w);

#endif
