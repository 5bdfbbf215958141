/*
** json.c - the reader of json.h.
**
** One loop takes an element or a key and its value at a time, going down
** through opening brackets and up through closing ones on a stack of its own.
** What saves are full of - known keys, short strings, small integers, no
** space - is read without a call. Nodes are written in place: open ones lack
** their counts and ends.
*/
#include "json.h"

#include <string.h>

#include "json_read.h"
#include "number.h"

typedef unsigned char Byte;
typedef es_JsonReader Reader;
typedef es_JsonLevel Level;

/* ---- errors ------------------------------------------------------------ */

static size_t place(const Reader *r, const Byte *p) {
  return (size_t)(p - r->start);
}

const Byte *es_json_fail(Reader *r, es_JsonError error, const Byte *at) {
  r->error = error;
  r->offset = place(r, at);
  return NULL;
}

const Byte *es_json_fail_at(Reader *r, es_JsonError error, const Byte *at) {
  return es_json_fail(r, at == r->end ? ES_JSON_END : error, at);
}

int es_json_built(Reader *r, es_Status status, const Byte *at) {
  if (status == ES_OK) return 1;
  es_json_fail(r, status == ES_NOMEM ? ES_JSON_NOMEM : ES_JSON_LIMIT, at);
  return 0;
}

/* ---- space and room ---------------------------------------------------- */

