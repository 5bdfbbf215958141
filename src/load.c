/* load.c - see load.h */
#include "load.h"

#include <string.h>

#include <lauxlib.h>

#include "content.h"
#include "digest.h"
#include "drop.h"
#include "fill.h"
#include "guard.h"
#include "handler.h"
#include "names.h"
#include "query.h"
#include "table.h"

static void free_image(void *payload) { es_image_free(payload); }

es_Image *es_load_image(lua_State *L, const char *fn, int idx, int body) {
  size_t n;
  const char *bytes = lua_tolstring(L, idx, &n);
  es_Image *image = es_guard_new(L, sizeof *image, free_image);
  es_need_stack(L, LUA_MINSTACK);
  es_image_init(image, es_state_alloc(L));
  if (es_image_read(image, bytes, n, body)) return image;
  if (image->nomem) {
    es_image_free(image);
    lua_gc(L, LUA_GCCOLLECT, 0);
    es_image_init(image, es_state_alloc(L));
    if (es_image_read(image, bytes, n, body)) return image;
    if (image->nomem) es_error_memory(L);
  }
  lua_pushfstring(L, "%s: not a snapshot, or damaged, at byte %I: %s", fn,
                  (LUAI_UACINT)image->offset, image->wrong);
  es_error_serialize(L, ES_CODE_MALFORMED);
  lua_pushinteger(L, (lua_Integer)image->offset);
  lua_setfield(L, -2, "offset");
  lua_error(L);
  return NULL;
}

/* { { name, type }, ... } */
static void push_fields(lua_State *L, const es_Image *image,
                        const es_ImageTrait *t) {
  uint32_t i;
  lua_createtable(L, (int)t->nfields, 0);
  for (i = 0; i < t->nfields; i++) {
    const es_ImageField *f = es_image_field(image, t, i);
    lua_createtable(L, 2, 0);
    lua_pushlstring(L, f->name, f->len);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, es_format_types[f->type]);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_trait(lua_State *L, const es_Image *image,
                       const es_ImageTrait *t) {
  lua_createtable(L, 0, 5);
  lua_pushlstring(L, t->name, t->len);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, es_format_kinds[t->kind]);
  lua_setfield(L, -2, "kind");
  lua_pushinteger(L, t->version);
  lua_setfield(L, -2, "version");
  lua_pushinteger(L, t->rows);
  lua_setfield(L, -2, "rows");
  push_fields(L, image, t);
  lua_setfield(L, -2, "fields");
}

