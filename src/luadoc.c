/* luadoc.c - see luadoc.h */
#include "luadoc.h"

#include <string.h>

#include <lauxlib.h>

#include "cbor.h"
#include "error.h"
#include "guard.h"
#include "utf8.h"

/* A member of an object. */
typedef struct es_KeyRef {
  uint64_t rank;      /* the order of keys; equal ones need a closer look */
  const char *text;
  size_t len;
  int value;          /* stack index of the value; 0: not kept */
  uint32_t anchor;    /* then the key stays in 'anchors', here */
} es_KeyRef;

/* So many members of a table stay on the stack, which saves finding them. */
enum { KEPT = 16 };

/* A key and its value lie there while its table is open. */
enum { STACK = 2 * KEPT + 8 };

es_LuaWalk *es_luadoc_walk(lua_State *L, const es_State *s, es_Sink *sink) {
  es_LuaWalk *w = lua_newuserdatauv(L, sizeof *w, 0);
  memset(w, 0, offsetof(es_LuaWalk, levels));
  w->L = L;
  w->state = s;
  w->sink = sink;
  w->keys = es_guard_buffer(L);
  lua_newtable(L);
  w->anchors = lua_gettop(L);
  return w;
}

const char *es_luadoc_reason(es_Status status) {
  if (status == ES_INVALID) return "has the key \"__proto__\"";
  if (status == ES_LIMIT) return "is nested too deep or too large";
  return NULL;
}

/* A sink's call: full memory raises, all else is a reason. */
#define tell(w, call)                                          \
  do {                                                         \
    es_Status told_ = (call);                                  \
    if (told_ == ES_NOMEM) {                                   \
      lua_gc((w)->L, LUA_GCCOLLECT, 0);                        \
      told_ = (call);                                          \
    }                                                          \
    if (told_ == ES_NOMEM) es_error_memory((w)->L);            \
    if (told_ != ES_OK) return es_luadoc_reason(told_);        \
  } while (0)

/* The first bytes of a key as one number. */
static uint64_t head_of(const char *text, size_t len) {
  uint64_t head = 0;
  size_t i;
  for (i = 0; i < len && i < 8; i++)
    head = head << 8 | (unsigned char)text[i];
  return len > 0 && len < 8 ? head << (8 * (8 - len)) : head;
}

/* In CBOR byte strings come first, and shorter ones before longer ones. */
static uint64_t rank_of(const es_LuaWalk *w, const char *text, size_t len) {
  if (!w->exact) return head_of(text, len);
  return (uint64_t)es_utf8_strict(text, len) << 63 | len;
}

/* What es_document_compare, or es_cbor_compare_keys if exact, says. */
static int compare(const es_KeyRef *a, const es_KeyRef *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return es_document_compare(a->text, a->len, b->text, b->len);
}

static void sift(es_KeyRef *k, size_t i, size_t n) {
  while (2 * i + 1 < n) {
    size_t child = 2 * i + 1;
    es_KeyRef t;
    if (child + 1 < n && compare(&k[child + 1], &k[child]) > 0) child++;
    if (compare(&k[child], &k[i]) <= 0) return;
    t = k[i];
    k[i] = k[child];
    k[child] = t;
    i = child;
  }
}

/* Most objects are small. */
static void insertion_sort(es_KeyRef *k, size_t n) {
  size_t i, j;
  for (i = 1; i < n; i++) {
    es_KeyRef t;
    if (compare(&k[i - 1], &k[i]) < 0) continue;
    t = k[i];
    for (j = i; j > 0 && compare(&k[j - 1], &t) > 0; j--) k[j] = k[j - 1];
    k[j] = t;
  }
}

/* Heap sort: in place, and n log n also for crafted names. */
static void sort_keys(es_KeyRef *k, size_t n) {
  size_t i;
  if (n <= KEPT) {
    insertion_sort(k, n);
    return;
  }
  for (i = n / 2; i > 0; i--) sift(k, i - 1, n);
  for (i = n; i > 1; i--) {
    es_KeyRef t = k[0];
    k[0] = k[i - 1];
    k[i - 1] = t;
    sift(k, 0, i - 1);
  }
}

