/* SPDX-License-Identifier: MIT */
/* The I/O thread: jobs, its end, and what a fork does to it. */
#include <signal.h>
#include <sys/prctl.h>

#include "io/mailbox.h"
#include "io/sleep_op.h"
#include "io_help.h"

/* ---- jobs ---- */

enum { POSTERS = 4, JOBS = 500 };

struct counted {
  struct sbx_job job;
  int poster, number;
};

static int next_of[POSTERS]; /* I/O thread */
static int out_of_order;

static void count(struct sbx_job *job) {
  struct counted *c = SBX_LIST_OWNER(job, struct counted, job);
  if (c->number != next_of[c->poster]++)
    out_of_order++;
}

struct poster {
  struct sbx_runtime *rt;
  struct counted jobs[JOBS];
};

static void *post_all(void *arg) {
  struct poster *p = arg;
  for (int i = 0; i < JOBS; i++)
    sbx_runtime_post(p->rt, &p->jobs[i].job);
  return NULL;
}

static void nothing(void *arg) {
  (void)arg;
}

static void jobs_run_once_and_in_order(void) {
  static struct poster posters[POSTERS];
  pthread_t threads[POSTERS];
  struct sbx_runtime *rt;
  REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
  for (int p = 0; p < POSTERS; p++) {
    posters[p].rt = rt;
    for (int i = 0; i < JOBS; i++)
      posters[p].jobs[i] =
          (struct counted){.job.run = count, .poster = p, .number = i};
    pthread_create(&threads[p], NULL, post_all, &posters[p]);
  }
  for (int p = 0; p < POSTERS; p++)
    pthread_join(threads[p], NULL);
  io_call(rt, nothing, NULL); /* behind all of them */
  for (int p = 0; p < POSTERS; p++)
    CHECK_INT(next_of[p], JOBS);
  CHECK_INT(out_of_order, 0);
  sbx_runtime_release(rt);
}

/* ---- one thread, and none afterwards ---- */

static void there_is_one_thread_per_process(void) {
  int threads = io_threads(), fds = io_fds();
  struct sbx_runtime *a, *b;
  REQUIRE(sbx_runtime_acquire(&a, NULL) == 0);
  REQUIRE(sbx_runtime_acquire(&b, NULL) == 0);
  CHECK(a == b);
  CHECK_INT(io_threads(), threads + 1);
  sbx_runtime_release(a);
  CHECK_INT(io_threads(), threads + 1);
  sbx_runtime_release(b);
  CHECK_INT(io_threads(), threads);
  CHECK_INT(io_fds(), fds);
}

static void read_mask(void *arg) {
  pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void the_thread_takes_no_signals(void) {
  struct sbx_runtime *rt;
  sigset_t mask, before, after;
  memset(&before, 0, sizeof(before)); /* the kernel's is shorter */
  memset(&after, 0, sizeof(after));
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  CHECK(memcmp(&before, &after, sizeof(after)) == 0);
  io_call(rt, read_mask, &mask);
  static const int signals[] = {SIGINT,  SIGTERM, SIGPIPE, SIGCHLD,
                                SIGALRM, SIGUSR1, SIGHUP};
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
    CHECK_INT(sigismember(&mask, signals[i]), 1);
  sbx_runtime_release(rt);
}

static void *churn(void *arg) {
  (void)arg;
  for (int i = 0; i < 40; i++) {
    struct sbx_runtime *rt;
    REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
    io_call(rt, nothing, NULL);
    sbx_runtime_release(rt);
  }
  return NULL;
}

static void it_may_start_and_stop_from_several_threads(void) {
  int fds = io_fds();
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, churn, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  CHECK_INT(io_fds(), fds);
}

/* ---- a stream that is still open when the thread stops ---- */

struct opened {
  struct sbx_runtime *rt;
  struct sbx_request *request;
  struct sbx_stream *stream;
  int rc, ends;
  struct sbx_stream_end end;
};

static void on_end(void *arg, const struct sbx_stream_end *end) {
  struct opened *o = arg;
  o->ends++;
  o->end = *end;
}

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  (void)arg, (void)fd, (void)data, (void)len;
}

static const struct sbx_stream_events events = {.on_data = on_data,
                                                .on_end = on_end};

static void open_stream(void *arg) {
  struct opened *o = arg;
  o->rc = sbx_stream_open(o->rt, o->request, &events, o, &o->stream, NULL);
}

static struct opened stop_with(struct sbx_request *request, uint64_t *took) {
  struct opened o = {.request = request};
  int threads = io_threads(), fds = io_fds();
  REQUIRE(sbx_runtime_acquire(&o.rt, NULL) == 0);
  io_call(o.rt, open_stream, &o);
  CHECK_INT(o.rc, 0);
  uint64_t start = sbx_now_ms();
  sbx_runtime_release(o.rt);
  *took = sbx_now_ms() - start;
  CHECK_INT(io_threads(), threads);
  CHECK_INT(io_fds(), fds);
  CHECK_INT(o.ends, 1);
  return o;
}

static void stopping_ends_what_obeys_its_end_of_input(void) {
  struct sbx_request *r = io_request("sh", "-c", "cat; exit 7", NULL);
  uint64_t took;
  struct opened o = stop_with(r, &took);
  CHECK(o.end.status_known);
  CHECK_INT(o.end.exit_code, 7);
  CHECK(took < 1000);
  CHECK(io_childless());
  sbx_request_unref(r);
}

