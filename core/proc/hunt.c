/* SPDX-License-Identifier: MIT */
#include "proc/hunt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/timer.h"

/* Long enough for a look at a container full of processes. */
#define ASK_TIMEOUT_MS   2500
#define AGENT_TIMEOUT_MS 4000 /* a new exec, then the answer */
#define POLL_MS          15
#define KILL_MS          1000
#define NAMES_MAX        160

enum phase { SIGNAL, CENSUS, TERM, KILL };

struct hunt {
  struct sbx_list link;
  struct sbx_exec_job *job;
  enum phase phase;
  sbx_kill_cb on_kill;
  sbx_census_cb on_census;
  void *arg;
  struct sbx_timer *timer;
  uint64_t deadline; /* of the phase */
  int empty_looks;   /* in a row */
  size_t found;
  char names[NAMES_MAX];
  /* second route */
  bool as_root;
  struct sbx_stream *stream;
  struct sbx_channel *channel;
};

static void look(struct hunt *h);
static void strike(struct hunt *h, const char *signal);
static void take_second_route(struct hunt *h);

static void free_hunt(struct hunt *h) {
  sbx_list_remove(&h->link);
  if (h->job->runner->channel != NULL)
    sbx_channel_forget(h->job->runner->channel, h);
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
  sbx_census_cb on_census = h->on_census;
  void *arg = h->arg;
  size_t found = h->found;

  free_hunt(h);
  if (phase == CENSUS)
    on_census(arg, err == NULL ? 0 : err->code, found);
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

/* Over which channel; NULL when the session is closing. */
static struct sbx_channel *route(const struct hunt *h) {
  return h->as_root ? h->channel : h->job->runner->channel;
}

/* A group that is not known yet matches nothing, and neither do the groups 0
 * and 1: the marker parser refuses them. */
static void phrase(const struct hunt *h, const char *verb, char *text,
                   size_t size) {
  const struct sbx_tree *tree = &h->job->tree;

  snprintf(text, size, "%s %s %ld %ld", verb, tree->mark,
           tree->group > 1 ? tree->group : -1L,
           tree->wrapper > 1 ? tree->wrapper : -1L);
}

static int ask(struct hunt *h, const char *verb,
               const struct sbx_answer_events *events) {
  struct sbx_channel *ch = route(h);
  char text[160];

  if (ch == NULL)
    return SBX_EDESTROYED;
  phrase(h, verb, text, sizeof(text));
  return sbx_channel_ask(
      ch, text, h->as_root ? AGENT_TIMEOUT_MS : ASK_TIMEOUT_MS, events, h);
}

static void give_up_route(struct hunt *h, int rc) {
  char text[160];

  if (rc == SBX_EDESTROYED && !h->as_root) {
    fail(h, SBX_EDESTROYED,
         "the session ended while its processes were killed");
    return;
  }
  /* A stuck engine may deliver this one when it goes on. */
  if (h->phase != SIGNAL && h->phase != CENSUS && route(h) != NULL) {
    phrase(h, "kill KILL", text, sizeof(text));
    sbx_channel_tell(route(h), text);
  }
  fail(h, SBX_ETIMEOUT,
       "the container does not answer, so its processes may be running");
}

static void on_found(void *arg, const char *line, size_t len) {
  struct hunt *h = arg;
  size_t used = strlen(h->names);
  size_t i;

  if (len < 3 || strncmp(line, "p ", 2) != 0)
    return;
  h->found++;
  if (used + len + 4 >= sizeof(h->names))
    return;
  h->names[used++] = h->found == 1 ? ' ' : ',';
  if (h->found > 1)
    h->names[used++] = ' ';
  for (i = 2; i < len; i++) /* a name can hold anything */
    h->names[used++] = line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '?';
  h->names[used] = '\0';
}

static void escalate(struct hunt *h) {
  if (h->phase == TERM) {
    h->phase = KILL;
    h->deadline = sbx_now_ms() + KILL_MS;
    strike(h, "KILL");
  } else if (!h->as_root && h->job->runner->options.agent != NULL) {
    take_second_route(h);
  } else {
    report_survivors(h);
  }
}

static void on_looked(void *arg, int rc) {
  struct hunt *h = arg;

  if (rc < 0) {
    give_up_route(h, rc);
  } else if (h->phase == CENSUS) {
    finish(h, NULL);
  } else if (h->found == 0) {
    if (++h->empty_looks >= 2)
      finish(h, NULL);
    else
      look(h);
  } else if (sbx_now_ms() >= h->deadline) {
    escalate(h);
  } else {
    h->empty_looks = 0;
    sbx_timer_start(h->timer, POLL_MS);
  }
}

static void look(struct hunt *h) {
  static const struct sbx_answer_events events = {on_found, on_looked};
  int rc;

  h->found = 0;
  h->names[0] = '\0';
  rc = ask(h, "find", &events);
  if (rc < 0)
    give_up_route(h, rc);
}

static void on_poll(void *arg) {
  struct hunt *h = arg;

  if (h->phase == KILL)
    strike(h, "KILL"); /* something may have been forked meanwhile */
  else
    look(h);
}

static void on_struck(void *arg, int rc) {
  struct hunt *h = arg;

  if (rc < 0)
    give_up_route(h, rc);
  else if (h->phase == SIGNAL)
    finish(h, NULL);
  else
    look(h);
}

static void strike(struct hunt *h, const char *signal) {
  static const struct sbx_answer_events events = {NULL, on_struck};
  char verb[32];
  int rc;

  if (strcmp(signal, "KILL") == 0)
    h->job->killed = true;
  snprintf(verb, sizeof(verb), "kill %s", signal);
  rc = ask(h, verb, &events);
  if (rc < 0)
    give_up_route(h, rc);
}

static void on_agent_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                          size_t len) {
  struct hunt *h = arg;

  if (fd == SBX_OUT && h->channel != NULL)
    sbx_channel_feed(h->channel, data, len);
}

