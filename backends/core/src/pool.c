/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <stdint.h>
#include <stdlib.h>

#include "defects.h"
#include "instrument.h"

static struct slot *slot_at(const struct pool *pool, const struct slab *slab, size_t index)
{
    return (struct slot *)(void *)(slab->start + index * pool->slot_size);
}

static bool grow(struct pool *pool)
{
    if (pool->slab_count == POOL_SLABS) {
        return false;
    }
    struct slab slab = {.slots = (size_t)POOL_FIRST_SLAB << pool->slab_count};
    slab.start = inner_calloc(slab.slots * pool->slot_size);
    if (slab.start == NULL) {
        return false;
    }
    pool->slabs[pool->slab_count++] = slab;
    for (size_t index = slab.slots; index-- > 0;) {
        struct slot *slot = slot_at(pool, &slab, index);
        slot->next_free = pool->free_slots;
        pool->free_slots = slot;
    }
    return true;
}

/* A recycled slot is claimed as an inner allocation too, so that every creation can be made to fail. */
void *pool_take(struct pool *pool)
{
    if (!inner_claim() || (pool->free_slots == NULL && !grow(pool))) {
        return NULL;
    }
    struct slot *slot = pool->free_slots;
    pool->free_slots = slot->next_free;
    slot->next_free = NULL;
    slot->live = true;
    pool->live_slots++;
    live_add(pool->slot_size);
    return slot;
}

void pool_give(struct pool *pool, void *object)
{
    struct slot *slot = object;
    slot->live = false;
    if (!DEFECT(freed_slots_are_never_used_again)) {
        slot->next_free = pool->free_slots;
        pool->free_slots = slot;
    }
    pool->live_slots--;
    live_drop(pool->slot_size);
}

void *pool_find(const struct pool *pool, const void *handle)
{
    for (size_t i = 0; i < pool->slab_count; i++) {
        const struct slab *slab = &pool->slabs[i];
        /* Below the slab's start the difference wraps, and is far outside too. */
        uintptr_t distance = (uintptr_t)handle - (uintptr_t)slab->start;
        if (distance < slab->slots * pool->slot_size) {
            struct slot *slot = slot_at(pool, slab, distance / pool->slot_size);
            return distance % pool->slot_size == 0 && (slot->live || DEFECT(freed_handles_live_on)) ? slot : NULL;
        }
    }
    return NULL;
}

void pool_trim(struct pool *pool)
{
    if (pool->live_slots > 0) {
        return;
    }
    for (size_t i = 0; i < pool->slab_count; i++) {
        free(pool->slabs[i].start);
    }
    pool->slab_count = 0;
    pool->free_slots = NULL;
}
