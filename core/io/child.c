/* SPDX-License-Identifier: MIT */
/* child.c - a stream to a child process: the engine's command line client.
 *
 * Its exit is seen through a pidfd (where there is none, by looking now and
 * then) and it is reaped only when the stream is over: until then its pid, and
 * so its group, cannot be anybody else's when we kill it. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/child.h"
#include "io/spawn.h"
#include "io/stream.h"
#include "io/timer.h"

#define DRAIN_MS   1000 /* after the exit, while something holds the pipes */
#define GIVE_UP_MS 3000 /* after a kill that did not show */
#define LOOK_MS    20   /* between two looks, where there is no pidfd */

struct output {
  uv_pipe_t pipe;
  struct child *child;
  enum sbx_fd fd;
  bool open;
  bool paused;
};

struct child {
  struct sbx_stream stream; /* first */
  struct sbx_runtime *runtime;
  struct sbx_tenant tenant;
  struct sbx_guard guards[3];
  pid_t pid;
  int pidfd;
  bool lease;
  unsigned handles; /* libuv's, not closed yet; the last one frees all */

  uv_pipe_t in;
  bool in_open;
  bool in_ending; /* close it once everything is written */
  size_t in_pending;

  struct output out[2];
  uv_poll_t exit_poll;
  struct sbx_timer *timer;

  bool exited; /* seen, not reaped; or lost */
  struct sbx_stream_end end;
  bool killed;
  bool finished;
  uint64_t drain_until; /* 0: not draining; monotonic ms */
  uint64_t give_up_at;  /* 0: not killed */
};

struct write {
  uv_write_t req;
  struct child *child;
  size_t len;
  uint8_t data[];
};

static void settle(struct child *c);

/* ---- handles ---- */

static void on_handle_closed(uv_handle_t *handle) {
  struct child *c = handle->data;
  if (--c->handles == 0)
    free(c);
}

static void close_handle(void *handle) {
  uv_handle_t *h = handle;
  if (!uv_is_closing(h))
    uv_close(h, on_handle_closed);
}

static void close_in(struct child *c) {
  if (!c->in_open)
    return;
  c->in_open = false;
  sbx_guard_remove(&c->guards[0]);
  close_handle(&c->in);
}

static void close_out(struct child *c, struct output *o) {
  if (!o->open)
    return;
  o->open = false;
  sbx_guard_remove(&c->guards[o->fd]);
  close_handle(&o->pipe);
}

/* The end of the stream for everybody: reaps what is there to be reaped. */
static void finish(struct child *c) {
  if (c->finished)
    return;
  c->finished = true;
  close_in(c);
  close_out(c, &c->out[0]);
  close_out(c, &c->out[1]);
  if (c->pidfd >= 0) {
    close_handle(&c->exit_poll);
    close(c->pidfd);
    c->pidfd = -1;
  }
  sbx_timer_free(c->timer);
  waitpid(c->pid, NULL, WNOHANG);
  sbx_runtime_leave(c->runtime, &c->tenant);
}

/* ---- exit ---- */

/* Not with WNOHANG alone: the zombie stays until finish(). */
static void look_for_exit(struct child *c) {
  if (c->exited)
    return;
  siginfo_t info = {0};
  int rc;
  do
    rc = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
  while (rc < 0 && errno == EINTR);
  if (rc == 0 && info.si_pid != c->pid)
    return; /* still runs */

  c->exited = true;
  c->end = (struct sbx_stream_end){.status_known = rc == 0, .exit_code = -1};
  if (rc == 0 && info.si_code == CLD_EXITED)
    c->end.exit_code = info.si_status;
  else if (rc == 0)
    c->end.signal = info.si_status;
  if (c->pidfd >= 0)
    uv_poll_stop(&c->exit_poll);
}

static void on_exit_poll(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  settle(poll->data);
}

static void on_timer(void *arg) {
  settle(arg);
}

static void kill_group(struct child *c) {
  look_for_exit(c);
  if (c->finished || (c->exited && !c->end.status_known))
    return; /* the pid may be anybody's */
  kill(-c->pid, SIGKILL);
  if (!c->killed) {
    c->killed = true;
    c->give_up_at = sbx_now_ms() + GIVE_UP_MS;
  }
}

/* ---- the one place that decides what is over ---- */

static bool any_open(const struct child *c) {
  return c->out[0].open || c->out[1].open;
}

/* Does one stand still because the owner wants it to? Then what is in the pipe
 * is not lost time. */
static bool any_paused(const struct child *c) {
  return !c->killed && ((c->out[0].open && c->out[0].paused) ||
                        (c->out[1].open && c->out[1].paused));
}

