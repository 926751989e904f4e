/* SPDX-License-Identifier: MIT */
#include "wire/passwd.h"

#include <errno.h>

#include "base/buf.h"
#include "check.h"

#define PASSWD                                                                 \
  "root:x:0:0:root:/root:/bin/bash\n"                                          \
  "\n"                                                                         \
  "# a comment\n"                                                              \
  "broken\n"                                                                   \
  "noid:x::1::/:\n"                                                            \
  "huge:x:4294967296:1::/:\n"                                                  \
  "nogid:x:900:x::/:\n"                                                        \
  "dev:x:1000:1001:Dev,,,:/home/dev:/bin/sh\n"                                 \
  "dev:x:2000:2000::/second:/bin/sh\n"                                         \
  "4242:x:1500:1500::/home/number:/bin/sh\n"                                   \
  "short:x:1600:1601\n"                                                        \
  "last:x:1700:1700::/home/last"
#define GROUP                                                                  \
  "root:x:0:\n"                                                                \
  "adm:x:4:syslog,dev\n"                                                       \
  "devs:x:1001:dev\n"                                                          \
  "devices:x:5:device,adev,de\n"                                               \
  "broken:x:x:dev\n"                                                           \
  "video:x:44:dev,last,\n"                                                     \
  "77:x:78:\n"                                                                 \
  "wheel:x:10:root,,dev"

/* "uid gid home groups", or the error's number. */
static const char *resolve(const char *spec, const char *passwd,
                           const char *group) {
  static char out[300];
  struct check_guard p = check_guard_new(passwd, passwd ? strlen(passwd) : 0);
  struct check_guard g = check_guard_new(group, group ? strlen(group) : 0);
  struct sbx_text pt = {passwd ? (char *)p.data : NULL, p.len};
  struct sbx_text gt = {group ? (char *)g.data : NULL, g.len};
  struct sbx_user u;

  int rc = sbx_user_resolve(spec, pt, gt, &u);
  if (rc < 0) {
    snprintf(out, sizeof(out), "%s",
             rc == -ENOENT   ? "unknown"
             : rc == -ERANGE ? "range"
                             : "?");
  } else {
    int n = snprintf(out, sizeof(out), "%u %u %.*s ", u.uid, u.gid,
                     (int)u.home.len, u.home.len > 0 ? u.home.data : "");
    for (size_t i = 0; i < u.group_count; i++)
      n += snprintf(out + n, sizeof(out) - (size_t)n, "%s%u", i > 0 ? "," : "",
                    u.groups[i]);
  }
  check_guard_free(&p);
  check_guard_free(&g);
  return out;
}

static void test_users(void) {
  static const struct {
    const char *spec, *want;
  } cases[] = {
      {"", "0 0 /root 0,10"},
      {"root", "0 0 /root 0,10"},
      {"0", "0 0 /root 0,10"},
      {"dev", "1000 1001 /home/dev 1001,4,44,10"},
      {"1000", "1000 1001 /home/dev 1001,4,44,10"},
      {"01000", "1000 1001 /home/dev 1001,4,44,10"},
      {"dev:", "1000 1001 /home/dev 1001,4,44,10"},
      {"dev:adm", "1000 4 /home/dev 4"},
      {"dev:4", "1000 4 /home/dev 4"},
      {"dev:999", "1000 999 /home/dev 999"},
      {"dev:0", "1000 0 /home/dev 0"},
      {"1234", "1234 0  0"},
      {"1234:adm", "1234 4  4"},
      {"1234:5678", "1234 5678  5678"},
      {":adm", "0 4 /root 4"},
      {":", "0 0 /root 0,10"},
      {"last", "1700 1700 /home/last 1700,44"},
      {"short", "1600 1601  1601"},
      {"4242", "4242 0  0"}, /* a number is an id */
      {"dev:77", "1000 77 /home/dev 77"},
      {"2147483647:2147483647", "2147483647 2147483647  2147483647"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    if (!CHECK_STR(resolve(cases[i].spec, PASSWD, GROUP), cases[i].want))
      fprintf(stderr, "  for \"%s\"\n", cases[i].spec);
}

static void test_refused(void) {
  static const struct {
    const char *spec, *want;
  } cases[] = {
      {"nobody", "unknown"},       {"Dev", "unknown"},
      {"de", "unknown"},           {"broken", "unknown"},
      {"noid", "unknown"},         {"nogid", "unknown"},
      {"huge", "unknown"},         {"-1", "unknown"},
      {"+0", "unknown"},           {" 0", "unknown"},
      {"0x1", "unknown"},          {"# a comment", "unknown"},
      {"dev:nobody", "unknown"},   {"dev:broken", "unknown"},
      {"dev:adm:adm", "unknown"},  {"dev:-1", "unknown"},
      {"2147483648", "range"},     {"99999999999999999999999999", "range"},
      {"dev:2147483648", "range"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    if (!CHECK_STR(resolve(cases[i].spec, PASSWD, GROUP), cases[i].want))
      fprintf(stderr, "  for \"%s\"\n", cases[i].spec);
}

static void test_without_files(void) {
  CHECK_STR(resolve("", NULL, NULL), "0 0  0");
  CHECK_STR(resolve("0:0", NULL, NULL), "0 0  0");
  CHECK_STR(resolve("65532:65533", NULL, NULL), "65532 65533  65533");
  CHECK_STR(resolve("root", NULL, NULL), "unknown");
  CHECK_STR(resolve("0:root", NULL, GROUP), "0 0  0");
  CHECK_STR(resolve("dev", PASSWD, NULL), "1000 1001 /home/dev 1001");
  CHECK_STR(resolve("0", "", ""), "0 0  0");
  CHECK_STR(resolve("0", "\n:\n::::\n", "\n"), "0 0  0");
}

static void test_many_groups(void) {
  struct sbx_buf b;
  struct sbx_user u;
  struct sbx_text passwd = {"a:x:1:0::/:", 11};

  sbx_buf_init(&b, SIZE_MAX);
  for (unsigned i = 0; i < 2 * SBX_USER_GROUPS; i++)
    CHECK_INT(sbx_buf_appendf(&b, "g%u:x:%u:a\ng:x:%u:a\n", i, i, i), 0);
  struct sbx_text group = {(char *)b.data, b.len};
  CHECK_INT(sbx_user_resolve("a", passwd, group, &u), 0);
  CHECK_INT(u.group_count, SBX_USER_GROUPS);
  for (unsigned i = 0; i < SBX_USER_GROUPS; i++)
    CHECK_INT(u.groups[i], i);
  sbx_buf_fini(&b);
}

int main(void) {
  test_users();
  test_refused();
  test_without_files();
  test_many_groups();
  return check_done();
}
