/* SPDX-License-Identifier: MIT */
#include "wire/procstat.h"

#include <string.h>

struct cursor {
  const char *at, *end;
};

static void skip_spaces(struct cursor *c) {
  while (c->at < c->end && *c->at == ' ')
    c->at++;
}

/* A decimal number that fits, after any spaces. */
static bool take_number(struct cursor *c, uint64_t *out) {
  uint64_t n = 0;

  skip_spaces(c);
  const char *first = c->at;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    uint64_t digit = (uint64_t)(*c->at - '0');
    if (n > (UINT64_MAX - digit) / 10)
      return false;
    n = n * 10 + digit;
  }
  *out = n;
  return c->at > first;
}

/* Of pids and of numbers of threads: no machine has more. */
static bool take_id(struct cursor *c, long *out) {
  uint64_t n;

  if (!take_number(c, &n) || n > INT32_MAX)
    return false;
  *out = (long)n;
  return true;
}

/* Any number, also a negative one, which is not looked at. */
static bool skip_numbers(struct cursor *c, int count) {
  uint64_t n;

  for (; count > 0; count--) {
    skip_spaces(c);
    if (c->at < c->end && *c->at == '-')
      c->at++;
    if (!take_number(c, &n))
      return false;
  }
  return true;
}

void sbx_proc_name(char out[SBX_PROC_NAME], const char *name, size_t len) {
  size_t i;

  for (i = 0; i < len && i + 1 < SBX_PROC_NAME; i++)
    out[i] = name[i] >= 0x20 && name[i] < 0x7f ? name[i] : '?';
  memset(out + i, 0, SBX_PROC_NAME - i);
}

/* `<pid> (<name>) <state> <ppid> <group> <session> ...`; the name may hold
 * brackets, spaces and newlines, but nothing behind it does. */
bool sbx_procstat_parse(const char *text, size_t len,
                        struct sbx_procstat *out) {
  struct cursor c = {text, text + len};
  const char *close = memrchr(text, ')', len);

  memset(out, 0, sizeof(*out));
  if (!close || !take_id(&c, &out->pid) || c.end - c.at < 2 || c.at[0] != ' ' ||
      c.at[1] != '(' || close < c.at + 2)
    return false;
  sbx_proc_name(out->name, c.at + 2, (size_t)(close - c.at - 2));
  c.at = close + 1;
  skip_spaces(&c);
  if (c.at == c.end)
    return false;
  out->state = *c.at++;
  return take_id(&c, &out->ppid) && take_id(&c, &out->group) &&
         take_id(&c, &out->session) && skip_numbers(&c, 13) &&
         take_id(&c, &out->threads) && skip_numbers(&c, 1) &&
         take_number(&c, &out->started);
}

bool sbx_procstat_is_alive(const struct sbx_procstat *stat) {
  if (stat->state == 'X' || stat->state == 'x')
    return false;
  return stat->state != 'Z' || stat->threads > 1;
}

/* `Max file locks            unlimited            unlimited            locks`
 */
bool sbx_limits_hard(const char *text, size_t len, const char *name,
                     uint64_t *out) {
  static const char none[] = "unlimited";
  const size_t none_len = sizeof(none) - 1;
  struct cursor c = {text, text + len};
  size_t name_len = strlen(name);

  while ((size_t)(c.end - c.at) > name_len) {
    const char *nl = memchr(c.at, '\n', (size_t)(c.end - c.at));
    struct cursor line = {c.at + name_len, nl ? nl : c.end};
    bool is_it = line.at < line.end && *line.at == ' ' &&
                 memcmp(c.at, name, name_len) == 0;
    for (int i = 0; is_it && i < 2; i++) { /* the soft one, the hard one */
      skip_spaces(&line);
      *out = SBX_LIMIT_NONE;
      if ((size_t)(line.end - line.at) >= none_len &&
          memcmp(line.at, none, none_len) == 0)
        line.at += none_len;
      else if (!take_number(&line, out))
        return false;
    }
    if (is_it || !nl)
      return is_it;
    c.at = nl + 1;
  }
  return false;
}

void sbx_environ_init(struct sbx_environ *e, const char *name) {
  memset(e, 0, sizeof(*e));
  e->name = name;
}

static bool is_wanted(struct sbx_environ *e, size_t name_len, char c) {
  if (e->at < name_len)
    return c == e->name[e->at];
  if (e->at == name_len)
    return c == '=';
  if (e->at > name_len + SBX_NONCE_LEN)
    return false;
  e->mark[e->at - name_len - 1] = c;
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool sbx_environ_feed(struct sbx_environ *e, const char *in, size_t len) {
  size_t name_len = strlen(e->name);

  for (size_t i = 0; i < len && !e->found; i++) {
    if (in[i] == '\0') {
      e->found = e->at == name_len + 1 + SBX_NONCE_LEN;
      e->at = 0;
    } else if (e->at != SIZE_MAX) {
      e->at = is_wanted(e, name_len, in[i]) ? e->at + 1 : SIZE_MAX;
    }
  }
  return e->found;
}
