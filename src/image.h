/*
** image.h - a snapshot that was read: checked, and not yet in any world.
**
** Typed columns point into the bytes, which must stay where they are; other
** values lie in one document. Every rule of the format that needs no registry
** is checked here: the frame, the digest, counts against each other, slots,
** generations, the free list, cross-links, and that nothing trails.
*/
#ifndef ES_IMAGE_H
#define ES_IMAGE_H

#include "document.h"
#include "entity.h"
#include "format.h"

typedef enum es_ColumnForm {
  ES_COLUMN_INTEGERS, ES_COLUMN_FLOATS, ES_COLUMN_SLOTS, ES_COLUMN_BOOLEANS,
  ES_COLUMN_VALUES
} es_ColumnForm;

typedef struct es_ImageColumn {
  es_ColumnForm form;
  es_CborType type;            /* INTEGERS */
  const unsigned char *data;   /* all but VALUES */
  uint32_t node;               /* VALUES: the first one's node */
} es_ImageColumn;

typedef struct es_ImageField {
  const char *name;
  size_t len;
  uint32_t type;               /* of es_format_types */
} es_ImageField;

typedef struct es_ImageTrait {
  const char *name;
  size_t len;
  es_SavedKind kind;
  uint32_t version;
  uint32_t nfields;
  uint32_t field;              /* index of the first es_ImageField */
  uint32_t column;             /* index of the first es_ImageColumn */
  uint32_t ncolumns;
  uint32_t rows;
  uint32_t slot;               /* index of the first row's slot in 'slots' */
  const unsigned char *targets;   /* pairs: uint32 each */
  size_t offset;               /* of the header, for messages */
} es_ImageTrait;

typedef struct es_Image {
  es_Buffer traits, fields, columns;   /* arrays */
  es_Buffer slots;             /* uint32: the rows of all traits */
  es_Document values;          /* an array: meta, data, then columns */
  uint32_t ntraits;
  uint32_t meta;               /* node, or 0 */
  uint32_t data;               /* node */
  uint32_t known, used;
  es_CborType generation_type;
  const unsigned char *generations;
  const unsigned char *free;   /* uint32 each */
  uint32_t nfree;
  es_Buffer alive;             /* words: bits of slots */
  es_Buffer excluded;
  uint32_t count;              /* alive entities */
  uint64_t digest;
  size_t body;                 /* offset of the body */
  /* what is wrong, when reading failed */
  const char *wrong;
  size_t offset;
  int nomem;
} es_Image;

void es_image_init(es_Image *image, es_Alloc alloc);
void es_image_free(es_Image *image);

/*
** Reads 'n' bytes. True, or false with 'wrong' and 'offset' (or 'nomem').
** 'body' false reads the header only.
*/
int es_image_read(es_Image *image, const char *bytes, size_t n, int body);

const es_ImageTrait *es_image_trait(const es_Image *image, uint32_t i);
const es_ImageField *es_image_field(const es_Image *image,
                                    const es_ImageTrait *t, uint32_t i);
const es_ImageColumn *es_image_column(const es_Image *image,
                                      const es_ImageTrait *t, uint32_t i);
uint32_t es_image_generation(const es_Image *image, uint32_t slot);

/* Little-endian uint32 at an index. */
static inline uint32_t es_u32_at(const unsigned char *data, size_t i) {
  const unsigned char *p = data + 4 * i;
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

/* The slot of a row (pairs: of its source), and of a pair's target. */
static inline uint32_t es_image_slot(const es_Image *image,
                                     const es_ImageTrait *t, uint32_t row) {
  return ((const uint32_t *)(const void *)image->slots.data)[t->slot + row];
}

static inline uint32_t es_image_target(const es_ImageTrait *t, uint32_t row) {
  return es_u32_at(t->targets, row);
}

/* True if the slot's bit is set in a buffer of words. */
static inline int es_image_bit(const es_Buffer *words, uint32_t slot) {
  size_t k = slot >> 6;
  if (k >= words->len / 8) return 0;
  return (int)((((const uint64_t *)(const void *)words->data)[k] >>
                (slot & 63)) & 1);
}

static inline int es_image_is_alive(const es_Image *image, uint32_t slot) {
  return es_image_bit(&image->alive, slot);
}

#endif
