/* SPDX-License-Identifier: MIT */
/* files_owner.h - asks fake_super.h for file operations, and what came of it.
 */
#ifndef SBX_FILES_OWNER_H
#define SBX_FILES_OWNER_H

#include "fake_super.h"

#define ANY UINT64_MAX

/* All that came until DONE. */
struct answer {
  int error;
  uint8_t code;
  char text[16];
  struct sbx_buf data;  /* of READ */
  struct sbx_buf names; /* of entries: type, path, and what a link says */
  unsigned entries, frames;
  struct sbx_msg_entry last;
};

static struct answer a;

static inline void reset(void) {
  sbx_buf_fini(&a.data);
  sbx_buf_fini(&a.names);
  memset(&a, 0, sizeof(a));
  a.data.max = a.names.max = SIZE_MAX;
  a.error = -1;
}

static inline void on_entries(const struct sbx_frame *f) {
  struct sbx_msg_entries m;
  struct sbx_str s;
  REQUIRE(sbx_entries_decode(&m, f->data, f->len) == 0);
  CHECK(m.entries.count > 0);
  a.frames++;
  while (sbx_strs_next(&m.entries, &s)) {
    struct sbx_msg_entry e;
    REQUIRE(sbx_entry_decode(&e, s.data, s.len) == 0);
    a.entries++;
    a.last = e;
    sbx_buf_append(&a.names, &e.type, 1);
    sbx_buf_append(&a.names, e.path.data, e.path.len);
    if (e.target.len)
      sbx_buf_append(&a.names, ">", 1);
    sbx_buf_append(&a.names, e.target.data, e.target.len);
    sbx_buf_append(&a.names, " ", 1);
  }
}

/* Takes what has come; gives credit back. True when it is done. */
static inline bool collect(uint32_t id) {
  struct sbx_frame f;
  struct sbx_msg_done done;
  int rc;
  while (fake_get(&f)) {
    CHECK_INT(f.id, id);
    CHECK_INT(a.error, -1); /* nothing comes behind DONE */
    if (f.type == SBX_MSG_DATA) {
      CHECK_INT(f.data[0], SBX_MSG_STDOUT);
      CHECK(f.len > 1 && f.len <= 1 + SBX_FRAME_DATA_MAX);
      sbx_buf_append(&a.data, f.data + 1, f.len - 1);
      uint8_t raw[5] = {SBX_MSG_STDOUT};
      sbx_put_u32(raw + 1, (uint32_t)f.len - 1);
      if (fake_send(id, SBX_MSG_CREDIT, raw, 5, &rc))
        CHECK_INT(rc, 0);
    } else if (f.type == SBX_MSG_ENTRY) {
      on_entries(&f);
    } else if (f.type == SBX_MSG_DONE) {
      REQUIRE(sbx_done_decode(&done, f.data, f.len) == 0);
      a.error = (int)done.error;
      a.code = done.code;
      snprintf(a.text, sizeof(a.text), "%s", (const char *)done.text.data);
    } else {
      CHECK_INT(f.type, SBX_MSG_CREDIT);
    }
  }
  return a.error >= 0;
}

static inline int finish(uint32_t id) {
  for (int i = 0; !collect(id); i++) {
    REQUIRE(i < 100000);
    fake_round();
  }
  CHECK(!fake_channel(id));
  return a.error;
}

static inline int ask(struct sbx_msg_file m) {
  reset();
  return finish(fake_start(m));
}

static inline int on(uint8_t verb, const char *path) {
  return ask((struct sbx_msg_file){.verb = verb, .path = fake_str(path)});
}

static inline int deep(uint8_t verb, const char *path) {
  return ask((struct sbx_msg_file){.verb = verb,
                                   .path = fake_str(path),
                                   .length = ANY,
                                   .flags = SBX_FILE_RECURSIVE});
}

static inline int two(uint8_t verb, const char *path, const char *other) {
  return ask((struct sbx_msg_file){
      .verb = verb, .path = fake_str(path), .other = fake_str(other)});
}

static inline int read_part(const char *path, uint64_t offset, uint64_t length,
                            uint32_t credit) {
  return ask((struct sbx_msg_file){.verb = SBX_FILE_READ,
                                   .path = fake_str(path),
                                   .offset = offset,
                                   .length = length,
                                   .credit = credit});
}

static inline int read_all(const char *path) {
  return read_part(path, 0, ANY, 256 * 1024);
}

static inline void send_data(uint32_t id, const uint8_t *data, size_t len) {
  static uint8_t raw[1 + SBX_FRAME_DATA_MAX];
  int rc = 0;
  while (len > 0) {
    size_t n = len < SBX_FRAME_DATA_MAX ? len : SBX_FRAME_DATA_MAX;
    raw[0] = SBX_MSG_STDIN;
    memcpy(raw + 1, data, n);
    fake_send(id, SBX_MSG_DATA, raw, 1 + n, &rc);
    CHECK_INT(rc, 0);
    data += n;
    len -= n;
  }
}

static inline int write_mode(const char *path, const void *data, size_t len,
                             int mode) {
  int rc = 0;
  reset();
  uint32_t id = fake_start((struct sbx_msg_file){
      .verb = SBX_FILE_WRITE,
      .path = fake_str(path),
      .flags = SBX_FILE_PARENTS | (mode < 0 ? 0 : SBX_FILE_MODE),
      .mode = mode < 0 ? 0 : (uint32_t)mode,
      .length = len});
  send_data(id, data, len);
  fake_send(id, SBX_MSG_EOF, "", 1, &rc);
  CHECK_INT(rc, 0);
  return finish(id);
}

static inline int write_all(const char *path, const char *text) {
  return write_mode(path, text, strlen(text), -1);
}

static inline void check_bytes(const struct sbx_buf *got, const char *want) {
  CHECK_MEM(got->len ? got->data : (uint8_t *)"", got->len, want, strlen(want));
}

static inline void check_read(const char *path, const char *text) {
  if (CHECK_INT(read_all(path), 0))
    check_bytes(&a.data, text);
  else
    fprintf(stderr, "  for %s\n", path);
}

static inline void check_names(const char *want) {
  check_bytes(&a.names, want);
}

static inline void check_list(const char *path, const char *want) {
  ask((struct sbx_msg_file){
      .verb = SBX_FILE_LIST, .path = fake_str(path), .length = ANY});
  CHECK_INT(a.error, 0);
  check_names(want);
}

static inline void clean(void) {
  fake_sh("chmod -R u+rwx .; rm -rf ./* ./.[!.]* ./..?*");
}

#endif
