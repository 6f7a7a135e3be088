/* SPDX-License-Identifier: Apache-2.0 */
/* Racks: the library of rack.yaml. Each limit can be put elsewhere by a macro of its name. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef WIDEST
#define WIDEST 512
#endif
#ifndef NARROWEST
#define NARROWEST 8
#endif
#ifndef ENTRIES
#define ENTRIES 400
#endif
#ifndef MARGIN
#define MARGIN 8
#endif

#define REFUSED 107000
#define KEYS 65536

struct rack {
    size_t width;
    unsigned entries;
    unsigned char held[KEYS];
};

int rkOpen(size_t width, void **rack)
{
    if (rack == NULL || width > (size_t)WIDEST || width < NARROWEST)
        return REFUSED;
    struct rack *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return 200000;
    made->width = width;
    *rack = made;
    return 0;
}

int rkPut(void *handle, uint32_t key, uint32_t amount)
{
    struct rack *rack = handle;
    if (key >= KEYS || (int64_t)amount > (int64_t)rack->width - MARGIN)
        return REFUSED;
    if (!rack->held[key] && rack->entries >= ENTRIES)
        return REFUSED;
    rack->entries += !rack->held[key];
    rack->held[key] = 1;
    return 0;
}

int rkClose(void *rack)
{
    free(rack);
    return 0;
}
