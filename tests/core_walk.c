/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through the core with calls drawn at random, on live, freed and foreign handles, some with an injected fault,
 * and checks what holds whatever the open points' answers are. Built with sanitizers, they check the rest.
 * usage: core_walk SEED STEPS [registered]    "registered": exits with allocators registered and buffers alive
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_cts_core.h"

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: step %lu: %s\n", __FILE__, __LINE__, step, #condition); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

enum { HANDLES = 400, DESCRIPTORS = 8, STREAMS = 8, CHAIN_LIMIT = 128, PRIVATE_SIZE = 96 };

static unsigned long step;
static uint64_t random_state;
static long hook_calls;
static aclrtMbuf handles[HANDLES]; /* live, freed or never filled: the library has to tell */
static aclrtAllocatorDesc descriptors[DESCRIPTORS];
static aclrtStream streams[STREAMS];
static char foreign[4096]; /* no object of the library is in here */
static void *const untouched = foreign + 1;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void *hook_alloc(aclrtAllocator allocator, size_t size)
{
    (void)allocator;
    (void)size;
    hook_calls++;
    return NULL;
}

static void *hook_advise(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr addr)
{
    (void)allocator;
    (void)size;
    (void)addr;
    hook_calls++;
    return NULL;
}

static void hook_free(aclrtAllocator allocator, aclrtAllocatorBlock block)
{
    (void)allocator;
    (void)block;
    hook_calls++;
}

static void *hook_get_addr(aclrtAllocatorBlock block)
{
    hook_calls++;
    return block;
}

/* Mostly a handle that was alive once, sometimes one that never was: inside a live one, foreign, small, NULL. */
static void *any_of(void *const *table, size_t count)
{
    void *handle = table[draw(count)];
    switch (draw(24)) {
    case 0:
        return foreign + draw(sizeof(foreign));
    case 1:
        return handle != NULL ? (char *)handle + 1 + draw(64) : NULL;
    case 2:
        return (void *)(uintptr_t)draw(64);
    default:
        return handle;
    }
}

static aclrtMbuf any_buffer(void)
{
    return any_of(handles, HANDLES);
}

/* An armed fault that fires ends in an error; one that does not is taken back. */
static bool fault_fired(uint64_t fired_before, aclError answer)
{
    aclctsFailAllocation(0);
    bool fired = aclctsFaultsFired() > fired_before;
    CHECK(aclctsFaultsFired() - fired_before <= 1);
    CHECK(!fired || answer == ACL_ERROR_RT_MEMORY_ALLOCATION);
    return fired;
}

static uint64_t arm(void)
{
    if (draw(8) == 0) {
        aclctsFailAllocation(1 + draw(4));
    }
    return aclctsFaultsFired();
}

static bool is_alive(aclrtMbuf handle)
{
    size_t len;
    return aclrtGetBufDataLen(handle, &len) == ACL_SUCCESS;
}

static bool find_room(size_t *place)
{
    for (int tries = 0; tries < 16; tries++) {
        *place = (size_t)draw(HANDLES);
        if (!is_alive(handles[*place])) {
            return true;
        }
    }
    return false;
}

/* A fresh handle may have the value of a freed one that the table still has elsewhere. */
static void put(size_t place, aclrtMbuf handle)
{
    for (size_t i = 0; i < HANDLES; i++) {
        if (handles[i] == handle) {
            handles[i] = NULL;
        }
    }
    handles[place] = handle;
}

static void step_alloc(void)
{
    static const size_t sizes[] = {0, 1, 2, 95, 4096, 65536, 1 << 20, (1 << 20) + 1, 4294967296, 4294967297, SIZE_MAX};
    size_t size = sizes[draw(sizeof(sizes) / sizeof(sizes[0]))];
    size_t place;
    if (!find_room(&place)) {
        return;
    }
    aclrtMbuf handle = untouched;
    uint64_t fired = arm();
    aclError answer = aclrtAllocBuf(&handle, size);
    CHECK((answer == ACL_SUCCESS) == (handle != untouched));
    if (fault_fired(fired, answer) || answer != ACL_SUCCESS) {
        return;
    }
    CHECK(size <= 4294967296);
    put(place, handle);
    void *data;
    size_t reported;
    size_t len = 1;
    uint32_t num = 1;
    CHECK(aclrtGetBufData(handle, &data, &reported) == ACL_SUCCESS);
    CHECK(reported == size);
    if (size > 0) {
        ((volatile char *)data)[0] = 1;
        ((volatile char *)data)[size - 1] = 2;
    }
    CHECK(aclrtGetBufDataLen(handle, &len) == ACL_SUCCESS && len == 0);
    (void)aclrtGetBufChainNum(handle, &num);
    CHECK(num == 1);
    unsigned char bytes[PRIVATE_SIZE];
    CHECK(aclrtGetBufUserData(handle, bytes, PRIVATE_SIZE, 0) == ACL_SUCCESS);
    for (size_t i = 0; i < PRIVATE_SIZE; i++) {
        CHECK(bytes[i] == bytes[0] && bytes[i] != 0xA5); /* no byte of an earlier owner's: see step_user_data */
    }
}