static void arm_timer(struct child *c, uint64_t now) {
  uint64_t at = 0;
  if (c->exited)
    at = c->drain_until;
  else if (c->give_up_at > now)
    at = c->give_up_at;
  if (!c->exited && c->pidfd < 0 && (at == 0 || at > now + LOOK_MS))
    at = now + LOOK_MS;
  if (at > 0)
    sbx_timer_start(c->timer, at > now ? at - now : 0);
  else
    sbx_timer_stop(c->timer);
}

static void tell_end(struct child *c) {
  const struct sbx_stream_events *events = c->stream.events;
  c->stream.events = NULL;
  if (events)
    events->on_end(c->stream.arg, &c->end);
}

static void settle(struct child *c) {
  if (c->finished)
    return;
  look_for_exit(c);
  uint64_t now = sbx_now_ms();
  if (c->exited) {
    if (any_open(c) && any_paused(c))
      c->drain_until = 0;
    else if (any_open(c) && c->drain_until == 0)
      c->drain_until = now + DRAIN_MS;
    bool over = !any_open(c) || !c->stream.events ||
                (c->drain_until > 0 && now >= c->drain_until);
    if (over) {
      finish(c);
      tell_end(c);
      return;
    }
  } else if (c->give_up_at > 0 && now >= c->give_up_at && c->stream.events) {
    /* not even SIGKILL ends it (a dead disk, say): its owner goes on, and it
     * is reaped if it ever ends */
    c->end = (struct sbx_stream_end){.exit_code = -1};
    close_in(c);
    close_out(c, &c->out[0]);
    close_out(c, &c->out[1]);
    tell_end(c);
  }
  arm_timer(c, now);
}

/* ---- output ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  struct child *c = handle->data;
  (void)size;
  *buf = uv_buf_init(sbx_runtime_scratch(c->runtime), SBX_SCRATCH_SIZE);
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf) {
  struct child *c = pipe->data;
  struct output *o =
      (void *)pipe == (void *)&c->out[0].pipe ? &c->out[0] : &c->out[1];
  const struct sbx_stream_events *events = c->stream.events;
  if (n > 0) {
    if (events)
      events->on_data(c->stream.arg, o->fd, (uint8_t *)buf->base, (size_t)n);
  } else if (n < 0) { /* any error of a pipe is its end */
    close_out(c, o);
    if (events && events->on_eof)
      events->on_eof(c->stream.arg, o->fd);
    settle(c);
  }
}

static struct output *output_of(struct sbx_stream *s, enum sbx_fd fd) {
  return &((struct child *)s)->out[fd == SBX_OUT ? 0 : 1];
}

static void child_pause(struct sbx_stream *s, enum sbx_fd fd) {
  struct output *o = output_of(s, fd);
  o->paused = true;
  if (o->open)
    uv_read_stop((uv_stream_t *)&o->pipe);
}

static void child_resume(struct sbx_stream *s, enum sbx_fd fd) {
  struct output *o = output_of(s, fd);
  if (!o->paused)
    return;
  o->paused = false;
  if (o->open) {
    uv_read_start((uv_stream_t *)&o->pipe, on_alloc, on_read);
    /* settle() may end the stream, which a caller of resume does not expect:
     * let the timer do it */
    sbx_timer_start(o->child->timer, 0);
  }
}

/* ---- input ---- */

static void on_written(uv_write_t *req, int status) {
  struct write *w = SBX_LIST_OWNER(req, struct write, req);
  struct child *c = w->child;
  c->in_pending -= w->len;
  free(w);
  if (status < 0)
    close_in(c); /* it does not read any more: no failure of the command */
  if (c->in_pending > 0)
    return;
  if (c->in_ending)
    close_in(c);
  if (c->stream.events && c->stream.events->on_drain)
    c->stream.events->on_drain(c->stream.arg);
}

static int child_write(struct sbx_stream *s, const void *data, size_t len) {
  struct child *c = (struct child *)s;
  if (!c->in_open || c->in_ending)
    return -EPIPE;
  struct write *w = len <= INT_MAX ? malloc(sizeof(*w) + len) : NULL;
  if (!w)
    return -ENOMEM;
  w->child = c;
  w->len = len;
  memcpy(w->data, data, len);
  uv_buf_t buf = uv_buf_init((char *)w->data, (unsigned)len);
  int rc = uv_write(&w->req, (uv_stream_t *)&c->in, &buf, 1, on_written);
  if (rc < 0) {
    free(w);
    close_in(c);
    return -EPIPE;
  }
  c->in_pending += len;
  return 0;
}

static void child_shutdown(struct sbx_stream *s) {
  struct child *c = (struct child *)s;
  c->in_ending = true;
  if (c->in_pending == 0)
    close_in(c);
}

/* ---- end ---- */

static void child_kill(struct sbx_stream *s) {
  struct child *c = (struct child *)s;
  kill_group(c);
  if (!c->finished) /* not settle(): on_end never comes from inside a call */
    sbx_timer_start(c->timer, 0);
}

