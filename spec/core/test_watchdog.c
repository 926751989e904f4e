/* SPDX-License-Identifier: MIT */
/* An owner that is killed between the create and the start of a container: what
 * it created is removed all the same, and nothing else. */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fake_engine.h"
#include "http/plan.h"
#include "io/runtime.h"

struct owner {
  struct sbx_job job;
  struct sbx_runtime *rt;
  struct sbx_request *request;
  struct sbx_stream *stream;
  atomic_bool over;
};

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  (void)arg;
  (void)fd;
  (void)data;
  (void)len;
}

static void on_end(void *arg, const struct sbx_stream_end *end) {
  (void)end;
  atomic_store(&((struct owner *)arg)->over, true);
}

static void open_lease(struct sbx_job *job) {
  static const struct sbx_stream_events events = {.on_data = on_data,
                                                  .on_end = on_end};
  struct owner *o = SBX_LIST_OWNER(job, struct owner, job);

  if (sbx_stream_open(o->rt, o->request, &events, o, &o->stream, NULL) < 0)
    _exit(9);
}

/* A process that opens a lease once it is told where, through *tell; `leave`
 * ends it in the ordinary way. Forked while this process has one thread. */
static pid_t start_owner(int *tell, bool leave) {
  struct owner o = {.job.run = open_lease};
  char endpoint[80] = "";
  struct sbx_plan *plan;
  int fds[2];
  pid_t pid;

  REQUIRE(pipe(fds) == 0);
  pid = fork();
  if (pid != 0) {
    close(fds[0]);
    *tell = fds[1];
    return pid;
  }
  close(fds[1]);
  if (read(fds[0], endpoint, sizeof(endpoint) - 1) <= 0)
    _exit(9);
  sbx_list_init(&o.job.link);
  if (sbx_plan_new(&plan) < 0 ||
      sbx_endpoint_new(&plan->endpoint, endpoint, NULL) < 0)
    _exit(9);
  plan->flow = SBX_PLAN_RUN;
  plan->prefix = strdup("/v1.41");
  plan->target = strdup("/create");
  plan->body = strdup("{}");
  plan->mark = strdup("anvia.sandbox.create=0123");
  if (sbx_plan_request(&o.request, plan) < 0 ||
      sbx_runtime_acquire(&o.rt, NULL) < 0)
    _exit(9);
  sbx_runtime_post(o.rt, &o.job);
  while (!leave || !atomic_load(&o.over))
    usleep(1000);
  sbx_runtime_release(o.rt);
  _exit(0);
}

static void wait_for(struct fake_engine *e, size_t requests) {
  uint64_t until = sbx_now_ms() + 10000;

  while (atomic_load(&e->next) < requests && sbx_now_ms() < until)
    usleep(1000);
  CHECK(atomic_load(&e->next) >= requests);
}

#define CREATED                                                                \
  {                                                                            \
    "POST /v1.41/create", FAKE_WHOLE,                                          \
        "HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\n{\"Id\":\"c1\"}", 0 \
  }
#define LIST(text)                                                             \
  {                                                                            \
    "GET /v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22"         \
    "anvia.sandbox.create%3D0123%22%5D%7D HTTP/1.0\r\n",                       \
        FAKE_CLOSE, "HTTP/1.1 200 OK\r\n\r\n" text, 0                          \
  }

static void kill_owner_after(const struct fake_answer *answers, size_t count,
                             size_t requests) {
  struct fake_engine e;
  int tell, status;
  pid_t pid = start_owner(&tell, false);

  fake_start(&e, answers, count);
  CHECK(write(tell, e.endpoint, strlen(e.endpoint)) > 0);
  close(tell);
  wait_for(&e, requests);
  usleep(20000);
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  wait_for(&e, count);
  fake_stop(&e);
}

#define KILLED(answers, requests)                                              \
  kill_owner_after(answers, sizeof(answers) / sizeof((answers)[0]), requests)

static void test_killed_before_attach(void) {
  static const struct fake_answer answers[] = {
      CREATED,
      {"POST /v1.41/containers/c1/attach", FAKE_HANG, "", 0},
      LIST("[{\"Names\":[\"x\"],\"Id\":\"c0ffee\",\"Image\":\"y\"}]"),
      {"DELETE /v1.41/containers/c0ffee?force=1&v=1 HTTP/1.0\r\n", FAKE_CLOSE,
       "HTTP/1.1 204 No Content\r\n\r\n", 0},
      LIST("[]"),
  };
  KILLED(answers, 2);
}

/* The engine answers a create when nobody listens any more. */
static void test_killed_during_create(void) {
  static const struct fake_answer answers[] = {
      {"POST /v1.41/create", FAKE_HANG, "", 0},
      LIST("[]"),
      {NULL, FAKE_CLOSE, "", 0},
      LIST("[]"),
      LIST("[{\"Id\":\"c0ffee\"}]"),
      {"DELETE /v1.41/containers/c0ffee?", FAKE_CLOSE,
       "HTTP/1.1 204 No Content\r\n\r\n", 0},
      LIST("[]"),
  };
  KILLED(answers, 1);
}

/* An end that comes by itself: nobody asks for the container any more. */
static void test_not_killed(void) {
  static const struct fake_answer answers[] = {
      {"POST /v1.41/create", FAKE_CLOSE,
       "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", 0},
  };
  struct fake_engine e;
  int tell, status;
  pid_t pid = start_owner(&tell, true);

  fake_start(&e, answers, 1);
  CHECK(write(tell, e.endpoint, strlen(e.endpoint)) > 0);
  close(tell);
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK_INT(status, 0);
  usleep(300000);
  fake_stop(&e);
}

int main(void) {
  test_killed_before_attach();
  test_killed_during_create();
  test_not_killed();
  return check_done();
}
