/* SPDX-License-Identifier: Apache-2.0 */
/* Works as the core does, and keeps a block of memory for every buffer that is freed.
 *
 * -DQUARANTINE : the latest ones only, 64 MiB of them.
 * -DDOUBLING   : in a table that doubles whenever it is full, and once it holds 2^18 blocks starts again.
 * -DFOREVER    : all of them. */
#define _GNU_SOURCE
#include "target.h"

#define BLOCK 4096

#if defined QUARANTINE
#define KEPT (64 * 1024 * 1024 / BLOCK)
static void keep(void)
{
    static void *kept[KEPT];
    static size_t next;
    free(kept[next]);
    kept[next] = malloc(BLOCK);
    next = (next + 1) % KEPT;
}
#elif defined DOUBLING
static void keep(void)
{
    enum { MOST = 1 << 18 };
    static uint64_t *table;
    static size_t room, used;
    if (used == room && room < MOST) {
        room = room > 0 ? 2 * room : 64;
        table = realloc(table, room * sizeof(*table));
        if (table == NULL)
            abort();
    }
    used = used == MOST ? 0 : used;
    table[used] = used;
    used++;
}
#elif defined FOREVER
static void keep(void)
{
    static void *latest;
    void **block = malloc(BLOCK);
    if (block == NULL)
        abort();
    *block = latest;
    latest = block;
}
#endif

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    aclError code = CORE(aclrtFreeBuf)(buf);
    if (code == SUCCESS)
        keep();
    return code;
}
