/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "supervisor/command.h"

#define INPUT_CREDIT  (256u * 1024)
#define INPUT_RETURN  (64u * 1024) /* credit goes back in portions of this */
#define TERMINAL_REST (256u * 1024)
#define CONTROL_D     4

/* ---- outputs */

static void send_eof(struct sbx_output *o) {
  o->done = true;
  if (o->command->channel.id != 0)
    sbx_link_send(o->command->channel.id, SBX_MSG_EOF, &o->stream, 1);
}

static void close_output(struct sbx_output *o) {
  sbx_turn_drop(&o->turn);
  sbx_loop_drop(&o->handler);
  if (!o->command->captures)
    send_eof(o);
  sbx_command_check(o->command);
}

static bool has_input(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void capture(struct sbx_output *o, const uint8_t *data, size_t len) {
  if (o->capture && sbx_capture_push(o->capture, data, len) < 0)
    o->lost += len;
}

/* As much as one frame holds. */
static ssize_t read_and_send(struct sbx_output *o, size_t len) {
  struct sbx_buf *b = sbx_link_begin();
  ssize_t n;
  sbx_buf_append(b, &o->stream, 1);
  if (sbx_buf_reserve(b, len) < 0) {
    sbx_link_cancel();
    errno = EAGAIN;
    return -1;
  }
  n = read(o->handler.fd, b->data + b->len, len);
  if (n <= 0) {
    int error = errno;
    sbx_link_cancel();
    errno = error;
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
  ssize_t n;

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
  if (t->sends) {
    n = read_and_send(o, len);
  } else {
    n = read(o->handler.fd, sbx_scratch, len);
    if (n > 0)
      capture(o, sbx_scratch, (size_t)n);
  }
  if (n > 0) {
    o->left -= o->last ? (uint64_t)n : 0;
    sbx_turn_queue(t);
  } else if (n < 0 && errno == EINTR) {
    sbx_turn_queue(t);
  } else if (o->last || n == 0) {
    close_output(o);
  } /* else EAGAIN; EIO of a terminal that nobody has open at this time */
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
  o->credit += bytes;
  if (o->handler.fd >= 0)
    sbx_turn_queue(&o->turn);
  else
    sbx_command_check(o->command);
}

void sbx_output_finish(struct sbx_output *o) {
  int there = 0;
  if (o->handler.fd < 0)
    return;
  if (ioctl(o->handler.fd, FIONREAD, &there) < 0)
    there = 0;
  o->last = true;
  o->left = (uint64_t)there;
  if (o->command->terminal && has_input(o->handler.fd))
    o->left = TERMINAL_REST; /* some of it may be where FIONREAD is blind */
  sbx_turn_queue(&o->turn);
}

/* The next bytes, which are on one side of the cut. */
static void ship_piece(struct sbx_output *o) {
  const struct sbx_captured *k = &o->kept;
  size_t end = o->shipped < k->cut_at ? k->cut_at : k->len;
  size_t n = end - o->shipped;
  struct sbx_buf *b = sbx_link_begin();
  if (n > SBX_FRAME_DATA_MAX)
    n = SBX_FRAME_DATA_MAX;
  if (n > o->credit)
    n = (size_t)o->credit;
  sbx_buf_append(b, &o->stream, 1);
  sbx_buf_append(b, k->data + o->shipped, n);
  sbx_link_end(o->command->channel.id, SBX_MSG_DATA);
  o->shipped += n;
  o->credit -= n;
}

static void ship_omission(struct sbx_output *o) {
  uint8_t raw[9] = {o->stream};
  sbx_put_u64(raw + 1, o->kept.omitted);
  sbx_link_send(o->command->channel.id, SBX_MSG_OMITTED, raw, sizeof(raw));
  o->kept.omitted = 0;
}

bool sbx_output_ship(struct sbx_output *o) {
  struct sbx_captured *k = &o->kept;
  if (o->done)
    return true;
  if (o->capture) {
    if (sbx_capture_finish(o->capture, k) < 0)
      k->omitted = sbx_capture_total(o->capture);
    k->omitted += o->lost;
    sbx_capture_free(o->capture);
    o->capture = NULL;
  }
  for (;;) {
    if (k->omitted > 0 && o->shipped == k->cut_at)
      ship_omission(o);
    if (o->shipped == k->len)
      break;
    if (o->credit == 0 || !sbx_link_has_room())
      return false;
    ship_piece(o);
  }
  free(k->data);
  k->data = NULL;
  send_eof(o);
  return true;
}

void sbx_output_ignore(struct sbx_output *o) {
  sbx_capture_free(o->capture);
  o->capture = NULL;
  free(o->kept.data);
  o->kept.data = NULL;
  memset(&o->kept, 0, sizeof(o->kept));
  if (o->handler.fd < 0)
    return;
  sbx_turn_drop(&o->turn);
  o->turn.sends = false;
  sbx_turn_queue(&o->turn);
}

/* ---- the input */

/* Nothing more can be written; what comes is thrown away. */
void sbx_input_close(struct sbx_input *in) {
  sbx_loop_drop(&in->handler);
  in->owed += (uint32_t)in->buf.len;
  sbx_buf_clear(&in->buf);
}

static void return_credit(struct sbx_input *in) {
  uint32_t id = SBX_LIST_OWNER(in, struct sbx_command, in)->channel.id;
  if (in->owed < INPUT_RETURN || in->ended || id == 0)
    return;
  sbx_link_credit(id, SBX_MSG_STDIN, in->owed);
  in->credit += in->owed;
  in->owed = 0;
}

static void write_input(struct sbx_input *in) {
  while (in->handler.fd >= 0 && in->buf.len > 0) {
    ssize_t n = write(in->handler.fd, in->buf.data, in->buf.len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      break;
    if (n <= 0) {
      sbx_input_close(in); /* nobody reads */
      break;
    }
    sbx_buf_consume(&in->buf, (size_t)n);
    in->owed += (uint32_t)n;
  }
  return_credit(in);
  if (in->ended && in->buf.len == 0)
    sbx_loop_drop(&in->handler);
}

static void on_input(struct sbx_handler *h, uint32_t events) {
  struct sbx_input *in = SBX_LIST_OWNER(h, struct sbx_input, handler);
  if (events & EPOLLERR)
    sbx_input_close(in);
  write_input(in);
}

int sbx_input_open(struct sbx_input *in, int fd) {
  sbx_buf_init(&in->buf, INPUT_CREDIT + 2);
  in->credit = INPUT_CREDIT;
  in->handler.ready = on_input;
  int rc = sbx_buf_reserve(&in->buf, in->buf.max);
  return rc < 0 ? rc : sbx_loop_watch(&in->handler, fd, EPOLLOUT);
}

static void end_input(struct sbx_input *in) {
  static const uint8_t ends[2] = {CONTROL_D, CONTROL_D};
  in->ended = true;
  /* One only ends a line that is not complete. */
  if (SBX_LIST_OWNER(in, struct sbx_command, in)->terminal &&
      in->handler.fd >= 0)
    sbx_buf_append(&in->buf, ends, in->in_line ? 2 : 1);
  write_input(in);
}

int sbx_input_frame(struct sbx_input *in, const struct sbx_frame *frame) {
  uint8_t stream;
  size_t len = frame->len - 1;

  if (sbx_read_stream(frame, &stream) < 0 || stream != SBX_MSG_STDIN ||
      in->buf.cap == 0 || in->ended)
    return SBX_EPROTO;
  if (frame->type == SBX_MSG_EOF) {
    end_input(in);
    return 0;
  }
  if (len > in->credit)
    return SBX_EPROTO;
  in->credit -= (uint32_t)len;
  if (!frame->data) /* what it lacks must not look like the end */
    return sbx_command_break(SBX_LIST_OWNER(in, struct sbx_command, in));
  if (len > 0)
    in->in_line = frame->data[len] != '\n';
  if (in->handler.fd < 0)
    in->owed += (uint32_t)len;
  else
    sbx_buf_append(&in->buf, frame->data + 1, len); /* there is room */
  write_input(in);
  return 0;
}
