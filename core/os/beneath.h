/* SPDX-License-Identifier: MIT */
/* beneath.h - finds the place of a path below a directory, and none outside of
 * it, whoever moves links and directories meanwhile. Called as the user whose
 * rights count. */
#ifndef SBX_OS_BENEATH_H
#define SBX_OS_BENEATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct sbx_place {
  int dir;                 /* O_PATH; -1: none */
  char name[NAME_MAX + 1]; /* in dir; "." when the path ends there */
  struct stat st;          /* of name itself; st_mode is 0: nothing is there */
};

enum sbx_beneath_how {
  SBX_BENEATH_FOLLOW = 1, /* the link that the path itself names */
  SBX_BENEATH_MAKE = 2    /* the directories above, 0755 */
};

/* 0 or -errno, EXDEV for a path that leads out. `at` is to be closed after 0
 * only. With FOLLOW at->name was no link a moment ago: use O_NOFOLLOW. */
int sbx_beneath_find(struct sbx_place *at, int root, const char *path,
                     unsigned how);
void sbx_beneath_close(struct sbx_place *at);

bool sbx_beneath_same(const struct stat *a, const struct stat *b);

/* Does without openat2(), for tests. */
extern bool sbx_beneath_by_hand;

#endif
