/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered on each stream: a copy of a descriptor's slots. No hook is ever called from this library. */
#ifndef CORE_REGISTRATION_H
#define CORE_REGISTRATION_H

#include "descriptor.h"
#include "stream.h"

/* A set on a descriptor, seen by its registrations or not. */
void registrations_follow(const struct descriptor *desc);

/* The descriptor is about to go. */
void registrations_orphan(const struct descriptor *desc);

/* Removes the stream's registration, if it has one. */
void registration_remove(const struct stream *stream);

#endif
