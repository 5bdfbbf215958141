/* image_body.c - the traits and relations of a snapshot; see image_read.h */
#include <string.h>

#include "image_read.h"

/* What a typed array or bit string would hold. */
static int is_uniform(const es_Read *read, uint32_t node, uint32_t rows) {
  const es_Document *d = &read->image->values;
  uint32_t i, first = es_document_node(d, node)->type;
  if (first == ES_NODE_TRUE) first = ES_NODE_FALSE;
  if (first != ES_NODE_INT && first != ES_NODE_FLOAT &&
      first != ES_NODE_FALSE)
    return 0;
  for (i = 0; i < rows; i++) {
    uint32_t type = es_document_node(d, node)->type;
    if (type == ES_NODE_TRUE) type = ES_NODE_FALSE;
    if (type != first) return 0;
    node = es_document_next(d, node);
  }
  return 1;
}

/* Whether the integers need their type's width. */
static int is_narrowest(const es_ImageColumn *c, uint32_t rows) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  uint32_t i;
  for (i = 0; i < rows; i++) {
    int64_t v = es_cbor_int_at(c->data, c->type, i);
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return c->type == es_format_narrowest(low, high);
}

/* The values of a column that is no typed array. */
static int read_values(es_Read *read, es_ImageColumn *c, uint32_t rows) {
  size_t at = read->r.at;
  uint64_t n, i;
  uint32_t node;
  need(read, es_cbor_read_array(&read->r, &n));
  check(read, n == rows, "a column with a wrong number of values");
  c->form = ES_COLUMN_VALUES;
  c->node = read->image->values.count;
  for (i = 0; i < n; i++)
    if (!es_read_value(read, &node)) return 0;
  check(read, !is_uniform(read, c->node, rows),
        "a column that is not in its shortest form");
  return 1;
}

static int read_booleans(es_Read *read, es_ImageColumn *c, uint32_t rows) {
  size_t at = read->r.at, n;
  const char *s;
  need(read, es_cbor_read_bytes(&read->r, &s, &n));
  check(read, n == ((size_t)rows + 7) / 8,
        "a column with a wrong number of values");
  c->form = ES_COLUMN_BOOLEANS;
  c->data = (const unsigned char *)s;
  check(read, rows % 8 == 0 || c->data[n - 1] >> (rows % 8) == 0,
        "a bit string with bits behind its end");
  return 1;
}

static int read_column(es_Read *read, uint32_t rows) {
  es_ImageColumn c;
  size_t at = read->r.at, n;
  es_CborMajor major = ES_CBOR_SIMPLE;
  memset(&c, 0, sizeof c);
  es_cbor_peek(&read->r, &major);
  if (major == ES_CBOR_ARRAY) {
    if (!read_values(read, &c, rows)) return 0;
  } else if (major == ES_CBOR_BYTES) {
    if (!read_booleans(read, &c, rows)) return 0;
  } else {
    need(read, es_cbor_read_typed(&read->r, &c.type, &c.data, &n));
    check(read, n == rows, "a column with a wrong number of values");
    c.form = c.type == ES_CBOR_FLOAT64 ? ES_COLUMN_FLOATS
             : c.type == ES_CBOR_UINT32 ? ES_COLUMN_SLOTS
                                        : ES_COLUMN_INTEGERS;
    check(read, c.form != ES_COLUMN_INTEGERS || c.type >= ES_CBOR_INT8,
          "a column of unsigned integers");
    check(read, c.form != ES_COLUMN_INTEGERS || is_narrowest(&c, rows),
          "a column that is not in its shortest form");
  }
  room(read, es_buffer_put(&read->image->columns, &c, sizeof c));
  return 1;
}

/* A reference is 0 or an entity of the snapshot. */
static int check_refs(es_Read *read, const es_ImageTrait *t) {
  size_t at = t->offset;
  uint32_t i, k;
  for (i = 0; i < t->ncolumns; i++) {
    const es_ImageColumn *c = es_image_column(read->image, t, i);
    int ref = i < t->nfields &&
              es_image_field(read->image, t, i)->type == ES_SAVED_REF;
    check(read, (c->form == ES_COLUMN_SLOTS) == ref,
          "references where none can be, or none where they must be");
    for (k = 0; k < t->rows && ref; k++) {
      uint32_t slot = es_u32_at(c->data, k);
      check(read, slot == 0 || es_image_is_alive(read->image, slot),
            "a reference to no entity");
    }
  }
  return 1;
}

/* Tags and pairs without data have no columns, other traits may lack them. */
static uint64_t most_columns(const es_ImageTrait *t) {
  if (t->kind == ES_SAVED_TAG || t->kind == ES_SAVED_PAIR) return 0;
  return 1;
}

static int read_columns(es_Read *read, es_ImageTrait *t) {
  size_t at = read->r.at;
  uint64_t n, i;
  need(read, es_cbor_read_array(&read->r, &n));
  check(read, t->nfields > 0 ? n == t->nfields : n <= most_columns(t),
        "a wrong number of columns");
  t->column =
      (uint32_t)(read->image->columns.len / sizeof(es_ImageColumn));
  t->ncolumns = (uint32_t)n;
  for (i = 0; i < n; i++)
    if (!read_column(read, t->rows)) return 0;
  return 1;
}

