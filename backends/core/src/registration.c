/* SPDX-License-Identifier: Apache-2.0 */
#include "registration.h"

#include <stdlib.h>

#include "answers.h"
#include "defects.h"
#include "instrument.h"
#include "lock.h"
#include "refusal.h"

struct registration {
    struct registration *next;
    const struct stream *stream;
    aclrtAllocatorDesc handle;       /* for reports only: the descriptor may be gone, its handle handed out again */
    const struct descriptor *source; /* NULL once the descriptor is destroyed */
    struct hooks hooks;
};

/* Where GetByStream writes: each pointer may be NULL. */
struct outputs {
    aclrtAllocatorDesc *handle;
    aclrtAllocator *object;
    aclrtAllocatorAllocFunc *alloc;
    aclrtAllocatorFreeFunc *free;
    aclrtAllocatorAllocAdviseFunc *advise;
    aclrtAllocatorGetAddrFromBlockFunc *get_addr;
};

static struct registration *registrations;

static bool same_stream(const struct stream *one, const struct stream *other)
{
    if (DEFECT(stream_key_8_bit)) {
        return (uint8_t)(uintptr_t)one == (uint8_t)(uintptr_t)other;
    }
    return one == other;
}

static const struct registration *find(const struct stream *stream)
{
    const struct registration *entry = registrations;
    if (DEFECT(get_finds_the_latest)) {
        return entry;
    }
    while (entry != NULL && !same_stream(entry->stream, stream)) {
        entry = entry->next;
    }
    return entry;
}

void registrations_follow(const struct descriptor *desc)
{
    if (!CORE_ANSWER_SET_SEEN) {
        return;
    }
    for (struct registration *entry = registrations; entry != NULL; entry = entry->next) {
        if (entry->source == desc) {
            entry->hooks = desc->hooks;
        }
    }
}

/* The stream that a descriptor was registered on last. */
static const struct stream **defect_stream_of(const struct descriptor *desc)
{
    static const struct stream *defect_streams[1024];
    return &defect_streams[(uintptr_t)desc / sizeof(*desc) % 1024];
}

void registrations_orphan(const struct descriptor *desc)
{
    if (DEFECT(destroy_cleans_up_by_stream)) {
        registration_remove(*defect_stream_of(desc));
        *defect_stream_of(desc) = NULL;
    }
    if (DEFECT(destroyed_descriptor_is_still_read)) {
        return;
    }
    for (struct registration *entry = registrations; entry != NULL; entry = entry->next) {
        if (entry->source == desc) {
            entry->source = NULL;
            if (DEFECT(destroy_clears_what_is_registered)) {
                entry->hooks = (struct hooks){0};
            }
            if (DEFECT(destroy_clears_one_registered_slot)) {
                entry->hooks.alloc = NULL;
            }
        }
    }
}

void registration_remove(const struct stream *stream)
{
    struct registration **link = &registrations;
    while (*link != NULL && !same_stream((*link)->stream, stream)) {
        link = &(*link)->next;
    }
    struct registration *entry = *link;
    if (entry != NULL) {
        *link = DEFECT(unregister_removes_the_earlier_too) ? NULL : entry->next;
        if (DEFECT(removed_registration_keeps_its_count)) {
            return;
        }
        live_drop(sizeof(*entry));
        if (DEFECT(removed_registration_loses_memory)) {
            return;
        }
        free(entry);
    }
}

static unsigned required_hooks(void)
{
    if (DEFECT(register_without_object)) {
        return HOOKS_REQUIRED & ~(unsigned)HOOK_OBJECT;
    }
    if (DEFECT(register_without_free)) {
        return HOOKS_REQUIRED & ~(unsigned)HOOK_FREE;
    }
    if (DEFECT(register_needs_advise)) {
        return HOOKS_REQUIRED | HOOK_ADVISE;
    }
    return HOOKS_REQUIRED;
}

static aclrtAllocatorAllocFunc defect_alloc; /* the function that was registered last */

static void *defect_alloc_32_bit(aclrtAllocator allocator, size_t size)
{
    return defect_alloc(allocator, (uint32_t)size);
}

static void *defect_alloc_locked(aclrtAllocator allocator, size_t size)
{
    core_enter();
    void *block = defect_alloc(allocator, size);
    (void)core_leave(ACL_SUCCESS);
    return block;
}

static void defect_call_at_exit(void)
{
    for (struct registration *entry = registrations; entry != NULL; entry = entry->next) {
        entry->hooks.free(entry->hooks.object, NULL);
    }
}

static unsigned defect_registered(void)
{
    unsigned count = 0;
    for (const struct registration *entry = registrations; entry != NULL; entry = entry->next) {
        count++;
    }
    return count;
}

