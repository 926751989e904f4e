/* SPDX-License-Identifier: MIT */
/* dirwalk.h - a walk through a tree of directories, taken one entry at a time.
 *
 * Follows no link, holds two descriptors however deep it is, and goes only
 * where it is told to. Other changes to the tree meanwhile do no harm. */
#ifndef SBX_OS_DIRWALK_H
#define SBX_OS_DIRWALK_H

#include <dirent.h>

#include "base/buf.h"
#include "os/beneath.h"

#define SBX_DIRWALK_PATH (PATH_MAX + NAME_MAX + 2)

/* After so long others should have a turn. One step may take as long as it
 * takes to open a directory that is 2,000 levels deep. */
#define SBX_DIRWALK_PORTION_MS 3

struct sbx_dirwalk {
  int root;            /* O_PATH; -1: none */
  DIR *dir;            /* that is read */
  struct sbx_buf todo; /* a stack of: '+' new or '-' opened, path, NUL */
  int error;           /* of the last directory that could not be opened */
  struct stat st;      /* ENTRY */
  const char *name;    /* ENTRY: in dir */
  size_t base;         /* length of the path of dir */
  char path[SBX_DIRWALK_PATH]; /* of what next told, from root; "": root */
};

enum sbx_dirwalk_what {
  SBX_DIRWALK_END,
  SBX_DIRWALK_OPENED, /* a directory; its entries follow */
  SBX_DIRWALK_ENTRY,
  SBX_DIRWALK_LEFT /* a directory, and all that were pushed meanwhile */
};

/* Begins with the directory `at`: 0 or -errno. Close it whatever comes. */
int sbx_dirwalk_open(struct sbx_dirwalk *t, const struct sbx_place *at);
void sbx_dirwalk_close(struct sbx_dirwalk *t);

/* enum sbx_dirwalk_what or -errno. A directory that cannot be opened, other
 * than the first, is left at once. */
int sbx_dirwalk_next(struct sbx_dirwalk *t);

/* Goes there next, unless the path is too long: 0, -ENOMEM, -EMSGSIZE (too many
 * wait). `path` may be t->path. */
int sbx_dirwalk_push(struct sbx_dirwalk *t, const char *path);

#endif
