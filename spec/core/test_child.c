/* SPDX-License-Identifier: MIT */
/* Streams to child processes: nothing of their output is lost, their end is
 * told once and truthfully, and nothing of them is left. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "io/stream.h"
#include "io_help.h"

static struct sbx_runtime *rt;

/* One stream and what it said. Written by the I/O thread, read by the test when
 * `over` is posted. */
struct watch {
  struct sbx_request *request;
  struct sbx_stream *stream;
  struct sbx_buf out[2];
  uint64_t bytes[2];
  atomic_size_t pause_at; /* pause stdout once this much has come; 0: never */
  atomic_bool paused;
  int eofs, drains, ends, late;
  struct sbx_stream_end end;
  struct sbx_err err;
  int rc;
  sem_t over;
};

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct watch *w = arg;
  int i = fd == SBX_OUT ? 0 : 1;
  w->late += w->ends;
  w->bytes[i] += len;
  CHECK_INT(sbx_buf_append(&w->out[i], data, len), 0);
  size_t pause_at = atomic_load(&w->pause_at);
  if (pause_at && i == 0 && w->bytes[0] >= pause_at) {
    atomic_store(&w->pause_at, 0);
    atomic_store(&w->paused, true);
    sbx_stream_pause(w->stream, SBX_OUT);
  }
}

static void on_eof(void *arg, enum sbx_fd fd) {
  struct watch *w = arg;
  (void)fd;
  w->eofs++;
  w->late += w->ends;
}

static void on_drain(void *arg) {
  struct watch *w = arg;
  w->drains++;
  w->late += w->ends;
}

static void on_end(void *arg, const struct sbx_stream_end *end) {
  struct watch *w = arg;
  w->ends++;
  w->end = *end;
  sbx_stream_close(w->stream, true); /* as callers may: harmless */
  w->stream = NULL;
  sem_post(&w->over);
}

static const struct sbx_stream_events events = {
    .on_data = on_data,
    .on_eof = on_eof,
    .on_drain = on_drain,
    .on_end = on_end,
};

static void do_open(void *arg) {
  struct watch *w = arg;
  w->rc = sbx_stream_open(rt, w->request, &events, w, &w->stream, &w->err);
}

/* The stream may have ended meanwhile. */
#define DEFINE_CALL(name, call)                                                \
  static void name(void *arg) {                                                \
    struct sbx_stream *s = ((struct watch *)arg)->stream;                      \
    if (s)                                                                     \
      call;                                                                    \
  }
DEFINE_CALL(do_shutdown, sbx_stream_shutdown(s))
DEFINE_CALL(do_kill, sbx_stream_kill(s))
DEFINE_CALL(do_resume, sbx_stream_resume(s, SBX_OUT))
DEFINE_CALL(do_close, sbx_stream_close(s, false))
DEFINE_CALL(do_close_kill, sbx_stream_close(s, true))

static void watch_open(struct watch *w, struct sbx_request *request) {
  memset(w, 0, sizeof(*w));
  w->request = request;
  sbx_buf_init(&w->out[0], SIZE_MAX / 2);
  sbx_buf_init(&w->out[1], SIZE_MAX / 2);
  sem_init(&w->over, 0, 0);
  io_call(rt, do_open, w);
}

/* False when it takes too long. */
static bool watch_wait(struct watch *w, unsigned ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += (long)(ms % 1000) * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  int rc;
  do
    rc = sem_timedwait(&w->over, &t);
  while (rc < 0 && errno == EINTR);
  return rc == 0;
}

static void watch_fini(struct watch *w) {
  CHECK_INT(w->ends, 1);
  CHECK_INT(w->late, 0);
  sbx_request_unref(w->request);
  sbx_buf_fini(&w->out[0]);
  sbx_buf_fini(&w->out[1]);
  sem_destroy(&w->over);
}

/* Runs to the end without input. */
static void watch_run(struct watch *w, struct sbx_request *request) {
  watch_open(w, request);
  REQUIRE(w->rc == 0);
  io_call(rt, do_shutdown, w);
  REQUIRE(watch_wait(w, 30000));
}

#define CHECK_OUT(w, text)                                                     \
  CHECK_MEM((w)->out[0].data, (w)->out[0].len, text, strlen(text))

static struct sbx_request *shell(const char *script) {
  return io_request("sh", "-c", script, NULL);
}

