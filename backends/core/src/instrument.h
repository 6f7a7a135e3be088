/* SPDX-License-Identifier: Apache-2.0 */
/* Every inner allocation and every live object passes here, to be counted and, when asked for, to fail. */
#ifndef CORE_INSTRUMENT_H
#define CORE_INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asks for one inner allocation: false if it is the one that must fail. For memory that is at hand already. */
bool inner_claim(void);

/* An inner allocation on the heap, zeroed; NULL if it failed. Given back with free(). */
void *inner_calloc(size_t size);

/* An inner allocation of whole pages, zeros that cost nothing until touched; NULL if it failed. */
void *inner_map(size_t size);
void inner_unmap(void *start, size_t size);

void live_add(size_t bytes);
void live_drop(size_t bytes);
uint64_t live_byte_count(void);

#endif
