/* SPDX-License-Identifier: Apache-2.0 */
/* A shared buffer's management structure: a reference to an area, a private area, a place in a chain. */
#ifndef CORE_MBUF_H
#define CORE_MBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_cts_core.h"
#include "area.h"
#include "pool.h"

enum { PRIVATE_AREA_SIZE = 96 };

struct mbuf {
    struct slot slot;
    struct area *area;
    size_t length;      /* the valid length, where each handle has its own */
    bool located;       /* GetBufData has succeeded on this handle */
    unsigned char private_area[PRIVATE_AREA_SIZE];
    struct mbuf *head;  /* a member's head; NULL in a head and in an unchained buffer */
    struct mbuf *next;
    struct mbuf *tail;  /* kept in the head only */
    uint32_t count;     /* kept in the head only; 1: unchained */
};

struct mbuf *mbuf_find(aclrtMbuf handle);
void mbuf_destroy(struct mbuf *buf);
void mbuf_trim(void);

#endif
