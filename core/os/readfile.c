/* SPDX-License-Identifier: MIT */
#include "os/readfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *sbx_read_file(const char *path, size_t max, size_t *len) {
  struct stat st;
  char *data = NULL;
  ssize_t n = -1;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

  *len = 0;
  if (fd < 0)
    return NULL;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
      (size_t)st.st_size <= max && (data = malloc((size_t)st.st_size)) != NULL)
    n = read(fd, data, (size_t)st.st_size);
  close(fd);
  if (n <= 0) {
    free(data);
    return NULL;
  }
  *len = (size_t)n;
  return data;
}
