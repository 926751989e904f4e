/* SPDX-License-Identifier: MIT */
/* tree.h - the processes of a container, and which of them belong to a command.
 *
 * Pure: rows come from control.sh, where anybody may have had a hand in them,
 * so nothing here trusts a number. */
#ifndef SBX_PROC_TREE_H
#define SBX_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/control.h"

#define SBX_ROW_NAME 32

struct sbx_row {
  long pid, ppid, group, session;
  char mark[SBX_NONCE_LEN + 1]; /* empty: none */
  char name[SBX_ROW_NAME];      /* printable ASCII, the rest as '?' */
  bool member;                  /* scratch of sbx_table_find */
};

struct sbx_table {
  struct sbx_row *rows;
  size_t len, cap;
};

/* How a command's processes are recognised. */
struct sbx_tree {
  char mark[SBX_NONCE_LEN + 1];
  long wrapper; /* 0: not known, the command has not reported its start */
  long group;
};

void sbx_table_fini(struct sbx_table *t);
void sbx_table_clear(struct sbx_table *t);
/* `p <pid> <ppid> <pgrp> <sid> <mark> <name>`; anything else is skipped.
 * 0 or -ENOMEM. */
int sbx_table_add(struct sbx_table *t, const char *line);

/* Sets `member` in the rows of the tree, the wrapper left out: members of its
 * group or session, carriers of its mark, descendants of those. Returns how
 * many there are. */
size_t sbx_table_find(struct sbx_table *t, const struct sbx_tree *tree);

#endif
