/* SPDX-License-Identifier: MIT */
/* The supervisor as its owner sees it: commands and their streams. */
#include "supervisor_help.h"

static void hello_tells_who_commands_are(void) {
  static const struct {
    const char *user;
    uint32_t uid, gid;
  } cases[] = {{"", 0, 0},        {"root", 0, 0},
               {"1234", 1234, 0}, {"1234:99", 1234, 99},
               {"daemon", 1, 1},  {"daemon:root", 1, 0},
               {"1:tty", 1, 5},   {"65531", 65531, 0}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sup s;
    struct sbx_frame f;
    struct sbx_msg_ready m;
    char want[64];
    sup_start(&s);
    sup_hello_as(&s, cases[i].user, 0, 0);
    REQUIRE(sup_expect(&s, 0, SBX_MSG_READY, &f));
    CHECK(sbx_ready_decode(&m, f.data, f.len) == 0);
    CHECK_INT(m.version, 1);
    CHECK_INT(m.uid, cases[i].uid);
    CHECK_INT(m.gid, cases[i].gid);
    CHECK_INT(m.writable, 1);
    snprintf(want, sizeof(want), "%u:%u\n", cases[i].uid, cases[i].gid);
    struct sup_spawn o = SUP_SH("echo $(id -u):$(id -g); : >f && rm f");
    sup_prints(&s, &o, want);
    sup_end(&s);
  }
}

static void hello_is_refused_and_may_come_again(void) {
  struct sup s;
  struct sbx_frame f;
  struct sbx_msg_done m;
  sup_start(&s);
  sup_hello_as(&s, "nobody-here", 0, 0);
  REQUIRE(sup_expect(&s, 0, SBX_MSG_DONE, &f));
  CHECK(sbx_done_decode(&m, f.data, f.len) == 0);
  CHECK(m.code != SBX_DONE_OK && m.text.len > 0);
  sup_hello_as(&s, "daemon", 0, 0);
  CHECK(sup_expect(&s, 0, SBX_MSG_READY, &f));
  sup_end(&s);
}

static void ends_are_told_apart(struct sup *s) {
  static const struct {
    struct sup_spawn o;
    int code, signal, stage, error;
  } cases[] = {
      {{.argv = {"true"}}, 0, 0, 0, 0},
      {{.argv = {"false"}}, 1, 0, 0, 0},
      {SUP_SH("exit 126"), 126, 0, 0, 0},
      {SUP_SH("kill -9 $$"), 137, 9, 0, 0},
      {SUP_SH("kill -TERM $$"), 143, 15, 0, 0},
      {{.argv = {"no-such-program"}}, 0, 0, SBX_FAILED_NOT_FOUND, ENOENT},
      {{.argv = {"/no/such"}}, 0, 0, SBX_FAILED_NOT_FOUND, ENOENT},
      {{.argv = {""}}, 0, 0, SBX_FAILED_NOT_FOUND, ENOENT},
      {{.argv = {NULL}}, 0, 0, SBX_FAILED_NOT_FOUND, ENOENT},
      {{.argv = {"/etc/passwd"}}, 0, 0, SBX_FAILED_NOT_EXECUTABLE, EACCES},
      {{.argv = {"/tmp"}}, 0, 0, SBX_FAILED_NOT_EXECUTABLE, EISDIR},
      {{.argv = {"true"}, .cwd = "/no"}, 0, 0, SBX_FAILED_CWD, ENOENT},
      {{.argv = {"true"}, .cwd = "/etc/passwd"}, 0, 0, SBX_FAILED_CWD, ENOTDIR},
      {{.argv = {"true"}, .env = {"PATH", "/no:/nor"}},
       0,
       0,
       SBX_FAILED_NOT_FOUND,
       ENOENT},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sup_result r = sup_run(s, &cases[i].o);
    CHECK_INT(r.failed.stage, cases[i].stage);
    CHECK_INT(r.failed.error, cases[i].error);
    CHECK_INT(r.exit.code, cases[i].code);
    CHECK_INT(r.exit.signal, cases[i].signal);
    CHECK_INT(r.exit.oom, 0);
    CHECK_INT(r.started, cases[i].stage == 0);
    CHECK(cases[i].stage != 0 || r.exit.max_rss_kib > 100);
    sup_result_fini(&r);
  }
}

