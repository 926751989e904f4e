/* SPDX-License-Identifier: MIT */
/* The supervisor as its owner sees it: kills, leases, and nonsense. */
#include "supervisor_help.h"

/* Starts it, waits for "ready", kills it; returns how long that took. */
static uint64_t kill_of(struct sup *s, const char *script, uint64_t grace_ms,
                        int code) {
  struct sup_spawn o = SUP_SH(script);
  struct sup_result r;
  struct sbx_frame f;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &o);
  while (r.out[0].len < 5 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  uint64_t began = sbx_now_ms();
  sup_kill(s, id, grace_ms);
  while (!(r.killed && r.exited) && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  uint64_t took = sbx_now_ms() - began;
  CHECK(r.killed);
  CHECK_INT(r.survivors, 0);
  CHECK_INT(r.exit.code, code);
  CHECK_INT(sup_count(s, id), 0);
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  sup_result_fini(&r);
  return took;
}

/* How many of them are left. */
static const char *const census =
    "n=0; for d in /proc/[0-9]*; do case $(cat $d/cmdline 2>/dev/null | "
    "tr '\\0' ' ') in 'sleep 77 '|'/bin/sleep 77 ') n=$((n+1));; esac; done; "
    "echo $n";

static void a_kill_finds_everybody(struct sup *s) {
  struct sup_spawn left = SUP_SH(census);
  uint64_t took;

  took = kill_of(s, "echo ready; exec sleep 77", 5000, 143);
  CHECK(took < 2000);
  kill_of(s, "sleep 77 & (sleep 77 & wait) & echo ready; wait", 5000, 143);
  took = kill_of(s, "trap '' TERM; echo ready; while :; do sleep 77; done", 300,
                 137);
  CHECK(took >= 300);
  /* A double fork into a session of its own, with nothing of the environment,
   * that ignores TERM. */
  kill_of(s,
          "(setsid env -i /bin/sh -c 'trap \"\" TERM; (/bin/sleep 77; "
          "/bin/sleep 77) & wait' >/dev/null 2>&1 &) ; sleep 0.3; echo ready; "
          "exec sleep 77",
          100, 143);
  /* Stopped. */
  kill_of(s, "sleep 77 & kill -STOP $!; echo ready; wait", 5000, 143);
  /* One that lowered the limits which mark it. */
  kill_of(s,
          "(ulimit -m 1; setsid env -i /bin/sh -c '(/bin/sleep 77 &)' "
          ">/dev/null 2>&1); sleep 0.2; echo ready; exec sleep 77",
          100, 143);
  /* One that is never there when somebody looks. */
  kill_of(s,
          "echo ready; f() { (f &) ; exit; }; (setsid sh -c 'f() { "
          "(f &) ; exit; }; f' >/dev/null 2>&1 &); exec sleep 77",
          0, 137);
  sup_prints(s, &left, "0\n");
}

static void a_kill_leaves_the_others(struct sup *s) {
  struct sup_spawn o = SUP_SH("exec sleep 76");
  struct sbx_frame f;
  uint32_t id = sup_spawn(s, &o);
  CHECK(sup_expect(s, id, SBX_MSG_STARTED, &f));
  kill_of(s, "echo ready; exec sleep 77", 1000, 143);
  CHECK_INT(sup_count(s, id), 1);
  sup_u32(s, id, SBX_MSG_SIGNAL, SIGTERM);
  CHECK(sup_expect(s, id, SBX_MSG_COUNTED, &f));
  CHECK_INT(sbx_get_u32(f.data), 1);
  CHECK(sup_expect(s, id, SBX_MSG_EXIT, &f));
  CHECK_INT(f.data[0], 143);
  sup_u32(s, id, SBX_MSG_SIGNAL, SIGTERM);
  CHECK(sup_expect(s, id, SBX_MSG_COUNTED, &f));
  CHECK_INT(sbx_get_u32(f.data), 0);
}

static void a_signal_reaches_the_tree(struct sup *s) {
  struct sup_spawn o =
      SUP_SH("trap 'echo got; exit 3' USR1; sleep 77 & echo ready; wait; wait");
  struct sup_result r;
  struct sbx_frame f;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &o);
  while (r.out[0].len < 6 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  sup_u32(s, id, SBX_MSG_SIGNAL, SIGUSR1);
  sup_follow(s, id, &r);
  CHECK(sup_printed(&r, 0, "ready\ngot\n"));
  CHECK_INT(r.exit.code, 3);
  sup_result_fini(&r);
}

static void orphans_are_reaped(struct sup *s) {
  struct sup_spawn o = SUP_SH("(sleep 0.1 &); exit 0");
  struct sup_spawn zombies = SUP_SH("sleep 0.5; grep -l '^State:.Z' "
                                    "/proc/[0-9]*/status | wc -l");
  for (int i = 0; i < 30; i++)
    sup_prints(s, &o, "");
  sup_prints(s, &zombies, "0\n");
}

/* Root without a capability cannot reach PID 1. */
static void pid_one_is_out_of_reach(void) {
  struct sup s;
  sup_open(&s, "");
  struct sup_spawn o = SUP_SH(
      "kill -9 1; kill -STOP 1; kill -TERM 1; "
      "cat /proc/1/environ /proc/1/maps 2>/dev/null; readlink /proc/1/fd/0; "
      " prlimit --pid 1 --cpu=1 2>/dev/null && echo limited; "
      "renice 19 1 >/dev/null 2>&1 && echo reniced; "
      "echo x 2>/dev/null >/proc/1/fd/1 && echo wrote; exit 0");
  sup_prints(&s, &o, "");
  struct sup_spawn again = SUP_SH("echo alive");
  sup_prints(&s, &again, "alive\n");
  sup_end(&s);
}

static void without_processes_it_refuses(struct sup *s) {
  static const char *const group = "/sys/fs/cgroup/pids/sbx-test-supervisor";
  char path[128], pid[16];
  struct sup_spawn o = SUP_SH("echo hi");
  if (mkdir(group, 0755) < 0 && errno != EEXIST)
    return; /* no such controller here */
  snprintf(path, sizeof(path), "%s/cgroup.procs", group);
  snprintf(pid, sizeof(pid), "%d", s->pid);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? write(fd, pid, strlen(pid)) : -1;
  close(fd);
  snprintf(path, sizeof(path), "%s/pids.max", group);
  fd = open(path, O_WRONLY | O_CLOEXEC);
  if (n > 0 && fd >= 0 && write(fd, "1", 1) == 1) {
    struct sup_result r = sup_run(s, &o);
    CHECK_INT(r.failed.stage, SBX_FAILED_REFUSED);
    CHECK_INT(r.failed.error, EAGAIN);
    sup_result_fini(&r);
    CHECK(write(fd, "max", 3) == 3);
    sup_prints(s, &o, "hi\n");
  }
  close(fd);
}

static void without_descriptors_it_refuses(void) {
  struct sup s;
  struct sbx_frame f;
  struct rlimit old, few = {40, 40};
  struct sup_spawn o = {.argv = {"sleep", "70"}};
  unsigned started = 0, refused = 0;
  getrlimit(RLIMIT_NOFILE, &old);
  few.rlim_max = old.rlim_max;
  setrlimit(RLIMIT_NOFILE, &few);
  sup_open(&s, "");
  setrlimit(RLIMIT_NOFILE, &old);
  for (int i = 0; i < 20; i++)
    sup_spawn(&s, &o);
  while (started + refused < 20 && sup_next(&s, &f, WAIT_MS)) {
    started += f.type == SBX_MSG_STARTED;
    refused += f.type == SBX_MSG_FAILED;
  }
  CHECK(started > 2 && refused > 2);
  sup_kill(&s, 1, 0);
  CHECK(sup_expect(&s, 1, SBX_MSG_KILLED, &f));
  sup_end(&s);
}

/* How a command began is told before that it was killed, also when nobody has
 * looked meanwhile. */
static void a_kill_may_come_at_once(struct sup *s) {
  const struct sup_spawn kinds[] = {
      {.argv = {"/missing"}}, {.argv = {"true"}}, {.argv = {"sleep", "70"}}};
  unsigned killed = 0;
  for (int i = 0; i < 300; i++) {
    struct sbx_frame f = {0};
    bool begun = false;
    uint32_t id = sup_spawn(s, &kinds[i % 3]);
    sup_kill(s, id, 0);
    while (f.type != SBX_MSG_FAILED && f.type != SBX_MSG_KILLED &&
           sup_next(s, &f, WAIT_MS))
      begun |=
          f.id == id && (f.type == SBX_MSG_STARTED || f.type == SBX_MSG_FAILED);
    CHECK(begun);
    killed += f.type == SBX_MSG_KILLED;
    if (f.type == SBX_MSG_KILLED)
      sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  }
  CHECK(killed >= 200); /* the missing one may be killed before it is missed */
}

/* Says BYE for that reason and exits. */
static void ends_with(struct sup *s, uint8_t why) {
  struct sbx_frame f;
  if (sup_expect(s, 0, SBX_MSG_BYE, &f))
    CHECK_INT(f.data[0], why);
  CHECK_INT(sup_wait(s), 0);
  sup_end(s);
}

static void nonsense_ends_it(void) {
  static const struct {
    uint32_t id;
    uint8_t type, reserved;
    uint32_t len;
    uint8_t data[16];
  } cases[] = {
      {0, 0, 0, 0, {0}},              /* no such type */
      {0, 99, 0, 0, {0}},             /* */
      {0, SBX_MSG_READY, 0, 0, {0}},  /* not down */
      {0, SBX_MSG_TOUCH, 1, 0, {0}},  /* reserved */
      {1, SBX_MSG_TOUCH, 0, 0, {0}},  /* of the session */
      {0, SBX_MSG_HELLO, 0, 4, {1}},  /* a second time, and cut */
      {0, SBX_MSG_SPAWN, 0, 0, {0}},  /* no channel */
      {5, SBX_MSG_SPAWN, 0, 3, {0}},  /* cut */
      {5, SBX_MSG_FILE, 0, 1, {1}},   /* */
      {5, SBX_MSG_PORT, 0, 2, {0}},   /* port 0 */
      {5, SBX_MSG_PORTS, 0, 1, {0}},  /* a byte too many */
      {9, SBX_MSG_DATA, 0, 2, {0}},   /* was never opened */
      {9, SBX_MSG_FORGET, 0, 0, {0}}, /* */
      {1, SBX_MSG_DATA, 0, 2, {1}},   /* wrong way */
      {1, SBX_MSG_DATA, 0, 1, {0}},   /* empty */
      {1, SBX_MSG_KILL, 0, 4, {0}},   /* cut */
      {1, SBX_MSG_COUNT, 0, 1, {0}},  /* */
      {1, SBX_MSG_SIGNAL, 0, 4, {0}}, /* 0 */
      {1, SBX_MSG_SIGNAL, 0, 4, {65}},
      {1, SBX_MSG_CREDIT, 0, 5, {0, 1}}, /* of the input */
      {1, SBX_MSG_CREDIT, 0, 5, {3, 1}},
      {1, SBX_MSG_SPAWN, 0, 0, {0}},        /* in use */
      {0, SBX_MSG_TOUCH, 0, 0x500000, {0}}, /* too long */
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sup s;
    struct sbx_frame f;
    struct sup_spawn o = {.argv = {"sleep", "5"}, .flags = SBX_SPAWN_STDIN};
    uint8_t raw[12 + 16];
    sup_open(&s, "");
    sup_spawn(&s, &o);
    CHECK(sup_expect(&s, 1, SBX_MSG_STARTED, &f));
    sbx_frame_head(raw, cases[i].id, cases[i].type, cases[i].len);
    raw[9] = cases[i].reserved;
    memcpy(raw + 12, cases[i].data, 16);
    sup_raw(&s, raw, 12 + (cases[i].len < 16 ? cases[i].len : 16));
    ends_with(&s, SBX_BYE_PROTOCOL);
  }
}

static void more_input_than_credit_ends_it(void) {
  static uint8_t chunk[SBX_FRAME_DATA_MAX];
  struct sup s;
  struct sup_spawn o = {.argv = {"sleep", "5"}, .flags = SBX_SPAWN_STDIN};
  sup_open(&s, "");
  uint32_t id = sup_spawn(&s, &o);
  for (int i = 0; i < 8; i++) /* the pipe and its return are 128 KiB */
    sup_data(&s, id, chunk, sizeof(chunk));
  ends_with(&s, SBX_BYE_PROTOCOL);
}

static void a_command_before_the_hello_ends_it(void) {
  struct sup s;
  struct sup_spawn o = {.argv = {"true"}};
  sup_start(&s);
  sup_spawn(&s, &o);
  ends_with(&s, SBX_BYE_PROTOCOL);
}

static void the_lease_ends_it(void) {
  struct sup s;
  struct sbx_frame f;
  sup_open(&s, "");
  struct sup_spawn o = SUP_SH("trap '' TERM HUP; setsid sleep 77 & sleep 77");
  CHECK(sup_expect(&s, sup_spawn(&s, &o), SBX_MSG_STARTED, &f));
  sup_end(&s);
}

static void times_end_it(void) {
  struct sup s;
  struct sbx_frame f;
  struct sup_spawn busy = {.argv = {"sleep", "0.6"}};
  uint64_t began;

  sup_start(&s);
  sup_hello_as(&s, "", 300, 0);
  ends_with(&s, SBX_BYE_TTL);

  sup_start(&s);
  began = sbx_now_ms();
  sup_hello_as(&s, "", 0, 300);
  uint32_t id = sup_spawn(&s, &busy);
  CHECK(sup_expect(&s, id, SBX_MSG_EXIT, &f));
  sup_send(&s, id, SBX_MSG_FORGET, NULL, 0);
  ends_with(&s, SBX_BYE_IDLE);
  CHECK(sbx_now_ms() - began >= 900);

  sup_open(&s, "");
  sup_send(&s, 0, SBX_MSG_SHUTDOWN, NULL, 0);
  ends_with(&s, SBX_BYE_SHUTDOWN);
}

/* Also to the second who asks, after nobody did. */
static void a_new_listener_is_told(struct sup *s) {
  struct sbx_frame f;
  struct sbx_msg_listeners m;
  uint8_t port[2];
  struct sup_spawn o = {.argv = {"python3", "-c",
                                 "import socket,time\n"
                                 "s=socket.create_server(('127.0.0.1',45871))\n"
                                 "time.sleep(0.3)"}};
  sbx_put_u16(port, 45871);
  uint32_t id = ++s->last_id;
  sup_send(s, id, SBX_MSG_PORT, port, 2);
  CHECK(sup_expect(s, id, SBX_MSG_LISTENER, &f));
  CHECK(sbx_listeners_decode(&m, f.data, f.len) == 0);
  CHECK_INT(m.sockets.count, 0);
  if (access("/usr/bin/python3", X_OK) == 0) {
    sup_spawn(s, &o);
    for (uint32_t want = 1; want < 2; want--) {
      CHECK(sup_expect(s, id, SBX_MSG_LISTENER, &f));
      CHECK(sbx_listeners_decode(&m, f.data, f.len) == 0);
      CHECK_INT(m.sockets.count, want);
    }
  }
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  id = ++s->last_id;
  sup_send(s, id, SBX_MSG_PORTS, NULL, 0);
  CHECK(sup_expect(s, id, SBX_MSG_LISTENER, &f));
  CHECK(sup_expect(s, id, SBX_MSG_DONE, &f));
}

/* Of what it holds when nothing happens, after all of the above. */
static void it_is_small(struct sup *s) {
  char path[64], text[256];
  long size, resident = 0;
  snprintf(path, sizeof(path), "/proc/%d/statm", s->pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = read(fd, text, sizeof(text) - 1);
  text[n > 0 ? n : 0] = '\0';
  close(fd);
  CHECK(sscanf(text, "%ld %ld", &size, &resident) == 2);
  fprintf(stderr, "resident: %ld KiB\n", resident * 4);
  CHECK(resident * 4 < 1024);
}

int main(void) {
  struct sup s;
  signal(SIGPIPE, SIG_IGN);
  if (!sup_is_possible())
    return check_skip();
  sup_open(&s, "daemon");
  a_kill_finds_everybody(&s);
  a_kill_leaves_the_others(&s);
  a_signal_reaches_the_tree(&s);
  orphans_are_reaped(&s);
  a_kill_may_come_at_once(&s);
  a_new_listener_is_told(&s);
  a_new_listener_is_told(&s);
  without_processes_it_refuses(&s);
  it_is_small(&s);
  sup_end(&s);
  pid_one_is_out_of_reach();
  without_descriptors_it_refuses();
  nonsense_ends_it();
  more_input_than_credit_ends_it();
  a_command_before_the_hello_ends_it();
  the_lease_ends_it();
  times_end_it();
  return check_done();
}
