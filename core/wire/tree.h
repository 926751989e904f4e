/* SPDX-License-Identifier: MIT */
/* tree.h - the processes of a container, and which of them belong to a command.
 *
 * Pure: rows come from control.sh, where anybody may have had a hand in them,
 * so nothing here trusts a number, or from the supervisor's own look at /proc.
 *
 * The supervisor gives each command a serial number that its processes cannot
 * shake off: two hard limits that Linux does not enforce, of locks and of
 * resident memory, which are inherited and which a process can only lower. They
 * are set to the serial and to SBX_SERIAL_SUM less the serial, so whoever
 * lowers one of them gives itself away. */
#ifndef SBX_WIRE_TREE_H
#define SBX_WIRE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/control.h"
#include "wire/procstat.h"

#define SBX_SERIAL_SUM    ((uint64_t)1 << 48)
#define SBX_SERIAL_NONE   0          /* no command's; of a tree: not used */
#define SBX_SERIAL_FORGED UINT64_MAX /* belongs to every command */

/* The serial in a process's two hard limits, SBX_LIMIT_NONE for "unlimited". */
uint64_t sbx_serial_of(uint64_t locks, uint64_t rss);

struct sbx_row {
  long pid, ppid, group, session;
  uint64_t serial;              /* SBX_SERIAL_NONE: not known */
  char mark[SBX_NONCE_LEN + 1]; /* empty: none */
  char name[SBX_PROC_NAME];     /* printable ASCII, the rest as '?' */
  char state;                   /* as in /proc; 0: not known */
  bool member;                  /* scratch of sbx_table_find */
};

struct sbx_table {
  struct sbx_row *rows;
  size_t len, cap;
};

/* How a command's processes are recognised. */
struct sbx_tree {
  char mark[SBX_NONCE_LEN + 1]; /* empty: not used */
  uint64_t serial;
  long wrapper; /* 0: none, or the command has not reported its start */
  long group;
};

void sbx_table_fini(struct sbx_table *t);
void sbx_table_clear(struct sbx_table *t);

/* `p <pid> <ppid> <pgrp> <sid> <mark> <name>`; anything else is skipped.
 * 0 or -ENOMEM. */
int sbx_table_add(struct sbx_table *t, const char *line);

/* A row from /proc/<pid>/stat, without mark and serial, for the caller to fill
 * in; valid until the next one. NULL: no memory. */
struct sbx_row *sbx_table_add_stat(struct sbx_table *t,
                                   const struct sbx_procstat *stat);

/* Sets `member` in the rows of the tree, the wrapper left out: members of its
 * group or session, carriers of its mark or serial, and of forged ones,
 * descendants of those. Returns how many there are. */
size_t sbx_table_find(struct sbx_table *t, const struct sbx_tree *tree);

#endif
