/* plan.c - the rules of SER-071..078; see plan.h */
#include "plan.h"

#include <string.h>

#include <lauxlib.h>

#include "add.h"
#include "guard.h"
#include "json.h"
#include "luadoc.h"
#include "names.h"

#define NO_PLACE SIZE_MAX
#define WORD(s) {s, sizeof(s) - 1, NO_PLACE}

static const es_Node *node_at(const es_Plan *p, uint32_t i) {
  return es_document_node(p->doc, i);
}

static uint32_t entry_number(const es_Plan *p, const es_Entry *e) {
  return (uint32_t)(e - p->op->w->registry.entries);
}

static const char *type_name(const es_Node *n) {
  static const char *const names[] = {"null", "a boolean", "a boolean",
                                      "a number", "a number", "a string",
                                      "an array", "an object", "empty"};
  return names[n->type];
}

void es_plan_push_error(const es_Plan *p, const char *code, uint32_t node) {
  lua_State *L = p->op->L;
  p->scratch->len = 0;
  es_try_put(L, p->scratch, es_document_path(p->doc, node, p->scratch));
  es_error_at(L, p->op->fn, code, p->scratch, "the snapshot",
              lua_tostring(L, -1));
  lua_remove(L, -2);   /* the reason */
  if (p->text == NULL) return;
  lua_pushinteger(L, (lua_Integer)es_json_offset(p->text, p->length, node));
  lua_setfield(L, -2, "offset");
}

/* Raises, or collects. The reason is on top. [-1, +0] */
static void report(es_Plan *p, const char *code, uint32_t node) {
  lua_State *L = p->op->L;
  if (p->errors != 0 && p->nerrors >= ES_PLAN_ERRORS) {
    lua_pop(L, 1);
    return;
  }
  es_plan_push_error(p, code, node);
  if (p->errors == 0) lua_error(L);
  lua_rawseti(L, p->errors, ++p->nerrors);
}

static void malformed(es_Plan *p, uint32_t node, const char *reason) {
  lua_pushstring(p->op->L, reason);
  report(p, ES_CODE_MALFORMED, node);
}

/* The same with a name: "lacks the field "hp"". */
static void malformed_name(es_Plan *p, uint32_t node, const char *reason,
                           const char *name, size_t len) {
  lua_State *L = p->op->L;
  es_names_quote(L, name, len);
  lua_pushfstring(L, "%s %s", reason, lua_tostring(L, -1));
  lua_remove(L, -2);
  report(p, ES_CODE_MALFORMED, node);
}

/* "is -1, not the index of an entity" */
static void malformed_index(es_Plan *p, uint32_t node, const char *what) {
  lua_State *L = p->op->L;
  const es_Node *n = node_at(p, node);
  int top = lua_gettop(L);
  const char *shown = type_name(n);
  if (n->type == ES_NODE_INT || n->type == ES_NODE_FLOAT) {
    es_luadoc_push(L, p->doc, node, 1);
    shown = luaL_tolstring(L, -1, NULL);
  } else if (n->type == ES_NODE_TRUE || n->type == ES_NODE_FALSE) {
    shown = n->type == ES_NODE_TRUE ? "true" : "false";
  }
  lua_pushfstring(L, "is %s%s", shown, what);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  report(p, ES_CODE_MALFORMED, node);
}

static int is_array(const es_Node *n) {
  return n->type == ES_NODE_ARRAY || n->type == ES_NODE_EMPTY;
}

static int is_object(const es_Node *n) {
  return n->type == ES_NODE_OBJECT || n->type == ES_NODE_EMPTY;
}

static int is_number(const es_Node *n) {
  return n->type == ES_NODE_INT || n->type == ES_NODE_FLOAT;
}

/*
** True if a key or string is the name. Where readers keep the text of a key
** once, its place is enough to know it again: '*place' is where it was found
** before.
*/
static inline int is_name(const es_Plan *p, const es_Node *n,
                          const char *name, size_t len, size_t *place) {
  if (n->count != len) return 0;
  if (n->u.text == *place) return 1;
  if (memcmp(es_document_text(p->doc, n), name, len) != 0) return 0;
  *place = n->u.text;
  return 1;
}

