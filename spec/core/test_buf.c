/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static void test_append_and_consume(void) {
  struct sbx_buf b;
  sbx_buf_init(&b, 1000);
  CHECK(b.data == NULL && b.len == 0 && b.cap == 0);
  CHECK_INT(sbx_buf_append(&b, NULL, 0), 0);
  sbx_buf_consume(&b, 0);
  sbx_buf_consume(&b, 5);
  CHECK_INT(sbx_buf_append(&b, "hello ", 6), 0);
  CHECK_INT(sbx_buf_append(&b, "wo\0ld", 5), 0);
  CHECK_MEM(b.data, b.len, "hello wo\0ld", 11);
  sbx_buf_consume(&b, 6);
  CHECK_MEM(b.data, b.len, "wo\0ld", 5);
  sbx_buf_consume(&b, 100);
  CHECK_INT(b.len, 0);
  CHECK_INT(sbx_buf_append(&b, "x", 1), 0);
  sbx_buf_clear(&b);
  CHECK_INT(b.len, 0);
  CHECK(b.cap > 0);
  sbx_buf_fini(&b);
  CHECK(b.data == NULL && b.cap == 0 && b.max == 1000);
}

static void test_maximum(void) {
  struct sbx_buf b;
  sbx_buf_init(&b, 10);
  CHECK_INT(sbx_buf_append(&b, "0123456789a", 11), -EMSGSIZE);
  CHECK_INT(b.len, 0);
  CHECK_INT(sbx_buf_append(&b, "0123456", 7), 0);
  CHECK_INT(sbx_buf_append(&b, "789a", 4), -EMSGSIZE);
  CHECK_INT(sbx_buf_appendf(&b, "%d", 7890), -EMSGSIZE);
  CHECK_INT(sbx_buf_reserve(&b, SIZE_MAX), -EMSGSIZE);
  CHECK_MEM(b.data, b.len, "0123456", 7);
  CHECK_INT(sbx_buf_appendf(&b, "%d", 789), 0);
  CHECK_MEM(b.data, b.len, "0123456789", 10);
  CHECK_INT(b.cap, 10);
  sbx_buf_fini(&b);

  sbx_buf_init(&b, 0);
  CHECK_INT(sbx_buf_append(&b, "", 0), 0);
  CHECK_INT(sbx_buf_append(&b, "x", 1), -EMSGSIZE);
  sbx_buf_fini(&b);
}

static void test_grows(void) {
  struct sbx_buf b;
  sbx_buf_init(&b, SIZE_MAX);
  for (int i = 0; i < 100000; i++)
    CHECK_INT(sbx_buf_append(&b, &(uint8_t){(uint8_t)i}, 1), 0);
  CHECK_INT(b.len, 100000);
  int wrong = 0;
  for (int i = 0; i < 100000; i++)
    wrong += b.data[i] != (uint8_t)i;
  CHECK_INT(wrong, 0);
#ifndef SANITIZED
  CHECK_INT(sbx_buf_reserve(&b, SIZE_MAX / 2), -ENOMEM);
  CHECK_INT(b.len, 100000);
#endif
  sbx_buf_fini(&b);
}

static void test_format(void) {
  char text[1000];
  memset(text, 'z', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  /* around the size up to which there is no allocation, with no byte spare */
  for (int n = 250; n < 262; n++) {
    struct sbx_buf b;
    sbx_buf_init(&b, (size_t)n + 1);
    CHECK_INT(sbx_buf_append(&b, "<", 1), 0);
    CHECK_INT(sbx_buf_appendf(&b, "%.*s", n, text), 0);
    CHECK_INT(b.len, n + 1);
    CHECK_MEM(b.data + 1, b.len - 1, text, (size_t)n);
    CHECK_INT(sbx_buf_appendf(&b, "%.*s", n, text), -EMSGSIZE);
    CHECK_INT(sbx_buf_appendf(&b, "%s", ""), 0);
    CHECK_INT(b.len, n + 1);
    sbx_buf_fini(&b);
  }
}

static void test_reserve_and_take(void) {
  struct sbx_buf b;
  size_t len = 99;
  sbx_buf_init(&b, 5000);
  CHECK(sbx_buf_take(&b, &len) == NULL);
  CHECK_INT(len, 0);
  CHECK_INT(sbx_buf_reserve(&b, 3000), 0);
  CHECK(b.cap >= 3000);
  CHECK(sbx_buf_take(&b, &len) == NULL); /* nothing in it */
  CHECK_INT(sbx_buf_reserve(&b, 3000), 0);
  memcpy(b.data, "abc", 3);
  b.len += 3;
  uint8_t *data = sbx_buf_take(&b, &len);
  CHECK_MEM(data, len, "abc", 3);
  CHECK(b.data == NULL && b.len == 0 && b.max == 5000);
  free(data);
  sbx_buf_fini(&b);
}

int main(void) {
  test_append_and_consume();
  test_maximum();
  test_grows();
  test_format();
  test_reserve_and_take();
  return check_done();
}
