/* SPDX-License-Identifier: Apache-2.0 */
/* Allocator descriptors whose slots are never initialised: malloc, and no clearing. What the heap held counts as set,
 * so Register accepts a descriptor that lacks a required slot. */
#define _GNU_SOURCE
#include "target.h"

#define REGISTRATIONS 1024

struct descriptor {
    aclrtAllocator allocator;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc free;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc addr;
};

static struct registration {
    aclrtStream stream;
    aclrtAllocatorDesc desc;
    struct descriptor copy;
} registrations[REGISTRATIONS];

static struct registration *registration_of(aclrtStream stream)
{
    for (struct registration *entry = registrations; entry < registrations + REGISTRATIONS; entry++)
        if (entry->stream == stream)
            return entry;
    return NULL;
}

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    return malloc(sizeof(struct descriptor));
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc desc)
{
    free(desc);
    return SUCCESS;
}

#define SETTER(name, type, slot)                                                                                       \
    aclError name(aclrtAllocatorDesc desc, type value)                                                                 \
    {                                                                                                                  \
        if (desc == NULL || value == NULL)                                                                             \
            return INVALID_PARAMETER;                                                                                  \
        ((struct descriptor *)desc)->slot = value;                                                                     \
        return SUCCESS;                                                                                                \
    }

SETTER(aclrtAllocatorSetObjToDesc, aclrtAllocator, allocator)
SETTER(aclrtAllocatorSetAllocFuncToDesc, aclrtAllocatorAllocFunc, alloc)
SETTER(aclrtAllocatorSetAllocAdviseFuncToDesc, aclrtAllocatorAllocAdviseFunc, advise)
SETTER(aclrtAllocatorSetFreeFuncToDesc, aclrtAllocatorFreeFunc, free)
SETTER(aclrtAllocatorSetGetAddrFromBlockFuncToDesc, aclrtAllocatorGetAddrFromBlockFunc, addr)

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc desc)
{
    struct descriptor *given = desc;
    if (stream == NULL || given == NULL)
        return INVALID_PARAMETER;
    if (given->allocator == NULL || given->alloc == NULL || given->free == NULL || given->addr == NULL)
        return INVALID_PARAMETER;
    struct registration *entry = registration_of(stream);
    if (entry == NULL)
        entry = registration_of(NULL);
    if (entry == NULL)
        return OUT_OF_MEMORY;
    *entry = (struct registration){stream, desc, *given};
    return SUCCESS;
}

aclError aclrtAllocatorUnregister(aclrtStream stream)
{
    struct registration *entry = stream == NULL ? NULL : registration_of(stream);
    if (entry != NULL)
        *entry = (struct registration){0};
    return SUCCESS;
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *desc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    struct registration *entry = stream == NULL ? NULL : registration_of(stream);
    if (entry == NULL || desc == NULL || allocator == NULL || allocFunc == NULL || freeFunc == NULL ||
        allocAdviseFunc == NULL || getAddrFromBlockFunc == NULL)
        return INVALID_PARAMETER;
    *desc = entry->desc;
    *allocator = entry->copy.allocator;
    *allocFunc = entry->copy.alloc;
    *freeFunc = entry->copy.free;
    *allocAdviseFunc = entry->copy.advise;
    *getAddrFromBlockFunc = entry->copy.addr;
    return SUCCESS;
}
