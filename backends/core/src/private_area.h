/* SPDX-License-Identifier: Apache-2.0 */
/* The 96 bytes beside the data area: each handle has its own. */
#ifndef CORE_PRIVATE_AREA_H
#define CORE_PRIVATE_AREA_H

#include "mbuf.h"

void private_area_clear(struct mbuf *buf);
void private_area_copy(struct mbuf *to, const struct mbuf *from);

#endif
