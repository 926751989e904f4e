/* SPDX-License-Identifier: MIT */
/* environ.h - the environment of a program that is about to start, and where
 * its PATH leads. Pure, but for malloc: meant for a child that will execute
 * something, so nothing is ever freed. */
#ifndef SBX_OS_ENVIRON_H
#define SBX_OS_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_environ_list {
  char **entries; /* NAME=value, up to a NULL */
  size_t len, cap;
};

/* Begins with the entries of `from`, which it points to, and has room for
 * `more`. False: no memory. */
bool sbx_env_init(struct sbx_environ_list *e, char *const *from, size_t more);
/* NULL: there is none. */
const char *sbx_env_get(const struct sbx_environ_list *e, const char *name);
/* Replaces, or adds at the end. False: no memory, or no room. */
bool sbx_env_put(struct sbx_environ_list *e, const char *name,
                 const char *value);

/* The file `name` in the first directory of *path, in memory of its own; an
 * empty directory is the current one. *path is then the rest, NULL at the end.
 * NULL: no memory. */
char *sbx_path_next(const char **path, const char *name);

#endif
