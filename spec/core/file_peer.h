/* SPDX-License-Identifier: MIT */
/* file_peer.h - a supervisor that does what a path says, each rarely or never
 * done by the real one: the test program again, as the "engine's client". */
#ifndef SBX_FILE_PEER_H
#define SBX_FILE_PEER_H

#include "proc/file_op.h"
#include "sup_session.h"
#include "wire/frame.h"

#define PEER "--peer"

static struct sbx_buf reply;

static void send_payload(uint32_t id, uint8_t type, struct sbx_buf *payload) {
  sbx_frame_append(&reply, id, type, payload->data, payload->len);
  sbx_buf_clear(payload);
}

static void send_done(uint32_t id, uint8_t code, uint32_t error,
                      const char *text) {
  struct sbx_msg_done m = {error, code, {(const uint8_t *)text, strlen(text)}};
  struct sbx_buf b;

  sbx_buf_init(&b, 1 << 20);
  sbx_done_encode(&b, &m);
  send_payload(id, SBX_MSG_DONE, &b);
  sbx_buf_fini(&b);
}

static void send_entry(uint32_t id, char type, uint64_t size,
                       const char *path) {
  struct sbx_msg_entry m = {
      .type = (uint8_t)type,
      .mode = 0644,
      .size = size,
      .mtime_ms = 1234,
      .path = {(const uint8_t *)path, strlen(path)},
  };
  struct sbx_buf b, list;
  uint8_t count[4];

  sbx_buf_init(&b, 1 << 20);
  sbx_buf_init(&list, 1 << 20);
  sbx_entry_encode(&b, &m);
  sbx_put_u32(count, 1);
  sbx_buf_append(&list, count, 4);
  sbx_str_append(&list, b.data, b.len);
  send_payload(id, SBX_MSG_ENTRY, &list);
  sbx_buf_fini(&b);
  sbx_buf_fini(&list);
}

static void send_bytes(uint32_t id, const char *text, size_t len) {
  struct sbx_buf b;

  sbx_buf_init(&b, 1 << 20);
  sbx_buf_append(&b, "\1", 1);
  sbx_buf_append(&b, text, len);
  send_payload(id, SBX_MSG_DATA, &b);
  sbx_buf_fini(&b);
}

static void send_event(uint32_t id, char kind, uint64_t cursor,
                       const char *path) {
  struct sbx_msg_event m = {
      cursor, (uint8_t)kind, {(const uint8_t *)path, strlen(path)}};
  struct sbx_buf b;

  sbx_buf_init(&b, 1 << 20);
  sbx_event_encode(&b, &m);
  send_payload(id, SBX_MSG_EVENT, &b);
  sbx_buf_fini(&b);
}

/* Journal of 5,000 events with long names: from the cursor on. */
static void flood(uint32_t id, uint64_t from) {
  char name[201];
  uint64_t i;

  memset(name, 'n', 200);
  name[200] = '\0';
  send_event(id, 'r', from, "");
  for (i = from + 1; i <= 5000; i++)
    send_event(id, i % 3 == 0 ? 'd' : 'c', i, name);
}

static void on_read(uint32_t id, const char *path) {
  static const char lines[] = "one\ntwo\n\nfour\n";
  size_t i;

  if (strcmp(path, "hello") == 0) {
    send_entry(id, 'f', 5, "");
    send_bytes(id, "hello", 5);
    send_done(id, SBX_DONE_OK, 0, "");
  } else if (strcmp(path, "grows") == 0) { /* and goes on growing */
    send_entry(id, 'f', 3, "");
    send_bytes(id, "abcdef", 6);
  } else if (strcmp(path, "shrinks") == 0) {
    send_entry(id, 'f', 9, "");
    send_bytes(id, "abc", 3);
    send_done(id, SBX_DONE_OK, 0, "");
  } else if (strcmp(path, "large") == 0) {
    send_entry(id, 'f', 1001, "");
  } else if (strcmp(path, "undescribed") == 0) {
    send_done(id, SBX_DONE_OK, 0, "");
  } else if (strcmp(path, "missing") == 0) {
    send_done(id, SBX_DONE_NOT_FOUND, 2, "");
  } else if (strcmp(path, "full") == 0) {
    send_done(id, SBX_DONE_REFUSED, 24, "");
  } else if (strcmp(path, "lines") == 0) {
    send_entry(id, 'f', sizeof(lines) - 1, "");
    for (i = 0; i < sizeof(lines) - 1; i++)
      send_bytes(id, lines + i, 1);
    send_done(id, SBX_DONE_OK, 0, "");
  } /* else nothing: it hangs */
}

