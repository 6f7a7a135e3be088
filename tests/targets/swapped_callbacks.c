/* SPDX-License-Identifier: Apache-2.0 */
/* GetByStream gives the advise callback where the free callback belongs, and the other way round: the order of the
 * parameters invites it. */
#define _GNU_SOURCE
#include "target.h"

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *desc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    aclError code = CORE(aclrtAllocatorGetByStream)(stream, desc, allocator, allocFunc, freeFunc, allocAdviseFunc,
                                                    getAddrFromBlockFunc);
    if (code == SUCCESS && freeFunc != NULL && allocAdviseFunc != NULL) {
        aclrtAllocatorAllocAdviseFunc advise = *allocAdviseFunc;
        *allocAdviseFunc = (aclrtAllocatorAllocAdviseFunc)(void *)*freeFunc;
        *freeFunc = (aclrtAllocatorFreeFunc)(void *)advise;
    }
    return code;
}
