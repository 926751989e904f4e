/* SPDX-License-Identifier: MIT */
/* journal.h - the last things that happened, for readers who come back.
 *
 * A cursor is a number that ascends; a reader that has seen everything up to
 * one gets what came later, or learns that some of that is lost. Belongs to one
 * thread. Pure. */
#ifndef SBX_OS_JOURNAL_H
#define SBX_OS_JOURNAL_H

#include <stdint.h>

#define SBX_JOURNAL_MAX 512

struct sbx_journal_item {
  uint64_t cursor;
  uint8_t kind; /* what the writer says */
  char *text;
};

struct sbx_journal {
  struct sbx_journal_item ring[SBX_JOURNAL_MAX];
  uint64_t count; /* ever added */
  uint64_t lost;  /* readers behind this cursor have missed something */
};

/* Nothing is known of what was before `cursor`. */
void sbx_journal_init(struct sbx_journal *j, uint64_t cursor);
void sbx_journal_fini(struct sbx_journal *j);

/* `cursor` is greater than all before. Without memory, it is lost. The same as
 * the newest item, if that has the kind `merge`, takes the newest's place. */
void sbx_journal_add(struct sbx_journal *j, uint64_t cursor, uint8_t kind,
                     const char *text, uint8_t merge);
/* Everything up to `cursor` is lost. */
void sbx_journal_lose(struct sbx_journal *j, uint64_t cursor);

/* The first one that is kept behind `cursor`; NULL when there is none. Valid
 * until the next change. */
const struct sbx_journal_item *sbx_journal_next(const struct sbx_journal *j,
                                                uint64_t cursor);

#endif
