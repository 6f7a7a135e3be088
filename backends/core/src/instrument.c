/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* mmap's MAP_ANONYMOUS and MAP_NORESERVE */

#include "instrument.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "acl_cts_core.h"
#include "defects.h"
#include "lock.h"

static uint64_t allocations_until_fault; /* 0: none is armed */
static uint64_t faults_fired;
static uint64_t live_objects;
static uint64_t live_bytes;

bool inner_claim(void)
{
    if (allocations_until_fault == 0 || --allocations_until_fault > 0) {
        return true;
    }
    faults_fired++;
    return false;
}

void *inner_calloc(size_t size)
{
    return inner_claim() ? calloc(1, size) : NULL;
}

void *inner_map(size_t size)
{
    if (!inner_claim()) {
        return NULL;
    }
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

void inner_unmap(void *start, size_t size)
{
    (void)munmap(start, size);
}

void live_add(size_t bytes)
{
    live_objects++;
    live_bytes += bytes;
}

void live_drop(size_t bytes)
{
    live_objects--;
    live_bytes -= bytes;
}

uint64_t live_byte_count(void)
{
    return live_bytes;
}

uint64_t aclctsCapabilities(void)
{
    uint64_t counts = DEFECT(uncounted_areas_stay) ? 0 : ACL_CTS_LIVE_COUNT;
    return ACL_CTS_ROBUST_HANDLES | ACL_CTS_THREAD_SAFE | ACL_CTS_FAULT_INJECTION | counts;
}

void aclctsFailAllocation(uint64_t nth)
{
    core_enter();
    allocations_until_fault = nth;
    (void)core_leave(ACL_SUCCESS);
}

uint64_t aclctsFaultsFired(void)
{
    core_enter();
    uint64_t fired = faults_fired;
    (void)core_leave(ACL_SUCCESS);
    return fired;
}

void aclctsLiveCount(uint64_t *objects, uint64_t *bytes)
{
    core_enter();
    uint64_t objects_now = live_objects;
    uint64_t bytes_now = live_bytes;
    (void)core_leave(ACL_SUCCESS);
    if (objects != NULL) {
        *objects = objects_now;
    }
    if (bytes != NULL) {
        *bytes = bytes_now;
    }
}
