/* table.c - see table.h */
#include "table.h"

#include <string.h>

#include <lauxlib.h>

#include "column.h"
#include "guard.h"
#include "load.h"
#include "names.h"

/* ---- image to table ---- */

static void push_u32s(lua_State *L, const unsigned char *data, uint32_t n) {
  uint32_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    lua_pushinteger(L, es_u32_at(data, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The members of a set of bits, as a list. */
static void push_bits(lua_State *L, const es_Buffer *words, uint32_t known) {
  const uint64_t *w = (const uint64_t *)(const void *)words->data;
  uint32_t slot;
  lua_Integer n = 0;
  lua_newtable(L);
  for (slot = 0; slot < known && slot / 64 < words->len / 8; slot++)
    if (w[slot / 64] >> (slot % 64) & 1) {
      lua_pushinteger(L, slot);
      lua_rawseti(L, -2, ++n);
    }
}

static void push_entities(lua_State *L, const es_Image *image) {
  uint32_t slot;
  lua_createtable(L, 0, 5);
  push_u32s(L, image->free, image->nfree);
  lua_setfield(L, -2, "free");
  lua_pushinteger(L, image->used);
  lua_setfield(L, -2, "used");
  push_bits(L, &image->alive, image->known);
  lua_setfield(L, -2, "alive");
  push_bits(L, &image->excluded, image->known);
  lua_setfield(L, -2, "excluded");
  lua_createtable(L, (int)image->known, 0);
  for (slot = 0; slot < image->known; slot++) {
    lua_pushinteger(L, es_image_generation(image, slot));
    lua_rawseti(L, -2, (lua_Integer)slot + 1);
  }
  lua_setfield(L, -2, "generations");
}

/* One value of a typed column. */
static void push_cell(lua_State *L, const es_ImageColumn *c, uint32_t i) {
  if (c->form == ES_COLUMN_INTEGERS)
    lua_pushinteger(L, es_cbor_int_at(c->data, c->type, i));
  else if (c->form == ES_COLUMN_FLOATS)
    lua_pushnumber(L, es_cbor_float_at(c->data, i));
  else if (c->form == ES_COLUMN_SLOTS)
    lua_pushinteger(L, es_u32_at(c->data, i));
  else
    lua_pushboolean(L, c->data[i / 8] >> (i & 7) & 1);
}

static void push_column(lua_State *L, const es_Image *image,
                        const es_ImageColumn *c, uint32_t rows) {
  uint32_t i, node = c->node;
  lua_createtable(L, (int)rows, 0);
  for (i = 0; i < rows; i++) {
    if (c->form == ES_COLUMN_VALUES) {
      es_luadoc_push(L, &image->values, node, 0);
      node = es_document_next(&image->values, node);
    } else {
      push_cell(L, c, i);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* { slots or sources, targets, columns } */
static void push_trait(lua_State *L, const es_Image *image,
                       const es_ImageTrait *t) {
  int relation = t->kind >= ES_SAVED_PAIR;
  uint32_t i;
  lua_createtable(L, 0, 3);
  lua_createtable(L, (int)t->rows, 0);
  for (i = 0; i < t->rows; i++) {
    lua_pushinteger(L, es_image_slot(image, t, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, relation ? "sources" : "slots");
  if (relation) {
    push_u32s(L, t->targets, t->rows);
    lua_setfield(L, -2, "targets");
  }
  lua_createtable(L, (int)t->ncolumns, 0);
  for (i = 0; i < t->ncolumns; i++) {
    push_column(L, image, es_image_column(image, t, i), t->rows);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "columns");
}

/* Traits or relations, by name. */
static void push_part(lua_State *L, const es_Image *image, int relations) {
  uint32_t i;
  lua_newtable(L);
  for (i = 0; i < image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(image, i);
    if ((t->kind >= ES_SAVED_PAIR) != relations) continue;
    lua_pushlstring(L, t->name, t->len);
    push_trait(L, image, t);
    lua_rawset(L, -3);
  }
}

void es_table_push(lua_State *L, const es_Image *image) {
  es_need_stack(L, LUA_MINSTACK);
  es_load_push_header(L, image);         /* header */
  lua_createtable(L, 0, 4);              /* header top */
  lua_pushliteral(L, ES_FORMAT_NAME);
  lua_setfield(L, -2, "format");
  lua_pushinteger(L, ES_FORMAT_VERSION);
  lua_setfield(L, -2, "version");
  lua_insert(L, -2);
  lua_setfield(L, -2, "header");
  lua_createtable(L, 0, 4);
  es_luadoc_push(L, &image->values, image->data, 0);
  lua_setfield(L, -2, "data");
  push_entities(L, image);
  lua_setfield(L, -2, "entities");
  push_part(L, image, 0);
  lua_setfield(L, -2, "traits");
  push_part(L, image, 1);
  lua_setfield(L, -2, "relations");
  lua_setfield(L, -2, "body");
}

/* ---- table to bytes ---- */

typedef struct es_Packer {
  const es_Op *op;
  lua_State *L;
  es_Buffer *header, *body, *numbers;
  es_ColumnWriter column;
  es_CborSink sink;
} es_Packer;

/* Raises malformed: "fn: the table's 'what' reason". */
static void malformed(const es_Packer *p, const char *what,
                      const char *reason) {
  lua_pushfstring(p->L, "%s: the snapshot's %s %s", p->op->fn, what, reason);
  es_error_serialize(p->L, ES_CODE_MALFORMED);
  lua_pushstring(p->L, what);
  lua_setfield(p->L, -2, "path");
  lua_error(p->L);
}

void es_table_fail_key(const es_Op *op, int idx) {
  size_t len;
  const char *key = lua_tolstring(op->L, idx, &len);
  lua_pushfstring(op->L, "%s: the key %s belongs to another entity", op->fn,
                  es_names_quote(op->L, key, len));
  es_error_serialize(op->L, ES_CODE_DUPLICATE_KEY);
  lua_error(op->L);
}

/* Pushes "path.key" for the key at 'idx'. [-0, +1] */
static const char *push_path(const es_Packer *p, const char *path, int idx) {
  size_t n;
  const char *key = luaL_tolstring(p->L, idx, &n);
  if (lua_type(p->L, idx) != LUA_TSTRING)
    return lua_pushfstring(p->L, "%s[%s]", path, key);
  return lua_pushfstring(p->L, "%s%s%s", path, path[0] != '\0' ? "." : "",
                         key);
}

/* The table at 'idx' may have these keys and no others. */
static void check_keys(const es_Packer *p, int idx, const char *path,
                       const char *const *words, size_t n) {
  lua_State *L = p->L;
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    size_t i = 0;
    lua_pop(L, 1);
    while (i < n && !es_names_is(L, -1, words[i])) i++;
    if (i == n)
      malformed(p, push_path(p, path, lua_gettop(L)), "is no part of it");
  }
}

/* Returns the length of the list at 'idx', which has no other keys. */
static lua_Integer check_list(const es_Packer *p, int idx, const char *path) {
  lua_State *L = p->L;
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 ||
        lua_tointeger(L, -1) > n)
      malformed(p, push_path(p, path, lua_gettop(L)), "is no element of a "
                                                      "list");
  }
  return n;
}

/* Pushes the field of the table at 'idx', which must have the type. */
static void push_field(const es_Packer *p, int idx, const char *name,
                       int type) {
  lua_pushstring(p->L, name);
  if (lua_rawget(p->L, idx) != type)
    malformed(p, name, "is missing or of a wrong type");
}

static lua_Integer read_integer(const es_Packer *p, int idx,
                                const char *name) {
  int integer;
  lua_Integer i;
  push_field(p, idx, name, LUA_TNUMBER);
  i = lua_tointegerx(p->L, -1, &integer);
  if (!integer) malformed(p, name, "is no integer");
  lua_pop(p->L, 1);
  return i;
}

/* Reads the list of numbers on top into 'numbers'. [-1, +0] */
static uint32_t read_numbers(const es_Packer *p, const char *what) {
  lua_State *L = p->L;
  lua_Integer i, n = check_list(p, lua_gettop(L), what);
  p->numbers->len = 0;
  for (i = 1; i <= n; i++) {
    int integer;
    lua_Integer v;
    uint32_t u;
    lua_rawgeti(L, -1, i);
    v = lua_tointegerx(L, -1, &integer);
    if (lua_type(L, -1) != LUA_TNUMBER || !integer || v < 0 ||
        v > (lua_Integer)UINT32_MAX)
      malformed(p, what, "has an element that is no slot or count");
    u = (uint32_t)v;
    lua_pop(L, 1);
    es_try(L, es_buffer_put(p->numbers, &u, sizeof u));
  }
  lua_pop(L, 1);
  return (uint32_t)n;
}

static const uint32_t *numbers(const es_Packer *p) {
  return (const uint32_t *)(const void *)p->numbers->data;
}

/* Sets must ascend to be written; the reader checks the rest. */
static void pack_set(const es_Packer *p, int idx, const char *name) {
  uint32_t i, n;
  push_field(p, idx, name, LUA_TTABLE);
  n = read_numbers(p, name);
  for (i = 0; i < n; i++)
    if (numbers(p)[i] > ES_SLOT_MAX ||
        (i > 0 && numbers(p)[i] <= numbers(p)[i - 1]))
      malformed(p, name, "does not ascend");
  es_try_put(p->L, p->body, es_format_put_set(p->body, numbers(p), n));
}

static void pack_u32s(const es_Packer *p, int idx, const char *name) {
  uint32_t n;
  push_field(p, idx, name, LUA_TTABLE);
  n = read_numbers(p, name);
  es_try_put(p->L, p->body, es_format_put_slots(p->body, numbers(p), n));
}

static void pack_word(const es_Packer *p, const char *word) {
  es_try_put(p->L, p->body, es_format_put_word(p->body, word));
}

static void pack_entities(const es_Packer *p, int body) {
  static const char *const known[] = {"free", "used", "alive", "excluded",
                                      "generations"};
  lua_State *L = p->L;
  uint32_t n;
  int at;
  push_field(p, body, "entities", LUA_TTABLE);
  at = lua_gettop(L);
  check_keys(p, at, "body.entities", known, 5);
  es_try_put(L, p->body, es_cbor_put_head(p->body, ES_CBOR_MAP, 5));
  pack_word(p, "free");
  pack_u32s(p, at, "free");
  pack_word(p, "used");
  es_try_put(L, p->body, es_cbor_put_int(p->body, read_integer(p, at, "used")));
  pack_word(p, "alive");
  pack_set(p, at, "alive");
  pack_word(p, "excluded");
  pack_set(p, at, "excluded");
  pack_word(p, "generations");
  push_field(p, at, "generations", LUA_TTABLE);
  n = read_numbers(p, "generations");
  es_try_put(L, p->body, es_format_put_counts(p->body, numbers(p), n));
  lua_pop(L, 1);
}

/* Any value on top into a buffer. [-1, +0] */
static void pack_value(es_Packer *p, es_Buffer *out, const char *what) {
  const char *wrong;
  p->sink.out = out;
  wrong = es_luadoc_emit(p->column.walk, lua_gettop(p->L));
  p->sink.out = p->body;
  if (wrong != NULL) malformed(p, what, wrong);
  lua_pop(p->L, 1);
}

/* True if the field (from 1) of the trait's header is a reference. */
static int is_ref(const es_Packer *p, int fields, lua_Integer i) {
  int ref = 0;
  if (lua_rawgeti(p->L, fields, i) == LUA_TTABLE) {
    lua_rawgeti(p->L, -1, 2);
    ref = es_names_is(p->L, -1, "ref");
    lua_pop(p->L, 1);
  }
  lua_pop(p->L, 1);
  return ref;
}

/* The list of values on top as a column. [-1, +0] */
static void pack_column(es_Packer *p, uint32_t rows, int ref) {
  lua_State *L = p->L;
  uint32_t i, at = 0, n;
  const char *wrong;
  if (!lua_istable(L, -1) || lua_rawlen(L, -1) != rows)
    malformed(p, "columns", "are not lists of as many values as rows");
  check_list(p, lua_gettop(L), "columns");
  if (ref) {
    n = read_numbers(p, "columns");
    es_try_put(L, p->body, es_format_put_slots(p->body, numbers(p), n));
    return;
  }
  p->numbers->len = 0;
  for (i = 1; i <= rows; i++)
    es_try(L, es_buffer_put(p->numbers, &i, sizeof i));
  wrong = es_column_write(&p->column, lua_gettop(L), numbers(p), rows, &at);
  if (wrong != NULL) malformed(p, "columns", wrong);
  lua_pop(L, 1);
}

static void pack_columns(es_Packer *p, int trait, int fields,
                         uint32_t rows) {
  lua_State *L = p->L;
  lua_Integer i, n;
  int columns;
  push_field(p, trait, "columns", LUA_TTABLE);
  columns = lua_gettop(L);
  n = check_list(p, columns, "columns");
  es_try_put(L, p->body, es_cbor_put_head(p->body, ES_CBOR_ARRAY, (uint64_t)n));
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, columns, i);
    pack_column(p, rows, is_ref(p, fields, i));
  }
  lua_pop(L, 1);
}

/* The keys of the trait on top and of its header. */
static void check_trait(const es_Packer *p, int header, int relation) {
  static const char *const parts[] = {"slots", "columns"};
  static const char *const pairs[] = {"sources", "targets", "columns"};
  static const char *const known[] = {"name", "kind", "version", "rows",
                                      "fields"};
  lua_State *L = p->L;
  int trait = lua_gettop(L);
  const char *name;
  push_field(p, header, "name", LUA_TSTRING);
  name = lua_tostring(L, -1);
  check_keys(p, header, lua_pushfstring(L, "header.traits.%s", name), known,
             5);
  if (relation)
    check_keys(p, trait, lua_pushfstring(L, "body.relations.%s", name), pairs,
               3);
  else
    check_keys(p, trait, lua_pushfstring(L, "body.traits.%s", name), parts,
               2);
  lua_settop(L, trait);
}

/* The trait's table is on top; 'header' is its header. [-1, +0] */
static uint32_t pack_trait(es_Packer *p, int header, int relation) {
  lua_State *L = p->L;
  int trait = lua_gettop(L), fields;
  uint32_t rows;
  if (!lua_istable(L, trait))
    malformed(p, relation ? "relations" : "traits",
              "lacks a trait of the header");
  check_trait(p, header, relation);
  push_field(p, header, "fields", LUA_TTABLE);
  fields = lua_gettop(L);
  es_try_put(L, p->body,
             es_cbor_put_head(p->body, ES_CBOR_ARRAY, relation ? 3 : 2));
  if (relation) {
    pack_u32s(p, trait, "sources");
    rows = (uint32_t)(p->numbers->len / sizeof rows);
    pack_u32s(p, trait, "targets");
  } else {
    pack_set(p, trait, "slots");
    rows = (uint32_t)(p->numbers->len / sizeof rows);
  }
  pack_columns(p, trait, fields, rows);
  lua_settop(L, trait - 1);
  return rows;
}

/* A string field of the header on top, as text. */
static void put_string(const es_Packer *p, int header, const char *name) {
  size_t n;
  const char *s;
  push_field(p, header, name, LUA_TSTRING);
  s = lua_tolstring(p->L, -1, &n);
  es_try_put(p->L, p->header, es_cbor_put_string(p->header, s, n));
  lua_pop(p->L, 1);
}

static void pack_header_fields(es_Packer *p, int header) {
  lua_State *L = p->L;
  push_field(p, header, "fields", LUA_TTABLE);
  if (lua_rawlen(L, -1) == 0) {
    lua_pop(L, 1);
    es_try_put(L, p->header, es_cbor_put_head(p->header, ES_CBOR_ARRAY, 0));
    return;
  }
  pack_value(p, p->header, "fields");
}

/* { kind, name, rows, fields, version } of the header at 'header'. */
static void pack_trait_header(es_Packer *p, int header, uint32_t rows) {
  lua_State *L = p->L;
  es_Buffer *b = p->header;
  es_try_put(L, b, es_cbor_put_head(b, ES_CBOR_MAP, 5));
  es_try_put(L, b, es_format_put_word(b, "kind"));
  put_string(p, header, "kind");
  es_try_put(L, b, es_format_put_word(b, "name"));
  put_string(p, header, "name");
  es_try_put(L, b, es_format_put_word(b, "rows"));
  if (read_integer(p, header, "rows") != (lua_Integer)rows)
    malformed(p, "rows", "is not the number of rows");
  es_try_put(L, b, es_cbor_put_int(b, rows));
  es_try_put(L, b, es_format_put_word(b, "fields"));
  pack_header_fields(p, header);
  es_try_put(L, b, es_format_put_word(b, "version"));
  es_try_put(L, b, es_cbor_put_int(b, read_integer(p, header, "version")));
}

static int is_relation(const es_Packer *p, int header) {
  const char *kind;
  push_field(p, header, "kind", LUA_TSTRING);
  kind = lua_tostring(p->L, -1);
  lua_pop(p->L, 1);
  return strncmp(kind, "pair", 4) == 0;
}

/* The traits, or the relations, of the list at 'traits'. */
static void pack_part(es_Packer *p, int traits, int body, int relations,
                      es_Buffer *rows) {
  lua_State *L = p->L;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, traits), count = 0, due = 0;
  int part;
  push_field(p, body, relations ? "relations" : "traits", LUA_TTABLE);
  part = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, part); lua_pop(L, 1)) count--;
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, traits, i);
    if (!lua_istable(L, -1)) malformed(p, "traits", "holds what is no table");
    count += is_relation(p, lua_gettop(L)) == relations;
    due += is_relation(p, lua_gettop(L)) == relations;
    lua_pop(L, 1);
  }
  if (count != 0)
    malformed(p, relations ? "relations" : "traits",
              "are not those of the header");
  es_try_put(L, p->body,
             es_cbor_put_head(p->body, ES_CBOR_ARRAY, (uint64_t)due));
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, traits, i);
    if (is_relation(p, part + 1) == relations) {
      push_field(p, part + 1, "name", LUA_TSTRING);
      lua_rawget(L, part);
      ((uint32_t *)(void *)rows->data)[i - 1] =
          pack_trait(p, part + 1, relations);
    }
    lua_settop(L, part);
  }
  lua_pop(L, 1);
}

