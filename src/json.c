/*
** json.c - the reader of json.h.
**
** Two steps in turn: read_value takes one value, going down through opening
** brackets; read_after closes what ends behind it and reads the next comma
** and key. The document's stack of open containers is the only stack.
*/
#include "json.h"

#include <string.h>

#include "number.h"
#include "utf8.h"

typedef unsigned char Byte;

typedef struct Reader {
  es_Document *d;
  const Byte *start;
  const Byte *p;        /* what is read next */
  const Byte *end;
  es_JsonError error;
  size_t offset;        /* of the error */
} Reader;

/* ---- classes of bytes -------------------------------------------------- */

enum {
  STOP = 1,   /* ends a run of plain bytes in a string */
  SPACE = 2,
  DIGIT = 4,
  BOTH = STOP | SPACE
};

#define ROW(c) c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c

static const Byte flags[256] = {
  STOP, STOP, STOP, STOP, STOP, STOP, STOP, STOP,      /* 0x00 */
  STOP, BOTH, BOTH, STOP, STOP, BOTH, STOP, STOP,      /* \t \n \r */
  ROW(STOP),                                           /* 0x10 */
  SPACE, 0, STOP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* ' ' and '"' */
  DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
  DIGIT, DIGIT, 0, 0, 0, 0, 0, 0,
  ROW(0),                                              /* 0x40 */
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, STOP, 0, 0, 0,   /* '\\' */
  ROW(0), ROW(0),                                      /* 0x60 */
  ROW(0), ROW(0), ROW(0), ROW(0),                      /* 0x80 */
  ROW(0), ROW(0), ROW(0), ROW(0)                       /* 0xC0 */
};

/* ---- errors ------------------------------------------------------------ */

static size_t place(const Reader *r, const Byte *p) {
  return (size_t)(p - r->start);
}

/* Every reading function returns 0 after this, and 1 when all is well. */
static int fail(Reader *r, es_JsonError error, const Byte *at) {
  r->error = error;
  r->offset = place(r, at);
  return 0;
}

/* A wrong byte, unless there is none because the text ends. */
static int fail_here(Reader *r, es_JsonError error) {
  return fail(r, r->p == r->end ? ES_JSON_END : error, r->p);
}

static int built(Reader *r, es_Status status, const Byte *at) {
  switch (status) {
    case ES_OK: return 1;
    case ES_NOMEM: return fail(r, ES_JSON_NOMEM, at);
    case ES_INVALID: return fail(r, ES_JSON_PROTO, at);
    default: return fail(r, ES_JSON_LIMIT, at);
  }
}

static void skip_space(Reader *r) {
  const Byte *p = r->p;
  while (p < r->end && (flags[*p] & SPACE) != 0) p++;
  r->p = p;
}

