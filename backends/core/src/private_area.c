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

void private_area_copy(struct mbuf *to, const struct mbuf *from)
{
    memcpy(to->private_area, from->private_area, PRIVATE_AREA_SIZE);
}

/* The sum cannot wrap: it is never formed. */
static bool range_fits(size_t size, size_t offset)
{
    if (DEFECT(user_data_size_alone)) {
        return size <= PRIVATE_AREA_SIZE;
    }
    if (DEFECT(set_user_sum_wraps)) {
        return offset + size <= PRIVATE_AREA_SIZE;
    }
    return offset <= PRIVATE_AREA_SIZE && size <= PRIVATE_AREA_SIZE - offset;
}

/* The limits come first: size 0 does not excuse an offset beyond the end. */
static aclError check_range(const struct mbuf *buf, const void *data, size_t size, size_t offset)
{
    if (buf == NULL) {
        return refuse_parameter("buf is not a live buffer");
    }
    if (!range_fits(size, offset)) {
        return refuse_parameter("offset + size is above 96");
    }
    if (size == 0 && CORE_ANSWER_USER_DATA_ZERO) {
        return refuse_parameter("size is 0");
    }
    if (data == NULL && (size > 0 || CORE_ANSWER_USER_DATA_NULL)) {
        return refuse_parameter("dataPtr is NULL");
    }
    return ACL_SUCCESS;
}

static aclError set_user_data(aclrtMbuf handle, const void *data, size_t size, size_t offset)
{
    struct mbuf *buf = mbuf_find(handle);
    aclError answer = check_range(buf, data, size, offset);
    if (answer == ACL_SUCCESS && size > 0) {
        memcpy(buf->private_area + offset, data, size);
    }
    return answer;
}

static aclError get_user_data(aclrtMbuf handle, void *data, size_t size, size_t offset)
{
    const struct mbuf *buf = mbuf_find(handle);
    aclError answer = check_range(buf, data, size, offset);
    if (answer == ACL_SUCCESS && size > 0) {
        memcpy(data, buf->private_area + offset, size);
    }
    return answer;
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    core_enter();
    return core_leave(set_user_data(buf, dataPtr, size, offset));
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    core_enter();
    return core_leave(get_user_data(buf, dataPtr, size, offset));
}
