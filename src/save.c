/* save.c - see save.h */
#include "save.h"

#include <string.h>

#include <lauxlib.h>

#include "call.h"
#include "guard.h"
#include "json.h"
#include "luadoc.h"
#include "names.h"
#include "wording.h"

#define NOT_SAVED UINT32_MAX

/* An entry that occurs among the 64 slots in hand. */
typedef struct es_Active {
  const es_Words *words;
  uint64_t has;              /* who of them has it */
} es_Active;

/* One save. It is a userdata, so that an escaped ctx.ref finds it dead. */
typedef struct es_Save {
  es_Op op;
  es_Sink *sink;
  es_LuaWalk *walk;
  es_Buffer *path;       /* scratch of error paths */
  uint32_t *index;       /* slot -> snapshot index, or NOT_SAVED */
  uint32_t slots;        /* length of 'index' */
  es_Wording wording;
  es_Active *active;     /* who occurs among 64 slots, by part */
  uint32_t end[ES_PARTS];   /* where the parts end in 'active' */
  uint64_t any[ES_PARTS];   /* who of the 64 has something in the part */
  int ctx;               /* stack index of the codecs' context */
  unsigned char open;    /* the save is running */
  /* where the walk is, for messages */
  uint32_t record;       /* snapshot index, or NOT_SAVED: the world record */
  const es_Entry *entry;
  uint32_t pair;         /* 0-based pair of a relation */
  const es_Field *field; /* or NULL */
} es_Save;

static es_Status put_text(es_Buffer *b, const char *s) {
  return es_buffer_put(b, s, strlen(s));
}

/* "entities[3].traits.Health.hp": where the walk is, without the value. */
static es_Status put_place(const es_Save *s) {
  es_Buffer *b = s->path;
  int relation = s->entry != NULL && s->entry->store->trait->relation;
  es_Status status;
  b->len = 0;
  status = put_text(b, s->record == NOT_SAVED ? "world" : "entities");
  if (status == ES_OK && s->record != NOT_SAVED)
    status = es_document_path_index(b, s->record);
  if (s->entry == NULL || status != ES_OK) return status;
  status = put_text(b, relation ? ".pairs" : ".traits");
  if (status == ES_OK)
    status = es_document_path_key(b, s->entry->name, s->entry->len);
  if (status == ES_OK && relation) status = es_document_path_index(b, s->pair);
  if (status == ES_OK && relation && s->field) status = put_text(b, ".data");
  if (status == ES_OK && s->field != NULL && s->field->name != NULL)
    status = es_document_path_key(b, s->field->name, s->field->len);
  return status;
}

/*
** Pushes a SerializeError "fn: path reason"; 'inside' adds the place within
** the value that the walk stopped in.
*/
static void push_error(const es_Save *s, const char *code, const char *reason,
                       int inside) {
  lua_State *L = s->op.L;
  s->path->len = 0;
  es_try_put(L, s->path, put_place(s));
  if (inside)
    es_try_put(L, s->path, es_luadoc_path(s->walk, s->path));
  es_error_at(L, s->op.fn, code, s->path, "the world", reason);
}

static void fail(const es_Save *s, const char *code, const char *reason) {
  push_error(s, code, reason, 0);
  lua_error(s->op.L);
}

/* A sink's call: full memory raises after a collection and a second try. */
#define tell(s, call)                                             \
  do {                                                            \
    es_Status told_ = (call);                                     \
    if (told_ == ES_NOMEM) {                                      \
      lua_gc((s)->op.L, LUA_GCCOLLECT, 0);                        \
      told_ = (call);                                             \
    }                                                             \
    if (told_ == ES_NOMEM) es_error_memory((s)->op.L);            \
    if (told_ != ES_OK)                                           \
      fail(s, ES_CODE_NOT_SERIALIZABLE, es_luadoc_reason(told_)); \
  } while (0)

#define tell_open(s, type) \
  tell(s, (s)->sink->open((s)->sink, type, ES_UNCOUNTED))