/* ---- output and exit ---- */

static void both_streams_and_the_status_arrive(void) {
  struct watch w;
  watch_run(&w, shell("echo out; echo err >&2; exit 3"));
  CHECK_OUT(&w, "out\n");
  CHECK_MEM(w.out[1].data, w.out[1].len, "err\n", 4);
  CHECK(w.end.status_known);
  CHECK_INT(w.end.exit_code, 3);
  CHECK_INT(w.end.signal, 0);
  CHECK_INT(w.eofs, 2);
  watch_fini(&w);
}

static void a_signal_is_no_exit_code(void) {
  struct watch w;
  watch_run(&w, shell("kill -KILL $$"));
  CHECK(w.end.status_known);
  CHECK_INT(w.end.signal, SIGKILL);
  CHECK_INT(w.end.exit_code, -1);
  watch_fini(&w);
}

static void the_last_bytes_before_the_exit_are_not_lost(void) {
  enum { AT_ONCE = 20 };
  for (int round = 0; round < 10; round++) {
    static struct watch all[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
      watch_open(&all[i], shell("head -c 65536 /dev/zero; printf END"));
      REQUIRE(all[i].rc == 0);
    }
    for (int i = 0; i < AT_ONCE; i++) {
      struct watch *w = &all[i];
      REQUIRE(watch_wait(w, 60000));
      CHECK_INT(w->out[0].len, 65539);
      CHECK(w->out[0].len >= 3 &&
            memcmp(w->out[0].data + w->out[0].len - 3, "END", 3) == 0);
      CHECK_INT(w->end.exit_code, 0);
      watch_fini(w);
    }
  }
}

static void a_held_pipe_delays_the_end_only_for_a_while(void) {
  struct watch w;
  uint64_t start = sbx_now_ms();
  watch_run(&w, shell("sleep 30 & echo $!"));
  CHECK(sbx_now_ms() - start < 3000);
  CHECK(w.end.status_known);
  CHECK_INT(w.end.exit_code, 0);
  CHECK(w.out[0].len > 1);
  w.out[0].data[w.out[0].len - 1] = '\0';
  kill((pid_t)atoi((char *)w.out[0].data), SIGKILL);
  watch_fini(&w);
}

/* ---- input ---- */

struct written {
  struct watch *watch;
  const void *data;
  size_t len;
  int rc;
};

static void do_write(void *arg) {
  struct written *p = arg;
  struct sbx_stream *s = p->watch->stream; /* NULL: it has ended */
  p->rc = s ? sbx_stream_write(s, p->data, p->len) : -EPIPE;
}

static int watch_write(struct watch *w, const void *data, size_t len) {
  struct written p = {w, data, len, 0};
  io_call(rt, do_write, &p);
  return p.rc;
}

static void input_arrives_whole_and_ends(void) {
  struct watch w;
  size_t len = 3 * 1024 * 1024 + 1;
  char *data = malloc(len);
  REQUIRE(data != NULL);
  for (size_t i = 0; i < len; i++)
    data[i] = (char)(i * 7 % 251);
  watch_open(&w, io_request("cat", NULL));
  REQUIRE(w.rc == 0);
  CHECK_INT(watch_write(&w, data, len), 0);
  io_call(rt, do_shutdown, &w);
  io_call(rt, do_shutdown, &w);
  CHECK_INT(watch_write(&w, data, 1), -EPIPE);
  REQUIRE(watch_wait(&w, 30000));
  CHECK_MEM(w.out[0].data, w.out[0].len, data, len);
  CHECK_INT(w.drains, 1);
  watch_fini(&w);
  free(data);
}

/* SIGPIPE has its default disposition here, and no failure is reported. */
static void a_program_that_does_not_read_is_no_failure(void) {
  struct watch w;
  size_t len = 20 * 1000 * 1000;
  char *data = calloc(1, len);
  REQUIRE(data != NULL);
  watch_open(&w, io_request("true", NULL));
  REQUIRE(w.rc == 0);
  int rc = watch_write(&w, data, len);
  CHECK(rc == 0 || rc == -EPIPE);
  REQUIRE(watch_wait(&w, 30000));
  CHECK_INT(w.end.exit_code, 0);
  watch_fini(&w);
  free(data);
}

/* ---- back pressure ---- */

