/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "answers.h"
#include "defects.h"
#include "lock.h"
#include "refusal.h"
#include "registration.h"

static struct pool descriptors = POOL_OF(struct descriptor);

struct descriptor *descriptor_find(aclrtAllocatorDesc handle)
{
    return pool_find(&descriptors, handle);
}

void descriptor_trim(void)
{
    pool_trim(&descriptors);
}

static aclrtAllocatorDesc create_desc(void)
{
    struct descriptor *desc = pool_take(&descriptors);
    if (desc == NULL) {
        (void)refuse_memory();
        return NULL;
    }
    if (DEFECT(create_wears_out)) {
        static uint16_t defect_made;
        if (++defect_made == 0) {
            pool_give(&descriptors, desc);
            return NULL;
        }
    }
    if (DEFECT(create_gives_the_last_again)) {
        static struct descriptor *defect_last;
        static bool defect_again;
        defect_again = !defect_again && defect_last != NULL && defect_last->slot.live;
        if (defect_again) {
            pool_give(&descriptors, desc);
            return defect_last;
        }
        defect_last = desc;
    }
    if (!DEFECT(recycled_descriptor_keeps_its_slots)) {
        desc->hooks = (struct hooks){0};
    }
    if (DEFECT(fresh_advise_uninitialised)) {
        memset(&desc->hooks.advise, 0xA5, sizeof(desc->hooks.advise));
    }
    if (DEFECT(fresh_slots_uninitialised)) {
        memset(&desc->hooks, 0xA5, sizeof(desc->hooks));
    }
    return desc;
}

/* Registrations keep their copy of the values, but must not follow the next owner of this slot. */
static aclError destroy_desc(aclrtAllocatorDesc handle)
{
    if (handle == NULL && CORE_ANSWER_DESTROY_NULL) {
        return ACL_SUCCESS;
    }
    struct descriptor *desc = descriptor_find(handle);
    if (desc == NULL) {
        return refuse_parameter("allocatorDesc is not a live descriptor");
    }
    if (DEFECT(destroy_calls_the_free_function) && desc->hooks.free != NULL) {
        desc->hooks.free(desc->hooks.object, NULL);
    }
    registrations_orphan(desc);
    if (DEFECT(destroy_keeps_the_descriptor)) {
        return ACL_SUCCESS;
    }
    pool_give(&descriptors, desc);
    return ACL_SUCCESS;
}

static bool accepts_null(unsigned hook)
{
    return hook == HOOK_OBJECT ? CORE_ANSWER_NULL_OBJECT : CORE_ANSWER_NULL_FUNC;
}

/* Opens one slot of a descriptor for a new value: NULL, with the reason noted, if it may not be set. */
static struct descriptor *open_hook(aclrtAllocatorDesc handle, unsigned hook, bool is_null)
{
    struct descriptor *desc = descriptor_find(handle);
    if (desc == NULL && handle == NULL && DEFECT(null_descriptor_crashes)) {
        __builtin_trap();
    }
    if (desc == NULL) {
        (void)refuse_parameter("allocatorDesc is not a live descriptor");
        return NULL;
    }
    if (is_null && !accepts_null(hook)) {
        (void)refuse_parameter("the object or function is NULL");
        return NULL;
    }
    if ((desc->hooks.filled & hook) != 0 && CORE_ANSWER_SET_AGAIN) {
        (void)refuse_parameter("this slot was set before");
        return NULL;
    }
    if (DEFECT(free_counts_as_get_addr) && hook == HOOK_FREE) {
        desc->hooks.filled |= HOOK_GET_ADDR;
    }
    desc->hooks.written |= hook;
    desc->hooks.filled &= ~hook;
    if (!is_null || CORE_ANSWER_NULL_COUNTS) {
        desc->hooks.filled |= hook;
    }
    return desc;
}

static aclError set_object(aclrtAllocatorDesc handle, aclrtAllocator object)
{
    struct descriptor *desc = open_hook(handle, HOOK_OBJECT, object == NULL);
    if (desc == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (DEFECT(object_32_bit)) {
        object = (aclrtAllocator)(uintptr_t)(uint32_t)(uintptr_t)object;
    }
    desc->hooks.object = object;
    registrations_follow(desc);
    return ACL_SUCCESS;
}

static aclError set_alloc(aclrtAllocatorDesc handle, aclrtAllocatorAllocFunc func)
{
    struct descriptor *desc = open_hook(handle, HOOK_ALLOC, func == NULL);
    if (desc == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (DEFECT(second_alloc_is_ignored) && desc->hooks.alloc != NULL) {
        return ACL_SUCCESS;
    }
    desc->hooks.alloc = func;
    registrations_follow(desc);
    return ACL_SUCCESS;
}

static aclError set_free(aclrtAllocatorDesc handle, aclrtAllocatorFreeFunc func)
{
    struct descriptor *desc = open_hook(handle, HOOK_FREE, func == NULL);
    if (desc == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    desc->hooks.free = func;
    registrations_follow(desc);
    return ACL_SUCCESS;
}

static aclError set_advise(aclrtAllocatorDesc handle, aclrtAllocatorAllocAdviseFunc func)
{
    struct descriptor *desc = open_hook(handle, HOOK_ADVISE, func == NULL);
    if (desc == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (DEFECT(set_advise_clears_get_addr)) {
        desc->hooks.get_addr = NULL;
    }
    desc->hooks.advise = func;
    registrations_follow(desc);
    return ACL_SUCCESS;
}

static aclError set_get_addr(aclrtAllocatorDesc handle, aclrtAllocatorGetAddrFromBlockFunc func)
{
    struct descriptor *desc = open_hook(handle, HOOK_GET_ADDR, func == NULL);
    if (desc == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    desc->hooks.get_addr = func;
    registrations_follow(desc);
    return ACL_SUCCESS;
}

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    if (DEFECT(create_without_the_lock)) {
        return create_desc();
    }
    core_enter();
    aclrtAllocatorDesc handle = create_desc();
    (void)core_leave(ACL_SUCCESS);
    return handle;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc)
{
    core_enter();
    return core_leave(destroy_desc(allocatorDesc));
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator)
{
    if (DEFECT(set_object_without_the_lock)) {
        return set_object(allocatorDesc, allocator);
    }
    core_enter();
    return core_leave(set_object(allocatorDesc, allocator));
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func)
{
    core_enter();
    return core_leave(set_alloc(allocatorDesc, func));
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func)
{
    core_enter();
    return core_leave(set_free(allocatorDesc, func));
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocAdviseFunc func)
{
    core_enter();
    return core_leave(set_advise(allocatorDesc, func));
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func)
{
    core_enter();
    return core_leave(set_get_addr(allocatorDesc, func));
}
