/* SPDX-License-Identifier: MIT */
/* process.h - the table of managed processes of a session. A record keeps the
 * tail of both outputs and outlives its process, until it is dropped to make
 * room or the session ends. I/O thread only, but for the info functions. */
#ifndef SBX_PROC_PROCESS_H
#define SBX_PROC_PROCESS_H

#include "base/ring.h"
#include "proc/exec_op.h"
#include "proc/session.h"

enum sbx_process_status {
  SBX_PROCESS_STARTING, /* not reported to anybody yet */
  SBX_PROCESS_RUNNING,
  SBX_PROCESS_EXITED,
  SBX_PROCESS_STOPPED /* it ended because it was asked to */
};

struct sbx_process {
  struct sbx_list link;
  struct sbx_session *session; /* the session owns the record */
  char *id;
  struct sbx_command_copy command;
  struct sbx_job_options how;
  bool has_stdin;
  enum sbx_process_status status;
  bool exit_known;
  int exit_code, signal;
  bool oom, usage_known;
  struct sbx_usage usage;
  int64_t started_at, ended_at; /* wall clock, ms; 0: not yet */
  struct sbx_ring *ring[2];
  struct sbx_job_handle *job;
  bool group_gone; /* nothing of its tree is left, as far as was looked */
  bool stop_asked;
  bool given_up;            /* its start failed, and nobody wants its record */
  bool killing;             /* a kill is under way */
  struct sbx_list starter;  /* the start operation, at most one */
  struct sbx_list waiters;  /* operations that wait for its end */
  struct sbx_list stoppers; /* that wait for the kill */
  struct sbx_list writers;  /* that wait for stdin to drain */
  struct sbx_list signallers; /* that wait for the container's answer */
};

/* A copy for the consumer. */
struct sbx_process_info {
  char *id;
  struct sbx_command_copy command; /* without the environment */
  enum sbx_process_status status;
  bool exit_known;
  int exit_code, signal;
  bool oom, usage_known;
  struct sbx_usage usage;
  int64_t started_at, ended_at;
};

/* 0 or -ENOMEM; then *out is empty. */
int sbx_process_info_copy(struct sbx_process_info *out,
                          const struct sbx_process *p);
void sbx_process_info_fini(struct sbx_process_info *info); /* any thread */

/* Adds a record, in state STARTING. Takes over *command and id. */
int sbx_process_new(struct sbx_process **out, struct sbx_session *s, char *id,
                    struct sbx_command_copy *command,
                    const struct sbx_job_options *how, bool has_stdin);
/* Drops the record; its processes are left alone. */
void sbx_process_remove(struct sbx_process *p);
struct sbx_process *sbx_process_find(struct sbx_session *s, const char *id);
/* The oldest record that has ended and whose tree is gone is dropped. */
bool sbx_process_make_room(struct sbx_session *s);
/* The oldest ended record whose tree may still be there; NULL if none. */
struct sbx_process *sbx_process_unconfirmed(struct sbx_session *s);
static inline bool sbx_process_ended(const struct sbx_process *p) {
  return p->status == SBX_PROCESS_EXITED || p->status == SBX_PROCESS_STOPPED;
}

/* Looks again whether anything of its tree is left; sets group_gone, later. */
void sbx_process_recheck(struct sbx_process *p);

/* Starts the job. */
int sbx_process_launch(struct sbx_process *p, struct sbx_err *err);
/* Kills its tree, once for all that ask; every operation in `stoppers` is then
 * completed (see process_op.c). */
void sbx_process_kill(struct sbx_process *p, uint64_t grace_ms);
/* The session is ending: all jobs are closed, all records dropped. */
void sbx_process_close_all(struct sbx_session *s);

/* Called by process.c, defined in process_op.c: */
void sbx_process_on_started(struct sbx_process *p);
void sbx_process_on_failed(struct sbx_process *p,
                           const struct sbx_job_loss *loss);
void sbx_process_on_ended(struct sbx_process *p);
void sbx_process_on_killed(struct sbx_process *p, const struct sbx_err *err);
void sbx_process_on_drained(struct sbx_process *p);
void sbx_process_on_removed(struct sbx_process *p);

#endif
