/* SPDX-License-Identifier: MIT */
/* process_op.h - operations on managed processes. */
#ifndef SBX_PROC_PROCESS_OP_H
#define SBX_PROC_PROCESS_OP_H

#include "proc/process.h"

/* One struct serves them all; which fields count depends on the class. */
struct sbx_process_op {
  struct sbx_session_op base;
  struct sbx_list link;        /* in a list of the process */
  struct sbx_process *process; /* while it is in one; I/O thread */
  struct sbx_timer *timer;

  /* arguments */
  char *id;
  struct sbx_command_copy command; /* start */
  struct sbx_job_options how;      /* start */
  bool has_stdin;                  /* start */
  uint16_t rows, cols;             /* resize */
  uint64_t time_ms; /* start, wait: the deadline. stop: the grace period */
  char signal[16];  /* signal */
  uint8_t *data;    /* write */
  size_t data_len;
  size_t tail_bytes; /* logs */
  bool has_since;
  uint64_t since[2];

  /* I/O thread */
  bool timed_out; /* start: the deadline passed, its tree is being killed */
  bool cancelled;
  uint64_t room_until; /* start: how long to wait for room in the table */

  /* results */
  struct sbx_process_info *infos; /* all but logs */
  size_t info_count;
  bool could_not_start; /* start: the command, not the engine */
  bool exit_known;      /* start: of the client or the command */
  int exit_code;
  struct sbx_buf text[2]; /* logs; start: what the client said */
  uint64_t lost[2];       /* logs: bytes before the text that are not kept */
  bool truncated[2];
  uint64_t cursor[2];
};

extern const struct sbx_op_class sbx_start_op_class;
extern const struct sbx_op_class sbx_list_op_class;
extern const struct sbx_op_class sbx_info_op_class;
extern const struct sbx_op_class sbx_logs_op_class;
extern const struct sbx_op_class sbx_signal_op_class;
extern const struct sbx_op_class sbx_write_op_class;
extern const struct sbx_op_class sbx_close_stdin_op_class;
extern const struct sbx_op_class sbx_resize_op_class;
extern const struct sbx_op_class sbx_wait_op_class;
extern const struct sbx_op_class sbx_stop_op_class;
extern const struct sbx_op_class sbx_drop_op_class; /* kills, forgets */

/* Consumer thread. The caller fills in the arguments (everything malloc'd is
 * the operation's) and submits it. id may be NULL for list. NULL: no memory. */
struct sbx_process_op *sbx_process_op_new(const struct sbx_op_class *cls,
                                          struct sbx_mailbox *mb,
                                          struct sbx_session *s,
                                          const char *id);

/* Between process_op.c and start_op.c. */
void sbx_process_op_fail(struct sbx_process_op *op, int code, const char *fmt,
                         ...) __attribute__((format(printf, 3, 4)));
void sbx_process_op_finish(struct sbx_process_op *op, int rc,
                           const struct sbx_err *err);
void sbx_process_op_finish_info(struct sbx_process_op *op,
                                const struct sbx_process *p);
void sbx_process_op_attach(struct sbx_process_op *op, struct sbx_process *p,
                           struct sbx_list *list);
void sbx_process_op_free(struct sbx_op *base);
void sbx_process_op_abandon(struct sbx_session_op *sop,
                            const struct sbx_err *err);
/* The start operation's side of a confirmed (or failed) kill. */
void sbx_start_op_on_killed(struct sbx_process_op *op,
                            const struct sbx_err *err);

#endif
