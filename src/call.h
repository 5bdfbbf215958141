/*
** call.h - calling a script's functions: observers, codecs, factories.
**
** All of them run protected, so that the operation that called them can put
** things in order, and none of them may yield.
*/
#ifndef ES_CALL_H
#define ES_CALL_H

#include <lua.h>

#include "state.h"

/*
** Like lua_pcall without a handler. An attempt to yield becomes an error that
** says that 'what' ("observer") must not yield.
*/
int es_call(lua_State *L, int nargs, int nresults, const char *what);

/* Keeps the messages, so that raising one allocates nothing. */
void es_call_open(lua_State *L, es_State *s);

#endif
