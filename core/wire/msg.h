/* SPDX-License-Identifier: MIT */
/* msg.h - what the frames say: their types, and the payloads as structs.
 *
 * Numbers are little-endian, a string is u32 length, the bytes, and a NUL that
 * the length does not count; a list is u32 count and its strings. There is no
 * NUL in a string, except in the elements of LISTENER and ENTRY. Decoded
 * strings and lists point into the payload, and strings there are C strings.
 * Decoding takes exactly the whole payload: trailing bytes are an error.
 * Pure. */
#ifndef SBX_WIRE_MSG_H
#define SBX_WIRE_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_MSG_VERSION 1

enum sbx_msg_type {
  /* to the supervisor */
  SBX_MSG_HELLO = 1,     /* id 0; first, once */
  SBX_MSG_SPAWN = 2,     /* opens a channel: a command */
  SBX_MSG_DATA = 3,      /* both ways: u8 stream, bytes */
  SBX_MSG_EOF = 4,       /* both ways: u8 stream; no more DATA of it */
  SBX_MSG_CREDIT = 5,    /* both ways: u8 stream, u32 bytes */
  SBX_MSG_SIGNAL = 6,    /* u32 number: to every process of the command */
  SBX_MSG_KILL = 7,      /* u64 grace_ms */
  SBX_MSG_COUNT = 8,     /* empty: how many live processes has the command */
  SBX_MSG_RESIZE = 9,    /* u16 rows, u16 cols */
  SBX_MSG_FORGET = 10,   /* empty: the channel's owner has gone */
  SBX_MSG_PORTS = 11,    /* opens a channel: the listening sockets, once */
  SBX_MSG_PORT = 12,     /* opens a channel: watches one port */
  SBX_MSG_FILE = 13,     /* opens a channel: a file operation */
  SBX_MSG_TOUCH = 14,    /* id 0: counts as activity */
  SBX_MSG_SHUTDOWN = 15, /* id 0 */

  /* from the supervisor */
  SBX_MSG_READY = 129,    /* id 0: the answer to HELLO */
  SBX_MSG_STARTED = 130,  /* u32 pid: the program runs (exec succeeded) */
  SBX_MSG_FAILED = 131,   /* could not start; ends the channel */
  SBX_MSG_OMITTED = 132,  /* u8 stream, u64 bytes left out at this place */
  SBX_MSG_EXIT = 133,     /* the command has ended, its output is delivered;
                             the channel stays open until FORGET */
  SBX_MSG_KILLED = 134,   /* the end of a KILL: list of survivors */
  SBX_MSG_COUNTED = 135,  /* u32 live processes; also the answer to SIGNAL */
  SBX_MSG_LISTENER = 136, /* list of listening sockets */
  SBX_MSG_ENTRY = 137,    /* list of directory entries */
  SBX_MSG_EVENT = 138,    /* something happened under a watched directory */
  SBX_MSG_DONE = 139,     /* ends a channel of PORTS, PORT and FILE, and a HELLO
                             that was refused (id 0) */
  SBX_MSG_BYE = 140       /* id 0: u8 enum sbx_bye; the container ends */
};

enum sbx_msg_stream {
  SBX_MSG_STDIN = 0,
  SBX_MSG_STDOUT = 1,
  SBX_MSG_STDERR = 2
};

enum sbx_bye {
  SBX_BYE_SHUTDOWN = 1,
  SBX_BYE_TTL,
  SBX_BYE_IDLE,
  SBX_BYE_PROTOCOL
};

/* A string; a decoded one points into the payload, where a NUL follows it. */
struct sbx_str {
  const uint8_t *data;
  size_t len;
};

/* A list: the strings as they are in the payload; walk it with sbx_strs_next.
 * To build one, append them to a buffer with sbx_str_append and count. */
struct sbx_strs {
  const uint8_t *data;
  size_t len;
  uint32_t count;
};

/* Takes the first string off. False when there is none. */
bool sbx_strs_next(struct sbx_strs *list, struct sbx_str *out);

struct sbx_msg_hello {
  uint32_t version;
  uint8_t no_new_privileges; /* for commands */
  uint64_t capabilities;     /* that commands may have: a mask by number */
  uint64_t ttl_ms, idle_ms;  /* 0: none; the supervisor's own, see PROTOCOL */
  struct sbx_str workdir;    /* the workspace */
  struct sbx_str user;       /* as in an image's USER; empty: uid 0 */
};

struct sbx_msg_ready {
  uint32_t version;
  uint32_t uid, gid;
  uint8_t writable; /* the workspace, for that user, after it was handed over */
  struct sbx_str home;
};

enum sbx_spawn_flags {
  SBX_SPAWN_STDIN = 1,   /* else it is empty */
  SBX_SPAWN_PTY = 2,     /* one terminal for all three; only STDOUT is used */
  SBX_SPAWN_ROOT = 4,    /* as uid 0, with no capability more */
  SBX_SPAWN_CAPTURE = 8, /* keep head and tail, ship at the end */
};

struct sbx_msg_spawn {
  uint32_t flags;
  uint8_t keep;       /* enum sbx_keep; CAPTURE */
  uint64_t max_bytes; /* of each output; CAPTURE */
  uint32_t credit;    /* bytes of each output that may be sent at once */
  uint16_t rows, cols;
  struct sbx_str mark; /* value of ANVIA_PROCESS_MARK in the environment */
  struct sbx_str cwd;  /* empty: the workspace */
  struct sbx_strs argv;
  struct sbx_strs env; /* NAME, value, NAME, value ... */
};

