/* SPDX-License-Identifier: MIT */
/* session_cases.h - the process manager on real processes of this machine,
 * without an engine: the cases are the same for each runner. */
#ifndef SBX_SESSION_CASES_H
#define SBX_SESSION_CASES_H

#include "base/clock.h"
#include "io/op.h"
#include "local_session.h"
#include "proc/session.h"
#include "wire/control.h"

static struct sbx_mailbox *mb;

/* The includer's. */
static struct sbx_session *new_session(size_t max_processes, uint64_t ttl_ms,
                                       uint64_t idle_ms);

static void commands_give_their_own_result(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  static const struct {
    const char *text, *out, *errout;
    int code;
  } cases[] = {
      {"printf out; printf err >&2", "out", "err", 0},
      {"exit 3", "", "", 3},
      {"kill -TERM $$", "", "", 143},
      {"printf '\\036ANVIA_EXIT:x:0\\036'; exit 7",
       "\x1e"
       "ANVIA_EXIT:x:0\x1e",
       "", 7},
      {"cat", "", "", 0}, /* no input: /dev/null */
  };
  size_t i;

  open_session(mb, s);
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_exec_op *op = new_exec(mb, s, cases[i].text, 10000);

    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, 0);
    CHECK(op->exit_known);
    CHECK_INT(op->exit_code, cases[i].code);
    CHECK_MEM(op->out.data, op->out.len, cases[i].out, strlen(cases[i].out));
    CHECK_MEM(op->errout.data, op->errout.len, cases[i].errout,
              strlen(cases[i].errout));
    sbx_op_unref(&op->base.op);
  }
  close_session(mb, s);
}

