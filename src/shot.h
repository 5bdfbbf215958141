/*
** shot.h - taking a snapshot of a world: selection, codecs, errors, bytes.
*/
#ifndef ES_SHOT_H
#define ES_SHOT_H

#include "column.h"
#include "world.h"

/* What saveSnapshot was asked for; stack indices, 0 where not given. */
typedef struct es_ShotOptions {
  int filter;        /* a list of terms, or a function of the entity */
  int exclude;       /* a list of traits */
  int meta;          /* a JSON-safe table */
  int data;          /* a table of custom data by key */
  int compact;       /* a scene: only entities, numbered afresh */
  int null_dangling; /* references to what is not saved become null */
} es_ShotOptions;

/*
** Appends the snapshot's bytes to 'out' (a guarded buffer). Raises
** SerializeErrors. Handlers run first. [-0, +0]
*/
void es_shot_take(const es_Op *op, const es_ShotOptions *options,
                  es_Buffer *out);

/*
** Takes the snapshot of the world at 1 with the options at 2, and pushes its
** bytes. True when the options ask for the table form. 'compact': a scene.
** [-0, +n]
*/
int es_shot_push_bytes(lua_State *L, const char *fn, int compact);

/* ecs.saveSnapshot and ecs.hashWorld */
int es_shot_lua_save(lua_State *L);
int es_shot_lua_hash(lua_State *L);

#endif