static size_t written;
static uint32_t writing;

static void on_write_frame(const struct sbx_frame *f) {
  struct sbx_buf b;
  uint8_t credit[5] = {0};
  char text[32];

  sbx_buf_init(&b, 1024);
  if (f->type == SBX_MSG_DATA) {
    written += f->len - 1;
    sbx_put_u32(credit + 1, (uint32_t)f->len - 1);
    sbx_buf_append(&b, credit, 5);
    send_payload(f->id, SBX_MSG_CREDIT, &b);
  } else if (f->type == SBX_MSG_EOF) {
    snprintf(text, sizeof(text), "%zu", written);
    send_done(f->id, SBX_DONE_FAILED, 27, text);
    writing = 0;
  }
  sbx_buf_fini(&b);
}

static void on_file(uint32_t id, const struct sbx_msg_file *m) {
  char path[64];

  snprintf(path, sizeof(path), "%s", (const char *)m->path.data);
  if (m->verb == SBX_FILE_READ) {
    on_read(id, path);
  } else if (m->verb == SBX_FILE_WRITE) {
    writing = id;
    written = 0;
  } else if (m->verb == SBX_FILE_LIST) {
    send_entry(id, 'f', 1, "b");
    send_entry(id, 'd', 1, path + 1); /* "=name" */
    send_entry(id, 'l', 1, "ab");
    send_done(id, SBX_DONE_OK, 0, "");
  } else if (m->verb == SBX_FILE_STAT) {
    send_entry(id, 'o', 7, "");
    send_done(id, SBX_DONE_OK, 0, "");
  } else if (m->verb == SBX_FILE_RENAME) {
    send_done(id, SBX_DONE_PATH, 18, path[0] == 'o' ? "to" : "");
  } else if (m->verb == SBX_FILE_WATCH) {
    if (strcmp(path, "gone") == 0)
      send_done(id, SBX_DONE_NOT_FOUND, 2, "");
    else if (strcmp(path, "flood") == 0)
      flood(id, m->offset);
  } else {
    send_done(id, SBX_DONE_OK, 0, "");
  }
}

static void on_frame(const struct sbx_frame *f) {
  struct sbx_msg_ready ready = {.version = SBX_MSG_VERSION, .writable = 1};
  struct sbx_msg_file file;
  struct sbx_buf b;

  if (f->type == SBX_MSG_HELLO) {
    sbx_buf_init(&b, 1024);
    ready.home = (struct sbx_str){(const uint8_t *)"/", 1};
    sbx_ready_encode(&b, &ready);
    send_payload(0, SBX_MSG_READY, &b);
    sbx_buf_fini(&b);
  } else if (f->type == SBX_MSG_FILE &&
             sbx_file_decode(&file, f->data, f->len) == 0) {
    on_file(f->id, &file);
  } else if (f->id != 0 && f->id == writing) {
    on_write_frame(f);
  }
}

static inline int peer(void) {
  static uint8_t in[65536];
  struct sbx_framer framer;
  ssize_t n;

  sbx_framer_init(&framer, SBX_FRAME_DOWN_MAX);
  sbx_buf_init(&reply, 64 << 20);
  while ((n = read(0, in, sizeof(in))) > 0) {
    size_t at = 0;

    while (at < (size_t)n) {
      struct sbx_frame f;
      bool done;
      ssize_t used =
          sbx_framer_feed(&framer, in + at, (size_t)n - at, &f, &done);

      if (used < 0)
        return 3;
      at += (size_t)used;
      if (done)
        on_frame(&f);
    }
    for (at = 0; at < reply.len;) {
      ssize_t sent = write(1, reply.data + at, reply.len - at);

      if (sent <= 0)
        return 4;
      at += (size_t)sent;
    }
    sbx_buf_clear(&reply);
  }
  sbx_buf_fini(&reply);
  sbx_framer_fini(&framer);
  return 0;
}

static inline struct sbx_session *peer_session(struct sbx_mailbox *mb) {
  struct sbx_request *r = NULL;
  char self[512] = "";
  struct sbx_session *s;

  REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
  REQUIRE(sbx_request_new(&r) == 0);
  sbx_request_arg(r, self, strlen(self));
  sbx_request_arg(r, PEER, strlen(PEER));
  REQUIRE(sbx_request_seal(r) == 0);
  s = session_over(mb, r, "", 0, 0, 4);
  {
    struct sbx_open_op *op = sbx_open_op_new(mb, s, 10000);

    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, 0);
    sbx_op_unref(&op->base.op);
  }
  return s;
}

#endif
