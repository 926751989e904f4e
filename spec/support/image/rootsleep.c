/* SPDX-License-Identifier: MIT */
/* rootsleep.c - installed setuid root: becomes root, so that nobody else may
 * signal it, and sleeps: rootsleep SECONDS */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  unsigned left = argc > 1 ? (unsigned)atoi(argv[1]) : 600;
  if (setgid(0) != 0 || setuid(0) != 0)
    return 1;
  while (left > 0)
    left = sleep(left);
  return 0;
}
