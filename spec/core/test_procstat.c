/* SPDX-License-Identifier: MIT */
#include "wire/procstat.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "feed.h"

#define MARK "0123456789abcdef0123456789abcdef"
#define REST                                                                   \
  " 0 -1 4194560 112 0 0 0 1 2 3 4 20 0 3 0 8277121 3010560 "                  \
  "221 18446744073709551615 1 1 0 0\n"

/* False as text: "-". */
static const char *parsed(const char *text, size_t len) {
  static char out[200];
  struct check_guard g = check_guard_new(text, len);
  struct sbx_procstat s;

  if (sbx_procstat_parse((char *)g.data, len, &s))
    snprintf(out, sizeof(out), "%ld %s %c %ld %ld %ld %ld %llu", s.pid, s.name,
             s.state, s.ppid, s.group, s.session, s.threads,
             (unsigned long long)s.started);
  else
    snprintf(out, sizeof(out), "-");
  check_guard_free(&g);
  return out;
}

#define STAT(in, want) CHECK_STR(parsed(in, sizeof(in) - 1), want)

static void test_stat(void) {
  STAT("7 (sh) S 1 7 5" REST, "7 sh S 1 7 5 3 8277121");
  STAT("7 (a b) R 1 7 5" REST, "7 a b R 1 7 5 3 8277121");
  STAT("7 () S 1 7 5" REST, "7  S 1 7 5 3 8277121");
  STAT("7 (:) S 9 9 9 () S 1 7 5" REST, "7 :) S 9 9 9 ( S 1 7 5 3 8277121");
  STAT("7 ()) S 1 7 5" REST, "7 ) S 1 7 5 3 8277121");
  STAT("7 (x\n8 (y) S 1 7 5" REST, "7 x?8 (y S 1 7 5 3 8277121");
  STAT("7 (\x1b[1m\xff\0) Z 1 7 5" REST, "7 ?[1m?? Z 1 7 5 3 8277121");
  STAT("7 (0123456789012345678901234567890123456789) S 1 7 5" REST,
       "7 0123456789012345678901234567890 S 1 7 5 3 8277121");
  /* the 22nd field is the last that is looked at */
  STAT("7 (sh) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 -5 1 0 99",
       "7 sh S 1 7 5 1 99");
}

static void test_stat_refused(void) {
  STAT("", "-");
  STAT(")", "-");
  STAT("7", "-");
  STAT("7 (", "-");
  STAT("7 )", "-");
  STAT("7 sh) S 1 7 5" REST, "-");
  STAT("x (sh) S 1 7 5" REST, "-");
  STAT("-7 (sh) S 1 7 5" REST, "-");
  STAT("7 (sh)", "-");
  STAT("7 (sh) S", "-");
  STAT("7 (sh) S 1 7 -5" REST, "-");
  STAT("7 (sh) S 1 7 99999999999" REST, "-");
  STAT("99999999999999999999 (sh) S 1 7 5" REST, "-");
  STAT("7 (sh) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 -5 1 0 ", "-");
  STAT("7 (sh) S 1 7 5 0 -1 0 0 0 x 0 0 0 0 0 20 -5 1 0 9", "-");
  STAT("7 (sh) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 -5 1 0 18446744073709551616",
       "-");
}

static void test_alive(void) {
  static const struct {
    char state;
    long threads;
    bool alive;
  } cases[] = {{'R', 1, true},  {'S', 1, true}, {'D', 9, true},
               {'T', 1, true},  {'t', 1, true}, {'Z', 1, false},
               {'Z', 0, false}, {'Z', 2, true}, {'X', 1, false},
               {'x', 1, false}, {'I', 1, true}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_procstat s = {.state = cases[i].state,
                             .threads = cases[i].threads};
    CHECK_INT(sbx_procstat_is_alive(&s), cases[i].alive);
  }
}

#define LIMITS                                                                 \
  "Limit                     Soft Limit           Hard Limit           Units " \
  "    \n"                                                                     \
  "Max cpu time              unlimited            unlimited            "       \
  "seconds   \n"                                                               \
  "Max resident set          12                   281474976710649      bytes " \
  "    \n"                                                                     \
  "Max processes             unlimited            31532                "       \
  "processes \n"                                                               \
  "Max file locks            7                    18446744073709551614 locks " \
  "    \n"                                                                     \
  "Max nice priority         0                    0                    \n"     \
  "Max realtime timeout      unlimited            unlimited            us"

static const char *limit(const char *text, size_t len, const char *name) {
  static char out[32];
  struct check_guard g = check_guard_new(text, len);
  uint64_t n;

  if (!sbx_limits_hard((char *)g.data, len, name, &n))
    snprintf(out, sizeof(out), "-");
  else if (n == SBX_LIMIT_NONE)
    snprintf(out, sizeof(out), "none");
  else
    snprintf(out, sizeof(out), "%llu", (unsigned long long)n);
  check_guard_free(&g);
  return out;
}

#define LIMIT(in, name, want) CHECK_STR(limit(in, sizeof(in) - 1, name), want)

