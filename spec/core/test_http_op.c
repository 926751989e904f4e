/* SPDX-License-Identifier: MIT */
/* Single requests to engines that are slow, broken, lying or gone. */
#include "http/http_op.h"

#include <errno.h>

#include "base/clock.h"
#include "fake_engine.h"
#include "io/mailbox.h"

static struct sbx_mailbox *mb;

static void wait_done(struct sbx_op *op) {
  while (!sbx_op_done(op)) {
    struct sbx_op *news = sbx_mailbox_next(mb, 10000);

    REQUIRE(news != NULL);
    sbx_op_unref(news);
  }
}

static struct sbx_http_op *make(const char *endpoint, const char *method) {
  struct sbx_http_op *h;

  REQUIRE(sbx_http_op_new(&h, mb) == 0);
  REQUIRE(sbx_endpoint_new(&h->endpoint, endpoint, NULL) == 0);
  h->method = strdup(method);
  h->target = strdup("/x");
  h->timeout_ms = 5000;
  return h;
}

static struct sbx_http_op *ask(const char *endpoint, const char *method) {
  struct sbx_http_op *h = make(endpoint, method);

  sbx_op_submit(&h->op);
  wait_done(&h->op);
  return h;
}

static void check_answer(struct sbx_http_op *h, int status, const char *body) {
  CHECK_INT(h->op.rc, 0);
  CHECK_INT(h->status, status);
  CHECK_MEM(h->answer.data, h->answer.len, body, strlen(body));
  sbx_op_unref(&h->op);
}

static void check_failure(struct sbx_http_op *h, int code, const char *text) {
  CHECK_INT(h->op.rc, code);
  if (strstr(h->op.err.message, text) == NULL)
    CHECK_STR(h->op.err.message, text);
  sbx_op_unref(&h->op);
}

#define OK(n, text) "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n\r\n" text
#define COUNT(a)    (sizeof(a) / sizeof((a)[0]))

static void test_kept_connection(void) {
  static const struct fake_answer answers[] = {
      {"GET /x HTTP/1.1\r\nHost: docker\r\n", FAKE_WHOLE, OK("2", "a1"), 0},
      {"POST /x", FAKE_WHOLE, OK("2", "a2"), 0},
      {"GET /x", FAKE_BYTES, OK("2", "a3"), 0},
  };
  struct fake_engine e;

  fake_start(&e, answers, COUNT(answers));
  check_answer(ask(e.endpoint, "GET"), 200, "a1");
  check_answer(ask(e.endpoint, "POST"), 200, "a2");
  check_answer(ask(e.endpoint, "GET"), 200, "a3");
  CHECK_INT(atomic_load(&e.connections), 1);
  fake_stop(&e);
}

static void test_several_at_once(void) {
  static struct fake_answer answers[20];
  struct sbx_http_op *ops[20];
  struct fake_engine e;

  for (size_t i = 0; i < 20; i++)
    answers[i] = (struct fake_answer){NULL, FAKE_BYTES, OK("2", "hi"), 0};
  fake_start(&e, answers, 20);
  for (int i = 0; i < 20; i++) {
    ops[i] = make(e.endpoint, "GET");
    sbx_op_submit(&ops[i]->op);
  }
  for (int i = 0; i < 20; i++) {
    wait_done(&ops[i]->op);
    check_answer(ops[i], 200, "hi");
  }
  CHECK_INT(atomic_load(&e.connections), 20);
  fake_stop(&e);
}

/* A kept connection that the engine has closed meanwhile is no failure of a
 * request that changes nothing; a POST takes a fresh one when that shows. */
