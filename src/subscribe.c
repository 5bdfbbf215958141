/* subscribe.c - world:onAdd and the other observers; see observer.h */
#include <lauxlib.h>

#include "methods.h"
#include "observer.h"
#include "query.h"

static void check_function(const es_Op *op, int idx) {
  if (!lua_isfunction(op->L, idx))
    es_op_bad(op, idx - 1, "function", idx);
}

/* The trait or relation at 2; a pair listens to its target only. */
static es_Store *read_topic(const es_Op *op, es_Entity *target) {
  lua_State *L = op->L;
  const es_Term *term = es_term_test(L, op->w->state, 2);
  es_Store *s;
  *target = 0;
  if (es_trait_test(L, op->w->state, 2) != NULL) return es_store_get(op, 2);
  if (term == NULL || term->op != ES_TERM_PAIR)
    es_error_arg(L, op->fn, 1, "trait, relation or pair", 2);
  if (!term->wildcard) {
    *target = (es_Entity)term->target;
    if (!es_entity_is_alive(&op->w->entities, *target))
      es_error(L, op->fn, "bad argument #1 (the pair's target is not an "
                          "entity that is alive in this world)");
  }
  lua_getiuservalue(L, 2, 1);
  s = es_store_get(op, lua_gettop(L));
  lua_pop(L, 1);
  return s;
}

static int subscribe(lua_State *L, const char *fn, es_Event event) {
  es_Op op;
  es_Store *s;
  es_Entity target;
  es_op_begin(L, &op, fn);
  s = read_topic(&op, &target);
  check_function(&op, 3);
  es_observer_add(&op, &s->observers[event], 3, target);
  return 1;
}

int es_method_on_add(lua_State *L) { return subscribe(L, "onAdd", ES_ON_ADD); }

int es_method_on_remove(lua_State *L) {
  return subscribe(L, "onRemove", ES_ON_REMOVE);
}

int es_method_on_change(lua_State *L) {
  return subscribe(L, "onChange", ES_ON_CHANGE);
}

/* The function is the last argument; the terms stand before it. */
static int subscribe_query(lua_State *L, const char *fn, int left) {
  es_Op op;
  es_Query *q;
  es_op_begin(L, &op, fn);
  if (op.top < 3)
    return es_op_bad(&op, 2, "terms, then a function", 3);
  check_function(&op, op.top);
  es_query_prune(&op);
  q = es_query_get(&op, 2, op.top - 1);
  es_query_track(&op, q);
  es_observer_add(&op, &q->observers[left], op.top, 0);
  return 1;
}

int es_method_on_query_add(lua_State *L) {
  return subscribe_query(L, "onQueryAdd", 0);
}

int es_method_on_query_remove(lua_State *L) {
  return subscribe_query(L, "onQueryRemove", 1);
}
