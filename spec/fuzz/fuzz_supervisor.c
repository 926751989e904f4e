/* SPDX-License-Identifier: MIT */
/* fuzz_supervisor.c - the supervisor against an owner that sends anything, and
 * programs that do anything meanwhile. It is the program itself, main and all;
 * super_world.h has what is around it, super_owner.h what must come from it.
 *
 * Input: one byte about the world (super_world.h), and steps of two bytes, with
 * what follows them. Between two steps the loop goes round once. The low four
 * bits say what to do, the high ones (who) with which channel or process:
 *   0        so many raw bytes come
 *   1        a frame: type `who`, then its id and length, a byte each
 *   2        a HELLO that can be accepted
 *   3 to 5   SPAWN, FILE, or PORTS and PORT, on a new channel
 *   6        DATA
 *   7        EOF, FORGET, COUNT, SIGNAL, KILL, RESIZE, CREDIT
 *   8        a program has been executed, or could not be
 *   9        it writes
 *   10       it reads, closes an output, forks, or cannot be killed
 *   11       it ends
 *   12       the owner reads only so much, or is gone
 *   13       time passes
 *   14       sockets, or files, are others
 *   15       the owner's bytes come in pieces, memory is short, the next steps
 *            are one, or the next 5 or 7 is many */
#include "os/loop.h"
#include "super_parts.h"
#include "super_sends.h"
#include "wire/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define ENDLESS 100000 /* rounds without anything new */

static struct {
  const uint8_t *data; /* the input that is left */
  size_t len;
  size_t at, piece; /* what the supervisor has read of `sent`; at a time */
  unsigned at_once, starve, repeat, rounds, quiet;
  size_t window; /* bytes that the owner will read; SIZE_MAX: all */
  bool gone, closed, writable;
  struct sbx_handler *in, *out;
} peer;

/* ---- the supervisor's standard streams ----------------------------------- */

static int world_watch(struct sbx_handler *h, int fd, uint32_t events) {
  h->fd = fd;
  if (events & EPOLLIN)
    peer.in = h;
  else
    peer.out = h;
  return 0;
}

static ssize_t world_read(int fd, void *to, size_t cap) {
  size_t n = sent.bytes.len - peer.at;
  must(fd == STDIN_FILENO);
  if (n == 0 && peer.closed)
    return 0;
  n = n < peer.piece ? n : peer.piece;
  n = n < cap ? n : cap;
  if (n == 0) {
    errno = EAGAIN;
    return -1;
  }
  memcpy(to, sent.bytes.data + peer.at, n);
  owner_down(to, n);
  if (owner.full)
    world_exit();
  peer.at += n;
  return (ssize_t)n;
}

static ssize_t world_write(int fd, const void *from, size_t len) {
  size_t n = len < peer.window ? len : peer.window;
  if (fd != STDOUT_FILENO || peer.gone || n == 0) {
    errno = peer.gone ? EPIPE : EAGAIN;
    return -1;
  }
  owner_up(from, n);
  peer.window -= peer.window == SIZE_MAX ? 0 : n;
  return (ssize_t)n;
}

static int world_poll(struct pollfd *p) {
  p->revents = 0;
  world.ms += 10;
  return 0;
}

/* Frames that there was no memory for. */
static ssize_t parts_feed(struct sbx_framer *f, const uint8_t *data, size_t len,
                          struct sbx_frame *frame, bool *done) {
  ssize_t n = sbx_framer_feed(f, data, len, frame, done);
  if (n > 0 && *done && frame->len > 0 && peer.starve > 0) {
    peer.starve--;
    owner.fault = true; /* CREDIT, for one, cannot be lost */
    frame->data = NULL;
    frame->skipped = true;
  }
  return n;
}

/* ---- steps --------------------------------------------------------------- */

static void program_acts(struct world_proc *p, uint8_t n) {
  static uint8_t some[4096];
  if (n % 4 == 0 && p->fds[0] >= 0 && read(p->fds[0], some, n * 16u) < 0)
    world_close(p, n / 4 % 2);
  else if (n % 4 == 1)
    world_close(p, 1 + n / 4 % 2);
  else if (n % 4 == 2)
    world_forks(p);
  else if (n % 4 == 3)
    p->immune = !p->immune;
}

static void program_writes(const struct world_proc *p, uint8_t n) {
  static const char text[2][9] = {"\303\244bc\n\4x\3", "plain 1\n"};
  static uint8_t some[64 * 127];
  int fd = p->fds[1 + (n & 1)];
  for (size_t i = 0; i < sizeof(some); i++)
    some[i] = (uint8_t)text[n / 2 % 2][i % 8];
  if (fd >= 0 && write(fd, some, (n >> 1) * 64u) < 0)
    must(errno == EAGAIN || errno == EPIPE || errno == EIO);
}

static void owner_reads(uint8_t n) {
  peer.gone = n == 255;
  peer.window = n == 0 ? SIZE_MAX : (n - 1u) * (n - 1u);
  peer.writable = true;
}

static void other_ways(unsigned who, uint8_t n) {
  if (who % 4 == 0)
    peer.piece = n ? n : SIZE_MAX;
  else if (who % 4 == 1)
    peer.starve = n % 4;
  else if (who % 4 == 2)
    peer.at_once = n;
  else
    peer.repeat = world_is_many() ? n * 64u : 0;
}

