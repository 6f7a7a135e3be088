/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the CANN runtime that the suite judges, and those that it needs around them.
 * The core library implements all of them on the host; a vendor's library has the same prototypes.
 */
#ifndef ACL_CTS_CORE_H
#define ACL_CTS_CORE_H

#include <stddef.h>
#include <stdint.h>

#define ACL_CTS_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef int aclError;

#define ACL_SUCCESS 0
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_REPEAT_INITIALIZE 100002
#define ACL_ERROR_RT_PARAM_INVALID 107000
#define ACL_ERROR_RT_INVALID_DEVICEID 107001
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
#define ACL_ERROR_RT_OVER_LIMIT 207012

typedef void *aclrtStream;

/* ---- Shared buffers ---- */

typedef void *aclrtMbuf;

ACL_CTS_API aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size);
ACL_CTS_API aclError aclrtFreeBuf(aclrtMbuf buf);
ACL_CTS_API aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size);
ACL_CTS_API aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset);
ACL_CTS_API aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset);
ACL_CTS_API aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len);
ACL_CTS_API aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);
ACL_CTS_API aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf);
ACL_CTS_API aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);
ACL_CTS_API aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf);
ACL_CTS_API aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num);

/* ---- Allocator descriptors ---- */

typedef void *aclrtAllocatorDesc;
typedef void *aclrtAllocator;
typedef void *aclrtAllocatorBlock;
typedef void *aclrtAllocatorAddr;

typedef void *(*aclrtAllocatorAllocFunc)(aclrtAllocator allocator, size_t size);
typedef void (*aclrtAllocatorFreeFunc)(aclrtAllocator allocator, aclrtAllocatorBlock block);
typedef void *(*aclrtAllocatorAllocAdviseFunc)(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr addr);
typedef void *(*aclrtAllocatorGetAddrFromBlockFunc)(aclrtAllocatorBlock block);

ACL_CTS_API aclrtAllocatorDesc aclrtAllocatorCreateDesc(void);
ACL_CTS_API aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc);
ACL_CTS_API aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator);
ACL_CTS_API aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func);
ACL_CTS_API aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func);
ACL_CTS_API aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                            aclrtAllocatorAllocAdviseFunc func);
ACL_CTS_API aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                                 aclrtAllocatorGetAddrFromBlockFunc func);
ACL_CTS_API aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc);
ACL_CTS_API aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc,
                                               aclrtAllocator *allocator, aclrtAllocatorAllocFunc *allocFunc,
                                               aclrtAllocatorFreeFunc *freeFunc,
                                               aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                               aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc);
ACL_CTS_API aclError aclrtAllocatorUnregister(aclrtStream stream);

/* ---- Lifecycle, streams, memory, identity ---- */

typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEFAULT
} aclrtMemcpyKind;

typedef enum aclrtMemAttr {
    ACL_DDR_MEM,
    ACL_HBM_MEM,
    ACL_DDR_MEM_HUGE,
    ACL_DDR_MEM_NORMAL,
    ACL_HBM_MEM_HUGE,
    ACL_HBM_MEM_NORMAL,
    ACL_DDR_MEM_P2P_HUGE,
    ACL_DDR_MEM_P2P_NORMAL,
    ACL_HBM_MEM_P2P_HUGE,
    ACL_HBM_MEM_P2P_NORMAL
} aclrtMemAttr;

ACL_CTS_API aclError aclInit(const char *configPath);
ACL_CTS_API aclError aclFinalize(void);
ACL_CTS_API aclError aclrtGetDeviceCount(uint32_t *count);
ACL_CTS_API aclError aclrtSetDevice(int32_t deviceId);
ACL_CTS_API aclError aclrtResetDevice(int32_t deviceId);
ACL_CTS_API aclError aclrtCreateStream(aclrtStream *stream);
ACL_CTS_API aclError aclrtDestroyStream(aclrtStream stream);
ACL_CTS_API aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);
ACL_CTS_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);
ACL_CTS_API aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);
ACL_CTS_API const char *aclrtGetSocName(void);
ACL_CTS_API const char *aclGetRecentErrMsg(void);

/*
 * ---- Instrumentation ----
 * Optional: any library may export these four; a suite uses them where they exist.
 */

#define ACL_CTS_ROBUST_HANDLES ((uint64_t)1)  /* bad, freed and foreign handles are errors */
#define ACL_CTS_THREAD_SAFE ((uint64_t)2)     /* any function, from any thread, at any time */
#define ACL_CTS_FAULT_INJECTION ((uint64_t)4) /* aclctsFailAllocation and aclctsFaultsFired work */
#define ACL_CTS_LIVE_COUNT ((uint64_t)8)      /* aclctsLiveCount works */

/* The bits above that hold for this library. */
ACL_CTS_API uint64_t aclctsCapabilities(void);

/* The nth inner allocation from now fails, 1 being the next one; 0 disarms. A fault that fired has disarmed itself. */
ACL_CTS_API void aclctsFailAllocation(uint64_t nth);

/* Injected faults that fired since the process started. */
ACL_CTS_API uint64_t aclctsFaultsFired(void);

/* Live objects (buffers, areas, descriptors, registrations, streams) and the bytes that they hold. NULL: not wanted. */
ACL_CTS_API void aclctsLiveCount(uint64_t *objects, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
