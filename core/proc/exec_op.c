/* SPDX-License-Identifier: MIT */
#include "proc/exec_op.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define INPUT_CHUNK (256u * 1024u)
/* After a confirmed kill: how long the last output may take. */
#define DRAIN_MS       1000
#define TIMED_OUT_CODE 124
/* More than this is not kept where it comes from: there, memory is the
 * workload's. */
#define CAPTURE_MAX (4u * 1024u * 1024u)

void sbx_command_copy_fini(struct sbx_command_copy *c) {
  size_t i;

  for (i = 0; i < c->argc; i++)
    free(c->argv[i]);
  free(c->argv);
  for (i = 0; i < c->envc; i++) {
    free(c->env[i].name);
    free(c->env[i].value);
  }
  free(c->env);
  free(c->cwd);
  memset(c, 0, sizeof(*c));
}

struct sbx_command sbx_command_of(const struct sbx_command_copy *c,
                                  bool want_stdin) {
  struct sbx_command cmd = {
      .cwd = c->cwd,
      .argv = c->argv,
      .argc = c->argc,
      .env = c->env,
      .envc = c->envc,
      .want_stdin = want_stdin,
  };

  return cmd;
}

void sbx_exec_options_fini(struct sbx_exec_options *options) {
  sbx_command_copy_fini(&options->command);
  free(options->input);
  memset(options, 0, sizeof(*options));
}

static const struct sbx_runner_ops *runner_of(const struct sbx_exec_op *op) {
  return op->job->runner->ops;
}

static void settle(struct sbx_exec_op *op) {
  if (op->job != NULL)
    runner_of(op)->close(op->job);
  op->job = NULL;
  sbx_timer_free(op->timer);
  op->timer = NULL;
  if (op->capture[0] != NULL)
    (void)sbx_capture_finish(op->capture[0], &op->out);
  if (op->capture[1] != NULL)
    (void)sbx_capture_finish(op->capture[1], &op->errout);
  op->duration_ms = (sbx_now_ns() - op->started_ns) / 1000000;
}

static void fail(struct sbx_exec_op *op, const struct sbx_err *err) {
  settle(op);
  sbx_session_op_complete(&op->base, err->code, err);
}

static void succeed(struct sbx_exec_op *op) {
  if (op->timed_out) {
    op->exit_code = TIMED_OUT_CODE;
    op->exit_known = true;
  }
  settle(op);
  sbx_session_op_complete(&op->base, 0, NULL);
}

static void abandon(struct sbx_session_op *sop, const struct sbx_err *err) {
  fail((struct sbx_exec_op *)sop, err);
}

static void send_input(struct sbx_exec_op *op) {
  size_t rest = op->options.input_len - op->input_sent;
  size_t len = rest < INPUT_CHUNK ? rest : INPUT_CHUNK;

  if (len > 0) {
    /* A program that reads no input is no failure. */
    if (runner_of(op)->write(op->job, op->options.input + op->input_sent, len) <
        0)
      op->input_sent = op->options.input_len;
    else
      op->input_sent += len;
  }
  if (op->input_sent == op->options.input_len)
    runner_of(op)->close_input(op->job);
}

static void on_started(void *arg) {
  struct sbx_exec_op *op = arg;

  op->started = true;
  send_input(op);
}

static void on_drain(void *arg) {
  struct sbx_exec_op *op = arg;

  if (op->started && op->input_sent < op->options.input_len)
    send_input(op);
}

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct sbx_exec_op *op = arg;
  ssize_t queued;

  (void)sbx_capture_push(op->capture[fd == SBX_ERR], data, len);
  if (!op->options.stream)
    return;
  queued = sbx_op_push(&op->base.op, fd, data, len);
  if (queued >= (ssize_t)SBX_OP_HIGH_WATER && !op->paused && op->job != NULL) {
    op->paused = true;
    runner_of(op)->pause(op->job, SBX_OUT);
    runner_of(op)->pause(op->job, SBX_ERR);
  }
}

/* In a captured output; the runner has left these out. */
static void on_omitted(void *arg, enum sbx_fd fd, uint64_t n) {
  struct sbx_exec_op *op = arg;

  sbx_capture_omit(op->capture[fd == SBX_ERR], n);
}

static void on_window(struct sbx_op *base) {
  struct sbx_exec_op *op = (struct sbx_exec_op *)base;

  if (!op->paused || op->job == NULL)
    return;
  op->paused = false;
  runner_of(op)->resume(op->job, SBX_OUT);
  runner_of(op)->resume(op->job, SBX_ERR);
}

static void on_exit_event(void *arg, const struct sbx_job_exit *ex) {
  struct sbx_exec_op *op = arg;

  op->ended = true;
  op->exit_known = true;
  op->exit_code = ex->exit_code;
  op->signal = ex->signal;
  op->oom = ex->oom;
  op->usage_known = ex->usage_known;
  op->usage = ex->usage;
  if (!op->killing)
    succeed(op);
}

static void on_failed(void *arg, const struct sbx_job_loss *loss) {
  struct sbx_exec_op *op = arg;

  op->ended = true;
  if (op->killing)
    return; /* on_killed completes */
  op->could_not_start = loss->err.code == SBX_EPROCESS;
  op->exit_known = loss->status_known;
  op->exit_code = loss->exit_code;
  /* Not the command's output: what the engine's client said. */
  (void)sbx_capture_push(op->capture[0], loss->out, loss->out_len);
  (void)sbx_capture_push(op->capture[1], loss->errout, loss->errout_len);
  fail(op, &loss->err);
}

