/* restore.c - see restore.h */
#include "restore.h"

#include <string.h>

#include <lauxlib.h>

#include "add.h"
#include "call.h"
#include "drop.h"
#include "guard.h"
#include "luadoc.h"
#include "names.h"
#include "plan.h"
#include "query.h"

/* One restore. It is a userdata, so that an escaped ctx finds it dead. */
typedef struct es_Restore {
  es_Op op;
  es_Plan plan;
  const es_Document *doc;
  const char *text;       /* what it was read from, or NULL */
  size_t length;
  unsigned char open;
  unsigned char in_world; /* the world record is being restored */
  es_Entity *entities;    /* the new ones, by snapshot index */
  uint32_t spawned;       /* how many exist */
  uint64_t *alive;        /* who was alive before, by words */
  uint32_t *free;         /* the free list before, and its length */
  uint32_t nfree, used;
  uint32_t words;
  int ctx;                /* stack index of the codecs' context */
  int *columns;           /* per entry: stack index of its first column */
  es_Pusher pusher;       /* of values that are kept whole */
  const es_Step *step;    /* what is being restored; NULL: nothing yet */
} es_Restore;

/* True if the slot was alive before this restore. */
static int was_alive(const es_Restore *r, uint32_t slot) {
  uint32_t k = slot >> 6;
  return k < r->words && ((r->alive[k] >> (slot & 63)) & 1);
}

void es_restore_check_fresh(const es_Op *op) {
  const es_World *w = op->w;
  uint32_t i, slot;
  const char *what = NULL;
  if (w->restoring || w->resetting)
    es_error(op->L, op->fn, "the world is being restored or reset");
  for (slot = es_bitset_next(&w->entities.alive, 1);
       slot != ES_NO_SLOT && what == NULL;
       slot = es_bitset_next(&w->entities.alive, slot + 1))
    if (!es_world_is_excluded(w, slot)) what = "has an entity";
  for (i = 0; i < w->registry.n && what == NULL; i++)
    if (es_bitset_test(&w->registry.entries[i].store->has, 0))
      what = lua_pushfstring(
          op->L, "has the world-level trait %s",
          es_names_quote(op->L, w->registry.entries[i].name,
                         w->registry.entries[i].len));
  if (what == NULL) return;
  lua_pushfstring(op->L, "%s: the world is not fresh: it %s", op->fn, what);
  es_error_serialize(op->L, ES_CODE_NOT_EMPTY);
  lua_error(op->L);
}

/* Raises a SerializeError about a step; the reason is on top. */
static void fail_step(const es_Restore *r, const char *code,
                      uint32_t node) {
  es_plan_push_error(&r->plan, code, node);
  lua_error(r->op.L);
}

/* Room for all slots, and for the pairs and values of each store. */
static es_Status reserve(const es_Restore *r) {
  es_World *w = r->op.w;
  uint32_t i;
  es_Status status = es_world_reserve_slots(w, r->plan.entities);
  for (i = 0; i < w->nstores; i++) w->stores[i]->room = 0;
  for (i = 0; i < w->registry.n && status == ES_OK; i++) {
    es_Store *s = w->registry.entries[i].store;
    s->room = r->plan.names[i].steps;
    if (s->room > 0)
      status = es_store_reserve(s, &w->alloc, w->entities.cap, s->room);
  }
  return status;
}

static void check_status(const es_Restore *r, int status) {
  if (status != LUA_OK) lua_error(r->op.L);
}

/* (1) All entities, without traits. */
static void spawn_entities(es_Restore *r) {
  es_World *w = r->op.w;
  uint32_t i;
  es_entity_sort_free(&w->entities);
  for (i = 0; i < r->plan.entities; i++) {
    uint32_t slot = es_entity_spawn(&w->entities);
    r->entities[i] = es_entity_handle(&w->entities, slot);
    r->spawned = i + 1;
    w->lives++;
    es_query_touch(w, slot);
    if (w->ntracked == 0) continue;
    check_status(r, es_query_flush(&r->op, ES_STOP));
    es_try(r->op.L, es_world_reserve_slots(w, r->plan.entities - i - 1));
  }
}

