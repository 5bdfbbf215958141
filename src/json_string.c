/*
** json_string.c - strings of JSON text; see json_read.h.
**
** A string without escapes is copied as a run of bytes. Any other one is
** put together in the text of the document, where it will stay.
*/
#include <string.h>

#include "json_read.h"
#include "utf8.h"

typedef unsigned char Byte;
typedef es_JsonReader Reader;

#define EACH ES_JSON_EACH

/* The bytes of 'w' that end a run: not those that are only beyond ASCII. */
static uint64_t stops(uint64_t w) {
  return es_json_not_plain(w) & ~w;
}

static int is_stop(Byte c) {
  return c < 0x20 || c == '"' || c == '\\';
}

/*
** Skips bytes that stand for themselves; '*high' becomes other than 0 when
** any is not ASCII. Eight at a time: finding the end without a branch per
** byte is what makes this fast.
*/
static const Byte *skip_plain(const Byte *p, const Byte *end,
                              uint64_t *high) {
  *high = 0;
  for (; end - p >= 8; p += 8) {
    uint64_t w = es_json_load(p);
    uint64_t stop = stops(w);
    if (stop != 0) {
      *high |= w & (stop - 1) & ~stop & EACH(0x80);
      return p + es_json_below(stop);
    }
    *high |= w & EACH(0x80);
  }
  for (; p < end && !is_stop(*p); p++) *high |= *p & 0x80u;
  return p;
}

/*
** The run from 'p' on, and what ends it: only a quote and a backslash may. A
** fault within the run comes before that.
*/
static const Byte *check_run(Reader *r, const Byte *p, uint64_t *high) {
  const Byte *stop = skip_plain(p, r->end, high);
  if (*high != 0) {
    size_t n = (size_t)(stop - p);
    size_t good = es_utf8_check((const char *)p, n);
    if (good < n) return es_json_fail(r, ES_JSON_UTF8, p + good);
  }
  if (stop == r->end || *stop < 0x20)
    return es_json_fail_at(r, ES_JSON_CONTROL, stop);
  return stop;
}

/* ---- escapes ----------------------------------------------------------- */

static int hex_value(Byte c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads up to four hexadecimal digits; returns how many there are. */
static size_t read_hex(const Byte *p, const Byte *end, unsigned *value) {
  size_t n;
  *value = 0;
  for (n = 0; n < 4 && p + n < end; n++) {
    int digit = hex_value(p[n]);
    if (digit < 0) break;
    *value = *value << 4 | (unsigned)digit;
  }
  return n;
}

/* A low surrogate as an escape at 'p'. */
static int low_follows(const Reader *r, const Byte *p, unsigned *low) {
  if (r->end - p < 6 || p[0] != '\\' || p[1] != 'u') return 0;
  return read_hex(p + 2, r->end, low) == 4 && *low >= 0xDC00 &&
         *low <= 0xDFFF;
}

/* Behind "\u". A high surrogate takes a low one with it. */
static const Byte *read_unicode(Reader *r, const Byte *p, unsigned *c) {
  unsigned low;
  size_t n = read_hex(p, r->end, c);
  p += n;
  if (n < 4) return es_json_fail_at(r, ES_JSON_ESCAPE, p);
  if (*c >= 0xD800 && *c <= 0xDBFF && low_follows(r, p, &low)) {
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    p += 6;
  }
  return p;
}

/* At a backslash. */
static const Byte *read_escape(Reader *r, const Byte *p, unsigned *c) {
  static const char names[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  const char *name;
  p++;
  if (p == r->end) return es_json_fail_at(r, ES_JSON_ESCAPE, p);
  if (*p == 'u') return read_unicode(r, p + 1, c);
  name = memchr(names, *p, sizeof names - 1);
  if (name == NULL) return es_json_fail_at(r, ES_JSON_ESCAPE, p);
  *c = (unsigned)values[name - names];
  return p + 1;
}

/*
** A raw high surrogate and an escaped low one, or the other way round, would
** together be what utf8.h refuses. True when what was read since 'from' ends
** with a high one.
*/
static int ends_high(const es_Buffer *text, size_t from) {
  const Byte *last;
  if (text->len - from < 3) return 0;
  last = (const Byte *)text->data + text->len - 3;
  return last[0] == 0xED && last[1] >= 0xA0 && last[1] < 0xB0;
}

static const Byte *put_run(Reader *r, const Byte *p, const Byte *stop) {
  es_Status status = es_buffer_put(&r->d->text, p, (size_t)(stop - p));
  return es_json_built(r, status, p) ? stop : NULL;
}

static const Byte *unescape_one(Reader *r, const Byte *p, size_t from) {
  es_Buffer *text = &r->d->text;
  char bytes[4];
  unsigned c;
  const Byte *behind = read_escape(r, p, &c);
  if (behind == NULL) return NULL;
  if (c >= 0xDC00 && c <= 0xDFFF && ends_high(text, from))
    return es_json_fail(r, ES_JSON_ESCAPE, p);
  return es_json_built(r, es_buffer_put(text, bytes, es_utf8_put(bytes, c)),
                       p) ? behind : NULL;
}

static const Byte *unescape_run(Reader *r, const Byte *p, size_t from) {
  uint64_t high;
  const Byte *stop = check_run(r, p, &high);
  if (stop == NULL) return NULL;
  if (high != 0 && *p == 0xED && p[1] >= 0xB0 &&
      ends_high(&r->d->text, from))
    return es_json_fail(r, ES_JSON_UTF8, p);
  return put_run(r, p, stop);
}

/* ---- strings ----------------------------------------------------------- */

const Byte *es_json_string(Reader *r, const Byte *p) {
  es_Buffer *text = &r->d->text;
  size_t from = text->len;
  uint64_t high;
  const Byte *stop = check_run(r, p + 1, &high);
  es_Node *node = r->next;
  if (stop == NULL || put_run(r, p + 1, stop) == NULL) return NULL;
  while (*stop == '\\') {
    stop = unescape_one(r, stop, from);
    if (stop != NULL) stop = unescape_run(r, stop, from);
    if (stop == NULL) return NULL;
  }
  if (text->len - from > UINT32_MAX)
    return es_json_fail(r, ES_JSON_LIMIT, p);
  node->type = ES_NODE_STRING;
  node->count = (uint32_t)(text->len - from);
  node->u.text = from;
  r->next++;
  return stop + 1;
}
