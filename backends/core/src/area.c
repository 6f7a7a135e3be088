/* SPDX-License-Identifier: Apache-2.0 */
#include "area.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "defects.h"
#include "instrument.h"

enum { LARGEST_ON_HEAP = 1 << 20, FRESH_DATA_FILL = 0x3C };

/* Where data pointers are odd, an area starts one byte into its memory. */
static const size_t padding = CORE_ANSWER_ODD_DATA ? 1 : 0;

/* Small areas come from the heap, where sanitizers watch over them; large ones must cost nothing until touched. */
static bool is_on_heap(size_t size)
{
    return size <= LARGEST_ON_HEAP;
}

static size_t memory_of(size_t size)
{
    return (size > 0 ? size : 1) + padding;
}

static unsigned char *take_memory(size_t size)
{
    unsigned char *start = is_on_heap(size) ? inner_calloc(memory_of(size)) : inner_map(memory_of(size));
    if (start == NULL) {
        return NULL;
    }
    if (CORE_ANSWER_FRESH_DATA && is_on_heap(size)) {
        memset(start, FRESH_DATA_FILL, memory_of(size));
    }
    return start + padding;
}

static void give_memory(unsigned char *bytes, size_t size)
{
    if (is_on_heap(size)) {
        free(bytes - padding);
    } else {
        inner_unmap(bytes - padding, memory_of(size));
    }
}

struct area *area_create(size_t size)
{
    struct area *area = inner_calloc(sizeof(*area));
    if (area == NULL) {
        return NULL;
    }
    area->bytes = take_memory(size);
    if (area->bytes == NULL) {
        free(area);
        return NULL;
    }
    area->size = size;
    area->length = 0;
    area->references = 1;
    live_add(sizeof(*area) + size);
    return area;
}

void area_share(struct area *area)
{
    area->references++;
    if (DEFECT(references_8_bit)) {
        area->references = (uint8_t)area->references;
    }
}

void area_drop(struct area *area)
{
    if (--area->references > 0) {
        return;
    }
    live_drop(sizeof(*area) + area->size);
    give_memory(area->bytes, area->size);
    free(area);
}
