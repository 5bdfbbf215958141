/* register.c - registerTraits and ignoreTraits; see registry.h */
#include "registry.h"

#include <string.h>

#include <lauxlib.h>

#include "document.h"
#include "error.h"
#include "names.h"
#include "utf8.h"
#include "world.h"

/* What one call of registerTraits works on. */
typedef struct es_Call {
  const es_Op *op;
  const char *key;   /* the name in hand */
  size_t len;
} es_Call;

/* Raises "fn: "key": message" with the code. The message is on top. */
static void fail(const es_Call *c, const char *code) {
  lua_State *L = c->op->L;
  const char *message = lua_tostring(L, -1);
  lua_pushfstring(L, "%s: %s: %s", c->op->fn,
                  es_names_quote(L, c->key, c->len), message);
  es_error_serialize(L, code);
  lua_error(L);
}

static void invalid(const es_Call *c, const char *message) {
  lua_pushstring(c->op->L, message);
  fail(c, ES_CODE_REGISTRATION);
}

static void duplicate(const es_Call *c, const char *message) {
  lua_pushstring(c->op->L, message);
  fail(c, ES_CODE_DUPLICATE_NAME);
}

static es_Entry *pending_at(const es_World *w, uint32_t i) {
  return &w->registry.entries[w->registry.n + i];
}

/* Counts the entries of the table at 'idx'. */
static lua_Integer count_keys(lua_State *L, int idx) {
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) n++;
  return n;
}

/* Reads field 'name' of the entry table at 'idx', raw. [-0, +1] */
static int raw_field(lua_State *L, int idx, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, idx);
}

static void check_name(const es_Call *c) {
  if (c->len == 0) invalid(c, "a name must not be empty");
  if (c->len == 9 && memcmp(c->key, "__proto__", 9) == 0)
    invalid(c, "this name is not allowed");
  if (es_utf8_check(c->key, c->len) != c->len)
    invalid(c, "a name must be UTF-8 text");
}

static void check_keys(const es_Call *c, int idx, int relation) {
  static const char *const known[] = {
      "trait", "codec", "refs", "relation", "transient", "version",
      "migrate", "formerly"};
  lua_State *L = c->op->L;
  int top = lua_gettop(L);
  size_t i;
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    int found = 0;
    lua_pop(L, 1);
    for (i = 0; i < 8; i++) found |= es_names_is(L, -1, known[i]);
    if (!found) invalid(c, "the entry has an unknown key");
  }
  if (relation && (raw_field(L, idx, "trait") != LUA_TNIL ||
                   raw_field(L, idx, "codec") != LUA_TNIL ||
                   raw_field(L, idx, "refs") != LUA_TNIL))
    invalid(c, "a relation takes no trait, codec or refs");
  lua_settop(L, top);
}

/* Pushes the trait or relation of the entry at 'idx'. [-0, +1] */
static const es_Trait *push_trait(const es_Call *c, int idx) {
  lua_State *L = c->op->L;
  const es_State *s = c->op->w->state;
  const es_Trait *t = es_trait_test(L, s, idx);
  int relation;
  if (t != NULL) {
    lua_pushvalue(L, idx);
    return t;
  }
  if (!lua_istable(L, idx)) invalid(c, "not a trait, relation or entry");
  relation = raw_field(L, idx, "relation") != LUA_TNIL;
  if (!relation) {
    lua_pop(L, 1);
    raw_field(L, idx, "trait");
  }
  t = es_trait_test(L, s, lua_gettop(L));
  if (t == NULL || t->relation != relation)
    invalid(c, relation ? "'relation' is not a relation"
                        : "'trait' is not a trait");
  check_keys(c, idx, relation);
  return t;
}

/* The element on top of a refs list names no field. */
static void refuse_ref(const es_Call *c) {
  lua_State *L = c->op->L;
  size_t len;
  const char *name = es_error_typename(L, lua_gettop(L));
  if (lua_type(L, -2) == LUA_TSTRING) {
    name = lua_tolstring(L, -2, &len);
    name = es_names_quote(L, name, len);
  }
  lua_pushfstring(L, "refs names %s, which is no field of the schema", name);
  fail(c, ES_CODE_REGISTRATION);
}