static const char *emit(es_LuaWalk *w, int idx);

/* What a table is, by its keys and its mark. */
typedef struct es_Shape {
  lua_Integer strings, integers;
  lua_Integer length;  /* once there was a key that is no string; or -1 */
  int base;           /* the i-th member is kept at base + 2 * i, from 0 */
  int ordered;        /* the integers came as 1, 2, 3, ... */
  const char *wrong;
} es_Shape;

/*
** Notes the key at 'idx', a string; 0 <= 'value' is where its value stays. A
** finalizer may take a key out of its table: it must stay elsewhere, too.
*/
static void note_key(es_LuaWalk *w, int idx, int value) {
  es_KeyRef k;
  k.text = lua_tolstring(w->L, idx, &k.len);
  k.rank = rank_of(w, k.text, k.len);
  k.value = value;
  k.anchor = (uint32_t)(w->keys->len / sizeof k) + 1;
  if (value == 0) {
    lua_pushvalue(w->L, idx);
    lua_rawseti(w->L, w->anchors, k.anchor);
  }
  if (w->keys->cap - w->keys->len < sizeof k)
    es_try(w->L, es_buffer_reserve(w->keys, sizeof k));
  memcpy(w->keys->data + w->keys->len, &k, sizeof k);
  w->keys->len += sizeof k;
}

/* Counts the key below the top, of the table at 'idx'. */
static void see_key(es_LuaWalk *w, es_Shape *s, int idx, int key, int kept) {
  int integer = 0;
  lua_Integer i;
  if (lua_type(w->L, key) == LUA_TSTRING) {
    note_key(w, key, kept ? key + 1 : 0);
    s->strings++;
    return;
  }
  if (s->length < 0) s->length = (lua_Integer)lua_rawlen(w->L, idx);
  i = lua_tointegerx(w->L, key, &integer);
  if (!integer || i < 1 || i > s->length)
    s->wrong = "has a key that is neither a string nor in 1..n";
  s->ordered &= i == ++s->integers;
  if (kept) es_luadoc_fetch(w->L, key + 1);
}

/*
** Looks at all keys. The strings are noted behind the keys of the open
** objects, and the first members stay on the stack. [-0, +2 * KEPT at most]
*/
static es_Shape shape_of(es_LuaWalk *w, int idx) {
  lua_State *L = w->L;
  es_Shape s = {0, 0, -1, 0, 1, NULL};
  int key, kept = KEPT;
  key = lua_gettop(L) + 1;
  s.base = key + 1;
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    see_key(w, &s, idx, key, kept > 0);
    if (s.wrong != NULL) return s;
    if (kept-- > 0) {
      lua_pushvalue(L, key);
      key += 2;
    } else {
      lua_pop(L, 1);
    }
  }
  if (s.integers > 0 && s.strings > 0) s.wrong = "is a mixed table";
  else if (s.integers != s.length && s.integers > 0)
    s.wrong = "is a sparse array";
  return s;
}

/* A count that no sink can hold becomes one that it refuses. */
static uint32_t count_of(lua_Integer n) {
  return n < ES_UNCOUNTED ? (uint32_t)n : ES_UNCOUNTED - 1;
}

static const char *emit_array(es_LuaWalk *w, int idx, const es_Shape *s) {
  es_Level *level = &w->levels[w->depth - 1];
  const char *wrong = NULL;
  lua_Integer i, n = s->integers;
  int kept = s->ordered && n <= KEPT;
  tell(w, w->sink->open(w->sink, ES_NODE_ARRAY, count_of(n)));
  for (i = 1; i <= n && wrong == NULL; i++) {
    level->index = i;
    if (kept) {
      wrong = emit(w, s->base + 2 * (int)(i - 1));
      continue;
    }
    lua_rawgeti(w->L, idx, i);
    wrong = emit(w, lua_gettop(w->L));
    lua_pop(w->L, 1);
  }
  if (wrong == NULL) tell(w, w->sink->close(w->sink));
  return wrong;
}

