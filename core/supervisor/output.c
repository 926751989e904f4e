/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <unistd.h>

#include "supervisor/command.h"

#define INPUT_CREDIT (256u * 1024)
#define EARLY_MS     25

/* ---- outputs */

static void end_output(struct sbx_output *o) {
  o->done = true;
  if (o->command->channel.id != 0)
    sbx_link_send(o->command->channel.id, SBX_MSG_EOF, &o->stream, 1);
}

/* STARTED comes first. */
static size_t wants(struct sbx_tap *t) {
  const struct sbx_output *o = SBX_LIST_OWNER(t, struct sbx_output, tap);
  if (o->command->child.report.fd >= 0)
    return 0;
  return t->turn.sends && o->credit < SBX_FRAME_DATA_MAX ? (size_t)o->credit
                                                         : SBX_FRAME_DATA_MAX;
}

static ssize_t read_and_send(struct sbx_output *o, size_t len) {
  struct sbx_buf *b = sbx_link_begin();
  ssize_t n = -1;
  sbx_buf_append(b, &o->stream, 1);
  if (sbx_buf_reserve(b, len) == 0)
    n = read(o->tap.handler.fd, b->data + b->len, len);
  if (n <= 0) {
    sbx_link_cancel();
    return n;
  }
  b->len += (size_t)n;
  o->credit -= (uint64_t)n;
  sbx_link_end(o->command->channel.id, SBX_MSG_DATA);
  return n;
}

static ssize_t take(struct sbx_tap *t, size_t len) {
  struct sbx_output *o = SBX_LIST_OWNER(t, struct sbx_output, tap);
  struct sbx_alarm *early = &o->command->early;
  if (t->turn.sends)
    return read_and_send(o, len);
  ssize_t n = read(t->handler.fd, sbx_scratch, len);
  if (n <= 0 || !o->shipment.capture)
    return n;
  sbx_shipment_push(&o->shipment, sbx_scratch, (size_t)n);
  if (o->command->child.running && !sbx_list_is_linked(&early->link))
    sbx_alarm_set(early, sbx_now_ms() + EARLY_MS);
  return n;
}

static void closed(struct sbx_tap *t) {
  struct sbx_output *o = SBX_LIST_OWNER(t, struct sbx_output, tap);
  sbx_shipment_complete(&o->shipment);
  if (!o->command->captures)
    end_output(o);
  sbx_command_check(o->command);
}

int sbx_output_open(struct sbx_output *o, int fd) {
  static const struct sbx_tap_ops ops = {wants, take, closed};
  return sbx_tap_open(&o->tap, fd, &ops, !o->command->captures);
}

int sbx_output_credit(struct sbx_command *c, const struct sbx_frame *frame) {
  uint8_t stream;
  uint32_t bytes;
  if (sbx_read_credit(frame, &stream, &bytes) < 0 ||
      (stream != SBX_MSG_STDOUT && stream != SBX_MSG_STDERR))
    return SBX_EPROTO;
  c->out[stream - SBX_MSG_STDOUT].credit += bytes;
  sbx_tap_wake(&c->out[stream - SBX_MSG_STDOUT].tap);
  sbx_command_check(c);
  return 0;
}

static void send_bytes(struct sbx_output *o, const uint8_t *data, size_t len) {
  struct sbx_buf *b = sbx_link_begin();
  if (len > SBX_FRAME_DATA_MAX)
    len = SBX_FRAME_DATA_MAX;
  if (len > o->credit)
    len = (size_t)o->credit;
  sbx_buf_append(b, &o->stream, 1);
  sbx_buf_append(b, data, len);
  sbx_link_end(o->command->channel.id, SBX_MSG_DATA);
  o->credit -= len;
  sbx_shipment_took(&o->shipment, len);
}

bool sbx_output_ship(struct sbx_output *o) {
  uint8_t omitted[9] = {o->stream};
  const uint8_t *data;
  uint64_t len;

  while (sbx_shipment_next(&o->shipment, &data, &len)) {
    if (data && (o->credit == 0 || !sbx_link_has_room()))
      return false;
    if (data) {
      send_bytes(o, data, (size_t)len);
      continue;
    }
    sbx_put_u64(omitted + 1, len);
    sbx_link_send(o->command->channel.id, SBX_MSG_OMITTED, omitted, 9);
    sbx_shipment_took(&o->shipment, 0);
  }
  if (o->tap.handler.fd >= 0)
    return false;
  if (!o->done)
    end_output(o);
  return true;
}

/* ---- the input */

static void on_more(struct sbx_feeder *f, size_t credit) {
  const struct sbx_command *c = SBX_LIST_OWNER(f, struct sbx_command, in);
  if (c->channel.id != 0)
    sbx_link_credit(c->channel.id, SBX_MSG_STDIN, (uint32_t)credit);
}

int sbx_input_open(struct sbx_command *c, int fd) {
  return sbx_feeder_open(&c->in, fd, INPUT_CREDIT, on_more);
}

int sbx_input_frame(struct sbx_command *c, const struct sbx_frame *frame) {
  uint8_t stream;
  size_t len = frame->len - 1;

  if (sbx_read_stream(frame, &stream) < 0 || stream != SBX_MSG_STDIN ||
      c->in.buf.cap == 0 || c->in.ending)
    return SBX_EPROTO;
  if (frame->type == SBX_MSG_EOF) { /* Ctrl-D; the first only ends a line */
    sbx_feeder_end(&c->in, !c->terminal ? "" : c->in_line ? "\4\4" : "\4");
    return 0;
  }
  if (!frame->data) { /* what it lacks must not look like the end */
    if (c->child.running)
      kill(c->child.pid, SIGKILL);
    return 0;
  }
  c->in_line = frame->data[len] != '\n';
  return sbx_feeder_push(&c->in, frame->data + 1, len) ? 0 : SBX_EPROTO;
}
