/* SPDX-License-Identifier: MIT */
/* sup_job.h - private to the supervisor's runner: one command as a channel. */
#ifndef SBX_PROC_SUP_JOB_H
#define SBX_PROC_SUP_JOB_H

#include "base/buf.h"
#include "base/list.h"
#include "io/timer.h"
#include "proc/sup_runner.h"

struct sbx_sup_runner {
  struct sbx_runner base;
  struct sbx_runtime *runtime;
  struct sbx_mux *mux; /* NULL once the session is closing */
};

struct sbx_sup_job {
  struct sbx_job_handle base;
  struct sbx_sup_runner *runner;
  struct sbx_mux_channel *channel; /* NULL: nothing of it is left inside */
  const struct sbx_job_events *events;
  void *arg;
  char *program; /* for messages */
  bool has_input;
  bool capture;
  bool started;
  bool ended;  /* the last event was delivered */
  bool closed; /* by the owner */
  int depth;   /* callbacks on the stack: freed when the last one returns */

  /* by fd - 1 */
  bool paused[2];
  size_t held[2]; /* came while it was paused: not given back yet */

  /* input that had no room yet */
  struct sbx_buf input;
  size_t input_at;
  bool input_ends;

  struct sbx_list asked; /* COUNT and SIGNAL, in their order */
  sbx_kill_cb kill_cb;   /* NULL: none */
  void *kill_arg;
  struct sbx_timer *timer; /* how long the answers may take */
  uint64_t answers_by;
  unsigned stale_counts, stale_kills; /* answers that nobody waits for now */
};

int sbx_sup_job_start(struct sbx_runner *r, const struct sbx_command *cmd,
                      const struct sbx_job_options *options,
                      const struct sbx_job_events *events, void *arg,
                      struct sbx_job_handle **out, struct sbx_err *err);
int sbx_sup_job_write(struct sbx_job_handle *handle, const void *data,
                      size_t len);
void sbx_sup_job_close_input(struct sbx_job_handle *handle);
void sbx_sup_job_pause(struct sbx_job_handle *handle, enum sbx_fd fd);
void sbx_sup_job_resume(struct sbx_job_handle *handle, enum sbx_fd fd);
int sbx_sup_job_resize(struct sbx_job_handle *handle, uint16_t rows,
                       uint16_t cols);
void sbx_sup_job_close(struct sbx_job_handle *handle);

/* The supervisor may forget it. */
void sbx_sup_job_let_go(struct sbx_sup_job *job);

/* sup_ask.c: what is asked of a command, and its answers. */
int sbx_sup_job_signal(struct sbx_job_handle *handle, const char *name,
                       sbx_kill_cb cb, void *arg);
int sbx_sup_job_kill(struct sbx_job_handle *handle, uint64_t grace_ms,
                     sbx_kill_cb cb, void *arg);
int sbx_sup_job_count(struct sbx_job_handle *handle, sbx_count_cb cb,
                      void *arg);
void sbx_sup_job_counted(struct sbx_sup_job *job, uint32_t count);
void sbx_sup_job_killed(struct sbx_sup_job *job,
                        const struct sbx_msg_killed *killed);
/* Nothing of it is left, or nobody can tell any more. */
void sbx_sup_job_answer_all(struct sbx_sup_job *job, const struct sbx_err *err);
/* The job is closed: no answers. */
void sbx_sup_job_forget_asked(struct sbx_sup_job *job);

static inline void sbx_sup_job_enter(struct sbx_sup_job *job) {
  job->depth++;
}
void sbx_sup_job_leave(struct sbx_sup_job *job);

#endif