#define tell_close(s) tell(s, (s)->sink->close((s)->sink))
#define tell_key(s, k) tell(s, (s)->sink->key((s)->sink, k, sizeof(k) - 1))
#define say(s, p) tell(s, (s)->sink->phrase((s)->sink, p))
#define say_fixed(s, which) say(s, &(s)->wording.phrases[which])

/* The value at 'idx', which must be JSON-safe. */
static void save_value(const es_Save *s, int idx) {
  const char *wrong = es_luadoc_emit(s->walk, idx);
  if (wrong == NULL) return;
  push_error(s, ES_CODE_NOT_SERIALIZABLE, wrong, 1);
  lua_error(s->op.L);
}

static uint32_t index_of(const es_Save *s, es_Entity e) {
  uint32_t slot = es_entity_slot(e);
  if (slot >= s->slots || !es_entity_is_alive(&s->op.w->entities, e))
    return NOT_SAVED;
  return s->index[slot];
}

/* A refs field: the entity at 'idx', or nothing. */
static void save_ref(const es_Save *s, int idx) {
  uint32_t i;
  if (lua_isnil(s->op.L, idx) || es_is_null(s->op.L, idx)) {
    tell(s, s->sink->null(s->sink));
    return;
  }
  i = index_of(s, es_world_handle(s->op.L, idx));
  if (i == NOT_SAVED)
    fail(s, ES_CODE_DANGLING, "refers to an entity that is not saved");
  tell(s, s->sink->integer(s->sink, i));
}

/* Raises: the value at 'idx' has not the type of the field. */
static void fail_type(const es_Save *s, const es_Field *f, int idx) {
  lua_pushfstring(s->op.L, "is a %s, the schema has a %s",
                  es_error_typename(s->op.L, idx), es_trait_expects(f->type));
  fail(s, ES_CODE_NOT_SERIALIZABLE, lua_tostring(s->op.L, -1));
}

/* Any field but a reference; numbers are told without a walk. */
static void save_plain(const es_Save *s, const es_Field *f, int idx,
                       int type) {
  lua_State *L = s->op.L;
  if (type == LUA_TNUMBER && f->type != ES_FIELD_STRING &&
      f->type != ES_FIELD_BOOLEAN) {
    double d;
    if (lua_isinteger(L, idx)) {
      tell(s, s->sink->integer(s->sink, lua_tointeger(L, idx)));
      return;
    }
    d = lua_tonumber(L, idx);
    if (d - d == 0.0)   /* finite */
      tell(s, s->sink->number(s->sink, d));
    else
      save_value(s, idx);
  } else if (type == LUA_TNIL && f->type == ES_FIELD_NULLABLE) {
    tell(s, s->sink->null(s->sink));
  } else {
    if (!es_trait_accepts(L, f->type, idx) && type != LUA_TNIL)
      fail_type(s, f, idx);
    save_value(s, idx);
  }
}

static void save_fields(es_Save *s, const es_Words *w, uint32_t key) {
  const es_Entry *e = w->entry;
  lua_State *L = s->op.L;
  int top = lua_gettop(L), n = (int)w->n, i;
  for (i = 0; i < n; i++) {
    int type;
    s->field = &e->store->trait->fields[i];
    say(s, &w->fields[i]);
    type = lua_rawgeti(L, w->columns + i, key);
    if (es_entry_is_ref(e, (uint32_t)i)) save_ref(s, top + 1 + i);
    else save_plain(s, s->field, top + 1 + i, type);
  }
  s->field = NULL;
  lua_settop(L, top);
}

/*
** An error of a codec, on top of the stack: errors of ours and full memory go
** on as they are, all else becomes the cause of a codec-error.
*/
static void raise_codec_error(const es_Save *s, int status) {
  lua_State *L = s->op.L;
  if (status == LUA_ERRMEM || es_error_is_serialize(L, s->op.w->state, -1))
    lua_error(L);
  push_error(s, ES_CODE_CODEC, "toJSON failed", 0);
  lua_insert(L, -2);
  lua_setfield(L, -2, "cause");
  lua_error(L);
}

