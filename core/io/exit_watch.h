/* SPDX-License-Identifier: MIT */
/* exit_watch.h - sees a child process end, and can kill its group.
 *
 * The process is reaped only when the watch is freed: until then its pid, and
 * so its group, cannot be anybody else's. I/O thread only. */
#ifndef SBX_IO_EXIT_WATCH_H
#define SBX_IO_EXIT_WATCH_H

#include <sys/types.h>

#include "io/stream.h"

struct sbx_exit_watch;

/* 0 or -ENOMEM. on_change says that it is time to look; it may not free the
 * watch twice, but once. */
int sbx_exit_watch_new(struct sbx_exit_watch **out,
                       void (*on_change)(void *arg), void *arg);

/* Once. Takes pidfd over. False: there is none (-1), or it cannot be polled;
 * then on_change never comes, and the caller has to look now and then. */
bool sbx_exit_watch_start(struct sbx_exit_watch *w, struct sbx_runtime *rt,
                          pid_t pid, int pidfd);

/* How it ended; NULL: it still runs. status_known is false when somebody else
 * has reaped it. */
const struct sbx_stream_end *sbx_exit_watch_look(struct sbx_exit_watch *w);

/* SIGKILL to the whole group, also when its leader has ended. Does nothing
 * when the pid may be anybody's. */
void sbx_exit_watch_kill(struct sbx_exit_watch *w);

/* Reaps it if it has ended. w may be NULL. */
void sbx_exit_watch_free(struct sbx_exit_watch *w);

#endif
