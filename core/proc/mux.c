/* SPDX-License-Identifier: MIT */
#include "proc/mux.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "proc/mux_channel.h"

/* The most that a queue holds: what room() allows, a command, small frames. */
#define OUT_MAX (SBX_MUX_QUEUE + 4u * (size_t)SBX_FRAME_DOWN_MAX)
/* A queue that was larger gives its memory back. */
#define OUT_KEEP (256u * 1024u)
int sbx_mux_new(struct sbx_mux **out, struct sbx_stream *stream,
                const struct sbx_mux_events *events, void *arg) {
  struct sbx_mux *m = calloc(1, sizeof(*m));

  if (m == NULL)
    return -ENOMEM;
  m->stream = stream;
  m->events = events;
  m->arg = arg;
  m->next_id = 1;
  sbx_framer_init(&m->framer, SBX_FRAME_UP_MAX);
  sbx_buf_init(&m->out, OUT_MAX);
  sbx_list_init(&m->blocked);
  *out = m;
  return 0;
}

static void release(struct sbx_mux *m) {
  sbx_framer_fini(&m->framer);
  sbx_buf_fini(&m->out);
  free(m->channels);
  free(m);
}

static void send_out(struct sbx_mux *m);

/* The end of what came from outside: what was to be sent goes in one piece. */
static void leave(struct sbx_mux *m) {
  if (m->depth == 1 && m->broken && !m->told && !m->gone) {
    m->told = true;
    m->events->on_broken(m->arg, &m->why);
  }
  if (m->depth == 1 && !m->gone && m->urgent)
    send_out(m);
  if (--m->depth == 0 && m->gone)
    release(m);
}

void sbx_mux_break(struct sbx_mux *m, int code, const char *fmt, ...) {
  va_list ap;

  m->broken = true;
  va_start(ap, fmt);
  sbx_vfail(&m->why, code, fmt, ap);
  va_end(ap);
  if (m->depth == 0)
    m->events->on_lazy(m->arg); /* not from inside what the owner does */
}

/* ---- the table ---- */

