/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "supervisor/command.h"

#define INPUT_CREDIT  (256u * 1024)
#define INPUT_RETURN  (64u * 1024)  /* credit goes back in portions of this */
#define TERMINAL_REST (256u * 1024) /* FIONREAD does not see all of it */
#define EARLY_MS      25
#define CREDIT_MAX    (UINT64_MAX / 2)

static void end_output(struct sbx_output *o) {
  o->done = true;
  if (o->command->channel.id != 0)
    sbx_link_send(o->command->channel.id, SBX_MSG_EOF, &o->stream, 1);
}

static void close_output(struct sbx_output *o) {
  sbx_turn_drop(&o->turn);
  sbx_loop_drop(&o->handler);
  if (!o->command->captures)
    end_output(o);
  sbx_command_check(o->command);
}

static bool has_input(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static ssize_t read_and_keep(struct sbx_output *o, size_t len) {
  ssize_t n = read(o->handler.fd, sbx_scratch, len);
  if (n <= 0 || !o->capture)
    return n;
  if (sbx_capture_push(o->capture, sbx_scratch, (size_t)n) < 0)
    o->lost += (uint64_t)n;
  if (o->command->running && !sbx_list_is_linked(&o->command->early.link))
    sbx_timer_set(&o->command->early, sbx_now_ms() + EARLY_MS);
  return n;
}

static ssize_t read_and_send(struct sbx_output *o, size_t len) {
  struct sbx_buf *b = sbx_link_begin();
  ssize_t n = -1;
  sbx_buf_append(b, &o->stream, 1);
  if (sbx_buf_reserve(b, len) == 0)
    n = read(o->handler.fd, b->data + b->len, len);
  if (n <= 0) {
    sbx_link_cancel();
    return n;
  }
  b->len += (size_t)n;
  o->credit -= (uint64_t)n;
  sbx_link_end(o->command->channel.id, SBX_MSG_DATA);
  return n;
}

static void take_output(struct sbx_turn *t) {
  struct sbx_output *o = SBX_LIST_OWNER(t, struct sbx_output, turn);
  size_t len = SBX_FRAME_DATA_MAX;

  if (o->command->exec.fd >= 0)
    return; /* STARTED comes first */
  if (o->last && o->left < len)
    len = (size_t)o->left;
  if (t->sends && o->credit < len)
    len = (size_t)o->credit;
  if (len == 0) {
    if (o->last && (o->left == 0 || !has_input(o->handler.fd)))
      close_output(o);
    return; /* credit, or the end, brings the next turn */
  }
  ssize_t n = t->sends ? read_and_send(o, len) : read_and_keep(o, len);
  if (n > 0 && o->last)
    o->left -= (uint64_t)n;
  if (n > 0 || (n < 0 && errno == EINTR))
    sbx_turn_queue(t);
  else if (o->last || n == 0)
    close_output(o);
  /* else EAGAIN; or EIO, of a terminal that nobody has open at this time */
}

static void on_output(struct sbx_handler *h, uint32_t events) {
  (void)events;
  sbx_turn_queue(&SBX_LIST_OWNER(h, struct sbx_output, handler)->turn);
}

int sbx_output_open(struct sbx_output *o, int fd) {
  o->handler.ready = on_output;
  o->turn.take = take_output;
  o->turn.sends = !o->command->captures;
  return sbx_loop_watch(&o->handler, fd, EPOLLIN);
}

void sbx_output_credit(struct sbx_output *o, uint32_t bytes) {
  if (o->credit < CREDIT_MAX)
    o->credit += bytes;
  if (o->handler.fd >= 0)
    sbx_turn_queue(&o->turn);
  sbx_command_check(o->command);
}

void sbx_output_finish(struct sbx_output *o) {
  int there = 0;
  if (o->handler.fd < 0)
    return;
  o->last = true;
  if (o->command->terminal)
    o->left = has_input(o->handler.fd) ? TERMINAL_REST : 0;
  else if (ioctl(o->handler.fd, FIONREAD, &there) == 0)
    o->left = (uint64_t)there;
  sbx_turn_queue(&o->turn);
}

/* As far as credit and room go. */
static void ship_bytes(struct sbx_output *o, const uint8_t *data, size_t len) {
  while (len > 0 && o->credit > 0 && sbx_link_has_room()) {
    struct sbx_buf *b = sbx_link_begin();
    size_t n = len < SBX_FRAME_DATA_MAX ? len : SBX_FRAME_DATA_MAX;
    if (n > o->credit)
      n = (size_t)o->credit;
    sbx_buf_append(b, &o->stream, 1);
    sbx_buf_append(b, data, n);
    sbx_link_end(o->command->channel.id, SBX_MSG_DATA);
    o->shipped += n;
    o->credit -= n;
    data += n;
    len -= n;
  }
}

static void finish_capture(struct sbx_output *o) {
  if (sbx_capture_finish(o->capture, &o->kept) < 0)
    o->lost = sbx_capture_total(o->capture) - o->shipped + o->lost;
  if (!o->kept.data)
    o->kept.len = o->kept.cut_at = o->shipped; /* nothing more */
  o->kept.omitted += o->lost;
  sbx_capture_free(o->capture);
  o->capture = NULL;
}

bool sbx_output_ship(struct sbx_output *o) {
  struct sbx_captured *k = &o->kept;
  uint8_t raw[9] = {o->stream};

  if (o->handler.fd >= 0) {
    const uint8_t *head;
    size_t len = o->capture ? sbx_capture_head(o->capture, &head) : 0;
    if (len > o->shipped)
      ship_bytes(o, head + o->shipped, len - o->shipped);
    return false;
  }
  if (o->capture)
    finish_capture(o);
  if (o->shipped < k->cut_at)
    ship_bytes(o, k->data + o->shipped, k->cut_at - o->shipped);
  if (o->shipped < k->cut_at)
    return false;
  if (k->omitted > 0) {
    sbx_put_u64(raw + 1, k->omitted);
    sbx_link_send(o->command->channel.id, SBX_MSG_OMITTED, raw, sizeof(raw));
    k->omitted = 0;
  }
  if (o->shipped < k->len)
    ship_bytes(o, k->data + o->shipped, k->len - o->shipped);
  if (o->shipped < k->len)
    return false;
  free(k->data);
  k->data = NULL;
  if (!o->done)
    end_output(o);
  return true;
}

void sbx_output_ignore(struct sbx_output *o) {
  sbx_capture_free(o->capture);
  o->capture = NULL;
  sbx_turn_drop(&o->turn);
  o->turn.sends = false;
  if (o->handler.fd >= 0)
    sbx_turn_queue(&o->turn);
}

/* ---- the input */

static void on_gone(struct sbx_feeder *f, size_t n) {
  struct sbx_command *c = SBX_LIST_OWNER(f, struct sbx_command, in);
  c->in_owed += (uint32_t)n;
  if (c->in_owed < INPUT_RETURN || f->ending || c->channel.id == 0)
    return;
  sbx_link_credit(c->channel.id, SBX_MSG_STDIN, c->in_owed);
  c->in_credit += c->in_owed;
  c->in_owed = 0;
}

int sbx_input_open(struct sbx_command *c, int fd) {
  c->in_credit = INPUT_CREDIT;
  return sbx_feeder_open(&c->in, fd, INPUT_CREDIT + 2, on_gone);
}

int sbx_input_frame(struct sbx_command *c, const struct sbx_frame *frame) {
  static const uint8_t ends[2] = {4, 4}; /* Ctrl-D; the first ends a line */
  uint8_t stream;
  size_t len = frame->len - 1;

  if (sbx_read_stream(frame, &stream) < 0 || stream != SBX_MSG_STDIN ||
      !c->in.gone || c->in.ending || len > c->in_credit)
    return SBX_EPROTO;
  if (frame->type == SBX_MSG_EOF) {
    if (c->terminal)
      sbx_feeder_push(&c->in, ends, c->in_line ? 2 : 1);
    sbx_feeder_end(&c->in);
    return 0;
  }
  c->in_credit -= (uint32_t)len;
  if (!frame->data && c->running)
    kill(c->pid, SIGKILL); /* what it lacks must not look like the end */
  if (!frame->data)
    return 0;
  c->in_line = frame->data[len] != '\n';
  sbx_feeder_push(&c->in, frame->data + 1, len);
  return 0;
}
