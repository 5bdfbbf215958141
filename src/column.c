/* column.c - columns and sets in their shortest form; see snapshot.h */
#include <string.h>

#include "digest.h"
#include "error.h"
#include "snapshot.h"

const char *const es_snapshot_kinds[ES_SAVED_KINDS] = {
    "tag", "soa", "aos", "pair", "pair-soa", "pair-aos"};

const char *const es_snapshot_types[ES_SAVED_REF + 1] = {
    "boolean", "integer", "float", "string", "nullable", "any", "ref"};

es_Status es_put_word(es_Buffer *out, const char *word) {
  return es_cbor_put_string(out, word, strlen(word));
}

/* With a constant width, one store on a little-endian machine. */
static void put_le(unsigned char *to, uint64_t value, size_t width) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(to, &value, width);
#else
  size_t i;
  for (i = 0; i < width; i++) to[i] = (unsigned char)(value >> (8 * i));
#endif
}

es_CborType es_column_narrowest(int64_t low, int64_t high) {
  if (low >= INT8_MIN && high <= INT8_MAX) return ES_CBOR_INT8;
  if (low >= INT16_MIN && high <= INT16_MAX) return ES_CBOR_INT16;
  if (low >= INT32_MIN && high <= INT32_MAX) return ES_CBOR_INT32;
  return ES_CBOR_INT64;
}

static es_Status put_array(es_Buffer *out, es_CborType type,
                           const uint64_t *values, uint32_t n) {
  size_t width = es_cbor_width((uint64_t)type);
  es_Status status = es_cbor_put_typed(out, type, n);
  unsigned char *to;
  uint32_t i;
  if (status == ES_OK) status = es_buffer_reserve(out, n * width);
  if (status != ES_OK) return status;
  to = (unsigned char *)out->data + out->len;
  switch (width) {   /* a constant width lets the compiler store whole words */
    case 1: for (i = 0; i < n; i++) to[i] = (unsigned char)values[i]; break;
    case 2: for (i = 0; i < n; i++) put_le(to + 2 * (size_t)i, values[i], 2);
            break;
    case 4: for (i = 0; i < n; i++) put_le(to + 4 * (size_t)i, values[i], 4);
            break;
    default: for (i = 0; i < n; i++) put_le(to + 8 * (size_t)i, values[i], 8);
  }
  out->len += n * width;
  return ES_OK;
}

es_Status es_column_put_slots(es_Buffer *out, const uint32_t *slots,
                              uint32_t n) {
  es_Status status = es_cbor_put_typed(out, ES_CBOR_UINT32, n);
  uint32_t i;
  if (status == ES_OK) status = es_buffer_reserve(out, (size_t)n * 4);
  if (status != ES_OK) return status;
  for (i = 0; i < n; i++)
    put_le((unsigned char *)out->data + out->len + 4 * (size_t)i, slots[i], 4);
  out->len += (size_t)n * 4;
  return ES_OK;
}

es_CborType es_column_narrowest_count(uint32_t top) {
  if (top <= UINT8_MAX) return ES_CBOR_UINT8;
  return top <= UINT16_MAX ? ES_CBOR_UINT16 : ES_CBOR_UINT32;
}

es_Status es_column_put_counts(es_Buffer *out, const uint32_t *values,
                               uint32_t n) {
  uint32_t i, top = 0;
  size_t width;
  es_CborType type;
  es_Status status;
  for (i = 0; i < n; i++) if (values[i] > top) top = values[i];
  type = es_column_narrowest_count(top);
  width = es_cbor_width((uint64_t)type);
  status = es_cbor_put_typed(out, type, n);
  if (status == ES_OK) status = es_buffer_reserve(out, n * width);
  if (status != ES_OK) return status;
  for (i = 0; i < n; i++)
    put_le((unsigned char *)out->data + out->len + width * i, values[i],
           width);
  out->len += n * width;
  return ES_OK;
}

/* Bytes of a CBOR head. */
static size_t head_size(uint64_t value) {
  return value < 24 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3
         : value <= UINT32_MAX ? 5 : 9;
}

int es_set_is_list(uint32_t n, size_t bits) {
  size_t list = (size_t)n * 4;
  return 2 + head_size(list) + list < head_size(bits) + bits;
}

es_Status es_set_write(es_Buffer *out, const uint32_t *slots, uint32_t n) {
  size_t bits = n > 0 ? (size_t)slots[n - 1] / 8 + 1 : 0;
  es_Status status;
  uint32_t i;
  if (es_set_is_list(n, bits)) return es_column_put_slots(out, slots, n);
  status = es_cbor_put_head(out, ES_CBOR_BYTES, bits);
  if (status == ES_OK) status = es_buffer_reserve(out, bits + 1);
  if (status != ES_OK) return status;
  memset(out->data + out->len, 0, bits);
  for (i = 0; i < n; i++)
    out->data[out->len + slots[i] / 8] |= (char)(1 << (slots[i] & 7));
  out->len += bits;
  return ES_OK;
}

/* What all values of a column have in common. */
typedef enum es_Common { ALL_INTEGERS, ALL_FLOATS, ALL_BOOLEANS, MIXED }
    es_Common;

