/* SPDX-License-Identifier: MIT */
/* fake_super.h - the file operations of the supervisor in this process: its
 * sources, and a loop, a link and channels that a test can look into. */
#ifndef SBX_FAKE_SUPER_H
#define SBX_FAKE_SUPER_H

#include <fcntl.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/buf.h"
#include "check.h"
#include "os/dirwatch.h"
#include "supervisor/files.c"
#include "supervisor/listing.c"
#include "supervisor/watch.c"
#include "wire/msg.h"

struct sbx_super sbx_super = {.workspace = -1};

/* ---- what super.h promises ----------------------------------------------- */

static struct sbx_list fake_turns = {&fake_turns, &fake_turns};
static struct sbx_handler *fake_handlers[64];
static struct sbx_buf fake_out; /* frames, as the owner gets them */
static size_t fake_frame;
static uint32_t fake_id;
static int fake_entered; /* sbx_creds_enter without leave */
static char fake_dir[64];

void sbx_turn_queue(struct sbx_turn *t) {
  if (!t->link.next || sbx_list_empty(&t->link))
    sbx_list_append(&fake_turns, &t->link);
}

void sbx_turn_drop(struct sbx_turn *t) {
  if (t->link.next)
    sbx_list_remove(&t->link);
}

int sbx_loop_watch(struct sbx_handler *h, int fd, uint32_t events) {
  (void)events;
  for (size_t i = 0; i < 64; i++)
    if (!fake_handlers[i]) {
      fake_handlers[i] = h;
      h->fd = fd;
      return 0;
    }
  return -ENOMEM;
}

void sbx_loop_drop(struct sbx_handler *h) {
  for (size_t i = 0; i < 64; i++)
    if (fake_handlers[i] == h)
      fake_handlers[i] = NULL;
  if (h->fd >= 0)
    close(h->fd);
  h->fd = -1;
}

struct sbx_buf *sbx_link_begin(void) {
  fake_frame = fake_out.len;
  sbx_buf_append(&fake_out, "0123456789ab", SBX_FRAME_HEAD);
  return &fake_out;
}

void sbx_link_cancel(void) {
  fake_out.len = fake_frame;
}

void sbx_link_end(uint32_t id, uint8_t type) {
  size_t len = fake_out.len - fake_frame - SBX_FRAME_HEAD;
  CHECK(len <= SBX_FRAME_UP_MAX);
  sbx_frame_head(fake_out.data + fake_frame, id, type, (uint32_t)len);
}

void sbx_link_done(uint32_t id, uint8_t code, int error, const char *text) {
  struct sbx_msg_done m = {
      (uint32_t)error, code, {(const uint8_t *)text, strlen(text)}};
  sbx_done_encode(sbx_link_begin(), &m);
  sbx_link_end(id, SBX_MSG_DONE);
}

void sbx_link_credit(uint32_t id, uint8_t stream, uint32_t bytes) {
  uint8_t raw[5] = {stream};
  sbx_put_u32(raw + 1, bytes);
  sbx_buf_append(sbx_link_begin(), raw, sizeof(raw));
  sbx_link_end(id, SBX_MSG_CREDIT);
}

void sbx_creds_enter(void) {
  CHECK_INT(fake_entered++, 0);
  if (sbx_super.user.uid != 0)
    setfsuid(sbx_super.user.uid); /* takes the rights of root away, too */
}

void sbx_creds_leave(void) {
  CHECK_INT(--fake_entered, 0);
  setfsuid(geteuid());
}

/* ---- the owner ----------------------------------------------------------- */

/* One round of the loop. */
static inline void fake_round(void) {
  struct sbx_list now;
  for (size_t i = 0; i < 64; i++) {
    struct sbx_handler *h = fake_handlers[i];
    struct pollfd p = {.fd = h ? h->fd : -1, .events = POLLIN};
    if (poll(&p, 1, 0) > 0)
      h->ready(h, 1);
  }
  sbx_list_init(&now);
  sbx_list_splice(&now, &fake_turns);
  while (!sbx_list_empty(&now)) {
    struct sbx_list *first = sbx_list_shift(&now);
    struct sbx_turn *t = SBX_LIST_OWNER(first, struct sbx_turn, link);
    t->take(t);
  }
}

