/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor/super.h"
#include "wire/outbox.h"

/* The queue is never allocated, so an answer never fails for want of memory.
 * Outputs stop first, then the owner is not read any more, and the rest is for
 * the answers to what was read already. */
#define QUEUE         (1024u * 1024)
#define SEND_BELOW    (128u * 1024)
#define READ_BELOW    (768u * 1024)
#define LAST_WORDS_MS 1000

static uint8_t queue_data[QUEUE] __attribute__((aligned(4096)));
static struct sbx_outbox queue;
static uint8_t input[64 * 1024];
static size_t input_at, input_len;
static struct sbx_framer framer;
static struct sbx_handler in, out;
static struct sbx_turn reading;
static bool paused; /* reading, for want of room in the queue */

static void read_frames(struct sbx_turn *t) {
  struct sbx_frame frame;
  bool whole;

  if (input_at == input_len) {
    ssize_t n = read(STDIN_FILENO, input, sizeof(input));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (n <= 0)
      _exit(0); /* the end of the lease */
    input_len = (size_t)n;
    input_at = 0;
  }
  while (input_at < input_len && sbx_link_may_answer()) {
    ssize_t n = sbx_framer_feed(&framer, input + input_at, input_len - input_at,
                                &frame, &whole);
    if (n < 0 || (whole && sbx_dispatch(&frame) < 0))
      sbx_link_bye(SBX_BYE_PROTOCOL);
    input_at += (size_t)n;
  }
  paused = input_at < input_len;
  if (!paused)
    sbx_turn_queue(t);
}

static void on_ready(struct sbx_handler *h, uint32_t events) {
  (void)events; /* writing: the loop flushes */
  if (h == &in && !paused)
    sbx_turn_queue(&reading);
}

int sbx_link_init(void) {
  sbx_outbox_init(&queue, queue_data, sizeof(queue_data));
  sbx_framer_init(&framer, SBX_FRAME_DOWN_MAX);
  /* DATA must always have a place. */
  int rc = sbx_buf_reserve(&framer.buf, SBX_FRAME_DATA_MAX + 1);
  if (rc < 0)
    return rc;
  reading.take = read_frames;
  in.ready = out.ready = on_ready;
  for (int fd = 0; fd < 2; fd++) /* twice as fast for 10 MiB */
    fcntl(fd, F_SETPIPE_SZ, 256 * 1024);
  rc = sbx_loop_watch(&in, STDIN_FILENO, EPOLLIN);
  return rc < 0 ? rc : sbx_loop_watch(&out, STDOUT_FILENO, EPOLLOUT);
}

bool sbx_link_has_room(void) {
  return sbx_outbox_used(&queue) < SEND_BELOW;
}

bool sbx_link_may_answer(void) {
  return sbx_outbox_used(&queue) < READ_BELOW;
}

bool sbx_link_flush(void) {
  size_t len, peak = queue.peak;
  while ((len = sbx_outbox_used(&queue)) > 0) {
    ssize_t n = write(STDOUT_FILENO, sbx_outbox_next(&queue), len);
    if (n < 0 && errno == EAGAIN)
      break;
    if (n < 0 && errno != EINTR)
      _exit(0); /* nobody is there to be told anything */
    if (n > 0)
      sbx_outbox_took(&queue, (size_t)n);
  }
  if (len == 0 && peak > 2 * SEND_BELOW)
    madvise(queue_data, QUEUE, MADV_DONTNEED);
  if (paused && sbx_link_may_answer())
    sbx_turn_queue(&reading);
  return sbx_link_has_room();
}

void sbx_link_bye(uint8_t why) {
  uint64_t until = sbx_now_ms() + LAST_WORDS_MS;
  struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
  sbx_link_send(0, SBX_MSG_BYE, &why, 1);
  while (sbx_link_flush(), sbx_outbox_used(&queue) > 0 && sbx_now_ms() < until)
    poll(&p, 1, 10);
  _exit(0);
}

struct sbx_buf *sbx_link_begin(void) {
  return sbx_outbox_begin(&queue, SBX_FRAME_UP_MAX);
}

void sbx_link_end(uint32_t id, uint8_t type) {
  sbx_outbox_end(&queue, id, type, SBX_FRAME_UP_MAX);
}

void sbx_link_cancel(void) {
  sbx_outbox_cancel(&queue);
}

void sbx_link_send(uint32_t id, uint8_t type, const void *data, size_t len) {
  sbx_buf_append(sbx_link_begin(), data, len);
  sbx_link_end(id, type);
}

void sbx_link_done(uint32_t id, uint8_t code, int error, const char *text) {
  struct sbx_msg_done m = {.error = (uint32_t)error, .code = code};
  m.text = (struct sbx_str){(const uint8_t *)text, strlen(text)};
  sbx_done_encode(sbx_link_begin(), &m);
  sbx_link_end(id, SBX_MSG_DONE);
}

void sbx_link_failed(uint32_t id, uint8_t stage, int error) {
  struct sbx_msg_failed m = {.stage = stage, .error = (uint32_t)error};
  sbx_failed_encode(sbx_link_begin(), &m);
  sbx_link_end(id, SBX_MSG_FAILED);
}

void sbx_link_credit(uint32_t id, uint8_t stream, uint32_t bytes) {
  uint8_t raw[5] = {stream};
  sbx_put_u32(raw + 1, bytes);
  sbx_link_send(id, SBX_MSG_CREDIT, raw, sizeof(raw));
}
