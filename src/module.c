/*
** module.c - the one exported symbol, and the table of functions.
**
** Every function has the state (state.h) as upvalue 1.
*/
#include <lauxlib.h>
#include <lua.h>

#include "append.h"
#include "call.h"
#include "error.h"
#include "guard.h"
#include "handler.h"
#include "load.h"
#include "luadoc.h"
#include "methods.h"
#include "query.h"
#include "restore.h"
#include "save.h"
#include "scene.h"
#include "shot.h"
#include "state.h"
#include "stray.h"
#include "text.h"
#include "trait.h"
#include "world.h"

#if defined(__GNUC__)
#define ES_EXPORT __attribute__((visibility("default")))
#else
#define ES_EXPORT
#endif

ES_EXPORT int luaopen_ecsser_core(lua_State *L);

static const luaL_Reg world_methods[] = {
    {"spawn", es_method_spawn},
    {"destroy", es_method_destroy},
    {"isAlive", es_method_is_alive},
    {"add", es_method_add},
    {"remove", es_method_remove},
    {"has", es_method_has},
    {"get", es_method_get},
    {"set", es_method_set},
    {"column", es_method_column},
    {"targets", es_method_targets},
    {"sources", es_method_sources},
    {"query", es_method_query},
    {"each", es_method_each},
    {"slots", es_method_slots},
    {"entities", es_method_entities},
    {"traits", es_method_traits},
    {"count", es_method_count},
    {"find", es_method_find},
    {"reset", es_method_reset},
    {"onAdd", es_method_on_add},
    {"onRemove", es_method_on_remove},
    {"onChange", es_method_on_change},
    {"onQueryAdd", es_method_on_query_add},
    {"onQueryRemove", es_method_on_query_remove},
    {"close", es_world_lua_close},
    {NULL, NULL}};

/* ecs.unpack(handle) --> world id, generation, slot */
static int unpack(lua_State *L) {
  es_Entity e = es_world_handle(L, 1);
  if (e == 0) return es_error_arg(L, "unpack", 1, "entity", 1);
  lua_pushinteger(L, es_entity_world(e));
  lua_pushinteger(L, es_entity_generation(e));
  lua_pushinteger(L, es_entity_slot(e));
  return 3;
}

static const luaL_Reg functions[] = {
    {"trait", es_trait_lua_trait},
    {"relation", es_trait_lua_relation},
    {"isTrait", es_trait_lua_is_trait},
    {"isRelation", es_trait_lua_is_relation},
    {"Not", es_term_lua_not},
    {"Or", es_term_lua_or},
    {"createWorld", es_world_lua_create},
    {"unpack", unpack},
    {"isSerializeError", es_error_lua_is},
    {"registerTraits", es_registry_lua_register},
    {"ignoreTraits", es_registry_lua_ignore},
    {"getTraitName", es_registry_lua_name},
    {"saveWorld", es_save_lua_world},
    {"restoreWorld", es_restore_lua_world},
    {"saveJSON", es_text_lua_save},
    {"restoreJSON", es_text_lua_restore},
    {"encode", es_text_lua_encode},
    {"decode", es_text_lua_decode},
    {"checkSnapshot", es_text_lua_check},
    {"findStrayHandles", es_stray_lua_find},
    {"saveSnapshot", es_shot_lua_save},
    {"loadSnapshot", es_load_lua_load},
    {"hashWorld", es_shot_lua_hash},
    {"inspectSnapshot", es_load_lua_inspect},
    {"addSnapshotHandler", es_handler_lua_add},
    {"appendSnapshot", es_append_lua},
    {"scene", es_scene_lua_new},
    {"array", es_luadoc_lua_array},
    {NULL, NULL}};

/* A column from before a reset, or of a closed world. */
static int dead_column(lua_State *L) {
  return luaL_error(L, "this column is from before a reset or load, or its "
                       "world is closed; ask world:column again");
}

static void open_dead(lua_State *L, es_State *s) {
  static const luaL_Reg meta[] = {{"__index", dead_column},
                                  {"__newindex", dead_column},
                                  {"__len", dead_column},
                                  {"__pairs", dead_column},
                                  {NULL, NULL}};
  lua_createtable(L, 0, 5);
  luaL_setfuncs(L, meta, 0);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_DEAD);
}

/* [-0, +0]; the state is upvalue 1 of the running function. */
static void open_world(lua_State *L, es_State *s) {
  static const luaL_Reg meta[] = {{"__gc", es_world_lua_gc},
                                  {"__close", es_world_lua_close},
                                  {NULL, NULL}};
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, meta, 1);
  luaL_newlibtable(L, world_methods);
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, world_methods, 1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "ecsser.world");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_WORLD);
}

static void open_array(lua_State *L, es_State *s) {
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "ecsser.array");
  lua_setfield(L, -2, "__name");
  es_state_share(L, s, ES_SHARED_ARRAY);
}

/* Pushes the module's table. */
static int open_module(lua_State *L) {
  es_State *s = es_state(L);
  es_guard_open(L, s);
  es_call_open(L, s);
  es_error_open(L, s);
  es_trait_open(L, s);
  es_term_open(L, s);
  es_scene_open(L, s);
  open_dead(L, s);
  open_array(L, s);
  open_world(L, s);
  es_world_open(L, s);
  luaL_newlibtable(L, functions);
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, functions, 1);
  es_state_push(L, ES_SHARED_EXCLUDED);
  lua_setfield(L, -2, "IsExcluded");
  es_state_push(L, ES_SHARED_KEY);
  lua_setfield(L, -2, "Key");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  return 1;
}

int luaopen_ecsser_core(lua_State *L) {
  luaL_checkversion(L);
  es_state_new(L);
  lua_pushcclosure(L, open_module, 1);
  lua_call(L, 0, 1);
  return 1;
}
