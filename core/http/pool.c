/* SPDX-License-Identifier: MIT */
#include "http/pool.h"

#include <stdlib.h>
#include <string.h>

struct pool {
  struct sbx_runtime *rt;
  struct sbx_list idle; /* the newest first */
  size_t count;
  struct sbx_timer *timer;
};

static void drop_pool(struct pool *p) {
  *sbx_runtime_slot(p->rt, SBX_SLOT_POOL) = NULL;
  sbx_timer_free(p->timer);
  free(p);
}

/* The connection leaves the pool, and the last one takes it along. */
static void forget(struct pool *p, struct sbx_conn *c) {
  sbx_list_remove(sbx_conn_link(c));
  if (--p->count == 0)
    drop_pool(p);
}

static void discard(struct sbx_conn *c) {
  forget(*sbx_runtime_slot(sbx_conn_runtime(c), SBX_SLOT_POOL), c);
  sbx_conn_close(c);
}

static void on_data(void *arg, const uint8_t *data, size_t len) {
  (void)data;
  (void)len;
  discard(arg); /* an answer to nothing */
}

static void on_end(void *arg, const struct sbx_err *err) {
  (void)err;
  discard(arg);
}

static void on_stop(void *arg, enum sbx_stop step) {
  (void)step;
  discard(arg);
}

/* Nobody has come for this long: all of them go, the next request makes its
 * own. */
static void on_idle(void *arg) {
  struct pool *p = arg;
  struct sbx_list todo;
  struct sbx_list *it;

  sbx_list_init(&todo);
  sbx_list_splice(&todo, &p->idle);
  while ((it = sbx_list_shift(&todo)) != NULL)
    sbx_conn_close(sbx_conn_of_link(it));
  drop_pool(p);
}

static struct pool *pool_of(struct sbx_runtime *rt) {
  void **slot = sbx_runtime_slot(rt, SBX_SLOT_POOL);
  struct pool *p = *slot;

  if (p != NULL)
    return p;
  p = calloc(1, sizeof(*p));
  if (p == NULL)
    return NULL;
  if (sbx_timer_new(&p->timer, rt, on_idle, p) < 0) {
    free(p);
    return NULL;
  }
  p->rt = rt;
  sbx_list_init(&p->idle);
  *slot = p;
  return p;
}

struct sbx_conn *sbx_pool_take(struct sbx_runtime *rt,
                               const struct sbx_endpoint *endpoint) {
  struct pool *p = *sbx_runtime_slot(rt, SBX_SLOT_POOL);
  struct sbx_list *it, *tmp;

  if (p == NULL)
    return NULL;
  SBX_LIST_EACH (it, tmp, &p->idle) {
    struct sbx_conn *c = sbx_conn_of_link(it);
    bool last = p->count == 1;

    if (strcmp(sbx_conn_endpoint(c)->text, endpoint->text) != 0)
      continue;
    forget(p, c);
    if (sbx_conn_is_quiet(c))
      return c;
    sbx_conn_close(c);
    if (last)
      break; /* the pool went with it */
  }
  return NULL;
}

void sbx_pool_put(struct sbx_conn *c) {
  static const struct sbx_conn_events events = {
      .on_data = on_data,
      .on_end = on_end,
      .on_stop = on_stop,
  };
  struct pool *p = NULL;

  if (!sbx_runtime_stopping(sbx_conn_runtime(c)) && sbx_conn_is_quiet(c))
    p = pool_of(sbx_conn_runtime(c));
  if (p == NULL || p->count >= SBX_POOL_MAX) {
    sbx_conn_close(c);
    return;
  }
  sbx_conn_own(c, &events, c);
  sbx_conn_resume(c);
  sbx_list_prepend(&p->idle, sbx_conn_link(c));
  p->count++;
  sbx_timer_start(p->timer, SBX_POOL_IDLE_MS);
}
