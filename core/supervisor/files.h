/* SPDX-License-Identifier: MIT */
/* files.h - what files.c, listing.c and watch.c share. */
#ifndef SBX_SUPERVISOR_FILES_H
#define SBX_SUPERVISOR_FILES_H

#include "os/dirwalk.h"
#include "supervisor/super.h"

/* DONE for 0 or -errno. `text` is empty, or "to": see PROTOCOL.md. */
void sbx_files_done(uint32_t id, int rc, const char *text);

/* As the session's user. They open the channel and return 1, or -errno. REMOVE
 * is for a full directory, and takes `at`. */
int sbx_list_start(uint32_t id, const struct sbx_msg_file *m);
int sbx_remove_start(uint32_t id, struct sbx_place *at);
int sbx_watch_start(uint32_t id, const struct sbx_msg_file *m);

/* An ENTRY frame about one. */
void sbx_entry_send(uint32_t id, int dir, const char *name,
                    const struct stat *st);

#endif
