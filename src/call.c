/* call.c - see call.h */
#include "call.h"

#include <string.h>

/* The two texts that lua_yieldk raises where it cannot yield. */
static int is_yield_error(const char *message) {
  return strcmp(message, "attempt to yield across a C-call boundary") == 0 ||
         strcmp(message, "attempt to yield from outside a coroutine") == 0;
}

/* Who may be called; the first one stands for all others. */
static const char *const callers[][2] = {
    {"a callback", "a callback must not yield"},
    {"an observer", "an observer must not yield"},
    {"a codec", "a codec must not yield"},
    {"a factory", "a factory must not yield"},
    {"a filter", "a filter must not yield"},
    {"patch", "patch must not yield"},
    {"a snapshot handler", "a snapshot handler must not yield"}};

enum { CALLERS = sizeof callers / sizeof callers[0] };

static const char *message_about(const char *what) {
  size_t i;
  for (i = 1; i < CALLERS; i++)
    if (strcmp(callers[i][0], what) == 0) return callers[i][1];
  return callers[0][1];
}

void es_call_open(lua_State *L, es_State *s) {
  int i;
  lua_createtable(L, CALLERS, 0);
  for (i = 0; i < CALLERS; i++) {
    lua_pushstring(L, callers[i][1]);
    lua_rawseti(L, -2, i + 1);
  }
  es_state_share(L, s, ES_SHARED_MESSAGES);
}

int es_call(lua_State *L, int nargs, int nresults, const char *what) {
  int status = lua_pcall(L, nargs, nresults, 0);
  if (status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING &&
      is_yield_error(lua_tostring(L, -1))) {
    lua_pop(L, 1);
    lua_pushstring(L, message_about(what));   /* kept: allocates nothing */
  }
  return status;
}
