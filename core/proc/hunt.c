/* SPDX-License-Identifier: MIT */
#include "proc/hunt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/timer.h"

#define AGENT_TIMEOUT_MS 4000 /* a new exec, then the answer */
#define POLL_FIRST_MS    2
#define POLL_MOST_MS     20
#define KILL_MS          1000
#define NAMES_MAX        160
#define PIDS_PER_LINE    400

enum phase { SIGNAL, COUNT, TERM, KILL };

struct hunt {
  struct sbx_list link;
  struct sbx_exec_job *job;
  enum phase phase;
  char signal_name[16]; /* SIGNAL */
  sbx_kill_cb on_kill;
  sbx_count_cb on_count;
  void *arg;
  struct sbx_timer *timer;
  uint64_t poll_ms;
  uint64_t deadline; /* of the phase */
  bool struck;       /* the phase's signal was sent at least once */
  int empty_looks;   /* in a row */
  size_t found;
  char names[NAMES_MAX]; /* of what was found last */
  /* second route, as uid 0 */
  struct sbx_stream *stream;
  struct sbx_channel *channel;
  struct sbx_census *census;
};

static void look(struct hunt *h);
static void take_second_route(struct hunt *h);

static bool as_root(const struct hunt *h) {
  return h->channel != NULL;
}

static struct sbx_channel *channel_of(const struct hunt *h) {
  return as_root(h) ? h->channel : h->job->runner->channel;
}

static struct sbx_census *census_of(const struct hunt *h) {
  return as_root(h) ? h->census : h->job->runner->census;
}

static void free_hunt(struct hunt *h) {
  struct sbx_exec_runner *r = h->job->runner;

  sbx_list_remove(&h->link);
  if (r->channel != NULL) {
    sbx_channel_forget(r->channel, h);
    sbx_census_forget(r->census, h);
  }
  sbx_census_free(h->census);
  if (h->channel != NULL) {
    sbx_channel_forget(h->channel, h);
    sbx_channel_free(h->channel);
  }
  if (h->stream != NULL)
    sbx_stream_close(h->stream, true);
  sbx_timer_free(h->timer);
  free(h);
}

static void finish(struct hunt *h, const struct sbx_err *err) {
  enum phase phase = h->phase;
  sbx_kill_cb on_kill = h->on_kill;
  sbx_count_cb on_count = h->on_count;
  void *arg = h->arg;
  size_t found = h->found;

  free_hunt(h);
  if (phase == COUNT)
    on_count(arg, err == NULL ? 0 : err->code, found);
  else
    on_kill(arg, err);
}

static void fail(struct hunt *h, int code, const char *why) {
  struct sbx_err err = {0};

  sbx_fail(&err, code, "%s", why);
  finish(h, &err);
}

static void report_survivors(struct hunt *h) {
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_EPROCESS,
           "%zu process%s of '%s' survive%s every signal:%s", h->found,
           h->found == 1 ? "" : "es", h->job->program, h->found == 1 ? "s" : "",
           h->names);
  finish(h, &err);
}

static void on_silence(struct hunt *h, int rc) {
  char text[64];

  if (rc == SBX_EDESTROYED && !as_root(h)) {
    fail(h, SBX_EDESTROYED,
         "the session ended while its processes were killed");
    return;
  }
  /* A stuck engine may deliver this one when it goes on. */
  if (h->phase >= TERM && h->job->tree.group > 1 && channel_of(h) != NULL) {
    snprintf(text, sizeof(text), "kill KILL -%ld", h->job->tree.group);
    h->job->killed = true;
    sbx_channel_tell(channel_of(h), text);
  }
  fail(h, SBX_ETIMEOUT,
       "the container does not answer, so its processes may be running");
}

static void note_names(struct hunt *h, const struct sbx_table *table) {
  size_t i, used = 0;

  h->names[0] = '\0';
  for (i = 0; i < table->len && used + 64 < sizeof(h->names); i++)
    if (table->rows[i].member)
      used += (size_t)snprintf(h->names + used, sizeof(h->names) - used,
                               "%s %ld (%s)", used > 0 ? "," : "",
                               table->rows[i].pid, table->rows[i].name);
}

