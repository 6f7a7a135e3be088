/* SPDX-License-Identifier: Apache-2.0 */
/* One lock for the whole library. Every exported function enters, does its work, and leaves; nothing inside locks. */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include <sched.h>

#include "acl_cts_core.h"

void core_enter(void);

/* Passes the answer through, so that a function can end in one line. */
aclError core_leave(aclError answer);

/* Where a fault does in two steps what should be one: others may come in between. */
static inline void defect_step(void)
{
    (void)core_leave(ACL_SUCCESS);
    (void)sched_yield();
    core_enter();
}

#endif
