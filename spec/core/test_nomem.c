/* SPDX-License-Identifier: MIT */
/* test_nomem.c - without memory a call fails, changes nothing, and succeeds
 * when it is made again. */
#include <errno.h>
#include <stdlib.h>

static int allocations, fail_at;

static int refuse(void) {
  return ++allocations == fail_at;
}

static void *test_malloc(size_t len) {
  return refuse() ? NULL : malloc(len);
}

static void *test_calloc(size_t n, size_t len) {
  return refuse() ? NULL : calloc(n, len);
}

static void *test_realloc(void *p, size_t len) {
  return refuse() ? NULL : realloc(p, len);
}

#define malloc  test_malloc
#define calloc  test_calloc
#define realloc test_realloc
/* clang-format off: capture.c uses the other two */
#include "base/buf.c"
#include "base/capture.c"
#include "base/ring.c"
/* clang-format on */
#undef malloc
#undef calloc
#undef realloc

#include "check.h"

static uint8_t stream[20000];

/* Repeats a call that was refused; more than once is one too many. */
#define AGAIN(call)                                                            \
  do {                                                                         \
    int rc = (call);                                                           \
    if (rc == -ENOMEM)                                                         \
      rc = (call);                                                             \
    CHECK_INT(rc, 0);                                                          \
  } while (0)

static void use_buf(void) {
  struct sbx_buf b;
  sbx_buf_init(&b, sizeof(stream));
  for (size_t at = 0; at < 5000; at += 500)
    AGAIN(sbx_buf_append(&b, stream + at, 500));
  AGAIN(sbx_buf_appendf(&b, "%0*d", 600, 0));
  CHECK_INT(b.len, 5600);
  CHECK_MEM(b.data, 5000, stream, 5000);
  sbx_buf_fini(&b);
}

static void use_ring(void) {
  struct sbx_ring *r = NULL;
  uint8_t got[7000];
  AGAIN(sbx_ring_new(&r, sizeof(got)));
  REQUIRE(r != NULL);
  for (size_t at = 0; at < sizeof(stream); at += 500) {
    uint64_t before = sbx_ring_total(r);
    if (sbx_ring_push(r, stream + at, 500) < 0) {
      CHECK_INT(sbx_ring_total(r), before);
      CHECK_INT(sbx_ring_push(r, stream + at, 500), 0);
    }
  }
  size_t n = sbx_ring_copy(r, 0, got, sizeof(got), NULL);
  CHECK_MEM(got, n, stream + sizeof(stream) - n, sizeof(got));
  sbx_ring_free(r);
}

static void use_capture(void) {
  struct sbx_capture *c = NULL;
  struct sbx_captured out;
  AGAIN(sbx_capture_new(&c, 7000, SBX_KEEP_BOTH));
  REQUIRE(c != NULL);
  for (size_t at = 0; at < sizeof(stream); at += 500) {
    uint64_t before = sbx_capture_total(c);
    if (sbx_capture_push(c, stream + at, 500) < 0) {
      CHECK_INT(sbx_capture_total(c), before);
      CHECK_INT(sbx_capture_push(c, stream + at, 500), 0);
    }
  }
  if (sbx_capture_finish(c, &out) < 0) {
    CHECK(out.data == NULL && out.len == 0 && !out.truncated);
    CHECK_INT(sbx_capture_finish(c, &out), 0);
  }
  CHECK_INT(out.len, 7000);
  CHECK_INT(out.omitted, sizeof(stream) - 7000);
  CHECK_MEM(out.data, 3500, stream, 3500);
  CHECK_MEM(out.data + 3500, 3500, stream + sizeof(stream) - 3500, 3500);
  free(out.data);
  sbx_capture_free(c);
}

/* Refuses the first allocation, then in another run the second, ... */
static void check_refusals(void (*use)(void), int at_least) {
  int n = 0;
  do {
    allocations = 0;
    fail_at = ++n;
    use();
  } while (allocations >= fail_at);
  CHECK(n > at_least);
}

int main(void) {
  for (size_t i = 0; i < sizeof(stream); i++)
    stream[i] = (uint8_t)(i % 127);
  check_refusals(use_buf, 4);
  check_refusals(use_ring, 4);
  check_refusals(use_capture, 6);
  return check_done();
}
