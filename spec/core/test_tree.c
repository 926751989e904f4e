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

int main(void) {
  members_are_found_in_every_way();
  rows_of_the_workload_are_not_trusted();
  a_cycle_of_parents_ends();
  names_are_printable();
  return check_done();
}
