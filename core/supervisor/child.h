/* SPDX-License-Identifier: MIT */
/* child.h - a forked child on its way to becoming a command's program. */
#ifndef SBX_SUPERVISOR_CHILD_H
#define SBX_SUPERVISOR_CHILD_H

#include "supervisor/command.h"

struct sbx_report {
  uint8_t stage; /* enum sbx_failed_stage */
  int error;
};

/* Executes the program, or writes a sbx_report to `report`, which closes by
 * itself else. streams: what are to be 0, 1 and 2; of a terminal only [0]. */
void sbx_child_run(uint64_t serial, const struct sbx_msg_spawn *m,
                   const int streams[3], int report) __attribute__((noreturn));

#endif
