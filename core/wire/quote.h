/* SPDX-License-Identifier: MIT */
/* quote.h - the header line that tells run.sh what to run.
 *
 * It is POSIX shell text in one line, to be read with `IFS= read -r` and
 * evaluated with `eval` at the top level of the script:
 *
 *   anvia_uuid='...' anvia_public='<mark>' anvia_dir='/cwd' anvia_input=1
 *   anvia_rs='\x1e'; anvia_env() { command export NAME='value' ... 2>&-; };
 *   set -- 'program' 'argument' ...
 *
 * anvia_input is empty when the program does not get our stdin. The
 * environment is a function because only the program must see those names, not
 * the script that starts it. Some shells have names of their own, UID for one,
 * that they do not let go: those are given to env(1), and before `set` comes
 *
 *   anvia_by=env; anvia_exec() { exec "$anvia_by" UID='value' ... "$@"; };
 *
 * A newline in a string is written as "$anvia_nl", which the script sets
 * before. All names begin with anvia_, so that no variable of the image is
 * overwritten; such names are refused in the environment.
 *
 * Pure functions. */
#ifndef SBX_WIRE_QUOTE_H
#define SBX_WIRE_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Linux refuses longer strings (MAX_ARG_STRLEN, with the NUL) in an argument
 * or in NAME=value; and all of them together beyond about 2 MiB, of which we
 * leave some to the environment of the image. */
#define SBX_COMMAND_STRING_MAX 131071
#define SBX_COMMAND_TOTAL_MAX  2000000

/* A `max` for the sbx_buf that no valid command exceeds. */
#define SBX_HEADER_MAX ((size_t)13 * SBX_COMMAND_TOTAL_MAX + 8192)

struct sbx_env {
  char *name;
  char *value;
};

struct sbx_command {
  const char *uuid;
  const char *mark;
  const char *cwd; /* NULL: where the script runs */
  char **argv;     /* argv[0] is the program */
  size_t argc;
  struct sbx_env *env;
  size_t envc;
  bool want_stdin;
};

/* Appends s as one shell word. 0, -EINVAL (a NUL in s), -ENOMEM, -EMSGSIZE;
 * after a failure b is as before. */
int sbx_quote_append(struct sbx_buf *b, const char *s, size_t len);

/* Can it be run at all? 0; SBX_EPROCESS for an environment name that is not
 * [A-Za-z_][A-Za-z0-9_]* or begins with anvia_, for no program, and for
 * arguments that are too long. */
int sbx_header_check(const struct sbx_command *cmd, struct sbx_err *err);

/* Appends the header line, with its \n. 0, as sbx_header_check, -ENOMEM,
 * -EMSGSIZE. After a failure b is as before. */
int sbx_header_encode(struct sbx_buf *b, const struct sbx_command *cmd,
                      struct sbx_err *err);

#endif