static void test_closed_meanwhile(void) {
  static const struct fake_answer answers[] = {
      {NULL, FAKE_CLOSE, OK("2", "a1"), 0},
      {NULL, FAKE_WHOLE, OK("2", "a2"), 0},
      {NULL, FAKE_CLOSE, "", 0},
      {NULL, FAKE_WHOLE, OK("2", "a4"), 0},
      {NULL, FAKE_CLOSE, "", 0},
  };
  struct fake_engine e;

  fake_start(&e, answers, COUNT(answers));
  check_answer(ask(e.endpoint, "GET"), 200, "a1");
  usleep(20000);
  check_answer(ask(e.endpoint, "POST"), 200, "a2");
  check_answer(ask(e.endpoint, "GET"), 200, "a4"); /* the third gave nothing */
  check_failure(ask(e.endpoint, "POST"), SBX_EUNAVAILABLE, "without an answer");
  fake_stop(&e);
}

static void test_bad_answers(void) {
  static const struct {
    struct fake_answer answer;
    int code;
    const char *text;
  } cases[] = {
      {{NULL, FAKE_CLOSE, "", 0}, SBX_EUNAVAILABLE, "without an answer"},
      {{NULL, FAKE_CLOSE, "HTTP/1.1 200", 0},
       SBX_EUNAVAILABLE,
       "in the middle"},
      {{NULL, FAKE_CLOSE, OK("9", "short"), 0}, SBX_EUNAVAILABLE, "the middle"},
      {{NULL, FAKE_CLOSE, "SSH-2.0-OpenSSH\r\n", 0}, SBX_EPROTO, "not HTTP"},
      {{NULL, FAKE_CLOSE, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 0},
       SBX_EPROTO,
       "not HTTP"},
      {{NULL, FAKE_CLOSE,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0},
       SBX_EPROTO,
       "not HTTP"},
  };
  struct fake_engine e;

  for (size_t i = 0; i < COUNT(cases); i++) {
    fake_start(&e, &cases[i].answer, 1);
    check_failure(ask(e.endpoint, "POST"), cases[i].code, cases[i].text);
    fake_stop(&e);
  }
}

/* 100 MB of headers, and of body, would come if somebody read them. */
static void test_endless(void) {
  static char lines[64 * 1024];
  static char head[sizeof(lines) + 64];
  struct fake_answer answer = {NULL, FAKE_ENDLESS, head, 0};
  struct fake_engine e;
  struct sbx_http_op *h;

  for (size_t i = 0; i + 1 < sizeof(lines); i++)
    lines[i] = "X: yyyyyyyyyyy\r\n"[i % 15];
  snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n%s", lines);
  fake_start(&e, &answer, 1);
  check_failure(ask(e.endpoint, "GET"), SBX_EPROTO, "");
  fake_stop(&e);

  snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n\r\n%s", lines);
  fake_start(&e, &answer, 1);
  h = make(e.endpoint, "GET");
  h->max_body = 1 << 20;
  sbx_op_submit(&h->op);
  wait_done(&h->op);
  check_failure(h, SBX_EPROTO, "longer than 1048576 bytes");
  fake_stop(&e);
}