static void save_with_codec(es_Save *s, const es_Entry *e, uint32_t slot) {
  lua_State *L = s->op.L;
  int top = lua_gettop(L), status;
  lua_rawgeti(L, s->op.anchors, e->anchor + ES_ENTRY_TOJSON);
  es_store_push_value(&s->op, e->store, slot);
  lua_pushvalue(L, s->ctx);
  s->op.w->busy++;
  status = es_call(L, 2, 1, "a codec");
  s->op.w->busy--;
  if (status != LUA_OK) raise_codec_error(s, status);
  if (lua_isnil(L, -1)) fail(s, ES_CODE_CODEC, "toJSON returned nil");
  save_value(s, lua_gettop(L));
  lua_settop(L, top);
}

/* The value, with its key and all else that stands around it. */
static void save_data(es_Save *s, const es_Words *w, uint32_t key) {
  const es_Entry *e = w->entry;
  if (w->n > 0) {
    save_fields(s, w, key);
  } else {
    say(s, w->fields);
    if (e->codec) {
      save_with_codec(s, e, key);
    } else {
      lua_rawgeti(s->op.L, w->columns, key);
      save_value(s, lua_gettop(s->op.L));
      lua_pop(s->op.L, 1);
    }
  }
  if (w->n > 0 || e->store->trait->relation)
    say(s, &w->fields[w->n > 0 ? w->n : 1]);
}

/* The targets of one relation of one entity. */
static void save_pairs(es_Save *s, const es_Words *w, uint32_t slot) {
  const es_Trait *t = w->entry->store->trait;
  const es_Pairs *p = &w->entry->store->pairs;
  uint32_t row;
  s->pair = 0;
  say(s, w->name);
  for (row = es_pairs_first(p, slot); row != 0;
       row = es_pairs_next(p, row), s->pair++) {
    uint32_t target = s->index[p->rows[row].target];
    if (target == NOT_SAVED)
      fail(s, ES_CODE_DANGLING, "points at an entity that is not saved");
    say_fixed(s, ES_SAY_TARGET);
    tell(s, s->sink->integer(s->sink, target));
    if (t->kind != ES_TAG) save_data(s, w, row);
    else say_fixed(s, ES_SAY_END_PAIR);
  }
  say_fixed(s, ES_SAY_END_LIST);
}

/* The active entries of one part that the slot has. */
static void save_part(es_Save *s, es_Part part, uint32_t slot) {
  uint32_t i = part == ES_PART_TAGS ? 0 : s->end[part - 1];
  for (; i < s->end[part]; i++) {
    const es_Words *w = s->active[i].words;
    if (!(s->active[i].has >> (slot & 63) & 1)) continue;
    s->entry = w->entry;
    if (part == ES_PART_TAGS) say(s, w->name);
    else if (part == ES_PART_PAIRS) save_pairs(s, w, slot);
    else save_data(s, w, slot);
  }
  s->entry = NULL;
}

/*
** Strings and tables lie anywhere in memory: those that the next 64 slots have
** of a trait are fetched ahead.
*/
static void fetch_values(const es_Save *s, const es_Words *w, uint32_t k,
                         uint64_t has) {
  lua_State *L = s->op.L;
  const es_Trait *t = w->entry->store->trait;
  uint32_t i, n = w->n > 0 ? w->n : 1;
  uint64_t left;
  for (i = 0; i < n; i++) {
    if (t->fields[i].type < ES_FIELD_STRING ||
        es_entry_is_ref(w->entry, i))
      continue;
    for (left = has; left != 0; left &= left - 1) {
      lua_rawgeti(L, w->columns + (int)i, k * 64 + es_bits_lowest(left));
      es_luadoc_fetch(L, -1);
      lua_pop(L, 1);
    }
  }
}

