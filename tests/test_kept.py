"""What is kept between starts: found again, made anew when it is damaged or something it follows from has changed."""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acl_cts.backends.native.kept_text import kept_text
from acl_cts.specs.kept import CODE, DATA, cache_folder, digest_of, kept, sources_of

DIGEST = hashlib.sha256().digest_size
START = """
import json, sys
from acl_cts.specs.loader import load_spec
from acl_cts.specs.oracle import judge
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, End, Ending, Trace
compiled = []
real = compile
import builtins
builtins.compile = lambda *given, **more: compiled.append(given[1]) or real(*given, **more)
spec = load_spec()
program = parse_program("# acl-cts program 1\\nx = aclrtAllocBuf(size=64)\\n")
trace = Trace((CallRecord(0, (), "aclrtAllocBuf", 100000),), Ending(End.COMPLETED))
verdict = judge(spec, program, trace).verdict
print(json.dumps([spec.digest, len(spec.clauses), "yaml" in sys.modules, compiled.count("<table>"), verdict]))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "acl-cts" / "kept"


class Maker:
    """Counts how often it was asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return b"made %d" % self.times


def test_it_is_made_once_for_the_same_causes(cache: Path) -> None:
    make = Maker()
    assert [kept("thing", ("a", "b"), (), make) for _ in range(3)] == [b"made 1"] * 3
    assert kept("thing", ("ab",), (), make) == b"made 2"
    assert kept("thing", ("a", "b"), (), make) == b"made 3"
    assert kept("other", ("a", "b"), (), make) == b"made 4"
    assert sorted(path.name for path in cache.iterdir()) == ["other", "thing"]


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"", lambda d: d[:-1] + b"2"])
def test_what_is_damaged_is_made_anew(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    make = Maker()
    kept("thing", (), (), make)
    path = cache / "thing"
    path.write_bytes(damage(path.read_bytes()))
    assert kept("thing", (), (), make) == b"made 2"
    assert kept("thing", (), (), make) == b"made 2"


def test_where_nothing_can_be_kept_it_is_made_each_time(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"no folder")
    make = Maker()
    assert [kept("thing", (), (), make), kept("thing", (), (), make)] == [b"made 1", b"made 2"]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("1")
    (folder / "inner" / "b.yaml").write_text("2")
    return folder


def test_a_digest_goes_by_names_and_contents_of_visible_sources(sources: Path) -> None:
    first = digest_of(sources, CODE), digest_of(sources, DATA)
    assert len(set(first)) == 2
    (sources / "notes.txt").write_text("no source")
    (sources / ".#a.py").symlink_to("somebody@host.123:456")  # as an editor locks a file
    (sources / "folder.py").mkdir()
    assert (digest_of(sources, CODE), digest_of(sources, DATA)) == first
    (sources / "a.py").write_text("2")
    second = digest_of(sources, CODE)
    (sources / "a.py").rename(sources / "c.py")
    assert len({first[0], second, digest_of(sources, CODE)}) == 3
    assert digest_of(sources, DATA) == first[1]


def test_it_is_made_anew_when_a_source_has_changed(sources: Path) -> None:
    make = Maker()
    assert [kept("thing", (), (sources_of(sources),), make) for _ in range(2)] == [b"made 1"] * 2
    (sources / "inner" / "b.yaml").write_text("3")
    assert [kept("thing", (), (sources_of(sources),), make) for _ in range(2)] == [b"made 2"] * 2
    (sources / "a.py").write_text("3")
    assert kept("thing", (), (sources_of(sources),), make) == b"made 3"


def test_what_code_makes_that_is_no_more_there_is_not_kept(sources: Path) -> None:
    """As in a process that was started before somebody edited a file."""
    make, imported = Maker(), sources_of(sources)
    (sources / "a.py").write_text("edited")
    assert [kept("thing", (), (imported,), make) for _ in range(2)] == [b"made 1", b"made 2"]
    assert kept("thing", (), (sources_of(sources),), make) == b"made 3"
    (sources / "a.py").write_text("1")
    assert kept("thing", (), (imported,), make) == b"made 4"

    def edited() -> bytes:
        (sources / "inner" / "b.yaml").write_text("while it was made")
        return make()

    assert kept("thing", ("other",), (imported,), edited) == b"made 5"
    (sources / "inner" / "b.yaml").write_text("2")
    assert kept("thing", ("other",), (imported,), make) == b"made 6"


def test_for_somebody_without_a_home_it_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    assert not cache_folder().parent.parent.exists()
    monkeypatch.setattr(os, "replace", None)  # nothing comes so far
    monkeypatch.setattr(Path, "mkdir", refused)
    make = Maker()
    assert [kept("thing", (), (), make) for _ in range(2)] == [b"made 1", b"made 2"]


def refused(*given: object, **more: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_a_text_is_rendered_once() -> None:
    rendered = iter("abc")

    def text(*inputs: str) -> str:
        return kept_text("thing", inputs, (), lambda: next(rendered))

    assert [text("tables"), text("tables"), text("other tables")] == ["a", "a", "b"]


def start() -> list[object]:
    """What a new process has read: digest of the tables, clauses, whether from YAML, texts compiled, a verdict."""
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True, env=os.environ)
    told: list[object] = json.loads(done.stdout)
    return told


def test_tables_are_read_and_compiled_once(cache: Path) -> None:
    digest, clauses, read, compiled, verdict = first = start()
    assert (read, verdict) == (True, "fail")
    assert isinstance(compiled, int)
    assert compiled > 100
    assert start() == [digest, clauses, False, 0, verdict]
    shutil.rmtree(cache)
    assert start() == first


@pytest.mark.parametrize(
    "other", [b"", b"garbage", pickle.dumps("no tables"), marshal.dumps(["no code"]), marshal.dumps({"": "no code"})]
)
def test_something_else_in_their_place_is_passed_over(cache: Path, other: bytes) -> None:
    first = start()
    for name in ("tables", "rules"):
        path = cache / name
        path.write_bytes(path.read_bytes()[:DIGEST] + hashlib.sha256(other).digest() + other)
    assert start() == first