static void pack_body(es_Packer *p, int body, int traits, es_Buffer *rows) {
  static const char *const known[] = {"data", "traits", "entities",
                                      "relations"};
  lua_State *L = p->L;
  check_keys(p, body, "body", known, 4);
  es_try_put(L, p->body, es_cbor_put_head(p->body, ES_CBOR_MAP, 4));
  pack_word(p, "data");
  push_field(p, body, "data", LUA_TTABLE);
  pack_value(p, p->body, "data");
  pack_word(p, "traits");
  pack_part(p, traits, body, 0, rows);
  pack_word(p, "entities");
  pack_entities(p, body);
  pack_word(p, "relations");
  pack_part(p, traits, body, 1, rows);
}

static void pack_header(es_Packer *p, int header, int traits,
                        const es_Buffer *rows) {
  lua_State *L = p->L;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, traits);
  int meta;
  lua_pushliteral(L, "meta");
  meta = lua_rawget(L, header) != LUA_TNIL;
  es_try_put(L, p->header,
             es_cbor_put_head(p->header, ES_CBOR_MAP, meta ? 2 : 1));
  if (meta && !lua_istable(L, -1)) malformed(p, "meta", "is no table");
  if (meta) {
    es_try_put(L, p->header, es_format_put_word(p->header, "meta"));
    pack_value(p, p->header, "meta");
  } else {
    lua_pop(L, 1);
  }
  es_try_put(L, p->header, es_format_put_word(p->header, "traits"));
  es_try_put(L, p->header,
             es_cbor_put_head(p->header, ES_CBOR_ARRAY, (uint64_t)n));
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, traits, i);
    pack_trait_header(p, lua_gettop(L),
                      ((const uint32_t *)(const void *)rows->data)[i - 1]);
    lua_pop(L, 1);
  }
}

