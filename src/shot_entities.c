/* shot_entities.c - the entities of a snapshot; see shot_private.h */
#include <string.h>

#include "shot_private.h"

/* Generations since the world began; what is not saved has died. */
static void save_generations(es_Shot *s) {
  const es_Entities *x = &s->op.w->entities;
  uint32_t slot, *list;
  s->rows->len = 0;
  list = number_room(s, s->rows, x->known);
  if (s->map != NULL) {   /* nothing was ever destroyed */
    memset(list, 0, s->used * sizeof *list);
    es_try_put(s->op.L, s->body, es_format_put_counts(s->body, list, s->used));
    return;
  }
  for (slot = 0; slot < x->known; slot++) {
    uint32_t gen = x->generation[slot];
    if (es_bitset_test(&x->alive, slot) && !es_shot_is_selected(s, slot)) gen++;
    list[slot] = gen >= ES_RETIRED ? ES_RETIRED : gen - x->base;
  }
  es_try_put(s->op.L, s->body, es_format_put_counts(s->body, list, x->known));
}

/* The slots to reuse, the next one last; what is not saved comes last. */
static void save_free(es_Shot *s) {
  const es_Entities *x = &s->op.w->entities;
  uint32_t slot, i;
  s->rows->len = 0;
  for (slot = s->map != NULL ? 0 : x->used; slot-- > 1;)
    if (es_bitset_test(&x->alive, slot) && !es_shot_is_selected(s, slot) &&
        x->generation[slot] < ES_GENERATION_MAX)
      put_number(s, s->rows, slot);
  for (i = 0; i < x->nfree && s->map == NULL; i++)
    put_number(s, s->rows, x->free[i]);
  es_try_put(s->op.L, s->body,
         es_format_put_slots(s->body, numbers(s->rows), length(s->rows)));
}

/* The set of saved slots (without 0) that 'all' admits; NULL: all. */
static void save_set(es_Shot *s, const es_Bitset *all) {
  uint32_t k, n = 0, *slots;
  const uint32_t *list;
  s->slots->len = 0;
  slots = number_room(s, s->slots, (size_t)s->words * 64);
  for (k = 0; k < s->words; k++) {
    uint64_t word = s->selected[k];
    if (all != NULL) word &= es_bitset_word(all, k);
    if (k == 0) word &= ~(uint64_t)1;
    for (; word != 0; word &= word - 1)
      slots[n++] = k * 64 + es_bits_lowest(word);
  }
  list = saved_slots(s, slots, n);
  es_try_put(s->op.L, s->body, es_format_put_set(s->body, list, n));
}

void es_shot_save_entities(es_Shot *s) {
  lua_State *L = s->op.L;
  es_try_put(L, s->body, es_cbor_put_head(s->body, ES_CBOR_MAP, 5));
  es_try_put(L, s->body, es_format_put_word(s->body, "free"));
  save_free(s);
  es_try_put(L, s->body, es_format_put_word(s->body, "used"));
  es_try_put(L, s->body, es_cbor_put_int(s->body, s->used));
  es_try_put(L, s->body, es_format_put_word(s->body, "alive"));
  save_set(s, NULL);
  es_try_put(L, s->body, es_format_put_word(s->body, "excluded"));
  save_set(s, &s->op.w->excluded->has);
  es_try_put(L, s->body, es_format_put_word(s->body, "generations"));
  save_generations(s);
}
