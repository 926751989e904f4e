/* SPDX-License-Identifier: MIT */
#include "proc/sup_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/sup_job.h"
#include "wire/nettab.h"

#define LISTING_MS 3000
/* Sockets on one port: no container has nearly as many. */
#define WATCHED_MAX 64

static struct sbx_listener socket_of(const struct sbx_str *s) {
  struct sbx_listener l = {.family = s->data[0]};

  memcpy(l.addr, s->data + 1, sizeof(l.addr));
  l.port = sbx_get_u16(s->data + 17);
  return l;
}

/* ---- all listening sockets, once ---- */

struct listing {
  struct sbx_mux_channel *channel;
  struct sbx_timer *timer;
  const struct sbx_listeners_events *events;
  void *arg;
};

static void end_listing(struct listing *l, int rc) {
  const struct sbx_listeners_events *events = l->events;
  void *arg = l->arg;

  sbx_timer_free(l->timer);
  sbx_mux_forget(l->channel);
  free(l);
  events->on_done(arg, rc);
}

static void listing_on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct listing *l = arg;
  struct sbx_strs list;
  struct sbx_str s;

  if (msg->type == SBX_MSG_DONE) {
    end_listing(l, msg->done.code == SBX_DONE_OK ? 0 : SBX_ETIMEOUT);
    return;
  }
  list = msg->listeners.sockets;
  while (sbx_strs_next(&list, &s)) {
    struct sbx_listener listener = socket_of(&s);

    l->events->on_listener(l->arg, &listener);
  }
}

static void listing_on_lost(void *arg) {
  end_listing(arg, SBX_EDESTROYED);
}

static void listing_on_time(void *arg) {
  end_listing(arg, SBX_ETIMEOUT);
}

static int list_listeners(struct sbx_runner *base,
                          const struct sbx_listeners_events *events,
                          void *arg) {
  static const struct sbx_mux_channel_events channel_events = {
      .on_msg = listing_on_msg,
      .on_lost = listing_on_lost,
  };
  struct sbx_sup_runner *r = (struct sbx_sup_runner *)base;
  struct listing *l;

  if (r->mux == NULL)
    return SBX_EDESTROYED;
  l = calloc(1, sizeof(*l));
  if (l == NULL)
    return -ENOMEM;
  l->events = events;
  l->arg = arg;
  if (sbx_timer_new(&l->timer, r->runtime, listing_on_time, l) < 0 ||
      sbx_mux_ports(r->mux, &channel_events, l, &l->channel) < 0) {
    sbx_timer_free(l->timer);
    free(l);
    return -ENOMEM;
  }
  sbx_timer_start(l->timer, LISTING_MS);
  return 0;
}

/* ---- one port, for as long as somebody waits ---- */

struct sbx_port_watch {
  struct sbx_mux_channel *channel;
  const struct sbx_port_watch_events *events;
  void *arg;
};

static void watch_on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct sbx_port_watch *w = arg;
  struct sbx_listener all[WATCHED_MAX];
  struct sbx_strs list;
  struct sbx_str s;
  size_t n = 0;

  if (msg->type == SBX_MSG_DONE) {
    w->events->on_over(w->arg, SBX_EPROCESS);
    return;
  }
  list = msg->listeners.sockets;
  while (n < WATCHED_MAX && sbx_strs_next(&list, &s))
    all[n++] = socket_of(&s);
  w->events->on_listeners(w->arg, all, n);
}

static void watch_on_lost(void *arg) {
  struct sbx_port_watch *w = arg;

  w->events->on_over(w->arg, SBX_EDESTROYED);
}

static int watch_port(struct sbx_runner *base, uint16_t port,
                      const struct sbx_port_watch_events *events, void *arg,
                      struct sbx_port_watch **out) {
  static const struct sbx_mux_channel_events channel_events = {
      .on_msg = watch_on_msg,
      .on_lost = watch_on_lost,
  };
  struct sbx_sup_runner *r = (struct sbx_sup_runner *)base;
  struct sbx_port_watch *w;

  if (r->mux == NULL)
    return SBX_EDESTROYED;
  w = calloc(1, sizeof(*w));
  if (w == NULL)
    return -ENOMEM;
  w->events = events;
  w->arg = arg;
  if (sbx_mux_port(r->mux, port, &channel_events, w, &w->channel) < 0) {
    free(w);
    return -ENOMEM;
  }
  *out = w;
  return 0;
}

static void unwatch_port(struct sbx_port_watch *w) {
  sbx_mux_forget(w->channel);
  free(w);
}

/* ---- the runner ---- */

static void lose(struct sbx_runner *base) {
  ((struct sbx_sup_runner *)base)->mux = NULL;
}

static void free_runner(struct sbx_runner *base) {
  free(base);
}

static const struct sbx_runner_ops ops = {
    .start = sbx_sup_job_start,
    .write = sbx_sup_job_write,
    .close_input = sbx_sup_job_close_input,
    .pause = sbx_sup_job_pause,
    .resume = sbx_sup_job_resume,
    .signal = sbx_sup_job_signal,
    .kill = sbx_sup_job_kill,
    .count = sbx_sup_job_count,
    .resize = sbx_sup_job_resize,
    .close = sbx_sup_job_close,
    .listeners = list_listeners,
    .watch_port = watch_port,
    .unwatch_port = unwatch_port,
    .lose = lose,
    .free = free_runner,
};

int sbx_sup_runner_new(struct sbx_runner **out, struct sbx_runtime *rt,
                       struct sbx_mux *mux) {
  struct sbx_sup_runner *r = calloc(1, sizeof(*r));

  if (r == NULL)
    return -ENOMEM;
  r->base.ops = &ops;
  r->runtime = rt;
  r->mux = mux;
  *out = &r->base;
  return 0;
}