static void poll_later(struct hunt *h) {
  sbx_timer_start(h->timer, h->poll_ms);
  if (h->poll_ms < POLL_MOST_MS)
    h->poll_ms *= 2;
}

static void on_struck(void *arg, int rc) {
  struct hunt *h = arg;

  if (rc < 0)
    on_silence(h, rc);
  else if (h->phase == SIGNAL)
    finish(h, NULL);
  else
    poll_later(h);
}

/* The group first: that cannot lose a race against a fork, and KILL must reach
 * the wrapper, too. Then what has left the group. */
static void strike(struct hunt *h, const char *signal,
                   const struct sbx_table *table) {
  static const struct sbx_answer_events events = {NULL, on_struck};
  const struct sbx_tree *tree = &h->job->tree;
  char text[SBX_CHANNEL_TEXT];
  size_t i, used, start, pids = 0;
  int rc;

  h->struck = true;
  start = (size_t)snprintf(text, sizeof(text), "kill %s", signal);
  used = start;
  if (tree->group > 1)
    used += (size_t)snprintf(text + used, sizeof(text) - used, " -%ld",
                             tree->group);
  if (strcmp(signal, "KILL") == 0)
    h->job->killed = true;
  for (i = 0; i < table->len; i++) {
    if (!table->rows[i].member || table->rows[i].group == tree->group)
      continue;
    if (pids == PIDS_PER_LINE) {
      sbx_channel_tell(channel_of(h), text);
      used = start;
      pids = 0;
    }
    used += (size_t)snprintf(text + used, sizeof(text) - used, " %ld",
                             table->rows[i].pid);
    pids++;
  }
  rc = sbx_channel_ask(channel_of(h), text,
                       as_root(h) ? AGENT_TIMEOUT_MS : SBX_LOOK_TIMEOUT_MS,
                       &events, h);
  if (rc < 0)
    on_silence(h, rc);
}

static void hunt_on(struct hunt *h, const struct sbx_table *table) {
  bool over = sbx_now_ms() >= h->deadline;

  h->empty_looks = 0;
  if (h->phase == SIGNAL) {
    strike(h, h->signal_name, table);
  } else if (h->phase == TERM && !h->struck) {
    strike(h, "TERM", table);
  } else if (h->phase == TERM && over) {
    h->phase = KILL;
    h->deadline = sbx_now_ms() + KILL_MS;
    strike(h, "KILL", table);
  } else if (h->phase == TERM) {
    poll_later(h);
  } else if (!over || !h->struck) {
    strike(h, "KILL", table); /* again: something may have been forked */
  } else if (!as_root(h) && h->job->runner->options.agent != NULL) {
    take_second_route(h);
  } else {
    report_survivors(h);
  }
}

/* Nothing is left. The wrapper has to say so; the program may have stopped it,
 * as it may stop everything. */
static void wake_wrapper(struct hunt *h) {
  char text[32];

  if (h->phase == SIGNAL || h->job->tree.wrapper <= 1 || h->job->ended)
    return;
  snprintf(text, sizeof(text), "kill CONT %ld", h->job->tree.wrapper);
  sbx_channel_tell(channel_of(h), text);
}

static void on_seen(void *arg, int rc, struct sbx_table *table) {
  struct hunt *h = arg;

  if (rc < 0) {
    on_silence(h, rc);
    return;
  }
  h->found = sbx_table_find(table, &h->job->tree);
  if (h->phase == COUNT) {
    finish(h, NULL);
  } else if (h->found > 0) {
    note_names(h, table);
    hunt_on(h, table);
  } else if (h->phase == SIGNAL || ++h->empty_looks >= 2) {
    wake_wrapper(h);
    finish(h, NULL);
  } else {
    look(h);
  }
}

