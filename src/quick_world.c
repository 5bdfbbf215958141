/* quick_world.c - what a quick restore makes of a world; see quick.h */
#include "quick.h"

#include <string.h>

#include <lauxlib.h>

#include "guard.h"
#include "query.h"
#include "quick_private.h"
#include "restore.h"

typedef es_Quick Quick;
typedef es_QuickEntry Entry;

/* ---- is it the usual? -------------------------------------------------- */

/* Among more entries than these the general way finds names faster. */
#define MOST_ENTRIES 256

/* True if nobody watches, and slots come one after the other. */
static int is_quiet(const es_World *w) {
  const es_Entities *x = &w->entities;
  return !w->observed && w->ntracked == 0 && x->nfree == 0 &&
         x->known == x->used;
}

/* True if values can come as they are, into columns that nobody uses. */
static int is_usable(const es_Entry *e) {
  const es_Store *s = e->store;
  return !e->codec && !e->transient && !s->key && s->ready && !s->shown &&
         s->count == 0 && s->pairs.count == 0 && s->pairs.freerow == 0;
}

/* Lists the entries by part, behind the ones that are none. [-0, +1] */
static void list_entries(Quick *q) {
  const es_Registry *r = &q->op.w->registry;
  size_t size = (r->n + ES_PARTS) * sizeof *q->entries;
  uint32_t i, n = ES_PARTS;
  int part;
  q->entries = lua_newuserdatauv(q->op.L, size, 0);
  memset(q->entries, 0, size);
  for (part = 0; part < ES_PARTS; part++) {
    q->first[part] = n;
    for (i = 0; i < r->n; i++) {
      Entry *e = &q->entries[n];
      if ((int)es_wording_part(&r->entries[i]) != part) continue;
      e->words = &q->wording.words[i];
      e->store = r->entries[i].store;
      e->usable = (unsigned char)is_usable(&r->entries[i]);
      n++;
    }
  }
  q->first[part] = n;
}

/* ---- room -------------------------------------------------------------- */

/* The new columns of an entry, with room for what the sample tells. */
static void push_columns(const Quick *q, Entry *e) {
  double count = (double)e->count * q->ratio, all;
  uint32_t i;
  all = (double)q->slot + (double)q->sampled * q->ratio;
  if (e->store->trait->relation) all = count;
  es_need_stack(q->op.L, (int)e->store->trait->nfields + LUA_MINSTACK);
  e->columns = lua_gettop(q->op.L) + 1;
  for (i = 0; i < e->store->trait->nfields; i++)
    es_store_new_column(q->op.L, (uint32_t)count, (uint32_t)all);
  e->count = 0;
}

/* Everything that reading needs. [-0, +n] */
static void prepare(Quick *q, const char *text, size_t n) {
  lua_State *L = q->op.L;
  q->guards = lua_gettop(L) + 1;
  q->members = es_guard_buffer(L);
  q->refs = es_guard_buffer(L);
  q->document = es_guard_document(L);
  q->reader = lua_newuserdatauv(L, sizeof *q->reader, 0);
  es_json_begin(q->reader, q->document, text, n);
  es_pusher_open(&q->pusher, L, q->document, 0);
  es_wording_make(L, q->op.w, &q->wording);
  list_entries(q);
  q->p = (const unsigned char *)text;
  q->end = q->p + n;
  q->slot = q->op.w->entities.used;
}

static void release(const Quick *q) {
  int i;
  for (i = 0; i < 3; i++) es_guard_release(q->op.L, q->guards + i);
}

static es_Status reserve(const Quick *q) {
  es_World *w = q->op.w;
  uint32_t i;
  es_Status status = es_world_reserve_slots(w, q->n);
  for (i = ES_PARTS; i < q->first[ES_PARTS]; i++) {
    const Entry *e = &q->entries[i];
    if (status == ES_OK && e->count > 0)
      status = es_store_reserve(e->store, &w->alloc, w->entities.cap,
                                e->count);
  }
  return status;
}

/* ---- what was read ----------------------------------------------------- */

/* The handle that the entity with this index will have. */
static es_Entity handle_of(const Quick *q, uint32_t index) {
  return es_entity_first_handle(&q->op.w->entities, q->slot + index);
}

/* All targets must be there. */
static int check_targets(const Quick *q) {
  const char *at = q->members->data, *end;
  for (end = at + q->members->len; at < end; at += sizeof(es_QuickMember)) {
    const es_QuickMember *m = (const es_QuickMember *)(const void *)at;
    if (m->store->trait->relation && m->target >= q->n) return 0;
  }
  return 1;
}

