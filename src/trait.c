/* trait.c - definitions of traits and relations; see trait.h */
#include "trait.h"

#include <string.h>

#include <lauxlib.h>

#include "error.h"
#include "names.h"
#include "utf8.h"

const es_Trait *es_trait_test(lua_State *L, const es_State *s, int idx) {
  if (lua_type(L, idx) != LUA_TUSERDATA) return NULL;
  if (!es_state_has_meta(L, s, idx, ES_SHARED_TRAIT)) return NULL;
  return lua_touserdata(L, idx);
}

int es_trait_field(const es_Trait *t, const char *name, size_t len) {
  uint32_t i;
  if (t->kind != ES_SOA) return -1;
  for (i = 0; i < t->nfields; i++)
    if (t->fields[i].len == len && memcmp(t->fields[i].name, name, len) == 0)
      return (int)i;
  return -1;
}

int es_trait_accepts(lua_State *L, es_FieldType type, int idx) {
  switch (type) {
    case ES_FIELD_BOOLEAN: return lua_isboolean(L, idx);
    case ES_FIELD_INTEGER:
    case ES_FIELD_FLOAT: return lua_type(L, idx) == LUA_TNUMBER;
    case ES_FIELD_STRING: return lua_type(L, idx) == LUA_TSTRING;
    case ES_FIELD_NULLABLE: return 1;
    default: return !lua_isnoneornil(L, idx);
  }
}

const char *es_trait_expects(es_FieldType type) {
  switch (type) {
    case ES_FIELD_BOOLEAN: return "boolean";
    case ES_FIELD_INTEGER:
    case ES_FIELD_FLOAT: return "number";
    case ES_FIELD_STRING: return "string";
    default: return "value";
  }
}

