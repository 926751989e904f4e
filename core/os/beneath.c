/* SPDX-License-Identifier: MIT */
#include "os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40
#define STEPS_MAX 8192 /* names looked at, so that no path takes seconds */
#define OPEN_DIR  (O_PATH | O_DIRECTORY | O_CLOEXEC)

bool sbx_beneath_by_hand;

/* A path taken one name at a time: no step but the one back to the root leads
 * anywhere else than one name down, so none can lead out. */
struct walk {
  int root;
  struct sbx_place *at;
  unsigned how, links, steps;
  char done[PATH_MAX];     /* from root to at->dir, "" or "/a/b" */
  char text[2 * PATH_MAX]; /* its end is what is still to go */
  char *rest;              /* ... and begins here */
  char *own;               /* what is before this comes from links */
};

bool sbx_beneath_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void sbx_beneath_close(struct sbx_place *at) {
  if (at->dir >= 0)
    close(at->dir);
  at->dir = -1;
}

static int look(struct sbx_place *at) {
  memset(&at->st, 0, sizeof(at->st));
  if (fstatat(at->dir, at->name, &at->st, AT_SYMLINK_NOFOLLOW) < 0)
    return -errno;
  return 0;
}

static int move(struct walk *w, int dir) {
  if (dir < 0)
    return -errno;
  sbx_beneath_close(w->at);
  w->at->dir = dir;
  return 0;
}

static int go_home(struct walk *w) {
  w->done[0] = '\0';
  return move(w, fcntl(w->root, F_DUPFD_CLOEXEC, 0));
}

static int prepend(struct walk *w, const char *text, size_t len) {
  if (len > (size_t)(w->rest - w->text))
    return -ENAMETOOLONG;
  if (w->own < w->rest)
    w->own = w->rest;
  w->rest -= len;
  memcpy(w->rest, text, len);
  return 0;
}

/* ".." of a directory is elsewhere when somebody moves it, so the way down is
 * gone again. */
static int go_up(struct walk *w) {
  char *last = strrchr(w->done, '/');
  if (!last)
    return -EXDEV;
  int rc = prepend(w, w->done, (size_t)(last - w->done));
  return rc < 0 ? rc : go_home(w);
}

static int go_down(struct walk *w) {
  size_t len = strlen(w->done), n = strlen(w->at->name);
  if (len + 1 + n >= sizeof(w->done))
    return -ENAMETOOLONG;
  int rc = move(w, openat(w->at->dir, w->at->name, OPEN_DIR | O_NOFOLLOW));
  if (rc == 0) {
    w->done[len] = '/';
    memcpy(w->done + len + 1, w->at->name, n + 1);
  }
  return rc;
}

/* What an absolute path has behind the root, which is recognized by what it is,
 * not by its name. NULL: the path is outside. */
static const char *below_root(struct walk *w, char *path) {
  const char *found = NULL;
  struct stat root, st;
  if (fstat(w->root, &root) < 0)
    return NULL;
  for (char *p = path + 1;; p++) {
    char c = *p;
    if (c == '/' ? p[-1] == '/' : c != '\0')
      continue;
    *p = '\0';
    int rc = stat(path, &st);
    *p = c;
    if (rc == 0 && sbx_beneath_same(&st, &root))
      found = p;
    if (rc < 0 || c == '\0' || ++w->steps > STEPS_MAX)
      return found;
  }
}

static int follow(struct walk *w) {
  char text[PATH_MAX];
  const char *to = text;
  if (++w->links > LINKS_MAX)
    return -ELOOP;
  ssize_t n = readlinkat(w->at->dir, w->at->name, text, sizeof(text));
  if (n <= 0)
    return n < 0 ? -errno : -ENOENT;
  if (n == sizeof(text))
    return -ENAMETOOLONG;
  text[n] = '\0';
  if (text[0] == '/') {
    to = below_root(w, text);
    int rc = to ? go_home(w) : -EXDEV;
    if (rc < 0)
      return rc;
  }
  return prepend(w, to, strlen(to));
}

/* The next name: 0 to go on, 1 when it is the one that was looked for. */
static int step(struct walk *w) {
  struct sbx_place *at = w->at;
  w->rest += strspn(w->rest, "/");
  size_t n = strcspn(w->rest, "/");
  bool make = (w->how & SBX_BENEATH_MAKE) && w->rest >= w->own;
  if (++w->steps > STEPS_MAX)
    return -ELOOP;
  if (n > NAME_MAX)
    return -ENAMETOOLONG;
  memcpy(at->name, n > 0 ? w->rest : ".", n > 0 ? n : 1);
  at->name[n > 0 ? n : 1] = '\0';
  w->rest += n;
  bool last = *w->rest == '\0';

  if (strcmp(at->name, "..") == 0)
    return go_up(w);
  int rc = look(at);
  if (rc < 0 && (rc != -ENOENT || (!last && !make)))
    return rc;
  if (S_ISLNK(at->st.st_mode) && (!last || (w->how & SBX_BENEATH_FOLLOW)))
    return follow(w);
  if (last)
    return 1;
  if (strcmp(at->name, ".") == 0)
    return 0;
  if (rc < 0 && mkdirat(at->dir, at->name, 0755) < 0 && errno != EEXIST)
    return -errno;
  return go_down(w);
}

static int walk(struct sbx_place *at, int root, const char *path,
                unsigned how) {
  struct walk w = {.root = root, .at = at, .how = how};
  w.own = w.rest = w.text + sizeof(w.text) - 1;
  int rc = prepend(&w, path, strlen(path));
  w.own = w.rest;
  if (rc == 0)
    rc = go_home(&w);
  while (rc == 0)
    rc = step(&w);
  return rc < 0 ? rc : 0;
}

/* The same by the kernel, for all but absolute links and a last link. */
static int ask_kernel(struct sbx_place *at, int root, const char *path) {
  struct open_how how = {.flags = OPEN_DIR,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  char parent[PATH_MAX] = ".";
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  size_t n = strlen(name);
  if (sbx_beneath_by_hand || n == 0 || n > NAME_MAX || strcmp(name, ".") == 0 ||
      strcmp(name, "..") == 0)
    return -ENOSYS;
  if (slash > path)
    *(char *)mempcpy(parent, path, (size_t)(slash - path)) = '\0';
  at->dir = (int)syscall(SYS_openat2, root, parent, &how, sizeof(how));
  if (at->dir < 0)
    return -errno;
  memcpy(at->name, name, n + 1);
  int rc = look(at);
  return rc == -ENOENT ? 0 : rc;
}

int sbx_beneath_find(struct sbx_place *at, int root, const char *path,
                     unsigned how) {
  at->dir = -1;
  if (strlen(path) >= PATH_MAX)
    return -ENAMETOOLONG;
  int rc = ask_kernel(at, root, path);
  /* EPERM: an old profile of seccomp; EAGAIN: somebody renames. */
  if (rc == -ENOSYS || rc == -EPERM || rc == -EXDEV || rc == -EAGAIN ||
      (rc == -ENOENT && (how & SBX_BENEATH_MAKE)) ||
      (rc == 0 && S_ISLNK(at->st.st_mode) && (how & SBX_BENEATH_FOLLOW)))
    rc = walk(at, root, path, how);
  if (rc < 0)
    sbx_beneath_close(at);
  return rc;
}