/* ---- strings ----------------------------------------------------------- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes, the first one lowest; compilers make one load of it. */
static uint64_t load(const Byte *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
         (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
         (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/*
** The bytes of 'w' that end a run, as their top bits: those from which 0x20
** borrows, or 1 where they equal a quote or a backslash. Borrows may set bits
** above the lowest one that is set; that one is right.
*/
static uint64_t stops(uint64_t w) {
  uint64_t control = w - EACH(0x20);
  uint64_t quote = (w ^ EACH('"')) - EACH(1);
  uint64_t slash = (w ^ EACH('\\')) - EACH(1);
  return (control | quote | slash) & ~w & EACH(0x80);
}

/*
** Skips bytes that stand for themselves; '*high' becomes other than 0 when
** any is not ASCII. Eight at a time: most keys end within the first word,
** and finding the end without a branch per byte is what makes this fast.
*/
static inline const Byte *skip_plain(const Byte *p, const Byte *end,
                                     uint64_t *high) {
  *high = 0;
  for (; end - p >= 8; p += 8) {
    uint64_t w = load(p);
    uint64_t stop = stops(w);
    if (stop != 0) {
      uint64_t below = (stop - 1) & ~stop;
      *high |= w & below & EACH(0x80);
      /* as many as 'below' has whole bytes: one bit of each, added up */
      return p + ((((below >> 7) & EACH(1)) * EACH(1)) >> 56);
    }
    *high |= w & EACH(0x80);
  }
  for (; p < end && (flags[*p] & STOP) == 0; p++) *high |= *p & 0x80u;
  return p;
}

/*
** Checks the run from 'begin' to 'p' and what ends it: only a quote and a
** backslash may. A fault within the run comes before that.
*/
static int check_run(Reader *r, const Byte *begin, uint64_t high) {
  if (high != 0) {
    size_t n = (size_t)(r->p - begin);
    size_t good = es_utf8_check((const char *)begin, n);
    if (good < n) return fail(r, ES_JSON_UTF8, begin + good);
  }
  if (r->p == r->end || *r->p < 0x20) return fail_here(r, ES_JSON_CONTROL);
  return 1;
}

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
static int low_follows(const Reader *r, unsigned *low) {
  const Byte *p = r->p;
  if (r->end - p < 6 || p[0] != '\\' || p[1] != 'u') return 0;
  return read_hex(p + 2, r->end, low) == 4 && *low >= 0xDC00 &&
         *low <= 0xDFFF;
}

/* Behind "\u". A high surrogate takes a low one with it. */
static int read_unicode(Reader *r, unsigned *c) {
  unsigned low;
  size_t n = read_hex(r->p, r->end, c);
  r->p += n;
  if (n < 4) return fail_here(r, ES_JSON_ESCAPE);
  if (*c >= 0xD800 && *c <= 0xDBFF && low_follows(r, &low)) {
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    r->p += 6;
  }
  return 1;
}

/* At a backslash. */
static int read_escape(Reader *r, unsigned *c) {
  static const char names[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  const char *name;
  r->p++;
  if (r->p == r->end) return fail_here(r, ES_JSON_ESCAPE);
  if (*r->p == 'u') {
    r->p++;
    return read_unicode(r, c);
  }
  name = memchr(names, *r->p, sizeof names - 1);
  if (name == NULL) return fail_here(r, ES_JSON_ESCAPE);
  *c = (unsigned)values[name - names];
  r->p++;
  return 1;
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

static int unescape_one(Reader *r, size_t from) {
  es_Buffer *text = &r->d->text;
  const Byte *at = r->p;
  char bytes[4];
  unsigned c;
  if (!read_escape(r, &c)) return 0;
  if (c >= 0xDC00 && c <= 0xDFFF && ends_high(text, from))
    return fail(r, ES_JSON_ESCAPE, at);
  return built(r, es_buffer_put(text, bytes, es_utf8_put(bytes, c)), at);
}

static int unescape_run(Reader *r, size_t from) {
  es_Buffer *text = &r->d->text;
  const Byte *at = r->p;
  uint64_t high;
  r->p = skip_plain(at, r->end, &high);
  if (!check_run(r, at, high)) return 0;
  if (high != 0 && *at == 0xED && at[1] >= 0xB0 && ends_high(text, from))
    return fail(r, ES_JSON_UTF8, at);
  return built(r, es_buffer_put(text, at, (size_t)(r->p - at)), at);
}

static int add_string(Reader *r, const char *s, size_t n, int is_key) {
  es_Document *d = r->d;
  return built(r, is_key ? es_document_key(d, s, n)
                         : es_document_string(d, s, n),
               r->start + d->offset);
}

/* A string that holds escapes; the run from 'begin' to 'p' has none. */
static int read_escaped(Reader *r, const Byte *begin, int is_key) {
  es_Buffer *text = &r->d->text;
  size_t from = text->len;
  size_t n = (size_t)(r->p - begin);
  if (!built(r, es_buffer_put(text, begin, n), r->p)) return 0;
  while (*r->p == '\\')
    if (!unescape_one(r, from) || !unescape_run(r, from)) return 0;
  /* the document takes the bytes where they are: see its room() */
  n = text->len - from;
  text->len = from;
  r->p++;
  return add_string(r, text->data + from, n, is_key);
}

/* At the opening quote. */
static int read_string(Reader *r, int is_key) {
  const Byte *begin = r->p + 1;
  uint64_t high;
  r->d->offset = place(r, r->p);
  r->p = skip_plain(begin, r->end, &high);
  if (!check_run(r, begin, high)) return 0;
  if (*r->p != '"') return read_escaped(r, begin, is_key);
  r->p++;
  return add_string(r, (const char *)begin, (size_t)(r->p - 1 - begin),
                    is_key);
}

/* ---- other leaves ------------------------------------------------------ */

static int read_number(Reader *r) {
  const Byte *at = r->p;
  es_Document *d = r->d;
  es_Number number = es_number_read((const char *)at, (size_t)(r->end - at));
  d->offset = place(r, at);
  if (number.kind == ES_NUMBER_HUGE) return fail(r, ES_JSON_HUGE, at);
  r->p += number.len;
  if (number.kind == ES_NUMBER_BAD) return fail_here(r, ES_JSON_NUMBER);
  return built(r, number.kind == ES_NUMBER_INT
                    ? es_document_int(d, number.i)
                    : es_document_float(d, number.d), at);
}

static int read_word(Reader *r, const char *word) {
  r->d->offset = place(r, r->p);
  for (; *word != '\0'; word++, r->p++)
    if (r->p == r->end || *r->p != (Byte)*word)
      return fail_here(r, ES_JSON_BYTE);
  return 1;
}

static int read_constant(Reader *r) {
  const Byte *at = r->p;
  es_Document *d = r->d;
  switch (*at) {
    case 't':
      return read_word(r, "true") && built(r, es_document_bool(d, 1), at);
    case 'f':
      return read_word(r, "false") && built(r, es_document_bool(d, 0), at);
    default:
      return read_word(r, "null") && built(r, es_document_null(d), at);
  }
}

/* ---- containers -------------------------------------------------------- */

/* At an opening bracket. */
static int open_container(Reader *r, es_NodeType type) {
  es_Document *d = r->d;
  if (d->depth == ES_DEPTH_MAX) return fail(r, ES_JSON_DEPTH, r->p);
  d->offset = place(r, r->p);
  if (!built(r, es_document_open(d, type), r->p)) return 0;
  r->p++;
  skip_space(r);
  return 1;
}

/* At a closing bracket that fits. */
static int close_container(Reader *r) {
  es_Document *d = r->d;
  uint32_t index = d->open[d->depth - 1];
  const es_Node *node = &d->nodes[index];
  uint32_t twice = 0;
  es_document_close(d);
  if (node->type == ES_NODE_OBJECT && node->count > 1 &&
      !built(r, es_document_duplicate(d, index, &twice), r->p))
    return 0;
  if (twice != 0)
    return fail(r, ES_JSON_DUPLICATE, r->start + d->nodes[twice].offset);
  r->p++;
  return 1;
}

/* A key and its colon. */
static int read_key(Reader *r) {
  if (r->p == r->end || *r->p != '"') return fail_here(r, ES_JSON_BYTE);
  if (!read_string(r, 1)) return 0;
  skip_space(r);
  if (r->p == r->end || *r->p != ':') return fail_here(r, ES_JSON_BYTE);
  r->p++;
  return 1;
}

/* One value, without what follows an opening bracket's first value. */
static int read_value(Reader *r) {
  for (;;) {
    skip_space(r);
    if (r->p == r->end) return fail_here(r, ES_JSON_END);
    switch (*r->p) {
      case '{':
        if (!open_container(r, ES_NODE_OBJECT)) return 0;
        if (r->p < r->end && *r->p == '}') return close_container(r);
        if (!read_key(r)) return 0;
        break;
      case '[':
        if (!open_container(r, ES_NODE_ARRAY)) return 0;
        if (r->p < r->end && *r->p == ']') return close_container(r);
        break;
      case '"': return read_string(r, 0);
      case 't': case 'f': case 'n': return read_constant(r);
      case '-': return read_number(r);
      default:
        if ((flags[*r->p] & DIGIT) != 0) return read_number(r);
        return fail(r, ES_JSON_BYTE, r->p);
    }
  }
}

/* Up to the next value of an open container, or until none is open. */
static int read_after(Reader *r) {
  es_Document *d = r->d;
  while (d->depth > 0) {
    int object = d->nodes[d->open[d->depth - 1]].type == ES_NODE_OBJECT;
    skip_space(r);
    if (r->p == r->end) return fail_here(r, ES_JSON_END);
    if (*r->p == ',') {
      r->p++;
      if (!object) return 1;
      skip_space(r);
      return read_key(r);
    }
    if (*r->p != (object ? '}' : ']')) return fail(r, ES_JSON_BYTE, r->p);
    if (!close_container(r)) return 0;
  }
  return 1;
}

/* ---- the text ---------------------------------------------------------- */

/*
** UTF-16 and UTF-32 show in zero bytes, since the text begins with two ASCII
** characters or is one. This only finds the better complaint: zero bytes are
** wrong wherever they stand.
*/
static int is_wide(const Byte *s, size_t n) {
  if (n == 2) return (s[0] == 0) != (s[1] == 0);
  if (n < 4) return 0;
  return (s[0] == 0 && s[2] == 0) || (s[1] == 0 && s[3] == 0);
}

static int has_mark(const Byte *s, size_t n) {
  if (n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0) return 1;
  if (n >= 4 && memcmp(s, "\0\0\xFE\xFF", 4) == 0) return 1;
  if (n < 2) return 0;
  return memcmp(s, "\xFE\xFF", 2) == 0 || memcmp(s, "\xFF\xFE", 2) == 0;
}

static int read_start(Reader *r) {
  size_t n = (size_t)(r->end - r->p);
  if (has_mark(r->p, n) || is_wide(r->p, n))
    return fail(r, ES_JSON_BOM, r->p);
  skip_space(r);
  return r->p < r->end ? 1 : fail(r, ES_JSON_EMPTY, r->p);
}

static int read_end(Reader *r) {
  skip_space(r);
  return r->p == r->end ? 1 : fail(r, ES_JSON_TRAILING, r->p);
}

es_JsonError es_json_read(es_Document *d, const char *s, size_t n,
                          size_t *offset) {
  Reader r = {0};
  int good;
  if (n == 0) s = "";   /* no arithmetic on NULL */
  r.d = d;
  r.start = r.p = (const Byte *)s;
  r.end = r.start + n;
  good = read_start(&r);
  if (good) {
    do good = read_value(&r) && read_after(&r);
    while (good && d->depth > 0);
  }
  if (good) good = read_end(&r);
  if (!good) *offset = r.offset;
  return r.error;
}

const char *es_json_message(es_JsonError error) {
  switch (error) {
    case ES_JSON_OK: return "no error";
    case ES_JSON_NOMEM: return "not enough memory";
    case ES_JSON_EMPTY: return "the text is empty";
    case ES_JSON_END: return "the text ends inside a value";
    case ES_JSON_BYTE: return "a byte that cannot stand here";
    case ES_JSON_TRAILING: return "bytes behind the value";
    case ES_JSON_BOM: return "a byte order mark, or not UTF-8";
    case ES_JSON_UTF8: return "not valid UTF-8";
    case ES_JSON_CONTROL: return "a raw control character in a string";
    case ES_JSON_ESCAPE: return "a wrong escape in a string";
    case ES_JSON_NUMBER: return "a malformed number";
    case ES_JSON_HUGE: return "a number out of range";
    case ES_JSON_DUPLICATE: return "a key occurs twice";
    case ES_JSON_PROTO: return "the key \"__proto__\" is not allowed";
    case ES_JSON_DEPTH: return "nested too deeply";
    case ES_JSON_LIMIT: return "too many values";
  }
  return "unknown error";
}
