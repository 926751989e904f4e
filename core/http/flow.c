/* SPDX-License-Identifier: MIT */
/* flow.c - the steps of a stream that is a series of engine requests. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/hstream.h"
#include "http/watchdog.h"

/* What the command line client ends with when the engine refuses. */
#define RUN_FAILED  125
#define EXEC_FAILED 1

/* Whoever waits has a deadline of his own, and stops us; these are for an
 * engine that never answers when nobody waits any more. */
#define STEP_MS   (10u * 60u * 1000u)
#define REMOVE_MS 60000u
#define STATUS_MS 10000u
/* An exec's status can come a moment after the end of its output. */
#define RUNNING_MS 2000u
#define AGAIN_MS   10u

#define ANSWER_MAX ((size_t)1024 * 1024)

typedef void (*step_done)(void *arg, struct sbx_call *call, int rc,
                          const struct sbx_err *err);

/* Starts the request of a step; `path` is printed behind the prefix. False: no
 * request could be made, and the stream ends. */
static bool ask(struct sbx_hstream *hs, enum sbx_hstream_phase phase,
                struct sbx_call_request *r, const char *path,
                const struct sbx_call_events *events) {
  char target[2048];
  struct sbx_err err = {0};
  int n = snprintf(target, sizeof(target), "%s%s", hs->plan->prefix, path);

  hs->phase = phase;
  r->target = target;
  r->max_body = ANSWER_MAX;
  if (r->timeout_ms == 0)
    r->timeout_ms = STEP_MS;
  if (n < 0 || (size_t)n >= sizeof(target))
    sbx_fail(&err, SBX_EINTERNAL, "the engine's path is too long");
  else if (sbx_call_start(&hs->call, hs->rt, hs->plan->endpoint, r, events, hs,
                          &err) == 0)
    return true;
  hs->call = NULL;
  sbx_hstream_say(hs, "%s", err.message);
  sbx_hstream_finish(hs, -1);
  return false;
}

static int failed(const struct sbx_hstream *hs) {
  return hs->plan->flow == SBX_PLAN_RUN ? RUN_FAILED : EXEC_FAILED;
}

/* Says what went wrong with a step, in the client's words. */
static void complain(struct sbx_hstream *hs, struct sbx_call *call, int rc,
                     const struct sbx_err *err) {
  char text[512];

  if (rc < 0) {
    sbx_hstream_say(hs, "%s", err->message);
    return;
  }
  sbx_reply_message(sbx_call_body(call), sbx_call_status(call), text,
                    sizeof(text));
  sbx_hstream_say(hs, "Error response from daemon: %s", text);
}

static void unwatch(struct sbx_hstream *hs) {
  if (hs->watched)
    sbx_watchdog_disarm(hs->rt, hs->plan);
  hs->watched = false;
}

/* Steps end in pairs: their callback, and the stream as it is afterwards. */
static void begin_step(struct sbx_hstream *hs) {
  sbx_hstream_enter(hs);
  hs->call = NULL;
}

/* -- run: the way back ------------------------------------------------------
 */

static void on_removed(void *arg, struct sbx_call *call, int rc,
                       const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  int status = rc == 0 ? sbx_call_status(call) : 0;

  (void)err;
  begin_step(hs);
  /* 409: somebody else is at it; anything else stays the watchdog's */
  if (status < 300 || status == 404 || status == 409) {
    if (rc == 0)
      unwatch(hs);
  }
  sbx_hstream_finish(hs, RUN_FAILED);
  sbx_hstream_leave(hs);
}

static void remove_container(struct sbx_hstream *hs) {
  static const struct sbx_call_events events = {.on_done = on_removed};
  struct sbx_call_request r = {.method = "DELETE", .timeout_ms = REMOVE_MS};
  char path[SBX_ID_MAX + 64];

  sbx_hstream_disconnect(hs);
  snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", hs->id);
  (void)ask(hs, SBX_HS_REMOVE, &r, path, &events);
}

/* -- the status --------------------------------------------------------------
 */

static void on_waited(void *arg, struct sbx_call *call, int rc,
                      const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  long status = hs->died;

  begin_step(hs);
  if (rc < 0)
    sbx_hstream_say(hs, "%s", err->message);
  else if (sbx_call_status(call) == 200 &&
           !sbx_reply_integer(sbx_call_body(call), "StatusCode", &status))
    status = -1; /* any other answer: it was gone before we asked */
  sbx_hstream_finish(hs, status >= 0 && status <= 255 ? (int)status : -1);
  sbx_hstream_leave(hs);
}

