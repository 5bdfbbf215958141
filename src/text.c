/* text.c - see text.h */
#include "text.h"

#include <lauxlib.h>

#include "error.h"
#include "guard.h"
#include "json.h"
#include "luadoc.h"
#include "names.h"
#include "plan.h"
#include "quick.h"
#include "restore.h"
#include "save.h"

int es_text_lua_save(lua_State *L) {
  es_Op op;
  es_Buffer *out;
  es_JsonSink *sink;
  es_op_begin(L, &op, "saveJSON");
  out = es_guard_buffer(L);
  sink = lua_newuserdatauv(L, sizeof *sink, 0);
  es_sink_json(sink, out);
  es_save_world(&op, &sink->sink);
  lua_pushlstring(L, out->data, out->len);
  es_guard_release(L, -3);
  return 1;
}

/* Pushes the SerializeError of a text that cannot be read. */
static void push_text_error(lua_State *L, const char *fn, es_JsonError error,
                            size_t offset) {
  lua_pushfstring(L, "%s: the text is not JSON at byte %I: %s", fn,
                  (LUAI_UACINT)offset, es_json_message(error));
  es_error_serialize(L, ES_CODE_MALFORMED);
  lua_pushinteger(L, (lua_Integer)offset);
  lua_setfield(L, -2, "offset");
}

typedef es_JsonError (*es_JsonReadFn)(es_Document *d, const char *s, size_t n,
                                      size_t *offset);

/*
** Reads the string at 'idx' into a guarded document, which it pushes; or
** pushes nil and the error and returns NULL. [-0, +1 or +2]
*/
static es_Document *read_with(lua_State *L, const char *fn, int idx,
                              es_JsonReadFn read) {
  size_t n, offset = 0;
  const char *s = lua_tolstring(L, idx, &n);
  es_Document *d = es_guard_document(L);
  es_JsonError error = read(d, s, n, &offset);
  if (error == ES_JSON_NOMEM) {
    es_guard_release(L, -1);
    lua_pop(L, 1);
    lua_gc(L, LUA_GCCOLLECT, 0);
    d = es_guard_document(L);
    error = read(d, s, n, &offset);
  }
  if (error == ES_JSON_OK) return d;
  if (error == ES_JSON_NOMEM) es_error_memory(L);
  es_guard_release(L, -1);
  lua_pop(L, 1);
  lua_pushnil(L);
  push_text_error(L, fn, error, offset);
  return NULL;
}

static es_Document *read_text(lua_State *L, const char *fn, int idx) {
  return read_with(L, fn, idx, es_json_read);
}

int es_text_lua_restore(lua_State *L) {
  es_Op op;
  es_Document *d;
  const char *text;
  size_t n;
  es_op_change(L, &op, "restoreJSON");
  if (lua_type(L, 2) != LUA_TSTRING) return es_op_bad(&op, 1, "string", 2);
  es_restore_check_fresh(&op);
  text = lua_tolstring(L, 2, &n);
  if (es_quick_restore(&op, text, n)) return 1;
  d = read_text(L, "restoreJSON", 2);
  if (d == NULL) return lua_error(L);
  es_restore_document(&op, d, text, n);
  es_guard_release(L, -2);
  return 1;
}

int es_text_lua_encode(lua_State *L) {
  es_Buffer *out, *path;
  es_JsonSink *sink;
  es_LuaWalk *walk;
  const char *wrong;
  if (lua_isnone(L, 1)) return es_error_arg(L, "encode", 1, "value", 1);
  lua_settop(L, 1);
  out = es_guard_buffer(L);
  sink = lua_newuserdatauv(L, sizeof *sink, 0);
  es_sink_json(sink, out);
  walk = es_luadoc_walk(L, es_state(L), &sink->sink);
  wrong = es_luadoc_emit(walk, 1);
  if (wrong == NULL) {
    lua_pushlstring(L, out->data, out->len);
    es_guard_release(L, 2);
    return 1;
  }
  path = es_guard_buffer(L);
  es_try_put(L, path, es_luadoc_path(walk, path));
  es_error_at(L, "encode", ES_CODE_NOT_SERIALIZABLE, path, "the value",
              wrong);
  return lua_error(L);
}

/* The options at 2: what a key that occurs twice means. [-0, +0] */
static es_JsonReadFn read_duplicates(lua_State *L) {
  static const char *const known[] = {"duplicates"};
  int last, type;
  if (lua_isnoneornil(L, 2)) return es_json_read;
  if (!lua_istable(L, 2)) es_error_arg(L, "decode", 2, "options table", 2);
  es_names_check_options(L, "decode", 2, known, 1);
  lua_pushliteral(L, "duplicates");
  type = lua_rawget(L, 2);
  last = es_names_is(L, -1, "last");
  if (type != LUA_TNIL && !last && !es_names_is(L, -1, "error"))
    es_error(L, "decode", "option 'duplicates': \"error\" or \"last\" "
                          "expected, got %s", es_error_typename(L, -1));
  lua_pop(L, 1);
  return last ? es_json_read_last : es_json_read;
}

int es_text_lua_decode(lua_State *L) {
  es_Document *d;
  if (lua_type(L, 1) != LUA_TSTRING)
    return es_error_arg(L, "decode", 1, "string", 1);
  d = read_with(L, "decode", 1, read_duplicates(L));
  if (d == NULL) return lua_error(L);
  es_luadoc_push(L, d, 0, 0);
  es_guard_release(L, -2);
  return 1;
}

/* What a check looks at. */
typedef struct es_Check {
  const es_Op *op;
  const es_Document *doc;
  const char *text;   /* NULL: it is a table */
  size_t length;
} es_Check;

/* nil and a list of one error, which is on top. */
static int one_error(lua_State *L) {
  lua_createtable(L, 1, 0);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 1);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* Runs protected: 1 world, 2 anchors, 3 the check. Returns true, or not. */
static int check(lua_State *L) {
  const es_Check *c = lua_touserdata(L, 3);
  es_Op op = *c->op;
  es_Plan *plan;
  es_op_enter(&op, L);
  es_need_stack(L, 2 * LUA_MINSTACK);
  plan = lua_newuserdatauv(L, sizeof *plan, 0);
  es_plan_make(plan, &op, c->doc, c->text, c->length, 4);
  lua_pushboolean(L, plan->nerrors == 0);
  return 1;
}

/* True, or nil and all errors. Nothing changes. */
int es_text_lua_check(lua_State *L) {
  es_Op op;
  es_Check c = {&op, NULL, NULL, 0};
  uint32_t readonly;
  int errors, status;
  es_op_begin(L, &op, "checkSnapshot");
  if (op.top < 2) return es_op_bad(&op, 1, "snapshot table or text", 2);
  if (lua_type(L, 2) == LUA_TSTRING) c.text = lua_tolstring(L, 2, &c.length);
  c.doc = c.text != NULL ? read_text(L, op.fn, 2)
                         : es_restore_read_table(&op, 2);
  if (c.doc == NULL) return one_error(L);
  lua_newtable(L);
  errors = lua_gettop(L);
  es_op_push_call(&op, check);
  lua_pushlightuserdata(L, &c);
  lua_pushvalue(L, errors);
  readonly = op.w->readonly;
  es_op_lock(&op);   /* the names must stay as they are */
  status = lua_pcall(L, 4, 1, 0);
  es_op_unlock(&op, readonly);
  if (status != LUA_OK) return lua_error(L);
  if (lua_toboolean(L, -1)) return 1;
  lua_pushnil(L);
  lua_pushvalue(L, errors);
  return 2;
}
