/* SPDX-License-Identifier: Apache-2.0 */
/* Data areas lie on a "device": the addresses handed out are not mapped in the host, aclrtMemcpy reaches them. */
#define _GNU_SOURCE
#include <string.h>

#include "target.h"

/* Libraries, stacks and the heap of a position-independent program lie above this address; what is shifted below it is
 * mapped by nobody. */
#define DEVICE_SHIFT ((uintptr_t)1 << 46)

static int on_device(const void *address)
{
    return (uintptr_t)address < DEVICE_SHIFT;
}

static void *host_address(const void *address)
{
    return (char *)address + DEVICE_SHIFT;
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    aclError code = CORE(aclrtGetBufData)(buf, dataPtr, size);
    if (code == SUCCESS && dataPtr != NULL && *dataPtr != NULL)
        *dataPtr = (char *)*dataPtr - DEVICE_SHIFT;
    return code;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    if (dst == NULL || src == NULL || count > destMax || (unsigned)kind > ACL_MEMCPY_DEFAULT)
        return INVALID_PARAMETER;
    int to_device = on_device(dst);
    int from_device = on_device(src);
    int actual = (from_device ? ACL_MEMCPY_DEVICE_TO_HOST : 0) + (to_device ? ACL_MEMCPY_HOST_TO_DEVICE : 0);
    if (kind != ACL_MEMCPY_DEFAULT && (int)kind != actual)
        return INVALID_PARAMETER;
    memcpy(to_device ? host_address(dst) : dst, from_device ? host_address(src) : src, count);
    return SUCCESS;
}
