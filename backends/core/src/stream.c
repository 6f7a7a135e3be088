/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "lock.h"
#include "refusal.h"
#include "registration.h"

static struct pool streams = POOL_OF(struct stream);

struct stream *stream_find(aclrtStream handle)
{
    return pool_find(&streams, handle);
}

void stream_trim(void)
{
    pool_trim(&streams);
}

static aclError create_stream(aclrtStream *handle)
{
    if (handle == NULL) {
        return refuse_parameter("stream is NULL");
    }
    struct stream *stream = pool_take(&streams);
    if (stream == NULL) {
        return refuse_memory();
    }
    *handle = stream;
    return ACL_SUCCESS;
}

/* The registration goes first: left behind, it would be found by the next stream with this handle. */
static aclError destroy_stream(aclrtStream handle)
{
    struct stream *stream = stream_find(handle);
    if (stream == NULL) {
        return refuse_parameter("stream is not a live stream");
    }
    registration_remove(stream);
    pool_give(&streams, stream);
    return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    core_enter();
    return core_leave(create_stream(stream));
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    core_enter();
    return core_leave(destroy_stream(stream));
}
