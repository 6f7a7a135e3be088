/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share a buffer, a chain and a stream of the core. Built with a sanitizer, which finds the races; the
 * driver itself checks that nothing is lost, mixed or left behind.
 * usage: core_threads ROUNDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_cts_core.h"

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

enum { THREADS = 4, AREA_SIZE = 64, CHAIN_LIMIT = 128 };

static unsigned long rounds;
static aclrtMbuf shared_buf;
static aclrtMbuf shared_head;
static aclrtStream shared_stream;
static char objects[THREADS];

/* One set of hooks a thread, so that a mixture of two registrations shows. */
#define HOOKS(n)                                                                            \
    static void *alloc_##n(aclrtAllocator object, size_t size)                              \
    {                                                                                       \
        (void)size;                                                                         \
        return object;                                                                      \
    }                                                                                       \
    static void *advise_##n(aclrtAllocator object, size_t size, aclrtAllocatorAddr addr)    \
    {                                                                                       \
        (void)size;                                                                         \
        (void)addr;                                                                         \
        return object;                                                                      \
    }                                                                                       \
    static void free_##n(aclrtAllocator object, aclrtAllocatorBlock block)                  \
    {                                                                                       \
        (void)object;                                                                       \
        (void)block;                                                                        \
    }                                                                                       \
    static void *get_addr_##n(aclrtAllocatorBlock block)                                    \
    {                                                                                       \
        return block;                                                                       \
    }

HOOKS(0)
HOOKS(1)
HOOKS(2)
HOOKS(3)

static const aclrtAllocatorAllocFunc allocs[THREADS] = {alloc_0, alloc_1, alloc_2, alloc_3};
static const aclrtAllocatorAllocAdviseFunc advises[THREADS] = {advise_0, advise_1, advise_2, advise_3};
static const aclrtAllocatorFreeFunc frees[THREADS] = {free_0, free_1, free_2, free_3};
static const aclrtAllocatorGetAddrFromBlockFunc get_addrs[THREADS] = {get_addr_0, get_addr_1, get_addr_2, get_addr_3};

/* Takes and drops references to one area, each with private bytes and a length of its own. */
static void share_buffer(unsigned char id)
{
    for (unsigned long round = 0; round < rounds; round++) {
        aclrtMbuf ref;
        void *data;
        size_t size;
        unsigned char bytes[2];
        CHECK(aclrtCopyBufRef(shared_buf, &ref) == ACL_SUCCESS);
        CHECK(aclrtGetBufData(ref, &data, &size) == ACL_SUCCESS && size == AREA_SIZE);
        CHECK(((const char *)data)[AREA_SIZE - 1] == 'x');
        CHECK(aclrtSetBufUserData(ref, &id, 1, 95) == ACL_SUCCESS);
        CHECK(aclrtSetBufDataLen(ref, (size_t)id + 1) == ACL_SUCCESS);
        CHECK(aclrtGetBufUserData(ref, bytes, 2, 94) == ACL_SUCCESS && bytes[1] == id);
        CHECK(aclrtFreeBuf(ref) == ACL_SUCCESS);
    }
}

/* Appends a buffer of its own to the chain of all threads and frees it; where a member may not be freed, it stays. */
static void share_chain(void)
{
    for (unsigned long round = 0; round < rounds; round++) {
        aclrtMbuf buf;
        aclrtMbuf last = shared_head;
        uint32_t num = 1;
        CHECK(aclrtAllocBuf(&buf, AREA_SIZE) == ACL_SUCCESS);
        aclError appended = aclrtAppendBufChain(shared_head, buf);
        CHECK(appended == ACL_SUCCESS || appended == ACL_ERROR_RT_OVER_LIMIT);
        (void)aclrtGetBufChainNum(shared_head, &num);
        CHECK(num >= 1 && num <= CHAIN_LIMIT);
        (void)aclrtGetBufFromChain(shared_head, num - 1, &last);
        CHECK(last != NULL);
        aclError freed = aclrtFreeBuf(buf);
        CHECK(freed == ACL_SUCCESS || appended == ACL_SUCCESS);
    }
}

