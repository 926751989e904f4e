/* SPDX-License-Identifier: MIT */
/* Operations and mailboxes: every operation completes exactly once, whatever
 * else happens to it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "io/mailbox.h"
#include "io/op.h"
#include "io/run_op.h"
#include "io/sleep_op.h"
#include "io/timer.h"
#include "io_help.h"

/* ---- an operation that pushes `total` bytes and completes ---- */

struct feed_op {
  struct sbx_op op;
  size_t total, sent;
  bool hold; /* does not complete by itself */
  struct sbx_timer *timer;
};

static atomic_int made, freed, starts, cancels, windows;
static atomic_size_t most_queued;

static void feed_complete(struct feed_op *f, int rc) {
  sbx_timer_free(f->timer);
  f->timer = NULL;
  sbx_op_complete(&f->op, rc, NULL);
}

static void feed_some(void *arg) {
  struct feed_op *f = arg;
  static const uint8_t block[16 * 1024];
  while (f->sent < f->total) {
    ssize_t queued =
        sbx_op_push(&f->op, f->sent % 2 ? 2 : 1, block, sizeof(block));
    CHECK(queued >= 0);
    f->sent += sizeof(block);
    if ((size_t)queued > atomic_load(&most_queued))
      atomic_store(&most_queued, (size_t)queued);
    if ((size_t)queued >= SBX_OP_HIGH_WATER)
      return; /* window() goes on */
  }
  if (!f->hold)
    feed_complete(f, 0);
}

static void feed_start(struct sbx_op *op) {
  struct feed_op *f = (struct feed_op *)op;
  atomic_fetch_add(&starts, 1);
  REQUIRE(sbx_timer_new(&f->timer, sbx_mailbox_runtime(op->mailbox), feed_some,
                        f) == 0);
  sbx_timer_start(f->timer, 1);
}

static void feed_cancel(struct sbx_op *op) {
  atomic_fetch_add(&cancels, 1);
  feed_complete((struct feed_op *)op, SBX_ECANCELLED);
}

static void feed_window(struct sbx_op *op) {
  atomic_fetch_add(&windows, 1);
  feed_some(op);
}

static void feed_free(struct sbx_op *op) {
  atomic_fetch_add(&freed, 1);
  free(op);
}

static const struct sbx_op_class feed_class = {
    .name = "feed",
    .start = feed_start,
    .cancel = feed_cancel,
    .window = feed_window,
    .free = feed_free,
};

static struct feed_op *feed_new(struct sbx_mailbox *mb, size_t total) {
  struct feed_op *f = calloc(1, sizeof(*f));
  REQUIRE(f != NULL);
  sbx_op_init(&f->op, &feed_class, mb);
  f->total = total;
  atomic_fetch_add(&made, 1);
  return f;
}

static size_t read_all(struct sbx_op *op) {
  size_t bytes = 0;
  struct sbx_chunk *chunk;
  while ((chunk = sbx_op_read(op)) != NULL) {
    bytes += chunk->len;
    free(chunk);
  }
  return bytes;
}

/* Takes news until op is done; returns the bytes read from it. */
static size_t wait_for(struct sbx_mailbox *mb, struct sbx_op *op) {
  size_t bytes = 0;
  for (;;) {
    bool done = sbx_op_done(op);
    bytes += read_all(op);
    if (done)
      return bytes;
    struct sbx_op *news = sbx_mailbox_next(mb, 10000);
    REQUIRE(news != NULL);
    sbx_op_unref(news);
  }
}

static struct sbx_mailbox *open_mailbox(void) {
  struct sbx_mailbox *mb;
  REQUIRE(sbx_mailbox_new(&mb, NULL) == 0);
  return mb;
}

static void close_mailbox(struct sbx_mailbox *mb) {
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
}

/* ---- one at a time ---- */

static bool readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1;
}

static void the_descriptor_is_readable_while_there_is_news(void) {
  struct sbx_mailbox *mb = open_mailbox();
  struct sbx_op *a, *b;
  REQUIRE(sbx_sleep_op_new(&a, mb, 5) == 0);
  REQUIRE(sbx_sleep_op_new(&b, mb, 5) == 0);
  CHECK(!readable(sbx_mailbox_fd(mb)));
  CHECK(sbx_mailbox_next(mb, 0) == NULL);
  sbx_op_submit(a);
  sbx_op_submit(b);
  io_sleep(60);
  CHECK(readable(sbx_mailbox_fd(mb)));
  struct sbx_op *first = sbx_mailbox_next(mb, 0);
  CHECK(readable(sbx_mailbox_fd(mb)));
  struct sbx_op *second = sbx_mailbox_next(mb, 0);
  CHECK(!readable(sbx_mailbox_fd(mb)));
  CHECK(first == a && second == b);
  CHECK(sbx_op_done(a) && sbx_op_done(b));
  CHECK_INT(a->rc, 0);
  CHECK(sbx_mailbox_next(mb, 0) == NULL);
  sbx_op_unref(first);
  sbx_op_unref(second);
  sbx_op_unref(a);
  sbx_op_unref(b);
  close_mailbox(mb);
}

