/* SPDX-License-Identifier: MIT */
#include "os/journal.h"

#include <stdlib.h>
#include <string.h>

void sbx_journal_init(struct sbx_journal *j, uint64_t cursor) {
  memset(j, 0, sizeof(*j));
  j->lost = cursor;
}

void sbx_journal_fini(struct sbx_journal *j) {
  for (unsigned i = 0; i < SBX_JOURNAL_MAX; i++)
    free(j->ring[i].text);
  sbx_journal_init(j, j->lost);
}

void sbx_journal_lose(struct sbx_journal *j, uint64_t cursor) {
  if (cursor > j->lost)
    j->lost = cursor;
}

void sbx_journal_add(struct sbx_journal *j, uint64_t cursor, uint8_t kind,
                     const char *text, uint8_t merge) {
  struct sbx_journal_item *newest = &j->ring[(j->count - 1) % SBX_JOURNAL_MAX];
  struct sbx_journal_item *slot = &j->ring[j->count % SBX_JOURNAL_MAX];

  if (j->count > 0 && kind == merge && newest->kind == kind &&
      strcmp(newest->text, text) == 0) {
    newest->cursor = cursor;
    return;
  }
  char *copy = strdup(text);
  if (!copy) {
    sbx_journal_lose(j, cursor);
    return;
  }
  if (slot->text)
    sbx_journal_lose(j, slot->cursor);
  free(slot->text);
  *slot = (struct sbx_journal_item){cursor, kind, copy};
  j->count++;
}

const struct sbx_journal_item *sbx_journal_next(const struct sbx_journal *j,
                                                uint64_t cursor) {
  uint64_t i = j->count > SBX_JOURNAL_MAX ? j->count - SBX_JOURNAL_MAX : 0;
  if (cursor < j->lost)
    cursor = j->lost;
  for (; i < j->count; i++)
    if (j->ring[i % SBX_JOURNAL_MAX].cursor > cursor)
      return &j->ring[i % SBX_JOURNAL_MAX];
  return NULL;
}