static void stopping_kills_the_rest_in_a_bounded_time(void) {
  struct sbx_request *r = io_request("sleep", "60", NULL);
  uint64_t took;
  struct opened o = stop_with(r, &took);
  CHECK_INT(o.end.signal, SIGKILL);
  CHECK(took >= SBX_STOP_GRACE_MS && took < 2500);
  CHECK(io_childless());
  sbx_request_unref(r);
}

static void stopping_leaves_a_lease_that_is_still_at_work(void) {
  struct sbx_request *r = io_request("sh", "-c", "sleep 3; exit 5", NULL);
  r->lease = true;
  uint64_t took;
  struct opened o = stop_with(r, &took);
  CHECK(!o.end.status_known);
  CHECK(took < 2500);
  int status = 0;
  CHECK(waitpid(-1, &status, 0) > 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  CHECK(io_childless());
  sbx_request_unref(r);
}

#if !IO_TSAN /* it does not follow a fork of several threads */

/* ---- fork ---- */

static void a_forked_child_starts_a_thread_of_its_own(void) {
  struct sbx_runtime *rt;
  struct sbx_mailbox *mb;
  struct sbx_op *op;
  REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
  REQUIRE(sbx_mailbox_new(&mb, NULL) == 0);
  REQUIRE(sbx_sleep_op_new(&op, mb, 60000) == 0);
  sbx_op_submit(op);
  pid_t pid = fork();
  if (pid == 0) {
    struct sbx_runtime *own;
    int failed = atomic_load(&check_failed);
    alarm(10);
    CHECK(sbx_runtime_stale(rt));
    CHECK(sbx_op_done(op)); /* and failed: nobody would ever complete it */
    CHECK_INT(op->rc, SBX_EINTERNAL);
    CHECK(sbx_mailbox_next(mb, -1) == NULL);
    sbx_op_cancel(op);
    sbx_op_unref(op);
    sbx_mailbox_close(mb);
    sbx_mailbox_unref(mb);
    sbx_runtime_release(rt);
    CHECK_INT(io_threads(), 1);
    CHECK_INT(sbx_runtime_acquire(&own, NULL), 0);
    CHECK(own != rt && !sbx_runtime_stale(own));
    CHECK_INT(io_threads(), 2);
    io_call(own, nothing, NULL);
    sbx_runtime_release(own);
    CHECK_INT(io_threads(), 1);
    _exit(atomic_load(&check_failed) > failed ? 1 : 0);
  }
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK_INT(status, 0);
  CHECK(!sbx_runtime_stale(rt));
  CHECK(!sbx_op_done(op));
  sbx_op_unref(op);
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  sbx_runtime_release(rt);
}

/* The owner of a lease forks a child that lives on and never execs, and is
 * killed. The client must see its end of input all the same. */
static void a_lease_dies_with_its_owner_in_spite_of_a_fork(void) {
  int seen[2], born[2];
  REQUIRE(pipe(seen) == 0 && pipe(born) == 0);
  pid_t owner = fork();
  if (owner == 0) {
    struct opened o = {0};
    char fd[64];
    pid_t child;
    /* a descriptor that the client is to keep has to be its stdout */
    dup2(seen[1], STDERR_FILENO + 10);
    snprintf(fd, sizeof(fd), "/proc/%d/fd/%d", (int)getpid(),
             STDERR_FILENO + 10);
    o.request = io_request("sh", "-c",
                           "exec 3>\"$0\"; echo ready; cat; "
                           "echo gone >&3",
                           fd, NULL);
    if (sbx_runtime_acquire(&o.rt, NULL) < 0)
      _exit(1);
    io_call(o.rt, open_stream, &o);
    io_sleep(200); /* until it has opened its descriptor */
    child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, 0);
      for (;;)
        pause();
    }
    if (write(born[1], &child, sizeof(child)) != sizeof(child))
      _exit(1);
    for (;;)
      pause();
  }
  pid_t child = -1;
  CHECK(read(born[0], &child, sizeof(child)) == sizeof(child));
  kill(owner, SIGKILL);
  waitpid(owner, NULL, 0);
  close(seen[1]);
  char text[8] = "";
  alarm(20); /* without the guard, this read would never end */
  CHECK(read(seen[0], text, sizeof(text)) == 5);
  CHECK_MEM(text, 5, "gone\n", 5);
  alarm(0);
  CHECK(kill(child, 0) == 0); /* it was there all the time */
  kill(child, SIGKILL);
  close(seen[0]);
  close(born[0]);
  close(born[1]);
}

#endif

int main(void) {
  io_warm_up();
  jobs_run_once_and_in_order();
  there_is_one_thread_per_process();
  the_thread_takes_no_signals();
  it_may_start_and_stop_from_several_threads();
  stopping_ends_what_obeys_its_end_of_input();
  stopping_kills_the_rest_in_a_bounded_time();
  stopping_leaves_a_lease_that_is_still_at_work();
#if !IO_TSAN
  a_forked_child_starts_a_thread_of_its_own();
  a_lease_dies_with_its_owner_in_spite_of_a_fork();
#endif
  return check_done();
}
