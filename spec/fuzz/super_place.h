/* SPDX-License-Identifier: MIT */
/* super_place.h - the directory that stands for every workspace, and as whom
 * files are changed: root has no rights elsewhere meanwhile. It is made once,
 * emptied after each input, and removed at the end. */
#ifndef SBX_SUPER_PLACE_H
#define SBX_SUPER_PLACE_H

#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>

#include "super_world.h"

#define WORLD_NOBODY 65534
#define PLACE_FDS    200

static char world_dir[32];
static int world_fd = -1, world_start = -1;

/* ---- creds.h, and the accounts ------------------------------------------- */

int sbx_creds_init(void) {
  return 0;
}

int sbx_creds_hide(uid_t id, const struct sbx_creds *user) {
  if (id == user->uid)
    abort();
  return 0;
}

void sbx_creds_enter(void) {
  if (world.entered++ != 0)
    abort();
  if (geteuid() == 0) {
    setfsgid(WORLD_NOBODY);
    setfsuid(WORLD_NOBODY);
  }
}

void sbx_creds_leave(void) {
  int error = errno;
  if (--world.entered != 0)
    abort();
  setfsuid(geteuid());
  setfsgid(getegid());
  errno = error;
}

bool sbx_creds_may_write(int dir) {
  return dir >= 0 && !(world.flags & WORLD_READ_ONLY);
}

int sbx_creds_become(const struct sbx_creds *c) {
  (void)c;
  abort(); /* nobody is forked */
}

static char *world_accounts(const char *path, size_t max, size_t *len) {
  char text[256];
  int n = snprintf(text, sizeof(text),
                   strcmp(path, "/etc/passwd") == 0
                       ? "root:x:0:0::/root:/bin/sh\nu:x:%u:%u::/home/u:\n"
                       : "root:x:0:\nu:x:%u:\nmore:x:77%u:u\n",
                   geteuid(), getegid());
  char *copy = (size_t)n <= max ? strdup(text) : NULL;
  *len = copy ? (size_t)n : 0;
  return copy;
}

/* ---- the directory ------------------------------------------------------- */

/* A directory: empty, or what is in it comes up to the top first, so that it
 * does not matter how deep the tree is. */
static void place_flatten(int top, const char *name) {
  static unsigned long long number;
  char up[64];
  struct dirent *e;
  fchmodat(top, name, 0700, 0);
  int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d)
    abort();
  while ((e = readdir(d)))
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
        unlinkat(fd, e->d_name, 0) < 0) {
      snprintf(up, sizeof(up), "up-%llu", ++number);
      if (renameat(fd, e->d_name, top, up) < 0) {
        fchmodat(fd, e->d_name, 0700, 0);
        if (renameat(fd, e->d_name, top, up) < 0)
          abort();
      }
    }
  closedir(d);
}

static void place_empty(void) {
  bool again = true;
  fchmod(world_fd, 0755);
  while (again) {
    struct dirent *e;
    int fd = openat(world_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
      abort();
    again = false;
    while ((e = readdir(d))) {
      if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
          unlinkat(world_fd, e->d_name, 0) == 0)
        continue;
      again = true;
      if (unlinkat(world_fd, e->d_name, AT_REMOVEDIR) < 0)
        place_flatten(world_fd, e->d_name);
    }
    closedir(d);
  }
}

static void place_remove(void) {
  place_empty();
  rmdir(world_dir);
}

static void place_make(void) {
  struct rlimit limit;
  if (world_fd >= 0)
    return;
  snprintf(world_dir, sizeof(world_dir), "%s", "/tmp/anvia-fuzz-XXXXXX");
  world_start = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!mkdtemp(world_dir) || atexit(place_remove) != 0)
    abort();
  if (geteuid() == 0 && chown(world_dir, WORLD_NOBODY, WORLD_NOBODY) < 0)
    abort();
  world_fd = open(world_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (world_fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
    abort();
  signal(SIGPIPE, SIG_IGN); /* the supervisor blocks it */
  limit.rlim_cur = 200;     /* so that they can run out */
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
    abort();
}

/* How many descriptors are open. */
static int place_count_fds(void) {
  struct pollfd fds[PLACE_FDS];
  int n = PLACE_FDS;
  for (int i = 0; i < PLACE_FDS; i++)
    fds[i] = (struct pollfd){.fd = i};
  if (poll(fds, PLACE_FDS, 0) < 0)
    abort();
  for (int i = 0; i < PLACE_FDS; i++)
    n -= (fds[i].revents & POLLNVAL) != 0;
  return n;
}

/* For lease.c: no other place is ever opened. */
static int place_open(const char *path, int flags) {
  if (strcmp(path, "/w") == 0)
    return open(world_dir, flags);
  errno = ENOENT;
  return -1;
}

/* A watch goes to the directory that it watches, and then to the root. */
static void place_leave(void) {
  if (fchdir(world_start) < 0)
    abort();
}

/* Somebody else does something in there. */
static void place_touch(uint8_t how) {
  static const char *const names[] = {"a", "d/f", "d", ".anvia-x"};
  const char *name = names[how % 4];
  int fd = -1;
  sbx_creds_enter();
  if (how / 4 % 8 == 0)
    unlinkat(world_fd, name, 0);
  else if (how / 4 % 8 == 1)
    unlinkat(world_fd, name, AT_REMOVEDIR);
  else if (how / 4 % 8 == 2)
    mkdirat(world_fd, name, 0755);
  else if (how / 4 % 8 == 3)
    mkfifoat(world_fd, name, 0600);
  else if (how / 4 % 8 == 4 && symlinkat(world_dir, world_fd, name) < 0)
    errno = 0;
  else
    fd = openat(world_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                0644);
  if (fd >= 0 && ftruncate(fd, how * 1000L) == 0)
    close(fd);
  else if (fd >= 0)
    close(fd);
  sbx_creds_leave();
}

#endif
