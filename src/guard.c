/* guard.c - see guard.h */
#include "guard.h"

#include "document.h"

typedef enum es_GuardKind { GUARD_NONE, GUARD_BUFFER, GUARD_DOCUMENT }
    es_GuardKind;

typedef struct es_Guard {
  es_GuardKind kind;
  union {
    es_Buffer buffer;
    es_Document document;
  } u;
} es_Guard;

/* The metatable comes while the guard owns nothing. */
static es_Guard *new_guard(lua_State *L) {
  es_Guard *g = lua_newuserdatauv(L, sizeof *g, 0);
  g->kind = GUARD_NONE;
  es_state_push(L, ES_SHARED_GUARD);
  lua_setmetatable(L, -2);
  return g;
}

es_Buffer *es_guard_buffer(lua_State *L) {
  es_Guard *g = new_guard(L);
  es_buffer_init(&g->u.buffer, es_state_alloc(L));
  g->kind = GUARD_BUFFER;
  return &g->u.buffer;
}

es_Document *es_guard_document(lua_State *L) {
  es_Guard *g = new_guard(L);
  es_document_init(&g->u.document, es_state_alloc(L));
  g->kind = GUARD_DOCUMENT;
  return &g->u.document;
}

void es_guard_release(lua_State *L, int idx) {
  es_Guard *g = lua_touserdata(L, idx);
  if (g->kind == GUARD_BUFFER) es_buffer_free(&g->u.buffer);
  else if (g->kind == GUARD_DOCUMENT) es_document_free(&g->u.document);
  g->kind = GUARD_NONE;
}

static int guard_gc(lua_State *L) {
  if (lua_type(L, 1) == LUA_TUSERDATA &&
      es_state_has_meta(L, es_state(L), 1, ES_SHARED_GUARD))
    es_guard_release(L, 1);
  return 0;
}

void es_guard_open(lua_State *L, es_State *s) {
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, guard_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "ecsser.guard");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_GUARD);
}