static void a_command_starts_clean(struct sup *s) {
  struct sup_spawn fds = SUP_SH("cd /proc/self/fd && echo *");
  struct sup_spawn status = SUP_SH(
      "set -- $(grep -E '^(SigBlk|SigIgn|CapBnd|CapPrm|NoNewPrivs)' "
      "/proc/self/status); shift; echo $1 $3 $5 $7 $9; umask; "
      "cut -d' ' -f5,6 /proc/$$/stat | { read g x; [ $g = $$ ] && echo group; "
      "}");
  struct sup_spawn env = {
      .argv = {"sh", "-c", "echo $ANVIA_PROCESS_MARK; echo $A; pwd"},
      .env = {"A", "b=c d"}};
  char want[128];
  sup_prints(s, &fds, "0 1 2 3\n"); /* 3 is the directory */
  sup_prints(s, &status,
             "0000000000000000 0000000000000000 0000000000000000 "
             "0000000000000000 1\n0022\ngroup\n");
  snprintf(want, sizeof(want), "%s\nb=c d\n%s\n", MARK, s->workspace);
  sup_prints(s, &env, want);
}

static void both_streams_come(struct sup *s) {
  struct sup_spawn o = SUP_SH("echo out; echo err >&2; printf more");
  struct sup_result r = sup_run(s, &o);
  CHECK(sup_printed(&r, 0, "out\nmore"));
  CHECK(sup_printed(&r, 1, "err\n"));
  CHECK(r.eof[0] && r.eof[1]);
  sup_result_fini(&r);
}

static void all_that_was_printed_comes_before_the_end(struct sup *s) {
  struct sup_spawn o = SUP_SH("head -c 1000000 /dev/zero; printf END");
  for (int i = 0; i < 20; i++) {
    struct sup_result r = sup_run(s, &o);
    CHECK_INT(r.out[0].len, 1000003);
    CHECK(r.out[0].len >= 3 &&
          memcmp(r.out[0].data + r.out[0].len - 3, "END", 3) == 0);
    sup_result_fini(&r);
  }
}

static void a_child_that_holds_the_pipe_delays_nothing(struct sup *s) {
  struct sup_spawn o = SUP_SH("sleep 60 & printf hi");
  uint64_t began = sbx_now_ms();
  struct sup_result r = sup_run(s, &o);
  CHECK(sup_printed(&r, 0, "hi"));
  CHECK(sbx_now_ms() - began < 2000);
  sup_result_fini(&r);
}

