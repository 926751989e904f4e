/* SPDX-License-Identifier: MIT */
/* ljson.h - between the two halves of JSON. Lua thread only. */
#ifndef SBX_BIND_LJSON_H
#define SBX_BIND_LJSON_H

#include <cjson/cJSON.h>

#include "bind/bind.h"

/* Everything that is owned while Lua may raise; on the stack, with __gc. */
struct sbx_json_work {
  cJSON *tree;
  struct sbx_buf text;
  char *printed;
};

struct sbx_json_work *sbx_json_work_push(lua_State *L);
void sbx_json_work_fini(struct sbx_json_work *w); /* earlier than __gc */

/* Pushes the metatable of tables that are JSON arrays even when empty. */
void sbx_json_push_array_mark(lua_State *L);

/* Pushes nil and the message; returns 2. */
int sbx_json_fail(lua_State *L, const char *message);

int sbx_json_decode(lua_State *L);

#endif
