/* SPDX-License-Identifier: MIT */
/* pool.h - connections that wait for another request. I/O thread only; there is
 * one pool for each I/O thread, which is there while something is in it. */
#ifndef SBX_HTTP_POOL_H
#define SBX_HTTP_POOL_H

#include "http/conn.h"

#define SBX_POOL_MAX     16  /* connections in the pool */
#define SBX_POOL_IDLE_MS 500 /* then they are closed; a new one is cheap */

/* A connection to the endpoint that is fit for use, or NULL. The caller takes
 * it over with sbx_conn_own(). */
struct sbx_conn *sbx_pool_take(struct sbx_runtime *rt,
                               const struct sbx_endpoint *endpoint);
/* Takes over a connection whose last response was read to its end. */
void sbx_pool_put(struct sbx_conn *c);

#endif
