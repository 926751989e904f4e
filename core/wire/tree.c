/* SPDX-License-Identifier: MIT */
#include "wire/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/marker.h"

uint64_t sbx_serial_of(uint64_t locks, uint64_t rss) {
  if (locks == SBX_LIMIT_NONE && rss == SBX_LIMIT_NONE)
    return SBX_SERIAL_NONE;
  if (locks == 0 || locks >= SBX_SERIAL_SUM || rss != SBX_SERIAL_SUM - locks)
    return SBX_SERIAL_FORGED;
  return locks;
}

void sbx_table_fini(struct sbx_table *t) {
  free(t->rows);
  memset(t, 0, sizeof(*t));
}

void sbx_table_clear(struct sbx_table *t) {
  t->len = 0;
}

static struct sbx_row *new_row(struct sbx_table *t) {
  struct sbx_row *row;

  if (t->len == t->cap) {
    size_t cap = t->cap == 0 ? 32 : t->cap * 2;
    struct sbx_row *rows = realloc(t->rows, cap * sizeof(*rows));

    if (rows == NULL)
      return NULL;
    t->rows = rows;
    t->cap = cap;
  }
  row = &t->rows[t->len++];
  memset(row, 0, sizeof(*row));
  return row;
}

static bool is_pid(long n) {
  return n > 1 && n <= SBX_PID_MAX;
}

int sbx_table_add(struct sbx_table *t, const char *line) {
  long pid, ppid, group, session;
  char mark[SBX_NONCE_LEN + 1];
  struct sbx_row *row;
  int name_at = 0;

  if (sscanf(line, "p %7ld %7ld %7ld %7ld %32s %n", &pid, &ppid, &group,
             &session, mark, &name_at) != 5 ||
      name_at == 0 || !is_pid(pid))
    return 0;
  row = new_row(t);
  if (row == NULL)
    return -ENOMEM;
  row->pid = pid;
  row->ppid = ppid;
  row->group = group;
  row->session = session;
  if (strlen(mark) == SBX_NONCE_LEN)
    memcpy(row->mark, mark, sizeof(row->mark));
  sbx_proc_name(row->name, line + name_at, strlen(line + name_at));
  return 0;
}

struct sbx_row *sbx_table_add_stat(struct sbx_table *t,
                                   const struct sbx_procstat *stat) {
  struct sbx_row *row = new_row(t);

  if (row == NULL)
    return NULL;
  row->pid = stat->pid;
  row->ppid = stat->ppid;
  row->group = stat->group;
  row->session = stat->session;
  row->state = stat->state;
  memcpy(row->name, stat->name, sizeof(row->name));
  return row;
}

static bool is_marked(const struct sbx_row *row, const struct sbx_tree *tree) {
  if (is_pid(tree->group) &&
      (row->group == tree->group || row->session == tree->group))
    return true;
  if (row->serial != SBX_SERIAL_NONE &&
      (row->serial == tree->serial || row->serial == SBX_SERIAL_FORGED))
    return true;
  return row->mark[0] != '\0' && strcmp(row->mark, tree->mark) == 0;
}

static bool has_parent(const struct sbx_table *t, long ppid) {
  size_t i;

  for (i = 0; i < t->len; i++)
    if (t->rows[i].member && t->rows[i].pid == ppid)
      return true;
  return false;
}

size_t sbx_table_find(struct sbx_table *t, const struct sbx_tree *tree) {
  size_t i, count = 0;
  bool again = true;

  for (i = 0; i < t->len; i++) {
    struct sbx_row *row = &t->rows[i];

    row->member = row->pid != tree->wrapper && is_marked(row, tree);
    count += row->member;
  }
  while (again) {
    again = false;
    for (i = 0; i < t->len; i++) {
      struct sbx_row *row = &t->rows[i];

      if (!row->member && row->pid != tree->wrapper && is_pid(row->ppid) &&
          has_parent(t, row->ppid)) {
        row->member = true;
        count++;
        again = true;
      }
    }
  }
  return count;
}
