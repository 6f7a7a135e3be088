"""Limit probes: conforming libraries show the documented edges, planted edges are found where they are."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from target_build import Target, build

from acl_cts.backends.backend import Options, Session
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.registry import open_backend
from acl_cts.backends.simulator.profile import PROFILES
from acl_cts.conformance.limit_check import limit_problems
from acl_cts.conformance.limit_probe import Choice, every, probe_limits, recipes
from acl_cts.conformance.support import SupportProbe
from acl_cts.reports.limit_result import LimitKind, LimitResult, LimitVerdict
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec

TIGHT = "tight-resources"
AREA = "data_area"


@cache
def tables() -> Spec:
    """The real tables."""
    return load_spec()


def probed(session: Session, choice: Choice = every, spec: Spec | None = None) -> tuple[LimitResult, ...]:
    """Every chosen limit of `session`, which is closed."""
    spec = spec or tables()
    with session:
        support = SupportProbe(spec, session.run, session.missing, session.capabilities).table()
        return probe_limits(spec, session, support, choice=choice)


def only(name: str) -> Choice:
    """The choice of one limit."""
    return lambda limit, recipe: limit.name == name


def others(results: tuple[LimitResult, ...], *verdicts: LimitVerdict) -> list[LimitResult]:
    """Results with none of `verdicts`."""
    return [result for result in results if result.verdict not in verdicts]


# ------------------------------------------------------------------------------------------------ what conforms


def test_every_limit_of_the_tables_has_a_probe_that_its_clauses_agree_with() -> None:
    assert [str(problem) for problem in limit_problems(tables())] == []
    kinds = {(r.limit, r.kind) for r in probed(open_backend("simulator", Options()))}
    assert kinds == {
        ("private_area", LimitKind.ABSOLUTE),
        ("chain", LimitKind.COUNT),
        ("chain_index", LimitKind.RELATIONAL),
        ("data_area", LimitKind.ABSOLUTE),
        ("data_length", LimitKind.RELATIONAL),
    }


@pytest.mark.parametrize("name", [name for name in PROFILES if name != TIGHT])
def test_a_profile_has_every_edge_where_the_documents_have_it(name: str) -> None:
    results = probed(open_backend(f"simulator:{name}", Options()))
    assert len(results) == len(recipes(tables())) == 18
    assert others(results, LimitVerdict.AS_DOCUMENTED) == []
    (area,) = (result for result in results if result.limit == AREA)
    reading = "binary" if PROFILES[name].alloc_between_readings else "decimal"
    assert (area.measured, area.detail) == (dict(area.documented)[reading], f"the {reading} reading")


@pytest.mark.parametrize("defines", [(), ("ACL_CTS_CORE_ALTERNATIVE",)], ids=["default", "alternative"])
def test_the_core_has_every_edge_where_the_documents_have_it(defines: tuple[str, ...]) -> None:
    results = probed(CoreBackend(defines).open(Options()))
    assert others(results, LimitVerdict.AS_DOCUMENTED) == []
    assert {r.measured for r in results if r.limit == AREA} == ({4 * 10**9} if defines else {2**32})


def test_where_resources_are_short_the_largest_area_is_told_and_nobody_accused() -> None:
    results = probed(open_backend(f"simulator:{TIGHT}", Options()))
    area, length = others(results, LimitVerdict.AS_DOCUMENTED)
    assert (area.limit, area.verdict, area.measured, area.up_to) == (AREA, LimitVerdict.INCONCLUSIVE, None, 65536)
    assert "lack of resources" in area.detail
    assert (length.limit, length.verdict) == ("data_length", LimitVerdict.INCONCLUSIVE)
    assert "aclrtAllocBuf answered 207001" in length.detail


# ----------------------------------------------------------------------------------------------------- planted edges


@dataclass(frozen=True, slots=True)
class Planted:
    """A library whose `limit` lies elsewhere. `found`: for each function, parameter and context that must tell so,
    verdict, measured edge (or how far the search went) and a part of the detail; every other probe is as documented."""

    name: str
    limit: str
    define: str
    found: Mapping[tuple[str, str, str], tuple[LimitVerdict, int | None, str]]


DIFFERS, NONE, OPEN = LimitVerdict.DIFFERS, LimitVerdict.NOT_ENFORCED, LimitVerdict.INCONCLUSIVE
SIZE_0, SIZE_64, OFFSET_1, OFFSET_64 = (
    ("size", "at offset 0"),
    ("size", "at offset 64"),
    ("offset", "size 1"),
    ("offset", "size 64"),
)
"""Parameters and contexts in which the private area is probed."""


def _private(name: str, inside: str, *found: tuple[tuple[str, str], LimitVerdict, int | None, str]) -> Planted:
    """A private area with another limit, in both functions alike."""
    functions = ("aclrtSetBufUserData", "aclrtGetBufUserData")
    told = {(f, *where): (verdict, at, detail) for f in functions for where, verdict, at, detail in found}
    return Planted(name, "private_area", f"INSIDE={inside}", told)


def _everywhere(limit: int, detail: str) -> tuple[tuple[tuple[str, str], LimitVerdict, int | None, str], ...]:
    """A private area of exactly `limit` bytes."""
    edges = ((SIZE_0, 0), (SIZE_64, 64), (OFFSET_1, 1), (OFFSET_64, 64))
    return tuple((where, DIFFERS, limit - other, detail) for where, other in edges)


def _chain(name: str, taken: str, verdict: LimitVerdict, at: int, detail: str) -> Planted:
    return Planted(name, "chain", f"TAKEN={taken}", {("aclrtAppendBufChain", "", ""): (verdict, at, detail)})


def _area(name: str, granted: str, verdict: LimitVerdict, at: int | None, detail: str) -> Planted:
    return Planted(name, AREA, f"GRANTED={granted}", {("aclrtAllocBuf", "size", ""): (verdict, at, detail)})


LENGTH = "aclrtSetBufDataLen"
INDEX = "aclrtGetBufFromChain"
AREAS = (1, 2, 4096, 65536, 4 * 10**9)

PLANTED = (
    _private("95", "size <= 95 && offset <= 95 - size", *_everywhere(95, ".succeeds, implied")),
    _private("97", "size <= 97 && offset <= 97 - size", *_everywhere(97, "-user.s")),
    _private("127", "size <= 127 && offset <= 127 - size", *_everywhere(127, "explicit")),
    _private("129", "size <= 129 && offset <= 129 - size", *_everywhere(129, "explicit")),
    _private("255", "size <= 255 && offset <= 255 - size", *_everywhere(255, "explicit")),
    _private(
        "no limit",
        "1",
        *((where, NONE, 65536, "no refusal up to there") for where in (SIZE_0, SIZE_64, OFFSET_1, OFFSET_64)),
    ),
    _private(
        "a sum that wraps",
        "size + offset <= 96",
        (SIZE_64, DIFFERS, 32, str(2**64 - 64)),
        (OFFSET_1, DIFFERS, 95, str(2**64 - 1)),
        (OFFSET_64, DIFFERS, 32, str(2**64 - 64)),
    ),
    _private(
        "a sum in 32 bits",
        "(uint32_t)(size + offset) <= 96",
        *((where, DIFFERS, at, "not monotone") for where, at in ((SIZE_0, 96), (SIZE_64, 32), (OFFSET_1, 95))),
        (OFFSET_64, DIFFERS, 32, str(2**32 - 64)),
    ),
    _private(
        "a signed comparison",
        "(int64_t)size <= 96 && (int64_t)offset <= 96 - (int64_t)size",
        (SIZE_0, DIFFERS, 96, str(2**64 - 96)),
        (OFFSET_1, DIFFERS, 95, "not monotone"),
        (SIZE_64, DIFFERS, 32, "not monotone"),
        (OFFSET_64, DIFFERS, 32, "not monotone"),
    ),
    _private(
        "a hole",
        "size <= 96 && offset <= 96 - size && size != 48",
        (SIZE_0, DIFFERS, 96, "refused although it must be accepted (mbuf."),
    ),
    _private(
        "a crash",
        "size == 48 && offset == 0 ? crash() : 1",
        *((where, NONE, 65536, "no refusal up to there") for where in (SIZE_64, OFFSET_1, OFFSET_64)),
        (SIZE_0, NONE, 65536, "at 48 aclrt"),
    ),
    _chain("127 buffers", "count <= 127", DIFFERS, 127, "mbuf.append.succeeds, implied"),
    _chain("129 buffers", "count <= 129", DIFFERS, 129, "mbuf.append.limit, obligation"),
    _chain("255 buffers", "(uint8_t)count != 0", DIFFERS, 255, "mbuf.append.limit, obligation"),
    _chain("any number", "1", NONE, 4096, "no refusal up to there"),
    _chain("a crash at the 100th", "count == 100 ? crash() : 1", DIFFERS, 99, "at 100 aclrtAppendBufChain crashed"),
    _chain("one refused in between", "count != 50 || (head = NULL)", DIFFERS, 49, "50"),
    Planted(
        "length is size",
        "data_length",
        "LENGTH=len <= size",
        {(LENGTH, "len", f"area size {n}"): (DIFFERS, n, "mbuf.set-len.limit, obligation") for n in AREAS},
    ),
    Planted(
        "length in 32 bits",
        "data_length",
        "LENGTH=(uint32_t)len < size",
        {(LENGTH, "len", f"area size {n}"): (DIFFERS, n - 1, "not monotone") for n in AREAS},
    ),
    Planted(
        "length signed",
        "data_length",
        "LENGTH=(int32_t)len >= 0 && len < size",
        {(LENGTH, "len", f"area size {AREAS[-1]}"): (DIFFERS, 2**31 - 1, "mbuf.set-len.succeeds, implied")},
    ),
    Planted(
        "any length",
        "data_length",
        "LENGTH=len + 1 > size ? 1 : 1",
        {(LENGTH, "len", f"area size {n}"): (NONE, 2**64 - 1, "no refusal up to there") for n in AREAS},
    ),
    Planted(
        "one index too many",
        "chain_index",
        "FOUND=index <= count",
        {
            (INDEX, "index", f"{n} appended to the head"): (DIFFERS, n + 1, "mbuf.from-chain.index, implied")
            for n in (1, 2, 127)
        },
    ),
    _area("areas above 4G", "size <= 5000000000", DIFFERS, 5 * 10**9, "mbuf.alloc.limit, obligation"),
    _area("any area", "1", NONE, 2**64 - 1, "no refusal up to there"),
    _area("signed sizes", "(int64_t)size <= 1l << 32", DIFFERS, 2**32, "not monotone"),
    _area("60000 bytes", "size <= 60000", DIFFERS, 60000, "mbuf.alloc.succeeds, implied"),
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.limit}: {planted.name}")
def test_a_planted_edge_is_found(planted: Planted, libraries: Path) -> None:
    results = _results(planted.limit, libraries, planted.define)
    told = {(r.function, r.param, r.context): r for r in results if r.verdict is not LimitVerdict.AS_DOCUMENTED}
    shown = {key: (r.verdict, r.measured if r.up_to is None else r.up_to, r.detail) for key, r in told.items()}
    assert shown.keys() == planted.found.keys()
    for key, (verdict, at, detail) in planted.found.items():
        assert shown[key][:2] == (verdict, at), shown[key]
        assert detail in shown[key][2]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for libraries, so that the core is built once."""
    return tmp_path_factory.mktemp("libraries")


