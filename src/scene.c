/* scene.c - see scene.h */
#include "scene.h"

#include <lauxlib.h>

#include "append.h"
#include "guard.h"
#include "load.h"
#include "shot.h"

/* User values of a scene, which is nothing but them. */
enum { FIELDS = 1, IMAGE, USER_VALUES = IMAGE };

static int is_scene(lua_State *L, int idx) {
  return lua_type(L, idx) == LUA_TUSERDATA &&
         es_state_has_meta(L, es_state(L), idx, ES_SHARED_SCENE);
}

/* scene:instantiate(world, options) --> list of new entities */
static int instantiate(lua_State *L) {
  const es_Image *image;
  es_Op op;
  if (!is_scene(L, 1))
    return es_error(L, "instantiate", "bad scene (scene expected, got %s)",
                    es_error_typename(L, 1));
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, IMAGE);
  image = es_guard_get(L, -1);
  if (image == NULL)
    return es_error(L, "instantiate", "the scene is gone");
  lua_pop(L, 1);
  lua_pushvalue(L, 1);   /* the scene stays anchored */
  lua_remove(L, 1);      /* world options scene */
  es_op_change(L, &op, "instantiate");
  if (op.w->restoring || op.w->resetting)
    return es_error(L, "instantiate", "the world is being restored or reset");
  es_append_image(&op, image, 2);
  return 1;
}

static void push_names(lua_State *L, const es_Image *image) {
  uint32_t i;
  lua_createtable(L, (int)image->ntraits, 0);
  for (i = 0; i < image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(image, i);
    lua_pushlstring(L, t->name, t->len);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Makes a scene of the bytes on top. [-1, +1] */
static void make_scene(lua_State *L) {
  int bytes = lua_gettop(L);
  const es_Image *image;
  lua_newuserdatauv(L, 0, USER_VALUES);
  image = es_load_image(L, "scene", bytes, 1);
  es_guard_keep(L, bytes + 2);
  lua_setiuservalue(L, bytes + 1, IMAGE);
  lua_createtable(L, 0, 4);
  lua_pushvalue(L, bytes);
  lua_setfield(L, -2, "bytes");
  lua_pushinteger(L, image->count);
  lua_setfield(L, -2, "entityCount");
  push_names(L, image);
  lua_setfield(L, -2, "traitNames");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, instantiate, 1);
  lua_setfield(L, -2, "instantiate");
  lua_setiuservalue(L, bytes + 1, FIELDS);
  es_state_push(L, ES_SHARED_SCENE);
  lua_setmetatable(L, bytes + 1);
  lua_settop(L, bytes + 1);
}

int es_scene_lua_new(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING &&
      es_world_test(L, es_state(L), 1) == NULL)
    return es_error_arg(L, "scene", 1, "world or snapshot bytes", 1);
  if (lua_type(L, 1) != LUA_TSTRING) {
    es_shot_push_bytes(L, "scene", 1);
  } else if (!lua_isnoneornil(L, 2)) {
    return es_error(L, "scene", "bad argument #2 (bytes take no options)");
  } else {
    lua_settop(L, 1);
  }
  make_scene(L);
  return 1;
}

static int scene_index(lua_State *L) {
  if (!is_scene(L, 1))
    return es_error_arg(L, "scene", 1, "scene", 1);
  lua_getiuservalue(L, 1, FIELDS);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

void es_scene_open(lua_State *L, es_State *s) {
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, scene_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "ecsser.scene");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_SCENE);
}
