/* column.c - see column.h */
#include "column.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"

/* What all values of a column have in common. */
typedef enum es_Common { ALL_INTEGERS, ALL_FLOATS, ALL_BOOLEANS, ALL_STRINGS,
                         MIXED } es_Common;

static es_Common common_of(lua_State *L, int idx) {
  if (lua_isinteger(L, idx)) return ALL_INTEGERS;
  if (lua_type(L, idx) == LUA_TNUMBER) return ALL_FLOATS;
  return lua_isboolean(L, idx) ? ALL_BOOLEANS : MIXED;
}

/* Values that are on the stack at a time: numbers, and any others. */
enum { RUN = 64, AHEAD = 16 };

/* Pushes a run of values. False when one is not of the type. [-0, +n] */
static int push_run(lua_State *L, int column, const uint32_t *keys,
                    uint32_t n, int type) {
  int same = 1;
  uint32_t i;
  for (i = 0; i < n; i++) same &= lua_rawgeti(L, column, keys[i]) == type;
  return same;
}

/* The bits of a run of numbers. False when integers and floats mix. */
static int take_numbers(lua_State *L, uint64_t *bits, int first, uint32_t n,
                        int integers) {
  uint32_t i;
  for (i = 0; i < n; i++) {
    int idx = first + (int)i;
    if (lua_isinteger(L, idx) != integers) return 0;
    if (integers) {
      bits[i] = (uint64_t)lua_tointeger(L, idx);
    } else {
      double d = lua_tonumber(L, idx);
      memcpy(&bits[i], &d, 8);
    }
  }
  return 1;
}

/* The 64 bits of each value of a run on the stack. */
static int take_run(lua_State *L, uint64_t *bits, int first, uint32_t n,
                    es_Common common) {
  uint32_t i;
  if (common != ALL_BOOLEANS)
    return take_numbers(L, bits, first, n, common == ALL_INTEGERS);
  for (i = 0; i < n; i++)
    bits[i] = (uint64_t)lua_toboolean(L, first + (int)i);
  return 1;
}

/* Collects the bits of all values, or finds that they are mixed. */
static es_Common collect(es_ColumnWriter *w, int column, const uint32_t *keys,
                         uint32_t n) {
  lua_State *L = w->L;
  es_Common common = MIXED;
  uint64_t *bits;
  uint32_t i, run;
  int top = lua_gettop(L), type = LUA_TNIL, same = n > 0;
  es_need_stack(L, RUN + LUA_MINSTACK);
  w->scratch->len = 0;
  es_try(L, es_buffer_reserve(w->scratch, (size_t)n * 8 + 8));
  bits = (uint64_t *)(void *)w->scratch->data;
  if (n > 0) {
    type = lua_rawgeti(L, column, keys[0]);
    common = common_of(L, top + 1);
    lua_settop(L, top);
  }
  for (i = 0; i < n && same && common != MIXED; i += run) {
    run = n - i < RUN ? n - i : RUN;
    same = push_run(L, column, keys + i, run, type) &&
           take_run(L, bits + i, top + 1, run, common);
    lua_settop(L, top);
  }
  return same ? common : MIXED;
}

static es_Status put_integers(es_Buffer *out, const uint64_t *bits,
                              uint32_t n) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  uint32_t i;
  for (i = 0; i < n; i++) {
    int64_t v = (int64_t)bits[i];
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return es_format_put_array(out, es_format_narrowest(low, high), bits, n);
}

static es_Status put_booleans(es_Buffer *out, const uint64_t *bits,
                              uint32_t n) {
  size_t bytes = ((size_t)n + 7) / 8;
  uint32_t i;
  es_Status status = es_cbor_put_head(out, ES_CBOR_BYTES, bytes);
  if (status == ES_OK) status = es_buffer_reserve(out, bytes);
  if (status != ES_OK) return status;
  memset(out->data + out->len, 0, bytes);
  for (i = 0; i < n; i++)
    out->data[out->len + i / 8] |= (char)(bits[i] << (i & 7));
  out->len += bytes;
  return ES_OK;
}

/* A value that is no string. */
static const char *put_value(es_ColumnWriter *w, int idx, int type) {
  w->common = (int)MIXED;
  if (type == LUA_TNIL) {   /* a field that is empty */
    lua_pushlightuserdata(w->L, NULL);
    lua_replace(w->L, idx);
  }
  return es_luadoc_emit(w->walk, idx);
}

/* Longer strings do not fit into a document: they could not be read again. */
static const char *put_string(es_ColumnWriter *w, int idx) {
  size_t n;
  const char *s = lua_tolstring(w->L, idx, &n);
  if (n > UINT32_MAX) return es_luadoc_reason(ES_LIMIT);
  es_try_put(w->L, w->out, es_cbor_put_string(w->out, s, n));
  return NULL;
}

/* Strings and tables lie anywhere: a run of them is fetched ahead. */
static const char *put_values(es_ColumnWriter *w, int column,
                              const uint32_t *keys, uint32_t n,
                              uint32_t *at) {
  const char *wrong = NULL;
  int types[AHEAD], top = lua_gettop(w->L);
  uint32_t i, k, run;
  w->common = (int)(n > 0 ? ALL_STRINGS : MIXED);
  es_try_put(w->L, w->out, es_cbor_put_head(w->out, ES_CBOR_ARRAY, n));
  for (i = 0; i < n && wrong == NULL; i += run) {
    run = n - i < AHEAD ? n - i : AHEAD;
    for (k = 0; k < run; k++) {
      types[k] = lua_rawgeti(w->L, column, keys[i + k]);
      es_luadoc_fetch(w->L, -1);
    }
    for (k = 0; k < run && wrong == NULL; k++) {
      int idx = top + 1 + (int)k;
      *at = i + k;
      wrong = types[k] == LUA_TSTRING ? put_string(w, idx)
                                      : put_value(w, idx, types[k]);
    }
    if (wrong == NULL) lua_settop(w->L, top);   /* a fault needs its keys */
  }
  return wrong;
}

const char *es_column_write(es_ColumnWriter *w, int column,
                            const uint32_t *keys, uint32_t n, uint32_t *at) {
  lua_State *L = w->L;
  es_Common common = collect(w, column, keys, n);
  const uint64_t *bits = (const uint64_t *)(const void *)w->scratch->data;
  w->common = (int)common;
  switch (common) {
    case ALL_INTEGERS:
      es_try_put(L, w->out, put_integers(w->out, bits, n));
      break;
    case ALL_FLOATS:
      es_try_put(L, w->out,
                 es_format_put_array(w->out, ES_CBOR_FLOAT64, bits, n));
      break;
    case ALL_BOOLEANS:
      es_try_put(L, w->out, put_booleans(w->out, bits, n));
      break;
    default: return put_values(w, column, keys, n, at);
  }
  return NULL;
}

int es_column_is_typed(const es_ColumnWriter *w, es_FieldType type) {
  switch (type) {
    case ES_FIELD_BOOLEAN: return w->common == (int)ALL_BOOLEANS;
    case ES_FIELD_INTEGER:
    case ES_FIELD_FLOAT:
      return w->common == (int)ALL_INTEGERS || w->common == (int)ALL_FLOATS;
    case ES_FIELD_STRING: return w->common == (int)ALL_STRINGS;
    case ES_FIELD_NULLABLE: return 1;
    default: return w->common != (int)MIXED;
  }
}
