/* SPDX-License-Identifier: MIT */
/* files.h - what files.c, listing.c and watch.c share. All but the end of an
 * operation is called as the session's user. */
#ifndef SBX_SUPERVISOR_FILES_H
#define SBX_SUPERVISOR_FILES_H

#include <dirent.h>

#include "supervisor/beneath.h"
#include "supervisor/super.h"

/* DONE for 0 or -errno. `text` is empty, or "to": see PROTOCOL.md. */
void sbx_files_done(uint32_t id, int rc, const char *text);
/* For channels that get nothing but FORGET. */
int sbx_files_no_frame(struct sbx_channel *c, const struct sbx_frame *frame);

/* Open the channel, or return -errno. REMOVE is for a full directory. */
int sbx_list_start(uint32_t id, const struct sbx_msg_file *m);
int sbx_remove_start(uint32_t id, struct sbx_place *at); /* takes it on 0 */
int sbx_watch_start(uint32_t id, const struct sbx_msg_file *m);

/* An ENTRY frame about one. */
void sbx_entry_send(uint32_t id, int dir, const char *name,
                    const struct stat *st);

/* A walk through a tree that follows no link and holds two descriptors. */
struct sbx_tree {
  int root;            /* O_PATH; -1: none */
  DIR *dir;            /* that is read */
  struct sbx_buf todo; /* a stack of: '+' new or '-' opened, path, NUL */
  int error;           /* of the last directory that could not be opened */
  struct stat st;      /* ENTRY */
  const char *name;    /* ENTRY: in dir */
  size_t base;         /* length of the path of dir */
  char path[PATH_MAX + NAME_MAX + 2]; /* of what next told, from root */
};

enum sbx_tree_what {
  SBX_TREE_END,
  SBX_TREE_OPENED, /* a directory; its entries follow */
  SBX_TREE_ENTRY,
  SBX_TREE_LEFT /* a directory, and all that were pushed meanwhile */
};

#define SBX_TREE_PORTION 512 /* entries at a time */

/* Begins with the directory `at`. To be closed whatever it returns. */
int sbx_tree_open(struct sbx_tree *t, const struct sbx_place *at);
void sbx_tree_close(struct sbx_tree *t);
int sbx_tree_next(struct sbx_tree *t); /* enum sbx_tree_what or -errno */
/* Goes there later, unless the path is too long. */
int sbx_tree_push(struct sbx_tree *t, const char *path);

#endif
