/* SPDX-License-Identifier: MIT */
/* Streams made of engine requests, against engines that follow a script. */
#include "base/buf.h"
#include "base/clock.h"
#include "fake_engine.h"
#include "http/plan.h"
#include "io/mailbox.h"

static struct sbx_runtime *rt;

/* What a reader sees, as text: o(...) e(...) and the end, end(7) or end(?). */
struct reader {
  struct sbx_job job;
  const struct sbx_request *request;
  const char *input; /* written at once, before the connection stands */
  bool keep_open;    /* do not end the input */
  bool kill, close;  /* at the first output */
  struct sbx_stream *stream;
  struct sbx_buf trace;
  enum sbx_fd last;
  atomic_bool over;
};

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct reader *r = arg;

  if (r->last != fd)
    sbx_buf_appendf(&r->trace, fd == SBX_OUT ? "o:" : "e:");
  r->last = fd;
  sbx_buf_append(&r->trace, data, len);
  if (r->kill)
    sbx_stream_kill(r->stream);
  if (r->close) {
    sbx_stream_close(r->stream, true);
    atomic_store(&r->over, true);
  }
}

static void on_end(void *arg, const struct sbx_stream_end *end) {
  struct reader *r = arg;

  if (end->status_known)
    sbx_buf_appendf(&r->trace, " end(%d)", end->exit_code);
  else
    sbx_buf_appendf(&r->trace, " end(?)");
  atomic_store(&r->over, true);
}

static void open_stream(struct sbx_job *job) {
  static const struct sbx_stream_events events = {.on_data = on_data,
                                                  .on_end = on_end};
  struct reader *r = SBX_LIST_OWNER(job, struct reader, job);
  struct sbx_err err = {0};

  REQUIRE(sbx_stream_open(rt, r->request, &events, r, &r->stream, &err) == 0);
  if (r->input != NULL)
    sbx_stream_write(r->stream, r->input, strlen(r->input));
  if (!r->keep_open)
    sbx_stream_shutdown(r->stream);
}

static struct sbx_request *request(const struct fake_engine *e,
                                   enum sbx_plan_flow flow) {
  struct sbx_request *out;
  struct sbx_plan *plan;

  REQUIRE(sbx_plan_new(&plan) == 0);
  plan->flow = flow;
  REQUIRE(sbx_endpoint_new(&plan->endpoint, e->endpoint, NULL) == 0);
  plan->prefix = strdup("/v1.41");
  plan->target = strdup("/create");
  plan->body = strdup("{}");
  REQUIRE(sbx_plan_request(&out, plan) == 0);
  return out;
}

static void check_run(const struct fake_answer *answers, size_t count,
                      enum sbx_plan_flow flow, struct reader r,
                      const char *want) {
  uint64_t begin = sbx_now_ms();
  struct fake_engine e;
  struct sbx_request *req;

  fake_start(&e, answers, count);
  req = request(&e, flow);
  r.job.run = open_stream;
  sbx_list_init(&r.job.link);
  r.request = req;
  sbx_buf_init(&r.trace, SIZE_MAX);
  atomic_init(&r.over, false);
  sbx_runtime_post(rt, &r.job);
  while (!atomic_load(&r.over) && sbx_now_ms() - begin < 10000)
    usleep(500);
  CHECK(atomic_load(&r.over));
  fake_stop(&e);
  CHECK_MEM(r.trace.data, r.trace.len, want, strlen(want));
  sbx_buf_fini(&r.trace);
  sbx_request_unref(req);
}

#define RUN(answers, flow, reader, want)                                       \
  check_run(answers, sizeof(answers) / sizeof((answers)[0]), flow, reader, want)

#define CREATED(id)                                                            \
  {                                                                            \
    "POST /v1.41/create", FAKE_WHOLE,                                          \
        "HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\n{\"Id\":\"" id      \
        "\"}",                                                                 \
        0                                                                      \
  }
#define JSON(expect, n, text)                                                  \
  {                                                                            \
    expect, FAKE_WHOLE,                                                        \
        "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n\r\n" text, 0             \
  }
#define SWITCH                                                                 \
  "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
#define FRAMES(text) SWITCH text, sizeof(SWITCH text) - 1

static void test_exec(void) {
  static const struct fake_answer echo[] = {
      CREATED("e1"),
      {"POST /v1.41/exec/e1/start", FAKE_ECHO, SWITCH, 0},
      JSON("GET /v1.41/exec/e1/json", "16", "{\"Running\":true}"),
      JSON("GET /v1.41/exec/e1/json", "31",
           "{\"Running\":false,\"ExitCode\":7 }"),
  };
  static const struct fake_answer bytes[] = {
      CREATED("e1"),
      {"POST /v1.41/exec/e1/start", FAKE_TRICKLE,
       FRAMES("\1\0\0\0\0\0\0\2hi\2\0\0\0\0\0\0\1x\1\0\0\0\0\0\0\1y")},
      JSON("GET /v1.41/exec/e1/json", "31",
           "{\"Running\":false,\"ExitCode\":0 }"),
  };
  RUN(echo, SBX_PLAN_EXEC, ((struct reader){.input = "hello"}),
      "o:hello end(7)");
  RUN(bytes, SBX_PLAN_EXEC, ((struct reader){.keep_open = true}),
      "o:hie:xo:y end(0)");
}

