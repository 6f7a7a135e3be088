/* SPDX-License-Identifier: Apache-2.0 */
/* Limits at places of the test's own choice; each is an expression in C that is true for what is accepted.
 *
 * -DINSIDE=...  : Set/GetBufUserData, over size and offset; nothing is copied.
 * -DGRANTED=... : AllocBuf, over size; refused with -DREFUSAL=code; what is granted is never larger than 4 KiB inside.
 * -DLENGTH=...  : SetBufDataLen, over len and size, the size of the area; nothing is stored.
 * -DTAKEN=...   : AppendBufChain, over count, the buffers that there would be; the core takes what it can.
 * -DFOUND=...   : GetBufFromChain, over index and count, the buffers that there are; the head is found everywhere.
 *
 * crash() and hang() can stand in an expression for a value that leads to either. */
#define _GNU_SOURCE
#include <unistd.h>

#include "target.h"

#ifndef REFUSAL
#define REFUSAL INVALID_PARAMETER
#endif

static inline int crash(void)
{
    abort();
    return 0;
}

static inline int hang(void)
{
    while (pause() != 0)
        continue;
    return 0;
}

#ifdef INSIDE
aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    if (buf == NULL || dataPtr == NULL)
        return CORE(aclrtSetBufUserData)(buf, dataPtr, size, offset);
    return (INSIDE) ? SUCCESS : REFUSAL;
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    if (buf == NULL || dataPtr == NULL)
        return CORE(aclrtGetBufUserData)(buf, dataPtr, size, offset);
    return (INSIDE) ? SUCCESS : REFUSAL;
}
#endif

#ifdef GRANTED
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    if (!(GRANTED))
        return REFUSAL;
    return CORE(aclrtAllocBuf)(buf, size > UINT32_MAX ? 4096 : size);
}
#endif

#ifdef LENGTH
aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len)
{
    void *base;
    size_t size;
    if (buf == NULL || CORE(aclrtGetBufData)(buf, &base, &size) != SUCCESS)
        return INVALID_PARAMETER;
    return (LENGTH) ? SUCCESS : REFUSAL;
}
#endif

#ifdef TAKEN
/* One chain at a time is all that a probe builds. */
static aclrtMbuf head;
static unsigned length;

aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf)
{
    if (headBuf == NULL || buf == NULL || headBuf == buf)
        return INVALID_PARAMETER;
    unsigned count = (headBuf == head ? length : 1) + 1;
    if (!(TAKEN))
        return REFUSAL;
    CORE(aclrtAppendBufChain)(headBuf, buf);
    head = headBuf;
    length = count;
    return SUCCESS;
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    if (buf == head)
        head = NULL;
    return CORE(aclrtFreeBuf)(buf);
}
#endif

#ifdef FOUND
aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf)
{
    uint32_t count;
    if (headBuf == NULL || buf == NULL || CORE(aclrtGetBufChainNum)(headBuf, &count) != SUCCESS)
        return INVALID_PARAMETER;
    if (!(FOUND))
        return REFUSAL;
    *buf = headBuf;
    return SUCCESS;
}
#endif
