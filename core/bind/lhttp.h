/* SPDX-License-Identifier: MIT */
/* lhttp.h - requests to an engine's socket, made in Lua. Lua thread only. */
#ifndef SBX_BIND_LHTTP_H
#define SBX_BIND_LHTTP_H

#include "bind/bind.h"

/* Is the table at `index` a stream request of kind "http"? */
bool sbx_is_http_request(lua_State *L, int index);
/* Reads it: {kind = "http", flow = "run" | "exec" | "remove", endpoint, prefix,
 * path, body, label}. *out is the caller's, and boxed by him. */
void sbx_fields_http_request(lua_State *L, int index, struct sbx_request **out);

#endif
