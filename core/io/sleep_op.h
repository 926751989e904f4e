/* SPDX-License-Identifier: MIT */
/* sleep_op.h - the operation that completes after a while. */
#ifndef SBX_IO_SLEEP_OP_H
#define SBX_IO_SLEEP_OP_H

#include "io/op.h"

/* Consumer thread. 0 or -ENOMEM; the caller owns one reference. */
int sbx_sleep_op_new(struct sbx_op **out, struct sbx_mailbox *mailbox,
                     uint64_t ms);

#endif
