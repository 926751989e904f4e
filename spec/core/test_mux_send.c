/* SPDX-License-Identifier: MIT */
/* What the mux sends, and when. */
#include "mux_help.h"
#include "proc/mux.h"

/* ---- what goes out ---- */

/* The next frame that was written; its payload is in p->out until it is taken
 * off by the next call. */
static struct sbx_frame next_frame(struct peer *p, size_t *used) {
  struct sbx_framer f;
  struct sbx_frame frame = {0};
  bool done = false;
  ssize_t n;

  sbx_buf_consume(&p->out, *used);
  sbx_framer_init(&f, SBX_FRAME_DOWN_MAX);
  n = sbx_framer_feed(&f, p->out.data, p->out.len, &frame, &done);
  *used = n > 0 ? (size_t)n : 0;
  if (!done)
    memset(&frame, 0, sizeof(frame));
  else
    CHECK(frame.data >= p->out.data); /* in one piece: not copied */
  sbx_framer_fini(&f);
  return frame;
}

static void expect_frame(struct peer *p, size_t *used, uint32_t id,
                         uint8_t type, const void *data, size_t len) {
  struct sbx_frame f = next_frame(p, used);

  CHECK_INT(f.id, id);
  CHECK_INT(f.type, type);
  if (data != NULL)
    CHECK_MEM(f.data, f.len, data, len);
}

static void test_a_command_is_one_frame(void) {
  struct peer p;
  struct side a, b;
  size_t used = 0;

  peer_init(&p);
  peer_greet(&p);
  CHECK_INT(open_kind(&p, SPAWN, &a), 0);
  CHECK_INT(p.writes, 1);
  expect_frame(&p, &used, 1, SBX_MSG_SPAWN, NULL, 0);
  peer_feed(&p, 1, SBX_MSG_STARTED, "\7\0\0\0", 4);
  peer_feed(&p, 1, SBX_MSG_DATA, "\1out", 4);
  peer_feed(&p, 1, SBX_MSG_EXIT, EXIT_BYTES, sizeof(EXIT_BYTES) - 1);
  side_forget(&a);
  CHECK_INT(p.writes, 1); /* FORGET is in no hurry */
  CHECK_INT(p.lazy, 1);
  CHECK_INT(open_kind(&p, SPAWN, &b), 0);
  CHECK_INT(p.writes, 2);
  expect_frame(&p, &used, 1, SBX_MSG_FORGET, "", 0);
  expect_frame(&p, &used, 2, SBX_MSG_SPAWN, NULL, 0);
  side_forget(&b);
  CHECK_INT(p.lazy, 2);
  sbx_mux_flush(p.mux);
  expect_frame(&p, &used, 2, SBX_MSG_FORGET, "", 0);
  /* what was on its way is ignored, whatever it is */
  peer_feed(&p, 2, SBX_MSG_EXIT, "nonsense", 8);
  CHECK_INT(p.broken.code, 0);
  sbx_buf_consume(&p.out, used);
  CHECK_INT(p.out.len, 0);
  check_log(&p, "ready 51;started 7;data 1 3 out;exit 3 0;");
  peer_fini(&p);
}

static void test_an_ended_channel_is_not_forgotten(void) {
  struct peer p;
  struct side s;
  size_t used = 0;

  peer_init(&p);
  CHECK_INT(open_kind(&p, PORTS, &s), 0);
  peer_feed(&p, 1, SBX_MSG_DONE, DONE_BYTES, 10);
  side_forget(&s);
  CHECK_INT(open_kind(&p, SPAWN, &s), 0);
  peer_feed(&p, 2, SBX_MSG_FAILED, FAILED_BYTES, 10);
  CHECK_INT(sbx_mux_send(s.channel, "x", 1), -EPIPE);
  CHECK_INT(sbx_mux_control(s.channel, SBX_MSG_COUNT, NULL, 0), -EPIPE);
  CHECK_INT(sbx_mux_room(s.channel), 0);
  side_forget(&s);
  sbx_mux_flush(p.mux);
  expect_frame(&p, &used, 1, SBX_MSG_PORTS, "", 0);
  expect_frame(&p, &used, 2, SBX_MSG_SPAWN, NULL, 0);
  sbx_buf_consume(&p.out, used);
  CHECK_INT(p.out.len, 0);
  peer_fini(&p);
}