static es_ImageTrait *trait_at(const es_Image *image, uint32_t i) {
  return (es_ImageTrait *)(void *)image->traits.data + i;
}

static int read_trait(es_Read *read, es_ImageTrait *t) {
  es_Image *image = read->image;
  size_t at = read->r.at;
  uint64_t two;
  need(read, es_cbor_read_array(&read->r, &two));
  check(read, two == 2, "a trait is not [slots, columns]");
  t->slot = (uint32_t)(image->slots.len / sizeof(uint32_t));
  if (!es_read_set(read, &image->slots)) return 0;
  check(read, image->slots.len / sizeof(uint32_t) - t->slot == t->rows,
        "a wrong number of rows");
  return read_columns(read, t);
}

/*
** Sources ascend, and no source has a target twice: 'seen' has a stamp for
** each slot, the number of the source that named it last.
*/
static int check_pairs(es_Read *read, const es_ImageTrait *t, size_t at) {
  es_Image *image = read->image;
  uint32_t i, source, target, last = 0, *mark;
  size_t bytes = (size_t)image->used * sizeof *mark;
  if (read->seen.len == 0) {
    room(read, es_buffer_reserve(&read->seen, bytes));
    memset(read->seen.data, 0, bytes);
    read->seen.len = bytes;
  }
  mark = (uint32_t *)(void *)read->seen.data;
  read->stamp++;
  for (i = 0; i < t->rows; i++) {
    source = es_image_slot(image, t, i);
    target = es_image_target(t, i);
    check(read, source >= last, "pairs whose sources do not ascend");
    check(read, es_image_is_alive(image, source) &&
                es_image_is_alive(image, target), "a pair of no entity");
    if (source != last) read->stamp++;
    check(read, mark[target] != read->stamp, "a pair that occurs twice");
    mark[target] = read->stamp;
    last = source;
  }
  return 1;
}

static int read_relation(es_Read *read, es_ImageTrait *t) {
  es_Image *image = read->image;
  size_t at = read->r.at;
  uint64_t three;
  const unsigned char *sources;
  uint32_t n, i;
  need(read, es_cbor_read_array(&read->r, &three));
  check(read, three == 3, "a relation is not [sources, targets, columns]");
  if (!es_read_u32s(read, &sources, &n)) return 0;
  check(read, n == t->rows, "a wrong number of sources");
  t->slot = (uint32_t)(image->slots.len / sizeof(uint32_t));
  for (i = 0; i < n; i++) {
    uint32_t slot = es_u32_at(sources, i);
    room(read, es_buffer_put(&image->slots, &slot, sizeof slot));
  }
  if (!es_read_u32s(read, &t->targets, &n)) return 0;
  check(read, n == t->rows, "a wrong number of targets");
  if (!check_pairs(read, t, at)) return 0;
  return read_columns(read, t);
}

/* The traits, or the relations, that the header announced. */
static int read_part(es_Read *read, int relations) {
  es_Image *image = read->image;
  size_t at = read->r.at;
  uint64_t n, k = 0;
  uint32_t i;
  need(read, es_cbor_read_array(&read->r, &n));
  for (i = 0; i < image->ntraits; i++)
    k += es_image_is_relation(es_image_trait(image, i)) == relations;
  check(read, k == n, "not as many traits as the header says");
  for (i = 0; i < image->ntraits; i++) {
    es_ImageTrait *t = trait_at(image, i);
    if (es_image_is_relation(t) != relations) continue;
    if (!(relations ? read_relation(read, t) : read_trait(read, t)))
      return 0;
  }
  return 1;
}

/* Rows of a trait are entities, or row 0, the world; so are references. */
static int check_rows(es_Read *read) {
  es_Image *image = read->image;
  uint32_t i, k;
  for (i = 0; i < image->ntraits; i++) {
    const es_ImageTrait *t = es_image_trait(image, i);
    size_t at = t->offset;
    for (k = 0; k < t->rows && !es_image_is_relation(t); k++) {
      uint32_t slot = es_image_slot(image, t, k);
      check(read, slot == 0 || es_image_is_alive(image, slot),
            "a row of no entity");
    }
    if (!check_refs(read, t)) return 0;
  }
  return 1;
}

static int is_map(const es_Read *read, uint32_t node) {
  uint32_t type = es_document_node(&read->image->values, node)->type;
  return type == ES_NODE_OBJECT || type == ES_NODE_EMPTY;
}

/* { data, traits, entities, relations } */
int es_read_body(es_Read *read, es_Buffer *scratch) {
  es_CborReader *r = &read->r;
  size_t at = r->at;
  uint64_t pairs;
  need(read, es_cbor_read_map(r, &pairs));
  check(read, pairs == 4, "the body has not its four keys");
  need(read, es_cbor_read_word(r, "data"));
  at = r->at;
  if (!es_read_value(read, &read->image->data)) return 0;
  check(read, is_map(read, read->image->data), "data that is no map");
  need(read, es_cbor_read_word(r, "traits"));
  if (!read_part(read, 0)) return 0;
  need(read, es_cbor_read_word(r, "entities"));
  if (!es_read_entities(read, scratch)) return 0;
  need(read, es_cbor_read_word(r, "relations"));
  if (!read_part(read, 1)) return 0;
  at = r->at;
  check(read, r->at == r->n, "bytes behind the body");
  return check_rows(read);
}
