/* SPDX-License-Identifier: MIT */
#include "proc/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/probe_op.h"

static char **copy_strings(char *const *from, size_t n) {
  char **to = calloc(n + 1, sizeof(*to));
  size_t i;

  for (i = 0; to != NULL && i < n; i++) {
    to[i] = strdup(from[i]);
    if (to[i] == NULL) {
      while (i-- > 0)
        free(to[i]);
      free(to);
      return NULL;
    }
  }
  return to;
}

int sbx_process_info_copy(struct sbx_process_info *out,
                          const struct sbx_process *p) {
  memset(out, 0, sizeof(*out));
  out->id = strdup(p->id);
  out->command.argv = copy_strings(p->command.argv, p->command.argc);
  if (out->command.argv != NULL)
    out->command.argc = p->command.argc;
  if (p->command.cwd != NULL)
    out->command.cwd = strdup(p->command.cwd);
  if (out->id == NULL || out->command.argv == NULL ||
      (p->command.cwd != NULL && out->command.cwd == NULL)) {
    sbx_process_info_fini(out);
    return -ENOMEM;
  }
  out->status = p->status;
  out->exit_known = p->exit_known;
  out->exit_code = p->exit_code;
  out->signal = p->signal;
  out->oom = p->oom;
  out->usage_known = p->usage_known;
  out->usage = p->usage;
  out->started_at = p->started_at;
  out->ended_at = p->ended_at;
  return 0;
}

void sbx_process_info_fini(struct sbx_process_info *info) {
  free(info->id);
  info->id = NULL;
  sbx_command_copy_fini(&info->command);
}

int sbx_process_new(struct sbx_process **out, struct sbx_session *s, char *id,
                    struct sbx_command_copy *command,
                    const struct sbx_job_options *how, bool has_stdin) {
  struct sbx_process *p = calloc(1, sizeof(*p));

  if (p == NULL || sbx_ring_new(&p->ring[0], s->options.max_output) < 0 ||
      sbx_ring_new(&p->ring[1], s->options.max_output) < 0) {
    if (p != NULL)
      sbx_ring_free(p->ring[0]);
    free(p);
    free(id);
    sbx_command_copy_fini(command);
    return -ENOMEM;
  }
  p->session = s;
  p->id = id;
  p->command = *command;
  memset(command, 0, sizeof(*command));
  p->how = *how;
  p->has_stdin = has_stdin;
  p->status = SBX_PROCESS_STARTING;
  sbx_list_init(&p->starter);
  sbx_list_init(&p->waiters);
  sbx_list_init(&p->stoppers);
  sbx_list_init(&p->writers);
  sbx_list_init(&p->signallers);
  sbx_list_append(&s->processes, &p->link);
  s->process_count++;
  *out = p;
  return 0;
}

void sbx_process_remove(struct sbx_process *p) {
  struct sbx_session *s = p->session;

  if (p->job != NULL)
    p->job->runner->ops->close(p->job);
  sbx_process_on_removed(p);
  if (p->status == SBX_PROCESS_RUNNING)
    s->running_count--;
  s->process_count--;
  sbx_list_remove(&p->link);
  sbx_ring_free(p->ring[0]);
  sbx_ring_free(p->ring[1]);
  sbx_command_copy_fini(&p->command);
  free(p->id);
  free(p);
}

struct sbx_process *sbx_process_find(struct sbx_session *s, const char *id) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &s->processes) {
    struct sbx_process *p = SBX_LIST_OWNER(it, struct sbx_process, link);

    if (strcmp(p->id, id) == 0)
      return p;
  }
  return NULL;
}

static struct sbx_process *oldest_ended(struct sbx_session *s, bool gone) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &s->processes) {
    struct sbx_process *p = SBX_LIST_OWNER(it, struct sbx_process, link);

    if (sbx_process_ended(p) && !p->killing && p->group_gone == gone)
      return p;
  }
  return NULL;
}

bool sbx_process_make_room(struct sbx_session *s) {
  struct sbx_process *p = oldest_ended(s, true);

  if (p == NULL)
    return false;
  sbx_process_remove(p);
  return true;
}

