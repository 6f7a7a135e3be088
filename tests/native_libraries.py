"""Small libraries of the tests: `native_target.c` with this or that behaviour."""

from __future__ import annotations

import subprocess
from pathlib import Path

from acl_cts.backends.backend import Options
from acl_cts.backends.native.session import NativeSession, Place
from acl_cts.specs.loader import load_spec
from acl_cts.specs.program_text import parse_program
from acl_cts.specs.trace import Trace

SOURCE = Path(__file__).with_name("native_target.c")


def build(folder: Path, *flags: str, **behaviour: str) -> Path:
    """The library with these macros (lower case here), compiled into `folder`."""
    library = folder / "libtarget.so"
    defines = [f"-D{name.upper()}={text}" for name, text in behaviour.items()]
    subprocess.run(
        ["gcc", "-std=c11", "-O1", "-fPIC", "-shared", *flags, *defines, "-o", str(library), str(SOURCE)],
        check=True,
        capture_output=True,
    )
    return library


def open_library(library: Path, options: Options | None = None, *, pinned: bool = False) -> NativeSession:
    """A session on `library`."""
    return NativeSession(Place("test", library, pinned), load_spec().interface, options or Options(call_timeout=0.5))


def run(session: NativeSession, text: str) -> Trace:
    """What the library answers to the program of `text`."""
    return session.run(parse_program(text))
