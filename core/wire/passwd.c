/* SPDX-License-Identifier: MIT */
#include "wire/passwd.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FIELDS 7

/* Takes what is before the next `end`, or all of it. */
static struct sbx_text take(struct sbx_text *from, char end) {
  struct sbx_text out = *from;
  const char *at = from->len > 0 ? memchr(from->data, end, from->len) : NULL;

  if (at == NULL) {
    from->len = 0;
    return out;
  }
  out.len = (size_t)(at - from->data);
  from->data += out.len + 1;
  from->len -= out.len + 1;
  return out;
}

/* The fields of the next line; those it has not are empty. False at the end. */
static bool next_entry(struct sbx_text *file, struct sbx_text field[FIELDS]) {
  if (file->len == 0)
    return false;
  struct sbx_text line = take(file, '\n');
  for (size_t i = 0; i < FIELDS; i++)
    field[i] = take(&line, ':');
  return true;
}

static bool same(struct sbx_text a, struct sbx_text b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool is_number(struct sbx_text t) {
  for (size_t i = 0; i < t.len; i++)
    if (t.data[i] < '0' || t.data[i] > '9')
      return false;
  return t.len > 0;
}

/* 0, -ENOENT: it is no number, -ERANGE. */
static int read_id(struct sbx_text t, uint32_t *out) {
  uint64_t n = 0;

  if (!is_number(t))
    return -ENOENT;
  for (size_t i = 0; i < t.len; i++) {
    n = n * 10 + (uint64_t)(t.data[i] - '0');
    if (n > SBX_USER_ID_MAX)
      return -ERANGE;
  }
  *out = (uint32_t)n;
  return 0;
}

/* Is the entry (name:password:id) that of `who`, a name or a number? */
static bool is_of(const struct sbx_text field[FIELDS], struct sbx_text who,
                  uint32_t *id) {
  uint32_t wanted;

  if (field[0].len == 0 || read_id(field[2], id) != 0)
    return false;
  if (is_number(who))
    return read_id(who, &wanted) == 0 && wanted == *id;
  return same(field[0], who);
}

static bool has_member(struct sbx_text list, struct sbx_text name) {
  while (list.len > 0)
    if (same(take(&list, ','), name))
      return true;
  return false;
}

static void add_group(struct sbx_user *u, uint32_t gid) {
  for (size_t i = 0; i < u->group_count; i++)
    if (u->groups[i] == gid)
      return;
  if (u->group_count < SBX_USER_GROUPS)
    u->groups[u->group_count++] = gid;
}

/* *name is that of the entry; empty when there is none. */
static int find_user(struct sbx_text who, struct sbx_text passwd,
                     struct sbx_user *out, struct sbx_text *name) {
  struct sbx_text field[FIELDS];
  uint32_t uid;

  while (next_entry(&passwd, field)) {
    if (!is_of(field, who, &uid) || read_id(field[3], &out->gid) != 0)
      continue;
    out->uid = uid;
    out->home = field[5];
    *name = field[0];
    return 0;
  }
  return read_id(who, &out->uid);
}

static int find_group(struct sbx_text who, struct sbx_text group,
                      uint32_t *gid) {
  struct sbx_text field[FIELDS];

  while (next_entry(&group, field))
    if (is_of(field, who, gid))
      return 0;
  return read_id(who, gid);
}

int sbx_user_resolve(const char *spec, struct sbx_text passwd,
                     struct sbx_text group, struct sbx_user *out) {
  struct sbx_text who, which = {spec, strlen(spec)}, name = {NULL, 0};
  struct sbx_text field[FIELDS];
  uint32_t gid;

  memset(out, 0, sizeof(*out));
  who = take(&which, ':');
  if (who.len == 0)
    who = (struct sbx_text){"0", 1};
  int rc = find_user(who, passwd, out, &name);
  if (rc == 0 && which.len > 0)
    rc = find_group(which, group, &out->gid);
  if (rc < 0)
    return rc;
  add_group(out, out->gid);
  while (which.len == 0 && name.len > 0 && next_entry(&group, field))
    if (has_member(field[3], name) && read_id(field[2], &gid) == 0)
      add_group(out, gid);
  return 0;
}
