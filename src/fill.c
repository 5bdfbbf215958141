/* fill.c - see fill.h */
#include "fill.h"

#include <string.h>

#include <lauxlib.h>

#include "call.h"
#include "names.h"
#include "number.h"

/* What ctx.entity knows; a userdata, so that an escaped ctx finds it dead. */
struct es_FillCtx {
  const es_Fill *fill;
  const es_Entity *entities;
  uint32_t known;
  int open;
};

/* Raises malformed about the trait in hand, or about a handler. */
static int fail_entity(lua_State *L, const es_Fill *f) {
  es_Op op = *f->op;
  es_Matches m = *f->matches;
  op.L = L;
  m.op = &op;
  if (f->trait != NULL) es_match_fail(&m, f->trait);
  lua_pushfstring(L, "%s: a handler %s", op.fn, lua_tostring(L, -1));
  es_error_serialize(L, ES_CODE_MALFORMED);
  return lua_error(L);
}

/* ctx.entity(slot); upvalues: 1 state, 2 the context. */
static int ctx_entity(lua_State *L) {
  const struct es_FillCtx *c = lua_touserdata(L, lua_upvalueindex(2));
  int integer = 0;
  lua_Integer slot = -1;
  if (!c->open)
    return es_error(L, "entity", "the load that this context is for is over");
  if (lua_type(L, 1) == LUA_TNUMBER) slot = lua_tointegerx(L, 1, &integer);
  if (!integer || slot <= 0 || slot >= (lua_Integer)c->known ||
      c->entities[slot] == 0) {
    lua_pushliteral(L, "asks ctx.entity for what is no entity of the "
                       "snapshot");
    return fail_entity(L, c->fill);
  }
  es_world_push(L, c->entities[slot]);
  return 1;
}

struct es_FillCtx *es_fill_open(es_Fill *f) {
  lua_State *L = f->op->L;
  struct es_FillCtx *c = lua_newuserdatauv(L, sizeof *c, 0);
  c->fill = f;
  c->entities = f->entities;
  c->known = f->matches->image->known;
  c->open = 1;
  lua_createtable(L, 0, 1);
  f->ctx = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, ctx_entity, 2);
  lua_setfield(L, f->ctx, "entity");
  return c;
}

void es_fill_close(struct es_FillCtx *c) { c->open = 0; }

/* One trait that is being filled. */
typedef struct es_Filling {
  const es_Fill *f;
  const es_Image *image;
  const es_ImageTrait *saved;
  const es_Found *match;
  const es_Store *store;
  const uint32_t *keys;
} es_Filling;

static void fail(const es_Filling *x, const char *reason) {
  lua_pushstring(x->f->op->L, reason);
  es_match_fail(x->f->matches, x->saved);
}

static void fail_field(const es_Filling *x, const es_Field *f) {
  lua_State *L = x->f->op->L;
  lua_pushfstring(L, "has a value that is no %s in the field %s",
                  es_trait_expects(f->type),
                  es_names_quote(L, f->name != NULL ? f->name : "", f->len));
  es_match_fail(x->f->matches, x->saved);
}

static void push_column(const es_Filling *x, uint32_t field) {
  lua_rawgeti(x->f->op->L, x->f->columns, x->store->anchor + (int)field);
}

/* Stores the fields at 'first' under the key of a row. [-0, +0] */
static void put_row(const es_Filling *x, uint32_t row, int first) {
  lua_State *L = x->f->op->L;
  uint32_t i;
  for (i = 0; i < x->store->trait->nfields; i++) {
    push_column(x, i);
    lua_pushvalue(L, first + (int)i);
    es_store_put_top(L, -2, x->keys[row]);
    lua_pop(L, 1);
  }
}

static int bit_at(const unsigned char *bits, uint32_t i) {
  return bits[i / 8] >> (i & 7) & 1;
}

/*
** Pushes the saved value of a row. '*node' walks along the values of a column
** that is no typed array. [-0, +1]
*/
static void push_cell(const es_Filling *x, const es_ImageColumn *c,
                      uint32_t row, uint32_t *node) {
  lua_State *L = x->f->op->L;
  uint32_t slot;
  switch (c->form) {
    case ES_COLUMN_INTEGERS:
      lua_pushinteger(L, es_cbor_int_at(c->data, c->type, row));
      break;
    case ES_COLUMN_FLOATS:
      lua_pushnumber(L, es_cbor_float_at(c->data, row));
      break;
    case ES_COLUMN_BOOLEANS: lua_pushboolean(L, bit_at(c->data, row)); break;
    case ES_COLUMN_SLOTS:
      slot = es_u32_at(c->data, row);
      if (slot == 0) lua_pushlightuserdata(L, NULL);
      else es_world_push(L, x->f->entities[slot]);
      break;
    default:
      es_luadoc_push(L, &x->image->values, *node, 0);
      *node = es_document_next(&x->image->values, *node);
  }
}

