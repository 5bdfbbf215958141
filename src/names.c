/* names.c - see names.h */
#include "names.h"

#include <string.h>

#include <lauxlib.h>

#include "document.h"
#include "error.h"
#include "utf8.h"

enum { SHOWN = 60 };

/* True if list[i] comes behind list[j]. */
static int behind(lua_State *L, int list, lua_Integer i, lua_Integer j) {
  size_t n, m;
  const char *a, *b;
  int result;
  lua_rawgeti(L, list, i);
  lua_rawgeti(L, list, j);
  a = lua_tolstring(L, -2, &n);
  b = lua_tolstring(L, -1, &m);
  result = es_document_compare(a, n, b, m) > 0;
  lua_pop(L, 2);
  return result;
}

static void swap(lua_State *L, int list, lua_Integer i, lua_Integer j) {
  lua_rawgeti(L, list, i);
  lua_rawgeti(L, list, j);
  lua_rawseti(L, list, i);
  lua_rawseti(L, list, j);
}

/* Moves list[i] down to its place among its children of a heap of n. */
static void sift(lua_State *L, int list, lua_Integer i, lua_Integer n) {
  while (2 * i <= n) {
    lua_Integer child = 2 * i;
    if (child < n && behind(L, list, child + 1, child)) child++;
    if (!behind(L, list, child, i)) return;
    swap(L, list, i, child);
    i = child;
  }
}

/* Heap sort: no recursion, no memory, n log n for every input. */
void es_names_sort(lua_State *L, lua_Integer n) {
  int list = lua_gettop(L);
  lua_Integer i;
  for (i = n / 2; i >= 1; i--) sift(L, list, i, n);
  for (i = n; i > 1; i--) {
    swap(L, list, 1, i);
    sift(L, list, 1, i - 1);
  }
}

lua_Integer es_names_keys(lua_State *L, int idx) {
  lua_Integer n = 0;
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* names key value */
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) {
      lua_pop(L, 2);
      return -1;
    }
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, ++n);
  }
  es_names_sort(L, n);
  return n;
}

int es_names_is(lua_State *L, int idx, const char *word) {
  size_t len;
  const char *s;
  if (lua_type(L, idx) != LUA_TSTRING) return 0;
  s = lua_tolstring(L, idx, &len);
  return len == strlen(word) && memcmp(s, word, len) == 0;
}

void es_names_check_options(lua_State *L, const char *fn, int idx,
                            const char *const *words, size_t n) {
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    size_t i, len;
    const char *name;
    int found = 0;
    lua_pop(L, 1);
    for (i = 0; i < n; i++) found |= es_names_is(L, -1, words[i]);
    if (found) continue;
    name = luaL_tolstring(L, -1, &len);
    es_error(L, fn, "unknown option %s", es_names_quote(L, name, len));
  }
}

const char *es_names_quote(lua_State *L, const char *name, size_t len) {
  static const char digits[] = "0123456789abcdef";
  char out[SHOWN * 4 + 6];
  size_t i, n = 0, text = es_utf8_check(name, len);
  size_t end = len < SHOWN ? len : SHOWN;
  while (end < len && end > 0 && ((unsigned char)name[end] & 0xC0) == 0x80)
    end--;   /* not inside a character */
  out[n++] = '"';
  for (i = 0; i < end; i++) {
    unsigned char c = (unsigned char)name[i];
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && i >= text)) {
      out[n++] = '\\';
      out[n++] = 'x';
      out[n++] = digits[c >> 4];
      out[n++] = digits[c & 15];
    } else {
      out[n++] = (char)c;
    }
  }
  if (end < len) {
    out[n++] = '.';
    out[n++] = '.';
    out[n++] = '.';
  }
  out[n++] = '"';
  return lua_pushlstring(L, out, n);
}