static void without_credit_a_command_waits_alone(struct sup *s) {
  struct sup_spawn flood = {.argv = {"cat", "/dev/zero"}, .credit = 1000};
  struct sup_spawn o = SUP_SH("echo hi");
  struct sup_result r;
  struct sbx_frame f;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &flood);
  while (r.out[0].len < 1000 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  CHECK(!sup_next(s, &f, 100));
  CHECK_INT(r.out[0].len, 1000);
  sup_prints(s, &o, "hi\n");
  sup_credit(s, id, SBX_MSG_STDOUT, 5000);
  while (r.out[0].len < 6000 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  CHECK_INT(r.out[0].len, 6000);
  sup_kill(s, id, 0);
  CHECK(sup_expect(s, id, SBX_MSG_KILLED, &f));
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  sup_result_fini(&r);
}

static void a_flood_does_not_hold_up_the_others(struct sup *s) {
  struct sup_spawn flood = {.argv = {"cat", "/dev/zero"}};
  struct sup_spawn o = SUP_SH("echo hi");
  uint32_t id = sup_spawn(s, &flood);
  uint64_t began = sbx_now_ms();
  for (int i = 0; i < 10; i++)
    sup_prints(s, &o, "hi\n");
  CHECK(sbx_now_ms() - began < 2000);
  sup_kill(s, id, 0);
  struct sbx_frame f;
  CHECK(sup_expect(s, id, SBX_MSG_KILLED, &f));
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
}

static void capture_keeps_the_ends_and_counts_the_rest(struct sup *s) {
  static const struct {
    uint8_t keep;
    const char *printed;
    size_t at;
  } cases[] = {{SBX_KEEP_HEAD, "1\n2\n3\n4\n5\n", 10},
               {SBX_KEEP_TAIL, "98\n99\n100\n", 0},
               {SBX_KEEP_BOTH, "1\n2\n3\n\n100\n", 5}};
  for (size_t i = 0; i < 3; i++) {
    struct sup_spawn o = {.argv = {"seq", "100"},
                          .flags = SBX_SPAWN_CAPTURE,
                          .max_bytes = 10,
                          .keep = cases[i].keep};
    struct sup_result r = sup_run(s, &o);
    CHECK_INT(r.out[0].len, 10);
    CHECK_INT(r.out[0].len + r.omitted[0], 292);
    CHECK_INT(r.omitted_at[0], cases[i].at);
    if (cases[i].keep != SBX_KEEP_BOTH)
      CHECK(sup_printed(&r, 0, cases[i].printed));
    CHECK(r.eof[0] && r.eof[1]);
    sup_result_fini(&r);
  }
  struct sup_spawn o = {.argv = {"head", "-c", "104857600", "/dev/zero"},
                        .flags = SBX_SPAWN_CAPTURE,
                        .max_bytes = 1 << 20,
                        .keep = SBX_KEEP_BOTH};
  struct sup_result r = sup_run(s, &o);
  CHECK_INT(r.out[0].len, 1 << 20);
  CHECK_INT(r.omitted[0], 104857600 - (1 << 20));
  sup_result_fini(&r);
}

static void what_a_cap_cannot_touch_comes_early(struct sup *s) {
  struct sup_spawn o = {.argv = {"sh", "-c", "echo partial; exec sleep 60"},
                        .flags = SBX_SPAWN_CAPTURE,
                        .max_bytes = 1000,
                        .keep = SBX_KEEP_BOTH};
  struct sup_result r;
  struct sbx_frame f;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &o);
  while (r.out[0].len < 8 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  CHECK(sup_printed(&r, 0, "partial\n"));
  sup_kill(s, id, 0);
  sup_follow(s, id, &r);
  CHECK(sup_printed(&r, 0, "partial\n"));
  CHECK_INT(r.omitted[0], 0);
  sup_result_fini(&r);
  o.argv[2] = "seq 1000; sleep 0.2; seq 1000";
  o.max_bytes = 2000;
  r = sup_run(s, &o);
  CHECK_INT(r.out[0].len, 2000);
  CHECK_INT(r.omitted[0], 2 * 3893 - 2000);
  CHECK_INT(r.omitted_at[0], 1000);
  sup_result_fini(&r);
}

static void captured_output_needs_credit_too(struct sup *s) {
  struct sup_spawn o = {.argv = {"seq", "100"},
                        .flags = SBX_SPAWN_CAPTURE,
                        .max_bytes = 1000,
                        .no_credit = true};
  struct sup_result r;
  struct sbx_frame f;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &o);
  while (sup_next(s, &f, 200))
    sup_take(&r, &f);
  CHECK(!r.exited && r.out[0].len == 0);
  sup_credit(s, id, SBX_MSG_STDOUT, 100);
  while (sup_next(s, &f, 200))
    sup_take(&r, &f);
  CHECK(!r.exited && r.out[0].len == 100);
  sup_credit(s, id, SBX_MSG_STDOUT, 1000);
  sup_follow(s, id, &r);
  CHECK_INT(r.out[0].len, 292);
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  sup_result_fini(&r);
}

