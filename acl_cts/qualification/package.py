"""Writing a qualification package: everything that a run rests on, in one zip file."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from acl_cts import __version__
from acl_cts.backends.acl.vendor import devices, log_folder, logs_since, versions
from acl_cts.conformance.case import Case
from acl_cts.conformance.challenge import FILE as CHALLENGE
from acl_cts.conformance.journal import JOURNAL
from acl_cts.conformance.mustpass import list_path
from acl_cts.conformance.plugin import everything
from acl_cts.conformance.profile import load_profile
from acl_cts.conformance.trace_file import FOLDER as TRACES
from acl_cts.conformance.trace_file import in_order, trace_file, whole_lines
from acl_cts.reports.files import ReportError, make_folder, sealed, write_bytes, write_text
from acl_cts.reports.harmless import harmless
from acl_cts.reports.manifest import MANIFEST, Manifest, about, manifest_to_json, member_of
from acl_cts.reports.results import DISCREPANCY, Results
from acl_cts.reports.statement import STATEMENT, statement
from acl_cts.reports.stored import RESULTS, read_results
from acl_cts.specs.loader import table_digests
from acl_cts.specs.model import Spec

CASES = "cases.txt"
"""The member with the id and the clauses of every case, a case a line; its SHA-256 is the hash of the case list."""

PROFILE = "profile.yaml"
LIST = "profile.mustpass.txt"
WAIVERS = "waivers.yaml"
VENDOR = "vendor"
FAILURES = "failures"

MOST_LOGS = 64 * 2**20
"""Bytes of logs that are packed; of the newest files first."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time that every member carries: the same run gives the same package."""


def write_package(run: Path, out: Path, logs: Sequence[Path] = ()) -> Manifest:
    """Pack the report folder `run` of a run that kept its traces into the file `out`, with further `logs`: files, or
    folders of some. Raises ReportError when the folder does not hold what a package needs."""
    results = read_results(run)
    spec, cases, case_list = everything(_tables(results))
    _check(run, results, spec)
    members: dict[str, bytes] = {}
    for name, content in _members(run, results, cases, logs):
        members[_distinct(name, members)] = content
    seed = str(results.options.get("challenge", ""))
    told = about(results, table_digests(_tables(results)), case_list, seed)
    manifest = Manifest(told, tuple(member_of(name, members[name]) for name in sorted(members)))
    members[MANIFEST] = sealed(manifest_to_json(manifest)).encode()
    make_folder(out.parent)
    write_bytes(out, _zipped(members))
    return manifest


def case_lines(cases: Sequence[Case]) -> str:
    """The text of `CASES`."""
    return "".join(f"{case.id} {' '.join(sorted(case.clauses))}\n" for case in sorted(cases, key=lambda case: case.id))


def _distinct(name: str, known: Iterable[str]) -> str:
    """`name` as a member can have it: a plain path that differs from those `known` in more than case."""
    plain = "/".join(part if part not in (".", "..") else "_" for part in harmless(name).split("/"))
    plain = plain.replace("\\", "_").replace(":", "_")
    taken = {each.casefold() for each in known}
    number = 1
    distinct = plain
    while distinct.casefold() in taken:
        number += 1
        distinct = f"{plain}~{number}"
    return distinct


def _tables(results: Results) -> tuple[str, ...]:
    return tuple(map(str, results.options.get("tables", ())))


def _check(run: Path, results: Results, spec: Spec) -> None:
    """Raise ReportError when the run is none that a package can be made of."""
    options = results.options
    wrong = ""
    if results.version != __version__ or results.spec != spec.digest:
        wrong = f"was judged by acl-cts {results.version} with tables {results.spec[:12]}, this is another version"
    elif not results.finished:
        wrong = f"was cut off; go on with `acl-cts run --resume --out {run}`, then pack it"
    elif any(part.trouble for part in results.runs):
        wrong = f"did not come to its end ({next(part.trouble for part in results.runs if part.trouble)})"
    elif results.shard is not None:
        wrong = f"is {results.shard} only; a package is made of a whole run"
    elif not options.get("keep_traces"):
        wrong = "kept no traces; run with --keep-traces"
    elif options.get("baseline"):
        wrong = "was judged by a baseline, which is nobody's promise; run without, and give waivers"
    elif results.fail_on != DISCREPANCY:
        wrong = "counted only some strengths; run without --fail-on"
    elif options.get("repeat", 1) != 1:
        wrong = "repeated its cases; run without --repeat"
    if wrong:
        raise ReportError(f"{run}: the run {wrong}")


