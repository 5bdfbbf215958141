/*
** stray.h - finding handles that a save would write as plain numbers.
*/
#ifndef ES_STRAY_H
#define ES_STRAY_H

#include <lua.h>

/*
** ecs.findStrayHandles(world) --> list of { entity, trait, path, value }:
** numbers that are live handles of this world, in registered traits and pair
** data, but neither declared in refs nor under a codec. Nothing changes.
*/
int es_stray_lua_find(lua_State *L);

#endif