/*
** Finds the values of known keys of an object and reports all other keys.
** 'found' gets the value's node for each word, 0 where it is missing.
*/
static void read_keys(es_Plan *p, uint32_t object, es_PlanWord *words,
                      uint32_t n, uint32_t *found) {
  uint32_t count = node_at(p, object)->count, key = object + 1, i, k;
  memset(found, 0, n * sizeof *found);
  for (i = 0; i < count; i++) {
    const es_Node *at = node_at(p, key);
    for (k = 0; k < n; k++)
      if (is_name(p, at, words[k].text, words[k].len, &words[k].place)) break;
    if (k < n)
      found[k] = key + 1;
    else
      malformed_name(p, object, "has the unknown key",
                     es_document_text(p->doc, at), at->count);
    key = es_document_next(p->doc, key + 1);
  }
}

int es_plan_index(const es_Plan *p, uint32_t node, uint32_t *index) {
  const es_Node *n = node_at(p, node);
  int64_t i = -1;
  if (n->type == ES_NODE_INT) i = n->u.i;
  else if (n->type == ES_NODE_FLOAT && n->u.d == 0.0) i = 0;
  else if (n->type != ES_NODE_FLOAT || !es_luadoc_integral(n->u.d, &i))
    return 0;
  if (i < 0 || i >= (int64_t)p->entities) return 0;
  *index = (uint32_t)i;
  return 1;
}

static void add_step(es_Plan *p, es_Buffer *b, const es_Step *step) {
  p->names[step->entry].steps++;
  es_try(p->op->L, es_buffer_put(b, step, sizeof *step));
}

const es_Step *es_plan_steps(const es_Buffer *b, uint32_t *n) {
  *n = (uint32_t)(b->len / sizeof(es_Step));
  return (const es_Step *)(const void *)b->data;
}

/* The entry that a string node names. Records mostly keep one order. */
static inline const es_Entry *find_entry(es_Plan *p, uint32_t node) {
  const es_Registry *r = &p->op->w->registry;
  const es_Node *n = node_at(p, node);
  const es_Entry *e;
  uint32_t i;
  for (i = p->guess; i < r->n && i < p->guess + 8; i++) {
    e = &r->entries[i];
    if (is_name(p, n, e->name, e->len, &p->names[i].place)) {
      p->guess = i + 1;
      return e;
    }
  }
  e = es_registry_find(p->op, es_document_text(p->doc, n), n->count);
  if (e != NULL) p->guess = (uint32_t)(e - r->entries) + 1;
  return e;
}

/* As find_entry; reports a name that cannot be restored. */
static const es_Entry *known_entry(es_Plan *p, uint32_t name,
                                   uint32_t where) {
  const es_Entry *e = find_entry(p, name);
  const es_Node *n = node_at(p, name);
  lua_State *L = p->op->L;
  if (e != NULL && !e->transient) return e;
  es_names_quote(L, es_document_text(p->doc, n), n->count);
  lua_pushfstring(L, "names %s, which is %s", lua_tostring(L, -1),
                  e != NULL ? "transient" : "not registered");
  lua_remove(L, -2);
  report(p, ES_CODE_UNKNOWN, where);
  return NULL;
}

/* Whether the node may stand in a field of this type. */
static inline int fits(const es_Node *n, es_FieldType type) {
  enum {
    BOOLEANS = 1 << ES_NODE_TRUE | 1 << ES_NODE_FALSE,
    NUMBERS = 1 << ES_NODE_INT | 1 << ES_NODE_FLOAT,
    STRINGS = 1 << ES_NODE_STRING
  };
  static const int nodes[] = {BOOLEANS, NUMBERS, NUMBERS, STRINGS, ~0, ~0};
  return nodes[type] >> n->type & 1;
}

