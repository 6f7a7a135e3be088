/* A peer of `acl-cts fuzz`: what an engineer would write by hand for libFuzzer. Operations with one byte of choice, a
 * model of what the documents say, checks after each call; numbers are raw, and a dictionary has the limits. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "acl_cts_core.h"

#define CHECK(condition) do { if (!(condition)) abort(); } while (0)

enum { MAX_BUFS = 1024, MAX_DESCS = 32, MAX_STREAMS = 300, PRIVATE = 96, CHAIN = 128 };
static const uint64_t AREA_LIMIT = 1ull << 32;

struct buf {
    aclrtMbuf handle;
    uint64_t size, length;
    bool live, located, shared, length_known;
    uint8_t private[PRIVATE], set[PRIVATE];
    struct buf *head, *chain[CHAIN];
    unsigned count;
};

struct desc {
    aclrtAllocatorDesc handle;
    void *slot[5]; /* object, alloc, free, get address, advise */
};

struct stream {
    aclrtStream handle;
    struct desc *registered;
    void *slot[5];
};

static struct buf bufs[MAX_BUFS];
static struct desc descs[MAX_DESCS];
static struct stream streams[MAX_STREAMS];
static unsigned buf_count, desc_count, stream_count;
static const uint8_t *input;
static size_t left;

static uint8_t take8(void)
{
    if (left == 0)
        return 0;
    left--;
    return *input++;
}

static uint64_t take64(void)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < 8; k++)
        value |= (uint64_t)take8() << 8 * k;
    return value;
}

/* Small numbers are what most calls want; all eight bytes for the rest. */
static uint64_t take_number(void)
{
    uint8_t way = take8();
    return way < 128 ? way : way < 200 ? (uint64_t)take8() << 8 | take8() : take64();
}

static struct buf *pick(void)
{
    struct buf *found = buf_count ? &bufs[take8() % buf_count] : NULL;
    return found != NULL && found->live ? found : NULL;
}

static struct buf *add(aclrtMbuf handle, uint64_t size)
{
    CHECK(handle != NULL);
    for (unsigned k = 0; k < buf_count; k++)
        CHECK(!bufs[k].live || bufs[k].handle != handle);
    struct buf *made = &bufs[buf_count++];
    memset(made, 0, sizeof *made);
    *made = (struct buf){.handle = handle, .size = size, .live = true, .length_known = true, .count = 1};
    made->chain[0] = made;
    return made;
}

static void op_alloc(uint64_t size)
{
    aclrtMbuf handle = NULL;
    if (buf_count == MAX_BUFS)
        return;
    aclError code = aclrtAllocBuf(&handle, size);
    CHECK(code != 0 || size <= AREA_LIMIT);
    CHECK(code == 0 || size == 0 || size > 65536);
    if (code == 0)
        add(handle, size);
}

static void op_free(struct buf *b)
{
    if (b->head != NULL)
        return;
    CHECK(aclrtFreeBuf(b->handle) == 0);
    for (unsigned k = 0; k < b->count; k++)
        b->chain[k]->live = false;
}

static void op_data(struct buf *b)
{
    void *place = NULL;
    size_t size = 0;
    CHECK(aclrtGetBufData(b->handle, &place, &size) == 0);
    CHECK(size == b->size);
    b->located = true;
    if (size > 0 && size <= 65536) {
        ((volatile uint8_t *)place)[0] = 1;
        ((volatile uint8_t *)place)[size - 1] = 1;
    }
}

static void op_set_length(struct buf *b, uint64_t length)
{
    if (!b->located || length == 0)
        return;
    CHECK((aclrtSetBufDataLen(b->handle, length) == 0) == (length < b->size));
    for (unsigned k = 0; length < b->size && b->shared && k < buf_count; k++)
        bufs[k].length_known = false;
    if (length < b->size) {
        b->length = length;
        b->length_known = true;
    }
}

static void op_get_length(struct buf *b)
{
    size_t length = 0;
    CHECK(aclrtGetBufDataLen(b->handle, &length) == 0);
    CHECK(b->shared || !b->length_known || length == b->length);
}

