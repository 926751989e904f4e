/* SPDX-License-Identifier: MIT */
/* check.h - the few things a C test needs.
 *
 * A test is one executable: it calls its cases and ends with
 * `return check_done();`. A failed check prints file:line, is counted, and the
 * test goes on. Single-threaded, except that CHECK() itself may be used from
 * several threads. */
#ifndef SBX_CHECK_H
#define SBX_CHECK_H

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int check_passed;
static atomic_int check_failed;

#define CHECK(cond) check_true(__FILE__, __LINE__, #cond, (cond) ? 1 : 0)

/* a and b are what was got and what was expected. */
#define CHECK_INT(a, b)                                                        \
  check_int(__FILE__, __LINE__, #a, (intmax_t)(a), (intmax_t)(b))
#define CHECK_STR(a, b) check_str(__FILE__, __LINE__, #a, (a), (b))
#define CHECK_MEM(a, alen, b, blen)                                            \
  check_mem(__FILE__, __LINE__, #a, (a), (alen), (b), (blen))

/* For what the rest of the test cannot do without. */
#define REQUIRE(cond)                                                          \
  do {                                                                         \
    if (!CHECK(cond))                                                          \
      exit(check_done());                                                      \
  } while (0)

static inline int check_report(int ok) {
  atomic_fetch_add(ok ? &check_passed : &check_failed, 1);
  return ok;
}

static inline int check_true(const char *file, int line, const char *what,
                             int ok) {
  if (!ok)
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
  return check_report(ok);
}

static inline int check_int(const char *file, int line, const char *what,
                            intmax_t got, intmax_t want) {
  if (got != want)
    fprintf(stderr, "%s:%d: %s is %" PRIdMAX ", expected %" PRIdMAX "\n", file,
            line, what, got, want);
  return check_report(got == want);
}

static inline int check_str(const char *file, int line, const char *what,
                            const char *got, const char *want) {
  int ok = got == want || (got && want && strcmp(got, want) == 0);
  if (!ok)
    fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", file, line, what,
            got ? got : "(null)", want ? want : "(null)");
  return check_report(ok);
}

static inline void check_dump(const char *name, const uint8_t *p, size_t len) {
  fprintf(stderr, "  %s (%zu bytes): ", name, len);
  for (size_t i = 0; i < len && i < 80; i++)
    fprintf(stderr, p[i] >= 32 && p[i] < 127 ? "%c" : "\\x%02x", p[i]);
  fprintf(stderr, "%s\n", len > 80 ? "..." : "");
}

static inline int check_mem(const char *file, int line, const char *what,
                            const void *got, size_t got_len, const void *want,
                            size_t want_len) {
  int ok =
      got_len == want_len && (got_len == 0 || memcmp(got, want, got_len) == 0);
  if (!ok) {
    fprintf(stderr, "%s:%d: %s differs\n", file, line, what);
    check_dump("got", got, got_len);
    check_dump("expected", want, want_len);
  }
  return check_report(ok);
}

/* What main returns for a test that this machine cannot run: skipped, but a
 * failure where everything must work. */
static inline int check_skip(void) {
  const char *must = getenv("SBX_MUST_WORK");
  return must != NULL && strcmp(must, "1") == 0 ? 1 : 77;
}

/* Prints the counts; the value for main() to return. */
static inline int check_done(void) {
  int failed = atomic_load(&check_failed);
  fprintf(stderr, "%d checks passed, %d failed\n", atomic_load(&check_passed),
          failed);
  return failed ? 1 : 0;
}

/* An input that ends where readable memory ends: reading one byte too many is
 * a crash. `data` is writable and starts at any alignment. */
struct check_guard {
  uint8_t *data;
  size_t len;
  void *map;
  size_t map_len;
};

/* Aborts the test when there is no memory. `src` may be NULL: zeros. */
static inline struct check_guard check_guard_new(const void *src, size_t len) {
  struct check_guard g = {.len = len};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = (len + page - 1) / page * page;
  g.map_len = room + page;
  g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (g.map == MAP_FAILED) {
    perror("mmap");
    abort();
  }
  if (mprotect((uint8_t *)g.map + room, page, PROT_NONE) != 0) {
    perror("mprotect");
    abort();
  }
  g.data = (uint8_t *)g.map + room - len;
  if (src && len)
    memcpy(g.data, src, len);
  return g;
}

static inline void check_guard_free(struct check_guard *g) {
  munmap(g->map, g->map_len);
  g->map = NULL;
}

#endif
