/*
** guard.h - blocks that the collector owns.
**
** A raw block held across a call that may raise would leak. A guard is a
** userdata made first; what it holds afterwards is freed by it, at the latest
** when the collector finds it.
*/
#ifndef ES_GUARD_H
#define ES_GUARD_H

#include <lua.h>

#include "buffer.h"
#include "document.h"
#include "state.h"

/* Frees what the payload owns; must not raise, and may find it all zero. */
typedef void (*es_GuardFree)(void *payload);

/* Pushes a guard with a payload of zeroes and how to free it. [-0, +1] */
void *es_guard_new(lua_State *L, size_t size, es_GuardFree free_payload);

/* Pushes a guard that owns an empty buffer. [-0, +1] */
es_Buffer *es_guard_buffer(lua_State *L);

/* Pushes a guard that owns an empty document. [-0, +1] */
es_Document *es_guard_document(lua_State *L);

/*
** A payload of zeroes without a userdata: freed by es_guard_drop, or when the
** Lua state closes.
*/
void *es_guard_block(lua_State *L, size_t size, es_GuardFree free_payload);
void es_guard_drop(void *payload);

/*
** For a guard that outlives the call that made it: a finalizer may bring back
** what holds it, after both were garbage. es_guard_get then finds NULL, and
** what is in use by then is freed a collection later.
*/
void es_guard_keep(lua_State *L, int idx);
void *es_guard_get(lua_State *L, int idx);

/* Frees now what the guard at 'idx' owns. */
void es_guard_release(lua_State *L, int idx);

/* Frees what all guards own (the Lua state closes). */
void es_guard_release_all(es_State *s);

/* Gives the state, upvalue 1 of the running function, its finalizer too. */
void es_guard_open(lua_State *L, es_State *s);

#endif
