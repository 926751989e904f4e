/* SPDX-License-Identifier: MIT */
/* sup_runner.h - the runner over our supervisor: a command is a channel of the
 * mux, and costs one frame down and two or three up.
 *
 * I/O thread only. */
#ifndef SBX_PROC_SUP_RUNNER_H
#define SBX_PROC_SUP_RUNNER_H

#include "proc/mux.h"
#include "proc/runner.h"

/* 0 or -ENOMEM. The mux is borrowed, until `lose`. */
int sbx_sup_runner_new(struct sbx_runner **out, struct sbx_runtime *rt,
                       struct sbx_mux *mux);

#endif
