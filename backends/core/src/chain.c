/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include "answers.h"
#include "instrument.h"
#include "lock.h"
#include "refusal.h"

void chain_reset(struct mbuf *buf)
{
    buf->head = NULL;
    buf->next = NULL;
    buf->tail = buf;
    buf->count = 1;
}

bool chain_is_member(const struct mbuf *buf)
{
    return buf->head != NULL;
}

bool chain_is_chained(const struct mbuf *buf)
{
    return chain_is_member(buf) || buf->count > 1;
}

void chain_unlink(struct mbuf *member)
{
    struct mbuf *head = member->head;
    struct mbuf *previous = head;
    while (previous->next != member) {
        previous = previous->next;
    }
    previous->next = member->next;
    if (head->tail == member) {
        head->tail = previous;
    }
    head->count--;
    chain_reset(member);
}

void chain_dissolve(struct mbuf *head)
{
    struct mbuf *member = head->next;
    while (member != NULL) {
        struct mbuf *next = member->next;
        chain_reset(member);
        if (!CORE_ANSWER_FREE_HEAD) {
            mbuf_destroy(member);
        }
        member = next;
    }
    chain_reset(head);
}

/* Links `buf`, and all that it heads, behind the tail of `head`. */
static void link_behind(struct mbuf *head, struct mbuf *buf)
{
    struct mbuf *tail = buf->tail;
    uint32_t count = buf->count;
    for (struct mbuf *member = buf; member != NULL; member = member->next) {
        member->head = head;
    }
    head->tail->next = buf;
    head->tail = tail;
    head->count += count;
}

/* A link lies in its buffer; it is claimed all the same, so that a lack of memory can be met here too. */
static aclError join(struct mbuf *head, struct mbuf *buf)
{
    if (head->count + buf->count > CHAIN_LIMIT) {
        return refuse(ACL_ERROR_RT_OVER_LIMIT, "the chain would have more than 128 buffers");
    }
    if (!inner_claim()) {
        return refuse_memory();
    }
    link_behind(head, buf);
    return ACL_SUCCESS;
}

static aclError move_member(struct mbuf *head, struct mbuf *member)
{
    if (!CORE_ANSWER_APPEND_MEMBER) {
        return refuse_parameter("buf is a member of a chain already");
    }
    if (member->head != head && head->count == CHAIN_LIMIT) {
        return refuse(ACL_ERROR_RT_OVER_LIMIT, "the chain has 128 buffers already");
    }
    if (!inner_claim()) {
        return refuse_memory();
    }
    chain_unlink(member);
    link_behind(head, member);
    return ACL_SUCCESS;
}

static aclError append(aclrtMbuf head_handle, aclrtMbuf handle)
{
    struct mbuf *head = mbuf_find(head_handle);
    struct mbuf *buf = mbuf_find(handle);
    if (head == NULL || buf == NULL) {
        return refuse_parameter("headBuf or buf is not a live buffer");
    }
    if (chain_is_member(head)) {
        if (!CORE_ANSWER_APPEND_TO_MEMBER) {
            return refuse_parameter("headBuf is a member of a chain");
        }
        head = head->head;
    }
    if (head == buf) {
        return CORE_ANSWER_APPEND_SELF ? ACL_SUCCESS : refuse_parameter("buf is the head itself");
    }
    if (chain_is_member(buf)) {
        return move_member(head, buf);
    }
    if (chain_is_chained(buf) && !CORE_ANSWER_APPEND_CHAIN) {
        return refuse_parameter("buf heads a chain already");
    }
    return join(head, buf);
}

static aclError get_from_chain(aclrtMbuf handle, uint32_t index, aclrtMbuf *found)
{
    struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("headBuf is not a live buffer");
    }
    if (found == NULL) {
        return refuse_parameter("buf is NULL");
    }
    if (chain_is_member(buf)) {
        if (!CORE_ANSWER_INDEX_MEMBER) {
            return refuse_parameter("headBuf is a member of a chain");
        }
        buf = buf->head;
    }
    if (!chain_is_chained(buf) && CORE_ANSWER_INDEX_UNCHAINED) {
        return refuse_parameter("headBuf is not in a chain");
    }
    if (index >= buf->count) {
        return refuse_parameter("index is not below the number of buffers");
    }
    while (index-- > 0) {
        buf = buf->next;
    }
    *found = buf;
    return ACL_SUCCESS;
}

static aclError get_chain_num(aclrtMbuf handle, uint32_t *num)
{
    const struct mbuf *buf = mbuf_find(handle);
    if (buf == NULL) {
        return refuse_parameter("headBuf is not a live buffer");
    }
    if (num == NULL) {
        return refuse_parameter("num is NULL");
    }
    if (chain_is_member(buf)) {
        if (!CORE_ANSWER_COUNT_MEMBER) {
            return refuse_parameter("headBuf is a member of a chain");
        }
        buf = buf->head;
    }
    if (!chain_is_chained(buf) && CORE_ANSWER_COUNT_UNCHAINED) {
        return refuse_parameter("headBuf is not in a chain");
    }
    *num = buf->count;
    return ACL_SUCCESS;
}

aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf)
{
    core_enter();
    return core_leave(append(headBuf, buf));
}

aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf)
{
    core_enter();
    return core_leave(get_from_chain(headBuf, index, buf));
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num)
{
    core_enter();
    return core_leave(get_chain_num(headBuf, num));
}
