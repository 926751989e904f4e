/* SPDX-License-Identifier: MIT */
#include "os/census.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "os/procfs.h"

#define ENCODED_MAX 64

static void add_serial(struct sbx_row *row, const char *text, size_t len) {
  uint64_t locks, rss;

  if (sbx_limits_hard(text, len, "Max file locks", &locks) &&
      sbx_limits_hard(text, len, "Max resident set", &rss))
    row->serial = sbx_serial_of(locks, rss);
}

static void add_mark(struct sbx_row *row, const char *text, size_t len) {
  struct sbx_environ e;

  sbx_environ_init(&e, "ANVIA_PROCESS_MARK");
  if (sbx_environ_feed(&e, text, len))
    memcpy(row->mark, e.mark, sizeof(row->mark));
}

bool sbx_census_add(struct sbx_table *t, long pid, bool serials,
                    sbx_census_read read, char *room, size_t cap) {
  struct sbx_procstat stat;
  ssize_t n = read(pid, "stat", room, cap);

  if (n == -ENOENT || n == -ESRCH)
    return true;
  if (n < 0 || !sbx_procstat_parse(room, (size_t)n, &stat))
    return false;
  if (!sbx_procstat_is_alive(&stat))
    return true;
  struct sbx_row *row = sbx_table_add_stat(t, &stat);
  if (!row)
    return false;
  n = read(pid, serials ? "limits" : "environ", room, cap);
  if (n > 0 && serials)
    add_serial(row, room, (size_t)n);
  else if (n > 0)
    add_mark(row, room, (size_t)n);
  return true;
}

long sbx_census_newest(const struct sbx_table *t) {
  long newest = 0;

  for (size_t i = 0; i < t->len; i++)
    if (t->rows[i].member && t->rows[i].pid > newest)
      newest = t->rows[i].pid;
  return newest;
}

bool sbx_census_is_stopped(const struct sbx_table *t, long pid) {
  for (size_t i = 0; i < t->len; i++)
    if (t->rows[i].pid == pid)
      return t->rows[i].state == 'T';
  return false;
}

void sbx_census_encode(const struct sbx_table *t, struct sbx_buf *b) {
  char number[SBX_PID_TEXT];
  uint8_t raw[4] = {0};
  size_t count_at = b->len;
  uint32_t count = 0;

  if (sbx_buf_append(b, raw, sizeof(raw)) < 0)
    return;
  for (size_t i = 0; i < t->len && count < 2 * ENCODED_MAX; i++) {
    const struct sbx_row *row = &t->rows[i];
    const char *pid = sbx_pid_text(number, row->pid);
    if (!row->member)
      continue;
    if (sbx_str_append(b, pid, strlen(pid)) < 0 ||
        sbx_str_append(b, row->name, strlen(row->name)) < 0)
      break;
    count += 2;
  }
  sbx_put_u32(b->data + count_at, count);
}

static uint64_t us_of(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

void sbx_census_exit(struct sbx_msg_exit *m, int status,
                     const struct rusage *usage) {
  m->signal = (uint8_t)(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  m->code = (uint8_t)(m->signal ? 128 + m->signal : WEXITSTATUS(status));
  m->user_us = us_of(usage->ru_utime);
  m->system_us = us_of(usage->ru_stime);
  m->max_rss_kib = (uint64_t)usage->ru_maxrss;
}

uint64_t sbx_census_oom(const char *text, size_t len) {
  static const char key[] = "oom_kill ";
  const char *at = memmem(text, len, key, sizeof(key) - 1);
  uint64_t count = 0;

  for (at = at ? at + sizeof(key) - 1 : text + len;
       at < text + len && *at >= '0' && *at <= '9'; at++)
    count = count * 10 + (uint64_t)(*at - '0');
  return count;
}
