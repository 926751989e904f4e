/* SPDX-License-Identifier: MIT */
/* creds.h - as whom a privileged program acts: for a while, or for good.
 *
 * Of the whole process, so one thread. linux/capability.h is not there for
 * every libc; a set of capabilities is a mask by number. int: 0 or -errno. */
#ifndef SBX_OS_CREDS_H
#define SBX_OS_CREDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sbx_creds {
  uid_t uid;
  gid_t gid;
  const gid_t *groups;
  size_t group_count;
  uint64_t capabilities; /* that are left, also to what it executes as root */
  bool no_new_privileges;
};

/* Looks at what this process has. */
int sbx_creds_init(void);
/* What it may have, and so what it can leave to others. */
uint64_t sbx_creds_bounding(void);

/* Becomes uid and gid `id` with all capabilities kept, so that no other process
 * has our uid. Not dumpable. From now on enter is `user`, who is kept. */
int sbx_creds_hide(uid_t id, const struct sbx_creds *user);

/* Around every operation on files: as the user, without any capability.
 * Nothing in between may wait or start a process. */
void sbx_creds_enter(void);
void sbx_creds_leave(void);

/* May the user write into this directory? An O_PATH descriptor will do. */
bool sbx_creds_may_write(int dir);

/* For good: for a child, before it executes a program. */
int sbx_creds_become(const struct sbx_creds *c);

#endif
