/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that have handles live in the slots of a pool, one pool a kind. A handle is the address of a slot; it is
 * looked up by its value before anything behind it is read, so a bad one is found out, whatever it points at. The slot
 * that was freed last is handed out first: handle values repeat, and a stale field would show.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* First member of every pooled object. */
struct slot {
    struct slot *next_free;
    bool live;
};

struct slab {
    unsigned char *start;
    size_t slots;
};

/* Each slab is twice as large as the one before it: 24 of them are a thousand million slots. */
enum { POOL_FIRST_SLAB = 64, POOL_SLABS = 24 };

struct pool {
    size_t slot_size;
    struct slab slabs[POOL_SLABS];
    size_t slab_count;
    struct slot *free_slots;
    size_t live_slots;
};

#define POOL_OF(type) { .slot_size = sizeof(type) }

/* A live slot, or NULL. What an earlier owner left in it is still there: the caller sets every field. */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *object);

/* The live object with this handle, or NULL. */
void *pool_find(const struct pool *pool, const void *handle);

/* Gives the memory of a pool without live objects back. */
void pool_trim(struct pool *pool);

#endif