static void check_ref(es_Plan *p, uint32_t node) {
  uint32_t index;
  if (node_at(p, node)->type != ES_NODE_NULL &&
      !es_plan_index(p, node, &index))
    malformed_index(p, node, ", not null or the index of an entity");
}

static void check_field(es_Plan *p, const es_Entry *e, uint32_t field,
                        uint32_t node) {
  const es_Node *n = node_at(p, node);
  es_FieldType type = e->store->trait->fields[field].type;
  lua_State *L = p->op->L;
  if (es_entry_is_ref(e, field)) {
    check_ref(p, node);
  } else if (!fits(n, type)) {
    lua_pushfstring(L, "is %s, the schema has a %s", type_name(n),
                    es_trait_expects(type));
    report(p, ES_CODE_MALFORMED, node);
  }
}

static void report_missing_fields(es_Plan *p, const es_Trait *t,
                                  uint32_t node) {
  uint32_t i;
  for (i = 0; i < t->nfields; i++) {
    const es_Field *f = &t->fields[i];
    if (node_at(p, node)->type == ES_NODE_EMPTY ||
        es_document_find(p->doc, node, f->name, f->len) == 0)
      malformed_name(p, node, "lacks the field", f->name, f->len);
  }
}

/* The field that a key node names, or -1; mostly the one that is expected. */
static inline int find_field(const es_Plan *p, const es_Entry *e,
                             uint32_t expected, uint32_t key) {
  const es_Trait *t = e->store->trait;
  const es_Node *n = node_at(p, key);
  if (expected < t->nfields) {
    const es_Field *f = &t->fields[expected];
    size_t *places = p->places + p->names[entry_number(p, e)].fields;
    if (is_name(p, n, f->name, f->len, &places[expected]))
      return (int)expected;
  }
  return es_trait_field(t, es_document_text(p->doc, n), n->count);
}

/* Exactly the fields of the schema, each of its type, in any order. */
static uint32_t check_fields(es_Plan *p, const es_Entry *e, uint32_t node) {
  const es_Trait *t = e->store->trait;
  const es_Node *n = node_at(p, node);
  uint32_t i, key = node + 1, known = 0, ordered = 1;
  for (i = 0; i < n->count; i++) {
    int field = find_field(p, e, i, key);
    ordered &= field == (int)i;
    if (field < 0) {
      const es_Node *k = node_at(p, key);
      malformed_name(p, node, "has the unknown field",
                     es_document_text(p->doc, k), k->count);
    } else {
      check_field(p, e, (uint32_t)field, key + 1);
      known++;
    }
    key = es_document_next(p->doc, key + 1);
  }
  if (known < t->nfields) report_missing_fields(p, t, node);
  return ordered;
}

/* True if all is well at a glance: names known by their place, in order. */
static int is_usual(const es_Plan *p, const es_Entry *e, const es_Node *n) {
  const es_Trait *t = e->store->trait;
  const size_t *places = p->places + p->names[entry_number(p, e)].fields;
  const es_Node *key = n + 1;
  uint32_t i;
  if (n->count != t->nfields || e->refs != NULL) return 0;
  for (i = 0; i < t->nfields; i++) {
    const es_Field *f = &t->fields[i];
    const es_Node *value = key + 1;
    if (key->u.text != places[i] || key->count != f->len ||
        !fits(value, f->type))
      return 0;
    key = value->type < ES_NODE_ARRAY ? value + 1
                                      : p->doc->nodes + value->u.end;
  }
  return 1;
}

/* True when the fields come in schema order. */
static uint32_t check_soa(es_Plan *p, const es_Entry *e, uint32_t node) {
  const es_Node *n = node_at(p, node);
  if (!is_object(n)) {
    lua_pushfstring(p->op->L, "is %s, not an object of fields",
                    type_name(n));
    report(p, ES_CODE_MALFORMED, node);
    return 0;
  }
  return is_usual(p, e, n) ? 1 : check_fields(p, e, node);
}

