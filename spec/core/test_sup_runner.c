/* SPDX-License-Identifier: MIT */
/* Sessions with the real supervisor: the same cases as for the exec runner, and
 * what only this one can do. */
#include "proc/probe_op.h"
#include "sup_session.h"

/* has an `mb` */
#include "session_cases.h"

static struct sbx_session *new_session(size_t max_processes, uint64_t ttl_ms,
                                       uint64_t idle_ms) {
  return sup_session(mb, max_processes, ttl_ms, idle_ms);
}

static struct sbx_exec_op *run_exec(struct sbx_session *s, const char *text) {
  struct sbx_exec_op *op = new_exec(mb, s, text, 20000);

  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  return op;
}

static void the_end_is_told_exactly(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  static const struct {
    const char *text;
    int code, signal;
  } cases[] = {
      {"exit 143", 143, 0},
      {"kill -TERM $$", 143, SIGTERM},
      {"kill -KILL $$", 137, SIGKILL},
      {"exit 255", 255, 0},
  };
  struct sbx_exec_op *op;
  size_t i;

  open_session(mb, s);
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    op = run_exec(s, cases[i].text);
    CHECK_INT(op->exit_code, cases[i].code);
    CHECK_INT(op->signal, cases[i].signal);
    CHECK(!op->oom);
    sbx_op_unref(&op->base.op);
  }
  op = run_exec(s, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
  CHECK(op->usage_known);
  CHECK(op->usage.user_us > 1000);
  CHECK(op->usage.max_rss_kib > 100);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void failures_to_start_are_told_apart(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  static const struct {
    const char *program, *cwd, *says;
    int code;
  } cases[] = {
      {"/no/such", NULL, "not found", 127},
      {"no-such", NULL, "not found", 127},
      {"/etc/passwd", NULL, "not executable", 126},
      {"/etc", NULL, "a directory", 126},
      {"true", "/no/such", "working directory", 125},
  };
  size_t i;

  open_session(mb, s);
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_exec_op *op = new_exec(mb, s, "", 10000);

    free(op->options.command.argv[0]);
    op->options.command.argv[0] = strdup(cases[i].program);
    if (cases[i].cwd != NULL)
      op->options.command.cwd = strdup(cases[i].cwd);
    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, SBX_EPROCESS);
    CHECK(op->could_not_start);
    CHECK_INT(op->exit_code, cases[i].code);
    if (!CHECK(strstr(op->base.op.err.message, cases[i].says) != NULL))
      fprintf(stderr, "  %s\n", op->base.op.err.message);
    sbx_op_unref(&op->base.op);
  }
  close_session(mb, s);
}

/* What is captured where it comes from looks as if it had been captured here:
 * the same command, streamed, is. */
static void captured_output_is_the_same(void) {
  static const char *const texts[] = {
      "printf '%s' abc",
      ("i=0; while [ $i -lt 3000 ]; do printf 'a\\303\\251\\346\\227\\245"
       "\\360\\237\\230\\200'; i=$((i+1)); done"),
      "head -c 70000 /dev/zero; printf '\\346\\227'; printf x >&2",
  };
  static const size_t caps[] = {0, 1, 2, 10, 1001, 1002, 1003, 1004, 69999};
  struct sbx_session *s = new_session(4, 0, 0);
  size_t i, c;
  int keep;

  open_session(mb, s);
  for (i = 0; i < 3; i++)
    for (c = 0; c < sizeof(caps) / sizeof(caps[0]); c++)
      for (keep = 0; keep < 3; keep++) {
        struct sbx_exec_op *ops[2];

        for (int stream = 0; stream < 2; stream++) {
          ops[stream] = new_exec(mb, s, texts[i], 20000);
          ops[stream]->options.stream = stream;
          ops[stream]->options.how.max_output = caps[c];
          ops[stream]->options.how.keep = (enum sbx_keep)keep;
          sbx_op_submit(&ops[stream]->base.op);
          await(mb, &ops[stream]->base.op);
          CHECK_INT(ops[stream]->base.op.rc, 0);
        }
        CHECK_MEM(ops[0]->out.data, ops[0]->out.len, ops[1]->out.data,
                  ops[1]->out.len);
        CHECK_INT(ops[0]->out.omitted, ops[1]->out.omitted);
        CHECK_INT(ops[0]->out.cut_at, ops[1]->out.cut_at);
        CHECK_INT(ops[0]->errout.len, ops[1]->errout.len);
        sbx_op_unref(&ops[0]->base.op);
        sbx_op_unref(&ops[1]->base.op);
      }
  close_session(mb, s);
}

