/* SPDX-License-Identifier: Apache-2.0 */
/* A refused call: its code, and the words that aclGetRecentErrMsg gives for it. */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include "acl_cts_core.h"

/* `why` must be a literal: it is kept. */
aclError refuse(aclError code, const char *why);

aclError refuse_parameter(const char *why);
aclError refuse_memory(void);

#endif