static bool is_paused(struct watch *w) {
  for (int i = 0; i < 500 && !atomic_load(&w->paused); i++)
    io_sleep(10);
  return atomic_load(&w->paused);
}

struct asked {
  struct watch *watch;
  size_t bytes;
};

static void do_count(void *arg) {
  struct asked *a = arg;
  a->bytes = a->watch->bytes[0];
}

/* Bytes of stdout that have come so far. */
static size_t count(struct watch *w) {
  struct asked a = {w, 0};
  io_call(rt, do_count, &a);
  return a.bytes;
}

static void a_paused_stream_stops_the_program_and_loses_nothing(void) {
  struct watch w;
  watch_open(&w, shell("sleep 0.1; head -c 10000000 /dev/zero; printf END"));
  REQUIRE(w.rc == 0);
  atomic_store(&w.pause_at, 100000);
  CHECK(is_paused(&w));
  io_sleep(300);
  CHECK(count(&w) < 100000 + SBX_SCRATCH_SIZE);
  CHECK_INT(w.ends, 0);
  io_call(rt, do_resume, &w);
  REQUIRE(watch_wait(&w, 30000));
  CHECK_INT(w.out[0].len, 10000003);
  watch_fini(&w);
}

/* What a program left in the pipe is waited for as long as the pause lasts. */
static void a_pause_longer_than_the_drain_loses_nothing(void) {
  struct watch w;
  watch_open(&w, shell("sleep 0.1; echo one; sleep 0.1; echo two; exit 4"));
  REQUIRE(w.rc == 0);
  atomic_store(&w.pause_at, 1);
  CHECK(is_paused(&w));
  CHECK(!watch_wait(&w, 2000));
  io_call(rt, do_resume, &w);
  REQUIRE(watch_wait(&w, 5000));
  CHECK_OUT(&w, "one\ntwo\n");
  CHECK_INT(w.end.exit_code, 4);
  watch_fini(&w);
}

/* ---- kill and close ---- */

/* A zombie that init has not reaped yet is not. */
static bool is_alive(pid_t pid) {
  char path[64], text[256] = "";
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  size_t n = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  char *state = n ? strrchr(text, ')') : NULL;
  return state && state[2] != 'Z' && state[2] != 'X';
}

static void a_kill_takes_the_whole_group(void) {
  struct watch w;
  watch_open(&w, shell("sleep 61 & sleep 62 & echo $!; wait"));
  REQUIRE(w.rc == 0);
  while (count(&w) == 0)
    io_sleep(10);
  uint64_t start = sbx_now_ms();
  io_call(rt, do_kill, &w);
  io_call(rt, do_kill, &w);
  REQUIRE(watch_wait(&w, 10000));
  CHECK(sbx_now_ms() - start < 900); /* nothing holds the pipes any more */
  CHECK_INT(w.end.signal, SIGKILL);
  w.out[0].data[w.out[0].len - 1] = '\0';
  pid_t grandchild = (pid_t)atoi((char *)w.out[0].data);
  for (int i = 0; i < 100 && is_alive(grandchild); i++)
    io_sleep(10);
  CHECK(!is_alive(grandchild));
  watch_fini(&w);
}

/* A wrapper without exec, and a grandchild that has left the group and holds
 * the pipes: the end still comes in a bounded time. */
static void a_kill_is_not_held_up_by_who_holds_the_pipes(void) {
  struct watch w;
  watch_open(&w, shell("setsid sleep 30 & echo $!; wait"));
  REQUIRE(w.rc == 0);
  while (count(&w) == 0)
    io_sleep(10);
  io_sleep(100);
  uint64_t start = sbx_now_ms();
  io_call(rt, do_kill, &w);
  REQUIRE(watch_wait(&w, 10000));
  CHECK(sbx_now_ms() - start < 2000);
  CHECK_INT(w.end.signal, SIGKILL);
  w.out[0].data[w.out[0].len - 1] = '\0';
  kill((pid_t)atoi((char *)w.out[0].data), SIGKILL);
  watch_fini(&w);
}

static bool no_child_within(unsigned ms) {
  for (unsigned waited = 0; waited < ms; waited += 10) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
        errno == ECHILD)
      return true;
    io_sleep(10);
  }
  return false;
}