static size_t place(const struct sbx_mux *m, uint32_t id) {
  size_t low = 0, high = m->count;

  while (low < high) {
    size_t mid = low + (high - low) / 2;

    if (m->channels[mid]->id < id)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static struct sbx_mux_channel *find(const struct sbx_mux *m, uint32_t id) {
  size_t at = place(m, id);

  return at < m->count && m->channels[at]->id == id ? m->channels[at] : NULL;
}

void sbx_mux_take_out(struct sbx_mux_channel *ch) {
  struct sbx_mux *m = ch->mux;
  size_t at = place(m, ch->id);

  memmove(m->channels + at, m->channels + at + 1,
          (m->count - at - 1) * sizeof(*m->channels));
  m->count--;
  sbx_list_remove(&ch->blocked_link);
  ch->mux = NULL;
}

void sbx_mux_free(struct sbx_mux *m) {
  if (m == NULL || m->gone)
    return;
  m->depth++;
  m->gone = true;
  while (m->count > 0) {
    struct sbx_mux_channel *ch = m->channels[m->count - 1];

    sbx_mux_take_out(ch);
    ch->events->on_lost(ch->arg);
  }
  leave(m);
}

/* ---- what goes out ---- */

static void send_out(struct sbx_mux *m) {
  int rc = 0;

  m->lazy = false;
  if (m->out.len > 0) {
    rc = sbx_stream_write(m->stream, m->out.data, m->out.len);
    if (rc == 0)
      m->in_flight += m->out.len;
  }
  m->urgent = false;
  if (rc == -ENOMEM) { /* later */
    m->lazy = true;
    m->events->on_lazy(m->arg);
    return;
  }
  /* A stream that has gone will say so itself. */
  if (m->out.cap > OUT_KEEP)
    sbx_buf_fini(&m->out);
  sbx_buf_clear(&m->out);
}

void sbx_mux_flush(struct sbx_mux *m) {
  m->depth++;
  send_out(m);
  leave(m);
}

void sbx_mux_cork(struct sbx_mux *m) {
  m->depth++;
}

void sbx_mux_uncork(struct sbx_mux *m) {
  leave(m);
}

void sbx_mux_push(struct sbx_mux *m) {
  m->urgent = true;
  if (m->depth == 0)
    send_out(m);
}

void sbx_mux_push_lazily(struct sbx_mux *m) {
  if (m->lazy || m->urgent)
    return;
  m->lazy = true;
  m->events->on_lazy(m->arg);
}

int sbx_mux_hello(struct sbx_mux *m, const struct sbx_msg_hello *hello) {
  struct sbx_buf text;
  int rc;

  sbx_buf_init(&text, SBX_FRAME_DOWN_MAX);
  rc = sbx_hello_encode(&text, hello);
  if (rc == 0)
    rc = sbx_frame_append(&m->out, 0, SBX_MSG_HELLO, text.data, text.len);
  sbx_buf_fini(&text);
  if (rc == 0)
    sbx_mux_push(m);
  return rc;
}

void sbx_mux_tell(struct sbx_mux *m, enum sbx_msg_type type) {
  if (!m->broken && sbx_frame_append(&m->out, 0, (uint8_t)type, NULL, 0) == 0)
    sbx_mux_push(m);
}

/* ---- what comes in ---- */

/* Id 0: the session as a whole. */
static void take_ours(struct sbx_mux *m, const struct sbx_frame *frame) {
  struct sbx_msg_ready ready;
  struct sbx_msg_done done;
  const char *name = sbx_mux_type_name(frame->type);
  bool fits = false;

  if (frame->type == SBX_MSG_BYE && frame->len == 1 &&
      frame->data[0] >= SBX_BYE_SHUTDOWN &&
      frame->data[0] <= SBX_BYE_PROTOCOL) {
    m->over = true;
    m->events->on_bye(m->arg, (enum sbx_bye)frame->data[0]);
    return;
  }
  if (!m->greeted && frame->type == SBX_MSG_READY &&
      sbx_ready_decode(&ready, frame->data, frame->len) == 0) {
    fits = m->greeted = true;
    if (ready.version != SBX_MSG_VERSION)
      sbx_mux_break(m, SBX_EPROTO, "the supervisor speaks version %u, not %u",
                    ready.version, SBX_MSG_VERSION);
    else
      m->events->on_ready(m->arg, &ready);
  } else if (!m->greeted && frame->type == SBX_MSG_DONE &&
             sbx_done_decode(&done, frame->data, frame->len) == 0) {
    fits = m->over = true;
    m->events->on_refused(m->arg, &done);
  }
  if (!fits)
    sbx_mux_break(m, SBX_EPROTO,
                  "the supervisor broke the protocol: %s outside of a channel",
                  name);
}

/* To one that had no room. */
static void offer(struct sbx_mux_channel *ch) {
  if (sbx_list_empty(&ch->blocked_link))
    return;
  sbx_list_remove(&ch->blocked_link);
  if (sbx_mux_room(ch) > 0 && ch->events->on_room != NULL)
    ch->events->on_room(ch->arg);
}

static void take(struct sbx_mux *m, const struct sbx_frame *frame) {
  struct sbx_mux_channel *ch;
  struct sbx_mux_msg msg;

  if (frame->skipped) {
    sbx_mux_break(m, SBX_EINTERNAL, "out of memory");
    return;
  }
  if (frame->id == 0) {
    take_ours(m, frame);
    return;
  }
  ch = find(m, frame->id);
  if (ch == NULL) {
    /* one that was forgotten: this was on its way before the supervisor knew */
    if (m->next_id != 0 && frame->id >= m->next_id)
      sbx_mux_break(m, SBX_EPROTO,
                    "the supervisor broke the protocol: %s on a channel that "
                    "was never opened",
                    sbx_mux_type_name(frame->type));
    return;
  }
  if (sbx_mux_check(ch, frame, &msg, &m->why) < 0) {
    m->broken = true;
    return;
  }
  if (msg.type == SBX_MSG_CREDIT) {
    offer(ch);
    return;
  }
  if (ch->state == SBX_MUX_OVER)
    sbx_mux_take_out(ch);
  ch->events->on_msg(ch->arg, &msg);
}

void sbx_mux_feed(struct sbx_mux *m, const uint8_t *data, size_t len) {
  m->depth++;
  while (len > 0 && !m->broken && !m->over && !m->gone) {
    struct sbx_frame frame;
    bool done;
    ssize_t used = sbx_framer_feed(&m->framer, data, len, &frame, &done);

    if (used < 0) {
      sbx_mux_break(m, SBX_EPROTO,
                    "the supervisor broke the protocol: what it sent is not a "
                    "frame");
      break;
    }
    data += used;
    len -= (size_t)used;
    if (done)
      take(m, &frame);
  }
  leave(m);
}

void sbx_mux_drained(struct sbx_mux *m) {
  struct sbx_list waiting;

  m->depth++;
  m->in_flight = 0;
  sbx_list_init(&waiting);
  sbx_list_splice(&waiting, &m->blocked);
  while (!sbx_list_empty(&waiting)) /* a free empties it, too */
    offer(SBX_LIST_OWNER(waiting.next, struct sbx_mux_channel, blocked_link));
  leave(m);
}
