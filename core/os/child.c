/* SPDX-License-Identifier: MIT */
#include "os/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNALS 64

static struct sbx_list children;
static struct sbx_handler signals;
static void (*on_reaped)(void);

/* The pipe closes by itself when the program is executed. */
static void on_report(struct sbx_handler *h, uint32_t events) {
  struct sbx_child *c = SBX_LIST_OWNER(h, struct sbx_child, report);
  struct sbx_launch_report report;
  ssize_t n = read(h->fd, &report, sizeof(report));

  (void)events;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  sbx_loop_drop(h);
  if (n == sizeof(report))
    c->ops->failed(c, &report);
  else
    c->ops->started(c);
}

static void end(struct sbx_child *c) {
  if (c->report.fd >= 0)
    on_report(&c->report, 0);
  c->running = false;
  sbx_list_remove(&c->link);
  c->ops->ended(c);
}

static void on_signal(struct sbx_handler *h, uint32_t events) {
  struct signalfd_siginfo info[8];
  struct sbx_list *it, *tmp;
  struct rusage usage;
  int status;
  pid_t pid;

  (void)events;
  while (read(h->fd, info, sizeof(info)) > 0)
    continue;
  /* Orphans come here too, and children that others made for us. */
  while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
    SBX_LIST_EACH (it, tmp, &children) {
      struct sbx_child *c = SBX_LIST_OWNER(it, struct sbx_child, link);
      if (c->pid != pid)
        continue;
      c->status = status;
      c->usage = usage;
      end(c);
      break;
    }
    on_reaped();
  }
}

int sbx_child_init(void (*reaped)(void)) {
  sigset_t set;

  sbx_list_init(&children);
  on_reaped = reaped;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
  for (int number = 1; number <= SIGNALS; number++)
    signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0)
    return -errno;
  signals.ready = on_signal;
  return sbx_loop_watch(&signals, fd, EPOLLIN);
}

int sbx_child_start(struct sbx_child *c, const struct sbx_child_ops *ops,
                    struct sbx_launch *l, struct sbx_launch_ends *ours,
                    bool (*fill)(struct sbx_launch *l, const void *arg),
                    const void *arg) {
  c->ops = ops;
  c->report.ready = on_report;
  int rc = sbx_loop_watch(&c->report, ours->report, EPOLLIN);
  if (rc < 0)
    return rc;
  ours->report = -1;
  c->pid = fork();
  if (c->pid == 0) {
    if (!fill(l, arg))
      sbx_launch_fail(l->report, SBX_LAUNCH_REFUSED, ENOMEM);
    sbx_launch_run(l);
  }
  if (c->pid < 0) {
    rc = -errno;
    sbx_loop_drop(&c->report);
    return rc;
  }
  c->running = true;
  sbx_list_append(&children, &c->link);
  return 0;
}
