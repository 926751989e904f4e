/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "supervisor/files.h"
#include "wire/filemsg.h"

#define FRAME_FULL (60u * 1024)

static struct sbx_str str_of(const void *text, ssize_t len) {
  return (struct sbx_str){text, len > 0 ? (size_t)len : 0};
}

static int append_entry(struct sbx_buf *b, int dir, const char *name,
                        const char *path, const struct stat *st) {
  char target[PATH_MAX];
  ssize_t n =
      S_ISLNK(st->st_mode) ? readlinkat(dir, name, target, sizeof(target)) : 0;
  return sbx_filemsg_entry(b, st, str_of(path, (ssize_t)strlen(path)),
                           str_of(target, n));
}

void sbx_entry_send(uint32_t id, int dir, const char *name,
                    const struct stat *st) {
  struct sbx_buf *b = sbx_link_begin();
  sbx_buf_append(b, "\1\0\0\0", 4);
  append_entry(b, dir, name, "", st);
  sbx_link_end(id, SBX_MSG_ENTRY);
}

/* LIST, or REMOVE of `place`. */
struct work {
  struct sbx_channel channel;
  struct sbx_turn turn;
  struct sbx_dirwalk tree;
  struct sbx_place place;
  uint64_t left; /* entries that may be listed */
  bool recursive;
};

static void work_free(struct work *w) {
  sbx_turn_drop(&w->turn);
  sbx_dirwalk_close(&w->tree);
  sbx_beneath_close(&w->place);
  free(w);
}

static void work_forget(struct sbx_channel *c) {
  work_free(SBX_LIST_OWNER(c, struct work, channel));
}

static const struct sbx_channel_ops work_ops = {sbx_channel_no_frame,
                                                work_forget};

/* Goes on with a portion, or ends. */
static void work_next(struct work *w, int rc) {
  uint32_t id = w->channel.id;
  if (rc > 0) {
    sbx_turn_queue(&w->turn);
    return;
  }
  sbx_channel_close(&w->channel);
  work_free(w);
  sbx_files_done(id, rc, "");
}

static int list_next(struct work *w, struct sbx_buf *b, uint32_t *count) {
  struct sbx_dirwalk *t = &w->tree;
  int what = *count < w->left ? sbx_dirwalk_next(t) : SBX_DIRWALK_END;
  if (what != SBX_DIRWALK_ENTRY)
    return what;
  int rc = append_entry(b, dirfd(t->dir), t->name, t->path, &t->st);
  if (rc == 0 && w->recursive && S_ISDIR(t->st.st_mode))
    rc = sbx_dirwalk_push(t, t->path);
  ++*count;
  return rc < 0 ? rc : what;
}

static void list_take(struct sbx_turn *turn) {
  struct work *w = SBX_LIST_OWNER(turn, struct work, turn);
  struct sbx_buf *b = sbx_link_begin();
  size_t start = b->len;
  uint32_t count = 0;
  uint64_t until = sbx_now_ms() + SBX_DIRWALK_PORTION_MS;
  int rc = 1;

  sbx_buf_append(b, "\0\0\0\0", 4);
  sbx_creds_enter();
  while (rc > 0 && b->len - start < FRAME_FULL && sbx_now_ms() < until)
    rc = list_next(w, b, &count);
  sbx_creds_leave();
  w->left -= count;
  sbx_put_u32(b->data + start, count);
  if (count > 0 && rc >= 0)
    sbx_link_end(w->channel.id, SBX_MSG_ENTRY);
  else
    sbx_link_cancel();
  work_next(w, rc);
}

static int remove_next(struct work *w) {
  struct sbx_dirwalk *t = &w->tree;
  struct sbx_place at = w->place;
  int what = sbx_dirwalk_next(t), rc = 0;
  if (what == SBX_DIRWALK_ENTRY && S_ISDIR(t->st.st_mode)) {
    char name[] = ".anvia-0123456789abcdef";
    bool deep = strlen(t->path) >= PATH_MAX; /* it is moved up */
    rc = deep ? sbx_random_hex(name + 7, 16) : 0;
    if (rc == 0 && deep && renameat(dirfd(t->dir), t->name, t->root, name) < 0)
      rc = -errno;
    if (rc == 0)
      rc = sbx_dirwalk_push(t, deep ? name : t->path);
  } else if (what == SBX_DIRWALK_ENTRY) {
    rc = unlinkat(dirfd(t->dir), t->name, 0) < 0 ? -errno : 0;
  } else if (what == SBX_DIRWALK_LEFT) {
    if (t->path[0])
      rc = sbx_beneath_find(&at, t->root, t->path, 0);
    if (rc == 0 && unlinkat(at.dir, at.name, AT_REMOVEDIR) < 0)
      rc = t->error < 0 ? t->error : -errno;
    if (t->path[0])
      sbx_beneath_close(&at);
  }
  return rc < 0 && rc != -ENOENT ? rc : what;
}

static void remove_take(struct sbx_turn *turn) {
  struct work *w = SBX_LIST_OWNER(turn, struct work, turn);
  uint64_t until = sbx_now_ms() + SBX_DIRWALK_PORTION_MS;
  int rc = 1;
  sbx_creds_enter();
  while (rc > 0 && sbx_now_ms() < until)
    rc = remove_next(w);
  sbx_creds_leave();
  work_next(w, rc);
}

/* Takes `at`, if it starts. */
static int work_start(uint32_t id, struct sbx_place *at, uint64_t left,
                      bool recursive, void (*take)(struct sbx_turn *)) {
  struct work *w = calloc(1, sizeof(*w));
  if (!w)
    return -ENOMEM;
  w->place.dir = w->tree.root = -1;
  int rc = sbx_dirwalk_open(&w->tree, at);
  if (rc < 0) {
    work_free(w);
    return rc;
  }
  w->place = *at;
  at->dir = -1;
  w->left = left;
  w->recursive = recursive;
  w->turn.take = take;
  w->turn.sends = take == list_take;
  sbx_channel_open(&w->channel, id, &work_ops);
  sbx_turn_queue(&w->turn);
  return 1;
}

int sbx_list_start(uint32_t id, const struct sbx_msg_file *m) {
  struct sbx_place at;
  int rc = sbx_beneath_find(&at, sbx_super.workspace,
                            (const char *)m->path.data, SBX_BENEATH_FOLLOW);
  if (rc == 0)
    rc = work_start(id, &at, m->length, m->flags & SBX_FILE_RECURSIVE,
                    list_take);
  sbx_beneath_close(&at);
  return rc;
}

int sbx_remove_start(uint32_t id, struct sbx_place *at) {
  return work_start(id, at, 0, true, remove_take);
}
