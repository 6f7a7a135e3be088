"""Packages made to harm whoever looks at them: each is one clear line, none is unpacked, none is a traceback."""

from __future__ import annotations

import gc
import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packages import Members, journal_line, lines_of, listed_again, members_of, put_lines, tampered, told, zipped

from acl_cts.main import main
from acl_cts.qualification import verify_package
from acl_cts.qualification.telling import text
from acl_cts.reports import archive
from acl_cts.reports.archive import Archive, ArchiveError
from acl_cts.reports.harmless import harmless

PLAIN = {"manifest.json": b"{}", "results.json": b"{}"}


def with_members(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """A zip file with these members, whatever they are called."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("results.json")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def named(name: str) -> bytes:
    return with_members((name, b"x"))


def patched(raw: bytes, mark: bytes, offset: int, form: str, value: int) -> bytes:
    """`raw` with a field changed in the record that begins with the last `mark`."""
    place = raw.rindex(mark) + offset
    return raw[:place] + struct.pack(form, value) + raw[place + struct.calcsize(form) :]


def under_another_name(raw: bytes, name: bytes, other: bytes) -> bytes:
    """`raw` where a name is another one of the same length: names that Python's writer refuses or warns of."""
    assert len(name) == len(other)
    return raw.replace(name, other)


GOOD = zipped(PLAIN)
DIRECTORY, END = b"PK\x01\x02", b"PK\x05\x06"

HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not-a-zip"),
    "text": (b"hello, this is no package at all", "not-a-zip"),
    "cut off": (GOOD[:-9], "truncated"),
    "cut off early": (GOOD[: len(GOOD) // 2], "truncated"),
    "something appended": (GOOD + b"more", "truncated"),
    "something in front": (b"MZ" + GOOD, "not-a-zip"),
    "comment": (patched(GOOD, END, 20, "<H", 3) + b"abc", "truncated"),
    "absolute path": (named("/etc/passwd"), "bad-path"),
    "path upwards": (named("a/../../x"), "bad-path"),
    "path of another system": (under_another_name(named("aXbXc.txt"), b"aXbXc.txt", b"a\\b\\c.txt"), "bad-path"),
    "drive": (named("c:x"), "bad-path"),
    "folder": (with_members(("folder/", b"")), "bad-path"),
    "empty part": (named("a//b"), "bad-path"),
    "line break": (named("a\nb"), "bad-name"),
    "escape": (named("a\x1b[2Jb"), "bad-name"),
    "zero byte": (under_another_name(named("results.jsonX"), b"results.jsonX", b"results.json\0"), "bad-name"),
    "link": (with_members((link(), b"/etc/passwd")), "not-a-file"),
    "twice": (under_another_name(with_members(("a1", b"x"), ("a2", b"y")), b"a2", b"a1"), "duplicate-name"),
    "case only": (with_members(("a", b"x"), ("A", b"y")), "case-twins"),
    "encrypted": (patched(GOOD, DIRECTORY, 8, "<H", 1), "encrypted"),
    "another packing": (patched(GOOD, DIRECTORY, 10, "<H", 12), "unknown-form"),
    "bomb": (with_members(("a", b"\0" * 2**22)), "bomb"),
    "too large": (patched(GOOD, DIRECTORY, 24, "<I", 2**31), "too-large"),
    "too many": (patched(patched(GOOD, END, 8, "<H", 65000), END, 10, "<H", 65000), "too-many"),
    "two heads": (patched(GOOD, DIRECTORY, 16, "<I", 1), "two-faced"),
    "overlapping": (patched(GOOD, DIRECTORY, 42, "<I", 0), "hidden-bytes"),
    "in parts": (patched(GOOD, END, 4, "<H", 1), "not-a-zip"),
}
"""By what is wrong with it: the file, and the word for it."""


@pytest.mark.parametrize("what", HOSTILE)
def test_an_archive_that_is_not_safe_to_read_is_refused(what: str) -> None:
    raw, kind = HOSTILE[what]
    with pytest.raises(ArchiveError) as refused:
        Archive.take(Path("p.zip"), raw)
    assert refused.value.kind == kind
    assert str(refused.value).isprintable()


def test_more_than_a_limit_in_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_TOTAL", 5)
    with pytest.raises(ArchiveError, match="unpacks to 6 bytes") as refused:
        Archive.take(Path("p.zip"), with_members(("a", b"abc"), ("b", b"abc")))
    assert refused.value.kind == "too-large"


def test_lines_are_read_with_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LONGEST_LINE", 8)
    opened = Archive.take(Path("p.zip"), with_members(("a", b"short\nlonger than that\n")))
    with pytest.raises(ArchiveError, match="has a line"):
        list(opened.lines("a"))


def test_a_plain_archive_is_read() -> None:
    opened = Archive.take(Path("p.zip"), GOOD)
    assert {name: opened.read(name) for name in opened.sizes} == PLAIN


def test_content_that_was_changed_cannot_be_unpacked() -> None:
    raw = bytearray(with_members(("a", bytes(range(256)) * 9)))
    raw[60] ^= 0xFF
    with pytest.raises(ArchiveError) as refused:
        Archive.take(Path("p.zip"), bytes(raw)).read("a")
    assert refused.value.kind == "damaged"


# ---------------------------------------------------------------------------- content, in a package that is in order


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of very few cases."""
    folder = tmp_path_factory.mktemp("few")
    with pytest.raises(SystemExit) as ended:
        main(["qualify", "--backend", "simulator", "--group", "simple", "--out", str(folder / "few.zip"), "-q"])
    gc.enable()
    assert ended.value.code == 0
    return folder / "few.zip"


TRACES = "traces/simulator.jsonl"
DEEP = b"[" * 200_000


def put(name: str, old: bytes, new: bytes) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        assert old in members[name]
        members[name] = members[name].replace(old, new, 1)

    return edit


def journal_without_end(members: Members) -> None:
    text = b'{"event": "judged", "result": ' + DEEP
    members["journal.jsonl"] += b"%08x %b\n" % (zlib.crc32(text), text)


CONTENT: dict[str, Callable[[Members], None]] = {
    "nested results": put("results.json", b'"seed": null', b'"seed": ' + DEEP),
    "nested trace": lambda members: members.update({TRACES: members[TRACES] + b'{"id": ' + DEEP + b"\n"}),
    "nested journal": journal_without_end,
    "NaN in results": put("results.json", b'"seed": null', b'"seed": NaN'),
    "NaN in a trace": put(TRACES, b'"step":0', b'"step":NaN'),
    "infinity": put("results.json", b'"seed": null', b'"seed": -Infinity'),
    "huge number": put("results.json", b'"seed": null', b'"seed": ' + b"9" * 5000),
    "name twice": put("results.json", b'"seed": null', b'"seed": null, "seed": 7'),
    "no JSON": put("results.json", b"{", b"<"),
    "no UTF-8": put("results.json", b'"seed": null', b'"seed": "\xff"'),
}


@pytest.mark.parametrize("what", CONTENT)
def test_content_that_is_not_safe_to_read_is_one_line_and_exit_code_2(
    package: Path, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tampered(package, tmp_path, CONTENT[what])
    with pytest.raises(SystemExit) as ended:
        main(["qualify", "verify", str(path)])
    gc.enable()
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"acl-cts: {path}: ")


def test_another_version_is_asked_for(package: Path, tmp_path: Path) -> None:
    edit: Callable[[Members], None] = lambda members: told(  # noqa: E731
        members, "manifest.json", lambda data: data["about"].update(version="9.9.9")
    )
    with pytest.raises(ArchiveError, match=r"was made by acl-cts 9\.9\.9") as refused:
        verify_package(tampered(package, tmp_path, edit, again=False))
    assert refused.value.kind == "other-version"


def test_a_number_beyond_all_sense_in_a_trace_ends_nothing(package: Path, tmp_path: Path) -> None:
    """Neither a loop of 2^63 turns that were all alike, nor a number of more than 64 bits."""

    def edit(members: Members) -> None:
        lines = lines_of(members, TRACES)
        lines[2]["trace"]["records"].insert(1, {"step": 0, "same": 2**63})
        lines[3]["trace"]["records"][0]["step"] = 2**70
        put_lines(members, TRACES, lines)

    found = verify_package(tampered(package, tmp_path, edit))
    assert "trace" in {str(problem.kind) for problem in found.problems}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_anywhere_is_found_or_changes_nothing_that_is_read(
    package: Path, tmp_path: Path, data: st.DataObject
) -> None:
    raw = bytearray(package.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "damaged.zip"
    path.write_bytes(raw)
    try:
        found = verify_package(path)
    except ArchiveError as error:
        refused = str(error)
    else:
        refused = ""
        if not found.problems:  # as when the time that a member carries has changed
            assert members_of(path) == members_of(package)
    assert refused.isprintable()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_letter_changed_in_any_member_is_named(package: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Also when the manifest was made to fit, but for what people write and the vendor tells."""
    members = members_of(package)
    name = data.draw(st.sampled_from(sorted(members.keys() - {"statement.txt", "manifest.json"})))
    content = bytearray(members[name])
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.sampled_from(sorted({*b'aZ07 {"', 0, 255} - {content[place]})))
    members[name] = bytes(content)
    listed_again(members)
    path = tmp_path / "changed.zip"
    path.write_bytes(zipped(members))
    try:
        found = verify_package(path)
    except ArchiveError:
        return
    if not found.problems:
        # What a trace tells and no judgement rests on: what was printed, raw addresses, bytes that may be any.
        assert name == TRACES or json.loads(members[name]) == json.loads(members_of(package)[name])


@given(st.text())
def test_text_from_elsewhere_becomes_harmless(text: str) -> None:
    shown = harmless(text)
    assert shown.isprintable() or not shown
    assert len(shown.splitlines()) <= 1
    if text.isprintable() and len(text) <= 300:
        assert shown == text or not all(character.isascii() for character in text)


ODD = st.sampled_from(
    [None, True, -1, 7, 2**63, 1.5, "", "x", "p99", "x00", [], {}, [7], ["x"], [[]], {"a": 1}, [{"a": []}]]
)
"""What may stand where something else is meant."""


def places(data: Any, limit: int = 4000) -> list[tuple[Any, Any]]:
    """Every place of JSON in which something stands: what holds it, and its name or number there."""
    found: list[tuple[Any, Any]] = []
    todo = [data]
    while todo and len(found) < limit:
        part = todo.pop()
        names = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        found += [(part, name) for name in names]
        todo += [part[name] for name in names]
    return found


def twisted(data: st.DataObject, whole: Any) -> None:
    """Put something odd in some place of `whole`."""
    part, name = data.draw(st.sampled_from(places(whole)))
    part[name] = data.draw(ODD)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_content_of_any_kind_is_judged_or_refused(package: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Manifest, seals and checksums fit, and something of another kind stands where nobody meant it to."""
    members = members_of(package)
    name = data.draw(st.sampled_from(["results.json", "journal.jsonl", "manifest.json", TRACES]))
    if name == TRACES:
        lines = lines_of(members, name)
        twisted(data, data.draw(st.sampled_from(lines)))
        put_lines(members, name, lines)
    elif name == "journal.jsonl":
        texts = members[name].splitlines()
        place = data.draw(st.integers(0, len(texts) - 1))
        event = json.loads(texts[place].partition(b" ")[2])
        twisted(data, event)
        texts[place] = journal_line(event).rstrip(b"\n")
        members[name] = b"\n".join(texts) + b"\n"
    else:
        told(members, name, lambda whole: twisted(data, whole))
    if name != "manifest.json":
        listed_again(members)
    path = tmp_path / "twisted.zip"
    path.write_bytes(zipped(members))
    try:
        found = verify_package(path)
    except ArchiveError as error:
        assert str(error).isprintable()  # noqa: PT017 (either way is fine, a traceback is not)
    else:
        assert text(found)
