/* query.c - terms, matching, and the cache; see query.h */
#include "query.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"

typedef struct es_Terms {
  uint32_t n, groups;
  int targeted;
  es_QueryTerm list[ES_TERMS_MAX];
} es_Terms;

static void add_term(const es_Op *op, es_Terms *t, const es_QueryTerm *term) {
  if (t->n == ES_TERMS_MAX)
    es_error(op->L, op->fn, "more than %d terms in a query", ES_TERMS_MAX);
  t->list[t->n++] = *term;
  if (term->target != 0) t->targeted = 1;
}

/* A trait or a pair at 'idx'. Raises for all else. */
static void add_simple(const es_Op *op, es_Terms *t, int idx, int n,
                       es_Match match) {
  lua_State *L = op->L;
  const es_State *s = op->w->state;
  const es_Trait *trait = es_trait_test(L, s, idx);
  const es_Term *pair = es_term_test(L, s, idx);
  es_QueryTerm term = {NULL, 0, match, t->groups};
  if (pair != NULL && pair->op == ES_TERM_PAIR) {
    term.target = pair->wildcard ? 0 : (es_Entity)pair->target;
    if (term.target != 0 || !pair->wildcard)
      es_world_check_target(op, term.target, n);
    lua_getiuservalue(L, idx, 1);
    term.store = es_store_get(op, lua_gettop(L));
    lua_pop(L, 1);
  } else if (trait != NULL && !trait->relation) {
    term.store = es_store_get(op, idx);
  } else {
    es_error_arg(L, op->fn, n, "trait, pair, Not or Or", idx);
  }
  add_term(op, t, &term);
}

static void add_group(const es_Op *op, es_Terms *t, int idx, int n,
                      es_Match match) {
  lua_Integer i, size;
  int list;
  lua_getiuservalue(op->L, idx, 1);
  list = lua_gettop(op->L);
  size = (lua_Integer)lua_rawlen(op->L, list);
  t->groups++;
  for (i = 1; i <= size; i++) {
    lua_rawgeti(op->L, list, i);
    add_simple(op, t, lua_gettop(op->L), n, match);
    lua_pop(op->L, 1);
  }
  lua_pop(op->L, 1);
}

static void add_argument(const es_Op *op, es_Terms *t, int idx, int n) {
  const es_Term *term = es_term_test(op->L, op->w->state, idx);
  if (term != NULL && term->op == ES_TERM_NOT)
    add_group(op, t, idx, n, ES_MATCH_NOT);
  else if (term != NULL && term->op == ES_TERM_OR)
    add_group(op, t, idx, n, ES_MATCH_OR);
  else
    add_simple(op, t, idx, n, ES_MATCH_WITH);
}

static void read_terms(const es_Op *op, es_Terms *t, int first, int last) {
  int i;
  t->n = t->groups = 0;
  t->targeted = 0;
  if (first == last && lua_istable(op->L, first)) {
    lua_Integer n = (lua_Integer)lua_rawlen(op->L, first), k, all = 0;
    for (lua_pushnil(op->L); lua_next(op->L, first); lua_pop(op->L, 1)) all++;
    if (all != n)
      es_error(op->L, op->fn, "bad argument #1 (not a list of terms)");
    for (k = 1; k <= n; k++) {
      lua_rawgeti(op->L, first, k);
      add_argument(op, t, lua_gettop(op->L), 1);
      lua_pop(op->L, 1);
    }
    return;
  }
  for (i = first; i <= last; i++) add_argument(op, t, i, i - first + 1);
}

/* Pushes a string that is equal for equal untargeted terms. */
static void push_signature(lua_State *L, const es_Terms *t) {
  uint32_t packed[ES_TERMS_MAX][3], i;
  for (i = 0; i < t->n; i++) {
    packed[i][0] = t->list[i].store->trait->id;
    packed[i][1] = (uint32_t)t->list[i].match;
    packed[i][2] = t->list[i].match == ES_MATCH_OR ? t->list[i].group : 0;
  }
  lua_pushlstring(L, (const char *)packed, t->n * sizeof packed[0]);
}

static es_Query *new_query(const es_Op *op, const es_Terms *t) {
  size_t size = t->n * sizeof t->list[0];
  es_Query *q = lua_newuserdatauv(op->L, sizeof *q + size, 1);
  memset(q, 0, sizeof *q);
  q->listed = -1;
  q->n = t->n;
  memcpy(q->terms, t->list, size);
  return q;
}

static void push_cache(const es_Op *op) {
  es_World *w = op->w;
  if (w->query_cache == 0) {
    int at = es_world_anchor(w);
    lua_newtable(op->L);
    lua_rawseti(op->L, op->anchors, at);
    w->query_cache = at;
  }
  lua_rawgeti(op->L, op->anchors, w->query_cache);
}