void es_load_push_header(lua_State *L, const es_Image *image) {
  char digest[16];
  uint32_t i;
  lua_createtable(L, 0, 6);
  lua_pushliteral(L, ES_FORMAT_NAME);
  lua_setfield(L, -2, "format");
  lua_pushinteger(L, ES_FORMAT_VERSION);
  lua_setfield(L, -2, "version");
  es_digest_hex(image->digest, digest);
  lua_pushlstring(L, digest, sizeof digest);
  lua_setfield(L, -2, "digest");
  if (image->meta != 0) {
    es_luadoc_push(L, &image->values, image->meta, 0);
    lua_setfield(L, -2, "meta");
  }
  lua_createtable(L, (int)image->ntraits, 0);
  for (i = 0; i < image->ntraits; i++) {
    push_trait(L, image, es_image_trait(image, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "traits");
}

int es_load_lua_inspect(lua_State *L) {
  es_Image *image;
  if (lua_type(L, 1) != LUA_TSTRING)
    return es_error_arg(L, "inspectSnapshot", 1, "snapshot bytes", 1);
  lua_settop(L, 1);
  image = es_load_image(L, "inspectSnapshot", 1, 0);
  es_load_push_header(L, image);
  return 1;
}

/* One load. */
typedef struct es_Load {
  es_Op op;
  const es_Image *image;
  int replayed;         /* onAdd is told of everything */
  int swapped;          /* the new content is in the world */
  struct es_FillCtx *ctx;
  es_Matches matches;
  es_Fill fill;
  es_Content *content;
  int columns;          /* stack index of the content's columns */
  es_Entity *entities;  /* handle by slot; 0: not alive */
  es_Buffer *keys;      /* uint32: the rows of the trait in hand */
} es_Load;

/* Generations, the free list, and who is alive. */
static void build_entities(es_Load *l) {
  es_Entities *x = &l->content->entities;
  const es_Image *image = l->image;
  uint32_t slot, i, generation;
  es_try(l->op.L, es_entity_reserve(x, image->known - 1));
  for (slot = 0; slot < image->known; slot++) {
    generation = es_image_generation(image, slot);
    if (generation < ES_RETIRED) generation += x->base;
    if (generation > ES_RETIRED) generation = ES_RETIRED;
    x->generation[slot] = generation;
    l->entities[slot] = 0;
    if (!es_image_is_alive(image, slot)) continue;
    if (generation == ES_RETIRED)
      es_error(l->op.L, l->op.fn,
               "the generations of this world's id are used up");
    es_bitset_set(&x->alive, slot);
    l->entities[slot] = es_entity_handle(x, slot);
  }
  x->known = image->known;
  x->used = image->used;
  x->count = image->count;
  for (i = 0; i < image->nfree; i++) {
    slot = es_u32_at(image->free, i);
    if (x->generation[slot] < ES_RETIRED) x->free[x->nfree++] = slot;
  }
}

/* Who carries ecs.IsExcluded. */
static void build_excluded(es_Load *l) {
  es_StoreContent *c = es_content_of(l->content, l->op.w->excluded);
  const es_Buffer *words = &l->image->excluded;
  uint32_t k, n = (uint32_t)(words->len / 8);
  es_try(l->op.L,
         es_bitset_reserve(&c->has, &l->content->alloc, l->image->known));
  for (k = 0; k < n && k < c->has.n; k++)
    c->has.words[k] = ((const uint64_t *)(const void *)words->data)[k];
  c->has.words[0] |= 1;
  c->count = es_bitset_count(&c->has);
}

/* Empty columns of the right size for a trait's values. */
static void size_columns(const es_Load *l, const es_ImageTrait *t,
                         const es_Store *s) {
  uint32_t f, top = t->rows;
  if (!s->trait->relation) top = es_image_slot(l->image, t, t->rows - 1);
  for (f = 0; f < s->trait->nfields; f++) {
    es_store_new_column(l->op.L, t->rows, top);
    lua_rawseti(l->op.L, l->columns, s->anchor + (int)f);
  }
}

static void build_pairs(const es_Load *l, const es_ImageTrait *t,
                        es_StoreContent *c, uint32_t *keys) {
  uint32_t i;
  for (i = 0; i < t->rows; i++) {
    uint32_t slot = es_image_slot(l->image, t, i);
    keys[i] = es_pairs_add(&c->pairs, slot, es_image_target(t, i));
    if (!es_bitset_test(&c->has, slot)) c->count++;
    es_bitset_set(&c->has, slot);
  }
}

/* Members of a trait, or pairs; the values' keys go to 'keys'. */
static void build_members(es_Load *l, const es_ImageTrait *t,
                          es_StoreContent *c) {
  uint32_t i, n = t->rows, known = l->image->known;
  int pairs = c->store->trait->relation;
  lua_State *L = l->op.L;
  uint32_t *keys;
  es_try(L, es_bitset_reserve(&c->has, &l->content->alloc, known));
  if (pairs) es_try(L, es_pairs_reserve(&c->pairs, known, n));
  l->keys->len = 0;
  es_try(L, es_buffer_reserve(l->keys, n * sizeof *keys));
  keys = (uint32_t *)(void *)l->keys->data;
  if (pairs) {
    build_pairs(l, t, c, keys);
    return;
  }
  for (i = 0; i < n; i++) {   /* each slot once */
    keys[i] = es_image_slot(l->image, t, i);
    es_bitset_set(&c->has, keys[i]);
  }
  c->count = n;
}

/* ecs.Key: strings, each once. */
static void build_keys(es_Load *l, const es_ImageTrait *t,
                       const es_Store *s) {
  lua_State *L = l->op.L;
  const es_ImageColumn *c = es_image_column(l->image, t, 0);
  uint32_t i, node = c->node;
  lua_rawgeti(L, l->columns, s->anchor);
  lua_rawgeti(L, l->columns, s->anchor + 2);
  for (i = 0; i < t->rows; i++) {
    uint32_t slot = es_image_slot(l->image, t, i);
    if (c->form != ES_COLUMN_VALUES ||
        es_document_node(&l->image->values, node)->type != ES_NODE_STRING) {
      lua_pushliteral(L, "has a value that is no string");
      es_match_fail(&l->matches, t);
    }
    es_luadoc_push(L, &l->image->values, node, 0);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) != LUA_TNIL)
      es_table_fail_key(&l->op, lua_absindex(L, -2));
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushinteger(L, slot);
    lua_rawset(L, -4);           /* column index key */
    lua_rawseti(L, -3, slot);
    node = es_document_next(&l->image->values, node);
  }
  lua_pop(L, 2);
}

