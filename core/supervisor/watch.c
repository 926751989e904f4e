/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/journal.h"
#include "supervisor/files.h"

#define WATCHES_MAX 16
#define SPOTS_MAX   8192
#define PORTION     16 /* events sent, or buffers of them read, at a time */
#define MASK                                                                   \
  (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |           \
   IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK)

/* A directory that the kernel watches for us. */
struct spot {
  int wd;
  char *path; /* from the watch's root */
};

/* A watched directory. It goes on without a reader, for those who come back,
 * until its place is needed. */
struct watch {
  struct sbx_list link, readers;
  struct sbx_handler handler; /* inotify */
  struct sbx_turn turn;       /* takes events, and walks through new places */
  struct sbx_tree tree;       /* those */
  struct sbx_journal journal;
  struct stat st; /* who it is */
  bool recursive;
  bool quiet; /* what the walk finds was there before */
  int error;
  struct spot *spots;
  unsigned spot_count;
};

struct reader {
  struct sbx_channel channel;
  struct sbx_list link;
  struct sbx_turn turn;
  struct watch *watch;
  bool told; /* that it is ready */
  uint64_t cursor;
};

static struct sbx_list watches = {&watches, &watches}; /* oldest first */
static unsigned watch_count;
static uint64_t newest = 1; /* cursor of all watches */

static void wake(struct watch *w) {
  struct sbx_list *it, *tmp;
  SBX_LIST_EACH (it, tmp, &w->readers)
    sbx_turn_queue(&SBX_LIST_OWNER(it, struct reader, link)->turn);
}

static void tell(struct watch *w, uint8_t kind, const char *path) {
  sbx_journal_add(&w->journal, ++newest, kind, path, 'm');
  wake(w);
}

static void lose(struct watch *w) {
  sbx_journal_lose(&w->journal, ++newest);
  wake(w);
}

static void drop_spot(struct watch *w, unsigned i) {
  free(w->spots[i].path);
  w->spots[i] = w->spots[--w->spot_count];
}

/* A directory has gone elsewhere, with all below it. */
static void drop_below(struct watch *w, const char *path) {
  size_t n = strlen(path);
  for (unsigned i = w->spot_count; i-- > 0;) {
    const char *p = w->spots[i].path;
    if (strncmp(p, path, n) == 0 && (p[n] == '/' || p[n] == '\0')) {
      inotify_rm_watch(w->handler.fd, w->spots[i].wd);
      drop_spot(w, i);
    }
  }
}

/* The directory that the tree has opened. There is no other way from a
 * descriptor to a watch without /proc than to go there. */
static int add_spot(struct watch *w) {
  struct spot *s;
  int wd = -1;
  if (fchdir(dirfd(w->tree.dir)) == 0)
    wd = inotify_add_watch(w->handler.fd, ".", MASK);
  int rc = wd < 0 ? -errno : 0;
  if (chdir("/") < 0 || rc < 0)
    return rc;
  for (unsigned i = w->spot_count; i-- > 0;)
    if (w->spots[i].wd == wd)
      drop_spot(w, i);
  if (w->spot_count == SPOTS_MAX)
    return -ENOSPC;
  s = realloc(w->spots, (w->spot_count + 1) * sizeof(*s));
  if (!s)
    return -ENOMEM;
  w->spots = s;
  s += w->spot_count;
  *s = (struct spot){wd, strdup(w->tree.path)};
  if (!s->path)
    return -ENOMEM;
  w->spot_count++;
  return 0;
}

