/* SPDX-License-Identifier: MIT */
/* child.h - launched programs as their parent sees them. In the loop's thread;
 * the parent's one SIGCHLD is used up here. */
#ifndef SBX_OS_CHILD_H
#define SBX_OS_CHILD_H

#include "os/launch.h"
#include "os/loop.h"

struct sbx_child;

/* The first two exclude each other, and one of them comes before `ended`. */
struct sbx_child_ops {
  void (*started)(struct sbx_child *c);
  void (*failed)(struct sbx_child *c, const struct sbx_launch_report *why);
  void (*ended)(struct sbx_child *c); /* may free it */
};

struct sbx_child {
  struct sbx_list link;
  struct sbx_handler report; /* fd >= 0: it is not known whether it started */
  const struct sbx_child_ops *ops;
  pid_t pid;
  bool running; /* its pid is its own */
  int status;   /* as of wait; when it has ended */
  struct rusage usage;
};

/* From now on no signal is delivered, and children get all of them, with what
 * they do by default. `reaped` is called when some process was, also one that
 * was orphaned. 0 or -errno. */
int sbx_child_init(void (*reaped)(void));

/* Forks. Takes our end of the report when it succeeds, 0 or -errno. In the
 * child `fill` completes the launch from arg first; false: no memory. */
int sbx_child_start(struct sbx_child *c, const struct sbx_child_ops *ops,
                    struct sbx_launch *l, struct sbx_launch_ends *ours,
                    bool (*fill)(struct sbx_launch *l, const void *arg),
                    const void *arg);

#endif
