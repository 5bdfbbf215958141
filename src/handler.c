/* handler.c - see handler.h */
#include "handler.h"

#include <lauxlib.h>

#include "call.h"
#include "error.h"
#include "names.h"

/* Fields of a kept handler. */
enum { H_NAME = 1, H_SAVE, H_LOAD, H_FINISH };

/* Pushes the list of handlers, or nil. [-0, +1] */
static lua_Integer push_list(const es_Op *op) {
  if (op->w->handlers == 0) {
    lua_pushnil(op->L);
    return 0;
  }
  lua_rawgeti(op->L, op->anchors, op->w->handlers);
  return (lua_Integer)lua_rawlen(op->L, -1);
}

/* Copies the function 'name' of the table at 2 into field 'i' on top. */
static void keep_function(const es_Op *op, const char *name, int i) {
  lua_State *L = op->L;
  lua_pushstring(L, name);
  lua_rawget(L, 2);
  if (!lua_isnil(L, -1) && !lua_isfunction(L, -1))
    es_error(L, op->fn, "option '%s': function expected, got %s", name,
             es_error_typename(L, lua_gettop(L)));
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 0);   /* keeps the table a sequence */
  }
  lua_rawseti(L, -2, i);
}

static void check_new(const es_Op *op) {
  lua_State *L = op->L;
  lua_Integer i, n = push_list(op);
  for (i = 1; i <= n; i++) {   /* handler list */
    lua_rawgeti(L, -1, i);
    lua_rawgeti(L, -1, H_NAME);
    lua_rawgeti(L, -4, H_NAME);
    if (lua_rawequal(L, -1, -2)) {
      size_t len;
      const char *name = lua_tolstring(L, -1, &len);
      es_error(L, op->fn, "there is a handler named %s already",
               es_names_quote(L, name, len));
    }
    lua_pop(L, 3);
  }
  lua_pop(L, 1);
}

int es_handler_lua_add(lua_State *L) {
  static const char *const known[] = {"name", "save", "load", "finish"};
  es_Op op;
  lua_Integer i, n;
  int list;
  es_op_change(L, &op, "addSnapshotHandler");
  if (!lua_istable(L, 2)) return es_op_bad(&op, 1, "handler table", 2);
  es_names_check_options(L, op.fn, 2, known, 4);
  lua_createtable(L, 4, 0);
  lua_pushliteral(L, "name");
  if (lua_rawget(L, 2) != LUA_TSTRING)
    return es_error(L, op.fn, "option 'name': string expected, got %s",
                    es_error_typename(L, lua_gettop(L)));
  if (lua_rawlen(L, -1) == 0)
    return es_error(L, op.fn, "option 'name': the string is empty");
  lua_rawseti(L, -2, H_NAME);
  keep_function(&op, "save", H_SAVE);
  keep_function(&op, "load", H_LOAD);
  keep_function(&op, "finish", H_FINISH);
  check_new(&op);
  lua_newtable(L);   /* a new list: the old one may be walked right now */
  list = lua_gettop(L);
  n = push_list(&op);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, list, i);
  }
  lua_pushvalue(L, list - 1);
  lua_rawseti(L, list, n + 1);
  lua_pushvalue(L, list);
  lua_rawseti(L, op.anchors, op.w->anchors + 1);
  op.w->handlers = es_world_anchor(op.w);
  return 0;
}

/* Calls the function and arguments on top. A status; -1 results kept. */
static int call(const es_Op *op, int nargs, int nresults) {
  int status;
  op->w->busy++;
  status = es_call(op->L, nargs, nresults, "a snapshot handler");
  op->w->busy--;
  return status;
}

/* A copy of the custom data; its keys must be strings. [-0, +1] */
static void push_data(const es_Op *op, int data) {
  lua_State *L = op->L;
  lua_newtable(L);
  if (data == 0) return;
  lua_pushnil(L);
  while (lua_next(L, data)) {   /* copy key value */
    if (lua_type(L, -2) != LUA_TSTRING)
      es_error(L, op->fn, "data: the keys must be strings");
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

/* The result on top becomes data[name]. [-1, +0] */
static void put_result(const es_Op *op, int handler, int data) {
  lua_State *L = op->L;
  size_t len;
  const char *name;
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_rawgeti(L, handler, H_NAME);
  lua_pushvalue(L, -1);
  if (lua_rawget(L, data) != LUA_TNIL) {
    name = lua_tolstring(L, -2, &len);
    es_error(L, op->fn, "data: the key %s belongs to a handler",
             es_names_quote(L, name, len));
  }
  lua_pop(L, 1);
  lua_insert(L, -2);
  lua_rawset(L, data);
}

void es_handler_save_all(const es_Op *op, int ctx, int data) {
  lua_State *L = op->L;
  lua_Integer i, n;
  int all, list;
  push_data(op, data);
  all = lua_gettop(L);
  n = push_list(op);
  list = lua_gettop(L);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    if (lua_rawgeti(L, -1, H_SAVE) == LUA_TFUNCTION) {
      lua_pushvalue(L, op->world);
      lua_pushvalue(L, ctx);
      if (call(op, 2, 1) != LUA_OK) lua_error(L);
      put_result(op, list + 1, all);
    }
    lua_settop(L, list);
  }
  lua_settop(L, all);
}

int es_handler_load_all(const es_Op *op, int ctx, int data) {
  lua_State *L = op->L;
  lua_Integer i, n = push_list(op);
  int list = lua_gettop(L), status;
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, -1, H_NAME);
    if (lua_rawgeti(L, -2, H_LOAD) == LUA_TFUNCTION) {
      lua_pushvalue(L, op->world);
      lua_pushvalue(L, -3);
      lua_rawget(L, data);
      lua_pushvalue(L, ctx);
      status = call(op, 3, 0);
      if (status != LUA_OK) return status;
    } else {
      lua_pop(L, 1);
    }
    lua_pushnil(L);          /* handler name nil: it has been told */
    lua_rawset(L, data);
    lua_settop(L, list);
  }
  lua_pop(L, 1);
  return LUA_OK;
}

int es_handler_finish_all(const es_Op *op, int header) {
  lua_State *L = op->L;
  lua_Integer i, n = push_list(op);
  int list = lua_gettop(L), status;
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    if (lua_rawgeti(L, -1, H_FINISH) == LUA_TFUNCTION) {
      lua_pushvalue(L, op->world);
      lua_pushvalue(L, header);
      status = call(op, 2, 0);
      if (status != LUA_OK) return status;
    }
    lua_settop(L, list);
  }
  lua_pop(L, 1);
  return LUA_OK;
}
