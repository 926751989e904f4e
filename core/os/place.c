/* SPDX-License-Identifier: MIT */
#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <unistd.h>

#include "base/random.h"

static int need_regular(const struct stat *st) {
  if (S_ISREG(st->st_mode))
    return 0;
  if (st->st_mode == 0)
    return -ENOENT;
  return S_ISDIR(st->st_mode) ? -EISDIR : -ENXIO;
}

/* To open a FIFO or a device can mean something, so it is judged before; and
 * after, because it may be another file by then. */
int sbx_place_read(struct sbx_place *at) {
  int rc = need_regular(&at->st);
  if (rc < 0)
    return rc;
  int fd = openat(at->dir, at->name,
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return -errno;
  rc = fstat(fd, &at->st) < 0 ? -errno : need_regular(&at->st);
  if (rc == 0)
    return fd;
  close(fd);
  return rc;
}

int sbx_place_write(const struct sbx_place *at, char temp[SBX_PLACE_TEMP],
                    mode_t *mode) {
  int rc = need_regular(&at->st);
  temp[0] = '\0';
  if (rc < 0 && rc != -ENOENT)
    return rc;
  *mode = rc < 0 ? 0644 : at->st.st_mode & 0777;
  memcpy(temp, ".anvia-", 7);
  rc = sbx_random_hex(temp + 7, SBX_PLACE_TEMP - 8);
  if (rc == 0) {
    rc = openat(at->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    rc = rc < 0 ? -errno : rc;
  }
  if (rc < 0)
    temp[0] = '\0';
  return rc;
}

int sbx_place_replace(const struct sbx_place *at, const char *temp, int fd,
                      mode_t mode) {
  if (fchmod(fd, mode) < 0 || renameat(at->dir, temp, at->dir, at->name) < 0)
    return -errno;
  return 0;
}

static bool same_directory(int one, int other) {
  struct stat a, b;
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 &&
         sbx_beneath_same(&a, &b);
}

int sbx_place_rename(const struct sbx_place *from, const struct sbx_place *to) {
  bool same = to->st.st_mode != 0 && sbx_beneath_same(&from->st, &to->st);
  if (from->st.st_mode == 0)
    return -ENOENT;
  if (same && strcmp(from->name, to->name) == 0 &&
      same_directory(from->dir, to->dir))
    return 0;
  if (S_ISDIR(to->st.st_mode))
    return -EISDIR;
  if (S_ISDIR(from->st.st_mode) && S_ISLNK(to->st.st_mode))
    unlinkat(to->dir, to->name, 0);
  if (renameat(from->dir, from->name, to->dir, to->name) < 0)
    return -errno;
  if (same) /* two names of one file: that has done nothing */
    unlinkat(from->dir, from->name, 0);
  return 0;
}

int sbx_place_mkdir(int root, const char *path, int mode) {
  struct sbx_place at;
  char text[PATH_MAX + 2];
  size_t n = strlen(path);
  if (n >= PATH_MAX)
    return -ENAMETOOLONG;
  memcpy(mempcpy(text, path, n), "/.", 3); /* so that it is itself made */
  int rc = sbx_beneath_find(&at, root, text, SBX_BENEATH_MAKE);
  if (rc < 0)
    return rc;
  if (mode >= 0 && fchmodat(at.dir, ".", (mode_t)mode, 0) < 0)
    rc = -errno;
  sbx_beneath_close(&at);
  return rc;
}

int sbx_place_remove(const struct sbx_place *at) {
  int flags = S_ISDIR(at->st.st_mode) ? AT_REMOVEDIR : 0;
  return unlinkat(at->dir, at->name, flags) < 0 ? -errno : 0;
}
