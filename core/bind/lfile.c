/* SPDX-License-Identifier: MIT */
/* lfile.c - files of a session with a supervisor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/lsession.h"
#include "proc/file_op.h"
#include "proc/watch_op.h"

static const char *type_name(uint8_t type) {
  switch (type) {
  case 'f':
    return "file";
  case 'd':
    return "directory";
  case 'l':
    return "symlink";
  default:
    return "other";
  }
}

static void push_str(lua_State *L, const struct sbx_str *s) {
  lua_pushlstring(L, (const char *)s->data, s->len);
}

/* The path of an entry below the directory that was listed. */
static void push_path(lua_State *L, const char *directory, size_t len,
                      const struct sbx_str *path) {
  luaL_Buffer b;

  if (len == 0) {
    push_str(L, path);
    return;
  }
  luaL_buffinitsize(L, &b, len + 1 + path->len);
  luaL_addlstring(&b, directory, len);
  luaL_addchar(&b, '/');
  luaL_addlstring(&b, (const char *)path->data, path->len);
  luaL_pushresult(&b);
}

static void push_details(lua_State *L, const struct sbx_file_entry *e) {
  char mode[16];

  snprintf(mode, sizeof(mode), "%04o", (unsigned)(e->mode & 07777));
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "mode");
  lua_pushinteger(L, (lua_Integer)e->mtime_ms);
  lua_setfield(L, -2, "mtime_ms");
  if (e->type == 'l') {
    push_str(L, &e->target);
    lua_setfield(L, -2, "target");
  }
}

static void push_entry(lua_State *L, const struct sbx_file_entry *e) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, type_name(e->type));
  lua_setfield(L, -2, "type");
  lua_pushinteger(L, (lua_Integer)e->size);
  lua_setfield(L, -2, "size");
}

