/* SPDX-License-Identifier: MIT */
/* super_world.h - what the supervisor has around it, made up: time, processes,
 * accounts, sockets, its standard streams.
 *
 * Nothing here starts a process, signals one, or reads about one. Only files
 * are real: see super_place.h. */
#ifndef SBX_SUPER_WORLD_H
#define SBX_SUPER_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/launch.h"
#include "os/loop.h"
#include "os/procfs.h"
#include "wire/tree.h"

#define WORLD_PROCS 48
#define WORLD_PORTS 8

/* The first byte of an input. */
enum {
  WORLD_NO_SERIALS = 1,
  WORLD_NOT_FIRST = 2, /* the supervisor is not PID 1 */
  WORLD_BY_HAND = 4,   /* no openat2() */
  WORLD_READ_ONLY = 8,
  WORLD_NO_FORK = 16,
  WORLD_BLIND = 32, /* not all processes are seen */
  WORLD_MANY = 192  /* none is, and frames may come by thousands */
};

struct world_proc {
  long pid, ppid, group; /* pid 0: none */
  uint64_t serial;
  char mark[SBX_NONCE_LEN + 1];
  char state; /* R, T, Z */
  bool immune;
  int status;
  int fds[4]; /* its ends: 0, 1, 2, the report */
};

static struct {
  unsigned flags;
  uint64_t ms;
  unsigned looks; /* at the clock: it goes on by itself */
  long last_pid;
  struct world_proc procs[WORLD_PROCS];
  int signals; /* into it: SIGCHLD */
  uint16_t ports[WORLD_PORTS];
  char net[2048];
  size_t net_at, net_len;
  int entered; /* sbx_creds_enter without leave */
  void *heap[4096];
  size_t heap_len;
  bool in_child;
} world;

static jmp_buf world_end;

uint64_t sbx_now_ms(void) {
  return world.ms + (world.looks++ / 4);
}

static int world_nothing(void) {
  return 0;
}

/* ---- memory that nobody frees: of a child --------------------------- */

static void *world_keep(void *p) {
  if (!p || world.heap_len == sizeof(world.heap) / sizeof(world.heap[0])) {
    free(p);
    return NULL;
  }
  world.heap[world.heap_len++] = p;
  return p;
}

static void *world_malloc(size_t n) {
  return world_keep(malloc(n));
}

static void *world_calloc(size_t n, size_t size) {
  void *p = calloc(n, size);
  return world.in_child ? world_keep(p) : p;
}

/* ---- processes ----------------------------------------------------------- */

static char *world_variables[] = {(char *)"PATH=/bin", (char *)"HOME=/root",
                                  (char *)"A=b", NULL};
static char **world_environ = world_variables;

static struct world_proc *world_find(long pid) {
  for (int i = 0; i < WORLD_PROCS; i++)
    if (world.procs[i].pid == pid)
      return &world.procs[i];
  return NULL;
}

static void world_close(struct world_proc *p, int which) {
  if (p->fds[which] >= 0)
    close(p->fds[which]);
  p->fds[which] = -1;
}

static struct world_proc *world_new(long ppid, const int fds[4]) {
  struct world_proc *p = world_find(0);
  bool all = true;
  if (!p)
    return NULL;
  memset(p, 0, sizeof(*p));
  for (int i = 0; i < 4; i++) {
    p->fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
    all = all && (p->fds[i] >= 0 || fds[i] < 0);
    if (p->fds[i] >= 0)
      fcntl(p->fds[i], F_SETFL, O_NONBLOCK);
  }
  for (int i = 0; i < 4 && !all; i++)
    world_close(p, i);
  if (!all)
    return NULL;
  p->pid = p->group = ++world.last_pid;
  p->ppid = ppid;
  p->state = 'R';
  return p;
}

static void world_exits(struct world_proc *p, int status) {
  if (p->pid == 0 || p->state == 'Z')
    return;
  for (int i = 0; i < 4; i++)
    world_close(p, i);
  p->state = 'Z';
  p->status = status;
  if (write(world.signals, "", 1) < 0 && errno != EAGAIN && errno != EPIPE)
    abort();
}

static void world_forks(const struct world_proc *p) {
  const int fds[4] = {p->fds[0], p->fds[1], p->fds[2], -1};
  struct world_proc *c = p->pid && p->state != 'Z' && p->fds[3] < 0
                             ? world_new(p->pid, fds)
                             : NULL;
  if (!c)
    return;
  c->serial = p->serial;
  memcpy(c->mark, p->mark, sizeof(c->mark));
}

/* It has executed its program, or could not. */
static void world_reports(struct world_proc *p, uint8_t how) {
  struct sbx_launch_report r = {1 + how % 4, how};
  if (p->pid == 0 || p->fds[3] < 0)
    return;
  if (how < 128) {
    world_close(p, 3);
  } else {
    if (write(p->fds[3], &r, sizeof(r)) != sizeof(r))
      abort();
    world_exits(p, 127 << 8);
  }
}

/* What the child of a fork does until it executes, but in this process. */
static pid_t world_fork(const struct sbx_launch *l,
                        bool (*prepare)(struct sbx_launch *, const void *),
                        const void *arg) {
  struct sbx_launch child = *l;
  const int all = l->terminal ? 0 : 1;
  const int fds[4] = {l->streams[0], l->streams[all * 1], l->streams[all * 2],
                      l->report};
  struct world_proc *p = world.flags & WORLD_NO_FORK ? NULL : world_new(1, fds);
  if (!p) {
    errno = EAGAIN;
    return -1;
  }
  world.in_child = true;
  bool ready = prepare(&child, arg);
  if (ready) {
    const char *mark = sbx_env_get(&child.env, "ANVIA_PROCESS_MARK");
    if (!child.argv || !mark || !sbx_env_get(&child.env, "HOME") ||
        !sbx_env_get(&child.env, "PATH"))
      abort();
    if (strlen(mark) < sizeof(p->mark))
      memcpy(p->mark, mark, strlen(mark) + 1);
  }
  world.in_child = false;
  while (world.heap_len > 0)
    free(world.heap[--world.heap_len]);
  p->serial = l->limits[0].limit.rlim_max;
  if (!ready)
    world_reports(p, 128);
  return (pid_t)p->pid;
}

