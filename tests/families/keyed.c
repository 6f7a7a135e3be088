/* SPDX-License-Identifier: Apache-2.0 */
/* A library that keeps what keyed.yaml says. FAULT_FILL: one byte too many is taken. FAULT_BOUND: a second binding is
 * accepted without taking effect. */
#include <stdint.h>
#include <stdlib.h>

typedef int aclError;
typedef struct store *kvStore;
typedef struct slot *kvSlot;
typedef void *(*kvDropFunc)(void *owner, uint32_t bytes);

#define API __attribute__((visibility("default")))

enum { DONE = 0, BAD_PARAMETER = 100000, NO_MEMORY = 200000, BAD_HANDLE = 200004, SLOTS = 6, SLOT_BYTES = 64 };

struct store {
    uint32_t open;
    kvSlot bound;
};

struct slot {
    kvStore store;
    uint32_t bytes, fill;
    kvDropFunc drop;
};

static uint64_t slots; /* that are open */

/* Stores that are there, to find those that a slot is bound to. */
static struct store **stores;
static size_t count;

API kvStore kvCreateStore(void)
{
    struct store **more = realloc(stores, (count + 1) * sizeof *stores);
    struct store *made = calloc(1, sizeof *made);
    if (more != NULL)
        stores = more;
    if (more == NULL || made == NULL) {
        free(made);
        return NULL;
    }
    stores[count++] = made;
    return made;
}

API aclError kvDestroyStore(kvStore store)
{
    if (store == NULL)
        return BAD_HANDLE;
    if (store->open > 0)
        return BAD_PARAMETER;
    for (size_t k = 0; k < count; k++)
        if (stores[k] == store) {
            stores[k] = stores[--count];
            break;
        }
    free(store);
    return DONE;
}

API aclError kvOpenSlot(kvStore store, uint32_t bytes, kvSlot *slot)
{
    if (store == NULL)
        return BAD_HANDLE;
    if (slot == NULL || bytes > SLOT_BYTES || store->open >= SLOTS)
        return BAD_PARAMETER;
    kvSlot made = calloc(1, sizeof *made);
    if (made == NULL)
        return NO_MEMORY;
    made->store = store;
    made->bytes = bytes;
    store->open++;
    slots++;
    *slot = made;
    return DONE;
}

API aclError kvCloseSlot(kvSlot slot)
{
    if (slot == NULL)
        return BAD_HANDLE;
    for (size_t k = 0; k < count; k++)
        if (stores[k]->bound == slot)
            stores[k]->bound = NULL;
    slot->store->open--;
    slots--;
    if (slot->drop != NULL)
        slot->drop(NULL, slot->bytes);
    free(slot);
    return DONE;
}

API aclError kvCount(kvStore store, uint32_t *number)
{
    if (store == NULL)
        return BAD_HANDLE;
    if (number == NULL)
        return BAD_PARAMETER;
    *number = store->open;
    return DONE;
}

API aclError kvBind(kvStore store, kvSlot slot)
{
    if (store == NULL || slot == NULL)
        return BAD_HANDLE;
#ifdef FAULT_BOUND
    if (store->bound != NULL)
        return DONE;
#endif
    store->bound = slot;
    return DONE;
}

API aclError kvBound(kvStore store, kvSlot *slot)
{
    if (store == NULL)
        return BAD_HANDLE;
    if (slot == NULL || store->bound == NULL)
        return BAD_PARAMETER;
    *slot = store->bound;
    return DONE;
}

API aclError kvUnbind(kvStore store)
{
    if (store == NULL)
        return BAD_HANDLE;
    store->bound = NULL;
    return DONE;
}

API aclError kvSetFill(kvSlot slot, uint32_t fill)
{
    if (slot == NULL)
        return BAD_HANDLE;
#ifdef FAULT_FILL
    if (fill > slot->bytes + 1)
#else
    if (fill > slot->bytes)
#endif
        return BAD_PARAMETER;
    slot->fill = fill;
    return DONE;
}

API aclError kvGetFill(kvSlot slot, uint32_t *fill)
{
    if (slot == NULL)
        return BAD_HANDLE;
    if (fill == NULL)
        return BAD_PARAMETER;
    *fill = slot->fill;
    return DONE;
}

API aclError kvOnDrop(kvSlot slot, kvDropFunc func)
{
    if (slot == NULL)
        return BAD_HANDLE;
    slot->drop = func;
    return DONE;
}

API aclError kvGetDrop(kvSlot slot, kvDropFunc *func)
{
    if (slot == NULL)
        return BAD_HANDLE;
    if (func == NULL)
        return BAD_PARAMETER;
    *func = slot->drop;
    return DONE;
}

/* What a library may export to let the suite count what is alive: 8 says that it does. */
API uint64_t aclctsCapabilities(void)
{
    return 8;
}

API void aclctsLiveCount(uint64_t *objects, uint64_t *bytes)
{
    *objects = count + slots;
    *bytes = count * sizeof(struct store) + slots * sizeof(struct slot);
}
