/* SPDX-License-Identifier: MIT */
#include "proc/exec_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/census.h"
#include "proc/exec_job.h"
#include "proc/hunt.h"
#include "wire/nettab.h"

#define PORTS_TIMEOUT_MS 3000

static void free_runner(struct sbx_runner *base) {
  struct sbx_exec_runner *r = (struct sbx_exec_runner *)base;

  sbx_request_unref(r->options.exec);
  sbx_request_unref(r->options.root);
  sbx_request_unref(r->options.agent);
  free(r);
}

struct listing {
  const struct sbx_listeners_events *events;
  void *arg;
};

/* Payload: `tcp <row>` or `tcp6 <row>`, the rows as the kernel prints them. */
static void on_row(void *arg, const char *line, size_t len) {
  struct listing *l = arg;
  const char *row = memchr(line, ' ', len);
  struct sbx_listener listener;

  if (row != NULL &&
      sbx_nettab_line(row + 1, len - (size_t)(row + 1 - line), &listener))
    l->events->on_listener(l->arg, &listener);
}

static void on_rows(void *arg, int rc) {
  struct listing *l = arg;
  const struct sbx_listeners_events *events = l->events;
  void *user = l->arg;

  free(l);
  events->on_done(user, rc);
}

static int list_listeners(struct sbx_runner *base,
                          const struct sbx_listeners_events *events,
                          void *arg) {
  static const struct sbx_answer_events answer = {on_row, on_rows};
  struct sbx_exec_runner *r = (struct sbx_exec_runner *)base;
  struct listing *l;

  if (r->channel == NULL)
    return SBX_EDESTROYED;
  l = calloc(1, sizeof(*l));
  if (l == NULL)
    return -ENOMEM;
  l->events = events;
  l->arg = arg;
  if (sbx_channel_ask(r->channel, "ports", PORTS_TIMEOUT_MS, &answer, l) < 0) {
    free(l);
    return -ENOMEM;
  }
  return 0;
}

static void lose_channel(struct sbx_runner *r) {
  struct sbx_exec_runner *runner = (struct sbx_exec_runner *)r;

  runner->channel = NULL;
  sbx_census_end(runner->census);
  runner->census = NULL;
}

static const struct sbx_runner_ops ops = {
    .start = sbx_exec_job_start,
    .write = sbx_exec_job_write,
    .close_input = sbx_exec_job_close_input,
    .pause = sbx_exec_job_pause,
    .resume = sbx_exec_job_resume,
    .signal = sbx_hunt_signal,
    .kill = sbx_hunt_kill,
    .count = sbx_hunt_count,
    .resize = sbx_exec_job_resize,
    .close = sbx_exec_job_close,
    .listeners = list_listeners,
    .lose = lose_channel,
    .free = free_runner,
};

int sbx_exec_runner_new(struct sbx_runner **out, struct sbx_runtime *rt,
                        const struct sbx_exec_runner_options *options,
                        struct sbx_channel *channel) {
  struct sbx_exec_runner *r = calloc(1, sizeof(*r));

  if (r == NULL)
    return -ENOMEM;
  if (sbx_census_new(&r->census, channel, SBX_LOOK_TIMEOUT_MS) < 0) {
    free(r);
    return -ENOMEM;
  }
  r->base.ops = &ops;
  r->runtime = rt;
  r->channel = channel;
  r->options = *options;
  sbx_request_ref(options->exec);
  if (options->root != NULL)
    sbx_request_ref(options->root);
  if (options->agent != NULL)
    sbx_request_ref(options->agent);
  *out = &r->base;
  return 0;
}