/* How numbers of a saved field change into those of a registered one. */
typedef enum es_Conversion { AS_IT_IS, TO_FLOAT, TO_INTEGER } es_Conversion;

static es_Conversion conversion(uint32_t saved, uint32_t registered) {
  if (saved == ES_FIELD_INTEGER && registered == ES_FIELD_FLOAT)
    return TO_FLOAT;
  if (saved == ES_FIELD_FLOAT && registered == ES_FIELD_INTEGER)
    return TO_INTEGER;
  return AS_IT_IS;
}

/* Changes a number on top. False when that would lose digits. */
static int convert(lua_State *L, es_Conversion c) {
  int64_t i;
  if (lua_type(L, -1) != LUA_TNUMBER) return 1;
  if (c == TO_FLOAT && lua_isinteger(L, -1)) {
    double d = lua_tonumber(L, -1);
    if (!es_luadoc_integral(d, &i) || i != lua_tointeger(L, -1)) return 0;
    lua_pushnumber(L, d);
    lua_replace(L, -2);
  } else if (c == TO_INTEGER && !lua_isinteger(L, -1) &&
             es_luadoc_integral(lua_tonumber(L, -1), &i)) {
    lua_pushinteger(L, i);
    lua_replace(L, -2);
  }
  return 1;
}

/* A column whose values need no look at each: typed numbers. */
static int fill_numbers(const es_Filling *x, const es_ImageColumn *c,
                        es_FieldType type, int column) {
  lua_State *L = x->f->op->L;
  uint32_t i;
  if (type == ES_FIELD_BOOLEAN || type == ES_FIELD_STRING) return 0;
  if (c->form == ES_COLUMN_FLOATS) {
    for (i = 0; i < x->saved->rows; i++) {
      if (x->keys[i] == ES_NO_SLOT) continue;
      lua_pushnumber(L, es_cbor_float_at(c->data, i));
      lua_rawseti(L, column, x->keys[i]);
    }
    return 1;
  }
  if (c->form != ES_COLUMN_INTEGERS) return 0;
  for (i = 0; i < x->saved->rows; i++) {
    if (x->keys[i] == ES_NO_SLOT) continue;
    lua_pushinteger(L, es_cbor_int_at(c->data, c->type, i));
    lua_rawseti(L, column, x->keys[i]);
  }
  return 1;
}

/* Stores the value of a row, which is on top. [-1, +0] */
static void put_cell(const es_Filling *x, uint32_t field, uint32_t row,
                     int column, es_Conversion how) {
  lua_State *L = x->f->op->L;
  const es_Field *f = &x->store->trait->fields[field];
  if (!convert(L, how)) fail(x, "has an integer that no float can hold");
  if (f->type == ES_FIELD_NULLABLE && es_is_null(L, -1)) {
    lua_pushnil(L);
    lua_replace(L, -2);
  }
  if (!es_trait_accepts(L, f->type, lua_gettop(L)) &&
      !(es_entry_is_ref(x->match->entry, field) && es_is_null(L, -1)))
    fail_field(x, f);
  es_store_put_top(L, column, x->keys[row]);
}

/* Strings and tables, which need no look where any value may stand. */
static int is_free(es_FieldType type, const es_Node *node) {
  if (node->type == ES_NODE_STRING)
    return type >= ES_FIELD_STRING;
  return node->type >= ES_NODE_ARRAY && type >= ES_FIELD_NULLABLE;
}

/* A column that is no typed array: a list of values. */
static void fill_values(const es_Filling *x, uint32_t field,
                        const es_ImageColumn *c, es_Conversion how,
                        int column) {
  lua_State *L = x->f->op->L;
  const es_Document *d = &x->image->values;
  es_FieldType type = x->store->trait->fields[field].type;
  es_Pusher pusher;
  uint32_t i, node = c->node;
  es_pusher_open(&pusher, L, d, 0);
  for (i = 0; i < x->saved->rows; i++, node = es_document_next(d, node)) {
    if (x->keys[i] == ES_NO_SLOT) continue;
    es_pusher_push(&pusher, node);
    if (is_free(type, es_document_node(d, node)))
      lua_rawseti(L, column, x->keys[i]);
    else
      put_cell(x, field, i, column, how);
  }
}

