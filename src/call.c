/* call.c - see call.h */
#include "call.h"

#include <string.h>

/* The two texts that lua_yieldk raises where it cannot yield. */
static int is_yield_error(const char *message) {
  return strcmp(message, "attempt to yield across a C-call boundary") == 0 ||
         strcmp(message, "attempt to yield from outside a coroutine") == 0;
}

int es_call(lua_State *L, int nargs, int nresults, const char *what) {
  int status = lua_pcall(L, nargs, nresults, 0);
  if (status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING &&
      is_yield_error(lua_tostring(L, -1))) {
    lua_pop(L, 1);
    lua_pushfstring(L, "%s must not yield", what);
  }
  return status;
}
