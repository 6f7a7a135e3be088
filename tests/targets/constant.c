/* SPDX-License-Identifier: Apache-2.0 */
/* Does ACTION at every call and answers ANSWER, writing no output.
 *
 * -DANSWER=N  : the code; with -DDESC=P the pointer that CreateDesc answers (NULL unless given).
 * -DACTION=X  : what happens first, from actions.h (nothing unless given).
 * Scope, exactly one of
 * -DSCOPE_STREAMS : the streams only, the rest comes from the core;
 * -DSCOPE_MBUF    : the shared buffers only, the rest comes from the core;
 * -DSCOPE_TABLES  : both families, the lifecycle and the streams come from the core;
 * -DSCOPE_NO_INIT : both families, the streams and the copy, and no lifecycle anywhere;
 * -DSCOPE_ALL     : everything, the lifecycle too. */
#define _GNU_SOURCE
#include "actions.h"
#include "target.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef ACTION
#define ACTION (void)0
#endif
#ifndef ANSWER
#define ANSWER SUCCESS
#endif
#ifndef DESC
#define DESC NULL
#endif

#define CONSTANT(type, name, parameters, arguments)                                                                    \
    type name parameters                                                                                               \
    {                                                                                                                  \
        ACTION;                                                                                                        \
        return ANSWER;                                                                                                 \
    }

#ifndef SCOPE_STREAMS
MBUF_FUNCTIONS(CONSTANT)
#endif

#if !defined(SCOPE_MBUF) && !defined(SCOPE_STREAMS)
ALLOCATOR_FUNCTIONS(CONSTANT)

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    ACTION;
    return DESC;
}
#endif

#if defined(SCOPE_NO_INIT) || defined(SCOPE_ALL) || defined(SCOPE_STREAMS)
STREAM_FUNCTIONS(CONSTANT)
#endif

#if defined(SCOPE_NO_INIT) || defined(SCOPE_ALL)
MEMCPY_FUNCTION(CONSTANT)
#endif

#ifdef SCOPE_ALL
LIFECYCLE_FUNCTIONS(CONSTANT)
#endif
