/*
** error.h - how every error of the module is made.
**
** Misuse is a string that begins with the caller's position and the name of
** the function. Bad data is a SerializeError: a table with code, message and,
** where known, cause, path and offset. Full memory is Lua's own error.
*/
#ifndef ES_ERROR_H
#define ES_ERROR_H

#include <lua.h>

#include "buffer.h"
#include "state.h"

/* "fn: message" with the caller's position. Never returns. */
int es_error(lua_State *L, const char *fn, const char *fmt, ...);

/*
** "fn: bad argument #n (what expected, got x)" for the value at 'idx'; 'n'
** counts the arguments behind the world. Never returns.
*/
int es_error_arg(lua_State *L, const char *fn, int n, const char *what,
                 int idx);

/* Pushes what a value is: "number", "world", "trait", ...; returns it. */
const char *es_error_typename(lua_State *L, int idx);

/* Raises "not enough memory" without allocating. Never returns. */
int es_error_memory(lua_State *L);

/* Pushes that error; the stack must have a place. [-0, +1] */
void es_error_push_memory(lua_State *L);

/*
** Evaluates a call that reports es_Status. On ES_NOMEM it collects garbage
** and tries once more, then raises; 'call' must be safe to repeat.
*/
#define es_try(L, call)                                \
  do {                                                 \
    es_Status status_ = (call);                        \
    if (status_ == ES_NOMEM) {                         \
      lua_gc(L, LUA_GCCOLLECT, 0);                     \
      status_ = (call);                                \
    }                                                  \
    if (status_ != ES_OK) es_error_status(L, status_); \
  } while (0)

/*
** The same for a call that appends to a buffer: what a first attempt has
** written is taken back before the second one.
*/
#define es_try_put(L, b, call)                         \
  do {                                                 \
    size_t len_ = (b)->len;                            \
    es_Status status_ = (call);                        \
    if (status_ == ES_NOMEM) {                         \
      (b)->len = len_;                                 \
      lua_gc(L, LUA_GCCOLLECT, 0);                     \
      status_ = (call);                                \
    }                                                  \
    if (status_ != ES_OK) es_error_status(L, status_); \
  } while (0)

/*
** Makes room on the stack. More than Lua allows at all is more than memory
** holds: the error is the same.
*/
#define es_need_stack(L, n)                      \
  do {                                           \
    if (!lua_checkstack(L, n)) es_error_memory(L); \
  } while (0)

/* Raises what a status says. Never returns. */
int es_error_status(lua_State *L, es_Status status);

/* Codes of SerializeError, as in the serialize specification. */
#define ES_CODE_REGISTRATION "invalid-registration"
#define ES_CODE_DUPLICATE_NAME "duplicate-name"
#define ES_CODE_UNREGISTERED "unregistered-trait"
#define ES_CODE_NOT_SERIALIZABLE "not-serializable"
#define ES_CODE_DANGLING "dangling-ref"
#define ES_CODE_CODEC "codec-error"
#define ES_CODE_UNKNOWN "unknown-trait"
#define ES_CODE_MALFORMED "malformed"
#define ES_CODE_VERSION "unsupported-version"
#define ES_CODE_NOT_EMPTY "world-not-empty"
#define ES_CODE_DUPLICATE_KEY "duplicate-key"
#define ES_CODE_RESTORE "restore-failed"

/*
** Pops the message (top) and pushes a SerializeError. [-1, +1]
*/
void es_error_serialize(lua_State *L, const char *code);

/*
** Pushes a SerializeError "fn: path reason" with its path; an empty path is
** called 'root'. [-0, +1]
*/
void es_error_at(lua_State *L, const char *fn, const char *code,
                 const es_Buffer *path, const char *root, const char *reason);

/* True if the value at 'idx' is a SerializeError. */
int es_error_is_serialize(lua_State *L, const es_State *s, int idx);

/* Gives ecs.isSerializeError and the error's metatable to the module. */
int es_error_lua_is(lua_State *L);
void es_error_open(lua_State *L, es_State *s);

#endif
