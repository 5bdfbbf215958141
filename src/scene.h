/*
** scene.h - a snapshot that is parsed once and added many times.
*/
#ifndef ES_SCENE_H
#define ES_SCENE_H

#include "state.h"

/* ecs.scene(world, options) and ecs.scene(bytes) */
int es_scene_lua_new(lua_State *L);

void es_scene_open(lua_State *L, es_State *s);

#endif
