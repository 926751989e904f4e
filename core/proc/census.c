/* SPDX-License-Identifier: MIT */
#include "proc/census.h"

#include <errno.h>
#include <stdlib.h>

#include "base/list.h"

struct waiter {
  struct sbx_list link;
  sbx_census_seen_cb cb;
  void *arg;
};

struct sbx_census {
  struct sbx_channel *channel;
  uint64_t timeout_ms;
  struct sbx_table table;
  struct sbx_list waiting; /* for the next look */
  struct sbx_list served;  /* by the look under way */
  bool looking;
  bool *gone; /* a callback may free the census */
};

int sbx_census_new(struct sbx_census **out, struct sbx_channel *channel,
                   uint64_t timeout_ms) {
  struct sbx_census *c = calloc(1, sizeof(*c));

  if (c == NULL)
    return -ENOMEM;
  c->channel = channel;
  c->timeout_ms = timeout_ms;
  sbx_list_init(&c->waiting);
  sbx_list_init(&c->served);
  *out = c;
  return 0;
}

static void drop_all(struct sbx_list *list) {
  struct sbx_list *node;

  while ((node = sbx_list_shift(list)) != NULL)
    free(SBX_LIST_OWNER(node, struct waiter, link));
}

void sbx_census_free(struct sbx_census *c) {
  if (c == NULL)
    return;
  if (c->gone != NULL)
    *c->gone = true;
  sbx_channel_forget(c->channel, c);
  drop_all(&c->waiting);
  drop_all(&c->served);
  sbx_table_fini(&c->table);
  free(c);
}

void sbx_census_end(struct sbx_census *c) {
  struct sbx_list *node;

  sbx_list_splice(&c->served, &c->waiting);
  while ((node = sbx_list_shift(&c->served)) != NULL) {
    struct waiter w = *SBX_LIST_OWNER(node, struct waiter, link);

    free(SBX_LIST_OWNER(node, struct waiter, link));
    w.cb(w.arg, SBX_EDESTROYED, NULL);
  }
  sbx_census_free(c);
}

static int start(struct sbx_census *c);

static void on_row(void *arg, const char *line, size_t len) {
  struct sbx_census *c = arg;

  (void)len;
  (void)sbx_table_add(&c->table, line);
}

static void on_table(void *arg, int rc) {
  struct sbx_census *c = arg;
  struct sbx_list *node;
  bool gone = false;

  c->looking = false;
  c->gone = &gone;
  while (!gone && (node = sbx_list_shift(&c->served)) != NULL) {
    struct waiter w = *SBX_LIST_OWNER(node, struct waiter, link);

    free(SBX_LIST_OWNER(node, struct waiter, link));
    w.cb(w.arg, rc, rc < 0 ? NULL : &c->table);
  }
  if (gone)
    return;
  c->gone = NULL;
  if (!c->looking && !sbx_list_empty(&c->waiting))
    (void)start(c);
}

static int start(struct sbx_census *c) {
  static const struct sbx_answer_events events = {on_row, on_table};
  int rc;

  c->looking = true;
  sbx_table_clear(&c->table);
  sbx_list_splice(&c->served, &c->waiting);
  rc = sbx_channel_ask(c->channel, "table", c->timeout_ms, &events, c);
  if (rc < 0)
    on_table(c, rc);
  return rc;
}

int sbx_census_look(struct sbx_census *c, sbx_census_seen_cb cb, void *arg) {
  struct waiter *w = calloc(1, sizeof(*w));

  if (w == NULL)
    return -ENOMEM;
  w->cb = cb;
  w->arg = arg;
  sbx_list_append(&c->waiting, &w->link);
  if (!c->looking && c->gone == NULL)
    (void)start(c);
  return 0;
}

static void forget_in(struct sbx_list *list, const void *arg) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, list) {
    struct waiter *w = SBX_LIST_OWNER(it, struct waiter, link);

    if (w->arg == arg) {
      sbx_list_remove(&w->link);
      free(w);
    }
  }
}

void sbx_census_forget(struct sbx_census *c, void *arg) {
  forget_in(&c->waiting, arg);
  forget_in(&c->served, arg);
}
