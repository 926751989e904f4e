/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/files.h"

#define TODO_MAX   (8u * 1024 * 1024)
#define FRAME_FULL (60u * 1024)

int sbx_tree_open(struct sbx_tree *t, const struct sbx_place *at) {
  sbx_buf_init(&t->todo, TODO_MAX);
  t->root =
      openat(at->dir, at->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return t->root < 0 ? -errno : sbx_tree_push(t, "");
}

void sbx_tree_close(struct sbx_tree *t) {
  if (t->dir)
    closedir(t->dir);
  if (t->root >= 0)
    close(t->root);
  sbx_buf_fini(&t->todo);
}

int sbx_tree_push(struct sbx_tree *t, const char *path) {
  size_t n = strlen(path) + 1;
  int rc = n > PATH_MAX ? -EMSGSIZE : sbx_buf_reserve(&t->todo, n + 1);
  if (rc < 0)
    return n > PATH_MAX ? 0 : rc;
  sbx_buf_append(&t->todo, "+", 1);
  return sbx_buf_append(&t->todo, path, n);
}

static int open_directory(struct sbx_tree *t) {
  struct sbx_place at = {.dir = t->root, .name = "."};
  int rc = t->path[0] ? sbx_find(&at, t->root, t->path, 0) : 0;
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
static int next_directory(struct sbx_tree *t) {
  if (t->todo.len == 0)
    return SBX_TREE_END;
  char *data = (char *)t->todo.data;
  char *end = memrchr(data, '\0', t->todo.len - 1);
  char *mark = end ? end + 1 : data;
  t->base = (size_t)(stpcpy(t->path, mark + 1) - t->path);
  if (*mark == '-') {
    t->todo.len = (size_t)(mark - data);
    return SBX_TREE_LEFT;
  }
  *mark = '-';
  int rc = open_directory(t);
  if (rc == 0)
    return SBX_TREE_OPENED;
  t->error = rc;
  if (t->base == 0 || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
    return rc;
  return next_directory(t); /* it is left at once */
}

int sbx_tree_next(struct sbx_tree *t) {
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
        return SBX_TREE_ENTRY;
    }
  }
  return next_directory(t);
}

/* Appends one string of an ENTRY frame. */
static int append_entry(struct sbx_buf *b, int dir, const char *name,
                        const char *path, const struct stat *st) {
  char target[PATH_MAX];
  mode_t mode = st->st_mode;
  struct sbx_msg_entry e = {.mode = mode & 07777,
                            .size = (uint64_t)st->st_size,
                            .path = {(const uint8_t *)path, strlen(path)}};
  e.type = S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : 'o';
  if (S_ISLNK(mode)) {
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    e.type = 'l';
    e.target.data = (const uint8_t *)target;
    e.target.len = n > 0 ? (size_t)n : 0;
  }
  if (st->st_mtim.tv_sec >= 0)
    e.mtime_ms = (uint64_t)st->st_mtim.tv_sec * 1000 +
                 (uint64_t)st->st_mtim.tv_nsec / 1000000;
  size_t at = b->len + 4;
  int rc = sbx_buf_append(b, "\0\0\0\0", 4); /* its length */
  if (rc == 0)
    rc = sbx_entry_encode(b, &e);
  if (rc == 0)
    sbx_put_u32(b->data + at - 4, (uint32_t)(b->len - at));
  return rc < 0 ? rc : sbx_buf_append(b, "", 1);
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
  struct sbx_tree tree;
  struct sbx_place place;
  uint64_t left; /* entries that may be listed */
  bool recursive;
};

static void work_free(struct work *w) {
  sbx_turn_drop(&w->turn);
  sbx_tree_close(&w->tree);
  sbx_place_close(&w->place);
  free(w);
}

static void work_forget(struct sbx_channel *c) {
  work_free(SBX_LIST_OWNER(c, struct work, channel));
}

static const struct sbx_channel_ops work_ops = {sbx_files_no_frame,
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
  struct sbx_tree *t = &w->tree;
  int what = *count < w->left ? sbx_tree_next(t) : SBX_TREE_END;
  if (what != SBX_TREE_ENTRY)
    return what;
  int rc = append_entry(b, dirfd(t->dir), t->name, t->path, &t->st);
  if (rc == 0 && w->recursive && S_ISDIR(t->st.st_mode))
    rc = sbx_tree_push(t, t->path);
  ++*count;
  return rc < 0 ? rc : what;
}

static void list_take(struct sbx_turn *turn) {
  struct work *w = SBX_LIST_OWNER(turn, struct work, turn);
  struct sbx_buf *b = sbx_link_begin();
  size_t start = b->len;
  uint32_t count = 0;
  int rc = 1;

  sbx_buf_append(b, "\0\0\0\0", 4);
  sbx_user_enter();
  for (int i = 0; rc > 0 && i < SBX_TREE_PORTION; i++)
    if (b->len - start < FRAME_FULL)
      rc = list_next(w, b, &count);
  sbx_user_leave();
  w->left -= count;
  sbx_put_u32(b->data + start, count);
  if (count > 0 && rc >= 0)
    sbx_link_end(w->channel.id, SBX_MSG_ENTRY);
  else
    sbx_link_cancel();
  work_next(w, rc);
}

static int remove_next(struct work *w) {
  struct sbx_tree *t = &w->tree;
  struct sbx_place at = w->place;
  int what = sbx_tree_next(t), rc = 0;
  if (what == SBX_TREE_ENTRY && S_ISDIR(t->st.st_mode)) {
    rc = sbx_tree_push(t, t->path);
  } else if (what == SBX_TREE_ENTRY) {
    rc = unlinkat(dirfd(t->dir), t->name, 0) < 0 ? -errno : 0;
  } else if (what == SBX_TREE_LEFT) {
    if (t->path[0])
      rc = sbx_find(&at, t->root, t->path, 0);
    if (rc == 0 && unlinkat(at.dir, at.name, AT_REMOVEDIR) < 0)
      rc = t->error < 0 ? t->error : -errno;
    if (t->path[0])
      sbx_place_close(&at);
  }
  return rc < 0 && rc != -ENOENT ? rc : what;
}

static void remove_take(struct sbx_turn *turn) {
  struct work *w = SBX_LIST_OWNER(turn, struct work, turn);
  int rc = 1;
  sbx_user_enter();
  for (int i = 0; rc > 0 && i < SBX_TREE_PORTION; i++)
    rc = remove_next(w);
  sbx_user_leave();
  work_next(w, rc);
}

static struct work *work_start(uint32_t id, const struct sbx_place *at,
                               int *rc) {
  struct work *w = calloc(1, sizeof(*w));
  *rc = w ? 0 : -ENOMEM;
  if (!w)
    return NULL;
  w->place.dir = w->tree.root = -1;
  *rc = sbx_tree_open(&w->tree, at);
  if (*rc < 0) {
    work_free(w);
    return NULL;
  }
  sbx_channel_open(&w->channel, id, &work_ops);
  return w;
}

int sbx_list_start(uint32_t id, const struct sbx_msg_file *m) {
  struct sbx_place at;
  int rc = sbx_find(&at, sbx_super.workspace, (const char *)m->path.data,
                    SBX_FIND_FOLLOW);
  if (rc < 0)
    return rc;
  struct work *w = work_start(id, &at, &rc);
  sbx_place_close(&at);
  if (!w)
    return rc;
  w->left = m->length;
  w->recursive = m->flags & SBX_FILE_RECURSIVE;
  w->turn.take = list_take;
  w->turn.sends = true;
  sbx_turn_queue(&w->turn);
  return 1;
}

int sbx_remove_start(uint32_t id, struct sbx_place *at) {
  int rc;
  struct work *w = work_start(id, at, &rc);
  if (!w)
    return rc;
  w->place = *at;
  at->dir = -1;
  w->turn.take = remove_take;
  sbx_turn_queue(&w->turn);
  return 1;
}
