/* SPDX-License-Identifier: MIT */
#include "proc/exec_job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proc/hunt.h"
#include "wire/quote.h"

#define GREETING         0x1e
#define EARLY_MAX        (64u * 1024u)
#define ALIVE_TIMEOUT_MS 1000
/* What a shell that cannot fork exits with; busybox is like dash. */
#define DASH_NO_FORK 2
#define BASH_NO_FORK 254

static void enter(struct sbx_exec_job *job) {
  job->depth++;
}

static void release(struct sbx_exec_job *job) {
  sbx_buf_fini(&job->header);
  sbx_buf_fini(&job->early_out);
  sbx_buf_fini(&job->early_err);
  free(job->program);
  free(job);
}

static void leave(struct sbx_exec_job *job) {
  if (--job->depth == 0 && job->closed)
    release(job);
}

/* The stream may go on without us: a background child can hold it open. */
static void drop_stream(struct sbx_exec_job *job, bool kill) {
  if (job->stream != NULL)
    sbx_stream_close(job->stream, kill);
  job->stream = NULL;
}

static void describe_loss(const struct sbx_exec_job *job,
                          struct sbx_job_loss *loss) {
  loss->out = job->early_out.data;
  loss->out_len = job->early_out.len;
  loss->errout = job->early_err.data;
  loss->errout_len = job->early_err.len;
}

static void fail_start(struct sbx_exec_job *job, int code, const char *reason) {
  struct sbx_job_loss loss = {.status_known = true, .exit_code = code};
  const char *why =
      strcmp(reason, "not_found") == 0        ? "not found"
      : strcmp(reason, "not_executable") == 0 ? "it is not executable"
      : strcmp(reason, "is_directory") == 0   ? "it is a directory"
      : strcmp(reason, "cwd") == 0 ? "the working directory cannot be entered"
      : strcmp(reason, "no_env") == 0
          ? "the shell of the image keeps a variable of its environment for "
            "itself, and the image has no env program"
          : reason;

  sbx_fail(&loss.err, SBX_EPROCESS, "could not start '%s': %s", job->program,
           why);
  job->ended = true;
  drop_stream(job, false);
  job->events->on_failed(job->arg, &loss);
}

static void lose(struct sbx_exec_job *job, int code, const char *what,
                 const struct sbx_stream_end *end) {
  struct sbx_job_loss loss = {0};

  describe_loss(job, &loss);
  if (end != NULL && end->status_known) {
    loss.status_known = true;
    loss.exit_code = end->exit_code;
  }
  sbx_fail(&loss.err, code, "%s", what);
  job->ended = true;
  drop_stream(job, true);
  if (job->started)
    job->events->on_lost(job->arg, &loss);
  else
    job->events->on_failed(job->arg, &loss);
}

static void finish(struct sbx_exec_job *job, int status) {
  struct sbx_job_exit ex = {.exit_code = status};

  /* The shell's way of telling a signal. */
  if (status > 128 && status - 128 < 32)
    ex.signal = status - 128;
  job->ended = true;
  drop_stream(job, false);
  job->events->on_exit(job->arg, &ex);
}

static void deliver(struct sbx_exec_job *job, enum sbx_fd fd,
                    const uint8_t *data, size_t len) {
  if (len == 0 || job->ended || job->closed)
    return;
  if (fd == SBX_OUT && !job->started)
    (void)sbx_buf_append(&job->early_out, data, len);
  else if (fd == SBX_ERR && !job->err_started)
    (void)sbx_buf_append(&job->early_err, data, len);
  else if (fd == SBX_OUT ? !job->out_done : !job->err_done)
    job->events->on_data(job->arg, fd, data, len);
}

static void begin(struct sbx_exec_job *job, const struct sbx_marker_event *ev) {
  job->started = true;
  job->tree.wrapper = ev->wrapper;
  job->tree.group = ev->group;
  (void)sbx_stream_write(job->stream, "\n", 1); /* now it may run */
  job->events->on_started(job->arg);
  /* What came before the marker is output; what the engine's client wrote to
   * its stderr before the program ran is not the program's. */
  if (!job->ended && !job->closed && job->early_out.len > 0)
    job->events->on_data(job->arg, SBX_OUT, job->early_out.data,
                         job->early_out.len);
  sbx_buf_clear(&job->early_out);
}

