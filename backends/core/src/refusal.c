/* SPDX-License-Identifier: Apache-2.0 */
#include "refusal.h"

static _Thread_local const char *recent_message;

aclError refuse(aclError code, const char *why)
{
    recent_message = why;
    return code;
}

aclError refuse_parameter(const char *why)
{
    return refuse(ACL_ERROR_RT_PARAM_INVALID, why);
}

aclError refuse_memory(void)
{
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
}

/* Each message is given once, as in the vendor's library. */
const char *aclGetRecentErrMsg(void)
{
    const char *message = recent_message;
    recent_message = NULL;
    return message;
}
