/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: nothing runs on it here, it is what an allocator is registered on. */
#ifndef CORE_STREAM_H
#define CORE_STREAM_H

#include "acl_cts_core.h"
#include "pool.h"

struct stream {
    struct slot slot;
};

struct stream *stream_find(aclrtStream handle);
void stream_trim(void);

#endif