static es_Common common_of(lua_State *L, int idx) {
  if (lua_isinteger(L, idx)) return ALL_INTEGERS;
  if (lua_type(L, idx) == LUA_TNUMBER) return ALL_FLOATS;
  return lua_isboolean(L, idx) ? ALL_BOOLEANS : MIXED;
}

/* The 64 bits of a value, which is of the common type. */
static uint64_t bits_of(lua_State *L, int idx, es_Common common) {
  uint64_t bits;
  double d;
  if (common == ALL_INTEGERS) return (uint64_t)lua_tointeger(L, idx);
  if (common == ALL_BOOLEANS) return (uint64_t)lua_toboolean(L, idx);
  d = lua_tonumber(L, idx);
  memcpy(&bits, &d, 8);
  return bits;
}

/* Values that are on the stack at a time. */
enum { RUN = 64 };

/* The bits of a run of values on top. False when one is another type. */
static int collect_run(lua_State *L, uint64_t *bits, uint32_t n,
                       es_Common common) {
  int first = lua_gettop(L) - (int)n + 1;
  uint32_t i;
  for (i = 0; i < n; i++) {
    if (common_of(L, first + (int)i) != common) return 0;
    bits[i] = bits_of(L, first + (int)i, common);
  }
  return 1;
}

/* Collects the bits of all values, or finds that they are mixed. */
static es_Common collect(es_ColumnWriter *w, int column, const uint32_t *keys,
                         uint32_t n) {
  lua_State *L = w->L;
  es_Common common = MIXED;
  uint64_t *bits;
  uint32_t i, k, run;
  int top = lua_gettop(L), same = n > 0;
  luaL_checkstack(L, RUN + LUA_MINSTACK, "a column");
  w->scratch->len = 0;
  es_try(L, es_buffer_reserve(w->scratch, (size_t)n * 8 + 8));
  bits = (uint64_t *)(void *)w->scratch->data;
  for (i = 0; i < n && same; i += run) {
    run = n - i < RUN ? n - i : RUN;
    for (k = 0; k < run; k++) lua_rawgeti(L, column, keys[i + k]);
    if (i == 0) common = common_of(L, top + 1);
    same = common != MIXED && collect_run(L, bits + i, run, common);
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
  return put_array(out, es_column_narrowest(low, high), bits, n);
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

static const char *put_values(es_ColumnWriter *w, int column,
                              const uint32_t *keys, uint32_t n,
                              uint32_t *at) {
  const char *wrong = NULL;
  uint32_t i;
  es_try(w->L, es_cbor_put_head(w->out, ES_CBOR_ARRAY, n));
  for (i = 0; i < n && wrong == NULL; i++) {
    if (lua_rawgeti(w->L, column, keys[i]) == LUA_TNIL) {
      lua_pushlightuserdata(w->L, NULL);   /* a field that is empty */
      lua_replace(w->L, -2);
    }
    *at = i;
    wrong = es_luadoc_emit(w->walk, lua_gettop(w->L));
    lua_pop(w->L, 1);
  }
  return wrong;
}

const char *es_column_write(es_ColumnWriter *w, int column,
                            const uint32_t *keys, uint32_t n, uint32_t *at) {
  lua_State *L = w->L;
  es_Common common = collect(w, column, keys, n);
  const uint64_t *bits = (const uint64_t *)(const void *)w->scratch->data;
  w->common = common;
  switch (common) {
    case ALL_INTEGERS: es_try(L, put_integers(w->out, bits, n)); break;
    case ALL_FLOATS:
      es_try(L, put_array(w->out, ES_CBOR_FLOAT64, bits, n));
      break;
    case ALL_BOOLEANS: es_try(L, put_booleans(w->out, bits, n)); break;
    default: return put_values(w, column, keys, n, at);
  }
  return NULL;
}

int es_column_is_typed(const es_ColumnWriter *w, es_FieldType type) {
  switch (type) {
    case ES_FIELD_BOOLEAN: return w->common == ALL_BOOLEANS;
    case ES_FIELD_INTEGER:
    case ES_FIELD_FLOAT:
      return w->common == ALL_INTEGERS || w->common == ALL_FLOATS;
    case ES_FIELD_STRING: return 0;
    case ES_FIELD_NULLABLE: return 1;
    default: return w->common != MIXED;
  }
}

es_Status es_snapshot_frame(es_Buffer *out, const es_Buffer *header,
                            const es_Buffer *body) {
  uint64_t digest = es_digest(header->data, header->len, body->data,
                              body->len);
  unsigned char bytes[8];
  es_Status status = es_cbor_put_head(out, ES_CBOR_TAG, ES_SNAPSHOT_TAG);
  put_le(bytes, digest, 8);
  if (status == ES_OK) status = es_cbor_put_head(out, ES_CBOR_ARRAY, 5);
  if (status == ES_OK) status = es_put_word(out, ES_SNAPSHOT_NAME);
  if (status == ES_OK) status = es_cbor_put_int(out, ES_SNAPSHOT_VERSION);
  if (status == ES_OK) status = es_buffer_put(out, header->data, header->len);
  if (status == ES_OK)
    status = es_cbor_put_bytes(out, body->data, body->len);
  if (status == ES_OK) status = es_cbor_put_bytes(out, bytes, 8);
  return status;
}