static const char *emit_entry(es_LuaWalk *w, int idx, const es_KeyRef *k) {
  es_Level *level = &w->levels[w->depth - 1];
  const char *wrong;
  level->key = k->text;
  level->len = k->len;
  if (!w->exact && es_utf8_check(k->text, k->len) != k->len)
    return "has a key that is not UTF-8";
  tell(w, w->sink->key(w->sink, k->text, k->len));
  if (k->value != 0) return emit(w, k->value);
  lua_rawgeti(w->L, w->anchors, k->anchor);
  lua_rawget(w->L, idx);
  wrong = emit(w, lua_gettop(w->L));
  lua_pop(w->L, 1);
  return wrong;
}

/* The keys were noted last. */
static const char *emit_object(es_LuaWalk *w, int idx, size_t n) {
  size_t i, start = w->keys->len - n * sizeof(es_KeyRef);
  const char *wrong = NULL;
  tell(w, w->sink->open(w->sink, ES_NODE_OBJECT, count_of((lua_Integer)n)));
  sort_keys((es_KeyRef *)(void *)(w->keys->data + start), n);
  for (i = 0; i < n && wrong == NULL; i++) {
    es_KeyRef k;   /* a copy: the buffer moves when it grows */
    memcpy(&k, w->keys->data + start + i * sizeof k, sizeof k);
    wrong = emit_entry(w, idx, &k);
  }
  if (wrong == NULL) tell(w, w->sink->close(w->sink));
  return wrong;
}

static const char *emit_empty(es_LuaWalk *w, int marked) {
  tell(w, w->sink->open(w->sink, marked ? ES_NODE_ARRAY : ES_NODE_EMPTY, 0));
  tell(w, w->sink->close(w->sink));
  return NULL;
}

/* Enters the table: a level that keeps its identity. */
static const char *enter(es_LuaWalk *w, int idx) {
  const void *table = lua_topointer(w->L, idx);
  uint32_t i;
  if (w->depth == ES_DEPTH_MAX) return "is nested too deep";
  for (i = 0; i < w->depth; i++)
    if (w->levels[i].table == table) return "contains itself";
  w->levels[i].table = table;
  w->levels[i].key = NULL;
  w->levels[i].index = 0;
  w->depth++;
  es_need_stack(w->L, STACK);
  return NULL;
}

/*
** The table's own keys are noted and kept until it is done; on a fault they
** stay, since the levels tell the path. [-0, +0 or +n]
*/
static const char *emit_table(es_LuaWalk *w, int idx) {
  int marked = 0, top = lua_gettop(w->L);
  size_t keys = w->keys->len;
  es_Shape s;
  const char *wrong;
  if (lua_getmetatable(w->L, idx)) {
    marked = lua_topointer(w->L, -1) == w->state->shared[ES_SHARED_ARRAY];
    lua_pop(w->L, 1);
    if (!marked) return "has a metatable";
  }
  wrong = enter(w, idx);
  if (wrong != NULL) return wrong;
  s = shape_of(w, idx);
  if (s.wrong == NULL && marked && s.strings > 0)
    s.wrong = "is marked as an array but has string keys";
  wrong = s.wrong;
  if (wrong != NULL) w->depth--;   /* the table itself is wrong */
  else if (s.strings > 0) wrong = emit_object(w, idx, (size_t)s.strings);
  else if (s.integers > 0) wrong = emit_array(w, idx, &s);
  else wrong = emit_empty(w, marked);
  if (wrong != NULL) return wrong;
  lua_settop(w->L, top);
  w->keys->len = keys;
  w->depth--;
  return NULL;
}