static void test_exec_failures(void) {
  static const struct fake_answer missing[] = {
      {NULL, FAKE_WHOLE,
       "HTTP/1.1 404 Not Found\r\nContent-Length: 31\r\n\r\n"
       "{\"message\":\"No such container\"}",
       0},
  };
  static const struct fake_answer cut[] = {{NULL, FAKE_CLOSE, "HTTP/1.1 ", 0}};
  static const struct fake_answer no_id[] = {
      {NULL, FAKE_WHOLE,
       "HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n{\"Id\":\"../x\"}",
       0},
  };
  static const struct fake_answer refused[] = {
      CREATED("e1"),
      {NULL, FAKE_WHOLE, "HTTP/1.1 409 No\r\nContent-Length: 2\r\n\r\nno", 0},
  };
  static const struct fake_answer unknown[] = {
      CREATED("e1"),
      {NULL, FAKE_CLOSE, FRAMES("\1\0\0\0\0\0\0\2hi")},
      {NULL, FAKE_WHOLE, "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", 0},
  };
  static const struct fake_answer garbage[] = {
      CREATED("e1"),
      {NULL, FAKE_HANG, FRAMES("\1\0\0\0\0\0\0\2hiGARBAGE")},
      JSON(NULL, "31", "{\"Running\":false,\"ExitCode\":0 }"),
  };
  struct reader none = {0};

  RUN(missing, SBX_PLAN_EXEC, none,
      "e:Error response from daemon: No such container\n end(1)");
  RUN(cut, SBX_PLAN_EXEC, none,
      "e:the engine closed the connection in the middle of its answer\n "
      "end(1)");
  RUN(no_id, SBX_PLAN_EXEC, none,
      "e:the engine created something without an id\n end(1)");
  RUN(refused, SBX_PLAN_EXEC, none,
      "e:Error response from daemon: no\n end(1)");
  RUN(unknown, SBX_PLAN_EXEC, ((struct reader){.keep_open = true}),
      "o:hie:Error response from daemon: no\n end(?)");
  RUN(garbage, SBX_PLAN_EXEC, none,
      "o:hie:the engine's stream is not understood\n end(0)");
}

static void test_exec_given_up(void) {
  static const struct fake_answer answers[] = {
      CREATED("e1"),
      {NULL, FAKE_HANG, FRAMES("\1\0\0\0\0\0\0\2hi")},
  };

  RUN(answers, SBX_PLAN_EXEC,
      ((struct reader){.keep_open = true, .kill = true}), "o:hi end(?)");
  RUN(answers, SBX_PLAN_EXEC,
      ((struct reader){.keep_open = true, .close = true}), "o:hi");
}

#define ATTACHED(way, text)                                                    \
  {                                                                            \
    "POST /v1.41/containers/c1/attach?stream=1&stdin=1&stdout=1&stderr=1",     \
        way, FRAMES(text)                                                      \
  }
#define REMOVED                                                                \
  {                                                                            \
    "DELETE /v1.41/containers/c1?force=1&v=1", FAKE_WHOLE,                     \
        "HTTP/1.1 204 No Content\r\n\r\n", 0                                   \
  }

static void test_run(void) {
  static const struct fake_answer full[] = {
      CREATED("c1"),
      ATTACHED(FAKE_CLOSE, "\1\0\0\0\0\0\0\2hi"),
      {"POST /v1.41/containers/c1/start", FAKE_WHOLE,
       "HTTP/1.1 204 No Content\r\n\r\n", 0},
      JSON("POST /v1.41/containers/c1/wait?condition=removed", "16",
           "{\"StatusCode\":3}"),
  };
  static const struct fake_answer no_start[] = {
      CREATED("c1"),
      ATTACHED(FAKE_HANG, ""),
      {"POST /v1.41/containers/c1/start", FAKE_WHOLE,
       "HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", 0},
      REMOVED,
  };
  static const struct fake_answer no_attach[] = {
      CREATED("c1"),
      {NULL, FAKE_CLOSE, "", 0},
      REMOVED,
  };
  static const struct fake_answer ended_early[] = {CREATED("c1"), REMOVED};
  struct reader open = {.keep_open = true};

  RUN(full, SBX_PLAN_RUN, open, "o:hi end(3)");
  RUN(no_start, SBX_PLAN_RUN, open,
      "e:Error response from daemon: no\n end(125)");
  RUN(no_attach, SBX_PLAN_RUN, open,
      "e:the engine closed the connection without an answer\n end(125)");
  RUN(ended_early, SBX_PLAN_RUN, ((struct reader){0}), " end(125)");
}

static void test_remove(void) {
  static const struct fake_answer gone[] = {{"DELETE /v1.41/create", FAKE_WHOLE,
                                             "HTTP/1.1 204 No Content\r\n\r\n",
                                             0}};
  static const struct fake_answer none[] = {
      {NULL, FAKE_WHOLE, "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", 0}};
  static const struct fake_answer refused[] = {
      {NULL, FAKE_WHOLE, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", 0}};
  struct reader r = {0};

  RUN(gone, SBX_PLAN_REMOVE, r, " end(0)");
  RUN(none, SBX_PLAN_REMOVE, r, " end(0)");
  RUN(refused, SBX_PLAN_REMOVE, r, "e:Error response from daemon: no\n end(1)");
}

int main(void) {
  struct sbx_err err = {0};

  REQUIRE(sbx_runtime_acquire(&rt, &err) == 0);
  test_exec();
  test_exec_failures();
  test_exec_given_up();
  test_run();
  test_remove();
  sbx_runtime_release(rt);
  return check_done();
}
