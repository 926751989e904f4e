/* SPDX-License-Identifier: MIT */
#include "os/dirwatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"

#define MASK                                                                   \
  (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |           \
   IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK)

static uint64_t newest = 1;

uint64_t sbx_dirwatch_newest(void) {
  return newest;
}

static void tell(struct sbx_dirwatch *w, uint8_t kind, const char *path) {
  sbx_journal_add(&w->journal, ++newest, kind, path, 'm');
  w->changed(w);
}

static void lose(struct sbx_dirwatch *w) {
  sbx_journal_lose(&w->journal, ++newest);
  w->changed(w);
}

static void drop_spot(struct sbx_dirwatch *w, unsigned i) {
  free(w->spots[i].path);
  w->spots[i] = w->spots[--w->count];
}

/* A directory has gone elsewhere, with all below it. */
static void drop_below(struct sbx_dirwatch *w, const char *path) {
  size_t n = strlen(path);
  for (unsigned i = w->count; i-- > 0;) {
    const char *p = w->spots[i].path;
    if (strncmp(p, path, n) == 0 && (p[n] == '/' || p[n] == '\0')) {
      inotify_rm_watch(w->handler.fd, w->spots[i].wd);
      drop_spot(w, i);
    }
  }
}

static int keep_spot(struct sbx_dirwatch *w, int wd, const char *path) {
  for (unsigned i = w->count; i-- > 0;)
    if (w->spots[i].wd == wd)
      drop_spot(w, i);
  if (w->count == SBX_DIRWATCH_MAX)
    return -ENOSPC;
  struct sbx_dirwatch_spot *spots =
      realloc(w->spots, (w->count + 1) * sizeof(*spots));
  if (spots)
    w->spots = spots;
  char *copy = spots ? strdup(path) : NULL;
  if (!copy)
    return -ENOMEM;
  spots[w->count++] = (struct sbx_dirwatch_spot){wd, copy};
  return 0;
}

/* The directory that the walk has opened. The way from a descriptor to a watch
 * without /proc is to go there. */
static int add_spot(struct sbx_dirwatch *w) {
  int wd = -1;
  if (fchdir(dirfd(w->walk.dir)) == 0)
    wd = inotify_add_watch(w->handler.fd, ".", MASK);
  int rc = wd < 0 ? -errno : 0;
  int back = chdir("/"); /* so that nothing is held */
  (void)back;
  if (rc < 0)
    return rc;
  rc = keep_spot(w, wd, w->walk.path);
  if (rc < 0)
    inotify_rm_watch(w->handler.fd, wd);
  return rc;
}

static void on_entry(struct sbx_dirwatch *w, uint32_t mask, const char *path) {
  bool deep = w->recursive && (mask & IN_ISDIR);
  if (mask & (IN_CREATE | IN_MOVED_TO)) {
    tell(w, 'c', path);
    if (deep && sbx_dirwalk_push(&w->walk, path) < 0)
      lose(w);
  } else if (mask & (IN_DELETE | IN_MOVED_FROM)) {
    tell(w, 'd', path);
    if (deep)
      drop_below(w, path);
  } else {
    tell(w, 'm', path);
  }
}

static void on_event(struct sbx_dirwatch *w, const struct inotify_event *e) {
  static char path[SBX_DIRWALK_PATH];
  unsigned i = 0;
  if (e->mask & IN_Q_OVERFLOW) { /* directories may have come, too */
    lose(w);
    w->quiet = true;
    if (sbx_dirwalk_push(&w->walk, "") < 0)
      w->error = -ENOMEM;
    return;
  }
  while (i < w->count && w->spots[i].wd != e->wd)
    i++;
  if (i == w->count)
    return;
  if (e->mask & IN_IGNORED) {
    drop_spot(w, i);
    return;
  }
  if (e->len == 0 || strncmp(e->name, ".anvia-", 7) == 0)
    return; /* about the directory itself, or a file that is being written */
  char *end = stpcpy(path, w->spots[i].path);
  if (end > path)
    *end++ = '/';
  stpcpy(end, e->name);
  on_entry(w, e->mask, path);
}

/* One portion of the walk: 0 when it is over. */
static int walk_on(struct sbx_dirwatch *w) {
  struct sbx_dirwalk *t = &w->walk;
  uint64_t until = sbx_now_ms() + SBX_DIRWALK_PORTION_MS;
  int what = 1, rc = 0;
  while (what > 0 && rc == 0 && sbx_now_ms() < until) {
    what = sbx_dirwalk_next(t);
    if (what == SBX_DIRWALK_OPENED) {
      rc = add_spot(w);
      if (t->path[0] && rc != -ENOSPC && rc != -ENOMEM)
        rc = 0; /* it has gone, or is closed to the user */
    } else if (what == SBX_DIRWALK_ENTRY) {
      if (!w->quiet)
        tell(w, 'c', t->path);
      if (w->recursive && S_ISDIR(t->st.st_mode))
        rc = sbx_dirwalk_push(t, t->path);
    }
  }
  return rc < 0 ? rc : what;
}

static void take(struct sbx_turn *turn) {
  static char data[8192] __attribute__((aligned(8)));
  struct sbx_dirwatch *w = SBX_LIST_OWNER(turn, struct sbx_dirwatch, turn);
  ssize_t n = read(w->handler.fd, data, sizeof(data));
  for (ssize_t at = 0; at < n;) {
    const struct inotify_event *e = (const void *)(data + at);
    on_event(w, e);
    at += (ssize_t)(sizeof(*e) + e->len);
  }
  w->enter();
  int rc = w->error < 0 ? w->error : walk_on(w);
  w->leave();
  if (rc > 0 || (rc == 0 && n > 0))
    sbx_turn_queue(turn);
  if (rc < 0)
    w->error = rc;
  if (rc <= 0 && w->quiet) {
    w->quiet = false;
    w->ready = true;
    w->changed(w);
  }
}

static void on_ready(struct sbx_handler *h, uint32_t events) {
  (void)events;
  sbx_turn_queue(&SBX_LIST_OWNER(h, struct sbx_dirwatch, handler)->turn);
}

int sbx_dirwatch_open(struct sbx_dirwatch *w, const struct sbx_place *at,
                      bool recursive) {
  w->st = at->st;
  w->recursive = recursive;
  w->quiet = true;
  w->handler.fd = -1;
  w->handler.ready = on_ready;
  w->turn.take = take;
  sbx_journal_init(&w->journal, ++newest);
  int rc = sbx_dirwalk_open(&w->walk, at);
  if (rc < 0)
    return rc;
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0)
    return -errno;
  rc = sbx_loop_watch(&w->handler, fd, EPOLLIN);
  if (rc < 0)
    close(fd);
  else
    sbx_turn_queue(&w->turn);
  return rc;
}

void sbx_dirwatch_close(struct sbx_dirwatch *w) {
  sbx_turn_drop(&w->turn);
  sbx_loop_drop(&w->handler);
  sbx_dirwalk_close(&w->walk);
  sbx_journal_fini(&w->journal);
  while (w->count > 0)
    drop_spot(w, 0);
  free(w->spots);
}