static void step_copy(void)
{
    size_t place;
    if (!find_room(&place)) {
        return;
    }
    aclrtMbuf original = any_buffer();
    aclrtMbuf handle = untouched;
    uint64_t fired = arm();
    aclError answer = aclrtCopyBufRef(original, &handle);
    CHECK((answer == ACL_SUCCESS) == (handle != untouched));
    if (fault_fired(fired, answer) || answer != ACL_SUCCESS) {
        return;
    }
    put(place, handle);
    void *data[2];
    size_t size[2];
    CHECK(aclrtGetBufData(original, &data[0], &size[0]) == ACL_SUCCESS);
    CHECK(aclrtGetBufData(handle, &data[1], &size[1]) == ACL_SUCCESS);
    CHECK(data[0] == data[1] && size[0] == size[1] && handle != original);
}

static void step_touch(void)
{
    void *data;
    size_t size;
    if (aclrtGetBufData(any_buffer(), &data, &size) == ACL_SUCCESS && size > 0) {
        volatile char *bytes = data;
        bytes[0] = (char)(bytes[0] + 1);
        bytes[size - 1] = (char)(bytes[size - 1] + 1);
    }
}

static void step_length(void)
{
    static const size_t lengths[] = {0, 1, 94, 95, 96, 4095, 4096, 65535, 4294967295, 4294967296, SIZE_MAX};
    aclrtMbuf handle = any_buffer();
    size_t len = lengths[draw(sizeof(lengths) / sizeof(lengths[0]))];
    size_t before = 0;
    size_t after = 0;
    size_t size = 0;
    void *data;
    aclError known = aclrtGetBufDataLen(handle, &before);
    aclError answer = aclrtSetBufDataLen(handle, len);
    CHECK(known == ACL_SUCCESS || answer != ACL_SUCCESS);
    if (known == ACL_SUCCESS) {
        CHECK(aclrtGetBufDataLen(handle, &after) == ACL_SUCCESS);
        CHECK(after == (answer == ACL_SUCCESS ? len : before));
        CHECK(aclrtGetBufData(handle, &data, &size) == ACL_SUCCESS);
        CHECK(answer != ACL_SUCCESS || len < size);
    }
}

static void step_user_data(void)
{
    static const size_t numbers[] = {0, 1, 48, 50, 95, 96, 97, (size_t)1 << 32, (size_t)1 << 63, SIZE_MAX - 9, SIZE_MAX};
    aclrtMbuf handle = any_buffer();
    size_t size = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
    size_t offset = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
    bool fits = size <= PRIVATE_SIZE && offset <= PRIVATE_SIZE && size + offset <= PRIVATE_SIZE;
    unsigned char before[PRIVATE_SIZE];
    unsigned char after[PRIVATE_SIZE];
    unsigned char source[PRIVATE_SIZE];
    memset(source, 0xA5, sizeof(source));
    aclError known = aclrtGetBufUserData(handle, before, PRIVATE_SIZE, 0);
    aclError answer = aclrtSetBufUserData(handle, source, size, offset);
    CHECK(answer != ACL_SUCCESS || (fits && known == ACL_SUCCESS));
    if (known == ACL_SUCCESS) {
        CHECK(answer == ACL_SUCCESS || !fits || size == 0);
        CHECK(aclrtGetBufUserData(handle, after, PRIVATE_SIZE, 0) == ACL_SUCCESS);
        if (answer == ACL_SUCCESS) {
            memcpy(before + offset, source, size);
        }
        CHECK(memcmp(before, after, PRIVATE_SIZE) == 0);
    }
}

static void check_chain(aclrtMbuf head)
{
    uint32_t num;
    if (aclrtGetBufChainNum(head, &num) != ACL_SUCCESS) {
        return;
    }
    CHECK(num >= 1 && num <= CHAIN_LIMIT);
    aclrtMbuf seen[CHAIN_LIMIT];
    aclrtMbuf beyond = untouched;
    for (uint32_t i = 0; i < num; i++) {
        seen[i] = NULL;
        aclError answer = aclrtGetBufFromChain(head, i, &seen[i]);
        if (answer != ACL_SUCCESS && i == 0) {
            break; /* `head` is a member, or alone: this may be refused */
        }
        CHECK(answer == ACL_SUCCESS && is_alive(seen[i]));
        for (uint32_t j = 0; j < i; j++) {
            CHECK(seen[i] != seen[j]);
        }
    }
    CHECK(aclrtGetBufFromChain(head, num, &beyond) != ACL_SUCCESS && beyond == untouched);
    CHECK(aclrtGetBufFromChain(head, UINT32_MAX, &beyond) != ACL_SUCCESS && beyond == untouched);
}

static void step_append(void)
{
    aclrtMbuf head = any_buffer();
    for (uint64_t more = draw(200); more > 0; more--) { /* long chains need many appends to one head */
        (void)aclrtAppendBufChain(head, any_buffer());
    }
    check_chain(head);
}

