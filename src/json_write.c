/* json_write.c - the writer of json.h: compact JSON text from a walk. */
#include <string.h>

#include "json.h"
#include "number.h"

typedef unsigned char Byte;

/* How a byte is written; what is not named here stands for itself. */
enum { RAW, SHORT, CONTROL, SURROGATE };

static int class_of(Byte c) {
  if (c < 0x20) return CONTROL;
  if (c == '"' || c == '\\') return SHORT;
  return c == 0xED ? SURROGATE : RAW;
}

/* ---- strings ----------------------------------------------------------- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define ZERO_BYTE(w) (((w) - EACH(1)) & ~(w) & EACH(0x80))

/* True when all eight bytes stand for themselves. */
static int all_raw(const Byte *p) {
  uint64_t w, quote, slash, lead;
  memcpy(&w, p, 8);
  quote = w ^ EACH('"');
  slash = w ^ EACH('\\');
  lead = w ^ EACH(UINT64_C(0xED));
  return (((w - EACH(0x20)) & ~w & EACH(0x80)) | ZERO_BYTE(quote) |
          ZERO_BYTE(slash) | ZERO_BYTE(lead)) == 0;
}

/* The length of the run at 'p' that needs no escape. */
static size_t raw_run(const Byte *p, size_t n) {
  size_t i = 0;
  while (n - i >= 8 && all_raw(p + i)) i += 8;
  while (i < n && class_of(p[i]) == RAW) i++;
  return i;
}

static es_Status put_hex(es_Buffer *out, unsigned c) {
  static const char digits[] = "0123456789abcdef";
  char text[6] = {'\\', 'u', digits[c >> 12], digits[c >> 8 & 15],
                  digits[c >> 4 & 15], digits[c & 15]};
  return es_buffer_put(out, text, 6);
}

static es_Status put_control(es_Buffer *out, Byte c) {
  static const char names[] = "btn?fr";   /* 8 to 13; 11 has none */
  char text[2] = {'\\', '\0'};
  if (c < 8 || c > 13 || c == 11) return put_hex(out, c);
  text[1] = names[c - 8];
  return es_buffer_put(out, text, 2);
}

/*
** Writes what stands at 'p', where no raw run does; '*taken' is its length.
** 0xED leads all of U+D000..DFFF, and only the upper half are surrogates.
*/
static es_Status put_special(es_Buffer *out, const Byte *p, size_t *taken) {
  char text[2] = {'\\', (char)*p};
  *taken = 1;
  switch (class_of(*p)) {
    case SHORT: return es_buffer_put(out, text, 2);
    case CONTROL: return put_control(out, *p);
    default: break;
  }
  *taken = 3;
  if (p[1] < 0xA0) return es_buffer_put(out, p, 3);
  return put_hex(out, 0xD000u | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu));
}

/* From the first byte that needs an escape on, and the closing quote. */
static es_Status put_escaped(es_Buffer *out, const Byte *p, size_t n) {
  es_Status status = ES_OK;
  while (n > 0 && status == ES_OK) {
    size_t taken = raw_run(p, n);
    status = taken > 0 ? es_buffer_put(out, p, taken)
                       : put_special(out, p, &taken);
    p += taken;
    n -= taken;
  }
  return status == ES_OK ? es_buffer_putc(out, '"') : status;
}

static es_Status put_string(es_Buffer *out, const char *s, size_t n) {
  const Byte *p = (const Byte *)s;
  size_t raw = raw_run(p, n);
  char *to;
  es_Status status = es_buffer_reserve(out, raw + 2);
  if (status != ES_OK) return status;
  to = out->data + out->len;
  *to = '"';
  if (raw > 0) memcpy(to + 1, s, raw);
  out->len += raw + 1;
  if (raw < n) return put_escaped(out, p + raw, n - raw);
  to[raw + 1] = '"';
  out->len++;
  return ES_OK;
}

/* ---- the sink ---------------------------------------------------------- */

static es_JsonSink *self(es_Sink *s) {
  return (es_JsonSink *)(void *)s;
}

/* Before each value: the comma behind the one before. */
static es_Status separate(es_JsonSink *s) {
  int due = s->comma;
  s->comma = 1;
  return due ? es_buffer_putc(s->out, ',') : ES_OK;
}

/*
** The same, and room for 'n' bytes, to be written in place; NULL when memory
** is full.
*/
static char *room(es_JsonSink *s, size_t n) {
  es_Buffer *out = s->out;
  if (out->cap - out->len <= n && es_buffer_reserve(out, n + 1) != ES_OK)
    return NULL;
  out->data[out->len] = ',';
  out->len += s->comma;
  s->comma = 1;
  return out->data + out->len;
}

static es_Status put_word(es_Sink *sink, const char *word, size_t n) {
  es_JsonSink *s = self(sink);
  char *to = room(s, n);
  if (to == NULL) return ES_NOMEM;
  memcpy(to, word, n);
  s->out->len += n;
  return ES_OK;
}

static es_Status on_open(es_Sink *sink, es_NodeType type,
                         uint32_t count) {
  es_JsonSink *s = self(sink);
  char *to;
  (void)count;
  if (s->depth == ES_DEPTH_MAX) return ES_LIMIT;
  to = room(s, 1);
  if (to == NULL) return ES_NOMEM;
  *to = type != ES_NODE_ARRAY ? '{' : '[';
  s->out->len++;
  s->object[s->depth++] = type != ES_NODE_ARRAY;
  s->comma = 0;
  return ES_OK;
}

static es_Status on_close(es_Sink *sink) {
  es_JsonSink *s = self(sink);
  char bracket = s->object[s->depth - 1] ? '}' : ']';
  es_Status status = es_buffer_putc(s->out, bracket);
  if (status != ES_OK) return status;
  s->depth--;
  s->comma = 1;
  return ES_OK;
}

