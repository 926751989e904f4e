/* SPDX-License-Identifier: MIT */
#include "proc/sup_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "wire/frame.h"

#define MARK_LEN 32
/* What waits for room: a chunk of its owner's. */
#define INPUT_MAX ((size_t)1 << 40)

static void release(struct sbx_sup_job *job) {
  sbx_buf_fini(&job->input);
  sbx_timer_free(job->timer);
  free(job->program);
  free(job);
}

void sbx_sup_job_leave(struct sbx_sup_job *job) {
  if (--job->depth == 0 && job->closed)
    release(job);
}

void sbx_sup_job_let_go(struct sbx_sup_job *job) {
  sbx_mux_forget(job->channel);
  job->channel = NULL;
}

/* ---- what comes ---- */

static const char *reason_of(const struct sbx_msg_failed *failed, int *code) {
  *code = 126;
  switch (failed->stage) {
  case SBX_FAILED_CWD:
    *code = 125;
    return "the working directory cannot be entered";
  case SBX_FAILED_NOT_FOUND:
    *code = 127;
    return "not found";
  case SBX_FAILED_NOT_EXECUTABLE:
    return failed->error == EISDIR ? "it is a directory"
                                   : "it is not executable";
  default:
    *code = -1;
    return NULL;
  }
}

static void on_failed(struct sbx_sup_job *job,
                      const struct sbx_msg_failed *failed) {
  struct sbx_job_loss loss = {0};
  const char *why = reason_of(failed, &loss.exit_code);

  loss.status_known = loss.exit_code >= 0;
  if (why != NULL)
    sbx_fail(&loss.err, SBX_EPROCESS, "could not start '%s': %s", job->program,
             why);
  else if (failed->error == EAGAIN || failed->error == ENOMEM)
    sbx_fail(&loss.err, SBX_EPROCESS,
             "the command could not be started: the container is at its limit "
             "of processes or of memory");
  else
    sbx_fail(&loss.err, SBX_EPROCESS, "could not start '%s': %s", job->program,
             strerror((int)failed->error));
  job->ended = true;
  sbx_sup_job_let_go(job);
  job->events->on_failed(job->arg, &loss);
  sbx_sup_job_answer_all(job, NULL); /* nothing runs */
}

static void on_exit_msg(struct sbx_sup_job *job,
                        const struct sbx_msg_exit *exit) {
  struct sbx_job_exit ex = {
      .exit_code = exit->code,
      .signal = exit->signal,
      .oom = exit->oom != 0,
      .usage_known = true,
      .usage = {exit->user_us, exit->system_us, exit->max_rss_kib},
  };

  job->ended = true;
  job->events->on_exit(job->arg, &ex);
}

/* What is consumed at once goes back at once. A captured output is never more
 * than what was given for it. */
static void on_data(struct sbx_sup_job *job, const struct sbx_mux_msg *msg) {
  enum sbx_fd fd = msg->data.stream == SBX_MSG_STDOUT ? SBX_OUT : SBX_ERR;

  job->events->on_data(job->arg, fd, msg->data.data, msg->data.len);
  if (job->capture || job->channel == NULL)
    return;
  if (job->paused[fd - 1])
    job->held[fd - 1] += msg->data.len;
  else
    sbx_mux_consumed(job->channel, msg->data.stream, msg->data.len);
}

static void on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct sbx_sup_job *job = arg;

  sbx_sup_job_enter(job);
  switch (msg->type) {
  case SBX_MSG_STARTED:
    job->started = true;
    job->events->on_started(job->arg);
    break;
  case SBX_MSG_FAILED:
    on_failed(job, &msg->failed);
    break;
  case SBX_MSG_DATA:
    on_data(job, msg);
    break;
  case SBX_MSG_OMITTED:
    if (job->events->on_omitted != NULL)
      job->events->on_omitted(
          job->arg, msg->omitted.stream == SBX_MSG_STDOUT ? SBX_OUT : SBX_ERR,
          msg->omitted.bytes);
    break;
  case SBX_MSG_EXIT:
    on_exit_msg(job, &msg->exit);
    break;
  case SBX_MSG_KILLED:
    sbx_sup_job_killed(job, &msg->killed);
    break;
  case SBX_MSG_COUNTED:
    sbx_sup_job_counted(job, msg->count);
    break;
  default: /* EOF: EXIT follows */
    break;
  }
  sbx_sup_job_leave(job);
}