/* A value of ecs.Key: a string that is new in the document and the world. */
static void check_key(es_Plan *p, const es_Store *s, uint32_t node) {
  lua_State *L = p->op->L;
  const es_Node *n = node_at(p, node);
  int taken;
  if (n->type != ES_NODE_STRING) {
    malformed(p, node, "is not a string");
    return;
  }
  lua_pushlstring(L, es_document_text(p->doc, n), n->count);
  lua_pushvalue(L, -1);
  taken = lua_rawget(L, p->keys) != LUA_TNIL;
  lua_pop(L, 1);
  taken |= es_add_find_key(p->op, s, lua_gettop(L)) != ES_NO_SLOT;
  lua_pushboolean(L, 1);
  lua_rawset(L, p->keys);
  if (!taken) return;
  lua_pushliteral(L, "is a key that another entity has");
  report(p, ES_CODE_DUPLICATE_KEY, node);
}

/* True for a SoA value whose fields come in schema order. */
static uint32_t check_value(es_Plan *p, const es_Entry *e, uint32_t node) {
  if (e->codec) return 0;
  if (e->store->trait->kind == ES_SOA) return check_soa(p, e, node);
  if (e->store->key) check_key(p, e->store, node);
  return 0;
}

static void check_tag(es_Plan *p, es_Buffer *steps, uint32_t node,
                      uint32_t record) {
  const es_Node *n = node_at(p, node);
  const char *name;
  const es_Entry *e;
  es_Step step = {0, node, record, 0, 0};
  if (n->type != ES_NODE_STRING) {
    malformed(p, node, "is not a string");
    return;
  }
  name = es_document_text(p->doc, n);
  e = known_entry(p, node, node);
  if (e == NULL) return;
  step.entry = entry_number(p, e);
  if (e->store->trait->relation || e->store->trait->kind != ES_TAG) {
    malformed_name(p, node, "is not a tag:", name, n->count);
  } else if (p->seen[step.entry] == record + 1) {
    malformed_name(p, node, "repeats the tag", name, n->count);
  } else {
    p->seen[step.entry] = record + 1;
    add_step(p, steps, &step);
  }
}

static void check_tags(es_Plan *p, es_Buffer *steps, uint32_t node,
                       uint32_t record) {
  uint32_t i, child = node + 1, n = node_at(p, node)->count;
  p->guess = 0;
  for (i = 0; i < n; i++) {
    check_tag(p, steps, child, record);
    child = es_document_next(p->doc, child);
  }
}

static void check_traits(es_Plan *p, es_Buffer *steps, uint32_t node,
                         uint32_t record) {
  uint32_t i, key = node + 1, n = node_at(p, node)->count;
  p->guess = 0;
  for (i = 0; i < n; i++) {
    const es_Entry *e = known_entry(p, key, key);
    es_Step step = {0, key + 1, record, 0, 0};
    if (e != NULL && (e->store->trait->relation ||
                      e->store->trait->kind == ES_TAG)) {
      malformed(p, key, e->store->trait->relation
                            ? "is a relation, not a data trait"
                            : "is a tag, not a data trait");
    } else if (e != NULL) {
      step.ordered = check_value(p, e, key + 1);
      step.entry = entry_number(p, e);
      add_step(p, steps, &step);
    }
    key = es_document_next(p->doc, key + 1);
  }
}

/* data is there exactly when the relation has a store. */
static uint32_t check_data(es_Plan *p, const es_Entry *e, uint32_t pair,
                           uint32_t data) {
  es_Kind kind = e->store->trait->kind;
  if (kind == ES_TAG && data != 0)
    malformed(p, pair, "has data, but the relation has no store");
  else if (kind != ES_TAG && data == 0)
    malformed(p, pair, "has no data, but the relation has a store");
  else if (kind == ES_SOA)
    return check_soa(p, e, data);
  return 0;
}

