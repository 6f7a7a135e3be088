/* SPDX-License-Identifier: Apache-2.0 */
/* A data area. All references to a buffer share it, and it lives until the last of them is freed. */
#ifndef CORE_AREA_H
#define CORE_AREA_H

#include <stddef.h>
#include <stdint.h>

struct area {
    unsigned char *bytes;
    size_t size;
    size_t length;     /* the valid length, where handles share it */
    size_t references;
};

/* An area with one reference, or NULL. */
struct area *area_create(size_t size);

void area_share(struct area *area);
void area_drop(struct area *area);

#endif
