/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents leave some points open: each is one switch here, 0 or 1, and both answers conform. A build chooses
 * one with -DCORE_ANSWER_X=1, and turns all that it does not name with -DACL_CTS_CORE_ALTERNATIVE.
 */
#ifndef CORE_ANSWERS_H
#define CORE_ANSWERS_H

#ifdef ACL_CTS_CORE_ALTERNATIVE
#define CORE_ANSWER_UNNAMED 1
#else
#define CORE_ANSWER_UNNAMED 0
#endif

/* ---- Areas and lengths ---- */

/* AllocBuf, size 0: 0 refused, 1 an area of no bytes. */
#ifndef CORE_ANSWER_ALLOC_ZERO
#define CORE_ANSWER_ALLOC_ZERO CORE_ANSWER_UNNAMED
#endif

/* AllocBuf, size above 4000000000 and up to 4294967296: 0 granted, 1 refused. */
#ifndef CORE_ANSWER_DECIMAL_4G
#define CORE_ANSWER_DECIMAL_4G CORE_ANSWER_UNNAMED
#endif

/* Content of a fresh data area: 0 zeros, 1 another fill (areas from the heap; larger ones stay untouched zeros). */
#ifndef CORE_ANSWER_FRESH_DATA
#define CORE_ANSWER_FRESH_DATA CORE_ANSWER_UNNAMED
#endif

/* Data pointer: 0 aligned as malloc does, 1 at an odd address. */
#ifndef CORE_ANSWER_ODD_DATA
#define CORE_ANSWER_ODD_DATA CORE_ANSWER_UNNAMED
#endif

/* GetBufData, one output NULL: 0 refused, 1 the other one is written. */
#ifndef CORE_ANSWER_DATA_ONE_NULL
#define CORE_ANSWER_DATA_ONE_NULL CORE_ANSWER_UNNAMED
#endif

/* SetBufDataLen, 0: 0 accepted, 1 refused. */
#ifndef CORE_ANSWER_LENGTH_ZERO
#define CORE_ANSWER_LENGTH_ZERO CORE_ANSWER_UNNAMED
#endif

/* SetBufDataLen before GetBufData on the same handle: 0 accepted, 1 refused. */
#ifndef CORE_ANSWER_LENGTH_FIRST
#define CORE_ANSWER_LENGTH_FIRST CORE_ANSWER_UNNAMED
#endif

/* Length: 0 each handle has its own, 1 all handles of an area share one. */
#ifndef CORE_ANSWER_LENGTH_SHARED
#define CORE_ANSWER_LENGTH_SHARED CORE_ANSWER_UNNAMED
#endif

/* Length of a fresh reference, where lengths are own: 0 zero, 1 the original's. */
#ifndef CORE_ANSWER_REF_LENGTH
#define CORE_ANSWER_REF_LENGTH CORE_ANSWER_UNNAMED
#endif

/* ---- Private areas ---- */

/* Content of a fresh private area: 0 zeros, 1 another fill. */
#ifndef CORE_ANSWER_FRESH_PRIVATE
#define CORE_ANSWER_FRESH_PRIVATE CORE_ANSWER_UNNAMED
#endif

/* Private area of a fresh reference: 0 as a fresh one, 1 a copy of the original's. */
#ifndef CORE_ANSWER_REF_PRIVATE
#define CORE_ANSWER_REF_PRIVATE CORE_ANSWER_UNNAMED
#endif

/* Set/GetBufUserData, size 0 within the limits: 0 accepted, 1 refused. */
#ifndef CORE_ANSWER_USER_DATA_ZERO
#define CORE_ANSWER_USER_DATA_ZERO CORE_ANSWER_UNNAMED
#endif

/* Set/GetBufUserData, size 0 and dataPtr NULL, where size 0 is accepted: 0 accepted, 1 refused. */
#ifndef CORE_ANSWER_USER_DATA_NULL
#define CORE_ANSWER_USER_DATA_NULL CORE_ANSWER_UNNAMED
#endif

/* ---- Life and chains ---- */

/* FreeBuf(NULL): 0 refused, 1 nothing happens. */
#ifndef CORE_ANSWER_FREE_NULL
#define CORE_ANSWER_FREE_NULL CORE_ANSWER_UNNAMED
#endif

/* FreeBuf of a head: 0 its members go too, 1 they stay alive, each unchained. */
#ifndef CORE_ANSWER_FREE_HEAD
#define CORE_ANSWER_FREE_HEAD CORE_ANSWER_UNNAMED
#endif

/* FreeBuf of a member: 0 it leaves the chain and goes, 1 refused. */
#ifndef CORE_ANSWER_FREE_MEMBER
#define CORE_ANSWER_FREE_MEMBER CORE_ANSWER_UNNAMED
#endif

/* CopyBufRef of a head or member: 0 a reference to this one buffer, 1 refused. */
#ifndef CORE_ANSWER_COPY_CHAINED
#define CORE_ANSWER_COPY_CHAINED CORE_ANSWER_UNNAMED
#endif

