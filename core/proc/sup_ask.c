/* SPDX-License-Identifier: MIT */
/* sup_ask.c - what is asked of a command's tree: COUNT, SIGNAL and KILL. The
 * supervisor answers in order, and within a bounded time; if it does not, it is
 * said that nobody knows. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/sup_job.h"

#define ANSWER_MS 3000
/* After KILL: the sweeps of the supervisor. */
#define SWEEPS_MS 1000
#define NAMES_MAX 240

struct ask {
  struct sbx_list link;
  sbx_count_cb count_cb; /* one of the two */
  sbx_kill_cb signal_cb;
  void *arg;
};

static void answer(struct ask *a, const struct sbx_err *err, size_t count) {
  struct ask copy = *a;

  sbx_list_remove(&a->link);
  free(a);
  if (copy.count_cb != NULL)
    copy.count_cb(copy.arg, err != NULL ? err->code : 0, count);
  else
    copy.signal_cb(copy.arg, err);
}

static void answer_kill(struct sbx_sup_job *job, const struct sbx_err *err) {
  sbx_kill_cb cb = job->kill_cb;

  job->kill_cb = NULL;
  if (cb != NULL)
    cb(job->kill_arg, err);
}

void sbx_sup_job_answer_all(struct sbx_sup_job *job,
                            const struct sbx_err *err) {
  if (job->timer != NULL)
    sbx_timer_stop(job->timer);
  while (!sbx_list_empty(&job->asked))
    answer(SBX_LIST_OWNER(job->asked.next, struct ask, link), err, 0);
  answer_kill(job, err);
}

void sbx_sup_job_forget_asked(struct sbx_sup_job *job) {
  struct sbx_list *node;

  while ((node = sbx_list_shift(&job->asked)) != NULL)
    free(SBX_LIST_OWNER(node, struct ask, link));
  job->kill_cb = NULL;
}

/* Answers that come after all are not taken for those of later questions. */
static void on_late(void *arg) {
  struct sbx_sup_job *job = arg;
  struct sbx_err err = {0};
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &job->asked)
    job->stale_counts++;
  if (job->kill_cb != NULL)
    job->stale_kills++;
  sbx_fail(&err, SBX_ETIMEOUT,
           "the supervisor did not say in time what is left of '%s'",
           job->program);
  sbx_sup_job_enter(job);
  sbx_sup_job_answer_all(job, &err);
  sbx_sup_job_leave(job);
}

/* The latest of all that are awaited. */
static int expect_within(struct sbx_sup_job *job, uint64_t ms) {
  uint64_t now = sbx_now_ms();
  uint64_t until = ms > UINT64_MAX - now ? UINT64_MAX : now + ms;

  if (job->timer == NULL &&
      sbx_timer_new(&job->timer, job->runner->runtime, on_late, job) < 0)
    return -ENOMEM;
  if (!sbx_timer_active(job->timer) || until > job->answers_by) {
    job->answers_by = until;
    sbx_timer_start(job->timer, ms);
  }
  return 0;
}

/* Of an ended command of which nothing is left nothing can come back to life:
 * the supervisor may forget it, too. */
static void check_answered(struct sbx_sup_job *job, bool nothing_left) {
  if (!sbx_list_empty(&job->asked) || job->kill_cb != NULL)
    return;
  sbx_timer_stop(job->timer);
  if (nothing_left && job->ended)
    sbx_sup_job_let_go(job);
}

/* ---- COUNT and SIGNAL ---- */

static int ask(struct sbx_sup_job *job, enum sbx_msg_type type,
               const void *payload, size_t len, const struct ask *question) {
  struct ask *a = malloc(sizeof(*a));
  int rc = a != NULL ? expect_within(job, ANSWER_MS) : -ENOMEM;

  if (rc == 0)
    rc = sbx_mux_control(job->channel, type, payload, len);
  if (rc < 0) {
    free(a);
    return rc;
  }
  *a = *question;
  sbx_list_append(&job->asked, &a->link);
  return 0;
}