static void op_set_user(struct buf *b, uint64_t size, uint64_t offset, uint8_t byte)
{
    uint8_t *data = malloc(size < 256 && size > 0 ? size : 256);
    memset(data, byte, size < 256 && size > 0 ? size : 256);
    bool fits = size <= PRIVATE && offset <= PRIVATE - size;
    if (size > 0)
        CHECK((aclrtSetBufUserData(b->handle, data, size, offset) == 0) == fits);
    if (size > 0 && fits) {
        memset(b->private + offset, byte, size);
        memset(b->set + offset, 1, size);
    }
    free(data);
}

static void op_get_user(struct buf *b, uint64_t size, uint64_t offset)
{
    uint8_t *room = malloc(size < 256 && size > 0 ? size : 256);
    bool fits = size <= PRIVATE && offset <= PRIVATE - size;
    if (size > 0)
        CHECK((aclrtGetBufUserData(b->handle, room, size, offset) == 0) == fits);
    for (uint64_t k = 0; fits && k < size; k++)
        CHECK(!b->set[offset + k] || room[k] == b->private[offset + k]);
    free(room);
}

static void op_copy(struct buf *b, unsigned times)
{
    for (; times-- && buf_count < MAX_BUFS && b->head == NULL && b->count == 1;) {
        aclrtMbuf handle = NULL;
        CHECK(aclrtCopyBufRef(b->handle, &handle) == 0);
        struct buf *made = add(handle, b->size);
        made->shared = b->shared = true;
        made->length_known = false;
    }
}

static void op_append(struct buf *head, struct buf *b)
{
    if (head == b || head->head != NULL || b->head != NULL || b->count > 1)
        return;
    aclError code = aclrtAppendBufChain(head->handle, b->handle);
    CHECK((code == 0) == (head->count < CHAIN));
    if (code == 0) {
        head->chain[head->count++] = b;
        b->head = head;
    }
}

static void op_append_many(struct buf *head, unsigned times)
{
    while (times-- && buf_count < MAX_BUFS) {
        op_alloc(64);
        op_append(head, &bufs[buf_count - 1]);
    }
}

static void op_chain(struct buf *head, uint32_t index)
{
    uint32_t number[1] = {0};
    aclrtMbuf found = NULL;
    if (head->head != NULL || head->count == 1)
        return;
    uint32_t *exact = malloc(sizeof *exact);
    CHECK(aclrtGetBufChainNum(head->handle, exact) == 0);
    number[0] = *exact;
    free(exact);
    CHECK(number[0] == head->count);
    aclError code = aclrtGetBufFromChain(head->handle, index, &found);
    CHECK((code == 0) == (index < head->count));
    CHECK(code != 0 || found == head->chain[index]->handle);
}

/* ---- descriptors: a slot is any address, and is never called */

static void op_fill(struct desc *d, unsigned slot, unsigned number)
{
    static char places[3];
    void *value = &places[number % 3];
    if (d->slot[slot] != NULL)
        return;
    aclError code = 0;
    switch (slot) {
    case 0: code = aclrtAllocatorSetObjToDesc(d->handle, value); break;
    case 1: code = aclrtAllocatorSetAllocFuncToDesc(d->handle, (aclrtAllocatorAllocFunc)(uintptr_t)value); break;
    case 2: code = aclrtAllocatorSetFreeFuncToDesc(d->handle, (aclrtAllocatorFreeFunc)(uintptr_t)value); break;
    case 3: code = aclrtAllocatorSetGetAddrFromBlockFuncToDesc(d->handle, (aclrtAllocatorGetAddrFromBlockFunc)(uintptr_t)value); break;
    default: code = aclrtAllocatorSetAllocAdviseFuncToDesc(d->handle, (aclrtAllocatorAllocAdviseFunc)(uintptr_t)value); break;
    }
    CHECK(code == 0);
    d->slot[slot] = value;
}