static void check_top(const es_Packer *p, int idx) {
  static const char *const known[] = {"format", "version", "header", "body"};
  push_field(p, idx, "format", LUA_TSTRING);
  if (!es_names_is(p->L, -1, ES_FORMAT_NAME))
    malformed(p, "format", "is not 'ecsser-snapshot'");
  push_field(p, idx, "version", LUA_TNUMBER);
  if (lua_tointeger(p->L, -1) != ES_FORMAT_VERSION)
    malformed(p, "version", "is not known");
  lua_pop(p->L, 2);
  check_keys(p, idx, "", known, 4);
}

static void make_buffers(es_Packer *p) {
  lua_State *L = p->L;
  p->header = es_guard_buffer(L);
  p->body = es_guard_buffer(L);
  p->numbers = es_guard_buffer(L);
  p->column.L = L;
  p->column.out = p->body;
  p->column.scratch = es_guard_buffer(L);
  es_sink_cbor(&p->sink, p->body);
  p->column.walk = es_luadoc_walk(L, p->op->w->state, &p->sink.sink);
  p->column.walk->exact = 1;
}

void es_table_to_bytes(const es_Op *op, int idx) {
  lua_State *L = op->L;
  es_Packer p;
  es_Buffer *rows, *out;
  static const char *const known[] = {"format", "version", "digest", "meta",
                                      "traits"};
  int top = lua_gettop(L), header, traits, body;
  size_t n;
  memset(&p, 0, sizeof p);
  es_need_stack(L, 2 * LUA_MINSTACK);
  p.op = op;
  p.L = L;
  make_buffers(&p);
  rows = es_guard_buffer(L);
  out = es_guard_buffer(L);
  check_top(&p, idx);
  push_field(&p, idx, "header", LUA_TTABLE);
  header = lua_gettop(L);
  check_keys(&p, header, "header", known, 5);
  push_field(&p, header, "traits", LUA_TTABLE);
  traits = header + 1;
  push_field(&p, idx, "body", LUA_TTABLE);
  body = header + 2;
  n = (size_t)check_list(&p, traits, "header.traits") * sizeof(uint32_t);
  es_try(L, es_buffer_reserve(rows, n + sizeof(uint32_t)));
  memset(rows->data, 0, n);
  pack_body(&p, body, traits, rows);
  pack_header(&p, header, traits, rows);
  es_try_put(L, out, es_format_put_frame(out, p.header, p.body));
  lua_pushlstring(L, out->data, out->len);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}