/* A value for a field, which may not keep ecs.null where nil is meant. */
static void push_field(const es_Restore *r, const es_Entry *e,
                       uint32_t field, uint32_t node) {
  lua_State *L = r->op.L;
  const es_Plan *p = &r->plan;
  es_FieldType type = e->store->trait->fields[field].type;
  uint32_t index;
  if (es_entry_is_ref(e, field)) {
    if (es_plan_index(p, node, &index)) es_world_push(L, r->entities[index]);
    else if (type == ES_FIELD_NULLABLE) lua_pushnil(L);
    else lua_pushlightuserdata(L, NULL);
  } else if (es_document_node(p->doc, node)->type == ES_NODE_NULL &&
             type == ES_FIELD_NULLABLE) {
    lua_pushnil(L);
  } else {
    es_luadoc_push(L, p->doc, node, p->integers && type != ES_FIELD_FLOAT);
  }
}

/*
** The same into a column. Numbers and strings come straight there, but for
** references and where the decoder knew floats only.
*/
static inline void write_field(const es_Restore *r, const es_Entry *e,
                               uint32_t field, uint32_t node, int column,
                               uint32_t key) {
  lua_State *L = r->op.L;
  const es_Node *n = es_document_node(r->plan.doc, node);
  if (r->plan.integers || es_entry_is_ref(e, field) ||
      n->type < ES_NODE_INT || n->type > ES_NODE_STRING) {
    push_field(r, e, field, node);
    es_store_put_top(L, column, key);
    return;
  }
  if (n->type == ES_NODE_INT) lua_pushinteger(L, n->u.i);
  else if (n->type == ES_NODE_FLOAT) lua_pushnumber(L, n->u.d);
  else lua_pushlstring(L, es_document_text(r->plan.doc, n), n->count);
  lua_rawseti(L, column, key);
}

/* Pushes the fields of a SoA value in schema order. [-0, +nfields] */
static void push_soa(const es_Restore *r, const es_Entry *e,
                     const es_Step *step) {
  const es_Document *d = r->plan.doc;
  const es_Trait *t = e->store->trait;
  uint32_t i, key = step->node + 1;
  es_need_stack(r->op.L, (int)t->nfields + LUA_MINSTACK);
  for (i = 0; i < t->nfields; i++) {
    const es_Field *f = &t->fields[i];
    uint32_t value = key + 1;
    if (!step->ordered)
      value = es_document_find(d, step->node, f->name, f->len);
    push_field(r, e, i, value);
    if (i + 1 < t->nfields) key = es_document_next(d, key + 1);
  }
}

/* Runs protected: spreads what fromJSON returned over the fields. */
static int evaluate(lua_State *L) {   /* restore store anchors value */
  const es_Restore *r = lua_touserdata(L, 1);
  const es_Store *s = lua_touserdata(L, 2);
  es_Op op = r->op;
  op.L = L;
  op.anchors = 3;
  if (s->trait->kind == ES_SOA && !lua_istable(L, 4))
    es_error(L, op.fn, "fromJSON must return a table of fields, got %s",
             es_error_typename(L, 4));
  es_store_evaluate(&op, s, 4);
  return (int)s->trait->nfields;
}

/* The error on top becomes the cause of a codec-error, unless it is ours. */
static void raise_codec_error(const es_Restore *r, int status,
                              uint32_t node) {
  lua_State *L = r->op.L;
  if (status == LUA_ERRMEM || es_error_is_serialize(L, r->op.w->state, -1))
    lua_error(L);
  lua_pushliteral(L, "cannot be read: fromJSON failed");
  es_plan_push_error(&r->plan, ES_CODE_CODEC, node);
  lua_insert(L, -2);
  lua_setfield(L, -2, "cause");
  lua_error(L);
}