static void on_event(struct watch *w, const struct inotify_event *e) {
  static char path[sizeof(w->tree.path)];
  unsigned i = 0;
  if (e->mask & IN_Q_OVERFLOW) {
    lose(w);
    w->quiet = true;
    sbx_tree_push(&w->tree, "");
    return;
  }
  while (i < w->spot_count && w->spots[i].wd != e->wd)
    i++;
  if (i == w->spot_count)
    return;
  if (e->mask & IN_IGNORED) {
    drop_spot(w, i);
    return;
  }
  if (e->len == 0 || strncmp(e->name, ".anvia-", 7) == 0)
    return; /* about the directory itself; a file that is being written */
  char *end = stpcpy(path, w->spots[i].path);
  if (end > path)
    *end++ = '/';
  stpcpy(end, e->name);
  bool deep = w->recursive && (e->mask & IN_ISDIR);
  if (e->mask & (IN_CREATE | IN_MOVED_TO)) {
    tell(w, 'c', path);
    if (deep && sbx_tree_push(&w->tree, path) < 0)
      lose(w);
  } else if (e->mask & (IN_DELETE | IN_MOVED_FROM)) {
    tell(w, 'd', path);
    if (deep)
      drop_below(w, path);
  } else {
    tell(w, 'm', path);
  }
}

/* One portion of the walk; 0 when it is over. */
static int walk_on(struct watch *w) {
  struct sbx_tree *t = &w->tree;
  int what = 1, rc = 0;
  for (int i = 0; what > 0 && rc == 0 && i < SBX_TREE_PORTION; i++) {
    what = sbx_tree_next(t);
    if (what == SBX_TREE_OPENED) {
      rc = add_spot(w);
      if (t->path[0] && rc != -ENOSPC && rc != -ENOMEM)
        rc = 0; /* it has gone, or is closed to the user */
    } else if (what == SBX_TREE_ENTRY) {
      if (!w->quiet)
        tell(w, 'c', t->path);
      if (w->recursive && S_ISDIR(t->st.st_mode))
        rc = sbx_tree_push(t, t->path);
    }
  }
  return rc < 0 ? rc : what;
}

static void watch_take(struct sbx_turn *turn) {
  static char data[8192] __attribute__((aligned(8)));
  struct watch *w = SBX_LIST_OWNER(turn, struct watch, turn);
  ssize_t n = read(w->handler.fd, data, sizeof(data));
  for (ssize_t at = 0; at < n;) {
    const struct inotify_event *e = (const void *)(data + at);
    on_event(w, e);
    at += (ssize_t)(sizeof(*e) + e->len);
  }
  sbx_user_enter();
  int rc = walk_on(w);
  sbx_user_leave();
  w->error = rc < 0 ? rc : 0;
  if (rc <= 0 && w->quiet) {
    w->quiet = false;
    wake(w);
  }
  if (rc > 0 || (rc == 0 && n > 0))
    sbx_turn_queue(turn);
}

static void on_ready(struct sbx_handler *h, uint32_t events) {
  (void)events;
  sbx_turn_queue(&SBX_LIST_OWNER(h, struct watch, handler)->turn);
}

static void watch_close(struct watch *w) {
  sbx_list_remove(&w->link);
  watch_count--;
  sbx_turn_drop(&w->turn);
  sbx_loop_drop(&w->handler);
  sbx_tree_close(&w->tree);
  sbx_journal_fini(&w->journal);
  while (w->spot_count > 0)
    drop_spot(w, 0);
  free(w->spots);
  free(w);
}

/* The watch of this directory, if there is one; makes room for it, if not. */
static struct watch *find_watch(const struct stat *st, bool recursive) {
  struct sbx_list *it, *tmp;
  struct watch *idle = NULL;
  SBX_LIST_EACH (it, tmp, &watches) {
    struct watch *w = SBX_LIST_OWNER(it, struct watch, link);
    if (w->error == 0 && w->recursive == recursive && sbx_same_file(&w->st, st))
      return w;
    if (!idle && sbx_list_empty(&w->readers))
      idle = w;
  }
  if (idle && watch_count == WATCHES_MAX)
    watch_close(idle);
  return NULL;
}

