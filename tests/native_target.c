/* SPDX-License-Identifier: Apache-2.0 */
/* A few functions of the API, each doing what -DNAME of a macro asks for: what the executor must live with. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct buffer {
    size_t size, length;
    unsigned char *data;
};

#ifdef INIT
static void own_handler(int number)
{
    (void)number;
    _exit(3);
}

int aclInit(const char *path)
{
    (void)path;
    (void)own_handler;
    INIT;
    return 0;
}

const char *aclGetRecentErrMsg(void)
{
    return "no such device";
}
#endif

#ifdef LIFECYCLE
/* Notes every call in the file that the environment names. */
static int note(const char *what, int number)
{
    FILE *file = fopen(getenv("NATIVE_TARGET_LOG"), "a");
    if (file == NULL)
        return 500001;
    fprintf(file, "%s %d\n", what, number);
    fclose(file);
    return 0;
}

int aclInit(const char *path)
{
    return note("init", path != NULL) != 0 ? 500001 : 100002;
}

int aclrtSetDevice(int32_t device)
{
    return note("set", device);
}

int aclrtResetDevice(int32_t device)
{
    return note("reset", device);
}

int aclFinalize(void)
{
    return note("finalize", 0);
}
#endif

int aclrtAllocBuf(void **buf, size_t size)
{
    static unsigned long calls;
    calls++;
#ifdef ALLOC
    ALLOC;
#endif
    struct buffer *b = malloc(sizeof *b);
    if (b == NULL)
        return 200000;
    b->size = size;
    b->length = calls;
    b->data = malloc(size);
    *buf = b;
    return 0;
}

int aclrtFreeBuf(void *buf)
{
    struct buffer *b = buf;
#ifdef FREE
    FREE;
#endif
    free(b->data);
    free(b);
    return 0;
}

#ifndef MISSING
int aclrtGetBufData(void *const buf, void **dataPtr, size_t *size)
{
    struct buffer *b = buf;
    *dataPtr = b->data;
    *size = b->size;
#ifdef DATA
    DATA;
#endif
    return 0;
}

int aclrtGetBufDataLen(void *buf, size_t *len)
{
    struct buffer *b = buf;
    *len = b->length;
#ifdef LENGTH
    LENGTH;
#endif
    return 0;
}
#endif

int aclrtGetBufUserData(void *const buf, void *dataPtr, size_t size, size_t offset)
{
    (void)buf;
    (void)offset;
    unsigned char *to = dataPtr;
    memset(to, 0x42, size);
#ifdef USER_DATA
    USER_DATA;
#endif
    return 0;
}

int aclrtSetBufUserData(void *buf, const void *dataPtr, size_t size, size_t offset)
{
    (void)buf;
    (void)size;
    (void)offset;
#ifdef SET_USER_DATA
    unsigned char *from = (unsigned char *)(uintptr_t)dataPtr;
    SET_USER_DATA;
#else
    (void)dataPtr;
#endif
    return 0;
}

#ifdef COPY
int aclrtMemcpy(void *dst, size_t room, const void *src, size_t count, int kind)
{
    (void)room;
    COPY;
    return 0;
}
#endif
