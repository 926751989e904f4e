/* SPDX-License-Identifier: MIT */
/* mux_channel.c - what the owner of a channel does with it. */
#include "proc/mux_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a DATA frame. */
#define PIECE (SBX_FRAME_DATA_MAX - 1)

/* ---- opening ---- */

/* Appends a frame whose payload is encoded in place. */
static int append(struct sbx_mux *m, uint32_t id, uint8_t kind,
                  int (*encode)(struct sbx_buf *b, const void *message),
                  const void *message) {
  size_t before = m->out.len;
  int rc = sbx_frame_append(&m->out, id, kind, NULL, 0);
  size_t len;

  if (rc == 0)
    rc = encode(&m->out, message);
  len = m->out.len - before - SBX_FRAME_HEAD;
  if (rc == 0 && len > SBX_FRAME_DOWN_MAX)
    rc = -EMSGSIZE;
  if (rc == 0)
    sbx_frame_head(m->out.data + before, id, kind, (uint32_t)len);
  else
    m->out.len = before;
  return rc;
}

static int encode_spawn(struct sbx_buf *b, const void *message) {
  return sbx_spawn_encode(b, message);
}

static int encode_file(struct sbx_buf *b, const void *message) {
  return sbx_file_encode(b, message);
}

static int encode_port(struct sbx_buf *b, const void *message) {
  return sbx_port_encode(b, message);
}

static int encode_nothing(struct sbx_buf *b, const void *message) {
  (void)b;
  (void)message;
  return 0;
}

static int make_room(struct sbx_mux *m) {
  size_t cap = m->cap > 0 ? m->cap * 2 : 16;
  void *grown;

  if (m->count < m->cap)
    return 0;
  grown = realloc(m->channels, cap * sizeof(*m->channels));
  if (grown == NULL)
    return -ENOMEM;
  m->channels = grown;
  m->cap = cap;
  return 0;
}

static int open_channel(struct sbx_mux *m, uint8_t kind,
                        int (*encode)(struct sbx_buf *b, const void *message),
                        const void *message,
                        const struct sbx_mux_channel_events *events, void *arg,
                        struct sbx_mux_channel **out) {
  struct sbx_mux_channel *ch;
  int rc;

  if (m->broken || m->over || m->gone || m->next_id == 0)
    return SBX_EPROTO;
  ch = calloc(1, sizeof(*ch));
  if (ch == NULL)
    return -ENOMEM;
  rc = make_room(m);
  if (rc == 0)
    rc = append(m, m->next_id, kind, encode, message);
  if (rc < 0) {
    free(ch);
    return rc;
  }
  ch->mux = m;
  ch->events = events;
  ch->arg = arg;
  ch->id = m->next_id++;
  ch->kind = kind;
  ch->state = kind == SBX_MSG_SPAWN ? SBX_MUX_WAITING : SBX_MUX_OPEN;
  sbx_list_init(&ch->blocked_link);
  m->channels[m->count++] = ch;
  *out = ch;
  sbx_mux_push(m);
  return 0;
}

int sbx_mux_spawn(struct sbx_mux *m, const struct sbx_msg_spawn *spawn,
                  const struct sbx_mux_channel_events *events, void *arg,
                  struct sbx_mux_channel **out) {
  int rc =
      open_channel(m, SBX_MSG_SPAWN, encode_spawn, spawn, events, arg, out);

  if (rc == 0) {
    (*out)->capture = (spawn->flags & SBX_SPAWN_CAPTURE) != 0;
    (*out)->may_come[SBX_MSG_STDOUT] = spawn->credit;
    (*out)->may_come[SBX_MSG_STDERR] = spawn->credit;
    (*out)->piece = spawn->credit / 2;
  }
  return rc;
}

int sbx_mux_file(struct sbx_mux *m, const struct sbx_msg_file *file,
                 const struct sbx_mux_channel_events *events, void *arg,
                 struct sbx_mux_channel **out) {
  int rc = open_channel(m, SBX_MSG_FILE, encode_file, file, events, arg, out);

  if (rc == 0) {
    (*out)->verb = file->verb;
    (*out)->limit = file->length;
    (*out)->may_come[SBX_MSG_STDOUT] = file->credit;
    (*out)->piece = file->credit / 2;
    if (file->verb == SBX_FILE_WRITE)
      (*out)->may_send = SBX_MUX_CREDIT;
  }
  return rc;
}

int sbx_mux_ports(struct sbx_mux *m,
                  const struct sbx_mux_channel_events *events, void *arg,
                  struct sbx_mux_channel **out) {
  return open_channel(m, SBX_MSG_PORTS, encode_nothing, NULL, events, arg, out);
}

int sbx_mux_port(struct sbx_mux *m, uint16_t port,
                 const struct sbx_mux_channel_events *events, void *arg,
                 struct sbx_mux_channel **out) {
  struct sbx_msg_port message = {.port = port};

  return open_channel(m, SBX_MSG_PORT, encode_port, &message, events, arg, out);
}