/* Pushes the fields of what the codec makes. [-0, +nfields] */
static void push_decoded(es_Restore *r, const es_Entry *e, uint32_t node) {
  lua_State *L = r->op.L;
  int status;
  es_need_stack(L, (int)e->store->trait->nfields + LUA_MINSTACK);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, evaluate, 1);
  lua_pushlightuserdata(L, r);
  lua_pushlightuserdata(L, e->store);
  lua_pushvalue(L, r->op.anchors);
  lua_rawgeti(L, r->op.anchors, e->anchor + ES_ENTRY_FROMJSON);
  es_luadoc_push(L, r->plan.doc, node, r->plan.integers);
  lua_pushvalue(L, r->ctx);
  r->op.w->busy++;
  r->op.w->readonly++;
  status = es_call(L, 2, 1, "a codec");
  r->op.w->readonly--;
  r->op.w->busy--;
  if (status != LUA_OK) raise_codec_error(r, status, node);
  if (lua_isnil(L, -1)) {
    lua_pushliteral(L, "cannot be read: fromJSON returned nil");
    fail_step(r, ES_CODE_CODEC, node);
  }
  status = lua_pcall(L, 4, (int)e->store->trait->nfields, 0);
  if (status != LUA_OK) raise_codec_error(r, status, node);
}

/* Pushes all fields of a step's value. [-0, +nfields] */
static void push_value(es_Restore *r, const es_Entry *e,
                       const es_Step *step) {
  const es_Trait *t = e->store->trait;
  if (t->kind == ES_TAG) return;
  if (e->codec) push_decoded(r, e, step->node);
  else if (t->kind == ES_SOA) push_soa(r, e, step);
  else es_luadoc_push(r->op.L, r->plan.doc, step->node, r->plan.integers);
}

/* An observer may have destroyed what is being restored. */
static void check_alive(const es_Restore *r, uint32_t record) {
  lua_State *L = r->op.L;
  if (es_entity_is_alive(&r->op.w->entities, r->entities[record])) return;
  lua_pushfstring(L, "%s: entities[%d] was destroyed by an observer during "
                     "the restore", r->op.fn, (int)record);
  es_error_serialize(L, ES_CODE_RESTORE);
  lua_error(L);
}

/* What an observer has added already is overwritten. */
static void apply_step(es_Restore *r, const es_Step *step, uint32_t slot) {
  lua_State *L = r->op.L;
  const es_World *w = r->op.w;
  const es_Entry *e = &w->registry.entries[step->entry];
  es_Store *s = e->store;
  int top = lua_gettop(L), exclusive = s->trait->exclusive;
  uint32_t target = 0;
  if (s->trait->relation) {
    check_alive(r, step->target);
    target = es_entity_slot(r->entities[step->target]);
  }
  r->step = step;
  push_value(r, e, step);
  if (s->key && !e->codec) es_add_check_key(&r->op, s, slot, top + 1);
  if (es_has(s, slot, target)) es_drop(&r->op, s, slot, target);
  if (exclusive && es_pairs_first(&s->pairs, slot) != 0)
    es_drop(&r->op, s, slot,
            s->pairs.rows[es_pairs_first(&s->pairs, slot)].target);
  check_status(r, es_add_stored(&r->op, s, slot, target, top + 1));
  lua_settop(L, top);
}

/* Where the values of a step will lie. */
static uint32_t step_key(const es_Restore *r, const es_Step *step,
                         uint32_t slot) {
  const es_Store *s = r->op.w->registry.entries[step->entry].store;
  return s->trait->relation ? es_pairs_peek(&s->pairs, 0) : slot;
}

/* The fields of a step straight into their columns. [-0, +0] */
static void write_fields(es_Restore *r, const es_Entry *e,
                         const es_Step *step, uint32_t slot) {
  const es_Document *d = r->plan.doc;
  const es_Trait *t = e->store->trait;
  uint32_t i, node = step->node + 2, key = step_key(r, step, slot);
  int column = r->columns[step->entry];
  if (t->kind == ES_AOS) {
    es_pusher_push(&r->pusher, step->node);
    lua_rawseti(r->op.L, column, key);
    return;
  }
  for (i = 0; i < t->nfields; i++) {
    write_field(r, e, i, node, column + (int)i, key);
    if (i + 1 < t->nfields) node = es_document_next(d, node) + 1;
  }
}

