/* SPDX-License-Identifier: Apache-2.0 */
#include "mbuf.h"

#include "answers.h"
#include "chain.h"
#include "lock.h"
#include "private_area.h"
#include "refusal.h"

static const uint64_t binary_4g = UINT64_C(4294967296);
static const uint64_t decimal_4g = UINT64_C(4000000000);

static struct pool mbufs = POOL_OF(struct mbuf);

struct mbuf *mbuf_find(aclrtMbuf handle)
{
    return pool_find(&mbufs, handle);
}

void mbuf_trim(void)
{
    pool_trim(&mbufs);
}

/* Sets every field: the slot may have had an earlier owner. */
static void set_up(struct mbuf *buf, struct area *area)
{
    buf->area = area;
    buf->length = 0;
    buf->located = false;
    private_area_clear(buf);
    chain_reset(buf);
}

/* The area's pointer is wiped: left behind in a free slot, it would hide a lost area from a leak checker. */
void mbuf_destroy(struct mbuf *buf)
{
    area_drop(buf->area);
    buf->area = NULL;
    pool_give(&mbufs, buf);
}

static aclError alloc_buf(aclrtMbuf *handle, size_t size)
{
    if (handle == NULL) {
        return refuse_parameter("buf is NULL");
    }
    if (size > (CORE_ANSWER_DECIMAL_4G ? decimal_4g : binary_4g)) {
        return refuse_parameter("size is above 4G");
    }
    if (size == 0 && !CORE_ANSWER_ALLOC_ZERO) {
        return refuse_parameter("size is 0");
    }
    struct mbuf *buf = pool_take(&mbufs);
    if (buf == NULL) {
        return refuse_memory();
    }
    struct area *area = area_create(size);
    if (area == NULL) {
        pool_give(&mbufs, buf);
        return refuse_memory();
    }
    set_up(buf, area);
    *handle = buf;
    return ACL_SUCCESS;
}

static aclError free_buf(aclrtMbuf handle)
{
    if (handle == NULL && CORE_ANSWER_FREE_NULL) {
        return ACL_SUCCESS;
    }
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (chain_is_member(buf) && CORE_ANSWER_FREE_MEMBER) {
        return refuse_parameter("buf is a member of a chain");
    }
    if (chain_is_member(buf)) {
        chain_unlink(buf);
    }
    chain_dissolve(buf);
    mbuf_destroy(buf);
    return ACL_SUCCESS;
}

static aclError copy_buf_ref(aclrtMbuf handle, aclrtMbuf *new_handle)
{
    struct mbuf *original = mbuf_find(handle);
    if (original == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (new_handle == NULL) {
        return refuse_parameter("newBuf is NULL");
    }
    if (chain_is_chained(original) && CORE_ANSWER_COPY_CHAINED) {
        return refuse_parameter("buf is in a chain");
    }
    struct mbuf *buf = pool_take(&mbufs);
    if (buf == NULL) {
        return refuse_memory();
    }
    area_share(original->area);
    set_up(buf, original->area);
    if (CORE_ANSWER_REF_LENGTH) {
        buf->length = original->length;
    }
    if (CORE_ANSWER_REF_PRIVATE) {
        private_area_copy(buf, original);
    }
    *new_handle = buf;
    return ACL_SUCCESS;
}

static aclError get_buf_data(aclrtMbuf handle, void **data, size_t *size)
{
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (data == NULL && size == NULL) {
        return refuse_parameter("dataPtr and size are NULL");
    }
    if ((data == NULL || size == NULL) && !CORE_ANSWER_DATA_ONE_NULL) {
        return refuse_parameter("dataPtr or size is NULL");
    }
    if (data != NULL) {
        *data = buf->area->bytes;
    }
    if (size != NULL) {
        *size = buf->area->size;
    }
    buf->located = true;
    return ACL_SUCCESS;
}

static size_t *length_of(struct mbuf *buf)
{
    return CORE_ANSWER_LENGTH_SHARED ? &buf->area->length : &buf->length;
}

static aclError get_buf_data_len(aclrtMbuf handle, size_t *len)
{
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (len == NULL) {
        return refuse_parameter("len is NULL");
    }
    *len = *length_of(buf);
    return ACL_SUCCESS;
}

static aclError set_buf_data_len(aclrtMbuf handle, size_t len)
{
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (len >= buf->area->size) {
        return refuse_parameter("len is not below the size of the data area");
    }
    if (len == 0 && CORE_ANSWER_LENGTH_ZERO) {
        return refuse_parameter("len is 0");
    }
    if (!buf->located && CORE_ANSWER_LENGTH_FIRST) {
        return refuse_parameter("GetBufData was not called on buf yet");
    }
    *length_of(buf) = len;
    return ACL_SUCCESS;
}

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    core_enter();
    return core_leave(alloc_buf(buf, size));
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    core_enter();
    return core_leave(free_buf(buf));
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    core_enter();
    return core_leave(copy_buf_ref(buf, newBuf));
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    core_enter();
    return core_leave(get_buf_data(buf, dataPtr, size));
}

aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len)
{
    core_enter();
    return core_leave(get_buf_data_len(buf, len));
}

aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len)
{
    core_enter();
    return core_leave(set_buf_data_len(buf, len));
}