static size_t drain(struct sbx_exec_op *op) {
  struct sbx_chunk *chunk;
  size_t n = 0;

  while ((chunk = sbx_op_read(&op->base.op)) != NULL) {
    n += chunk->len;
    free(chunk);
  }
  return n;
}

/* A reader that is slow stops its command, and no other. */
static void streams_flow_under_credit(void) {
  enum { TOTAL = 20000000 };
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *slow, *fast;
  size_t got = 0;

  open_session(mb, s);
  slow = new_exec(mb, s, "head -c 20000000 /dev/zero", 60000);
  slow->options.stream = true;
  sbx_op_submit(&slow->base.op);
  usleep(300000);
  CHECK(!sbx_op_done(&slow->base.op));
  fast = run_exec(s, "echo works");
  CHECK_MEM(fast->out.data, fast->out.len, "works\n", 6);
  sbx_op_unref(&fast->base.op);
  for (uint64_t end = sbx_now_ms() + 20000;
       !sbx_op_done(&slow->base.op) && sbx_now_ms() < end;) {
    struct sbx_op *news;

    got += drain(slow);
    news = sbx_mailbox_next(mb, 100);
    if (news != NULL)
      sbx_op_unref(news);
  }
  got += drain(slow);
  CHECK_INT(got, TOTAL);
  CHECK_INT(slow->exit_code, 0);
  sbx_op_unref(&slow->base.op);
  close_session(mb, s);
}

static void input_of_any_size(void) {
  static const size_t sizes[] = {0, 1, 65535, 65536, 262144, 262145, 5000000};
  struct sbx_session *s = new_session(4, 0, 0);
  size_t i;

  open_session(mb, s);
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    struct sbx_exec_op *op = new_exec(mb, s, "wc -c", 20000);
    char want[32];

    snprintf(want, sizeof(want), "%zu\n", sizes[i]);
    op->options.has_input = true;
    op->options.input = calloc(1, sizes[i] + 1);
    op->options.input_len = sizes[i];
    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_MEM(op->out.data, op->out.len, want, strlen(want));
    sbx_op_unref(&op->base.op);

    /* and a program that does not want it */
    op = new_exec(mb, s, "exec <&-; echo done", 20000);
    op->options.has_input = true;
    op->options.input = calloc(1, sizes[i] + 1);
    op->options.input_len = sizes[i];
    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_MEM(op->out.data, op->out.len, "done\n", 5);
    sbx_op_unref(&op->base.op);
  }
  close_session(mb, s);
}

