/*
** replay.c - runs a fuzz target over files, without a fuzzer.
**
** Linked with one *_fuzz.c. Any compiler will do, so that every test run
** repeats what fuzzing found.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block of exactly the file's size, so that ASan sees a read behind it. */
static uint8_t *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  long end;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
    *size = (size_t)end;
    data = malloc(*size > 0 ? *size : 1);
    rewind(file);
    if (data != NULL && fread(data, 1, *size, file) != *size) {
      free(data);
      data = NULL;
    }
  }
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++) {
    size_t size = 0;
    uint8_t *data = read_all(argv[i], &size);
    if (data == NULL) {
      fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 1;
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
  }
  return 0;
}
