/*
** luadoc.h - JSON-safe Lua values to a sink, and documents to Lua values.
**
** Only raw access is used: no metamethod ever runs. A value is JSON-safe when
** it is ecs.null, a boolean, a finite number, a string that is text (utf8.h),
** an array (keys exactly 1..n) or an object (string keys only), without a
** metatable other than the array mark, without cycles, and not deeper than
** ES_DEPTH_MAX.
*/
#ifndef ES_LUADOC_H
#define ES_LUADOC_H

#include <lua.h>

#include "document.h"
#include "sink.h"
#include "state.h"

/* Where a walk is: the key or index within one table on the way. */
typedef struct es_Level {
  const void *table;    /* its identity, to find cycles */
  const char *key;      /* NULL: 'index' counts (from 1) */
  size_t len;
  lua_Integer index;
} es_Level;

typedef struct es_LuaWalk {
  lua_State *L;
  const es_State *state;
  es_Sink *sink;
  int exact;            /* any bytes and any floats; keys in CBOR order */
  es_Buffer *keys;      /* stack of sorted keys, one run per open object */
  int anchors;          /* stack index of a table of keys that must stay */
  uint32_t depth;       /* open tables */
  es_Level levels[ES_DEPTH_MAX];
} es_LuaWalk;

/*
** Pushes the walk's memory: a userdata, its buffer and a table. The walk is
** for the function that runs. [-0, +3]
*/
es_LuaWalk *es_luadoc_walk(lua_State *L, const es_State *s, es_Sink *sink);

/*
** Tells the sink the value at 'idx'. Returns NULL, or what is wrong with it
** ("is a function"); es_luadoc_path then says where, by keys that stay on the
** stack. Raises for full memory only. [-0, +0 or +n]
*/
const char *es_luadoc_emit(es_LuaWalk *w, int idx);

/* Has the processor fetch the string or table at 'idx', which is used soon. */
static inline void es_luadoc_fetch(lua_State *L, int idx) {
#if defined(__GNUC__)
  __builtin_prefetch(lua_topointer(L, idx));
#else
  (void)L;
  (void)idx;
#endif
}

/* Appends the place of the fault, such as ".items[2].id", to 'out'. */
es_Status es_luadoc_path(const es_LuaWalk *w, es_Buffer *out);

/* What a status of a sink other than ES_NOMEM means for a value. */
const char *es_luadoc_reason(es_Status status);

/*
** Pushes the value of a node. With 'integers', floats that are integral
** become integers (-0.0 stays). Arrays get the array mark. [-0, +1]
*/
void es_luadoc_push(lua_State *L, const es_Document *d, uint32_t node,
                    int integers);

/*
** The same for many values of one document: the array mark and the keys that
** come again and again stay on the stack, from 'base' on.
*/
#define ES_PUSHER_KEYS 16

typedef struct es_Pusher {
  lua_State *L;
  const es_Document *d;
  int integers;
  int base, nkeys;
  int next;              /* the key that comes next, mostly */
  const char *keys[ES_PUSHER_KEYS];
  size_t lengths[ES_PUSHER_KEYS];
} es_Pusher;

/* [-0, +1 + ES_PUSHER_KEYS] */
void es_pusher_open(es_Pusher *p, lua_State *L, const es_Document *d,
                    int integers);

/* Pushes the value of a node; there must be one free place. [-0, +1] */
void es_pusher_push(es_Pusher *p, uint32_t node);

/* The float as an integer, if it is integral, in range and not -0.0. */
int es_luadoc_integral(double d, int64_t *i);

/* ecs.array(t): marks a table as an array. */
int es_luadoc_lua_array(lua_State *L);

#endif
