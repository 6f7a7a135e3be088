/* SPDX-License-Identifier: Apache-2.0 */
/* Writes outside the caller's memory, after calls that otherwise do what they should.
 *
 * -DPAST   : GetBufUserData writes one byte too many, behind the buffer.
 * -DBEFORE : GetBufUserData writes the byte in front of the buffer.
 * -DWIDE   : GetBufChainNum stores 8 bytes in the caller's uint32_t. */
#define _GNU_SOURCE
#include <string.h>

#include "target.h"

#ifdef WIDE
aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num)
{
    aclError code = CORE(aclrtGetBufChainNum)(headBuf, num);
    if (code == SUCCESS) {
        uint64_t wide = *num;
        memcpy(num, &wide, sizeof(wide));
    }
    return code;
}
#else
aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    aclError code = CORE(aclrtGetBufUserData)(buf, dataPtr, size, offset);
    char *volatile room = dataPtr;
    if (code == SUCCESS && size > 0) {
#ifdef PAST
        room[size] = 0;
#endif
#ifdef BEFORE
        room[-1] = 0;
#endif
    }
    return code;
}
#endif
