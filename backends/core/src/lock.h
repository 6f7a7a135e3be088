/* SPDX-License-Identifier: Apache-2.0 */
/* One lock for the whole library. Every exported function enters, does its work, and leaves; nothing inside locks. */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include "acl_cts_core.h"

void core_enter(void);

/* Passes the answer through, so that a function can end in one line. */
aclError core_leave(aclError answer);

#endif
