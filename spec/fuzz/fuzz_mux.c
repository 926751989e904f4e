/* SPDX-License-Identifier: MIT */
/* fuzz_mux.c - the mux against a supervisor that sends anything, and an owner
 * that does anything meanwhile.
 *
 * Input: steps of one byte each, with what follows them. The low four bits say
 * what to do, the high ones with which channel:
 *   0 to 7   a frame comes: type, and a payload of the next byte's length
 *   8        so many raw bytes come
 *   9        a channel is opened (its kind by the next byte)
 *   10       a channel is forgotten
 *   11       something is sent on it
 *   12       something of it was consumed
 *   13       KILL, COUNT or SIGNAL
 *   14       the stream has drained, or is flushed
 *   15       the next callback gives up the channel, or everything */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/mux.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHANNELS 16

struct side {
  struct sbx_mux_channel *channel;
  uint64_t credit; /* that the supervisor has, at most */
  bool started, over;
};

static struct sbx_mux *mux;
static struct side sides[CHANNELS];
static size_t written;
static bool broken, quits, quits_all;

static int on_write(struct sbx_stream *s, const void *data, size_t len) {
  (void)s;
  (void)data;
  written += len;
  return 0;
}

static void quit(struct side *side) {
  if (quits_all) {
    quits_all = false;
    sbx_mux_free(mux);
    mux = NULL;
  } else if (quits && side) {
    quits = false;
    sbx_mux_forget(side->channel);
    side->channel = NULL;
  }
}

static void on_ready(void *arg, const struct sbx_msg_ready *ready) {
  (void)arg;
  if (ready->version != SBX_MSG_VERSION || broken)
    abort();
  quit(NULL);
}

static void on_refused(void *arg, const struct sbx_msg_done *done) {
  (void)arg;
  if (!done->text.data || broken)
    abort();
  quit(NULL);
}

static void on_bye(void *arg, enum sbx_bye why) {
  (void)arg;
  if (why < SBX_BYE_SHUTDOWN || why > SBX_BYE_PROTOCOL || broken)
    abort();
  quit(NULL);
}

static void on_broken(void *arg, const struct sbx_err *err) {
  (void)arg;
  if (broken || err->code == 0 || err->message[0] == '\0')
    abort();
  broken = true;
  quit(NULL);
}

static void on_lazy(void *arg) {
  (void)arg;
}

static void on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct side *side = arg;
  if (broken || side->over || !side->channel)
    abort();
  switch (msg->type) {
  case SBX_MSG_DATA:
    if (msg->data.len == 0 || msg->data.len > SBX_FRAME_DATA_MAX ||
        msg->data.len > side->credit)
      abort();
    for (size_t i = 0; i < msg->data.len; i++) /* it can be read */
      written += msg->data.data[i];
    break;
  case SBX_MSG_STARTED:
    if (side->started)
      abort();
    side->started = true;
    break;
  case SBX_MSG_EXIT:
    if (!side->started)
      abort();
    break;
  case SBX_MSG_FAILED:
  case SBX_MSG_DONE:
    if (side->started)
      abort();
    side->over = true;
    break;
  default:
    break;
  }
  quit(side);
}

static void on_room(void *arg) {
  struct side *side = arg;
  if (side->over || sbx_mux_room(side->channel) == 0)
    abort();
  quit(side);
}

static void on_lost(void *arg) {
  struct side *side = arg;
  side->over = true;
  if (quits) {
    sbx_mux_forget(side->channel);
    side->channel = NULL;
  }
}

static void open_one(struct side *side, uint8_t kind) {
  static const struct sbx_mux_channel_events events = {
      .on_msg = on_msg, .on_room = on_room, .on_lost = on_lost};
  struct sbx_msg_spawn spawn = {
      .flags = kind & 15, .max_bytes = 1000, .credit = 1000};
  struct sbx_msg_file file = {
      .verb = (uint8_t)(1 + kind / 4 % 9), .length = kind & 15, .credit = 1000};
  int rc;
  if (side->channel)
    return;
  memset(side, 0, sizeof(*side));
  side->credit = UINT64_MAX;
  if (kind % 4 == 0)
    rc = sbx_mux_spawn(mux, &spawn, &events, side, &side->channel);
  else if (kind % 4 == 1)
    rc = sbx_mux_file(mux, &file, &events, side, &side->channel);
  else if (kind % 4 == 2)
    rc = sbx_mux_ports(mux, &events, side, &side->channel);
  else
    rc = sbx_mux_port(mux, kind, &events, side, &side->channel);
  if (rc < 0)
    side->channel = NULL;
}

