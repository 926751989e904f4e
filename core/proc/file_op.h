/* SPDX-License-Identifier: MIT */
/* file_op.h - one file operation by the supervisor of a session: one channel,
 * one deadline. Without a supervisor it fails. */
#ifndef SBX_PROC_FILE_OP_H
#define SBX_PROC_FILE_OP_H

#include "base/buf.h"
#include "proc/mux.h"
#include "proc/session.h"

/* What is asked for. Everything malloc'd belongs to the operation. */
struct sbx_file_options {
  enum sbx_file_verb verb;
  char *path, *other; /* relative to the workspace */
  bool recursive, parents, has_mode;
  uint32_t mode;
  /* READ: bytes, LIST: entries; at most so many. */
  uint64_t length;
  /* READ: a whole file, and none if it has more than `length` bytes. */
  bool whole;
  /* READ of a part: it begins so many bytes after so many line ends. */
  uint64_t skip_lines, offset;
  uint8_t *data; /* WRITE */
  size_t data_len;
  uint64_t timeout_ms;
};

/* An entry; the strings are C strings in one of the operation's blocks. */
struct sbx_file_entry {
  uint8_t type; /* 'f' 'd' 'l' 'o' */
  uint32_t mode;
  uint64_t size, mtime_ms;
  struct sbx_str path;   /* READ, STAT: empty */
  struct sbx_str target; /* of a link */
};

struct sbx_file_op {
  struct sbx_session_op base;
  struct sbx_file_options options;
  bool details; /* the consumer's: what it wants of each entry */

  /* I/O thread */
  struct sbx_mux_channel *channel;
  struct sbx_timer *timer;
  size_t sent;
  uint64_t lines_left, bytes_left; /* to be skipped */

  /* results */
  struct sbx_buf data; /* READ */
  struct sbx_file_entry *entries;
  size_t count, cap;
  struct sbx_buf blocks; /* pointers: what the entries' strings are in */
  size_t block_bytes;

  /* of a failure */
  uint32_t error;      /* errno of Linux, 0: the supervisor gave none */
  bool other_at_fault; /* RENAME: it is about `other` */
  bool too_large;      /* READ: entries[0].size is more than allowed */
};

extern const struct sbx_op_class sbx_file_op_class;

/* Consumer thread. The caller fills in the options and submits it. NULL: no
 * memory. */
struct sbx_file_op *sbx_file_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s);
void sbx_file_options_fini(struct sbx_file_options *options);

/* Consumer thread, once it is done: by the bytes of the paths. */
void sbx_file_op_sort(struct sbx_file_op *op);

/* The failure that a DONE stands for: sets *err and returns its code; 0 for
 * none. */
int sbx_file_explain(const struct sbx_msg_done *done, struct sbx_err *err);

#endif