static void take_marker(struct sbx_exec_job *job, enum sbx_fd fd,
                        const struct sbx_marker_event *ev) {
  switch (ev->kind) {
  case SBX_MARKER_START:
    if (fd == SBX_OUT)
      begin(job, ev);
    else
      job->err_started = true;
    break;
  case SBX_MARKER_FAILED:
    if (fd == SBX_OUT)
      fail_start(job, ev->status, ev->reason);
    break;
  case SBX_MARKER_EXIT:
    job->status = ev->status;
    if (fd == SBX_OUT)
      job->out_done = true;
    else
      job->err_done = true;
    if (job->out_done && job->err_done)
      finish(job, job->status);
    break;
  case SBX_MARKER_NONE:
    break;
  }
}

static void scan(struct sbx_exec_job *job, enum sbx_fd fd, const uint8_t *data,
                 size_t len) {
  struct sbx_marker *m = fd == SBX_OUT ? &job->out : &job->err;

  while (len > 0 && !job->ended && !job->closed) {
    struct sbx_marker_event ev;
    ssize_t used = sbx_marker_feed(m, data, len, &ev);

    deliver(job, fd, ev.out, ev.out_len);
    if (job->ended || job->closed)
      return;
    if (used < 0) {
      lose(job, SBX_EPROTO, "a start or exit marker is malformed", NULL);
      return;
    }
    data += used;
    len -= (size_t)used;
    take_marker(job, fd, &ev);
  }
}

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct sbx_exec_job *job = arg;

  enter(job);
  if (fd == SBX_OUT && !job->greeted && job->early_out.len == 0 &&
      data[0] == GREETING) {
    job->greeted = true;
    (void)sbx_stream_write(job->stream, job->header.data, job->header.len);
    sbx_buf_fini(&job->header);
    data++;
    len--;
  }
  scan(job, fd, data, len);
  leave(job);
}

static void on_drain(void *arg) {
  struct sbx_exec_job *job = arg;

  if (job->ended || !job->greeted || job->events->on_drain == NULL)
    return;
  enter(job);
  job->events->on_drain(job->arg);
  leave(job);
}

static void on_rest_killed(void *arg, const struct sbx_err *err) {
  struct sbx_exec_job *job = arg;

  enter(job);
  if (!job->ended && err == NULL)
    finish(job, 128 + SIGKILL);
  else if (!job->ended)
    lose(job, err->code, err->message, NULL);
  leave(job);
}

/* The wrapper was killed: with its program, by a KILL to the whole group or for
 * lack of memory, or alone, and then the program would go on unseen. The engine
 * answers 137 for a container that was removed, too: only if it still answers
 * is this the command's end. */
static void on_alive(void *arg, int rc) {
  struct sbx_exec_job *job = arg;

  enter(job);
  if (!job->ended && rc < 0)
    lose(job, SBX_EDESTROYED, "the container is gone", NULL);
  else if (!job->ended && sbx_hunt_kill(&job->base, 0, on_rest_killed, job) < 0)
    lose(job, SBX_EINTERNAL, "out of memory", NULL);
  leave(job);
}

static void end_without_marker(struct sbx_exec_job *job,
                               const struct sbx_stream_end *end) {
  static const struct sbx_answer_events alive = {NULL, on_alive};

  if (!job->greeted) {
    lose(job, SBX_ECOMMAND, "the engine could not run the exec", end);
  } else if (!job->started && end->status_known &&
             (end->exit_code == DASH_NO_FORK ||
              end->exit_code == BASH_NO_FORK)) {
    lose(job, SBX_EPROCESS,
         "the command could not be started: the container is at its limit of "
         "processes or of memory",
         end);
  } else if (!job->started) {
    lose(job, SBX_ECOMMAND,
         "the engine's exec ended before the command started", end);
  } else if (job->out_done) {
    finish(job, job->status);
  } else if (job->killed) {
    finish(job, 128 + SIGKILL);
  } else if (end->status_known && end->exit_code == 128 + SIGKILL &&
             job->runner->channel != NULL) {
    if (sbx_channel_ask(job->runner->channel, "hello /", ALIVE_TIMEOUT_MS,
                        &alive, job) < 0)
      lose(job, SBX_EINTERNAL, "out of memory", end);
  } else {
    lose(job, SBX_ECOMMAND, "the connection to the command was lost", end);
  }
}

