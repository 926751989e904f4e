/* SPDX-License-Identifier: MIT */
/* chase.h - how a group of processes is ended: TERM, a time of grace, KILL, and
 * looks at it until nobody is left. Pure: the caller looks, and signals. */
#ifndef SBX_OS_CHASE_H
#define SBX_OS_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_chase {
  bool termed, killed;
  unsigned clean; /* looks in a row that found nobody */
  unsigned fresh; /* looks after the first KILL that found new processes */
  long newest;
  uint64_t kill_at_ms, give_up_ms;
};

enum sbx_chase_step {
  SBX_CHASE_WAIT,
  SBX_CHASE_AGAIN, /* look again at once: it may be over */
  SBX_CHASE_TERM,  /* and CONT */
  SBX_CHASE_KILL,
  SBX_CHASE_FREEZE, /* they fork faster than we look: stop everybody first */
  SBX_CHASE_OVER    /* nobody is left, or the time is over */
};

void sbx_chase_start(struct sbx_chase *c, uint64_t now_ms, uint64_t grace_ms);
/* Not later than this. */
void sbx_chase_hurry(struct sbx_chase *c, uint64_t now_ms, uint64_t grace_ms);
/* What one look found: how many, the greatest pid, whether it saw all. */
enum sbx_chase_step sbx_chase_look(struct sbx_chase *c, uint64_t now_ms,
                                   size_t members, long newest, bool saw_all);

#endif
