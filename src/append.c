/* append.c - see append.h */
#include "append.h"

#include <string.h>

#include <lauxlib.h>

#include "append_private.h"
#include "call.h"
#include "drop.h"
#include "guard.h"
#include "load.h"
#include "names.h"
#include "query.h"
#include "table.h"

static uint32_t new_slot(const es_Append *a, uint32_t saved) {
  return es_entity_slot(a->entities[saved]);
}

/* Room for everything that will be linked. */
static es_Status reserve(es_Append *a) {
  es_World *w = a->op.w;
  uint32_t i;
  es_Status status = es_world_reserve_slots(w, a->image->count);
  if (status == ES_OK)
    status = es_store_reserve(w->excluded, &w->alloc, w->entities.cap, 0);
  for (i = 0; i < a->image->ntraits && status == ES_OK; i++) {
    const es_Found *m = es_match_at(&a->matches, i);
    if (m->entry != NULL)
      status = es_store_reserve(m->entry->store, &w->alloc, w->entities.cap,
                                es_image_trait(a->image, i)->rows);
  }
  return status;
}

static void spawn(es_Append *a) {
  es_World *w = a->op.w;
  uint32_t slot;
  a->mark = es_entity_mark(&w->entities);
  for (slot = 1; slot < a->image->known; slot++) {
    a->entities[slot] = 0;
    if (!es_image_is_alive(a->image, slot)) continue;
    a->entities[slot] =
        es_entity_handle(&w->entities, es_entity_spawn(&w->entities));
    a->list[a->n++] = a->entities[slot];
  }
  w->lives++;
}

/* Where the values of each row will lie; row 0 is the world's: nowhere. */
static void choose_keys(es_Append *a) {
  uint32_t i, k;
  for (i = 0; i < a->image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(a->image, i);
    const es_Found *m = es_match_at(&a->matches, i);
    uint32_t *keys = es_append_keys_of(a, i);
    if (m->entry == NULL) continue;
    if (m->entry->store->trait->relation) {
      es_pairs_peek_all(&m->entry->store->pairs, keys, t->rows);
      continue;
    }
    for (k = 0; k < t->rows; k++) {
      uint32_t slot = es_image_slot(a->image, t, k);
      keys[k] = slot == 0 ? ES_NO_SLOT : new_slot(a, slot);
    }
  }
}

/* Adds the number on top to one cell. [-0, +0] */
static void add_to_cell(const es_Append *a, const es_Entry *e, int column,
                        uint32_t key) {
  lua_State *L = a->op.L;
  if (lua_rawgeti(L, column, key) != LUA_TNUMBER)
    es_error(L, a->op.fn, "offset: %s has a value that is no number",
             es_names_quote(L, e->name, e->len));
  lua_pushvalue(L, -2);
  lua_arith(L, LUA_OPADD);
  lua_rawseti(L, column, key);
}

/* The field of the key at 'idx', a string; its value behind it a number. */
static uint32_t offset_field(const es_Append *a, const es_Entry *e,
                             int idx) {
  lua_State *L = a->op.L;
  size_t len;
  const char *name;
  int field = -1;
  if (lua_type(L, idx) == LUA_TSTRING) {
    name = lua_tolstring(L, idx, &len);
    field = es_trait_field(e->store->trait, name, len);
  }
  if (field < 0) es_store_no_field(&a->op, e->store, idx);
  if (es_entry_is_ref(e, (uint32_t)field))
    es_error(L, a->op.fn, "offset: %s.%s holds entities",
             es_names_quote(L, e->name, e->len),
             e->store->trait->fields[field].name);
  if (lua_type(L, idx + 1) != LUA_TNUMBER)
    es_error(L, a->op.fn, "offset: number expected, got %s",
             es_error_typename(L, idx + 1));
  return (uint32_t)field;
}

/* The offsets of one trait: the table on top. */
static void offset_trait(const es_Append *a, uint32_t i) {
  lua_State *L = a->op.L;
  const es_Entry *e = es_match_at(&a->matches, i)->entry;
  const es_ImageTrait *t = es_image_trait(a->image, i);
  const uint32_t *keys = es_append_keys_of(a, i);
  int table = lua_gettop(L);
  uint32_t k;
  lua_pushnil(L);
  while (lua_next(L, table)) {   /* key number */
    uint32_t field = offset_field(a, e, table + 1);
    es_store_push_column(&a->op, e->store, field);
    lua_insert(L, -2);           /* key column number */
    for (k = 0; k < t->rows; k++)
      if (keys[k] != ES_NO_SLOT) add_to_cell(a, e, table + 2, keys[k]);
    lua_pop(L, 2);
  }
}

