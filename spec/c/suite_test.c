/*
** suite_test.c - the JSON parsing test suite (github.com/nst/JSONTestSuite).
**
** Usage: suite_test [directory]. The suite is optional data: without it there
** is nothing to check. Files named y_ must be accepted, n_ refused, and what
** becomes of the i_ ones, which the RFC leaves open, stands in a table.
**
** Two of the y_ files hold an object with the same key twice, which the RFC's
** grammar allows ("SHOULD be unique"). So all y_ files are read by the reader
** that takes the last of equal keys; the other one refuses these two only,
** and because of their keys.
*/
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>

#include "json_tools.h"

#define DIRECTORY "../shared/jsontestsuite/test_parsing"

static const struct {
  const char *name;
  es_JsonError want;
} decided[] = {
  /* out of the range of doubles; what is too small becomes 0 */
  {"i_number_double_huge_neg_exp.json", ES_JSON_OK},
  {"i_number_huge_exp.json", ES_JSON_HUGE},
  {"i_number_neg_int_huge_exp.json", ES_JSON_HUGE},
  {"i_number_pos_double_huge_exp.json", ES_JSON_HUGE},
  {"i_number_real_neg_overflow.json", ES_JSON_HUGE},
  {"i_number_real_pos_overflow.json", ES_JSON_HUGE},
  {"i_number_real_underflow.json", ES_JSON_OK},
  /* integers beyond 64 bits become floats */
  {"i_number_too_big_neg_int.json", ES_JSON_OK},
  {"i_number_too_big_pos_int.json", ES_JSON_OK},
  {"i_number_very_big_negative_int.json", ES_JSON_OK},
  /* lone surrogates stay */
  {"i_object_key_lone_2nd_surrogate.json", ES_JSON_OK},
  {"i_string_1st_surrogate_but_2nd_missing.json", ES_JSON_OK},
  {"i_string_1st_valid_surrogate_2nd_invalid.json", ES_JSON_OK},
  {"i_string_UTF8_surrogate_U+D800.json", ES_JSON_OK},
  {"i_string_incomplete_surrogate_and_escape_valid.json", ES_JSON_OK},
  {"i_string_incomplete_surrogate_pair.json", ES_JSON_OK},
  {"i_string_incomplete_surrogates_escape_valid.json", ES_JSON_OK},
  {"i_string_invalid_lonely_surrogate.json", ES_JSON_OK},
  {"i_string_invalid_surrogate.json", ES_JSON_OK},
  {"i_string_inverted_surrogates_U+1D11E.json", ES_JSON_OK},
  {"i_string_lone_second_surrogate.json", ES_JSON_OK},
  /* not UTF-8 */
  {"i_string_UTF-16LE_with_BOM.json", ES_JSON_BOM},
  {"i_string_UTF-8_invalid_sequence.json", ES_JSON_UTF8},
  {"i_string_invalid_utf-8.json", ES_JSON_UTF8},
  {"i_string_iso_latin_1.json", ES_JSON_UTF8},
  {"i_string_lone_utf8_continuation_byte.json", ES_JSON_UTF8},
  {"i_string_not_in_unicode_range.json", ES_JSON_UTF8},
  {"i_string_overlong_sequence_2_bytes.json", ES_JSON_UTF8},
  {"i_string_overlong_sequence_6_bytes.json", ES_JSON_UTF8},
  {"i_string_overlong_sequence_6_bytes_null.json", ES_JSON_UTF8},
  {"i_string_truncated-utf-8.json", ES_JSON_UTF8},
  {"i_string_utf16BE_no_BOM.json", ES_JSON_BOM},
  {"i_string_utf16LE_no_BOM.json", ES_JSON_BOM},
  {"i_structure_UTF-8_BOM_empty_object.json", ES_JSON_BOM},
  /* within the depth limit */
  {"i_structure_500_nested_arrays.json", ES_JSON_OK}
};

/* The y_ files that break a rule of ours, and only that one. */
static const char *const stricter[] = {
  "y_object_duplicated_key.json",
  "y_object_duplicated_key_and_value.json"
};

typedef struct Counts {
  unsigned accepted, duplicate, refused, decided;
} Counts;

typedef es_JsonError (*ReadFn)(es_Document *d, const char *s, size_t n,
                               size_t *offset);