/* One step of `len` >= 2 bytes; what it used of them. */
static size_t step(const uint8_t *d, size_t len) {
  static uint8_t filler[1 + 65536];
  unsigned who = d[0] >> 4;
  uint8_t n = d[1];
  struct world_proc *p = &world.procs[who];
  size_t more;
  switch (d[0] & 15) {
  case 0:
    more = n < len - 2 ? n : len - 2;
    must(sbx_buf_append(&sent.bytes, d + 2, more) == 0);
    sent.any = true;
    return 2 + more;
  case 1:
    if (len < 3)
      return len;
    more = d[2] < len - 3 ? d[2] : len - 3;
    send_frame(n, (uint8_t)who, d + 3, more);
    if (n > sent.last_id)
      sent.last_id = n;
    return 3 + more;
  case 2:
    send_hello(who, n);
    break;
  case 3:
    send_spawn(who, n);
    break;
  case 4:
    send_file(who, n, len > 2 ? d[2] : 0);
    return len > 2 ? 3 : 2;
  case 5:
    do
      send_port(n);
    while (peer.repeat > 0 && peer.repeat--);
    break;
  case 6:
    send_frame(id_of(who), SBX_MSG_DATA, filler,
               n < 128 ? 1u + n : 1u + (n - 127u) * 512);
    break;
  case 7:
    do
      send_control(id_of(who), n);
    while (peer.repeat > 0 && peer.repeat--);
    break;
  case 8:
    world_reports(p, n);
    break;
  case 9:
    if (p->pid && p->fds[3] < 0)
      program_writes(p, n);
    break;
  case 10:
    if (p->pid && p->fds[3] < 0)
      program_acts(p, n);
    break;
  case 11:
    world_exits(p, n & 1 ? n >> 1 : n << 7);
    break;
  case 12:
    owner_reads(n);
    break;
  case 13:
    world.ms += (uint64_t)n * n;
    break;
  case 14:
    if (who < WORLD_PORTS)
      world.ports[who] = n;
    else
      place_touch(n);
    break;
  case 15:
    other_ways(who, n);
    break;
  }
  return 2;
}

/* ---- rounds of the loop -------------------------------------------------- */

/* Nothing more will happen by itself: every answer that is due has come. */
static void check_answers(void) {
  unsigned starting = 0;
  for (size_t i = 0; i < owner.len; i++) {
    const struct side *s = &owner.sides[i];
    if (s->forgotten || s->over)
      continue;
    if (s->type != SBX_MSG_SPAWN) {
      must(s->type != SBX_MSG_PORTS);
      must(s->type == SBX_MSG_PORT || s->verb == SBX_FILE_WATCH ||
           (s->verb == SBX_FILE_READ && s->credit[0] == 0) ||
           (s->verb == SBX_FILE_WRITE && !s->ended));
      continue;
    }
    starting += !s->started;
    must(s->counts == 0);
    if (s->started && s->credit[0] > 0 && s->credit[1] > 0)
      must(s->exited || world_find(s->pid));
  }
  for (int i = 0; i < WORLD_PROCS; i++)
    starting -= world.procs[i].pid && world.procs[i].fds[3] >= 0;
  must((int)starting <= 0);
}

/* The input is over: everybody is quick and kind, then the lease ends. */
static void wind_up(bool idle) {
  peer.quiet = idle ? peer.quiet + 1 : 0;
  if (peer.quiet > 4) {
    check_answers();
    peer.closed = sent.any = true;
  }
  if (peer.rounds++ > 0)
    return;
  peer.piece = peer.window = SIZE_MAX;
  peer.starve = 0;
  sent.any = peer.writable = true;
}

/* In place of epoll_wait. */
static int world_wait(int epoll, struct epoll_event *events, int max,
                      int timeout) {
  bool over = peer.len < 2;
  must(peer.rounds < ENDLESS && world.entered == 0);
  for (bool first = true; peer.len >= 2 && (first || peer.at_once > 0);
       first = false) {
    size_t used = step(peer.data, peer.len);
    peer.data += used;
    peer.len -= used;
    peer.at_once -= peer.at_once > 0;
  }
  int n = epoll_wait(epoll, events, max - 2, 0);
  if (over)
    wind_up(n == 0 && timeout != 0 && !sent.any && !peer.writable);
  n = n < 0 ? 0 : n;
  if (sent.any)
    events[n++] = (struct epoll_event){.events = EPOLLIN, .data.ptr = peer.in};
  if (peer.writable)
    events[n++] =
        (struct epoll_event){.events = EPOLLOUT, .data.ptr = peer.out};
  sent.any = peer.writable = false;
  return n;
}

/* In place of _exit: while all that lies on the stack is still there. */
static void world_exit(void) {
  parts_reset();
  longjmp(world_end, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len == 0)
    return 0;
  place_make();
  memset(&world, 0, sizeof(world));
  memset(&peer, 0, sizeof(peer));
  memset(&sent, 0, sizeof(sent));
  owner_init();
  world.flags = data[0];
  world.ms = 1000000;
  world.last_pid = 100;
  sbx_beneath_by_hand = world.flags & WORLD_BY_HAND;
  peer.data = data + 1;
  peer.len = len - 1;
  peer.piece = peer.window = SIZE_MAX;
  sbx_buf_init(&sent.bytes, SIZE_MAX);
  int fds = place_count_fds();
  if (setjmp(world_end) == 0)
    return supervisor_main() + 1000; /* it does not return */

  for (int i = 0; i < WORLD_PROCS; i++)
    world_exits(&world.procs[i], 0);
  close(world.signals);
  sbx_buf_fini(&sent.bytes);
  owner_fini();
  place_empty();
  place_leave();
  must(place_count_fds() == fds);
  return 0;
}
