/* SPDX-License-Identifier: Apache-2.0 */
/* The interface that the target libraries of the tests implement or override, and the way to what they override.
 *
 * A thin target defines some of these functions, is linked to the project's C core, and reaches the core's function of
 * the same name through CORE(name). */
#ifndef ACL_CTS_TEST_TARGET_H
#define ACL_CTS_TEST_TARGET_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "acl_cts_core.h"

/* Every function as X(return type, name, (parameters), (arguments)). */
#define MBUF_FUNCTIONS(X)                                                                                              \
    X(aclError, aclrtAllocBuf, (aclrtMbuf * buf, size_t size), (buf, size))                                            \
    X(aclError, aclrtFreeBuf, (aclrtMbuf buf), (buf))                                                                  \
    X(aclError, aclrtGetBufData, (const aclrtMbuf buf, void **dataPtr, size_t *size), (buf, dataPtr, size))            \
    X(aclError, aclrtSetBufUserData, (aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset),                 \
      (buf, dataPtr, size, offset))                                                                                    \
    X(aclError, aclrtGetBufUserData, (const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset),                 \
      (buf, dataPtr, size, offset))                                                                                    \
    X(aclError, aclrtGetBufDataLen, (aclrtMbuf buf, size_t * len), (buf, len))                                         \
    X(aclError, aclrtSetBufDataLen, (aclrtMbuf buf, size_t len), (buf, len))                                           \
    X(aclError, aclrtCopyBufRef, (const aclrtMbuf buf, aclrtMbuf *newBuf), (buf, newBuf))                              \
    X(aclError, aclrtAppendBufChain, (aclrtMbuf headBuf, aclrtMbuf buf), (headBuf, buf))                               \
    X(aclError, aclrtGetBufFromChain, (aclrtMbuf headBuf, uint32_t index, aclrtMbuf * buf), (headBuf, index, buf))     \
    X(aclError, aclrtGetBufChainNum, (aclrtMbuf headBuf, uint32_t * num), (headBuf, num))

#define ALLOCATOR_FUNCTIONS(X)                                                                                         \
    X(aclError, aclrtAllocatorDestroyDesc, (aclrtAllocatorDesc desc), (desc))                                          \
    X(aclError, aclrtAllocatorSetObjToDesc, (aclrtAllocatorDesc desc, aclrtAllocator allocator), (desc, allocator))    \
    X(aclError, aclrtAllocatorSetAllocFuncToDesc, (aclrtAllocatorDesc desc, aclrtAllocatorAllocFunc func),             \
      (desc, func))                                                                                                    \
    X(aclError, aclrtAllocatorSetAllocAdviseFuncToDesc,                                                                \
      (aclrtAllocatorDesc desc, aclrtAllocatorAllocAdviseFunc func), (desc, func))                                     \
    X(aclError, aclrtAllocatorSetFreeFuncToDesc, (aclrtAllocatorDesc desc, aclrtAllocatorFreeFunc func), (desc, func)) \
    X(aclError, aclrtAllocatorSetGetAddrFromBlockFuncToDesc,                                                           \
      (aclrtAllocatorDesc desc, aclrtAllocatorGetAddrFromBlockFunc func), (desc, func))                                \
    X(aclError, aclrtAllocatorRegister, (aclrtStream stream, aclrtAllocatorDesc desc), (stream, desc))                 \
    X(aclError, aclrtAllocatorUnregister, (aclrtStream stream), (stream))                                              \
    X(aclError, aclrtAllocatorGetByStream,                                                                             \
      (aclrtStream stream, aclrtAllocatorDesc * desc, aclrtAllocator * allocator, aclrtAllocatorAllocFunc * allocFunc, \
       aclrtAllocatorFreeFunc * freeFunc, aclrtAllocatorAllocAdviseFunc * allocAdviseFunc,                             \
       aclrtAllocatorGetAddrFromBlockFunc * getAddrFromBlockFunc),                                                     \
      (stream, desc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc))

/* The one function that answers a handle in place of a code. */
#define CREATE_FUNCTION(X) X(aclrtAllocatorDesc, aclrtAllocatorCreateDesc, (void), ())

#define LIFECYCLE_FUNCTIONS(X)                                                                                         \
    X(aclError, aclInit, (const char *configPath), (configPath))                                                       \
    X(aclError, aclFinalize, (void), ())                                                                               \
    X(aclError, aclrtSetDevice, (int32_t deviceId), (deviceId))                                                        \
    X(aclError, aclrtResetDevice, (int32_t deviceId), (deviceId))

#define STREAM_FUNCTIONS(X)                                                                                            \
    X(aclError, aclrtCreateStream, (aclrtStream * stream), (stream))                                                   \
    X(aclError, aclrtDestroyStream, (aclrtStream stream), (stream))

#define MEMCPY_FUNCTION(X)                                                                                             \
    X(aclError, aclrtMemcpy, (void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind),         \
      (dst, destMax, src, count, kind))

#define DECLARE(type, name, parameters, arguments) type name parameters;
MBUF_FUNCTIONS(DECLARE)
ALLOCATOR_FUNCTIONS(DECLARE)
CREATE_FUNCTION(DECLARE)
LIFECYCLE_FUNCTIONS(DECLARE)
STREAM_FUNCTIONS(DECLARE)
MEMCPY_FUNCTION(DECLARE)
#undef DECLARE

#define SUCCESS 0
#define INVALID_PARAMETER 107000
#define OUT_OF_MEMORY 200000
#define NOT_SUPPORTED 207000

/* The core's function `name`; aborts when the core is not there, which is a fault of the test and not of a target. */
#define CORE(name) ((__typeof__(&name))core_symbol(#name))

static inline void *core_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL)
        abort();
    return symbol;
}

#endif
