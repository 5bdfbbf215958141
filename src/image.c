/* image.c - the frame and header of snapshots; see image.h */
#include "image.h"

#include <string.h>

#include "digest.h"
#include "image_read.h"

void es_image_init(es_Image *image, es_Alloc alloc) {
  memset(image, 0, sizeof *image);
  es_buffer_init(&image->traits, alloc);
  es_buffer_init(&image->fields, alloc);
  es_buffer_init(&image->columns, alloc);
  es_buffer_init(&image->slots, alloc);
  es_buffer_init(&image->alive, alloc);
  es_buffer_init(&image->excluded, alloc);
  es_document_init(&image->values, alloc);
}

void es_image_free(es_Image *image) {
  es_buffer_free(&image->traits);
  es_buffer_free(&image->fields);
  es_buffer_free(&image->columns);
  es_buffer_free(&image->slots);
  es_buffer_free(&image->alive);
  es_buffer_free(&image->excluded);
  es_document_free(&image->values);
}

const es_ImageTrait *es_image_trait(const es_Image *image, uint32_t i) {
  return (const es_ImageTrait *)(const void *)image->traits.data + i;
}

const es_ImageField *es_image_field(const es_Image *image,
                                    const es_ImageTrait *t, uint32_t i) {
  return (const es_ImageField *)(const void *)image->fields.data +
         t->field + i;
}

const es_ImageColumn *es_image_column(const es_Image *image,
                                      const es_ImageTrait *t, uint32_t i) {
  return (const es_ImageColumn *)(const void *)image->columns.data +
         t->column + i;
}

uint32_t es_image_generation(const es_Image *image, uint32_t slot) {
  return (uint32_t)es_cbor_int_at(image->generations, image->generation_type,
                                  slot);
}

/* Notes what is wrong; always false. */
int es_read_wrong(es_Read *read, const char *what, size_t offset) {
  if (read->image->wrong == NULL) {
    read->image->wrong = what;
    read->image->offset = offset;
  }
  return 0;
}

/* The reader's own error becomes the image's. */
int es_read_failed(es_Read *read) {
  if (read->r.error == ES_CBOR_NOMEM) read->image->nomem = 1;
  return es_read_wrong(read, es_cbor_message(read->r.error), read->r.offset);
}

int es_read_nomem(es_Read *read) {
  read->image->nomem = 1;
  return 0;
}

int es_read_count(es_Read *read, uint32_t top, uint32_t *value,
                      const char *what) {
  size_t at = read->r.at;
  int64_t i;
  need(read, es_cbor_read_int(&read->r, &i));
  check(read, i >= 0 && i <= (int64_t)top, what);
  *value = (uint32_t)i;
  return 1;
}

static int word_index(const char *s, size_t n, const char *const *words,
                      uint32_t count, uint32_t *index) {
  uint32_t i;
  for (i = 0; i < count; i++)
    if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0) {
      *index = i;
      return 1;
    }
  return 0;
}

/* [name, type] */
static int read_field(es_Read *read) {
  es_ImageField f;
  size_t at = read->r.at, n;
  uint64_t two;
  const char *type;
  memset(&f, 0, sizeof f);
  need(read, es_cbor_read_array(&read->r, &two));
  check(read, two == 2, "a field is not [name, type]");
  need(read, es_cbor_read_string(&read->r, &f.name, &f.len));
  at = read->r.at;
  need(read, es_cbor_read_string(&read->r, &type, &n));
  check(read, word_index(type, n, es_format_types, ES_SAVED_REF + 1,
                         &f.type), "an unknown type of a field");
  room(read, es_buffer_put(&read->image->fields, &f, sizeof f));
  return 1;
}

/* The names as keys of an object, which can look for repeated ones. */
static es_Status put_names(es_Document *d, const es_Image *image,
                           const es_ImageTrait *t) {
  es_Status status = es_document_open(d, ES_NODE_OBJECT);
  uint32_t i;
  for (i = 0; i < t->nfields && status == ES_OK; i++) {
    const es_ImageField *f = es_image_field(image, t, i);
    status = es_document_key(d, f->name, f->len);
    if (status == ES_OK) status = es_document_null(d);
  }
  if (status == ES_OK) es_document_close(d);
  return status;
}

static int are_distinct(es_Read *read, const es_ImageTrait *t) {
  es_Document d;
  uint32_t twice = 0;
  es_Status status;
  if (t->nfields < 2) return 1;
  es_document_init(&d, read->image->values.alloc);
  status = put_names(&d, read->image, t);
  if (status == ES_OK) status = es_document_duplicate(&d, 0, &twice);
  es_document_free(&d);
  if (status == ES_NOMEM) return es_read_nomem(read);
  return status == ES_OK && twice == 0;
}

static int read_fields(es_Read *read, es_ImageTrait *t) {
  size_t at = read->r.at;
  uint64_t n;
  uint32_t i;
  need(read, es_cbor_read_array(&read->r, &n));
  check(read, n <= ES_SLOT_MAX, "too many fields");
  t->field = (uint32_t)(read->image->fields.len / sizeof(es_ImageField));
  t->nfields = (uint32_t)n;
  for (i = 0; i < t->nfields; i++) {
    if (!read_field(read)) return 0;
  }
  check(read, are_distinct(read, t), "a field occurs twice");
  return !read->image->nomem;
}