static void test_answers(void) {
  struct peer p;
  struct side s;

  peer_init(&p);
  CHECK_INT(open_kind(&p, SPAWN, &s), 0);
  CHECK_INT(sbx_mux_control(s.channel, SBX_MSG_KILL, "\0\0\0\0\0\0\0\0", 8), 0);
  CHECK_INT(sbx_mux_control(s.channel, SBX_MSG_COUNT, NULL, 0), 0);
  CHECK_INT(sbx_mux_control(s.channel, SBX_MSG_SIGNAL, "\1\0\0\0", 4), 0);
  peer_feed(&p, 1, SBX_MSG_STARTED, "\7\0\0\0", 4);
  peer_feed(&p, 1, SBX_MSG_COUNTED, "\2\0\0\0", 4);
  peer_feed(&p, 1, SBX_MSG_EXIT, EXIT_BYTES, sizeof(EXIT_BYTES) - 1);
  peer_feed(&p, 1, SBX_MSG_KILLED, "\0\0\0\0", 4);
  peer_feed(&p, 1, SBX_MSG_COUNTED, "\0\0\0\0", 4);
  check_log(&p, "started 7;counted 2;exit 3 0;killed 0;counted 0;");
  peer_feed(&p, 1, SBX_MSG_COUNTED, "\0\0\0\0", 4);
  CHECK_INT(p.broken.code, SBX_EPROTO);
  side_forget(&s);
  peer_fini(&p);
}

static void test_credit_goes_back(void) {
  struct peer p;
  struct side s;
  size_t used = 0;
  char piece[50] = "\1";

  peer_init(&p);
  CHECK_INT(open_kind(&p, SPAWN, &s), 0);
  peer_feed(&p, 1, SBX_MSG_STARTED, "\7\0\0\0", 4);
  expect_frame(&p, &used, 1, SBX_MSG_SPAWN, NULL, 0);
  for (int i = 0; i < 20; i++) {
    peer_feed(&p, 1, SBX_MSG_DATA, piece, 50);
    CHECK_INT(p.broken.code, 0);
    sbx_mux_consumed(s.channel, SBX_MSG_STDOUT, 49);
    if (i % 2 == 1)
      expect_frame(&p, &used, 1, SBX_MSG_CREDIT, "\1\x62\0\0\0", 5);
  }
  /* what is not consumed is not given back */
  peer_feed(&p, 1, SBX_MSG_DATA, piece, 50);
  peer_feed(&p, 1, SBX_MSG_DATA, piece, 50);
  CHECK_INT(p.broken.code, 0);
  peer_feed(&p, 1, SBX_MSG_DATA, piece, 50);
  CHECK_INT(p.broken.code, SBX_EPROTO);
  side_forget(&s);
  peer_fini(&p);
}

static void test_input_is_bounded(void) {
  enum { HALF = SBX_MUX_QUEUE / 2 };
  static uint8_t data[HALF];
  struct peer p;
  struct side a, b;
  size_t used = 0, got = 0;
  struct sbx_frame f;

  peer_init(&p);
  CHECK_INT(open_kind(&p, SPAWN, &a), 0);
  CHECK_INT(open_kind(&p, WRITE, &b), 0);
  CHECK_INT(sbx_mux_room(a.channel), 0); /* it has not started */
  CHECK_INT(sbx_mux_room(b.channel), SBX_MUX_CREDIT);
  peer_feed(&p, 1, SBX_MSG_STARTED, "\7\0\0\0", 4);
  CHECK_INT(sbx_mux_room(a.channel), SBX_MUX_CREDIT);
  CHECK_INT(sbx_mux_send(a.channel, data, SBX_MUX_CREDIT), 0);
  CHECK_INT(sbx_mux_room(a.channel), 0);
  CHECK_INT(a.rooms, 0);
  sbx_mux_drained(p.mux);
  CHECK_INT(a.rooms, 0); /* no credit */
  peer_feed(&p, 1, SBX_MSG_CREDIT, "\0\0\0\x10\0", 5);
  CHECK_INT(a.rooms, 1);
  CHECK_INT(sbx_mux_room(a.channel), SBX_MUX_QUEUE);
  CHECK_INT(sbx_mux_send(a.channel, data, HALF), 0);
  CHECK(sbx_mux_room(a.channel) < HALF);
  CHECK_INT(sbx_mux_send(a.channel, data, sbx_mux_room(a.channel)), 0);
  CHECK_INT(sbx_mux_room(a.channel), 0); /* the queue is full, for all */
  CHECK_INT(sbx_mux_room(b.channel), 0);
  sbx_mux_drained(p.mux);
  CHECK_INT(a.rooms, 2);
  CHECK_INT(b.rooms, 1);
  CHECK_INT(sbx_mux_send(b.channel, "abc", 3), 0);
  sbx_mux_send_eof(b.channel);
  sbx_mux_send_eof(b.channel);
  CHECK_INT(sbx_mux_send(b.channel, "abc", 3), -EPIPE);
  sbx_mux_want_room(a.channel);
  sbx_mux_drained(p.mux);
  CHECK_INT(a.rooms, 3);

  for (f = next_frame(&p, &used); f.type != 0; f = next_frame(&p, &used)) {
    CHECK(f.type != SBX_MSG_DATA || f.len <= SBX_FRAME_DATA_MAX + 1);
    if (f.type == SBX_MSG_DATA && f.id == 1)
      got += f.len - 1;
    else if (f.type == SBX_MSG_DATA)
      CHECK_MEM(f.data, f.len, "\0abc", 4);
    else if (f.type == SBX_MSG_EOF)
      CHECK_MEM(f.data, f.len, "\0", 1);
  }
  CHECK(got > SBX_MUX_CREDIT + HALF);
  CHECK(got < SBX_MUX_CREDIT + SBX_MUX_QUEUE);
  side_forget(&a);
  side_forget(&b);
  peer_fini(&p);
}