static void a_missing_program_is_an_error(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "", 10000);
  free(op->options.command.argv[0]);
  op->options.command.argv[0] = strdup("no-such-program");
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_EPROCESS);
  CHECK(op->could_not_start);
  CHECK_INT(op->exit_code, 127);
  CHECK_INT(op->out.len, 0);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void a_timeout_kills_the_tree(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;
  uint64_t began = sbx_now_ms();

  open_session(mb, s);
  op = new_exec(mb, s,
                "echo before; trap '' TERM; (setsid sh -c 'sleep 7771' &); "
                "sleep 7771",
                400);
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK(op->timed_out);
  CHECK_INT(op->exit_code, 124);
  CHECK_MEM(op->out.data, op->out.len, "before\n", 7);
  CHECK(sbx_now_ms() - began < 8000);
  CHECK(system("pgrep -f '^sleep 7771$' >/dev/null") != 0);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void a_cancel_kills_the_tree(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "sleep 7772", 20000);
  sbx_op_submit(&op->base.op);
  usleep(300000);
  sbx_op_cancel(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK(op->cancelled);
  CHECK_INT(op->exit_code, 128 + SIGTERM);
  CHECK(system("pgrep -f '^sleep 7772$' >/dev/null") != 0);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void a_command_cancelled_at_once_is_a_result(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "echo ran", 20000);
  sbx_op_submit(&op->base.op);
  sbx_op_cancel(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK(op->cancelled);
  CHECK_INT(op->out.len, 0);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void output_beyond_the_cap_is_counted(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "head -c 5000000 /dev/zero; printf END", 20000);
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->out.len, 100000);
  CHECK_INT(op->out.omitted, 5000003 - 100000);
  CHECK_MEM(op->out.data + op->out.len - 3, 3, "END", 3);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void processes_start_report_and_stop(void) {
  struct sbx_session *s = new_session(2, 0, 0);
  struct sbx_process_op *op;

  open_session(mb, s);
  op = new_start(mb, s, "a", "echo up; sleep 7773 & wait");
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK_INT(op->infos[0].status, SBX_PROCESS_RUNNING);
  sbx_op_unref(&op->base.op);

  usleep(200000);
  op = run_process_op(mb, s, &sbx_logs_op_class, "a", 0);
  CHECK_MEM(op->text[0].data, op->text[0].len, "up\n", 3);
  sbx_op_unref(&op->base.op);

  op = run_process_op(mb, s, &sbx_stop_op_class, "a", 2000);
  CHECK_INT(op->base.op.rc, 0);
  CHECK_INT(op->infos[0].status, SBX_PROCESS_STOPPED);
  CHECK_INT(op->infos[0].exit_code, 143);
  sbx_op_unref(&op->base.op);
  CHECK(system("pgrep -f '^sleep 7773$' >/dev/null") != 0);

  op = run_process_op(mb, s, &sbx_wait_op_class, "none", 100);
  CHECK_INT(op->base.op.rc, SBX_ENOTFOUND);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void the_table_is_limited_and_pruned(void) {
  struct sbx_session *s = new_session(2, 0, 0);
  static const struct {
    const char *id, *text;
    int rc;
  } cases[] = {
      {"a", "sleep 7774", 0},
      {"b", "exit 0", 0},
      {"c", "sleep 7774", 0},
      {"d", "exit 0", SBX_EPROCESS},
  };
  size_t i;

  open_session(mb, s);
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_process_op *op = new_start(mb, s, cases[i].id, cases[i].text);

    sbx_op_submit(&op->base.op);
    await(mb, &op->base.op);
    CHECK_INT(op->base.op.rc, cases[i].rc);
    if (cases[i].rc != 0)
      CHECK(strstr(op->base.op.err.message, "limit is 2") != NULL);
    sbx_op_unref(&op->base.op);
    if (strcmp(cases[i].id, "b") == 0)
      sbx_op_unref(
          &run_process_op(mb, s, &sbx_wait_op_class, "b", 5000)->base.op);
  }
  sbx_op_unref(&run_process_op(mb, s, &sbx_drop_op_class, "a", 1000)->base.op);
  sbx_op_unref(&run_process_op(mb, s, &sbx_drop_op_class, "c", 1000)->base.op);
  CHECK(system("pgrep -f '^sleep 7774$' >/dev/null") != 0);
  close_session(mb, s);
}

static void ttl_ends_what_is_pending(void) {
  struct sbx_session *s = new_session(2, 500, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "echo early; exec sleep 3", 20000);
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_EDESTROYED);
  CHECK(strstr(op->base.op.err.message, "time to live") != NULL);
  CHECK_MEM(op->out.data, op->out.len, "early\n", 6);
  CHECK(!op->exit_known);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void idle_waits_for_processes(void) {
  struct sbx_session *s = new_session(2, 0, 300);
  struct sbx_process_op *op;

  open_session(mb, s);
  op = new_start(mb, s, "a", "sleep 1");
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  sbx_op_unref(&op->base.op);
  usleep(700000);
  CHECK_INT(atomic_load(&s->state), SBX_SESSION_OPEN);
  usleep(1200000);
  CHECK_INT(atomic_load(&s->reason), SBX_CLOSE_IDLE);
  close_session(mb, s);
}

/* Every operation completes once, whatever happens around it. */
static void many_at_once(void) {
  enum { N = 32 };
  struct sbx_session *s = new_session(N, 0, 0);
  struct sbx_process_op *starts[N];
  struct sbx_process_op *stops[N];
  struct sbx_exec_op *execs[N];
  int i, started = 0;

  open_session(mb, s);
  for (i = 0; i < N; i++) {
    char id[8];

    snprintf(id, sizeof(id), "p%d", i);
    starts[i] = new_start(mb, s, id, "while :; do echo x; sleep 0.05; done");
    sbx_op_submit(&starts[i]->base.op);
    execs[i] = new_exec(mb, s, "seq 1 2000; sleep 0.1", 15000);
    execs[i]->options.stream = true;
    sbx_op_submit(&execs[i]->base.op);
    if (i % 4 == 0)
      sbx_op_cancel(&execs[i]->base.op);
    if (i % 8 == 1)
      sbx_op_cancel(&starts[i]->base.op);
  }
  for (i = 0; i < N; i++) {
    struct sbx_process_op *logs;

    await(mb, &starts[i]->base.op);
    if (starts[i]->base.op.rc == 0)
      started++;
    logs = run_process_op(mb, s, &sbx_logs_op_class, starts[i]->id, 0);
    CHECK_INT(logs->base.op.rc, starts[i]->base.op.rc == 0 ? 0 : SBX_ENOTFOUND);
    sbx_op_unref(&logs->base.op);
    stops[i] = sbx_process_op_new(&sbx_stop_op_class, mb, s, starts[i]->id);
    stops[i]->time_ms = 3000;
    sbx_op_submit(&stops[i]->base.op);
  }
  CHECK(started > 0);
  for (i = 0; i < N; i++) {
    struct sbx_chunk *chunk;

    await(mb, &execs[i]->base.op);
    while ((chunk = sbx_op_read(&execs[i]->base.op)) != NULL)
      free(chunk);
    await(mb, &stops[i]->base.op);
    CHECK_INT(stops[i]->base.op.rc,
              starts[i]->base.op.rc == 0 ? 0 : SBX_ENOTFOUND);
    if (i % 4 != 0) {
      CHECK_INT(execs[i]->base.op.rc, 0);
      CHECK_INT(execs[i]->exit_code, 0);
    }
    sbx_op_unref(&starts[i]->base.op);
    sbx_op_unref(&stops[i]->base.op);
    sbx_op_unref(&execs[i]->base.op);
  }
  close_session(mb, s);
}

static void run_session_cases(void) {
  commands_give_their_own_result();
  a_missing_program_is_an_error();
  a_timeout_kills_the_tree();
  a_cancel_kills_the_tree();
  a_command_cancelled_at_once_is_a_result();
  output_beyond_the_cap_is_counted();
  processes_start_report_and_stop();
  the_table_is_limited_and_pruned();
  ttl_ends_what_is_pending();
  idle_waits_for_processes();
  many_at_once();
}

#endif
