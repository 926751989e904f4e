/* SPDX-License-Identifier: MIT */
/* hunt.h - finding and killing every process of a command.
 *
 * The looking and the signalling happen inside the container, in control.sh;
 * the pace and the verdict are here. A hunt goes over the session's channel;
 * what that one may not signal (a process of another uid), or when it does not
 * answer, over a second channel as uid 0. "Gone" means that two looks in a row
 * found nothing; it is never concluded from a signal that was refused.
 *
 * I/O thread only. */
#ifndef SBX_PROC_HUNT_H
#define SBX_PROC_HUNT_H

#include "proc/exec_job.h"

/* The functions of struct sbx_runner_ops for an exec job. */
int sbx_hunt_kill(struct sbx_job_handle *handle, uint64_t grace_ms,
                  sbx_kill_cb cb, void *arg);
int sbx_hunt_signal(struct sbx_job_handle *handle, const char *name,
                    sbx_kill_cb cb, void *arg);
int sbx_hunt_count(struct sbx_job_handle *handle, sbx_count_cb cb, void *arg);

/* Ends all hunts of the job, without callbacks. */
void sbx_hunt_forget(struct sbx_exec_job *job);

#endif
