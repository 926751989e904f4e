/* SPDX-License-Identifier: MIT */
/* mux_help.h - a mux on a stream that keeps what is written, and an owner that
 * writes down what it is told. */
#ifndef SBX_MUX_HELP_H
#define SBX_MUX_HELP_H

#include <errno.h>

#include "base/buf.h"
#include "check.h"
#include "proc/mux.h"
#include "wire/frame.h"

struct peer {
  struct sbx_stream stream; /* first */
  struct sbx_mux *mux;
  struct sbx_buf out; /* what was written and not taken yet */
  int writes;
  int write_rc;
  struct sbx_buf log; /* "started 7;" ... */
  struct sbx_err broken;
  int lazy;
  bool free_in_event; /* the owner gives everything up in the next callback */
};

/* A channel's owner. */
struct side {
  struct peer *peer;
  struct sbx_mux_channel *channel;
  int rooms;
  bool forget_in_event;
};

static int peer_write(struct sbx_stream *s, const void *data, size_t len) {
  struct peer *p = (struct peer *)s;

  if (p->write_rc < 0)
    return p->write_rc;
  p->writes++;
  return sbx_buf_append(&p->out, data, len);
}

static const struct sbx_stream_ops peer_ops = {.write = peer_write};

static void give_up(struct peer *p) {
  if (!p->free_in_event)
    return;
  p->free_in_event = false;
  sbx_mux_free(p->mux);
  p->mux = NULL;
}

#define NOTE(peer, ...) CHECK_INT(sbx_buf_appendf(&(peer)->log, __VA_ARGS__), 0)

static void peer_ready(void *arg, const struct sbx_msg_ready *ready) {
  struct peer *p = arg;

  NOTE(p, "ready %u;", ready->uid);
  give_up(p);
}

static void peer_refused(void *arg, const struct sbx_msg_done *done) {
  struct peer *p = arg;

  NOTE(p, "refused %s;", (const char *)done->text.data);
  give_up(p);
}

static void peer_bye(void *arg, enum sbx_bye why) {
  struct peer *p = arg;

  NOTE(p, "bye %d;", (int)why);
  give_up(p);
}

static void peer_broken(void *arg, const struct sbx_err *err) {
  struct peer *p = arg;

  CHECK_INT(p->broken.code, 0);
  p->broken = *err;
  NOTE(p, "broken;");
  give_up(p);
}

static void peer_lazy(void *arg) {
  ((struct peer *)arg)->lazy++;
}

static const struct sbx_mux_events peer_events = {
    .on_ready = peer_ready,
    .on_refused = peer_refused,
    .on_bye = peer_bye,
    .on_broken = peer_broken,
    .on_lazy = peer_lazy,
};

static void note_msg(struct peer *p, const struct sbx_mux_msg *m) {
  switch (m->type) {
  case SBX_MSG_DATA:
    NOTE(p, "data %d %zu %.*s;", m->data.stream, m->data.len,
         m->data.len < 20 ? (int)m->data.len : 20, (const char *)m->data.data);
    break;
  case SBX_MSG_EOF:
    NOTE(p, "eof %d;", m->data.stream);
    break;
  case SBX_MSG_OMITTED:
    NOTE(p, "omitted %d %llu;", m->omitted.stream,
         (unsigned long long)m->omitted.bytes);
    break;
  case SBX_MSG_STARTED:
    NOTE(p, "started %u;", m->pid);
    break;
  case SBX_MSG_FAILED:
    NOTE(p, "failed %d %u;", m->failed.stage, m->failed.error);
    break;
  case SBX_MSG_EXIT:
    NOTE(p, "exit %d %d;", m->exit.code, m->exit.signal);
    break;
  case SBX_MSG_KILLED:
    NOTE(p, "killed %u;", m->killed.survivors.count);
    break;
  case SBX_MSG_COUNTED:
    NOTE(p, "counted %u;", m->count);
    break;
  case SBX_MSG_LISTENER:
    NOTE(p, "listener %u;", m->listeners.sockets.count);
    break;
  case SBX_MSG_ENTRY:
    NOTE(p, "entry %u;", m->entries.entries.count);
    break;
  case SBX_MSG_EVENT:
    NOTE(p, "event %c;", m->event.kind);
    break;
  case SBX_MSG_DONE:
    NOTE(p, "done %d;", m->done.code);
    break;
  default:
    CHECK_STR("a message", "that is none");
  }
}

