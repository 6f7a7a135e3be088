"""Broken cores: copies of the C core with one small fault each, of kinds that a suite of short cases overlooks.

A place in a structure, the number of objects, or a relative of the handle decides whether such a fault shows. No fault
here has a case of its own: the cases that find it are derived from the tables, or retell a fault met in the field.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from target_build import COMPILE, CORE

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.conformance.case import Case
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.specs.oracle import judge

OWNER = (("area.h", "size_t references;", "size_t references; struct mbuf *owner, *copy;"),)
OWNED = (
    ("mbuf.c", "    *handle = buf;\n", "    area->owner = buf; area->copy = NULL;\n    *handle = buf;\n"),
    ("mbuf.c", "    *new_handle = buf;\n", "    original->area->copy = buf;\n    *new_handle = buf;\n"),
)
AREA_GONE = "    area_drop(buf->area);"


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault: `edits` are (file, old text, new text); `cases` starts the ids, behind the family, that may show it."""

    name: str
    cases: str
    clause: str
    edits: tuple[tuple[str, str, str], ...]


def _freed(name: str, clause: str, then: str) -> Broken:
    """A fault of aclrtFreeBuf in a buffer that shares its area."""
    forget = " if (a->owner == buf) { a->owner = NULL; } if (a->copy == buf) { a->copy = NULL; }\n"
    gone = "    struct area *a = buf->area; " + then + forget + AREA_GONE
    return Broken(name, "mbuf/related/aclrtFreeBuf", clause, (*OWNER, *OWNED, ("mbuf.c", AREA_GONE, gone)))


def _length(name: str, cases: str, value: str) -> Broken:
    """A fault in what aclrtSetBufDataLen stores."""
    return Broken(name, cases, "mbuf.get-len", (("mbuf.c", "*length_of(buf) = len;", f"*length_of(buf) = {value};"),))


LENGTH_OF = "static size_t *length_of(struct mbuf *buf)\n{\n"
SLOT = "(uintptr_t)buf / sizeof(*buf)"
DESTROY = "            entry->source = NULL;"
STORE = "memcpy(buf->private_area + offset, data, size);"
LOAD = "memcpy(data, buf->private_area + offset, size);"
PLACE = "static struct registration *registrations;"
COPIED = "    entry->source = desc;\n    registrations = entry;"

REFUSED_APPEND = '        return refuse(ACL_ERROR_RT_OVER_LIMIT, "the chain would have more than 128 buffers");'
REFUSED_LENGTH = '        return refuse_parameter("len is not below the size of the data area");'

