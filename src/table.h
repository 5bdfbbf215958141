/*
** table.h - the table form of snapshots: the same parts as plain Lua data.
**
** { format, version, header = { meta, traits }, body = { data, entities,
** traits, relations } }; sets are lists of slots, columns lists of values,
** references slots (0: none).
*/
#ifndef ES_TABLE_H
#define ES_TABLE_H

#include "image.h"
#include "luadoc.h"
#include "world.h"

/* Pushes the table form of an image. [-0, +1] */
void es_table_push(lua_State *L, const es_Image *image);

/* Pushes the bytes of the table form at 'idx'. Raises malformed. [-0, +1] */
void es_table_to_bytes(const es_Op *op, int idx);

/* Raises duplicate-key for the string at 'idx'. */
void es_table_fail_key(const es_Op *op, int idx);

#endif