static void ask(struct side *side, uint8_t what) {
  static const uint8_t number[8];
  static const struct {
    enum sbx_msg_type type;
    size_t len;
  } questions[] = {{SBX_MSG_KILL, 8}, {SBX_MSG_COUNT, 0}, {SBX_MSG_SIGNAL, 4}};
  sbx_mux_control(side->channel, questions[what % 3].type, number,
                  questions[what % 3].len);
}

static void send_some(struct side *side, uint8_t n) {
  static const uint8_t zeros[256 * 1024];
  size_t room = sbx_mux_room(side->channel);
  if (room > SBX_MUX_QUEUE)
    abort();
  if (n == 0)
    sbx_mux_send_eof(side->channel);
  else
    sbx_mux_send(side->channel, zeros,
                 room < (size_t)n * 1024 ? room : (size_t)n * 1024);
}

/* Ids are given in order, so the high bits of a step are near those in use. */
static void frame(uint32_t id, const uint8_t *at, size_t len) {
  struct sbx_buf b;
  static const uint8_t types[8] = {
      SBX_MSG_DATA,  SBX_MSG_STARTED, SBX_MSG_EXIT,  SBX_MSG_CREDIT,
      SBX_MSG_ENTRY, SBX_MSG_DONE,    SBX_MSG_READY, 0};
  uint8_t type = types[at[-2] & 7];
  sbx_buf_init(&b, SIZE_MAX / 2);
  if (type == 0 && len > 0) {
    type = *at++;
    len--;
  }
  if (sbx_frame_append(&b, id, type, at, len) < 0)
    abort();
  sbx_mux_feed(mux, b.data, b.len);
  sbx_buf_fini(&b);
}

/* One step; what it used of the input. */
static size_t step(const uint8_t *in, size_t len) {
  struct side *side = &sides[in[0] >> 4];
  uint8_t n = in[1];
  size_t more = n < len - 2 ? n : len - 2;
  switch (in[0] & 15) {
  case 8:
    sbx_mux_feed(mux, in + 2, more);
    return 2 + more;
  case 9:
    open_one(side, n);
    break;
  case 10:
    sbx_mux_forget(side->channel);
    side->channel = NULL;
    break;
  case 11:
    if (side->channel)
      send_some(side, n);
    break;
  case 12:
    if (side->channel)
      sbx_mux_consumed(side->channel, 1 + n % 2, n * 8u);
    break;
  case 13:
    if (side->channel)
      ask(side, n);
    break;
  case 14:
    if (n % 2)
      sbx_mux_drained(mux);
    else
      sbx_mux_flush(mux);
    break;
  case 15:
    quits = n % 2;
    quits_all = n % 3 == 0;
    break;
  default:
    frame(in[0] >> 4, in + 2, more);
    return 2 + more;
  }
  return 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static const struct sbx_stream_ops ops = {.write = on_write};
  static const struct sbx_mux_events events = {.on_ready = on_ready,
                                               .on_refused = on_refused,
                                               .on_bye = on_bye,
                                               .on_broken = on_broken,
                                               .on_lazy = on_lazy};
  struct sbx_stream stream = {.ops = &ops};
  memset(sides, 0, sizeof(sides));
  broken = quits = quits_all = false;
  if (sbx_mux_new(&mux, &stream, &events, NULL) < 0)
    abort();
  while (len >= 2 && mux) {
    size_t used = step(data, len);
    data += used;
    len -= used;
  }
  quits = quits_all = false;
  sbx_mux_free(mux);
  mux = NULL;
  for (int i = 0; i < CHANNELS; i++)
    sbx_mux_forget(sides[i].channel);
  return 0;
}
