/* SPDX-License-Identifier: Apache-2.0 */
/* Does ACTION in every call of the one function FUNCTION, whatever its parameters, and then answers ANSWER.
 *
 * Written without the prototypes on purpose: the callers pass the arguments, nobody here reads them. */
#include "actions.h"

#ifndef ANSWER
#define ANSWER 0
#endif

int FUNCTION(void);

int FUNCTION(void)
{
    ACTION;
    return ANSWER;
}