const char *es_trait_describe(lua_State *L, int idx) {
  const es_Trait *t = lua_touserdata(L, idx);
  lua_getiuservalue(L, idx, ES_TRAIT_WHERE);
  lua_pushfstring(L, "%s #%d (%s)", t->relation ? "relation" : "trait",
                  (int)t->id, lua_tostring(L, -1));
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* What the default at 'idx' allows; raises for a table and the like. */
static es_FieldType default_type(lua_State *L, const char *fn,
                                 const char *field, int idx) {
  switch (lua_type(L, idx)) {
    case LUA_TBOOLEAN: return ES_FIELD_BOOLEAN;
    case LUA_TNUMBER:
      return lua_isinteger(L, idx) ? ES_FIELD_INTEGER : ES_FIELD_FLOAT;
    case LUA_TSTRING: return ES_FIELD_STRING;
    case LUA_TFUNCTION: return ES_FIELD_ANY;
    default: break;
  }
  if (es_is_null(L, idx)) return ES_FIELD_NULLABLE;
  es_error(L, fn,
           "field '%s': a default is a boolean, number, string, ecs.null or "
           "a factory function, got %s",
           field, es_error_typename(L, idx));
  return ES_FIELD_ANY;
}

/* A field name at 'idx' must be text, not empty and not "__proto__". */
static void check_name(lua_State *L, const char *fn, int idx) {
  size_t len;
  const char *name;
  if (lua_type(L, idx) != LUA_TSTRING)
    es_error(L, fn, "a field name must be a string, got %s",
             es_error_typename(L, idx));
  name = lua_tolstring(L, idx, &len);
  if (len == 0 || es_utf8_check(name, len) != len)
    es_error(L, fn, "a field name must be UTF-8 text and not empty");
  if (len == 9 && memcmp(name, "__proto__", 9) == 0)
    es_error(L, fn, "the field name '__proto__' is not allowed");
}

/* [-0, +0] Counts the entries of the schema at 'idx', checking its form. */
static uint32_t schema_size(lua_State *L, const char *fn, int idx) {
  uint32_t n = 0;
  int list = lua_rawgeti(L, idx, 1) != LUA_TNIL;
  lua_pop(L, 1);
  lua_pushnil(L);
  while (lua_next(L, idx)) {   /* key value */
    if (!list) check_name(L, fn, lua_absindex(L, -2));
    lua_pop(L, 1);
    n++;
  }
  if (list && n != lua_rawlen(L, idx))
    es_error(L, fn, "a schema is { field = default, ... } or a list of "
                    "{ field, default }, not both");
  return n;
}

/*
** Pushes name and default of the i-th list entry. [-0, +2]
*/
static void push_list_entry(lua_State *L, const char *fn, int schema,
                            uint32_t i) {
  if (lua_rawgeti(L, schema, i + 1) != LUA_TTABLE)
    es_error(L, fn, "schema entry %d must be { field, default }", (int)i + 1);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_remove(L, -3);
  check_name(L, fn, lua_absindex(L, -2));
}

/*
** Pops name and default, and makes them field 'i' of the trait. The stack
** holds trait, defaults and names at 'at'..'at'+2.
*/
static void set_field(lua_State *L, const char *fn, es_Trait *t, int at,
                      uint32_t i) {
  es_Field *f = &t->fields[i];
  size_t len;
  const char *name = lua_tolstring(L, -2, &len);
  es_FieldType type = default_type(L, fn, name, lua_gettop(L));
  t->nfields = i;
  if (es_trait_field(t, name, len) >= 0)
    es_error(L, fn, "field '%s' occurs twice", name);
  lua_rawseti(L, at + 1, i + 1);
  f->name = name;
  f->len = len;
  f->type = type;
  lua_rawseti(L, at + 2, i + 1);
}

static void fill_fields(lua_State *L, const char *fn, es_Trait *t, int at,
                        int schema, uint32_t n) {
  uint32_t i;
  int list = lua_rawgeti(L, schema, 1) != LUA_TNIL, names;
  lua_pop(L, 1);
  if (list) lua_pushnil(L);
  else es_names_keys(L, schema);
  names = lua_gettop(L);
  for (i = 0; i < n; i++) {
    if (list) {
      push_list_entry(L, fn, schema, i);
    } else {
      lua_rawgeti(L, names, i + 1);
      lua_pushvalue(L, -1);
      lua_rawget(L, schema);
    }
    set_field(L, fn, t, at, i);
  }
  t->nfields = n;
  lua_pop(L, 1);
}

/* Pushes "file.lua:12", the place that called the running function. */
static void push_where(lua_State *L) {
  size_t len;
  const char *where;
  luaL_where(L, 1);
  where = lua_tolstring(L, -1, &len);
  if (len > 2)
    lua_pushlstring(L, where, len - 2);   /* without ": " */
  else
    lua_pushliteral(L, "?");
  lua_remove(L, -2);
}

/*
** Pushes a trait made from the schema at 'schema': nothing (a tag), a table
** (SoA, or a tag when it is empty) or a function (AoS). [-0, +1]
*/
static es_Trait *new_trait(lua_State *L, const char *fn, int schema) {
  es_State *s = es_state(L);
  uint32_t n = 0;
  es_Trait *t;
  int at;
  if (lua_istable(L, schema)) n = schema_size(L, fn, schema);
  else if (lua_isfunction(L, schema)) n = 1;
  es_need_stack(L, 8);
  t = lua_newuserdatauv(L, sizeof *t + n * sizeof t->fields[0], 3);
  memset(t, 0, sizeof *t + n * sizeof t->fields[0]);
  at = lua_gettop(L);
  lua_createtable(L, (int)n, 0);
  lua_createtable(L, (int)n, 0);
  if (lua_isfunction(L, schema)) {
    t->kind = ES_AOS;
    t->nfields = 1;
    t->fields[0].type = ES_FIELD_ANY;
    lua_pushvalue(L, schema);
    lua_rawseti(L, at + 1, 1);
  } else if (n > 0) {
    t->kind = ES_SOA;
    fill_fields(L, fn, t, at, schema, n);
  }
  lua_setiuservalue(L, at, ES_TRAIT_NAMES);
  lua_setiuservalue(L, at, ES_TRAIT_DEFAULTS);
  push_where(L);
  lua_setiuservalue(L, at, ES_TRAIT_WHERE);
  es_state_push(L, ES_SHARED_TRAIT);
  lua_setmetatable(L, at);
  t->id = ++s->next_trait;
  return t;
}

int es_trait_lua_trait(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_isnil(L, 1) && !lua_istable(L, 1) && !lua_isfunction(L, 1))
    return es_error_arg(L, "trait", 1, "schema table or factory function", 1);
  new_trait(L, "trait", 1);
  return 1;
}

/* Reads the option and raises when its type is wrong. [-0, +1] */
static int option(lua_State *L, const char *name, int type, int other) {
  int got;
  lua_pushstring(L, name);
  got = lua_rawget(L, 1);
  if (got != LUA_TNIL && got != type && got != other)
    es_error(L, "relation", "option '%s': %s expected, got %s", name,
             lua_typename(L, type), es_error_typename(L, lua_gettop(L)));
  return got;
}

static es_AutoDestroy autodestroy(lua_State *L) {
  const char *mode;
  if (option(L, "autoDestroy", LUA_TSTRING, LUA_TBOOLEAN) != LUA_TSTRING) {
    if (lua_toboolean(L, -1))
      es_error(L, "relation",
               "option 'autoDestroy': 'orphan', 'source', 'target' or false "
               "expected, got true");
    return ES_KEEP;
  }
  mode = lua_tostring(L, -1);
  if (strcmp(mode, "orphan") == 0 || strcmp(mode, "source") == 0)
    return ES_DESTROY_SOURCE;
  if (strcmp(mode, "target") != 0)
    es_error(L, "relation", "option 'autoDestroy': 'orphan', 'source' or "
                            "'target' expected, got '%s'", mode);
  return ES_DESTROY_TARGET;
}