static void closing_lets_it_end_by_itself_and_reaps_it(void) {
  char path[] = "/tmp/anvia-child-XXXXXX";
  int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  close(fd);
  struct watch w;
  /* it gets its end of input, and may write as much as it likes meanwhile */
  watch_open(&w, io_request("sh", "-c",
                            "cat; head -c 300000 /dev/zero; echo end >\"$0\"",
                            path, NULL));
  REQUIRE(w.rc == 0);
  io_call(rt, do_close, &w);
  CHECK(no_child_within(5000));
  struct stat st;
  CHECK(stat(path, &st) == 0 && st.st_size == 4);
  unlink(path);
  CHECK_INT(w.ends, 0); /* no callback after close */
  w.ends = 1;
  watch_fini(&w);
}

static void closing_with_kill_reaps_it(void) {
  struct watch w;
  watch_open(&w, shell("trap '' TERM; while :; do sleep 60; done"));
  REQUIRE(w.rc == 0);
  io_call(rt, do_close_kill, &w);
  CHECK(no_child_within(5000));
  CHECK_INT(w.ends, 0);
  w.ends = 1;
  watch_fini(&w);
}

/* ---- a host that takes the status away ---- */

static void with_sigchld_ignored_the_status_is_unknown(void) {
  struct watch w;
  signal(SIGCHLD, SIG_IGN);
  watch_run(&w, shell("echo partial; exit 5"));
  CHECK(!w.end.status_known);
  CHECK_OUT(&w, "partial\n");
  watch_fini(&w);

  /* and a program that cannot be run is still only a failure */
  char path[] = "/tmp/anvia-child-XXXXXX";
  int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  CHECK(write(fd, "#!/no/such/shell\n", 17) == 17);
  fchmod(fd, 0755);
  close(fd);
  watch_open(&w, io_request(path, NULL));
  CHECK_INT(w.rc, SBX_EUNAVAILABLE);
  w.ends = 1;
  watch_fini(&w);
  unlink(path);
  signal(SIGCHLD, SIG_DFL);
}

struct thief {
  pthread_t thread;
  atomic_bool enough;
  int stolen, status;
};

static void *steal(void *arg) {
  struct thief *thief = arg;
  while (!atomic_load(&thief->enough))
    if (waitpid(-1, &thief->status, WNOHANG) > 0)
      thief->stolen++;
  return NULL;
}

static void a_stolen_status_is_unknown_or_true(void) {
  for (int i = 0; i < 20; i++) {
    struct watch w;
    struct thief thief = {0};
    watch_open(&w, shell("cat; exit 6"));
    REQUIRE(w.rc == 0);
    pthread_create(&thief.thread, NULL, steal, &thief);
    io_call(rt, do_shutdown, &w);
    REQUIRE(watch_wait(&w, 10000));
    atomic_store(&thief.enough, true);
    pthread_join(thief.thread, NULL);
    if (w.end.status_known) /* seen before it was stolen, if it was */
      CHECK_INT(w.end.exit_code, 6);
    else
      CHECK_INT(thief.stolen, 1);
    if (thief.stolen)
      CHECK_INT(WEXITSTATUS(thief.status), 6);
    watch_fini(&w);
  }
}

/* ---- what the program gets from the host ---- */

static void missing_programs_are_named(void) {
  static const struct {
    const char *name, *reason;
  } cases[] = {
      {"no-such-program", "no such file or directory"},
      {"/no/such/program", "no such file or directory"},
      {"/tmp", "permission denied"},
      {"/etc/passwd", "permission denied"},
  };
  int fds = io_fds();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct watch w;
    char want[128];
    snprintf(want, sizeof(want), "cannot run '%s': %s", cases[i].name,
             cases[i].reason);
    watch_open(&w, io_request(cases[i].name, NULL));
    CHECK_INT(w.rc, SBX_EUNAVAILABLE);
    CHECK_INT(w.err.code, SBX_EUNAVAILABLE);
    CHECK_STR(w.err.message, want);
    w.ends = 1;
    watch_fini(&w);
  }
  CHECK_INT(io_fds(), fds);
}