/* Fills the flags of the entry's refs from the list on top. [-1, +0] */
static void read_refs(const es_Call *c, es_Entry *e) {
  lua_State *L = c->op->L;
  const es_Trait *t = e->store->trait;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, -1);
  if (t->kind != ES_SOA) invalid(c, "refs need a SoA trait");
  e->refs = es_alloc_array(&c->op->w->alloc, NULL, 0, t->nfields, 1);
  if (e->refs == NULL) es_error_memory(L);
  e->nrefs = t->nfields;
  memset(e->refs, 0, t->nfields);
  for (i = 1; i <= n; i++) {
    size_t len;
    int field = -1;
    if (lua_rawgeti(L, -1, i) == LUA_TSTRING) {
      const char *name = lua_tolstring(L, -1, &len);
      field = es_trait_field(t, name, len);
    }
    if (field < 0) refuse_ref(c);
    if (t->fields[field].type < ES_FIELD_NULLABLE)
      invalid(c, "refs names a field that cannot hold both an entity and "
                 "null; its default must be ecs.null");
    e->refs[field] = 1;
    lua_pop(L, 1);
  }
  if (count_keys(L, lua_gettop(L)) != n) invalid(c, "refs is not a list");
  lua_pop(L, 1);
}

/* Anchors codec, toJSON and fromJSON from the table on top. [-1, +0] */
static void read_codec(const es_Call *c, es_Entry *e) {
  lua_State *L = c->op->L;
  int codec = lua_gettop(L);
  if (!lua_istable(L, codec))
    invalid(c, "a codec is a table with toJSON and fromJSON");
  if (raw_field(L, codec, "toJSON") != LUA_TFUNCTION ||
      raw_field(L, codec, "fromJSON") != LUA_TFUNCTION)
    invalid(c, "a codec needs the functions toJSON and fromJSON");
  lua_rawseti(L, c->op->anchors, e->anchor + ES_ENTRY_FROMJSON);
  lua_rawseti(L, c->op->anchors, e->anchor + ES_ENTRY_TOJSON);
  lua_rawseti(L, c->op->anchors, e->anchor + ES_ENTRY_CODEC);
  e->codec = 1;
}

static void check_list_of_names(const es_Call *c) {
  lua_State *L = c->op->L;
  lua_Integer i, n;
  if (!lua_istable(L, -1)) invalid(c, "formerly is a list of names");
  n = (lua_Integer)lua_rawlen(L, -1);
  if (count_keys(L, lua_gettop(L)) != n)
    invalid(c, "formerly is a list of names");
  for (i = 1; i <= n; i++) {
    if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
      invalid(c, "formerly is a list of names");
    lua_pop(L, 1);
  }
}

/* transient, version, migrate, formerly of the entry table at 'idx' */
static void read_options(const es_Call *c, es_Entry *e, int idx) {
  lua_State *L = c->op->L;
  int type = raw_field(L, idx, "transient");
  if (type == LUA_TBOOLEAN && lua_toboolean(L, -1))
    e->transient = ES_TRANSIENT;
  else if (es_names_is(L, -1, "default"))
    e->transient = ES_TRANSIENT_DEFAULT;
  else if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    invalid(c, "transient is true, false or \"default\"");
  if (raw_field(L, idx, "version") != LUA_TNIL &&
      (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 ||
       lua_tointeger(L, -1) > INT32_MAX))
    invalid(c, "version is an integer from 1 to 2^31 - 1");
  if (raw_field(L, idx, "migrate") != LUA_TNIL && !lua_isfunction(L, -1))
    invalid(c, "migrate is a function");
  if (raw_field(L, idx, "formerly") != LUA_TNIL) check_list_of_names(c);
  lua_pop(L, 4);
  lua_pushvalue(L, idx);
  lua_rawseti(L, c->op->anchors, e->anchor + ES_ENTRY_OPTIONS);
}

static void read_table(const es_Call *c, es_Entry *e, int idx) {
  lua_State *L = c->op->L;
  const es_Trait *t = e->store->trait;
  int codec = raw_field(L, idx, "codec") != LUA_TNIL;
  int refs = raw_field(L, idx, "refs") != LUA_TNIL;
  if (codec && refs) invalid(c, "codec and refs exclude each other");
  if ((codec || refs) && t->kind == ES_TAG)
    invalid(c, "a tag takes no codec or refs");
  if (refs && !lua_istable(L, -1)) invalid(c, "refs is not a list");
  if (refs) read_refs(c, e);
  else lua_pop(L, 1);
  if (codec) read_codec(c, e);
  else lua_pop(L, 1);
  read_options(c, e, idx);
  if (e->transient && (codec || refs))
    invalid(c, "a transient trait takes no codec or refs");
  if (e->store->key && (codec || e->transient == ES_TRANSIENT_DEFAULT ||
                        raw_field(L, idx, "migrate") != LUA_TNIL))
    invalid(c, "ecs.Key takes no codec, migrate or transient = \"default\"");
}

