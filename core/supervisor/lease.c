/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/lifetime.h"
#include "os/readfile.h"
#include "supervisor/super.h"

#define HELLO_WITHIN_MS (5 * 60 * 1000)
#define ACCOUNTS_MAX    (1024 * 1024)
/* Signals, limits and scheduling of a process may be changed by its own uid,
 * also by root without a capability: so we are somebody whom no command is. */
#define OWN_ID 65531

struct sbx_super sbx_super = {.workspace = -1};

static bool is_busy(void) {
  return sbx_super.commands > 0 || sbx_channel_count() > 0;
}

static void on_over(bool idle) {
  sbx_link_bye(idle ? SBX_BYE_IDLE : SBX_BYE_TTL);
}

static struct sbx_lifetime life = {.busy = is_busy, .over = on_over};

void sbx_lease_init(void) {
  sbx_lifetime_start(&life, 0, HELLO_WITHIN_MS);
}

void sbx_lease_touch(void) {
  sbx_lifetime_touch(&life);
}

/* Who the user is, by the image's own files, and where he and root live. */
static int find_user(const char *spec) {
  static char *homes[2]; /* of the last HELLO; those before it were refused */
  struct sbx_user *u = &sbx_super.user;
  struct sbx_text passwd, group;
  int rc = 0;
  passwd.data = sbx_read_file("/etc/passwd", ACCOUNTS_MAX, &passwd.len);
  group.data = sbx_read_file("/etc/group", ACCOUNTS_MAX, &group.len);
  for (int i = 1; i >= 0 && rc == 0; i--) {
    rc = sbx_user_resolve(i == 1 ? "" : spec, passwd, group, u);
    free(homes[i]);
    homes[i] = u->home.len > 0 ? strndup(u->home.data, u->home.len) : NULL;
    sbx_super.homes[i] = homes[i] ? homes[i] : "/";
  }
  free((void *)passwd.data);
  free((void *)group.data);
  return rc;
}

static void set_creds(const struct sbx_msg_hello *m) {
  static const gid_t root_group = 0;
  const struct sbx_user *u = &sbx_super.user;
  const struct sbx_creds user = {u->uid,          u->gid,
                                 u->groups,       u->group_count,
                                 m->capabilities, m->no_new_privileges != 0};
  sbx_super.creds[0] = user;
  sbx_super.creds[1] = (struct sbx_creds){
      0, 0, &root_group, 1, user.capabilities, user.no_new_privileges};
  sbx_creds_hide(u->uid == OWN_ID ? OWN_ID - 1 : OWN_ID, &user);
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

static void say_ready(void) {
  const char *home = sbx_super.homes[0];
  struct sbx_msg_ready m = {SBX_MSG_VERSION,
                            sbx_super.user.uid,
                            sbx_super.user.gid,
                            sbx_creds_may_write(sbx_super.workspace),
                            {(const uint8_t *)home, strlen(home)}};
  /* One of somebody else's is opened to all, as its owner could do. */
  if (!m.writable && fchmodat(sbx_super.workspace, ".", 0777, 0) == 0)
    m.writable = sbx_creds_may_write(sbx_super.workspace);
  sbx_ready_encode(sbx_link_begin(), &m);
  sbx_link_end(0, SBX_MSG_READY);
}

static int on_hello(const struct sbx_frame *frame) {
  struct sbx_msg_hello m;
  int rc;
  if (sbx_super.greeted || frame->skipped || frame->len < 4)
    return SBX_EPROTO;
  if (sbx_get_u32(frame->data) != SBX_MSG_VERSION) {
    sbx_link_done(0, SBX_DONE_REFUSED, EPROTONOSUPPORT, "another version");
    return 0;
  }
  if (sbx_hello_decode(&m, frame->data, frame->len) < 0)
    return SBX_EPROTO;
  if ((rc = find_user((const char *)m.user.data)) < 0) {
    sbx_link_done(0, SBX_DONE_FAILED, -rc,
                  "the image has no such user or group");
  } else if ((rc = open_workspace((const char *)m.workdir.data)) < 0) {
    sbx_link_done(0, SBX_DONE_PATH, -rc, "the workspace cannot be opened");
  } else {
    sbx_super.greeted = true;
    set_creds(&m);
    sbx_lifetime_start(&life, m.ttl_ms, m.idle_ms);
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