/* The table at 'idx': fields of the trait, and numbers. */
static void check_fields(const es_Append *a, const es_Entry *e, int idx) {
  lua_State *L = a->op.L;
  if (!lua_istable(L, idx))
    es_error(L, a->op.fn, "offset: table of fields expected, got %s",
             es_error_typename(L, idx));
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
    offset_field(a, e, idx + 1);
}

/* Every key must be the name of a trait. */
static void check_offset(const es_Append *a) {
  lua_State *L = a->op.L;
  size_t len;
  const char *name;
  const es_Entry *e;
  lua_pushnil(L);
  while (lua_next(L, a->offset)) {   /* key value */
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -1);
    name = luaL_tolstring(L, -1, &len);
    e = es_registry_find(&a->op, name, len);
    if (e == NULL)
      es_error(L, a->op.fn, "offset: %s is not registered",
               es_names_quote(L, name, len));
    lua_pop(L, 1);
    lua_rawget(L, a->offset);
    check_fields(a, e, lua_gettop(L));
    lua_pop(L, 1);
  }
}

static void apply_offset(const es_Append *a) {
  lua_State *L = a->op.L;
  uint32_t i;
  check_offset(a);
  for (i = 0; i < a->image->ntraits; i++) {
    const es_Entry *e = es_match_at(&a->matches, i)->entry;
    if (e == NULL) continue;
    lua_pushlstring(L, e->name, e->len);
    if (lua_rawget(L, a->offset) != LUA_TNIL) offset_trait(a, i);
    lua_pop(L, 1);
  }
}

static void fill(es_Append *a) {
  uint32_t i;
  for (i = 0; i < a->image->ntraits; i++) {
    const es_Found *m = es_match_at(&a->matches, i);
    if (m->entry == NULL) continue;
    if (m->entry->store->key) es_append_fill_keys(a, i, m->entry->store);
    else es_fill_trait(&a->fill, i, es_append_keys_of(a, i));
  }
  if (a->offset != 0) apply_offset(a);
}

static void link_trait(es_Append *a, uint32_t i) {
  const es_ImageTrait *t = es_image_trait(a->image, i);
  const es_Entry *e = es_match_at(&a->matches, i)->entry;
  es_Store *s;
  const uint32_t *keys = es_append_keys_of(a, i);
  uint32_t k;
  if (e == NULL) return;
  s = e->store;
  if (s->key) {
    es_append_link_keys(a, s, keys, t->rows);
    return;
  }
  for (k = 0; k < t->rows; k++) {
    uint32_t slot = es_image_slot(a->image, t, k);
    if (slot == 0) continue;
    slot = new_slot(a, slot);
    if (s->trait->relation) {
      es_pairs_add(&s->pairs, slot, new_slot(a, es_image_target(t, k)));
      s->version++;
    }
    es_store_set(s, slot);
  }
}

static int is_excluded(const es_Image *image, uint32_t slot) {
  return slot / 64 < image->excluded.len / 8 &&
         (((const uint64_t *)(const void *)image->excluded.data)[slot / 64] >>
              (slot % 64) & 1);
}

static void link_all(es_Append *a) {
  es_World *w = a->op.w;
  uint32_t i, slot;
  a->linked = 1;
  for (i = 0; i < a->image->ntraits; i++) link_trait(a, i);
  for (slot = 1; slot < a->image->known; slot++)
    if (is_excluded(a->image, slot))
      es_store_set(w->excluded, new_slot(a, slot));
  for (i = 0; i < a->n; i++) es_query_touch(w, es_entity_slot(a->list[i]));
}

/* ecs.IsExcluded has no name in the snapshot. */
static void tell_excluded(const es_Append *a) {
  const es_Store *s = a->op.w->excluded;
  uint32_t slot;
  for (slot = 1; slot < a->image->known; slot++)
    if (is_excluded(a->image, slot))
      es_append_check(a, es_tell(&a->op, s, ES_ON_ADD, a->entities[slot], 0,
                              ES_STOP));
}