static void push_list(lua_State *L, struct sbx_file_op *op) {
  const char *directory = op->options.path;
  size_t len = strcmp(directory, ".") == 0 ? 0 : strlen(directory);
  size_t i;

  sbx_file_op_sort(op);
  lua_createtable(L, (int)op->count, 0);
  for (i = 0; i < op->count; i++) {
    push_entry(L, &op->entries[i]);
    push_path(L, directory, len, &op->entries[i].path);
    lua_setfield(L, -2, "path");
    if (op->details)
      push_details(L, &op->entries[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "entries");
}

/* What is known of a failure beyond its message. */
static void push_failure(lua_State *L, uint32_t error, bool other) {
  if (error != 0) {
    lua_pushinteger(L, (lua_Integer)error);
    lua_setfield(L, -2, "errno");
  }
  lua_pushboolean(L, other);
  lua_setfield(L, -2, "other");
}

static void push_file(lua_State *L, struct sbx_op *base) {
  struct sbx_file_op *op = (struct sbx_file_op *)base;

  lua_createtable(L, 0, 2);
  if (base->rc != 0) {
    push_failure(L, op->error, op->other_at_fault);
    if (op->too_large) {
      lua_pushinteger(L, (lua_Integer)op->entries[0].size);
      lua_setfield(L, -2, "size");
    }
    return;
  }
  switch (op->options.verb) {
  case SBX_FILE_READ:
    lua_pushlstring(L, op->data.len ? (const char *)op->data.data : "",
                    op->data.len);
    lua_setfield(L, -2, "data");
    lua_pushinteger(L, (lua_Integer)op->entries[0].size);
    lua_setfield(L, -2, "size");
    break;
  case SBX_FILE_STAT:
    push_entry(L, &op->entries[0]);
    push_details(L, &op->entries[0]);
    lua_setfield(L, -2, "entry");
    break;
  case SBX_FILE_LIST:
    push_list(L, op);
    break;
  default:
    break;
  }
}

static enum sbx_file_verb read_verb(lua_State *L) {
  static const char *const names[] = {
      [SBX_FILE_READ] = "read",     [SBX_FILE_WRITE] = "write",
      [SBX_FILE_LIST] = "list",     [SBX_FILE_STAT] = "stat",
      [SBX_FILE_MKDIR] = "mkdir",   [SBX_FILE_REMOVE] = "remove",
      [SBX_FILE_RENAME] = "rename", [SBX_FILE_SYMLINK] = "symlink",
  };
  const char *text = sbx_field_text(L, 2, "verb");
  size_t verb;

  for (verb = SBX_FILE_READ; verb <= SBX_FILE_SYMLINK; verb++)
    if (strcmp(text, names[verb]) == 0)
      break;
  if (verb > SBX_FILE_SYMLINK)
    sbx_field_error(L, "verb", "must be the name of a file operation");
  lua_pop(L, 1);
  return (enum sbx_file_verb)verb;
}

static void *copy_bytes(lua_State *L, const char *data, size_t len) {
  char *copy = malloc(len + 1);

  if (copy == NULL)
    luaL_error(L, "not enough memory");
  memcpy(copy, data, len);
  copy[len] = '\0';
  return copy;
}

static char *read_text(lua_State *L, const char *field) {
  const char *text = sbx_field_text(L, 2, field);
  char *copy = copy_bytes(L, text, strlen(text));

  lua_pop(L, 1);
  return copy;
}

static void read_data(lua_State *L, struct sbx_file_options *o) {
  size_t len;
  const char *data = sbx_field_string(L, 2, "data", &len);

  if (data == NULL)
    sbx_field_error(L, "data", "must be a string");
  o->data = copy_bytes(L, data, len);
  o->data_len = len;
  lua_pop(L, 1);
}

static uint64_t read_count(lua_State *L, const char *field,
                           lua_Integer absent) {
  return (uint64_t)sbx_field_integer(L, 2, field, 0, SBX_MAX_INTEGER, absent);
}

static void read_file_options(lua_State *L, struct sbx_file_options *o) {
  lua_Integer mode = sbx_field_integer(L, 2, "mode", 0, 0777, -1);
  lua_Integer limit = sbx_field_integer(L, 2, "limit", 0, SBX_MAX_INTEGER, -1);

  o->verb = read_verb(L);
  o->path = read_text(L, "path");
  if (o->verb == SBX_FILE_RENAME || o->verb == SBX_FILE_SYMLINK)
    o->other = read_text(L, "other");
  if (o->verb == SBX_FILE_WRITE)
    read_data(L, o);
  o->has_mode = mode >= 0;
  o->mode = mode >= 0 ? (uint32_t)mode : 0;
  o->recursive = sbx_field_boolean(L, 2, "recursive");
  o->parents = sbx_field_boolean(L, 2, "parents");
  o->skip_lines = read_count(L, "skip_lines", 0);
  o->offset = read_count(L, "offset", 0);
  o->length = read_count(L, "length", SBX_MAX_INTEGER);
  o->whole = o->verb == SBX_FILE_READ && limit >= 0;
  if (o->whole)
    o->length = (uint64_t)limit;
  o->timeout_ms = (uint64_t)sbx_field_timeout(L, 2, "timeout_ms", 30000);
}

/* session:file{verb, path, other, data, mode, offset, length, limit,
 *   skip_lines, recursive, parents, details, timeout_ms} -> op; result of read
 *   {data, size}, of list {entries}, of stat {entry}; of a failure {errno,
 *   other, size} */
static int l_session_file(lua_State *L) {
  static const char *const known[] = {
      "verb",    "path",    "other",      "data",       "mode",
      "offset",  "length",  "limit",      "skip_lines", "recursive",
      "parents", "details", "timeout_ms", NULL};
  struct sbx_lsession *ls = sbx_check_lsession(L);
  struct sbx_file_op *op;
  struct sbx_lop *lop;

  lua_settop(L, 2);
  sbx_check_fields(L, 2, known);
  lop = sbx_lop_new(L, push_file);
  op = sbx_file_op_new(ls->mailbox, ls->session);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  read_file_options(L, &op->options);
  op->details = sbx_field_boolean(L, 2, "details");
  return sbx_lop_submit(L, lop);
}

static void push_watch(lua_State *L, struct sbx_op *base) {
  struct sbx_watch_op *op = (struct sbx_watch_op *)base;

  lua_createtable(L, 0, 2);
  if (base->rc != 0)
    push_failure(L, op->error, false);
}

/* session:watch{path, recursive, cursor, timeout_ms} -> op, see watch_op.h;
 *   timeout_ms is for its beginning */
static int l_session_watch(lua_State *L) {
  static const char *const known[] = {"path", "recursive", "cursor",
                                      "timeout_ms", NULL};
  struct sbx_lsession *ls = sbx_check_lsession(L);
  struct sbx_watch_op *op;
  struct sbx_lop *lop;

  lua_settop(L, 2);
  sbx_check_fields(L, 2, known);
  lop = sbx_lop_new(L, push_watch);
  op = sbx_watch_op_new(ls->mailbox, ls->session);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  op->path = read_text(L, "path");
  op->recursive = sbx_field_boolean(L, 2, "recursive");
  op->since = read_count(L, "cursor", 0);
  op->timeout_ms = (uint64_t)sbx_field_timeout(L, 2, "timeout_ms", 30000);
  return sbx_lop_submit(L, lop);
}

void sbx_lfile_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"file", l_session_file},
      {"watch", l_session_watch},
      {NULL, NULL},
  };

  luaL_setfuncs(L, methods, 0);
}