/* References become handles, in places that hold something already. */
static int settle_refs(const Quick *q) {
  const char *at = q->refs->data, *end;
  for (end = at + q->refs->len; at < end; at += sizeof(es_QuickRef)) {
    const es_QuickRef *r = (const es_QuickRef *)(const void *)at;
    if (r->index >= q->n) return 0;
    es_world_push(q->op.L, handle_of(q, r->index));
    lua_rawseti(q->op.L, r->column, r->key);
  }
  return 1;
}

/* Pushes { entities = {...} }. [-0, +1] */
static void push_result(const Quick *q) {
  lua_State *L = q->op.L;
  uint32_t i;
  lua_createtable(L, 0, 1);
  lua_createtable(L, (int)q->n, 0);
  for (i = 0; i < q->n; i++) {
    es_world_push(L, handle_of(q, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "entities");
}

/* The new columns for the old ones, which are empty. */
static void exchange(const Quick *q, const Entry *e) {
  uint32_t i;
  for (i = 0; i < e->store->trait->nfields; i++) {
    lua_pushvalue(q->op.L, e->columns + (int)i);
    lua_rawseti(q->op.L, q->op.anchors, e->store->anchor + (int)i);
  }
}

/* A finalizer may have looked at a column, or begun to watch. */
static int is_usual_still(const Quick *q) {
  uint32_t i;
  for (i = ES_PARTS; i < q->first[ES_PARTS]; i++)
    if (q->entries[i].count > 0 && q->entries[i].store->shown) return 0;
  return is_quiet(q->op.w);
}

/* Nothing here can fail: room is reserved, and what is set was there. */
static void commit(const Quick *q) {
  es_World *w = q->op.w;
  const char *at = q->members->data, *end = at + q->members->len;
  uint32_t i;
  for (i = 0; i < q->n; i++) es_entity_spawn(&w->entities);
  w->lives += q->n;
  w->changes++;
  for (i = ES_PARTS; i < q->first[ES_PARTS]; i++)
    if (q->entries[i].count > 0) exchange(q, &q->entries[i]);
  for (; at < end; at += sizeof(es_QuickMember)) {
    const es_QuickMember *m = (const es_QuickMember *)(const void *)at;
    if (m->store->trait->relation) {
      es_pairs_add(&m->store->pairs, m->slot, q->slot + m->target);
      m->store->version++;
    }
    es_store_set(m->store, m->slot);
  }
}

/*
** True if there are far fewer records than the first ones made expect: the new
** columns are too large to keep.
*/
static int is_misled(const Quick *q) {
  return 2.0 * q->n + 1024 < (double)q->sampled * q->ratio;
}

/* Reads all, and makes the result and room for it. [-0, +1, or +n] */
static int read_all(Quick *q) {
  uint32_t i;
  if (!es_quick_sample(q)) return 0;
  for (i = ES_PARTS; i < q->first[ES_PARTS]; i++)
    push_columns(q, &q->entries[i]);
  if (!es_quick_take(q) || is_misled(q)) return 0;
  if (!check_targets(q) || !settle_refs(q)) return 0;
  push_result(q);
  es_try(q->op.L, reserve(q));
  return is_usual_still(q);
}

/*
** Runs protected, the world locked: 1 the world, 2 the anchors, 3 the
** restore, 4 the text. Returns the result, or nil.
*/
static int run(lua_State *L) {
  Quick *q = lua_touserdata(L, 3);
  size_t n;
  const char *text = lua_tolstring(L, 4, &n);
  int done;
  es_op_enter(&q->op, L);
  es_need_stack(L, 3 * LUA_MINSTACK);
  es_restore_check_fresh(&q->op);     /* a finalizer may have been here */
  if (!is_quiet(q->op.w) || q->op.w->registry.n > MOST_ENTRIES) return 0;
  prepare(q, text, n);
  done = read_all(q);
  if (done) commit(q);
  release(q);
  return done;
}

int es_quick_restore(const es_Op *op, const char *text, size_t n) {
  lua_State *L = op->L;
  Quick q;
  uint32_t readonly = op->w->readonly;
  int status;
  if (!is_quiet(op->w) || n < 8 || text[n - 1] != '}') return 0;
  memset(&q, 0, sizeof q);
  q.op = *op;
  es_need_stack(L, 6);
  es_op_push_call(op, run);
  lua_pushlightuserdata(L, &q);
  lua_pushvalue(L, 2);
  es_op_lock(op);
  status = lua_pcall(L, 4, 1, 0);
  es_op_unlock(op, readonly);
  if (status != LUA_OK) lua_error(L);
  if (lua_istable(L, -1)) return 1;
  lua_pop(L, 1);
  return 0;
}