es_Query *es_query_get(const es_Op *op, int first, int last) {
  lua_State *L = op->L;
  es_Terms t;
  es_Query *q;
  read_terms(op, &t, first, last);
  if (t.targeted) return new_query(op, &t);
  push_cache(op);
  push_signature(L, &t);
  lua_pushvalue(L, -1);               /* cache signature signature */
  if (lua_rawget(L, -3) == LUA_TUSERDATA) {
    q = lua_touserdata(L, -1);
    lua_replace(L, -3);
    lua_pop(L, 1);
    return q;
  }
  lua_pop(L, 1);
  q = new_query(op, &t);              /* cache signature query */
  lua_pushvalue(L, -1);
  lua_insert(L, -4);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return q;
}

/* A target that died matches nothing, even when its slot lives again. */
static int term_has(const es_World *w, const es_QueryTerm *t, uint32_t slot) {
  if (t->target == 0) return es_bitset_test(&t->store->has, slot);
  return es_entity_is_alive(&w->entities, t->target) &&
         es_pairs_find(&t->store->pairs, slot, es_entity_slot(t->target));
}

/* Terms of one Or() stand side by side. */
static int or_matches(const es_World *w, const es_Query *q, uint32_t *i,
                      uint32_t slot) {
  uint32_t group = q->terms[*i].group;
  int any = 0;
  for (; *i < q->n && q->terms[*i].match == ES_MATCH_OR &&
         q->terms[*i].group == group; ++*i)
    any |= term_has(w, &q->terms[*i], slot);
  return any;
}

static int terms_match(const es_World *w, const es_Query *q, uint32_t slot) {
  uint32_t i = 0;
  while (i < q->n) {
    const es_QueryTerm *t = &q->terms[i];
    if (t->match == ES_MATCH_OR) {
      if (!or_matches(w, q, &i, slot)) return 0;
      continue;
    }
    if (term_has(w, t, slot) != (t->match == ES_MATCH_WITH)) return 0;
    i++;
  }
  return 1;
}

int es_query_matches(const es_World *w, const es_Query *q, uint32_t slot) {
  return es_bitset_test(&w->entities.alive, slot) &&
         !es_world_is_excluded(w, slot) && terms_match(w, q, slot);
}

/* One word of an untargeted query. */
static uint64_t match_word(const es_World *w, const es_Query *q, uint32_t k) {
  uint64_t word = es_bitset_word(&w->entities.alive, k) &
                  ~es_bitset_word(&w->excluded->has, k);
  uint32_t i = 0;
  while (i < q->n && word != 0) {
    const es_QueryTerm *t = &q->terms[i++];
    uint64_t has = es_bitset_word(&t->store->has, k);
    if (t->match == ES_MATCH_OR)
      while (i < q->n && q->terms[i].match == ES_MATCH_OR &&
             q->terms[i].group == t->group)
        has |= es_bitset_word(&q->terms[i++].store->has, k);
    word &= t->match == ES_MATCH_NOT ? ~has : has;
  }
  return word;
}

/* A required pair with a given target: only its sources can match. */
static const es_QueryTerm *narrowest(const es_Query *q) {
  uint32_t i;
  for (i = 0; i < q->n; i++)
    if (q->terms[i].target != 0 && q->terms[i].match == ES_MATCH_WITH)
      return &q->terms[i];
  return NULL;
}

static int is_targeted(const es_Query *q) {
  uint32_t i;
  for (i = 0; i < q->n; i++)
    if (q->terms[i].target != 0) return 1;
  return 0;
}

static void match_targeted(const es_World *w, const es_Query *q,
                           uint64_t *words, uint32_t n) {
  const es_QueryTerm *t = narrowest(q);
  uint32_t slot, row;
  es_Bitset all;
  all.words = words;
  all.n = n;
  if (t != NULL) {
    const es_Pairs *p = &t->store->pairs;
    for (row = es_pairs_first_source(p, es_entity_slot(t->target)); row != 0;
         row = es_pairs_next_source(p, row))
      if (es_query_matches(w, q, p->rows[row].source))
        es_bitset_set(&all, p->rows[row].source);
    return;
  }
  for (slot = 0; slot < w->entities.known; slot++)
    if (es_query_matches(w, q, slot)) es_bitset_set(&all, slot);
}

const uint64_t *es_query_words(const es_Op *op, const es_Query *q,
                               uint32_t *n) {
  const es_World *w = op->w;
  uint32_t k, count = (w->entities.known + 63) / 64;
  uint64_t *words = lua_newuserdatauv(op->L, count * sizeof *words, 0);
  *n = count;
  if (is_targeted(q)) {
    memset(words, 0, count * sizeof *words);
    match_targeted(w, q, words, count);
    return words;
  }
  for (k = 0; k < count; k++) words[k] = match_word(w, q, k);
  return words;
}

/* Spawns and deaths show in the versions of all terms but Not. */
uint64_t es_query_version(const es_World *w, const es_Query *q) {
  uint64_t sum = w->excluded->version;
  uint32_t i;
  int positive = 0;
  for (i = 0; i < q->n; i++) {
    sum += q->terms[i].store->version;
    if (q->terms[i].match != ES_MATCH_NOT) positive = 1;
  }
  return positive ? sum : sum + w->lives;
}
