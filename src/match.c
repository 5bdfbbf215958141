/* match.c - see match.h */
#include "match.h"

#include <string.h>

#include <lauxlib.h>

#include "guard.h"
#include "names.h"

const es_Found *es_match_at(const es_Matches *m, uint32_t i) {
  return (const es_Found *)(const void *)m->list->data + i;
}

uint32_t es_match_column(const es_Matches *m, const es_Found *match,
                         uint32_t field) {
  return ((const uint32_t *)(const void *)m->maps->data)[match->map + field];
}

/* Raises a SerializeError "fn: "Name" reason"; the reason is on top. */
static void fail(const es_Matches *m, const es_ImageTrait *t,
                 const char *code) {
  lua_State *L = m->op->L;
  const char *reason = lua_tostring(L, -1);
  lua_pushfstring(L, "%s: the trait %s %s", m->op->fn,
                  es_names_quote(L, t->name, t->len), reason);
  es_error_serialize(L, code);
  lua_pushinteger(L, (lua_Integer)t->offset);
  lua_setfield(L, -2, "offset");
  lua_pushlstring(L, t->name, t->len);
  lua_setfield(L, -2, "path");
  lua_error(L);
}

void es_match_fail(const es_Matches *m, const es_ImageTrait *t) {
  fail(m, t, ES_CODE_MALFORMED);
}

static void malformed(const es_Matches *m, const es_ImageTrait *t,
                      const char *reason) {
  lua_pushstring(m->op->L, reason);
  es_match_fail(m, t);
}

/* Pushes an option of an entry, or nil. [-0, +1] */
static int push_option(const es_Op *op, const es_Entry *e,
                       const char *name) {
  lua_State *L = op->L;
  lua_rawgeti(L, op->anchors, e->anchor + ES_ENTRY_OPTIONS);
  if (lua_istable(L, -1)) {
    lua_pushstring(L, name);
    lua_rawget(L, -2);
  } else {
    lua_pushnil(L);
  }
  lua_remove(L, -2);
  return lua_type(L, -1);
}