/* A step that no one watches and no script has a part in. */
static int apply_quietly(es_Restore *r, const es_Step *step, uint32_t slot) {
  const es_Entry *e = &r->op.w->registry.entries[step->entry];
  es_Store *s = e->store;
  if (r->op.w->observed || e->codec || s->key ||
      (s->trait->kind == ES_SOA && !step->ordered))
    return 0;
  r->step = step;
  if (s->trait->kind != ES_TAG) write_fields(r, e, step, slot);
  if (s->trait->relation) {
    es_pairs_add(&s->pairs, slot, es_entity_slot(r->entities[step->target]));
    s->version++;
  }
  es_store_set(s, slot);
  return 1;
}

/* (2) the world record, (3) traits by record, (4) pairs by record */
static void apply_steps(es_Restore *r, const es_Buffer *b, int world) {
  uint32_t i, n;
  const es_Step *steps = es_plan_steps(b, &n);
  r->in_world = (unsigned char)world;
  for (i = 0; i < n; i++) {
    es_Entity e = r->entities[steps[i].record];
    uint32_t slot = world ? 0 : es_entity_slot(e);
    if (apply_quietly(r, &steps[i], slot)) continue;
    if (!world) check_alive(r, steps[i].record);
    apply_step(r, &steps[i], slot);
  }
}

/* A column that nobody uses yet is replaced by one of the right size. */
static void push_column(const es_Restore *r, const es_Store *s, uint32_t f) {
  lua_State *L = r->op.L;
  if (s->room == 0 || s->count > 0 || s->shown || s->key) {
    es_store_push_column(&r->op, s, f);
    return;
  }
  es_store_new_column(L, s->room, s->trait->relation
                                      ? s->room
                                      : r->op.w->entities.known +
                                            r->plan.entities);
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->op.anchors, s->anchor + (int)f);
}

/* Puts the columns of all entries on the stack. [-0, +n] */
static void push_columns(es_Restore *r) {
  const es_Registry *registry = &r->op.w->registry;
  lua_State *L = r->op.L;
  uint32_t i, f;
  r->columns =
      lua_newuserdatauv(L, (registry->n + 1) * sizeof *r->columns, 0);
  for (i = 0; i < registry->n; i++) {
    const es_Store *s = registry->entries[i].store;
    es_need_stack(L, (int)s->trait->nfields + LUA_MINSTACK);
    r->columns[i] = lua_gettop(L) + 1;
    for (f = 0; f < s->trait->nfields; f++) push_column(r, s, f);
  }
}

/*
** Pushes a SerializeError about the step in hand, on any stack; the reason is
** on top. [-1, +1]
*/
static void push_step_error(const es_Restore *r, lua_State *L,
                            const char *code) {
  es_Op op = r->op;
  es_Plan plan = r->plan;
  op.L = L;
  plan.op = &op;
  es_plan_push_error(&plan, code, r->step != NULL ? r->step->node : 0);
}

/* ctx.entity(index); upvalues: 1 state, 2 the restore. */
static int ctx_entity(lua_State *L) {
  const es_Restore *r = lua_touserdata(L, lua_upvalueindex(2));
  int integer = 0;
  lua_Integer i = -1;
  if (!r->open)
    return es_error(L, "entity",
                    "the restore that this context is for is over");
  if (lua_type(L, 1) == LUA_TNUMBER) i = lua_tointegerx(L, 1, &integer);
  if (!integer || i < 0 || i >= (lua_Integer)r->plan.entities) {
    lua_pushfstring(L, "asks ctx.entity for what is no index of an entity: "
                       "%s", lua_type(L, 1) == LUA_TNUMBER
                                 ? luaL_tolstring(L, 1, NULL)
                                 : es_error_typename(L, 1));
    push_step_error(r, L, ES_CODE_MALFORMED);
    return lua_error(L);
  }
  es_world_push(L, r->entities[i]);
  return 1;
}

/* 1 the world, 2 the anchors, 3 the restore. */
static es_Restore *restore_at_3(lua_State *L) {
  es_Restore *r = lua_touserdata(L, 3);
  es_op_enter(&r->op, L);
  r->plan.op = &r->op;
  return r;
}

