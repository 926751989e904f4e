/* SPDX-License-Identifier: MIT */
/* exec_job.h - private to the exec runner: one command as one engine exec. */
#ifndef SBX_PROC_EXEC_JOB_H
#define SBX_PROC_EXEC_JOB_H

#include "base/buf.h"
#include "base/list.h"
#include "proc/census.h"
#include "proc/exec_runner.h"
#include "wire/marker.h"

struct sbx_exec_runner {
  struct sbx_runner base;
  struct sbx_runtime *runtime;
  struct sbx_exec_runner_options options;
  struct sbx_channel *channel; /* NULL once the session is closing */
  struct sbx_census *census;   /* over the channel; NULL like it */
};

struct sbx_exec_job {
  struct sbx_job_handle base;
  struct sbx_exec_runner *runner;
  const struct sbx_job_events *events;
  void *arg;
  struct sbx_stream *stream; /* NULL once it has ended */
  struct sbx_buf header;     /* until run.sh has said that it is there */
  char *program;             /* for messages */
  struct sbx_marker out, err;
  struct sbx_buf early_out, early_err; /* what came before the start */
  struct sbx_tree tree;
  struct sbx_list hunts; /* kills, signals and censuses under way */
  int status;
  int depth;     /* callbacks on the stack: freed when the last one returns */
  bool greeted;  /* run.sh has said that it is there */
  bool started;  /* the program may run or has run */
  bool out_done; /* the marker of the program's end came on stdout */
  bool err_done; /* and on stderr */
  bool err_started;
  bool killed; /* KILL was sent, to the wrapper too */
  bool ended;  /* the last event was delivered */
  bool closed; /* by the owner */
};

int sbx_exec_job_start(struct sbx_runner *r, const struct sbx_command *cmd,
                       const struct sbx_job_options *options,
                       const struct sbx_job_events *events, void *arg,
                       struct sbx_job_handle **out, struct sbx_err *err);
int sbx_exec_job_write(struct sbx_job_handle *handle, const void *data,
                       size_t len);
void sbx_exec_job_close_input(struct sbx_job_handle *handle);
void sbx_exec_job_pause(struct sbx_job_handle *handle, enum sbx_fd fd);
void sbx_exec_job_resume(struct sbx_job_handle *handle, enum sbx_fd fd);
int sbx_exec_job_resize(struct sbx_job_handle *handle, uint16_t rows,
                        uint16_t cols);
void sbx_exec_job_close(struct sbx_job_handle *handle);

#endif
