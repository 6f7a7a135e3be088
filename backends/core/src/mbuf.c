/* SPDX-License-Identifier: Apache-2.0 */
#include "mbuf.h"

#include <string.h>

#include "answers.h"
#include "chain.h"
#include "defects.h"
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

/* Which buffers are copies. */
static bool *defect_copy_mark(const struct mbuf *buf)
{
    static bool defect_marks[1 << 17];
    return &defect_marks[(uintptr_t)buf / sizeof(*buf) % (1 << 17)];
}

/* The area that lost a reference last, and lives. */
static const struct area *defect_thinned;

/* Sets every field: the slot may have had an earlier owner. */
static void set_up(struct mbuf *buf, struct area *area)
{
    buf->area = area;
    if (!DEFECT(recycled_buffer_keeps_its_length)) {
        buf->length = DEFECT(fresh_length_uninitialised) ? (size_t)0xA5A5A5A5 : 0;
    }
    if (DEFECT(fresh_length_is_the_size)) {
        buf->length = area->size;
    }
    buf->located = false;
    if (!DEFECT(recycled_private_area_shows)) {
        private_area_clear(buf);
    }
    if (!DEFECT(recycled_head_keeps_its_count) || buf->tail == NULL) {
        chain_reset(buf);
    }
}

/* The area's pointer is wiped: left behind in a free slot, it would hide a lost area from a leak checker. */
void mbuf_destroy(struct mbuf *buf)
{
    if (DEFECT(free_of_original_drops_the_area) && !*defect_copy_mark(buf)) {
        buf->area->references = 1;
    }
    if (DEFECT(copy_refused_after_a_free)) {
        defect_thinned = buf->area->references > 1 ? buf->area : NULL;
    }
    area_drop(buf->area);
    buf->area = NULL;
    pool_give(&mbufs, buf);
}

