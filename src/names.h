/*
** names.h - names in Lua tables: bytewise order, and how messages show them.
*/
#ifndef ES_NAMES_H
#define ES_NAMES_H

#include <stddef.h>

#include <lua.h>

/* Sorts the list of n strings on top bytewise, in place. [-0, +0] */
void es_names_sort(lua_State *L, lua_Integer n);

/*
** Pushes the sorted list of the keys of the table at 'idx' and returns their
** number, or -1 (nothing pushed) when a key is not a string.
*/
lua_Integer es_names_keys(lua_State *L, int idx);

/* True if the value at 'idx' is the string 'word', to its last byte. */
int es_names_is(lua_State *L, int idx, const char *word);

/* Raises unless all keys of the table at 'idx' are among the 'n' words. */
void es_names_check_options(lua_State *L, const char *fn, int idx,
                            const char *const *words, size_t n);

/*
** Pushes a name for a message: in double quotes, control bytes and bytes that
** are not UTF-8 escaped, cut after 60 bytes. Returns it. [-0, +1]
*/
const char *es_names_quote(lua_State *L, const char *name, size_t len);

#endif