static char *load(const char *directory, const char *name, size_t *n) {
  char path[4096];
  FILE *file;
  char *text;
  long size;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  file = fopen(path, "rb");
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) != 0) abort();
  size = ftell(file);
  rewind(file);
  text = malloc((size_t)size);
  *n = fread(text, 1, (size_t)size, file);
  fclose(file);
  return text;
}

/* The outcome of one file; what is accepted must survive a round trip. */
static es_JsonError outcome(ReadFn read, const char *name, const char *text,
                            size_t n) {
  Heap heap = {0};
  es_Document d, again;
  es_Buffer out;
  size_t offset = 0;
  es_JsonError error;
  es_document_init(&d, heap_of(&heap));
  es_document_init(&again, heap_of(&heap));
  es_buffer_init(&out, heap_of(&heap));
  error = read(&d, text, n, &offset);
  CHECK(offset <= n, "%s: offset %zu", name, offset);
  if (error == ES_JSON_OK) {
    CHECK(write_json(&d, &out) == ES_OK, "%s", name);
    CHECK(read(&again, out.data, out.len, &offset) == ES_JSON_OK,
          "%s", name);
    CHECK(same_tree(&d, &again), "%s", name);
  }
  es_document_free(&d);
  es_document_free(&again);
  es_buffer_free(&out);
  CHECK(heap.live == 0 && heap.wrong == 0, "%s leaks", name);
  return error;
}

static int find_decision(const char *name, es_JsonError *want) {
  size_t i;
  for (i = 0; i < sizeof decided / sizeof *decided; i++)
    if (strcmp(decided[i].name, name) == 0) {
      *want = decided[i].want;
      return 1;
    }
  return 0;
}

static int is_stricter(const char *name) {
  return strcmp(name, stricter[0]) == 0 || strcmp(name, stricter[1]) == 0;
}

/* 'error' is that of the strict reader, 'last' that of the other one. */
static void judge(const char *name, es_JsonError error, es_JsonError last,
                  Counts *counts) {
  es_JsonError want = ES_JSON_OK;
  const char *words = es_json_message(error);
  if (name[0] == 'y') {
    CHECK(last == ES_JSON_OK, "%s: %s", name, es_json_message(last));
    CHECK(error == (is_stricter(name) ? ES_JSON_DUPLICATE : ES_JSON_OK),
          "%s: %s", name, words);
    counts->accepted += last == ES_JSON_OK;
    counts->duplicate += error == ES_JSON_DUPLICATE;
    return;
  }
  CHECK(error == last, "%s: %s or %s", name, words, es_json_message(last));
  if (name[0] == 'n') {
    CHECK(error != ES_JSON_OK && error != ES_JSON_NOMEM, "%s", name);
    counts->refused += error != ES_JSON_OK;
  } else {
    CHECK(find_decision(name, &want), "%s is not in the table", name);
    CHECK(error == want, "%s: %s", name, words);
    counts->decided += error == want;
  }
}

static void run(const char *directory, DIR *files, Counts *counts) {
  const struct dirent *entry;
  while ((entry = readdir(files)) != NULL) {
    const char *name = entry->d_name;
    size_t n = 0;
    char *text;
    if (strncmp(name, "y_", 2) != 0 && strncmp(name, "n_", 2) != 0 &&
        strncmp(name, "i_", 2) != 0)
      continue;
    text = load(directory, name, &n);
    CHECK(text != NULL, "%s cannot be read", name);
    if (text != NULL)
      judge(name, outcome(es_json_read, name, text, n),
            outcome(es_json_read_last, name, text, n), counts);
    free(text);
  }
}

int main(int argc, char **argv) {
  const char *directory = argc > 1 ? argv[1] : DIRECTORY;
  DIR *files = opendir(directory);
  Counts counts = {0, 0, 0, 0};
  if (files == NULL) {
    printf("note: no test suite at %s\n", directory);
    return report();
  }
  run(directory, files, &counts);
  closedir(files);
  printf("y_ accepted: %u of 95; %u of them not with unique keys\n",
         counts.accepted, counts.duplicate);
  printf("n_ refused: %u of 188\n", counts.refused);
  printf("i_ decided: %u of 35\n", counts.decided);
  CHECK(counts.accepted == 95, "%u", counts.accepted);
  CHECK(counts.duplicate == 2, "%u", counts.duplicate);
  CHECK(counts.refused == 188, "%u", counts.refused);
  CHECK(counts.decided == 35, "%u", counts.decided);
  return report();
}
