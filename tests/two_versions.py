"""Two versions of a library: the C core as it is, and one with three planted defects and one open point answered in
another way. As a vendor's, they show nothing but their API."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from acl_cts.backends.core_defects import enumerator

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "backends" / "core"
COMPILE = ("gcc", "-std=c11", "-O1", "-fPIC", "-shared", "-pthread", "-w")

DEFECTS = ("append-one-too-many", "append-clears-the-length", "append-of-shared-area-refused")
ANSWER = "CORE_ANSWER_APPEND_SELF=1"

ONE = "#define DEFECT(id) (CORE_DEFECT == CORE_DEFECT_##id)"
"""How the core asks for the one defect of a build."""


def build_version(folder: Path, defects: tuple[str, ...] = (), *defines: str) -> Path:
    """The core with all of `defects`, in `folder`."""
    source = folder / "source"
    shutil.copytree(CORE, source, dirs_exist_ok=True)
    header = source / "src" / "defects.h"
    text = header.read_text(encoding="utf-8")
    assert ONE in text
    several = " || ".join(["0", *(f"CORE_DEFECT_##id == {enumerator(defect)}" for defect in defects)])
    header.write_text(text.replace(ONE, f"#define DEFECT(id) ({several})"), encoding="utf-8")
    library = folder / "libascendcl.so"
    sources = sorted(str(path) for path in (source / "src").glob("*.c"))
    options = [f"-I{source / 'include'}", *(f"-D{define}" for define in defines)]
    script = f"-Wl,--version-script={HERE / 'targets' / 'core.map'},-Bsymbolic-functions"
    subprocess.run([*COMPILE, *sources, *options, script, "-o", str(library)], check=True)
    shutil.rmtree(source)
    return library