static int watch_open(const struct sbx_place *at, bool recursive,
                      struct watch **out) {
  struct watch *w = calloc(1, sizeof(*w));
  if (!w)
    return -ENOMEM;
  sbx_list_append(&watches, &w->link);
  watch_count++;
  sbx_list_init(&w->readers);
  sbx_journal_init(&w->journal, ++newest);
  w->handler.fd = w->tree.root = -1;
  w->handler.ready = on_ready;
  w->turn.take = watch_take;
  w->st = at->st;
  w->recursive = recursive;
  w->quiet = true;
  int rc = watch_count > WATCHES_MAX ? -EMFILE : sbx_tree_open(&w->tree, at);
  int fd = rc < 0 ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (rc == 0)
    rc = fd < 0 ? -errno : sbx_loop_watch(&w->handler, fd, EPOLLIN);
  if (rc < 0) {
    if (fd >= 0)
      close(fd);
    watch_close(w);
    return rc;
  }
  sbx_turn_queue(&w->turn);
  *out = w;
  return 0;
}

static void on_forget(struct sbx_channel *c) {
  struct reader *r = SBX_LIST_OWNER(c, struct reader, channel);
  struct watch *w = r->watch;
  sbx_turn_drop(&r->turn);
  sbx_list_remove(&r->link);
  free(r);
  sbx_list_remove(&w->link); /* the one that was needed last */
  sbx_list_append(&watches, &w->link);
  if (w->error < 0 && sbx_list_empty(&w->readers))
    watch_close(w);
}

static const struct sbx_channel_ops ops = {sbx_files_no_frame, on_forget};

static void send_event(struct reader *r, uint8_t kind, const char *path) {
  struct sbx_msg_event m = {
      r->cursor, kind, {(const uint8_t *)path, strlen(path)}};
  sbx_event_encode(sbx_link_begin(), &m);
  sbx_link_end(r->channel.id, SBX_MSG_EVENT);
}

static void reader_take(struct sbx_turn *turn) {
  struct reader *r = SBX_LIST_OWNER(turn, struct reader, turn);
  const struct sbx_journal *j = &r->watch->journal;
  if (r->watch->error < 0) {
    sbx_files_done(r->channel.id, r->watch->error, "");
    sbx_channel_close(&r->channel);
    on_forget(&r->channel);
    return;
  }
  if (!r->told) {
    if (r->watch->quiet)
      return;
    r->told = true;
    if (r->cursor == 0)
      r->cursor = newest;
    if (r->cursor > newest)
      r->cursor = 1; /* never one of ours, and before all of them */
    send_event(r, 'r', "");
  }
  if (r->cursor < j->lost) {
    r->cursor = j->lost;
    send_event(r, 'l', "");
  }
  for (int i = 0; i < PORTION; i++) {
    const struct sbx_journal_item *item = sbx_journal_next(j, r->cursor);
    if (!item)
      return;
    r->cursor = item->cursor;
    send_event(r, item->kind, item->text);
  }
  sbx_turn_queue(turn);
}

int sbx_watch_start(uint32_t id, const struct sbx_msg_file *m) {
  struct sbx_place at;
  struct reader *r = calloc(1, sizeof(*r));
  bool recursive = m->flags & SBX_FILE_RECURSIVE;
  if (!r)
    return -ENOMEM;
  int rc = sbx_find(&at, sbx_super.workspace, (const char *)m->path.data,
                    SBX_FIND_FOLLOW);
  if (rc == 0) {
    r->watch = find_watch(&at.st, recursive);
    if (!r->watch)
      rc = watch_open(&at, recursive, &r->watch);
    sbx_place_close(&at);
  }
  if (rc < 0) {
    free(r);
    return rc;
  }
  sbx_list_append(&r->watch->readers, &r->link);
  r->cursor = m->offset;
  r->turn.take = reader_take;
  r->turn.sends = true;
  sbx_channel_open(&r->channel, id, &ops);
  sbx_turn_queue(&r->turn);
  return 1;
}
