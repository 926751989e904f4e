/* SPDX-License-Identifier: MIT */
#include "os/chase.h"

#include <string.h>

#define GIVE_UP_MS   1000 /* after the first KILL */
#define CLEAN_LOOKS  2
#define FREEZE_AFTER 2 /* looks that found new processes */

void sbx_chase_start(struct sbx_chase *c, uint64_t now_ms, uint64_t grace_ms) {
  memset(c, 0, sizeof(*c));
  c->kill_at_ms = UINT64_MAX / 2;
  sbx_chase_hurry(c, now_ms, grace_ms);
}

void sbx_chase_hurry(struct sbx_chase *c, uint64_t now_ms, uint64_t grace_ms) {
  if (grace_ms < c->kill_at_ms && now_ms + grace_ms < c->kill_at_ms)
    c->kill_at_ms = now_ms + grace_ms;
  c->give_up_ms = c->kill_at_ms + GIVE_UP_MS;
}

enum sbx_chase_step sbx_chase_look(struct sbx_chase *c, uint64_t now_ms,
                                   size_t members, long newest, bool saw_all) {
  bool is_new = c->killed && newest > c->newest;

  c->clean = members == 0 && saw_all ? c->clean + 1 : 0;
  if (c->clean >= CLEAN_LOOKS || now_ms >= c->give_up_ms)
    return SBX_CHASE_OVER;
  if (members == 0)
    return saw_all ? SBX_CHASE_AGAIN : SBX_CHASE_WAIT;
  if (now_ms < c->kill_at_ms) {
    bool again = c->termed;
    c->termed = true;
    return again ? SBX_CHASE_WAIT : SBX_CHASE_TERM;
  }
  c->killed = true;
  c->newest = newest;
  c->fresh += is_new;
  return c->fresh >= FREEZE_AFTER ? SBX_CHASE_FREEZE : SBX_CHASE_KILL;
}
