/* SPDX-License-Identifier: MIT */
/* plan.h - the kind of stream request that is a series of engine requests.
 *
 *   run    create a container, attach to it, start it; when the stream ends,
 *          wait until the container is removed: the lease of a session
 *   exec   create an exec, start it on a connection of its own; when that ends,
 *          ask for the status
 *   remove one request, DELETE: status 0 when there is nothing left to remove
 *
 * Behind sbx_stream_open() both behave as the command line client does: what
 * the engine complains about comes as text on stderr with the client's exit
 * status, so that whoever reads one reads the other. */
#ifndef SBX_HTTP_PLAN_H
#define SBX_HTTP_PLAN_H

#include "http/endpoint.h"
#include "io/request.h"

enum sbx_plan_flow { SBX_PLAN_RUN, SBX_PLAN_EXEC, SBX_PLAN_REMOVE };

struct sbx_plan {
  enum sbx_plan_flow flow;
  struct sbx_endpoint *endpoint;
  char *prefix; /* "/v1.41", before every target; or "" */
  char *target; /* of the first request, with its query, without prefix */
  char *body;   /* of the create request, JSON; NULL: none */
  char *mark;   /* run: "name=value" of a label that this container alone has */
};

/* A plan with nothing in it; fill it in before it is put into a request.
 * 0 or -ENOMEM. */
int sbx_plan_new(struct sbx_plan **out);
void sbx_plan_free(struct sbx_plan *plan); /* may be NULL */

/* Makes the request, which takes the plan over on success. 0 or -ENOMEM. */
int sbx_plan_request(struct sbx_request **out, struct sbx_plan *plan);

#endif