static int was_named(const es_Op *op, const es_Entry *e, const char *name,
                     size_t len) {
  lua_State *L = op->L;
  lua_Integer i, n;
  int found = 0;
  if (push_option(op, e, "formerly") == LUA_TTABLE) {
    n = (lua_Integer)lua_rawlen(L, -1);
    for (i = 1; i <= n && !found; i++) {
      size_t size;
      const char *old;
      lua_rawgeti(L, -1, i);
      old = lua_tolstring(L, -1, &size);
      found = size == len && memcmp(old, name, len) == 0;
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return found;
}

/* By its name; else the one entry that had the name formerly. */
static const es_Entry *find_entry(const es_Matches *m,
                                  const es_ImageTrait *t) {
  const es_Op *op = m->op;
  const es_Registry *r = &op->w->registry;
  const es_Entry *e = es_registry_find(op, t->name, t->len);
  uint32_t i;
  for (i = 0; i < r->n && e == NULL; i++)
    if (was_named(op, &r->entries[i], t->name, t->len)) e = &r->entries[i];
  if (e == NULL) {
    lua_pushliteral(op->L, "is not registered");
    fail(m, t, ES_CODE_UNKNOWN);
  }
  return e;
}

static void check_kind(const es_Matches *m, const es_ImageTrait *t,
                       const es_Trait *trait) {
  int kind = (int)trait->kind + (trait->relation ? ES_SAVED_PAIR : 0);
  if (kind == (int)t->kind) return;
  lua_pushfstring(m->op->L, "was saved as %s, it is registered as %s",
                  es_format_kinds[t->kind], es_format_kinds[kind]);
  es_match_fail(m, t);
}

static int same_name(const es_Field *f, const es_ImageField *saved) {
  return f->len == saved->len && memcmp(f->name, saved->name, f->len) == 0;
}

static int is_number_type(uint32_t type) {
  return type == ES_FIELD_INTEGER || type == ES_FIELD_FLOAT;
}

/* Whether values of a saved field may become those of a registered one. */
static int converts(const es_Entry *e, uint32_t field, uint32_t saved) {
  uint32_t type = (uint32_t)e->store->trait->fields[field].type;
  int ref = es_entry_is_ref(e, field);
  if (ref || saved == ES_SAVED_REF) return ref && saved == ES_SAVED_REF;
  if (type >= ES_FIELD_NULLABLE || saved >= ES_FIELD_NULLABLE) return 1;
  return type == saved || (is_number_type(type) && is_number_type(saved));
}

/* The saved column of a field + 1, or 0. */
static uint32_t saved_column(const es_Matches *m, const es_ImageTrait *t,
                             const es_Entry *e, uint32_t field) {
  const es_Field *f = &e->store->trait->fields[field];
  uint32_t i;
  for (i = 0; i < t->nfields; i++) {
    const es_ImageField *saved = es_image_field(m->image, t, i);
    if (!same_name(f, saved)) continue;
    if (converts(e, field, saved->type)) return i + 1;
    lua_pushfstring(m->op->L, "has the field %s as %s, which cannot be "
                              "converted",
                    es_names_quote(m->op->L, f->name, f->len),
                    es_format_types[saved->type]);
    es_match_fail(m, t);
  }
  return 0;
}

/* Every saved field must still be there. */
static void check_removed(const es_Matches *m, const es_ImageTrait *t,
                          const es_Entry *e) {
  uint32_t i;
  for (i = 0; i < t->nfields; i++) {
    const es_ImageField *saved = es_image_field(m->image, t, i);
    if (es_trait_field(e->store->trait, saved->name, saved->len) >= 0)
      continue;
    lua_pushfstring(m->op->L, "has the field %s, which the schema has not; "
                              "a migrate could take it",
                    es_names_quote(m->op->L, saved->name, saved->len));
    es_match_fail(m, t);
  }
}

static void map_fields(es_Matches *m, const es_ImageTrait *t,
                       es_Found *match) {
  const es_Entry *e = match->entry;
  uint32_t i, column;
  match->map = (uint32_t)(m->maps->len / sizeof column);
  if (!match->migrate && !match->defaults) check_removed(m, t, e);
  for (i = 0; i < e->store->trait->nfields; i++) {
    column = match->migrate || match->defaults ? 0 : saved_column(m, t, e, i);
    es_try(m->op->L, es_buffer_put(m->maps, &column, sizeof column));
  }
}

/* A saved version that is newer than the registered one is an error. */
static int needs_migration(const es_Matches *m, const es_ImageTrait *t,
                           const es_Entry *e) {
  lua_Integer version = es_entry_version(m->op, e);
  int has;
  if ((lua_Integer)t->version > version) {
    lua_pushfstring(m->op->L, "has version %d, the registered one is %d",
                    (int)t->version, (int)version);
    fail(m, t, ES_CODE_VERSION);
  }
  has = push_option(m->op, e, "migrate") == LUA_TFUNCTION;
  lua_pop(m->op->L, 1);
  return has && (lua_Integer)t->version < version;
}

static void check_exclusive(const es_Matches *m, const es_ImageTrait *t) {
  uint32_t i;
  for (i = 1; i < t->rows; i++)
    if (es_image_slot(m->image, t, i) == es_image_slot(m->image, t, i - 1))
      malformed(m, t, "has two targets for one source, but is exclusive");
}

static void match_one(es_Matches *m, const es_ImageTrait *t) {
  es_Found match;
  const es_Entry *e = find_entry(m, t);
  int values;
  memset(&match, 0, sizeof match);
  check_kind(m, t, e->store->trait);
  match.entry = e->transient == ES_TRANSIENT ? NULL : e;
  values = t->ncolumns > 0;
  if (e->store->key && !values)
    malformed(m, t, "says who has a key, but not which");
  match.defaults = e->transient == ES_TRANSIENT_DEFAULT || !values;
  match.migrate = !match.defaults && needs_migration(m, t, e);
  if (e->store->trait->exclusive) check_exclusive(m, t);
  if (e->codec && values && t->nfields > 0 && !match.migrate)
    malformed(m, t, "was saved by fields, but now has a codec");
  if (!e->codec && values && t->nfields == 0 &&
      e->store->trait->kind == ES_SOA && !match.migrate)
    malformed(m, t, "was saved by a codec, but now has none");
  if (match.entry != NULL) map_fields(m, t, &match);
  es_try(m->op->L, es_buffer_put(m->list, &match, sizeof match));
}

/* No entry may be found under two names of the snapshot. */
static void check_distinct(const es_Matches *m) {
  uint32_t i, k;
  for (i = 0; i < m->image->ntraits; i++)
    for (k = 0; k < i; k++)
      if (es_match_at(m, i)->entry != NULL &&
          es_match_at(m, i)->entry == es_match_at(m, k)->entry)
        malformed(m, es_image_trait(m->image, i),
                  "stands for the same trait as another one");
}

void es_match_all(es_Matches *m, const es_Op *op, const es_Image *image) {
  uint32_t i;
  m->op = op;
  m->image = image;
  m->list = es_guard_buffer(op->L);
  m->maps = es_guard_buffer(op->L);
  for (i = 0; i < image->ntraits; i++)
    match_one(m, es_image_trait(image, i));
  check_distinct(m);
}
