/* SPDX-License-Identifier: MIT */
#include "proc/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/process.h"
#include "proc/sup_open.h"

#define CLIENT_TEXT_MAX (16u * 1024u)
/* A container ends some 40 ms after its lease. */
#define LINGER_MS 3000

void sbx_session_options_fini(struct sbx_session_options *options) {
  free(options->workdir);
  free(options->user);
  sbx_request_unref(options->attach);
  sbx_request_unref(options->exec);
  sbx_request_unref(options->root);
  sbx_request_unref(options->agent);
  sbx_request_unref(options->remove);
  memset(options, 0, sizeof(*options));
}

int sbx_session_new(struct sbx_session **out, struct sbx_mailbox *mb,
                    struct sbx_session_options *options, struct sbx_err *err) {
  struct sbx_session *s = calloc(1, sizeof(*s));

  if (s == NULL) {
    sbx_session_options_fini(options);
    return sbx_fail(err, SBX_EINTERNAL, "out of memory");
  }
  atomic_init(&s->refs, 1);
  atomic_init(&s->state, SBX_SESSION_NEW);
  atomic_init(&s->reason, SBX_CLOSE_NONE);
  atomic_init(&s->note, SBX_NOTE_NONE);
  atomic_init(&s->note_status, -1);
  s->runtime = sbx_mailbox_runtime(mb);
  s->options = *options;
  memset(options, 0, sizeof(*options));
  sbx_buf_init(&s->client_out, CLIENT_TEXT_MAX);
  sbx_buf_init(&s->client_err, CLIENT_TEXT_MAX);
  sbx_list_init(&s->ops);
  sbx_list_init(&s->waiters);
  sbx_list_init(&s->processes);
  sbx_list_init(&s->probes);
  *out = s;
  return 0;
}

void sbx_session_ref(struct sbx_session *s) {
  atomic_fetch_add(&s->refs, 1);
}

void sbx_session_unref(struct sbx_session *s) {
  if (s == NULL || atomic_fetch_sub(&s->refs, 1) != 1)
    return;
  sbx_session_options_fini(&s->options);
  sbx_buf_fini(&s->client_out);
  sbx_buf_fini(&s->client_err);
  free(s);
}

void sbx_session_explain(struct sbx_session *s, struct sbx_err *err) {
  static const char *const why[] = {
      [SBX_CLOSE_NONE] = "the session is not open",
      [SBX_CLOSE_DESTROY] = "the session is destroyed",
      [SBX_CLOSE_TTL] = "the session's time to live is over",
      [SBX_CLOSE_IDLE] = "the session was idle for too long",
      [SBX_CLOSE_LOST] = "the session's container is not running any more",
      [SBX_CLOSE_FAILED] = "the session could not be opened",
  };
  int reason = atomic_load(&s->reason);

  if (reason == SBX_CLOSE_BROKEN) {
    *err = s->broken;
    return;
  }
  sbx_fail(err, SBX_EDESTROYED, "%s", why[reason]);
}

/* Idle is: no operation under way and no managed process running. */
void sbx_session_update_idle(struct sbx_session *s) {
  if (s->idle == NULL)
    return;
  if (sbx_list_empty(&s->ops) && s->running_count == 0)
    sbx_timer_start(s->idle, s->options.idle_ms);
  else
    sbx_timer_stop(s->idle);
}

static void abandon_ops(struct sbx_session *s) {
  struct sbx_err err = {0};

  sbx_session_explain(s, &err);
  while (!sbx_list_empty(&s->ops)) {
    struct sbx_list *node = s->ops.next;
    struct sbx_session_op *sop =
        SBX_LIST_OWNER(node, struct sbx_session_op, link);

    sbx_list_remove(node);
    sop->abandon(sop, &err);
  }
}

static void ignore_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                        size_t len) {
  (void)arg;
  (void)fd;
  (void)data;
  (void)len;
}

static void on_removed(void *arg, const struct sbx_stream_end *end) {
  struct sbx_session *s = arg;

  (void)end;
  s->remover = NULL;
  sbx_timer_start(s->linger, LINGER_MS);
}

/* The container does not end with its lease: it is paused, say, or somebody
 * inside holds the other end of the lease's pipe. */
