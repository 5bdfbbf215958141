/* term.c - traits with values, pairs, Not and Or; see trait.h */
#include <string.h>

#include "error.h"
#include "trait.h"

const es_Term *es_term_test(lua_State *L, const es_State *s, int idx) {
  if (lua_type(L, idx) != LUA_TUSERDATA) return NULL;
  if (!es_state_has_meta(L, s, idx, ES_SHARED_TERM)) return NULL;
  return lua_touserdata(L, idx);
}

/* Pushes a term whose user values are the two values on top. [-2, +1] */
static es_Term *new_term(lua_State *L, es_TermOp op) {
  es_Term *term = lua_newuserdatauv(L, sizeof *term, 2);
  memset(term, 0, sizeof *term);
  term->op = op;
  lua_insert(L, -3);
  lua_setiuservalue(L, -3, 2);
  lua_setiuservalue(L, -2, 1);
  es_state_push(L, ES_SHARED_TERM);
  lua_setmetatable(L, -2);
  return term;
}

/* Checks the value that a trait or relation is called with, at 'idx'. */
static void check_value(lua_State *L, const es_Trait *t, int idx) {
  int type = lua_type(L, idx);
  if (type == LUA_TNIL) return;
  if (t->kind == ES_TAG)
    es_error(L, es_trait_describe(L, 1), "%s",
             t->relation ? "a relation without store takes no data"
                         : "a tag takes no value");
  if (t->kind == ES_SOA && type != LUA_TTABLE)
    es_error(L, es_trait_describe(L, 1), "a table of fields expected, got %s",
             es_error_typename(L, idx));
}

/* R(target, data): 1 the relation, 2 the target, 3 the data */
static int call_relation(lua_State *L, const es_Trait *t) {
  es_Term *term;
  lua_Integer target = 0;
  int integer = 0, wildcard = 0;
  lua_settop(L, 3);
  if (lua_type(L, 2) == LUA_TNUMBER)
    target = lua_tointegerx(L, 2, &integer);
  else if (lua_type(L, 2) == LUA_TSTRING)
    wildcard = strcmp(lua_tostring(L, 2), "*") == 0;
  if (!integer && !wildcard)
    return es_error_arg(L, es_trait_describe(L, 1), 1,
                        "target entity or \"*\"", 2);
  if (wildcard && !lua_isnil(L, 3))
    return es_error(L, es_trait_describe(L, 1),
                    "a wildcard takes no data");
  check_value(L, t, 3);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  term = new_term(L, ES_TERM_PAIR);
  term->target = target;
  term->wildcard = (unsigned char)wildcard;
  return 1;
}

int es_term_lua_call(lua_State *L) {
  const es_Trait *t = es_trait_test(L, es_state(L), 1);
  if (t == NULL) return es_error_arg(L, "trait", 1, "trait", 1);
  if (t->relation) return call_relation(L, t);
  lua_settop(L, 2);
  check_value(L, t, 2);
  lua_settop(L, 2);
  new_term(L, ES_TERM_VALUE);
  return 1;
}

/* Not(...) and Or(...): a term over a list of traits and pairs. */
static int group(lua_State *L, es_TermOp op, const char *fn) {
  const es_State *s = es_state(L);
  int i, n = lua_gettop(L);
  if (n == 0) return es_error_arg(L, fn, 1, "trait or pair", 1);
  for (i = 1; i <= n; i++) {
    const es_Term *term = es_term_test(L, s, i);
    const es_Trait *t = es_trait_test(L, s, i);
    if (!(t != NULL && !t->relation) &&
        !(term != NULL && term->op <= ES_TERM_PAIR))
      return es_error_arg(L, fn, i, "trait or pair", i);
  }
  lua_createtable(L, n, 0);
  lua_insert(L, 1);
  for (i = n; i >= 1; i--) lua_rawseti(L, 1, i);
  lua_pushnil(L);
  new_term(L, op);
  return 1;
}

int es_term_lua_not(lua_State *L) { return group(L, ES_TERM_NOT, "Not"); }

int es_term_lua_or(lua_State *L) { return group(L, ES_TERM_OR, "Or"); }

static int term_tostring(lua_State *L) {
  static const char *const names[] = {"term", "pair", "Not", "Or"};
  const es_Term *term = es_term_test(L, es_state(L), 1);
  if (term == NULL) return es_error_arg(L, "term", 1, "term", 1);
  if (term->op > ES_TERM_PAIR) {
    lua_pushfstring(L, "%s(...)", names[term->op]);
    return 1;
  }
  lua_getiuservalue(L, 1, 1);
  es_trait_describe(L, lua_gettop(L));
  lua_pushfstring(L, "%s of %s", names[term->op], lua_tostring(L, -1));
  return 1;
}

void es_term_open(lua_State *L, es_State *s) {
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, term_tostring, 1);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "ecsser.term");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_TERM);
}
