/*
** append_private.h - private to append*.c: an append in progress.
*/
#ifndef ES_APPEND_PRIVATE_H
#define ES_APPEND_PRIVATE_H

#include "append.h"
#include "fill.h"

typedef enum es_KeyPolicy { KEYS_ERROR, KEYS_DROP, KEYS_REPLACE }
    es_KeyPolicy;

/*
** Stack index, while run works, of the list of keys that are taken over and
** their holders: { key, holder, key, holder, ... } in the snapshot's order.
*/
enum { ES_APPEND_TAKEN = 6 };

/* One append. */
typedef struct es_Append {
  es_Op op;
  const es_Image *image;
  es_Matches matches;
  es_Fill fill;
  es_KeyPolicy policy;
  int offset, patch;      /* stack indices of the options; 0: none */
  es_Entity *entities;    /* new handle by saved slot */
  es_Entity *list;        /* the new handles in order */
  uint32_t n;
  es_EntityMark mark;     /* before the spawns */
  es_Buffer *keys;        /* uint32: keys of all rows of all traits */
  struct es_FillCtx *ctx; /* NULL: not made yet */
  int linked;             /* the new entities have their traits */
} es_Append;

/* Where the values of each row of the i-th trait lie. */
static inline uint32_t *es_append_keys_of(const es_Append *a, uint32_t i) {
  const es_ImageTrait *t = es_image_trait(a->image, i);
  return (uint32_t *)(void *)a->keys->data + t->slot;
}

static inline void es_append_check(const es_Append *a, int status) {
  if (status != LUA_OK) lua_error(a->op.L);
}

/*
** append_keys.c: ecs.Key. Values by policy; the keys of rows that are dropped
** become ES_NO_SLOT. [-0, +0]
*/
void es_append_fill_keys(es_Append *a, uint32_t i, const es_Store *s);

/* onRemove of the keys that will be taken over; it may forbid that. */
void es_append_tell_taken(const es_Append *a);

/* Removes keys from their holders, and indexes the new ones. */
void es_append_link_keys(es_Append *a, es_Store *s, const uint32_t *keys,
                         uint32_t rows);

/*
** Gives the keys of the list at 'taken' back to holders that live and have
** none. Allocates nothing.
*/
void es_append_give_back(const es_Op *op, int taken);

#endif
