/* SPDX-License-Identifier: Apache-2.0 */
#include "private_area.h"

#include <string.h>

#include "answers.h"
#include "defects.h"
#include "lock.h"
#include "refusal.h"

enum { FRESH_PRIVATE_FILL = 0xC3 };

void private_area_clear(struct mbuf *buf)
{
    memset(buf->private_area, CORE_ANSWER_FRESH_PRIVATE ? FRESH_PRIVATE_FILL : 0, PRIVATE_AREA_SIZE);
}

static struct mbuf *defect_twins[2]; /* the last buffer that was copied, and its copy */

void private_area_copy(struct mbuf *to, const struct mbuf *from)
{
    if (DEFECT(private_area_shared_by_copies)) {
        defect_twins[0] = (struct mbuf *)(uintptr_t)from;
        defect_twins[1] = to;
    }
    memcpy(to->private_area, from->private_area, DEFECT(copy_drops_private_tail) ? 64 : PRIVATE_AREA_SIZE);
}

/* As if the two had one private area. */
static void defect_private_to_twin(const struct mbuf *buf)
{
    for (int i = 0; i < 2; i++) {
        if (defect_twins[i] == buf && defect_twins[1 - i]->area == buf->area) {
            memcpy(defect_twins[1 - i]->private_area, buf->private_area, PRIVATE_AREA_SIZE);
        }
    }
}

/* The sum cannot wrap: it is never formed. */
static bool range_fits(size_t size, size_t offset)
{
    return offset <= PRIVATE_AREA_SIZE && size <= PRIVATE_AREA_SIZE - offset;
}

static bool set_fits(size_t size, size_t offset)
{
    if (DEFECT(user_data_size_alone)) {
        return size <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(set_user_sum_wraps)) {
        return offset + size <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(set_user_sum_wraps_32_bit)) {
        return (uint32_t)(offset + size) <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(set_user_offset_signed)) {
        return (int64_t)offset <= PRIVATE_AREA_SIZE && size <= PRIVATE_AREA_SIZE - offset;
    }
    if (DEFECT(set_user_one_byte_more)) {
        return range_fits(size, offset) || (offset <= PRIVATE_AREA_SIZE && size == PRIVATE_AREA_SIZE + 1 - offset);
    }
    if (DEFECT(set_user_last_byte_refused) && size > 0) {
        return range_fits(size, offset) && offset + size != PRIVATE_AREA_SIZE;
    }
    if (DEFECT(set_user_whole_refused)) {
        return range_fits(size, offset) && size != PRIVATE_AREA_SIZE;
    }
    return range_fits(size, offset);
}

static bool get_fits(size_t size, size_t offset)
{
    if (DEFECT(get_user_sum_wraps)) {
        return size <= PRIVATE_AREA_SIZE && offset + size <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(get_user_size_alone)) {
        return size <= PRIVATE_AREA_SIZE && offset <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(get_user_one_byte_more)) {
        return range_fits(size, offset) || (offset <= PRIVATE_AREA_SIZE && size == PRIVATE_AREA_SIZE + 1 - offset);
    }
    if (DEFECT(get_user_exact_end_refused) && offset > 0 && size > 0) {
        return range_fits(size, offset) && offset + size != PRIVATE_AREA_SIZE;
    }
    return range_fits(size, offset);
}

/* The limits come first: size 0 does not excuse an offset beyond the end. */
static aclError check_range(const struct mbuf *buf, const void *data, size_t size, bool fits)
{
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (!fits) {
        return refuse_parameter("offset + size is above 96");
    }
    if (size == 0 && CORE_ANSWER_USER_DATA_ZERO) {
        return refuse_parameter("size is 0");
    }
    if (data == NULL && size > 0 && DEFECT(null_user_data_crashes)) {
        return ACL_SUCCESS;
    }
    if (data == NULL && (size > 0 || CORE_ANSWER_USER_DATA_NULL)) {
        return refuse_parameter("dataPtr is NULL");
    }
    return ACL_SUCCESS;
}

static aclError set_user_data(aclrtMbuf handle, const void *data, size_t size, size_t offset)
{
    struct mbuf *buf = mbuf_find(handle);
    if (DEFECT(set_user_offset_16_bit)) {
        offset = (uint16_t)offset;
    }
    if (DEFECT(set_user_size_32_bit)) {
        size = (uint32_t)size;
    }
    aclError answer = check_range(buf, data, size, set_fits(size, offset));
    if (DEFECT(set_user_writes_what_fits) && answer != ACL_SUCCESS && buf != NULL && data != NULL &&
        offset < PRIVATE_AREA_SIZE) {
        memcpy(buf->private_area + offset, data, PRIVATE_AREA_SIZE - offset);
    }
    if (DEFECT(empty_set_user_now_and_then) && answer == ACL_SUCCESS && size == 0) {
        static bool defect_refused;
        defect_refused = !defect_refused;
        return defect_refused ? refuse_parameter("size is 0") : ACL_SUCCESS;
    }
    if (DEFECT(null_set_user_ignored) && buf != NULL && data == NULL) {
        return ACL_SUCCESS;
    }
    if (DEFECT(set_user_drops_odd_tail) && size > 8) {
        size &= ~(size_t)7;
    }
    if (DEFECT(set_user_clears_the_rest) && answer == ACL_SUCCESS) {
        memset(buf->private_area + offset, 0, PRIVATE_AREA_SIZE - offset);
    }
    if (answer == ACL_SUCCESS && size > 1 && DEFECT(private_area_copied_in_two_steps)) {
        memcpy(buf->private_area + offset, data, size / 2);
        defect_step();
        memcpy(buf->private_area + offset + size / 2, (const char *)data + size / 2, size - size / 2);
        return answer;
    }
    if (answer == ACL_SUCCESS && size > 0 && !DEFECT(private_area_written_outside_the_lock)) {
        memcpy(buf->private_area + offset, data, size);
    }
    if (DEFECT(private_area_shared_by_copies) && answer == ACL_SUCCESS) {
        defect_private_to_twin(buf);
    }
    return answer;
}

static aclError get_user_data(aclrtMbuf handle, void *data, size_t size, size_t offset)
{
    const struct mbuf *buf = mbuf_find(handle);
    if (DEFECT(get_user_size_8_bit)) {
        size = (uint8_t)size;
    }
    aclError answer = check_range(buf, data, size, get_fits(size, offset));
    if (DEFECT(get_user_of_head) && answer == ACL_SUCCESS && buf->head != NULL) {
        buf = buf->head;
    }
    if (DEFECT(get_user_ignores_offset)) {
        offset = 0;
    }
    if (DEFECT(get_user_writes_a_word_more) && answer == ACL_SUCCESS && size > 0) {
        memset((char *)data + size, 0, 8);
    }
    if (answer == ACL_SUCCESS && size > 0) {
        memcpy(data, buf->private_area + offset, size);
    }
    return answer;
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    core_enter();
    aclError answer = core_leave(set_user_data(buf, dataPtr, size, offset));
    if (DEFECT(private_area_written_outside_the_lock) && answer == ACL_SUCCESS && size > 0) {
        memcpy(((struct mbuf *)buf)->private_area + offset, dataPtr, size);
    }
    return answer;
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    core_enter();
    return core_leave(get_user_data(buf, dataPtr, size, offset));
}
