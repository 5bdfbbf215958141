/*
** trait.h - definitions of traits and relations, and the terms made of them.
**
** A trait belongs to no world. It is a userdata whose user values are
** 1: the list of defaults (AoS: the factory), 2: the list of field names,
** 3: the place in the script where it was defined. Calling a trait or a
** relation makes a term: a trait with a value, or a pair.
*/
#ifndef ES_TRAIT_H
#define ES_TRAIT_H

#include <stdint.h>

#include <lua.h>

#include "state.h"

typedef enum es_Kind { ES_TAG, ES_SOA, ES_AOS } es_Kind;

/* What a field may hold, told by its default. */
typedef enum es_FieldType {
  ES_FIELD_BOOLEAN,
  ES_FIELD_INTEGER,  /* any number; the default is an integer */
  ES_FIELD_FLOAT,    /* any number; the default is a float */
  ES_FIELD_STRING,
  ES_FIELD_NULLABLE, /* anything, or nil; the default is ecs.null */
  ES_FIELD_ANY       /* anything but nil; the default comes from a factory */
} es_FieldType;

typedef struct es_Field {
  const char *name;   /* anchored by user value 2 */
  size_t len;
  es_FieldType type;
} es_Field;

typedef enum es_AutoDestroy {
  ES_KEEP,            /* destroying an end removes the pair only */
  ES_DESTROY_SOURCE,  /* the source goes with its target ("orphan") */
  ES_DESTROY_TARGET   /* the target goes with its source */
} es_AutoDestroy;

typedef struct es_Trait {
  uint32_t id;        /* ascending in order of definition */
  es_Kind kind;       /* of a relation: the kind of the pairs' data */
  unsigned char relation;
  unsigned char exclusive;
  unsigned char autodestroy;  /* es_AutoDestroy */
  uint32_t nfields;   /* SoA: fields; AoS: 1; tag: 0 */
  es_Field fields[];
} es_Trait;

#define ES_TRAIT_DEFAULTS 1
#define ES_TRAIT_NAMES 2
#define ES_TRAIT_WHERE 3

typedef enum es_TermOp { ES_TERM_VALUE, ES_TERM_PAIR, ES_TERM_NOT,
                         ES_TERM_OR } es_TermOp;

/*
** User values of a term. VALUE and PAIR: 1 the trait, 2 the value or nil.
** NOT and OR: 1 the list of traits and terms.
*/
typedef struct es_Term {
  es_TermOp op;
  unsigned char wildcard;   /* PAIR: any target */
  lua_Integer target;       /* PAIR: a handle, checked when used */
} es_Term;

const es_Trait *es_trait_test(lua_State *L, const es_State *s, int idx);
const es_Term *es_term_test(lua_State *L, const es_State *s, int idx);

/* The field's index from 0, or -1. */
int es_trait_field(const es_Trait *t, const char *name, size_t len);

/* True if the value at 'idx' may stand in a field of this type. */
int es_trait_accepts(lua_State *L, es_FieldType type, int idx);

/* What a field of this type takes, in words. */
const char *es_trait_expects(es_FieldType type);

/* Pushes "trait #12 (game.lua:3)" or "relation #..." and returns it. */
const char *es_trait_describe(lua_State *L, int idx);

/* True if the value at 'idx' is ecs.null. */
static inline int es_is_null(lua_State *L, int idx) {
  return lua_islightuserdata(L, idx) && lua_touserdata(L, idx) == NULL;
}

/* ecs.trait, ecs.relation, ecs.Not, ecs.Or, ecs.isTrait, ecs.isRelation */
int es_trait_lua_trait(lua_State *L);
int es_trait_lua_relation(lua_State *L);
int es_trait_lua_is_trait(lua_State *L);
int es_trait_lua_is_relation(lua_State *L);
int es_term_lua_not(lua_State *L);
int es_term_lua_or(lua_State *L);

/* Creates the metatables and the built-in traits. [-0, +0] */
void es_trait_open(lua_State *L, es_State *s);
void es_term_open(lua_State *L, es_State *s);

/* __call of a trait: makes a term. */
int es_term_lua_call(lua_State *L);

#endif