enum sbx_failed_stage {
  SBX_FAILED_REFUSED = 1, /* the supervisor: no memory, pids, fds, bad id */
  SBX_FAILED_CWD,
  SBX_FAILED_NOT_FOUND,
  SBX_FAILED_NOT_EXECUTABLE
};

struct sbx_msg_failed {
  uint8_t stage;
  uint32_t error; /* errno of Linux */
  struct sbx_str text;
};

struct sbx_msg_exit {
  uint8_t code;   /* 0 to 255; 128 + signal */
  uint8_t signal; /* 0: it exited */
  uint8_t oom;    /* the kernel killed in this container meanwhile */
  uint64_t user_us, system_us;
  uint64_t max_rss_kib;
};

/* A survivor is its pid as a string and its name, in turn. */
struct sbx_msg_killed {
  struct sbx_strs survivors;
};

struct sbx_msg_port {
  uint16_t port;
};

/* 19 bytes each, as one string: u8 family (4, 6), 16 bytes address in network
 * order, u16 port. */
struct sbx_msg_listeners {
  struct sbx_strs sockets;
};

enum sbx_file_verb {
  SBX_FILE_READ = 1, /* ENTRY (what it is), DATA under credit, DONE */
  SBX_FILE_WRITE,    /* DATA from the owner under credit, EOF, DONE */
  SBX_FILE_LIST,     /* ENTRY ..., DONE */
  SBX_FILE_STAT,     /* ENTRY, DONE */
  SBX_FILE_MKDIR,
  SBX_FILE_REMOVE,
  SBX_FILE_RENAME,
  SBX_FILE_SYMLINK, /* path: the link; other: what it says */
  SBX_FILE_WATCH,   /* EVENT ..., until FORGET */
};

enum sbx_file_flags {
  SBX_FILE_RECURSIVE = 1, /* LIST, REMOVE, WATCH */
  SBX_FILE_PARENTS = 2,   /* WRITE, SYMLINK: make the directories above */
  SBX_FILE_MODE = 4, /* WRITE, MKDIR: `mode` counts, also for an old file */
};

struct sbx_msg_file {
  uint8_t verb;
  uint32_t flags;
  uint32_t mode;   /* permission bits, no more than 0777 */
  uint64_t offset; /* READ: the first byte; WATCH: the cursor to go on from */
  uint64_t length; /* READ: at most so many bytes; WRITE: exactly so many;
                      LIST: at most so many entries; 0: none, not no limit */
  uint32_t credit; /* READ: bytes that may be sent at once */
  struct sbx_str path;  /* relative to the workspace, no .. ; "." is itself */
  struct sbx_str other; /* RENAME: to; SYMLINK: its text */
};

/* ENTRY: a list of at least one; each string is one sbx_msg_entry, encoded. */
struct sbx_msg_entries {
  struct sbx_strs entries;
};

struct sbx_msg_entry {
  uint8_t type;  /* 'f'ile 'd'irectory 'l'ink 'o'ther */
  uint32_t mode; /* permission bits, 07777 */
  uint64_t size, mtime_ms;
  struct sbx_str path;   /* relative to the directory that was listed; empty:
                            what was named itself (READ, STAT) */
  struct sbx_str target; /* of a link; else empty */
};

struct sbx_msg_event {
  uint64_t cursor;
  uint8_t kind; /* 'c'reated 'm'odified 'd'eleted, 'l'ost some, 'r'eady */
  struct sbx_str path;
};

struct sbx_msg_done {
  uint32_t error; /* 0, or errno of Linux */
  uint8_t code;   /* enum sbx_done */
  struct sbx_str text;
};

/* What a failed file operation is to its caller. */
enum sbx_done {
  SBX_DONE_OK = 0,
  SBX_DONE_NOT_FOUND,
  SBX_DONE_PATH, /* leads out, is of the wrong kind, is in the way */
  SBX_DONE_TOO_LARGE,
  SBX_DONE_REFUSED, /* no memory, no fds, too many channels */
  SBX_DONE_FAILED   /* anything else; `error` says what */
};

/* For each message: encode appends the payload (no frame header) to b: 0,
 * -ENOMEM, -EMSGSIZE, or -EINVAL for a string with a NUL in it, b is then as
 * before; decode takes a whole payload: 0 or SBX_EPROTO. */
#define SBX_MSG_CODEC(name)                                                    \
  int sbx_##name##_encode(struct sbx_buf *b, const struct sbx_msg_##name *m);  \
  int sbx_##name##_decode(struct sbx_msg_##name *m, const uint8_t *data,       \
                          size_t len);
SBX_MSG_CODEC(hello)
SBX_MSG_CODEC(ready)
SBX_MSG_CODEC(spawn)
SBX_MSG_CODEC(failed)
SBX_MSG_CODEC(exit)
SBX_MSG_CODEC(killed)
SBX_MSG_CODEC(port)
SBX_MSG_CODEC(listeners)
SBX_MSG_CODEC(file)
SBX_MSG_CODEC(entry)
SBX_MSG_CODEC(entries)
SBX_MSG_CODEC(event)
SBX_MSG_CODEC(done)
#undef SBX_MSG_CODEC

/* Appends one string: u32 length, bytes, NUL. 0, -ENOMEM, -EMSGSIZE; b is as
 * before on failure. */
int sbx_str_append(struct sbx_buf *b, const void *data, size_t len);

/* Small payloads by hand. */
uint16_t sbx_get_u16(const uint8_t *p);
uint32_t sbx_get_u32(const uint8_t *p);
uint64_t sbx_get_u64(const uint8_t *p);
void sbx_put_u16(uint8_t *p, uint16_t v);
void sbx_put_u32(uint8_t *p, uint32_t v);
void sbx_put_u64(uint8_t *p, uint64_t v);

#endif
