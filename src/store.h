/*
** store.h - one trait in one world: who has it, and its values.
**
** Membership is a bitset of slots. Values lie in Lua tables, the columns, one
** per field, keyed by slot (pairs: by row). The columns and the trait are
** anchored in the world's anchor table, at store->anchor and following; the
** store itself is a block that the world owns.
**
** A column is written before its member bit is set and cleared after it, so
** that a full memory leaves at most a value that belongs to no member.
*/
#ifndef ES_STORE_H
#define ES_STORE_H

#include <lua.h>

#include "bitset.h"
#include "pairs.h"
#include "trait.h"

struct es_Op;
struct es_World;

typedef enum es_Event { ES_ON_ADD, ES_ON_REMOVE, ES_ON_CHANGE,
                        ES_EVENT_COUNT } es_Event;

typedef struct es_Store {
  const es_Trait *trait;
  es_Bitset has;         /* relation: the sources of at least one pair */
  uint32_t count;        /* members of 'has' */
  uint64_t version;      /* counts the changes of membership */
  es_Pairs pairs;        /* relations only */
  int anchor;            /* columns at anchor + field, then the trait */
  int ready;             /* columns and trait are anchored */
  int observers[ES_EVENT_COUNT];   /* anchors of lists; 0: none yet */
  uint32_t room;         /* restore: how many values will come */
  int entry;             /* index in the registry, or -1 */
  unsigned char ignored; /* ignoreTraits */
  unsigned char key;     /* this is ecs.Key: 'index' at anchor + 2 */
  unsigned char shown;   /* a script holds a column */
} es_Store;

/* The store of a trait, or NULL when the world has not met it. */
es_Store *es_store_find(const struct es_World *w, const es_Trait *t);

/* The store with the next higher trait id; 0 begins; NULL ends. */
es_Store *es_store_after(const struct es_World *w, uint32_t id);

/* The store of the trait at stack index 'idx', made when needed. */
es_Store *es_store_get(const struct es_Op *op, int idx);

/* Makes room for the slot (and, for a relation, 'pairs' more pairs). */
es_Status es_store_reserve(es_Store *s, const es_Alloc *a, uint32_t slots,
                           uint32_t pairs);

/* Pushes the trait. [-0, +1] */
void es_store_push_trait(const struct es_Op *op, const es_Store *s);

/* Pushes "trait #3 (game.lua:7)" and returns it. [-0, +1] */
const char *es_store_describe(const struct es_Op *op, const es_Store *s);

/* Pushes "has trait #3 (game.lua:7), which is neither ...". [-0, +1] */
void es_store_push_unregistered(const struct es_Op *op, const es_Store *s);

/* Pushes the column of a field. [-0, +1] */
void es_store_push_column(const struct es_Op *op, const es_Store *s,
                          uint32_t field);

/* Pushes one value. [-0, +1] */
void es_store_push(const struct es_Op *op, const es_Store *s, uint32_t field,
                   uint32_t key);

/* Pushes what get() returns for the whole value. [-0, +1] */
void es_store_push_value(const struct es_Op *op, const es_Store *s,
                         uint32_t key);

/* Stores the value at stack index 'idx'. [-0, +0] */
void es_store_put(const struct es_Op *op, const es_Store *s, uint32_t field,
                  uint32_t key, int idx);

/* Pops a value into a column; nil allocates nothing. [-1, +0] */
void es_store_put_top(lua_State *L, int column, uint32_t key);

/* Stores all fields from stack index 'first' on. [-0, +0] */
void es_store_put_all(const struct es_Op *op, const es_Store *s, uint32_t key,
                      int first);

/* Sets all fields of a key to nil; allocates nothing. [-0, +0] */
void es_store_erase(const struct es_Op *op, const es_Store *s, uint32_t key);

/* Membership bits; 'set' needs a reservation. */
void es_store_set(es_Store *s, uint32_t slot);
void es_store_clear(es_Store *s, uint32_t slot);

/*
** Pushes all fields for a new value: from the value at 'idx' (0 or nil: none
** given), else from the defaults; calls factories. Raises for unknown fields
** and wrong types. [-0, +nfields]
*/
void es_store_evaluate(const struct es_Op *op, const es_Store *s, int idx);

/* Pushes the default of a field, calling its factory. [-0, +1] */
void es_store_push_default(const struct es_Op *op, const es_Store *s,
                           uint32_t field);

/* Raises: the key at 'idx' names no field. */
void es_store_no_field(const struct es_Op *op, const es_Store *s, int idx);

/* Raises when the value at 'idx' may not stand in the field. */
void es_store_check(const struct es_Op *op, const es_Store *s, uint32_t field,
                    int idx);

/*
** Pushes an empty column with room for 'count' values at keys up to 'top'.
** [-0, +1]
*/
void es_store_new_column(lua_State *L, uint32_t count, uint32_t top);

/*
** Renewing replaces the columns by empty ones; those that a script holds are
** emptied and become dead. First es_store_fresh puts new tables into the
** table on top, then es_store_renew takes them from there; it allocates
** nothing. [-0, +0]
*/
void es_store_fresh(const struct es_Op *op, const es_Store *s);
void es_store_renew(const struct es_Op *op, es_Store *s);

/* Makes the columns that a script holds dead (the world closes). */
void es_store_bury(const struct es_Op *op, const es_Store *s);

/* Frees what lies outside Lua. */
void es_store_free(es_Store *s, const es_Alloc *a);

#endif