/* Copies one saved column into one field's column. */
static void fill_field(const es_Filling *x, uint32_t field,
                       const es_ImageColumn *c, es_Conversion how) {
  lua_State *L = x->f->op->L;
  const es_Field *f = &x->store->trait->fields[field];
  uint32_t i, none = 0;
  int column;
  push_column(x, field);
  column = lua_gettop(L);
  if (c->form == ES_COLUMN_VALUES) {
    fill_values(x, field, c, how, column);
  } else if (how != AS_IT_IS || !fill_numbers(x, c, f->type, column)) {
    for (i = 0; i < x->saved->rows; i++) {
      if (x->keys[i] == ES_NO_SLOT) continue;
      push_cell(x, c, i, &none);
      put_cell(x, field, i, column, how);
    }
  }
  lua_settop(L, column - 1);
}

/* A field that was not saved takes its default in every row. */
static void fill_default(const es_Filling *x, uint32_t field) {
  lua_State *L = x->f->op->L;
  uint32_t i;
  int column;
  push_column(x, field);
  column = lua_gettop(L);
  for (i = 0; i < x->saved->rows; i++) {
    if (x->keys[i] == ES_NO_SLOT) continue;
    es_store_push_default(x->f->op, x->store, field);
    if (!lua_isnil(L, -1) || x->store->trait->fields[field].type !=
                                 ES_FIELD_NULLABLE)
      es_store_check(x->f->op, x->store, field, lua_gettop(L));
    es_store_put_top(L, column, x->keys[i]);
  }
  lua_pop(L, 1);
}

static void fill_plain(const es_Filling *x) {
  const es_Trait *t = x->store->trait;
  const es_Matches *m = x->f->matches;
  uint32_t i;
  if (t->kind == ES_AOS) {
    fill_field(x, 0, es_image_column(x->image, x->saved, 0), AS_IT_IS);
    return;
  }
  for (i = 0; i < t->nfields; i++) {
    uint32_t c = es_match_column(m, x->match, i);
    if (c == 0) {
      fill_default(x, i);
      continue;
    }
    fill_field(x, i, es_image_column(x->image, x->saved, c - 1),
               conversion(es_image_field(x->image, x->saved, c - 1)->type,
                          (uint32_t)t->fields[i].type));
  }
}

static void fill_defaults(const es_Filling *x) {
  lua_State *L = x->f->op->L;
  int top = lua_gettop(L);
  uint32_t i;
  for (i = 0; i < x->saved->rows; i++) {
    if (x->keys[i] == ES_NO_SLOT) continue;
    es_store_evaluate(x->f->op, x->store, 0);
    put_row(x, i, top + 1);
    lua_settop(L, top);
  }
}

/* Pushes the saved value of a row as plain Lua data. [-0, +1] */
static void push_saved(const es_Filling *x, uint32_t row, uint32_t *nodes) {
  lua_State *L = x->f->op->L;
  uint32_t i;
  if (x->saved->nfields == 0) {
    push_cell(x, es_image_column(x->image, x->saved, 0), row, &nodes[0]);
    return;
  }
  lua_createtable(L, 0, (int)x->saved->nfields);
  for (i = 0; i < x->saved->nfields; i++) {
    const es_ImageField *f = es_image_field(x->image, x->saved, i);
    lua_pushlstring(L, f->name, f->len);
    push_cell(x, es_image_column(x->image, x->saved, i), row, &nodes[i]);
    lua_rawset(L, -3);
  }
}

/* A codec's or migration's error becomes the cause of a codec-error. */
static void raise_error(const es_Filling *x, int status, const char *what,
                        uint32_t row) {
  lua_State *L = x->f->op->L;
  if (status == LUA_ERRMEM ||
      es_error_is_serialize(L, x->f->op->w->state, -1))
    lua_error(L);
  lua_pushfstring(L, "%s: the trait %s: %s failed for the entity in slot %d",
                  x->f->op->fn,
                  es_names_quote(L, x->saved->name, x->saved->len), what,
                  (int)es_image_slot(x->image, x->saved, row));
  lua_remove(L, -2);
  es_error_serialize(L, ES_CODE_CODEC);
  lua_insert(L, -2);
  lua_setfield(L, -2, "cause");
  lua_pushlstring(L, x->saved->name, x->saved->len);
  lua_setfield(L, -2, "path");
  lua_error(L);
}