static const struct stream *defect_unregistered; /* the stream that was unregistered last */

/* The new entry is complete before the earlier one goes: a refused call leaves the earlier one in place. */
static aclError do_register(aclrtStream stream_handle, aclrtAllocatorDesc handle)
{
    const struct stream *stream = stream_find(stream_handle);
    const struct descriptor *desc = descriptor_find(handle);
    if (DEFECT(null_stream_is_registered) && stream_handle == NULL && desc != NULL) {
        return ACL_SUCCESS;
    }
    if (DEFECT(null_descriptor_is_registered) && stream != NULL && handle == NULL) {
        return ACL_SUCCESS;
    }
    if (stream == NULL) {
        return refuse_parameter("stream is not a live stream");
    }
    if (desc == NULL) {
        return refuse_parameter("allocatorDesc is not a live descriptor");
    }
    if (DEFECT(register_again_refused) && find(stream) != NULL) {
        return refuse_parameter("the stream has a registration");
    }
    if (DEFECT(register_after_unregister_refused) && defect_unregistered == stream) {
        return refuse_parameter("the stream had a registration");
    }
    if (DEFECT(refused_register_removes)) {
        registration_remove(stream);
    }
    if ((desc->hooks.filled & required_hooks()) != required_hooks()) {
        if (DEFECT(refused_register_loses_memory)) {
            (void)inner_calloc(sizeof(struct registration));
        }
        return refuse_parameter("object, alloc, free or get-addr function is not set");
    }
    struct registration *entry = inner_calloc(sizeof(*entry));
    if (entry == NULL) {
        return refuse_memory();
    }
    const struct registration *earlier = DEFECTIVE ? find(stream) : NULL;
    bool replaced = earlier != NULL;
    entry->hooks = desc->hooks;
    if (DEFECT(replaced_registration_keeps_its_free) && replaced) {
        entry->hooks.free = earlier->hooks.free;
    }
    if (DEFECT(first_registration_wins) && replaced) {
        free(entry);
        return ACL_SUCCESS;
    }
    if (DEFECT(register_256_refused) && defect_registered() == 255) {
        free(entry);
        return refuse_parameter("255 streams have a registration");
    }
    if (DEFECT(register_256_forgets) && defect_registered() == 255) {
        registrations->stream = NULL;
    }
    if (DEFECT(register_on_one_removes_all)) {
        while (registrations != NULL) {
            registration_remove(registrations->stream);
        }
    }
    if (DEFECTIVE) {
        *defect_stream_of(desc) = stream;
    }
    registration_remove(stream);
    if (DEFECT(replaced_in_two_steps)) {
        defect_step();
    }
    entry->next = DEFECT(register_again_makes_a_ring) && replaced ? entry : registrations;
    entry->stream = stream;
    entry->handle = DEFECT(get_tells_the_first_descriptor) && registrations ? registrations->handle : handle;
    entry->source = desc;
    registrations = entry;
    if (DEFECT(exit_calls_the_free_function)) {
        (void)atexit(defect_call_at_exit);
    }
    if (DEFECT(returned_alloc_narrows_its_size) || DEFECT(returned_alloc_keeps_the_lock)) {
        defect_alloc = entry->hooks.alloc;
        entry->hooks.alloc = DEFECT(returned_alloc_keeps_the_lock) ? defect_alloc_locked : defect_alloc_32_bit;
    }
    live_add(sizeof(*entry));
    return ACL_SUCCESS;
}

/* Stands in for an advise function that was never set: has no memory to give at any address. */
static void *advise_nothing(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr addr)
{
    (void)allocator;
    (void)size;
    (void)addr;
    return NULL;
}

static void write_outputs(const struct outputs *out, aclrtAllocatorDesc handle, const struct hooks *hooks)
{
    if (out->handle != NULL) {
        *out->handle = handle;
    }
    if (out->object != NULL) {
        *out->object = hooks->object;
    }
    if (out->alloc != NULL) {
        *out->alloc = hooks->alloc;
    }
    if (out->free != NULL) {
        *out->free = hooks->free;
    }
    if (out->advise != NULL) {
        *out->advise = hooks->advise;
    }
    if (out->get_addr != NULL) {
        *out->get_addr = hooks->get_addr;
    }
}

static bool has_null(const struct outputs *out)
{
    return out->handle == NULL || out->object == NULL || out->alloc == NULL || out->free == NULL ||
           out->advise == NULL || out->get_addr == NULL;
}

