/*
** floor.c - bench.floor: the least that moving a world's values through the
** C API can cost. For the benchmarks only.
**
** The functions take a list of columns, each { table, keys, sample }: a table
** of values, what floor.keys made of the list of the values' keys, and a
** value such as they are.
*/
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

EXPORT int luaopen_bench_floor(lua_State *L);

/* keys(list of integers) --> the same as a block of memory */
static int keys(lua_State *L) {
  lua_Integer i, n;
  uint32_t *block;
  luaL_checktype(L, 1, LUA_TTABLE);
  n = (lua_Integer)lua_rawlen(L, 1);
  block = lua_newuserdatauv(L, (size_t)n * sizeof *block, 0);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    block[i] = (uint32_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  return 1;
}

/* Pushes table, keys and sample of a column, and returns the keys. */
static const uint32_t *push_column(lua_State *L, lua_Integer i, size_t *n) {
  lua_rawgeti(L, 1, i);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_rawgeti(L, -3, 3);
  *n = lua_rawlen(L, -2) / sizeof(uint32_t);
  return lua_touserdata(L, -2);
}

/* read(columns) --> how many values; each is read once */
static int read_all(lua_State *L) {
  lua_Integer i, count = (lua_Integer)lua_rawlen(L, 1), seen = 0;
  for (i = 1; i <= count; i++) {
    size_t k, n;
    const uint32_t *at = push_column(L, i, &n);
    int table = lua_gettop(L) - 2;
    for (k = 0; k < n; k++) {
      seen += lua_rawgeti(L, table, at[k]) != LUA_TNIL;
      lua_pop(L, 1);
    }
    lua_settop(L, 1);
  }
  lua_pushinteger(L, seen);
  return 1;
}

/* As the core does: an array unless most of it would stay empty. */
static void new_table(lua_State *L, size_t n, uint32_t top) {
  if (n > top / 2) lua_createtable(L, (int)top, 0);
  else lua_createtable(L, 0, (int)n);
}

/* write(columns) --> list of new tables with as many values */
static int write_all(lua_State *L) {
  lua_Integer i, count = (lua_Integer)lua_rawlen(L, 1);
  lua_createtable(L, (int)count, 0);
  for (i = 1; i <= count; i++) {
    size_t k, n;
    const uint32_t *at = push_column(L, i, &n);
    int sample = lua_gettop(L);
    new_table(L, n, n > 0 ? at[n - 1] : 0);
    for (k = 0; k < n; k++) {
      lua_pushvalue(L, sample);
      lua_rawseti(L, -2, at[k]);
    }
    lua_rawseti(L, 2, i);
    lua_settop(L, 2);
  }
  return 1;
}

int luaopen_bench_floor(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"keys", keys}, {"read", read_all}, {"write", write_all}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