/* The next frame; false: there is none now. Valid until the next call. */
static inline bool fake_get(struct sbx_frame *f) {
  static struct sbx_buf one = {.max = SIZE_MAX};
  if (fake_out.len < SBX_FRAME_HEAD)
    return false;
  uint32_t len = sbx_get_u32(fake_out.data);
  REQUIRE(fake_out.len >= SBX_FRAME_HEAD + len);
  f->id = sbx_get_u32(fake_out.data + 4);
  f->type = fake_out.data[8];
  sbx_buf_clear(&one);
  sbx_buf_append(&one, fake_out.data + SBX_FRAME_HEAD, len);
  sbx_buf_append(&one, "", 1);
  f->data = one.data;
  f->len = len;
  sbx_buf_consume(&fake_out, SBX_FRAME_HEAD + len);
  return true;
}

/* The open channel; NULL when it has ended. */
static inline struct sbx_channel *fake_channel(uint32_t id) {
  struct sbx_channel *c = NULL;
  CHECK_INT(sbx_channel_find(id, &c), 0);
  return c;
}

/* A frame for a channel; false: it has ended. */
static inline bool fake_send(uint32_t id, uint8_t type, const void *data,
                             size_t len, int *rc) {
  struct sbx_channel *c = fake_channel(id);
  struct sbx_frame f = {.id = id, .type = type, .data = data, .len = len};
  if (!c)
    return false;
  *rc = c->ops->frame(c, &f);
  return true;
}

static inline void fake_forget(uint32_t id) {
  struct sbx_channel *c = fake_channel(id);
  if (c) {
    sbx_channel_close(c);
    c->ops->forget(c);
  }
}

static inline struct sbx_str fake_str(const char *text) {
  return (struct sbx_str){(const uint8_t *)text, strlen(text)};
}

/* Sends it through the codec, as the supervisor gets it. */
static inline uint32_t fake_start(struct sbx_msg_file m) {
  struct sbx_buf b;
  struct sbx_msg_file back;
  sbx_buf_init(&b, SIZE_MAX);
  if (!m.other.data)
    m.other = fake_str("");
  REQUIRE(sbx_file_encode(&b, &m) == 0);
  REQUIRE(sbx_file_decode(&back, b.data, b.len) == 0);
  CHECK(sbx_channel_claim(++fake_id));
  sbx_files_start(fake_id, &back);
  sbx_buf_fini(&b);
  return fake_id;
}

static inline void fake_sh(const char *command) {
  char text[4096];
  snprintf(text, sizeof(text), "cd %s/work && (%s)", fake_dir, command);
  CHECK_INT(system(text), 0);
}

/* A directory with an empty workspace and a file beside it. */
static inline void fake_open(void) {
  char path[128];
  sbx_buf_init(&fake_out, 256u << 20);
  snprintf(fake_dir, sizeof(fake_dir), "%s", "/tmp/anvia-files-XXXXXX");
  REQUIRE(mkdtemp(fake_dir));
  REQUIRE(chmod(fake_dir, 0755) == 0);
  snprintf(path, sizeof(path), "%s/work", fake_dir);
  REQUIRE(mkdir(path, 0777) == 0 && chmod(path, 0777) == 0);
  sbx_super.workspace = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(sbx_super.workspace >= 0);
  fake_sh("mkdir ../out; echo secret >../out/secret");
}

static inline void fake_close(void) {
  char text[128];
  close(sbx_super.workspace);
  snprintf(text, sizeof(text), "rm -rf %s", fake_dir);
  CHECK_INT(system(text), 0);
  sbx_buf_fini(&fake_out);
}

static inline int fake_fds(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (d && readdir(d))
    n++;
  closedir(d);
  return n;
}

#endif