static void a_wait_ends_at_its_time(void) {
  struct sbx_mailbox *mb = open_mailbox();
  uint64_t start = sbx_now_ms();
  CHECK(sbx_mailbox_next(mb, 40) == NULL);
  CHECK(sbx_now_ms() - start >= 40);
  CHECK(sbx_now_ms() - start < 1000);
  close_mailbox(mb);
}

static void on_alarm(int signal) {
  (void)signal;
}

static void a_signal_interrupts_the_wait(void) {
  struct sbx_mailbox *mb = open_mailbox();
  struct sigaction action = {.sa_handler = on_alarm}, old;
  sigaction(SIGALRM, &action, &old);
  uint64_t start = sbx_now_ms();
  alarm(1);
  CHECK(sbx_mailbox_next(mb, 10000) == NULL);
  CHECK(sbx_now_ms() - start < 5000);
  sigaction(SIGALRM, &old, NULL);
  close_mailbox(mb);
}

struct gate {
  struct sbx_job job;
  sem_t open;
};

static void wait_at_gate(struct sbx_job *job) {
  struct gate *gate = SBX_LIST_OWNER(job, struct gate, job);
  while (sem_wait(&gate->open) < 0)
    ;
}

static void cancelled_before_the_start_it_never_starts(void) {
  struct sbx_mailbox *mb = open_mailbox();
  struct gate gate = {.job.run = wait_at_gate};
  int before = atomic_load(&starts), cancels_before = atomic_load(&cancels);
  struct feed_op *f = feed_new(mb, 0);
  sbx_op_cancel(&f->op); /* not submitted: nothing to cancel */
  CHECK(!sbx_op_done(&f->op));
  sem_init(&gate.open, 0, 0);
  sbx_runtime_post(sbx_mailbox_runtime(mb), &gate.job);
  sbx_op_submit(&f->op);
  sbx_op_cancel(&f->op);
  sbx_op_cancel(&f->op);
  sem_post(&gate.open);
  CHECK_INT(wait_for(mb, &f->op), 0);
  CHECK_INT(f->op.rc, SBX_ECANCELLED);
  CHECK_STR(f->op.err.message, "cancelled");
  CHECK_INT(atomic_load(&starts), before);
  CHECK_INT(atomic_load(&cancels), cancels_before);
  sbx_op_unref(&f->op);
  close_mailbox(mb);
  sem_destroy(&gate.open);
}

static void a_slow_reader_stops_the_producer(void) {
  struct sbx_mailbox *mb = open_mailbox();
  size_t total = 8 * 1024 * 1024;
  struct feed_op *f = feed_new(mb, total);
  atomic_store(&most_queued, 0);
  atomic_store(&windows, 0);
  sbx_op_submit(&f->op);
  io_sleep(100);
  CHECK(!sbx_op_done(&f->op));
  CHECK_INT(wait_for(mb, &f->op), total);
  CHECK(atomic_load(&most_queued) <= SBX_OP_HIGH_WATER + 16 * 1024);
  CHECK(atomic_load(&windows) >= 1);
  sbx_op_unref(&f->op);
  close_mailbox(mb);
}

static void closing_the_mailbox_cancels_what_still_runs(void) {
  struct sbx_mailbox *mb = open_mailbox();
  struct feed_op *held = feed_new(mb, 64 * 1024);
  held->hold = true;
  struct sbx_op *asleep;
  REQUIRE(sbx_sleep_op_new(&asleep, mb, 1000000) == 0);
  sbx_op_submit(&held->op);
  sbx_op_submit(asleep);
  io_sleep(30);
  uint64_t start = sbx_now_ms();
  sbx_mailbox_close(mb);
  CHECK(sbx_now_ms() - start < 1000);
  CHECK(sbx_op_done(&held->op) && sbx_op_done(asleep));
  CHECK_INT(asleep->rc, SBX_ECANCELLED);
  sbx_op_cancel(asleep);
  sbx_op_unref(asleep);
  sbx_op_unref(&held->op);

  struct feed_op *late = feed_new(mb, 0); /* a finalizer that comes too late */
  sbx_op_submit(&late->op);
  CHECK(sbx_op_done(&late->op));
  CHECK_INT(late->op.rc, SBX_ECANCELLED);
  sbx_op_unref(&late->op);
  sbx_mailbox_unref(mb);
}

