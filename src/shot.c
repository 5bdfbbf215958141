/* shot.c - see shot.h */
#include <string.h>

#include <lauxlib.h>

#include "call.h"
#include "digest.h"
#include "guard.h"
#include "handler.h"
#include "names.h"
#include "shot_private.h"

/* Pushes a SerializeError about a value, or about an entity. [-0, +1] */
static void push_error(const es_Shot *s, const char *code, uint32_t slot,
                       const char *reason) {
  lua_State *L = s->op.L;
  es_Buffer *b = s->path;
  const char *whose = "the world entity";
  b->len = 0;
  if (slot != 0)
    whose = lua_pushfstring(L, "the entity in slot %d", (int)slot);
  else
    lua_pushnil(L);
  if (s->entry != NULL) {
    es_try_put(L, b, es_document_path_key(b, s->entry->name, s->entry->len));
    if (s->field != NULL && s->field->name != NULL)
      es_try_put(L, b, es_document_path_key(b, s->field->name, s->field->len));
    reason = lua_pushfstring(L, "of %s %s", whose, reason);
  } else {
    lua_pushnil(L);
  }
  es_error_at(L, s->op.fn, code, b, whose, reason);
  lua_replace(L, -3);   /* whose reason error */
  lua_pop(L, 1);
}

static void fail(const es_Shot *s, const char *code, uint32_t slot,
                 const char *reason) {
  push_error(s, code, slot, reason);
  lua_error(s->op.L);
}

/* The slot that a reference is saved as, or ES_NO_SLOT. */
static uint32_t ref_slot(const es_Shot *s, es_Entity e) {
  uint32_t slot = es_entity_slot(e);
  if (slot == 0 || !es_entity_is_alive(&s->op.w->entities, e) ||
      !es_shot_is_selected(s, slot))
    return ES_NO_SLOT;
  return slot;
}

/* A column of references, as slots; 0 is none. */
static void save_refs(es_Shot *s, int column) {
  lua_State *L = s->op.L;
  const uint32_t *rows = numbers(s->rows), *slots = numbers(s->slots);
  uint32_t i, n = length(s->rows);
  s->column.scratch->len = 0;
  for (i = 0; i < n; i++) {
    uint32_t slot = 0;
    lua_rawgeti(L, column, rows[i]);
    if (!lua_isnil(L, -1) && !es_is_null(L, -1)) {
      slot = ref_slot(s, es_world_handle(L, -1));
      if (slot == ES_NO_SLOT && !s->options->null_dangling)
        fail(s, ES_CODE_DANGLING, slots[i],
             "refers to an entity that is not saved");
      if (slot == ES_NO_SLOT) slot = 0;
    }
    lua_pop(L, 1);
    put_number(s, s->column.scratch, saved_slot(s, slot));
  }
  es_try_put(L, s->body,
             es_format_put_slots(s->body, numbers(s->column.scratch), n));
}

/* What a script may have written into a column past the checks. */
static void check_types(const es_Shot *s, int column) {
  lua_State *L = s->op.L;
  const uint32_t *rows = numbers(s->rows), *slots = numbers(s->slots);
  uint32_t i, n = length(s->rows);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, column, rows[i]);
    if (!es_trait_accepts(L, s->field->type, lua_gettop(L))) {
      lua_pushfstring(L, "is a %s, the schema has a %s",
                      es_error_typename(L, lua_gettop(L)),
                      es_trait_expects(s->field->type));
      fail(s, ES_CODE_NOT_SERIALIZABLE, slots[i], lua_tostring(L, -1));
    }
    lua_pop(L, 1);
  }
}

/* A column with the values at 'keys'. */
static void save_column(es_Shot *s, int column, const uint32_t *keys) {
  uint32_t at = 0;
  const char *wrong =
      es_column_write(&s->column, column, keys, length(s->rows), &at);
  if (wrong != NULL)
    fail(s, ES_CODE_NOT_SERIALIZABLE, numbers(s->slots)[at], wrong);
}