/* AppendBufChain, headBuf is a member: 0 refused, 1 stands for the chain that it is in. */
#ifndef CORE_ANSWER_APPEND_TO_MEMBER
#define CORE_ANSWER_APPEND_TO_MEMBER CORE_ANSWER_UNNAMED
#endif

/* AppendBufChain, a head to itself: 0 refused, 1 nothing happens. */
#ifndef CORE_ANSWER_APPEND_SELF
#define CORE_ANSWER_APPEND_SELF CORE_ANSWER_UNNAMED
#endif

/* AppendBufChain, buf is a member: 0 refused, 1 moves to the end of headBuf's chain. */
#ifndef CORE_ANSWER_APPEND_MEMBER
#define CORE_ANSWER_APPEND_MEMBER CORE_ANSWER_UNNAMED
#endif

/* AppendBufChain, buf heads a chain: 0 refused, 1 the chains are joined if they keep to the limit. */
#ifndef CORE_ANSWER_APPEND_CHAIN
#define CORE_ANSWER_APPEND_CHAIN CORE_ANSWER_UNNAMED
#endif

/* GetBufFromChain, index 0 of an unchained buffer: 0 the buffer, 1 refused. */
#ifndef CORE_ANSWER_INDEX_UNCHAINED
#define CORE_ANSWER_INDEX_UNCHAINED CORE_ANSWER_UNNAMED
#endif

/* GetBufFromChain on a member: 0 refused, 1 counts from the head. */
#ifndef CORE_ANSWER_INDEX_MEMBER
#define CORE_ANSWER_INDEX_MEMBER CORE_ANSWER_UNNAMED
#endif

/* GetBufChainNum of an unchained buffer: 0 one, 1 refused. */
#ifndef CORE_ANSWER_COUNT_UNCHAINED
#define CORE_ANSWER_COUNT_UNCHAINED CORE_ANSWER_UNNAMED
#endif

/* GetBufChainNum of a member: 0 refused, 1 the whole chain's. */
#ifndef CORE_ANSWER_COUNT_MEMBER
#define CORE_ANSWER_COUNT_MEMBER CORE_ANSWER_UNNAMED
#endif

/* ---- Descriptors and registrations ---- */

/* DestroyDesc(NULL): 0 refused, 1 nothing happens. */
#ifndef CORE_ANSWER_DESTROY_NULL
#define CORE_ANSWER_DESTROY_NULL CORE_ANSWER_UNNAMED
#endif

/* A set on a slot that counts as set: 0 accepted, 1 refused. */
#ifndef CORE_ANSWER_SET_AGAIN
#define CORE_ANSWER_SET_AGAIN CORE_ANSWER_UNNAMED
#endif

/* SetObjToDesc, NULL object: 0 refused, 1 accepted. */
#ifndef CORE_ANSWER_NULL_OBJECT
#define CORE_ANSWER_NULL_OBJECT CORE_ANSWER_UNNAMED
#endif

/* A set function, NULL func: 0 refused, 1 accepted. */
#ifndef CORE_ANSWER_NULL_FUNC
#define CORE_ANSWER_NULL_FUNC CORE_ANSWER_UNNAMED
#endif

/* A slot with an accepted NULL, at Register: 0 not set, 1 set. */
#ifndef CORE_ANSWER_NULL_COUNTS
#define CORE_ANSWER_NULL_COUNTS CORE_ANSWER_UNNAMED
#endif

/* A set after Register: 0 GetByStream gives the old value, 1 the new one. */
#ifndef CORE_ANSWER_SET_SEEN
#define CORE_ANSWER_SET_SEEN CORE_ANSWER_UNNAMED
#endif

/* GetByStream, nothing registered: 0 refused, 1 all outputs NULL. */
#ifndef CORE_ANSWER_GET_NOTHING
#define CORE_ANSWER_GET_NOTHING CORE_ANSWER_UNNAMED
#endif

/* GetByStream, NULL stream: 0 refused, 1 all outputs NULL. */
#ifndef CORE_ANSWER_GET_NULL_STREAM
#define CORE_ANSWER_GET_NULL_STREAM CORE_ANSWER_UNNAMED
#endif

/* GetByStream, an output NULL: 0 refused, 1 the others are written. */
#ifndef CORE_ANSWER_GET_NULL_OUTPUT
#define CORE_ANSWER_GET_NULL_OUTPUT CORE_ANSWER_UNNAMED
#endif

/* GetByStream after the descriptor was destroyed: 0 the registered values, 1 refused. */
#ifndef CORE_ANSWER_GET_ORPHAN
#define CORE_ANSWER_GET_ORPHAN CORE_ANSWER_UNNAMED
#endif

/* GetByStream, advise never set: 0 NULL, 1 a function that grants nothing. */
#ifndef CORE_ANSWER_ADVISE_UNSET
#define CORE_ANSWER_ADVISE_UNSET CORE_ANSWER_UNNAMED
#endif

/* Unregister(NULL): 0 refused, 1 nothing happens. */
#ifndef CORE_ANSWER_UNREGISTER_NULL
#define CORE_ANSWER_UNREGISTER_NULL CORE_ANSWER_UNNAMED
#endif

#endif