static void child_close(struct sbx_stream *s, bool kill_it) {
  struct child *c = (struct child *)s;
  c->stream.events = NULL;
  if (c->finished)
    return; /* from inside on_end */
  if (kill_it)
    kill_group(c);
  close_in(c);
  for (int i = 0; i < 2; i++) {
    if (kill_it)
      close_out(c, &c->out[i]);
    else /* it may end by itself, so it must be able to write */
      child_resume(s, c->out[i].fd);
  }
  settle(c);
}

static void on_stop(struct sbx_tenant *tenant, enum sbx_stop step) {
  struct child *c = SBX_LIST_OWNER(tenant, struct child, tenant);
  switch (step) {
  case SBX_STOP_ASK:
    close_in(c);
    child_resume(&c->stream, SBX_OUT);
    child_resume(&c->stream, SBX_ERR);
    break;
  case SBX_STOP_FORCE:
    if (!c->lease)
      kill_group(c);
    settle(c);
    break;
  case SBX_STOP_ABANDON:
    if (!c->exited)
      c->end = (struct sbx_stream_end){.exit_code = -1};
    finish(c);
    tell_end(c);
    break;
  }
}

static const struct sbx_stream_ops child_ops = {
    .write = child_write,
    .shutdown = child_shutdown,
    .pause = child_pause,
    .resume = child_resume,
    .kill = child_kill,
    .close = child_close,
};

/* ---- open ---- */

/* The handles that cannot fail come first; then the child can be closed in the
 * ordinary way, whatever is missing. */
static int open_handles(struct child *c, const struct sbx_spawned *child) {
  uv_loop_t *loop = sbx_runtime_loop(c->runtime);
  uv_pipe_init(loop, &c->in, 0);
  uv_pipe_init(loop, &c->out[0].pipe, 0);
  uv_pipe_init(loop, &c->out[1].pipe, 0);
  c->in.data = c;
  c->out[0].pipe.data = c->out[1].pipe.data = c;
  c->handles = 3;
  c->in_open = c->out[0].open = c->out[1].open = true;
  for (int i = 0; i < 2; i++) {
    c->out[i].child = c;
    c->out[i].fd = i == 0 ? SBX_OUT : SBX_ERR;
  }

  if (child->pidfd >= 0 &&
      uv_poll_init(loop, &c->exit_poll, child->pidfd) == 0) {
    c->exit_poll.data = c;
    c->handles++;
    c->pidfd = child->pidfd;
    uv_poll_start(&c->exit_poll, UV_READABLE, on_exit_poll);
  } else if (child->pidfd >= 0) {
    close(child->pidfd);
  }

  uv_pipe_t *pipes[3] = {&c->in, &c->out[0].pipe, &c->out[1].pipe};
  int rc = 0;
  for (int i = 0; i < 3; i++) {
    int opened = uv_pipe_open(pipes[i], child->pipes[i]);
    if (opened < 0)
      close(child->pipes[i]); /* libuv does not own it yet */
    else if (i > 0)
      opened = uv_read_start((uv_stream_t *)pipes[i], on_alloc, on_read);
    if (rc == 0)
      rc = opened;
  }
  return rc;
}

int sbx_child_open(struct sbx_runtime *rt, const struct sbx_request *request,
                   const struct sbx_stream_events *events, void *arg,
                   struct sbx_stream **out, struct sbx_err *err) {
  struct child *c = calloc(1, sizeof(*c));
  if (!c)
    return sbx_fail(err, -ENOMEM, "start '%s'", request->argv[0]);
  c->runtime = rt;
  c->pidfd = -1;
  c->lease = request->lease;
  c->tenant.stop = on_stop;
  int rc = sbx_runtime_enter(rt, &c->tenant);
  if (rc < 0) {
    sbx_fail(err, rc, "the library is being closed");
    goto fail;
  }
  rc = sbx_timer_new(&c->timer, rt, on_timer, c);
  if (rc < 0) {
    sbx_fail(err, rc, "start '%s'", request->argv[0]);
    goto leave;
  }
  struct sbx_spawned child;
  rc = sbx_spawn(request, c->guards, &child, err);
  if (rc < 0)
    goto leave;
  c->pid = child.pid;
  rc = open_handles(c, &child);
  if (rc < 0) {
    sbx_fail(err, rc, "start '%s'", request->argv[0]);
    child_close(&c->stream, true); /* frees it when its handles are closed */
    return rc;
  }
  c->stream =
      (struct sbx_stream){.ops = &child_ops, .events = events, .arg = arg};
  arm_timer(c, sbx_now_ms());
  *out = &c->stream;
  return 0;

leave:
  sbx_runtime_leave(rt, &c->tenant);
  sbx_timer_free(c->timer);
fail:
  free(c);
  return rc;
}
