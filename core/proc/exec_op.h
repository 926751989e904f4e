/* SPDX-License-Identifier: MIT */
/* exec_op.h - one command from start to end: input, capped output, deadline,
 * cancel. When it completes after a time-out or a cancel, the command's whole
 * process tree is dead; if that cannot be said, it completes with an error. */
#ifndef SBX_PROC_EXEC_OP_H
#define SBX_PROC_EXEC_OP_H

#include "base/capture.h"
#include "proc/session.h"

/* The strings of a command that outlive the call that made them. */
struct sbx_command_copy {
  char **argv; /* NULL-terminated */
  size_t argc;
  struct sbx_env *env;
  size_t envc;
  char *cwd;
};

void sbx_command_copy_fini(struct sbx_command_copy *c);
struct sbx_command sbx_command_of(const struct sbx_command_copy *c,
                                  bool want_stdin);

struct sbx_exec_options {
  struct sbx_command_copy command;
  uint8_t *input; /* malloc'd */
  size_t input_len;
  bool has_input;
  uint64_t timeout_ms, grace_ms;
  struct sbx_job_options how; /* all but capture, which is decided here */
  bool stream;                /* queue the output for the consumer, too */
};

struct sbx_exec_op {
  struct sbx_session_op base;
  struct sbx_exec_options options;

  /* I/O thread */
  struct sbx_job_handle *job;
  struct sbx_capture *capture[2];
  struct sbx_timer *timer;
  uint64_t started_ns;
  size_t input_sent;
  bool paused, started, ended, killing;
  struct sbx_err loss; /* the command was lost; its processes are killed */

  /* results */
  struct sbx_captured out, errout;
  bool exit_known;
  int exit_code;
  int signal;
  bool oom, usage_known;
  struct sbx_usage usage;
  uint64_t duration_ms;
  bool timed_out, cancelled;
  bool could_not_start; /* the command; the engine worked */
};

extern const struct sbx_op_class sbx_exec_op_class;

/* Consumer thread. NULL when out of memory; takes over *options either way. */
struct sbx_exec_op *sbx_exec_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s,
                                    struct sbx_exec_options *options);
void sbx_exec_options_fini(struct sbx_exec_options *options);

#endif
