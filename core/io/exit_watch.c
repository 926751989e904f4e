/* SPDX-License-Identifier: MIT */
#include "io/exit_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct sbx_exit_watch {
  uv_poll_t poll; /* first: the close callback frees through it */
  void (*on_change)(void *arg);
  void *arg;
  pid_t pid;
  int pidfd; /* -1: none */
  bool ended;
  struct sbx_stream_end end;
};

int sbx_exit_watch_new(struct sbx_exit_watch **out,
                       void (*on_change)(void *arg), void *arg) {
  struct sbx_exit_watch *w = calloc(1, sizeof(*w));
  if (!w)
    return -ENOMEM;
  w->on_change = on_change;
  w->arg = arg;
  w->pidfd = -1;
  *out = w;
  return 0;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  struct sbx_exit_watch *w = (struct sbx_exit_watch *)poll;
  (void)status;
  (void)events;
  w->on_change(w->arg);
}

bool sbx_exit_watch_start(struct sbx_exit_watch *w, struct sbx_runtime *rt,
                          pid_t pid, int pidfd) {
  w->pid = pid;
  if (pidfd < 0)
    return false;
  if (uv_poll_init(sbx_runtime_loop(rt), &w->poll, pidfd) < 0) {
    close(pidfd);
    return false;
  }
  w->pidfd = pidfd;
  uv_poll_start(&w->poll, UV_READABLE, on_poll);
  return true;
}

const struct sbx_stream_end *sbx_exit_watch_look(struct sbx_exit_watch *w) {
  if (w->ended)
    return &w->end;
  siginfo_t info = {0};
  int rc;
  do
    rc = waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT);
  while (rc < 0 && errno == EINTR);
  if (rc == 0 && info.si_pid != w->pid)
    return NULL;

  w->ended = true;
  w->end = (struct sbx_stream_end){.status_known = rc == 0, .exit_code = -1};
  if (rc == 0 && info.si_code == CLD_EXITED)
    w->end.exit_code = info.si_status;
  else if (rc == 0)
    w->end.signal = info.si_status;
  if (w->pidfd >= 0)
    uv_poll_stop(&w->poll);
  return &w->end;
}

void sbx_exit_watch_kill(struct sbx_exit_watch *w) {
  const struct sbx_stream_end *end = sbx_exit_watch_look(w);
  if (!end || end->status_known)
    kill(-w->pid, SIGKILL);
}

static void on_closed(uv_handle_t *handle) {
  free(handle);
}

void sbx_exit_watch_free(struct sbx_exit_watch *w) {
  if (!w)
    return;
  if (w->pid > 0)
    waitpid(w->pid, NULL, WNOHANG);
  if (w->pidfd < 0) {
    free(w);
    return;
  }
  uv_close((uv_handle_t *)&w->poll, on_closed);
  close(w->pidfd); /* no longer polled */
}
