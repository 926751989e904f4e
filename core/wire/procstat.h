/* SPDX-License-Identifier: MIT */
/* procstat.h - what three files of /proc/<pid> say. Pure, no allocation.
 *
 * The name of a process and its environment are whatever it likes. */
#ifndef SBX_WIRE_PROCSTAT_H
#define SBX_WIRE_PROCSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/control.h"

#define SBX_PROC_NAME  32
#define SBX_LIMIT_NONE UINT64_MAX

struct sbx_procstat {
  long pid, ppid, group, session;
  long threads;
  uint64_t started; /* clock ticks after the boot */
  char state;
  char name[SBX_PROC_NAME]; /* printable ASCII, the rest as '?' */
};

/* The text of /proc/<pid>/stat, at least up to the 22nd field. False when it is
 * not one. */
bool sbx_procstat_parse(const char *text, size_t len, struct sbx_procstat *out);

/* Not a zombie, nor about to be none. A process whose first thread has ended
 * looks like a zombie while its other threads run. */
bool sbx_procstat_is_alive(const struct sbx_procstat *stat);

/* Cuts, and makes printable; out is always a string. */
void sbx_proc_name(char out[SBX_PROC_NAME], const char *name, size_t len);

/* Finds a hard limit in the text of /proc/<pid>/limits by the name in its first
 * column ("Max file locks"). SBX_LIMIT_NONE for "unlimited". False when it is
 * not there. */
bool sbx_limits_hard(const char *text, size_t len, const char *name,
                     uint64_t *out);

/* Looks for <name>=<32 lower-case hex digits> in the bytes of
 * /proc/<pid>/environ, in whatever pieces they come. The first one counts. */
struct sbx_environ {
  const char *name;
  size_t at; /* how much of the entry is as wanted; SIZE_MAX: it is not */
  bool found;
  char mark[SBX_NONCE_LEN + 1]; /* a string when found */
};

/* name is kept. */
void sbx_environ_init(struct sbx_environ *e, const char *name);

/* Returns e->found: the rest need not be read. */
bool sbx_environ_feed(struct sbx_environ *e, const char *in, size_t len);

#endif
