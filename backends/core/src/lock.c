/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <pthread.h>

static pthread_mutex_t core_lock = PTHREAD_MUTEX_INITIALIZER;

void core_enter(void)
{
    (void)pthread_mutex_lock(&core_lock);
}

aclError core_leave(aclError answer)
{
    (void)pthread_mutex_unlock(&core_lock);
    return answer;
}