static void look(struct hunt *h) {
  struct sbx_census *census = census_of(h);
  int rc =
      census == NULL ? SBX_EDESTROYED : sbx_census_look(census, on_seen, h);

  if (rc < 0)
    on_silence(h, rc);
}

static void on_poll(void *arg) {
  look(arg);
}

static void on_agent_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                          size_t len) {
  struct hunt *h = arg;

  if (fd == SBX_OUT)
    sbx_channel_feed(h->channel, data, len);
}

static void on_agent_end(void *arg, const struct sbx_stream_end *end) {
  struct hunt *h = arg;
  struct sbx_err err = {0};

  (void)end;
  h->stream = NULL;
  sbx_fail(&err, SBX_EPROCESS,
           "processes survive, and uid 0 could not be asked to kill them:%s",
           h->names);
  finish(h, &err);
}

/* What the session's user may not signal, uid 0 perhaps may. */
static void take_second_route(struct hunt *h) {
  static const struct sbx_stream_events events = {
      .on_data = on_agent_data,
      .on_end = on_agent_end,
  };
  struct sbx_exec_runner *r = h->job->runner;
  struct sbx_err err = {0};

  if (sbx_stream_open(r->runtime, r->options.agent, &events, h, &h->stream,
                      &err) < 0) {
    finish(h, &err);
    return;
  }
  if (sbx_channel_new(&h->channel, r->runtime, h->stream) < 0 ||
      sbx_census_new(&h->census, h->channel, AGENT_TIMEOUT_MS) < 0) {
    fail(h, SBX_EINTERNAL, "out of memory");
    return;
  }
  h->phase = KILL;
  h->struck = false;
  h->deadline = sbx_now_ms() + KILL_MS;
  look(h);
}

static int new_hunt(struct sbx_job_handle *handle, enum phase phase, void *arg,
                    struct hunt **out) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;
  struct hunt *h = calloc(1, sizeof(*h));

  if (h == NULL)
    return -ENOMEM;
  if (sbx_timer_new(&h->timer, job->runner->runtime, on_poll, h) < 0) {
    free(h);
    return -ENOMEM;
  }
  h->job = job;
  h->phase = phase;
  h->arg = arg;
  h->poll_ms = POLL_FIRST_MS;
  sbx_list_append(&job->hunts, &h->link);
  *out = h;
  return 0;
}

int sbx_hunt_kill(struct sbx_job_handle *handle, uint64_t grace_ms,
                  sbx_kill_cb cb, void *arg) {
  struct hunt *h;
  int rc = new_hunt(handle, grace_ms > 0 ? TERM : KILL, arg, &h);

  if (rc < 0)
    return rc;
  h->on_kill = cb;
  if (!h->job->started) { /* run.sh is not told to go on: nothing can run */
    if (h->job->stream != NULL)
      sbx_stream_kill(h->job->stream);
    finish(h, NULL);
    return 0;
  }
  h->deadline = sbx_now_ms() + (grace_ms > 0 ? grace_ms : KILL_MS);
  look(h);
  return 0;
}

int sbx_hunt_signal(struct sbx_job_handle *handle, const char *name,
                    sbx_kill_cb cb, void *arg) {
  struct hunt *h;
  int rc = new_hunt(handle, SIGNAL, arg, &h);

  if (rc < 0)
    return rc;
  h->on_kill = cb;
  snprintf(h->signal_name, sizeof(h->signal_name), "%s", name);
  look(h);
  return 0;
}

int sbx_hunt_count(struct sbx_job_handle *handle, sbx_count_cb cb, void *arg) {
  struct hunt *h;
  int rc = new_hunt(handle, COUNT, arg, &h);

  if (rc < 0)
    return rc;
  h->on_count = cb;
  look(h);
  return 0;
}

void sbx_hunt_forget(struct sbx_exec_job *job) {
  while (!sbx_list_empty(&job->hunts))
    free_hunt(SBX_LIST_OWNER(job->hunts.next, struct hunt, link));
}