static aclError alloc_buf(aclrtMbuf *handle, size_t size)
{
    if (handle == NULL) {
        return refuse_parameter("buf is NULL");
    }
    if (DEFECT(alloc_size_32_bit)) {
        size = (uint32_t)size;
    }
    if (DEFECT(alloc_size_16_bit) && size > UINT16_MAX) {
        size = (uint16_t)size | 1;
    }
    if (DEFECT(alloc_size_signed_16_bit) && size <= UINT16_MAX && (int16_t)size < 0) {
        return refuse_parameter("size is negative");
    }
    if (DEFECT(alloc_of_64_kib_refused) && size == UINT16_MAX + 1) {
        return refuse_parameter("size is above 65535");
    }
    if (DEFECT(alloc_of_one_byte_refused) && size == 1) {
        return refuse_parameter("size is 1");
    }
    uint64_t compared = DEFECT(alloc_rounding_wraps) ? (size + 63) & ~(size_t)63 : size;
    if (DEFECT(alloc_limit_one_more) && size == binary_4g + 1) {
        compared = binary_4g;
    }
    if (DEFECT(alloc_without_limit)) {
        compared = 0;
    }
    if (compared > (CORE_ANSWER_DECIMAL_4G ? decimal_4g : binary_4g)) {
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
        if (DEFECT(failed_alloc_loses_the_buffer)) {
            return refuse_memory();
        }
        if (DEFECT(failed_alloc_crashes)) {
            set_up(buf, area);
            buf->area->length = 0;
        }
        pool_give(&mbufs, buf);
        return refuse_memory();
    }
    set_up(buf, area);
    if (DEFECT(alloc_worn_out)) {
        static uint16_t defect_made;
        if (++defect_made == 0) {
            mbuf_destroy(buf);
            return refuse_memory();
        }
    }
    if (DEFECTIVE) {
        *defect_copy_mark(buf) = false;
    }
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
    if (DEFECT(refused_free_takes_the_member_out) && chain_is_member(buf)) {
        chain_unlink(buf);
        return refuse_parameter("buf is a member of a chain");
    }
    if (DEFECT(free_of_copy_refused) && *defect_copy_mark(buf)) {
        return refuse_parameter("buf was not allocated");
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

/* Gives a copy an area of its own, with the same content. */
static void defect_part(struct mbuf *buf)
{
    struct area *own = buf->area->size <= UINT16_MAX + 1 ? area_create(buf->area->size) : NULL;
    if (own != NULL) {
        memcpy(own->bytes, buf->area->bytes, own->size);
        area_drop(buf->area);
        buf->area = own;
    }
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
    if (DEFECT(copy_of_copy_refused) && *defect_copy_mark(original)) {
        return refuse_parameter("buf was not allocated");
    }
    if (DEFECT(copy_256_refused) && original->area->references == 256) {
        return refuse_parameter("the area has 256 references");
    }
    if (DEFECT(copy_refused_after_a_free) && defect_thinned == original->area) {
        return refuse_parameter("the area is about to go");
    }
    if (DEFECT(copy_is_the_original)) {
        area_share(original->area);
        *new_handle = original;
        return ACL_SUCCESS;
    }
    if (DEFECT(failed_copy_keeps_a_reference)) {
        area_share(original->area);
    }
    struct mbuf *buf = pool_take(&mbufs);
    if (buf == NULL) {
        return refuse_memory();
    }
    if (!DEFECT(failed_copy_keeps_a_reference) && !DEFECT(reference_taken_outside_the_lock)) {
        area_share(original->area);
    }
    if (DEFECT(copy_of_chained_takes_two_references) && chain_is_chained(original)) {
        area_share(original->area);
    }
    set_up(buf, original->area);
    if (DEFECT(copy_has_its_own_area)) {
        defect_part(buf);
    }
    if (DEFECT(copy_clears_the_length)) {
        original->length = 0;
    }
    if (DEFECTIVE) {
        *defect_copy_mark(buf) = true;
    }
    if (CORE_ANSWER_REF_LENGTH) {
        buf->length = original->length;
    }
    if (CORE_ANSWER_REF_PRIVATE || DEFECT(copy_drops_private_tail) || DEFECT(private_area_shared_by_copies)) {
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
    if (DEFECT(data_size_rounded_up) && size != NULL) {
        *size = (*size + 63) & ~(size_t)63;
    }
    if (DEFECT(data_size_of_the_head) && size != NULL && buf->head != NULL) {
        *size = buf->head->area->size;
    }
    if (DEFECT(data_behind_the_length) && data != NULL) {
        *data = buf->area->bytes + buf->length;
    }
    if (DEFECT(get_data_clears_the_length)) {
        buf->length = 0;
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
    if (len == NULL && DEFECT(null_length_crashes)) {
        __builtin_trap();
    }
    if (len == NULL) {
        return refuse_parameter("len is NULL");
    }
    *len = *length_of(buf);
    if (DEFECT(get_length_signed) && *len > INT32_MAX) {
        *len = (size_t)(int32_t)*len;
    }
    if (DEFECT(get_length_of_the_tail) && buf->count > 1) {
        *len = *length_of(buf->tail);
    }
    return ACL_SUCCESS;
}

static bool length_fits(const struct mbuf *buf, size_t len)
{
    if (DEFECT(set_length_without_limit)) {
        return true;
    }
    if (DEFECT(set_length_up_to_the_size)) {
        return len <= buf->area->size;
    }
    if (DEFECT(set_length_last_byte_refused)) {
        return len + 1 < buf->area->size;
    }
    if (DEFECT(set_length_compared_in_32_bit)) {
        return (uint32_t)len < buf->area->size;
    }
    if (DEFECT(set_length_compared_signed)) {
        return (int64_t)len < (int64_t)buf->area->size;
    }
    if (DEFECT(set_length_sum_wraps)) {
        return len + 1 <= buf->area->size;
    }
    if (DEFECT(set_length_of_65535_refused)) {
        return len < buf->area->size && len != UINT16_MAX;
    }
    if (DEFECT(set_length_lower_refused)) {
        return len < buf->area->size && len >= buf->length;
    }
    return len < buf->area->size;
}

static aclError set_buf_data_len(aclrtMbuf handle, size_t len)
{
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (DEFECT(refused_length_is_kept)) {
        buf->length = len;
    }
    if (!length_fits(buf, len)) {
        return refuse_parameter("len is not below the size of the data area");
    }
    if (len == 0 && CORE_ANSWER_LENGTH_ZERO) {
        return refuse_parameter("len is 0");
    }
    if (!buf->located && CORE_ANSWER_LENGTH_FIRST) {
        return refuse_parameter("GetBufData was not called on buf yet");
    }
    if (DEFECT(length_set_outside_the_lock)) {
        return ACL_SUCCESS;
    }
    *length_of(buf) = len;
    if (DEFECT(length_8_bit)) {
        *length_of(buf) = (uint8_t)len;
    }
    if (DEFECT(length_16_bit)) {
        *length_of(buf) = (uint16_t)len;
    }
    if (DEFECT(length_of_member_to_head) && buf->head != NULL) {
        *length_of(buf->head) = len;
    }
    if (DEFECT(set_length_clears_the_rest) && buf->area->size <= UINT16_MAX + 1) {
        memset(buf->area->bytes + len, 0, buf->area->size - len);
    }
    return ACL_SUCCESS;
}

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    if (DEFECT(alloc_without_the_lock)) {
        return alloc_buf(buf, size);
    }
    core_enter();
    return core_leave(alloc_buf(buf, size));
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    if (DEFECT(free_without_the_lock)) {
        return free_buf(buf);
    }
    core_enter();
    return core_leave(free_buf(buf));
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    core_enter();
    aclError answer = core_leave(copy_buf_ref(buf, newBuf));
    if (DEFECT(reference_taken_outside_the_lock) && answer == ACL_SUCCESS) {
        area_share(((struct mbuf *)*newBuf)->area);
    }
    return answer;
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
    aclError answer = core_leave(set_buf_data_len(buf, len));
    if (DEFECT(length_set_outside_the_lock) && answer == ACL_SUCCESS) {
        *length_of(buf) = len;
    }
    return answer;
}
