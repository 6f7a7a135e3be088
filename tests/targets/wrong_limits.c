/* SPDX-License-Identifier: Apache-2.0 */
/* Limits compared wrongly.
 *
 * -DSUM_WRAPS      : Set/GetBufUserData compare size + offset after it has wrapped, and nothing else.
 * -DLENGTH_IS_SIZE : SetBufDataLen accepts the size of the area itself.
 * -DNO_AREA_LIMIT  : AllocBuf grants areas above 4 GiB, and they work. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "target.h"

#ifdef SUM_WRAPS
#define PRIVATE_AREA 96

/* A range that the wrapped sum lets through although it lies outside: in a real library the copy that follows tears
 * live state; here nothing is copied, so that the answer alone gives the fault away. */
static int let_through(size_t size, size_t offset)
{
    int inside = size <= PRIVATE_AREA && offset <= PRIVATE_AREA - size;
    return !inside && size + offset <= PRIVATE_AREA;
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    if (buf != NULL && dataPtr != NULL && let_through(size, offset))
        return SUCCESS;
    return CORE(aclrtSetBufUserData)(buf, dataPtr, size, offset);
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    if (buf != NULL && dataPtr != NULL && let_through(size, offset))
        return SUCCESS;
    return CORE(aclrtGetBufUserData)(buf, dataPtr, size, offset);
}
#endif

#ifdef LENGTH_IS_SIZE
/* Every area is one byte larger than it says: so the core accepts the stated size as a length, and all else holds. */
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    if (size > UINT32_MAX)
        return INVALID_PARAMETER;
    return CORE(aclrtAllocBuf)(buf, size + 1);
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    aclError code = CORE(aclrtGetBufData)(buf, dataPtr, size);
    if (code == SUCCESS && size != NULL)
        *size -= 1;
    return code;
}
#endif

#ifdef NO_AREA_LIMIT
#define AREA_LIMIT ((size_t)1 << 32)
#define HUGE_HANDLES 4096

/* Handles over a huge area: the core has a small buffer for them, the bytes lie in a mapping of our own. */
static struct huge {
    aclrtMbuf buf;
    void *base;
    size_t size;
} table[HUGE_HANDLES];

static struct huge *entry_of(aclrtMbuf buf)
{
    for (struct huge *entry = table; entry < table + HUGE_HANDLES; entry++)
        if (entry->buf == buf)
            return entry;
    return NULL;
}

static aclError alloc_huge(aclrtMbuf *buf, size_t size)
{
    struct huge *entry = entry_of(NULL);
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (entry == NULL || base == MAP_FAILED)
        return OUT_OF_MEMORY;
    aclError code = CORE(aclrtAllocBuf)(buf, 4096);
    if (code == SUCCESS)
        *entry = (struct huge){*buf, base, size};
    else
        munmap(base, size);
    return code;
}

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    return size > AREA_LIMIT ? alloc_huge(buf, size) : CORE(aclrtAllocBuf)(buf, size);
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    struct huge *entry = buf == NULL ? NULL : entry_of(buf);
    struct huge *room = entry_of(NULL);
    if (entry != NULL && room == NULL)
        return OUT_OF_MEMORY;
    aclError code = CORE(aclrtCopyBufRef)(buf, newBuf);
    if (code == SUCCESS && entry != NULL)
        *room = (struct huge){*newBuf, entry->base, entry->size};
    return code;
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    struct huge *entry = buf == NULL ? NULL : entry_of(buf);
    aclError code = CORE(aclrtGetBufData)(buf, dataPtr, size);
    if (code == SUCCESS && entry != NULL) {
        if (dataPtr != NULL)
            *dataPtr = entry->base;
        if (size != NULL)
            *size = entry->size;
    }
    return code;
}

static int shared(const void *base)
{
    for (struct huge *entry = table; entry < table + HUGE_HANDLES; entry++)
        if (entry->buf != NULL && entry->base == base)
            return 1;
    return 0;
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    struct huge *entry = buf == NULL ? NULL : entry_of(buf);
    aclError code = CORE(aclrtFreeBuf)(buf);
    if (code == SUCCESS && entry != NULL) {
        entry->buf = NULL;
        if (!shared(entry->base))
            munmap(entry->base, entry->size);
    }
    return code;
}
#endif
