/* SPDX-License-Identifier: Apache-2.0 */
/* Answers success to everything and writes the same believable outputs every time: a stub that hides everything. */
#define _GNU_SOURCE
#include <string.h>

#include "target.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static char thing[16];
static char area[4096];

static void *some_alloc(aclrtAllocator allocator, size_t size)
{
    return area;
}

static void *some_advise(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr addr)
{
    return area;
}

static void some_free(aclrtAllocator allocator, aclrtAllocatorBlock block)
{
}

static void *some_addr(aclrtAllocatorBlock block)
{
    return block;
}

/* Stores `value` where the caller asked for it. */
#define GIVE(out, value)                                                                                               \
    do {                                                                                                               \
        if ((out) != NULL)                                                                                             \
            *(out) = (value);                                                                                          \
    } while (0)

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    GIVE(buf, thing);
    return SUCCESS;
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    GIVE(dataPtr, area);
    GIVE(size, sizeof(area));
    return SUCCESS;
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    if (dataPtr != NULL && size <= 96)
        memset(dataPtr, 0, size);
    return SUCCESS;
}

aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len)
{
    GIVE(len, 0);
    return SUCCESS;
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    GIVE(newBuf, thing);
    return SUCCESS;
}

aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf)
{
    GIVE(buf, thing);
    return SUCCESS;
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num)
{
    GIVE(num, 1);
    return SUCCESS;
}

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    return thing;
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *desc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    GIVE(desc, thing);
    GIVE(allocator, area);
    GIVE(allocFunc, some_alloc);
    GIVE(freeFunc, some_free);
    GIVE(allocAdviseFunc, some_advise);
    GIVE(getAddrFromBlockFunc, some_addr);
    return SUCCESS;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    GIVE(stream, thing);
    return SUCCESS;
}

#define SUCCEED(type, name, parameters, ...)                                                                            \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return SUCCESS;                                                                                                \
    }

SUCCEED(aclError, aclrtFreeBuf, (aclrtMbuf buf))
SUCCEED(aclError, aclrtSetBufUserData, (aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset))
SUCCEED(aclError, aclrtSetBufDataLen, (aclrtMbuf buf, size_t len))
SUCCEED(aclError, aclrtAppendBufChain, (aclrtMbuf headBuf, aclrtMbuf buf))
SUCCEED(aclError, aclrtAllocatorDestroyDesc, (aclrtAllocatorDesc desc))
SUCCEED(aclError, aclrtAllocatorSetObjToDesc, (aclrtAllocatorDesc desc, aclrtAllocator allocator))
SUCCEED(aclError, aclrtAllocatorSetAllocFuncToDesc, (aclrtAllocatorDesc desc, aclrtAllocatorAllocFunc func))
SUCCEED(aclError, aclrtAllocatorSetAllocAdviseFuncToDesc,
        (aclrtAllocatorDesc desc, aclrtAllocatorAllocAdviseFunc func))
SUCCEED(aclError, aclrtAllocatorSetFreeFuncToDesc, (aclrtAllocatorDesc desc, aclrtAllocatorFreeFunc func))
SUCCEED(aclError, aclrtAllocatorSetGetAddrFromBlockFuncToDesc,
        (aclrtAllocatorDesc desc, aclrtAllocatorGetAddrFromBlockFunc func))
SUCCEED(aclError, aclrtAllocatorRegister, (aclrtStream stream, aclrtAllocatorDesc desc))
SUCCEED(aclError, aclrtAllocatorUnregister, (aclrtStream stream))
SUCCEED(aclError, aclrtDestroyStream, (aclrtStream stream))
LIFECYCLE_FUNCTIONS(SUCCEED)