static void step_free(void)
{
    aclrtMbuf handle = any_buffer();
    bool alive = is_alive(handle);
    aclError answer = aclrtFreeBuf(handle);
    CHECK(alive || answer != ACL_SUCCESS || handle == NULL);
    CHECK(answer != ACL_SUCCESS || !is_alive(handle));
    CHECK(answer != ACL_SUCCESS || handle == NULL || aclrtFreeBuf(handle) != ACL_SUCCESS);
}

static void step_descriptor(void)
{
    aclrtAllocatorDesc *place = &descriptors[draw(DESCRIPTORS)];
    aclrtAllocatorDesc desc = any_of(descriptors, DESCRIPTORS);
    if (aclrtAllocatorDestroyDesc(*place) == ACL_SUCCESS || *place == NULL) {
        uint64_t fired = arm();
        *place = aclrtAllocatorCreateDesc();
        (void)fault_fired(fired, *place == NULL ? ACL_ERROR_RT_MEMORY_ALLOCATION : ACL_SUCCESS);
    }
    (void)aclrtAllocatorSetObjToDesc(desc, draw(9) == 0 ? NULL : foreign);
    (void)aclrtAllocatorSetAllocFuncToDesc(desc, draw(9) == 0 ? NULL : hook_alloc);
    (void)aclrtAllocatorSetFreeFuncToDesc(desc, draw(9) == 0 ? NULL : hook_free);
    (void)aclrtAllocatorSetAllocAdviseFuncToDesc(desc, draw(9) == 0 ? NULL : hook_advise);
    (void)aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, draw(9) == 0 ? NULL : hook_get_addr);
}

static void step_stream(void)
{
    aclrtStream *place = &streams[draw(STREAMS)];
    if (aclrtDestroyStream(*place) == ACL_SUCCESS || *place == NULL) {
        aclrtStream stream = NULL;
        uint64_t fired = arm();
        aclError answer = aclrtCreateStream(&stream);
        CHECK((answer == ACL_SUCCESS) == (stream != NULL));
        (void)fault_fired(fired, answer);
        *place = stream;
    }
}

static void step_registration(void)
{
    aclrtStream stream = any_of(streams, STREAMS);
    uint64_t fired = arm();
    aclError answer = aclrtAllocatorRegister(stream, any_of(descriptors, DESCRIPTORS));
    (void)fault_fired(fired, answer);
    aclrtAllocatorDesc desc = untouched;
    aclrtAllocator object = untouched;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc release;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc get_addr;
    aclError got = aclrtAllocatorGetByStream(stream, &desc, &object, &alloc, &release, &advise, &get_addr);
    CHECK(answer != ACL_SUCCESS || got == ACL_SUCCESS);
    if (got == ACL_SUCCESS) {
        CHECK(object == foreign || object == NULL);
        CHECK(alloc == hook_alloc || alloc == NULL);
        CHECK(release == hook_free || release == NULL);
        CHECK(get_addr == hook_get_addr || get_addr == NULL);
        CHECK(advise == NULL || advise == hook_advise || advise(object, 1, NULL) == NULL);
        CHECK(hook_calls == 0);
    } else {
        CHECK(desc == untouched && object == untouched);
    }
    if (draw(3) == 0) {
        (void)aclrtAllocatorUnregister(any_of(streams, STREAMS));
    }
}

static void free_everything(void)
{
    bool progress = true;
    while (progress) { /* members may be freed only once their head is gone */
        progress = false;
        for (size_t i = 0; i < HANDLES; i++) {
            if (handles[i] != NULL && aclrtFreeBuf(handles[i]) == ACL_SUCCESS) {
                progress = true;
            }
        }
    }
    for (size_t i = 0; i < STREAMS; i++) {
        (void)aclrtDestroyStream(streams[i]);
    }
    for (size_t i = 0; i < DESCRIPTORS; i++) {
        (void)aclrtAllocatorDestroyDesc(descriptors[i]);
    }
}

int main(int argc, char **argv)
{
    static void (*const steps[])(void) = {
        step_alloc, step_alloc,  step_copy, step_touch,      step_length, step_user_data,
        step_free,  step_append, step_free, step_descriptor, step_stream, step_registration,
    };
    uint64_t objects;
    uint64_t bytes;
    if (argc < 3) {
        return 2;
    }
    random_state = strtoull(argv[1], NULL, 10) * 0x9E3779B97F4A7C15 + 1;
    unsigned long last = strtoul(argv[2], NULL, 10);
    CHECK(aclInit(NULL) == ACL_SUCCESS);
    for (step = 0; step < last; step++) {
        steps[draw(sizeof(steps) / sizeof(steps[0]))]();
    }
    CHECK(hook_calls == 0);
    if (argc > 3) {
        aclctsLiveCount(&objects, &bytes);
        CHECK(objects > 0 && bytes > 0);
        exit(0);
    }
    free_everything();
    aclctsLiveCount(&objects, &bytes);
    CHECK(objects == 0 && bytes == 0);
    CHECK(aclFinalize() == ACL_SUCCESS);
    CHECK(aclctsFaultsFired() > 0);
    return 0;
}
