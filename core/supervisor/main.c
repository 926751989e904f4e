/* SPDX-License-Identifier: MIT */
/* main.c - PID 1 of a session's container. Takes no arguments; the session's
 * owner is at the other end of the standard streams. */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/child.h"
#include "supervisor/super.h"

uint8_t sbx_scratch[SBX_SCRATCH];

int main(void) {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  umask(022);
  if (sbx_loop_init() < 0 || sbx_child_init(sbx_kill_look) < 0 ||
      sbx_creds_init() < 0 || sbx_kill_init() < 0 || sbx_link_init() < 0) {
    ssize_t n = write(STDERR_FILENO, "supervisor: cannot start\n", 25);
    return n < 0 ? 2 : 1;
  }
  sbx_lease_init();
  sbx_loop_run(sbx_link_flush, sbx_link_has_room);
}