/* A failure leaves nothing behind, so that the call can be repeated. */
static es_Status take_back(es_JsonSink *s, size_t len, unsigned char comma,
                           es_Status status) {
  s->out->len = len;
  s->comma = comma;
  return status;
}

static es_Status on_key(es_Sink *sink, const char *text, size_t n) {
  es_JsonSink *s = self(sink);
  size_t len = s->out->len;
  unsigned char comma = s->comma;
  es_Status status;
  if (n == 9 && memcmp(text, "__proto__", 9) == 0) return ES_INVALID;
  status = separate(s);
  if (status == ES_OK) status = put_string(s->out, text, n);
  if (status == ES_OK) status = es_buffer_putc(s->out, ':');
  s->comma = 0;
  return status == ES_OK ? ES_OK : take_back(s, len, comma, status);
}

/* Copied in whole blocks, which takes no loop for most phrases. */
static es_Status on_phrase(es_Sink *sink, const es_Phrase *p) {
  es_JsonSink *s = self(sink);
  es_Buffer *out = s->out;
  char *to;
  size_t i = 0;
  if (es_buffer_reserve(out, p->len + ES_PHRASE_BLOCK + 1) != ES_OK)
    return ES_NOMEM;
  to = out->data + out->len;
  *to = ',';
  to += s->comma & p->before;
  do {
    memcpy(to + i, p->text + i, ES_PHRASE_BLOCK);
    i += ES_PHRASE_BLOCK;
  } while (i < p->len);
  out->len = (size_t)(to + p->len - out->data);
  s->comma = p->after;
  s->depth = (uint32_t)((int)s->depth + p->depth);
  return ES_OK;
}

static es_Status on_null(es_Sink *sink) {
  return put_word(sink, "null", 4);
}

static es_Status on_boolean(es_Sink *sink, int value) {
  return value ? put_word(sink, "true", 4) : put_word(sink, "false", 5);
}

static es_Status on_integer(es_Sink *sink, int64_t value) {
  es_JsonSink *s = self(sink);
  char *to = room(s, ES_NUMBER_MAX);
  if (to == NULL) return ES_NOMEM;
  s->out->len += es_number_put_int(to, value);
  return ES_OK;
}

static es_Status on_number(es_Sink *sink, double value) {
  es_JsonSink *s = self(sink);
  char *to = room(s, ES_NUMBER_MAX);
  if (to == NULL) return ES_NOMEM;
  s->out->len += es_number_put_double(to, value);
  return ES_OK;
}

static es_Status on_string(es_Sink *sink, const char *text, size_t n) {
  es_JsonSink *s = self(sink);
  size_t len = s->out->len;
  unsigned char comma = s->comma;
  es_Status status = separate(s);
  if (status == ES_OK) status = put_string(s->out, text, n);
  return status == ES_OK ? ES_OK : take_back(s, len, comma, status);
}

/* Where there is no such room, the buffer grows as it is filled. */
static void on_expect(es_Sink *sink, size_t bytes) {
  (void)es_buffer_reserve(self(sink)->out, bytes);
}

void es_sink_json(es_JsonSink *s, es_Buffer *out) {
  static const es_Sink methods = {
    on_open, on_close, on_key, on_phrase, on_null,
    on_boolean, on_integer, on_number, on_string, on_expect
  };
  s->sink = methods;
  s->out = out;
  s->depth = 0;
  s->comma = 0;
}

/* ---- phrases ----------------------------------------------------------- */

static es_Status put_phrase_word(es_Buffer *out, const es_Word *word) {
  es_Status status;
  switch (word->type) {
    case ES_WORD_KEY:
      status = put_string(out, word->text, word->len);
      return status == ES_OK ? es_buffer_putc(out, ':') : status;
    case ES_WORD_STRING: return put_string(out, word->text, word->len);
    case ES_WORD_OPEN_ARRAY: return es_buffer_putc(out, '[');
    case ES_WORD_OPEN_OBJECT: return es_buffer_putc(out, '{');
    case ES_WORD_CLOSE_ARRAY: return es_buffer_putc(out, ']');
    default: return es_buffer_putc(out, '}');
  }
}

static int closes(const es_Word *word) {
  return word->type == ES_WORD_CLOSE_ARRAY ||
         word->type == ES_WORD_CLOSE_OBJECT;
}

static int opens(const es_Word *word) {
  return word->type == ES_WORD_OPEN_ARRAY ||
         word->type == ES_WORD_OPEN_OBJECT;
}

/* Where its copy in blocks may read. */
static es_Status put_padding(es_Buffer *texts) {
  es_Status status = es_buffer_reserve(texts, ES_PHRASE_BLOCK);
  if (status != ES_OK) return status;
  memset(texts->data + texts->len, 0, ES_PHRASE_BLOCK);
  texts->len += ES_PHRASE_BLOCK;
  return ES_OK;
}

es_Status es_json_phrase(es_Buffer *texts, es_Phrase *p) {
  es_Status status = ES_OK;
  uint32_t i;
  p->start = texts->len;
  p->depth = 0;
  p->after = 0;
  p->before = !closes(&p->words[0]);
  for (i = 0; i < p->count && status == ES_OK; i++) {
    const es_Word *word = &p->words[i];
    if (p->after && !closes(word)) status = es_buffer_putc(texts, ',');
    if (status == ES_OK) status = put_phrase_word(texts, word);
    p->after = closes(word) || word->type == ES_WORD_STRING;
    p->depth += opens(word) - closes(word);
  }
  p->len = texts->len - p->start;
  return status == ES_OK ? put_padding(texts) : status;
}
