/* SPDX-License-Identifier: MIT */
/* launch.h - starts a program: its streams, and the way of a forked child to
 * it, as somebody else. For a process with one thread. int: 0 or -errno. */
#ifndef SBX_OS_LAUNCH_H
#define SBX_OS_LAUNCH_H

#include <sys/resource.h>

#include "os/creds.h"
#include "os/environ.h"

int sbx_launch_resize(int terminal, uint16_t rows, uint16_t cols);

struct sbx_launch {
  struct sbx_creds creds;
  int streams[3]; /* what are to be 0, 1 and 2; of a terminal only [0] */
  bool terminal;
  int report; /* a pipe */
  int home;   /* directory that a relative cwd counts from */
  const char *cwd;
  char **argv;                 /* at least the NULL */
  struct sbx_environ_list env; /* its PATH counts */
  struct {
    int resource;
    struct rlimit limit; /* 0: none */
  } limits[2];
};

/* Our ends; -1: none. */
struct sbx_launch_ends {
  int input, output[2], report;
};

/* Opens l->streams and l->report: a terminal of creds.uid, or pipes, or
 * nothing to read. On success the caller owns our ends, and closes theirs with
 * sbx_launch_close() when the child has them. */
int sbx_launch_open(struct sbx_launch *l, bool input, uint16_t rows,
                    uint16_t cols, struct sbx_launch_ends *ours);
void sbx_launch_close(struct sbx_launch *l);
void sbx_launch_close_ends(struct sbx_launch_ends *ours);

/* Of the child: soft and hard. */
void sbx_launch_limit(struct sbx_launch *l, int which, int resource,
                      uint64_t value);

enum sbx_launch_stage {
  SBX_LAUNCH_REFUSED = 1,
  SBX_LAUNCH_CWD,
  SBX_LAUNCH_NOT_FOUND,
  SBX_LAUNCH_NOT_EXECUTABLE
};

struct sbx_launch_report {
  int stage; /* enum sbx_launch_stage */
  int error;
};

/* In the child: a session of its own, no signal blocked, no other descriptor,
 * and the program; or a sbx_launch_report into `report`, which closes by itself
 * when the program is executed. */
void sbx_launch_run(const struct sbx_launch *l) __attribute__((noreturn));

/* The same, for what failed before. */
void sbx_launch_fail(int report, int stage, int error)
    __attribute__((noreturn));

#endif
