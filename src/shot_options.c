/* shot_options.c - ecs.saveSnapshot and ecs.hashWorld; see shot.h */
#include <string.h>

#include <lauxlib.h>

#include "digest.h"
#include "guard.h"
#include "load.h"
#include "names.h"
#include "shot.h"
#include "table.h"

static void bad_option(const es_Op *op, const char *name,
                       const char *expected) {
  es_error(op->L, op->fn, "option '%s': %s expected, got %s", name, expected,
           es_error_typename(op->L, lua_gettop(op->L)));
}

/* Pushes the option of the table at 2; its index, or 0 when it is nil. */
static int read_option(const es_Op *op, const char *name, int type,
                       int other, const char *expected) {
  int got;
  lua_pushstring(op->L, name);
  got = lua_rawget(op->L, 2);
  if (got == LUA_TNIL) return 0;
  if (got != type && got != other) bad_option(op, name, expected);
  return lua_gettop(op->L);
}

/*
** The options at 2. Leaves them on the stack. True for the table form. A
** scene is bytes, and has no use for data.
*/
static int read_options(const es_Op *op, es_ShotOptions *o, int scene) {
  static const char *const known[] = {"filter", "exclude", "meta", "dangling",
                                      "format", "data"};
  lua_State *L = op->L;
  int at, table = 0;
  memset(o, 0, sizeof *o);
  if (lua_isnil(L, 2)) return 0;
  if (!lua_istable(L, 2)) es_op_bad(op, scene ? 2 : 1, "options table", 2);
  es_names_check_options(L, op->fn, 2, known, scene ? 4 : 6);
  o->filter = read_option(op, "filter", LUA_TTABLE, LUA_TFUNCTION,
                          "list of terms or function");
  o->exclude = read_option(op, "exclude", LUA_TTABLE, LUA_TTABLE,
                           "list of traits");
  o->meta = read_option(op, "meta", LUA_TTABLE, LUA_TTABLE, "table");
  o->data = read_option(op, "data", LUA_TTABLE, LUA_TTABLE, "table");
  at = read_option(op, "dangling", LUA_TSTRING, LUA_TSTRING, "string");
  if (at != 0 && !es_names_is(L, at, "null") && !es_names_is(L, at, "error"))
    bad_option(op, "dangling", "\"error\" or \"null\"");
  o->null_dangling = at != 0 && es_names_is(L, at, "null");
  at = read_option(op, "format", LUA_TSTRING, LUA_TSTRING, "string");
  if (at != 0 && !(table = es_names_is(L, at, "table")) &&
      !es_names_is(L, at, "binary"))
    bad_option(op, "format", "\"binary\" or \"table\"");
  return table;
}

int es_shot_push_bytes(lua_State *L, const char *fn, int compact) {
  es_Op op;
  es_ShotOptions options;
  es_Buffer *out;
  int table, guard;
  es_op_begin(L, &op, fn);
  table = read_options(&op, &options, compact);
  options.compact = compact;
  out = es_guard_buffer(L);
  guard = lua_gettop(L);
  es_shot_take(&op, &options, out);
  lua_pushlstring(L, out->data, out->len);
  es_guard_release(L, guard);
  return table;
}

int es_shot_lua_save(lua_State *L) {
  if (es_shot_push_bytes(L, "saveSnapshot", 0))
    es_table_push(L, es_load_image(L, "saveSnapshot", lua_gettop(L), 1));
  return 1;
}

int es_shot_lua_hash(lua_State *L) {
  es_Op op;
  es_ShotOptions options;
  es_Buffer *out;
  char hex[16];
  uint64_t digest = 0;
  int i;
  es_op_begin(L, &op, "hashWorld");
  memset(&options, 0, sizeof options);
  out = es_guard_buffer(L);
  es_shot_take(&op, &options, out);
  for (i = 7; i >= 0; i--)   /* the digest is the last eight bytes */
    digest = digest << 8 | (unsigned char)out->data[out->len - 8 + (size_t)i];
  es_digest_hex(digest, hex);
  lua_pushlstring(L, hex, sizeof hex);
  return 1;
}
