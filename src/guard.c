/* guard.c - see guard.h */
#include "guard.h"

#include <stddef.h>
#include <string.h>

#include "error.h"

/*
** The userdata holds a pointer to this block; the payload follows, aligned for
** anything. All blocks are in the state's list: when memory is too short to
** run a finalizer, or a guard is made while the Lua state closes, the state
** frees what is left.
*/
typedef union es_Guard {
  struct {
    es_GuardLink link;
    es_GuardFree release;
    es_Alloc alloc;
    size_t size;
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
  g->h.release(g + 1);
  l->prev->next = l->next;
  if (l->next != NULL) l->next->prev = l->prev;
  es_alloc_free(&g->h.alloc, g, g->h.size, 1);
}

/* A link is the first field of its block. */
void es_guard_release_all(es_State *s) {
  while (s->guards.next != NULL)
    release((es_Guard *)(void *)s->guards.next);
}

static es_Guard *new_block(lua_State *L, size_t size) {
  es_Alloc alloc = es_state_alloc(L);
  es_Guard *g = es_alloc_array(&alloc, NULL, 0, size, 1);
  if (g == NULL) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    g = es_alloc_array(&alloc, NULL, 0, size, 1);
  }
  if (g == NULL) es_error_memory(L);
  memset(g, 0, size);
  g->h.alloc = alloc;
  g->h.size = size;
  return g;
}

/* The userdata comes first, owning nothing. */
void *es_guard_new(lua_State *L, size_t size, es_GuardFree free_payload) {
  es_Guard **owner = lua_newuserdatauv(L, sizeof *owner, 0);
  *owner = NULL;
  es_state_push(L, ES_SHARED_GUARD);
  lua_setmetatable(L, -2);
  *owner = new_block(L, sizeof(es_Guard) + size);
  (*owner)->h.release = free_payload;
  link_guard(es_state(L), *owner);
  return *owner + 1;
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
  es_Guard **owner = lua_touserdata(L, idx);
  if (*owner != NULL) release(*owner);
  *owner = NULL;
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