/* ---- sending ---- */

size_t sbx_mux_room(struct sbx_mux_channel *ch) {
  struct sbx_mux *m = ch->mux;
  size_t queued, room;

  if (m == NULL || ch->state == SBX_MUX_EXITED || ch->eof_sent)
    return 0;
  queued = m->in_flight + m->out.len;
  room = queued < SBX_MUX_QUEUE ? SBX_MUX_QUEUE - queued : 0;
  if (ch->may_send < room)
    room = (size_t)ch->may_send;
  if (room == 0)
    sbx_mux_want_room(ch);
  return room;
}

void sbx_mux_want_room(struct sbx_mux_channel *ch) {
  if (ch->mux != NULL && sbx_list_empty(&ch->blocked_link))
    sbx_list_append(&ch->mux->blocked, &ch->blocked_link);
}

static int append_data(struct sbx_mux *m, uint32_t id, const uint8_t *data,
                       size_t len) {
  static const uint8_t stream = SBX_MSG_STDIN;
  int rc = sbx_buf_reserve(&m->out, SBX_FRAME_HEAD + 1 + len);

  if (rc < 0)
    return rc;
  sbx_frame_head(m->out.data + m->out.len, id, SBX_MSG_DATA,
                 (uint32_t)(len + 1));
  m->out.len += SBX_FRAME_HEAD;
  (void)sbx_buf_append(&m->out, &stream, 1); /* there is room for both */
  return sbx_buf_append(&m->out, data, len);
}

int sbx_mux_send(struct sbx_mux_channel *ch, const void *data, size_t len) {
  struct sbx_mux *m = ch->mux;
  const uint8_t *at = data;
  size_t before;

  if (m == NULL || m->broken || ch->eof_sent)
    return -EPIPE;
  before = m->out.len;
  ch->may_send -= len;
  while (len > 0) {
    size_t piece = len < PIECE ? len : PIECE;
    int rc = append_data(m, ch->id, at, piece);

    if (rc < 0) {
      ch->may_send += len + (size_t)(at - (const uint8_t *)data);
      m->out.len = before;
      return -ENOMEM;
    }
    at += piece;
    len -= piece;
  }
  sbx_mux_push(m);
  return 0;
}

int sbx_mux_control(struct sbx_mux_channel *ch, enum sbx_msg_type type,
                    const void *payload, size_t len) {
  struct sbx_mux *m = ch->mux;
  int rc;

  if (m == NULL || m->broken)
    return -EPIPE;
  rc = sbx_frame_append(&m->out, ch->id, (uint8_t)type, payload, len);
  if (rc < 0)
    return rc;
  if (type == SBX_MSG_KILL)
    ch->kills++;
  else if (type == SBX_MSG_COUNT || type == SBX_MSG_SIGNAL)
    ch->counts++;
  sbx_mux_push(m);
  return 0;
}

void sbx_mux_send_eof(struct sbx_mux_channel *ch) {
  static const uint8_t stream = SBX_MSG_STDIN;

  if (ch->eof_sent || ch->state == SBX_MUX_EXITED)
    return;
  if (sbx_mux_control(ch, SBX_MSG_EOF, &stream, 1) == -ENOMEM)
    sbx_mux_break(ch->mux, SBX_EINTERNAL, "out of memory");
  ch->eof_sent = true;
}

void sbx_mux_consumed(struct sbx_mux_channel *ch, enum sbx_msg_stream stream,
                      size_t n) {
  struct sbx_mux *m = ch->mux;
  uint8_t payload[5] = {(uint8_t)stream};

  ch->owed[stream] += n;
  if (m == NULL || n == 0 || m->broken || ch->state != SBX_MUX_OPEN ||
      ch->ended[stream] || ch->owed[stream] < ch->piece)
    return;
  sbx_put_u32(payload + 1, (uint32_t)ch->owed[stream]);
  if (sbx_frame_append(&m->out, ch->id, SBX_MSG_CREDIT, payload, 5) < 0) {
    sbx_mux_break(m, SBX_EINTERNAL, "out of memory");
    return;
  }
  ch->may_come[stream] += ch->owed[stream];
  ch->owed[stream] = 0;
  sbx_mux_push(m);
}

void sbx_mux_blame(struct sbx_mux_channel *ch, const char *what) {
  if (ch->mux != NULL)
    sbx_mux_break(ch->mux, SBX_EPROTO, "the supervisor broke the protocol: %s",
                  what);
}

void sbx_mux_forget(struct sbx_mux_channel *ch) {
  struct sbx_mux *m = ch != NULL ? ch->mux : NULL;

  if (m != NULL) {
    sbx_mux_take_out(ch);
    if (!m->broken && !m->over) {
      if (sbx_frame_append(&m->out, ch->id, SBX_MSG_FORGET, NULL, 0) < 0)
        sbx_mux_break(m, SBX_EINTERNAL, "out of memory");
      sbx_mux_push_lazily(m);
    }
  }
  free(ch);
}
