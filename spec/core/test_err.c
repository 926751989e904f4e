/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "check.h"

static void test_names(void) {
  static const struct {
    int code;
    const char *name;
  } cases[] = {
      {SBX_EUNAVAILABLE, "docker_unavailable"},
      {SBX_ECOMMAND, "docker_command"},
      {SBX_EDESTROYED, "session_destroyed"},
      {SBX_EPATH, "path"},
      {SBX_ETIMEOUT, "timeout"},
      {SBX_EFILESIZE, "file_size"},
      {SBX_EPOLICY, "tool_policy"},
      {SBX_EPORT, "port"},
      {SBX_EPROCESS, "process"},
      {SBX_ENOTFOUND, "not_found"},
      {SBX_ECANCELLED, "cancelled"},
      {SBX_EPROTO, "protocol"},
      {SBX_EINTERNAL, "internal"},
      {-ENOMEM, "internal"},
      {-4095, "internal"}, /* UV_EOF */
      {0, "internal"},
      {12, "internal"},
      {-9999, "internal"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    CHECK_STR(sbx_err_name(cases[i].code), cases[i].name);
    CHECK(sbx_err_text(cases[i].code)[0] != '\0');
  }
  CHECK(SBX_EUNAVAILABLE < -5000);
  CHECK_STR(sbx_err_text(SBX_ENOTFOUND), "not found");
  CHECK_STR(sbx_err_text(-EIO), "system error");
}

static void test_first_failure_wins(void) {
  struct sbx_err err = {0};
  CHECK_INT(sbx_fail(&err, SBX_EPORT, "port %d", 80), SBX_EPORT);
  CHECK_INT(sbx_fail(&err, SBX_EPATH, "later"), SBX_EPATH);
  CHECK_INT(err.code, SBX_EPORT);
  CHECK_STR(err.message, "port 80");
  CHECK_INT(sbx_fail(NULL, SBX_EPATH, "nobody listens"), SBX_EPATH);
}

static void test_system_text(void) {
  struct sbx_err err = {0};
  CHECK_INT(sbx_fail(&err, -ENOENT, "connect %s", "/x"), -ENOENT);
  CHECK_STR(err.message, "connect /x: No such file or directory");

  struct sbx_err bare = {0};
  sbx_fail(&bare, -ENOENT, "%s", "");
  CHECK_STR(bare.message, "No such file or directory");
}

/* A message that does not fit ends with a whole character. */
static void test_long_message(void) {
  char text[700];
  for (size_t shift = 0; shift < 3; shift++) {
    memset(text, 'x', shift);
    for (size_t i = shift; i + 3 < sizeof(text); i += 3)
      memcpy(text + i, "\xe6\x97\xa5", 4);
    struct sbx_err err = {0};
    sbx_fail(&err, SBX_EINTERNAL, "%s", text);
    size_t len = strlen(err.message);
    CHECK(len >= sizeof(err.message) - 3 && len < sizeof(err.message));
    CHECK_INT((len - shift) % 3, 0);
    CHECK_MEM(err.message, len, text, len);
  }
  /* No room for the text of the system either. */
  memset(text, 'y', 508);
  text[508] = '\0';
  struct sbx_err err = {0};
  sbx_fail(&err, -ENOENT, "%s", text);
  CHECK_INT(strlen(err.message), 511);
  CHECK_STR(err.message + 506, "yy: N");
}

static void test_random(void) {
  char a[70], b[70];
  memset(a, '#', sizeof(a));
  CHECK_INT(sbx_random_hex(a, 65), 0);
  CHECK_INT(strlen(a), 65);
  CHECK_INT(strspn(a, "0123456789abcdef"), 65);
  CHECK_INT(a[66], '#');
  CHECK_INT(sbx_random_hex(b, 65), 0);
  CHECK(strcmp(a, b) != 0);
  CHECK_INT(sbx_random_hex(b, 0), 0);
  CHECK_STR(b, "");

  for (int i = 0; i < 200; i++) {
    char id[SBX_UUID_LEN + 1];
    CHECK_INT(sbx_uuid(id), 0);
    CHECK_INT(strlen(id), SBX_UUID_LEN);
    CHECK_INT(strspn(id, "0123456789abcdef-"), SBX_UUID_LEN);
    CHECK(id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-');
    CHECK(id[14] == '4' && strchr("89ab", id[19]));
  }
}

static void test_clock(void) {
  uint64_t ms = sbx_now_ms(), ns = sbx_now_ns();
  CHECK(ns / 1000000 >= ms && ns / 1000000 < ms + 10000);
  CHECK(sbx_now_ns() >= ns);
  CHECK(sbx_wall_ms() > 1600000000000u); /* September 2020 */
}

struct item {
  int value;
  struct sbx_list link;
};

static int sum(struct sbx_list *head) {
  struct sbx_list *it, *tmp;
  int digits = 0;
  SBX_LIST_EACH (it, tmp, head)
    digits = digits * 10 + SBX_LIST_OWNER(it, struct item, link)->value;
  return digits;
}

static void test_list(void) {
  struct item items[4];
  struct sbx_list a, b;
  sbx_list_init(&a);
  sbx_list_init(&b);
  for (int i = 0; i < 4; i++)
    items[i].value = i + 1;
  CHECK(sbx_list_empty(&a));
  CHECK(sbx_list_shift(&a) == NULL);
  sbx_list_append(&a, &items[0].link);
  sbx_list_append(&a, &items[1].link);
  sbx_list_prepend(&a, &items[2].link);
  CHECK_INT(sum(&a), 312);
  sbx_list_remove(&items[0].link);
  sbx_list_remove(&items[0].link); /* harmless */
  CHECK_INT(sum(&a), 32);
  sbx_list_append(&b, &items[3].link);
  sbx_list_splice(&b, &a);
  CHECK(sbx_list_empty(&a));
  sbx_list_splice(&b, &a);
  CHECK_INT(sum(&b), 432);

  struct sbx_list *it, *tmp;
  SBX_LIST_EACH (it, tmp, &b)
    if (it == &items[2].link)
      sbx_list_remove(it);
  CHECK_INT(sum(&b), 42);
  CHECK(sbx_list_shift(&b) == &items[3].link);
  CHECK(sbx_list_shift(&b) == &items[1].link);
  CHECK(sbx_list_empty(&b));
}

int main(void) {
  test_names();
  test_first_failure_wins();
  test_system_text();
  test_long_message();
  test_random();
  test_clock();
  test_list();
  return check_done();
}
