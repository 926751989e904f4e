/* SPDX-License-Identifier: MIT */
/* fuzz_quote.c - the header line read back by a small reader of quoted words.
 *
 * Input: strings separated by NUL: the directory, then `=` before each of the
 * environment's (NAME and value are two strings), and the arguments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/quote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define STRINGS 64
#define UUID    "6f1c2a70-3b4d-4e5f-8a9b-0c1d2e3f4a5b"

static void require(bool ok) {
  if (!ok)
    abort();
}

struct reader {
  const char *at, *end;
};

static bool skip(struct reader *r, const char *text) {
  size_t n = strlen(text);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
    return false;
  r->at += n;
  return true;
}

/* Reads a word the way a POSIX shell does; only quotes may be in it. */
static void word(struct reader *r, const char *want) {
  struct sbx_buf b;
  sbx_buf_init(&b, SIZE_MAX);
  require(r->at < r->end && *r->at == '\'');
  while (r->at < r->end && *r->at != ' ' && *r->at != ';' && *r->at != '\n') {
    if (skip(r, "\\'")) {
      require(sbx_buf_append(&b, "'", 1) == 0);
    } else if (skip(r, "\"$anvia_nl\"")) {
      require(sbx_buf_append(&b, "\n", 1) == 0);
    } else {
      require(skip(r, "'"));
      const char *close = memchr(r->at, '\'', (size_t)(r->end - r->at));
      require(close != NULL);
      size_t n = (size_t)(close - r->at);
      require(!memchr(r->at, '\n', n));
      require(sbx_buf_append(&b, r->at, n) == 0);
      r->at = close + 1;
    }
  }
  require(b.len == strlen(want) && (!b.len || !memcmp(b.data, want, b.len)));
  sbx_buf_fini(&b);
}

/* Reads those assignments, in their order, that come next; marks them. */
static void assignments(struct reader *r, const struct sbx_command *cmd,
                        bool *taken) {
  for (size_t i = 0; i < cmd->envc; i++) {
    struct reader ahead = *r;
    if (taken[i] || !skip(&ahead, " ") || !skip(&ahead, cmd->env[i].name) ||
        !skip(&ahead, "="))
      continue;
    *r = ahead;
    word(r, cmd->env[i].value);
    taken[i] = true;
  }
}

/* Every variable is in one of two places: exported by the shell or, if shells
 * keep it for themselves, set by env(1). */
static void read_env(struct reader *r, const struct sbx_command *cmd) {
  bool taken[STRINGS] = {false};
  bool plain = skip(r, "command export");
  require(plain || skip(r, ":"));
  assignments(r, cmd, taken);
  for (size_t i = 0; i < cmd->envc; i++)
    require(!taken[i] || (strcmp(cmd->env[i].name, "UID") != 0 &&
                          strcmp(cmd->env[i].name, "_") != 0));
  require(skip(r, plain ? " 2>&-; }" : "; }"));
  if (skip(r, "; anvia_by=env; anvia_exec() { exec \"$anvia_by\"")) {
    assignments(r, cmd, taken);
    require(skip(r, " \"$@\"; }"));
  }
  for (size_t i = 0; i < cmd->envc; i++)
    require(taken[i]);
}

static void read_back(const struct sbx_buf *b, const struct sbx_command *cmd) {
  struct reader r = {(char *)b->data, (char *)b->data + b->len};
  require(skip(&r, "anvia_uuid="));
  word(&r, cmd->uuid);
  require(skip(&r, " anvia_public="));
  word(&r, cmd->mark);
  require(skip(&r, " anvia_dir="));
  word(&r, cmd->cwd);
  require(skip(&r, " anvia_input="));
  word(&r, cmd->want_stdin ? "1" : "");
  require(skip(&r, " anvia_rs="));
  word(&r, "\x1e");
  require(skip(&r, "; anvia_env() { "));
  read_env(&r, cmd);
  require(skip(&r, "; set --"));
  for (size_t i = 0; i < cmd->argc; i++) {
    require(skip(&r, " "));
    word(&r, cmd->argv[i]);
  }
  require(skip(&r, "\n") && r.at == r.end);
}

static bool good_name(const char *s) {
  static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                             "WXYZ_0123456789";
  size_t n = strlen(s);
  return n > 0 && strspn(s, good) == n && !(*s >= '0' && *s <= '9') &&
         strncmp(s, "anvia_", 6) != 0;
}

static void check_command(const struct sbx_command *cmd, size_t max) {
  struct sbx_buf b;
  struct sbx_err err = {0};
  sbx_buf_init(&b, max);
  int rc = sbx_header_encode(&b, cmd, &err);
  if (rc == 0) {
    require(err.code == 0 && cmd->argc > 0);
    for (size_t i = 0; i < cmd->envc; i++)
      require(good_name(cmd->env[i].name));
    read_back(&b, cmd);
  } else {
    require(b.len == 0 && err.code == rc && err.message[0] != '\0');
    require(rc == SBX_EPROCESS || (rc == -EMSGSIZE && max < SBX_HEADER_MAX));
    bool good = cmd->argc > 0;
    for (size_t i = 0; i < cmd->envc; i++)
      good = good && good_name(cmd->env[i].name);
    require(rc != SBX_EPROCESS || !good);
  }
  sbx_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 1 || len > 65536)
    return 0;
  char *text = malloc(len + 1);
  require(text != NULL);
  memcpy(text, data, len);
  text[len] = '\0';
  char *argv[STRINGS];
  struct sbx_env env[STRINGS];
  struct sbx_command cmd = {.uuid = UUID, .mark = "", .cwd = text + 1};
  cmd.argv = argv;
  cmd.env = env;
  cmd.want_stdin = data[0] & 1;

  char *at = len > 1 ? text + 1 + strlen(text + 1) + 1 : text + len + 1;
  while (at <= text + len && cmd.argc < STRINGS && cmd.envc < STRINGS) {
    char *next = at + strlen(at) + 1;
    if (*at == '=' && next <= text + len) {
      env[cmd.envc++] = (struct sbx_env){at + 1, next};
      next += strlen(next) + 1;
    } else {
      argv[cmd.argc++] = at;
    }
    at = next;
  }
  check_command(&cmd, SBX_HEADER_MAX);
  check_command(&cmd, (size_t)data[0] * 4);
  free(text);
  return 0;
}