struct sbx_process *sbx_process_unconfirmed(struct sbx_session *s) {
  return oldest_ended(s, false);
}

void sbx_process_close_all(struct sbx_session *s) {
  while (!sbx_list_empty(&s->processes))
    sbx_process_remove(
        SBX_LIST_OWNER(s->processes.next, struct sbx_process, link));
}

static void on_count(void *arg, int rc, size_t count) {
  struct sbx_process *p = arg;

  p->group_gone = rc == 0 && count == 0;
  if (p->group_gone)
    sbx_probe_process_gone(p->session);
}

void sbx_process_recheck(struct sbx_process *p) {
  (void)p->job->runner->ops->count(p->job, on_count, p);
}

static void end(struct sbx_process *p) {
  p->status = p->stop_asked ? SBX_PROCESS_STOPPED : SBX_PROCESS_EXITED;
  p->ended_at = (int64_t)sbx_wall_ms();
  p->session->running_count--;
  sbx_session_update_idle(p->session);
  /* Are children left? The answer counts when room is needed. */
  sbx_process_recheck(p);
  sbx_process_on_ended(p);
}

static void on_started(void *arg) {
  struct sbx_process *p = arg;

  p->started_at = (int64_t)sbx_wall_ms();
  if (!p->given_up) /* which counts already */
    p->session->running_count++;
  p->status = SBX_PROCESS_RUNNING;
  sbx_session_update_idle(p->session);
  if (!p->has_stdin)
    p->job->runner->ops->close_input(p->job);
  sbx_process_on_started(p);
}

static void on_failed(void *arg, const struct sbx_job_loss *loss) {
  sbx_process_on_failed(arg, loss);
}

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct sbx_process *p = arg;

  /* Out of memory drops these bytes; the pipe must be kept empty anyway. */
  (void)sbx_ring_push(p->ring[fd == SBX_ERR], data, len);
}

static void on_drain(void *arg) {
  sbx_process_on_drained(arg);
}

static void on_exit_event(void *arg, const struct sbx_job_exit *ex) {
  struct sbx_process *p = arg;
  bool unwanted;

  p->exit_known = true;
  p->exit_code = ex->exit_code;
  p->signal = ex->signal;
  p->oom = ex->oom;
  p->usage_known = ex->usage_known;
  p->usage = ex->usage;
  unwanted = p->given_up && sbx_list_empty(&p->stoppers); /* they may drop it */
  end(p);
  if (unwanted)
    sbx_process_remove(p);
}

static void on_orphans_killed(void *arg, const struct sbx_err *err) {
  struct sbx_process *p = arg;

  p->group_gone = err == NULL;
}

/* The client died, the process perhaps not: nobody would see it any more. The
 * record may go while its end is reported. */
static void on_lost(void *arg, const struct sbx_job_loss *loss) {
  struct sbx_process *p = arg;

  (void)loss;
  if (!p->killing)
    (void)p->job->runner->ops->kill(p->job, 0, on_orphans_killed, p);
  end(p);
}

static const struct sbx_job_events events = {
    .on_started = on_started,
    .on_failed = on_failed,
    .on_data = on_data,
    .on_drain = on_drain,
    .on_exit = on_exit_event,
    .on_lost = on_lost,
};

int sbx_process_launch(struct sbx_process *p, struct sbx_err *err) {
  struct sbx_command cmd = sbx_command_of(&p->command, p->has_stdin);
  struct sbx_runner *runner = p->session->runner;

  p->session->last_was_process = true;
  return runner->ops->start(runner, &cmd, &p->how, &events, p, &p->job, err);
}

static void on_killed(void *arg, const struct sbx_err *err) {
  struct sbx_process *p = arg;

  p->killing = false;
  if (err == NULL)
    p->group_gone = true;
  sbx_process_on_killed(p, err);
}

void sbx_process_kill(struct sbx_process *p, uint64_t grace_ms) {
  struct sbx_err err = {0};

  if (p->killing)
    return;
  p->killing = true;
  p->stop_asked = true;
  if (p->job->runner->ops->kill(p->job, grace_ms, on_killed, p) < 0) {
    sbx_fail(&err, SBX_EINTERNAL, "out of memory");
    on_killed(p, &err);
  }
}