static void on_agent_end(void *arg, const struct sbx_stream_end *end) {
  struct hunt *h = arg;

  (void)end;
  h->stream = NULL;
  fail(h, SBX_EPROCESS,
       h->names[0] != '\0' ? "processes survive, and uid 0 cannot be asked"
                           : "the container does not answer");
}

static void take_second_route(struct hunt *h) {
  static const struct sbx_stream_events events = {
      .on_data = on_agent_data,
      .on_end = on_agent_end,
  };
  struct sbx_exec_runner *r = h->job->runner;
  struct sbx_err err = {0};

  if (r->options.agent == NULL) {
    fail(h, SBX_ETIMEOUT, "the container does not answer");
    return;
  }
  if (sbx_stream_open(r->runtime, r->options.agent, &events, h, &h->stream,
                      &err) < 0) {
    finish(h, &err);
    return;
  }
  if (sbx_channel_new(&h->channel, r->runtime, h->stream) < 0) {
    fail(h, SBX_EINTERNAL, "out of memory");
    return;
  }
  h->as_root = true;
  h->phase = KILL;
  h->empty_looks = 0;
  h->deadline = sbx_now_ms() + KILL_MS;
  strike(h, "KILL");
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
  if (!h->job->greeted) { /* run.sh gets no header any more: nothing can run */
    if (h->job->stream != NULL)
      sbx_stream_kill(h->job->stream);
    finish(h, NULL);
    return 0;
  }
  h->deadline = sbx_now_ms() + (grace_ms > 0 ? grace_ms : KILL_MS);
  strike(h, grace_ms > 0 ? "TERM" : "KILL");
  return 0;
}

int sbx_hunt_signal(struct sbx_job_handle *handle, const char *name,
                    sbx_kill_cb cb, void *arg) {
  struct hunt *h;
  int rc = new_hunt(handle, SIGNAL, arg, &h);

  if (rc < 0)
    return rc;
  h->on_kill = cb;
  strike(h, name);
  return 0;
}

int sbx_hunt_census(struct sbx_job_handle *handle, sbx_census_cb cb,
                    void *arg) {
  struct hunt *h;
  int rc = new_hunt(handle, CENSUS, arg, &h);

  if (rc < 0)
    return rc;
  h->on_census = cb;
  look(h);
  return 0;
}

void sbx_hunt_forget(struct sbx_exec_job *job) {
  while (!sbx_list_empty(&job->hunts))
    free_hunt(SBX_LIST_OWNER(job->hunts.next, struct hunt, link));
}
