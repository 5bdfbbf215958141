/*
** harness_check.h - looking into a world, for the allocation harness: do its
** parts agree with each other, and what does it hold that no method shows?
**
** Both answers are text. Nothing here changes the world.
*/
#ifndef ES_HARNESS_CHECK_H
#define ES_HARNESS_CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "add.h"
#include "drop.h"
#include "query.h"
#include "world.h"

/* ---- text that grows ---------------------------------------------------- */

typedef struct Text {
  char *data;
  size_t len, cap;
} Text;

static void text_add(Text *t, const char *fmt, ...) {
  va_list args;
  int n;
  if (t->cap - t->len < 512) {
    t->cap = t->cap * 2 + 4096;
    t->data = realloc(t->data, t->cap);
    if (t->data == NULL) abort();
  }
  va_start(args, fmt);
  n = vsnprintf(t->data + t->len, 512, fmt, args);
  va_end(args);
  t->len += n < 512 ? (size_t)n : 511;
}

/* Pushes the text and frees it. The caller's Lua has memory. */
static void text_push(lua_State *L, Text *t) {
  lua_pushlstring(L, t->len > 0 ? t->data : "", t->len);
  free(t->data);
}

/* ---- does everything agree? --------------------------------------------- */

/* The world is at stack index 1, its anchors at index 2. */
typedef struct Check {
  es_Op op;
  es_World *w;
  Text faults;
  int garbage;   /* values that belong to no member are no fault */
} Check;

