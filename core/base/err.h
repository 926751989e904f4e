/* SPDX-License-Identifier: MIT */
/* err.h - the closed list of failures and how they are carried.
 *
 * Functions return 0 (or a count) or a negative code. System failures are
 * -errno (libuv's codes are the same numbers), ours are SBX_E* below -5000.
 * Where a person needs context the last parameter is a `struct sbx_err *`: it
 * is untouched on success and set once, by the first failure. Thread-safe: no
 * state but the caller's struct. */
#ifndef SBX_BASE_ERR_H
#define SBX_BASE_ERR_H

#include <stdarg.h>

/* X(C name, number, Lua code, sentence). The Lua codes are public: they are
 * the field `code` of every error that the library returns. */
#define SBX_ERRORS(X)                                                          \
  X(SBX_EUNAVAILABLE, -5001, "docker_unavailable", "Docker is not available")  \
  X(SBX_ECOMMAND, -5002, "docker_command", "the Docker command failed")        \
  X(SBX_EDESTROYED, -5003, "session_destroyed", "the session is destroyed")    \
  X(SBX_EPATH, -5004, "path", "the path is not usable")                        \
  X(SBX_ETIMEOUT, -5005, "timeout", "the time is over")                        \
  X(SBX_EFILESIZE, -5006, "file_size", "the file is too large")                \
  X(SBX_EPOLICY, -5007, "tool_policy", "refused by the tool policy")           \
  X(SBX_EPORT, -5008, "port", "the port is not usable")                        \
  X(SBX_EPROCESS, -5009, "process", "the process could not be started")        \
  X(SBX_ENOTFOUND, -5010, "not_found", "not found")                            \
  X(SBX_ECANCELLED, -5011, "cancelled", "cancelled")                           \
  X(SBX_EPROTO, -5012, "protocol", "unexpected bytes from the sandbox")        \
  X(SBX_EINTERNAL, -5013, "internal", "internal error")

enum sbx_code {
#define SBX_X(name, number, lua, text) name = (number),
  SBX_ERRORS(SBX_X)
#undef SBX_X
};

struct sbx_err {
  int code; /* 0: nothing failed yet */
  char message[512];
};

/* Records the failure unless err is NULL or already set, and returns `code`
 * in any case, so that `return sbx_fail(...)` works. For a code that is
 * -errno, ": <text of the system>" is appended. A message that does not fit is
 * cut between UTF-8 characters. */
int sbx_fail(struct sbx_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int sbx_vfail(struct sbx_err *err, int code, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* The Lua code of `code`; "internal" for -errno and unknown numbers. Static. */
const char *sbx_err_name(int code);

/* A sentence for `code` when there is no message; never NULL. Static. */
const char *sbx_err_text(int code);

#endif
