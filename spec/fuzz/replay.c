/* SPDX-License-Identifier: MIT */
/* replay.c - feeds every file of a corpus directory to a fuzz target, once,
 * and every prefix of it, for compilers that have no fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { REPLAY_INPUT = 1 << 20, REPLAY_PREFIXES = 512 };

/* A copy of exactly `len` bytes, so that a sanitizer sees a read past it. */
static void feed(const uint8_t *data, size_t len) {
  uint8_t *copy = malloc(len ? len : 1);
  if (!copy)
    abort();
  if (len)
    memcpy(copy, data, len);
  LLVMFuzzerTestOneInput(copy, len);
  free(copy);
}

static int replay(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    return -1;
  }
  uint8_t *data = malloc(REPLAY_INPUT);
  if (!data)
    abort();
  size_t len = fread(data, 1, REPLAY_INPUT, f);
  fclose(f);
  for (size_t i = 0; i < len && i < REPLAY_PREFIXES; i++)
    feed(data, i);
  feed(data, len);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  const char *dir = argc > 1 ? argv[1] : ".";
  DIR *d = opendir(dir);
  if (!d) {
    perror(dir);
    return 1;
  }
  int files = 0, failed = 0;
  for (struct dirent *e; (e = readdir(d));) {
    char path[4096];
    if (e->d_name[0] == '.')
      continue;
    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
    failed |= replay(path) < 0;
    files++;
  }
  closedir(d);
  printf("%d inputs\n", files);
  return failed || files == 0;
}