def _results(limit: str, folder: Path, *defines: str, timeout: float = 5.0) -> tuple[LimitResult, ...]:
    target = Target(f"planted-{zlib.crc32(repr(defines).encode()):08x}", "", 1, "planted_limits.c", defines)
    library = build(target, folder)
    return probed(open_backend("acl", Options(library=str(library), call_timeout=timeout)), only(limit))


def test_every_planted_kind_of_limit_is_there() -> None:
    assert {planted.limit for planted in PLANTED} == set(tables().limits)


@pytest.mark.parametrize(("bytes_", "code"), [(1 << 20, 200000), (65536, 200000), (1 << 20, 207005)])
def test_a_lack_of_memory_is_no_edge(bytes_: int, code: int, libraries: Path) -> None:
    (area,) = _results(AREA, libraries, f"GRANTED=size <= {bytes_}", f"REFUSAL={code}")
    assert (area.verdict, area.measured, area.up_to) == (OPEN, None, bytes_)
    assert f"{bytes_ + 1} was refused with {code}" in area.detail


def test_a_lack_of_memory_below_the_floor_is_an_edge(libraries: Path) -> None:
    (area,) = _results(AREA, libraries, "GRANTED=size <= 60000", "REFUSAL=200000")
    assert (area.verdict, area.measured) == (DIFFERS, 60000)


def test_beyond_the_limit_a_lack_of_memory_ends_the_search(libraries: Path) -> None:
    (area,) = _results(AREA, libraries, f"GRANTED=size <= {1 << 40}", "REFUSAL=200000")
    assert (area.verdict, area.measured, area.up_to) == (NONE, None, 1 << 40)


@pytest.mark.parametrize(
    ("inside", "word"),
    [
        ("size == 96 ? hang() : size + offset <= 96", "did not return"),
        ("size == 97 && offset == 0 ? crash() : size <= 96 && offset <= 96 - size", "crashed"),
    ],
)
def test_a_death_at_one_value_is_told_and_the_search_goes_on(inside: str, word: str, libraries: Path) -> None:
    results = _results("private_area", libraries, f"INSIDE={inside}", timeout=0.3)
    assert len(results) == 8
    by_size = next(r for r in results if (r.function, r.context) == ("aclrtGetBufUserData", "at offset 0"))
    assert by_size.verdict is DIFFERS
    assert re.search(rf"at 9[67] aclrtGetBufUserData {word}", by_size.detail)
