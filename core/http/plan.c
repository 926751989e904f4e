/* SPDX-License-Identifier: MIT */
#include "http/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "http/hstream.h"

int sbx_plan_new(struct sbx_plan **out) {
  *out = calloc(1, sizeof(**out));
  return *out != NULL ? 0 : -ENOMEM;
}

void sbx_plan_free(struct sbx_plan *plan) {
  if (plan == NULL)
    return;
  sbx_endpoint_unref(plan->endpoint);
  free(plan->prefix);
  free(plan->target);
  free(plan->body);
  free(plan->mark);
  free(plan);
}

static void free_plan(void *plan) {
  sbx_plan_free(plan);
}

int sbx_plan_request(struct sbx_request **out, struct sbx_plan *plan) {
  static const struct sbx_request_kind kind = {sbx_hstream_open, free_plan};
  int rc = sbx_request_new(out);

  if (rc < 0)
    return rc;
  (*out)->kind = &kind;
  (*out)->plan = plan;
  (*out)->lease = plan->flow == SBX_PLAN_RUN;
  return 0;
}
