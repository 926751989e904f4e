/* SPDX-License-Identifier: MIT */
/* forkguard.h - what a forked copy of this process must not keep.
 *
 * A client of the engine lives as long as somebody holds the other end of its
 * stdin. If the host forks a child that never execs, that child holds a copy
 * of the descriptor and the client would outlive its owner. Guarded
 * descriptors are closed in the forked child, before fork() returns there.
 *
 * The lock is the one lock of everything that is process-wide; it is whole and
 * free again in a forked child. Hold it for as short as a process spawn. */
#ifndef SBX_IO_FORKGUARD_H
#define SBX_IO_FORKGUARD_H

#include "base/list.h"

struct sbx_guard {
  int fd;
  struct sbx_list link;
};

/* 0 or -ENOMEM. Any number of times. */
int sbx_forkguard_init(void);

void sbx_forkguard_lock(void);
void sbx_forkguard_unlock(void);

/* Lock held. A descriptor must be guarded in the same locked section in which
 * it was made, and released before it is closed. */
void sbx_guard_add(struct sbx_guard *g, int fd);
/* Lock not held. Harmless for one that was never added, if it is zeroed. */
void sbx_guard_remove(struct sbx_guard *g);

/* Rises by one in every forked child: what was made under another number
 * belongs to an ancestor. */
unsigned sbx_forkguard_generation(void);

#endif