static void save_fields(es_Shot *s, const es_Entry *e) {
  const es_Trait *t = e->store->trait;
  uint32_t i;
  es_try_put(s->op.L, s->body,
             es_cbor_put_head(s->body, ES_CBOR_ARRAY, t->nfields));
  for (i = 0; i < t->nfields; i++) {
    int column;
    s->field = &t->fields[i];
    es_store_push_column(&s->op, e->store, i);
    column = lua_gettop(s->op.L);
    if (es_entry_is_ref(e, i)) {
      save_refs(s, column);
    } else {
      save_column(s, column, numbers(s->rows));
      if (!es_column_is_typed(&s->column, s->field->type))
        check_types(s, column);
    }
    lua_pop(s->op.L, 1);
  }
  s->field = NULL;
}

/* Errors of ours and full memory go on, all else becomes a cause. */
static void raise_codec_error(const es_Shot *s, int status, uint32_t slot) {
  lua_State *L = s->op.L;
  if (status == LUA_ERRMEM || es_error_is_serialize(L, s->op.w->state, -1))
    lua_error(L);
  push_error(s, ES_CODE_CODEC, slot, "cannot be saved: toJSON failed");
  lua_insert(L, -2);
  lua_setfield(L, -2, "cause");
  lua_error(L);
}

/* Pushes what the codec makes of the value of one slot. [-0, +1] */
static void push_encoded(es_Shot *s, const es_Entry *e, uint32_t slot) {
  lua_State *L = s->op.L;
  int status;
  s->slot = slot;
  lua_rawgeti(L, s->op.anchors, e->anchor + ES_ENTRY_TOJSON);
  es_store_push_value(&s->op, e->store, slot);
  lua_pushvalue(L, s->ctx);
  s->op.w->busy++;
  status = es_call(L, 2, 1, "a codec");
  s->op.w->busy--;
  if (status != LUA_OK) raise_codec_error(s, status, slot);
  if (lua_isnil(L, -1)) fail(s, ES_CODE_CODEC, slot, "toJSON returned nil");
}