static void on_end(void *arg, const struct sbx_stream_end *end) {
  struct sbx_exec_job *job = arg;
  struct sbx_marker_event ev;

  enter(job);
  job->stream = NULL;
  if (!job->ended) {
    sbx_marker_finish(&job->out, &ev);
    deliver(job, SBX_OUT, ev.out, ev.out_len);
    sbx_marker_finish(&job->err, &ev);
    deliver(job, SBX_ERR, ev.out, ev.out_len);
  }
  if (!job->ended && !job->closed)
    end_without_marker(job, end);
  leave(job);
}

static const struct sbx_stream_events stream_events = {
    .on_data = on_data,
    .on_drain = on_drain,
    .on_end = on_end,
};

int sbx_exec_job_start(struct sbx_runner *r, const struct sbx_command *cmd,
                       const struct sbx_job_options *options,
                       const struct sbx_job_events *events, void *arg,
                       struct sbx_job_handle **out, struct sbx_err *err) {
  struct sbx_exec_runner *runner = (struct sbx_exec_runner *)r;
  struct sbx_exec_job *job;
  struct sbx_command named = *cmd;
  char uuid[SBX_UUID_LEN + 1];
  int rc;

  if (options->pty)
    return sbx_fail(err, SBX_EPROCESS, "a terminal needs the supervisor");
  job = calloc(1, sizeof(*job));
  if (job == NULL)
    return sbx_fail(err, SBX_EINTERNAL, "out of memory");
  job->base.runner = r;
  job->runner = runner;
  job->events = events;
  job->arg = arg;
  sbx_list_init(&job->hunts);
  sbx_buf_init(&job->header, SBX_HEADER_MAX);
  sbx_buf_init(&job->early_out, EARLY_MAX);
  sbx_buf_init(&job->early_err, EARLY_MAX);
  if (sbx_uuid(uuid) < 0 || sbx_random_hex(job->tree.mark, SBX_NONCE_LEN) < 0) {
    rc = sbx_fail(err, SBX_EINTERNAL, "no random numbers");
    goto fail;
  }
  sbx_marker_init(&job->out, uuid, SBX_EXPECT_START | SBX_EXPECT_EXIT);
  sbx_marker_init(&job->err, uuid, SBX_EXPECT_START | SBX_EXPECT_EXIT);
  named.uuid = uuid;
  named.mark = job->tree.mark;

  rc = sbx_header_encode(&job->header, &named, err);
  if (rc < 0) {
    rc = sbx_fail(err, rc, "the command");
    goto fail;
  }
  job->program = strdup(cmd->argv[0]);
  if (job->program == NULL) {
    rc = sbx_fail(err, SBX_EINTERNAL, "out of memory");
    goto fail;
  }
  rc = sbx_stream_open(runner->runtime,
                       options->root ? runner->options.root
                                     : runner->options.exec,
                       &stream_events, job, &job->stream, err);
  if (rc < 0)
    goto fail;
  *out = &job->base;
  return 0;

fail:
  release(job);
  return rc;
}

int sbx_exec_job_write(struct sbx_job_handle *handle, const void *data,
                       size_t len) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;

  if (job->ended || job->stream == NULL)
    return -EPIPE;
  return sbx_stream_write(job->stream, data, len);
}

void sbx_exec_job_close_input(struct sbx_job_handle *handle) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;

  if (job->stream != NULL)
    sbx_stream_shutdown(job->stream);
}

int sbx_exec_job_resize(struct sbx_job_handle *handle, uint16_t rows,
                        uint16_t cols) {
  (void)handle;
  (void)rows;
  (void)cols;
  return -ENOTSUP;
}

void sbx_exec_job_pause(struct sbx_job_handle *handle, enum sbx_fd fd) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;

  if (job->stream != NULL)
    sbx_stream_pause(job->stream, fd);
}

void sbx_exec_job_resume(struct sbx_job_handle *handle, enum sbx_fd fd) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;

  if (job->stream != NULL)
    sbx_stream_resume(job->stream, fd);
}

void sbx_exec_job_close(struct sbx_job_handle *handle) {
  struct sbx_exec_job *job = (struct sbx_exec_job *)handle;

  enter(job);
  job->closed = true;
  sbx_hunt_forget(job);
  if (job->runner->channel != NULL)
    sbx_channel_forget(job->runner->channel, job);
  /* An exec that has ended for us may still be held open by a background
   * child, which must not lose its output pipe; one that has not ended is
   * given up together with its session. */
  drop_stream(job, !job->ended);
  leave(job);
}
