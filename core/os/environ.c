/* SPDX-License-Identifier: MIT */
#include "os/environ.h"

#include <stdlib.h>
#include <string.h>

bool sbx_env_init(struct sbx_environ_list *e, char *const *from, size_t more) {
  e->len = 0;
  while (from[e->len])
    e->len++;
  e->cap = e->len + more;
  e->entries = calloc(e->cap + 1, sizeof(char *));
  if (!e->entries)
    return false;
  memcpy(e->entries, from, e->len * sizeof(char *));
  return true;
}

/* e->len when there is none. */
static size_t find(const struct sbx_environ_list *e, const char *name,
                   size_t len) {
  size_t i = 0;
  while (i < e->len &&
         (strncmp(e->entries[i], name, len) != 0 || e->entries[i][len] != '='))
    i++;
  return i;
}

const char *sbx_env_get(const struct sbx_environ_list *e, const char *name) {
  size_t len = strlen(name), i = find(e, name, len);
  return i < e->len ? e->entries[i] + len + 1 : NULL;
}

/* a, sep and b, one behind the other. */
static char *join(const char *a, size_t a_len, const char *sep, const char *b) {
  size_t sep_len = strlen(sep), b_len = strlen(b);
  char *out = malloc(a_len + sep_len + b_len + 1);
  if (!out)
    return NULL;
  memcpy(out, a, a_len);
  memcpy(out + a_len, sep, sep_len);
  memcpy(out + a_len + sep_len, b, b_len + 1);
  return out;
}

bool sbx_env_put(struct sbx_environ_list *e, const char *name,
                 const char *value) {
  size_t len = strlen(name), i = find(e, name, len);
  char *entry = i < e->cap ? join(name, len, "=", value) : NULL;
  if (!entry)
    return false;
  e->entries[i] = entry;
  e->len += i == e->len;
  return true;
}

char *sbx_path_next(const char **path, const char *name) {
  const char *dir = *path;
  size_t len = strcspn(dir, ":");
  *path = dir[len] == ':' ? dir + len + 1 : NULL;
  return join(dir, len, len > 0 ? "/" : "", name);
}
