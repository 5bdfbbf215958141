/*
** registry.h - the names, codecs and references of one world.
**
** Names are the contract between save and restore. Entries keep the order of
** registration, which is the order in which things are saved.
*/
#ifndef ES_REGISTRY_H
#define ES_REGISTRY_H

#include <lua.h>

#include "alloc.h"
#include "trait.h"

struct es_Store;
struct es_Op;
struct es_World;

/* A trait that is not saved, and no error. */
typedef enum es_Transient { ES_DURABLE, ES_TRANSIENT, ES_TRANSIENT_DEFAULT }
    es_Transient;

typedef struct es_Entry {
  struct es_Store *store;
  const char *name;     /* anchored at 'anchor' */
  size_t len;
  int anchor;           /* name, codec, toJSON, fromJSON, options */
  unsigned char codec;  /* it has one */
  unsigned char transient;   /* es_Transient */
  unsigned char *refs;  /* per field: it holds an entity; NULL: none */
} es_Entry;

enum { ES_ENTRY_NAME, ES_ENTRY_CODEC, ES_ENTRY_TOJSON, ES_ENTRY_FROMJSON,
       ES_ENTRY_OPTIONS, ES_ENTRY_ANCHORS };

typedef struct es_Registry {
  es_Entry *entries;
  uint32_t *sorted;     /* indices of entries, bytewise by name */
  uint32_t n, cap;
  uint32_t pending;     /* entries behind n of a call that is not done */
  int names;            /* anchor of the table name -> index from 1, or 0 */
} es_Registry;

/* The entry of a name, or NULL. */
const es_Entry *es_registry_find(const struct es_Op *op, const char *name,
                                 size_t len);

/* The entry of a store, or NULL. */
const es_Entry *es_registry_of(const struct es_World *w,
                               const struct es_Store *s);

/* The version that registerTraits gave the entry; 1 by default. */
lua_Integer es_entry_version(const struct es_Op *op, const es_Entry *e);

/* True if the field is declared to hold an entity. */
static inline int es_entry_is_ref(const es_Entry *e, uint32_t field) {
  return e->refs != NULL && e->refs[field];
}

/* ecs.registerTraits, ecs.ignoreTraits, ecs.getTraitName */
int es_registry_lua_register(lua_State *L);
int es_registry_lua_ignore(lua_State *L);
int es_registry_lua_name(lua_State *L);

void es_registry_free(struct es_World *w);

#endif
