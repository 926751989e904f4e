/* SPDX-License-Identifier: MIT */
/* filemsg.h - what the system says about files, as the messages say it. Pure.
 */
#ifndef SBX_WIRE_FILEMSG_H
#define SBX_WIRE_FILEMSG_H

#include <sys/stat.h>

#include "wire/msg.h"

/* enum sbx_done for an errno, 0 included. */
uint8_t sbx_filemsg_code(int error);

/* Appends one string of an ENTRY's list. `target` counts for a link. 0 or as
 * sbx_entry_encode; b is as before on failure. */
int sbx_filemsg_entry(struct sbx_buf *b, const struct stat *st,
                      struct sbx_str path, struct sbx_str target);

#endif
