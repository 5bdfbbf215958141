/* observer.c - see observer.h */
#include "observer.h"

#include <lauxlib.h>

#include "call.h"
#include "error.h"
#include "query.h"

/* Box fields. */
enum { BOX_FUNCTION = 1, BOX_TARGET = 2 };

/* Pushes a copy of the list on top without the box at 'box'. [-0, +1] */
static void push_without(lua_State *L, int list, int box) {
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, list), m = 0;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    if (box != 0 && lua_rawequal(L, -1, box)) lua_pop(L, 1);
    else lua_rawseti(L, -2, ++m);
  }
}

/* Upvalues: 1 state, 2 world, 3 anchor, 4 box. */
static int unsubscribe(lua_State *L) {
  es_World *w = es_world_held(L, lua_upvalueindex(2));
  es_Op op = {L, w, "unsubscribe", 0, 0, 0};
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(4));
  if (!w->open || lua_rawgeti(L, 1, BOX_FUNCTION) == LUA_TNIL) return 0;
  lua_settop(L, 1);
  lua_getiuservalue(L, lua_upvalueindex(2), 1);
  lua_rawgeti(L, -1, lua_tointeger(L, lua_upvalueindex(3)));
  push_without(L, lua_gettop(L), 1);
  lua_rawseti(L, -3, lua_tointeger(L, lua_upvalueindex(3)));
  lua_pushnil(L);
  lua_rawseti(L, 1, BOX_FUNCTION);   /* also where the list is walked now */
  op.anchors = 2;
  es_query_prune(&op);
  return 0;
}

static void push_box(lua_State *L, int fn, es_Entity target) {
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, fn);
  lua_rawseti(L, -2, BOX_FUNCTION);
  if (target == 0) return;
  es_world_push(L, target);
  lua_rawseti(L, -2, BOX_TARGET);
}

void es_observer_add(const es_Op *op, int *anchor, int fn,
                     es_Entity target) {
  lua_State *L = op->L;
  int at = *anchor != 0 ? *anchor : es_world_anchor(op->w);
  push_box(L, fn, target);
  if (lua_rawgeti(L, op->anchors, at) == LUA_TTABLE) {
    push_without(L, lua_gettop(L), 0);
  } else {
    lua_createtable(L, 1, 0);
  }                                   /* box old new */
  lua_remove(L, -2);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, op->world);
  lua_pushinteger(L, at);
  lua_pushvalue(L, -5);
  lua_pushcclosure(L, unsubscribe, 4); /* box new closure */
  lua_insert(L, -3);
  lua_rawseti(L, op->anchors, at);
  lua_pop(L, 1);
  *anchor = at;
  op->w->observed = 1;
}

int es_observer_none(const es_Op *op, int anchor) {
  int none = 1;
  if (anchor == 0) return 1;
  if (lua_rawgeti(op->L, op->anchors, anchor) == LUA_TTABLE)
    none = lua_rawlen(op->L, -1) == 0;
  lua_pop(op->L, 1);
  return none;
}

/* The entity still has what the occasion is about. */
static int still(const es_World *w, const es_Occasion *what) {
  uint32_t slot = es_entity_slot(what->entity);
  if (what->store == NULL) return 1;
  if (!es_entity_is_alive(&w->entities, what->entity)) return 0;
  if (what->target != 0)
    return es_entity_is_alive(&w->entities, what->target) &&
           es_pairs_find(&what->store->pairs, slot,
                         es_entity_slot(what->target)) != 0;
  return es_bitset_test(&what->store->has, slot);
}

/* Pops a box and calls its function. [-1, +0], or +1 with an error. */
static int call_box(const es_Op *op, const es_Occasion *what) {
  lua_State *L = op->L;
  int status = LUA_OK, mine = 1;
  if (lua_rawgeti(L, -1, BOX_TARGET) == LUA_TNUMBER)
    mine = (es_Entity)lua_tointeger(L, -1) == what->target;
  lua_pop(L, 1);
  if (mine && lua_rawgeti(L, -1, BOX_FUNCTION) == LUA_TFUNCTION) {
    lua_remove(L, -2);
    es_world_push(L, what->entity);
    if (what->target != 0) es_world_push(L, what->target);
    op->w->busy++;
    status = es_call(L, what->target != 0 ? 2 : 1, 0, "an observer");
    op->w->busy--;
    return status;
  }
  lua_pop(L, mine ? 2 : 1);
  return LUA_OK;
}

/* So many errors have their place before they happen. */
enum { ERRORS_ROOM = 4 };

void es_observer_new_errors(lua_State *L) {
  lua_createtable(L, ERRORS_ROOM, 0);
}

/* Runs protected: 1 the list, 2 the error. */
static int append_error(lua_State *L) {
  lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
  return 0;
}

/* Appends the error on top to the list; later ones if memory allows. */
static void keep_error(lua_State *L, int errors) {
  lua_Integer n = lua_istable(L, errors) ? (lua_Integer)lua_rawlen(L, errors)
                                         : ERRORS_ROOM;
  if (n < ERRORS_ROOM) {
    lua_rawseti(L, errors, n + 1);
    return;
  }
  if (lua_istable(L, errors)) {
    lua_pushcfunction(L, append_error);
    lua_insert(L, -2);
    lua_pushvalue(L, errors);
    lua_insert(L, -2);
    if (lua_pcall(L, 2, 0, 0) == LUA_OK) return;
  }
  lua_pop(L, 1);
}

int es_observer_call(const es_Op *op, int anchor, const es_Occasion *what,
                     int errors) {
  lua_State *L = op->L;
  lua_Integer i, n;
  int list, status;
  if (anchor == 0) return LUA_OK;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    es_error_push_memory(L);   /* that much room every call of ours has */
    if (errors == ES_STOP) return LUA_ERRMEM;
    keep_error(L, errors);
    return LUA_OK;
  }
  lua_rawgeti(L, op->anchors, anchor);
  list = lua_gettop(L);
  n = lua_istable(L, list) ? (lua_Integer)lua_rawlen(L, list) : 0;
  for (i = 1; i <= n && still(op->w, what); i++) {
    lua_rawgeti(L, list, i);
    status = call_box(op, what);
    if (status == LUA_OK) continue;
    if (errors == ES_STOP) {
      lua_remove(L, list);
      return status;
    }
    keep_error(L, errors);
  }
  lua_pop(L, 1);
  return LUA_OK;
}
