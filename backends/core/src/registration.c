/* SPDX-License-Identifier: Apache-2.0 */
#include "registration.h"

#include <stdlib.h>

#include "answers.h"
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

static const struct registration *find(const struct stream *stream)
{
    const struct registration *entry = registrations;
    while (entry != NULL && entry->stream != stream) {
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

void registrations_orphan(const struct descriptor *desc)
{
    for (struct registration *entry = registrations; entry != NULL; entry = entry->next) {
        if (entry->source == desc) {
            entry->source = NULL;
        }
    }
}

void registration_remove(const struct stream *stream)
{
    struct registration **link = &registrations;
    while (*link != NULL && (*link)->stream != stream) {
        link = &(*link)->next;
    }
    struct registration *entry = *link;
    if (entry != NULL) {
        *link = entry->next;
        live_drop(sizeof(*entry));
        free(entry);
    }
}

/* The new entry is complete before the earlier one goes: a refused call leaves the earlier one in place. */
static aclError do_register(aclrtStream stream_handle, aclrtAllocatorDesc handle)
{
    const struct stream *stream = stream_find(stream_handle);
    const struct descriptor *desc = descriptor_find(handle);
    if (stream == NULL) {
        return refuse_parameter("stream is not a live stream");
    }
    if (desc == NULL) {
        return refuse_parameter("allocatorDesc is not a live descriptor");
    }
    if ((desc->hooks.filled & HOOKS_REQUIRED) != HOOKS_REQUIRED) {
        return refuse_parameter("object, alloc, free or get-addr function is not set");
    }
    struct registration *entry = inner_calloc(sizeof(*entry));
    if (entry == NULL) {
        return refuse_memory();
    }
    registration_remove(stream);
    entry->next = registrations;
    entry->stream = stream;
    entry->handle = handle;
    entry->source = desc;
    entry->hooks = desc->hooks;
    registrations = entry;
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

static aclError get_by_stream(aclrtStream handle, const struct outputs *out)
{
    const struct stream *stream = stream_find(handle);
    if (handle != NULL && stream == NULL) {
        return refuse_parameter("stream is not a live stream");
    }
    if (has_null(out) && !CORE_ANSWER_GET_NULL_OUTPUT) {
        return refuse_parameter("an output is NULL");
    }
    if (stream == NULL) {
        return get_nothing(out, CORE_ANSWER_GET_NULL_STREAM, "stream is NULL");
    }
    const struct registration *entry = find(stream);
    if (entry == NULL) {
        return get_nothing(out, CORE_ANSWER_GET_NOTHING, "nothing is registered on the stream");
    }
    if (entry->source == NULL && CORE_ANSWER_GET_ORPHAN) {
        return refuse_parameter("the registered descriptor was destroyed");
    }
    struct hooks hooks = entry->hooks;
    if ((hooks.written & HOOK_ADVISE) == 0 && CORE_ANSWER_ADVISE_UNSET) {
        hooks.advise = advise_nothing;
    }
    write_outputs(out, entry->handle, &hooks);
    return ACL_SUCCESS;
}

/* A stream without a registration is no error, and neither is one that nobody knows. */
static aclError unregister(aclrtStream handle)
{
    if (handle == NULL && !CORE_ANSWER_UNREGISTER_NULL) {
        return refuse_parameter("stream is NULL");
    }
    const struct stream *stream = stream_find(handle);
    if (stream != NULL) {
        registration_remove(stream);
    }
    return ACL_SUCCESS;
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc)
{
    core_enter();
    return core_leave(do_register(stream, allocatorDesc));
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    const struct outputs out = {allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc};
    core_enter();
    return core_leave(get_by_stream(stream, &out));
}

aclError aclrtAllocatorUnregister(aclrtStream stream)
{
    core_enter();
    return core_leave(unregister(stream));
}
