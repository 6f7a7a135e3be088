/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime around the two families, on a host that stands for its only device. No other function waits for aclInit. */
#define _DEFAULT_SOURCE /* sysconf's _SC_PHYS_PAGES */

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "acl_cts_core.h"
#include "descriptor.h"
#include "instrument.h"
#include "lock.h"
#include "mbuf.h"
#include "refusal.h"
#include "stream.h"

enum { DEVICE_COUNT = 1, VERSION_MAJOR = 1, VERSION_MINOR = 0, VERSION_PATCH = 0 };

static bool initialised;

static aclError init(void)
{
    if (initialised) {
        return refuse(ACL_ERROR_REPEAT_INITIALIZE, "initialised already");
    }
    initialised = true;
    return ACL_SUCCESS;
}

/* Live objects stay usable; what no live object needs is given back, so that an unloaded library leaves no memory. */
static aclError finalize(void)
{
    if (!initialised) {
        return refuse(ACL_ERROR_UNINITIALIZE, "not initialised");
    }
    initialised = false;
    mbuf_trim();
    descriptor_trim();
    stream_trim();
    return ACL_SUCCESS;
}

aclError aclInit(const char *configPath)
{
    (void)configPath;
    core_enter();
    return core_leave(init());
}

aclError aclFinalize(void)
{
    core_enter();
    return core_leave(finalize());
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    if (count == NULL) {
        return refuse_parameter("count is NULL");
    }
    *count = DEVICE_COUNT;
    return ACL_SUCCESS;
}

static aclError check_device(int32_t device)
{
    if (device < 0 || device >= DEVICE_COUNT) {
        return refuse(ACL_ERROR_RT_INVALID_DEVICEID, "there is no such device");
    }
    return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    return check_device(deviceId);
}

aclError aclrtResetDevice(int32_t deviceId)
{
    return check_device(deviceId);
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    if ((unsigned)kind > ACL_MEMCPY_DEFAULT) {
        return refuse_parameter("kind is unknown");
    }
    if (count > destMax) {
        return refuse_parameter("count is above destMax");
    }
    if (dst == NULL || src == NULL) {
        return refuse_parameter("dst or src is NULL");
    }
    memmove(dst, src, count);
    return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total)
{
    if ((unsigned)attr > ACL_HBM_MEM_P2P_NORMAL) {
        return refuse_parameter("attr is unknown");
    }
    if (free == NULL || total == NULL) {
        return refuse_parameter("free or total is NULL");
    }
    size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    core_enter();
    size_t used = live_byte_count();
    (void)core_leave(ACL_SUCCESS);
    *total = all;
    *free = used < all ? all - used : 0;
    return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    if (majorVersion == NULL || minorVersion == NULL || patchVersion == NULL) {
        return refuse_parameter("an output is NULL");
    }
    *majorVersion = VERSION_MAJOR;
    *minorVersion = VERSION_MINOR;
    *patchVersion = VERSION_PATCH;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
    return "acl-cts-core";
}