static int is_space(Byte c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Lines may begin with many blanks. */
const Byte *es_json_space(const Reader *r, const Byte *p) {
  while (p < r->end && *p <= ' ' && is_space(*p)) {
    uint64_t other = 0;
    p++;
    while (r->end - p >= 8 && other == 0) {
      other = es_json_load(p) ^ ES_JSON_EACH(' ');
      p += other == 0 ? 8 : es_json_below(other);
    }
  }
  return p;
}

static int is_digit(Byte c) {
  return c >= '0' && c <= '9';
}

/* What mostly stands behind a number. */
static int ends_value(Byte c) {
  return c == ',' || c == '}' || c == ']';
}

/* Another look is due before the nodes may run out: each takes a byte. */
static void find_room(Reader *r, const Byte *p) {
  const es_Document *d = r->d;
  size_t ahead = d->cap - d->count - 1;
  r->nodes = d->nodes;
  r->next = d->nodes + d->count;
  r->check = r->safe;
  if (p < r->safe && (size_t)(r->safe - p) > ahead) r->check = p + ahead;
}

/* More room for nodes. Those of the open containers move. */
static int grow(Reader *r, const Byte *p) {
  es_Document *d = r->d;
  Level *level;
  es_Status status;
  for (level = r->levels + 1; level <= r->top; level++)
    level->at.index = (size_t)(level->at.node - d->nodes);
  status = es_document_reserve(d, 2);
  if (!es_json_built(r, status, p)) return 0;
  for (level = r->levels + 1; level <= r->top; level++)
    level->at.node = d->nodes + level->at.index;
  return 1;
}

/* Room for two more nodes. */
static int make_room(Reader *r, const Byte *p) {
  es_Document *d = r->d;
  d->count = (uint32_t)(r->next - d->nodes);
  if (d->cap - d->count < 2 && !grow(r, p)) return 0;
  find_room(r, p);
  return 1;
}

/*
** The first room: enough for most saves. The text may be one long string, so
** there is a limit, and without that much memory the reader starts small.
*/
static int first_room(Reader *r, const Byte *p) {
  es_Document *d = r->d;
  size_t n = (size_t)(r->end - r->start);
  size_t nodes = 16 + n / 6, bytes = 64 + n / 16;
  if (nodes > 1 << 20) nodes = 1 << 20;
  if (bytes > 1 << 20) bytes = 1 << 20;
  if (es_document_reserve(d, nodes) != ES_OK &&
      !es_json_built(r, es_document_reserve(d, 2), p))
    return 0;
  (void)es_buffer_reserve(&d->text, bytes);
  find_room(r, p);
  return 1;
}

/* ---- leaves ------------------------------------------------------------ */

static es_Node *add(Reader *r, es_NodeType type) {
  es_Node *node = r->next++;
  node->type = (uint32_t)type;
  node->count = 0;
  return node;
}

static inline const Byte *read_number(Reader *r, const Byte *p) {
  es_Number number = es_number_read((const char *)p, (size_t)(r->end - p));
  switch (number.kind) {
    case ES_NUMBER_INT:
      add(r, ES_NODE_INT)->u.i = number.i;
      break;
    case ES_NUMBER_FLOAT:
      add(r, ES_NODE_FLOAT)->u.d = number.d;
      break;
    case ES_NUMBER_HUGE: return es_json_fail(r, ES_JSON_HUGE, p);
    default: return es_json_fail_at(r, ES_JSON_NUMBER, p + number.len);
  }
  return p + number.len;
}

/*
** A number that begins with a digit, most likely a small integer. The text
** does not end with a digit; see is_closed.
*/
static inline const Byte *read_digits(Reader *r, const Byte *p) {
  const Byte *q = p;
  unsigned value = 0;
  unsigned digit = *q - (unsigned)'0';
  do {
    value = value * 10 + digit;
    digit = *++q - (unsigned)'0';
  } while (digit <= 9);
  if (!ends_value(*q) || q - p > 9 || (*p == '0' && q - p > 1))
    return read_number(r, p);
  add(r, ES_NODE_INT)->u.i = value;
  return q;
}

/* A short string of plain bytes is copied while its end is looked for. */
static inline const Byte *read_string(Reader *r, const Byte *p) {
  es_Buffer *text = &r->d->text;
  const Byte *q = p + 1;
  size_t n;
  if (p >= r->safe || text->cap - text->len < 32)
    return es_json_string(r, p);
  for (n = 0; n < 32; n += 8) {
    uint64_t w = es_json_load(q + n);
    uint64_t tops = es_json_not_plain(w);
    memcpy(text->data + text->len + n, q + n, 8);
    if (tops != 0) {
      es_Node *node;
      n += es_json_below(tops);
      if (q[n] != '"') break;
      node = add(r, ES_NODE_STRING);
      node->count = (uint32_t)n;
      node->u.text = text->len;
      text->len += n;
      return q + n + 1;
    }
  }
  return es_json_string(r, p);
}

static const Byte *read_word_as(Reader *r, const Byte *p, const char *word,
                                es_NodeType type) {
  const Byte *q = p;
  for (; *word != '\0'; word++, q++)
    if (q == r->end || *q != (Byte)*word)
      return es_json_fail_at(r, ES_JSON_BYTE, q);
  add(r, type)->u.i = 0;
  return q;
}

/* A constant; this is also where all ends that is no value. */
static const Byte *read_word(Reader *r, const Byte *p) {
  switch (*p) {
    case 't': return read_word_as(r, p, "true", ES_NODE_TRUE);
    case 'f': return read_word_as(r, p, "false", ES_NODE_FALSE);
    case 'n': return read_word_as(r, p, "null", ES_NODE_NULL);
    default: return es_json_fail_at(r, ES_JSON_BYTE, p);
  }
}

/* ---- containers -------------------------------------------------------- */

static inline uint32_t index_of(const Reader *r, const es_Node *node) {
  return (uint32_t)(node - r->nodes);
}

/* Behind a closing bracket. */
static inline const Byte *read_on(Reader *r, const Byte *p) {
  if (r->top == r->levels) {
    r->behind = p;
    return NULL;
  }
  return p < r->end ? p : es_json_fail(r, ES_JSON_END, p);
}

/*
** From an opening bracket to behind the one that closes it, if nothing stands
** between them; or to what does. Then there is a new level.
*/
static inline const Byte *open_container(Reader *r, const Byte *p,
                                         es_NodeType type, char close) {
  Level *top = r->top;
  es_Node *node;
  if (top == r->levels + ES_DEPTH_MAX)
    return es_json_fail(r, ES_JSON_DEPTH, p);
  node = add(r, type);
  p++;
  if (*p <= ' ') p = es_json_space(r, p);
  if (*p == (Byte)close) {
    node->u.end = index_of(r, r->next);
    return read_on(r, p + 1);
  }
  r->top = ++top;
  top->at.node = node;
  top->seen = 0;
  top->count = 0;
  top->close = (Byte)close;
  return p;
}

static const Byte *check_keys(Reader *r, const es_Node *node,
                              const Byte *p) {
  const es_Document *d = r->d;
  uint32_t twice = 0;
  es_Status status =
      es_document_duplicate(d, index_of(r, node), &twice);
  if (!es_json_built(r, status, p)) return NULL;
  if (twice == 0) return p;
  return es_json_fail(r, ES_JSON_DUPLICATE,
                      r->start + es_json_offset((const char *)r->start,
                                                place(r, r->end), twice));
}

/* At the bracket that ends the innermost container. */
static inline const Byte *close_container(Reader *r, const Byte *p) {
  const Level *top = r->top--;
  es_Node *node = top->at.node;
  node->count = top->count;
  node->u.end = index_of(r, r->next);
  if (top->seen == ES_JSON_CHECK && !r->last &&
      check_keys(r, node, p) == NULL)
    return NULL;
  return read_on(r, p + 1);
}

/* Behind a value: up to where the next one or its key may stand. */
static inline const Byte *read_behind(Reader *r, const Byte *p) {
  while (p != NULL) {
    Byte c = *p;
    if (c == ',') return p + 1;
    if (c == r->top->close) {
      p = close_container(r, p);
    } else if (c <= ' ' && is_space(c)) {
      p = es_json_space(r, p);
      if (p == r->end) return es_json_fail(r, ES_JSON_END, p);
    } else {
      return es_json_fail_at(r, ES_JSON_BYTE, p);
    }
  }
  return NULL;
}

/* A key and its colon, before 'safe'. */
static inline const Byte *read_key(Reader *r, Level *top, const Byte *p) {
  uint64_t word = es_json_load(p);
  es_JsonKey *key = r->latest->follow;
  if (!es_json_same(r, key, p, word)) {
    key = &r->keys[r->recent[es_json_start(word)]];
    if (!es_json_same(r, key, p, word)) return es_json_key(r, p);
    r->latest->follow = key;
  }
  p = es_json_take(r, top, key, p);
  return *p == ':' ? p + 1 : es_json_colon(r, p);
}

/* The first step of an item, where room or text may run out. */
static const Byte *start_item(Reader *r, const Byte *p) {
  if (!make_room(r, p)) return NULL;
  return r->top->close == '}' ? es_json_key(r, p) : p;
}

/*
** Everything within the brackets of the outermost container. Each turn adds
** two nodes at most, those of a key and its value.
*/
static void read_items(Reader *r, const Byte *p) {
  do {
    Level *top = r->top;
    top->count++;
    if (p >= r->check) p = start_item(r, p);
    else if (top->close == '}') p = read_key(r, top, p);
    if (p == NULL) return;
    if (*p <= ' ') p = es_json_space(r, p);
    if (*p == '{') {
      p = open_container(r, p, ES_NODE_OBJECT, '}');
      if (r->top != top) continue;
    } else if (is_digit(*p)) {
      p = read_digits(r, p);
    } else if (*p == '-') {
      p = read_number(r, p);
    } else if (*p == '"') {
      p = read_string(r, p);
    } else if (*p == '[') {
      p = open_container(r, p, ES_NODE_ARRAY, ']');
      if (r->top != top) continue;
    } else {
      p = read_word(r, p);
    }
    p = read_behind(r, p);
  } while (p != NULL);
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

static void set_text(Reader *r, const Byte *s, size_t n) {
  r->start = s;
  r->end = s + n;
  r->safe = n > ES_JSON_AHEAD ? r->end - ES_JSON_AHEAD : s;
}

static void start(Reader *r, es_Document *d, int last) {
  static const es_JsonKey none = {.head = 1, .mask = 0};   /* equals no key */
  r->d = d;
  r->last = last;
  r->error = ES_JSON_OK;
  r->top = r->levels;
  r->top->at.node = NULL;
  r->top->seen = 0;
  r->top->count = 0;
  r->top->close = 0;
  r->known = 0;
  r->keys[0] = none;
  r->keys[0].follow = r->latest = r->keys;
  memset(r->slots, 0, sizeof r->slots);
  memset(r->recent, 0, sizeof r->recent);
}

/* At an opening bracket. */
static const Byte *read_container(Reader *r, const Byte *p) {
  if (!first_room(r, p)) return NULL;
  read_items(r, p);
  return r->error == ES_JSON_OK ? r->behind : NULL;
}

/*
** read_items looks at bytes without asking whether they are there. If the
** text ends with a closing bracket, space apart, they are: no other part of a
** value ends so, and behind a bracket it does ask. If not, the text is wrong,
** and where is found in a copy with a zero byte behind it.
*/
static int is_closed(const Reader *r) {
  const Byte *p = r->end;
  do p--;
  while (is_space(*p));   /* there is the opening bracket */
  return *p == '}' || *p == ']';
}

static const Byte *read_copy(Reader *r, const Byte *p) {
  const Byte *text = r->start;
  size_t n = (size_t)(r->end - text);
  es_Buffer copy;
  es_buffer_init(&copy, r->d->alloc);
  if (es_json_built(r, es_buffer_reserve(&copy, n + 1), p)) {
    memcpy(copy.data, text, n);
    copy.data[n] = 0;
    set_text(r, (const Byte *)copy.data, n);
    p = read_container(r, r->start + (p - text));
    if (p != NULL) p = text + (p - r->start);
    set_text(r, text, n);
  }
  es_buffer_free(&copy);
  return r->error == ES_JSON_OK ? p : NULL;
}

/* The value, behind any space. */
static const Byte *read_value(Reader *r, const Byte *p) {
  if (*p == '{' || *p == '[')
    return is_closed(r) ? read_container(r, p) : read_copy(r, p);
  if (!first_room(r, p)) return NULL;
  if (*p == '"') return es_json_string(r, p);
  if (*p == '-' || is_digit(*p)) return read_number(r, p);
  return read_word(r, p);
}

void es_json_begin(Reader *r, es_Document *d, const char *s, size_t n) {
  start(r, d, 0);
  set_text(r, (const Byte *)s, n);
}

const Byte *es_json_next(Reader *r, const Byte *p) {
  r->d->count = 0;
  if (!es_json_built(r, es_document_reserve(r->d, 64), p)) return NULL;
  find_room(r, p);
  if (*p == '{' || *p == '[') {
    read_items(r, p);
    p = r->error == ES_JSON_OK ? r->behind : NULL;
  } else if (*p == '"') {
    p = es_json_string(r, p);
  } else {
    p = *p == '-' || is_digit(*p) ? read_number(r, p) : read_word(r, p);
  }
  if (p != NULL) r->d->count = (uint32_t)(r->next - r->d->nodes);
  return p;
}

static void read_text(Reader *r) {
  const Byte *p = r->start;
  size_t n = (size_t)(r->end - p);
  if (has_mark(p, n) || is_wide(p, n)) {
    es_json_fail(r, ES_JSON_BOM, p);
    return;
  }
  p = es_json_space(r, p);
  if (p == r->end) {
    es_json_fail(r, ES_JSON_EMPTY, p);
    return;
  }
  p = read_value(r, p);
  if (p == NULL) return;
  r->d->count = (uint32_t)(r->next - r->d->nodes);
  p = es_json_space(r, p);
  if (p < r->end) es_json_fail(r, ES_JSON_TRAILING, p);
}

static es_JsonError read_with(es_Document *d, const char *s, size_t n,
                              int last, size_t *offset) {
  Reader r;
  start(&r, d, last);
  set_text(&r, (const Byte *)(n == 0 ? "" : s), n);   /* s may be NULL */
  read_text(&r);
  if (r.error != ES_JSON_OK) *offset = r.offset;
  return r.error;
}

es_JsonError es_json_read(es_Document *d, const char *s, size_t n,
                          size_t *offset) {
  return read_with(d, s, n, 0, offset);
}

es_JsonError es_json_read_last(es_Document *d, const char *s, size_t n,
                               size_t *offset) {
  return read_with(d, s, n, 1, offset);
}

/* Behind the string or the other leaf that begins at 'p'. */
static const Byte *skip_leaf(const Byte *p, const Byte *end) {
  if (*p != '"') {
    while (p < end && strchr(",:]} \t\r\n", *p) == NULL) p++;
    return p;
  }
  for (p++; *p != '"'; p++)
    if (*p == '\\') p++;
  return p + 1;
}

size_t es_json_offset(const char *s, size_t n, uint32_t node) {
  const Byte *p = (const Byte *)s, *end = p + n;
  while (p < end) {
    if (strchr(",:]} \t\r\n", *p) != NULL) {
      p++;
      continue;
    }
    if (node-- == 0) break;
    if (*p == '[' || *p == '{') p++;
    else p = skip_leaf(p, end);
  }
  return (size_t)(p - (const Byte *)s);
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
