/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/procfs.h"
#include "supervisor/command.h"

#define GIVE_UP_MS       1000 /* after the first KILL */
#define PAUSE_MAX_MS     20   /* between two looks */
#define SURVIVORS_MAX    64
#define STOPPED_MAX      256
#define CAN_RAISE_LIMITS ((uint64_t)1 << 24) /* CAP_SYS_RESOURCE */

static int proc_fd = -1, oom_fd = -1;
static bool can_mark; /* our own limits leave room for serials */
static struct sbx_table table;
static pid_t stopped[STOPPED_MAX]; /* at the last look */
static unsigned stopped_count;
static struct sbx_list hunts;
static struct sbx_timer next_look;
static uint64_t pause_ms = 1;

static bool marks(void) {
  return can_mark && !(sbx_super.capabilities & CAN_RAISE_LIMITS);
}

void sbx_kill_mark(struct sbx_launch *l, uint64_t serial) {
  const uint64_t rest = SBX_SERIAL_SUM - serial;
  if (!marks())
    return;
  l->limits[0].resource = RLIMIT_LOCKS;
  l->limits[0].limit = (struct rlimit){serial, serial};
  l->limits[1].resource = RLIMIT_RSS;
  l->limits[1].limit = (struct rlimit){rest, rest};
}

uint64_t sbx_kill_oom_count(void) {
  static const char key[] = "oom_kill ";
  char text[512];
  uint64_t count = 0;
  ssize_t n = oom_fd < 0 ? -1 : pread(oom_fd, text, sizeof(text) - 1, 0);
  if (n <= 0)
    return 0;
  text[n] = '\0';
  const char *at = strstr(text, key);
  for (at = at ? at + sizeof(key) - 1 : ""; *at >= '0' && *at <= '9'; at++)
    count = count * 10 + (uint64_t)(*at - '0');
  return count;
}

/* ---- looking at /proc */

static void read_serial(struct sbx_row *row) {
  char text[4096];
  uint64_t locks, rss;
  ssize_t n = sbx_procfs_read(proc_fd, row->pid, "limits", text, sizeof(text));
  if (n > 0 && sbx_limits_hard(text, (size_t)n, "Max file locks", &locks) &&
      sbx_limits_hard(text, (size_t)n, "Max resident set", &rss))
    row->serial = sbx_serial_of(locks, rss);
}

/* Where there are no serials. Only its own user may read it. */
static void read_mark(struct sbx_row *row) {
  struct sbx_environ e;
  ssize_t n;
  int fd = sbx_procfs_open(proc_fd, row->pid, "environ");
  if (fd < 0) {
    sbx_user_enter();
    fd = sbx_procfs_open(proc_fd, row->pid, "environ");
    sbx_user_leave();
  }
  sbx_environ_init(&e, "ANVIA_PROCESS_MARK");
  while (fd >= 0 && (n = read(fd, sbx_scratch, sizeof(sbx_scratch))) > 0)
    if (sbx_environ_feed(&e, (char *)sbx_scratch, (size_t)n))
      break;
  if (e.found)
    memcpy(row->mark, e.mark, sizeof(row->mark));
  if (fd >= 0)
    close(fd);
}

/* False when it may be there, but could not be looked at. */
static bool add(int proc, long pid) {
  struct sbx_procstat stat;
  char text[1024];
  ssize_t n = sbx_procfs_read(proc, pid, "stat", text, sizeof(text));
  if (n == -ENOENT || n == -ESRCH)
    return true;
  if (n < 0 || !sbx_procstat_parse(text, (size_t)n, &stat))
    return false;
  if (!sbx_procstat_is_alive(&stat))
    return true;
  struct sbx_row *row = sbx_table_add_stat(&table, &stat);
  if (!row)
    return false;
  if (stat.state == 'T' && stopped_count < STOPPED_MAX)
    stopped[stopped_count++] = (pid_t)pid;
  if (marks())
    read_serial(row);
  else
    read_mark(row);
  return true;
}

/* Fills the table. False when it may not be all. */
static bool look(void) {
  sbx_table_clear(&table);
  stopped_count = 0;
  return sbx_procfs_each(proc_fd, add);
}

