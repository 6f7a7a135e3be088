/* SPDX-License-Identifier: Apache-2.0 */
/* AllocBuf that does not give a buffer of its own.
 *
 * -DNULL_HANDLE : success, and NULL as the handle.
 * -DONE_HANDLE  : while a buffer of the asked size is alive, its handle once more.
 * -DONE_AREA    : while a buffer of the asked size is alive, a new handle over its area. */
#define _GNU_SOURCE
#include "target.h"

#ifdef NULL_HANDLE
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    aclError code = CORE(aclrtAllocBuf)(buf, size);
    if (code == SUCCESS) {
        code = CORE(aclrtFreeBuf)(*buf);
        *buf = NULL;
    }
    return code;
}
#else
static aclrtMbuf latest;

/* The buffer allocated last, when it is alive and its area has `size` bytes; otherwise NULL. */
static aclrtMbuf twin(size_t size)
{
    void *base;
    size_t has;
    if (latest == NULL || CORE(aclrtGetBufData)(latest, &base, &has) != SUCCESS || has != size)
        return NULL;
    return latest;
}

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    aclrtMbuf sibling = twin(size);
    if (buf != NULL && sibling != NULL) {
#ifdef ONE_HANDLE
        *buf = sibling;
        return SUCCESS;
#else
        return CORE(aclrtCopyBufRef)(sibling, buf);
#endif
    }
    aclError code = CORE(aclrtAllocBuf)(buf, size);
    if (code == SUCCESS)
        latest = *buf;
    return code;
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    aclError code = CORE(aclrtFreeBuf)(buf);
    if (code == SUCCESS && buf == latest)
        latest = NULL;
    return code;
}
#endif
