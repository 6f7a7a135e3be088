/* SPDX-License-Identifier: Apache-2.0 */
/* Works as the core does, and behaves as vendor libraries do towards the process: two seconds to initialise, helper
 * threads that never end, a SIGSEGV handler of its own, chatter on stdout and stderr at every call.
 *
 * -DSECONDS=N   : the time to initialise.
 * -DHIDES_CRASH : GetBufDataLen crashes as well, and the handler leaves with _exit(0). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actions.h"
#include "target.h"

#define HELPERS 3
#ifndef SECONDS
#define SECONDS 2
#endif

static void *help(void *nothing)
{
    (void)nothing;
    for (;;)
        usleep(50000);
    return NULL;
}

static void on_crash(int signal)
{
#ifdef HIDES_CRASH
    (void)signal;
    _exit(0);
#else
    static const char text[] = "[ERROR] RUNTIME: signal caught, see the log\n";
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(1);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    raise(signal);
#endif
}

static void chatter(const char *function)
{
    printf("[INFO] RUNTIME: %s entered\n", function);
    fprintf(stderr, "[WARNING] RUNTIME: %s: profiling is off\n", function);
}

aclError aclInit(const char *configPath)
{
    chatter(__func__);
    sleep(SECONDS);
    struct sigaction action = {.sa_handler = on_crash};
    sigaction(SIGSEGV, &action, NULL);
    for (int k = 0; k < HELPERS; k++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, NULL) != 0)
            return OUT_OF_MEMORY;
        pthread_detach(thread);
    }
    return CORE(aclInit)(configPath);
}

#ifdef HIDES_CRASH
#define MISBEHAVE(function)                                                                                            \
    if (strcmp(function, "aclrtGetBufDataLen") == 0)                                                                   \
    crash()
#else
#define MISBEHAVE(function) (void)0
#endif

#define NOISY(type, name, parameters, arguments)                                                                       \
    type name parameters                                                                                               \
    {                                                                                                                  \
        chatter(#name);                                                                                                \
        MISBEHAVE(#name);                                                                                              \
        return CORE(name) arguments;                                                                                   \
    }

MBUF_FUNCTIONS(NOISY)
ALLOCATOR_FUNCTIONS(NOISY)
CREATE_FUNCTION(NOISY)
