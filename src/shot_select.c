/* shot_select.c - which entities a snapshot holds; see shot_private.h */
#include <string.h>

#include <lauxlib.h>

#include "call.h"
#include "query.h"
#include "shot_private.h"

void es_shot_exclude(es_Shot *s, int idx) {
  lua_State *L = s->op.L;
  const es_Trait *t = es_trait_test(L, s->op.w->state, idx);
  const es_Store *store;
  uint32_t k;
  if (t == NULL)
    es_error(L, s->op.fn, "exclude: trait expected, got %s",
             es_error_typename(L, idx));
  store = es_store_find(s->op.w, t);
  for (k = 0; store != NULL && k < s->words; k++)
    s->selected[k] &= ~es_bitset_word(&store->has, k);
  s->selected[0] |= 1;
}

static void exclude_list(es_Shot *s, int list) {
  lua_State *L = s->op.L;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, list), all = 0;
  for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) all++;
  if (all != n) es_error(L, s->op.fn, "exclude: not a list of traits");
  for (i = 1; i <= n; i++) {
    lua_rawgeti(s->op.L, list, i);
    es_shot_exclude(s, lua_gettop(s->op.L));
    lua_pop(s->op.L, 1);
  }
}

/* Keeps the entities for which the function at 'fn' is true. */
static void filter_function(es_Shot *s, int fn) {
  lua_State *L = s->op.L;
  const es_Entities *x = &s->op.w->entities;
  uint32_t slot;
  for (slot = es_bitset_next(&x->alive, 1); slot != ES_NO_SLOT;
       slot = es_bitset_next(&x->alive, slot + 1)) {
    int status;
    lua_pushvalue(L, fn);
    es_world_push(L, es_entity_handle(x, slot));
    s->op.w->busy++;
    status = es_call(L, 1, 1, "a filter");
    s->op.w->busy--;
    if (status != LUA_OK) lua_error(L);
    if (!lua_toboolean(L, -1))
      s->selected[slot >> 6] &= ~((uint64_t)1 << (slot & 63));
    lua_pop(L, 1);
  }
}

static void filter_terms(es_Shot *s, int list) {
  uint32_t n, k;
  es_Op op = s->op;
  const es_Query *q;
  const uint64_t *words;
  op.fn = lua_pushfstring(op.L, "%s: option 'filter'", op.fn);
  q = es_query_get(&op, list, list);
  words = es_query_words(&op, q, &n);
  for (k = 0; k < s->words; k++) s->selected[k] &= k < n ? words[k] : 0;
  s->selected[0] |= 1;
  lua_pop(s->op.L, 3);
}

void es_shot_select(es_Shot *s) {
  const es_Entities *x = &s->op.w->entities;
  s->words = (x->known + 63) / 64;
  s->selected =
      lua_newuserdatauv(s->op.L, s->words * sizeof *s->selected, 0);
  memcpy(s->selected, x->alive.words, s->words * sizeof *s->selected);
  s->referenced =
      lua_newuserdatauv(s->op.L, s->words * sizeof *s->referenced, 0);
  memset(s->referenced, 0, s->words * sizeof *s->referenced);
  if (s->options->filter != 0) {
    if (lua_isfunction(s->op.L, s->options->filter))
      filter_function(s, s->options->filter);
    else
      filter_terms(s, s->options->filter);
  }
  if (s->options->exclude != 0) exclude_list(s, s->options->exclude);
}