static const char *emit_number(es_LuaWalk *w, int idx) {
  double d;
  if (lua_isinteger(w->L, idx)) {
    tell(w, w->sink->integer(w->sink, lua_tointeger(w->L, idx)));
    return NULL;
  }
  d = lua_tonumber(w->L, idx);
  if (!w->exact && d != d) return "is NaN";
  if (!w->exact && d - d != 0.0) return "is infinite";
  tell(w, w->sink->number(w->sink, d));
  return NULL;
}

static const char *emit_string(es_LuaWalk *w, int idx) {
  size_t len;
  const char *s = lua_tolstring(w->L, idx, &len);
  if (!w->exact && es_utf8_check(s, len) != len)
    return "is a string that is not UTF-8";
  tell(w, w->sink->string(w->sink, s, len));
  return NULL;
}

static const char *emit(es_LuaWalk *w, int idx) {
  switch (lua_type(w->L, idx)) {
    case LUA_TBOOLEAN:
      tell(w, w->sink->boolean(w->sink, lua_toboolean(w->L, idx)));
      return NULL;
    case LUA_TNUMBER: return emit_number(w, idx);
    case LUA_TSTRING: return emit_string(w, idx);
    case LUA_TTABLE: return emit_table(w, idx);
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(w->L, idx) != NULL) return "is a light userdata";
      tell(w, w->sink->null(w->sink));
      return NULL;
    case LUA_TNIL: return "is nil";
    case LUA_TFUNCTION: return "is a function";
    case LUA_TTHREAD: return "is a coroutine";
    default: return "is a userdata";
  }
}

const char *es_luadoc_emit(es_LuaWalk *w, int idx) {
  const char *wrong;
  w->depth = 0;
  w->keys->len = 0;
  wrong = emit(w, lua_absindex(w->L, idx));
  if (wrong != NULL) es_need_stack(w->L, LUA_MINSTACK);
  return wrong;
}

/* Indices are 0-based, as in the file. */
es_Status es_luadoc_path(const es_LuaWalk *w, es_Buffer *out) {
  es_Status status = ES_OK;
  uint32_t i;
  for (i = 0; i < w->depth && status == ES_OK; i++) {
    const es_Level *l = &w->levels[i];
    if (l->key != NULL) status = es_document_path_key(out, l->key, l->len);
    else if (l->index > 0)
      status = es_document_path_index(out, (uint64_t)l->index - 1);
  }
  return status;
}

int es_luadoc_integral(double d, int64_t *i) {
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0)) return 0;
  *i = (int64_t)d;
  if ((double)*i != d) return 0;
  return *i != 0 || !(1.0 / d < 0.0);
}

static void push_float(lua_State *L, double d, int integers) {
  int64_t i;
  if (integers && es_luadoc_integral(d, &i)) lua_pushinteger(L, i);
  else lua_pushnumber(L, d);
}

static int capacity(uint32_t n) { return n > INT32_MAX ? INT32_MAX : (int)n; }

/* What is neither a number nor a container. */
static void push_other(lua_State *L, const es_Document *d,
                       const es_Node *node) {
  switch (node->type) {
    case ES_NODE_STRING:
      lua_pushlstring(L, es_document_text(d, node), node->count);
      break;
    case ES_NODE_NULL: lua_pushlightuserdata(L, NULL); break;
    default: lua_pushboolean(L, node->type == ES_NODE_TRUE); break;
  }
}

/* The key as one that was pushed before, or -1. */
static int find_kept(es_Pusher *p, const char *text, size_t len) {
  int i, at = p->next;
  for (i = 0; i < p->nkeys; i++, at++) {
    if (at >= p->nkeys) at = 0;
    if (p->lengths[at] == len && memcmp(p->keys[at], text, len) == 0) {
      p->next = at + 1;
      return at;
    }
  }
  return -1;
}

