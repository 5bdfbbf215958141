/* add.c - world:spawn and world:add; see add.h */
#include "add.h"

#include <string.h>

#include <lauxlib.h>

#include "drop.h"
#include "methods.h"
#include "names.h"
#include "query.h"

/* One argument of add or spawn. */
typedef struct es_Change {
  es_Store *store;
  es_Entity target;    /* pairs; else 0 */
  int value;           /* stack index of the given value, 0: none */
  int first;           /* stack index of the evaluated fields */
  uint32_t written;    /* the key that its values were written under */
  uint32_t ahead;      /* changes before it that take a row of its relation */
  unsigned char fresh; /* it will be, or was, added */
  es_Entity old;       /* the pair of an exclusive relation that it replaces */
  int saved;           /* stack index of the old pair's fields */
} es_Change;

typedef struct es_Changes {
  const es_Op *op;
  es_Change *list;
  int n;
  int pairs;
  es_Entity entity;    /* 0: it will be spawned */
} es_Changes;

static uint32_t target_slot(const es_Change *c) {
  return es_entity_slot(c->target);
}

uint32_t es_add_find_key(const es_Op *op, const es_Store *s, int idx) {
  lua_State *L = op->L;
  uint32_t slot = ES_NO_SLOT;
  lua_rawgeti(L, op->anchors, s->anchor + 2);
  lua_pushvalue(L, idx);
  if (lua_rawget(L, -2) == LUA_TNUMBER) {
    uint32_t at = (uint32_t)lua_tointeger(L, -1);
    es_store_push(op, s, 0, at);
    if (es_bitset_test(&s->has, at) && lua_rawequal(L, -1, idx)) slot = at;
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return slot;
}

void es_add_check_key(const es_Op *op, const es_Store *s, uint32_t slot,
                      int idx) {
  uint32_t holder = es_add_find_key(op, s, idx);
  size_t len;
  const char *key;
  if (holder == ES_NO_SLOT || holder == slot) return;
  key = lua_tolstring(op->L, idx, &len);
  es_error(op->L, op->fn, "the key %s belongs to another entity",
           es_names_quote(op->L, key, len));
}

static void read_pair(const es_Op *op, es_Change *c, const es_Term *pair,
                      int n) {
  if (pair->wildcard)
    es_error(op->L, op->fn,
             "bad argument #%d (a pair needs a target, not \"*\")", n);
  c->target = (es_Entity)pair->target;
  es_world_check_target(op, c->target, n);
}

/* The trait, term or pair at 'idx'. The store is made when needed. */
static void read_change(const es_Op *op, es_Change *c, int idx, int n) {
  lua_State *L = op->L;
  const es_Term *term = es_term_test(L, op->w->state, idx);
  const es_Trait *t = es_trait_test(L, op->w->state, idx);
  memset(c, 0, sizeof *c);
  if (t != NULL && !t->relation) {
    c->store = es_store_get(op, idx);
    return;
  }
  if (term == NULL || term->op > ES_TERM_PAIR)
    es_op_bad(op, n, "trait, trait with value or pair", idx);
  if (term->op == ES_TERM_PAIR) read_pair(op, c, term, n);
  es_need_stack(L, 2);
  lua_getiuservalue(L, idx, 1);
  c->store = es_store_get(op, lua_gettop(L));
  lua_pop(L, 1);
  lua_getiuservalue(L, idx, 2);
  c->value = lua_gettop(L);   /* stays on the stack */
}

/*
** Which changes are needed now, and which rows the new pairs will take. What
** was not needed at first ('again') is not looked at a second time.
*/
static void settle(const es_Changes *all, uint32_t slot, int again) {
  int i, k;
  for (i = 0; i < all->n; i++) {
    es_Change *c = &all->list[i];
    if (again && !c->fresh) continue;
    c->fresh = slot == ES_NO_SLOT || !es_has(c->store, slot, target_slot(c));
    c->ahead = 0;
    for (k = 0; k < i && c->fresh; k++) {
      const es_Change *b = &all->list[k];
      if (b->store != c->store || !b->fresh) continue;
      if (b->target == c->target) {
        c->fresh = 0;
      } else {
        c->ahead++;
        if (c->store->trait->exclusive)
          es_error(all->op->L, all->op->fn,
                   "%s is exclusive, but two targets are given",
                   es_store_describe(all->op, c->store));
      }
    }
  }
}

static void evaluate(const es_Changes *all) {
  int i;
  for (i = 0; i < all->n; i++) {
    es_Change *c = &all->list[i];
    if (!c->fresh) continue;
    c->first = lua_gettop(all->op->L) + 1;
    es_store_evaluate(all->op, c->store, c->value);
  }
}

/* A key that another entity has is refused before anyone is told. */
static void check_keys(const es_Changes *all, uint32_t slot) {
  int i;
  for (i = 0; i < all->n; i++) {
    const es_Change *c = &all->list[i];
    if (c->fresh && c->store->key)
      es_add_check_key(all->op, c->store, slot, c->first);
  }
}

/* onRemove of the pairs that exclusive relations lose; may raise. */
static void tell_replaced(const es_Changes *all, uint32_t slot) {
  const es_Op *op = all->op;
  int i;
  for (i = 0; i < all->n && slot != ES_NO_SLOT; i++) {
    es_Change *c = &all->list[i];
    uint32_t row = es_pairs_first(&c->store->pairs, slot);
    if (!c->fresh || !c->store->trait->exclusive || row == 0) continue;
    if (es_tell(op, c->store, ES_ON_REMOVE, all->entity,
                es_entity_handle(&op->w->entities,
                                 c->store->pairs.rows[row].target),
                ES_STOP) != LUA_OK)
      lua_error(op->L);
  }
}

/* Factories and observers may have changed things. */
static void recheck(const es_Changes *all) {
  const es_Op *op = all->op;
  const es_World *w = op->w;
  int i;
  if (!w->open || w->readonly > 0)
    es_error(op->L, op->fn, "the world was locked by a callback");
  if (all->entity != 0 && !es_entity_is_alive(&w->entities, all->entity))
    es_error(op->L, op->fn, "the entity was destroyed by a callback");
  for (i = 0; i < all->n; i++)
    if (all->list[i].target != 0)
      es_world_check_target(op, all->list[i].target, i + 1);
}

static es_Status reserve(const es_Changes *all, uint32_t slot) {
  const es_World *w = all->op->w;
  es_Status status = ES_OK;
  int i;
  for (i = 0; i < all->n && status == ES_OK; i++) {
    const es_Change *c = &all->list[i];
    uint32_t top = target_slot(c) > slot ? target_slot(c) : slot;
    if (c->fresh)
      status = es_store_reserve(c->store, &w->alloc, top + 1,
                                (uint32_t)all->pairs);
  }
  return status;
}

/* Takes back what write_values wrote for a state that is no more. */
static void erase_values(const es_Changes *all) {
  int i;
  for (i = 0; i < all->n; i++) {
    const es_Change *c = &all->list[i];
    if (!c->fresh || c->written == ES_NO_SLOT) continue;
    if (c->target != 0 ? !es_pairs_in_use(&c->store->pairs, c->written)
                       : !es_bitset_test(&c->store->has, c->written))
      es_store_erase(all->op, c->store, c->written);
  }
}

/* Values first: what may fail happens before anyone has the trait. */
static void write_values(const es_Changes *all, uint32_t slot) {
  int i;
  for (i = 0; i < all->n; i++) {
    es_Change *c = &all->list[i];
    c->written = slot;
    if (!c->fresh) continue;
    if (c->target != 0)
      c->written = es_pairs_peek(&c->store->pairs, c->ahead);
    es_store_put_all(all->op, c->store, c->written, c->first);
  }
}

/* Keeps the old pair's fields on the stack, for the undo. */
static void save_replaced(const es_Changes *all, uint32_t slot) {
  lua_State *L = all->op->L;
  int i;
  uint32_t f;
  for (i = 0; i < all->n; i++) {
    es_Change *c = &all->list[i];
    const es_Pairs *p = &c->store->pairs;
    uint32_t row = es_pairs_first(p, slot);
    c->old = 0;
    if (!c->fresh || !c->store->trait->exclusive || row == 0) continue;
    c->old = es_entity_handle(&all->op->w->entities, p->rows[row].target);
    es_need_stack(L, (int)c->store->trait->nfields + LUA_MINSTACK);
    c->saved = lua_gettop(L) + 1;
    for (f = 0; f < c->store->trait->nfields; f++)
      es_store_push(all->op, c->store, f, row);
  }
}

/* Links what was written; nothing here can fail. */
static void commit(const es_Changes *all, uint32_t slot) {
  int i;
  for (i = 0; i < all->n; i++) {
    const es_Change *c = &all->list[i];
    if (!c->fresh) continue;
    if (c->target != 0) {
      es_pairs_add(&c->store->pairs, slot, target_slot(c));
      c->store->version++;
    }
    es_store_set(c->store, slot);
  }
  for (i = 0; i < all->n; i++)
    if (all->list[i].old != 0)
      es_drop(all->op, all->list[i].store, slot,
              es_entity_slot(all->list[i].old));
  all->op->w->changes++;
  es_query_touch(all->op->w, slot);
}

static int tell_added(const es_Changes *all, es_Entity entity) {
  int i, status = LUA_OK;
  for (i = 0; i < all->n && status == LUA_OK; i++)
    if (all->list[i].fresh)
      status = es_tell(all->op, all->list[i].store, ES_ON_ADD, entity,
                       all->list[i].target, ES_STOP);
  if (status == LUA_OK) status = es_query_flush(all->op, ES_STOP);
  return status;
}

/*
** The replaced pair comes back, unless something else took its place. It does
** so before its successor goes: then the row that it had is the next one
** free, and its columns have room for all its values.
*/
static void bring_back(const es_Op *op, const es_Change *c, uint32_t slot) {
  es_Pairs *p = &c->store->pairs;
  uint32_t row = es_pairs_first(p, slot);
  if (!es_entity_is_alive(&op->w->entities, c->old)) return;
  if (row != 0 && (p->rows[row].target != target_slot(c) ||
                   es_pairs_next(p, row) != 0))
    return;
  es_store_put_all(op, c->store, es_pairs_peek(p, 0), c->saved);
  es_pairs_add(p, slot, es_entity_slot(c->old));
  c->store->version++;
  es_store_set(c->store, slot);
}

/* An observer raised: the call is undone. The error is on top. */
static void undo(const es_Changes *all, es_Entity entity, int spawned) {
  const es_Op *op = all->op;
  const es_Entities *entities = &op->w->entities;
  uint32_t slot = es_entity_slot(entity);
  int i, errors;
  lua_pushnil(op->L);   /* errors during the undo are not wanted */
  errors = lua_gettop(op->L);
  if (spawned) {
    es_undo_entities(op, &entity, 1, errors);
    lua_pop(op->L, 1);
    return;
  }
  for (i = all->n - 1; i >= 0; i--) {
    const es_Change *c = &all->list[i];
    if (!c->fresh) continue;
    es_tell(op, c->store, ES_ON_REMOVE, entity, c->target, errors);
    if (!es_entity_is_alive(entities, entity)) break;
    if (c->old != 0) bring_back(op, c, slot);
    if (c->target == 0 || es_entity_is_alive(entities, c->target))
      es_drop(op, c->store, slot, target_slot(c));
  }
  es_query_touch(op->w, slot);
  es_query_flush(op, errors);
  lua_pop(op->L, 1);
}

static es_Entity spawn_slot(es_World *w) {
  uint32_t slot = es_entity_spawn(&w->entities);
  w->lives++;
  w->changes++;
  return es_entity_handle(&w->entities, slot);
}

/* How often finalizers may get in the way before the call gives up. */
enum { TRIES = 100 };

/*
** Checks everything, makes room and writes the values, so that nothing can
** fail any more. All of this may run finalizers, and these may change the
** world: then it begins again. Returns the slot.
*/
static uint32_t prepare(es_Changes *all, uint32_t slot) {
  const es_Op *op = all->op;
  es_World *w = op->w;
  int tries, top = lua_gettop(op->L), spawned = slot == ES_NO_SLOT;
  uint64_t before;
  for (tries = 0; tries < TRIES; tries++) {
    before = w->changes;
    lua_settop(op->L, top);
    recheck(all);
    settle(all, spawned ? ES_NO_SLOT : slot, 1);
    if (spawned) {
      es_try(op->L, es_world_reserve_slots(w, 1));
      slot = es_entity_peek(&w->entities);
    }
    es_try(op->L, reserve(all, slot));
    check_keys(all, slot);
    write_values(all, slot);
    save_replaced(all, slot);
    if (w->changes == before) return slot;
    erase_values(all);
  }
  es_error(op->L, op->fn, "finalizers keep changing the world");
  return ES_NO_SLOT;
}

/* All that add and spawn do once the arguments are read. */
static es_Entity apply(es_Changes *all) {
  const es_Op *op = all->op;
  es_World *w = op->w;
  es_Entity entity = all->entity;
  int spawned = entity == 0;
  uint32_t slot = spawned ? ES_NO_SLOT : es_entity_slot(entity);
  settle(all, slot, 0);
  evaluate(all);
  check_keys(all, slot);
  tell_replaced(all, slot);
  slot = prepare(all, slot);
  if (spawned) entity = spawn_slot(w);
  commit(all, slot);
  if (tell_added(all, entity) != LUA_OK) {
    undo(all, entity, spawned);
    lua_error(op->L);
  }
  return entity;
}

/* The arguments first..top; a few fit on the C stack. [-0, +...] */
static es_Entity change(const es_Op *op, int first, es_Entity entity) {
  es_Change few[8];
  es_Changes all = {op, few, op->top - first + 1, 0, entity};
  int i;
  if (all.n > 8)
    all.list = lua_newuserdatauv(op->L, (size_t)all.n * sizeof few[0], 0);
  for (i = 0; i < all.n; i++) {
    read_change(op, &all.list[i], first + i, first + i - 1);
    if (all.list[i].target != 0) all.pairs++;
    if (all.list[i].target != 0 && entity != 0 && es_entity_slot(entity) == 0)
      es_error(op->L, op->fn, "the world entity has no pairs");
  }
  return apply(&all);
}

int es_method_spawn(lua_State *L) {
  es_Op op;
  es_Entity entity;
  es_op_change(L, &op, "spawn");
  if (op.w->resetting)
    return es_error(L, "spawn", "the world is being reset");
  entity = change(&op, 2, 0);
  es_world_push(L, entity);
  return 1;
}

int es_method_add(lua_State *L) {
  es_Op op;
  int first;
  uint32_t slot;
  es_op_change(L, &op, "add");
  slot = es_method_subject(&op, &first);
  if (first > op.top)
    return es_op_bad(&op, first - 1, "trait or pair", first);
  if (es_bitset_test(&op.w->dying, slot) || op.w->resetting)
    return es_error(L, "add", "the entity is being destroyed");
  change(&op, first, es_entity_handle(&op.w->entities, slot));
  return 0;
}

int es_add_stored(const es_Op *op, es_Store *s, uint32_t slot,
                  uint32_t target, int first) {
  int status;
  const es_Entities *entities = &op->w->entities;
  uint64_t before;
  do {   /* until no finalizer has changed the world meanwhile */
    before = op->w->changes;
    es_try(op->L, es_store_reserve(s, &op->w->alloc, entities->cap, 1));
    es_store_put_all(op, s, target ? es_pairs_peek(&s->pairs, 0) : slot,
                     first);
  } while (op->w->changes != before);
  if (target != 0) {
    es_pairs_add(&s->pairs, slot, target);
    s->version++;
  }
  es_store_set(s, slot);
  op->w->changes++;
  es_query_touch(op->w, slot);
  status = es_tell(op, s, ES_ON_ADD, es_entity_handle(entities, slot),
                   target ? es_entity_handle(entities, target) : 0, ES_STOP);
  if (status == LUA_OK) status = es_query_flush(op, ES_STOP);
  return status;
}