static aclError get_nothing(const struct outputs *out, bool accepted, const char *why)
{
    if (!accepted) {
        return refuse_parameter(why);
    }
    write_outputs(out, NULL, &(struct hooks){0});
    return ACL_SUCCESS;
}

static struct hooks defect_last_told;

static aclError get_by_stream(aclrtStream handle, const struct outputs *out)
{
    const struct stream *stream = stream_find(handle);
    if (handle != NULL && stream == NULL) {
        return refuse_parameter("stream is not a live stream");
    }
    if (has_null(out) && DEFECT(null_output_of_get_crashes)) {
        __builtin_trap();
    }
    if (has_null(out) && !CORE_ANSWER_GET_NULL_OUTPUT) {
        return refuse_parameter("an output is NULL");
    }
    if (stream == NULL) {
        return get_nothing(out, CORE_ANSWER_GET_NULL_STREAM, "stream is NULL");
    }
    const struct registration *entry = find(stream);
    if (entry == NULL && DEFECT(get_of_unknown_writes_nothing)) {
        return ACL_SUCCESS;
    }
    if (entry == NULL && DEFECT(get_of_unknown_tells_the_last)) {
        write_outputs(out, NULL, &defect_last_told);
        return ACL_SUCCESS;
    }
    if (entry == NULL) {
        return get_nothing(out, CORE_ANSWER_GET_NOTHING, "nothing is registered on the stream");
    }
    if (entry->source == NULL && CORE_ANSWER_GET_ORPHAN) {
        return refuse_parameter("the registered descriptor was destroyed");
    }
    struct hooks hooks = entry->hooks;
    if (DEFECT(destroyed_descriptor_is_still_read)) {
        hooks = entry->source->hooks;
    }
    if (DEFECT(get_swaps_alloc_and_get_addr)) {
        hooks.alloc = (aclrtAllocatorAllocFunc)(void (*)(void))entry->hooks.get_addr;
        hooks.get_addr = (aclrtAllocatorGetAddrFromBlockFunc)(void (*)(void))entry->hooks.alloc;
    }
    if (DEFECT(get_swaps_free_and_advise)) {
        hooks.free = (aclrtAllocatorFreeFunc)(void (*)(void))entry->hooks.advise;
        hooks.advise = (aclrtAllocatorAllocAdviseFunc)(void (*)(void))entry->hooks.free;
    }
    if (DEFECTIVE) {
        defect_last_told = hooks;
    }
    if ((hooks.written & HOOK_ADVISE) == 0 && CORE_ANSWER_ADVISE_UNSET) {
        hooks.advise = advise_nothing;
    }
    write_outputs(out, entry->handle, &hooks);
    return ACL_SUCCESS;
}

/* Removes what was found a step before, and may be gone by now. */
static void defect_remove_in_two_steps(const struct stream *stream)
{
    struct registration **link = &registrations;
    while (*link != NULL && !same_stream((*link)->stream, stream)) {
        link = &(*link)->next;
    }
    struct registration *entry = *link;
    if (entry != NULL) {
        defect_step();
        *link = entry->next;
        live_drop(sizeof(*entry));
        free(entry);
    }
}

/* A stream without a registration is no error, and neither is one that nobody knows. */
static aclError unregister(aclrtStream handle)
{
    if (handle == NULL && !CORE_ANSWER_UNREGISTER_NULL) {
        return refuse_parameter("stream is NULL");
    }
    const struct stream *stream = stream_find(handle);
    if (DEFECT(unregister_of_unknown_refused) && stream != NULL && find(stream) == NULL) {
        return refuse_parameter("nothing is registered on the stream");
    }
    if (DEFECT(unregister_removes_nothing)) {
        return ACL_SUCCESS;
    }
    if (DEFECT(unregister_removes_the_latest) && stream != NULL && registrations != NULL) {
        stream = registrations->stream;
    }
    if (stream != NULL && DEFECT(unregister_in_two_steps)) {
        defect_remove_in_two_steps(stream);
        return ACL_SUCCESS;
    }
    if (stream != NULL) {
        registration_remove(stream);
    }
    if (DEFECTIVE) {
        defect_unregistered = stream;
    }
    return ACL_SUCCESS;
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc)
{
    if (DEFECT(register_without_the_lock)) {
        return do_register(stream, allocatorDesc);
    }
    core_enter();
    return core_leave(do_register(stream, allocatorDesc));
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    const struct outputs out = {allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc};
    if (DEFECT(get_without_the_lock)) {
        return get_by_stream(stream, &out);
    }
    core_enter();
    return core_leave(get_by_stream(stream, &out));
}

aclError aclrtAllocatorUnregister(aclrtStream stream)
{
    core_enter();
    return core_leave(unregister(stream));
}
