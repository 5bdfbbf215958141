/*
** load.h - a snapshot in place of a world's content.
*/
#ifndef ES_LOAD_H
#define ES_LOAD_H

#include <lua.h>

#include "image.h"

/*
** Reads the bytes at 'idx' into a guarded image, which it pushes. Raises
** malformed with the byte offset. [-0, +1]
*/
es_Image *es_load_image(lua_State *L, const char *fn, int idx, int body);

/* Pushes { format, version, meta, traits, digest }. [-0, +1] */
void es_load_push_header(lua_State *L, const es_Image *image);

/* ecs.loadSnapshot, ecs.inspectSnapshot */
int es_load_lua_load(lua_State *L);
int es_load_lua_inspect(lua_State *L);

#endif