/* One column with what the codec makes of all values. */
static void save_encoded(es_Shot *s, const es_Entry *e) {
  lua_State *L = s->op.L;
  uint32_t i, n = length(s->slots);
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    push_encoded(s, e, numbers(s->slots)[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  while (length(s->iota) < n) put_number(s, s->iota, length(s->iota) + 1);
  es_try_put(L, s->body, es_cbor_put_head(s->body, ES_CBOR_ARRAY, 1));
  save_column(s, lua_gettop(L), numbers(s->iota));
  lua_pop(L, 1);
}

/* Lists the slots that have the trait and are saved. */
static void list_slots(es_Shot *s, const es_Store *store) {
  uint32_t k, n = 0, *slots;
  uint64_t word;
  s->slots->len = s->rows->len = 0;
  slots = number_room(s, s->slots, store->count);
  for (k = 0; k < store->has.n && k < s->words; k++)
    for (word = store->has.words[k] & s->selected[k]; word != 0;
         word &= word - 1)
      slots[n++] = k * 64 + es_bits_lowest(word);
  s->slots->len = n * sizeof *slots;
}

/* Lists the pairs: sources in 'slots', data rows in 'rows'. */
static void list_pairs(es_Shot *s, const es_Store *store, es_Buffer *targets) {
  const es_Pairs *p = &store->pairs;
  uint32_t i, n, row;
  es_Buffer *sources = s->column.scratch;
  list_slots(s, store);
  n = length(s->slots);
  sources->len = 0;
  for (i = 0; i < n; i++)
    for (row = es_pairs_first(p, numbers(s->slots)[i]); row != 0;
         row = es_pairs_next(p, row)) {
      uint32_t target = p->rows[row].target;
      if (!es_shot_is_selected(s, target)) {
        if (s->options->null_dangling) continue;
        fail(s, ES_CODE_DANGLING, p->rows[row].source,
             "points at an entity that is not saved");
      }
      put_number(s, sources, p->rows[row].source);
      put_number(s, s->rows, row);
      put_number(s, targets, target);
    }
  s->slots->len = 0;
  es_try(s->op.L, es_buffer_put(s->slots, sources->data, sources->len));
}

static es_SavedKind saved_kind(const es_Trait *t) {
  return (es_SavedKind)((int)t->kind + (t->relation ? 3 : 0));
}

/* True when the values are not saved, only who has the trait. */
static int without_values(const es_Entry *e) {
  return e->transient == ES_TRANSIENT_DEFAULT ||
         e->store->trait->kind == ES_TAG;
}

static es_Status put_fields(es_Buffer *b, const es_Entry *e) {
  const es_Trait *t = e->store->trait;
  int plain = t->kind == ES_SOA && !e->codec && !without_values(e);
  uint32_t i, n = plain ? t->nfields : 0;
  es_Status status = es_cbor_put_head(b, ES_CBOR_ARRAY, n);
  for (i = 0; i < n && status == ES_OK; i++) {
    uint32_t type = es_entry_is_ref(e, i) ? ES_SAVED_REF
                                          : (uint32_t)t->fields[i].type;
    status = es_cbor_put_head(b, ES_CBOR_ARRAY, 2);
    if (status == ES_OK)
      status = es_cbor_put_string(b, t->fields[i].name, t->fields[i].len);
    if (status == ES_OK) status = es_format_put_word(b, es_format_types[type]);
  }
  return status;
}

/* { kind, name, rows, fields, version }, keys by length and bytes. */
static es_Status put_trait_header(es_Buffer *b, const es_Entry *e,
                                  uint32_t rows, lua_Integer version) {
  es_Status status = es_cbor_put_head(b, ES_CBOR_MAP, 5);
  if (status == ES_OK) status = es_format_put_word(b, "kind");
  if (status == ES_OK)
    status =
        es_format_put_word(b, es_format_kinds[saved_kind(e->store->trait)]);
  if (status == ES_OK) status = es_format_put_word(b, "name");
  if (status == ES_OK) status = es_cbor_put_string(b, e->name, e->len);
  if (status == ES_OK) status = es_format_put_word(b, "rows");
  if (status == ES_OK) status = es_cbor_put_int(b, rows);
  if (status == ES_OK) status = es_format_put_word(b, "fields");
  if (status == ES_OK) status = put_fields(b, e);
  if (status == ES_OK) status = es_format_put_word(b, "version");
  return status == ES_OK ? es_cbor_put_int(b, version) : status;
}

/* [set, [column, ...]] of a trait, [sources, targets, [column, ...]] else. */
static void save_entry(es_Shot *s, const es_Entry *e) {
  lua_State *L = s->op.L;
  uint32_t n = length(s->slots);
  const uint32_t *slots;
  s->entry = e;
  if (!e->store->trait->relation) {
    es_try_put(L, s->body, es_cbor_put_head(s->body, ES_CBOR_ARRAY, 2));
    slots = saved_slots(s, numbers(s->slots), n);
    es_try_put(L, s->body, es_format_put_set(s->body, slots, n));
    s->rows->len = 0;
    es_try(L, es_buffer_put(s->rows, s->slots->data, s->slots->len));
  }
  if (without_values(e))
    es_try_put(L, s->body, es_cbor_put_head(s->body, ES_CBOR_ARRAY, 0));
  else if (e->codec) save_encoded(s, e);
  else save_fields(s, e);
  s->entry = NULL;
}

static void save_relation(es_Shot *s, const es_Entry *e,
                          const es_Buffer *targets) {
  lua_State *L = s->op.L;
  uint32_t n = length(s->slots);
  const uint32_t *slots;
  es_try_put(L, s->body, es_cbor_put_head(s->body, ES_CBOR_ARRAY, 3));
  slots = saved_slots(s, numbers(s->slots), n);
  es_try_put(L, s->body, es_format_put_slots(s->body, slots, n));
  slots = saved_slots(s, numbers(targets), n);
  es_try_put(L, s->body, es_format_put_slots(s->body, slots, n));
  save_entry(s, e);
}

/* Whether an entry's turn is now, and it is saved at all. */
static int is_due(const es_Entry *e, int relations) {
  return e->store->trait->relation == relations &&
         e->transient != ES_TRANSIENT && e->store->count > 0;
}

/* Whether anyone who is saved has the trait. */
static int has_rows(const es_Shot *s, const es_Store *store) {
  uint32_t k;
  for (k = 0; k < store->has.n && k < s->words; k++)
    if ((store->has.words[k] & s->selected[k]) != 0) return 1;
  return 0;
}

/* How many traits will have rows, and room for what they mostly need. */
static uint32_t count_traits(es_Shot *s) {
  const es_Registry *r = &s->op.w->registry;
  size_t bytes = s->op.w->entities.known;
  uint32_t i, n = 0;
  for (i = 0; i < r->n; i++) {
    const es_Store *store = r->entries[i].store;
    bytes += (size_t)store->count * store->trait->nfields * 8;
    n += is_due(&r->entries[i], 0) && has_rows(s, store);
  }
  (void)es_buffer_reserve(s->body, bytes);   /* or it grows as it is filled */
  return n;
}

/* All entries in bytewise order of names; rows tell what is empty. */
static uint32_t save_entries(es_Shot *s, int relations, es_Buffer *targets) {
  const es_Registry *r = &s->op.w->registry;
  uint32_t i, saved = 0;
  for (i = 0; i < r->n; i++) {
    const es_Entry *e = &r->entries[r->sorted[i]];
    if (!is_due(e, relations)) continue;
    targets->len = 0;
    s->entry = e;
    if (relations) list_pairs(s, e->store, targets);
    else list_slots(s, e->store);
    s->counts[r->sorted[i]] = length(s->slots);
    if (s->slots->len == 0) continue;
    saved++;
    if (relations) save_relation(s, e, targets);
    else save_entry(s, e);
  }
  s->entry = NULL;
  return saved;
}

/* The header's list of all entries that have rows. */
static void save_headers(const es_Shot *s) {
  const es_Registry *r = &s->op.w->registry;
  uint32_t i, count = 0;
  for (i = 0; i < r->n; i++) count += s->counts[i] > 0;
  es_try_put(s->op.L, s->header,
             es_cbor_put_head(s->header, ES_CBOR_ARRAY, count));
  for (i = 0; i < r->n; i++) {
    uint32_t at = r->sorted[i];
    const es_Entry *e = &r->entries[at];
    if (s->counts[at] == 0) continue;
    es_try_put(s->op.L, s->header, put_trait_header(s->header, e, s->counts[at],
                                     es_entry_version(&s->op, e)));
  }
}

/* Any value at 'idx' into the buffer. */
static void save_value(es_Shot *s, es_Buffer *out, int idx,
                       const char *what) {
  const char *wrong;
  s->sink.out = out;
  wrong = es_luadoc_emit(s->column.walk, idx);
  s->sink.out = s->body;
  if (wrong == NULL) return;
  s->path->len = 0;
  es_try_put(s->op.L, s->path,
             es_document_path_key(s->path, what, strlen(what)));
  es_try_put(s->op.L, s->path, es_luadoc_path(s->column.walk, s->path));
  es_error_at(s->op.L, s->op.fn, ES_CODE_NOT_SERIALIZABLE, s->path, what,
              wrong);
  lua_error(s->op.L);
}

/* Handlers' and custom data: the table on top. [-1, +0] */
static void save_data(es_Shot *s) {
  es_try_put(s->op.L, s->body, es_format_put_word(s->body, "data"));
  save_value(s, s->body, lua_gettop(s->op.L), "data");
  lua_pop(s->op.L, 1);
}

/* After the body, which has counted the rows. */
static void save_header(es_Shot *s) {
  lua_State *L = s->op.L;
  int meta = s->options->meta != 0;
  es_try_put(L, s->header,
             es_cbor_put_head(s->header, ES_CBOR_MAP, meta ? 2 : 1));
  if (meta) {
    es_try_put(L, s->header, es_format_put_word(s->header, "meta"));
    save_value(s, s->header, s->options->meta, "meta");
  }
  es_try_put(L, s->header, es_format_put_word(s->header, "traits"));
  save_headers(s);
}

/*
** { data, traits, entities, relations }. Pairs may be left out one by one, so
** that only their contents tell how many relations there are.
*/
static void save_body(es_Shot *s, es_Buffer *part, es_Buffer *targets) {
  lua_State *L = s->op.L;
  es_Buffer *body = s->body;
  uint32_t relations;
  es_try_put(L, body, es_cbor_put_head(body, ES_CBOR_MAP, 4));
  save_data(s);
  es_try_put(L, body, es_format_put_word(body, "traits"));
  es_try_put(L, body,
             es_cbor_put_head(body, ES_CBOR_ARRAY, count_traits(s)));
  save_entries(s, 0, targets);
  es_try_put(L, body, es_format_put_word(body, "entities"));
  es_shot_save_entities(s);
  s->body = s->column.out = s->sink.out = part;
  part->len = 0;
  relations = save_entries(s, 1, targets);
  es_try_put(L, body, es_format_put_word(body, "relations"));
  es_try_put(L, body, es_cbor_put_head(body, ES_CBOR_ARRAY, relations));
  es_try(L, es_buffer_put(body, part->data, part->len));
  s->body = body;
}

/* Every trait of what is saved must be registered or ignored. */
static void check_registered(es_Shot *s) {
  const es_World *w = s->op.w;
  uint32_t i;
  for (i = 0; i < w->nstores; i++) {
    const es_Store *store = w->stores[i];
    if (store->count == 0 || store->entry >= 0 || store->ignored ||
        store == w->excluded)
      continue;
    list_slots(s, store);
    if (s->slots->len == 0) continue;
    es_store_push_unregistered(&s->op, store);
    push_error(s, ES_CODE_UNREGISTERED, numbers(s->slots)[0],
               lua_tostring(s->op.L, -1));
    lua_error(s->op.L);
  }
}

/* ctx.ref(entity): its slot; upvalues: 1 state, 2 the shot. */
static int ctx_ref(lua_State *L) {
  const es_Shot *s = lua_touserdata(L, lua_upvalueindex(2));
  uint32_t slot;
  if (!s->open)
    return es_error(L, "ref", "the save that this context is for is over");
  slot = ref_slot(s, es_world_handle(L, 1));
  if (slot == ES_NO_SLOT && s->options->null_dangling) {
    lua_pushlightuserdata(L, NULL);
    return 1;
  }
  if (slot == ES_NO_SLOT) {
    es_Shot here = *s;
    here.op.L = L;
    push_error(&here, ES_CODE_DANGLING, s->slot,
               "asks ctx.ref for an entity that is not saved");
    return lua_error(L);
  }
  s->referenced[slot >> 6] |= (uint64_t)1 << (slot & 63);
  lua_pushinteger(L, saved_slot(s, slot));
  return 1;
}

/* A handler may refer to what a later one excludes. */
static void check_referenced(const es_Shot *s) {
  uint32_t k;
  for (k = 0; k < s->words; k++) {
    uint64_t gone = s->referenced[k] & ~s->selected[k];
    if (gone != 0)
      fail(s, ES_CODE_DANGLING, k * 64 + es_bits_lowest(gone),
           "is referred to by a handler, but excluded by another");
  }
}

/* ctx.exclude(trait): its carriers are derived, they are not saved. */
static int ctx_exclude(lua_State *L) {
  es_Shot *s = lua_touserdata(L, lua_upvalueindex(2));
  es_Shot here;
  if (!s->open || s->settled)
    return es_error(L, "exclude", "only a handler's save can exclude, while "
                                  "it runs");
  here = *s;   /* shares the selection */
  here.op.L = L;
  here.op.fn = "exclude";
  lua_settop(L, 1);
  es_shot_exclude(&here, 1);
  return 0;
}

static void push_ctx(es_Shot *s, int shot) {
  lua_State *L = s->op.L;
  lua_createtable(L, 0, 2);
  s->ctx = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, shot);
  lua_pushcclosure(L, ctx_ref, 2);
  lua_setfield(L, s->ctx, "ref");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, shot);
  lua_pushcclosure(L, ctx_exclude, 2);
  lua_setfield(L, s->ctx, "exclude");
}