/* Runs protected. */
static int run(lua_State *L) {
  es_Restore *r = restore_at_3(L);
  uint32_t i;
  es_need_stack(L, 3 * LUA_MINSTACK);
  lua_createtable(L, 0, 1);
  r->ctx = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 3);
  lua_pushcclosure(L, ctx_entity, 2);
  lua_setfield(L, r->ctx, "entity");
  /* where no observer is, nobody has a reason to change the world */
  if (!r->op.w->observed) r->op.w->readonly++;
  push_columns(r);
  es_pusher_open(&r->pusher, L, r->plan.doc, r->plan.integers);
  spawn_entities(r);
  apply_steps(r, r->plan.world, 1);
  apply_steps(r, r->plan.traits, 0);
  apply_steps(r, r->plan.pairs, 0);
  if (!r->op.w->observed) r->op.w->readonly--;
  for (i = 0; i < r->plan.entities && r->op.w->observed; i++)
    check_alive(r, i);
  lua_createtable(L, 0, 1);
  lua_createtable(L, (int)r->plan.entities, 0);
  for (i = 0; i < r->plan.entities; i++) {
    es_world_push(L, r->entities[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "entities");
  return 1;
}

/* The step that failed may have left values that nobody has. */
static void erase_step(const es_Restore *r, const es_Op *op) {
  const es_Step *step = r->step;
  const es_Store *s;
  uint32_t slot = 0;
  if (step == NULL) return;
  s = op->w->registry.entries[step->entry].store;
  if (!r->in_world) slot = es_entity_slot(r->entities[step->record]);
  if (s->trait->relation)
    es_store_erase(op, s, es_pairs_peek(&s->pairs, 0));
  else if (!es_bitset_test(&s->has, slot))
    es_store_erase(op, s, slot);
}

/* Takes back all that this restore, or observers during it, brought. */
static void undo(es_Restore *r, const es_Op *op, int errors) {
  es_World *w = op->w;
  uint32_t i, slot;
  erase_step(r, op);
  es_undo_entities(op, r->entities, r->spawned, errors);
  for (slot = es_bitset_next(&w->entities.alive, 1); slot != ES_NO_SLOT;
       slot = es_bitset_next(&w->entities.alive, slot + 1)) {
    es_Entity e = es_entity_handle(&w->entities, slot);
    if (!was_alive(r, slot)) es_undo_entities(op, &e, 1, errors);
  }
  for (i = 0; i < w->registry.n; i++) {
    es_Store *s = w->registry.entries[i].store;
    if (!es_bitset_test(&s->has, 0)) continue;
    es_tell(op, s, ES_ON_REMOVE, es_world_entity(w), 0, errors);
    es_drop(op, s, 0, 0);
  }
  es_query_flush(op, errors);
  es_entity_restore_free(&w->entities, r->free, r->nfree, r->alive, r->used);
}

/* What failed, for a message. [-0, +1] */
static void push_observer_reason(const es_Restore *r, lua_State *L) {
  const es_Entry *e;
  if (r->step == NULL) {
    lua_pushliteral(L, "cannot be restored: an observer failed");
    return;
  }
  e = &r->op.w->registry.entries[r->step->entry];
  lua_pushfstring(L, "cannot be restored: an observer failed when %s came",
                  es_names_quote(L, e->name, e->len));
  lua_remove(L, -2);
}

/*
** Makes the error on top a SerializeError, and keeps on it what observers
** raised during the undo.
*/
static void dress_error(const es_Restore *r, const es_Op *op, int errors) {
  lua_State *L = op->L;
  if (!es_error_is_serialize(L, op->w->state, -1)) {
    push_observer_reason(r, L);
    push_step_error(r, L, ES_CODE_RESTORE);
    lua_insert(L, -2);
    lua_setfield(L, -2, "cause");
  }
  if (lua_rawlen(L, errors) == 0) return;
  lua_pushvalue(L, errors);
  lua_setfield(L, -2, "suppressed");
}

/* The order in which slots are reused, for the undo. [-0, +1] */
static void keep_free(es_Restore *r) {
  const es_Entities *x = &r->op.w->entities;
  size_t n = x->nfree;
  r->free = lua_newuserdatauv(r->op.L, (n + 1) * sizeof *r->free, 0);
  memcpy(r->free, x->free, n * sizeof *r->free);
  r->nfree = x->nfree;
  r->used = x->used;
}

/*
** Runs protected: all that the restore and its undo will need, while a
** failure still changes nothing. The caller keeps what is returned. A
** finalizer may have filled the world since it was found to be fresh.
*/
static int prepare(lua_State *L) {
  es_Restore *r = restore_at_3(L);
  const es_World *w = r->op.w;
  es_need_stack(L, 3 * LUA_MINSTACK);
  es_restore_check_fresh(&r->op);
  es_plan_make(&r->plan, &r->op, r->doc, r->text, r->length, 0);
  r->entities =
      lua_newuserdatauv(L, (r->plan.entities + 1) * sizeof(es_Entity), 0);
  r->words = w->entities.alive.n;
  r->alive = lua_newuserdatauv(L, (r->words + 1) * sizeof *r->alive, 0);
  memcpy(r->alive, w->entities.alive.words, r->words * sizeof *r->alive);
  keep_free(r);
  es_try(L, reserve(r));
  return lua_gettop(L) - 3;
}

/* Pushes a function of ours and its arguments. [-0, +4] */
static void push_call(const es_Op *op, lua_CFunction f, int restore) {
  lua_State *L = op->L;
  es_op_push_call(op, f);
  lua_pushvalue(L, restore);
}

/*
** Prepares and runs; 'run' and its arguments are on top. Leaves what was
** prepared, and the result or an error. Unless a failed preparation left
** everything as it was, 'open' is set.
*/
static int protect(es_Restore *r, const es_Op *op, int restore) {
  lua_State *L = op->L;
  uint32_t readonly = op->w->readonly;
  int i, status, call = lua_gettop(L) - 3;
  push_call(op, prepare, restore);
  es_op_lock(op);
  status = lua_pcall(L, 3, LUA_MULTRET, 0);
  if (status == LUA_OK) {
    for (i = call; i < call + 4; i++) lua_pushvalue(L, i);
    r->open = 1;
    op->w->restoring = 1;
    op->w->readonly = readonly;
    status = lua_pcall(L, 3, 1, 0);
  }
  es_op_unlock(op, readonly);
  return status;
}

void es_restore_document(const es_Op *op, const es_Document *doc,
                         const char *text, size_t length) {
  lua_State *L = op->L;
  int at = lua_gettop(L) + 1, errors, status;
  es_Restore *r = lua_newuserdatauv(L, sizeof *r, 0);
  memset(r, 0, sizeof *r);
  es_need_stack(L, 2 * LUA_MINSTACK);
  r->op = *op;
  r->doc = doc;
  r->text = text;
  r->length = length;
  es_observer_new_errors(L);
  errors = lua_gettop(L);
  push_call(op, run, at);
  status = protect(r, op, at);
  if (!r->open) lua_error(L);
  if (status != LUA_OK) undo(r, op, errors);
  op->w->restoring = 0;
  r->open = 0;
  if (status == LUA_ERRMEM) es_error_memory(L);
  if (status != LUA_OK) {
    dress_error(r, op, errors);
    lua_error(L);
  }
  lua_replace(L, at);
  lua_settop(L, at);
}

const es_Document *es_restore_read_table(const es_Op *op, int idx) {
  lua_State *L = op->L;
  es_DocumentSink sink;
  es_Document *d = es_guard_document(L);
  es_LuaWalk *walk;
  es_Buffer *path;
  const char *wrong;
  es_sink_document(&sink, d);
  walk = es_luadoc_walk(L, op->w->state, &sink.sink);
  wrong = es_luadoc_emit(walk, idx);
  if (wrong == NULL) return d;
  path = es_guard_buffer(L);
  es_try_put(L, path, es_luadoc_path(walk, path));
  lua_pushnil(L);
  es_error_at(L, op->fn, ES_CODE_MALFORMED, path, "the snapshot", wrong);
  return NULL;
}

int es_restore_lua_world(lua_State *L) {
  es_Op op;
  const es_Document *d;
  es_op_change(L, &op, "restoreWorld");
  if (op.top < 2) return es_op_bad(&op, 1, "snapshot", 2);
  es_restore_check_fresh(&op);
  d = es_restore_read_table(&op, 2);
  if (d == NULL) return lua_error(L);
  es_restore_document(&op, d, NULL, 0);
  return 1;
}
