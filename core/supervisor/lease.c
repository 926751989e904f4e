/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/readfile.h"
#include "supervisor/super.h"

#define HELLO_WITHIN_MS (5 * 60 * 1000)
#define ACCOUNTS_MAX    (1024 * 1024)
/* Signals, limits and scheduling of a process may be changed by its own uid,
 * also by root without a capability: so we are somebody whom no command is. */
#define OWN_ID 65531

struct sbx_super sbx_super = {.workspace = -1};

static uint64_t idle_ms, last_ms;
static struct sbx_alarm ttl, idle;

static uint64_t plus(uint64_t at, uint64_t ms) {
  return ms > UINT64_MAX - at ? UINT64_MAX : at + ms;
}

void sbx_user_enter(void) {
  sbx_creds_enter(sbx_super.user.uid, sbx_super.user.gid);
}

void sbx_user_leave(void) {
  sbx_creds_leave();
}

static void on_ttl(struct sbx_alarm *t) {
  (void)t;
  sbx_link_bye(SBX_BYE_TTL);
}

static void on_idle(struct sbx_alarm *t) {
  if (sbx_super.commands > 0 || sbx_channel_count() > 0)
    sbx_lease_touch();
  else if (sbx_now_ms() - last_ms >= idle_ms)
    sbx_link_bye(SBX_BYE_IDLE);
  sbx_alarm_set(t, plus(last_ms, idle_ms));
}

void sbx_lease_touch(void) {
  last_ms = sbx_now_ms();
}

static void set_idle(uint64_t ms) {
  idle_ms = ms;
  sbx_lease_touch();
  sbx_alarm_stop(&idle);
  if (ms > 0)
    sbx_alarm_set(&idle, plus(last_ms, ms));
}

void sbx_lease_init(void) {
  ttl.fire = on_ttl;
  idle.fire = on_idle;
  set_idle(HELLO_WITHIN_MS);
}

static const char *home_of(const struct sbx_user *user) {
  char *home =
      user->home.len > 0 ? strndup(user->home.data, user->home.len) : NULL;
  return home ? home : "/";
}

/* Who the user is, by the image's own files. */
static int find_user(const char *spec) {
  struct sbx_user *user = &sbx_super.user;
  struct sbx_text passwd, group;

  passwd.data = sbx_read_file("/etc/passwd", ACCOUNTS_MAX, &passwd.len);
  group.data = sbx_read_file("/etc/group", ACCOUNTS_MAX, &group.len);
  for (int i = 1; i >= 0; i--) {
    int rc = sbx_user_resolve(i == 1 ? "" : spec, passwd, group, user);
    if (rc < 0)
      return rc;
    sbx_super.homes[i] = home_of(user);
  }
  free((void *)passwd.data);
  free((void *)group.data);
  return 0;
}

static void set_creds(const struct sbx_msg_hello *m) {
  static const gid_t root_group = 0;
  const struct sbx_user *u = &sbx_super.user;
  const struct sbx_creds user = {.uid = u->uid,
                                 .gid = u->gid,
                                 .groups = u->groups,
                                 .group_count = u->group_count,
                                 .capabilities = m->capabilities,
                                 .no_new_privileges = m->no_new_privileges};
  sbx_super.creds[0] = sbx_super.creds[1] = user;
  sbx_super.creds[1].uid = sbx_super.creds[1].gid = 0;
  sbx_super.creds[1].groups = &root_group;
  sbx_super.creds[1].group_count = 1;
  sbx_creds_hide(u->uid == OWN_ID ? OWN_ID - 1 : OWN_ID, &user);
}

static bool is_writable(void) {
  sbx_user_enter();
  int fd =
      openat(sbx_super.workspace, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  /* Where there is no such thing, leave to write was asked for before. */
  bool writable = fd >= 0 || errno == EOPNOTSUPP;
  sbx_user_leave();
  if (fd >= 0)
    close(fd);
  return writable;
}

/* A workspace of root's becomes the user's; READY tells whether it did. */
static int open_workspace(const char *path) {
  const struct sbx_user *u = &sbx_super.user;
  struct stat st;
  int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) < 0)
    return -errno;
  if (st.st_uid == 0 && u->uid != 0 &&
      fchownat(fd, "", u->uid, u->gid, AT_EMPTY_PATH) < 0)
    errno = 0;
  sbx_super.workspace = fd;
  return 0;
}

static void refuse(uint8_t code, int error, const char *text) {
  sbx_link_done(0, code, error, text);
}

static void say_ready(void) {
  const char *home = sbx_super.homes[0];
  struct sbx_msg_ready m = {.version = SBX_MSG_VERSION,
                            .uid = sbx_super.user.uid,
                            .gid = sbx_super.user.gid,
                            .writable = is_writable(),
                            .home = {(const uint8_t *)home, strlen(home)}};
  /* One of somebody else's is opened to all, as its owner could do. */
  if (!m.writable && fchmodat(sbx_super.workspace, ".", 0777, 0) == 0)
    m.writable = is_writable();
  sbx_ready_encode(sbx_link_begin(), &m);
  sbx_link_end(0, SBX_MSG_READY);
}

static int on_hello(const struct sbx_frame *frame) {
  struct sbx_msg_hello m;
  int rc;

  if (sbx_super.greeted || frame->skipped || frame->len < 4)
    return SBX_EPROTO;
  if (sbx_get_u32(frame->data) != SBX_MSG_VERSION) {
    refuse(SBX_DONE_REFUSED, EPROTONOSUPPORT, "another version");
    return 0;
  }
  if (sbx_hello_decode(&m, frame->data, frame->len) < 0)
    return SBX_EPROTO;
  if ((rc = find_user((const char *)m.user.data)) < 0) {
    refuse(SBX_DONE_FAILED, -rc, "the image has no such user or group");
  } else if ((rc = open_workspace((const char *)m.workdir.data)) < 0) {
    refuse(SBX_DONE_PATH, -rc, "the workspace cannot be opened");
  } else {
    sbx_super.greeted = true;
    set_creds(&m);
    set_idle(m.idle_ms);
    if (m.ttl_ms > 0)
      sbx_alarm_set(&ttl, plus(last_ms, m.ttl_ms));
    say_ready();
  }
  return 0;
}

int sbx_lease_frame(const struct sbx_frame *frame) {
  if (frame->type == SBX_MSG_HELLO)
    return on_hello(frame);
  if (frame->len > 0 || !sbx_super.greeted)
    return SBX_EPROTO;
  if (frame->type == SBX_MSG_SHUTDOWN)
    sbx_link_bye(SBX_BYE_SHUTDOWN);
  return 0;
}
