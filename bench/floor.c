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

/* The values inside of the table on top, and of the tables in it. */
static lua_Integer count_inside(lua_State *L) {
  lua_Integer seen = 0;
  int table = lua_gettop(L);
  luaL_checkstack(L, 4, "a nested value");
  lua_pushnil(L);
  while (lua_next(L, table)) {
    seen++;
    if (lua_istable(L, -1)) seen += count_inside(L);
    lua_pop(L, 1);
  }
  return seen;
}

/* inside(columns) --> how many values; those inside of tables as well */
static int read_inside(lua_State *L) {
  lua_Integer i, count = (lua_Integer)lua_rawlen(L, 1), seen = 0;
  for (i = 1; i <= count; i++) {
    size_t k, n;
    const uint32_t *at = push_column(L, i, &n);
    int table = lua_gettop(L) - 2;
    for (k = 0; k < n; k++) {
      int type = lua_rawgeti(L, table, at[k]);
      seen += type != LUA_TNIL;
      if (type == LUA_TTABLE) seen += count_inside(L);
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

/* Pushes a copy of the value at 'idx': of a table, with all that is in it. */
static void push_copy(lua_State *L, int idx) {
  int copy;
  luaL_checkstack(L, 6, "a nested value");
  if (!lua_istable(L, idx)) {
    lua_pushvalue(L, idx);
    return;
  }
  lua_createtable(L, (int)lua_rawlen(L, idx), lua_rawlen(L, idx) > 0 ? 0 : 3);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    lua_pushvalue(L, -2);             /* key value key */
    push_copy(L, lua_gettop(L) - 1);
    lua_rawset(L, copy);
    lua_pop(L, 1);
  }
}

/* The values of one column into the table on top; the sample is below it. */
static void fill(lua_State *L, const uint32_t *at, size_t n, int copies) {
  int sample = lua_gettop(L) - 1;
  size_t k;
  for (k = 0; k < n; k++) {
    if (copies) push_copy(L, sample);
    else lua_pushvalue(L, sample);
    lua_rawseti(L, -2, at[k]);
  }
}

/* The columns at 1 --> list of new tables with as many values. */
static int write_columns(lua_State *L, int copies) {
  lua_Integer i, count = (lua_Integer)lua_rawlen(L, 1);
  lua_createtable(L, (int)count, 0);
  for (i = 1; i <= count; i++) {
    size_t n;
    const uint32_t *at = push_column(L, i, &n);
    new_table(L, n, n > 0 ? at[n - 1] : 0);
    fill(L, at, n, copies);
    lua_rawseti(L, 2, i);
    lua_settop(L, 2);
  }
  return 1;
}

/* write(columns): each value is written once */
static int write_all(lua_State *L) { return write_columns(L, 0); }

/* copies(columns): the same, and every table is a new one */
static int write_copies(lua_State *L) { return write_columns(L, 1); }

int luaopen_bench_floor(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"keys", keys},       {"read", read_all},        {"inside", read_inside},
      {"write", write_all}, {"copies", write_copies}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