int sbx_sup_job_count(struct sbx_job_handle *handle, sbx_count_cb cb,
                      void *arg) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  struct ask question = {.count_cb = cb, .arg = arg};

  if (job->channel == NULL) {
    cb(arg, 0, 0);
    return 0;
  }
  return ask(job, SBX_MSG_COUNT, NULL, 0, &question);
}

static int number_of(const char *name) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {
      {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
      {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
      {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
      {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},
      {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"WINCH", SIGWINCH},
  };
  size_t i;

  for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
    if (strcmp(signals[i].name, name) == 0)
      return signals[i].number;
  return -EINVAL;
}

int sbx_sup_job_signal(struct sbx_job_handle *handle, const char *name,
                       sbx_kill_cb cb, void *arg) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  struct ask question = {.signal_cb = cb, .arg = arg};
  int number = number_of(name);
  uint8_t payload[4];

  if (number < 0)
    return number;
  if (job->channel == NULL) {
    cb(arg, NULL);
    return 0;
  }
  sbx_put_u32(payload, (uint32_t)number);
  return ask(job, SBX_MSG_SIGNAL, payload, sizeof(payload), &question);
}

void sbx_sup_job_counted(struct sbx_sup_job *job, uint32_t count) {
  struct ask *a;

  if (job->stale_counts > 0) {
    job->stale_counts--;
    return;
  }
  if (sbx_list_empty(&job->asked))
    return;
  a = SBX_LIST_OWNER(job->asked.next, struct ask, link);
  answer(a, NULL, count);
  check_answered(job, count == 0);
}

/* ---- KILL ---- */

int sbx_sup_job_kill(struct sbx_job_handle *handle, uint64_t grace_ms,
                     sbx_kill_cb cb, void *arg) {
  struct sbx_sup_job *job = (struct sbx_sup_job *)handle;
  uint64_t most = UINT64_MAX - ANSWER_MS - SWEEPS_MS;
  uint8_t payload[8];
  int rc;

  if (job->channel == NULL) {
    cb(arg, NULL);
    return 0;
  }
  if (grace_ms > most)
    grace_ms = most;
  if (!job->started) /* as far as we know, nothing could use its grace */
    grace_ms = 0;
  sbx_put_u64(payload, grace_ms);
  rc = expect_within(job, grace_ms + SWEEPS_MS + ANSWER_MS);
  if (rc == 0)
    rc = sbx_mux_control(job->channel, SBX_MSG_KILL, payload, sizeof(payload));
  if (rc < 0)
    return rc;
  job->kill_cb = cb;
  job->kill_arg = arg;
  return 0;
}

static void survivors(struct sbx_sup_job *job, struct sbx_strs list,
                      struct sbx_err *err) {
  unsigned n = list.count / 2;
  char names[NAMES_MAX] = "";
  struct sbx_str pid, name;
  size_t used = 0;

  while (used < sizeof(names) - 1 && sbx_strs_next(&list, &pid) &&
         sbx_strs_next(&list, &name))
    used += (size_t)snprintf(names + used, sizeof(names) - used,
                             "%s %.20s (%.32s)", used > 0 ? "," : "",
                             (const char *)pid.data, (const char *)name.data);
  sbx_fail(err, SBX_EPROCESS, "%u process%s of '%s' survive%s every signal:%s",
           n, n == 1 ? "" : "es", job->program, n == 1 ? "s" : "", names);
}

void sbx_sup_job_killed(struct sbx_sup_job *job,
                        const struct sbx_msg_killed *killed) {
  struct sbx_err err = {0};

  if (job->stale_kills > 0) {
    job->stale_kills--;
    return;
  }
  if (killed->survivors.count > 0)
    survivors(job, killed->survivors, &err);
  answer_kill(job, err.code != 0 ? &err : NULL);
  check_answered(job, err.code == 0);
}