/* All of the new content, beside the old one. */
static void build(es_Load *l) {
  uint32_t i;
  build_entities(l);
  build_excluded(l);
  for (i = 0; i < l->image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(l->image, i);
    const es_Found *m = es_match_at(&l->matches, i);
    if (m->entry == NULL) continue;
    build_members(l, t, es_content_of(l->content, m->entry->store));
    size_columns(l, t, m->entry->store);
    if (m->entry->store->key && t->ncolumns == 1)
      build_keys(l, t, m->entry->store);
    es_fill_trait(&l->fill, i,
                  (const uint32_t *)(const void *)l->keys->data);
  }
}

/* ecs.IsExcluded has no name in the snapshot. */
static int replay_excluded(const es_Load *l) {
  const es_Store *s = l->op.w->excluded;
  uint32_t slot;
  int status = LUA_OK;
  for (slot = 1; slot < l->image->known && status == LUA_OK; slot++)
    if (l->entities[slot] != 0 && es_bitset_test(&s->has, slot))
      status = es_tell(&l->op, s, ES_ON_ADD, l->entities[slot], 0, ES_STOP);
  return status;
}

/* onAdd for every trait and pair, in the snapshot's order. */
static int replay(const es_Load *l) {
  uint32_t i, k;
  int status = replay_excluded(l);
  for (i = 0; i < l->image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(l->image, i);
    const es_Found *m = es_match_at(&l->matches, i);
    for (k = 0; m->entry != NULL && k < t->rows && status == LUA_OK; k++) {
      uint32_t slot = es_image_slot(l->image, t, k);
      es_Entity e = slot == 0 ? es_world_entity(l->op.w)
                              : l->entities[slot];
      es_Entity target = 0;
      if (m->entry->store->trait->relation)
        target = l->entities[es_image_target(t, k)];
      status = es_tell(&l->op, m->entry->store, ES_ON_ADD, e, target, ES_STOP);
    }
  }
  return status;
}

/* Pushes the handlers' data as a table. [-0, +1] */
static void push_data(const es_Load *l) {
  const es_Node *n = es_document_node(&l->image->values, l->image->data);
  if (n->type != ES_NODE_OBJECT && n->type != ES_NODE_EMPTY)
    lua_newtable(l->op.L);
  else
    es_luadoc_push(l->op.L, &l->image->values, l->image->data, 0);
}

/*
** Everything after the exchange that may fail: handlers, and the replay. The
** header is on top and gets the data that no handler took.
*/
static int settle(const es_Load *l, int replayed) {
  lua_State *L = l->op.L;
  int header = lua_gettop(L), data, status;
  push_data(l);
  data = lua_gettop(L);
  status = es_handler_load_all(&l->op, l->fill.ctx, data);
  if (status != LUA_OK) return status;
  lua_pushvalue(L, data);
  lua_setfield(L, header, "data");
  lua_settop(L, header);
  if (replayed) status = replay(l);
  if (status == LUA_OK) status = es_handler_finish_all(&l->op, header);
  return status;
}

/* 1 the world, 2 the anchors, 3 the load. */
static es_Load *load_at_3(lua_State *L) {
  es_Load *l = lua_touserdata(L, 3);
  es_op_enter(&l->op, L);
  return l;
}

/*
** Runs protected, with 4 the columns. Scripts may change the world only after
** the exchange.
*/
static int run(lua_State *L) {
  es_Load *l = load_at_3(L);
  es_World *w = l->op.w;
  int status;
  l->columns = l->fill.columns = 4;
  es_need_stack(L, 3 * LUA_MINSTACK);
  l->ctx = es_fill_open(&l->fill);
  es_content_begin(&l->op, l->content, 4);
  build(l);
  es_load_push_header(L, l->image);
  es_try(L, es_content_reserve(w, l->content));
  w->least = l->content->entities.cap > w->entities.cap
                 ? l->content->entities.cap : w->entities.cap;
  es_content_swap(&l->op, l->content, 4);
  l->swapped = 1;
  w->readonly--;   /* handlers and observers may change the new content */
  status = settle(l, l->replayed);
  if (status != LUA_OK) lua_error(L);
  return 1;
}

