/* SPDX-License-Identifier: Apache-2.0 */
/* AllocBuf answers "not supported" for the one size SIZE and works for every other. */
#define _GNU_SOURCE
#include "target.h"

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    return size == SIZE ? NOT_SUPPORTED : CORE(aclrtAllocBuf)(buf, size);
}
