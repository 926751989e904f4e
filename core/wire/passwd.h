/* SPDX-License-Identifier: MIT */
/* passwd.h - who a container's user is, by the image's own /etc/passwd and
 * /etc/group, as engines read them. Pure; lines that are not entries are
 * skipped. */
#ifndef SBX_WIRE_PASSWD_H
#define SBX_WIRE_PASSWD_H

#include <stddef.h>
#include <stdint.h>

#define SBX_USER_GROUPS 256 /* more are left out */
#define SBX_USER_ID_MAX 0x7fffffffu

/* The text of a file; of one that is not there: NULL and 0. */
struct sbx_text {
  const char *data;
  size_t len;
};

struct sbx_user {
  uint32_t uid, gid;
  struct sbx_text home; /* points into passwd; empty: the user has no entry, or
                           one without a home */
  uint32_t groups[SBX_USER_GROUPS]; /* for setgroups; gid is the first */
  size_t group_count;
};

/* Resolves "", "name", "uid", "uid:gid", "name:group" and so on; "" is uid 0. A
 * number counts as an id even if somebody has it as a name, and needs no entry.
 * Without a group the user's own ones are found. 0; -ENOENT: no such name;
 * -ERANGE: above SBX_USER_ID_MAX. */
int sbx_user_resolve(const char *spec, struct sbx_text passwd,
                     struct sbx_text group, struct sbx_user *out);

#endif