static void kill_tree(struct sbx_exec_op *op, uint64_t grace_ms);

/* The client died, the command perhaps not: it must not go on unseen. */
static void on_lost(void *arg, const struct sbx_job_loss *loss) {
  struct sbx_exec_op *op = arg;

  op->ended = true;
  if (op->killing)
    return;
  op->loss = loss->err;
  kill_tree(op, 0);
}

static const struct sbx_job_events job_events = {
    .on_started = on_started,
    .on_failed = on_failed,
    .on_data = on_data,
    .on_omitted = on_omitted,
    .on_drain = on_drain,
    .on_exit = on_exit_event,
    .on_lost = on_lost,
};

static void fail_late_start(struct sbx_exec_op *op) {
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_ETIMEOUT,
           "the engine did not start the command within %llu ms",
           (unsigned long long)op->options.timeout_ms);
  fail(op, &err);
}

static void on_killed(void *arg, const struct sbx_err *err) {
  struct sbx_exec_op *op = arg;
  struct sbx_err why = {0};

  op->killing = false;
  if (op->loss.code != 0) {
    if (err != NULL && err->code != SBX_EDESTROYED)
      sbx_fail(&why, op->loss.code, "%s, and %s", op->loss.message,
               err->message);
    fail(op, why.code != 0 ? &why : &op->loss);
  } else if (err != NULL) {
    sbx_fail(&why, err->code, "the command %s, and %s",
             op->timed_out ? "timed out" : "was cancelled", err->message);
    fail(op, &why);
  } else if (!op->started) {
    if (op->timed_out)
      fail_late_start(op);
    else
      succeed(op);
  } else if (op->ended) {
    succeed(op);
  } else { /* its last output is on the way */
    if (op->paused)
      on_window(&op->base.op);
    sbx_timer_start(op->timer, DRAIN_MS);
  }
}

static void kill_tree(struct sbx_exec_op *op, uint64_t grace_ms) {
  struct sbx_err err = {0};

  op->killing = true;
  if (runner_of(op)->kill(op->job, grace_ms, on_killed, op) < 0) {
    op->killing = false;
    sbx_fail(&err, SBX_EINTERNAL, "out of memory");
    fail(op, &err);
  }
}

static void on_timer(void *arg) {
  struct sbx_exec_op *op = arg;

  if (op->timed_out || op->cancelled) { /* the drain is over */
    succeed(op);
    return;
  }
  if (op->killing) /* it was lost */
    return;
  op->timed_out = true;
  kill_tree(op, op->options.grace_ms);
}

static void cancel(struct sbx_op *base) {
  struct sbx_exec_op *op = (struct sbx_exec_op *)base;

  if (op->timed_out || op->killing || op->job == NULL)
    return;
  op->cancelled = true;
  sbx_timer_stop(op->timer);
  kill_tree(op, op->options.grace_ms);
}

static void start(struct sbx_op *base) {
  struct sbx_exec_op *op = (struct sbx_exec_op *)base;
  struct sbx_session *s = op->base.session;
  struct sbx_command cmd =
      sbx_command_of(&op->options.command, op->options.has_input);
  struct sbx_err err = {0};
  int rc;

  op->started_ns = sbx_now_ns();
  op->base.abandon = abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  if (sbx_capture_new(&op->capture[0], op->options.how.max_output,
                      op->options.how.keep) < 0 ||
      sbx_capture_new(&op->capture[1], op->options.how.max_output,
                      op->options.how.keep) < 0 ||
      sbx_timer_new(&op->timer, s->runtime, on_timer, op) < 0) {
    sbx_fail(&err, SBX_EINTERNAL, "out of memory");
    fail(op, &err);
    return;
  }
  op->options.how.capture =
      !op->options.stream && op->options.how.max_output <= CAPTURE_MAX;
  s->last_was_process = false;
  sbx_timer_start(op->timer, op->options.timeout_ms);
  rc = s->runner->ops->start(s->runner, &cmd, &op->options.how, &job_events, op,
                             &op->job, &err);
  if (rc < 0)
    fail(op, &err);
}

/* Cancelled before it began: nothing was run, which is a result. */
static void skip(struct sbx_op *base) {
  ((struct sbx_exec_op *)base)->cancelled = true;
  sbx_op_complete(base, 0, NULL);
}

static void free_op(struct sbx_op *base) {
  struct sbx_exec_op *op = (struct sbx_exec_op *)base;

  sbx_capture_free(op->capture[0]);
  sbx_capture_free(op->capture[1]);
  free(op->out.data);
  free(op->errout.data);
  sbx_exec_options_fini(&op->options);
  sbx_session_op_fini(&op->base);
  free(op);
}

const struct sbx_op_class sbx_exec_op_class = {
    .name = "exec",
    .start = start,
    .skip = skip,
    .cancel = cancel,
    .window = on_window,
    .free = free_op,
};

struct sbx_exec_op *sbx_exec_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s,
                                    struct sbx_exec_options *options) {
  struct sbx_exec_op *op = calloc(1, sizeof(*op));

  if (op == NULL) {
    sbx_exec_options_fini(options);
    return NULL;
  }
  sbx_session_op_init(&op->base, &sbx_exec_op_class, mb, s);
  op->options = *options;
  memset(options, 0, sizeof(*options));
  return op;
}
