/*
** methods.h - the methods of a world, as Lua functions.
**
** Each checks its arguments before it changes anything, and raises an error
** that names it. Argument 1 is the world.
*/
#ifndef ES_METHODS_H
#define ES_METHODS_H

#include "world.h"

/*
** What a method is about: the entity in argument 2, or the world entity when
** the traits begin there. '*first' is the index of the argument behind.
*/
uint32_t es_method_subject(const es_Op *op, int *first);

/* add.c */
int es_method_spawn(lua_State *L);
int es_method_add(lua_State *L);

/* remove.c */
int es_method_remove(lua_State *L);
int es_method_destroy(lua_State *L);
int es_method_reset(lua_State *L);

/* value.c */
int es_method_has(lua_State *L);
int es_method_get(lua_State *L);
int es_method_set(lua_State *L);
int es_method_column(lua_State *L);
int es_method_targets(lua_State *L);
int es_method_sources(lua_State *L);

/* ask.c */
int es_method_query(lua_State *L);
int es_method_each(lua_State *L);
int es_method_slots(lua_State *L);
int es_method_entities(lua_State *L);
int es_method_traits(lua_State *L);
int es_method_count(lua_State *L);
int es_method_is_alive(lua_State *L);
int es_method_find(lua_State *L);

/* subscribe.c */
int es_method_on_add(lua_State *L);
int es_method_on_remove(lua_State *L);
int es_method_on_change(lua_State *L);
int es_method_on_query_add(lua_State *L);
int es_method_on_query_remove(lua_State *L);

#endif
