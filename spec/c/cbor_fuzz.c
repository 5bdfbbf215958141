/*
** cbor_fuzz.c - libFuzzer target of the CBOR reader and writer.
**
** The encoding is unique, so whatever is accepted must be written again just
** as it was: whole values, and single items wherever a cursor may stand. The
** first byte chooses those places.
*/
#include "cbor_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition) {
  if (!condition) abort();
}

/* What was written is what was read from 'from' on. */
static void demand_same(es_Buffer *b, const es_CborReader *r, size_t from) {
  demand(b->len == r->at - from);
  demand(memcmp(b->data, r->bytes + from, b->len) == 0);
  es_buffer_free(b);
}

static void check_value(es_CborReader *r, Heap *heap) {
  size_t from = r->at;
  es_Document d;
  es_Buffer b;
  uint32_t i;
  es_document_init(&d, heap_of(heap));
  if (es_cbor_read_value(r, &d)) {
    demand(d.depth == 0 && es_document_next(&d, 0) == d.count);
    for (i = 0; i < d.count; i++) {
      uint32_t next = es_document_next(&d, i);
      demand(next > i && next <= d.count);
    }
    es_buffer_init(&b, heap_of(heap));
    demand(write_cbor(&d, &b) == ES_OK);
    demand_same(&b, r, from);
  }
  es_document_free(&d);
}

static void check_typed(es_CborReader *r, Heap *heap) {
  size_t from = r->at;
  es_CborType type;
  const unsigned char *data;
  es_Buffer b;
  size_t i, n;
  if (!es_cbor_read_typed(r, &type, &data, &n)) return;
  es_buffer_init(&b, heap_of(heap));
  demand(es_cbor_put_typed(&b, type, n) == ES_OK);
  for (i = 0; i < n; i++) {
    double f = type == ES_CBOR_FLOAT64 ? es_cbor_float_at(data, i) : 0;
    int64_t value = es_cbor_int_at(data, type, i);
    size_t k, width = es_cbor_width(type);
    if (type == ES_CBOR_FLOAT64) demand(bits_of(f) == (uint64_t)value);
    for (k = 0; k < width; k++)
      demand(es_buffer_putc(&b, (char)((uint64_t)value >> 8 * k & 0xFF)) ==
             ES_OK);
  }
  demand_same(&b, r, from);
}

static void check_string(es_CborReader *r, Heap *heap, int bytes) {
  size_t from = r->at;
  const char *s;
  size_t n;
  es_Buffer b;
  if (!(bytes ? es_cbor_read_bytes(r, &s, &n)
              : es_cbor_read_string(r, &s, &n)))
    return;
  es_buffer_init(&b, heap_of(heap));
  demand((bytes ? es_cbor_put_bytes(&b, s, n)
                : es_cbor_put_string(&b, s, n)) == ES_OK);
  demand_same(&b, r, from);
}

/* Any number that is read, as the bytes that stand for it. */
static void check_number(es_CborReader *r, Heap *heap, unsigned which) {
  size_t from = r->at;
  es_CborMajor major = ES_CBOR_ARRAY;
  uint64_t value = 0;
  int64_t i = 0;
  es_Buffer b;
  int good;
  es_buffer_init(&b, heap_of(heap));
  switch (which) {
    case 0: good = es_cbor_read_head(r, &major, &value); break;
    case 1: good = es_cbor_read_int(r, &i); break;
    case 2: good = es_cbor_read_array(r, &value); break;
    default:
      major = ES_CBOR_MAP;
      good = es_cbor_read_map(r, &value);
  }
  if (!good) return;
  demand(which < 2 || value <= r->n - r->at);
  demand((which == 1 ? es_cbor_put_int(&b, i)
                     : es_cbor_put_head(&b, major, value)) == ES_OK);
  demand_same(&b, r, from);
}

static void check_at(es_CborReader *r, Heap *heap, unsigned which) {
  int yes;
  switch (which) {
    case 0: case 1: case 2: case 3: check_number(r, heap, which); break;
    case 4: check_value(r, heap); break;
    case 5: case 6: check_string(r, heap, which == 5); break;
    case 7: es_cbor_read_word(r, "name"); break;
    case 8: es_cbor_read_bool(r, &yes); break;
    case 9: es_cbor_read_tag(r, 55799); break;
    default: check_typed(r, heap);
  }
  demand(r->at <= r->n && r->offset <= r->n);
  demand(r->error != ES_CBOR_NOMEM && r->error != ES_CBOR_LIMIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Heap heap = {0};
  uint64_t random = size > 0 ? data[0] : 0;
  size_t n = size > 0 ? size - 1 : 0;
  char *bytes = exact(size > 0 ? (const char *)data + 1 : NULL, n);
  es_CborReader r;
  int i;
  es_cbor_reader(&r, bytes, n);
  while (r.at < n && r.error == ES_CBOR_OK) check_at(&r, &heap, 4);
  for (i = 0; i < 48; i++) {
    es_cbor_reader(&r, bytes, n);
    r.at = (size_t)(random_bits(&random) % (n + 1));
    check_at(&r, &heap, (unsigned)(random_bits(&random) % 11));
    check_at(&r, &heap, (unsigned)(random_bits(&random) % 11));
  }
  free(bytes);
  demand(heap.live == 0 && heap.wrong == 0);
  return 0;
}
