/* SPDX-License-Identifier: Apache-2.0 */
#include "area.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
    if (DEFECT(alloc_rounding_wraps)) {
        return (((size + 63) & ~(size_t)63) | 1) + padding;
    }
    if (DEFECT(area_one_byte_short) && size > 1) {
        return size - 1 + padding;
    }
    return (size > 0 ? size : 1) + padding;
}

static unsigned char *take_memory(size_t size)
{
    unsigned char *start = is_on_heap(size) ? inner_calloc(memory_of(size)) : inner_map(memory_of(size));
    if (start == NULL) {
        return NULL;
    }
    if (DEFECT(large_area_without_its_last_page) && !is_on_heap(size)) {
        (void)mprotect(start + ((size - 1) & ~(size_t)4095), 1, PROT_NONE);
    }
    if (CORE_ANSWER_FRESH_DATA && is_on_heap(size)) {
        memset(start, FRESH_DATA_FILL, memory_of(size));
    }
    return start + padding;
}

static void give_memory(unsigned char *bytes, size_t size)
{
    if ((DEFECT(free_loses_memory) || DEFECT(areas_of_a_size_overlap)) && is_on_heap(size)) {
        return;
    }
    if (is_on_heap(size)) {
        free(bytes - padding);
    } else {
        inner_unmap(bytes - padding, memory_of(size));
    }
}

/* Puts a second area of the same size into the memory of the first. */
static void defect_share_memory(struct area *area)
{
    static struct area defect_first;
    if (defect_first.size != area->size) {
        defect_first = *area;
        return;
    }
    free(area->bytes - padding);
    area->bytes = defect_first.bytes;
}

/* Hangs `memory` on a list that nothing is taken from. */
static void defect_keep(void *memory)
{
    static void *defect_kept;
    memcpy(memory, &defect_kept, sizeof(defect_kept));
    defect_kept = memory;
}

struct area *area_create(size_t size)
{
    struct area *area = inner_calloc(sizeof(*area));
    if (area == NULL) {
        return NULL;
    }
    area->bytes = take_memory(size);
    if (area->bytes == NULL) {
        if (DEFECT(failed_alloc_keeps_memory)) {
            defect_keep(area);
        } else if (!DEFECT(failed_alloc_loses_memory)) {
            free(area);
        }
        return NULL;
    }
    area->size = size;
    if (DEFECT(areas_of_a_size_overlap) && is_on_heap(size)) {
        defect_share_memory(area);
    }
    area->length = 0;
    area->references = 1;
    live_add(sizeof(*area) + size);
    return area;
}

void area_share(struct area *area)
{
    if (DEFECT(copy_takes_no_reference)) {
        return;
    }
    area->references += DEFECT(copy_takes_two_references) ? 2 : 1;
    if (DEFECT(references_8_bit)) {
        area->references = (uint8_t)area->references;
    }
    if (DEFECT(references_16_bit)) {
        area->references = (uint16_t)area->references;
    }
    if (DEFECT(references_stop_at_255) && area->references > 255) {
        area->references = 255;
    }
}

void area_drop(struct area *area)
{
    if (--area->references > 0 && !DEFECT(every_free_drops_the_area)) {
        return;
    }
    if (DEFECT(free_keeps_the_area)) {
        return;
    }
    live_drop(sizeof(*area) + area->size);
    if (DEFECT(freed_areas_are_kept) && area->size >= sizeof(void *) && is_on_heap(area->size)) {
        defect_keep(area->bytes);
    } else if (!DEFECT(uncounted_areas_stay)) {
        give_memory(area->bytes, area->size);
    }
    free(area);
}