static void check_pair(es_Plan *p, const es_Entry *e, uint32_t node,
                       uint32_t record) {
  uint32_t found[2], index;
  es_Step step = {0, 0, record, 0, 0};
  if (!is_object(node_at(p, node))) {
    malformed(p, node, "is not an object");
    return;
  }
  read_keys(p, node, p->pair_words, 2, found);
  step.ordered = check_data(p, e, node, found[1]);
  if (found[0] == 0) {
    malformed(p, node, "has no target");
    return;
  }
  if (!es_plan_index(p, found[0], &index)) {
    malformed_index(p, found[0], ", not the index of an entity");
    return;
  }
  if (p->hit[index] == p->list)
    malformed_index(p, found[0], ", which is a target already");
  p->hit[index] = p->list;
  step.entry = entry_number(p, e);
  step.node = found[1] != 0 ? found[1] : found[0];
  step.target = index;
  add_step(p, p->pairs, &step);
}

static void check_relation(es_Plan *p, const es_Entry *e, uint32_t node,
                           uint32_t record) {
  const es_Node *list = node_at(p, node);
  uint32_t i, child = node + 1;
  if (list->type != ES_NODE_ARRAY || list->count == 0) {
    malformed(p, node, "is not a non-empty array");
    return;
  }
  if (e->store->trait->exclusive && list->count > 1)
    malformed(p, node, "has two targets, but the relation is exclusive");
  p->list++;
  for (i = 0; i < list->count; i++) {
    check_pair(p, e, child, record);
    child = es_document_next(p->doc, child);
  }
}

static void check_pairs(es_Plan *p, uint32_t node, uint32_t record) {
  uint32_t i, key = node + 1, n = node_at(p, node)->count;
  p->guess = 0;
  for (i = 0; i < n; i++) {
    const es_Entry *e = known_entry(p, key, key);
    if (e != NULL && !e->store->trait->relation)
      malformed(p, key, "is not a relation");
    else if (e != NULL)
      check_relation(p, e, key + 1, record);
    key = es_document_next(p->doc, key + 1);
  }
}

/* A record: tags, traits and, except for the world's, pairs. */
static void check_record(es_Plan *p, uint32_t node, uint32_t record,
                         int world) {
  es_Buffer *steps = world ? p->world : p->traits;
  uint32_t found[3] = {0, 0, 0};
  if (!is_object(node_at(p, node))) {
    malformed(p, node, "is not an object");
    return;
  }
  read_keys(p, node, p->record_words, world ? 2 : 3, found);
  if (found[0] == 0 || !is_array(node_at(p, found[0])))
    malformed(p, node, "has no array 'tags'");
  else
    check_tags(p, steps, found[0], record);
  if (found[1] == 0 || !is_object(node_at(p, found[1])))
    malformed(p, node, "has no object 'traits'");
  else
    check_traits(p, steps, found[1], record);
  if (world) return;
  if (found[2] == 0 || !is_object(node_at(p, found[2])))
    malformed(p, node, "has no object 'pairs'");
  else
    check_pairs(p, found[2], record);
}

/* format and version. False when the rest makes no sense. */
static int check_version(es_Plan *p) {
  const es_Node *v;
  lua_State *L = p->op->L;
  uint32_t found[2] = {0, 0};
  size_t none = NO_PLACE;
  if (node_at(p, 0)->type == ES_NODE_OBJECT) {
    found[0] = es_document_find(p->doc, 0, "format", 6);
    found[1] = es_document_find(p->doc, 0, "version", 7);
  }
  if (found[0] == 0 || node_at(p, found[0])->type != ES_NODE_STRING ||
      !is_name(p, node_at(p, found[0]), "ecs-serialize", 13, &none)) {
    malformed(p, 0, "has not the format 'ecs-serialize'");
    return 0;
  }
  v = found[1] != 0 ? node_at(p, found[1]) : NULL;
  if (v != NULL && v->type == ES_NODE_INT && v->u.i == 1) return 1;
  if (v != NULL && v->type == ES_NODE_FLOAT && v->u.d == 1.0) {
    p->integers = 1;
    return 1;
  }
  if (v == NULL) lua_pushliteral(L, "missing");
  else if (is_number(v)) es_luadoc_push(L, p->doc, found[1], 0);
  else lua_pushstring(L, type_name(v));
  lua_pushfstring(L, "has the version %s, only 1 is supported",
                  luaL_tolstring(L, -1, NULL));
  lua_replace(L, -3);
  lua_pop(L, 1);
  report(p, ES_CODE_VERSION, found[1]);
  return 0;
}

