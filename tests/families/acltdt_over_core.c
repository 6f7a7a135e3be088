/* SPDX-License-Identifier: Apache-2.0 */
/* The acltdt*Buf functions over the C core, compiled with the core's sources. FAULT_USER: a range that ends one byte
 * beyond the private area is accepted. FAULT_CHAIN: the last two members of a chain change places. */
#include "acl_cts_core.h"

typedef aclrtMbuf acltdtBuf;

#define API __attribute__((visibility("default")))

enum { BAD_PARAMETER = 100000, PRIVATE_AREA = 96 };

API aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf)
{
    return type != 0 ? BAD_PARAMETER : aclrtAllocBuf(buf, size);
}

API aclError acltdtFreeBuf(acltdtBuf buf)
{
    return aclrtFreeBuf(buf);
}

API aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size)
{
    return aclrtGetBufData(buf, dataPtr, size);
}

API aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len)
{
    return aclrtSetBufDataLen(buf, len);
}

API aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len)
{
    return aclrtGetBufDataLen(buf, len);
}

API aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size, size_t offset)
{
#ifdef FAULT_USER
    if (buf != NULL && dataPtr != NULL && offset <= PRIVATE_AREA && size == PRIVATE_AREA + 1 - offset)
        size--;
#endif
    return aclrtSetBufUserData(buf, dataPtr, size, offset);
}

API aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size, size_t offset)
{
    return aclrtGetBufUserData(buf, dataPtr, size, offset);
}

API aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf)
{
    return aclrtCopyBufRef(buf, newBuf);
}

API aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf)
{
    return aclrtAppendBufChain(headBuf, buf);
}

API aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index, acltdtBuf *buf)
{
#ifdef FAULT_CHAIN
    uint32_t number = 0;
    if (aclrtGetBufChainNum(headBuf, &number) == 0 && number > 2 && index + 2 >= number && index < number)
        index = 2 * number - 3 - index;
#endif
    return aclrtGetBufFromChain(headBuf, index, buf);
}

API aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num)
{
    return aclrtGetBufChainNum(headBuf, num);
}