BROKEN = (
    # ---- what a refused call does all the same
    Broken(
        "refused-append-clears-the-length",
        "mbuf/scenario/A32",
        "mbuf.get-len",
        (("chain.c", REFUSED_APPEND, f"        buf->length = 0;\n{REFUSED_APPEND}"),),
    ),
    Broken(
        "refused-append-clears-a-members-length",
        "mbuf/scenario/A32",
        "mbuf.get-len",
        (("chain.c", REFUSED_APPEND, f"        head->tail->length = 0;\n{REFUSED_APPEND}"),),
    ),
    Broken(
        "refused-length-of-a-copy-lands-in-the-tail",
        "mbuf/scenario/A9",
        "mbuf.set-len.refused-keeps",
        (
            (
                "mbuf.c",
                REFUSED_LENGTH,
                f"        if (buf->area->references > 1 && buf->tail) {{ buf->tail->length = len; }}\n{REFUSED_LENGTH}",
            ),
        ),
    ),
    # ---- what a call does to a relative of its handle
    _freed("free-of-copy-resets-length", "mbuf.", "if (a->owner && a->owner != buf) { a->owner->length = 0; }"),
    _freed(
        "free-of-copy-clears-private",
        "mbuf.",
        "if (a->owner && a->owner != buf) { private_area_clear(a->owner); }",
    ),
    _freed("free-of-original-resets-length", "mbuf.", "if (a->copy && a->owner == buf) { a->copy->length = 0; }"),
    Broken(
        "append-resets-a-middle-length",
        "mbuf/related/aclrtAppendBufChain",
        "mbuf.get-len",
        (
            (
                "chain.c",
                "    head->tail->next = buf;",
                "    if (head->count > 2) { head->next->next->length = 0; }\n    head->tail->next = buf;",
            ),
        ),
    ),
    Broken(
        "destroy-drops-another-registration",
        "allocator/related/aclrtAllocatorDestroyDesc",
        "allocator.",
        (("registration.c", DESTROY, DESTROY + " if (entry->next) { registration_remove(entry->next->stream); }"),),
    ),
    Broken(
        "destroy-mixes-registrations",
        "allocator/related/aclrtAllocatorDestroyDesc",
        "allocator.get.destroyed",
        (("registration.c", DESTROY, DESTROY + " entry->hooks.free = registrations->hooks.free;"),),
    ),
    Broken(
        "unregister-drops-its-neighbour",
        "allocator/related/aclrtAllocatorUnregister",
        "allocator.",
        (
            (
                "registration.c",
                "NULL : entry->next;",
                "NULL : entry->next && entry->next->next ? entry->next->next : entry->next;",
            ),
        ),
    ),
    # ---- narrow fields and edges, by the place of the handle
    _length("length-of-member-16-bit", "mbuf/scenario/A13", "chain_is_member(buf) ? (uint16_t)len : len"),
    _length("length-of-head-16-bit", "mbuf/scenario/A13", "buf->count > 1 ? (uint16_t)len : len"),
    _length("length-of-member-signed", "mbuf/scenario/A13", "chain_is_member(buf) ? (size_t)(int)len : len"),
    Broken(
        "length-limit-of-last-owner",
        "mbuf/limit/aclrtSetBufDataLen",
        "mbuf.set-len.limit",
        (
            *OWNER,
            *OWNED,
            ("mbuf.c", "return len < buf->area->size;\n}", "return len < buf->area->size + !buf->area->owner;\n}"),
            ("mbuf.c", AREA_GONE, "    if (buf->area->owner == buf) { buf->area->owner = NULL; }\n" + AREA_GONE),
        ),
    ),
    # ---- tables that are too small
    Broken(
        "64-private-areas",
        "mbuf/crowd",
        "mbuf.get-user",
        (
            ("private_area.c", "enum { FRESH", "static unsigned char table[64][96];\nenum { FRESH"),
            ("private_area.c", STORE, f"memcpy(table[{SLOT} % 64] + offset, data, size);"),
            ("private_area.c", LOAD, f"memcpy(data, table[{SLOT} % 64] + offset, size);"),
        ),
    ),
    Broken(
        "64-lengths",
        "mbuf/crowd",
        "mbuf.get-len",
        (
            ("mbuf.c", LENGTH_OF, LENGTH_OF + f"    static size_t table[64];\n    return &table[{SLOT} % 64];\n"),
            (
                "mbuf.c",
                "static struct pool mbufs",
                "static size_t *length_of(struct mbuf *buf);\nstatic struct pool mbufs",
            ),
            ("mbuf.c", "    buf->length = 0;", "    *length_of(buf) = 0;"),
        ),
    ),
    Broken(
        "32-streams",
        "allocator/crowd",
        "allocator.",
        (
            ("registration.c", PLACE, PLACE + "\n#define PLACE(s) ((uintptr_t)(s) / sizeof(*(s)) % 32)"),
            ("registration.c", "return one == other;", "return PLACE(one) == PLACE(other);"),
        ),
    ),
    Broken(
        "32-descriptions",
        "allocator/crowd",
        "allocator.",
        (
            (
                "descriptor.c",
                "    desc->hooks.alloc = func;",
                "    desc->hooks.alloc = func;\n    table[(uintptr_t)desc / sizeof(*desc) % 32] = func;",
            ),
            (
                "descriptor.c",
                "static aclrtAllocatorDesc create_desc",
                "aclrtAllocatorAllocFunc table[32];\nstatic aclrtAllocatorDesc create_desc",
            ),
            ("registration.c", PLACE, PLACE + "\nextern aclrtAllocatorAllocFunc table[32];"),
            (
                "registration.c",
                COPIED,
                "    entry->source = desc;\n"
                "    entry->hooks.alloc = table[(uintptr_t)desc / sizeof(*desc) % 32];\n    registrations = entry;",
            ),
        ),
    ),
    Broken(
        "40-descriptions",
        "allocator/crowd",
        "allocator.create.succeeds",
        (
            (
                "descriptor.c",
                "    if (desc == NULL) {\n        (void)refuse_memory();",
                "    if (descriptors.live_slots > 40) { pool_give(&descriptors, desc); desc = NULL; }\n"
                "    if (desc == NULL) {\n        (void)refuse_memory();",
            ),
        ),
    ),
    Broken(
        "set-in-the-last-description",
        "allocator/crowd",
        "allocator.",
        (
            (
                "descriptor.c",
                "static aclrtAllocatorDesc create_desc",
                "static struct descriptor *last;\nstatic aclrtAllocatorDesc create_desc",
            ),
            ("descriptor.c", "    return desc;\n}\n\n/* Reg", "    last = desc;\n    return desc;\n}\n\n/* Reg"),
            ("descriptor.c", "    desc->hooks.free = func;", "    last->hooks.free = func;"),
        ),
    ),
    Broken(
        "areas-from-a-ring",
        "mbuf/crowd",
        "mbuf.data.apart",
        (
            (
                "area.c",
                "    area->size = size;",
                "    static unsigned char ring[1 << 18];\n    static size_t at;\n    if (size <= 65536) {\n"
                "        free(area->bytes - padding);\n        at = at + size > sizeof(ring) ? 0 : at;\n"
                "        area->bytes = ring + at;\n        at += size;\n    }\n    area->size = size;",
            ),
            ("area.c", "        free(bytes - padding);", "        if (size > 65536) { free(bytes - padding); }"),
        ),
    ),
    Broken(
        "large-areas-from-one-place",
        "mbuf/scenario/A11/large-apart",
        "mbuf.data.apart",
        (
            (
                "area.c",
                "    area->size = size;",
                "    static unsigned char *large;\n    if (!is_on_heap(size)) {\n"
                "        large = large ? large : inner_map((size_t)1 << 33);\n        area->bytes = large;\n    }\n"
                "    area->size = size;",
            ),
            ("area.c", "        inner_unmap(bytes - padding, memory_of(size));", "        return;"),
        ),
    ),
    # ---- what wears out, and what a recycled handle remembers
    Broken(
        "256th-length-refused",
        "mbuf/cycle/aclrtSetBufDataLen",
        "mbuf.set-len.succeeds",
        (
            ("mbuf.h", "    uint32_t count;", "    unsigned char calls;\n    uint32_t count;"),
            ("mbuf.c", "    buf->located = false;", "    buf->located = false;\n    buf->calls = 0;"),
            (
                "mbuf.c",
                "    *length_of(buf) = len;",
                '    if (++buf->calls == 0) { return refuse_parameter("worn out"); }\n    *length_of(buf) = len;',
            ),
        ),
    ),
    Broken(
        "recycled-member-stays-in-its-chain",
        "mbuf/scenario/A14",
        "mbuf.append",
        (
            ("mbuf.c", "        chain_reset(buf);\n", "        buf->next = NULL; buf->tail = buf; buf->count = 1;\n"),
            ("chain.c", "    head->count--;\n    chain_reset(member);", "    head->count--;\n    member->next = NULL;"),
            ("chain.c", "    chain_reset(head);\n}", "    head->next = NULL; head->tail = head; head->count = 1;\n}"),
        ),
    ),
)


