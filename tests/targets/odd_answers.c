/* SPDX-License-Identifier: Apache-2.0 */
/* One fault each, of which the standalone form of a program must not say more than it knows.
 *
 * -DOBJECT : GetByStream tells an allocator object that nobody registered.
 * -DZERO   : the data length 0 is accepted and not taken; with -DFIRST it is refused the first time.
 * -DLEAVES : AllocBuf ends the process, with 0 and without what else happens at its end.
 * -DDEAF   : AllocBuf never returns, nor can a signal make it.
 * -DGROWS  : FreeBuf keeps a piece of memory each time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

#ifdef OBJECT
aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    aclError code = CORE(aclrtAllocatorGetByStream)(stream, allocatorDesc, allocator, allocFunc, freeFunc,
                                                    allocAdviseFunc, getAddrFromBlockFunc);
    if (code == SUCCESS)
        *allocator = (char *)*allocator + 1;
    return code;
}
#endif

#ifdef ZERO
aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len)
{
    if (len > 0)
        return CORE(aclrtSetBufDataLen)(buf, len);
#ifdef FIRST
    static bool asked;
    if (!asked) {
        asked = true;
        return INVALID_PARAMETER;
    }
#endif
    return SUCCESS;
}
#endif

#ifdef LEAVES
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    (void)buf;
    (void)size;
    _exit(0);
}
#endif

#ifdef DEAF
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    sigset_t all;
    (void)buf;
    (void)size;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;)
        pause();
}
#endif

#ifdef GROWS
aclError aclrtFreeBuf(aclrtMbuf buf)
{
    static void *volatile last;
    void **kept = malloc(240);
    if (kept != NULL)
        *kept = last;
    last = kept;
    return CORE(aclrtFreeBuf)(buf);
}
#endif