static void on_inspected(void *arg, struct sbx_call *call, int rc,
                         const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  bool running = true;
  long status = -1;

  begin_step(hs);
  if (rc < 0 || sbx_call_status(call) != 200) {
    complain(hs, call, rc, err);
    sbx_hstream_finish(hs, -1);
  } else if (sbx_reply_boolean(sbx_call_body(call), "Running", &running) &&
             running && sbx_now_ms() < hs->ask_until) {
    sbx_timer_start(hs->timer, AGAIN_MS);
  } else {
    if (running ||
        !sbx_reply_integer(sbx_call_body(call), "ExitCode", &status) ||
        status < 0 || status > 255)
      status = -1;
    sbx_hstream_finish(hs, (int)status);
  }
  sbx_hstream_leave(hs);
}

static void ask_status(struct sbx_hstream *hs) {
  static const struct sbx_call_events waited = {.on_done = on_waited};
  static const struct sbx_call_events inspected = {.on_done = on_inspected};
  bool run = hs->plan->flow == SBX_PLAN_RUN;
  struct sbx_call_request r = {.method = run ? "POST" : "GET",
                               .timeout_ms = run ? REMOVE_MS : STATUS_MS};
  char path[SBX_ID_MAX + 64];

  snprintf(path, sizeof(path),
           run ? "/containers/%s/wait?condition=removed" : "/exec/%s/json",
           hs->id);
  (void)ask(hs, SBX_HS_STATUS, &r, path, run ? &waited : &inspected);
}

void sbx_flow_timer(struct sbx_hstream *hs) {
  if (hs->phase == SBX_HS_STATUS && hs->call == NULL)
    ask_status(hs);
}

/* A container that has not been started yet, for all we know, has its start's
 * answer to come. */
void sbx_flow_ended(struct sbx_hstream *hs) {
  if (hs->phase != SBX_HS_LIVE)
    return;
  hs->ask_until = sbx_now_ms() + RUNNING_MS;
  ask_status(hs);
}

/* -- start -------------------------------------------------------------------
 */

static void on_run_started(void *arg, struct sbx_call *call, int rc,
                           const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;

  begin_step(hs);
  if (rc < 0 || sbx_call_status(call) >= 400) {
    complain(hs, call, rc, err);
    remove_container(hs);
  } else {
    unwatch(hs);
    hs->phase = SBX_HS_LIVE;
    if (hs->doomed)
      sbx_hstream_disconnect(hs);
    if (hs->conn == NULL)
      sbx_flow_ended(hs);
  }
  sbx_hstream_leave(hs);
}

static void on_exec_started(void *arg, struct sbx_call *call, int rc,
                            const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;

  begin_step(hs);
  if (rc < 0 || !sbx_call_upgraded(call)) {
    complain(hs, call, rc, err);
    sbx_hstream_finish(hs, rc < 0 ? -1 : EXEC_FAILED);
  } else {
    hs->phase = SBX_HS_LIVE;
    sbx_hstream_connect(hs, call);
  }
  sbx_hstream_leave(hs);
}

static void start(struct sbx_hstream *hs) {
  static const char body[] = "{\"Detach\":false,\"Tty\":false}";
  static const struct sbx_call_events run = {.on_done = on_run_started};
  static const struct sbx_call_events exec = {.on_done = on_exec_started};
  struct sbx_call_request r = {.method = "POST"};
  char path[SBX_ID_MAX + 64];

  if (hs->plan->flow == SBX_PLAN_EXEC) {
    r.upgrade = true;
    r.body = body;
    r.body_len = sizeof(body) - 1;
    snprintf(path, sizeof(path), "/exec/%s/start", hs->id);
    (void)ask(hs, SBX_HS_START, &r, path, &exec);
  } else {
    snprintf(path, sizeof(path), "/containers/%s/start", hs->id);
    (void)ask(hs, SBX_HS_START, &r, path, &run);
  }
}

/* -- attach ------------------------------------------------------------------
 */

static void on_attached(void *arg, struct sbx_call *call, int rc,
                        const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;

  begin_step(hs);
  if (rc < 0 || !sbx_call_upgraded(call)) {
    complain(hs, call, rc, err);
    remove_container(hs);
  } else if (hs->ending) {
    remove_container(hs);
  } else {
    sbx_hstream_connect(hs, call);
    sbx_hstream_listen(hs);
    start(hs);
  }
  sbx_hstream_leave(hs);
}