static int same_refs(const es_Entry *a, const es_Entry *b) {
  uint32_t i;
  for (i = 0; i < a->store->trait->nfields; i++)
    if (es_entry_is_ref(a, i) != es_entry_is_ref(b, i)) return 0;
  return 1;
}

static int same_codec(const es_Call *c, const es_Entry *a,
                      const es_Entry *b) {
  lua_State *L = c->op->L;
  int same;
  lua_rawgeti(L, c->op->anchors, a->anchor + ES_ENTRY_CODEC);
  lua_rawgeti(L, c->op->anchors, b->anchor + ES_ENTRY_CODEC);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* Pushes an option of an entry, or nil. [-0, +1] */
static void push_option(const es_Op *op, const es_Entry *e,
                        const char *name) {
  lua_State *L = op->L;
  lua_rawgeti(L, op->anchors, e->anchor + ES_ENTRY_OPTIONS);
  if (lua_istable(L, -1)) raw_field(L, lua_gettop(L), name);
  else lua_pushnil(L);
  lua_remove(L, -2);
}

/* Whether two lists of names are equal; no list is an empty one. */
static int same_lists(lua_State *L, int a, int b) {
  lua_Integer i, n = lua_istable(L, a) ? (lua_Integer)lua_rawlen(L, a) : 0;
  lua_Integer m = lua_istable(L, b) ? (lua_Integer)lua_rawlen(L, b) : 0;
  int same = n == m;
  for (i = 1; i <= n && same; i++) {
    lua_rawgeti(L, a, i);
    lua_rawgeti(L, b, i);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  return same;
}

/* version, migrate and formerly */
static int same_options(const es_Call *c, const es_Entry *a,
                        const es_Entry *b) {
  lua_State *L = c->op->L;
  int same, top = lua_gettop(L);
  push_option(c->op, a, "migrate");
  push_option(c->op, b, "migrate");
  same = lua_rawequal(L, -1, -2) &&
         es_entry_version(c->op, a) == es_entry_version(c->op, b);
  push_option(c->op, a, "formerly");
  push_option(c->op, b, "formerly");
  same = same && same_lists(L, top + 3, top + 4);
  lua_settop(L, top);
  return same;
}

/* Whether the pending entry says what the registered 'old' says. */
static void check_repeated(const es_Call *c, const es_Entry *old,
                           const es_Entry *e) {
  if (old->store != e->store)
    duplicate(c, "the name is used for another trait");
  if (!same_refs(old, e) || !same_codec(c, old, e) ||
      old->transient != e->transient || !same_options(c, old, e))
    duplicate(c, "already registered with other refs, codec or options");
}

static int same_name(const es_Entry *a, const es_Entry *b) {
  return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/*
** Compares the pending entry with all others. True when it is new, false
** when it repeats one.
*/
static int is_new(const es_Call *c, const es_Entry *e) {
  es_World *w = c->op->w;
  const es_Entry *old = es_registry_find(c->op, e->name, e->len);
  uint32_t i;
  if (old != NULL) {
    check_repeated(c, old, e);
    return 0;
  }
  if (e->store->entry >= 0)
    duplicate(c, "the trait is registered under another name");
  for (i = 0; i + 1 < w->registry.pending; i++) {
    old = pending_at(w, i);
    if (same_name(old, e)) {
      check_repeated(c, old, e);
      return 0;
    }
    if (old->store == e->store)
      duplicate(c, "the trait is registered under another name");
  }
  return 1;
}

/* A call that failed may have left something there. */
static void clear_anchors(const es_Op *op, const es_Entry *e) {
  int i;
  for (i = 0; i < ES_ENTRY_ANCHORS; i++) {
    lua_pushnil(op->L);
    es_store_put_top(op->L, op->anchors, (uint32_t)(e->anchor + i));
  }
}

/* Adds a pending entry; the name is on top. [-1, +0] */
static es_Entry *new_pending(const es_Call *c, es_Store *s) {
  es_World *w = c->op->w;
  es_Entry *e = pending_at(w, w->registry.pending);
  memset(e, 0, sizeof *e);
  e->store = s;
  e->name = c->key;
  e->len = c->len;
  e->anchor = w->anchors + 1;
  w->anchors += ES_ENTRY_ANCHORS;
  w->registry.pending++;
  clear_anchors(c->op, e);
  lua_rawseti(c->op->L, c->op->anchors, e->anchor + ES_ENTRY_NAME);
  return e;
}

/* The entry at 'idx', under the name on top of the stack. [-1, +0] */
static void read_entry(const es_Call *c, int idx) {
  es_World *w = c->op->w;
  lua_State *L = c->op->L;
  es_Store *s;
  es_Entry *e;
  check_name(c);
  push_trait(c, idx);
  s = es_store_get(c->op, lua_gettop(L));
  lua_pushvalue(L, idx - 1);
  if (s == w->excluded) invalid(c, "ecs.IsExcluded is never saved");
  if (s->ignored) invalid(c, "the trait is ignored");
  e = new_pending(c, s);
  if (lua_istable(L, idx)) read_table(c, e, idx);
  if (!is_new(c, e)) {
    clear_anchors(c->op, e);
    es_registry_drop_last(w);
  }
}

/* { { name, entry }, ... } at 'idx' into the flat list on top. */
static lua_Integer flatten_list(const es_Call *c, int idx) {
  lua_State *L = c->op->L;
  lua_Integer i, n = (lua_Integer)lua_rawlen(L, idx);
  if (count_keys(L, idx) != n) invalid(c, "the entries are no list");
  for (i = 1; i <= n; i++) {
    if (lua_rawgeti(L, idx, i) != LUA_TTABLE ||
        count_keys(L, lua_gettop(L)) != 2)
      invalid(c, "a list of entries holds { name, entry }");
    lua_rawgeti(L, -1, 1);
    lua_rawseti(L, -3, 2 * i - 1);
    lua_rawgeti(L, -1, 2);
    lua_rawseti(L, -3, 2 * i);
    lua_pop(L, 1);
  }
  return n;
}

/* { Name = entry, ... } at 'idx' into the flat list on top. */
static lua_Integer flatten_map(const es_Call *c, int idx) {
  lua_State *L = c->op->L;
  lua_Integer i, n = es_names_keys(L, idx);
  if (n < 0) invalid(c, "a name must be a string");
  for (i = 1; i <= n; i++) {   /* flat names */
    lua_rawgeti(L, -1, i);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -4, 2 * i - 1);
    lua_rawget(L, idx);
    lua_rawseti(L, -3, 2 * i);
  }
  lua_pop(L, 1);
  return n;
}

/* Pushes { name, entry, name, entry, ... }; returns the number of pairs. */
static lua_Integer push_flat(const es_Call *c, int idx) {
  lua_State *L = c->op->L;
  int list = lua_rawgeti(L, idx, 1) != LUA_TNIL;
  lua_pop(L, 1);
  lua_newtable(L);
  return list ? flatten_list(c, idx) : flatten_map(c, idx);
}

/* Reads all entries as pending ones; a failure leaves them pending. */
static void read_all(es_Call *c, int flat, lua_Integer n) {
  lua_State *L = c->op->L;
  lua_Integer i;
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, flat, 2 * i - 1);
    lua_rawgeti(L, flat, 2 * i);
    if (lua_type(L, -2) != LUA_TSTRING) {
      c->key = "?";
      c->len = 1;
      invalid(c, "a name must be a string");
    }
    c->key = lua_tolstring(L, -2, &c->len);
    read_entry(c, lua_gettop(L));
    lua_settop(L, flat);
  }
}