static void side_forget(struct side *s) {
  sbx_mux_forget(s->channel);
  s->channel = NULL;
}

static void side_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct side *s = arg;

  note_msg(s->peer, msg);
  if (s->forget_in_event)
    side_forget(s);
  give_up(s->peer);
}

static void side_room(void *arg) {
  struct side *s = arg;

  s->rooms++;
  if (s->forget_in_event)
    side_forget(s);
  give_up(s->peer);
}

static void side_lost(void *arg) {
  struct side *s = arg;

  NOTE(s->peer, "lost;");
  if (s->forget_in_event)
    side_forget(s);
}

static const struct sbx_mux_channel_events side_events = {
    .on_msg = side_msg,
    .on_room = side_room,
    .on_lost = side_lost,
};

static void peer_init(struct peer *p) {
  memset(p, 0, sizeof(*p));
  p->stream.ops = &peer_ops;
  sbx_buf_init(&p->out, SIZE_MAX / 2);
  sbx_buf_init(&p->log, SIZE_MAX / 2);
  REQUIRE(sbx_mux_new(&p->mux, &p->stream, &peer_events, p) == 0);
}

static void peer_fini(struct peer *p) {
  sbx_mux_free(p->mux);
  sbx_buf_fini(&p->out);
  sbx_buf_fini(&p->log);
}

static inline void peer_feed(struct peer *p, uint32_t id, uint8_t type,
                             const void *data, size_t len) {
  struct sbx_buf b;

  sbx_buf_init(&b, SIZE_MAX / 2);
  CHECK_INT(sbx_frame_append(&b, id, type, data, len), 0);
  if (p->mux != NULL)
    sbx_mux_feed(p->mux, b.data, b.len);
  sbx_buf_fini(&b);
}

/* READY of version 1, uid 0x33. */
#define READY_BYTES                                                            \
  "\1\0\0\0\x33\0\0\0\x33\0\0\0\1"                                             \
  "\1\0\0\0/\0"

static inline void peer_greet(struct peer *p) {
  peer_feed(p, 0, SBX_MSG_READY, READY_BYTES, sizeof(READY_BYTES) - 1);
}

/* What was noted since the last time. */
static inline void check_log(struct peer *p, const char *want) {
  CHECK_MEM(p->log.data, p->log.len, want, strlen(want));
  sbx_buf_clear(&p->log);
}

#define STR(text)                                                              \
  { (const uint8_t *)(text), sizeof(text) - 1 }
#define EXIT_BYTES   "\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define FAILED_BYTES "\3\2\0\0\0\0\0\0\0\0"
#define DONE_BYTES   "\0\0\0\0\0\0\0\0\0\0"

/* The kinds of channels that the cases use, each with id 1. */
enum kind {
  NONE,
  SPAWN,
  CAPTURE,
  READ,
  WRITE,
  LIST,
  STAT,
  MKDIR,
  WATCH,
  PORTS,
  PORT
};

static inline int open_kind(struct peer *p, enum kind kind, struct side *s) {
  static const uint8_t argv[] = "\4\0\0\0true";
  struct sbx_msg_spawn spawn = {
      .flags = SBX_SPAWN_STDIN | (kind == CAPTURE ? SBX_SPAWN_CAPTURE : 0u),
      .max_bytes = 100,
      .credit = 100,
      .argv = {argv, 9, 1},
  };
  struct sbx_msg_file file = {.length = 5, .credit = 100, .path = STR("a")};
  static const uint8_t verbs[] = {
      [READ] = SBX_FILE_READ,   [WRITE] = SBX_FILE_WRITE,
      [LIST] = SBX_FILE_LIST,   [STAT] = SBX_FILE_STAT,
      [MKDIR] = SBX_FILE_MKDIR, [WATCH] = SBX_FILE_WATCH};

  memset(s, 0, sizeof(*s));
  s->peer = p;
  switch (kind) {
  case NONE:
    return 0;
  case SPAWN:
  case CAPTURE:
    return sbx_mux_spawn(p->mux, &spawn, &side_events, s, &s->channel);
  case PORTS:
    return sbx_mux_ports(p->mux, &side_events, s, &s->channel);
  case PORT:
    return sbx_mux_port(p->mux, 80, &side_events, s, &s->channel);
  default:
    file.verb = verbs[kind];
    return sbx_mux_file(p->mux, &file, &side_events, s, &s->channel);
  }
}

#endif
