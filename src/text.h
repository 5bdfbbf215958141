/*
** text.h - the module's own JSON text route, and checks without a change.
*/
#ifndef ES_TEXT_H
#define ES_TEXT_H

#include <lua.h>

/* ecs.saveJSON, ecs.restoreJSON, ecs.encode, ecs.decode, ecs.checkSnapshot */
int es_text_lua_save(lua_State *L);
int es_text_lua_restore(lua_State *L);
int es_text_lua_encode(lua_State *L);
int es_text_lua_decode(lua_State *L);
int es_text_lua_check(lua_State *L);

#endif
