/* SPDX-License-Identifier: MIT */
/* spawn.h - starts a program with three pipes.
 *
 * Not uv_spawn(): that needs the process's SIGCHLD handler. Where the host has
 * set SIGCHLD to SIG_IGN it aborts the host if the program cannot be run
 * (libuv 1.44), and where the host's own handler comes later an exit is never
 * seen. Here nothing of the host's signal handling is touched or needed, and
 * a large host is not copied for each client.
 *
 * The program runs in a session of its own, so that Ctrl-C in the host's
 * terminal is not for it; with all signals at their default and none blocked;
 * and without any other descriptor of the host, where the C library can do
 * that. */
#ifndef SBX_IO_SPAWN_H
#define SBX_IO_SPAWN_H

#include <sys/types.h>

#include "io/forkguard.h"
#include "io/stream.h"

struct sbx_spawned {
  pid_t pid;    /* also the process group and the session */
  int pidfd;    /* readable once it has ended; -1: the kernel has none */
  int pipes[3]; /* our ends: its input (we write), its output and errors */
};

/* I/O thread. 0, or SBX_EUNAVAILABLE with a message that names the program, or
 * -errno. On success the caller owns the descriptors, of which the pipes are
 * under guards[0..2], and has to reap pid. */
int sbx_spawn(const struct sbx_request *request, struct sbx_guard guards[3],
              struct sbx_spawned *out, struct sbx_err *err);

#endif
