/* SPDX-License-Identifier: MIT */
#include "http/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/forkguard.h"
#include "io/timer.h"

/* Creates come in bursts. */
#define LINGER_MS 500

struct dog {
  struct sbx_runtime *rt;
  struct sbx_tenant tenant;
  struct sbx_timer *timer;
  struct sbx_guard guard;
  int fd;
  unsigned armed;
};

static void free_dog(struct dog *d) {
  *sbx_runtime_slot(d->rt, SBX_SLOT_WATCHDOG) = NULL;
  sbx_runtime_leave(d->rt, &d->tenant);
  sbx_timer_free(d->timer);
  sbx_guard_remove(&d->guard);
  close(d->fd);
  free(d);
}

static void on_quiet(void *arg) {
  free_dog(arg);
}

static void on_stop(struct sbx_tenant *tenant, enum sbx_stop step) {
  struct dog *d = SBX_LIST_OWNER(tenant, struct dog, tenant);

  if (d->armed == 0 || step == SBX_STOP_ABANDON)
    free_dog(d);
}

/* A pipe whose writing end no fork of the host keeps. */
static int make_pipe(struct dog *d, int fds[2]) {
  int rc = 0;

  sbx_forkguard_lock();
  if (pipe2(fds, O_CLOEXEC) < 0) {
    rc = -errno;
  } else {
    int high = fcntl(fds[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (high >= 0) {
      close(fds[1]);
      fds[1] = high;
    }
    sbx_guard_add(&d->guard, fds[1]);
  }
  sbx_forkguard_unlock();
  if (rc == 0)
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
  return rc;
}

/* Forked twice: the watchdog is not a child of the host, which would have to
 * reap it. This thread blocks all signals, and so does the watchdog. */
static int fork_twice(int fd) {
  pid_t pid = fork();

  if (pid < 0)
    return -errno;
  if (pid == 0) {
    if (fork() == 0)
      sbx_watchdog_main(fd);
    _exit(0);
  }
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

static struct dog *new_dog(struct sbx_runtime *rt) {
  struct dog *d = calloc(1, sizeof(*d));
  int fds[2], rc;

  if (d == NULL)
    return NULL;
  d->rt = rt;
  d->tenant.stop = on_stop;
  if (sbx_runtime_enter(rt, &d->tenant) < 0) {
    free(d);
    return NULL;
  }
  rc = sbx_timer_new(&d->timer, rt, on_quiet, d);
  if (rc == 0)
    rc = make_pipe(d, fds);
  if (rc < 0) {
    sbx_timer_free(d->timer);
    sbx_runtime_leave(rt, &d->tenant);
    free(d);
    return NULL;
  }
  d->fd = fds[1];
  rc = fork_twice(fds[0]);
  close(fds[0]);
  *sbx_runtime_slot(rt, SBX_SLOT_WATCHDOG) = d;
  if (rc < 0) {
    free_dog(d);
    return NULL;
  }
  return d;
}

static size_t encode_label(char *out, size_t size, const char *label) {
  static const char hex[] = "0123456789ABCDEF";
  size_t n = 0;

  for (; *label != '\0' && n + 4 < size; label++) {
    unsigned char c = (unsigned char)*label;

    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
        (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_') {
      out[n++] = (char)c;
    } else {
      out[n++] = '%';
      out[n++] = hex[c >> 4];
      out[n++] = hex[c & 15];
    }
  }
  out[n] = '\0';
  return *label == '\0' ? n : 0;
}

static int tell(struct dog *d, char verb, const struct sbx_plan *plan) {
  const struct sbx_endpoint *e = plan->endpoint;
  char line[SBX_WATCHDOG_LINE + 1], label[400], address[160];
  int n;

  if (e->is_unix)
    snprintf(address, sizeof(address), "%s", e->path);
  else
    snprintf(address, sizeof(address), "%c %s %u",
             strchr(e->host, ':') != NULL ? '6' : '4',
             strcmp(e->host, "localhost") == 0 ? "127.0.0.1" : e->host,
             e->port);
  if (encode_label(label, sizeof(label), plan->mark) == 0)
    return -EINVAL;
  n = snprintf(line, sizeof(line), "%c%s\t%s\t%s\n", verb, address,
               plan->prefix, label);
  if (n < 0 || (size_t)n >= sizeof(line))
    return -EINVAL;
  return write(d->fd, line, (size_t)n) == n ? 0 : -EPIPE;
}

int sbx_watchdog_arm(struct sbx_runtime *rt, const struct sbx_plan *plan) {
  struct dog *d = *sbx_runtime_slot(rt, SBX_SLOT_WATCHDOG);
  int rc;

  if (d != NULL && tell(d, '+', plan) == 0) {
    d->armed++;
    sbx_timer_stop(d->timer);
    return 0;
  }
  if (d != NULL) {
    if (d->armed > 0)
      return -EPIPE; /* it was killed, and others still count on it */
    free_dog(d);
  }
  d = new_dog(rt);
  if (d == NULL)
    return -ENOMEM;
  rc = tell(d, '+', plan);
  if (rc < 0)
    free_dog(d);
  else
    d->armed++;
  return rc;
}

static void settle(struct dog *d) {
  if (--d->armed > 0)
    return;
  if (sbx_runtime_stopping(d->rt))
    free_dog(d);
  else
    sbx_timer_start(d->timer, LINGER_MS);
}

void sbx_watchdog_disarm(struct sbx_runtime *rt, const struct sbx_plan *plan) {
  struct dog *d = *sbx_runtime_slot(rt, SBX_SLOT_WATCHDOG);

  if (d == NULL)
    return;
  (void)tell(d, '-', plan);
  settle(d);
}

/* What is still armed when the pipe ends is removed. */
void sbx_watchdog_leave(struct sbx_runtime *rt) {
  struct dog *d = *sbx_runtime_slot(rt, SBX_SLOT_WATCHDOG);

  if (d != NULL)
    settle(d);
}
