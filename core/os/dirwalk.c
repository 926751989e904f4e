/* SPDX-License-Identifier: MIT */
#include "os/dirwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TODO_MAX (8u * 1024 * 1024)

int sbx_dirwalk_open(struct sbx_dirwalk *t, const struct sbx_place *at) {
  sbx_buf_init(&t->todo, TODO_MAX);
  t->root =
      openat(at->dir, at->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return t->root < 0 ? -errno : sbx_dirwalk_push(t, "");
}

void sbx_dirwalk_close(struct sbx_dirwalk *t) {
  if (t->dir)
    closedir(t->dir);
  if (t->root >= 0)
    close(t->root);
  sbx_buf_fini(&t->todo);
}

int sbx_dirwalk_push(struct sbx_dirwalk *t, const char *path) {
  size_t n = strlen(path) + 1;
  int rc = n > PATH_MAX ? -EMSGSIZE : sbx_buf_reserve(&t->todo, n + 1);
  if (rc < 0)
    return n > PATH_MAX ? 0 : rc;
  sbx_buf_append(&t->todo, "+", 1);
  return sbx_buf_append(&t->todo, path, n);
}

static int open_directory(struct sbx_dirwalk *t) {
  struct sbx_place at = {.dir = t->root, .name = "."};
  int rc = t->path[0] ? sbx_beneath_find(&at, t->root, t->path, 0) : 0;
  if (rc < 0)
    return rc;
  int fd =
      openat(at.dir, at.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  t->dir = fd < 0 ? NULL : fdopendir(fd);
  rc = t->dir ? 0 : -errno;
  if (fd >= 0 && !t->dir)
    close(fd);
  if (at.dir != t->root)
    close(at.dir);
  return rc;
}

/* The top of the stack is opened, and taken off when what came on top of it
 * is done. */
static int next_directory(struct sbx_dirwalk *t) {
  if (t->todo.len == 0)
    return SBX_DIRWALK_END;
  char *data = (char *)t->todo.data;
  char *end = memrchr(data, '\0', t->todo.len - 1);
  char *mark = end ? end + 1 : data;
  t->base = (size_t)(stpcpy(t->path, mark + 1) - t->path);
  if (*mark == '-') {
    t->todo.len = (size_t)(mark - data);
    return SBX_DIRWALK_LEFT;
  }
  *mark = '-';
  int rc = open_directory(t);
  if (rc == 0)
    return SBX_DIRWALK_OPENED;
  t->error = rc;
  if (t->base == 0 || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
    return rc;
  return next_directory(t); /* it is left at once */
}

int sbx_dirwalk_next(struct sbx_dirwalk *t) {
  while (t->dir) {
    struct dirent *e = readdir(t->dir);
    if (!e) {
      closedir(t->dir);
      t->dir = NULL;
    } else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
      t->name = e->d_name;
      if (t->base > 0)
        t->path[t->base] = '/';
      stpcpy(t->path + t->base + (t->base > 0), t->name);
      if (fstatat(dirfd(t->dir), t->name, &t->st, AT_SYMLINK_NOFOLLOW) == 0)
        return SBX_DIRWALK_ENTRY;
    }
  }
  return next_directory(t);
}