static void on_linger(void *arg) {
  static const struct sbx_stream_events events = {.on_data = ignore_data,
                                                  .on_end = on_removed};
  struct sbx_session *s = arg;

  if (sbx_stream_open(s->runtime, s->options.remove, &events, s, &s->remover,
                      NULL) < 0) {
    s->remover = NULL;
    sbx_timer_start(s->linger, LINGER_MS);
    return;
  }
  sbx_stream_shutdown(s->remover);
}

void sbx_session_stop_linger(struct sbx_session *s) {
  sbx_timer_free(s->linger);
  s->linger = NULL;
  if (s->remover != NULL)
    sbx_stream_close(s->remover, false);
  s->remover = NULL;
}

/* Only a container that was seen running is known to be ours by its name. */
static void start_linger(struct sbx_session *s) {
  if (s->options.remove != NULL &&
      sbx_timer_new(&s->linger, s->runtime, on_linger, s) == 0)
    sbx_timer_start(s->linger, LINGER_MS);
}

void sbx_session_end(struct sbx_session *s, enum sbx_close_reason reason) {
  int state = atomic_load(&s->state);

  if (state == SBX_SESSION_CLOSING || state == SBX_SESSION_CLOSED)
    return;
  atomic_store(&s->reason, reason);
  atomic_store(&s->state,
               s->lease != NULL ? SBX_SESSION_CLOSING : SBX_SESSION_CLOSED);
  sbx_timer_free(s->ttl);
  sbx_timer_free(s->idle);
  s->ttl = NULL;
  s->idle = NULL;
  abandon_ops(s);
  sbx_process_close_all(s);
  if (s->runner != NULL) {
    s->runner->ops->lose(s->runner);
    sbx_channel_free(s->channel);
    s->channel = NULL;
    sbx_sup_close(s);
    s->runner->ops->free(s->runner);
    s->runner = NULL;
  }
  if (s->lease != NULL) {
    sbx_stream_shutdown(s->lease);
    if (state == SBX_SESSION_OPEN)
      start_linger(s);
  }
}

struct note {
  struct sbx_job job;
  struct sbx_session *session;
};

static void run_close(struct sbx_job *job) {
  struct note *n = SBX_LIST_OWNER(job, struct note, job);

  sbx_session_end(n->session, SBX_CLOSE_DESTROY);
  sbx_session_unref(n->session);
  free(n);
}

static void run_touch(struct sbx_job *job) {
  struct note *n = SBX_LIST_OWNER(job, struct note, job);

  if (atomic_load(&n->session->state) == SBX_SESSION_OPEN) {
    sbx_session_update_idle(n->session);
    sbx_sup_touch(n->session);
  }
  sbx_session_unref(n->session);
  free(n);
}

static int post(struct sbx_session *s, void (*run)(struct sbx_job *job)) {
  struct note *n;

  if (sbx_runtime_stale(s->runtime))
    return 0; /* a forked child: the session is its parent's */
  n = calloc(1, sizeof(*n));
  if (n == NULL)
    return -ENOMEM;
  sbx_session_ref(s);
  n->session = s;
  n->job.run = run;
  sbx_runtime_post(s->runtime, &n->job);
  return 0;
}

int sbx_session_close(struct sbx_session *s) {
  return post(s, run_close);
}

int sbx_session_touch(struct sbx_session *s) {
  return post(s, run_touch);
}

void sbx_session_op_init(struct sbx_session_op *sop,
                         const struct sbx_op_class *cls, struct sbx_mailbox *mb,
                         struct sbx_session *s) {
  sbx_op_init(&sop->op, cls, mb);
  sbx_list_init(&sop->link);
  sbx_session_ref(s);
  sop->session = s;
}

void sbx_session_op_fini(struct sbx_session_op *sop) {
  sbx_session_unref(sop->session);
}

bool sbx_session_op_enter(struct sbx_session_op *sop) {
  struct sbx_session *s = sop->session;

  if (atomic_load(&s->state) != SBX_SESSION_OPEN) {
    struct sbx_err err = {0};

    sbx_session_explain(s, &err);
    sbx_op_complete(&sop->op, err.code, &err);
    return false;
  }
  sbx_list_append(&s->ops, &sop->link);
  sbx_session_update_idle(s);
  return true;
}

void sbx_session_op_complete(struct sbx_session_op *sop, int rc,
                             const struct sbx_err *err) {
  sbx_list_remove(&sop->link);
  if (atomic_load(&sop->session->state) == SBX_SESSION_OPEN)
    sbx_session_update_idle(sop->session);
  sbx_op_complete(&sop->op, rc, err);
}
