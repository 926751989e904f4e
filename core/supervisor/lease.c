/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/creds.h"
#include "supervisor/super.h"

#define HELLO_WITHIN_MS (5 * 60 * 1000)
#define ACCOUNTS_MAX    (1024 * 1024)
/* Signals, limits and scheduling of a process may be changed by its own uid,
 * also by root without a capability: so we are somebody whom no command is. */
#define OWN_ID 65531

struct sbx_super sbx_super = {.workspace = -1};

static uint64_t idle_ms, last_ms;
static struct sbx_timer ttl, idle;
static char home[256];

static uint64_t after(uint64_t ms) {
  uint64_t now = sbx_now_ms();
  return ms > UINT64_MAX - now ? UINT64_MAX : now + ms;
}

void sbx_user_enter(void) {
  sbx_creds_enter(sbx_super.user.uid, sbx_super.user.gid);
}

void sbx_user_leave(void) {
  sbx_creds_leave();
}

static void on_ttl(struct sbx_timer *t) {
  (void)t;
  sbx_link_bye(SBX_BYE_TTL);
}

static void on_idle(struct sbx_timer *t) {
  if (sbx_super.commands > 0 || sbx_channel_count() > 0)
    last_ms = sbx_now_ms();
  else if (sbx_now_ms() - last_ms >= idle_ms)
    sbx_link_bye(SBX_BYE_IDLE);
  sbx_timer_set(t, idle_ms > UINT64_MAX - last_ms ? UINT64_MAX
                                                  : last_ms + idle_ms);
}

void sbx_lease_touch(void) {
  last_ms = sbx_now_ms();
}

void sbx_lease_init(void) {
  ttl.fire = on_ttl;
  idle.fire = on_idle;
  idle_ms = HELLO_WITHIN_MS;
  sbx_lease_touch();
  sbx_timer_set(&idle, after(idle_ms));
}

/* The whole of a regular file of the image; the caller frees it. */
static struct sbx_text read_accounts(const char *path) {
  struct sbx_text text = {NULL, 0};
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return text;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
      st.st_size <= ACCOUNTS_MAX) {
    char *data = malloc((size_t)st.st_size);
    ssize_t n = data ? read(fd, data, (size_t)st.st_size) : -1;
    text.data = data;
    text.len = n > 0 ? (size_t)n : 0;
  }
  close(fd);
  return text;
}

static void copy_home(char out[sizeof(home)], struct sbx_text from) {
  if (from.len == 0 || from.len >= sizeof(home))
    from = (struct sbx_text){"/", 1};
  memcpy(out, from.data, from.len);
  out[from.len] = '\0';
}

/* Sets sbx_super.user. */
static int find_user(const char *spec) {
  struct sbx_text passwd = read_accounts("/etc/passwd");
  struct sbx_text group = read_accounts("/etc/group");
  struct sbx_user *user = &sbx_super.user;
  if (sbx_user_resolve("", passwd, group, user) == 0)
    copy_home(sbx_super.root_home, user->home);
  int rc = sbx_user_resolve(spec, passwd, group, user);
  if (rc == 0) {
    copy_home(home, user->home);
    user->home = (struct sbx_text){home, strlen(home)};
  }
  free((void *)passwd.data);
  free((void *)group.data);
  return rc;
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

/* The workspace becomes the user's, if it is nobody's else. */
static int open_workspace(const char *path) {
  const struct sbx_user *user = &sbx_super.user;
  struct stat st;
  int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) < 0)
    return -errno;
  if (st.st_uid == 0 && user->uid != 0) {
    int rc = fchownat(fd, "", user->uid, user->gid, AT_EMPTY_PATH);
    (void)rc; /* READY tells */
  }
  sbx_super.workspace = fd;
  return 0;
}

static int on_hello(const struct sbx_frame *frame) {
  struct sbx_msg_hello m;
  struct sbx_msg_ready ready = {.version = SBX_MSG_VERSION};
  int rc;

  if (sbx_super.greeted || frame->len < 4)
    return SBX_EPROTO;
  if (sbx_get_u32(frame->data) != SBX_MSG_VERSION) {
    sbx_link_done(0, SBX_DONE_REFUSED, EPROTONOSUPPORT, "another version");
    return 0;
  }
  if (sbx_hello_decode(&m, frame->data, frame->len) < 0)
    return SBX_EPROTO;
  rc = find_user((const char *)m.user.data);
  if (rc < 0) {
    sbx_link_done(0, SBX_DONE_FAILED, -rc,
                  "the image does not have such a user or group");
    return 0;
  }
  rc = open_workspace((const char *)m.workdir.data);
  if (rc < 0) {
    sbx_link_done(0, SBX_DONE_PATH, -rc, "the workspace cannot be opened");
    return 0;
  }
  const struct sbx_creds groups = {.groups = sbx_super.user.groups,
                                   .group_count = sbx_super.user.group_count};
  sbx_creds_hide(sbx_super.user.uid == OWN_ID ? OWN_ID - 1 : OWN_ID, &groups);
  sbx_super.greeted = true;
  sbx_super.no_new_privileges = m.no_new_privileges != 0;
  sbx_super.capabilities = m.capabilities & sbx_creds_bounding();
  if (m.ttl_ms > 0)
    sbx_timer_set(&ttl, after(m.ttl_ms));
  sbx_timer_stop(&idle);
  idle_ms = m.idle_ms;
  if (idle_ms > 0)
    sbx_timer_set(&idle, after(idle_ms));

  ready.uid = sbx_super.user.uid;
  ready.gid = sbx_super.user.gid;
  ready.writable = is_writable();
  ready.home = (struct sbx_str){(uint8_t *)home, strlen(home)};
  sbx_ready_encode(sbx_link_begin(), &ready);
  sbx_link_end(0, SBX_MSG_READY);
  return 0;
}

int sbx_lease_frame(const struct sbx_frame *frame) {
  if (frame->type == SBX_MSG_HELLO)
    return frame->skipped ? SBX_EPROTO : on_hello(frame);
  if (frame->len > 0 || !sbx_super.greeted)
    return SBX_EPROTO;
  if (frame->type == SBX_MSG_SHUTDOWN)
    sbx_link_bye(SBX_BYE_SHUTDOWN);
  return 0;
}