/* Gives the saved entities the slots 1, 2, 3, ... [-0, +1] */
static void renumber(es_Shot *s) {
  uint32_t slot, known = s->op.w->entities.known;
  s->map = lua_newuserdatauv(s->op.L, known * sizeof *s->map, 0);
  s->used = 0;
  for (slot = 0; slot < known; slot++)
    s->map[slot] = es_shot_is_selected(s, slot) ? s->used++ : 0;
}

static void make_buffers(es_Shot *s) {
  lua_State *L = s->op.L;
  s->header = es_guard_buffer(L);
  s->body = es_guard_buffer(L);
  s->slots = es_guard_buffer(L);
  s->rows = es_guard_buffer(L);
  s->iota = es_guard_buffer(L);
  s->renumbered = es_guard_buffer(L);
  s->path = es_guard_buffer(L);
  s->column.L = L;
  s->column.out = s->body;
  s->column.scratch = es_guard_buffer(L);
  es_sink_cbor(&s->sink, s->body);
  s->column.walk = es_luadoc_walk(L, s->op.w->state, &s->sink.sink);
  s->column.walk->exact = 1;
}

/* Runs protected: 1 the world, 2 the anchors, 3 the shot, 4.. options. */
static int run(lua_State *L) {
  es_Shot *s = lua_touserdata(L, 3);
  es_Buffer *out = lua_touserdata(L, 4), *part, *targets;
  es_op_enter(&s->op, L);
  es_need_stack(L, 3 * LUA_MINSTACK);
  make_buffers(s);
  part = es_guard_buffer(L);
  targets = es_guard_buffer(L);
  push_ctx(s, 3);
  s->counts =
      lua_newuserdatauv(L, (s->op.w->registry.n + 1) * sizeof *s->counts, 0);
  memset(s->counts, 0, (s->op.w->registry.n + 1) * sizeof *s->counts);
  es_shot_select(s);
  s->used = s->op.w->entities.used;
  if (s->options->compact) {   /* a scene: no handlers, slots from 1 on */
    renumber(s);
    lua_newtable(L);
  } else {
    es_handler_save_all(&s->op, s->ctx, s->options->data);
  }
  s->settled = 1;
  check_referenced(s);
  check_registered(s);
  save_body(s, part, targets);
  save_header(s);
  (void)es_buffer_reserve(out, s->header->len + s->body->len + 64);
  es_try_put(L, out, es_format_put_frame(out, s->header, s->body));
  return 0;
}

void es_shot_take(const es_Op *op, const es_ShotOptions *options,
                  es_Buffer *out) {
  lua_State *L = op->L;
  es_ShotOptions moved = *options;
  es_Shot *s = lua_newuserdatauv(L, sizeof *s, 0);
  const int given[4] = {options->filter, options->exclude, options->meta,
                        options->data};
  int i, status;
  memset(s, 0, sizeof *s);
  s->op = *op;
  s->options = &moved;
  s->open = 1;
  es_op_push_call(op, run);
  lua_pushvalue(L, -4);
  lua_pushlightuserdata(L, out);
  for (i = 0; i < 4; i++) {   /* the options at 5..8 of the callee */
    if (given[i] != 0) lua_pushvalue(L, given[i]);
    else lua_pushnil(L);
  }
  moved.filter = options->filter != 0 ? 5 : 0;
  moved.exclude = options->exclude != 0 ? 6 : 0;
  moved.meta = options->meta != 0 ? 7 : 0;
  moved.data = options->data != 0 ? 8 : 0;
  op->w->readonly++;
  status = lua_pcall(L, 8, 0, 0);
  op->w->readonly--;
  s->open = 0;
  if (status != LUA_OK) lua_error(L);
  lua_pop(L, 1);
}
