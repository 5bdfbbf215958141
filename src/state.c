/* state.c - see state.h */
#include "state.h"

#include <string.h>

/* Private registry keys: their addresses. */
static const char shared_key[ES_SHARED_COUNT] = {0};

es_State *es_state_new(lua_State *L) {
  es_State *s = lua_newuserdatauv(L, sizeof *s, 1);
  memset(s, 0, sizeof *s);
  return s;
}

void es_state_share(lua_State *L, es_State *s, es_Shared what) {
  s->shared[what] = lua_topointer(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &shared_key[what]);
}

void es_state_push(lua_State *L, es_Shared what) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &shared_key[what]);
}

int es_state_has_meta(lua_State *L, const es_State *s, int idx,
                      es_Shared what) {
  const void *meta;
  if (!lua_getmetatable(L, idx)) return 0;
  meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  return meta == s->shared[what];
}

int es_state_is_ours(lua_State *L, lua_Debug *ar) {
  const void *s = es_state(L);
  int ours = 0;
  lua_getinfo(L, "f", ar);
  if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1) != NULL) {
    ours = s != NULL && lua_touserdata(L, -1) == s;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return ours;
}

es_Alloc es_state_alloc(lua_State *L) {
  es_Alloc a;
  a.f = lua_getallocf(L, &a.ud);
  return a;
}

uint32_t es_state_take_world(es_State *s) {
  uint32_t id, best = 0;
  for (id = 1; id <= ES_WORLD_MAX; id++)
    if (!s->world_used[id] &&
        (best == 0 || s->world_base[id] < s->world_base[best]))
      best = id;
  if (best == 0) return 0;
  /* every id is half used up: start over, 2^28 closed worlds later */
  if (s->world_base[best] > ES_GENERATION_MAX / 2) s->world_base[best] = 0;
  s->world_used[best] = 1;
  return best;
}

void es_state_free_world(es_State *s, uint32_t world, uint32_t base) {
  s->world_used[world] = 0;
  s->world_base[world] = base;
}