static void test_corks(void) {
  struct peer p;
  struct side s;

  peer_init(&p);
  sbx_mux_cork(p.mux);
  CHECK_INT(open_kind(&p, WRITE, &s), 0);
  CHECK_INT(sbx_mux_send(s.channel, "abcde", 5), 0);
  sbx_mux_send_eof(s.channel);
  CHECK_INT(p.writes, 0);
  sbx_mux_uncork(p.mux);
  CHECK_INT(p.writes, 1);
  side_forget(&s);
  peer_fini(&p);
}

static void test_a_stream_without_memory(void) {
  struct peer p;
  struct side s;
  size_t used = 0;

  peer_init(&p);
  p.write_rc = -ENOMEM;
  CHECK_INT(open_kind(&p, SPAWN, &s), 0);
  CHECK_INT(p.lazy, 1);
  sbx_mux_flush(p.mux);
  CHECK_INT(p.lazy, 2);
  p.write_rc = 0;
  sbx_mux_flush(p.mux);
  expect_frame(&p, &used, 1, SBX_MSG_SPAWN, NULL, 0);
  p.write_rc = -EPIPE; /* its end will tell */
  side_forget(&s);
  sbx_mux_flush(p.mux);
  CHECK_INT(p.broken.code, 0);
  peer_fini(&p);
}

static void test_many_channels(void) {
  enum { N = 300 };
  static struct side sides[N];
  struct peer p;
  uint8_t pid[4];

  peer_init(&p);
  for (int i = 0; i < N; i++)
    CHECK_INT(open_kind(&p, SPAWN, &sides[i]), 0);
  for (int i = 0; i < N; i += 3)
    side_forget(&sides[i]);
  for (uint32_t i = 0; i < N; i++) {
    sbx_put_u32(pid, i);
    peer_feed(&p, i + 1, SBX_MSG_STARTED, pid, 4);
    if (i % 3 != 0) {
      char want[32];

      snprintf(want, sizeof(want), "started %u;", i);
      check_log(&p, want);
    }
  }
  CHECK_INT(p.broken.code, 0);
  CHECK_INT(p.log.len, 0);
  for (int i = 0; i < N; i++)
    if (sides[i].channel != NULL && i % 2)
      side_forget(&sides[i]);
  sbx_mux_free(p.mux);
  p.mux = NULL;
  for (int i = 0; i < N; i++)
    if (sides[i].channel != NULL)
      side_forget(&sides[i]);
  peer_fini(&p);
}

static void test_what_cannot_be_sent(void) {
  static uint8_t large[SBX_FRAME_DOWN_MAX];
  struct sbx_msg_file file = {.verb = SBX_FILE_STAT,
                              .path = {(const uint8_t *)"a\0b", 3}};
  struct peer p;
  struct side s = {.peer = &p}, other;

  peer_init(&p);
  CHECK_INT(sbx_mux_file(p.mux, &file, &side_events, &s, &s.channel), -EINVAL);
  memset(large, 'x', sizeof(large));
  file.path = (struct sbx_str){large, sizeof(large)};
  CHECK_INT(sbx_mux_file(p.mux, &file, &side_events, &s, &s.channel),
            -EMSGSIZE);
  CHECK_INT(p.writes, 0);
  file.path.len = 10;
  CHECK_INT(sbx_mux_file(p.mux, &file, &side_events, &s, &s.channel), 0);
  sbx_mux_blame(s.channel, "a file that is none");
  CHECK_INT(p.lazy, 1); /* told from the loop */
  CHECK_INT(p.broken.code, 0);
  sbx_mux_flush(p.mux);
  CHECK_INT(p.broken.code, SBX_EPROTO);
  CHECK_INT(open_kind(&p, SPAWN, &other), SBX_EPROTO);
  side_forget(&s);
  peer_fini(&p);
}

int main(void) {
  test_a_command_is_one_frame();
  test_an_ended_channel_is_not_forgotten();
  test_answers();
  test_credit_goes_back();
  test_input_is_bounded();
  test_corks();
  test_a_stream_without_memory();
  test_many_channels();
  test_what_cannot_be_sent();
  return check_done();
}