/*
** Each name, also each former one, stands for one trait only: the former
** names of the pending entry against those of entry k.
*/
static void check_former(const es_Call *c, const es_Entry *e,
                         const es_Entry *other) {
  lua_State *L = c->op->L;
  lua_Integer i, k;
  int top = lua_gettop(L);
  push_option(c->op, e, "formerly");
  push_option(c->op, other, "formerly");
  for (i = 1; lua_istable(L, top + 1) &&
              i <= (lua_Integer)lua_rawlen(L, top + 1); i++)
    for (k = 1; lua_istable(L, top + 2) &&
                k <= (lua_Integer)lua_rawlen(L, top + 2); k++) {
      lua_rawgeti(L, top + 1, i);
      lua_rawgeti(L, top + 2, k);
      if (lua_rawequal(L, -1, -2))
        invalid(c, "formerly names what another trait was called, too");
      lua_pop(L, 2);
    }
  lua_settop(L, top);
}

static void check_all_former(es_Call *c) {
  const es_Registry *r = &c->op->w->registry;
  uint32_t i, k;
  for (i = r->n; i < r->n + r->pending; i++) {
    c->key = r->entries[i].name;
    c->len = r->entries[i].len;
    for (k = 0; k < i; k++)
      check_former(c, &r->entries[i], &r->entries[k]);
  }
}