static void attach(struct sbx_hstream *hs) {
  static const struct sbx_call_events events = {.on_done = on_attached};
  struct sbx_call_request r = {.method = "POST", .upgrade = true};
  char path[SBX_ID_MAX + 64];

  snprintf(path, sizeof(path),
           "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1", hs->id);
  (void)ask(hs, SBX_HS_ATTACH, &r, path, &events);
}

/* -- create ------------------------------------------------------------------
 */

static void on_created(void *arg, struct sbx_call *call, int rc,
                       const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  bool run = hs->plan->flow == SBX_PLAN_RUN;

  begin_step(hs);
  if (rc < 0 || sbx_call_status(call) != 201) {
    complain(hs, call, rc, err);
    /* a question that was not heard, or a no: there is nothing to remove */
    if (rc == 0 ? sbx_call_status(call) >= 400 : !sbx_call_was_sent(call))
      unwatch(hs);
    sbx_hstream_finish(hs, failed(hs));
  } else if (!sbx_reply_id(sbx_call_body(call), "Id", hs->id)) {
    sbx_hstream_say(hs, "the engine created something without an id");
    sbx_hstream_finish(hs, failed(hs));
  } else if (!run) {
    start(hs);
  } else if (hs->ending) {
    remove_container(hs);
  } else {
    attach(hs);
  }
  sbx_hstream_leave(hs);
}

/* -- remove ------------------------------------------------------------------
 */

static void on_forced(void *arg, struct sbx_call *call, int rc,
                      const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  int status = rc == 0 ? sbx_call_status(call) : 0;
  bool gone = rc == 0 && (status < 300 || status == 404);

  begin_step(hs);
  if (!gone)
    complain(hs, call, rc, err);
  sbx_hstream_finish(hs, gone ? 0 : EXEC_FAILED);
  sbx_hstream_leave(hs);
}

/* -- the first step ----------------------------------------------------------
 */

int sbx_flow_begin(struct sbx_hstream *hs, struct sbx_err *err) {
  static const struct sbx_call_events created = {.on_done = on_created};
  static const struct sbx_call_events forced = {.on_done = on_forced};
  const struct sbx_plan *plan = hs->plan;
  bool remove = plan->flow == SBX_PLAN_REMOVE;
  struct sbx_call_request r = {.method = remove ? "DELETE" : "POST",
                               .body = plan->body,
                               .body_len = plan->body ? strlen(plan->body) : 0,
                               .timeout_ms = STEP_MS,
                               .max_body = ANSWER_MAX};
  char target[2048];
  int n = snprintf(target, sizeof(target), "%s%s", plan->prefix, plan->target);

  if (n < 0 || (size_t)n >= sizeof(target))
    return sbx_fail(err, SBX_EINTERNAL, "the engine's path is too long");
  r.target = target;
  if (remove)
    hs->phase = SBX_HS_REMOVE;
  if (plan->flow == SBX_PLAN_RUN && plan->mark != NULL)
    hs->watched = sbx_watchdog_arm(hs->rt, plan) == 0;
  return sbx_call_start(&hs->call, hs->rt, plan->endpoint, &r,
                        remove ? &forced : &created, hs, err);
}

void sbx_flow_removed(struct sbx_hstream *hs) {
  if (hs->call != NULL)
    sbx_call_cancel(hs->call);
  hs->call = NULL;
  sbx_hstream_finish(hs, hs->died >= 0 && hs->died <= 255 ? hs->died : -1);
}

/* -- giving up ---------------------------------------------------------------
 */

void sbx_flow_stop(struct sbx_hstream *hs) {
  if (hs->phase == SBX_HS_OVER)
    return;
  if (hs->plan->flow == SBX_PLAN_RUN && hs->phase < SBX_HS_LIVE) {
    /* what is under way has to come to its end: then it is undone */
    hs->doomed = true;
    return;
  }
  if (hs->call != NULL)
    sbx_call_cancel(hs->call);
  hs->call = NULL;
  if (hs->plan->flow == SBX_PLAN_RUN && hs->phase == SBX_HS_LIVE) {
    sbx_hstream_disconnect(hs);
    sbx_flow_ended(hs);
    return;
  }
  sbx_hstream_disconnect(hs);
  sbx_hstream_finish(hs, -1);
}