static void check_unmixed(aclrtStream stream)
{
    aclrtAllocatorDesc desc;
    aclrtAllocator object;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc release;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc get_addr;
    if (aclrtAllocatorGetByStream(stream, &desc, &object, &alloc, &release, &advise, &get_addr) != ACL_SUCCESS) {
        return;
    }
    if (object == NULL) {
        CHECK(alloc == NULL && release == NULL && advise == NULL && get_addr == NULL);
        return;
    }
    size_t owner = (size_t)((char *)object - objects);
    CHECK(owner < THREADS);
    CHECK(alloc == allocs[owner] && release == frees[owner]);
    CHECK(advise == advises[owner] && get_addr == get_addrs[owner]);
}

static void share_stream(unsigned char id)
{
    for (unsigned long round = 0; round < rounds; round++) {
        aclrtStream own;
        aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
        CHECK(desc != NULL);
        CHECK(aclrtAllocatorSetObjToDesc(desc, &objects[id]) == ACL_SUCCESS);
        CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, allocs[id]) == ACL_SUCCESS);
        CHECK(aclrtAllocatorRegister(shared_stream, desc) != ACL_SUCCESS);
        CHECK(aclGetRecentErrMsg() != NULL && aclGetRecentErrMsg() == NULL); /* messages are each thread's own */
        CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, frees[id]) == ACL_SUCCESS);
        CHECK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, advises[id]) == ACL_SUCCESS);
        CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, get_addrs[id]) == ACL_SUCCESS);
        CHECK(aclrtCreateStream(&own) == ACL_SUCCESS);
        CHECK(aclrtAllocatorRegister(own, desc) == ACL_SUCCESS);
        CHECK(aclrtAllocatorRegister(shared_stream, desc) == ACL_SUCCESS);
        check_unmixed(shared_stream);
        if (round % 3 == 0) {
            CHECK(aclrtAllocatorUnregister(shared_stream) == ACL_SUCCESS);
        }
        check_unmixed(own);
        CHECK(aclrtDestroyStream(own) == ACL_SUCCESS);
        CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
    }
}

static void *run(void *argument)
{
    unsigned char id = *(const unsigned char *)argument;
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    share_buffer(id);
    share_chain();
    share_stream(id);
    return NULL;
}

/* Frees the chain's head, and members that outlive it. */
static void free_chain(void)
{
    aclrtMbuf members[CHAIN_LIMIT];
    uint32_t num = 1;
    (void)aclrtGetBufChainNum(shared_head, &num);
    for (uint32_t i = 1; i < num; i++) {
        CHECK(aclrtGetBufFromChain(shared_head, i, &members[i]) == ACL_SUCCESS);
    }
    CHECK(aclrtFreeBuf(shared_head) == ACL_SUCCESS);
    for (uint32_t i = 1; i < num; i++) {
        (void)aclrtFreeBuf(members[i]);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned char ids[THREADS];
    void *data;
    size_t size;
    uint64_t live;
    uint64_t bytes;
    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    CHECK(rounds > 0);
    CHECK(aclrtAllocBuf(&shared_buf, AREA_SIZE) == ACL_SUCCESS);
    CHECK(aclrtAllocBuf(&shared_head, AREA_SIZE) == ACL_SUCCESS);
    CHECK(aclrtCreateStream(&shared_stream) == ACL_SUCCESS);
    CHECK(aclrtGetBufData(shared_buf, &data, &size) == ACL_SUCCESS);
    memset(data, 'x', size);
    for (unsigned char i = 0; i < THREADS; i++) {
        ids[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run, &ids[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(aclrtFreeBuf(shared_buf) == ACL_SUCCESS);
    free_chain();
    CHECK(aclrtDestroyStream(shared_stream) == ACL_SUCCESS);
    aclctsLiveCount(&live, &bytes);
    CHECK(live == 0 && bytes == 0);
    return 0;
}
