"""Profiles: how the simulated library answers where the documents leave it open."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Profile:
    """One answer per open point, in the order of the functions. True: the comment holds; False: the other answer."""

    # Shared buffers: creating and freeing.
    alloc_zero: bool = False  # AllocBuf of size 0 succeeds
    alloc_between_readings: bool = True  # sizes between the two readings of 4G (4 · 10^9 and 4 · 2^30) are granted
    free_null: bool = False  # FreeBuf(NULL) succeeds
    free_head_frees_members: bool = True  # freeing the head of a chain frees its members; otherwise they live on
    free_member: bool = False  # freeing a member succeeds and unlinks it
    data_aligned: bool = True  # data areas start at multiples of 64; otherwise 4 behind one
    fresh_data_zero: bool = True  # a fresh data area is all zero
    fresh_private_zero: bool = True  # a fresh private area is all zero
    handle_reuse: bool = True  # a freed handle's value is handed out again, the last one first

    # Shared buffers: access.
    data_one_output: bool = False  # GetBufData with one of its two outputs NULL fills the other
    user_data_zero: bool = True  # Set/GetBufUserData of size 0 succeed
    user_data_null_zero: bool = False  # ... also with NULL for the data
    length_zero: bool = True  # SetBufDataLen(0) succeeds
    length_before_data: bool = True  # SetBufDataLen succeeds before GetBufData on that handle

    # Shared buffers: references.
    ref_length_original: bool = False  # a reference starts with the original's length; otherwise 0
    length_shared: bool = False  # a length set through one handle is seen through all handles of the area
    ref_private_copied: bool = False  # a reference starts with the original's private bytes; otherwise fresh ones
    copy_chained: bool = True  # a buffer in a chain can be copied, which gives a plain reference

    # Shared buffers: chains.
    append_to_member: bool = False  # a member as head: appends to the chain that it is in
    append_self: bool = False  # appending a buffer to itself succeeds without effect
    append_member: bool = False  # a buffer already in a chain moves to the end of the new one
    append_chain: bool = False  # a head brings its whole chain along
    index_unchained: bool = True  # index 0 of a buffer never chained is the buffer
    index_member: bool = False  # a member answers for the chain that it is in
    count_unchained: bool = True  # a buffer never chained counts 1
    count_member: bool = False  # a member answers for the chain that it is in

    # Allocator descriptors.
    destroy_null: bool = False  # DestroyDesc(NULL) succeeds
    set_again: bool = True  # a slot can be set a second time
    set_null_function: bool = False  # a NULL function is accepted
    set_null_object: bool = True  # a NULL object is accepted
    null_counts_as_set: bool = True  # an accepted NULL counts as set at Register
    set_after_register: bool = False  # a set after Register shows in GetByStream
    get_unregistered: bool = False  # GetByStream with nothing registered succeeds with all outputs NULL
    get_null_stream: bool = False  # GetByStream(NULL) succeeds with all outputs NULL
    get_null_output: bool = False  # GetByStream with NULL out parameters fills the others
    get_after_destroy: bool = True  # GetByStream still answers after the descriptor was destroyed
    default_advise: bool = False  # an advise function never set is a callable default; otherwise NULL
    unregister_null: bool = False  # Unregister(NULL) succeeds
    registration_survives: bool = False  # a destroyed stream's registration shows when its handle repeats

    # All functions.
    refused_outputs_null: bool = False  # a refused call sets its pointer outputs to NULL; otherwise untouched

    # Resources, not open points: None = unlimited. Counted from the start of a program.
    largest_area: int | None = None  # bytes of one data area
    most_bytes: int | None = None  # bytes of data areas live before a call that takes resources
    most_objects: int | None = None  # objects of the kind asked for, live before that call

    # A fault, not an open point: a recycled buffer shows the private bytes of its handle's earlier owner.
    stale_private: bool = False


OPEN_POINTS = tuple(f.name for f in fields(Profile) if f.type == "bool" and f.name != "stale_private")
"""Names of the fields that answer open points."""


def _flipped(names: tuple[str, ...]) -> Profile:
    """The default profile with the opposite answer in each of `names`."""
    default = Profile()
    return replace(default, **{name: not getattr(default, name) for name in names})


def _pairwise(rows: int) -> dict[str, Profile]:
    """Profiles that, with `default` and `opposite`, give every two open points all four combinations of answers.

    Every point is flipped in its own choice of half the rows. Choices of equal size never contain each other, so for
    any two points some row flips only the first and some row only the second; `default` flips none, `opposite` both.
    Handle reuse stays on: without it every iteration of a long repeat differs, which `no-reuse` shows once.
    """
    points = [name for name in OPEN_POINTS if name != "handle_reuse"]
    choices = dict(zip(points, combinations(range(rows), rows // 2), strict=False))
    assert len(choices) == len(points), "more open points than choices of rows"
    return {
        f"pairwise-{row + 1}": _flipped(tuple(name for name in points if row in choices[name])) for row in range(rows)
    }


_NOT_AN_ACCEPTANCE = {
    "free_head_frees_members",
    "data_aligned",
    "fresh_data_zero",
    "fresh_private_zero",
    "handle_reuse",
    "ref_length_original",
    "length_shared",
    "ref_private_copied",
    "set_after_register",
    "default_advise",
    "registration_survives",
    "refused_outputs_null",
}


def _accepting(accepted: bool) -> Profile:
    """Accepts, or refuses, every call that may be answered either way."""
    choices = [name for name in OPEN_POINTS if name not in _NOT_AN_ACCEPTANCE]
    return replace(Profile(), **dict.fromkeys(choices, accepted))


PROFILES: dict[str, Profile] = {
    "default": Profile(),
    "opposite": _flipped(OPEN_POINTS),
    **_pairwise(8),
    "strict": _accepting(False),
    "lenient": _accepting(True),
    "no-reuse": replace(Profile(), handle_reuse=False),
    "shared-length": replace(Profile(), length_shared=True, ref_length_original=True, ref_private_copied=True),
    "dirty": replace(
        Profile(), fresh_data_zero=False, fresh_private_zero=False, data_aligned=False, refused_outputs_null=True
    ),
    "tight-resources": replace(Profile(), largest_area=64 << 10, most_bytes=64 << 20, most_objects=1024),
    "stale-private": replace(Profile(), stale_private=True),
}
"""Profiles by name. All conform but `stale-private`, which breaks the advisory clause on stale bytes."""
