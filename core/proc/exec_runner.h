/* SPDX-License-Identifier: MIT */
/* exec_runner.h - the portable runner: every command is one engine exec of
 * run.sh. It needs nothing in the image but a POSIX sh.
 *
 * I/O thread only. */
#ifndef SBX_PROC_EXEC_RUNNER_H
#define SBX_PROC_EXEC_RUNNER_H

#include "io/request.h"
#include "proc/channel.h"
#include "proc/runner.h"

/* What the scripts in sh/ hold, NUL-terminated. */
extern const char sbx_script_run[];
extern const char sbx_script_control[];

struct sbx_exec_runner_options {
  struct sbx_request *exec;  /* runs `sh -c run.sh` as the session's user */
  struct sbx_request *root;  /* the same as uid 0; may be NULL */
  struct sbx_request *agent; /* runs `sh -c control.sh sh agent` as uid 0: the
                                second route of a kill; may be NULL */
};

/* Takes references to the requests. The channel is borrowed, until `lose`. */
int sbx_exec_runner_new(struct sbx_runner **out, struct sbx_runtime *rt,
                        const struct sbx_exec_runner_options *options,
                        struct sbx_channel *channel);

#endif