static void test_limits(void) {
  LIMIT(LIMITS, "Max cpu time", "none");
  LIMIT(LIMITS, "Max resident set", "281474976710649");
  LIMIT(LIMITS, "Max processes", "31532");
  LIMIT(LIMITS, "Max file locks", "18446744073709551614");
  LIMIT(LIMITS, "Max nice priority", "0");
  LIMIT(LIMITS, "Max realtime timeout", "none");
  LIMIT(LIMITS, "Max file", "-");
  LIMIT(LIMITS, "Max file locksmith", "-");
  LIMIT(LIMITS, "Limit", "-");
  LIMIT("", "Max file locks", "-");
  LIMIT("\n\n", "Max", "-");
  LIMIT("Max file locks", "Max file locks", "-");
  LIMIT("Max file locks 1", "Max file locks", "-");
  LIMIT("Max file locks 1 \nMax", "Max file locks", "-");
  LIMIT("Max file locks 1 2", "Max file locks", "2");
  LIMIT("Max file locks unlimited 2", "Max file locks", "2");
  LIMIT("Max file locks 1 x", "Max file locks", "-");
  LIMIT("Max file locks 1 18446744073709551616", "Max file locks", "-");
}

struct environ_run {
  const char *want; /* NULL: there is none */
  struct sbx_environ e;
};

static void environ_begin(void *ctx) {
  struct environ_run *r = ctx;
  sbx_environ_init(&r->e, "M");
}

static void environ_feed(void *ctx, const uint8_t *in, size_t len) {
  struct environ_run *r = ctx;
  bool found = sbx_environ_feed(&r->e, (const char *)in, len);
  CHECK_INT(found, r->e.found);
}

static void environ_end(void *ctx) {
  struct environ_run *r = ctx;
  CHECK_STR(r->e.found ? r->e.mark : NULL, r->want);
}

static void check_environ(const char *in, size_t len, const char *want) {
  struct environ_run r = {.want = want};
  struct feed_parser p = {environ_begin, environ_feed, environ_end, &r};
  feed_every_way(&p, in, len);
}

#define ENVIRON(in, want) check_environ(in, sizeof(in) - 1, want)

static void test_environ(void) {
  ENVIRON("", NULL);
  ENVIRON("M=" MARK "\0", MARK);
  ENVIRON("A=1\0M=" MARK "\0B=2\0", MARK);
  ENVIRON("\0\0M=" MARK "\0", MARK);
  ENVIRON("M=short\0M=" MARK "\0M=ffffffffffffffffffffffffffffffff\0", MARK);
  ENVIRON("M=" MARK, NULL); /* cut: it may go on */
  ENVIRON("M=" MARK "0\0", NULL);
  ENVIRON("M=" MARK "00\0", NULL);
  ENVIRON("M=0123456789ABCDEF0123456789abcdef\0", NULL);
  ENVIRON("M=0123456789abcdef\0"
          "0123456789abcdef\0",
          NULL);
  ENVIRON("MM=" MARK "\0", NULL);
  ENVIRON("xM=" MARK "\0", NULL);
  ENVIRON("A=M=" MARK "\0", NULL);
  ENVIRON("M" MARK "\0", NULL);
}

static size_t read_file(const char *path, char *out, size_t cap) {
  FILE *f = fopen(path, "r");
  if (!f)
    return 0;
  size_t n = fread(out, 1, cap, f);
  fclose(f);
  return n;
}

/* A child with a name and a limit, as this machine's kernel shows
 * them. */
static void test_this_machine(void) {
  static char text[8192];
  char path[64];
  int out[2];
  struct sbx_procstat s;
  uint64_t n = 0;
  struct stat tasks;

  if (access("/proc/self/limits", R_OK) != 0)
    return;
  REQUIRE(pipe(out) == 0);
  pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    struct rlimit limit = {5, 77};
    int named = -1;
    FILE *f = fopen("/proc/self/comm", "w");
    if (f) {
      named = fputs(") S 1 (", f);
      named = fclose(f);
    }
    setrlimit(RLIMIT_RSS, &limit);
    if (write(out[1], named < 0 ? "-" : "+", 1) == 1)
      pause();
    _exit(1);
  }
  char sign = '-';
  CHECK_INT(read(out[0], &sign, 1), 1);

  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  CHECK(sbx_procstat_parse(text, read_file(path, text, sizeof(text)), &s));
  CHECK_INT(s.pid, pid);
  CHECK_INT(s.ppid, getpid());
  CHECK_INT(s.group, getpgrp());
  CHECK_INT(s.session, getsid(0));
  snprintf(path, sizeof(path), "/proc/%d/task", pid);
  REQUIRE(stat(path, &tasks) == 0);
  CHECK_INT(s.threads, tasks.st_nlink - 2); /* a sanitizer may have its own */
  CHECK(s.started > 0);
  CHECK(sbx_procstat_is_alive(&s));
  if (sign == '+')
    CHECK_STR(s.name, ") S 1 (");
  snprintf(path, sizeof(path), "/proc/%d/limits", pid);
  CHECK(sbx_limits_hard(text, read_file(path, text, sizeof(text)),
                        "Max resident set", &n));
  CHECK_INT(n, 77);

  kill(pid, SIGKILL);
  siginfo_t info;
  CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  CHECK(sbx_procstat_parse(text, read_file(path, text, sizeof(text)), &s));
  CHECK(!sbx_procstat_is_alive(&s));
  waitpid(pid, NULL, 0);
  close(out[0]);
  close(out[1]);
}

int main(void) {
  test_stat();
  test_stat_refused();
  test_alive();
  test_limits();
  test_environ();
  test_this_machine();
  return check_done();
}
