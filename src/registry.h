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
  uint32_t nrefs;
} es_Entry;

enum { ES_ENTRY_NAME, ES_ENTRY_CODEC, ES_ENTRY_TOJSON, ES_ENTRY_FROMJSON,
       ES_ENTRY_OPTIONS, ES_ENTRY_ANCHORS };

/* How often the entries can outgrow their block. */
enum { ES_REGISTRY_GROWTHS = 32 };

/*
** Who works with an entry points at it, and a finalizer may register more
** meanwhile: blocks that were outgrown stay, with entries that never change.
*/
typedef struct es_Registry {
  es_Entry *entries;
  uint32_t *sorted;     /* indices of entries, bytewise by name */
  uint32_t n, cap;
  uint32_t pending;     /* entries behind n of the call that is running */
  unsigned char running;   /* registerTraits: nothing else may register */
  int names;            /* anchor of the table name -> index from 1, or 0 */
  struct {
    es_Entry *entries;
    uint32_t cap;
  } outgrown[ES_REGISTRY_GROWTHS];
  uint32_t noutgrown;
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

/* Room for m more entries behind those that are registered. */
es_Status es_registry_reserve(struct es_World *w, uint32_t m);

/* Frees the last pending entry, and its anchors if they are the last. */
void es_registry_drop_last(struct es_World *w);

void es_registry_free(struct es_World *w);

#endif
