/* SPDX-License-Identifier: MIT */
/* child.c - a stream to a child process: the engine's command line client. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/child.h"
#include "io/exit_watch.h"
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
  struct sbx_exit_watch *watch;
  bool must_look; /* the watch cannot tell by itself */
  bool lease;
  unsigned refs; /* its pipes until they are closed, and 1 until it is over */

  uv_pipe_t in;
  bool in_open;
  bool in_ending; /* close it once everything is written */
  size_t in_pending;

  struct output out[2];
  struct sbx_timer *timer;

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

static void release(struct child *c) {
  if (--c->refs == 0)
    free(c);
}

static void on_handle_closed(uv_handle_t *handle) {
  release(handle->data);
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

/* The end of the stream for everybody; the caller releases it. */
static void finish(struct child *c) {
  if (c->finished)
    return;
  c->finished = true;
  close_in(c);
  close_out(c, &c->out[0]);
  close_out(c, &c->out[1]);
  sbx_exit_watch_free(c->watch); /* reaps it */
  sbx_timer_free(c->timer);
  sbx_runtime_leave(c->runtime, &c->tenant);
}

static void on_time(void *arg) {
  settle(arg);
}

static void kill_group(struct child *c) {
  sbx_exit_watch_kill(c->watch);
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

static void arm_timer(struct child *c, bool exited, uint64_t now) {
  uint64_t at = 0;
  if (exited)
    at = c->drain_until;
  else if (c->give_up_at > now)
    at = c->give_up_at;
  if (!exited && c->must_look && (at == 0 || at > now + LOOK_MS))
    at = now + LOOK_MS;
  if (at > 0)
    sbx_timer_start(c->timer, at > now ? at - now : 0);
  else
    sbx_timer_stop(c->timer);
}

static void tell_end(struct child *c, struct sbx_stream_end end) {
  const struct sbx_stream_events *events = c->stream.events;
  c->stream.events = NULL;
  if (events)
    events->on_end(c->stream.arg, &end);
}

static const struct sbx_stream_end nobody_knows = {.exit_code = -1};

static void settle(struct child *c) {
  if (c->finished)
    return;
  const struct sbx_stream_end *exited = sbx_exit_watch_look(c->watch);
  uint64_t now = sbx_now_ms();
  if (exited) {
    if (any_open(c) && any_paused(c))
      c->drain_until = 0;
    else if (any_open(c) && c->drain_until == 0)
      c->drain_until = now + DRAIN_MS;
    bool over = !any_open(c) || !c->stream.events ||
                (c->drain_until > 0 && now >= c->drain_until);
    if (over) {
      struct sbx_stream_end end = *exited;
      finish(c);
      tell_end(c, end);
      release(c);
      return;
    }
  } else if (c->give_up_at > 0 && now >= c->give_up_at && c->stream.events) {
    /* not even SIGKILL ends it (a dead disk, say): its owner goes on, and it
     * is reaped if it ever ends */
    close_in(c);
    close_out(c, &c->out[0]);
    close_out(c, &c->out[1]);
    tell_end(c, nobody_knows);
  }
  arm_timer(c, exited != NULL, now);
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
    finish(c);
    tell_end(c, nobody_knows);
    release(c);
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
  c->refs += 3;
  c->in_open = c->out[0].open = c->out[1].open = true;
  for (int i = 0; i < 2; i++) {
    c->out[i].child = c;
    c->out[i].fd = i == 0 ? SBX_OUT : SBX_ERR;
  }

  c->must_look =
      !sbx_exit_watch_start(c->watch, c->runtime, child->pid, child->pidfd);
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
  c->lease = request->lease;
  c->tenant.stop = on_stop;
  c->refs = 1;
  int rc = sbx_runtime_enter(rt, &c->tenant);
  if (rc < 0) {
    sbx_fail(err, rc, "the library is being closed");
    goto fail;
  }
  rc = sbx_timer_new(&c->timer, rt, on_time, c);
  if (rc == 0)
    rc = sbx_exit_watch_new(&c->watch, on_time, c);
  if (rc < 0) {
    sbx_fail(err, rc, "start '%s'", request->argv[0]);
    goto leave;
  }
  struct sbx_spawned child;
  rc = sbx_spawn(request, c->guards, &child, err);
  if (rc < 0)
    goto leave;
  rc = open_handles(c, &child);
  if (rc < 0) {
    sbx_fail(err, rc, "start '%s'", request->argv[0]);
    child_close(&c->stream, true); /* frees it when its handles are closed */
    return rc;
  }
  c->stream =
      (struct sbx_stream){.ops = &child_ops, .events = events, .arg = arg};
  arm_timer(c, false, sbx_now_ms());
  *out = &c->stream;
  return 0;

leave:
  sbx_runtime_leave(rt, &c->tenant);
  sbx_exit_watch_free(c->watch);
  sbx_timer_free(c->timer);
fail:
  free(c);
  return rc;
}