/* Puts the pending names into the table of names. */
static void write_names(const es_Op *op) {
  lua_State *L = op->L;
  es_Registry *r = &op->w->registry;
  uint32_t i;
  if (r->names == 0) {
    lua_newtable(L);
    lua_rawseti(L, op->anchors, op->w->anchors + 1);
    r->names = es_world_anchor(op->w);
  }
  lua_rawgeti(L, op->anchors, r->names);
  for (i = 0; i < r->pending; i++) {
    lua_rawgeti(L, op->anchors, pending_at(op->w, i)->anchor);
    lua_pushinteger(L, (lua_Integer)r->n + i + 1);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

/* Puts the entry n into its place among the sorted ones. */
static void sort_in(es_Registry *r, uint32_t n) {
  const es_Entry *e = &r->entries[n];
  uint32_t i = n;
  for (; i > 0; i--) {
    const es_Entry *b = &r->entries[r->sorted[i - 1]];
    if (es_document_compare(b->name, b->len, e->name, e->len) < 0) break;
    r->sorted[i] = r->sorted[i - 1];
  }
  r->sorted[i] = n;
}

/* Nothing here can fail. */
static void commit(es_World *w) {
  es_Registry *r = &w->registry;
  for (; r->pending > 0; r->pending--, r->n++) {
    r->entries[r->n].store->entry = (int)r->n;
    sort_in(r, r->n);
  }
}

/* Others hold on to the entries, or are about to add some. */
static void check_unlocked(const es_Op *op) {
  if (op->w->loading > 0)
    es_error(op->L, op->fn, "names are fixed while a snapshot is loaded");
  if (op->w->registry.running)
    es_error(op->L, op->fn, "names are fixed while registerTraits runs");
}

/* Runs protected: 1 the world, 2 the entries. */
static int run(lua_State *L) {
  es_Op op;
  es_Call c = {&op, "?", 1};
  lua_Integer n;
  int flat;
  es_op_begin(L, &op, "registerTraits");
  n = push_flat(&c, 2);
  flat = lua_gettop(L);
  if (n > INT32_MAX / ES_ENTRY_ANCHORS)
    return es_error(L, "registerTraits", "too many entries");
  es_try(L, es_registry_reserve(op.w, (uint32_t)n));
  read_all(&c, flat, n);
  check_all_former(&c);
  write_names(&op);
  commit(op.w);
  return 0;
}

int es_registry_lua_register(lua_State *L) {
  es_Op op;
  es_Registry *r;
  int status;
  es_op_change(L, &op, "registerTraits");
  check_unlocked(&op);
  if (!lua_istable(L, 2))
    return es_op_bad(&op, 1, "table of entries", 2);
  r = &op.w->registry;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, run, 1);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  check_unlocked(&op);   /* a finalizer may have begun to load */
  r->running = 1;
  status = lua_pcall(L, 2, 0, 0);
  r->running = 0;
  for (; r->pending > 0; es_registry_drop_last(op.w))
    clear_anchors(&op, pending_at(op.w, r->pending - 1));
  return status == LUA_OK ? 0 : lua_error(L);
}

/* The i-th item of the list at 2 must be a trait that is not registered. */
static es_Store *read_ignored(es_Call *c, lua_Integer i) {
  lua_State *L = c->op->L;
  es_Store *s;
  const es_Entry *e;
  c->key = lua_pushfstring(L, "item %I", (LUAI_UACINT)i);
  c->len = strlen(c->key);
  lua_rawgeti(L, 2, i);
  if (es_trait_test(L, c->op->w->state, lua_gettop(L)) == NULL)
    invalid(c, "not a trait or relation");
  s = es_store_get(c->op, lua_gettop(L));
  e = es_registry_of(c->op->w, s);
  if (e != NULL) {
    c->key = e->name;
    c->len = e->len;
    invalid(c, "the trait is registered, it cannot be ignored");
  }
  lua_pop(L, 2);
  return s;
}

int es_registry_lua_ignore(lua_State *L) {
  es_Op op;
  es_Call c = {&op, "?", 1};
  lua_Integer i, n;
  es_op_change(L, &op, "ignoreTraits");
  check_unlocked(&op);
  if (!lua_istable(L, 2))
    return es_op_bad(&op, 1, "list of traits", 2);
  n = (lua_Integer)lua_rawlen(L, 2);
  if (count_keys(L, 2) != n) invalid(&c, "the traits are not a list");
  for (i = 1; i <= n; i++) read_ignored(&c, i);
  for (i = 1; i <= n; i++) read_ignored(&c, i)->ignored = 1;
  return 0;
}