#define EXPECT(c, condition, ...)                          \
  do {                                                     \
    if (!(condition)) {                                    \
      text_add(&(c)->faults, "%s (", #condition);          \
      text_add(&(c)->faults, __VA_ARGS__);                 \
      text_add(&(c)->faults, "); ");                       \
    }                                                      \
  } while (0)

static int alive(const Check *c, uint32_t slot) {
  return es_bitset_test(&c->w->entities.alive, slot);
}

/* No callback runs, so that nothing may be locked or half done. */
static void check_idle(Check *c) {
  const es_World *w = c->w;
  uint32_t slot;
  EXPECT(c, w->busy == 0, "%u callbacks", w->busy);
  EXPECT(c, w->readonly == 0, "read-only %u times", w->readonly);
  EXPECT(c, !w->restoring && !w->resetting, "restoring or resetting");
  EXPECT(c, es_bitset_count(&w->dying) == 0, "dying");
  EXPECT(c, w->dirty_first == UINT32_MAX - 1, "a slot is dirty");
  for (slot = 0; w->ntracked > 0 && slot < w->dirtycap; slot++)
    EXPECT(c, w->dirty[slot] == UINT32_MAX, "dirty slot %u", slot);
}

/* Every slot that was handed out is alive, free or retired. */
static void check_slots(Check *c) {
  const es_Entities *e = &c->w->entities;
  unsigned char *is_free = calloc(e->known + 1, 1);
  uint32_t slot, i;
  if (is_free == NULL) abort();
  EXPECT(c, es_bitset_count(&e->alive) == e->count + 1, "%u", e->count);
  EXPECT(c, alive(c, 0), "the world entity");
  EXPECT(c, e->used <= e->known && e->known <= e->cap, "%u", e->used);
  for (i = 0; i < e->nfree; i++) {
    EXPECT(c, e->free[i] > 0 && e->free[i] < e->used, "free %u", e->free[i]);
    EXPECT(c, is_free[e->free[i]]++ == 0, "free twice: %u", e->free[i]);
  }
  for (slot = 1; slot < e->used; slot++)
    EXPECT(c, alive(c, slot) + is_free[slot] +
                      (e->generation[slot] == ES_RETIRED) == 1,
           "slot %u", slot);
  for (slot = e->used; slot < e->alive.n * 64; slot++)
    EXPECT(c, !alive(c, slot), "slot %u", slot);
  free(is_free);
}

static void check_source(Check *c, const es_Store *s, uint32_t source) {
  const es_Pairs *p = &s->pairs;
  uint32_t row, before = 0, n = 0;
  for (row = es_pairs_first(p, source); row != 0; row = p->rows[row].next) {
    const es_PairRow *r = &p->rows[row];
    EXPECT(c, r->source == source && r->prev == before, "row %u", row);
    EXPECT(c, es_pairs_find(p, source, r->target) == row, "row %u", row);
    EXPECT(c, source > 0 && alive(c, source), "source %u", source);
    EXPECT(c, r->target > 0 && alive(c, r->target), "target %u", r->target);
    before = row;
    if (++n > p->count) break;
  }
  if (source >= p->slotcap) return;
  EXPECT(c, p->sources[source].last == before, "source %u", source);
  EXPECT(c, p->sources[source].count == n, "source %u", source);
  EXPECT(c, es_bitset_test(&s->has, source) == (n > 0), "source %u", source);
  EXPECT(c, n <= 1 || !s->trait->exclusive, "source %u", source);
}

static uint32_t check_target(Check *c, const es_Store *s, uint32_t target) {
  const es_Pairs *p = &s->pairs;
  uint32_t row = es_pairs_first_source(p, target), before = 0, n = 0;
  for (; row != 0; row = p->rows[row].tnext) {
    const es_PairRow *r = &p->rows[row];
    EXPECT(c, r->target == target && r->tprev == before, "row %u", row);
    EXPECT(c, es_pairs_find(p, r->source, target) == row, "row %u", row);
    before = row;
    if (++n > p->count) break;
  }
  EXPECT(c, p->targets[target].last == before, "target %u", target);
  EXPECT(c, p->targets[target].count == n, "target %u", target);
  return n;
}

/* Both directions, the hash and the free rows tell the same. */
static void check_pairs(Check *c, const es_Store *s) {
  const es_Pairs *p = &s->pairs;
  uint32_t slot, row, i, sources = 0, targets = 0, unused = 0, hashed = 0;
  for (slot = 0; slot < p->slotcap; slot++) {
    check_source(c, s, slot);
    sources += p->sources[slot].count;
    targets += check_target(c, s, slot);
  }
  for (row = p->freerow; row != 0 && unused <= p->nrows;
       row = p->rows[row].next)
    unused++;
  for (i = 0; i < p->hashcap; i++) hashed += p->hash[i] != 0;
  EXPECT(c, sources == p->count && targets == p->count && hashed == p->count,
         "%u %u %u of %u pairs", sources, targets, hashed, p->count);
  EXPECT(c, p->count + unused + 1 == p->nrows, "%u + %u of %u rows",
         p->count, unused, p->nrows);
}

static int row_is_used(const es_Pairs *p, uint32_t row) {
  if (row == 0 || row >= p->nrows) return 0;
  return es_pairs_find(p, p->rows[row].source, p->rows[row].target) == row;
}

static int is_key_of_member(const es_Store *s, lua_Integer key) {
  if (key < 0 || key > UINT32_MAX) return 0;
  return s->trait->relation ? row_is_used(&s->pairs, (uint32_t)key)
                            : es_bitset_test(&s->has, (uint32_t)key);
}

/* What a column holds belongs to members. */
static void check_column(Check *c, const es_Store *s, uint32_t field) {
  lua_State *L = c->op.L;
  es_store_push_column(&c->op, s, field);
  EXPECT(c, lua_istable(L, -1), "trait %u", s->trait->id);
  for (lua_pushnil(L); lua_istable(L, -2) && lua_next(L, -2); lua_pop(L, 1)) {
    EXPECT(c, lua_isinteger(L, -2), "a key of trait %u", s->trait->id);
    EXPECT(c, c->garbage || is_key_of_member(s, lua_tointeger(L, -2)),
           "value of nobody: trait %u, key %d", s->trait->id,
           (int)lua_tointeger(L, -2));
  }
  lua_settop(L, 2);
}

/* Members have a value of the field's type. */
static void check_value(Check *c, const es_Store *s, uint32_t key) {
  uint32_t f;
  for (f = 0; f < s->trait->nfields; f++) {
    es_store_push(&c->op, s, f, key);
    EXPECT(c, es_trait_accepts(c->op.L, s->trait->fields[f].type, -1),
           "trait %u, field %u, key %u: a %s", s->trait->id, f, key,
           luaL_typename(c->op.L, -1));
    lua_pop(c->op.L, 1);
  }
}

static void check_values(Check *c, const es_Store *s) {
  uint32_t i;
  if (s->trait->relation) {
    for (i = 1; i < s->pairs.nrows; i++)
      if (row_is_used(&s->pairs, i)) check_value(c, s, i);
    return;
  }
  for (i = es_bitset_next(&s->has, 0); i != ES_NO_SLOT;
       i = es_bitset_next(&s->has, i + 1)) {
    check_value(c, s, i);
    if (!s->key) continue;
    es_store_push(&c->op, s, 0, i);
    EXPECT(c, es_add_find_key(&c->op, s, lua_gettop(c->op.L)) == i,
           "the key of %u", i);
    lua_pop(c->op.L, 1);
  }
}

static void check_store(Check *c, const es_Store *s) {
  uint32_t slot, f;
  EXPECT(c, s->count == es_bitset_count(&s->has), "trait %u", s->trait->id);
  for (slot = 0; slot < s->has.n * 64; slot++)
    EXPECT(c, !es_bitset_test(&s->has, slot) || alive(c, slot),
           "trait %u of dead slot %u", s->trait->id, slot);
  EXPECT(c, s->ready || s->count == 0, "trait %u", s->trait->id);
  if (s->trait->relation) check_pairs(c, s);
  if (!s->ready) return;
  for (f = 0; f < s->trait->nfields; f++) check_column(c, s, f);
  check_values(c, s);
}

static void check_stores(Check *c) {
  const es_World *w = c->w;
  uint32_t i, known = 0;
  for (i = 0; i < w->nstores; i++) {
    const es_Store *s = w->stores[i];
    EXPECT(c, i == 0 || w->stores[i - 1]->trait->id < s->trait->id, "%u", i);
    EXPECT(c, es_store_find(w, s->trait) == s, "trait %u", s->trait->id);
    check_store(c, s);
  }
  for (i = 0; i < w->idcap; i++) known += w->by_id[i] != NULL;
  EXPECT(c, known == w->nstores, "%u of %u", known, w->nstores);
  EXPECT(c, es_bitset_test(&w->excluded->has, 0), "the world entity");
}

/* Tracked queries know exactly who matches. */
static void check_tracked(Check *c) {
  const es_World *w = c->w;
  uint32_t i, slot;
  for (i = 0; i < w->ntracked; i++) {
    const es_Tracked *t = &w->tracked[i];
    EXPECT(c, t->query->anchor != 0, "query %u", i);
    EXPECT(c, t->members.n * 64 >= w->entities.known, "query %u", i);
    for (slot = 0; slot < w->entities.cap; slot++)
      EXPECT(c, es_bitset_test(&t->members, slot) ==
                    es_query_matches(w, t->query, slot),
             "query %u, slot %u", i, slot);
  }
}

static void check_registry(Check *c) {
  const es_Registry *r = &c->w->registry;
  uint32_t i;
  for (i = 0; i < r->n; i++) {
    const es_Entry *e = &r->entries[i];
    EXPECT(c, e->store->entry == (int)i, "entry %u", i);
    EXPECT(c, !e->store->ignored, "entry %u", i);
    EXPECT(c, es_registry_find(&c->op, e->name, e->len) == e, "entry %u", i);
  }
  for (i = 0; i < c->w->nstores; i++) {
    const es_Store *s = c->w->stores[i];
    EXPECT(c, s->entry < 0 || (uint32_t)s->entry < r->n, "trait %u",
           s->trait->id);
  }
}

static es_World *enter(lua_State *L, es_Op *op) {
  es_World *w = *(es_World **)lua_touserdata(L, 1);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  memset(op, 0, sizeof *op);
  op->L = L;
  op->w = w;
  op->fn = "check";
  op->world = 1;
  op->anchors = 2;
  return w;
}

/* check(world, garbage) --> what is wrong, "" when nothing is */
static int lua_check(lua_State *L) {
  Check c;
  memset(&c, 0, sizeof c);
  c.garbage = lua_toboolean(L, 2);
  c.w = enter(L, &c.op);
  luaL_checkstack(L, 100, "check");
  if (c.w->open) {
    check_idle(&c);
    check_slots(&c);
    check_stores(&c);
    check_tracked(&c);
    check_registry(&c);
  }
  text_push(L, &c.faults);
  return 1;
}

/* ---- what no method shows ------------------------------------------------ */

/* The active boxes of a list of observers. */
static void show_observers(const es_Op *op, Text *t, const char *what,
                           int anchor) {
  lua_State *L = op->L;
  int top = lua_gettop(L);
  lua_Integer i, n;
  if (es_observer_none(op, anchor)) return;
  lua_rawgeti(L, op->anchors, anchor);
  n = (lua_Integer)lua_rawlen(L, -1);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    if (lua_rawgeti(L, -1, 1) == LUA_TFUNCTION) {
      text_add(t, "%s observer", what);
      if (lua_rawgeti(L, -2, 2) == LUA_TNUMBER)
        text_add(t, " of %u",
                 es_entity_slot((es_Entity)lua_tointeger(L, -1)));
      text_add(t, "\n");
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

static void show_store(const es_Op *op, Text *t, const es_Store *s) {
  char what[32];
  int event;
  for (event = 0; event < ES_EVENT_COUNT; event++) {
    snprintf(what, sizeof what, "trait %u event %d", s->trait->id, event);
    show_observers(op, t, what, s->observers[event]);
  }
  if (s->ignored) text_add(t, "trait %u ignored\n", s->trait->id);
}

static void show_entry(Text *t, const es_Entry *e) {
  uint32_t f;
  text_add(t, "entry %.*s trait %u codec %d transient %d refs",
           (int)(e->len < 100 ? e->len : 100), e->name, e->store->trait->id,
           e->codec, e->transient);
  for (f = 0; f < e->store->trait->nfields; f++)
    text_add(t, " %d", es_entry_is_ref(e, f));
  text_add(t, "\n");
}

static void show_tracked(const es_Op *op, Text *t, const es_Tracked *tracked) {
  const es_Query *q = tracked->query;
  const es_Bitset *members = &tracked->members;
  uint32_t i;
  if (es_observer_none(op, q->observers[0]) &&
      es_observer_none(op, q->observers[1]))
    return;
  text_add(t, "query");
  for (i = 0; i < q->n; i++)
    text_add(t, " %d:%u:%u", (int)q->terms[i].match,
             q->terms[i].store->trait->id,
             es_entity_slot(q->terms[i].target));
  text_add(t, " members");
  for (i = es_bitset_next(members, 0); i != ES_NO_SLOT;
       i = es_bitset_next(members, i + 1))
    text_add(t, " %u", i);
  text_add(t, "\n");
  show_observers(op, t, "entered", q->observers[0]);
  show_observers(op, t, "left", q->observers[1]);
}

/* What decides the handles to come. */
static void show_slots(Text *t, const es_Entities *e) {
  uint32_t i;
  text_add(t, "used %u free", e->used);
  for (i = 0; i < e->nfree; i++) text_add(t, " %u", e->free[i]);
  text_add(t, " generations");
  for (i = 0; i < e->known; i++) text_add(t, " %u", e->generation[i]);
  text_add(t, "\n");
}

/* core(world, exact) --> text; 'exact' adds what decides later handles */
static int lua_core(lua_State *L) {
  es_Op op;
  Text t = {NULL, 0, 0};
  uint32_t i;
  int exact = lua_toboolean(L, 2);
  const es_World *w = enter(L, &op);
  if (w->open) {
    for (i = 0; i < w->nstores; i++) show_store(&op, &t, w->stores[i]);
    for (i = 0; i < w->registry.n; i++)
      show_entry(&t, &w->registry.entries[i]);
    for (i = 0; i < w->ntracked; i++) show_tracked(&op, &t, &w->tracked[i]);
    if (exact) show_slots(&t, &w->entities);
  }
  text_push(L, &t);
  return 1;
}

/* anchors(world) --> how many things the world keeps alive */
static int lua_anchors(lua_State *L) {
  es_Op op;
  lua_Integer n = 0;
  if (enter(L, &op)->open)
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) n++;
  lua_pushinteger(L, n);
  return 1;
}

#endif
