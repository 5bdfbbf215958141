/* guard.c - see guard.h */
#include "guard.h"

#include <stddef.h>
#include <string.h>

/*
** The payload follows, aligned for anything. All guards that own something
** are in the state's list: a guard that a finalizer makes while the Lua state
** closes is never finalized itself, so that the state frees it.
*/
typedef union es_Guard {
  struct {
    es_GuardFree release;   /* NULL: it owns nothing any more */
    es_GuardLink link;
  } h;
  max_align_t align;
} es_Guard;

static void link_guard(es_State *s, es_Guard *g) {
  es_GuardLink *l = &g->h.link;
  l->prev = &s->guards;
  l->next = s->guards.next;
  if (l->next != NULL) l->next->prev = l;
  s->guards.next = l;
}

static void release(es_Guard *g) {
  es_GuardLink *l = &g->h.link;
  if (g->h.release == NULL) return;
  g->h.release(g + 1);
  g->h.release = NULL;
  l->prev->next = l->next;
  if (l->next != NULL) l->next->prev = l->prev;
}

void es_guard_release_all(es_State *s) {
  while (s->guards.next != NULL)
    release((es_Guard *)(void *)((char *)s->guards.next -
                                 offsetof(es_Guard, h.link)));
}

/* The metatable comes when the payload is in order. */
void *es_guard_new(lua_State *L, size_t size, es_GuardFree free_payload) {
  es_Guard *g = lua_newuserdatauv(L, sizeof *g + size, 0);
  memset(g, 0, sizeof *g + size);
  g->h.release = free_payload;
  link_guard(es_state(L), g);
  es_state_push(L, ES_SHARED_GUARD);
  lua_setmetatable(L, -2);
  return g + 1;
}

static void free_buffer(void *payload) { es_buffer_free(payload); }

static void free_document(void *payload) { es_document_free(payload); }

es_Buffer *es_guard_buffer(lua_State *L) {
  es_Buffer *b = es_guard_new(L, sizeof *b, free_buffer);
  es_buffer_init(b, es_state_alloc(L));
  return b;
}

es_Document *es_guard_document(lua_State *L) {
  es_Document *d = es_guard_new(L, sizeof *d, free_document);
  es_document_init(d, es_state_alloc(L));
  return d;
}

void es_guard_release(lua_State *L, int idx) {
  release(lua_touserdata(L, idx));
}

/* The state is the last of ours to go. */
static int state_gc(lua_State *L) {
  es_guard_release_all(lua_touserdata(L, 1));
  return 0;
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
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}
