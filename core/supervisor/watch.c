/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/dirwatch.h"
#include "supervisor/files.h"

#define WATCHES_MAX 16
#define PORTION     16 /* events sent at a time */

/* A directory that is watched. It goes on without a reader, for one that comes
 * back, until its place is needed. */
struct watch {
  struct sbx_list link, readers;
  struct sbx_dirwatch dir;
};

struct reader {
  struct sbx_channel channel;
  struct sbx_list link;
  struct sbx_turn turn;
  struct watch *watch;
  uint64_t cursor; /* of what it was told last */
  bool told;       /* that it is ready */
};

static struct sbx_list watches = {&watches,
                                  &watches}; /* last used at the end */
static unsigned watch_count;

static void wake(struct sbx_dirwatch *dir) {
  struct watch *w = SBX_LIST_OWNER(dir, struct watch, dir);
  struct sbx_list *it, *tmp;
  SBX_LIST_EACH (it, tmp, &w->readers)
    sbx_turn_queue(&SBX_LIST_OWNER(it, struct reader, link)->turn);
}

static void watch_free(struct watch *w) {
  sbx_list_remove(&w->link);
  watch_count--;
  sbx_dirwatch_close(&w->dir);
  free(w);
}

/* The watch of this directory, if there is one; makes room for it, if not. */
static struct watch *find_watch(const struct stat *st, bool recursive) {
  struct sbx_list *it, *tmp;
  struct watch *idle = NULL;
  SBX_LIST_EACH (it, tmp, &watches) {
    struct watch *w = SBX_LIST_OWNER(it, struct watch, link);
    if (w->dir.error == 0 && w->dir.recursive == recursive &&
        sbx_beneath_same(&w->dir.st, st))
      return w;
    if (!idle && sbx_list_empty(&w->readers))
      idle = w;
  }
  if (idle && watch_count == WATCHES_MAX)
    watch_free(idle);
  return NULL;
}

static int watch_new(const struct sbx_place *at, bool recursive,
                     struct watch **out) {
  struct watch *w = watch_count < WATCHES_MAX ? calloc(1, sizeof(*w)) : NULL;
  if (!w)
    return watch_count < WATCHES_MAX ? -ENOMEM : -EMFILE;
  sbx_list_init(&w->readers);
  sbx_list_append(&watches, &w->link);
  watch_count++;
  w->dir.changed = wake;
  w->dir.enter = sbx_creds_enter;
  w->dir.leave = sbx_creds_leave;
  int rc = sbx_dirwatch_open(&w->dir, at, recursive);
  if (rc < 0)
    watch_free(w);
  else
    *out = w;
  return rc;
}

static void reader_forget(struct sbx_channel *c) {
  struct reader *r = SBX_LIST_OWNER(c, struct reader, channel);
  struct watch *w = r->watch;
  sbx_turn_drop(&r->turn);
  sbx_list_remove(&r->link);
  free(r);
  sbx_list_remove(&w->link);
  sbx_list_append(&watches, &w->link);
  if (w->dir.error < 0 && sbx_list_empty(&w->readers))
    watch_free(w);
}

static const struct sbx_channel_ops reader_ops = {sbx_channel_no_frame,
                                                  reader_forget};

static void send_event(struct reader *r, uint8_t kind, const char *path) {
  struct sbx_msg_event m = {
      r->cursor, kind, {(const uint8_t *)path, strlen(path)}};
  sbx_event_encode(sbx_link_begin(), &m);
  sbx_link_end(r->channel.id, SBX_MSG_EVENT);
}

static void greet(struct reader *r) {
  if (r->cursor == 0)
    r->cursor = sbx_dirwatch_newest();
  if (r->cursor > sbx_dirwatch_newest())
    r->cursor = 1; /* none of ours: it has missed everything */
  r->told = true;
  send_event(r, 'r', "");
}

static void reader_take(struct sbx_turn *turn) {
  struct reader *r = SBX_LIST_OWNER(turn, struct reader, turn);
  const struct sbx_dirwatch *dir = &r->watch->dir;
  if (dir->error < 0) {
    sbx_files_done(r->channel.id, dir->error, "");
    sbx_channel_close(&r->channel);
    reader_forget(&r->channel);
    return;
  }
  if (!dir->ready)
    return;
  if (!r->told)
    greet(r);
  if (r->cursor < dir->journal.lost) {
    r->cursor = dir->journal.lost;
    send_event(r, 'l', "");
  }
  for (int i = 0; i < PORTION; i++) {
    const struct sbx_journal_item *item =
        sbx_journal_next(&dir->journal, r->cursor);
    if (!item)
      return;
    r->cursor = item->cursor;
    send_event(r, item->kind, item->text);
  }
  sbx_turn_queue(turn);
}

int sbx_watch_start(uint32_t id, const struct sbx_msg_file *m) {
  struct sbx_place at = {.dir = -1};
  bool recursive = m->flags & SBX_FILE_RECURSIVE;
  struct reader *r = calloc(1, sizeof(*r));
  int rc = r ? sbx_beneath_find(&at, sbx_super.workspace,
                                (const char *)m->path.data, SBX_BENEATH_FOLLOW)
             : -ENOMEM;
  if (rc == 0)
    r->watch = find_watch(&at.st, recursive);
  if (rc == 0 && !r->watch)
    rc = watch_new(&at, recursive, &r->watch);
  sbx_beneath_close(&at);
  if (rc < 0) {
    free(r);
    return rc;
  }
  sbx_list_append(&r->watch->readers, &r->link);
  r->cursor = m->offset;
  r->turn.take = reader_take;
  r->turn.sends = true;
  sbx_channel_open(&r->channel, id, &reader_ops);
  sbx_turn_queue(&r->turn);
  return 1;
}
