/* SPDX-License-Identifier: Apache-2.0 */
/* What a broken library does in the middle of a call. */
#ifndef ACL_CTS_TEST_ACTIONS_H
#define ACL_CTS_TEST_ACTIONS_H

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Stores to an address that is never mapped. */
static inline void crash(void)
{
    char *volatile nowhere = (char *)8;
    *nowhere = 1;
}

/* Sleeps for ever, deaf to every signal that can be blocked. */
static inline void hang(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;)
        pause();
}

/* Goes round for ever: uses its CPU, and no system call ever returns. */
static inline void spin(void)
{
    for (volatile unsigned turn = 0;; turn++)
        continue;
}

#endif
