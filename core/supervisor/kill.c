/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "os/procfs.h"
#include "supervisor/command.h"

#define PAUSE_MAX_MS     20                  /* between two looks */
#define CAN_RAISE_LIMITS ((uint64_t)1 << 24) /* CAP_SYS_RESOURCE */

static bool can_mark; /* our own limits leave room for serials */
static struct sbx_table table;
static struct sbx_list hunts;
static struct sbx_alarm next_look;
static uint64_t pause_ms = 1;

static bool marks(void) {
  return can_mark && !(sbx_super.creds[0].capabilities & CAN_RAISE_LIMITS);
}

void sbx_kill_mark(struct sbx_launch *l, uint64_t serial) {
  if (!marks())
    return;
  sbx_launch_limit(l, 0, RLIMIT_LOCKS, serial);
  sbx_launch_limit(l, 1, RLIMIT_RSS, SBX_SERIAL_SUM - serial);
}

uint64_t sbx_kill_oom_count(void) {
  char text[512];
  ssize_t n = sbx_procfs_read_oom(text, sizeof(text));
  return n > 0 ? sbx_census_oom(text, (size_t)n) : 0;
}

static bool add(long pid) {
  return sbx_census_add(&table, pid, marks(), sbx_procfs_read,
                        (char *)sbx_scratch, SBX_SCRATCH);
}

/* Fills the table. False when it may not be all. */
static bool look(void) {
  sbx_table_clear(&table);
  return sbx_procfs_each(add);
}

static size_t find(const struct sbx_command *c) {
  struct sbx_tree tree = {.serial = marks() ? c->serial : SBX_SERIAL_NONE};
  /* Once it was reaped, its pid may be another's. */
  if (c->child.running || !marks())
    tree.group = c->child.pid;
  memcpy(tree.mark, c->mark, sizeof(tree.mark));
  return sbx_table_find(&table, &tree);
}

/* Returns how many got it. Rows are of pids above 1. */
static uint32_t signal_members(int number) {
  uint32_t count = 0;
  for (size_t i = 0; i < table.len; i++)
    if (table.rows[i].member && kill((pid_t)table.rows[i].pid, number) == 0)
      count++;
  return count;
}

/* For processes that fork faster than we look: everybody but us stands still,
 * also who is just about to fork, while we look and kill. */
static void freeze_and_kill(const struct sbx_command *c) {
  static struct sbx_table before;
  struct sbx_table now = table;
  if (getpid() != 1 || kill(-1, SIGSTOP) < 0)
    return; /* -1 spares PID 1, and nobody else */
  table = before;
  before = now;
  bool saw_all = look();
  find(c);
  signal_members(SIGKILL);
  if (!saw_all) /* whom we did not see stands still, too */
    kill(-1, SIGCONT);
  for (size_t i = 0; saw_all && i < table.len; i++)
    if (!table.rows[i].member &&
        !sbx_census_is_stopped(&before, table.rows[i].pid))
      kill((pid_t)table.rows[i].pid, SIGCONT);
}

/* The members of the table are who survived. */
static void answer(struct sbx_command *c) {
  for (; c->kills > 0; c->kills--)
    if (c->channel.id != 0) {
      sbx_census_encode(&table, sbx_link_begin());
      sbx_link_end(c->channel.id, SBX_MSG_KILLED);
    }
  sbx_list_remove(&c->hunt);
  sbx_command_free(c);
}

/* True when another look at once may be the last one. */
static bool pursue(struct sbx_command *c, uint64_t now, bool saw_all) {
  size_t members = find(c);
  enum sbx_chase_step step = sbx_chase_look(&c->chase, now, members,
                                            sbx_census_newest(&table), saw_all);
  if (step == SBX_CHASE_TERM) {
    signal_members(SIGTERM);
    signal_members(SIGCONT);
  } else if (step == SBX_CHASE_KILL || step == SBX_CHASE_FREEZE) {
    signal_members(SIGKILL);
    if (step == SBX_CHASE_FREEZE)
      freeze_and_kill(c);
  } else if (step == SBX_CHASE_OVER && sbx_link_may_answer() &&
             c->child.report.fd < 0) { /* how it began is told first */
    answer(c);
  }
  return step == SBX_CHASE_AGAIN;
}

static void on_look(struct sbx_alarm *t) {
  struct sbx_list *it, *tmp;
  uint64_t now = sbx_now_ms(), at;
  bool again = true;

  for (int i = 0; i < 2 && again; i++) {
    bool saw_all = look();
    again = false;
    SBX_LIST_EACH (it, tmp, &hunts)
      again |=
          pursue(SBX_LIST_OWNER(it, struct sbx_command, hunt), now, saw_all);
  }
  pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
  at = now + pause_ms;
  SBX_LIST_EACH (it, tmp, &hunts) {
    const struct sbx_command *c = SBX_LIST_OWNER(it, struct sbx_command, hunt);
    if (c->chase.kill_at_ms > now && c->chase.kill_at_ms < at)
      at = c->chase.kill_at_ms;
  }
  if (!sbx_list_empty(&hunts))
    sbx_alarm_set(t, at);
}

void sbx_kill_look(void) {
  if (!sbx_list_empty(&hunts))
    sbx_alarm_set(&next_look, 0);
}

static int on_kill(struct sbx_command *c, uint64_t grace_ms) {
  if (c->kills++ > 0) {
    sbx_chase_hurry(&c->chase, sbx_now_ms(), grace_ms);
  } else {
    sbx_chase_start(&c->chase, sbx_now_ms(), grace_ms);
    sbx_list_append(&hunts, &c->hunt);
  }
  pause_ms = 1;
  sbx_kill_look();
  return 0;
}

static int on_signal(struct sbx_command *c, uint32_t number) {
  uint8_t raw[4];
  look();
  uint32_t members = (uint32_t)find(c);
  sbx_put_u32(raw, number > 0 ? signal_members((int)number) : members);
  sbx_link_send(c->channel.id, SBX_MSG_COUNTED, raw, sizeof(raw));
  return 0;
}

int sbx_kill_frame(struct sbx_command *c, const struct sbx_frame *frame) {
  if (frame->type == SBX_MSG_COUNT && frame->len == 0)
    return on_signal(c, 0);
  if (frame->type == SBX_MSG_SIGNAL && frame->len == 4 && frame->data) {
    uint32_t number = sbx_get_u32(frame->data);
    return number >= 1 && number <= 64 ? on_signal(c, number) : SBX_EPROTO;
  }
  if (frame->type == SBX_MSG_KILL && frame->len == 8 && frame->data)
    return on_kill(c, sbx_get_u64(frame->data));
  return SBX_EPROTO;
}

int sbx_kill_init(void) {
  struct rlimit locks, rss;
  next_look.fire = on_look;
  sbx_list_init(&hunts);
  can_mark = getrlimit(RLIMIT_LOCKS, &locks) == 0 &&
             getrlimit(RLIMIT_RSS, &rss) == 0 &&
             locks.rlim_max == RLIM_INFINITY && rss.rlim_max == RLIM_INFINITY;
  return sbx_procfs_init();
}
