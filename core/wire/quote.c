/* SPDX-License-Identifier: MIT */
#include "wire/quote.h"

#include <errno.h>
#include <string.h>

/* Appends text in single quotes, where only two bytes need care: the quote
 * itself, and a newline, which would end the line. */
static int append_quoted(struct sbx_buf *b, const char *s, size_t len) {
  int rc = sbx_buf_append(b, "'", 1);
  size_t from = 0;
  for (size_t i = 0; rc == 0 && i < len; i++) {
    const char *escape;
    if (s[i] == '\'')
      escape = "'\\''";
    else if (s[i] == '\n')
      escape = "'\"$anvia_nl\"'";
    else
      continue;
    rc = sbx_buf_append(b, s + from, i - from);
    if (rc == 0)
      rc = sbx_buf_append(b, escape, strlen(escape));
    from = i + 1;
  }
  if (rc == 0)
    rc = sbx_buf_append(b, s + from, len - from);
  if (rc == 0)
    rc = sbx_buf_append(b, "'", 1);
  return rc;
}

int sbx_quote_append(struct sbx_buf *b, const char *s, size_t len) {
  if (len == 0)
    return sbx_buf_append(b, "''", 2); /* s may be NULL */
  if (memchr(s, '\0', len))
    return -EINVAL;
  size_t before = b->len;
  int rc = append_quoted(b, s, len);
  if (rc < 0)
    b->len = before;
  return rc;
}

static bool is_name(const char *s) {
  if (!(*s >= 'A' && *s <= 'Z') && !(*s >= 'a' && *s <= 'z') && *s != '_')
    return false;
  for (; *s; s++)
    if (!(*s >= 'A' && *s <= 'Z') && !(*s >= 'a' && *s <= 'z') &&
        !(*s >= '0' && *s <= '9') && *s != '_')
      return false;
  return true;
}

static int too_long(struct sbx_err *err) {
  return sbx_fail(err, SBX_EPROCESS,
                  "arguments too long: a string of the command and its "
                  "environment has at most %d bytes, all together at most %d; "
                  "use input or a file for more",
                  SBX_COMMAND_STRING_MAX, SBX_COMMAND_TOTAL_MAX);
}

/* Counts as the kernel does: the string, its NUL and the pointer to it. */
static bool count(size_t *total, size_t len) {
  if (len > SBX_COMMAND_STRING_MAX)
    return false;
  *total += len + 1 + sizeof(char *);
  return *total <= SBX_COMMAND_TOTAL_MAX;
}

int sbx_header_check(const struct sbx_command *cmd, struct sbx_err *err) {
  size_t total = 0;
  if (cmd->argc == 0)
    return sbx_fail(err, SBX_EPROCESS, "there is no command to run");
  for (size_t i = 0; i < cmd->argc; i++)
    if (!count(&total, strlen(cmd->argv[i])))
      return too_long(err);
  for (size_t i = 0; i < cmd->envc; i++) {
    const struct sbx_env *e = &cmd->env[i];
    if (!is_name(e->name))
      return sbx_fail(err, SBX_EPROCESS,
                      "'%.64s' cannot be the name of an environment variable",
                      e->name);
    if (strncmp(e->name, "anvia_", 6) == 0)
      return sbx_fail(err, SBX_EPROCESS,
                      "the environment variable '%.64s' has a reserved name",
                      e->name);
    if (!count(&total, strlen(e->name) + 1 + strlen(e->value)))
      return too_long(err);
  }
  if (cmd->cwd && !count(&total, strlen(cmd->cwd)))
    return too_long(err);
  return 0;
}

/* Appends `before` and then s as a word. */
static int put(struct sbx_buf *b, const char *before, const char *s) {
  int rc = sbx_buf_append(b, before, strlen(before));
  return rc < 0 ? rc : append_quoted(b, s, strlen(s));
}

/* Names that some shell keeps for itself: it makes them read-only, or computes
 * their value, or, as dash with OPTIND, gives up on the whole export. */
static bool is_shells_own(const char *name) {
  static const char *const own[] = {
      "BASHOPTS",      "BASHPID",      "BASH_ALIASES",
      "BASH_ARGC",     "BASH_ARGV",    "BASH_ARGV0",
      "BASH_CMDS",     "BASH_COMMAND", "BASH_LINENO",
      "BASH_REMATCH",  "BASH_SOURCE",  "BASH_SUBSHELL",
      "BASH_VERSINFO", "COMP_WORDS",   "COPROC",
      "DIRSTACK",      "EPOCHSECONDS", "EPOCHREALTIME",
      "EUID",          "FUNCNAME",     "GROUPS",
      "HISTCMD",       "LINENO",       "MAPFILE",
      "OPTIND",        "PIPESTATUS",   "PPID",
      "RANDOM",        "SECONDS",      "SHELLOPTS",
      "SRANDOM",       "UID",          "_",
  };

  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
    if (strcmp(name, own[i]) == 0)
      return true;
  return false;
}

/* Appends those assignments that the shell can make, or the others. */
static int put_env(struct sbx_buf *b, const struct sbx_command *cmd,
                   bool shells_own, const char *first) {
  int rc = 0;
  bool any = false;

  for (size_t i = 0; rc == 0 && i < cmd->envc; i++) {
    const struct sbx_env *e = &cmd->env[i];
    if (is_shells_own(e->name) != shells_own)
      continue;
    rc = sbx_buf_appendf(b, "%s %s=", any ? "" : first, e->name);
    if (rc == 0)
      rc = put(b, "", e->value);
    any = true;
  }
  return rc < 0 ? rc : any;
}

static int encode(struct sbx_buf *b, const struct sbx_command *cmd) {
  int rc = put(b, "anvia_uuid=", cmd->uuid);
  if (rc == 0)
    rc = put(b, " anvia_public=", cmd->mark);
  if (rc == 0)
    rc = put(b, " anvia_dir=", cmd->cwd ? cmd->cwd : ".");
  if (rc == 0)
    rc = put(b, " anvia_input=", cmd->want_stdin ? "1" : "");
  if (rc == 0)
    rc = put(b, " anvia_rs=", "\x1e");

  if (rc == 0)
    rc = sbx_buf_appendf(b, "; anvia_env() { ");
  if (rc == 0)
    rc = put_env(b, cmd, false, "command export");
  if (rc >= 0)
    rc = sbx_buf_appendf(b, rc > 0 ? " 2>&-; }" : ":; }");
  if (rc == 0)
    rc = put_env(b, cmd, true,
                 "; anvia_by=env; anvia_exec() { exec \"$anvia_by\"");
  if (rc > 0)
    rc = sbx_buf_appendf(b, " \"$@\"; }");
  if (rc == 0)
    rc = sbx_buf_appendf(b, "; set --");
  for (size_t i = 0; rc == 0 && i < cmd->argc; i++)
    rc = put(b, " ", cmd->argv[i]);
  return rc == 0 ? sbx_buf_append(b, "\n", 1) : rc;
}

int sbx_header_encode(struct sbx_buf *b, const struct sbx_command *cmd,
                      struct sbx_err *err) {
  int rc = sbx_header_check(cmd, err);
  if (rc < 0)
    return rc;
  size_t before = b->len;
  rc = encode(b, cmd);
  if (rc < 0) {
    b->len = before;
    return sbx_fail(err, rc, "cannot encode the command");
  }
  return 0;
}
