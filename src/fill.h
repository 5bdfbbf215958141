/*
** fill.h - the values of a snapshot into columns, before anyone has them.
*/
#ifndef ES_FILL_H
#define ES_FILL_H

#include "match.h"

typedef struct es_Fill {
  const es_Op *op;
  const es_Matches *matches;
  int columns;                /* stack index: a table anchor -> column */
  const es_Entity *entities;  /* handles by saved slot; 0: not there */
  const es_ImageTrait *trait; /* being filled, for messages; or NULL */
  int ctx;                    /* stack index of the codecs' context */
} es_Fill;

/*
** Pushes the context for codecs and handlers: ctx.entity(slot) gives handles
** until es_fill_close. [-0, +2]
*/
struct es_FillCtx *es_fill_open(es_Fill *f);
void es_fill_close(struct es_FillCtx *ctx);

/*
** Writes the values of the i-th trait, row by row under 'keys'; rows whose
** key is ES_NO_SLOT are left out. ecs.Key is left to the caller. Raises.
** [-0, +0]
*/
void es_fill_trait(es_Fill *f, uint32_t i, const uint32_t *keys);

#endif