/* { kind, name, rows, fields, version } */
static int read_trait_header(es_Read *read, es_ImageTrait *t) {
  es_CborReader *r = &read->r;
  size_t at = r->at, n;
  uint64_t pairs;
  const char *kind;
  uint32_t k;
  memset(t, 0, sizeof *t);
  t->offset = at;
  need(read, es_cbor_read_map(r, &pairs));
  check(read, pairs == 5, "a trait's header has not its five keys");
  need(read, es_cbor_read_word(r, "kind"));
  at = r->at;
  need(read, es_cbor_read_string(r, &kind, &n));
  check(read, word_index(kind, n, es_format_kinds, ES_SAVED_KINDS, &k),
        "an unknown kind of trait");
  t->kind = (es_SavedKind)k;
  need(read, es_cbor_read_word(r, "name"));
  at = r->at;
  need(read, es_cbor_read_string(r, &t->name, &t->len));
  check(read, t->len > 0, "a trait has no name");
  need(read, es_cbor_read_word(r, "rows"));
  at = r->at;
  if (!es_read_count(read, UINT32_MAX / 16, &t->rows, "a wrong number of rows"))
    return 0;
  check(read, t->rows > 0, "a trait without rows");
  need(read, es_cbor_read_word(r, "fields"));
  if (!read_fields(read, t)) return 0;
  need(read, es_cbor_read_word(r, "version"));
  at = r->at;
  if (!es_read_count(read, INT32_MAX, &t->version, "a wrong version"))
    return 0;
  check(read, t->version > 0, "a wrong version");
  return 1;
}

static int read_trait_headers(es_Read *read) {
  es_Image *image = read->image;
  size_t at = read->r.at;
  uint64_t n, i;
  es_ImageTrait t;
  need(read, es_cbor_read_array(&read->r, &n));
  for (i = 0; i < n; i++) {
    at = read->r.at;
    if (!read_trait_header(read, &t)) return 0;
    if (image->ntraits > 0) {
      const es_ImageTrait *p = es_image_trait(image, image->ntraits - 1);
      check(read, es_document_compare(p->name, p->len, t.name, t.len) < 0,
            "the traits are out of order, or one occurs twice");
    }
    room(read, es_buffer_put(&image->traits, &t, sizeof t));
    image->ntraits++;
  }
  return 1;
}

/* Any value, as the next child of the document's array. */
int es_read_value(es_Read *read, uint32_t *node) {
  *node = read->image->values.count;
  need(read, es_cbor_read_value(&read->r, &read->image->values));
  return 1;
}

/* A table in Lua. */
static int is_table(const es_Read *read, uint32_t node) {
  uint32_t type = es_document_node(&read->image->values, node)->type;
  return type == ES_NODE_OBJECT || type == ES_NODE_ARRAY ||
         type == ES_NODE_EMPTY;
}

/* { meta?, traits } */
static int read_header(es_Read *read) {
  size_t at = read->r.at;
  uint64_t pairs;
  need(read, es_cbor_read_map(&read->r, &pairs));
  check(read, pairs == 1 || pairs == 2, "the header has not its keys");
  if (pairs == 2) {
    need(read, es_cbor_read_word(&read->r, "meta"));
    at = read->r.at;
    if (!es_read_value(read, &read->image->meta)) return 0;
    check(read, is_table(read, read->image->meta), "meta that is no table");
  }
  need(read, es_cbor_read_word(&read->r, "traits"));
  return read_trait_headers(read);
}

/* Reads the frame and the header; the reader then stands in the body. */
static int read_frame(es_Read *read, size_t *body, size_t *end) {
  es_CborReader *r = &read->r;
  size_t at = r->at, header, n;
  const char *s, *digest;
  uint64_t five;
  int64_t version;
  need(read, es_cbor_read_tag(r, ES_FORMAT_TAG));
  need(read, es_cbor_read_array(r, &five));
  check(read, five == 5, "not a snapshot");
  need(read, es_cbor_read_word(r, ES_FORMAT_NAME));
  at = r->at;
  need(read, es_cbor_read_int(r, &version));
  check(read, version == ES_FORMAT_VERSION,
        "a version of the format that is not known");
  header = r->at;
  if (!read_header(read)) return 0;
  n = r->at - header;
  at = r->at;
  need(read, es_cbor_read_bytes(r, &s, end));
  *body = (size_t)(s - (const char *)r->bytes);
  read->image->digest = es_digest(r->bytes + header, n, s, *end);
  *end += *body;
  at = r->at;
  need(read, es_cbor_read_bytes(r, &digest, &n));
  check(read, n == 8, "a digest of a wrong length");
  check(read, (uint64_t)es_cbor_int_at((const unsigned char *)digest,
                                       ES_CBOR_INT64, 0) ==
                  read->image->digest,
        "the digest is wrong: the bytes are damaged");
  at = r->at;
  check(read, r->at == r->n, "bytes behind the snapshot");
  return 1;
}

int es_image_read(es_Image *image, const char *bytes, size_t n, int body) {
  es_Read read;
  size_t end;
  es_Buffer scratch;
  int ok;
  memset(&read, 0, sizeof read);
  read.image = image;
  es_cbor_reader(&read.r, bytes, n);
  /* Node 0 is no value, so that 0 can stand for none. */
  if (es_document_null(&image->values) != ES_OK)
    return es_read_nomem(&read);
  if (!read_frame(&read, &image->body, &end)) return 0;
  if (!body) return 1;
  read.r.at = image->body;
  read.r.n = end;
  es_buffer_init(&scratch, image->values.alloc);
  es_buffer_init(&read.seen, image->values.alloc);
  ok = es_read_body(&read, &scratch);
  es_buffer_free(&read.seen);
  es_buffer_free(&scratch);
  return ok;
}