static void op_register(struct stream *s, struct desc *d)
{
    bool full = d->slot[0] && d->slot[1] && d->slot[2] && d->slot[3];
    aclError code = aclrtAllocatorRegister(s->handle, d->handle);
    CHECK(code != 0 || full);
    CHECK(code == 0 || !full || s->registered != NULL);
    if (code == 0) {
        s->registered = d;
        memcpy(s->slot, d->slot, sizeof s->slot);
    }
}

static void op_get(struct stream *s)
{
    void *got[6] = {NULL};
    aclError code = aclrtAllocatorGetByStream(s->handle, &got[5], &got[0], (aclrtAllocatorAllocFunc *)(void *)&got[1],
        (aclrtAllocatorFreeFunc *)(void *)&got[2], (aclrtAllocatorAllocAdviseFunc *)(void *)&got[4],
        (aclrtAllocatorGetAddrFromBlockFunc *)(void *)&got[3]);
    if (s->registered == NULL)
        return;
    CHECK(code == 0);
    for (unsigned k = 0; k < 5; k++)
        CHECK(s->slot[k] == NULL || got[k] == s->slot[k] || got[k] == s->registered->slot[k]);
}

static void descriptors(uint8_t op)
{
    if (op == 0 && desc_count < MAX_DESCS) {
        descs[desc_count] = (struct desc){.handle = aclrtAllocatorCreateDesc()};
        CHECK(descs[desc_count++].handle != NULL);
    } else if (op == 1 && stream_count < MAX_STREAMS) {
        streams[stream_count] = (struct stream){0};
        CHECK(aclrtCreateStream(&streams[stream_count++].handle) == 0);
    } else if (op == 2 && desc_count > 0) {
        struct desc *d = &descs[take8() % desc_count];
        uint8_t slot = take8(), number = take8();
        for (unsigned k = 0; k < 4 && slot >= 128; k++)
            op_fill(d, k, number);
        if (slot < 128)
            op_fill(d, slot % 5, number);
    } else if (op == 3 && desc_count > 0 && stream_count > 0) {
        struct stream *s = &streams[take8() % stream_count];
        op_register(s, &descs[take8() % desc_count]);
    } else if (op == 4 && stream_count > 0) {
        op_get(&streams[take8() % stream_count]);
    } else if (op == 5 && stream_count > 0) {
        struct stream *s = &streams[take8() % stream_count];
        CHECK(aclrtAllocatorUnregister(s->handle) == 0);
        s->registered = NULL;
    }
}

static void buffers(uint8_t op)
{
    static const unsigned many[] = {1, 2, 126, 127, 128, 254, 255, 256};
    if (op == 0) {
        op_alloc(take_number());
        return;
    }
    struct buf *b = pick();
    if (b == NULL)
        return;
    switch (op) {
    case 1: op_free(b); break;
    case 2: op_data(b); break;
    case 3: op_set_length(b, take8() < 128 ? take_number() : b->size - take8() % 3 + 1); break;
    case 4: op_get_length(b); break;
    case 5: { uint64_t size = take_number(), offset = take_number(); op_set_user(b, size, offset, take8()); break; }
    case 6: { uint64_t size = take_number(); op_get_user(b, size, take_number()); break; }
    case 7: op_copy(b, many[take8() % 8]); break;
    case 8: { struct buf *other = pick(); if (other != NULL) op_append(b, other); break; }
    case 9: op_append_many(b, many[take8() % 5]); break;
    default: op_chain(b, (uint32_t)take_number()); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = data;
    left = size;
    buf_count = desc_count = stream_count = 0;
    while (left > 0) {
        uint8_t op = take8() % 17;
        if (op < 11)
            buffers(op);
        else
            descriptors(op - 11);
    }
    for (unsigned k = 0; k < buf_count; k++)
        if (bufs[k].live && bufs[k].head == NULL)
            op_free(&bufs[k]);
    for (unsigned k = 0; k < stream_count; k++) {
        aclrtAllocatorUnregister(streams[k].handle);
        aclrtDestroyStream(streams[k].handle);
    }
    for (unsigned k = 0; k < desc_count; k++)
        aclrtAllocatorDestroyDesc(descs[k].handle);
    return 0;
}