static void check_entities(es_Plan *p, uint32_t node) {
  uint32_t i, child = node + 1;
  for (i = 0; i < p->entities; i++) {
    check_record(p, child, i, 0);
    child = es_document_next(p->doc, child);
  }
}

/* Where names were found: nowhere yet. [-0, +2] */
static void prepare_places(es_Plan *p) {
  lua_State *L = p->op->L;
  const es_Registry *r = &p->op->w->registry;
  size_t fields = 0, i;
  p->names = lua_newuserdatauv(L, (r->n + 1) * sizeof *p->names, 0);
  for (i = 0; i < r->n; i++) {
    p->names[i].place = NO_PLACE;
    p->names[i].steps = 0;
    p->names[i].fields = fields;
    fields += r->entries[i].store->trait->nfields;
  }
  p->places = lua_newuserdatauv(L, (fields + 1) * sizeof *p->places, 0);
  for (i = 0; i < fields; i++) p->places[i] = NO_PLACE;
}

/* Scratch by entry and by entity; all zero. */
static void prepare(es_Plan *p) {
  lua_State *L = p->op->L;
  size_t entries = (size_t)p->op->w->registry.n + 1;
  size_t entities = (size_t)p->entities + 1;
  p->seen = lua_newuserdatauv(L, entries * sizeof *p->seen, 0);
  memset(p->seen, 0, entries * sizeof *p->seen);
  p->hit = lua_newuserdatauv(L, entities * sizeof *p->hit, 0);
  memset(p->hit, 0, entities * sizeof *p->hit);
  prepare_places(p);
}

static void check_snapshot(es_Plan *p) {
  es_PlanWord words[] = {WORD("format"), WORD("version"), WORD("entities"),
                         WORD("world")};
  uint32_t found[4];
  if (!is_object(node_at(p, 0))) {
    malformed(p, 0, "is not an object");
    return;
  }
  if (!check_version(p)) return;
  read_keys(p, 0, words, 4, found);
  if (found[2] != 0 && is_array(node_at(p, found[2])))
    p->entities = node_at(p, found[2])->count;
  prepare(p);
  if (found[2] == 0 || !is_array(node_at(p, found[2])))
    malformed(p, 0, "has no array 'entities'");
  else
    check_entities(p, found[2]);
  memset(p->seen, 0, (p->op->w->registry.n + 1) * sizeof *p->seen);
  if (found[3] == 0 || !is_object(node_at(p, found[3])))
    malformed(p, 0, "has no object 'world'");
  else
    check_record(p, found[3], 0, 1);
}

void es_plan_make(es_Plan *p, const es_Op *op, const es_Document *doc,
                  const char *text, size_t length, int errors) {
  static const es_PlanWord record_words[3] = {WORD("tags"), WORD("traits"),
                                              WORD("pairs")};
  static const es_PlanWord pair_words[2] = {WORD("target"), WORD("data")};
  lua_State *L = op->L;
  es_need_stack(L, 2 * LUA_MINSTACK);
  memset(p, 0, sizeof *p);
  memcpy(p->record_words, record_words, sizeof record_words);
  memcpy(p->pair_words, pair_words, sizeof pair_words);
  p->op = op;
  p->doc = doc;
  p->text = text;
  p->length = length;
  p->errors = errors;
  p->world = es_guard_buffer(L);
  p->traits = es_guard_buffer(L);
  p->pairs = es_guard_buffer(L);
  p->scratch = es_guard_buffer(L);
  lua_newtable(L);
  p->keys = lua_gettop(L);
  check_snapshot(p);
}