/* Calls the function below its arguments; the world is read-only. */
static void call(const es_Filling *x, int nargs, const char *what,
                 uint32_t row) {
  es_World *w = x->f->op->w;
  int status;
  w->busy++;
  w->readonly++;
  status = es_call(x->f->op->L, nargs, 1, what);
  w->readonly--;
  w->busy--;
  if (status != LUA_OK) raise_error(x, status, what, row);
}

/* Each step of the version once, on the value on top. [-1, +1] */
static void migrate(const es_Filling *x, uint32_t row) {
  lua_State *L = x->f->op->L;
  const es_Entry *e = x->match->entry;
  lua_Integer v, last = es_entry_version(x->f->op, e);
  lua_rawgeti(L, x->f->op->anchors, e->anchor + ES_ENTRY_OPTIONS);
  lua_getfield(L, -1, "migrate");
  lua_replace(L, -2);                        /* value migrate */
  for (v = (lua_Integer)x->saved->version; v < last; v++) {
    char what[48] = "migrate from version ";
    size_t n = strlen(what);
    what[n + es_number_put_int(what + n, v)] = '\0';
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_pushinteger(L, v);
    call(x, 2, what, row);                   /* value migrate result */
    if (lua_isnil(L, -1)) {
      lua_pushfstring(L, "%s returned nil", what);
      raise_error(x, LUA_ERRRUN, what, row);
    }
    lua_replace(L, -3);
  }
  lua_pop(L, 1);
}

/* Runs protected: checks and spreads a value. 1 filling, 2 anchors, 3 it */
static int evaluate(lua_State *L) {
  const es_Filling *x = lua_touserdata(L, 1);
  es_Op op = *x->f->op;
  op.L = L;
  op.anchors = 2;
  if (x->store->trait->kind == ES_SOA && !lua_istable(L, 3))
    es_error(L, op.fn, "a table of fields expected, got %s",
             es_error_typename(L, 3));
  es_store_evaluate(&op, x->store, 3);
  return (int)x->store->trait->nfields;
}

/* Decodes the value on top, if there is a codec. [-1, +1] */
static void decode(const es_Filling *x, uint32_t row) {
  lua_State *L = x->f->op->L;
  const es_Entry *e = x->match->entry;
  if (!e->codec) return;
  lua_rawgeti(L, x->f->op->anchors, e->anchor + ES_ENTRY_FROMJSON);
  lua_insert(L, -2);
  lua_pushvalue(L, x->f->ctx);
  call(x, 2, "fromJSON", row);
}

/* The slow way, for codecs and migrations: one value after another. */
static void fill_rows(const es_Filling *x) {
  lua_State *L = x->f->op->L;
  uint32_t i, n = x->saved->ncolumns;
  uint32_t *nodes = lua_newuserdatauv(L, (n + 1) * sizeof *nodes, 0);
  int top = lua_gettop(L), status, fields = (int)x->store->trait->nfields;
  es_Filling copy = *x;
  es_need_stack(L, fields + 2 * LUA_MINSTACK);
  for (i = 0; i < n; i++)
    nodes[i] = es_image_column(x->image, x->saved, i)->node;
  for (i = 0; i < x->saved->rows; i++) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, evaluate, 1);
    lua_pushlightuserdata(L, &copy);
    lua_pushvalue(L, x->f->op->anchors);
    push_saved(x, i, nodes);
    if (x->keys[i] == ES_NO_SLOT) {
      lua_settop(L, top);
      continue;
    }
    if (x->match->migrate) migrate(x, i);
    decode(x, i);
    status = lua_pcall(L, 3, fields, 0);
    if (status != LUA_OK) raise_error(x, status, "its value", i);
    put_row(x, i, top + 1);
    lua_settop(L, top);
  }
  lua_pop(L, 1);
}

void es_fill_trait(es_Fill *f, uint32_t i, const uint32_t *keys) {
  es_Filling x;
  x.f = f;
  x.image = f->matches->image;
  x.saved = es_image_trait(x.image, i);
  x.match = es_match_at(f->matches, i);
  x.keys = keys;
  if (x.match->entry == NULL) return;
  x.store = x.match->entry->store;
  if (x.store->trait->kind == ES_TAG || x.store->key) return;
  f->trait = x.saved;
  es_need_stack(f->op->L, 2 * LUA_MINSTACK);
  if (x.match->defaults) fill_defaults(&x);
  else if (x.match->migrate || x.match->entry->codec) fill_rows(&x);
  else if (x.saved->ncolumns == 0) fail(&x, "has no columns");
  else fill_plain(&x);
  f->trait = NULL;
}
