/*
** save.h - one walk over a world that tells a sink what it sees.
**
** The walk is the same for every route: saveWorld listens with a document,
** saveJSON with a text writer. The world is read-only meanwhile, also for the
** codecs, and nothing of it changes.
*/
#ifndef ES_SAVE_H
#define ES_SAVE_H

#include "sink.h"
#include "world.h"

/* Tells the sink the whole snapshot. Raises SerializeErrors. [-0, +0] */
void es_save_world(const es_Op *op, es_Sink *sink);

/* ecs.saveWorld */
int es_save_lua_world(lua_State *L);

#endif