static void input_is_delivered_and_ends(struct sup *s) {
  struct sup_spawn cat = {.argv = {"cat"}, .flags = SBX_SPAWN_STDIN};
  struct sup_spawn sum = {.argv = {"wc", "-c"}, .flags = SBX_SPAWN_STDIN};
  struct sup_spawn gone = {.argv = {"sleep", "0.2"}, .flags = SBX_SPAWN_STDIN};
  struct sup_spawn none = {.argv = {"cat"}};
  struct sup_result r;
  struct sbx_frame f;
  static uint8_t chunk[50000];

  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &cat);
  sup_data(s, id, "hello", 5); /* before STARTED */
  sup_eof(s, id);
  sup_follow(s, id, &r);
  CHECK(sup_printed(&r, 0, "hello"));
  sup_result_fini(&r);

  sup_result_init(&r);
  size_t credit = 256 * 1024, sent = 0;
  id = sup_spawn(s, &sum);
  while (sent < 5000000) {
    while (credit < sizeof(chunk) && sup_next(s, &f, WAIT_MS))
      if (f.id == id && f.type == SBX_MSG_CREDIT)
        credit += sbx_get_u32(f.data + 1);
    sup_data(s, id, chunk, sizeof(chunk));
    credit -= sizeof(chunk);
    sent += sizeof(chunk);
  }
  sup_eof(s, id);
  r.started = true;
  sup_follow(s, id, &r);
  CHECK(sup_printed(&r, 0, "5000000\n"));
  sup_result_fini(&r);

  sup_result_init(&r);
  id = sup_spawn(s, &gone);
  for (int i = 0; i < 5; i++)
    sup_data(s, id, chunk, sizeof(chunk));
  sup_follow(s, id, &r);
  CHECK_INT(r.exit.code, 0);
  sup_result_fini(&r);
  sup_prints(s, &none, "");
}

static void a_terminal_is_one(struct sup *s) {
  struct sup_spawn o = {.argv = {"sh", "-c",
                                 "tty >/dev/null && stty size; read x; "
                                 "stty size; read x || echo over"},
                        .flags = SBX_SPAWN_PTY | SBX_SPAWN_STDIN};
  struct sup_result r;
  struct sbx_frame f;
  uint8_t size[4];
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, &o);
  while (r.out[0].len < 7 && sup_next(s, &f, WAIT_MS))
    sup_take(&r, &f);
  sbx_put_u16(size, 50);
  sbx_put_u16(size + 2, 132);
  sup_send(s, id, SBX_MSG_RESIZE, size, sizeof(size));
  sup_data(s, id, "go\n", 3);
  sup_eof(s, id);
  sup_follow(s, id, &r);
  CHECK(sup_printed(&r, 0, "24 80\r\ngo\r\n50 132\r\nover\r\n"));
  CHECK_INT(r.exit.code, 0);
  sup_result_fini(&r);
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
}

static void what_is_forgotten_goes_on(struct sup *s) {
  struct sup_spawn o = SUP_SH("seq 100000; sleep 0.1; : >done");
  struct sup_spawn look =
      SUP_SH("while [ ! -e done ]; do sleep 0.02; done; rm done; echo yes");
  uint32_t id = sup_spawn(s, &o);
  sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  sup_prints(s, &look, "yes\n");
}

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Not judged: the machine may be busy. */
static void measure(struct sup *s) {
  static uint64_t ns[500];
  struct sup_spawn o = {.argv = {"/bin/true"}, .flags = SBX_SPAWN_CAPTURE};
  for (int i = 0; i < 500; i++) {
    uint64_t began = sbx_now_ns();
    struct sup_result r = sup_run(s, &o);
    ns[i] = sbx_now_ns() - began;
    sup_result_fini(&r);
  }
  qsort(ns, 500, sizeof(ns[0]), by_number);
  fprintf(stderr, "spawn to exit: median %.3f ms, p95 %.3f ms\n",
          (double)ns[250] / 1e6, (double)ns[475] / 1e6);
}

int main(void) {
  struct sup s;
  signal(SIGPIPE, SIG_IGN);
  if (!sup_is_possible())
    return check_skip();
  hello_tells_who_commands_are();
  hello_is_refused_and_may_come_again();
  sup_open(&s, "daemon");
  ends_are_told_apart(&s);
  a_command_starts_clean(&s);
  both_streams_come(&s);
  all_that_was_printed_comes_before_the_end(&s);
  a_child_that_holds_the_pipe_delays_nothing(&s);
  without_credit_a_command_waits_alone(&s);
  a_flood_does_not_hold_up_the_others(&s);
  capture_keeps_the_ends_and_counts_the_rest(&s);
  what_a_cap_cannot_touch_comes_early(&s);
  captured_output_needs_credit_too(&s);
  input_is_delivered_and_ends(&s);
  a_terminal_is_one(&s);
  what_is_forgotten_goes_on(&s);
  measure(&s);
  sup_end(&s);
  return check_done();
}