/* onAdd for every trait and pair, then the queries. */
static void tell(const es_Append *a) {
  uint32_t i, k;
  tell_excluded(a);
  for (i = 0; i < a->image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(a->image, i);
    const es_Entry *e = es_match_at(&a->matches, i)->entry;
    if (e == NULL || e->store->observers[ES_ON_ADD] == 0) continue;
    for (k = 0; k < t->rows; k++) {
      uint32_t slot = es_image_slot(a->image, t, k);
      es_Entity target = 0;
      if (slot == 0) continue;
      if (e->store->trait->relation)
        target = a->entities[es_image_target(t, k)];
      es_append_check(a, es_tell(&a->op, e->store, ES_ON_ADD, a->entities[slot],
                              target, ES_STOP));
    }
  }
  es_append_check(a, es_query_flush(&a->op, ES_STOP));
}

static void push_list(const es_Append *a) {
  lua_State *L = a->op.L;
  uint32_t i;
  lua_createtable(L, (int)a->n, 0);
  for (i = 0; i < a->n; i++) {
    es_world_push(L, a->list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void call_patch(const es_Append *a) {
  lua_State *L = a->op.L;
  int status;
  lua_pushvalue(L, a->patch);
  lua_pushvalue(L, -2);
  a->op.w->busy++;
  status = es_call(L, 1, 0, "patch");
  a->op.w->busy--;
  es_append_check(a, status);
}

/* 1 the world, 2 the anchors, 3 the append. */
static es_Append *append_at_3(lua_State *L) {
  es_Append *a = lua_touserdata(L, 3);
  es_op_enter(&a->op, L);
  a->matches.op = a->fill.op = &a->op;
  return a;
}

/*
** Runs protected: 1 the world, 2 the anchors, 3 the append, 4, 5 options,
** 6 the keys that are taken over (ES_APPEND_TAKEN).
*/
static int run(lua_State *L) {
  es_Append *a = append_at_3(L);
  a->fill.columns = 2;
  es_need_stack(L, 3 * LUA_MINSTACK);
  a->ctx = es_fill_open(&a->fill);
  fill(a);         /* the world is read-only until everything is linked */
  es_fill_close(a->ctx);
  es_append_tell_taken(a);
  link_all(a);
  a->op.w->readonly--;
  tell(a);
  push_list(a);
  if (a->patch != 0) call_patch(a);
  return 1;
}

/* Forgets values that nobody has. */
static void erase_values(const es_Append *a, const es_Op *op) {
  uint32_t i, k;
  for (i = 0; i < a->image->ntraits; i++) {
    const es_Entry *e = es_match_at(&a->matches, i)->entry;
    uint32_t rows = es_image_trait(a->image, i)->rows;
    for (k = 0; e != NULL && k < rows; k++)
      if (es_append_keys_of(a, i)[k] != ES_NO_SLOT)
        es_store_erase(op, e->store, es_append_keys_of(a, i)[k]);
  }
}

/* Before the linking nobody has seen the entities; afterwards they die. */
static void undo(es_Append *a, const es_Op *op, int taken) {
  es_World *w = op->w;
  if (!a->linked) {
    erase_values(a, op);
    es_entity_rewind(&w->entities, &a->mark, a->list, a->n);
    w->lives++;
    return;
  }
  lua_pushnil(op->L);
  es_undo_entities(op, a->list, a->n, lua_gettop(op->L));
  es_append_give_back(op, taken);
  es_query_flush(op, lua_gettop(op->L));
  lua_pop(op->L, 1);
}

static void bad_option(const es_Append *a, const char *name,
                       const char *expected) {
  lua_State *L = a->op.L;
  es_error(L, a->op.fn, "option '%s': %s expected, got %s", name, expected,
           es_error_typename(L, lua_gettop(L)));
}

/* Pushes an option and returns its type. [-0, +1] */
static int push_option(const es_Append *a, int options, const char *name) {
  lua_pushstring(a->op.L, name);
  return lua_rawget(a->op.L, options);
}

static void read_policy(es_Append *a, int options) {
  lua_State *L = a->op.L;
  push_option(a, options, "keys");
  if (lua_isnil(L, -1) || es_names_is(L, -1, "error")) a->policy = KEYS_ERROR;
  else if (es_names_is(L, -1, "drop")) a->policy = KEYS_DROP;
  else if (es_names_is(L, -1, "replace")) a->policy = KEYS_REPLACE;
  else bad_option(a, "keys", "\"error\", \"drop\" or \"replace\"");
  lua_pop(L, 1);
}

/* A snapshot holds no dangling references, so that either word is met. */
static void read_dangling(const es_Append *a, int options) {
  lua_State *L = a->op.L;
  if (push_option(a, options, "dangling") != LUA_TNIL &&
      !es_names_is(L, -1, "error") && !es_names_is(L, -1, "null"))
    bad_option(a, "dangling", "\"error\" or \"null\"");
  lua_pop(L, 1);
}

/* Leaves offset and patch on the stack, as nil when not given. [-0, +2] */
static void read_options(es_Append *a, int options) {
  static const char *const known[] = {"offset", "patch", "keys", "dangling"};
  lua_State *L = a->op.L;
  if (options == 0 || lua_isnil(L, options)) {
    lua_pushnil(L);
    lua_pushnil(L);
    return;
  }
  if (!lua_istable(L, options))
    es_error_arg(L, a->op.fn, 2, "options table", options);
  es_names_check_options(L, a->op.fn, options, known, 4);
  read_policy(a, options);
  read_dangling(a, options);
  if (push_option(a, options, "offset") != LUA_TNIL && !lua_istable(L, -1))
    bad_option(a, "offset", "table");
  if (push_option(a, options, "patch") != LUA_TNIL && !lua_isfunction(L, -1))
    bad_option(a, "patch", "function");
}

/*
** Runs protected: matches, and memory for everything that will be linked. The
** caller keeps what is returned.
*/
static int prepare(lua_State *L) {
  es_Append *a = append_at_3(L);
  es_need_stack(L, 3 * LUA_MINSTACK);
  es_match_all(&a->matches, &a->op, a->image);
  a->entities =
      lua_newuserdatauv(L, (a->image->known + 1) * sizeof(es_Entity), 0);
  a->list =
      lua_newuserdatauv(L, (a->image->count + 1) * sizeof(es_Entity), 0);
  a->keys = es_guard_buffer(L);
  es_try(L, es_buffer_reserve(a->keys, a->image->slots.len + 4));
  a->fill.matches = &a->matches;
  a->fill.entities = a->entities;
  es_try(L, reserve(a));
  return lua_gettop(L) - 3;
}

/* Pushes a function of ours and its first arguments. [-0, +4] */
static void push_call(const es_Append *a, lua_CFunction f, int append) {
  lua_State *L = a->op.L;
  es_op_push_call(&a->op, f);
  lua_pushvalue(L, append);
}

/*
** Prepares and runs; 'run' and its six arguments are on top. Leaves what was
** prepared, and the list of entities or an error.
*/
static int protect(es_Append *a, const es_Op *op, int append) {
  lua_State *L = op->L;
  uint32_t readonly = op->w->readonly;
  int i, status, call = lua_gettop(L) - 6;
  push_call(a, prepare, append);
  es_op_lock(op);
  status = lua_pcall(L, 3, LUA_MULTRET, 0);
  if (status == LUA_OK) {
    spawn(a);
    choose_keys(a);
    for (i = call; i <= call + 6; i++) lua_pushvalue(L, i);
    status = lua_pcall(L, 6, 1, 0);
  }
  es_op_unlock(op, readonly);
  return status;
}

void es_append_image(const es_Op *op, const es_Image *image, int options) {
  lua_State *L = op->L;
  int at = lua_gettop(L) + 1, taken;
  es_Append *a = lua_newuserdatauv(L, sizeof *a, 0);
  memset(a, 0, sizeof *a);
  es_need_stack(L, 3 * LUA_MINSTACK);
  a->op = *op;
  a->image = image;
  lua_newtable(L);
  taken = lua_gettop(L);
  push_call(a, run, at);
  read_options(a, options);
  a->offset = lua_isnil(L, -2) ? 0 : 4;
  a->patch = lua_isnil(L, -1) ? 0 : 5;
  lua_pushvalue(L, taken);
  if (protect(a, op, at) != LUA_OK) {
    if (a->ctx != NULL) es_fill_close(a->ctx);
    if (a->n > 0) undo(a, op, taken);
    lua_error(L);
  }
  lua_replace(L, at);
  lua_settop(L, at);
}

int es_append_lua(lua_State *L) {
  es_Op op;
  es_op_change(L, &op, "appendSnapshot");
  if (op.w->restoring || op.w->resetting)
    return es_error(L, "appendSnapshot",
                    "the world is being restored or reset");
  if (lua_type(L, 2) != LUA_TSTRING && !lua_istable(L, 2))
    return es_op_bad(&op, 1, "snapshot bytes or table", 2);
  if (lua_istable(L, 2)) {
    es_table_to_bytes(&op, 2);
    lua_replace(L, 2);
  }
  es_append_image(&op, es_load_image(L, op.fn, 2, 1), 3);
  return 1;
}