static void send_pending(struct sbx_sup_job *job) {
  size_t rest = job->input.len - job->input_at;
  size_t room = rest > 0 ? sbx_mux_room(job->channel) : 0;

  if (room > rest)
    room = rest;
  if (room > 0 &&
      sbx_mux_send(job->channel, job->input.data + job->input_at, room) == 0)
    job->input_at += room;
  if (job->input_at < job->input.len) {
    sbx_mux_want_room(job->channel);
    return;
  }
  sbx_buf_fini(&job->input);
  job->input_at = 0;
  if (job->input_ends)
    sbx_mux_send_eof(job->channel);
}

static void on_room(void *arg) {
  struct sbx_sup_job *job = arg;

  if (job->ended || job->channel == NULL)
    return;
  sbx_sup_job_enter(job);
  send_pending(job);
  if (job->input.len == 0 && job->events->on_drain != NULL)
    job->events->on_drain(job->arg);
  sbx_sup_job_leave(job);
}

/* The session is ending: whoever owns the job is told by it. */
static void on_lost(void *arg) {
  struct sbx_sup_job *job = arg;
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_EDESTROYED, "the container is gone");
  sbx_sup_job_enter(job);
  sbx_sup_job_let_go(job);
  sbx_sup_job_answer_all(job, &err);
  if (!job->ended && !job->closed) {
    struct sbx_job_loss loss = {.err = err};

    job->ended = true;
    if (job->started)
      job->events->on_lost(job->arg, &loss);
    else
      job->events->on_failed(job->arg, &loss);
  }
  sbx_sup_job_leave(job);
}

/* ---- start ---- */

static struct sbx_str text(const char *s) {
  return (struct sbx_str){(const uint8_t *)s, s != NULL ? strlen(s) : 0};
}

static int append(struct sbx_buf *b, struct sbx_strs *list, const char *s) {
  list->count++;
  return sbx_str_append(b, s, strlen(s));
}

static int open_channel(struct sbx_sup_job *job, const struct sbx_command *cmd,
                        struct sbx_msg_spawn *spawn) {
  static const struct sbx_mux_channel_events events = {
      .on_msg = on_msg,
      .on_room = on_room,
      .on_lost = on_lost,
  };
  struct sbx_buf argv, env;
  size_t i;
  int rc = 0;

  sbx_buf_init(&argv, SBX_FRAME_DOWN_MAX);
  sbx_buf_init(&env, SBX_FRAME_DOWN_MAX);
  for (i = 0; rc == 0 && i < cmd->argc; i++)
    rc = append(&argv, &spawn->argv, cmd->argv[i]);
  for (i = 0; rc == 0 && i < cmd->envc; i++) {
    rc = append(&env, &spawn->env, cmd->env[i].name);
    if (rc == 0)
      rc = append(&env, &spawn->env, cmd->env[i].value);
  }
  spawn->argv.data = argv.data;
  spawn->argv.len = argv.len;
  spawn->env.data = env.data;
  spawn->env.len = env.len;
  if (rc == 0)
    rc = sbx_mux_spawn(job->runner->mux, spawn, &events, job, &job->channel);
  sbx_buf_fini(&argv);
  sbx_buf_fini(&env);
  return rc;
}

/* A terminal has one, which may end at once. */
static bool has_input(const struct sbx_command *cmd,
                      const struct sbx_job_options *o) {
  return cmd->want_stdin || o->pty;
}

static uint32_t flags_of(const struct sbx_command *cmd,
                         const struct sbx_job_options *o) {
  return (has_input(cmd, o) ? SBX_SPAWN_STDIN : 0u) |
         (o->pty ? SBX_SPAWN_PTY : 0u) | (o->root ? SBX_SPAWN_ROOT : 0u) |
         (o->capture ? SBX_SPAWN_CAPTURE : 0u);
}