/* Lists the entries that occur among the 64 slots of word k, by part. */
static void find_active(es_Save *s, uint32_t k) {
  const es_Registry *r = &s->op.w->registry;
  uint32_t i, n = 0;
  es_Part part;
  for (part = ES_PART_TAGS; part < ES_PARTS; part++) {
    s->any[part] = 0;
    for (i = 0; i < r->n; i++) {
      const es_Entry *e = &r->entries[i];
      uint64_t has = es_bitset_word(&e->store->has, k);
      if (has == 0 || e->transient || es_wording_part(e) != part) continue;
      s->active[n].words = &s->wording.words[i];
      s->active[n++].has = has;
      s->any[part] |= has;
      if (part == ES_PART_TRAITS && !e->codec)
        fetch_values(s, &s->wording.words[i], k, has);
    }
    s->end[part] = n;
  }
}

static int has_any(const es_Save *s, es_Part part, uint32_t slot) {
  return (int)(s->any[part] >> (slot & 63) & 1);
}

static void save_record(es_Save *s, uint32_t slot) {
  int world = s->record == NOT_SAVED;
  if (has_any(s, ES_PART_TAGS, slot)) {
    say_fixed(s, ES_SAY_RECORD);
    save_part(s, ES_PART_TAGS, slot);
    say_fixed(s, ES_SAY_TRAITS);
  } else {
    say_fixed(s, ES_SAY_RECORD_NO_TAGS);
  }
  save_part(s, ES_PART_TRAITS, slot);
  if (!world && has_any(s, ES_PART_PAIRS, slot)) {
    say_fixed(s, ES_SAY_PAIRS);
    save_part(s, ES_PART_PAIRS, slot);
    say_fixed(s, ES_SAY_END);
  } else {
    say_fixed(s, world ? ES_SAY_END : ES_SAY_END_NO_PAIRS);
  }
}

static void save_entities(es_Save *s) {
  const es_World *w = s->op.w;
  uint32_t slot, word = UINT32_MAX;
  tell_open(s, ES_NODE_ARRAY);
  for (slot = es_bitset_next(&w->entities.alive, 1); slot != ES_NO_SLOT;
       slot = es_bitset_next(&w->entities.alive, slot + 1)) {
    if (s->index[slot] == NOT_SAVED) continue;
    if (slot >> 6 != word) find_active(s, word = slot >> 6);
    s->record = s->index[slot];
    save_record(s, slot);
  }
  tell_close(s);
}

static void save_all(es_Save *s) {
  tell_open(s, ES_NODE_OBJECT);
  tell_key(s, "format");
  tell(s, s->sink->string(s->sink, "ecs-serialize", 13));
  tell_key(s, "version");
  tell(s, s->sink->integer(s->sink, 1));
  tell_key(s, "entities");
  save_entities(s);
  tell_key(s, "world");
  s->record = NOT_SAVED;
  find_active(s, 0);
  save_record(s, 0);
  tell_close(s);
}

/* Gives every saved entity its snapshot index. */
static void number_entities(es_Save *s) {
  const es_World *w = s->op.w;
  uint32_t slot, n = 0;
  for (slot = 0; slot < s->slots; slot++) {
    int saved = slot > 0 && es_bitset_test(&w->entities.alive, slot) &&
                !es_world_is_excluded(w, slot);
    s->index[slot] = saved ? n++ : NOT_SAVED;
  }
}

/* The first saved entity, or the world entity, that has the trait. */
static uint32_t first_holder(const es_Save *s, const es_Store *store) {
  uint32_t slot;
  for (slot = es_bitset_next(&store->has, 0); slot != ES_NO_SLOT;
       slot = es_bitset_next(&store->has, slot + 1))
    if (slot == 0 || s->index[slot] != NOT_SAVED) return slot;
  return ES_NO_SLOT;
}

/* Every trait of what is saved must be registered or ignored. */
static void check_registered(es_Save *s) {
  const es_World *w = s->op.w;
  lua_State *L = s->op.L;
  uint32_t i, slot;
  for (i = 0; i < w->nstores; i++) {
    const es_Store *store = w->stores[i];
    if (store->count == 0 || store->entry >= 0 || store->ignored ||
        store == w->excluded)
      continue;
    slot = first_holder(s, store);
    if (slot == ES_NO_SLOT) continue;
    s->record = slot == 0 ? NOT_SAVED : s->index[slot];
    es_store_push_unregistered(&s->op, store);
    fail(s, ES_CODE_UNREGISTERED, lua_tostring(L, -1));
  }
}