static void the_environment_is_the_hosts_with_changes(void) {
  struct sbx_request *r;
  struct watch w;
  setenv("SBX_T_KEPT", "kept", 1);
  setenv("SBX_T_CHANGED", "old", 1);
  setenv("SBX_T_GONE", "there", 1);
  REQUIRE(sbx_request_new(&r) == 0);
  CHECK_INT(sbx_request_arg(r, "sh", 2), 0);
  CHECK_INT(sbx_request_arg(r, "-c", 2), 0);
  const char *script = "env | grep ^SBX_T_ | sort";
  CHECK_INT(sbx_request_arg(r, script, strlen(script)), 0);
  CHECK_INT(sbx_request_arg(r, "a\0b", 3), -EINVAL);
  CHECK_INT(sbx_request_env(r, "SBX_T_NEW", 9, "a=b\n", 3), 0);
  CHECK_INT(sbx_request_env(r, "SBX_T_CHANGED", 13, "once", 4), 0);
  CHECK_INT(sbx_request_env(r, "SBX_T_CHANGED", 13, "new", 3), 0);
  CHECK_INT(sbx_request_env(r, "SBX_T_GONE", 10, NULL, 0), 0);
  CHECK_INT(sbx_request_env(r, "A=B", 3, "x", 1), -EINVAL);
  CHECK_INT(sbx_request_env(r, "A\0B", 3, "x", 1), -EINVAL);
  CHECK_INT(sbx_request_env(r, "A", 1, "x\0y", 3), -EINVAL);
  CHECK_INT(sbx_request_env(r, "", 0, "x", 1), -EINVAL);
  CHECK_INT(sbx_request_seal(r), 0);
  setenv("SBX_T_KEPT", "changed after it was sealed", 1);
  watch_run(&w, r);
  CHECK_OUT(&w, "SBX_T_CHANGED=new\nSBX_T_KEPT=kept\nSBX_T_NEW=a=b\n");
  watch_fini(&w);
}

static void signals_and_descriptors_of_the_host_stay_with_it(void) {
  struct watch w;
  int leaky = open("/dev/null", O_RDONLY); /* no O_CLOEXEC, like io.open() */
  sigset_t usr, old;
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr, &old);
  signal(SIGUSR2, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  watch_run(&w, shell("grep Sig[BI] /proc/self/status | grep -o .......$;"
                      "ls /proc/self/fd | tr '\\n' ' '; "
                      "[ $(ps -o sid= -p $$) = $$ ] && echo leader"));
  /* signals 32 and 33 are the C library's own; descriptor 3 is ls's */
  CHECK_OUT(&w, "0000000\n0000000\n0 1 2 3 leader\n");
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  watch_fini(&w);
  close(leaky);
}

/* A daemon may have no standard descriptors at all. */
static void a_host_without_standard_descriptors_is_fine(void) {
  int in = fcntl(0, F_DUPFD_CLOEXEC, 100);
  int out = fcntl(1, F_DUPFD_CLOEXEC, 100);
  close(0);
  close(1);
  struct watch w;
  watch_run(&w, shell("echo out; echo err >&2"));
  dup2(in, 0);
  dup2(out, 1);
  close(in);
  close(out);
  CHECK_OUT(&w, "out\n");
  CHECK_MEM(w.out[1].data, w.out[1].len, "err\n", 4);
  watch_fini(&w);
}

int main(void) {
  io_warm_up();
  int fds = io_fds(), threads = io_threads();
  REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
  both_streams_and_the_status_arrive();
  a_signal_is_no_exit_code();
  the_last_bytes_before_the_exit_are_not_lost();
  a_held_pipe_delays_the_end_only_for_a_while();
  input_arrives_whole_and_ends();
  a_program_that_does_not_read_is_no_failure();
  a_paused_stream_stops_the_program_and_loses_nothing();
  a_pause_longer_than_the_drain_loses_nothing();
  a_kill_takes_the_whole_group();
  a_kill_is_not_held_up_by_who_holds_the_pipes();
  closing_lets_it_end_by_itself_and_reaps_it();
  closing_with_kill_reaps_it();
  with_sigchld_ignored_the_status_is_unknown();
  a_stolen_status_is_unknown_or_true();
  missing_programs_are_named();
  the_environment_is_the_hosts_with_changes();
  signals_and_descriptors_of_the_host_stay_with_it();
  a_host_without_standard_descriptors_is_fine();
  sbx_runtime_release(rt);
  CHECK(io_childless());
  CHECK_INT(io_threads(), threads);
  CHECK_INT(io_fds(), fds);
  return check_done();
}