static size_t find(const struct sbx_command *c) {
  struct sbx_tree tree = {.serial = marks() ? c->serial : SBX_SERIAL_NONE};
  /* Once it was reaped, its pid may be another's. */
  if (c->running || !marks())
    tree.group = c->pid;
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

/* ---- hunts */

static bool was_stopped(const pid_t *list, unsigned len, long pid) {
  for (unsigned i = 0; i < len; i++)
    if (list[i] == pid)
      return true;
  return false;
}

/* For processes that fork faster than we look: everybody but us stands still,
 * also who is just about to fork, while we look and kill. */
static void freeze_and_kill(const struct sbx_command *c) {
  static pid_t before[STOPPED_MAX];
  unsigned before_count = stopped_count;
  memcpy(before, stopped, sizeof(before));
  signal_members(SIGKILL);
  if (getpid() != 1 || kill(-1, SIGSTOP) < 0)
    return; /* -1 spares PID 1, and nobody else */
  look();
  find(c);
  signal_members(SIGKILL);
  for (size_t i = 0; i < table.len; i++)
    if (!table.rows[i].member &&
        !was_stopped(before, before_count, table.rows[i].pid))
      kill((pid_t)table.rows[i].pid, SIGCONT);
}

/* The members of the table are who survived. */
static void answer(struct sbx_command *c, size_t survivors) {
  struct sbx_buf b = {
      .data = sbx_scratch, .cap = SBX_SCRATCH, .max = SBX_SCRATCH};
  struct sbx_msg_killed m = {{sbx_scratch, 0, 0}};
  char number[SBX_PID_TEXT];
  for (size_t i = 0; survivors > 0 && i < table.len; i++) {
    const struct sbx_row *row = &table.rows[i];
    if (!row->member || m.survivors.count >= 2 * SURVIVORS_MAX)
      continue;
    const char *pid = sbx_pid_text(number, row->pid);
    sbx_str_append(&b, pid, strlen(pid));
    sbx_str_append(&b, row->name, strlen(row->name));
    m.survivors.count += 2;
  }
  m.survivors.len = b.len;
  for (; c->kills > 0; c->kills--) {
    if (c->channel.id == 0)
      continue;
    sbx_killed_encode(sbx_link_begin(), &m);
    sbx_link_end(c->channel.id, SBX_MSG_KILLED);
  }
  sbx_list_remove(&c->hunt);
  sbx_command_free(c);
}

static void pursue(struct sbx_command *c, uint64_t now, bool all, bool *again) {
  size_t members = find(c);
  long newest = 0;
  for (size_t i = 0; i < table.len; i++)
    if (table.rows[i].member && table.rows[i].pid > newest)
      newest = table.rows[i].pid;
  switch (sbx_chase_look(&c->chase, now, members, newest, all)) {
  case SBX_CHASE_TERM:
    signal_members(SIGTERM);
    signal_members(SIGCONT);
    break;
  case SBX_CHASE_FREEZE:
    freeze_and_kill(c);
    break;
  case SBX_CHASE_KILL:
    signal_members(SIGKILL);
    break;
  case SBX_CHASE_AGAIN:
    *again = true;
    break;
  case SBX_CHASE_OVER:
    if (sbx_link_may_answer())
      answer(c, members);
    break;
  case SBX_CHASE_WAIT:
    break;
  }
}

static void on_look(struct sbx_timer *t) {
  struct sbx_list *it, *tmp;
  uint64_t now = sbx_now_ms(), at;
  bool again = true;
  for (int i = 0; i < 2 && again; i++) {
    bool all = look();
    again = false;
    SBX_LIST_EACH (it, tmp, &hunts) {
      pursue(SBX_LIST_OWNER(it, struct sbx_command, hunt), now, all, &again);
    }
  }
  pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
  at = now + pause_ms;
  SBX_LIST_EACH (it, tmp, &hunts) {
    const struct sbx_chase *c =
        &SBX_LIST_OWNER(it, struct sbx_command, hunt)->chase;
    if (c->kill_at_ms > now && c->kill_at_ms < at)
      at = c->kill_at_ms;
  }
  if (!sbx_list_empty(&hunts))
    sbx_timer_set(t, at);
}

void sbx_kill_look(void) {
  if (!sbx_list_empty(&hunts))
    sbx_timer_set(&next_look, 0);
}

static void begin(struct sbx_command *c, uint64_t grace_ms) {
  if (c->kills++ > 0) {
    sbx_chase_hurry(&c->chase, sbx_now_ms(), grace_ms);
  } else {
    sbx_chase_start(&c->chase, sbx_now_ms(), grace_ms);
    sbx_list_append(&hunts, &c->hunt);
  }
  pause_ms = 1;
  sbx_kill_look();
}

static int on_signal(struct sbx_command *c, uint32_t number, bool send) {
  uint8_t raw[4];
  if (send && (number < 1 || number > 64))
    return SBX_EPROTO;
  look();
  size_t members = find(c);
  sbx_put_u32(raw, send ? signal_members((int)number) : (uint32_t)members);
  sbx_link_send(c->channel.id, SBX_MSG_COUNTED, raw, sizeof(raw));
  return 0;
}

int sbx_kill_frame(struct sbx_command *c, const struct sbx_frame *frame) {
  if (frame->type == SBX_MSG_COUNT && frame->len == 0)
    return on_signal(c, 0, false);
  if (frame->type == SBX_MSG_SIGNAL && frame->len == 4 && frame->data)
    return on_signal(c, sbx_get_u32(frame->data), true);
  if (frame->type != SBX_MSG_KILL || frame->len != 8 || !frame->data)
    return SBX_EPROTO;
  begin(c, sbx_get_u64(frame->data));
  return 0;
}

int sbx_kill_init(void) {
  struct rlimit locks, rss;
  next_look.fire = on_look;
  sbx_list_init(&hunts);
  if (getrlimit(RLIMIT_LOCKS, &locks) == 0 && getrlimit(RLIMIT_RSS, &rss) == 0)
    can_mark = locks.rlim_max == RLIM_INFINITY && rss.rlim_max == RLIM_INFINITY;
  oom_fd = open("/sys/fs/cgroup/memory.events", O_RDONLY | O_CLOEXEC);
  if (oom_fd < 0)
    oom_fd =
        open("/sys/fs/cgroup/memory/memory.oom_control", O_RDONLY | O_CLOEXEC);
  proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return proc_fd < 0 ? -errno : 0;
}
