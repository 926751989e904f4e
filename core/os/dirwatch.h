/* SPDX-License-Identifier: MIT */
/* dirwatch.h - watches a directory, or a tree, by inotify, and keeps a journal
 * of what happens: 'c'reated, 'm'odified, 'd'eleted, with the path from there.
 * A rename is a deletion and a creation. Names that begin with ".anvia-" are
 * left out. For the thread of base/loop.h. */
#ifndef SBX_OS_DIRWATCH_H
#define SBX_OS_DIRWATCH_H

#include "os/dirwalk.h"
#include "os/journal.h"
#include "os/loop.h"

/* Most directories of one tree. */
#define SBX_DIRWATCH_MAX 8192

struct sbx_dirwatch_spot {
  int wd;
  char *path; /* from the root */
};

struct sbx_dirwatch {
  struct stat st; /* which directory it is */
  bool recursive;
  bool ready; /* the tree as it was first is watched */
  int error;  /* -errno: it sees nothing any more */
  struct sbx_journal journal;
  void (*changed)(struct sbx_dirwatch *w); /* one of these four */

  void (*enter)(void), (*leave)(void);
  bool quiet; /* what the walk finds was there before */
  struct sbx_handler handler;
  struct sbx_turn turn;
  struct sbx_dirwalk walk; /* to directories that are not yet watched */
  struct sbx_dirwatch_spot *spots;
  unsigned count;
};

/* Cursor of the newest event of all watches. */
uint64_t sbx_dirwatch_newest(void);

/* The rest of *w is zero but for changed, enter and leave, which are called
 * around what needs the user's rights. Called with them itself. 0 or -errno;
 * close it in both cases, outside of `changed`. */
int sbx_dirwatch_open(struct sbx_dirwatch *w, const struct sbx_place *at,
                      bool recursive);
void sbx_dirwatch_close(struct sbx_dirwatch *w);

#endif