static void test_deadline_and_cancel(void) {
  static const struct fake_answer hang[] = {
      {NULL, FAKE_HANG, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", 0}};
  struct fake_engine e;
  struct sbx_http_op *h;
  uint64_t begin;

  fake_start(&e, hang, 1);
  h = make(e.endpoint, "GET");
  h->timeout_ms = 100;
  begin = sbx_now_ms();
  sbx_op_submit(&h->op);
  wait_done(&h->op);
  CHECK(sbx_now_ms() - begin >= 100 && sbx_now_ms() - begin < 2000);
  check_failure(h, SBX_ETIMEOUT, "did not answer within 100 ms");
  fake_stop(&e);

  fake_start(&e, hang, 1);
  h = make(e.endpoint, "GET");
  sbx_op_submit(&h->op);
  usleep(50000);
  sbx_op_cancel(&h->op);
  wait_done(&h->op);
  check_failure(h, SBX_ECANCELLED, "");
  fake_stop(&e);
}

static void test_nobody_there(void) {
  check_failure(ask("unix:///tmp/anvia-no-such.sock", "GET"), SBX_EUNAVAILABLE,
                "cannot connect to the Docker daemon at unix:///tmp/anvia-no");
  check_failure(ask("tcp://127.0.0.1:1", "GET"), SBX_EUNAVAILABLE,
                "cannot connect to the Docker daemon at tcp://127.0.0.1:1");
}

static void test_lines(void) {
  static const struct fake_answer answers[] = {
      {NULL, FAKE_BYTES,
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "4\r\none\n\r\n7\r\n\n\ntwo\nx\r\n0\r\n\r\n",
       0},
      {NULL, FAKE_WHOLE,
       "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\na\nb\n", 0},
  };
  static const char *const want[] = {"one", "two", "x"};
  struct fake_engine e;
  struct sbx_http_op *h;
  struct sbx_chunk *c;
  size_t n = 0;

  fake_start(&e, answers, COUNT(answers));
  h = make(e.endpoint, "POST");
  h->lines = true;
  sbx_op_submit(&h->op);
  wait_done(&h->op);
  while ((c = sbx_op_read(&h->op)) != NULL) {
    REQUIRE(n < COUNT(want));
    CHECK_MEM(c->data, c->len, want[n], strlen(want[n]));
    n++;
    free(c);
  }
  CHECK_INT(n, COUNT(want));
  check_answer(h, 200, "");

  h = make(e.endpoint, "POST");
  h->lines = true;
  sbx_op_submit(&h->op);
  wait_done(&h->op);
  check_answer(h, 404, "a\nb\n");
  fake_stop(&e);
}

/* Whoever closes while requests are under way waits for none of them. */
static void test_close_under_way(void) {
  static const struct fake_answer hang = {NULL, FAKE_HANG, "", 0};
  struct sbx_mailbox *other;
  struct fake_engine e;
  struct sbx_http_op *h;
  uint64_t begin;

  fake_start(&e, &hang, 1);
  REQUIRE(sbx_mailbox_new(&other, NULL) == 0);
  REQUIRE(sbx_http_op_new(&h, other) == 0);
  REQUIRE(sbx_endpoint_new(&h->endpoint, e.endpoint, NULL) == 0);
  h->method = strdup("GET");
  h->target = strdup("/");
  sbx_op_submit(&h->op);
  while (atomic_load(&e.next) == 0)
    usleep(1000);
  begin = sbx_now_ms();
  sbx_mailbox_close(other);
  CHECK(sbx_now_ms() - begin < 1000);
  while (!sbx_op_done(&h->op) && sbx_now_ms() - begin < 2000)
    usleep(1000); /* the thread is not ours alone */
  check_failure(h, SBX_ECANCELLED, "");
  sbx_mailbox_unref(other);
  fake_stop(&e);
}

static void test_endpoints(void) {
  static const char *const bad[] = {
      "",          "unix://x", "tcp://",      "tcp://h:0",  "tcp://h:99999",
      "tcp://h/x", "ssh://h",  "tcp://u@h:1", "tcp://[::1", "tcp://h:1x"};
  struct sbx_endpoint *e;
  struct sbx_err err = {0};
  char longer[200] = "unix:///";

  for (size_t i = 0; i < COUNT(bad); i++)
    CHECK_INT(sbx_endpoint_new(&e, bad[i], NULL), -EINVAL);
  memset(longer + 8, 'x', 150);
  CHECK_INT(sbx_endpoint_new(&e, longer, &err), -EINVAL);
  REQUIRE(sbx_endpoint_new(&e, "tcp://[::1]:2376/", NULL) == 0);
  CHECK_STR(e->host, "::1");
  CHECK_INT(e->port, 2376);
  sbx_endpoint_unref(e);
  REQUIRE(sbx_endpoint_new(&e, "http://h", NULL) == 0);
  CHECK_INT(e->port, 2375);
  sbx_endpoint_unref(e);
}

int main(void) {
  struct sbx_err err = {0};

  test_endpoints();
  REQUIRE(sbx_mailbox_new(&mb, &err) == 0);
  test_kept_connection();
  test_several_at_once();
  test_closed_meanwhile();
  test_bad_answers();
  test_endless();
  test_deadline_and_cancel();
  test_nobody_there();
  test_lines();
  test_close_under_way();
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  return check_done();
}
