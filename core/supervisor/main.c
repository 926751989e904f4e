/* SPDX-License-Identifier: MIT */
/* main.c - PID 1 of a session's container. Takes no arguments; the session's
 * owner is at the other end of the standard streams. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/super.h"

static struct sbx_handler children;
uint8_t sbx_scratch[SBX_SCRATCH];

static void on_children(struct sbx_handler *h, uint32_t events) {
  struct signalfd_siginfo info[8];
  (void)events;
  while (read(h->fd, info, sizeof(info)) > 0)
    ;
  sbx_spawn_reap();
}

/* A child starts with what is set here, but for the mask. */
static int take_signals(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
  for (int number = 1; number < 65; number++)
    signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0)
    return -errno;
  children.ready = on_children;
  return sbx_loop_watch(&children, fd, EPOLLIN);
}

int main(void) {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(022);
  if (sbx_loop_init() < 0 || take_signals() < 0 || sbx_creds_init() < 0 ||
      sbx_kill_init() < 0 || sbx_link_init() < 0) {
    ssize_t n = write(STDERR_FILENO, "supervisor: cannot start\n", 25);
    return n < 0 ? 2 : 1;
  }
  sbx_lease_init();
  sbx_loop_run(sbx_link_flush, sbx_link_has_room);
}
