/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "defects.h"
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
    if (DEFECT(free_of_full_chain_crashes) && head->count == CHAIN_LIMIT) {
        __builtin_trap();
    }
    struct mbuf *member = head->next;
    while (member != NULL) {
        struct mbuf *next = member->next;
        chain_reset(member);
        if (DEFECT(free_head_frees_shared_areas)) {
            member->area->references = 1;
        }
        if (!CORE_ANSWER_FREE_HEAD) {
            mbuf_destroy(member);
        }
        member = next;
    }
    if (DEFECT(recycled_head_keeps_its_count)) {
        return;
    }
    chain_reset(head);
}

/* Moves a small area to another place. */
static void defect_move(struct area *area)
{
    unsigned char *place = malloc(area->size + 64);
    if (place != NULL && area->size <= 65536) {
        memcpy(place, area->bytes, area->size);
        area->bytes = place;
    }
}

/* Links `buf`, and all that it heads, behind the tail of `head`. */
static void link_behind(struct mbuf *head, struct mbuf *buf)
{
    struct mbuf *tail = buf->tail;
    uint32_t count = buf->count;
    for (struct mbuf *member = buf; member != NULL; member = member->next) {
        member->head = head;
    }
    if (DEFECT(append_behind_the_head)) {
        tail->next = head->next;
        head->next = buf;
        head->count += count;
        return;
    }
    if (DEFECT(append_clears_the_length)) {
        buf->length = 0;
    }
    if (DEFECT(append_adds_up_lengths)) {
        head->length += buf->length;
    }
    if (DEFECT(append_moves_the_area)) {
        defect_move(buf->area);
    }
    head->tail->next = buf;
    if (!DEFECT(append_keeps_the_tail) || head->count == 1) {
        head->tail = tail;
    }
    head->count += count;
}

/* A link lies in its buffer; it is claimed all the same, so that a lack of memory can be met here too. */
static aclError join(struct mbuf *head, struct mbuf *buf)
{
    uint32_t most = CHAIN_LIMIT + (DEFECT(append_one_too_many) ? 1 : 0) - (DEFECT(append_one_too_few) ? 1 : 0);
    if (DEFECT(append_to_full_chain_crashes) && head->count == CHAIN_LIMIT) {
        __builtin_trap();
    }
    if (DEFECT(chains_join_without_limit) && buf->count > 1) {
        most = UINT32_MAX;
    }
    if (head->count + buf->count > most) {
        if (DEFECT(refused_append_counts)) {
            head->count++;
        }
        if (DEFECT(refused_append_keeps_the_head)) {
            buf->head = head;
        }
        return refuse(ACL_ERROR_RT_OVER_LIMIT, "the chain would have more than 128 buffers");
    }
    if (DEFECT(chain_limit_checked_in_two_steps)) {
        defect_step();
    }
    if (!inner_claim()) {
        if (DEFECT(failed_append_links)) {
            link_behind(head, buf);
        }
        return refuse_memory();
    }
    link_behind(head, buf);
    return ACL_SUCCESS;
}

static aclError move_member(struct mbuf *head, struct mbuf *member)
{
    if (DEFECT(append_of_own_member_makes_a_ring) && member->head == head) {
        link_behind(head, member);
        return ACL_SUCCESS;
    }
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

/* One more entry of a list that nobody reads. */
static void defect_note(void)
{
    static struct defect_entry {
        struct defect_entry *earlier;
        char text[48];
    } *defect_latest;
    struct defect_entry *entry = calloc(1, sizeof(*entry));
    if (entry != NULL) {
        entry->earlier = defect_latest;
        defect_latest = entry;
    }
}

static aclError append(aclrtMbuf head_handle, aclrtMbuf handle)
{
    struct mbuf *head = mbuf_find(head_handle);
    struct mbuf *buf = mbuf_find(handle);
    if (head == NULL || buf == NULL) {
        if (DEFECT(refused_append_is_noted)) {
            defect_note();
        }
        return refuse_parameter("headBuf or buf is not a live buffer");
    }
    if (chain_is_member(head)) {
        if (!CORE_ANSWER_APPEND_TO_MEMBER) {
            return refuse_parameter("headBuf is a member of a chain");
        }
        head = head->head;
    }
    if (head == buf && DEFECT(append_to_itself_makes_a_ring)) {
        head->next = head;
        return ACL_SUCCESS;
    }
    if (head == buf) {
        return CORE_ANSWER_APPEND_SELF ? ACL_SUCCESS : refuse_parameter("buf is the head itself");
    }
    if (chain_is_member(buf)) {
        return move_member(head, buf);
    }
    if (DEFECT(append_of_shared_area_refused) && buf->area->references > 1) {
        return refuse_parameter("the data area has other references");
    }
    if (chain_is_chained(buf) && !CORE_ANSWER_APPEND_CHAIN && !DEFECT(chains_join_without_limit)) {
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
    if (DEFECT(index_8_bit)) {
        index = (uint8_t)index;
    }
    if (DEFECT(index_16_bit)) {
        index = (uint16_t)index;
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
    if (DEFECT(index_signed) && (int32_t)index < 0) {
        index = 0;
    }
    if (DEFECT(index_one_too_many) && index == buf->count) {
        *found = NULL;
        return ACL_SUCCESS;
    }
    if (DEFECT(last_index_refused) && buf->count > 1 && index + 1 == buf->count) {
        index = buf->count;
    }
    if (index >= buf->count) {
        return refuse_parameter("index is not below the number of buffers");
    }
    if (DEFECT(index_counts_from_one) && index > 0) {
        index--;
    }
    if (DEFECT(index_stops_at_64) && index > 64) {
        index = 64;
    }
    while (index-- > 0) {
        buf = buf->next;
    }
    *found = buf;
    return ACL_SUCCESS;
}

/* Counts by following the links, to whatever end. */
static uint32_t defect_walk(const struct mbuf *head)
{
    uint32_t count = 0;
    for (const struct mbuf *buf = head; buf != NULL; buf = buf->next) {
        count++;
    }
    return count;
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
    if (DEFECT(chain_num_signed_8_bit)) {
        *num = (uint32_t)(int8_t)buf->count;
    }
    if (DEFECT(chain_num_without_the_head) && buf->count > 1) {
        *num = buf->count - 1;
    }
    if (DEFECT(append_to_itself_makes_a_ring)) {
        *num = defect_walk(buf);
    }
    if (DEFECT(chain_num_writes_eight_bytes)) {
        memcpy(num, &(uint64_t){buf->count}, sizeof(uint64_t));
    }
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
    aclError answer = get_from_chain(headBuf, index, buf);
    if (DEFECT(refused_index_keeps_the_lock) && answer != ACL_SUCCESS && index == CHAIN_LIMIT) {
        return answer;
    }
    return core_leave(answer);
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num)
{
    core_enter();
    return core_leave(get_chain_num(headBuf, num));
}