static int world_kill(pid_t pid, int number) {
  struct world_proc *p = pid > 1 ? world_find(pid) : NULL;
  if (pid == -1 && number == SIGSTOP && !(world.flags & WORLD_NOT_FIRST)) {
    for (int i = 0; i < WORLD_PROCS; i++)
      if (world.procs[i].pid && world.procs[i].state == 'R')
        world.procs[i].state = 'T';
    return 0;
  }
  if (pid <= 1 || number < 1 || number > 64)
    abort();
  if (!p) {
    errno = ESRCH;
    return -1;
  }
  if (number == SIGKILL && p->immune)
    world_forks(p); /* it was quicker */
  if (!p->immune && (number == SIGKILL || (number == SIGTERM && pid % 2 == 0)))
    world_exits(p, number);
  else if (number == SIGCONT && p->state == 'T')
    p->state = 'R';
  return 0;
}

static pid_t world_getpid(void) {
  return world.flags & WORLD_NOT_FIRST ? 2 : 1;
}

static pid_t world_wait4(pid_t pid, int *status, int how, struct rusage *u) {
  if (pid != -1 || !(how & WNOHANG))
    abort();
  for (int i = 0; i < WORLD_PROCS; i++) {
    struct world_proc *p = &world.procs[i];
    if (p->pid == 0 || p->state != 'Z')
      continue;
    long ended = p->pid;
    memset(u, 0, sizeof(*u));
    *status = p->status;
    memset(p, 0, sizeof(*p));
    return (pid_t)ended;
  }
  return 0;
}

/* In place of a signalfd. */
static int world_signals(void) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
    abort();
  world.signals = fds[1];
  return fds[0];
}

static int world_getrlimit(int resource, struct rlimit *limit) {
  (void)resource;
  limit->rlim_cur = limit->rlim_max =
      world.flags & WORLD_NO_SERIALS ? 1 : RLIM_INFINITY;
  return 0;
}

static bool world_is_many(void) {
  return (world.flags & WORLD_MANY) == WORLD_MANY;
}

/* ---- procfs.h ------------------------------------------------------------ */

int sbx_procfs_init(void) {
  return 0;
}

const char *sbx_pid_text(char out[SBX_PID_TEXT], long pid) {
  snprintf(out, SBX_PID_TEXT, "%d", (int)pid);
  return out;
}

bool sbx_procfs_each(bool (*each)(long pid)) {
  bool all = !(world.flags & WORLD_BLIND);
  if (world_is_many())
    return all;
  for (int i = 0; i < WORLD_PROCS; i++)
    if (world.procs[i].pid && !each(world.procs[i].pid))
      all = false;
  return all;
}

ssize_t sbx_procfs_read(long pid, const char *name, char *out, size_t cap) {
  const struct world_proc *p = world_find(pid);
  unsigned long long serial = p ? p->serial : 0;
  if (!p)
    return -ENOENT;
  if (strcmp(name, "stat") == 0)
    return snprintf(out, cap,
                    "%ld (p) %c %ld %ld %ld 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9",
                    p->pid, p->state, p->ppid, p->group, p->group);
  if (strcmp(name, "environ") == 0)
    return snprintf(out, cap, "ANVIA_PROCESS_MARK=%s", p->mark) + 1;
  if (serial == 0)
    return -EACCES;
  return snprintf(out, cap,
                  "Limit                     Soft Limit           Hard Limit  "
                  "         Units\n"
                  "Max resident set          %-20llu %-20llu bytes\n"
                  "Max file locks            %-20llu %-20llu locks\n",
                  SBX_SERIAL_SUM - serial, SBX_SERIAL_SUM - serial, serial,
                  serial);
}

ssize_t sbx_procfs_read_oom(char *out, size_t cap) {
  return snprintf(out, cap, "oom_kill %u\n", world.looks);
}

/* ---- /proc/net ----------------------------------------------------------- */

static int world_net_open(const char *path, int flags) {
  (void)flags;
  return 1000 + (strcmp(path, "/proc/net/tcp6") == 0);
}

static off_t world_net_seek(int fd, off_t at, int whence) {
  size_t n = 0;
  (void)whence;
  for (int i = 0; i < WORLD_PORTS; i++)
    if (world.ports[i] && i % 2 == fd - 1000)
      n += (size_t)snprintf(
          world.net + n, sizeof(world.net) - n,
          "%4d: %s0100007F:%04X 00000000%s:0000 0A 00000000:00000000 "
          "00:00000000 00000000     0        0 123 1\n",
          i, i % 2 ? "000000000000000000000000" : "", world.ports[i],
          i % 2 ? "000000000000000000000000" : "");
  world.net_at = 0;
  world.net_len = n;
  return at;
}

static ssize_t world_net_read(int fd, void *out, size_t cap) {
  size_t n = world.net_len - world.net_at;
  (void)fd;
  n = n < 100 ? n : 100;
  n = n < cap ? n : cap;
  memcpy(out, world.net + world.net_at, n);
  world.net_at += n;
  return (ssize_t)n;
}

#endif
