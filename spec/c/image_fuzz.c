/*
** image_fuzz.c - libFuzzer target of the snapshot reader: bytes as they are.
**
** What is accepted must keep the promises of image.h that the loaders build
** on; so must the header alone, which is read without the body.
*/
#include "image_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_once(data, size, 1);
  read_once(data, size, 0);
  return 0;
}
