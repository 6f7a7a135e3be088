/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain is a list of buffers, its first one the head. Every buffer is in one list only, alone if need be, and a list
 * ends at its tail: so no list can run into itself, and every walk takes at most CHAIN_LIMIT steps.
 */
#ifndef CORE_CHAIN_H
#define CORE_CHAIN_H

#include <stdbool.h>

#include "mbuf.h"

enum { CHAIN_LIMIT = 128 };

/* Makes a buffer a chain of its own. */
void chain_reset(struct mbuf *buf);

bool chain_is_member(const struct mbuf *buf);
bool chain_is_chained(const struct mbuf *buf);

/* Takes a member out of its chain. */
void chain_unlink(struct mbuf *member);

/* Parts a head, which is about to go, from its members. */
void chain_dissolve(struct mbuf *head);

#endif