/* ctx.ref(entity); upvalues: 1 state, 2 the save. */
static int ctx_ref(lua_State *L) {
  const es_Save *s = lua_touserdata(L, lua_upvalueindex(2));
  uint32_t i;
  if (!s->open)
    return es_error(L, "ref", "the save that this context is for is over");
  i = index_of(s, es_world_handle(L, 1));
  if (i == NOT_SAVED) {
    es_Save here = *s;   /* the same place, but on this stack */
    here.op.L = L;
    push_error(&here, ES_CODE_DANGLING,
               "refers to an entity that is not saved", 0);
    return lua_error(L);
  }
  lua_pushinteger(L, i);
  return 1;
}

/*
** Puts all columns that the walk will read on the stack, and makes room for
** the fields of any one value behind them. [-0, +n]
*/
static void push_columns(es_Save *s) {
  const es_Registry *r = &s->op.w->registry;
  uint32_t i, f, most = 0;
  for (i = 0; i < r->n; i++) {
    const es_Store *store = r->entries[i].store;
    uint32_t n = store->trait->nfields;
    if (store->count == 0 || r->entries[i].transient) continue;
    if (n > most) most = n;
    es_need_stack(s->op.L, (int)n + LUA_MINSTACK);
    s->wording.words[i].columns = lua_gettop(s->op.L) + 1;
    for (f = 0; f < n; f++) es_store_push_column(&s->op, store, f);
  }
  es_need_stack(s->op.L, (int)most + LUA_MINSTACK);
}

/* Runs protected: 1 the world, 2 the anchors, 3 the save. */
static int run(lua_State *L) {
  es_Save *s = lua_touserdata(L, 3);
  uint32_t entries = s->op.w->registry.n;
  es_op_enter(&s->op, L);
  es_need_stack(L, 3 * LUA_MINSTACK);
  s->path = es_guard_buffer(L);
  s->walk = es_luadoc_walk(L, s->op.w->state, s->sink);
  s->slots = s->op.w->entities.known;
  s->index = lua_newuserdatauv(L, s->slots * sizeof *s->index, 0);
  s->active = lua_newuserdatauv(L, (entries + 1) * sizeof *s->active, 0);
  lua_createtable(L, 0, 1);
  s->ctx = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 3);
  lua_pushcclosure(L, ctx_ref, 2);
  lua_setfield(L, s->ctx, "ref");
  number_entities(s);
  check_registered(s);
  es_wording_make(L, s->op.w, &s->wording);
  if (s->sink->expect != NULL)
    s->sink->expect(s->sink, es_wording_length(s->op.w, &s->wording));
  push_columns(s);
  save_all(s);
  return 0;
}

void es_save_world(const es_Op *op, es_Sink *sink) {
  lua_State *L = op->L;
  es_Save *s;
  int status;
  s = lua_newuserdatauv(L, sizeof *s, 0);
  memset(s, 0, sizeof *s);
  s->op = *op;
  s->sink = sink;
  s->open = 1;
  es_op_push_call(op, run);
  lua_pushvalue(L, -4);   /* save run world anchors save */
  op->w->readonly++;
  status = lua_pcall(L, 3, 0, 0);
  op->w->readonly--;
  s->open = 0;
  if (status != LUA_OK) lua_error(L);
  lua_pop(L, 1);
}

int es_save_lua_world(lua_State *L) {
  es_Op op;
  es_DocumentSink sink;
  es_Document *d;
  es_op_begin(L, &op, "saveWorld");
  d = es_guard_document(L);
  es_sink_document(&sink, d);
  es_save_world(&op, &sink.sink);
  es_luadoc_push(L, d, 0, 0);
  es_guard_release(L, -2);
  return 1;
}