/* Runs protected: the matches and memory, to be kept by the caller. */
static int prepare(lua_State *L) {
  es_Load *l = load_at_3(L);
  es_need_stack(L, 3 * LUA_MINSTACK);
  es_match_all(&l->matches, &l->op, l->image);
  l->keys = es_guard_buffer(L);
  l->entities =
      lua_newuserdatauv(L, (l->image->known + 1) * sizeof(es_Entity), 0);
  memset(l->entities, 0, l->image->known * sizeof(es_Entity));
  l->fill.op = &l->op;
  l->fill.matches = &l->matches;
  l->fill.entities = l->entities;
  l->content = es_content_new(&l->op);   /* the columns are on top */
  return lua_gettop(L) - 3;
}

/* Pushes a function of ours and its first arguments. [-0, +4] */
static void push_call(lua_State *L, lua_CFunction f, const es_Op *op,
                      es_Load *l) {
  es_op_push_call(op, f);
  lua_pushlightuserdata(L, l);
}

/*
** Prepares and runs. The function 'run' and its arguments are on top. Leaves
** what was prepared, the columns last, and the header or an error; when the
** preparation failed, the error alone.
*/
static int protect(es_Load *l, const es_Op *op, int *columns) {
  lua_State *L = op->L;
  uint32_t readonly = op->w->readonly;
  int i, status, call = lua_gettop(L) - 3;
  push_call(L, prepare, op, l);
  es_op_lock(op);
  status = lua_pcall(L, 3, LUA_MULTRET, 0);
  *columns = lua_gettop(L);
  if (status == LUA_OK) {
    for (i = call; i < call + 4; i++) lua_pushvalue(L, i);
    lua_pushvalue(L, *columns);
    status = lua_pcall(L, 4, 1, 0);
  }
  es_op_unlock(op, readonly);
  if (l->ctx != NULL) es_fill_close(l->ctx);
  return status;
}

/* The image is at its place on the stack. Pushes the header. [-0, +n] */
static void load(es_Load *l) {
  es_Op op = l->op;   /* the load's own changes */
  lua_State *L = op.L;
  int columns, status;
  push_call(L, run, &op, l);
  status = protect(l, &op, &columns);
  if (status != LUA_OK && l->swapped) {
    es_content_swap(&op, l->content, columns);
    es_content_empty_others(&op, l->content);
  }
  op.w->least = 0;
  if (status == LUA_OK || l->swapped)
    es_content_bury(&op, l->content, columns);
  if (status != LUA_OK) lua_error(L);
}

/* The option 'replay' of the table at 3. */
static int read_replay(const es_Op *op) {
  static const char *const known[] = {"replay"};
  lua_State *L = op->L;
  int replayed, type;
  if (lua_isnil(L, 3)) return 0;
  if (!lua_istable(L, 3)) es_op_bad(op, 2, "options table", 3);
  es_names_check_options(L, op->fn, 3, known, 1);
  lua_pushliteral(L, "replay");
  type = lua_rawget(L, 3);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    es_error(L, op->fn, "option 'replay': boolean expected, got %s",
             es_error_typename(L, lua_gettop(L)));
  replayed = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return replayed;
}

int es_load_lua_load(lua_State *L) {
  es_Op op;
  es_Load l;
  memset(&l, 0, sizeof l);
  es_op_change(L, &op, "loadSnapshot");
  if (op.w->busy > 0)
    return es_error(L, "loadSnapshot",
                    "a snapshot cannot be loaded inside a callback");
  if (op.w->restoring || op.w->resetting)
    return es_error(L, "loadSnapshot",
                    "the world is being restored or reset");
  if (lua_type(L, 2) != LUA_TSTRING && !lua_istable(L, 2))
    return es_op_bad(&op, 1, "snapshot bytes or table", 2);
  l.replayed = read_replay(&op);
  if (lua_istable(L, 2)) {
    es_table_to_bytes(&op, 2);
    lua_replace(L, 2);
  }
  l.op = op;
  l.image = es_load_image(L, op.fn, 2, 1);
  load(&l);
  return 1;
}
