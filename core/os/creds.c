/* SPDX-License-Identifier: MIT */
#include "os/creds.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY_VERSION 0x20080522u
#define CAPABILITIES       64

struct cap_head {
  uint32_t version;
  int pid;
};

struct cap_data {
  uint32_t effective, permitted, inheritable;
};

static uint64_t permitted, bounding;
static uid_t files_uid;
static gid_t files_gid;

static int set_caps(uint64_t effective, uint64_t allowed) {
  struct cap_head head = {CAPABILITY_VERSION, 0};
  struct cap_data data[2] = {
      {(uint32_t)effective, (uint32_t)allowed, 0},
      {(uint32_t)(effective >> 32), (uint32_t)(allowed >> 32), 0}};
  return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int sbx_creds_init(void) {
  struct cap_head head = {CAPABILITY_VERSION, 0};
  struct cap_data data[2];

  if (syscall(SYS_capget, &head, data) < 0)
    return -errno;
  permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
  for (int cap = 0; cap < CAPABILITIES; cap++)
    if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
      bounding |= (uint64_t)1 << cap;
  return 0;
}

uint64_t sbx_creds_bounding(void) {
  return bounding;
}

int sbx_creds_hide(uid_t id, const struct sbx_creds *user) {
  int rc = 0;
  files_uid = user->uid;
  files_gid = user->gid;
  if (setgroups(user->group_count, user->groups) < 0)
    rc = -errno;
  prctl(PR_SET_KEEPCAPS, 1);
  if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ||
      set_caps(permitted, permitted) < 0)
    rc = -errno;
  prctl(PR_SET_KEEPCAPS, 0);
  prctl(PR_SET_DUMPABLE, 0);
  return rc;
}

void sbx_creds_enter(void) {
  setfsgid(files_gid);
  setfsuid(files_uid);
  set_caps(0, permitted);
}

void sbx_creds_leave(void) {
  int error = errno;
  setfsuid(geteuid());
  setfsgid(getegid());
  /* Last: who stops being uid 0 loses some of the effective ones. */
  set_caps(permitted, permitted);
  prctl(PR_SET_DUMPABLE, 0); /* a change of ids may have set it */
  errno = error;
}

bool sbx_creds_may_write(int dir) {
  sbx_creds_enter();
  int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  /* Where there is no such thing, leave to write was asked for before. */
  bool may = fd >= 0 || errno == EOPNOTSUPP;
  sbx_creds_leave();
  if (fd >= 0)
    close(fd);
  return may;
}

int sbx_creds_become(const struct sbx_creds *c) {
  uint64_t allowed = c->uid == 0 ? c->capabilities & permitted : 0;

  for (int cap = 0; cap < CAPABILITIES; cap++)
    if (((bounding & ~c->capabilities) >> cap & 1) &&
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
      return -errno;
  if (setgroups(c->group_count, c->groups) < 0 ||
      setresgid(c->gid, c->gid, c->gid) < 0 ||
      setresuid(c->uid, c->uid, c->uid) < 0)
    return -errno;
  int rc = set_caps(allowed, allowed);
  if (rc == 0 && c->no_new_privileges &&
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    rc = -errno;
  return rc;
}