@cache
def tables() -> tuple[Spec, tuple[Case, ...]]:
    """Tables and cases, once a process."""
    spec = load_spec()
    return spec, cached_cases(spec)


def built(folder: Path, edits: tuple[tuple[str, str, str], ...]) -> Path:
    """The core with `edits` made; every old text stands there, and the first place that it has is changed."""
    shutil.copytree(CORE, folder / "core")
    for name, old, new in edits:
        source = folder / "core" / "src" / name
        text = source.read_text()
        assert old in text, f"{name}: {old!r} is not there any more"
        source.write_text(text.replace(old, new, 1))
    library = folder / "libbroken.so"
    sources = sorted(map(str, (folder / "core" / "src").glob("*.c")))
    warnings = ("-Wno-error", "-w")
    command = [*COMPILE, *warnings, "-I", str(folder / "core" / "include"), *sources, "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


def accusations(library: Path, prefix: str, enough: int) -> tuple[int, set[str]]:
    """Cases judged, and the clauses of the headlines; stops when `enough` cases accuse."""
    spec, cases = tables()
    chosen = [case for case in cases if case.id.startswith(prefix) and not case.planned]
    clauses: set[str] = set()
    accusing = 0
    with open_backend("acl", Options(library=str(library))) as session:
        for case in chosen:
            if case.needs <= session.capabilities and accusing < enough:
                judgement = judge(spec, case.program, session.run(case.program, solo=case.solo))
                clauses |= {finding.clause for finding in judgement.discrepancies}
                accusing += bool(judgement.discrepancies)
    return len(chosen), clauses


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_core_is_accused(broken: Broken, tmp_path: Path) -> None:
    judged, clauses = accusations(built(tmp_path, broken.edits), broken.cases, 3)
    assert judged
    assert any(clause.startswith(broken.clause) for clause in clauses), clauses


SILENT = (
    (
        "mbuf.c",
        "    if (data != NULL) {\n",
        "    if (data == NULL || size == NULL) { return ACL_SUCCESS; }\n    if (data != NULL) {\n",
    ),
)
SILENT_EITHER = (
    ("answers.h", "#define CORE_ANSWER_DATA_ONE_NULL CORE_ANSWER_UNNAMED", "#define CORE_ANSWER_DATA_ONE_NULL 1"),
)


def test_an_open_call_that_tells_nothing_is_not_accused(tmp_path: Path) -> None:
    """What aclrtGetBufData does with one output NULL is open: success without telling the other one included."""
    judged, clauses = accusations(built(tmp_path, SILENT + SILENT_EITHER), "mbuf/null/aclrtGetBufData", 1)
    assert judged
    assert not clauses
