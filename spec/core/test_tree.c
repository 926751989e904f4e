/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "wire/tree.h"

#define MARK  "0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffff"

static const struct sbx_tree tree = {.mark = MARK, .wrapper = 10, .group = 10};

static struct sbx_table table_of(const char *const *lines) {
  struct sbx_table t = {0};

  for (; *lines != NULL; lines++)
    CHECK_INT(sbx_table_add(&t, *lines), 0);
  return t;
}

/* The members' pids, "11 12 ". */
static const char *members(struct sbx_table *t, const struct sbx_tree *which) {
  static char text[256];
  size_t i, used = 0, count = sbx_table_find(t, which), seen = 0;

  text[0] = '\0';
  for (i = 0; i < t->len; i++)
    if (t->rows[i].member) {
      used += (size_t)snprintf(text + used, sizeof(text) - used, "%ld ",
                               t->rows[i].pid);
      seen++;
    }
  CHECK_INT(count, seen);
  return text;
}

static void members_are_found_in_every_way(void) {
  static const char *const lines[] = {
      "p 10 1 10 10 - sh",          /* the wrapper: left out */
      "p 11 10 10 10 - sh",         /* by its group */
      "p 12 11 12 10 - job",        /* by its session */
      "p 13 1 13 13 " MARK " gone", /* by its mark, reparented */
      "p 15 14 15 15 - deep",       /* by descent, listed before its parent */
      "p 14 13 14 14 - child",      /* by descent */
      "p 20 1 20 20 " OTHER " foreign",
      "p 21 20 20 20 - foreign",
      NULL,
  };
  struct sbx_table t = table_of(lines);
  struct sbx_tree unknown = tree;

  CHECK_STR(members(&t, &tree), "11 12 13 15 14 ");
  /* Before the start was reported there is only the mark. */
  unknown.wrapper = 0;
  unknown.group = 0;
  CHECK_STR(members(&t, &unknown), "13 15 14 ");
  sbx_table_fini(&t);
}

static void rows_of_the_workload_are_not_trusted(void) {
  static const char *const lines[] = {
      "p",
      "p 0 1 10 10 - zero",
      "p 1 0 10 10 - init",
      "p -5 1 10 10 - negative",
      "p 99999999999999999999 1 10 10 - huge",
      "p 4194305 1 10 10 - beyond",
      "p 11 x 10 10 - letters",
      "p 12 1 10 10",
      "q 13 1 10 10 - verb",
      "p 16 1 16 16 short name",
      "p 17 16 17 17 - ",
      NULL,
  };
  struct sbx_table t = table_of(lines);
  struct sbx_tree init = {.mark = "", .wrapper = 0, .group = 1};

  CHECK_STR(members(&t, &tree), "");
  CHECK_STR(members(&t, &init), "");
  sbx_table_fini(&t);
}

static void a_cycle_of_parents_ends(void) {
  static const char *const lines[] = {
      "p 11 12 11 11 - a",
      "p 12 11 12 12 " MARK " b",
      NULL,
  };
  struct sbx_table t = table_of(lines);

  CHECK_STR(members(&t, &tree), "11 12 ");
  sbx_table_fini(&t);
}

static void names_are_printable(void) {
  static const char *const lines[] = {
      "p 11 1 10 10 - a\x1b[31m b\xff",
      "p 12 1 10 10 - 0123456789012345678901234567890123456789",
      NULL,
  };
  struct sbx_table t = table_of(lines);

  CHECK_STR(t.rows[0].name, "a?[31m b?");
  CHECK_INT(strlen(t.rows[1].name), SBX_PROC_NAME - 1);
  sbx_table_fini(&t);
}

static void serials_are_read_from_two_limits(void) {
  static const struct {
    uint64_t locks, rss, want;
  } cases[] = {
      {SBX_LIMIT_NONE, SBX_LIMIT_NONE, SBX_SERIAL_NONE},
      {1, SBX_SERIAL_SUM - 1, 1},
      {SBX_SERIAL_SUM - 1, 1, SBX_SERIAL_SUM - 1},
      {7, SBX_SERIAL_SUM - 7, 7},
      {6, SBX_SERIAL_SUM - 7, SBX_SERIAL_FORGED},
      {7, SBX_SERIAL_SUM - 8, SBX_SERIAL_FORGED},
      {7, SBX_LIMIT_NONE, SBX_SERIAL_FORGED},
      {SBX_LIMIT_NONE, SBX_SERIAL_SUM - 7, SBX_SERIAL_FORGED},
      {0, SBX_SERIAL_SUM, SBX_SERIAL_FORGED},
      {SBX_SERIAL_SUM, 0, SBX_SERIAL_FORGED},
      {SBX_SERIAL_SUM + 1, SBX_LIMIT_NONE, SBX_SERIAL_FORGED},
      {0, 0, SBX_SERIAL_FORGED},
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    CHECK_INT(sbx_serial_of(cases[i].locks, cases[i].rss), cases[i].want);
}

static void serials_and_those_who_forge_them_are_members(void) {
  static const struct {
    long pid, ppid;
    uint64_t serial;
  } rows[] = {{10, 1, 7},
              {11, 1, 7},                 /* by its serial */
              {12, 1, 8},                 /* another's */
              {13, 1, SBX_SERIAL_FORGED}, /* anybody's */
              {14, 13, SBX_SERIAL_NONE},  /* by descent */
              {15, 1, SBX_SERIAL_NONE}};
  struct sbx_table t = {0};
  struct sbx_tree seven = {.serial = 7}, nine = {.serial = 9}, none = {0};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct sbx_procstat stat = {.pid = rows[i].pid, .ppid = rows[i].ppid};
    stat.group = stat.session = stat.pid;
    sbx_proc_name(stat.name, "a b", 3);
    struct sbx_row *row = sbx_table_add_stat(&t, &stat);
    REQUIRE(row != NULL);
    row->serial = rows[i].serial;
    CHECK_STR(row->name, "a b");
  }
  CHECK_STR(members(&t, &seven), "10 11 13 14 ");
  CHECK_STR(members(&t, &nine), "13 14 ");
  CHECK_STR(members(&t, &none), "13 14 ");
  sbx_table_fini(&t);
}

int main(void) {
  serials_are_read_from_two_limits();
  serials_and_those_who_forge_them_are_members();
  members_are_found_in_every_way();
  rows_of_the_workload_are_not_trusted();
  a_cycle_of_parents_ends();
  names_are_printable();
  return check_done();
}
