/* SPDX-License-Identifier: MIT */
/* Sessions with the exec runner. */
#include "proc/session.h"
#include "session_cases.h"

static struct sbx_session *new_session(size_t max_processes, uint64_t ttl_ms,
                                       uint64_t idle_ms) {
  return local_session(mb, max_processes, ttl_ms, idle_ms);
}

static void a_lost_command_is_killed(void) {
  struct sbx_session *s = new_session(4, 0, 0);
  struct sbx_exec_op *op;

  open_session(mb, s);
  op = new_exec(mb, s, "echo out; sleep 7775 & wait", 20000);
  sbx_op_submit(&op->base.op);
  usleep(400000);
  /* the client here is the wrapper, the parent of sh, which is sleep's */
  CHECK(system("p=$(pgrep -f '^sleep 7775$') && p=$(ps -o ppid= -p $p) && "
               "kill -9 $(ps -o ppid= -p $p)") == 0);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_ECOMMAND);
  CHECK(!op->exit_known);
  CHECK_MEM(op->out.data, op->out.len, "out\n", 4);
  CHECK(system("pgrep -f '^sleep 7775$' >/dev/null") != 0);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

int main(void) {
  struct sbx_err err = {0};

  REQUIRE(sbx_mailbox_new(&mb, &err) == 0);
  run_session_cases();
  a_lost_command_is_killed();
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  return check_done();
}