static void check_options(lua_State *L) {
  static const char *const known[] = {"store", "exclusive", "autoDestroy"};
  size_t i;
  lua_pushnil(L);
  while (lua_next(L, 1)) {   /* key value */
    int found = 0;
    for (i = 0; i < 3; i++) found |= es_names_is(L, -2, known[i]);
    if (!found) {
      lua_pop(L, 1);
      es_error(L, "relation", "unknown option '%s'", luaL_tolstring(L, -1, 0));
    }
    lua_pop(L, 1);
  }
}

int es_trait_lua_relation(lua_State *L) {
  es_Trait *t;
  es_AutoDestroy mode;
  int exclusive;
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lua_newtable(L);
    lua_replace(L, 1);
  }
  if (!lua_istable(L, 1))
    return es_error_arg(L, "relation", 1, "options table", 1);
  check_options(L);
  mode = autodestroy(L);
  option(L, "exclusive", LUA_TBOOLEAN, LUA_TBOOLEAN);
  exclusive = lua_toboolean(L, -1);
  option(L, "store", LUA_TTABLE, LUA_TFUNCTION);
  t = new_trait(L, "relation", lua_gettop(L));
  t->relation = 1;
  t->exclusive = (unsigned char)exclusive;
  t->autodestroy = (unsigned char)mode;
  return 1;
}

int es_trait_lua_is_trait(lua_State *L) {
  const es_Trait *t = es_trait_test(L, es_state(L), 1);
  lua_pushboolean(L, t != NULL && !t->relation);
  return 1;
}

int es_trait_lua_is_relation(lua_State *L) {
  const es_Trait *t = es_trait_test(L, es_state(L), 1);
  lua_pushboolean(L, t != NULL && t->relation);
  return 1;
}

/* A copy, so that a script cannot change the trait's own list. */
static void push_field_names(lua_State *L, const es_Trait *t) {
  uint32_t i;
  lua_getiuservalue(L, 1, ES_TRAIT_NAMES);
  lua_createtable(L, (int)t->nfields, 0);
  for (i = 1; i <= t->nfields; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -2, i);
  }
}

static int trait_index(lua_State *L) {
  static const char *const kinds[] = {"tag", "soa", "aos"};
  const es_Trait *t = es_trait_test(L, es_state(L), 1);
  if (t == NULL) return es_error_arg(L, "trait", 1, "trait", 1);
  if (es_names_is(L, 2, "id")) lua_pushinteger(L, t->id);
  else if (es_names_is(L, 2, "kind")) lua_pushstring(L, kinds[t->kind]);
  else if (es_names_is(L, 2, "isRelation")) lua_pushboolean(L, t->relation);
  else if (es_names_is(L, 2, "where")) lua_getiuservalue(L, 1, ES_TRAIT_WHERE);
  else if (es_names_is(L, 2, "fields") && t->kind == ES_SOA)
    push_field_names(L, t);
  else lua_pushnil(L);
  return 1;
}

static int trait_tostring(lua_State *L) {
  if (es_trait_test(L, es_state(L), 1) == NULL)
    return es_error_arg(L, "trait", 1, "trait", 1);
  es_trait_describe(L, 1);
  return 1;
}

static int excluded_or_key(lua_State *L) {
  lua_pushliteral(L, "");
  return 1;
}

/* ecs.IsExcluded is a tag; ecs.Key holds one string. */
static void open_builtins(lua_State *L, es_State *s) {
  lua_pushnil(L);
  new_trait(L, "trait", lua_gettop(L));
  lua_pushliteral(L, "ecs.IsExcluded");
  lua_setiuservalue(L, -2, ES_TRAIT_WHERE);
  es_state_share(L, s, ES_SHARED_EXCLUDED);
  lua_pushcfunction(L, excluded_or_key);
  new_trait(L, "trait", lua_gettop(L));
  lua_pushliteral(L, "ecs.Key");
  lua_setiuservalue(L, -2, ES_TRAIT_WHERE);
  es_state_share(L, s, ES_SHARED_KEY);
  lua_pop(L, 2);
}

void es_trait_open(lua_State *L, es_State *s) {
  static const luaL_Reg meta[] = {{"__index", trait_index},
                                  {"__tostring", trait_tostring},
                                  {"__call", es_term_lua_call},
                                  {NULL, NULL}};
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, meta, 1);
  lua_pushliteral(L, "ecsser.trait");
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  es_state_share(L, s, ES_SHARED_TRAIT);
  open_builtins(L, s);
}
