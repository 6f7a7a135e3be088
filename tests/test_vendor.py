"""What a package tells of a vendor's installation: versions, devices, logs written since the run began."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import runner
from native_libraries import build
from packages import members_of

from acl_cts.backends.acl.vendor import LARGEST, devices, log_folder, logs_since, versions
from acl_cts.qualification import verify_package


def installed(root: Path) -> Path:
    """A toolkit in `root/toolkit`, a driver in `root/driver`, and a tool that lists devices in `root/bin`."""
    for name, text in (("toolkit/version.cfg", "8.1"), ("driver/version.info", "24.1"), ("logs/debug/plog.log", "E")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    tool = root / "bin" / "npu-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho devices: $1\n", encoding="utf-8")
    tool.chmod(0o755)
    return root


def test_versions_that_are_installed_are_told(tmp_path: Path) -> None:
    root = installed(tmp_path)
    told = {each.name: each.content for each in versions({"ASCEND_HOME_PATH": str(root / "toolkit")}, root)}
    assert told == {"driver-version.info": b"24.1", "toolkit-version.cfg": b"8.1"}
    assert list(versions({}, tmp_path / "nowhere")) == []


def test_a_file_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    root = installed(tmp_path)
    (root / "driver/version.info").write_bytes(b"x" * (LARGEST + 1))
    assert len(next(versions({}, root)).content) == LARGEST


def test_the_vendors_tool_is_asked_where_there_is_one(tmp_path: Path) -> None:
    root = installed(tmp_path)
    assert [each.content for each in devices({"PATH": f"{root / 'bin'}"})] == [b"devices: info\n"]
    assert list(devices({"PATH": str(tmp_path)})) == []


def test_a_tool_that_cannot_be_started_is_told_not_raised(tmp_path: Path) -> None:
    root = installed(tmp_path)
    (root / "bin/npu-smi").write_bytes(b"\x7fELF, or so it says")
    (told,) = devices({"PATH": str(root / "bin")})
    assert b"npu-smi info: " in told.content


def test_logs_are_those_written_since(tmp_path: Path) -> None:
    root = installed(tmp_path)
    old = root / "logs" / "old.log"
    old.write_text("before", encoding="utf-8")
    os.utime(old, (1000, 1000))
    folder = log_folder({"ASCEND_PROCESS_LOG_PATH": str(root / "logs")})
    assert folder == root / "logs"
    assert logs_since(folder, 2000) == [root / "logs/debug/plog.log"]
    assert log_folder({"HOME": str(tmp_path)}) is None


def test_a_package_of_a_vendors_library_holds_them(tmp_path: Path) -> None:
    root = installed(tmp_path / "ascend")
    os.utime(root / "logs/debug/plog.log", (2**32, 2**32))  # the library writes it while it is judged
    library = build(tmp_path)
    done = runner(tmp_path)(
        *("qualify", "--backend", "acl", "--library", str(library), "--group", "simple", "--out", "v.zip"),
        ASCEND_HOME_PATH=str(root / "toolkit"),
        ASCEND_PROCESS_LOG_PATH=str(root / "logs"),
        PATH=f"{root / 'bin'}:{os.environ['PATH']}",
    )
    members = members_of(tmp_path / "work" / "v.zip")
    vendors = {name: content for name, content in members.items() if name.startswith("vendor/")}
    assert vendors["vendor/toolkit-version.cfg"] == b"8.1", done.stderr
    assert vendors["vendor/npu-smi-info.txt"] == b"devices: info\n"
    assert vendors["vendor/logs/logs/debug/plog.log"] == b"E"
    assert not verify_package(tmp_path / "work" / "v.zip").problems