/* Pushes a key. Strings are slow to make, and objects are much alike. */
static void push_key(es_Pusher *p, const es_Node *node) {
  const char *text = es_document_text(p->d, node);
  int at = find_kept(p, text, node->count);
  if (at >= 0) {
    lua_pushvalue(p->L, p->base + 1 + at);
    return;
  }
  lua_pushlstring(p->L, text, node->count);
  if (p->nkeys == ES_PUSHER_KEYS || node->count > 40) return;
  lua_copy(p->L, -1, p->base + 1 + p->nkeys);
  p->lengths[p->nkeys] = node->count;
  p->keys[p->nkeys++] = lua_tostring(p->L, -1);
}

static uint32_t push_container(es_Pusher *p, uint32_t at);

/* Pushes the value at 'at'; returns the index of the node behind it. */
static inline uint32_t push_value(es_Pusher *p, uint32_t at) {
  const es_Node *node = es_document_node(p->d, at);
  if (node->type >= ES_NODE_ARRAY) return push_container(p, at);
  if (node->type == ES_NODE_INT) lua_pushinteger(p->L, node->u.i);
  else if (node->type == ES_NODE_FLOAT)
    push_float(p->L, node->u.d, p->integers);
  else push_other(p->L, p->d, node);
  return at + 1;
}

static uint32_t push_array(es_Pusher *p, uint32_t at, uint32_t n) {
  uint32_t i;
  lua_createtable(p->L, capacity(n), 0);
  lua_pushvalue(p->L, p->base);
  lua_setmetatable(p->L, -2);
  for (i = 1; i <= n; i++) {
    at = push_value(p, at);
    lua_rawseti(p->L, -2, i);
  }
  return at;
}

static uint32_t push_object(es_Pusher *p, uint32_t at, uint32_t n) {
  uint32_t i;
  lua_createtable(p->L, 0, capacity(n));
  for (i = 0; i < n; i++) {
    push_key(p, es_document_node(p->d, at));
    at = push_value(p, at + 1);
    lua_rawset(p->L, -3);
  }
  return at;
}

static uint32_t push_container(es_Pusher *p, uint32_t at) {
  const es_Node *node = es_document_node(p->d, at);
  es_need_stack(p->L, 6);
  if (node->type == ES_NODE_ARRAY) return push_array(p, at + 1, node->count);
  return push_object(p, at + 1, node->count);   /* or an empty table */
}

void es_pusher_open(es_Pusher *p, lua_State *L, const es_Document *d,
                    int integers) {
  es_need_stack(L, ES_PUSHER_KEYS + LUA_MINSTACK);
  p->L = L;
  p->d = d;
  p->integers = integers;
  p->nkeys = p->next = 0;
  es_state_push(L, ES_SHARED_ARRAY);
  p->base = lua_gettop(L);
  lua_settop(L, p->base + ES_PUSHER_KEYS);
}

void es_pusher_push(es_Pusher *p, uint32_t at) { push_value(p, at); }

void es_luadoc_push(lua_State *L, const es_Document *d, uint32_t at,
                    int integers) {
  es_Pusher p;
  if (es_document_node(d, at)->type >= ES_NODE_ARRAY) {
    es_pusher_open(&p, L, d, integers);
    push_container(&p, at);
    lua_replace(L, p.base);
    lua_settop(L, p.base);
    return;
  }
  es_need_stack(L, 1);
  p.L = L;
  p.d = d;
  p.integers = integers;
  push_value(&p, at);
}

int es_luadoc_lua_array(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_istable(L, 1)) return es_error_arg(L, "array", 1, "table", 1);
  if (lua_getmetatable(L, 1)) {
    if (lua_topointer(L, -1) != es_state(L)->shared[ES_SHARED_ARRAY])
      return es_error(L, "array", "the table has a metatable of its own");
    lua_pop(L, 1);
  }
  es_state_push(L, ES_SHARED_ARRAY);
  lua_setmetatable(L, 1);
  return 1;
}