static void huge_times_are_far_away(void) {
  struct sbx_mailbox *mb = open_mailbox();
  static const uint64_t times[] = {UINT64_C(1) << 32, UINT64_C(1) << 53,
                                   UINT64_MAX};
  for (size_t i = 0; i < 3; i++) {
    struct sbx_op *op;
    REQUIRE(sbx_sleep_op_new(&op, mb, times[i]) == 0);
    sbx_op_submit(op);
    io_sleep(20);
    CHECK(!sbx_op_done(op));
    sbx_op_cancel(op);
    wait_for(mb, op);
    sbx_op_unref(op);
  }
  close_mailbox(mb);
}

/* ---- all at once: several consumers, each with a mailbox of its own ---- */

enum { CONSUMERS = 4, ROUNDS = 6, OPS = 32 };

static void submit_one(struct sbx_mailbox *mb, int i, struct sbx_op **op) {
  struct sbx_run_op *run;
  struct feed_op *feed;
  switch (i % 4) {
  case 0:
    REQUIRE(sbx_sleep_op_new(op, mb, (uint64_t)(i % 7)) == 0);
    break;
  case 1:
    REQUIRE(sbx_run_op_new(&run, mb) == 0);
    CHECK_INT(sbx_request_arg(run->request, i % 8 == 1 ? "echo" : "nosuch!",
                              i % 8 == 1 ? 4 : 7),
              0);
    CHECK_INT(sbx_request_seal(run->request), 0);
    *op = &run->op;
    break;
  default:
    feed = feed_new(mb, (size_t)i * 64 * 1024);
    feed->hold = i % 8 == 7; /* only a cancel ends it */
    *op = &feed->op;
  }
  sbx_op_submit(*op);
}

static void *consume(void *arg) {
  struct sbx_mailbox *mb = open_mailbox();
  unsigned seed = (unsigned)(uintptr_t)arg + 1;
  for (int round = 0; round < ROUNDS; round++) {
    struct sbx_op *ops[OPS];
    bool counted[OPS] = {false};
    int done = 0, abandoned = 0;
    for (int i = 0; i < OPS; i++)
      submit_one(mb, i, &ops[i]);
    for (int i = 0; i < OPS; i++)
      if (i % 8 == 7 || rand_r(&seed) % 4 == 0)
        sbx_op_cancel(ops[i]);
    for (int i = 3; i < OPS; i += 16) { /* as a finalizer does it */
      sbx_op_cancel(ops[i]);
      sbx_op_unref(ops[i]);
      ops[i] = NULL;
      counted[i] = true;
      abandoned++;
    }
    while (done + abandoned < OPS) {
      struct sbx_op *news = sbx_mailbox_next(mb, 20000);
      REQUIRE(news != NULL);
      for (int i = 0; i < OPS; i++) {
        if (ops[i] != news)
          continue;
        bool over = sbx_op_done(news);
        read_all(news);
        if (over && !counted[i]) { /* news of data may come late, too */
          counted[i] = true;
          done++;
        }
      }
      sbx_op_unref(news);
    }
    CHECK_INT(done + abandoned, OPS);
    for (int i = 0; i < OPS; i++)
      if (ops[i])
        sbx_op_unref(ops[i]);
  }
  close_mailbox(mb);
  return NULL;
}

static void every_operation_completes_once_under_load(void) {
  pthread_t threads[CONSUMERS];
  int threads_before = io_threads(), fds = io_fds();
  for (int i = 0; i < CONSUMERS; i++)
    pthread_create(&threads[i], NULL, consume, (void *)(uintptr_t)i);
  for (int i = 0; i < CONSUMERS; i++)
    pthread_join(threads[i], NULL);
  CHECK_INT(io_threads(), threads_before);
  CHECK_INT(io_fds(), fds);
  CHECK(io_childless());
  CHECK_INT(atomic_load(&freed), atomic_load(&made));
}

int main(void) {
  io_warm_up();
  the_descriptor_is_readable_while_there_is_news();
  a_wait_ends_at_its_time();
  a_signal_interrupts_the_wait();
  cancelled_before_the_start_it_never_starts();
  a_slow_reader_stops_the_producer();
  closing_the_mailbox_cancels_what_still_runs();
  huge_times_are_far_away();
  every_operation_completes_once_under_load();
  return check_done();
}