int sbx_sup_job_start(struct sbx_runner *r, const struct sbx_command *cmd,
                      const struct sbx_job_options *options,
                      const struct sbx_job_events *events, void *arg,
                      struct sbx_job_handle **out, struct sbx_err *err) {
  struct sbx_sup_runner *runner = (struct sbx_sup_runner *)r;
  struct sbx_sup_job *job;
  char mark[MARK_LEN + 1];
  bool capture = options->capture && options->max_output <= UINT32_MAX;
  struct sbx_msg_spawn spawn = {
      .flags = flags_of(cmd, options),
      .keep = (uint8_t)options->keep,
      .max_bytes = options->max_output,
      .credit = capture ? (uint32_t)options->max_output : SBX_MUX_CREDIT,
      .rows = options->rows,
      .cols = options->cols,
      .cwd = text(cmd->cwd),
  };
  int rc = sbx_header_check(cmd, err);

  if (rc < 0)
    return rc;
  if (sbx_random_hex(mark, MARK_LEN) < 0)
    return sbx_fail(err, SBX_EINTERNAL, "no random numbers");
  spawn.mark = text(mark);
  job = calloc(1, sizeof(*job));
  if (job == NULL)
    return sbx_fail(err, SBX_EINTERNAL, "out of memory");
  job->base.runner = r;
  job->runner = runner;
  job->events = events;
  job->arg = arg;
  job->has_input = has_input(cmd, options);
  job->capture = capture;
  sbx_list_init(&job->asked);
  sbx_buf_init(&job->input, INPUT_MAX);
  job->program = strdup(cmd->argv[0]);
  rc = job->program != NULL ? open_channel(job, cmd, &spawn) : -ENOMEM;
  if (rc < 0) {
    release(job);
    return rc == -EMSGSIZE
               ? sbx_fail(err, SBX_EPROCESS, "the command is too long")
               : sbx_fail(err, SBX_EINTERNAL, "out of memory");
  }
  *out = &job->base;
  return 0;
}

/* ---- what its owner does ---- */

int sbx_sup_job_write(struct sbx_job_handle *handle, const void *data,
                      size_t len) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  const uint8_t *at = data;
  size_t room = 0;

  if (job->ended || job->channel == NULL || !job->has_input || job->input_ends)
    return -EPIPE;
  if (job->input.len == 0)
    room = sbx_mux_room(job->channel);
  if (room > len)
    room = len;
  if (len > room && sbx_buf_append(&job->input, at + room, len - room) < 0)
    return -ENOMEM;
  if (room > 0) {
    int rc = sbx_mux_send(job->channel, at, room);

    if (rc < 0) {
      sbx_buf_fini(&job->input);
      return rc;
    }
  }
  sbx_mux_want_room(job->channel);
  return 0;
}

void sbx_sup_job_close_input(struct sbx_job_handle *handle) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;

  if (!job->has_input || job->input_ends)
    return;
  job->input_ends = true;
  if (!job->ended && job->channel != NULL && job->input.len == 0)
    sbx_mux_send_eof(job->channel);
}

void sbx_sup_job_pause(struct sbx_job_handle *handle, enum sbx_fd fd) {
  ((struct sbx_sup_job *)handle)->paused[fd - 1] = true;
}

void sbx_sup_job_resume(struct sbx_job_handle *handle, enum sbx_fd fd) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  size_t held = job->held[fd - 1];

  job->paused[fd - 1] = false;
  job->held[fd - 1] = 0;
  if (job->channel != NULL)
    sbx_mux_consumed(job->channel,
                     fd == SBX_OUT ? SBX_MSG_STDOUT : SBX_MSG_STDERR, held);
}

int sbx_sup_job_resize(struct sbx_job_handle *handle, uint16_t rows,
                       uint16_t cols) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  uint8_t payload[4];

  if (job->channel == NULL)
    return -EPIPE;
  sbx_put_u16(payload, rows);
  sbx_put_u16(payload + 2, cols);
  return sbx_mux_control(job->channel, SBX_MSG_RESIZE, payload, 4);
}

void sbx_sup_job_close(struct sbx_job_handle *handle) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;

  sbx_sup_job_enter(job);
  job->closed = true;
  sbx_sup_job_forget_asked(job);
  sbx_sup_job_let_go(job);
  sbx_sup_job_leave(job);
}
