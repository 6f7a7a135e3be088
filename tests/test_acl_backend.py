"""The acl backend: finding a library, and saying why it cannot be used. The registry of backends."""

from __future__ import annotations

import importlib.metadata
import subprocess
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from native_libraries import build

from acl_cts.backends import registry
from acl_cts.backends.acl.discovery import find_library
from acl_cts.backends.backend import BackendError, Options
from acl_cts.backends.core_backend import CoreBackend
from acl_cts.backends.native.elf import machine
from acl_cts.backends.native.session import NativeSession
from acl_cts.backends.registry import backends, open_backend
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import CallRecord, End


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return build(tmp_path)


def test_the_environment_of_the_vendor_leads_to_the_library(tmp_path: Path, library: Path) -> None:
    home = tmp_path / "ascend" / "lib64"
    home.mkdir(parents=True)
    found = home / "libascendcl.so"
    library.rename(found)
    assert find_library("", {"ASCEND_HOME_PATH": str(home.parent)}) == found
    assert find_library("", {"ASCEND_TOOLKIT_HOME": str(home.parent)}) == found
    assert find_library("", {"LD_LIBRARY_PATH": f"/nowhere::{home}"}) == found
    assert find_library("", {"ASCEND_HOME_PATH": "/nowhere", "LD_LIBRARY_PATH": str(home)}) == found
    assert find_library(str(home), {}) == found


def test_absence_is_one_line_that_says_where_it_looked() -> None:
    with pytest.raises(BackendError) as error:
        find_library("", {"ASCEND_HOME_PATH": "/opt/a", "LD_LIBRARY_PATH": "/opt/b"})
    assert str(error.value) == (
        "acl: no libascendcl.so found (looked in /opt/a/lib64/libascendcl.so, /opt/b/libascendcl.so); "
        "source the vendor's set_env.sh or pass --library PATH"
    )
    with pytest.raises(BackendError, match="none of which is set"):
        find_library("", {})


def test_a_library_of_another_machine_is_named_as_such(tmp_path: Path, library: Path) -> None:
    foreign = bytearray(library.read_bytes())
    here = machine(library)
    foreign[18:20] = (183 if here != "aarch64" else 62).to_bytes(2, "little")
    path = tmp_path / "libforeign.so"
    path.write_bytes(bytes(foreign))
    with pytest.raises(BackendError) as error:
        open_backend("acl", Options(library=str(path)))
    assert f"{path} is made for {machine(path)}, this machine is {here}; " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_library_by_path_is_judged_unpinned_with_its_identity(library: Path) -> None:
    with open_backend("acl", Options(library=str(library))) as session:
        assert isinstance(session, NativeSession)
        identity = session.identity
        assert (identity.backend, identity.library) == ("acl", str(library))
        assert len(identity.sha256) == 64
        trace = session.run(parse_program("a = aclrtAllocBuf(size=64)\naclrtFreeBuf(buf=a)\n"))
    assert trace.ending.kind is End.COMPLETED
    assert [r.ret for r in trace.records if isinstance(r, CallRecord)] == [0, 0]


def test_libraries_that_cannot_be_loaded(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not a library")
    empty = tmp_path / "empty.so"
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(empty), str(source)], check=True)
    source.write_text("int absent(void); int f(void) { return absent(); }\n")
    needing = tmp_path / "needing.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(needing), str(source)], check=True)
    for path, said in (
        (tmp_path / "none.so", "no library at .*check --library PATH"),
        (text, "text.so cannot be used: .*(invalid ELF header|file too short)"),
        (needing, "needing.so cannot be used: .*undefined symbol: absent"),
        (empty, "exports none of the 21 functions"),
    ):
        with pytest.raises(BackendError, match=said) as error:
            open_backend("acl", Options(library=str(path)))
        assert "\n" not in str(error.value)


def test_data_access_is_checked(library: Path) -> None:
    with pytest.raises(BackendError, match="no data access 'guess'; use one of auto, direct, copy"):
        open_backend("acl", Options(library=str(library), data_access="guess"))
    with pytest.raises(BackendError, match="exports no aclrtMemcpy"):
        open_backend("acl", Options(library=str(library), data_access="copy"))


def test_names_of_backends() -> None:
    assert list(backends())[:3] == ["core", "simulator", "acl"]
    for backend in backends().values():
        assert backend.summary
    with pytest.raises(BackendError, match="no backend 'cuda'; there are core, simulator, acl"):
        open_backend("cuda", Options())
    with pytest.raises(
        BackendError, match=r"core: no flavour 'msan'; did you mean tsan\?; there are plain, asan, cover, tsan"
    ):
        open_backend("core:msan", Options())
    with pytest.raises(BackendError, match="no profile 'nobody'"):
        open_backend("simulator:nobody", Options())
    with open_backend("simulator:opposite", Options()) as session:
        assert session.identity.details["profile"] == "opposite"


class _Elsewhere:
    name = "elsewhere"
    summary = "somebody's"

    def open(self, options: Options) -> NativeSession:
        return CoreBackend().open(options)


def test_other_packages_may_announce_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    here = EntryPoint("elsewhere", f"{__name__}:_Elsewhere", registry.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [here] if group == registry.GROUP else [])
    assert list(backends()) == ["core", "simulator", "acl", "elsewhere"]
    broken = EntryPoint("broken", "no_such_module:Backend", registry.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [broken])
    with pytest.raises(BackendError, match="backend broken of no_such_module:Backend cannot be loaded"):
        backends()