def _members(run: Path, results: Results, cases: Sequence[Case], logs: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for name in (RESULTS, JOURNAL):
        yield name, _read(run / name)
    if results.options.get("challenge"):
        yield CHALLENGE, _read(run / CHALLENGE)
    yield CASES, case_lines(cases).encode()
    if not (run / STATEMENT).exists():
        write_text(run / STATEMENT, statement(results))
    yield STATEMENT, _read(run / STATEMENT)
    for backend in results.runs:
        path = trace_file(run, backend.backend)
        try:
            lines = in_order(whole_lines(path), (case.id for case in backend.cases))
            yield f"{TRACES}/{path.name}", b"".join(line + b"\n" for line in lines)
        except OSError as error:
            raise ReportError(f"{path}: cannot be read ({error.strerror}); run again with --keep-traces") from error
    yield from _expected(results)
    for path in sorted((run / FAILURES).rglob("*")):
        if path.is_file():
            yield path.relative_to(run).as_posix(), _read(path)
    yield from _vendor(results, logs)


def _expected(results: Results) -> Iterator[tuple[str, bytes]]:
    """Profile, must-pass list and waivers, which must be those that the run had."""
    options = results.options
    if results.profile is not None:
        profile = load_profile(str(options["profile"]), everything(_tables(results))[0])
        yield PROFILE, _same(profile.written.path, results.profile.sha256)
        if results.profile.must_pass:
            yield LIST, _same(list_path(profile), results.profile.must_pass)
    if results.expected is not None and results.expected.waiver_file:
        yield WAIVERS, _same(Path(results.expected.waiver_file), results.expected.waiver_sha256)


def _same(path: Path, sha256: str) -> bytes:
    content = _read(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ReportError(f"{path}: was changed since the run; run again, or put back what it was")
    return content


def _vendor(results: Results, logs: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """What the vendor's installation tells, and its logs."""
    if any(run.backend.partition(":")[0] == "acl" for run in results.runs):
        for told in (*versions(os.environ), *devices(os.environ)):
            yield f"{VENDOR}/{told.name}", told.content
        folder = log_folder(os.environ)
        if folder is not None and not logs:
            began = datetime.fromisoformat(results.started).timestamp()
            yield from _logs(folder, logs_since(folder, began))
    for path in logs:
        if not path.exists():
            raise ReportError(f"{path}: no log there; check --logs")
        yield from _logs(path if path.is_dir() else path.parent, logs_since(path, 0) if path.is_dir() else [path])


def _logs(folder: Path, files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    left = MOST_LOGS
    omitted = []
    for path in sorted(files, key=lambda path: path.stat().st_mtime, reverse=True):
        name = path.relative_to(folder).as_posix()
        left -= path.stat().st_size
        if left < 0:
            omitted.append(name)
        else:
            yield f"{VENDOR}/logs/{folder.name}/{name}", _read(path)
    if omitted:
        told = f"left out, beyond the {MOST_LOGS} bytes that are packed:\n" + "".join(f"{name}\n" for name in omitted)
        yield f"{VENDOR}/logs/{folder.name}-left-out.txt", told.encode("utf-8", "backslashreplace")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error


def _zipped(members: dict[str, bytes]) -> bytes:
    """The zip file: the manifest first, then the members in order."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(members, key=lambda name: (name != MANIFEST, name)):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 3, 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name])
    return file.getvalue()
