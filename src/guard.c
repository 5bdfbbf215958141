/* guard.c - see guard.h */
#include "guard.h"

#include <stddef.h>
#include <string.h>

#include <lauxlib.h>

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
    unsigned char kept;     /* it outlives its call */
    unsigned char waiting;  /* it was garbage once */
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

void *es_guard_block(lua_State *L, size_t size, es_GuardFree free_payload) {
  es_State *s = es_state(L);
  es_Guard *g;
  if (s->over) luaL_error(L, "the Lua state is being closed");
  g = new_block(L, sizeof *g + size);
  g->h.release = free_payload;
  link_guard(s, g);
  return g + 1;
}

void es_guard_drop(void *payload) { release((es_Guard *)payload - 1); }

/* The userdata comes first, owning nothing. */
void *es_guard_new(lua_State *L, size_t size, es_GuardFree free_payload) {
  es_Guard **owner = lua_newuserdatauv(L, sizeof *owner, 0);
  void *payload;
  *owner = NULL;
  es_state_push(L, ES_SHARED_GUARD);
  lua_setmetatable(L, -2);
  payload = es_guard_block(L, size, free_payload);
  *owner = (es_Guard *)payload - 1;
  return payload;
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

void es_guard_keep(lua_State *L, int idx) {
  es_Guard **owner = lua_touserdata(L, idx);
  (*owner)->h.kept = 1;
}

void *es_guard_get(lua_State *L, int idx) {
  es_Guard **owner = lua_touserdata(L, idx);
  return *owner == NULL || (*owner)->h.waiting ? NULL : *owner + 1;
}

/*
** The state is the last of ours to go. Finalizers of scripts that run even
** later find no value of ours any more, by its metatable.
*/
static int state_gc(lua_State *L) {
  es_State *s = lua_touserdata(L, 1);
  s->over = 1;
  memset(s->shared, 0, sizeof s->shared);
  es_guard_release_all(s);
  return 0;
}

static int guard_gc(lua_State *L) {
  es_Guard **owner;
  if (lua_type(L, 1) != LUA_TUSERDATA ||
      !es_state_has_meta(L, es_state(L), 1, ES_SHARED_GUARD))
    return 0;
  owner = lua_touserdata(L, 1);
  if (*owner == NULL || !(*owner)->h.kept || (*owner)->h.waiting) {
    es_guard_release(L, 1);
    return 0;
  }
  (*owner)->h.waiting = 1;
  lua_getmetatable(L, 1);
  lua_setmetatable(L, 1);   /* to be finalized again */
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
