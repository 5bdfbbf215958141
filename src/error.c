/* error.c - see error.h */
#include "error.h"

#include <stdarg.h>
#include <string.h>

#include "trait.h"

/*
** Pushes the position of the caller, also from inside a part that a function
** of ours runs protected. [-0, +1]
*/
static void push_where(lua_State *L) {
  lua_Debug ar;
  int level = 1;
  while (lua_getstack(L, level, &ar) && es_state_is_ours(L, &ar)) level++;
  luaL_where(L, level);
}

int es_error(lua_State *L, const char *fn, const char *fmt, ...) {
  va_list args;
  push_where(L);
  lua_pushfstring(L, "%s: ", fn);
  va_start(args, fmt);
  lua_pushvfstring(L, fmt, args);
  va_end(args);
  lua_concat(L, 3);
  return lua_error(L);
}

const char *es_error_typename(lua_State *L, int idx) {
  const char *name = luaL_typename(L, idx);
  idx = lua_absindex(L, idx);
  if (lua_type(L, idx) == LUA_TUSERDATA) {
    const es_Trait *trait = es_trait_test(L, es_state(L), idx);
    if (trait != NULL) name = trait->relation ? "relation" : "trait";
    else if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING) {
      name = lua_tostring(L, -1);   /* ours are "ecsser.world" and so on */
      return strncmp(name, "ecsser.", 7) == 0 ? name + 7 : name;
    }
  } else if (lua_islightuserdata(L, idx) && lua_touserdata(L, idx) == NULL) {
    name = "ecs.null";
  } else if (lua_isnone(L, idx)) {
    name = "nothing";
  }
  return lua_pushstring(L, name);
}

int es_error_arg(lua_State *L, const char *fn, int n, const char *what,
                 int idx) {
  const char *got = es_error_typename(L, idx);
  return es_error(L, fn, "bad argument #%d (%s expected, got %s)", n, what,
                  got);
}

/* Lua keeps this very string, so that pushing it allocates nothing. */
void es_error_push_memory(lua_State *L) {
  lua_pushliteral(L, "not enough memory");
}

int es_error_memory(lua_State *L) {
  lua_settop(L, 0);
  es_error_push_memory(L);
  return lua_error(L);
}

int es_error_status(lua_State *L, es_Status status) {
  lua_Debug ar;
  const char *fn = "ecsser";
  if (status == ES_NOMEM) return es_error_memory(L);
  if (lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && ar.name != NULL)
    fn = ar.name;
  return es_error(L, fn, "too many entities or pairs for one world");
}

void es_error_serialize(lua_State *L, const char *code) {
  lua_createtable(L, 0, 4);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  es_state_push(L, ES_SHARED_ERROR);
  lua_setmetatable(L, -2);
}

/* A long path shows its two ends. [-0, +1] */
static const char *shorten(lua_State *L, const char *path, size_t n) {
  size_t head = 160, tail = n - 100;
  if (n <= 300) return lua_pushlstring(L, path, n);
  while (head > 0 && (path[head] & 0xC0) == 0x80) head--;
  while (tail < n && (path[tail] & 0xC0) == 0x80) tail++;
  lua_pushlstring(L, path, head);
  lua_pushliteral(L, "...");
  lua_pushlstring(L, path + tail, n - tail);
  lua_concat(L, 3);
  return lua_tostring(L, -1);
}

void es_error_at(lua_State *L, const char *fn, const char *code,
                 const es_Buffer *path, const char *root,
                 const char *reason) {
  const char *place;
  lua_pushlstring(L, path->data, path->len);
  place = shorten(L, path->data, path->len);
  lua_pushfstring(L, "%s: %s %s", fn, path->len > 0 ? place : root, reason);
  lua_remove(L, -2);
  es_error_serialize(L, code);   /* path error */
  lua_insert(L, -2);
  lua_setfield(L, -2, "path");
}

int es_error_is_serialize(lua_State *L, const es_State *s, int idx) {
  return lua_istable(L, idx) && es_state_has_meta(L, s, idx, ES_SHARED_ERROR);
}

int es_error_lua_is(lua_State *L) {
  lua_pushboolean(L, es_error_is_serialize(L, es_state(L), 1));
  return 1;
}

static int error_tostring(lua_State *L) {
  if (lua_istable(L, 1)) {
    lua_pushliteral(L, "message");
    if (lua_rawget(L, 1) == LUA_TSTRING) return 1;
  }
  lua_pushliteral(L, "SerializeError");
  return 1;
}

void es_error_open(lua_State *L, es_State *s) {
  lua_createtable(L, 0, 3);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "ecsser.SerializeError");
  lua_setfield(L, -2, "__name");
  es_state_share(L, s, ES_SHARED_ERROR);
}
