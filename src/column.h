/*
** column.h - a column of a Lua table in the shortest form of its values.
*/
#ifndef ES_COLUMN_H
#define ES_COLUMN_H

#include "format.h"
#include "luadoc.h"
#include "trait.h"

/*
** The values of one column: a Lua list of values keyed by 'keys' (slots or
** rows), written to 'out'. 'walk' tells values that are no plain numbers or
** booleans; its sink must write to 'out'. Returns NULL, or what is wrong with
** the value of keys['*at'].
*/
typedef struct es_ColumnWriter {
  lua_State *L;
  es_Buffer *out;
  es_Buffer *scratch;    /* numbers before they are narrowed */
  es_LuaWalk *walk;
  int common;            /* what all values of the last column were */
} es_ColumnWriter;

const char *es_column_write(es_ColumnWriter *w, int column,
                            const uint32_t *keys, uint32_t n, uint32_t *at);

/*
** True if the last column's form alone tells that all values may stand in a
** field of this type.
*/
int es_column_is_typed(const es_ColumnWriter *w, es_FieldType type);

#endif