static void a_terminal_has_a_size(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;
  struct sbx_process_op *start, *resize;

  open_session(mb, s);
  op = new_exec(mb, s, "stty size; test -t 0 && test -t 1 && test -t 2", 20000);
  op->options.how.pty = true;
  op->options.how.rows = 33;
  op->options.how.cols = 101;
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_STR(op->base.op.err.message, "");
  CHECK_MEM(op->out.data, op->out.len, "33 101\r\n", 8);
  CHECK_INT(op->exit_code, 0);
  sbx_op_unref(&op->base.op);

  start = new_start(mb, s, "a", "while sleep 0.1; do stty size; done");
  start->how.pty = true;
  start->how.rows = 20;
  start->how.cols = 30;
  sbx_op_submit(&start->base.op);
  await(mb, &start->base.op);
  CHECK_INT(start->base.op.rc, 0);
  sbx_op_unref(&start->base.op);
  resize = sbx_process_op_new(&sbx_resize_op_class, mb, s, "a");
  resize->rows = 40;
  resize->cols = 50;
  sbx_op_submit(&resize->base.op);
  await(mb, &resize->base.op);
  CHECK_INT(resize->base.op.rc, 0);
  sbx_op_unref(&resize->base.op);
  usleep(500000);
  start = run_process_op(mb, s, &sbx_logs_op_class, "a", 0);
  CHECK(start->text[0].len > 0 &&
        memmem(start->text[0].data, start->text[0].len, "40 50\r\n", 7) !=
            NULL);
  sbx_op_unref(&start->base.op);
  sbx_op_unref(&run_process_op(mb, s, &sbx_drop_op_class, "a", 500)->base.op);
  close_session(mb, s);
}

static void input_reaches_a_process(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_process_op *op = new_start(mb, s, "a", "cat");

  open_session(mb, s);
  op->has_stdin = true;
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  sbx_op_unref(&op->base.op);
  for (int i = 0; i < 3; i++) {
    op = sbx_process_op_new(&sbx_write_op_class, mb, s, "a");
    op->data = calloc(1, 200000);
    op->data_len = 200000;
    memset(op->data, 'a' + i, 200000);
    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, 0);
    sbx_op_unref(&op->base.op);
  }
  sbx_op_unref(
      &run_process_op(mb, s, &sbx_close_stdin_op_class, "a", 0)->base.op);
  op = run_process_op(mb, s, &sbx_wait_op_class, "a", 5000);
  CHECK_INT(op->infos[0].exit_code, 0);
  CHECK(op->infos[0].usage_known);
  sbx_op_unref(&op->base.op);
  op = run_process_op(mb, s, &sbx_logs_op_class, "a", 0);
  CHECK_INT(op->cursor[0], 600000);
  CHECK(op->text[0].len > 0 && op->text[0].data[op->text[0].len - 1] == 'c');
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void a_session_that_cannot_be_opened_says_why(void) {
  static const struct {
    const char *user, *program, *says;
    int rc;
  } cases[] = {
      {"no-such-user", NULL, "no such user", SBX_ECOMMAND},
      {"0:no-such-group", NULL, "no such user", SBX_ECOMMAND},
      {"", "/bin/false", "ended before it was ready", SBX_ECOMMAND},
      {"", "/bin/echo", "protocol", SBX_EPROTO},
  };
  size_t i;

  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *program =
        cases[i].program != NULL ? cases[i].program : sup_program_path();
    struct sbx_request *attach =
        i == 3 ? shell_request("echo 0123456789abcdef; cat >/dev/null", NULL)
               : container_request(program);
    struct sbx_session *s = session_over(mb, attach, cases[i].user, 0, 0, 4);
    struct sbx_open_op *op = sbx_open_op_new(mb, s, 10000);

    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, cases[i].rc);
    if (!CHECK(strstr(op->base.op.err.message, cases[i].says) != NULL))
      fprintf(stderr, "  %s\n", op->base.op.err.message);
    sbx_op_unref(&op->base.op);
    close_session(mb, s);
  }
}

int main(int argc, char **argv) {
  struct sbx_err err = {0};

  if (argc > 2 && strcmp(argv[1], SUP_CONTAINER) == 0)
    return sup_container(argv[2]);
  if (!sup_session_is_possible())
    return check_skip();
  REQUIRE(sbx_mailbox_new(&mb, &err) == 0);
  the_end_is_told_exactly();
  failures_to_start_are_told_apart();
  captured_output_is_the_same();
  streams_flow_under_credit();
  input_of_any_size();
  a_terminal_has_a_size();
  input_reaches_a_process();
  a_session_that_cannot_be_opened_says_why();
  run_session_cases();
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  return check_done();
}
