/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator descriptor: five slots for what the user provides. */
#ifndef CORE_DESCRIPTOR_H
#define CORE_DESCRIPTOR_H

#include "acl_cts_core.h"
#include "pool.h"

enum {
    HOOK_OBJECT = 1,
    HOOK_ALLOC = 2,
    HOOK_FREE = 4,
    HOOK_ADVISE = 8,
    HOOK_GET_ADDR = 16,
    HOOKS_REQUIRED = HOOK_OBJECT | HOOK_ALLOC | HOOK_FREE | HOOK_GET_ADDR
};

struct hooks {
    aclrtAllocator object;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc free;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc get_addr;
    unsigned written; /* slots with a successful set */
    unsigned filled;  /* those that count as set: an accepted NULL may not */
};

struct descriptor {
    struct slot slot;
    struct hooks hooks;
};

struct descriptor *descriptor_find(aclrtAllocatorDesc handle);
void descriptor_trim(void);

#endif
